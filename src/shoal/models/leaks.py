"""How one sensitive value leaks from the classes that hold it: on average and at most."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.counts import Longs

_UNSURE = 1e-12
"""How near floats may come to a limit before the comparison is made with fractions."""


@dataclass(frozen=True)
class Leakage:
    """The leakage of one value: the sum of y² for each size x of a class that holds it, and how many hold it.

    Classes of one size are added as whole numbers, so there are as many fractions as sizes: few, even of many classes.

    >>> leak = Leakage.of(np.array([3, 1, 3, 3]), np.array([6, 3, 5, 5]))
    >>> leak.average, leak.most - leak.average
    (Fraction(163, 300), Fraction(17, 300))
    """

    sizes: Longs
    squares: NDArray[Any]
    holders: int
    most: Fraction
    """The highest LP."""

    @classmethod
    def of(cls, part: Longs, whole: Longs) -> "Leakage":
        """From the entries of a value: its rows y and all rows x of each class that holds it."""
        small = int(part.max()) ** 2 * len(part) <= np.iinfo(np.int64).max
        exactly = part.astype(np.int64 if small else object)
        sizes, at = np.unique(whole, return_inverse=True)
        squares = np.zeros(len(sizes), dtype=exactly.dtype)
        np.add.at(squares, at, exactly * exactly)
        share = part / whole
        highest = np.unique(np.stack([part, whole])[:, share == share.max()], axis=1)
        most = max(Fraction(y, x) for y, x in highest.T.tolist())
        return cls(sizes, squares, int(part.sum()), most)

    @cached_property
    def average(self) -> Fraction:
        """ALP, exactly."""
        terms = [Fraction(int(y), x) for y, x in zip(self.squares, self.sizes.tolist(), strict=True)]
        while len(terms) > 1:  # in pairs: the denominators stay small for longer
            odd = terms[len(terms) & ~1 :]
            terms = [one + other for one, other in zip(terms[::2], terms[1::2], strict=False)] + odd
        return terms[0] / self.holders

    @cached_property
    def about(self) -> float:
        """ALP, wrong by a few units in the last place."""
        return fsum(self.squares / self.sizes) / self.holders

    def average_within(self, limit: Fraction) -> bool:
        """ALP <= limit; fractions only where floats cannot tell."""
        margin = float(limit) - self.about
        return margin > 0 if abs(margin) > _UNSURE else self.average <= limit

    def excess_within(self, limit: Fraction) -> bool:
        """LP − ALP <= limit in every class."""
        margin = float(limit - self.most) + self.about
        return margin > 0 if abs(margin) > _UNSURE else self.most - self.average <= limit
