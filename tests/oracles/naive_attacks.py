"""Small releases, and definitions of attacks in plain Python that tests compare with."""

from collections import Counter
from itertools import permutations, product

import pyarrow as pa

from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.codes import Table, encode


def table(**columns):
    rows = len(next(iter(columns.values())))
    return Table({name: encode(name, pa.array(cells, pa.string())) for name, cells in columns.items()}, rows)


def release(quasi, sensitive=("s",), builders=None, **columns):
    """A table released as it is."""
    return Published.of("the release", table(**columns), list(quasi), list(sensitive), builders or {})


def texts(of, name):
    column = of[name]
    labels = [*column.texts.to_pylist(), None]
    return [labels[code] for code in column.codes.tolist()]


def same_rows(original):
    """The truth of a release in which nobody was left out and rows kept their order."""
    import numpy as np

    return Truth(original, np.arange(original.rows))


def placements(values):
    """Every way to assign the values to the people, each listed once."""
    return sorted(set(permutations(values)))


def splits_of(size, shares, promised):
    """Every way to give members children, with its probability, and whether it would have been released."""
    for children in product(range(len(shares)), repeat=size):
        weight = 1.0
        for child in children:
            weight *= shares[child]
        yield children, weight, promised(children)


def k_anonymous(k):
    return lambda children: min(Counter(children).values()) >= k
