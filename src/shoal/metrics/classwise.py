"""Metrics that look at the sizes of the classes: discernibility and average class size.

Nothing is known before a node was grouped; then its unsuppressed value bounds everything coarser (design 5).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.metrics.base import Floors, Judgement, Metric
from shoal.models import Flags
from shoal.release import After, Before, Outcome, Recoded


class Discernibility(Metric):
    """C_DM: a row costs the size of its class, a suppressed one the size of the table. Bayardo, Agrawal, ICDE 2005."""

    name: ClassVar[str] = "discernibility"
    tells: ClassVar[str] = "C_DM: a row costs the size of its class, a suppressed one the size of the table."
    range: ClassVar[str] = "rows = all unique … rows²"
    source: ClassVar[str] = "Bayardo, Agrawal, ICDE 2005"

    def of_cells(self, before: Before, after: Recoded) -> float:
        return self.on(before).score(after)

    def on(self, before: Before) -> "ClassScorer":
        n = before.rows
        return ClassScorer(
            before,
            score=lambda after: float(after.kept @ after.kept) + float(n) * after.suppressed_rows,
            coarser=lambda after: float(after.classes.counts @ after.classes.counts) + after.unlisted_squares,
            # a row that stays costs at least itself
            finer=lambda gone: float(n) * gone + (n - gone),
        )


class AverageClass(Metric):
    """Rows per class, all suppressed rows making one more class: ARX's AECS; LeFevre's C_AVG without the k."""

    name: ClassVar[str] = "average-class"
    tells: ClassVar[str] = "Rows per class, all suppressed rows making one more class (AECS)."
    range: ClassVar[str] = "1 = all unique … rows"
    source: ClassVar[str] = "ARX"

    def of_cells(self, before: Before, after: Recoded) -> float:
        return self.on(before).score(after)

    def on(self, before: Before) -> "ClassScorer":
        n = before.rows
        return ClassScorer(
            before,
            score=lambda after: n / (len(after.kept) + (after.suppressed_rows > 0)),
            coarser=lambda after: n / (len(after.classes) + after.unlisted),
            # at most every row that stays is a class, and the suppressed ones are one
            finer=lambda gone: n / (n - gone + (gone > 0)),
        )


@dataclass
class ClassScorer:
    """A score from class sizes, with a bound for coarser nodes and one for finer nodes."""

    before: Before
    score: Callable[[Outcome], float]
    coarser: Callable[[After], float]
    finer: Callable[[int], float]
    floors: Floors = field(init=False)
    additive: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.floors = tuple(np.zeros(h.left_out + 1) for h in self.before.hierarchies)

    def judge(self, after: After, doomed: Flags) -> Judgement:
        below = [np.zeros(level + 1) for level in after.node]
        below[0] += self.finer(after.rows_of(doomed))
        return Judgement(self.score(after), tuple(below), self.coarser(after))

    def value(self, score: float) -> float:
        return score
