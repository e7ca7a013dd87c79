"""Columns that look like one of the identifiers of HIPAA Safe Harbor, by their name and by what is in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.codes import Column, Table
from shoal.codes import Kind as Written
from shoal.hierarchy.hipaa import RESTRICTED_ZIP3
from shoal.risk.kinds import AGES, DATES, FREE_TEXT, KINDS, NEAR_UNIQUE, SMALL_ZIP3, ZIP, ZIPS, Kind, matching

Flags = NDArray[np.bool_]

MOST = Fraction(4, 5)
"""The share of a column's cells that must look like an identifier."""
NEARLY_ALL = Fraction(9, 10)
_ENOUGH_ROWS = 20
_WORDS = r"\S+(\s+\S+){4,}"
_ZIP_HEADER = re.compile(r"zip.*|.*-zip(-?code)?|post(al)?-?code|plz")
_AGE_HEADER = re.compile(r"age|.*-age|age-.*|ages?-?(in-?)?years?")
_DATE_HEADER = re.compile(r"date|.*-date|date-.*|dob|birth-?day|day|.*-day|month|.*-month|day-of-.*|timestamp|.*-time")
_YEARS = r"[0-9]{4}s?|[<≥][0-9]{4}|\[[0-9]{4}, [0-9]{4}[)\]]|\*"
_RANGE = re.compile(r"\[([0-9.]+), ([0-9.]+)([)\]])|≥([0-9.]+)")


@dataclass(frozen=True, slots=True)
class Finding:
    """A column that looks like an identifier, by its name or by so many of its cells."""

    column: str
    kind: Kind
    by: Literal["name", "content"]
    rows: int
    """That look like it; by name, those that are not null."""
    filled: int
    """Rows that are not null."""

    @property
    def share(self) -> Fraction:
        return Fraction(self.rows, max(self.filled, 1))

    def document(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "clause": self.kind.clause,
            "kind": self.kind.title,
            "by": self.by,
            "rows": self.rows,
            "share": float(self.share),
        }


def identifiers(table: Table) -> tuple[Finding, ...]:
    """What every column looks like, at most once each; no cell is told, only how many rows.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> mail = encode("contact", pa.array(["a@b.org", "c@d.org", None]))
    >>> [(found.kind.title, found.rows) for found in identifiers(Table({"contact": mail}, 3))]
    [('an e-mail address', 2)]
    """
    found = (first_finding(column) for column in table.columns.values())
    return tuple(one for one in found if one is not None)


def first_finding(column: Column) -> Finding | None:
    """The first thing that a column looks like: what is in it tells more than its name."""
    return next(findings(column), None)


def direct_finding(column: Column) -> Finding | None:
    """The same among what names a person by itself and is known by a look or a name, not by being rare."""
    return next((found for found in findings(column) if found.kind.direct and found.kind in KINDS), None)


def plain_header(name: str) -> str:
    """A header in lower case, its words joined by `-`.

    >>> plain_header("Patient_ID"), plain_header("homePhone"), plain_header("E-Mail address")
    ('patient-id', 'home-phone', 'e-mail-address')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name.strip())
    return re.sub(r"[_\s./-]+", "-", spaced).casefold().strip("-")


def named_kind(name: str) -> Kind | None:
    """The kind whose usual headers the name is one of."""
    header = plain_header(name)
    return next((kind for kind in KINDS if any(re.fullmatch(p, header) for p in kind.headers.split())), None)


def findings(column: Column) -> Iterator[Finding]:
    """All that a column looks like: what is in it first, then its name, then long and rare texts."""
    if not len(column.texts):
        return
    filled = int(column.counts[: len(column.texts)].sum())

    def looks(kind: Kind, flags: Flags) -> Finding:
        return Finding(column.name, kind, "content", int(column.counts[: len(flags)][flags].sum()), filled)

    for kind in KINDS:
        if kind.look is not None:
            seen = looks(kind, kind.look(column.texts))
            if seen.share >= MOST:
                yield seen
    yield from (looks(kind, flags) for kind, flags in _special(column) if flags.any())
    by_name = named_kind(column.name)
    if by_name is not None:
        yield Finding(column.name, by_name, "name", filled, filled)
    words = looks(FREE_TEXT, matching(_WORDS)(column.texts))
    if words.share >= Fraction(1, 2) and 2 * len(column.texts) > filled:
        yield words
    unique = column.counts[: len(column.texts)] == 1
    own = looks(NEAR_UNIQUE, unique)
    if filled >= _ENOUGH_ROWS and own.share >= NEARLY_ALL:
        yield own


def _special(column: Column) -> Iterator[tuple[Kind, Flags]]:
    """ZIP codes, ages and typed dates: what the rule allows of them depends on the value."""
    header, texts = plain_header(column.name), column.texts
    if _ZIP_HEADER.fullmatch(header):
        yield ZIPS, matching(".*[0-9]{4}.*")(texts)
        areas = pc.utf8_slice_codeunits(texts, 0, 3)
        restricted = np.array([area in RESTRICTED_ZIP3 for area in areas.to_pylist()], dtype=bool)
        yield SMALL_ZIP3, restricted & matching(r"[0-9]{3}\**")(texts)
    elif column.kind is Written.TEXT:
        zips = matching(ZIP)(texts)  # texts of five digits: a number that begins with 0 is none
        yield ZIPS, zips if zips.all() else np.zeros(len(zips), dtype=bool)
    if column.kind is Written.DATE or _DATE_HEADER.fullmatch(header):
        yield DATES, ~matching(_YEARS)(texts)
    if _AGE_HEADER.fullmatch(header):
        yield AGES, np.array([_over_89(text) for text in texts.to_pylist()], dtype=bool)


def _over_89(text: str) -> bool:
    """Whether a released age tells more of people over 89 than that they are.

    >>> [_over_89(text) for text in ("89", "90", "[80, 90)", "[85, 95)", "≥90", "≥95", "*")]
    [False, True, False, True, False, True, False]
    """
    if re.fullmatch(r"[0-9]{1,3}([.][0-9]+)?", text):
        return float(text) >= 90
    span = _RANGE.fullmatch(text)
    if span is None:
        return False
    _, high, end, tail = span.groups()
    if tail is not None:
        return float(tail) > 90
    return float(high) > 90 or (end == "]" and float(high) == 90)
