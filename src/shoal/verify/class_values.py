"""The values of one attribute behind each class, in their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from shoal.counts import Flags, Indices, Longs
from shoal.labels import Scale, Sort
from shoal.verify.queries import arrays

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Ranking:
    """The values of a column from least to greatest: as numbers, as moments, as texts, or as a policy orders them.

    >>> import pyarrow as pa
    >>> Ranking(Scale(pa.array(["10", "9.0", "9"]))).ranks.tolist()
    [1, 0, 0]
    >>> Ranking(Scale(pa.array(["1", "2"])), ["2", "1"]).rank("2")
    0
    """

    scale: Scale
    order: Sequence[str] = ()
    """The values from least to greatest, where a policy says it; they are then no numbers."""

    @property
    def is_numeric(self) -> bool:
        """Whether they have means and bounds; where there are none at all, nothing speaks against it."""
        return (self.scale.sort is Sort.NUMBER or not len(self.scale.values)) and not self.order

    @cached_property
    def ranks(self) -> Longs:
        """Of each code."""
        if not self.order:
            return self.scale.ranks
        ranks = np.full(len(self.scale.values), len(self.order), dtype=np.int64)
        for rank, text in enumerate(self.order):
            ranks[self._code(text)] = rank
        return ranks

    def rank(self, text: str) -> int | None:
        """The rank of the value that is written so."""
        if not self.order:
            return self.scale.rank(text)
        codes = self._code(text)
        return int(self.ranks[codes[0]]) if len(codes) else None

    def number(self, rank: int) -> Fraction:
        """The number of a rank."""
        return self.scale.number_of(int(self.scale.first_codes[rank]))

    def _code(self, text: str) -> Longs:
        """The code of just this spelling: an order names each."""
        codes = self.scale.same(text)
        return codes[[self.scale.texts[code] == text for code in codes.tolist()]] if len(codes) > 1 else codes


@dataclass(frozen=True)
class ClassValues:
    """Each class and each value in it once, by class and then from least to greatest; nulls are not among them.

    >>> import pyarrow as pa
    >>> ages = Ranking(Scale(pa.array([9, 30, 41])))
    >>> of, ranks, rows = np.array([[0, 0, 1], [0, 1, 2], [3, 1, 1]])
    >>> values = ClassValues(ages, 2, of, ranks, rows, np.zeros(2, dtype=bool))
    >>> values.least.tolist(), values.greatest.tolist(), values.commonest.tolist(), values.means
    ([0, 2], [1, 2], [0, 2], [Fraction(57, 4), Fraction(41, 1)])
    """

    ranking: Ranking
    classes: int
    of: Indices
    """The class of each entry."""
    ranks: Indices
    rows: Longs
    with_null: Flags
    """Which classes have rows without a value too."""

    @classmethod
    def read(cls, db: "duckdb.DuckDBPyConnection", ranking: Ranking, code: str, classes: int) -> "ClassValues":
        """Count them; `code` is what `origins` calls the codes of the column."""
        of, codes, rows = arrays(
            db,
            f"SELECT p.class, o.{code} AS code, count(*) AS n FROM placed p JOIN origins o ON p.row = o.row "
            "GROUP BY ALL",
        )
        null = codes >= len(ranking.scale.values)
        with_null = np.zeros(classes, dtype=bool)
        with_null[of[null]] = True
        # spellings of one number are one value: their rows are added
        ranks = ranking.ranks[codes[~null]]
        width = int(ranks.max(initial=0)) + 1
        pairs, which = np.unique(of[~null] * width + ranks, return_inverse=True)
        counts = np.bincount(which, weights=rows[~null], minlength=len(pairs)).astype(np.int64)
        return cls(ranking, classes, pairs // width, pairs % width, counts, with_null)

    def shared(self, groups: Indices) -> "ClassValues":
        """The same where every class has the values of all classes of its group; what was frequent is forgotten."""
        one = np.unique(np.stack([groups[self.of], self.ranks]), axis=1)
        many = np.searchsorted(one[0], np.arange(int(groups.max(initial=-1)) + 2))
        entries = [np.arange(many[group], many[group + 1]) for group in groups.tolist()]
        of = np.repeat(np.arange(self.classes), [len(entry) for entry in entries])
        ranks = one[1][np.concatenate(entries)] if entries else self.ranks
        null = np.zeros(len(groups), dtype=bool)
        null[np.isin(groups, groups[self.with_null])] = True
        return ClassValues(self.ranking, self.classes, of, ranks, np.ones_like(ranks), null)

    @cached_property
    def ends(self) -> Longs:
        """Where the entries of each class begin; one more for where the last ones end."""
        return np.searchsorted(self.of, np.arange(self.classes + 1)).astype(np.int64)

    @property
    def any(self) -> Flags:
        """Which classes have a value at all."""
        return np.asarray(np.diff(self.ends) > 0)

    @property
    def least(self) -> Longs:
        return self._at(self.ends[:-1])

    @property
    def greatest(self) -> Longs:
        return self._at(self.ends[1:] - 1)

    @property
    def commonest(self) -> Longs:
        """Of the most frequent values the least."""
        order = np.lexsort((np.arange(len(self.of)), -self.rows, self.of))
        return self._at(np.append(order, 0)[np.minimum(self.ends[:-1], len(order))])

    @property
    def middles(self) -> tuple[Longs, Longs]:
        """The two middle values, which are one where the number of rows is odd."""
        ranks = np.append(0, np.cumsum(self.rows))
        first, total = ranks[self.ends[:-1]], np.diff(ranks[self.ends])
        low, high = (np.searchsorted(ranks[1:], first + at, side="right") for at in ((total - 1) // 2, total // 2))
        return self._at(low), self._at(high)

    @cached_property
    def means(self) -> list[Fraction | None]:
        """Exactly; the column is one of numbers."""
        used, at = np.unique(self.ranks, return_inverse=True)
        numbers = [self.ranking.number(rank) for rank in used.tolist()]
        unit = lcm(*{number.denominator for number in numbers})
        # integers of Python, which have no limit
        units = np.array([number.numerator * (unit // number.denominator) for number in numbers], dtype=object)
        totals = np.append(0, np.cumsum(units[at] * self.rows.astype(object))) if len(at) else np.zeros(1, dtype=object)
        rows = np.append(0, np.cumsum(self.rows))[self.ends]
        sums = totals[self.ends]
        return [
            Fraction(sums[c + 1] - sums[c], unit * int(rows[c + 1] - rows[c])) if some else None
            for c, some in enumerate(self.any)
        ]

    def _at(self, entry: Indices) -> Longs:
        """The rank of one entry of each class; -1 where a class has none."""
        ranks = np.append(self.ranks, -1)[np.clip(entry, 0, len(self.ranks))]
        return np.where(self.any, ranks, -1).astype(np.int64)
