"""How the members of a class may be split among the children of its label, and how likely each way is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb, lgamma

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Flags, Longs

Shares = NDArray[np.float64]
Fine = Callable[[Longs], Flags]
"""Says which splits (one a row) would have been a release that keeps the promise."""


@dataclass(frozen=True)
class Splits:
    """Ways to split a class among the children of its label, one a row, each with its prior probability."""

    ways: Longs
    """ways[way, child]: how many members have this child."""
    prior: Shares
    fine: Shares
    """Probability that a class split this way could have been published with the children."""
    harmless: Flags
    """Ways after which the class could have been published with the children, whoever has which child."""
    exact: bool
    """Whether all ways are listed, rather than a random sample of them."""

    @classmethod
    def of(cls, size: int, shares: Shares, fine: Fine, most: int, random: np.random.Generator) -> "Splits":
        """List all ways if there are at most `most`, else draw as many; each member's child is drawn by `shares`."""
        if comb(size + len(shares) - 1, len(shares) - 1) <= most:
            ways = np.array(list(_ways(size, len(shares))), dtype=np.int64)
            kept = fine(ways)
            return cls(ways, _multinomial(ways, shares), kept.astype(np.float64), kept, exact=True)
        drawn, counts = np.unique(random.multinomial(size, shares, most), axis=0, return_counts=True)
        ways = drawn.astype(np.int64)
        kept = fine(ways)
        return cls(ways, counts / counts.sum(), kept.astype(np.float64), kept, exact=False)

    @classmethod
    def of_members(cls, size: int, shares: Shares, fine: Fine, most: int, random: np.random.Generator) -> "Splits":
        """Split where it matters who has which child: `fine` judges worlds, which give every member a child."""
        children = len(shares)
        exact = children**size <= most
        if exact:
            # worlds[world, member]: the child of each member, every combination once
            worlds = np.stack(np.unravel_index(np.arange(children**size), (children,) * size), axis=1)
            weights = shares[worlds].prod(axis=1)
        else:
            worlds, weights = random.choice(children, (most, size), p=shares), np.full(most, 1 / most)
        # sizes[world, child]: members with each child; worlds with equal sizes are one way
        sizes = np.stack([(worlds == child).sum(axis=1) for child in range(children)], axis=1)
        ways, of_world = np.unique(sizes, axis=0, return_inverse=True)
        of_world, kept = of_world.ravel(), fine(worlds.astype(np.int64))
        prior = np.asarray(np.bincount(of_world, weights=weights), dtype=np.float64)
        # probability of keeping the promise, given the way
        chance = np.bincount(of_world, weights=weights * kept) / np.where(prior > 0, prior, 1)
        harmless = np.bincount(of_world, weights=~kept) == 0
        return cls(ways.astype(np.int64), prior, chance, harmless, exact)

    @property
    def chance_unneeded(self) -> float:
        """Probability that the class could have been published with the children."""
        return float(self.prior @ self.fine)

    def posterior(self, others: float = 1.0) -> Shares:
        """Probability of each way, given that the finer release failed; all 0 where it cannot have failed.

        `others` is the probability that no other class made it fail.

        >>> half = np.array([0.5, 0.5])
        >>> def k3(ways):
        ...     return ((ways == 0) | (ways >= 3)).all(axis=1)
        >>> three = Splits.of(3, half, k3, 100, np.random.default_rng())
        >>> dict(zip(map(tuple, three.ways.tolist()), three.posterior().tolist()))
        {(0, 3): 0.0, (1, 2): 0.5, (2, 1): 0.5, (3, 0): 0.0}
        """
        weights = self.prior * np.maximum(1 - others * self.fine, 0)
        total = weights.sum()
        return np.asarray(weights / total) if total > 0 else weights

    def likeliest(self, weights: Shares) -> Longs:
        """Return the way of the greatest weight; the first of equal ones."""
        return np.asarray(self.ways[int(weights.argmax())])

    @property
    def may_fail(self) -> bool:
        """Whether the class may have made the finer release fail; True where ways were only drawn."""
        return not self.exact or not bool(self.harmless.all())

    def count_certain_members(self, *, alone: bool) -> Longs:
        """Count the members that certainly have each child; 0 unless it `alone` can have made the finer release fail.

        Every possible way counts, however unlikely; a random sample of ways proves nothing.
        """
        if not alone or not self.exact or not self.may_fail:
            return np.zeros(self.ways.shape[1], dtype=np.int64)
        return np.asarray(self.ways[~self.harmless].min(axis=0))


def _ways(size: int, children: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to split `size` members among children, as a number for each child."""
    if children == 1:
        yield (size,)
        return
    for first in range(size + 1):
        for rest in _ways(size - first, children - 1):
            yield (first, *rest)


def _multinomial(ways: Longs, shares: Shares) -> Shares:
    """Return the multinomial probability of each way, given the share of each child."""
    size = int(ways[0].sum())
    factorials = np.array([lgamma(many + 1) for many in range(size + 1)])
    with np.errstate(divide="ignore", invalid="ignore"):
        # [way, child] log of shareⁿ, where 0 · log 0 counts as 0
        logs = np.where(ways > 0, ways * np.log(shares), 0.0)
    # [way] n! / Πnᵢ! · Πshareᵢ^nᵢ, normalised to add up to 1
    found = np.exp(factorials[size] - factorials[ways].sum(axis=1) + logs.sum(axis=1))
    return np.asarray(found / found.sum())
