"""Against who knows the algorithm: a k above the promised one, and an order of attributes that only the seed knows."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from shoal.policy import Policy
from shoal.policy.method import Method


def drawn_margin(method: Method) -> int:
    """By how much classes are larger than promised: 0 to `margin`, drawn from the seed.

    >>> {drawn_margin(Method(margin=2, seed=seed)) for seed in range(1, 20)}
    {0, 1, 2}
    """
    return Random(f"margin {method.seed}").randint(0, method.margin) if method.margin else 0  # noqa: S311 - by the seed


def with_margin(policy: Policy) -> Policy:
    """The policy that is searched for: every k is larger by what was drawn; the promise stays as it is.

    Cohen 2022: a release that is not minimal tells less about what it hides. It is no proof.
    """
    more = drawn_margin(policy.method)
    if not more:
        return policy
    raised = tuple(replace(model, k=model.k + more) if hasattr(model, "k") else model for model in policy.require)
    return policy.model_copy(update={"require": raised})


def in_order(names: Iterable[str], method: Method) -> list[str]:
    """The order of attributes by which every search decides ties: that of their names, or one drawn from the seed.

    >>> in_order(["b", "a"], Method()), in_order("abc", Method(ties="random", seed=1))
    (['a', 'b'], ['c', 'a', 'b'])
    """
    ordered = sorted(names)
    if method.ties == "random":
        Random(f"ties {method.seed}").shuffle(ordered)  # noqa: S311 - by the seed
    return ordered
