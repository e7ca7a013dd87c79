"""One walk of a paper on one table, counted and timed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from shoal.engine_port import Source
from shoal.engines.arrow import ArrowEngine
from shoal.hierarchy.lattice import Node
from shoal.methods import ALGORITHMS
from shoal.metrics.catalogue import METRICS
from shoal.policy.document import Policy
from shoal.problem import Problem
from shoal.search.driver import drive_walk
from shoal.search.full_domain import LatticeSearch
from shoal.search.oracle import Oracle, Tally
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


def walked(task: LatticeSearch, algorithm: str, *, infer: bool = True) -> Walked:
    """An algorithm from the grouped table on, with nothing known beforehand."""
    oracle = fresh(task.oracle, infer=infer)
    lattice = oracle.prune(task.lattice) if algorithm == "incognito" else task.lattice
    heights: Counter[int] = Counter()
    walk = ALGORITHMS[algorithm].load()(Setting(lattice, task.oracle.before))
    nodes = drive_walk(walk, oracle, lambda ask, _: heights.update([sum(ask.node)]))
    return Walked(nodes, oracle.tally, heights)


def grouped_and_walked(source: Source, task: LatticeSearch, algorithm: str) -> Callable[[], Walked]:
    """The same from the rows on, to be timed."""
    engine, names = ArrowEngine(), list(task.lattice.attributes)

    def work() -> Walked:
        before = replace(task.oracle.before, classes=engine.count(source.table, names, []))
        oracle = replace(task.oracle, before=before, scorer=METRICS["loss"].on(before))
        return walked(replace(task, oracle=oracle), algorithm)

    return work


def fresh(oracle: Oracle, *, infer: bool) -> Oracle:
    return replace(oracle, infer=infer, tally=Tally())


def task_of(source: Source, policy: Policy) -> LatticeSearch:
    return LatticeSearch.of(Problem.of(source, policy, ArrowEngine()))
