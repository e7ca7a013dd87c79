"""Whether the numbers and the observed ranges that a release tells of its classes are those of the rows behind them."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shoal.codes import Kind
from shoal.counts import Flags, Indices, Longs
from shoal.errors import NotVerified
from shoal.hierarchy import TOP
from shoal.verify.claim import Claim, Original
from shoal.verify.class_values import ClassValues
from shoal.verify.grammar import Interval, Members, parsed
from shoal.verify.placing import classes_of, starred
from shoal.verify.queries import arrays
from shoal.verify.scale import Scale

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
    scales = {name: Scale(original.table[name]) for name in told}
    for name in [*claim.statistics, *sorted(claim.observed)]:
        kind = claim.statistics[name][1] if name in claim.statistics else "range"
        if name not in claim.quasi_identifiers or kind not in CHECKS:
            raise NotVerified(f"the manifest says of column {name!r} what this version does not know")
        at = claim.columns.index(name)
        of = claim.source(name)
        values = ClassValues.read(db, scales[of], f"o{at}", len(sizes), original.order.get(of, ()))
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
        scale = values.scale
        reach = [None if text is None else (scale.below if low else scale.up_to)(text) for text in shown]
        none = np.array([text is None for text in shown], dtype=bool)
        known = np.array([at is not None for at in reach], dtype=bool) & ~values.with_null
        at = np.array([-1 if at is None else at for at in reach], dtype=np.int64)
        inside = values.least >= at if low else values.greatest < at
        return np.asarray(none | (known & inside))

    return check


def _code(which: Callable[[ClassValues], Longs]) -> Callable[[ClassValues, Cells], Flags]:
    """Which classes show one of their own values, the one that `which` tells; null where they have none."""

    def check(values: ClassValues, shown: Cells) -> Flags:
        return np.asarray(_codes(values.scale, shown) == which(values))

    return check


def _codes(scale: Scale, shown: Cells) -> Longs:
    """The code of what each class shows: -1 for null, -2 for what is no value."""
    return np.array([-1 if text is None else _or(scale.code(text), -2) for text in shown], dtype=np.int64)


def _or(found: int | None, other: int) -> int:
    return other if found is None else found


def _mean(values: ClassValues, shown: Cells) -> Flags:
    if values.column.kind is not Kind.NUMBER:
        return np.zeros(values.classes, dtype=bool)
    return _close(values, shown, values.means)


def _median(values: ClassValues, shown: Cells) -> Flags:
    """Of numbers the mean of the two middle ones, of all else the lower middle."""
    low, high = values.middles
    if values.column.kind is not Kind.NUMBER:
        return np.asarray(_codes(values.scale, shown) == low)
    numbers = values.column.numbers
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    return _close(values, shown, [None if a < 0 else (numbers[a] + numbers[b]) / 2 for a, b in pairs])


def _close(values: ClassValues, shown: Cells, true: Sequence[Fraction | None]) -> Flags:
    scale = values.scale
    return np.array([_is_close(scale, text, number) for text, number in zip(shown, true, strict=True)], dtype=bool)


def _is_close(scale: Scale, text: str | None, true: Fraction | None) -> bool:
    if text is None or true is None:
        return text is None and true is None
    told = scale.number(text)
    return told is not None and abs(told - true) <= _CLOSE * abs(true)


def _observed(values: ClassValues, shown: Cells) -> Flags:
    """Which classes show exactly their own range or their own values; `*` where some have none and others do."""
    scale = values.scale
    mixed = values.with_null & values.any
    ends = zip(values.least.tolist(), values.greatest.tolist(), strict=True)
    true = [
        text == TOP if mixed[c] else _is_range(scale, text, low, high, values.codes[slice(*values.ends[c : c + 2])])
        for c, (text, (low, high)) in enumerate(zip(shown, ends, strict=True))
    ]
    return np.array(true, dtype=bool)


def _is_range(scale: Scale, text: str | None, low: int, high: int, codes: Indices) -> bool:
    if text is None or low < 0:
        return text is None and low < 0
    if low == high and scale.code(text) == low:
        return True
    match parsed(text):
        case Interval(str(a), str(b), True):
            return scale.code(a) == low and scale.code(b) == high
        case Members(values):
            return bool(sorted(_or(scale.code(value), -1) for value in values) == sorted(codes.tolist()))
    return False


CHECKS: dict[str, Callable[[ClassValues, Cells], Flags]] = {
    "lo": _bounded(low=True),
    "hi": _bounded(low=False),
    "min": _code(lambda values: np.where(values.with_null, -1, values.least)),
    "max": _code(lambda values: np.where(values.with_null, -1, values.greatest)),
    "mode": _code(lambda values: values.commonest),
    "mean": _mean,
    "median": _median,
    "range": _observed,
}
"""Per statistic, which classes tell the truth; `range` is what an observed label shows.

A class in which some have no value has no least and greatest one, as no range covers it but `*`."""
