"""Columns that look like one of the identifiers of HIPAA Safe Harbor, by their name and by what is in them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.codes import Column, Table
from shoal.data.codes import Kind as Written
from shoal.hierarchy.hipaa import RESTRICTED_ZIP3
from shoal.risk.check_digits import is_card, is_iban, is_national_number, is_vin
from shoal.risk.vocabulary import is_person_name, is_shaped_like_a_name, meaning_of
from shoal.roles import Role

Flags = NDArray[np.bool_]
Look = Callable[[pa.StringArray], Flags]
"""Flags the texts that look like an identifier of some kind."""


@dataclass(frozen=True, slots=True)
class IdentifierKind:
    """One kind: its letter in the rule, its name, usual headers, and how its cells look if that tells."""

    clause: str
    title: str
    headers: str = ""
    """Patterns of usual headers, separated by spaces."""
    look: Look | None = None
    direct: bool = True
    """Whether it names a person by itself; what does not may be generalised."""


def make_pattern_look(pattern: str) -> Look:
    """Return a function that flags the texts that match the pattern as a whole."""

    def look(texts: pa.StringArray) -> Flags:
        found: Flags = pc.match_substring_regex(texts, rf"\A(?:{pattern})\z").to_numpy(zero_copy_only=False)
        return found

    return look


def make_checked_look(pattern: str, check: Callable[[str], bool]) -> Look:
    """Return a function that flags the texts that match the pattern as a whole and pass a check."""
    outer = make_pattern_look(pattern)

    def look(texts: pa.StringArray) -> Flags:
        found = outer(texts)
        candidates = texts.filter(pa.array(found)).to_pylist()
        found[found] = [check(text) for text in candidates]
        return found

    return look


_FEWEST_NAMES = 10
_MOST_READ = 2_000
"""Most different texts that are looked up in a list."""


def _person_names(texts: pa.StringArray) -> Flags:
    """Flag the texts shaped like names, where they are many and a third of those looked up are usual names."""
    read = texts[:: max(len(texts) // _MOST_READ, 1)].to_pylist() if len(texts) >= _FEWEST_NAMES else []
    if not read or 3 * sum(map(is_person_name, read)) < len(read):
        return np.zeros(len(texts), dtype=bool)
    return np.array([is_shaped_like_a_name(text) for text in texts.to_pylist()], dtype=bool)


_STREET = (
    r"(?i:str(asse|aße|\.)|weg|platz|allee|gasse|street|st\.|road|rd\.?|avenue|ave\.?|lane|drive|rue|boulevard|bd|via|viale|piazza|corso"
    r"|calle|avenida|avda\.?|plaza|rua|travessa|largo|straat|laan|plein|gracht|ulica|ul\.|aleja|al\.|sokak|sk\.|cadde(si)?|cad\.|mahallesi)"
)


def _addresses(texts: pa.StringArray) -> Flags:
    """Flag the texts that hold a word for a street, and a number."""
    found: Flags = pc.and_(
        pc.match_substring_regex(texts, rf"(?:^|[\s,]|\p{{L}}{{3}}){_STREET}(?:$|[\s,0-9])"),
        pc.match_substring_regex(texts, r"(?:^|[\s,])[0-9]{1,4}[a-zA-Z]?(?:$|[\s,/-])"),
    ).to_numpy(zero_copy_only=False)
    return found


_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HEX = "[0-9A-Fa-f]"
IP = rf"{_OCTET}(\.{_OCTET}){{3}}|({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|({_HEX}{{1,4}}:){{0,6}}:(:?{_HEX}{{1,4}}){{0,6}}"
PHONE = (
    r"(\+|00)[0-9][0-9 ()./-]{6,18}[0-9]|0[0-9]{1,4}[ /-]([0-9]{5,9}|[0-9]{2,4}( [0-9]{2,4}){1,3})"
    r"|(\+?1[ .-]?)?(\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}"
)
SSN = r"([1-578][0-9]{2}|0[1-9][0-9]|00[1-9]|6[0-57-9][0-9]|66[0-57-9])-([1-9][0-9]|0[1-9])-[0-9]{4}"
ZIP = r"[0-9]{5}(-[0-9]{4})?"
_TWO = "[0-9]{1,2}"
_DAY = rf"[0-9]{{4}}-{_TWO}(-{_TWO})?|[0-9]{{4}}/{_TWO}/{_TWO}|{_TWO}[/.-]{_TWO}[/.-]([0-9]{{4}}|[0-9]{{2}})"
_MONTH = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_SPELLED = rf"{_MONTH}\.? {_TWO},? [0-9]{{4}}|{_TWO}\.? {_MONTH}\.? [0-9]{{4}}"
DATE = rf"({_DAY})([ T]{_TWO}:[0-9]{{2}}.*)?|{_SPELLED}|\[({_DAY}), ({_DAY})[)\]]"

GEOGRAPHY = IdentifierKind(
    "B",
    "a place smaller than a state",
    "address .*-address street.* city town village county municipality district parish precinct .*-city .*-county "
    "geo-?code lat latitude lon lng longitude census-?tract block-?group",
    direct=False,
)
DATES = IdentifierKind("C", "a date finer than a year", "", make_pattern_look(DATE), direct=False)
ZIPS = IdentifierKind("B", "a ZIP code of more than three digits", "", None, direct=False)
SMALL_ZIP3 = IdentifierKind("B", "a three-digit ZIP code of at most 20,000 people", "", None, direct=False)
AGES = IdentifierKind("C", "an age over 89", "", None, direct=False)
FREE_TEXT = IdentifierKind("R", "free text, which may hold any of the others")
NEAR_UNIQUE = IdentifierKind("R", "a value of their own for nearly all rows")

KINDS: tuple[IdentifierKind, ...] = (
    IdentifierKind(
        "A",
        "a name",
        "names? full-?name first-?names? last-?name middle-?name maiden-?name given-?names? family-?name surname "
        "forename initials patient-name .*-surname nickname user-?name mother-.*-name",
        _person_names,
    ),
    DATES,
    IdentifierKind("E", "a fax number", "fax.* .*-fax"),
    IdentifierKind(
        "D", "a telephone number", "phone.* tele?phone.* .*-phone mobile.* cell-?phone.* tel", make_pattern_look(PHONE)
    ),
    IdentifierKind(
        "F", "an e-mail address", "e-?mail.* .*-e-?mail", make_pattern_look(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}")
    ),
    IdentifierKind(
        "G", "a social security number", "ssn social-?security.* .*-ssn national-?id.* nino", make_pattern_look(SSN)
    ),
    IdentifierKind(
        "R",
        "a number by which a state knows a person",
        "",
        make_checked_look("[0-9A-Za-z][0-9A-Za-z .-]{7,20}", is_national_number),
    ),
    IdentifierKind("B", "a postal address", "", _addresses),
    IdentifierKind(
        "H", "a medical record number", "mrn medical-?record.* patient-(id|no|number|nr) chart-?(no|number)"
    ),
    IdentifierKind(
        "I",
        "a health plan number",
        "health-?plan.* beneficiary.* member-?(id|no|number) insurance-?(id|no|number) hicn mbi",
    ),
    IdentifierKind("J", "an account number", "account.* iban .*-iban bank-?account.* card-?(no|number) credit-?card.*"),
    IdentifierKind("J", "a bank account (IBAN)", "", make_checked_look(r"[A-Z]{2}[0-9]{2}[A-Z0-9 ]{10,38}", is_iban)),
    IdentifierKind(
        "J",
        "a card number",
        "",
        make_checked_look(r"[0-9]{4}[ -]?[0-9]{4,6}[ -]?[0-9]{4,5}([ -]?[0-9]{1,7})?", is_card),
    ),
    IdentifierKind("L", "a vehicle", "vin vehicle-?id.* (licen[cs]e|number)-?plate.* plate plate-?(no|number)"),
    IdentifierKind("L", "a vehicle number (VIN)", "", make_checked_look("[A-HJ-NPR-Z0-9]{17}", is_vin)),
    IdentifierKind("K", "a certificate or licence number", "licen[cs]e.* .*-licen[cs]e certificate.* passport.* npi"),
    IdentifierKind("M", "a device", "device-?(id|no|number|serial).* serial.* imei udid mac mac-address"),
    IdentifierKind("M", "a device address (MAC)", "", make_pattern_look(rf"({_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}")),
    IdentifierKind(
        "N",
        "a web address",
        "url .*-url website homepage web-?page",
        make_pattern_look(r"(?i:https?://|ftp://|www\.)\S+"),
    ),
    IdentifierKind("O", "an IP address", "ip ip-?addr.* .*-ip", make_pattern_look(IP)),
    IdentifierKind(
        "P",
        "a biometric identifier",
        "finger-?print.* iris-?(scan|code).* retina-?scan.* voice-?print.* biometric.* face-?id dna",
    ),
    IdentifierKind("Q", "a photograph", "photo.* image.* picture.* portrait.* full-?face.* avatar"),
    IdentifierKind(
        "R",
        "a universal identifier (UUID)",
        "uuid guid",
        make_pattern_look(rf"\{{?{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}\}}?"),
    ),
    GEOGRAPHY,  # after mail-address, ip-address …
    IdentifierKind("R", "an identifying number", "id .*-id identifier key record-?(no|number)"),
)

_TITLES = {"name": "a name", "contact": "a postal address", "person_number": "an identifying number"}
"""Kinds of the meanings that name a person."""

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
class IdentifierFinding:
    """A column that looks like an identifier, by its name or by so many of its cells."""

    column: str
    kind: IdentifierKind
    by: Literal["name", "content"]
    rows: int
    """Rows that look like it; if found by name, rows that are not null."""
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


def identifiers(table: Table) -> tuple[IdentifierFinding, ...]:
    """Return the first finding about each column that looks like an identifier; counts of rows, never cells.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> mail = encode("contact", pa.array(["a@b.org", "c@d.org", None]))
    >>> [(found.kind.title, found.rows) for found in identifiers(Table({"contact": mail}, 3))]
    [('an e-mail address', 2)]
    """
    found = (first_finding(column) for column in table.columns.values())
    return tuple(one for one in found if one is not None)


def first_finding(column: Column) -> IdentifierFinding | None:
    """Return the first finding about a column; its content is looked at before its name."""
    return next(findings(column), None)


def direct_finding(column: Column) -> IdentifierFinding | None:
    """Return the first finding that names a person by itself and is known by look or name, not by being rare."""
    return next((found for found in findings(column) if found.kind.direct and found.kind in KINDS), None)


def plain_header(name: str) -> str:
    """Return a header in lower case, its words joined by `-`.

    >>> plain_header("Patient_ID"), plain_header("homePhone"), plain_header("E-Mail address")
    ('patient-id', 'home-phone', 'e-mail-address')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name.strip())
    return re.sub(r"[_\s./-]+", "-", spaced).casefold().strip("-")


def named_kind(name: str) -> IdentifierKind | None:
    """Return the kind that has this name among its usual headers, if any."""
    header = plain_header(name)
    found = next((kind for kind in KINDS if any(re.fullmatch(p, header) for p in kind.headers.split())), None)
    return found or _kind_by_meaning(name)


def _kind_by_meaning(name: str) -> IdentifierKind | None:
    """Return the kind that a header in another language means."""
    found = meaning_of(name)
    if found is None or not found[1].is_sure:
        return None
    title = _TITLES.get(found[0].name)
    return next((kind for kind in KINDS if kind.title == title), None)


def findings(column: Column) -> Iterator[IdentifierFinding]:
    """Yield all that a column looks like: by content first, then by name, then long and rare texts."""
    if not len(column.texts):
        return
    filled = int(column.counts[: len(column.texts)].sum())

    def looks(kind: IdentifierKind, flags: Flags) -> IdentifierFinding:
        return IdentifierFinding(column.name, kind, "content", int(column.counts[: len(flags)][flags].sum()), filled)

    for kind in KINDS:
        if kind.look is not None:
            seen = looks(kind, kind.look(column.texts))
            if seen.share >= MOST:
                yield seen
    yield from (looks(kind, flags) for kind, flags in _find_special_kinds(column) if flags.any())
    by_name = named_kind(column.name)
    if by_name is not None:
        yield IdentifierFinding(column.name, by_name, "name", filled, filled)
    words = looks(FREE_TEXT, make_pattern_look(_WORDS)(column.texts))
    if words.share >= Fraction(1, 2) and 2 * len(column.texts) > filled:
        yield words
    unique = column.counts[: len(column.texts)] == 1
    own = looks(NEAR_UNIQUE, unique)
    if filled >= _ENOUGH_ROWS and own.share >= NEARLY_ALL:
        yield own


def find_direct_identifier(column: Column, most: int | None = None) -> IdentifierFinding | None:
    """Return the first kind of identifier that names a person by itself and that nearly all cells look like.

    Names are none under a header that means something else, since towns and firms are named after people, nor are
    numbers under one that says when people were born. Of more than `most` different texts only some are looked at.

    >>> from shoal.data.codes import encode
    >>> find_direct_identifier(encode("contact", pa.array(["a@b.org", "c@d.net"]))).kind.title
    'an e-mail address'
    >>> find_direct_identifier(encode("illness", pa.array(["flu", "cold"]))) is None
    True
    """
    meant = meaning_of(column.name)
    step = 1 if most is None else max(len(column.texts) // most, 1)
    texts, rows = column.texts[::step], column.counts[: len(column.texts)][::step]
    for kind in KINDS if len(texts) and (meant is None or meant[0].name != "birth") else ():
        if not kind.direct or kind.look is None:
            continue
        if kind.title == "a name" and meant is not None and meant[0].role is not Role.IDENTIFIER:
            continue
        found = IdentifierFinding(column.name, kind, "content", int(rows[kind.look(texts)].sum()), int(rows.sum()))
        if found.share >= MOST:
            return found
    return None


def _find_special_kinds(column: Column) -> Iterator[tuple[IdentifierKind, Flags]]:
    """Yield the kinds for which the rule depends on the value, ZIP codes, ages and dates, with flags of the texts."""
    header, texts = plain_header(column.name), column.texts
    if _ZIP_HEADER.fullmatch(header):
        yield ZIPS, make_pattern_look(".*[0-9]{4}.*")(texts)
        areas = pc.utf8_slice_codeunits(texts, 0, 3)
        restricted = np.array([area in RESTRICTED_ZIP3 for area in areas.to_pylist()], dtype=bool)
        yield SMALL_ZIP3, restricted & make_pattern_look(r"[0-9]{3}\**")(texts)
    elif column.kind is Written.TEXT:
        zips = make_pattern_look(ZIP)(texts)  # texts of five digits: a number that begins with 0 is none
        yield ZIPS, zips if zips.all() else np.zeros(len(zips), dtype=bool)
    if column.kind is Written.DATE or _DATE_HEADER.fullmatch(header):
        yield DATES, ~make_pattern_look(_YEARS)(texts)
    if _AGE_HEADER.fullmatch(header):
        yield AGES, np.array([_is_over_89(text) for text in texts.to_pylist()], dtype=bool)


def _is_over_89(text: str) -> bool:
    """Whether a released age says more about people over 89 than that they are over 89.

    >>> [_is_over_89(text) for text in ("89", "90", "[80, 90)", "[85, 95)", "≥90", "≥95", "*")]
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
