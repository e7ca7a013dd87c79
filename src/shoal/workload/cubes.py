"""Many COUNT queries at once: all combinations of faces as a cube, contracted axis by axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from shoal.codes import Codes
from shoal.workload.domains import Floats

_SPARSEST = 16
"""Cells per combination that occurs; where there are more, looking at those one by one is faster."""
_BLOCK = 1 << 23
"""Numbers between two contractions."""


@dataclass(frozen=True)
class Cube:
    """How many rows show each combination of faces, one axis for each attribute.

    >>> cube = Cube.of([np.array([0, 1], np.int32), np.array([0, 1], np.int32)], [2, 2], np.array([3.0, 4.0]))
    >>> cube.totals([np.array([[1.0], [0.5]]), np.array([[1.0], [1.0]])]).tolist()
    [5.0]
    """

    cells: Floats

    @classmethod
    def of(cls, codes: Sequence[Codes], sizes: Sequence[int], counts: Floats) -> "Cube | None":
        """None where most of the cells would be empty."""
        total = reduce(int.__mul__, sizes, 1)
        if not codes or total > _SPARSEST * len(counts):
            return None
        cells = np.bincount(np.ravel_multi_index(tuple(codes), tuple(sizes)), counts, minlength=total)
        return cls(cells.reshape(sizes).astype(np.float64))

    def totals(self, factors: Sequence[Floats]) -> Floats:
        """Of each query, the sum over all cells of the rows times the factor of every face: factors[axis][face, query].

        The longest axis first: what is left is small.
        """
        queries = factors[0].shape[1]
        longest = int(np.argmax(self.cells.shape))
        cells = np.moveaxis(self.cells, longest, -1)
        rest = cells.shape[:-1]
        flat, step = cells.reshape(-1, cells.shape[-1]), max(1, _BLOCK // max(1, int(np.prod(rest))))
        found = [
            self._contracted(flat, rest, [factor[:, at : at + step] for factor in factors], longest)
            for at in range(0, queries, step)
        ]
        return np.concatenate(found)

    @staticmethod
    def _contracted(flat: Floats, rest: tuple[int, ...], factors: Sequence[Floats], longest: int) -> Floats:
        left = (flat @ factors[longest]).reshape(*rest, -1)
        for factor in reversed([factor for axis, factor in enumerate(factors) if axis != longest]):
            left = np.einsum("...fq,fq->...q", left, factor)
        return np.asarray(left)
