"""The role that a column seems to play: by what it holds, by its header in nine languages, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

import numpy as np

from shoal.data.codes import Column, Kind
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import Builder, build
from shoal.hierarchy.dates import Dates, formats_of
from shoal.hierarchy.draft import draft
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.risk.check_digits import is_loinc
from shoal.risk.identifiers import FREE_TEXT, KINDS, IdentifierFinding, findings, matching, passing
from shoal.risk.vocabulary import HeaderMeaning, Match, meaning_of
from shoal.roles import Role

_NEARLY_ALL = 0.9
_MOST_ROWS_OF_A_PERSON = 50
_MOST_CODES = 12
"""Most different whole numbers that are taken for codes of categories."""
_CATEGORIES = {"sex", "origin", "work", "place", "family", "schooling"}
_CLINICAL_CODES = {
    "ICD-10 codes": matching(r"[A-TV-Z][0-9][0-9AB](\.[0-9A-Z]{1,4})?[*+†]?"),
    "ATC codes": matching("[ABCDGHJLMNPRSV][0-9]{2}[A-Z]{2}[0-9]{2}"),
    "LOINC codes": passing("[0-9]{3,5}-[0-9]", is_loinc),
}


class Certainty(StrEnum):
    """How sure a guess is; what is unknown is a question to the owner of the table."""

    SURE = "sure"
    LIKELY = "likely"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Guess:
    """The guessed role of a column, how sure it is, and why."""

    column: Column
    role: Role
    certainty: Certainty
    why: str
    builder: Builder | None = None

    @property
    def is_open(self) -> bool:
        return self.certainty is Certainty.UNKNOWN

    @property
    def values(self) -> int:
        return len(self.column.values)


def guess_roles(columns: Sequence[Column], rows: int, k: int) -> list[Guess]:
    """Guess the role of every column; of identifiers that repeat, the one with the most values tells persons apart."""
    guesses = [guess(column, rows, k) for column in columns]
    persons = [each for each in guesses if each.role is Role.UNIT]
    person = max(persons, key=lambda each: each.values, default=None)
    return [each if each.role is not Role.UNIT or each is person else _as_identifier(each) for each in guesses]


def _as_identifier(found: Guess) -> Guess:
    return replace(found, role=Role.IDENTIFIER, why="it names a person, and another column tells persons apart")


def guess(column: Column, rows: int, k: int) -> Guess:
    """Guess the role of one column: what it holds decides where its header does not."""
    named = meaning_of(column.name)
    steps = (
        _constant,
        _row_number,
        _named_by_content,
        _named_by_header,
        _clinical,
        _date,
        _text,
        _unique,
    )
    found = (step(column, rows, k, named) for step in steps)
    return next((each for each in found if each is not None), None) or _open(column)


def _constant(column: Column, rows: int, k: int, named: object) -> Guess | None:  # noqa: ARG001
    if column.size > 1:
        return None
    return Guess(column, Role.INSENSITIVE, Certainty.SURE, "it is the same in every row")


def _row_number(column: Column, rows: int, k: int, named: tuple[HeaderMeaning, Match] | None) -> Guess | None:  # noqa: ARG001
    if column.kind is not Kind.NUMBER or column.uniques < rows or rows < 2:
        return None
    numbers = column.numbers
    consecutive = numbers[-1] - numbers[0] == rows - 1
    meant = named is not None and named[0].name in {"row_number", "person_number"}
    if (consecutive and (named is None or meant)) or (meant and named is not None and named[0].name == "row_number"):
        return Guess(column, Role.IDENTIFIER, Certainty.SURE, "it numbers the rows")
    return None


def _named_by_content(column: Column, rows: int, k: int, named: tuple[HeaderMeaning, Match] | None) -> Guess | None:  # noqa: ARG001
    """Guess by what names a person: mail, phones, accounts, numbers of states, names where no header contradicts."""
    seen = (each for each in findings(column) if each.by == "content" and each.kind.direct and each.kind in KINDS)
    direct = next(seen, None)
    if direct is None:
        return None
    if direct.kind.title == "a name" and named is not None and named[0].role is not Role.IDENTIFIER:
        return None  # towns and firms are named after people
    why = f"{_share(direct)} of its cells look like {direct.kind.title}"
    return _identifier(column, rows, Certainty.SURE, why, least=1.5)


def _share(found: IdentifierFinding) -> str:
    return f"{100 * found.rows // max(found.filled, 1)} %"


def _identifier(column: Column, rows: int, certainty: Certainty, why: str, *, least: float) -> Guess:
    """An identifier; where a value has several rows, `least` on average, it tells persons apart."""
    filled = rows - int(column.counts[len(column.values) :].sum())
    several = filled / max(len(column.values), 1)
    if len(column.values) > 1 and least <= several <= _MOST_ROWS_OF_A_PERSON:
        many = f"{len(column.values):,} values on {filled:,} rows"
        return Guess(column, Role.UNIT, certainty, f"{why}, and {many}: persons are counted, not rows")
    return Guess(column, Role.IDENTIFIER, certainty, why)


def _named_by_header(column: Column, rows: int, k: int, named: tuple[HeaderMeaning, Match] | None) -> Guess | None:
    if named is None:
        return None
    meaning, match = named
    certainty = Certainty.SURE if match.is_sure else Certainty.LIKELY
    why = f"its name says {meaning.title}"
    if meaning.role is Role.IDENTIFIER:
        return _identifier(column, rows, certainty, why, least=1.02 if meaning.name == "person_number" else 1.5)
    if meaning.role is Role.QUASI_IDENTIFIER:
        return _quasi_identifier(column, k, meaning, certainty, why)
    if meaning.role is Role.SAMPLING_WEIGHT and column.kind is not Kind.NUMBER:
        return None
    if meaning.role is Role.SENSITIVE and _is_long_text(column):
        return None
    return Guess(column, meaning.role, certainty, why)


def _quasi_identifier(column: Column, k: int, meaning: HeaderMeaning, certainty: Certainty, why: str) -> Guess | None:
    builder = _dates(column)
    if builder is None and meaning.name in {"birth", "event_date"} and column.kind is Kind.TEXT:
        return None  # a header about dates above something else
    if builder is None and meaning.name in _CATEGORIES and _are_codes(column):
        builder = ValueOnly()
    try:
        builder = builder or draft(column, k)
        build(column, builder)
    except BadHierarchy:
        said = f"{why}, but it has too many different values to generalise"
        return Guess(column, Role.IDENTIFIER, Certainty.LIKELY, said)
    return Guess(column, Role.QUASI_IDENTIFIER, certainty, why, builder)


def _are_codes(column: Column) -> bool:
    """Whether numbers are codes of categories: few, whole and small."""
    if column.kind is not Kind.NUMBER or len(column.values) > _MOST_CODES:
        return False
    return all(number.denominator == 1 and abs(number) < 1_000 for number in column.numbers)


def _dates(column: Column) -> Builder | None:
    """A hierarchy of dates, where the texts are dates of one usual format."""
    if column.kind is Kind.DATE:
        return draft(column)
    formats = formats_of(column.texts.to_pylist(), date.today().year)  # noqa: DTZ011 - no date lies in the future
    if not formats:
        return None
    timed = ["day"] if "%H" in formats[0] else []
    return Dates((*timed, "month", "quarter", "year", "decade"), format=formats[0])


def _clinical(column: Column, rows: int, k: int, named: object) -> Guess | None:  # noqa: ARG001
    filled = max(int(column.counts[: len(column.values)].sum()), 1)
    for title, look in _CLINICAL_CODES.items():
        flags = look(column.texts)
        if int(column.counts[: len(flags)][flags].sum()) >= _NEARLY_ALL * filled:
            return Guess(column, Role.SENSITIVE, Certainty.LIKELY, f"its cells look like {title}")
    return None


def _date(column: Column, rows: int, k: int, named: object) -> Guess | None:  # noqa: ARG001
    builder = _dates(column)
    if builder is None:
        return None
    return Guess(column, Role.QUASI_IDENTIFIER, Certainty.LIKELY, "its cells are dates, which others may know", builder)


def _is_long_text(column: Column) -> bool:
    return any(each.kind is FREE_TEXT for each in findings(column))


def _text(column: Column, rows: int, k: int, named: object) -> Guess | None:  # noqa: ARG001
    if not _is_long_text(column):
        return None
    return Guess(column, Role.IDENTIFIER, Certainty.LIKELY, "free text, which may name people: dropped")


def _unique(column: Column, rows: int, k: int, named: object) -> Guess | None:  # noqa: ARG001
    """Texts and whole numbers that nearly every row has for itself; measurements are a question."""
    if rows < 2 or column.uniques < _NEARLY_ALL * rows:
        return None
    if column.kind is Kind.NUMBER and (not _of_one_length(column) or _spread(column, rows)):
        return None
    return Guess(column, Role.IDENTIFIER, Certainty.LIKELY, "nearly every row has a value of its own: dropped")


def _of_one_length(column: Column) -> bool:
    return len({len(text) for text in column.texts.to_pylist()}) == 1 and all(
        n.denominator == 1 for n in column.numbers
    )


def _spread(column: Column, rows: int) -> bool:
    """Whether numbers lie about a middle, as measurements do, and not evenly."""
    floats = column.floats
    low, middle, high = np.quantile(floats, [0, 0.5, 1])
    return rows > 0 and bool(high > low) and not 0.4 <= (middle - low) / (high - low) <= 0.6


def _open(column: Column) -> Guess:
    """A column that nothing is known of: shown as it is only when its owner says so."""
    why = "nothing tells what it is; quasi-identifier if others may know it, sensitive or insensitive if not"
    return Guess(column, Role.SENSITIVE, Certainty.UNKNOWN, why)
