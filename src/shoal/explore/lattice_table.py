"""Every node of a lattice with its costs, and which nodes are on the Pareto front."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import inf
from typing import Any

from shoal.errors import BadPolicy
from shoal.hierarchy.lattice import Lattice, Node
from shoal.metrics.catalogue import scorers
from shoal.models.spec import table_of
from shoal.policy.document import Policy
from shoal.publish.manifest import FrozenDict, freeze
from shoal.runtime import SummaryRepr, short_number
from shoal.search.driver import Ask, Watch, slack
from shoal.search.oracle import Oracle

LARGEST_TABLE = 200_000
"""Most nodes of a lattice that are listed one by one."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node, as if it were released with its failing classes suppressed, whether it complies or not."""

    levels: Node
    """Levels in the order of the table's attributes."""
    complies: bool
    suppressed: int
    """Rows that are suppressed."""
    classes: int
    """Classes that are released."""
    metrics: Mapping[str, float]
    pareto: bool = False
    """Complies, and no complying node has less loss and no more suppressed rows, or fewer of these and no more loss."""
    rank: int = 0
    """Its place in the order of searches, which breaks ties: by height, then by attributes in the order of names."""

    @property
    def height(self) -> int:
        return sum(self.levels)


@dataclass(frozen=True, repr=False)
class LatticeTable(SummaryRepr):
    """All nodes of a policy's lattice on one table, by height and then in the order of the levels."""

    lattice: Lattice
    """Its attributes stand in the order of the policy."""
    require: tuple[Mapping[str, Any], ...]
    """What the policy requires of a node."""
    metric: str
    """The metric that the policy minimises."""
    rows: int
    limit: int
    """Most rows that may be suppressed."""
    nodes: tuple[NodeRow, ...]

    @cached_property
    def front(self) -> tuple[NodeRow, ...]:
        """Nodes on the Pareto front of loss against suppression."""
        return tuple(node for node in self.nodes if node.pareto)

    @cached_property
    def best(self) -> NodeRow | None:
        """The complying node of least loss; ties go to the lower one, then to the order of levels, as in a search."""
        complying = [node for node in self.nodes if node.complies]
        least = min((node.metrics[self.metric] for node in complying), default=inf)
        equal = [node for node in complying if node.metrics[self.metric] <= least + slack(least)]
        return min(equal, key=lambda node: node.rank, default=None)

    @property
    def _facts(self) -> list[tuple[str, str]]:
        lattice, complying = self.lattice, sum(node.complies for node in self.nodes)
        tops = [
            f"{name} {least}–{most}"
            for name, least, most in zip(lattice.attributes, lattice.bottom, lattice.top, strict=True)
        ]
        best = (
            "none"
            if self.best is None
            else ", ".join(f"{name} {level}" for name, level in self.levels_of(self.best).items())
        )
        cost = "" if self.best is None else f" ({self.metric} {short_number(self.best.metrics[self.metric])})"
        return [
            ("levels", ", ".join(tops)),
            ("nodes", f"{len(self.nodes):,}, of which {complying:,} comply and {len(self.front):,} are on the front"),
            ("best", f"{best}{cost}"),
        ]

    def levels_of(self, node: NodeRow) -> dict[str, int]:
        """Return the level of each attribute at a node, as `Policy.at_node` takes it."""
        return dict(zip(self.lattice.attributes, node.levels, strict=True))

    def document(self) -> dict[str, Any]:
        """Return the table as a JSON object."""
        return {
            "attributes": list(self.lattice.attributes),
            "bottom": list(self.lattice.bottom),
            "top": list(self.lattice.top),
            "require": [dict(model) for model in self.require],
            "metric": self.metric,
            "rows": self.rows,
            "suppressible": self.limit,
            "complying": sum(node.complies for node in self.nodes),
            "front": [list(node.levels) for node in self.front],
            "best": list(self.best.levels) if self.best is not None else None,
            "nodes": [_as_document(node) for node in self.nodes],
        }

    def csv(self) -> str:
        """Return one CSV line for each node; its height is among the metrics."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        levels = [f"level of {name}" for name in self.lattice.attributes]
        lines.writerow([*levels, "complies", "suppressed", "classes", *self.nodes[0].metrics, "pareto", "best"])
        for node in self.nodes:
            flags = [str(flag).lower() for flag in (node.complies, node.pareto, node is self.best)]
            numbers = (repr(value) for value in node.metrics.values())
            lines.writerow([*node.levels, flags[0], node.suppressed, node.classes, *numbers, *flags[1:]])
        return text.getvalue()


def list_nodes(lattice: Lattice, oracle: Oracle, policy: Policy, watch: Watch = lambda *_: None) -> LatticeTable:
    """Group the table at every node of the lattice and judge the result."""
    _refuse_large(lattice)
    oracle.tally.nodes = lattice.size
    told = scorers(oracle.before)
    rows = []
    for done, node in enumerate(
        lattice.nodes()
    ):  # neighbours come one after the other: most are rolled up from another
        after = oracle.apply(node)
        metrics = FrozenDict({name: scorer.value(scorer.score(after)) for name, scorer in told.items()})
        rows.append(NodeRow(node, oracle.keeps(after), after.suppressed_rows, len(after.kept), metrics))
        oracle.tally.checked += 1
        watch(Ask(node, done / lattice.size), oracle.tally)
    rows.sort(key=lambda row: (row.height, row.levels))
    metric = policy.method.metric
    lattice, rows = _in_order_of_policy(lattice, rows, policy)
    return LatticeTable(
        lattice=lattice,
        require=tuple(freeze(table_of(model)) for model in policy.require),
        metric=metric,
        rows=oracle.before.rows,
        limit=oracle.limit,
        nodes=_with_front(rows, metric),
    )


def _in_order_of_policy(lattice: Lattice, rows: Sequence[NodeRow], policy: Policy) -> tuple[Lattice, list[NodeRow]]:
    """Return the lattice and its sorted nodes with the attributes in the order of the policy, as people wrote it."""
    listed = [name for name in policy.quasi_identifiers if name in lattice.attributes]
    names = [*listed, *(name for name in lattice.attributes if name not in listed)]
    places = [lattice.attributes.index(name) for name in names]
    turned = [
        replace(row, levels=tuple(row.levels[place] for place in places), rank=rank) for rank, row in enumerate(rows)
    ]
    ends = (tuple(end[place] for place in places) for end in (lattice.bottom, lattice.top))
    return Lattice(tuple(names), *ends), sorted(turned, key=lambda row: (row.height, row.levels))


def _refuse_large(lattice: Lattice) -> None:
    if lattice.size > LARGEST_TABLE:
        raise BadPolicy(
            f"the lattice has {lattice.size:,} nodes, more than the {LARGEST_TABLE:,} that can be listed; make it "
            "smaller with min-level and max-level of the attributes"
        )


def _with_front(rows: Sequence[NodeRow], metric: str) -> tuple[NodeRow, ...]:
    """Mark the nodes on the Pareto front; losses that differ only by rounding are equal."""
    front: set[Node] = set()
    least = inf
    complying = sorted((row for row in rows if row.complies), key=lambda row: row.suppressed)
    for _, same in groupby(complying, key=lambda row: row.suppressed):
        level = list(same)
        loss = min(row.metrics[metric] for row in level)
        if loss < least - slack(loss):  # else fewer suppressed rows would do
            front.update(row.levels for row in level if row.metrics[metric] <= loss + slack(loss))
            least = loss
    return tuple(replace(row, pareto=True) if row.levels in front else row for row in rows)


def _as_document(node: NodeRow) -> dict[str, Any]:
    return {
        "levels": list(node.levels),
        "height": node.height,
        "complies": node.complies,
        "suppressed": node.suppressed,
        "classes": node.classes,
        "metrics": dict(node.metrics),
        "pareto": node.pareto,
    }
