"""Metrics and measures of class sizes: discernibility, average class size, and a histogram."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.data.class_counts import Longs, sum_counts
from shoal.metrics.comparison import Bucket, Comparison, Measurement
from shoal.metrics.metric import Floors, Judgement, Metric
from shoal.recoding.outcome import After, Before, Outcome, RecodedCells


class Discernibility(Metric):
    """C_DM: a row costs the size of its class, a suppressed one the size of the table. Bayardo, Agrawal, ICDE 2005."""

    name: ClassVar[str] = "discernibility"
    tells: ClassVar[str] = "C_DM: a row costs the size of its class, a suppressed one the size of the table."
    range: ClassVar[str] = "rows = all unique … rows²"
    source: ClassVar[str] = "Bayardo, Agrawal, ICDE 2005"

    def of_cells(self, before: Before, after: RecodedCells) -> float:
        return self.on(before).score(after)

    def on(self, before: Before) -> "ClassScorer":
        n = before.rows
        return ClassScorer(
            before,
            score=lambda after: float(after.kept @ after.kept) + float(n) * after.suppressed_rows,
            coarser=lambda after: float(after.classes.counts @ after.classes.counts) + after.unlisted_squares,
            # a row that stays costs at least the least size of a class
            finer=lambda gone, least: float(n) * gone + float(n - gone) * least,
        )


class AverageClass(Metric):
    """Rows per class, all suppressed rows making one more class: ARX's AECS; LeFevre's C_AVG without the k."""

    name: ClassVar[str] = "average-class"
    tells: ClassVar[str] = "Rows per class, all suppressed rows making one more class (AECS)."
    range: ClassVar[str] = "1 = all unique … rows"
    source: ClassVar[str] = "ARX"

    def of_cells(self, before: Before, after: RecodedCells) -> float:
        return self.on(before).score(after)

    def on(self, before: Before) -> "ClassScorer":
        n = before.rows
        return ClassScorer(
            before,
            score=lambda after: n / (len(after.kept) + (after.suppressed_rows > 0)),
            coarser=lambda after: n / (len(after.classes) + after.unlisted),
            # what stays are classes of the least size, at most, and the suppressed rows are one
            finer=lambda gone, least: n / ((n - max(gone, 1)) // least + 1),
        )


@dataclass
class ClassScorer:
    """Scores a node by its class sizes, with a bound for coarser nodes and one for finer nodes."""

    before: Before
    score: Callable[[Outcome], float]
    coarser: Callable[[After], float]
    finer: Callable[[int, int], float]
    floors: Floors = field(init=False)
    additive: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.floors = tuple(np.zeros(h.left_out + 1) for h in self.before.hierarchies)

    def judge(self, after: After, gone: Longs, least: int = 1, *, scored: bool = True) -> Judgement:
        below = [np.zeros(level + 1) for level in after.node]
        rest = after.classes.rest
        below[0] += self.finer(int(gone.sum()) + (0 if rest is None else rest.rows), least)
        return Judgement(self.score(after) if scored else np.inf, tuple(below), self.coarser(after))

    def value(self, score: float) -> float:
        return score


def discernibility(seen: Comparison) -> Measurement:
    """C_DM: a row costs the size of its class, a suppressed one the size of the table. Bayardo, Agrawal, ICDE 2005.

    >>> round(discernibility(seen).total, 3)
    13.0
    """
    return Measurement(_squares(seen.kept) + float(seen.rows) * float(seen.sizes[seen.suppressed].sum()))


def discernibility_star(seen: Comparison) -> Measurement:
    """C_DM*: the sum of the squared sizes of all classes, as if none was suppressed. El Emam et al., JAMIA 2009; ARX.

    >>> round(discernibility_star(seen).total, 3)
    9.0
    """
    return Measurement(_squares(seen.sizes))


def average_class(seen: Comparison) -> Measurement:
    """Rows per class, all suppressed rows making one more class: ARX's AECS.

    >>> round(average_class(seen).total, 3)
    1.667
    """
    return Measurement(seen.rows / (len(seen.kept) + bool(seen.suppressed.any())))


def c_avg(seen: Comparison) -> Measurement:
    """C_AVG: released rows per released class, over the largest k that was asked (S4.5). LeFevre et al., ICDE 2006.

    >>> round(c_avg(seen).total, 3)
    1.0
    """
    return Measurement(float(seen.kept.sum()) / len(seen.kept) / seen.k if len(seen.kept) else None)


def class_sizes(seen: Comparison) -> Measurement:
    """Histogram of the sizes of released classes.

    >>> [(each.least, each.most, each.classes) for each in class_sizes(seen).buckets]
    [(2, 4, 2)]
    """
    return Measurement(None, buckets=histogram(seen.kept))


def histogram(sizes: Longs) -> tuple[Bucket, ...]:
    """Bin classes by size in steps of 1, 2, 5, 10, …; empty bins at both ends are left out.

    >>> [(b.least, b.most, b.classes, b.rows) for b in histogram(np.array([2, 3, 12]))]
    [(2, 4, 2, 5), (5, 9, 0, 0), (10, 19, 1, 12)]
    """
    if not len(sizes):
        return ()
    steps = [1]
    while steps[-1] <= sizes.max():
        steps.append(steps[-1] * 5 // 2 if str(steps[-1]).startswith("2") else steps[-1] * 2)
    at = np.searchsorted(steps, sizes, side="right") - 1
    classes, rows = np.bincount(at), sum_counts(at, sizes)
    return tuple(
        Bucket(steps[i], steps[i + 1] - 1, int(classes[i]), int(rows[i])) for i in range(at.min(), len(classes))
    )


def _squares(sizes: Longs) -> float:
    """Return the sum of the squared sizes as a float."""
    each = sizes.astype(np.float64)
    return float(each @ each)
