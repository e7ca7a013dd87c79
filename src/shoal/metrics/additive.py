"""Metrics that are sums over the attributes: loss, geometric loss, precision loss, height.

Each attribute costs the mean over all rows of what its label costs, a suppressed row costing 1. Without suppression
these means are known for every level before any node is looked at, so every node has a lower bound for free (design 5).
"""

from itertools import accumulate
from typing import ClassVar

import numpy as np

from shoal.data.class_counts import Longs
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.kernels import LevelCosts
from shoal.metrics.metric import Floats, Floors, Judgement, Metric
from shoal.recoding.outcome import After, Before, RecodedCells


class Loss(Metric):
    """Mean share of the hierarchy's leaves that a label cannot tell apart; attributes averaged arithmetically.

    Iyengar, KDD 2002; as `loss` in the golden files.
    """

    name: ClassVar[str] = "loss"
    tells: ClassVar[str] = (
        "Mean share of an attribute's leaves that a cell cannot tell apart; attributes by importance."
    )
    range: ClassVar[str] = "0 = intact … 1"
    source: ClassVar[str] = "Iyengar, KDD 2002"

    def of_cells(self, before: Before, after: RecodedCells) -> float:
        return float(before.weights @ mean_losses(before, after))

    def on(self, before: Before) -> "AdditiveScorer":
        return AdditiveScorer(before, [h.losses for h in before.hierarchies])


class GeometricLoss(Metric):
    """The same per attribute, joined as Π(vᵢ + 1)^(1/n) − 1: ARX's default."""

    name: ClassVar[str] = "loss-geometric"
    tells: ClassVar[str] = "The same, attributes joined as Π(1 + loss)^(1/n) - 1."
    range: ClassVar[str] = "0 = intact … 1"
    source: ClassVar[str] = "ARX"

    def of_cells(self, before: Before, after: RecodedCells) -> float:
        return float(np.expm1(before.weights @ np.log1p(mean_losses(before, after))))

    def on(self, before: Before) -> "AdditiveScorer":
        return AdditiveScorer(before, [h.losses for h in before.hierarchies], geometric=True)


class PrecisionLoss(Metric):
    """1 − Prec: the mean share of its hierarchy that a cell was lifted. Sweeney 2002."""

    name: ClassVar[str] = "precision-loss"
    tells: ClassVar[str] = "1 - prec."
    range: ClassVar[str] = "0 = intact … 1"
    source: ClassVar[str] = "Sweeney 2002"

    def on(self, before: Before) -> "AdditiveScorer":
        return AdditiveScorer(before, [_level_shares(h) for h in before.hierarchies])


class Height(Metric):
    """The sum of the levels; suppression costs nothing. Samarati 2001."""

    name: ClassVar[str] = "height"
    tells: ClassVar[str] = "The sum of the levels."
    range: ClassVar[str] = "0 = intact …"
    source: ClassVar[str] = "Samarati 2001"

    def on(self, before: Before) -> "HeightScorer":
        return HeightScorer(before)


def _level_shares(hierarchy: Hierarchy) -> tuple[Floats, ...]:
    """Return costs[level][group]: level / height, the share of the hierarchy below the level."""
    top = max(hierarchy.height, 1)
    return tuple(np.full(hierarchy.groups(h), h / top) for h in range(hierarchy.height + 1))


def mean_losses(before: Before, after: RecodedCells) -> Floats:
    """Return the mean loss of each attribute over all rows."""
    return np.asarray(after.sizes @ after.losses / before.rows)


class AdditiveScorer:
    """Scores nodes of one table by additive costs of cells."""

    additive = True

    def __init__(self, before: Before, costs: list[tuple[Floats, ...]], *, geometric: bool = False) -> None:
        self.rows, self.weights, self.geometric = before.rows, before.weights, geometric
        self.hierarchies = before.hierarchies
        self.means = []
        for i, (hierarchy, cost) in enumerate(zip(before.hierarchies, costs, strict=True)):
            rows = before.marginal(i)
            means = np.array([rows @ cost[h][hierarchy.levels[h]] for h in range(len(cost))]) / self.rows
            self.means.append(np.append(means, 0.0))  # left out, it costs nothing
        self.costs = costs
        dearest = [_highest_costs(h, cost) for h, cost in zip(before.hierarchies, costs, strict=True)]
        self._level_costs = LevelCosts(dearest, self.means, self.rows)
        self.floors: Floors = tuple(self._scaled(i, mean) for i, mean in enumerate(self.means))

    def judge(self, after: After, gone: Longs, least: int = 1, *, scored: bool = True) -> Judgement:
        del least
        below = self._floors(after, gone)
        if not scored:
            return Judgement(np.inf, below, -np.inf)
        rest = after.classes.rest
        exact = int(gone.sum()) + (0 if rest is None else rest.rows) == after.suppressed_rows
        # where all that is suppressed here is gone for good, the bound is exact
        return Judgement(float(sum(floor[-1] for floor in below)) if exact else self.score(after), below, -np.inf)

    def score(self, after: After) -> float:
        means = np.array([mean[level] for mean, level in zip(self.means, after.node, strict=True)])
        if after.any_suppressed:
            # [label, attribute after attribute] suppressed rows under it, and where each attribute begins:
            # these rows cost 1 instead of the cost of their label
            rows, begins = after.suppressed_marginals(self.hierarchies)
            costs = np.concatenate([cost[level] for cost, level in zip(self.costs, after.node, strict=True)])
            means += (after.suppressed_rows - np.add.reduceat(costs * rows, begins)) / self.rows
        return float(self.weights @ (np.log1p(means) if self.geometric else means))

    def value(self, score: float) -> float:
        return float(np.expm1(score)) if self.geometric else score

    def _floors(self, after: After, gone: Longs) -> Floors:
        """Return lower bounds per attribute, for each level up to the node's, if `gone` rows of each class cost 1.

        The other rows cost what they cost there; those that are gone are replaced, at a finer level by the dearest
        label that lies under theirs. At the node's own level this is exact.
        """
        rest = after.classes.rest
        if rest is None and not gone.any():
            return tuple([floor[: level + 1] for floor, level in zip(self.floors, after.node, strict=True)])
        unlisted = None
        if rest is not None:
            sizes = [h.groups(level) for h, level in zip(self.hierarchies, after.node, strict=True)]
            unlisted = rest.rows_per_label([h.groups(0) for h in self.hierarchies], sizes)
        # [attribute, then level up to the node's] mean costs; `ends` has where each attribute's end
        classes = after.classes
        means = self._level_costs.without(after.node, classes.keys, gone, *classes.layout.fields, unlisted)
        ends = list(accumulate(after.node, lambda at, level: at + level + 1, initial=0))
        scaled = np.log1p(means, out=means) if self.geometric else means
        return tuple([self.weights[i] * scaled[ends[i] : ends[i + 1]] for i in range(len(after.node))])

    def _scaled(self, i: int, mean: Floats) -> Floats:
        """Return mean costs of attribute i on the additive scale, weighted."""
        scaled: Floats = self.weights[i] * (np.log1p(mean) if self.geometric else mean)
        return scaled


def _highest_costs(hierarchy: Hierarchy, cost: tuple[Floats, ...]) -> list[Floats]:
    """Return dearest[h][low, group]: the highest cost at level `low` among the labels under a group of level h."""
    out = []
    for h in range(len(cost)):
        most = np.zeros((h + 1, hierarchy.groups(h)))
        for low in range(h + 1):
            np.maximum.at(most[low], hierarchy.between(low, h), cost[low])
        out.append(most)
    return out


class HeightScorer:
    """Scores a node by the sum of its levels."""

    additive = True

    def __init__(self, before: Before) -> None:
        levels = (np.arange(h.height + 1, dtype=np.float64) for h in before.hierarchies)
        self.floors: Floors = tuple(np.append(level, 0.0) for level in levels)

    def score(self, after: After) -> float:
        return float(sum(after.node))

    def judge(self, after: After, gone: Longs, least: int = 1, *, scored: bool = True) -> Judgement:
        del gone, least
        below = tuple(floor[: level + 1] for floor, level in zip(self.floors, after.node, strict=True))
        return Judgement(float(sum(after.node)) if scored else np.inf, below, -np.inf)

    def value(self, score: float) -> float:
        return score
