"""Local recoding: every cell is generalised along its hierarchy only as far as its own class needs (S2.3, CG_)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.codes import Codes
from shoal.errors import Infeasible
from shoal.partition.assembling import assemble
from shoal.partition.cells import Cells, Judge
from shoal.partition.condition import Condition
from shoal.partition.splits import split_all
from shoal.partition.whole import better_node, top
from shoal.release import Before

LEAST_SIZES = (1, 4, 16, 64)
"""Rows that a cluster has at least, tried in turn until what is promised of the table holds, too."""
CLUSTERING = 0.9
"""The share of the work that is done when the clusters are made."""


@dataclass(frozen=True)
class Recoded:
    """What local recoding found: the part of each class of the table, and the level of each part on each hierarchy."""

    part: Codes
    levels: Codes
    """levels[part, attribute]: the lowest level at which all members of the part are one group."""


def local(
    before: Before,
    condition: Condition,
    *,
    seed: int = 0,
    watch: Callable[[float], None] = lambda share: None,  # noqa: ARG005
    stop: Callable[[], bool] = lambda: False,
) -> Recoded:
    """Put classes together so that every part complies and the cells lose little; no part can be split any further.

    Clusters of nearest neighbours, improved by simulated annealing, then split along the children of their labels.
    The loss is never above that of the best full-domain node without suppression, where the lattice can be listed.
    `stop` ends the improvement early; what is returned complies all the same, and cannot be split either.

    Xu, Wang, Pei, Wang, Shi and Fu: Utility-based anonymization using local recoding. KDD 2006.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> from shoal.frequency import FrequencySet
    >>> from shoal.hierarchy import Taxonomy, compile_taxonomy
    >>> from shoal.models import KAnonymity
    >>> age = encode("age", pa.array([30, 31, 31, 32, 33, 33]))
    >>> tree = Taxonomy(["30", "31", "32", "33"], [["30-1", "30-1", "32-3", "32-3"], ["*"] * 4], str)
    >>> ages = FrequencySet.count({"age": (age.codes, 4)})
    >>> found = local(Before(ages, (compile_taxonomy(age, tree),)), Condition(ages, [KAnonymity(3)]))
    >>> found.part.tolist(), found.levels.tolist()
    ([0, 0, 1, 1], [[1], [1]])
    """
    judge = Judge(Cells.of(before), condition)
    part, parts = split_all(judge, _first_parts(judge, seed, lambda share: watch(CLUSTERING * share), stop))
    instead = better_node(judge, judge.cells.loss(part, parts))
    if instead is not None:
        part, parts = split_all(judge, instead)
    watch(1.0)
    of_class = np.empty_like(part)
    of_class[judge.cells.order] = part
    return Recoded(of_class, judge.cells.levels(part, parts))


def _first_parts(judge: Judge, seed: int, watch: Callable[[float], None], stop: Callable[[], bool]) -> Codes:
    """Parts that may be released: clusters, or else the highest node, or else any node."""
    for least in LEAST_SIZES:
        part = assemble(judge, least, seed, watch, stop)
        if judge.keeps(*judge.cells.merged(part, int(part.max()) + 1)):
            return part
        if judge.condition.k is not None:
            break
    highest = top(judge.cells)
    if judge.keeps(highest, int(highest.max()) + 1):
        return highest
    node = better_node(judge, np.inf)
    if node is None:
        raise Infeasible("no way was found to put the rows together so that every class keeps the policy")
    return node
