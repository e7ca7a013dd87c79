"""How large the classes are."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.counts import Longs
from shoal.report.plots.display import COLOURS, Display, counted, explained, logarithmic, ruled, titled
from shoal.report.plots.grouped import classes_of
from shoal.report.plots.risks import sizes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.api import Release
    from shoal.risk import Assessment

_MOST_BARS = 40
"""One for each size up to here; of more sizes, each is wider than the last."""


@dataclass(frozen=True)
class ClassSizes(Display):
    """A histogram of class sizes, and k where classes were asked to have that many.

    >>> shown = ClassSizes(np.array([5, 5, 6, 9]), k=5)
    >>> shown.counts.tolist(), [int(bar.get_height()) for bar in shown.plot().patches]
    ([2, 1, 0, 0, 1], [2, 1, 0, 0, 1])
    """

    sizes: Longs
    k: int | None = None

    @classmethod
    def from_release(cls, release: "Release") -> "ClassSizes":
        """Of the classes that are released."""
        return cls(classes_of(release).counts, release.policy.largest_k)

    @classmethod
    def from_risk(cls, found: "Assessment") -> "ClassSizes":
        """Of a table or a folder as `sh.risk` found it."""
        return cls(sizes_of(found))

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """A bar counts the sizes from one of these up to, but not with, the next."""
        if not len(self.sizes):
            return np.array([1, 2])
        low, high = int(self.sizes.min()), int(self.sizes.max())
        if high - low < _MOST_BARS:
            return np.arange(low, high + 2)
        return np.unique(np.rint(np.geomspace(low, high + 1, _MOST_BARS + 1)).astype(np.int64))

    @cached_property
    def counts(self) -> Longs:
        """Classes of each bar."""
        return np.histogram(self.sizes, self.edges)[0].astype(np.int64)

    def draw(self, axes: "Axes") -> None:
        wide = len(self.edges) < int(self.edges[-1] - self.edges[0]) + 1
        left = self.edges[:-1] - (0.0 if wide else 0.5)
        axes.bar(left, self.counts, np.diff(self.edges), align="edge", color=COLOURS[0], edgecolor="white", lw=0.6)
        if wide:
            logarithmic(axes, "x")
        if self.k is not None:
            axes.axvline(self.k - (0.0 if wide else 0.5), color=COLOURS[1], linestyle="--", label=f"k = {self.k:,}")
            explained(axes)
        titled(
            axes,
            f"Sizes of {len(self.sizes):,} classes of {int(self.sizes.sum()):,} rows",
            "rows in a class",
            "classes",
        )
        if not wide:
            counted(axes.xaxis)
        counted(axes.yaxis)
        ruled(axes)
