"""The oracle answers about one node: does it comply, how many rows fall, what does it cost, what does it prove.

The memory of answers and the legality of pruning live here and nowhere else (design 4).
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shoal.counts import ClassCounts
from shoal.frequency import FrequencySet
from shoal.lattice import Node
from shoal.metrics import Floors, Scorer
from shoal.models import Closure, Flags, Model
from shoal.release import After, Before
from shoal.search.rollups import Rollups

Search = Generator["Ask", "Answer", "Found"]


class Ask(NamedTuple):
    """A question of a search, and which share of the lattice it has settled so far."""

    node: Node
    settled: float


@dataclass(frozen=True)
class Answer:
    """What the oracle knows about a node."""

    node: Node
    ok: bool
    """Complies after suppressing at most the limit."""
    suppressed: int
    score: float
    """On the scorer's scale; infinite when the node does not comply."""
    below: Floors | None
    """Lower bound of the node and everything finer; None: nothing finer complies either."""
    above: float
    """Lower bound of everything coarser."""


@dataclass(frozen=True)
class Found:
    """How a search ended: the best node, and the score that no complying node is below (infinite: there is none)."""

    best: Answer | None
    bound: float = -np.inf
    """On the scorer's scale; equal to the best score when the optimum is proved."""

    @property
    def proved(self) -> bool:
        return self.bound >= (self.best.score if self.best is not None else np.inf)


@dataclass
class Tally:
    """What a search cost."""

    checked: int = 0
    remembered: int = 0
    rolled_up: int = 0


Watch = Callable[[Ask, Tally], None]


@dataclass
class Oracle:
    """Answers about the nodes of one table under one policy."""

    before: Before
    models: Sequence[Model]
    limit: int
    scorer: Scorer
    labels: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    show_suppressed: bool = False
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._parts = [part for model in self.models for part in model.parts()]
        self._answers: dict[Node, Answer] = {}
        self._rollups = Rollups(self.before)

    def ask(self, node: Node) -> Answer:
        if node in self._answers:
            self.tally.remembered += 1
            return self._answers[node]
        self.tally.checked += 1
        answer = self._answers[node] = self._judge(self.apply(node))
        return answer

    def apply(self, node: Node) -> After:
        """The classes at a node, those that fail marked as suppressed."""
        classes = self._rollups.at(node)
        self.tally.rolled_up = self._rollups.rolled_up
        return After(node, classes, self.failing(classes))

    def failing(self, classes: FrequencySet, least: Closure = Closure.NOT) -> Flags:
        """Classes that fail a part of the policy whose closure is at least `least`."""
        failing = np.zeros(len(classes), dtype=bool)
        counts = classes.class_counts(self.labels)
        for part in self._parts:
            if part.closure >= least:
                failing |= ~part.complies(counts)
        return failing

    def _judge(self, after: After) -> Answer:
        suppressed = after.suppressed_rows
        closed = self._closed_failures(after)
        doomed_rows = int(after.classes.counts[closed].sum())
        if doomed_rows > self.limit or doomed_rows == self.before.rows:
            return Answer(after.node, ok=False, suppressed=suppressed, score=np.inf, below=None, above=-np.inf)
        judged = self.scorer.judge(after, closed)
        ok = suppressed <= self.limit and suppressed < self.before.rows and self._shown_complies(after)
        score = judged.score if ok else np.inf
        return Answer(after.node, ok, suppressed, score, judged.below, judged.above)

    def _closed_failures(self, after: After) -> Flags:
        """Classes whose rows fail at every finer node too.

        SUPERSET: a part of a failing class fails. With nothing to suppress, UNION is enough: if all finer classes
        complied, so would their unions.
        """
        needed = Closure.SUPERSET if self.limit else Closure.UNION
        if all(part.closure >= needed for part in self._parts):
            return after.suppressed
        return self.failing(after.classes, needed)

    def _shown_complies(self, after: After) -> bool:
        """Suppressed rows that stay in the release are a class of their own and must keep the policy (design 2)."""
        if not self.show_suppressed or not after.suppressed.any():
            return True
        shown = together(after.classes.class_counts(self.labels), after.suppressed)
        return all(bool(part.complies(shown).all()) for part in self._parts)


def together(counts: ClassCounts, chosen: Flags) -> ClassCounts:
    """The chosen classes as one class."""
    sizes = np.array([counts.sizes[chosen].sum()], dtype=np.int64)
    sensitive = {name: values.pooled(chosen) for name, values in counts.sensitive.items()}
    return ClassCounts(sizes, sensitive)


def answer(search: Search, oracle: Oracle, watch: Watch = lambda *_: None) -> Found:
    """Drive a search to its end; `watch` sees every question and what was counted so far."""
    try:
        question = next(search)
        while True:
            given = oracle.ask(question.node)
            watch(question, oracle.tally)
            question = search.send(given)
    except StopIteration as stop:
        found: Found = stop.value
        return found
