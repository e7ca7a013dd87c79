"""Worlds: who may have which sensitive value, given what each class of a release shows."""

from collections.abc import Iterator, Sequence
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

Assignment = NDArray[np.int64]


def how_many(groups: Sequence[Assignment]) -> int:
    """Ways to hand out the values of each group to its members.

    >>> how_many([np.array([0, 0, 0, 0, 0, 1, 1])])
    21
    """
    return prod(_ways(group) for group in groups)


def every(groups: Sequence[Assignment]) -> Iterator[list[Assignment]]:
    """All of them, each once.

    >>> [world[0].tolist() for world in every([np.array([0, 1, 1])])]
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    if not groups:
        yield []
        return
    for first in _orders(np.bincount(groups[0]).tolist(), len(groups[0])):
        for rest in every(groups[1:]):
            yield [np.array(first, dtype=np.int64), *rest]


def drawn(groups: Sequence[Assignment], worlds: int, seed: int) -> Iterator[list[Assignment]]:
    """So many at random, all equally likely."""
    random = np.random.default_rng(seed)
    for _ in range(worlds):
        yield [random.permutation(group) for group in groups]


def _ways(group: Assignment) -> int:
    return factorial(len(group)) // prod(factorial(many) for many in np.bincount(group).tolist())


def _orders(left: list[int], length: int) -> Iterator[list[int]]:
    if not length:
        yield []
        return
    for value, many in enumerate(left):
        if many:
            less = [*left[:value], many - 1, *left[value + 1 :]]
            for rest in _orders(less, length - 1):
                yield [value, *rest]
