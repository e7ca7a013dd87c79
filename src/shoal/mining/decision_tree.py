"""A decision tree as values: tests, branches, leaves, its text, its rules, and the inference channels among them."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes
from shoal.kernels._core import c45_leaves, c45_shares
from shoal.mining.attributes import CellValue, TreeAttribute

Floats = NDArray[np.float64]
SMALL = 1e-6
"""Weights that differ by less are equal."""


@dataclass(frozen=True)
class Test:
    """What a branch asks of a row: `age <= 30`, `age > 30`, `sex = f`."""

    __test__ = False  # for pytest this is no test

    attribute: str
    operator: Literal["=", "<=", ">"]
    value: CellValue

    def __str__(self) -> str:
        return f"{self.attribute} {self.operator} {self.value}"


@dataclass(frozen=True)
class Node:
    """A node with the tests on the path to it."""

    number: int
    """Number in the tree; -1 for a branch without training rows."""
    path: tuple[Test, ...]
    attribute: str | None
    """The attribute that it tests; None for a leaf."""
    label: int
    """The most frequent class; for a leaf without rows, that of the node above."""
    rows: float
    """Weight of the training rows that reach it."""
    correct: float
    """Weight of those that have its class."""

    @property
    def weights_text(self) -> str:
        """Weights of rows and of errors, as J48 writes them: `(12.0/3.0)`."""
        wrong = self.rows - self.correct
        return f"({round(self.rows, 2)}/{round(wrong, 2)})" if wrong > SMALL else f"({round(self.rows, 2)})"


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A decision tree in arrays, every node before those below it.

    >>> from shoal.mining.c45 import C45
    >>> weather = {"wind": ["no", "no", "no", "yes", "yes"], "play": [1, 1, 1, 0, 0]}
    >>> import pyarrow as pa
    >>> print(C45().fit(pa.table(weather).select(["wind"]), weather["play"]).tree_)
    wind = no: 1 (3.0)
    wind = yes: 0 (2.0)
    """

    attributes: tuple[TreeAttribute, ...]
    classes: tuple[Hashable, ...]
    attribute: Codes
    """Attribute that each node tests; -1 for a leaf."""
    cut: Codes
    """Last code of the first branch, where the attribute is numeric."""
    begin: NDArray[np.int64]
    """Where the sons of each node begin in `sons`."""
    sons: Codes
    """Nodes at the ends of all branches; -1 for a branch without training rows."""
    counts: Floats
    """counts[node, class]: weight of training rows."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes; branches without rows count as leaves, as in J48."""
        return 1 + len(self.sons)

    @property
    def n_leaves(self) -> int:
        return self.n_nodes - int((self.attribute >= 0).sum())

    def nodes(self) -> Iterator[Node]:
        """Yield every node before those below it, in the order of branches, including branches without rows."""
        top: tuple[Test, ...] = ()
        stack = [(0, top, 0)]
        while stack:
            number, path, above = stack.pop()
            yield self._node(number, path, above)
            if number < 0 or self.attribute[number] < 0:
                continue
            sons = self.sons[self.begin[number] : self.begin[number + 1]].tolist()
            below = zip(sons, self._tests(number), strict=True)
            stack.extend(reversed([(son, (*path, test), number) for son, test in below]))

    def leaves(self) -> Iterator[Node]:
        """Yield the nodes without a test."""
        return (node for node in self.nodes() if node.attribute is None)

    def text(self) -> str:
        """Return one line for each branch, as J48 writes them."""
        lines = []
        for node in self.nodes():
            said = f"{'|   ' * (len(node.path) - 1)}{node.path[-1]}" if node.path else ""
            if node.attribute is None:
                lines.append(f"{said}: {self.classes[node.label]} {node.weights_text}")
            elif said:
                lines.append(said)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def shares(self, codes: Sequence[Codes], rows: int) -> Floats:
        """Return shares[row, class] at the leaf of each row; a missing value follows all branches, by their weight."""
        return c45_shares(self._arrays, codes, self._numeric, rows)

    def find_leaves(self, codes: Sequence[Codes], rows: int) -> Codes:
        """Return the leaf of each row, -1 where no training row went; a missing value takes the heaviest branch."""
        return c45_leaves(self._arrays, codes, self._numeric, rows)

    @property
    def _arrays(self) -> tuple[Codes, Codes, NDArray[np.int64], Codes, Floats]:
        return self.attribute, self.cut, self.begin, self.sons, self.counts

    @property
    def _numeric(self) -> list[bool]:
        return [attribute.numbers is not None for attribute in self.attributes]

    @cached_property
    def _totals(self) -> Floats:
        totals: Floats = self.counts.sum(axis=1)
        return totals

    @cached_property
    def _majority(self) -> NDArray[np.intp]:
        return argmax_of_rows(self.counts)

    def _node(self, number: int, path: tuple[Test, ...], above: int) -> Node:
        if number < 0 or (path and self._totals[number] <= SMALL):
            return Node(-1, path, None, int(self._majority[above]), 0.0, 0.0)
        tested = int(self.attribute[number])
        label = int(self._majority[number])
        return Node(
            number,
            path,
            None if tested < 0 else self.attributes[tested].name,
            label,
            float(self._totals[number]),
            float(self.counts[number, label]),
        )

    def _tests(self, number: int) -> list[Test]:
        attribute = self.attributes[self.attribute[number]]
        if attribute.numbers is None:
            return [Test(attribute.name, "=", value) for value in attribute.shown]
        value = attribute.shown[self.cut[number]]
        return [Test(attribute.name, "<=", value), Test(attribute.name, ">", value)]


def argmax_of_rows(shares: Floats) -> NDArray[np.intp]:
    """Return the column of the greatest share of each row; the first of nearly equal ones.

    >>> argmax_of_rows(np.array([[0.25, 0.5, 0.5 + 1e-9], [1, 0, 0]])).tolist()
    [1, 0]
    """
    best = np.zeros(len(shares), dtype=np.intp)
    most = np.zeros(len(shares))
    for at in range(shares.shape[1]):
        better = shares[:, at] - most > SMALL
        best[better] = at
        most[better] = shares[better, at]
    return best


@dataclass(frozen=True)
class Rule:
    """Rows that pass all tests have this class, most of them (Agrawal, Imieliński and Swami, SIGMOD 1993).

    >>> rule = Rule((Test("age", "=", "3*"),), "cancer", support=4, correct=4, prior=5 / 12)
    >>> print(rule, rule.confidence, round(rule.lift, 2))
    age = 3* => cancer (4.0) 1.0 2.4
    """

    antecedent: tuple[Test, ...]
    consequent: Hashable
    """The class, as it was given."""
    support: float
    """Weight of the rows that pass the tests."""
    correct: float
    """Weight of those among them that have the class."""
    prior: float
    """Share of the class among all rows."""

    @property
    def confidence(self) -> float:
        return self.correct / self.support

    @property
    def lift(self) -> float:
        """Confidence over prior: how many times more frequent the class is here than among all rows."""
        return self.confidence / self.prior

    @property
    def comparison_key(self) -> tuple[frozenset[Test], Hashable]:
        """Key that is equal for two rules with the same tests, in any order, and the same class."""
        return frozenset(self.antecedent), self.consequent

    def __str__(self) -> str:
        wrong = self.support - self.correct
        counted = f"{round(float(self.support), 2)}" + (f"/{round(float(wrong), 2)}" if wrong > SMALL else "")
        return f"{' and '.join(map(str, self.antecedent)) or 'always'} => {self.consequent} ({counted})"


def rules_of(tree: FittedTree) -> tuple[Rule, ...]:
    """Return the rules of a tree in the order of its leaves; a branch without training rows gives none."""
    among = tree.counts[0] / tree.counts[0].sum()
    return tuple(
        Rule(leaf.path, tree.classes[leaf.label], leaf.rows, leaf.correct, float(among[leaf.label]))
        for leaf in tree.leaves()
        if leaf.number >= 0
    )


_CLOSE = Fraction(1, 10**9)
"""Tolerance: weights of rows with missing values are sums of fractions."""


@dataclass(frozen=True)
class ChannelCriterion:
    """Which rules about a sensitive attribute are channels: by default the perfect ones.

    >>> rule = Rule((), "flu", support=4.0, correct=3.0, prior=0.5)
    >>> ChannelCriterion().is_channel(rule), ChannelCriterion(at=Fraction(3, 4)).is_channel(rule)
    (False, True)
    """

    at: Fraction = Fraction(1)
    """Least confidence of a channel."""
    support: int = 1
    """Fewest rows that a channel is about."""
    values: frozenset[str] = frozenset()
    """The values that must not be told; none named: all."""

    def is_channel(self, rule: Rule) -> bool:
        """Whether a rule is a channel."""
        if self.values and str(rule.consequent) not in self.values:
            return False
        rows, right = Fraction(rule.support), Fraction(rule.correct)
        return rows >= self.support - _CLOSE and rows > 0 and right >= self.at * rows - _CLOSE

    def select_channels(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """Return the rules that are channels."""
        return tuple(rule for rule in rules if self.is_channel(rule))
