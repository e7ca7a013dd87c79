"""What a metric gives to a search: a score for a node, and bounds for the nodes around it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs
from shoal.recoding.outcome import After, Before, RecodedCells

Floats = NDArray[np.float64]
Floors = tuple[Floats, ...]
"""An additive lower bound: floors[i][level] summed over the attributes."""


@dataclass(frozen=True)
class Judgement:
    """A node's score and what it proves about other nodes, on the scale of the bounds."""

    score: float
    below: Floors
    """Lower bound for this node and every finer one."""
    above: float
    """Lower bound for every coarser node."""


class Scorer(Protocol):
    """A metric tied to one table. Scores are on an additive scale; `value` leads back to the metric's own."""

    floors: Floors
    """Lower bound of every node, known before any check; the last entry is for leaving the attribute out: 0."""
    additive: bool
    """Whether bounds for disjoint sets of attributes, the others left out, add up to a bound for the node."""

    def judge(self, after: After, gone: Longs, least: int = 1, *, scored: bool = True) -> Judgement:
        """Score a node; of each class at least `gone` rows are suppressed at every finer node too.

        Classes that are kept have at least `least` rows. A node that does not comply is not `scored`: its score is
        infinite, and `after` may mark fewer classes than are suppressed.
        """
        ...

    def score(self, after: After) -> float:
        """Return the same score without bounds, for callers that look at many nodes and search none."""
        ...

    def value(self, score: float) -> float:
        """Return a score on the metric's own scale."""
        ...


class Metric(ABC):
    """What a search minimises: a name, what it tells people, and a scorer for each table."""

    name: ClassVar[str]
    tells: ClassVar[str] = ""
    """A sentence for people; left out, the first line of the docstring."""
    range: ClassVar[str] = ""
    """Where it ends, and which end is the intact table."""
    source: ClassVar[str] = ""
    of_sensitive: ClassVar[bool] = False
    """Whether it is about the sensitive values, so that it needs a sensitive attribute."""

    def __init_subclass__(cls) -> None:
        if not cls.tells and cls.__doc__:
            cls.tells = " ".join(cls.__doc__.split("\n\n")[0].split())

    @abstractmethod
    def on(self, before: Before) -> Scorer:
        """Return a scorer for the nodes of one table."""

    def of_cells(self, before: Before, after: RecodedCells) -> float | None:  # noqa: ARG002
        """Return the value for a recoding without a level per attribute; None where the metric counts levels."""
        return None
