"""The values of one attribute behind each class, as they are in the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.codes import Column
from shoal.counts import Flags, Indices, Longs
from shoal.verify.queries import arrays
from shoal.verify.scale import Scale

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ClassValues:
    """Each class and each value in it once, by class and then from least to greatest; nulls are not among them.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> scale = Scale(encode("age", pa.array([9, 30, 41])))
    >>> of, codes, rows = np.array([[0, 0, 1], [0, 1, 2], [3, 1, 1]])
    >>> values = ClassValues(scale, 2, of, codes, rows, np.zeros(2, dtype=bool))
    >>> values.least.tolist(), values.greatest.tolist(), values.commonest.tolist(), values.means
    ([0, 2], [1, 2], [0, 2], [Fraction(57, 4), Fraction(41, 1)])
    """

    scale: Scale
    classes: int
    of: Indices
    """The class of each entry."""
    codes: Indices
    rows: Longs
    with_null: Flags
    """Which classes have rows without a value too."""

    @classmethod
    def read(
        cls, db: "duckdb.DuckDBPyConnection", scale: Scale, code: str, classes: int, order: Sequence[str] = ()
    ) -> "ClassValues":
        """Count them; `code` is what `origins` calls the codes of the column, `order` its values where it is given."""
        of, codes, rows = arrays(
            db,
            f"SELECT p.class, o.{code} AS code, count(*) AS n FROM placed p JOIN origins o ON p.row = o.row "
            "GROUP BY ALL ORDER BY 1, 2",
        )
        null = codes >= len(scale.column.values)
        with_null = np.zeros(classes, dtype=bool)
        with_null[of[null]] = True
        of, codes, rows = of[~null], codes[~null], rows[~null]
        if order:
            place = {value: at for at, value in enumerate(order)}
            ranks = np.array([place.get(text, len(order)) for text in scale.column.texts.to_pylist()])
            entries = np.lexsort((ranks[codes], of))
            of, codes, rows = of[entries], codes[entries], rows[entries]
        return cls(scale, classes, of, codes, rows, with_null)

    @property
    def column(self) -> Column:
        return self.scale.column

    def shared(self, groups: Indices) -> "ClassValues":
        """The same where every class has the values of all classes of its group; what was frequent is forgotten."""
        one = np.unique(np.stack([groups[self.of], self.codes]), axis=1)
        many = np.searchsorted(one[0], np.arange(int(groups.max(initial=-1)) + 2))
        entries = [np.arange(many[group], many[group + 1]) for group in groups.tolist()]
        of = np.repeat(np.arange(self.classes), [len(entry) for entry in entries])
        codes = one[1][np.concatenate(entries)] if entries else self.codes
        null = np.zeros(len(groups), dtype=bool)
        null[np.isin(groups, groups[self.with_null])] = True
        return ClassValues(self.scale, self.classes, of, codes, np.ones_like(codes), null)

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
        unit = self.scale.unit
        scaled = np.array(self.scale.units, dtype=object)  # integers of Python, which have no limit
        totals = np.append(0, np.cumsum(scaled[self.codes] * self.rows.astype(object)))
        rows = np.append(0, np.cumsum(self.rows))[self.ends]
        sums = totals[self.ends]
        return [
            Fraction(sums[c + 1] - sums[c], unit * int(rows[c + 1] - rows[c])) if some else None
            for c, some in enumerate(self.any)
        ]

    def _at(self, entry: Indices) -> Longs:
        """The code of one entry of each class; -1 where a class has none."""
        codes = np.append(self.codes, -1)[np.clip(entry, 0, len(self.codes))]
        return np.where(self.any, codes, -1).astype(np.int64)
