"""Questions and answers: how a search, which is a generator, talks to the oracle, which knows the table."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, TypeVar

from shoal.hierarchy.lattice import Node
from shoal.search.oracle import Answer, Oracle, Tally


class Ask(NamedTuple):
    """A question of a search about a node, with the share of the work done, as far as it is known."""

    node: Node
    settled: float


@dataclass(frozen=True)
class SearchResult:
    """How a search ended."""

    best: Answer | None
    """The node to release."""
    bound: float = -inf
    """Lower bound of the score of all complying nodes, on the scorer's scale; infinite when none complies."""
    nodes: tuple[Node, ...] = ()
    """All nodes that the algorithm returns, where it returns a set."""

    @property
    def proved(self) -> bool:
        """Whether the best node is proved optimal, or proved not to exist."""
        return self.bound >= (self.best.score if self.best is not None else inf)


Given = TypeVar("Given")
Result = TypeVar("Result")
Search = Generator[Ask, Answer, SearchResult]
"""Asks for scores: `answer = yield Ask(node, settled)`."""
Walk = Generator[Ask, bool, tuple[Node, ...]]
"""Asks whether nodes comply, and returns those it found: `ok = yield Ask(node, settled)`."""
Watch = Callable[[Ask, Tally], None]
"""Called with every question and what was counted so far."""
Stop = Callable[[], bool]
"""Returns whether to stop now with what was found."""


def ignore_progress(ask: Ask, tally: Tally) -> None:
    """Ignore progress: the default where nobody watches."""


def never_stop() -> bool:
    """Return False: the default where nothing stops a search."""
    return False


class Stopped(Exception):
    """Thrown into a search that has to stop; a search that is not anytime does not catch it."""


def drive_search(
    search: Search, oracle: Oracle, watch: Watch = ignore_progress, stop: Stop = never_stop
) -> SearchResult:
    """Drive a search to its end, or until it has to stop."""
    return _drive(search, oracle.ask, oracle, watch, stop)


def drive_walk(walk: Walk, oracle: Oracle, watch: Watch = ignore_progress, stop: Stop = never_stop) -> tuple[Node, ...]:
    """Drive a walk to its end."""
    return _drive(walk, oracle.complies, oracle, watch, stop)


def _drive(
    search: Generator[Ask, Given, Result], ask: Callable[[Node], Given], oracle: Oracle, watch: Watch, stop: Stop
) -> Result:
    """Answer the questions of a search by `ask` until it returns; throw `Stopped` into it once `stop` says so."""
    try:
        question = next(search)
        while True:
            given = ask(question.node)
            watch(question, oracle.tally)
            question = search.send(given)
            if stop():
                question = search.throw(Stopped())
    except StopIteration as end:
        found: Result = end.value
        return found


_TOLERANCE = 1e-12


def slack(score: float) -> float:
    """Return the difference up to which a score is a tie with this one."""
    return _TOLERANCE * max(1.0, abs(score))


def is_better(answer: Answer, best: Answer | None) -> bool:
    """Return whether an answer is better: by score, at a tie the lower node, then by the order of the names."""
    if best is None or abs(answer.score - best.score) > slack(best.score):
        return best is None or answer.score < best.score
    return (sum(answer.node), answer.node) < (sum(best.node), best.node)


@dataclass
class Incumbent:
    """What a search would end with if it stopped now."""

    best: Answer | None = None
    bound: float = -inf

    def consider(self, answer: Answer) -> None:
        """Keep an answer if its node complies and is better than the best so far."""
        if answer.ok and is_better(answer, self.best):
            self.best = answer

    def raise_bound(self, bound: float) -> None:
        """Raise the lower bound of all scores; a lower one changes nothing."""
        self.bound = max(self.bound, bound)
