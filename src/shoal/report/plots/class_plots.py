"""How large the classes of a release are, how likely its rows are to be found, and columns before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.class_counts import Longs, ValueCounts
from shoal.data.codes import Column, Table, encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.errors import BadInput
from shoal.models.spec import suggest_column
from shoal.publish.release_views import generalised_from_columns, original_of
from shoal.report.plots.display import (
    COLOURS,
    Display,
    add_legend,
    draw_grid,
    set_titles,
    use_log_scale,
    use_whole_numbers,
)
from shoal.workload.generalised_table import QueriedOriginal, ShownAttribute

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.pipeline import Release
    from shoal.recoding.columns import ReleasedColumn
    from shoal.risk import Assessment

from datetime import date
from math import ceil, inf, nextafter
from typing import TYPE_CHECKING

from shoal.report.plots.display import shorten
from shoal.workload.queries import Among, Numbers, Predicate, Texts, Value, Within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.pipeline import Release


def known_column(name: str, columns: Mapping[str, object], what: str) -> str:
    """Return a name if it is a column; else refuse it with a hint of what it may have been."""
    if name not in columns:
        raise BadInput(f"{what} has no column {name!r}{suggest_column(name, columns)}")
    return name


def faces_of(release: "Release", *names: str) -> tuple[QueriedOriginal, Mapping[str, ShownAttribute]]:
    """Return the original, and what the release shows of some of its columns, row by row."""
    others = [name for name in release.columns if name not in release.made]
    released = dict.fromkeys([*release.plan.released_as, *others])
    for name in names:
        known_column(name, released, "the release")
    original = original_of(release.source.table, release.source.name, release.policy, release.plan.builders)
    return original, generalised_from_columns(release.row_by_row, release.plan, names, original).attributes


def classes_of(release: "Release", beside: Sequence[str] = ()) -> FrequencySet:
    """Group rows by all released quasi-identifiers, and count the values of other columns in each class."""
    columns = release.row_by_row
    coded = {name: (column.codes, max(len(column.texts), 1)) for name, column in columns.items()}
    for name in beside:
        known_column(name, columns, "the release")
    others: dict[str | tuple[str, ...], Any] = {name: coded[name] for name in beside}
    return FrequencySet.count({name: coded[name] for name in columns if name in release.made}, others)


def values_of(classes: FrequencySet, name: str, column: "ReleasedColumn") -> ValueCounts:
    """Count each value of a released column in each class."""
    return CountInterpretation({name: column.texts.to_pylist()}).value_counts(name, classes.long[name], len(classes))


def classes_of_table(table: Any, quasi_identifiers: Sequence[str], sensitive: str) -> ValueCounts:
    """Count each sensitive value in each class of a frame as it is."""
    read = pa.table(table)
    known = dict.fromkeys(read.column_names)
    columns = {
        name: encode(name, read[known_column(name, known, "the table")]) for name in (*quasi_identifiers, sensitive)
    }
    coded = {name: (column.codes, max(column.size, 1)) for name, column in columns.items()}
    secret = coded.pop(sensitive)
    classes = FrequencySet.count(coded, {sensitive: secret})
    return CountInterpretation({sensitive: _texts(columns[sensitive])}).value_counts(
        sensitive, classes.long[sensitive], len(classes)
    )


def _texts(column: Column) -> list[str | None]:
    return [*column.texts.to_pylist(), None][: column.size]


_MOST_BARS = 40
"""Most bars with one size each; for more sizes, each bar is wider than the last."""


@dataclass(frozen=True)
class ClassSizes(Display):
    """A histogram of class sizes, and k where classes were asked to have that many.

    >>> shown = ClassSizes(np.array([5, 5, 6, 9]), k=5)
    >>> shown.counts.tolist(), [int(bar.get_height()) for bar in shown.plot().patches]
    ([2, 1, 0, 0, 1], [2, 1, 0, 0, 1])
    """

    shows_values: ClassVar[bool] = False
    sizes: Longs
    k: int | None = None

    @classmethod
    def from_release(cls, release: "Release") -> "ClassSizes":
        """Show the classes that are released."""
        return cls(classes_of(release).counts, release.policy.largest_k)

    @classmethod
    def from_risk(cls, found: "Assessment") -> "ClassSizes":
        """Show a table or a folder as `sh.risk` found it."""
        return cls(sizes_of(found))

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """Edges of the bars: a bar counts the sizes from one edge up to, but not including, the next."""
        if not len(self.sizes):
            return np.array([1, 2])
        low, high = int(self.sizes.min()), int(self.sizes.max())
        if high - low < _MOST_BARS:
            return np.arange(low, high + 2)
        return np.unique(np.rint(np.geomspace(low, high + 1, _MOST_BARS + 1)).astype(np.int64))

    @cached_property
    def counts(self) -> Longs:
        """Number of classes in each bar."""
        return np.histogram(self.sizes, self.edges)[0].astype(np.int64)

    def draw(self, axes: "Axes") -> None:
        wide = len(self.edges) < int(self.edges[-1] - self.edges[0]) + 1
        left = self.edges[:-1] - (0.0 if wide else 0.5)
        axes.bar(left, self.counts, np.diff(self.edges), align="edge", color=COLOURS[0], edgecolor="white", lw=0.6)
        if wide:
            use_log_scale(axes, "x")
        if self.k is not None:
            axes.axvline(self.k - (0.0 if wide else 0.5), color=COLOURS[1], linestyle="--", label=f"k = {self.k:,}")
            add_legend(axes)
        set_titles(
            axes,
            f"Sizes of {len(self.sizes):,} classes of {int(self.sizes.sum()):,} rows",
            "rows in a class",
            "classes",
        )
        if not wide:
            use_whole_numbers(axes.xaxis)
        use_whole_numbers(axes.yaxis)
        draw_grid(axes)


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

    shows_values: ClassVar[bool] = False
    sizes: Mapping[str, Longs]
    """Class sizes of each table."""
    threshold: float | None = None

    @classmethod
    def from_release(cls, release: "Release") -> "RiskDistribution":
        """Compare the original and the release; rows that are left out have no risk in the release."""
        before = _classes(release.source.table, release.plan.quasi_identifiers)
        return cls({"the original": before, "the release": classes_of(release).counts}, 1 / release.policy.largest_k)

    @classmethod
    def from_risk(cls, found: "Assessment") -> "RiskDistribution":
        """Show a table or a folder as `sh.risk` found it."""
        sizes = sizes_of(found)
        assert found.reidentification is not None
        return cls({found.name: sizes}, float(found.reidentification.threshold))

    def curve(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the risks that occur in one table, ascending, and the share of its rows with that risk or more."""
        # [size]: distinct class sizes, ascending, and the classes of each; a row in a class of n has risk 1/n
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
        use_log_scale(axes, "x", lambda risk, _: f"{100 * risk:g}%")
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
        set_titles(
            axes,
            "Risk of being found",
            "risk of a row: 1 / rows of its class",
            "share of the rows with this risk or more",
        )
        draw_grid(axes, "both")
        add_legend(axes)


def sizes_of(found: "Assessment") -> Longs:
    """Return the sizes of the classes that were assessed."""
    if found.reidentification is None:
        raise BadInput("nothing was asked about classes: name the quasi_identifiers")
    return found.reidentification.sizes


def _classes(table: Table, names: list[str]) -> Longs:
    return FrequencySet.count({name: (table[name].codes, max(table[name].size, 1)) for name in names}).counts


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
