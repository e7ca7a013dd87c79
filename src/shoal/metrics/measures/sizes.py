"""What the sizes of the classes tell."""

import numpy as np

from shoal.counts import Longs
from shoal.metrics.seen import Seen
from shoal.metrics.told import Bucket, Told


def discernibility(seen: Seen) -> Told:
    """C_DM: a row costs the size of its class, a suppressed one the size of the table. Bayardo, Agrawal, ICDE 2005.

    >>> round(discernibility(seen).total, 3)
    13.0
    """
    return Told(_squares(seen.kept) + float(seen.rows) * float(seen.sizes[seen.suppressed].sum()))


def discernibility_star(seen: Seen) -> Told:
    """C_DM*: the squares of all classes, as if none was suppressed. El Emam et al., JAMIA 2009; ARX.

    >>> round(discernibility_star(seen).total, 3)
    9.0
    """
    return Told(_squares(seen.sizes))


def average_class(seen: Seen) -> Told:
    """Rows per class, all suppressed rows making one more class: ARX's AECS.

    >>> round(average_class(seen).total, 3)
    1.667
    """
    return Told(seen.rows / (len(seen.kept) + bool(seen.suppressed.any())))


def c_avg(seen: Seen) -> Told:
    """C_AVG: released rows per released class, over the largest k that was asked (S4.5). LeFevre et al., ICDE 2006.

    >>> round(c_avg(seen).total, 3)
    1.0
    """
    return Told(float(seen.kept.sum()) / len(seen.kept) / seen.k if len(seen.kept) else None)


def class_sizes(seen: Seen) -> Told:
    """How many released classes are how large.

    >>> [(each.least, each.most, each.classes) for each in class_sizes(seen).buckets]
    [(2, 4, 2)]
    """
    return Told(None, buckets=histogram(seen.kept))


def histogram(sizes: Longs) -> tuple[Bucket, ...]:
    """Classes by size in steps of 1, 2, 5, 10, …; without the empty steps at both ends.

    >>> [(b.least, b.most, b.classes, b.rows) for b in histogram(np.array([2, 3, 12]))]
    [(2, 4, 2, 5), (5, 9, 0, 0), (10, 19, 1, 12)]
    """
    if not len(sizes):
        return ()
    steps = [1]
    while steps[-1] <= sizes.max():
        steps.append(steps[-1] * 5 // 2 if str(steps[-1]).startswith("2") else steps[-1] * 2)
    at = np.searchsorted(steps, sizes, side="right") - 1
    classes, rows = np.bincount(at), np.bincount(at, weights=sizes)
    return tuple(
        Bucket(steps[i], steps[i + 1] - 1, int(classes[i]), int(rows[i])) for i in range(at.min(), len(classes))
    )


def _squares(sizes: Longs) -> float:
    each = sizes.astype(np.float64)
    return float(each @ each)
