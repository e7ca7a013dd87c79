"""How likely rows are to be found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Table
from shoal.counts import Longs
from shoal.errors import BadInput
from shoal.frequency import FrequencySet
from shoal.report.plots.display import COLOURS, Display, explained, logarithmic, ruled, titled
from shoal.report.plots.grouped import classes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.api import Release
    from shoal.risk import Assessment

_LINES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class RiskDistribution(Display):
    """Which share of the rows has at least which risk: one over the size of its class, as a prosecutor sees it.

    >>> shown = RiskDistribution({"the table": np.array([1, 2, 5])}, threshold=0.2)
    >>> risks, shares = shown.curve("the table")
    >>> risks.tolist(), shares.tolist()
    ([0.2, 0.5, 1.0], [1.0, 0.375, 0.125])
    >>> shown.plot().get_ylabel()
    'share of the rows with this risk or more'
    """

    sizes: Mapping[str, Longs]
    """Of the classes of each table."""
    threshold: float | None = None

    @classmethod
    def from_release(cls, release: "Release") -> "RiskDistribution":
        """Of the original and of the release; rows that are left out of it have no risk there."""
        before = _classes(release.source.table, release.plan.quasi_identifiers)
        return cls({"the original": before, "the release": classes_of(release).counts}, 1 / release.policy.largest_k)

    @classmethod
    def from_risk(cls, found: "Assessment") -> "RiskDistribution":
        """Of a table or a folder as `sh.risk` found it."""
        sizes = sizes_of(found)
        assert found.reidentification is not None
        return cls({found.name: sizes}, float(found.reidentification.threshold))

    def curve(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The risks that occur in one table, ascending, and the share of its rows that have each or a greater one."""
        sizes, classes = np.unique(self.sizes[name], return_counts=True)
        rows = sizes * classes
        return 1 / sizes[::-1], (np.cumsum(rows) / max(rows.sum(), 1))[::-1]

    def draw(self, axes: "Axes") -> None:
        from matplotlib.ticker import PercentFormatter

        for i, (name, sizes) in enumerate(self.sizes.items()):
            risks, shares = self.curve(name)
            colour, line = COLOURS[i % len(COLOURS)], _LINES[i % len(_LINES)]
            x, y = np.append(risks, 1.0), np.append(shares, shares[risks == 1] if (risks == 1).any() else 0.0)
            label = f"{name}, {int(sizes.sum()):,} rows"
            axes.step(x, y, where="pre", color=colour, linestyle=line, lw=2, label=label)
            axes.plot(risks[-1:], shares[-1:], "o", color=colour)
        if self.threshold is not None:
            axes.axvline(self.threshold, color="#8C8C8C", linestyle="--", lw=1, label=f"risk {self.threshold:.3g}")
        logarithmic(axes, "x", lambda risk, _: f"{100 * risk:g}%")
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
        titled(
            axes,
            "Risk of being found",
            "risk of a row: 1 / rows of its class",
            "share of the rows with this risk or more",
        )
        ruled(axes, "both")
        explained(axes)


def sizes_of(found: "Assessment") -> Longs:
    """The sizes of the classes that were assessed."""
    if found.reidentification is None:
        raise BadInput("nothing was asked about classes: name the quasi_identifiers")
    return found.reidentification.sizes


def _classes(table: Table, names: list[str]) -> Longs:
    return FrequencySet.count({name: (table[name].codes, max(table[name].size, 1)) for name in names}).counts
