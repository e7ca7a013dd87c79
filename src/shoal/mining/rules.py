"""Classification rules: one for each way from the root of a decision tree to a leaf."""

from collections.abc import Hashable
from dataclasses import dataclass

from shoal.mining.tree import SMALL, Test, Tree


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
        """How many times more often the class is met here than among all rows."""
        return self.confidence / self.prior

    @property
    def same(self) -> tuple[frozenset[Test], Hashable]:
        """What two rules share that say the same, whatever their support and the order of their tests."""
        return frozenset(self.antecedent), self.consequent

    def __str__(self) -> str:
        wrong = self.support - self.correct
        counted = f"{round(float(self.support), 2)}" + (f"/{round(float(wrong), 2)}" if wrong > SMALL else "")
        return f"{' and '.join(map(str, self.antecedent)) or 'always'} => {self.consequent} ({counted})"


def rules_of(tree: Tree) -> tuple[Rule, ...]:
    """The rules of a tree in the order of its leaves; a branch that no training row takes makes none."""
    among = tree.counts[0] / tree.counts[0].sum()
    return tuple(
        Rule(leaf.path, tree.classes[leaf.label], leaf.rows, leaf.correct, float(among[leaf.label]))
        for leaf in tree.leaves()
        if leaf.number >= 0
    )
