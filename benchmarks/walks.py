"""One walk of a paper on one table, counted and timed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from shoal.engine import Source
from shoal.engines import ArrowEngine
from shoal.lattice import Node
from shoal.methods import ALGORITHMS
from shoal.metrics import METRICS
from shoal.plan import Task, set_task
from shoal.policy import Policy
from shoal.search import Oracle, Tally, decide
from shoal.search.walks import Setting


@dataclass(frozen=True)
class Walked:
    """What a walk found and what it cost."""

    nodes: tuple[Node, ...]
    tally: Tally
    asked_at: Counter[int]
    """How many nodes were asked at each height."""

    @property
    def height(self) -> int:
        """Of the lowest node found."""
        return min(map(sum, self.nodes))


def walked(task: Task, algorithm: str, *, infer: bool = True) -> Walked:
    """An algorithm from the grouped table on, with nothing known beforehand."""
    oracle = fresh(task.oracle, infer=infer)
    lattice = oracle.pruned(task.lattice) if algorithm == "incognito" else task.lattice
    heights: Counter[int] = Counter()
    walk = ALGORITHMS[algorithm].load()(Setting(lattice, task.before))
    nodes = decide(walk, oracle, lambda ask, _: heights.update([sum(ask.node)]))
    return Walked(nodes, oracle.tally, heights)


def grouped_and_walked(source: Source, task: Task, algorithm: str) -> Callable[[], Walked]:
    """The same from the rows on, to be timed."""
    engine, names = ArrowEngine(), list(task.lattice.attributes)

    def work() -> Walked:
        before = replace(task.before, classes=engine.count(source.table, names, []))
        oracle = replace(task.oracle, before=before, scorer=METRICS["loss"].on(before))
        return walked(replace(task, before=before, oracle=oracle), algorithm)

    return work


def fresh(oracle: Oracle, *, infer: bool) -> Oracle:
    return replace(oracle, infer=infer, tally=Tally())


def task_of(source: Source, policy: Policy) -> Task:
    return set_task(source, policy, ArrowEngine())
