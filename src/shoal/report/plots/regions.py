"""What rows show of two attributes, as regions of the plane (LeFevre, DeWitt and Ramakrishnan, figure 1; S4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchy.taxonomy import Taxonomy
from shoal.report.plots.class_plots import faces_of
from shoal.report.plots.display import COLOURS, Display, add_legend, set_titles, shorten
from shoal.workload.generalised_table import QueriedOriginal, ShownAttribute
from shoal.workload.queries import Domain, Numbers, Texts
from shoal.workload.selectivity import Faces, NumberFaces, Sets, TextFaces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.pipeline import Release

Floats = NDArray[np.float64]
Run = tuple[float, float]
"""Where a piece of a scale begins and ends."""
_MOST_TICKS = 30
_RASTER = 4_000
"""Most points and boxes that are drawn one by one; more are drawn as a raster."""


@dataclass(frozen=True)
class Boxes(Display):
    """Every combination of what is shown of two attributes as a box, and the rows of the original as points.

    Boxes of a release over these two attributes are its regions; of more attributes, their shadows, which overlap.

    >>> import pyarrow as pa
    >>> import shoal as sh
    >>> people = pa.table({"age": [31, 32, 45, 46], "zip": [10, 20, 10, 20]})
    >>> roles = {"age": "quasi-identifier", "zip": "quasi-identifier"}
    >>> policy = {"attributes": roles, "require": [{"model": "k-anonymity", "k": 2}]}
    >>> release = sh.anonymize(people, policy | {"method": {"algorithm": "mondrian"}})
    >>> shown = Boxes.from_release(release, "age", "zip")
    >>> shown.boxes.tolist(), shown.rows.tolist()
    ([[30.5, 46.5, 9.5, 10.5], [30.5, 46.5, 19.5, 20.5]], [2, 2])
    >>> len(shown.plot().collections[0].get_paths())
    2
    """

    x: str
    y: str
    boxes: Floats
    """[box, 4]: left, right, bottom, top."""
    rows: NDArray[np.int64]
    """Released rows that show each box."""
    points: Floats
    """[point, 2]: the distinct x and y of the original."""
    weights: NDArray[np.int64]
    """Rows of the original at each point."""
    suppressed: NDArray[np.bool_]
    """Whether the rows of each point were left out."""
    title: str = ""
    ticks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Texts at 0, 1, … on the scale of a text attribute."""
    days: frozenset[str] = frozenset()
    """Attributes of dates, whose numbers are days."""
    tiled: bool = True
    """Whether the boxes lie side by side: not where the release shows further attributes."""

    @classmethod
    def from_release(cls, release: "Release", x: str, y: str) -> "Boxes":
        """Show two quasi-identifiers of a release."""
        original, shown = faces_of(release, x, y)
        scales = {name: _Scale.of(name, release, original, shown[name]) for name in (x, y)}
        boxes, rows = _boxes(scales[x], scales[y])
        points, weights, suppressed = _points(scales[x], scales[y], release.rows)
        return cls(
            x,
            y,
            boxes,
            rows,
            points,
            weights,
            suppressed,
            f"{release.policy.method.algorithm}, k = {release.policy.largest_k:,}",
            {name: scale.ticks for name, scale in scales.items() if scale.ticks},
            frozenset(name for name, scale in scales.items() if scale.domain.kind == "date"),
            tiled=set(release.plan.quasi_identifiers) <= {x, y},
        )

    def draw(self, axes: "Axes") -> None:
        from matplotlib.collections import PolyCollection

        left, right, bottom, top = self.boxes.T
        corners = np.stack([left, bottom, left, top, right, top, right, bottom], axis=1).reshape(-1, 4, 2)
        crowded = max(len(self.boxes), len(self.points)) > _RASTER
        axes.add_collection(
            PolyCollection(
                list(corners),
                facecolors="#56B4E91F" if self.tiled else "none",
                edgecolors=COLOURS[0],
                linewidths=0.5 if len(corners) > 200 else 1.2,
                rasterized=crowded,
                zorder=1,
            )
        )
        looks: dict[bool, dict[str, Any]] = {
            False: {"color": COLOURS[1], "marker": "o", "zorder": 3},
            True: {"color": "#000000", "marker": "x", "zorder": 4},
        }
        for out, look in looks.items():
            at = self.suppressed == out
            if at.any():
                x, y = self.points[at].T
                name = f"{int(self.weights[at].sum()):,} rows {'left out' if out else 'released'}"
                axes.scatter(x, y, self._dot_sizes(at), linewidths=0.8, rasterized=crowded, label=name, **look)
        axes.margins(0.04)
        axes.autoscale_view()
        self._set_ticks(self.x, axes.xaxis, self.boxes[:, :2])
        self._set_ticks(self.y, axes.yaxis, self.boxes[:, 2:])
        set_titles(axes, f"{self.title}: {len(self.boxes):,} boxes", self.x, self.y)
        if self.suppressed.any():
            add_legend(axes, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0, fontsize=8)

    def _dot_sizes(self, at: NDArray[np.bool_]) -> Floats:
        """Return the sizes of the dots: larger for more rows, smaller where there are many points."""
        least = 22 if len(self.points) <= 200 else 6 if len(self.points) <= 2_000 else 1.5
        share = self.weights[at] / self.weights.max()
        return least * (1 + 7 * share if self.weights.max() > 1 else np.ones(len(share)))

    def _set_ticks(self, name: str, axis: Any, ends: Floats) -> None:
        from matplotlib.ticker import MaxNLocator, StrMethodFormatter

        if name in self.ticks:
            labels = self.ticks[name]
            step = -(-len(labels) // _MOST_TICKS)
            turn = {"rotation": 90} if axis.axis_name == "x" else {}
            axis.set_ticks(range(0, len(labels), step), [shorten(each, 24) for each in labels[::step]], **turn)
        elif name in self.days:
            axis.set_major_formatter(lambda day, _: date.fromordinal(max(int(day), 1)).isoformat())
        elif (ends * 2 == np.floor(ends * 2)).all():
            axis.set_major_locator(MaxNLocator(integer=True))
            axis.set_major_formatter(StrMethodFormatter("{x:.0f}"))


@dataclass(frozen=True)
class _Scale:
    """One attribute as a scale: what each face covers of it, and where each row of the original lies."""

    domain: Domain
    shown: ShownAttribute
    runs: Sequence[Sequence[Run]]
    """Runs that each face covers."""
    places: Floats
    """Place of each row of the original; nan where it has no value."""
    ticks: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, release: "Release", original: QueriedOriginal, shown: ShownAttribute) -> "_Scale":
        domain, codes = original.domain(name), original.table[name].codes
        if isinstance(domain, Numbers):
            values = np.append(domain.values, np.nan)
            return cls(domain, shown, _runs_of_numbers(shown.faces, shown.size), values[codes])
        order = _order_texts(domain, original.taxonomies.get(name), release.policy.attributes[name].order or ())
        place = {text: at for at, text in enumerate(order)}
        at = np.array([place[text] for text in domain.values], dtype=np.float64)
        places = np.append(at[: len(domain.column.values)], np.nan)[codes]
        return cls(domain, shown, _runs_of_texts(shown.faces, shown.size, at), places, tuple(order))


def _runs_of_numbers(faces: Faces, size: int) -> list[list[Run]]:
    """Return the range of each face, half a unit wider on both sides for whole numbers, so that neighbours touch."""
    assert isinstance(faces, NumberFaces)
    half = 0.5 if faces.domain.whole else 0.0
    filled = np.broadcast_to(faces.filled, size)
    runs = [
        [(low - half, high + half)] if full > 0 else []
        for low, high, full in zip(faces.low.tolist(), faces.high.tolist(), filled.tolist(), strict=True)
    ]
    for face, members in _members(faces.sets):
        runs[face] = [(number - half, number + half) for number in sorted(members)]
    return runs


def _runs_of_texts(faces: Faces, size: int, place: Floats) -> list[list[Run]]:
    """Return the runs of each face; texts that are neighbours become one run."""
    assert isinstance(faces, TextFaces)
    runs: list[list[Run]] = [[] for _ in range(size)]
    for face, members in _members(faces.sets):
        # sorted positions of the members, split where a position is missing in between
        at = np.sort(place[np.array(members, dtype=np.int64)])
        pieces = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
        runs[face] = [(float(piece[0]) - 0.5, float(piece[-1]) + 0.5) for piece in pieces]
    return runs


def _members(sets: Sets) -> list[tuple[int, list[float]]]:
    pieces = np.split(sets.members, sets.begin[1:]) if len(sets.faces) else []
    return [(face, piece.tolist()) for face, piece in zip(sets.faces.tolist(), pieces, strict=True)]


def _order_texts(domain: Texts, taxonomy: Taxonomy | None, given: Sequence[str]) -> list[str]:
    """Order texts so that those under one label are neighbours on every level; else as given, or sorted."""
    if taxonomy is None:
        return [*given, *sorted(set(domain.values) - set(given))]
    ranks = [{label: at for at, label in enumerate(dict.fromkeys(level))} for level in reversed(taxonomy.levels)]
    lines = zip(*reversed(taxonomy.levels), strict=True)
    keys = [tuple(rank[label] for rank, label in zip(ranks, line, strict=True)) for line in lines]
    leaves = [leaf for _, leaf in sorted(zip(keys, taxonomy.leaves, strict=True))]
    return [*leaves, *sorted(set(domain.values) - set(leaves))]


def _boxes(x: _Scale, y: _Scale) -> tuple[Floats, NDArray[np.int64]]:
    """Return the boxes of every combination of faces that rows show, and how many rows show each."""
    # [pair, 2]: distinct pairs of faces that rows show, and the rows of each
    pairs, counts = np.unique(np.stack([x.shown.codes, y.shown.codes], axis=1), axis=0, return_counts=True)
    found = [
        ((*across, *up), rows)
        for (i, j), rows in zip(pairs.tolist(), counts.tolist(), strict=True)
        for across in x.runs[i]
        for up in y.runs[j]
    ]
    boxes = np.array([box for box, _ in found], dtype=np.float64).reshape(-1, 4)
    return boxes, np.array([rows for _, rows in found], dtype=np.int64)


def _points(x: _Scale, y: _Scale, released: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the distinct places of rows, how many rows lie there, and whether they were left out."""
    kept = np.zeros(len(x.places), dtype=bool)
    kept[released[released >= 0]] = True
    # [row, 3]: x, y, and whether the row was left out
    lines = np.stack([x.places, y.places, ~kept], axis=1)
    lines, weights = np.unique(lines[~np.isnan(lines).any(axis=1)], axis=0, return_counts=True)
    return lines[:, :2], weights.astype(np.int64), lines[:, 2] == 1
