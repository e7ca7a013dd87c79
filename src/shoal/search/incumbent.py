"""The best node so far, and the score that no node is below."""

from dataclasses import dataclass
from math import inf

from shoal.search.oracle import Answer

_TOLERANCE = 1e-12


def slack(score: float) -> float:
    """Scores nearer than this are a tie."""
    return _TOLERANCE * max(1.0, abs(score))


def better(answer: Answer, best: Answer | None) -> bool:
    """By score; at a tie the lower node, then the first in the order of the attributes' names."""
    if best is None or abs(answer.score - best.score) > slack(best.score):
        return best is None or answer.score < best.score
    return (sum(answer.node), answer.node) < (sum(best.node), best.node)


@dataclass
class Incumbent:
    """What a search would end with if it stopped now."""

    best: Answer | None = None
    bound: float = -inf

    def meet(self, answer: Answer) -> None:
        """Take a complying node that is better."""
        if answer.ok and better(answer, self.best):
            self.best = answer

    def raise_bound(self, bound: float) -> None:
        self.bound = max(self.bound, bound)
