"""Guesses the role of a column from its cells and its header, in nine languages, and says how sure the guess is."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import floor, log10
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.class_counts import sum_counts
from shoal.data.codes import Bounds, Column, Kind, round_column
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import Builder, build
from shoal.hierarchy.dates import Dates, find_dates, formats_of
from shoal.hierarchy.draft import draft
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.labels.scale import Scale
from shoal.problem import (
    ROWS_OF_A_PERSON,
    SEVERAL_ROWS,
    are_namesakes,
    compared_cells,
    contains,
    fixed_columns,
    has_exact_values,
)
from shoal.risk.check_digits import is_loinc
from shoal.risk.identifiers import (
    FREE_TEXT,
    IdentifierFinding,
    find_direct_identifier,
    findings,
    make_checked_look,
    make_pattern_look,
)
from shoal.risk.vocabulary import HeaderMeaning, Match, header_words, meaning_of
from shoal.roles import Role
from shoal.runtime import whole_percent

_NEARLY_ALL = 0.9
_MOST_CODES = 12
"""Most distinct whole numbers that are still taken for codes of categories."""
_FEWEST_DAYS = 50
"""Fewest different whole numbers that may be numbers of days."""
_CATEGORIES = {"sex", "origin", "work", "insurer", "place", "family", "schooling"}
_SEXES = (
    *({"m", "f"}, {"m", "w"}, {"h", "f"}, {"h", "m"}, {"v", "m"}, {"k", "m"}, {"e", "k"}, {"male", "female"}),
    *({"männlich", "weiblich"}, {"mann", "frau"}, {"homme", "femme"}, {"masculin", "féminin"}, {"hombre", "mujer"}),
    *({"masculino", "femenino"}, {"masculino", "feminino"}, {"maschio", "femmina"}, {"man", "vrouw"}),
    *({"mężczyzna", "kobieta"}, {"erkek", "kadın"}),
)
"""Codes of the two sexes in nine languages: m and f, h and m (hombre, mujer), e and k (erkek, kadın) …"""
_OTHER_SEXES = {"d", "x", "o", "u", "n", "divers", "other", "diverse", "non-binary", "unknown", "?"}
_FINEST = 5
"""Powers of ten by which a rounding step may be finer than the range of the numbers."""
_ROWS_OF_A_TAIL, _LARGEST_TAIL = 10, 20
"""Least rows that share a bound of rounded numbers; and one part in how many of all rows may do so."""
_NEARLY_TOLD, _MUCH_LIKELIER = 0.95, 1.5
"""A value nearly determines another that so many of its rows have, and so many times more often than the table."""
_FEWEST_TOLD, _LEAST_TOLD = 20, 0.05
"""Rows of such a value, of which fewer may be chance; and the share of all rows that such values must have."""
_MOST_MISSING = 4
"""Most different numbers that are taken for codes of missing values."""
_CODE_OF_MISSING = re.compile("9*[789]")
_MOST_ODD = 2
"""Most different texts among dates or numbers that are taken for marks of missing values."""
_ROWS_OF_A_VALUE, _FEWER_ERRORS = 3, 4
"""Fewest rows per value of columns that tell each other; and how many times fewer errors than the usual value makes."""
MOST_COMPARED = 100
"""Most columns that are compared with one another: there are as many pairs as the square of that."""
_AGES = {"age", "birth"}
_UNITS_OF_BIRTHS = ("month", "year", "5 years", "decade", "20 years")
_TELLING_PERSONS = {"name", "birth", "contact"}
_CIRCUMSTANCES = {"postcode", "event_date", "insurer"}
_CLINICAL_CODES = {
    "ICD-10 codes": make_pattern_look(r"[A-TV-Z][0-9][0-9AB](\.[0-9A-Z]{1,4})?[*+†]?"),
    "ATC codes": make_pattern_look("[ABCDGHJLMNPRSV][0-9]{2}[A-Z]{2}[0-9]{2}"),
    "LOINC codes": make_checked_look("[0-9]{3,5}-[0-9]", is_loinc),
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
    about: str = ""
    """What its header means, where that is known."""

    @property
    def tells_age(self) -> bool:
        """Whether it is a quasi-identifier that tells how old somebody is."""
        return self.role is Role.QUASI_IDENTIFIER and self.about in _AGES

    @property
    def is_circumstance(self) -> bool:
        """Whether it is a quasi-identifier of which analyses need less detail than of ages."""
        known = self.about in _CIRCUMSTANCES or isinstance(self.builder, Dates | Mask)
        return self.role is Role.QUASI_IDENTIFIER and known and not self.tells_age

    @property
    def is_open(self) -> bool:
        return self.certainty is Certainty.UNKNOWN

    @property
    def values(self) -> int:
        return len(self.published.values)

    @property
    def is_exact(self) -> bool:
        """Whether many rows hold a sensitive value that no other row has, by which they can be found."""
        return self.role is Role.SENSITIVE and has_exact_values(self.column.uniques, len(self.column.codes))

    @cached_property
    def published(self) -> Column:
        """The column as a draft would publish its values: rounded, or as they are."""
        return self.column if self.step is None else round_column(self.column, self.step, self.bounds)

    @cached_property
    def step(self) -> Fraction | None:
        """The step to whose multiples exact numbers are rounded; None where nothing is rounded."""
        return rounding_step(self.column) if self.is_exact else None

    @cached_property
    def bounds(self) -> Bounds:
        """The least and the greatest number to publish, so that extreme ones are not unique after rounding."""
        return (None, None) if self.step is None else bounds_for(self.column, self.step)


def holds_codes_of_missing(column: Column) -> bool:
    """Whether a few numbers, which repeat, look like the codes by which surveys say why a value is missing.

    They are negative, or 8, 97, 99999 and the like, and farther above all others than those lie apart.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> tables = [31, 45, -9, 52, -9], [1, 3, 2, 97, 97, 98, 98], [31, -1, -2, 52, -9], [60, 71, 85, 99, 99]
    >>> [holds_codes_of_missing(encode("q", pa.array(numbers))) for numbers in tables]
    [True, True, False, False]
    """
    if column.kind is not Kind.NUMBER:
        return False
    many, number_of = len(column.values), lru_cache(column.number_of)  # numbers are sorted, and few are looked at
    below = bisect_left(range(many), Fraction(0), key=number_of)
    above = 0  # codes at the end of the numbers
    while above < many - below and _CODE_OF_MISSING.fullmatch(str(number_of(many - 1 - above))):
        above += 1
    # a few codes, among them the least that stands apart from everything below it
    while above and not _stands_apart(number_of, below, many - above):
        above -= 1
    codes = [*range(below), *range(many - above, many)]
    few = 0 < len(codes) <= _MOST_MISSING and len(codes) < many - len(codes)
    return few and all(number_of(code).denominator == 1 and column.counts[code] > 1 for code in codes)


def _stands_apart(number_of: Callable[[int], Fraction], least: int, code: int) -> bool:
    """Return whether the number of a code is farther above those from `least` on than these lie apart."""
    last = number_of(code - 1) if code - least >= 2 else None
    return last is not None and number_of(code) - last > last - number_of(least)


MARKERS = ("?", "NA", "N/A", "n/a", "N.A.", "n.a.", "<NA>", "NULL", "null", "None", "nan", "NaN", "#N/A")
"""Texts that usually mean that a value is not known, as they are."""
_WORDS_FOR_MISSING = frozenset(
    "".join(word.split()).casefold()
    for word in (
        *("unknown", "not known", "not available", "not stated", "not recorded", "not reported", "no data", "missing"),
        *("k. A.", "keine Angabe", "keine Angaben", "ohne Angabe", "o. A.", "unbekannt", "nicht bekannt", "n. v."),
        *("nicht verfügbar", "nicht erhoben", "nicht erfasst", "keine Daten", "fehlt", "fehlend", "n. e."),
        *(
            "inconnu",
            "inconnue",
            "non renseigné",
            "non renseignée",
            "non disponible",
            "donnée manquante",
            "n. d.",
            "n. r.",
        ),
        *("desconocido", "desconocida", "sin datos", "sin dato", "no consta", "no disponible", "s. d.", "s/d"),
        *("sconosciuto", "sconosciuta", "non noto", "non nota", "non disponibile", "dato mancante", "non rilevato"),
        *("desconhecido", "desconhecida", "sem dados", "sem informação", "não informado", "não disponível", "s. i."),
        *("onbekend", "niet bekend", "geen gegevens", "geen opgave", "niet ingevuld", "n. b.", "n. v. t."),
        *("brak danych", "brak informacji", "nieznany", "nieznana", "nieznane", "nie podano", "b. d.", "bd."),
        *("bilinmiyor", "bilinmeyen", "belirtilmemiş", "veri yok", "bilgi yok"),
    )
)
"""Words for "not known" in nine languages, without spaces; case does not matter."""
_SIGN_FOR_MISSING = re.compile(r"[-–—]{1,3}|\.{1,3}|\?{1,3}")
_SIGN = re.compile(r"\W+")


def marks_of_missing(column: Column) -> set[str]:
    """Return the values of a column that usually mean that a value is not known, in one of nine languages.

    A sign is a value where others are signs, too.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> sorted(marks_of_missing(encode("cost", pa.array(["12", "-", "k. A.", "K.A."]))))
    ['-', 'K.A.', 'k. A.']
    >>> marks_of_missing(encode("test", pa.array(["+", "-"])))
    set()
    """
    if not pa.types.is_string(column.values.type):
        return set()
    # no such value has a digit
    texts: list[str] = column.texts.filter(pc.invert(pc.match_substring_regex(column.texts, "[0-9]"))).to_pylist()
    found = {text for text in texts if text in MARKERS or "".join(text.split()).casefold() in _WORDS_FOR_MISSING}
    signs = {text for text in texts if _SIGN.fullmatch(text)} - found
    marks = {text for text in signs if _SIGN_FOR_MISSING.fullmatch(text)}
    return found | marks if marks == signs and len(signs) + len(found) < len(column.texts) else found


@dataclass(frozen=True)
class OddTexts:
    """Texts in a column of which nearly all others are dates or numbers."""

    column: str
    kind: str
    """What the others are: dates or numbers."""
    share: str
    """How many of the cells are."""
    texts: tuple[str, ...]
    alike: bool
    """Whether they are one or two texts that repeat, as marks of missing values do."""

    def __str__(self) -> str:
        said = f"{self.column!r}: {self.share} of its cells are {self.kind}"
        if self.alike:
            return f"{said}, the rest look like marks of missing values: add them with --missing (in Python missing=…)"
        return (
            f"{said}: correct the rest or, if they are marks of missing values, add them with --missing (in Python "
            "missing=…)"
        )


def find_odd_texts(column: Column) -> OddTexts | None:
    """Find what is no date or number in a column where nearly everything else is; None where there is no such thing.

    Texts that do not repeat, or are many, count only where the header says a date of birth.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> found = find_odd_texts(encode("cost", pa.array([*map(str, range(100)), "free", "free"])))
    >>> found.kind, found.share, found.texts
    ('numbers', '98 %', ('free',))
    """
    if column.kind is not Kind.TEXT or not pa.types.is_string(column.values.type) or len(column.values) <= _MOST_CODES:
        return None
    texts: list[str] = column.texts.to_pylist()
    counts = column.counts[: len(texts)]
    numbers = np.zeros(len(texts), dtype=bool)
    if 2 * sum(any(map(str.isdigit, text)) for text in texts) > len(texts):  # names need not be read as numbers
        numbers[Scale(column.values, column.decimal).numbers.codes] = True
    dates = np.array(find_dates(texts, date.today().year))  # noqa: DTZ011 - none lies in the future
    kind, usual = ("dates", dates) if dates.sum() >= numbers.sum() else ("numbers", numbers)
    rows, others = int(counts[usual].sum()), np.flatnonzero(~usual)
    if not len(others) or rows < _NEARLY_ALL * counts.sum() or usual.sum() <= _MOST_CODES:
        return None
    odd = tuple(texts[code] for code in others)
    alike = len(odd) <= _MOST_ODD and int(counts[others].min()) > 1
    if kind == "numbers":  # 85+ is no mark
        alike = alike and not any(char.isdigit() for text in odd for char in text)
    meant = meaning_of(column.name)
    if not alike and not (kind == "dates" and meant is not None and meant[0].name == "birth"):
        return None
    return OddTexts(column.name, kind, whole_percent(rows, int(counts.sum())), odd, alike)


@dataclass(frozen=True)
class Evidence:
    """What is known of a column: its header, its cells, and how many rows and persons its table has."""

    column: Column
    rows: int
    k: int
    """The k that is going to be asked for."""
    is_named: bool = True
    """Whether somebody named it; a level of an index may have no name."""

    @cached_property
    def meaning(self) -> HeaderMeaning | None:
        """What the header means, in any language."""
        return None if self._header_match is None else self._header_match[0]

    @property
    def certainty(self) -> Certainty:
        """How sure it is what the header means."""
        return Certainty.SURE if self._header_match is not None and self._header_match[1].is_sure else Certainty.LIKELY

    @cached_property
    def _header_match(self) -> tuple[HeaderMeaning, Match] | None:
        return meaning_of(self.column.name) if self.is_named else None

    @cached_property
    def findings(self) -> tuple[IdentifierFinding, ...]:
        """Kinds of personal identifiers that its cells or its header look like."""
        return tuple(findings(self.column))

    @property
    def filled(self) -> int:
        """Number of rows that are not null."""
        return int(self.column.counts[: len(self.column.values)].sum())

    @property
    def is_long_text(self) -> bool:
        return any(each.kind is FREE_TEXT for each in self.findings)

    @cached_property
    def dates(self) -> Builder | None:
        """A hierarchy of dates, where the cells are dates of one usual format."""
        if self.column.kind is Kind.DATE:
            return _drop_constant_units(draft(self.column), self.column)
        formats = formats_of(self.column.texts.to_pylist(), date.today().year)  # noqa: DTZ011 - none lies in the future
        if not formats:
            return None
        timed = ["day"] if "%H" in formats[0] else []
        return _drop_constant_units(
            Dates((*timed, "month", "quarter", "year", "decade"), format=formats[0]), self.column
        )

    def guess(self, role: Role, certainty: Certainty, why: str, builder: Builder | None = None) -> Guess:
        return Guess(self.column, role, certainty, why, builder, "" if self.meaning is None else self.meaning.name)


def look_sensitive(column: Column, rows: int) -> str | None:
    """Return why a column looks sensitive, by its header or by codes of illnesses in its cells; None if it does not.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> look_sensitive(encode("Diagnose", pa.array(["flu", "cold"])), 2)
    'its name says an illness or a treatment'
    >>> look_sensitive(encode("town", pa.array(["Ulm", "Bonn"])), 2) is None
    True
    """
    seen = Evidence(column, rows, 1)
    if column.size < 2:
        return None
    if seen.meaning is None:
        found = _guess_clinical_code(seen)
    elif seen.meaning.role is Role.SENSITIVE:
        found = _guess_by_header(seen)
    else:
        return None
    return found.why if found is not None and not found.is_open else None


def look_identifying(header: str) -> HeaderMeaning | None:
    """Return what a header says for sure that others know of people, or by which people are known; None if nothing.

    >>> look_identifying("Postleitzahl").title, look_identifying("vote") is None
    ('a postcode', True)
    """
    meant = meaning_of(header)
    if meant is None or meant[0].role not in {Role.QUASI_IDENTIFIER, Role.IDENTIFIER}:
        return None
    return meant[0] if meant[1].is_sure else None


def says_age(header: str) -> bool:
    """Whether a header says that its column tells how old somebody is.

    >>> says_age("Geburtsdatum"), says_age("age"), says_age("zip")
    (True, True, False)
    """
    meant = meaning_of(header)
    return meant is not None and meant[0].name in _AGES


def rounding_step(column: Column) -> Fraction | None:
    """Return the least step 1, 2 or 5 × 10ⁿ after which hardly any row has a unique number; None if no step helps.

    "Hardly any" is one row in a hundred or, if the largest numbers are too far apart, few enough to cause no warning.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> rounding_step(encode("pay", pa.array([1000 + n * n for n in range(100)])))
    Fraction(500, 1)
    """
    if column.kind is not Kind.NUMBER or len(column.values) < 2:
        return None
    numbers, counts = column.floats, column.counts[: len(column.values)]
    power = floor(log10(max(numbers[-1] - numbers[0], 1e-300)))
    rows, fair = len(column.codes), None
    for step in (Fraction(10) ** tens * first for tens in range(power - _FINEST, power) for first in (1, 2, 5)):
        # `multiple` [value]: number of the multiple that it is rounded to; `alone`: multiples with a single row
        _, multiple = np.unique(np.floor(numbers / float(step) + 0.5), return_inverse=True)
        alone = int((sum_counts(multiple, counts) == 1).sum())
        fair = step if fair is None and not has_exact_values(alone, rows) else fair
        if 100 * alone <= rows:
            return step
    return fair


def bounds_for(column: Column, step: Fraction) -> Bounds:
    """Return the bounds outside of which rounded numbers are unique: few rows, but enough to hide in.

    Numbers beyond a bound are published as the bound: those at one end from the first unique one on, in at least ten
    rows and at most one in twenty. An end without unique numbers needs no bound.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> pay = encode("pay", pa.array([100 + n % 50 for n in range(995)] + [300, 400, 500, 700, 1480]))
    >>> bounds_for(pay, Fraction(10))
    (None, Fraction(150, 1))
    """
    numbers, counts = column.floats, column.counts[: len(column.values)]
    # `multiple` [multiple]: its number; `rows` [multiple]: rows that are rounded to it
    multiple, at = np.unique(np.floor(numbers / float(step) + 0.5), return_inverse=True)
    rows = np.bincount(at, weights=counts)
    low = _end_of_tail(rows)
    high = _end_of_tail(rows[::-1])
    bottom = None if low is None else int(multiple[low]) * step
    top = None if high is None else int(multiple[len(multiple) - 1 - high]) * step
    return (bottom, top) if bottom is None or top is None or bottom < top else (None, None)


def _end_of_tail(rows: NDArray[Any]) -> int | None:
    """Return the multiple at which a tail ends that holds unique ones and enough rows; None if there is no such tail.

    `rows` are those of each multiple, from the end inwards.
    """
    held = np.cumsum(rows)
    within = held <= max(held[-1] / _LARGEST_TAIL, _ROWS_OF_A_TAIL)
    alone = np.flatnonzero((rows == 1) & within)
    if not len(alone):
        return None
    enough = np.flatnonzero(held[alone[-1] :] >= _ROWS_OF_A_TAIL)
    return int(alone[-1] + enough[0]) if len(enough) else None


@dataclass(frozen=True)
class Giveaway:
    """A quasi-identifier of which some values nearly determine a sensitive column."""

    known: str
    """The quasi-identifier."""
    told: str
    """The sensitive column."""
    share: float
    """Share of the rows that hold such a value."""

    def __str__(self) -> str:
        return (
            f"in {100 * self.share:.0f} % of the rows the value of {self.known} nearly tells that of {self.told}, so a "
            f"promise about {self.told} can only be kept by hiding {self.known}; drop one of the two, or, if others "
            f"may know {self.told} anyway, make it a quasi-identifier with confirm = true"
        )


def find_giveaways(known: Sequence[Column], told: Sequence[Column]) -> list[Giveaway]:
    """Return the pairs of a quasi-identifier and a sensitive column of which the one nearly determines the other.

    Of each kind, the first `MOST_COMPARED` columns are looked at.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> death, status = (encode(name, pa.array(["x"] * 60 + ["y"] * 40)) for name in ("death", "status"))
    >>> [(each.known, each.told, each.share) for each in find_giveaways([death], [status])]
    [('death', 'status', 1.0)]
    """
    pairs = [
        Giveaway(one.name, other.name, _share_told(one, other))
        for one, other in product(known[:MOST_COMPARED], told[:MOST_COMPARED])
    ]
    return [pair for pair in pairs if pair.share >= _LEAST_TOLD]


@dataclass(frozen=True)
class RelatedColumns:
    """Two sensitive columns of which the first tells the second, such as the code and the name of an illness."""

    first: str
    second: str
    share: float
    """Share of the rows in which the value of the second is the usual one for the value of the first."""
    mutual: bool
    """Whether the second tells the first as well."""
    exact: bool
    """Whether each value of the one goes with one value of the other, without exception."""

    def __str__(self) -> str:
        how = f"{self.first} and {self.second} tell each other" if self.mutual else f"{self.first} tells {self.second}"
        often = "in every row" if self.exact else f"in {floor(100 * self.share)} % of the rows"
        learned = "learns the one learns the other" if self.mutual else f"learns {self.first} learns both"
        return f"{how} {often}: whoever {learned}, and a release needs only one of the two"


def find_related(columns: Sequence[Column]) -> list[RelatedColumns]:
    """Return the pairs of sensitive columns of which one tells the other much better than the usual value would.

    The first `MOST_COMPARED` columns are looked at.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> code = encode("code", pa.array(["J11", "J45", "B20"] * 20))
    >>> name = encode("name", pa.array(["flu", "asthma", "hiv"] * 19 + ["flu", "asthma", "flu"]))
    >>> [(each.first, each.second, round(each.share, 3), each.mutual) for each in find_related([code, name])]
    [('code', 'name', 0.983, True)]
    """
    found = []
    for one, other in combinations(columns[:MOST_COMPARED], 2):
        there, back, exact = _shares_usual(one, other)
        if there is not None and back is not None:
            found.append(RelatedColumns(one.name, other.name, min(there, back), mutual=True, exact=exact))
        elif there is not None:
            found.append(RelatedColumns(one.name, other.name, there, mutual=False, exact=False))
        elif back is not None:
            found.append(RelatedColumns(other.name, one.name, back, mutual=False, exact=False))
    return found


def _shares_usual(one: Column, other: Column) -> tuple[float | None, float | None, bool]:
    """Return how often each of two columns tells the other, None where not much better than without, and if always.

    Columns with few rows per value tell everything, by chance.
    """
    both = np.ones(len(one.codes), dtype=bool)
    for column in (one, other):
        both &= column.codes != (-1 if column.null_code is None else column.null_code)
    rows = int(both.sum())
    values = [len(np.unique(column.codes[both])) for column in (one, other)]
    if min(values) < 2 or _ROWS_OF_A_VALUE * max(values) > rows:
        return None, None, False
    pairs, often = np.unique(one.codes[both].astype(np.int64) * other.size + other.codes[both], return_counts=True)

    def share(known: NDArray[Any], told: NDArray[Any]) -> float | None:
        # `usual`: rows with the most frequent value of `told` for their value of `known`; `anyway`: in the whole table
        usual, anyway = np.zeros(known.max() + 1, dtype=np.int64), np.bincount(told, weights=often).max()
        np.maximum.at(usual, known, often)
        right = int(usual.sum())
        better = right >= _NEARLY_TOLD * rows and _FEWER_ERRORS * (rows - right) <= rows - anyway
        return right / rows if better else None

    exact = len(pairs) == values[0] == values[1] and rows == len(one.codes)
    return share(pairs // other.size, pairs % other.size), share(pairs % other.size, pairs // other.size), exact


def _share_told(known: Column, told: Column) -> float:
    """Return the share of rows whose value of one column nearly determines another, which is not as common anyway."""
    both = np.ones(len(known.codes), dtype=bool)
    for column in (known, told):
        both &= column.codes != (-1 if column.null_code is None else column.null_code)
    if not both.any():
        return 0.0
    pairs, rows = np.unique(known.codes[both].astype(np.int64) * told.size + told.codes[both], return_counts=True)
    usual = np.bincount(told.codes[both], minlength=told.size) / both.sum()
    # [pair] the rows that have its value of `known`, whatever they have of `told`
    alike = np.bincount(known.codes[both], minlength=known.size)[pairs // told.size]
    sure = (rows >= _NEARLY_TOLD * alike) & (rows >= _MUCH_LIKELIER * usual[pairs % told.size] * alike)
    return float(alike[sure & (alike >= _FEWEST_TOLD)].sum() / len(known.codes))


def guess_roles(columns: Sequence[Column], rows: int, k: int, unnamed: Collection[str] = ()) -> list[Guess]:
    """Guess the role of every column; of identifiers that repeat, the one with the most values tells persons apart.

    `unnamed` are levels of an index that nobody has given a name.
    """
    guesses = [guess_role(Evidence(column, rows, k, column.name not in unnamed)) for column in columns]
    told = [each for each in guesses if each.about in _TELLING_PERSONS and len(each.column.values) > 1]
    parts = {each.column.name: compared_cells(each.column) for each in told}
    guesses = [_as_joined(each, parts) for each in guesses]
    fixed = fixed_columns(columns)
    shared = [each.role is Role.UNIT and are_namesakes(each.column, fixed) for each in guesses]
    guesses = [
        _as_shared_identifier(each) if namesakes else each for each, namesakes in zip(guesses, shared, strict=True)
    ]
    persons = [each for each in guesses if each.role is Role.UNIT]
    person = max(persons, key=lambda each: each.values, default=None)
    return [each if each.role is not Role.UNIT or each is person else _as_identifier(each) for each in guesses]


def _as_joined(found: Guess, parts: Mapping[str, Sequence[str | None]]) -> Guess:
    """Turn a column that joins names with other names, births or addresses into one that tells persons apart.

    `parts` are some cells of the columns with names, births and addresses.
    """
    if not parts or found.column.kind is not Kind.TEXT or found.about == "birth":
        return found
    cells = compared_cells(found.column)
    joined = [name for name, part in parts.items() if name != found.column.name and contains(cells, part)]
    if len(joined) < 2:
        return found
    repeats = len(found.column.values) < int(found.column.counts[: len(found.column.values)].sum())
    role, so = (
        (Role.UNIT, "and repeats: persons are counted by it") if repeats else (Role.IDENTIFIER, "so it is dropped")
    )
    return replace(found, role=role, certainty=Certainty.SURE, builder=None, why=f"it joins {', '.join(joined)}, {so}")


def _as_shared_identifier(found: Guess) -> Guess:
    """Turn a unit into an identifier, since several people share a value; free text is just dropped."""
    why, meant = found.why.partition(", and ")[0], meaning_of(found.column.name)
    if meant is not None and meant[0].name == "free_text":
        return replace(found, role=Role.IDENTIFIER, why=f"{why}: dropped")
    shared = "one value may be of several people, since their dates of birth or sexes differ"
    return replace(found, role=Role.IDENTIFIER, why=f"{why}; {shared}")


def _as_identifier(found: Guess) -> Guess:
    return replace(found, role=Role.IDENTIFIER, why="it names a person, and another column tells persons apart")


def guess_role(seen: Evidence) -> Guess:
    """Guess the role of one column: by rules in turn, the first that applies decides."""
    steps = (
        *(
            _guess_constant,
            _guess_row_number,
            _guess_by_content,
            _guess_index_level,
            _guess_by_header,
            _guess_clinical_code,
            _guess_sex,
            _guess_date,
            _guess_long_text,
            _guess_unique,
        ),
    )
    found = (step(seen) for step in steps)
    return next((each for each in found if each is not None), None) or _ask_owner(seen)


def _guess_constant(seen: Evidence) -> Guess | None:
    if seen.column.size > 1:
        return None
    return seen.guess(Role.INSENSITIVE, Certainty.SURE, "it is the same in every row")


def _guess_row_number(seen: Evidence) -> Guess | None:
    """Guess that unique numbers count the rows: consecutive ones, or any if the header says so."""
    column, meant = seen.column, None if seen.meaning is None else seen.meaning.name
    if column.kind is not Kind.NUMBER or column.uniques < seen.rows or seen.rows < 2:
        return None
    consecutive = column.number_of(len(column.values) - 1) - column.number_of(0) == seen.rows - 1
    if meant == "row_number" or (consecutive and meant in {None, "person_number"}):
        return seen.guess(Role.IDENTIFIER, Certainty.SURE, "it numbers the rows")
    return None


def _guess_by_content(seen: Evidence) -> Guess | None:
    """Guess by cells that identify a person: mail, phone, account, official number, or name if the header allows it."""
    found = find_direct_identifier(seen.column)
    if found is None:
        return None
    share = whole_percent(found.rows, found.filled)
    return _guess_identifier(seen, Certainty.SURE, f"{share} of its cells look like {found.kind.title}", SEVERAL_ROWS)


def _guess_identifier(seen: Evidence, certainty: Certainty, why: str, least: Fraction) -> Guess:
    """Guess an identifier; or a unit, if its values have several rows each, at least `least` on average."""
    values, filled = len(seen.column.values), seen.filled
    if values > 1 and least * values <= filled <= ROWS_OF_A_PERSON[1] * values:
        many = f"{values:,} values on {filled:,} rows"
        return seen.guess(Role.UNIT, certainty, f"{why}, and {many}: persons are counted, not rows")
    return seen.guess(Role.IDENTIFIER, certainty, why)


def _guess_index_level(seen: Evidence) -> Guess | None:
    if seen.is_named:
        return None
    why = "a level without a name of the frame's index, which tells rows or persons apart"
    return _guess_identifier(seen, Certainty.LIKELY, why, SEVERAL_ROWS)


def _guess_by_header(seen: Evidence) -> Guess | None:
    meaning = seen.meaning
    if meaning is None:
        return None
    why = f"its name says {meaning.title}"
    if meaning.role is Role.IDENTIFIER:
        if meaning.name == "free_text":  # which may repeat, and tells no persons apart
            return seen.guess(Role.IDENTIFIER, seen.certainty, f"{why}: dropped")
        least = ROWS_OF_A_PERSON[0] if meaning.name == "person_number" else SEVERAL_ROWS
        return _guess_identifier(seen, seen.certainty, why, least)
    if meaning.role is Role.QUASI_IDENTIFIER:
        return _guess_quasi_identifier(seen, meaning, why)
    return _guess_as_named(seen, meaning, why)


def _guess_as_named(seen: Evidence, meaning: HeaderMeaning, why: str) -> Guess | None:
    """Guess the role that the header tells, unless the cells contradict it."""
    unweighed = meaning.role is Role.SAMPLING_WEIGHT and seen.column.kind is not Kind.NUMBER
    if unweighed or (meaning.role is Role.SENSITIVE and seen.is_long_text):
        return None
    if meaning.name == "body" and header_words(seen.column.name) == ("weight",) and _may_weigh_rows(seen.column):
        said = (
            f"{why}, but its numbers are too small for one: sampling-weight if they say how many people a row stands "
            "for, sensitive if not"
        )
        return seen.guess(Role.SENSITIVE, Certainty.UNKNOWN, said)
    if meaning.name == "diagnosis" and _may_be_days(seen.column):
        said = f"{why}, but its numbers look like days: quasi-identifier if others may know these, sensitive if not"
        return seen.guess(Role.SENSITIVE, Certainty.UNKNOWN, said)
    return seen.guess(meaning.role, seen.certainty, why)


def _guess_quasi_identifier(seen: Evidence, meaning: HeaderMeaning, why: str) -> Guess | None:
    column, builder = seen.column, seen.dates
    if isinstance(builder, Dates) and meaning.name == "birth":
        builder = _drop_constant_units(replace(builder, units=_UNITS_OF_BIRTHS), column)
    if builder is None and meaning.name == "event_date" and column.kind is Kind.TEXT:
        return None  # a header about dates above something else
    if builder is None and meaning.name in _CATEGORIES and _are_codes(column):
        builder = ValueOnly()
    try:
        builder = builder or draft(column, seen.k)
        build(column, builder)
    except BadHierarchy:
        if meaning.name == "birth":  # which is never published as it is
            return seen.guess(Role.QUASI_IDENTIFIER, seen.certainty, why, ValueOnly())
        said = f"{why}, but it has too many different values to generalise"
        return seen.guess(Role.IDENTIFIER, Certainty.LIKELY, said)
    return seen.guess(Role.QUASI_IDENTIFIER, seen.certainty, why, builder)


def _drop_constant_units(builder: Builder, column: Column) -> Builder:
    """Leave out units of dates that distinguish nothing, since all dates lie in the same one."""
    if not isinstance(builder, Dates) or not len(column.values):
        return builder
    try:
        *levels, _ = builder.taxonomy(column).levels
    except BadHierarchy:  # which is said where it matters
        return builder
    units = [unit for unit, labels in zip(builder.units, levels, strict=True) if len(set(labels)) > 1]
    return replace(builder, units=tuple(units or builder.units[-1:]))


def _are_codes(column: Column) -> bool:
    """Whether numbers are codes of categories: few, whole and small."""
    if column.kind is not Kind.NUMBER or len(column.values) > _MOST_CODES:
        return False
    return all(number.denominator == 1 and abs(number) < 1_000 for number in column.numbers)


def _may_weigh_rows(column: Column) -> bool:
    """Whether numbers may be weights of rows: positive, and about 1 on average, as no weight of a body is."""
    if column.kind is not Kind.NUMBER or not len(column.values):
        return False
    mean = float(np.average(column.floats, weights=column.counts[: len(column.values)]))
    return bool(column.floats[0] > 0 and 0.5 <= mean <= 2)


def _may_be_days(column: Column) -> bool:
    """Whether whole numbers may be days: many, of four digits or more, and a quarter of their range occurs."""
    if column.kind is not Kind.NUMBER or len(column.values) < _FEWEST_DAYS:
        return False
    low, high = np.quantile(column.floats, [0.05, 0.95])
    inside = int(((column.floats >= low) & (column.floats <= high)).sum())
    whole = all(number.denominator == 1 for number in column.numbers)
    return bool(whole and high >= 1_000 and 4 * inside >= high - low)


def _guess_clinical_code(seen: Evidence) -> Guess | None:
    for title, look in _CLINICAL_CODES.items():
        flags = look(seen.column.texts)
        if int(seen.column.counts[: len(flags)][flags].sum()) >= _NEARLY_ALL * max(seen.filled, 1):
            return seen.guess(Role.SENSITIVE, Certainty.LIKELY, f"its cells look like {title}")
    return None


def _guess_sex(seen: Evidence) -> Guess | None:
    """Guess by the usual codes of the two sexes, with or without one for others."""
    values = {text.strip().casefold() for text in seen.column.texts.to_pylist()} - _OTHER_SEXES
    if values not in _SEXES:
        return None
    why = "its values are usual codes of the sexes"
    return seen.guess(Role.QUASI_IDENTIFIER, Certainty.LIKELY, why, ValueOnly())


def _guess_date(seen: Evidence) -> Guess | None:
    if seen.dates is None:
        return None
    why = "its cells are dates, which others may know"
    return seen.guess(Role.QUASI_IDENTIFIER, Certainty.LIKELY, why, seen.dates)


def _guess_long_text(seen: Evidence) -> Guess | None:
    if not seen.is_long_text:
        return None
    return seen.guess(Role.IDENTIFIER, Certainty.LIKELY, "free text, which may name people: dropped")


def _guess_unique(seen: Evidence) -> Guess | None:
    """Guess an identifier if nearly every row has a value of its own: a text, or a whole number of one length."""
    column = seen.column
    if seen.rows < 2 or column.uniques < _NEARLY_ALL * seen.rows:
        return None
    if column.kind is Kind.NUMBER and not (_has_one_length(column) and _is_evenly_spread(column)):
        return None
    return seen.guess(Role.IDENTIFIER, Certainty.LIKELY, "nearly every row has a value of its own: dropped")


def _has_one_length(column: Column) -> bool:
    whole = all(number.denominator == 1 for number in column.numbers)
    return whole and len({len(text) for text in column.texts.to_pylist()}) == 1


def _is_evenly_spread(column: Column) -> bool:
    """Whether the median lies near the middle of the range, as with numbers that are handed out in turn."""
    low, middle, high = np.quantile(column.floats, [0, 0.5, 1])
    return bool(high == low or 0.4 <= (middle - low) / (high - low) <= 0.6)


def _ask_owner(seen: Evidence) -> Guess:
    """Leave the role open: nothing is known about the column, so its owner has to decide."""
    why = (
        "nothing tells what it is; identifier if it names people, unit if people have several rows, quasi-identifier "
        "if others may know it, sensitive or insensitive if not"
    )
    return seen.guess(Role.SENSITIVE, Certainty.UNKNOWN, why)
