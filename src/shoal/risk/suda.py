"""Minimal sample uniques: the smallest combinations of attributes that point at one row (SUDA2, models 1.22)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.data.class_counts import Longs
from shoal.data.codes import Codes, Table
from shoal.data.packed_keys import Layout, join_columns
from shoal.errors import BadInput

Coded = tuple[Codes, int]
"""The codes of a column, and how many different codes there may be."""
Told = Callable[[float], None]
"""Receives the share of the work that is done."""


def group_rows(columns: Sequence[Coded], weights: Longs) -> tuple[Codes, Longs]:
    """Return the group of every row and the weight of every group.

    >>> ids, weights = group_rows([(np.array([1, 0, 1], np.int32), 2)], np.array([1, 1, 4]))
    >>> weights[ids].tolist()
    [5, 1, 5]
    """
    layout = Layout.of([size for _, size in columns])
    codes = [code for code, _ in columns]
    _, counts, ids = kernels.group_columns(codes, *layout.fields, layout.words, weights, want_ids=True)
    assert ids is not None
    return ids, counts


@dataclass(frozen=True)
class DistinctRecords:
    """Distinct rows of some columns, how often each occurs, and the distinct row of each row of the table."""

    names: tuple[str, ...]
    columns: tuple[Coded, ...]
    weights: Longs
    ids: Codes

    @classmethod
    def of(cls, columns: Mapping[str, Coded]) -> "DistinctRecords":
        ids, count, behind = join_columns(list(columns.values()))
        sizes = [size for _, size in columns.values()]
        weights = np.bincount(ids, minlength=count).astype(np.int64)
        return cls(tuple(columns), tuple(zip(behind, sizes, strict=True)), weights, ids)

    @property
    def rows(self) -> int:
        return len(self.ids)

    def select(self, which: Sequence[int], rows: Codes) -> list[Coded]:
        """Return some columns of some distinct rows."""
        return [(self.columns[i][0][rows], self.columns[i][1]) for i in which]


def coded(table: Table, names: Sequence[str], rows: Longs | None = None) -> dict[str, Coded]:
    """Return the codes of some columns, in some rows."""
    return {
        name: (table[name].codes if rows is None else table[name].codes[rows], max(table[name].size, 1))
        for name in names
    }


Floats = NDArray[np.float64]

FRACTION = 0.01
"""The sampling fraction d of DIS-SUDA where none is known."""
_FEW_COLUMNS = 10
_SIZE_OF_MANY = 3
_ROWS_NAMED = 10
_MOST_COLUMNS = 28


def usual_size(columns: int) -> int:
    """Return the size of the largest combination to look for: any among few columns, three among many."""
    return columns if columns <= _FEW_COLUMNS else _SIZE_OF_MANY


@dataclass(frozen=True)
class Suda:
    """Minimal sample uniques of every row, counted by size, and the scores made of them."""

    attributes: tuple[str, ...]
    counts: Longs
    """counts[row, i−1]: combinations of i attributes that single out this row, while no part of them does."""
    weighted: Floats
    """For each attribute, the total score of the combinations that contain it."""
    uniques: int
    """Rows that are unique in all attributes together."""
    pairs: int
    """Rows that share all attributes with exactly one other."""
    fraction: float = FRACTION
    numbers: Longs | None = None
    """Number of each row in the table, where these are not all rows from 1."""

    @property
    def max_size(self) -> int:
        return int(self.counts.shape[1])

    @property
    def scores(self) -> Floats:
        """Σ (M−i)! over the row's minimal uniques of i attributes, M attributes in all (Elliot et al. 2002)."""
        return self._sum_scores(_scores_by_size(len(self.attributes)))

    @property
    def ihsn_scores(self) -> Floats:
        """The variant that the IHSN describes: Σ (2^(M−i) − 1) i! (M−i)! / M!."""
        m = len(self.attributes)
        return self._sum_scores([(2 ** (m - i) - 1) / comb(m, i) for i in range(1, m + 1)])

    def _sum_scores(self, each: Sequence[float]) -> Floats:
        """Return the score of each row, given the score of a minimal unique of each size."""
        return np.asarray(self.counts @ np.array(each[: self.max_size], dtype=np.float64))

    @property
    def dis(self) -> float | None:
        """The probability that a match with a unique row is right: U d / (U d + P (1−d)); None without a unique row."""
        found = self.uniques * self.fraction
        return found / (found + self.pairs * (1 - self.fraction)) if self.uniques else None

    @property
    def dis_scores(self) -> Floats | None:
        """DIS-SUDA probability of each row; None where the exponent 1 + (8−M)/20 would reverse the order."""
        exponent, dis, scores = 1 + (8 - len(self.attributes)) / 20, self.dis, self.scores
        if len(self.attributes) >= _MOST_COLUMNS:
            return None
        found, special = np.zeros(len(scores)), scores > 0
        if dis is None or not special.any():
            return found
        # scores are divided by the greatest one, against overflow: a common factor cancels out of the formula
        power = (scores[special] / scores.max()) ** exponent
        found[special] = 1 / (1 + (self.uniques / dis - self.uniques) / (power * (1 / power).sum()))
        return found

    @property
    def contributions(self) -> dict[str, float]:
        """For each attribute, the share of the total score that is due to combinations with it."""
        total = float(self.scores.sum())
        shares = self.weighted / total if total else self.weighted
        return dict(zip(self.attributes, shares.tolist(), strict=True))

    def document(self) -> dict[str, Any]:
        scores, probable = self.scores, self.dis_scores
        numbers = np.arange(1, len(scores) + 1) if self.numbers is None else self.numbers
        worst = np.argsort(-scores, kind="stable")[:_ROWS_NAMED]
        return {
            "max_size": self.max_size,
            "rows": int((scores > 0).sum()),
            "sizes": [
                {"size": i + 1, "combinations": int(some.sum()), "rows": int((some > 0).sum())}
                for i, some in enumerate(self.counts.T)
            ],
            "contributions": self.contributions,
            "fraction": self.fraction,
            "dis": self.dis,
            "dis_suda_max": None if probable is None else float(probable.max()),
            "worst": [
                {"row": int(numbers[row]), "score": float(scores[row])}
                | ({} if probable is None else {"dis_suda": float(probable[row])})
                for row in worst
                if scores[row] > 0
            ],
        }


def suda(
    columns: Mapping[str, Coded],
    *,
    max_size: int | None = None,
    fraction: float = FRACTION,
    told: Told = lambda _: None,
) -> Suda:
    """Find every minimal sample unique of at most `max_size` attributes: those that Manning, Haglin, Keane 2008 find.

    Combinations are looked at by size. A row that a part of a combination singles out already is left out: it equals no
    other row, so that leaving it out changes nothing for the rest. Equal rows are looked at as one.

    >>> a, b, c = np.array([2, 1, 1], np.int32), np.array([0, 3, 0], np.int32), np.array([0, 6, 0], np.int32)
    >>> suda({"a": (a, 3), "b": (b, 4), "c": (c, 7)}).scores.tolist()
    [2.0, 4.0, 2.0]
    """
    distinct = DistinctRecords.of(columns)
    many = len(columns)
    most = usual_size(many) if max_size is None else max_size
    if most < 1:
        raise BadInput(f"the size of a combination must be a whole number of at least 1, not {max_size!r}")
    most = min(most, many)
    counts, weighted, each = np.zeros((len(distinct.weights), most), np.int64), np.zeros(many), _scores_by_size(many)
    for which, alone in _find_minimal_uniques(distinct, most, told):
        counts[alone, len(which) - 1] += 1
        weighted[list(which)] += len(alone) * float(each[len(which) - 1])
    uniques, pairs = (int((distinct.weights == size).sum()) * size for size in (1, 2))
    return Suda(distinct.names, counts[distinct.ids], weighted, uniques, pairs, fraction)


def _scores_by_size(attributes: int) -> list[float]:
    """Return the score (M−i)! of a minimal unique of i attributes, for each i."""
    return [float(factorial(attributes - i)) for i in range(1, attributes + 1)]


def _find_minimal_uniques(distinct: DistinctRecords, most: int, told: Told) -> Iterator[tuple[tuple[int, ...], Longs]]:
    """Yield each combination with the distinct rows of which it is a minimal unique."""
    single, many = distinct.weights == 1, len(distinct.columns)
    steps, done = sum(comb(many, size) for size in range(1, most + 1)), 0
    known: dict[tuple[int, ...], NDArray[np.uint8]] = {(): np.packbits(np.zeros(len(single), dtype=bool))}
    for size in range(1, most + 1):
        # packed flags of the rows that each combination of this size, or a part of it, singles out
        fresh: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        for which in combinations(range(many), size):
            told(done / steps)
            done += 1
            parts = [known[part] for part in combinations(which, size - 1) if part in known]
            if len(parts) < size:
                continue  # a part leaves no row to be singled out
            # rows that a smaller part of the combination singles out already
            covered = np.unpackbits(np.bitwise_or.reduce(parts), count=len(single)).astype(bool)
            left = np.flatnonzero(~covered)
            if not single[left].any():
                continue
            ids, weights = group_rows(distinct.select(which, left.astype(np.int32)), distinct.weights[left])
            # of the others, those that the whole combination singles out
            alone = left[weights[ids] == 1]
            if len(alone):
                yield which, alone
                covered[alone] = True
            fresh[which] = np.packbits(covered)
        known = fresh
