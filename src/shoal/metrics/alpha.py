"""How sure the likeliest sensitive value of a class is: the largest α, and how far the α's of the values lie apart.

The α of a value is the largest share that it has of a released class (S0.1); shares are of the non-null values, and a
value that is not released has none. Merging classes lowers α, so it is the coarse nodes that score well: these metrics
are for choosing among nodes that other promises and levels keep fine.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.data.class_counts import Longs, ValueCounts
from shoal.metrics.metric import Floats, Floors, Judgement, Metric
from shoal.recoding.outcome import After, Before, Outcome, RecodedCells


class AlphaMax(Metric):
    """The largest α of all sensitive values. Mohapatra, Patra, "Analysis of k-Anonymity for Homogeneity Attack"."""

    name: ClassVar[str] = "alpha-max"
    tells: ClassVar[str] = "The largest share that a sensitive value has of a class."
    range: ClassVar[str] = "0 … 1 = some class is homogeneous"
    source: ClassVar[str] = 'Mohapatra, Patra, "Analysis of k-Anonymity for Homogeneity Attack"'
    of_sensitive: ClassVar[bool] = True

    def of_cells(self, before: Before, after: RecodedCells) -> float:
        return self.on(before).score(after)

    def on(self, before: Before) -> "AlphaScorer":
        return AlphaScorer(before, largest_alpha)


class AlphaSpread(Metric):
    """The largest less the smallest α of a sensitive attribute; of several attributes, the largest spread. Same paper.

    A spread alone says little: where every class is homogeneous it is 0.
    """

    name: ClassVar[str] = "alpha-spread"
    tells: ClassVar[str] = "How far the largest such shares of the sensitive values lie apart."
    range: ClassVar[str] = "0 … 1"
    source: ClassVar[str] = 'Mohapatra, Patra, "Analysis of k-Anonymity for Homogeneity Attack"'
    of_sensitive: ClassVar[bool] = True

    def of_cells(self, before: Before, after: RecodedCells) -> float:
        return self.on(before).score(after)

    def on(self, before: Before) -> "AlphaScorer":
        return AlphaScorer(before, alpha_spread)


def alphas(values: ValueCounts) -> Floats:
    """Return the α of each value; nan where it does not occur, and for null.

    >>> counts = ValueCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1, 3, 2]), ["flu", "hiv", "tbc"], 2)
    >>> alphas(counts).tolist()
    [0.25, 1.0, nan]
    """
    known = values.non_null()
    most = np.full(len(known.labels), np.nan)
    np.fmax.at(most, known.values, known.counts / known.totals[known.classes])
    return most


def largest_alpha(alpha: Floats) -> float:
    """Return the largest α; 0 where there is none."""
    return float(np.fmax.reduce(alpha)) if np.isfinite(alpha).any() else 0.0


def alpha_spread(alpha: Floats) -> float:
    """Return the largest less the smallest α; 0 where there is none."""
    return largest_alpha(alpha) - float(np.fmin.reduce(alpha)) if np.isfinite(alpha).any() else 0.0


@dataclass
class AlphaScorer:
    """Scores a node by the α's of its released classes; gives no bound, as suppression may lower or raise α."""

    before: Before
    summary: Callable[[Floats], float]
    floors: Floors = field(init=False)
    additive: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.floors = tuple(np.zeros(h.left_out + 1) for h in self.before.hierarchies)

    def score(self, after: Outcome) -> float:
        return max((self.summary(alphas(values)) for values in self._released(after)), default=0.0)

    def judge(self, after: After, gone: Longs, least: int = 1, *, scored: bool = True) -> Judgement:
        del gone, least
        score = self.score(after) if scored else np.inf
        return Judgement(score, tuple(np.zeros(level + 1) for level in after.node), -np.inf)

    def value(self, score: float) -> float:
        return score

    def _released(self, after: Outcome) -> Iterator[ValueCounts]:
        """Yield each sensitive attribute's counts in the kept classes."""
        assert self.before.sensitive is not None
        counts = after.classes.class_counts(self.before.sensitive).select_classes(~after.suppressed)
        yield from counts.sensitive.values()
