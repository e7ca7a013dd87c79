"""Checks that statistics and observed ranges of released classes are those of the original rows behind them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from shoal.data.class_counts import Flags, Indices, Longs, sum_counts
from shoal.errors import NotVerified
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import TOP, Scale, ValueKind
from shoal.verify.claim import Claim, Original
from shoal.verify.open_release import classes_sql, query_arrays, starred_sql

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Ranking:
    """The values of a column from least to greatest: as numbers, as moments, as texts, or as a policy orders them.

    >>> import pyarrow as pa
    >>> Ranking(Scale(pa.array(["10", "9.0", "9"]))).ranks.tolist()
    [1, 0, 0]
    >>> Ranking(Scale(pa.array(["1", "2"])), ["2", "1"]).rank("2")
    0
    """

    scale: Scale
    order: Sequence[str] = ()
    """The values from least to greatest, where a policy says it; they are then no numbers."""

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers, which have means and bounds; true of an empty column."""
        return (self.scale.sort is ValueKind.NUMBER or not len(self.scale.values)) and not self.order

    @cached_property
    def ranks(self) -> Longs:
        """Rank of each code, as an array [code]."""
        if not self.order:
            return self.scale.ranks
        ranks = np.full(len(self.scale.values), len(self.order), dtype=np.int64)
        for rank, text in enumerate(self.order):
            ranks[self._code(text)] = rank
        return ranks

    def rank(self, text: str) -> int | None:
        """Return the rank of the value that a text stands for; None if there is none."""
        if not self.order:
            return self.scale.rank(text)
        codes = self._code(text)
        return int(self.ranks[codes[0]]) if len(codes) else None

    def number(self, rank: int) -> Fraction:
        """Return the number that has a rank."""
        return self.scale.number_of(int(self.scale.first_codes[rank]))

    def _code(self, text: str) -> Longs:
        """Return the codes of a value; of several spellings only the given one, since an order names each."""
        codes = self.scale.codes_of_text(text)
        return codes[[self.scale.texts[code] == text for code in codes.tolist()]] if len(codes) > 1 else codes


@dataclass(frozen=True)
class ClassValues:
    """Each class and each value in it once, by class and then from least to greatest; nulls are not among them.

    >>> import pyarrow as pa
    >>> ages = Ranking(Scale(pa.array([9, 30, 41])))
    >>> of, ranks, rows = np.array([[0, 0, 1], [0, 1, 2], [3, 1, 1]])
    >>> values = ClassValues(ages, 2, of, ranks, rows, np.zeros(2, dtype=bool))
    >>> values.least.tolist(), values.greatest.tolist(), values.commonest.tolist(), values.means
    ([0, 2], [1, 2], [0, 2], [Fraction(57, 4), Fraction(41, 1)])
    """

    ranking: Ranking
    classes: int
    of: Indices
    """The class of each entry."""
    ranks: Indices
    rows: Longs
    with_null: Flags
    """Which classes have rows without a value too."""

    @classmethod
    def read(cls, db: "duckdb.DuckDBPyConnection", ranking: Ranking, code: str, classes: int) -> "ClassValues":
        """Count the values of each class; `code` is what `origins` calls the codes of the column."""
        of, codes, rows = query_arrays(
            db,
            f"SELECT p.class, o.{code} AS code, count(*) AS n FROM placed p JOIN origins o ON p.row = o.row "
            "GROUP BY ALL",
        )
        # `null` [entry]: whether it counts nulls; `with_null` [class]: whether it has such entries
        null = codes >= len(ranking.scale.values)
        with_null = np.zeros(classes, dtype=bool)
        with_null[of[null]] = True
        # `pairs` [distinct class and rank]: spellings of one number are one value, and their rows are added up
        ranks = ranking.ranks[codes[~null]]
        width = int(ranks.max(initial=0)) + 1
        pairs, which = np.unique(of[~null] * width + ranks, return_inverse=True)
        counts = sum_counts(which, rows[~null], len(pairs))
        return cls(ranking, classes, pairs // width, pairs % width, counts, with_null)

    def share_in_groups(self, groups: Indices) -> "ClassValues":
        """Give every class the values of all classes of its group; how often each occurs is forgotten."""
        # `one` [2, entry]: group and rank, each value of a group once; `many` [group + 1]: where each group begins
        one = np.unique(np.stack([groups[self.of], self.ranks]), axis=1)
        many = np.searchsorted(one[0], np.arange(int(groups.max(initial=-1)) + 2))
        # `entries` [class]: positions in `one` of the entries of its group
        entries = [np.arange(many[group], many[group + 1]) for group in groups.tolist()]
        of = np.repeat(np.arange(self.classes), [len(entry) for entry in entries])
        ranks = one[1][np.concatenate(entries)] if entries else self.ranks
        null = np.zeros(len(groups), dtype=bool)
        null[np.isin(groups, groups[self.with_null])] = True
        return ClassValues(self.ranking, self.classes, of, ranks, np.ones_like(ranks), null)

    @cached_property
    def ends(self) -> Longs:
        """Where the entries of each class begin; one more for where the last ones end."""
        return np.searchsorted(self.of, np.arange(self.classes + 1)).astype(np.int64)

    @property
    def any(self) -> Flags:
        """Which classes have a value at all."""
        return np.asarray(np.diff(self.ends) > 0)

    @property
    def least(self) -> Longs:
        return self._at(self.ends[:-1])

    @property
    def greatest(self) -> Longs:
        return self._at(self.ends[1:] - 1)

    @property
    def commonest(self) -> Longs:
        """Rank of the most frequent value of each class; the least one of several."""
        # entries sorted by class and then by falling frequency: the first of each class is the commonest
        order = np.lexsort((np.arange(len(self.of)), -self.rows, self.of))
        return self._at(np.append(order, 0)[np.minimum(self.ends[:-1], len(order))])

    @property
    def middles(self) -> tuple[Longs, Longs]:
        """Ranks of the two middle values of each class, which are one where it has an odd number of rows."""
        # `ranks` [entry + 1]: rows before each entry; `first`, `total` [class]: its first row and number of rows
        ranks = np.append(0, np.cumsum(self.rows))
        first, total = ranks[self.ends[:-1]], np.diff(ranks[self.ends])
        low, high = (np.searchsorted(ranks[1:], first + at, side="right") for at in ((total - 1) // 2, total // 2))
        return self._at(low), self._at(high)

    @cached_property
    def means(self) -> list[Fraction | None]:
        """Exact mean of each class, in a column of numbers; None where a class has no value."""
        used, at = np.unique(self.ranks, return_inverse=True)
        numbers = [self.ranking.number(rank) for rank in used.tolist()]
        unit = lcm(*{number.denominator for number in numbers})
        # `units` [used rank]: its number in multiples of 1/unit, as Python integers, which have no limit
        units = np.array([number.numerator * (unit // number.denominator) for number in numbers], dtype=object)
        # `totals` [entry + 1]: sum before each entry, in these units; the sum of a class is a difference of two
        totals = np.append(0, np.cumsum(units[at] * self.rows.astype(object))) if len(at) else np.zeros(1, dtype=object)
        rows = np.append(0, np.cumsum(self.rows))[self.ends]
        sums = totals[self.ends]
        return [
            Fraction(sums[c + 1] - sums[c], unit * int(rows[c + 1] - rows[c])) if some else None
            for c, some in enumerate(self.any)
        ]

    def _at(self, entry: Indices) -> Longs:
        """Return the rank of one entry of each class; -1 where a class has none."""
        ranks = np.append(self.ranks, -1)[np.clip(entry, 0, len(self.ranks))]
        return np.where(self.any, ranks, -1).astype(np.int64)


Cells = Sequence[str | None]
"""What each class shows in one column."""

_CLOSE = Fraction(1, 10**9)
"""Largest relative error of a released mean, which is written as a binary or a short number."""


def find_misstatements(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> Iterator[str]:
    """Yield a sentence for every column that tells something else of a class than the rows behind it."""
    sizes, hidden = query_arrays(
        db, f"SELECT sum(n)::BIGINT, bool_and({starred_sql(claim)})::INT FROM classed GROUP BY class ORDER BY class"
    )
    hidden = hidden.astype(bool) if claim.shown else np.zeros(len(sizes), dtype=bool)
    shown = db.sql(f"FROM {classes_sql(claim)} ORDER BY class").to_arrow_table()
    told = {claim.source(name) for name in (*claim.statistics, *claim.observed)}
    rankings = {name: Ranking(original.table[name].scale, original.order.get(name, ())) for name in told}
    for name in [*claim.statistics, *sorted(claim.observed)]:
        kind = claim.statistics[name][1] if name in claim.statistics else "range"
        if name not in claim.quasi_identifiers or kind not in CHECKS:
            raise NotVerified(f"the manifest says of column {name!r} what this version does not know")
        at = claim.columns.index(name)
        of = claim.source(name)
        values = ClassValues.read(db, rankings[of], f"o{at}", len(sizes))
        cells = shown[f"c{at}"].to_pylist()
        if claim.by_label and kind in {"range", "min", "max"}:
            values = values.share_in_groups(_number_equal_cells(cells))
        wrong = ~CHECKS[kind](values, cells) & ~hidden
        if wrong.any():
            yield f"{sizes[wrong].sum()} released row(s) do not show the {kind} of their class in column {name!r}"


def _number_equal_cells(cells: Cells) -> Indices:
    """Return a number for each class, equal for classes that show the same."""
    number: dict[str | None, int] = {}
    return np.array([number.setdefault(cell, len(number)) for cell in cells], dtype=np.int64)


def _bound_check(low: bool) -> Callable[[ClassValues, Cells], Flags]:
    """Return a check that flags classes that respect the bound they show; a null respects none, no bound passes."""

    def check(values: ClassValues, shown: Cells) -> Flags:
        ends = values.least if low else values.greatest
        return np.array(
            [
                text is None or (not null and _is_bound(values.ranking, text, end, low=low))
                for text, end, null in zip(shown, ends.tolist(), values.with_null.tolist(), strict=True)
            ],
            dtype=bool,
        )

    return check


def _is_bound(ranking: Ranking, text: str, end: int, *, low: bool) -> bool:
    """Whether a text is a lower (`low`) or upper bound of the number that has the rank `end`."""
    bound = ranking.scale.number(text)
    if bound is None or end < 0 or not ranking.is_numeric:
        return False
    return bound <= ranking.number(end) if low else bound >= ranking.number(end)


def _value_check(which: Callable[[ClassValues], Longs]) -> Callable[[ClassValues, Cells], Flags]:
    """Return a check that flags classes that show the value chosen by `which`; null if they have none."""

    def check(values: ClassValues, shown: Cells) -> Flags:
        return np.asarray(_ranks(values.ranking, shown) == which(values))

    return check


def _ranks(ranking: Ranking, shown: Cells) -> Longs:
    """Return the rank of what each class shows: -1 for null, -2 for what is no value of the column."""
    return np.array([-1 if text is None else _or(ranking.rank(text), -2) for text in shown], dtype=np.int64)


def _or(found: int | None, other: int) -> int:
    return other if found is None else found


def _check_mean(values: ClassValues, shown: Cells) -> Flags:
    if not values.ranking.is_numeric:
        return np.zeros(values.classes, dtype=bool)
    return _check_close(values, shown, values.means)


def _check_median(values: ClassValues, shown: Cells) -> Flags:
    """Flag classes that show their median: the mean of the two middle numbers; if not numeric, the lower value."""
    low, high = values.middles
    ranking = values.ranking
    if not ranking.is_numeric:
        return np.asarray(_ranks(ranking, shown) == low)
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    true = [None if a < 0 else (ranking.number(a) + ranking.number(b)) / 2 for a, b in pairs]
    return _check_close(values, shown, true)


def _check_close(values: ClassValues, shown: Cells, true: Sequence[Fraction | None]) -> Flags:
    ranking = values.ranking
    return np.array([_is_close(ranking, text, number) for text, number in zip(shown, true, strict=True)], dtype=bool)


def _is_close(ranking: Ranking, text: str | None, true: Fraction | None) -> bool:
    if text is None or true is None:
        return text is None and true is None
    told = ranking.scale.number(text)
    return told is not None and abs(told - true) <= _CLOSE * abs(true)


def _check_observed(values: ClassValues, shown: Cells) -> Flags:
    """Flag the classes that show exactly their range or values; `*` where some rows have a value and others none."""
    mixed = values.with_null & values.any
    ends = zip(values.least.tolist(), values.greatest.tolist(), strict=True)
    true = [
        text == TOP
        if mixed[c]
        else _is_range(values.ranking, text, low, high, values.ranks[slice(*values.ends[c : c + 2])])
        for c, (text, (low, high)) in enumerate(zip(shown, ends, strict=True))
    ]
    return np.array(true, dtype=bool)


def _is_range(ranking: Ranking, text: str | None, low: int, high: int, ranks: Indices) -> bool:
    if text is None or low < 0:
        return text is None and low < 0
    if low == high and ranking.rank(text) == low:
        return True
    match parse_label(text):
        case Interval(str(a), str(b), True):
            return ranking.rank(a) == low and ranking.rank(b) == high
        case Members(values):
            return bool(sorted(_or(ranking.rank(value), -1) for value in values) == sorted(ranks.tolist()))
    return False


CHECKS: dict[str, Callable[[ClassValues, Cells], Flags]] = {
    "lo": _bound_check(low=True),
    "hi": _bound_check(low=False),
    "min": _value_check(lambda values: np.where(values.with_null, -1, values.least)),
    "max": _value_check(lambda values: np.where(values.with_null, -1, values.greatest)),
    "mode": _value_check(lambda values: values.commonest),
    "mean": _check_mean,
    "median": _check_median,
    "range": _check_observed,
}
"""Per statistic, a check that flags the classes that tell the truth; `range` is what an observed label shows.

A class with nulls beside values has no least and greatest value, since no range but `*` covers it."""
