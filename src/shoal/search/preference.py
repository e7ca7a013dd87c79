"""Which of several complying nodes to release: Samarati's four preferences, and the metric of the policy."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from shoal.lattice import Node
from shoal.metrics import Floors
from shoal.policy.method import Preference
from shoal.search.driver import Ask, Found, Search
from shoal.search.incumbent import Incumbent, better, slack
from shoal.search.oracle import Answer

Key = Callable[[Answer, Sequence[int]], int | Fraction]
KEYS: dict[Preference, Key] = {
    "metric": lambda *_: 0,
    "minimum-absolute-distance": lambda answer, _: sum(answer.node),
    "minimum-relative-distance": lambda answer, heights: sum(map(_relative, answer.node, heights), Fraction(0)),
    "maximum-distribution": lambda answer, _: -answer.classes,
    "minimum-suppression": lambda answer, _: answer.suppressed,
}
"""Less is better, ties by the metric (S2.5); steps may count as shares of the heights of their hierarchies."""


def preferred(nodes: tuple[Node, ...], preference: Preference, heights: Sequence[int], floors: Floors) -> Search:
    """The node to release, asked for its score in the order of the bounds while another could still win."""
    found = Incumbent()
    for done, node in enumerate(sorted(nodes, key=lambda node: (_bound(node, floors), node))):
        best = found.best
        if preference == "metric" and best is not None and _bound(node, floors) > best.score + slack(best.score):
            break
        answer = yield Ask(node, done / len(nodes))
        if best is None or _wins(answer, best, KEYS[preference], heights):
            found.best = answer
    return Found(found.best, nodes=nodes)


def _wins(answer: Answer, best: Answer, key: Key, heights: Sequence[int]) -> bool:
    ours, theirs = key(answer, heights), key(best, heights)
    return ours < theirs or (ours == theirs and better(answer, best))


def _relative(level: int, height: int) -> Fraction:
    return Fraction(level, max(height, 1))


def _bound(node: Node, floors: Floors) -> float:
    return float(sum(floor[level] for floor, level in zip(floors, node, strict=True)))
