"""What a metric gives to a search: a score for a node, and bounds for the nodes around it."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.models import Flags
from shoal.release import After, Before

Floats = NDArray[np.float64]
Floors = tuple[Floats, ...]
"""An additive lower bound: floors[i][level] summed over the attributes."""


@dataclass(frozen=True)
class Judgement:
    """A node's score and what it proves about other nodes, on the scale of the bounds."""

    score: float
    below: Floors
    """Lower bound for the node and everything finer."""
    above: float
    """Lower bound for everything coarser."""


class Scorer(Protocol):
    """A metric tied to one table. Scores are on an additive scale; `value` leads back to the metric's own."""

    floors: Floors
    """Lower bound of every node, known before any check; the last entry of an attribute is for leaving it out: 0."""
    additive: bool
    """Whether bounds of disjoint sets of attributes, the others left out, add up to a bound of the node."""

    def judge(self, after: After, doomed: Flags) -> Judgement:
        """Score a node; the rows of `doomed` classes are suppressed at every finer node too."""
        ...

    def score(self, after: After) -> float:
        """The same score without the bounds: for who looks at many nodes and searches none."""
        ...

    def value(self, score: float) -> float: ...


class Metric(Protocol):
    """What a search minimises."""

    name: ClassVar[str]

    def on(self, before: Before) -> Scorer: ...
