"""A column of the original beside what the release tells of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, inf, nextafter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.report.plots.class_plots import faces_of
from shoal.report.plots.display import COLOURS, Display, add_legend, draw_grid, set_titles, shorten, use_whole_numbers
from shoal.workload.generalised_table import QueriedOriginal, ShownAttribute
from shoal.workload.queries import Among, Numbers, Predicate, Texts, Value, Within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.pipeline import Release

Floats = NDArray[np.float64]
_MOST_BARS = 30
"""Most texts that are drawn: the most frequent; the others together are one more bar."""
_MOST_STEPS = 120
"""Most whole numbers with a step of their own; beyond that, and in a continuum, steps hold several."""


@dataclass(frozen=True)
class BeforeAfter(Display):
    """Rows with each value before and after; of a released range, each value has the same share (S4.8).

    >>> import pyarrow as pa
    >>> import shoal as sh
    >>> people = pa.table({"age": [31, 31, 34, 39], "ill": ["y", "y", "n", "y"]})
    >>> roles = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "ill": "sensitive"}
    >>> policy = {"attributes": roles, "require": [{"model": "k-anonymity", "k": 2}]}
    >>> shown = BeforeAfter.from_release(sh.anonymize(people, policy), "ill")
    >>> shown.labels, shown.before.tolist(), shown.after.tolist()
    (('n', 'y'), [1.0, 3.0], [1.0, 3.0])
    >>> ages = BeforeAfter.from_release(sh.anonymize(people, policy), "age")
    >>> ages.before.tolist(), [round(rows, 1) for rows in ages.after.tolist()]
    ([2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4])
    """

    name: str
    before: Floats
    """Rows of each value or step."""
    after: Floats
    rows: tuple[int, int]
    """Number of rows before and after, including those without a value."""
    labels: tuple[str, ...] = ()
    """The values, where they are texts."""
    edges: tuple[float, ...] = ()
    """Where the steps begin and the last one ends, for numbers and days."""
    days: bool = False

    @classmethod
    def from_release(cls, release: "Release", name: str) -> "BeforeAfter":
        """Compare a column that is released."""
        original, shown = faces_of(release, name)
        return _compare(name, original, shown[name])

    @property
    def figsize(self) -> tuple[float, float]:
        return (7.2, max(2.4, 1.3 + 0.36 * len(self.labels))) if self.labels else (7.2, 4.2)

    def draw(self, axes: "Axes") -> None:
        before, after = (f"{when}, {rows:,} rows" for when, rows in zip(("before", "after"), self.rows, strict=True))
        title = f"{shorten(self.name)} before and after"
        if self.labels:
            places = np.arange(len(self.labels))
            axes.barh(places - 0.2, self.before, 0.38, color=COLOURS[5], label=before)
            axes.barh(places + 0.2, self.after, 0.38, color=COLOURS[1], label=after)
            axes.set_yticks(places, [shorten(label, 30) for label in self.labels])
            axes.set_ylim(len(self.labels) - 0.4, -0.6)
            set_titles(axes, title, "rows")
            use_whole_numbers(axes.xaxis)
            draw_grid(axes, "x")
        else:
            axes.stairs(self.before, self.edges, fill=True, color=COLOURS[5], alpha=0.7, label=before)
            axes.stairs(self.after, self.edges, color=COLOURS[1], lw=2, label=after)
            set_titles(axes, title, self.name, "rows" if self._step == 1 else f"rows in steps of {self._step:,.4g}")
            use_whole_numbers(axes.yaxis)
            draw_grid(axes)
            if self.days:
                axes.xaxis.set_major_formatter(lambda day, _: date.fromordinal(max(int(day), 1)).isoformat())
        add_legend(axes)

    @property
    def _step(self) -> float:
        return self.edges[1] - self.edges[0]


def _compare(name: str, original: QueriedOriginal, after: ShownAttribute) -> BeforeAfter:
    before, domain = original.show_columns([name]).attributes[name], original.domain(name)
    rows = len(before.codes), len(after.codes)
    if isinstance(domain, Texts):
        frequent = np.argsort(
            -np.bincount(before.codes, minlength=len(domain.values))[: len(domain.values)], kind="stable"
        )
        chosen = [domain.values[at] for at in np.sort(frequent[:_MOST_BARS]).tolist()]
        asked: list[Predicate] = [Among((text,)) for text in chosen]
        others = tuple(domain.values[at] for at in frequent[_MOST_BARS:].tolist())
        asked += [Among(others)] if others else []
        labels = (*chosen, *([f"{len(others):,} others"] if others else []))
        return BeforeAfter(name, _count_expected_rows(before, asked), _count_expected_rows(after, asked), rows, labels)
    edges, asked = _steps(domain)
    return BeforeAfter(
        name,
        _count_expected_rows(before, asked),
        _count_expected_rows(after, asked),
        rows,
        edges=edges,
        days=domain.kind == "date",
    )


def _count_expected_rows(attribute: ShownAttribute, asked: Sequence[Predicate]) -> Floats:
    """Return the expected number of rows that satisfy each predicate, given what is shown of them."""
    # [face]: rows that show each face; `share` is the part of the face that satisfies the predicate
    rows = np.bincount(attribute.codes, minlength=attribute.size)
    return np.array([rows @ attribute.faces.apply_predicate(predicate).share for predicate in asked], dtype=np.float64)


def _steps(domain: Numbers) -> tuple[tuple[float, ...], list[Predicate]]:
    """Return steps of equal width, each as a predicate; whole numbers lie in the middle of theirs."""

    def value(number: float) -> Value:
        return date.fromordinal(int(number)).isoformat() if domain.kind == "date" else number

    if domain.whole:
        span = int(domain.high - domain.low) + 1
        width = 1 if span <= _MOST_STEPS else ceil(span / (_MOST_STEPS / 2))
        starts = [domain.low + i * width for i in range(ceil(span / width))]
        asked: list[Predicate] = [Within(value(start), value(start + width - 1)) for start in starts]
        return (*(start - 0.5 for start in starts), starts[-1] + width - 0.5), asked
    edges = np.linspace(domain.low, domain.high, _MOST_STEPS // 3 + 1).tolist()
    last = len(edges) - 2
    asked = [Within(edges[i], edges[i + 1] if i == last else nextafter(edges[i + 1], -inf)) for i in range(last + 1)]
    return tuple(edges), asked
