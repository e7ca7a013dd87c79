"""Whether the numbers and the observed ranges that a release tells of its classes are those of the rows behind them."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shoal.counts import Flags, Indices, Longs
from shoal.errors import NotVerified
from shoal.labels import TOP, Interval, Members, parse_label
from shoal.verify.claim import Claim, Original
from shoal.verify.class_values import ClassValues, Ranking
from shoal.verify.placing import classes_of, starred
from shoal.verify.queries import arrays

if TYPE_CHECKING:
    import duckdb

Cells = Sequence[str | None]
"""What each class shows."""

_CLOSE = Fraction(1, 10**9)
"""How far, of itself, a released mean may lie from the true one: it is written as a binary or a short number."""


def misstated(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> Iterator[str]:
    """One sentence for every column that tells something else of a class than the rows behind it."""
    sizes, hidden = arrays(
        db, f"SELECT sum(n)::BIGINT, bool_and({starred(claim)})::INT FROM classed GROUP BY class ORDER BY class"
    )
    hidden = hidden.astype(bool) if claim.shown else np.zeros(len(sizes), dtype=bool)
    shown = db.sql(f"FROM {classes_of(claim)} ORDER BY class").to_arrow_table()
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
            values = values.shared(_alike(cells))
        wrong = ~CHECKS[kind](values, cells) & ~hidden
        if wrong.any():
            yield f"{sizes[wrong].sum()} released row(s) do not show the {kind} of their class in column {name!r}"


def _alike(cells: Cells) -> Indices:
    """A number for each class, the same where they show the same."""
    number: dict[str | None, int] = {}
    return np.array([number.setdefault(cell, len(number)) for cell in cells], dtype=np.int64)


def _bounded(low: bool) -> Callable[[ClassValues, Cells], Flags]:
    """Which classes lie above a bound, or below; null is in no bounds, and no bound holds all."""

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
    """Whether a number is not above, or not below, the value of a rank."""
    bound = ranking.scale.number(text)
    if bound is None or end < 0 or not ranking.is_numeric:
        return False
    return bound <= ranking.number(end) if low else bound >= ranking.number(end)


def _value(which: Callable[[ClassValues], Longs]) -> Callable[[ClassValues, Cells], Flags]:
    """Which classes show one of their own values, the one that `which` tells; null where they have none."""

    def check(values: ClassValues, shown: Cells) -> Flags:
        return np.asarray(_ranks(values.ranking, shown) == which(values))

    return check


def _ranks(ranking: Ranking, shown: Cells) -> Longs:
    """The rank of what each class shows: -1 for null, -2 for what is no value."""
    return np.array([-1 if text is None else _or(ranking.rank(text), -2) for text in shown], dtype=np.int64)


def _or(found: int | None, other: int) -> int:
    return other if found is None else found


def _mean(values: ClassValues, shown: Cells) -> Flags:
    if not values.ranking.is_numeric:
        return np.zeros(values.classes, dtype=bool)
    return _close(values, shown, values.means)


def _median(values: ClassValues, shown: Cells) -> Flags:
    """Of numbers the mean of the two middle ones, of all else the lower middle."""
    low, high = values.middles
    ranking = values.ranking
    if not ranking.is_numeric:
        return np.asarray(_ranks(ranking, shown) == low)
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    true = [None if a < 0 else (ranking.number(a) + ranking.number(b)) / 2 for a, b in pairs]
    return _close(values, shown, true)


def _close(values: ClassValues, shown: Cells, true: Sequence[Fraction | None]) -> Flags:
    ranking = values.ranking
    return np.array([_is_close(ranking, text, number) for text, number in zip(shown, true, strict=True)], dtype=bool)


def _is_close(ranking: Ranking, text: str | None, true: Fraction | None) -> bool:
    if text is None or true is None:
        return text is None and true is None
    told = ranking.scale.number(text)
    return told is not None and abs(told - true) <= _CLOSE * abs(true)


def _observed(values: ClassValues, shown: Cells) -> Flags:
    """Which classes show exactly their own range or their own values; `*` where some have none and others do."""
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
    "lo": _bounded(low=True),
    "hi": _bounded(low=False),
    "min": _value(lambda values: np.where(values.with_null, -1, values.least)),
    "max": _value(lambda values: np.where(values.with_null, -1, values.greatest)),
    "mode": _value(lambda values: values.commonest),
    "mean": _mean,
    "median": _median,
    "range": _observed,
}
"""Per statistic, which classes tell the truth; `range` is what an observed label shows.

A class in which some have no value has no least and greatest one, as no range covers it but `*`."""
