"""How common the values of a quasi-identifier are, as far as a release or another table of people tells."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.meaning import Meaning
from shoal.attacks.published import Published
from shoal.codes import Table
from shoal.counts import Flags, Longs

Floats = NDArray[np.float64]


def marginal(published: Published, name: str, meaning: Meaning, control: Table | None = None) -> Floats:
    """The share of each value: of the people of a control table, each value counted once more (Laplace's rule).

    Without one, every released row is spread evenly over what its label covers.

    >>> import pyarrow as pa
    >>> from shoal.attacks.meaning import meaning_of
    >>> from shoal.codes import encode
    >>> table = Table({"age": encode("age", pa.array(["[20, 22)", "20"]))}, 2)
    >>> published = Published.of("the frame", table, ["age"], [])
    >>> marginal(published, "age", meaning_of(published, "age")).tolist()
    [0.75, 0.25]
    """
    size, runs = meaning.column.size, meaning.runs
    if control is not None:
        codes = meaning.codes_of(control[name])[control[name].codes]
        seen = np.bincount(codes[codes >= 0], minlength=size) + meaning.many
        return np.asarray(seen / seen.sum())
    shown = published.quasi_identifiers[name]
    rows = np.bincount(shown.codes, minlength=len(shown.labels)).astype(np.float64)
    values = covered_by_labels(meaning, meaning.many)  # how many each label covers
    each = rows / np.where(values > 0, values, 1)
    mass = spread(each[runs.label], runs.start, runs.stop, size) * meaning.many
    total = mass.sum()
    return np.asarray(mass / total) if total > 0 else np.full(size, 1 / max(size, 1))


def covered_by_labels(meaning: Meaning, amounts: Floats) -> Floats:
    """The sum of the amounts of all values that each label covers."""
    runs = meaning.runs
    found = np.zeros(len(meaning.labels))
    np.add.at(found, runs.label, sums(amounts, runs.start, runs.stop))
    return found


def sums(amounts: Floats, start: Longs, stop: Longs) -> Floats:
    """The sum of each run of amounts, in the time of a few steps for each.

    Sums of 2, 4, 8, … neighbours are kept, and each run is put together from few of them. Differences of running
    totals would do the same, but lose what is small beside what is large.

    >>> sums(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 2]), np.array([3, 3, 2])).tolist()
    [7.0, 6.0, 0.0]
    """
    leaves = _leaves(len(amounts))
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(amounts)] = amounts
    first = leaves
    while first > 1:  # each level from the one below it
        tree[first // 2 : first] = tree[first : 2 * first : 2] + tree[first + 1 : 2 * first : 2]
        first //= 2
    found = np.zeros(len(start))
    for which, nodes in _nodes(start, stop, leaves):
        found[which] += tree[nodes]
    return found


def spread(amounts: Floats, start: Longs, stop: Longs, size: int) -> Floats:
    """What each of so many values gets where an amount is given to every value of each run.

    >>> spread(np.array([1.0, 2.0]), np.array([0, 1]), np.array([2, 3]), 3).tolist()
    [1.0, 3.0, 2.0]
    """
    leaves = _leaves(size)
    tree = np.zeros(2 * leaves)
    for which, nodes in _nodes(start, stop, leaves):
        np.add.at(tree, nodes, amounts[which])
    first = 1
    while first < leaves:  # what a node got, all below it get
        tree[2 * first : 4 * first] += np.repeat(tree[first : 2 * first], 2)
        first *= 2
    return tree[leaves : leaves + size]


def _leaves(size: int) -> int:
    """The power of two that has room for so many; the tree above them has its root at 1, and its leaves behind it."""
    return 1 << max(size - 1, 0).bit_length()


def _nodes(start: Longs, stop: Longs, leaves: int) -> Iterator[tuple[Flags, Longs]]:
    """The nodes that together hold each run, level by level: which runs have one there, and which it is."""
    low, high = start + leaves, stop + leaves
    while (low < high).any():
        left = (low < high) & (low % 2 == 1)
        yield left, low[left]
        low = low + left
        right = (low < high) & (high % 2 == 1)
        high = high - right
        yield right, high[right]
        low, high = low // 2, high // 2
