"""What a larger k costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.errors import BadInput
from shoal.models.spec import nearest
from shoal.report.plots.charts import Chart, Series
from shoal.report.plots.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.api import Release


@dataclass(frozen=True)
class LossAgainstK(Display):
    """A figure of several releases of one table against the k that they keep, a line for each algorithm.

    >>> import pyarrow as pa
    >>> import shoal as sh
    >>> people = pa.table({"age": [31, 34, 38, 39, 52, 53, 57, 58]})
    >>> ages = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}}
    >>> def kept(k): return {"attributes": ages, "require": [{"model": "k-anonymity", "k": k}]}
    >>> shown = LossAgainstK.from_releases(sh.anonymize(people, kept(k)) for k in (2, 4))
    >>> [(k, round(loss, 3)) for k, loss in shown.lines["optimal"]]
    [(2, 0.143), (4, 0.429)]
    >>> shown.plot().get_xlabel()
    'k'
    """

    metric: str
    lines: dict[str, list[tuple[int, float]]]
    """Per algorithm, k and the figure, by k."""

    @classmethod
    def from_releases(cls, releases: Iterable["Release"], metric: str = "loss") -> "LossAgainstK":
        """Of releases of one table; any figure that `shoal metrics` lists."""
        lines: dict[str, list[tuple[int, float]]] = {}
        for release in releases:
            told = release.summary
            if metric not in told.metrics:
                raise BadInput(f"a release by {told.method.algorithm} has no {metric!r}{nearest(metric, told.metrics)}")
            lines.setdefault(told.method.algorithm, []).append((release.policy.largest_k, told.metrics[metric]))
        return cls(metric, {name: sorted(line) for name, line in lines.items()})

    def draw(self, axes: "Axes") -> None:
        series = tuple(
            Series(name, [k for k, _ in line], [value for _, value in line]) for name, line in self.lines.items()
        )
        Chart(f"{self.metric} against k", "k", self.metric, series).draw(axes)
        ks = sorted({k for line in self.lines.values() for k, _ in line})
        if len(ks) > 1 and ks[-1] > 10 * ks[0]:
            axes.set_xscale("log")
        axes.set_xticks(ks, [f"{k:,}" for k in ks])
        axes.minorticks_off()
