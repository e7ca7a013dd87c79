"""Inference channels: the rules that tell a sensitive value of whom they are about (Sané et al. 2012, Definition 1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from shoal.mining.rules import Rule

_CLOSE = Fraction(1, 10**9)
"""Weights of rows with missing values are sums of shares."""


@dataclass(frozen=True)
class Sensitive:
    """Which rules about a sensitive attribute are channels: by default the perfect ones.

    >>> rule = Rule((), "flu", support=4.0, correct=3.0, prior=0.5)
    >>> Sensitive().tells(rule), Sensitive(at=Fraction(3, 4)).tells(rule)
    (False, True)
    """

    at: Fraction = Fraction(1)
    """The least confidence."""
    support: int = 1
    """The fewest rows."""
    values: frozenset[str] = frozenset()
    """The values that must not be told; none named: all."""

    def tells(self, rule: Rule) -> bool:
        """Whether a rule is a channel."""
        if self.values and str(rule.consequent) not in self.values:
            return False
        rows, right = Fraction(rule.support), Fraction(rule.correct)
        return rows >= self.support - _CLOSE and rows > 0 and right >= self.at * rows - _CLOSE

    def among(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """The channels among some rules."""
        return tuple(rule for rule in rules if self.tells(rule))
