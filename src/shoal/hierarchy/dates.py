"""Dates to months, quarters, years, and to spans of years up to centuries (S2.2)."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa

from shoal.data.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.exact_numbers import is_list
from shoal.hierarchy.taxonomy import Taxonomy
from shoal.hierarchy.value_columns import built, first_row


def _span(years: int) -> Callable[[date], str]:
    """Return a function that names the span of so many years in which a date lies: `1980-1999`."""
    return lambda d: f"{d.year // years * years:04}-{d.year // years * years + years - 1:04}"


UNITS: dict[str, Callable[[date], str]] = {
    "day": date.isoformat,
    "month": lambda d: f"{d.year:04}-{d.month:02}",
    "quarter": lambda d: f"{d.year:04}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04}",
    "5 years": _span(5),
    "decade": lambda d: f"{d.year // 10:03}0s",
    "20 years": _span(20),
    "century": _span(100),  # `1900s` would be a decade
}
"""Functions that name the unit of a date; in nesting order."""

_PLACEHOLDER_YEAR = 9999
_PROBE = date(2023, 11, 23)


@dataclass(frozen=True, slots=True)
class Dates:
    """One calendar unit per level: 2024-03-31, 2024-03, 2024-Q1, 2024, 2020-2024, 2020s, …, 2000-2099, `*` (S2.2).

    ISO dates need no `format`; any other text does, as `01/02/03` is ambiguous.

    >>> from shoal.data.codes import encode
    >>> Dates(["month", "decade"]).taxonomy(encode("born", pa.array(["1987-03-31"]))).levels
    [['1987-03'], ['1980s'], ['*']]
    """

    units: tuple[str, ...]
    format: str | None = None

    def __post_init__(self) -> None:
        names = list(UNITS)
        if not is_list(self.units) or not self.units or any(u not in names for u in self.units):
            raise BadHierarchy(f"dates = {self.units!r} is not a list of units; choose from {', '.join(names)}")
        if any(names.index(fine) >= names.index(coarse) for fine, coarse in pairwise(self.units)):
            raise BadHierarchy(
                f"dates = {list(self.units)}: units must grow; write them in the order {', '.join(names)}"
            )
        object.__setattr__(self, "units", tuple(self.units))
        if self.format is not None and not _can_read_back(self.format, self.units[0]):
            raise BadHierarchy(
                f"format = {self.format!r} does not tell the {self.units[0]} of a date; write one such as '%d/%m/%Y'"
            )

    def taxonomy(self, column: Column) -> Taxonomy:
        is_text = pa.types.is_string(column.values.type)
        # real dates have no format, but may have a time after them
        format_ = self.format if is_text else None
        dates = [_date(text if is_text else text[:10], format_) for text in column.texts.to_pylist()]
        row = first_row(column, [found is None for found in dates])
        if row is not None and format_ is None:
            raise BadHierarchy(
                f"column {column.name!r}: row {row} is not an ISO date such as 2024-03-31, and others are "
                "ambiguous; give format, or list it in [data] missing if it stands for no date"
            )
        if row is not None:
            raise BadHierarchy(
                f"column {column.name!r}: row {row} is not a real date of the format {format_!r}; "
                "correct it, or list it in [data] missing"
            )
        return built(column, [[UNITS[unit](found) for found in dates if found] for unit in self.units])

    def spec(self) -> dict[str, Any]:
        return {"dates": list(self.units)} | ({"format": self.format} if self.format is not None else {})


def _date(text: str, format_: str | None) -> date | None:
    """Return the date that a text means; None for other texts and for placeholders (0000-00-00, 9999-12-31)."""
    try:
        found = datetime.strptime(text, format_).date() if format_ else date.fromisoformat(text)  # noqa: DTZ007
    except ValueError:
        return None
    other_iso = format_ is None and text[7:8] != "-"  # 20240331, 2024-W13-7
    return None if other_iso or found.year == _PLACEHOLDER_YEAR else found


FORMATS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%d %B %Y"),
    *("%B %d, %Y", "%d. %B %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")
_SHORTEST = len("1.1.24")
_LEAST_YEAR = 1850
_FEW = 20
_SAMPLED = 30
"""Texts by which the format of most dates is chosen."""


def formats_of(texts: Sequence[str], latest: int) -> list[str]:
    """Return the usual formats in which all texts are dates of years up to `latest`; the day first before others.

    >>> formats_of(["31/01/2024", "01/02/2024"], 2024), formats_of(["01/02/2024"], 2024)
    (['%d/%m/%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    >>> formats_of(["2024-01-31 10:30"], 2024), formats_of(["7"], 2024)
    (['%Y-%m-%d %H:%M'], [])
    """
    if not texts or min(map(len, texts)) < _SHORTEST:
        return []

    def fits(format_: str, some: Sequence[str]) -> bool:
        return all(_is_date(text, format_, latest) for text in some)

    return [format_ for format_ in _every_format() if fits(format_, texts[:_FEW]) and fits(format_, texts)]


def _every_format() -> list[str]:
    """Return the usual formats, without and with a time of day."""
    return [day + time for time in _TIMES for day in (*FORMATS, *(["%Y-%m-%d"] if time else []))]


def _is_date(text: str, format_: str, latest: int) -> bool:
    found = _date(text, format_)
    return found is not None and _LEAST_YEAR <= found.year <= latest


def find_dates(texts: Sequence[str], latest: int) -> list[bool]:
    """Tell which texts are dates of the usual format that fits most of them, of years up to `latest`.

    Where less than half of some texts are dates of one format, none is taken for one.

    >>> find_dates(["31/01/2024", "unknown", "01/02/2024"], 2024)
    [True, False, True]
    """
    step = max(len(texts) // _SAMPLED, 1)
    some = [text for text in texts[::step] if len(text) >= _SHORTEST and any(map(str.isdigit, text))]
    formats = ["%Y-%m-%d", *_every_format()]
    often = {format_: sum(_is_date(text, format_, latest) for text in some) for format_ in formats}
    best = max(often, key=often.__getitem__)
    if 2 * often[best] < len(texts[::step]):
        return [False] * len(texts)
    return [len(text) >= _SHORTEST and _is_date(text, best, latest) for text in texts]


def _can_read_back(format_: Any, unit: str) -> bool:
    """Return whether a date written in this format can be read back to its unit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a format without a year is what is asked about
            found = datetime.strptime(_PROBE.strftime(format_), format_).date()  # noqa: DTZ007
    except (TypeError, ValueError, re.error):
        return False
    return UNITS[unit](found) == UNITS[unit](_PROBE) and found.year == _PROBE.year
