"""What was asked of each column, what was done to it, and how its values looked before and after."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Column
from shoal.engine_port import Source
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import BUILDERS
from shoal.metrics.comparison import Comparison, Facet
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.policy.sections import RowLimit
from shoal.publish.manifest import Manifest, join_names
from shoal.recoding.kinds import SENTENCES
from shoal.report.pages.blocks import (
    Bars,
    Bullets,
    Curve,
    Grid,
    Meter,
    PageTable,
    Paragraph,
    Section,
    ValueShare,
    and_more,
    format_count,
    number,
    percent,
    promise,
)
from shoal.report.pages.public_view import LabelTally, PublicView
from shoal.report.pages.shared_sections import MOST_CARDS, MOST_LABELS, format_label, tree_picture
from shoal.report.plots.tree_plot import HierarchyTree
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Block, Cell

_MOST = 60
"""Most columns that one table lists."""
_ROLES = {
    Role.QUASI_IDENTIFIER: "Identifying together (quasi-identifiers), made coarser",
    Role.SENSITIVE: "Sensitive, published as they are or rounded, and protected only by promises that name them",
    Role.INSENSITIVE: "Insensitive, published as they are",
    Role.IDENTIFIER: "Identifying alone, dropped",
    Role.UNIT: "Telling persons apart, dropped",
    Role.SAMPLING_WEIGHT: "Sampling weights",
}


def asked_section(manifest: Manifest, policy: Policy, plan: Plan) -> Section:
    """Build the section on roles, promises and what the search was allowed."""
    said = [
        f"{words}: {join_names(names, 12).removesuffix('.')}."
        for role, words in _ROLES.items()
        if (names := [name for name, of in plan.roles.items() if of is role])
    ]
    promises = [promise(model.model, model.attribute, model.asked) for model in manifest.models]
    said.append(f"{format_count(len(promises), 'promise')}: {'; '.join(promises)}.")
    method = policy.method
    if method.of_cells:
        said.append(f"The algorithm {method.algorithm}, which decides class by class.")
    else:
        said.append(
            f"The algorithm {method.algorithm}, for the least {method.metric}; rows that may be left out: "
            f"{_format_limit(method.suppression)}."
        )
    return Section("asked", "What was asked", [Bullets(said)])


def _format_limit(suppression: float | str | RowLimit) -> str:
    """Return how many rows may be left out, in words."""
    if isinstance(suppression, RowLimit):
        return format_count(suppression.rows, "row")
    return suppression if isinstance(suppression, str) else percent(float(suppression))


def recoding_section(manifest: Manifest, plan: Plan, policy: Policy, source: Source, visible: PublicView) -> Section:
    """Build the section on identifying columns: hierarchy, level, values and labels, and the detail left."""
    recoding = plan.recoding
    blocks: list[Block] = [Paragraph(SENTENCES[recoding.kind])]
    if recoding.levels is None and not recoding.keeps_values:
        blocks.append(Paragraph("Rows with equal values may show different labels.", "soft"))
    left = manifest.measures.get("granularity", {}).get("attributes", {})
    rows: list[list[Cell]] = []
    for name in plan.quasi_identifiers[:_MOST]:
        shown = sum(
            len(visible.tallies[column].labels) for column in recoding.columns_of(name) if column in visible.tallies
        )
        values = source.table[name].size
        rows.append(
            [
                name,
                _hierarchy(plan, policy, name),
                _level(plan, name),
                f"{values:,} → {shown:,}",
                Meter(left[name], percent(left[name])) if name in left else "–",
            ]
        )
    head = ("Column", "Hierarchy", "Shown at", "Values → labels", "Detail left")
    blocks.append(PageTable(head, rows, and_more(len(plan.quasi_identifiers) - len(rows), "columns")))
    return Section("done", "What was done", blocks)


_MOST_LINES = 24
"""Most lines of the picture of a hierarchy."""


def hierarchies_sections(plan: Plan, visible: PublicView) -> list[Section]:
    """Build the section with a picture of each hierarchy along which a column was generalised."""
    names = [name for name in plan.quasi_identifiers if name in plan.hierarchies]
    if plan.recoding.keeps_values or not names:
        return []
    cards = [
        tree_picture(HierarchyTree.from_hierarchy(plan.hierarchies[name], _labels_shown(visible, name), _MOST_LINES))
        for name in names[:MOST_CARDS]
    ]
    lead = Paragraph(
        "The values of the table are on the left, what stands for all of them is on the right. Labels with a strong "
        "frame are in the release; what does not fit is counted."
    )
    return [
        Section("hierarchies", "The hierarchies", [lead, Grid(cards, and_more(len(names) - len(cards), "columns"))])
    ]


def _labels_shown(visible: PublicView, name: str) -> tuple[str | None, ...]:
    return visible.tallies[name].labels if name in visible.tallies else ()


def _level(plan: Plan, name: str) -> str:
    if plan.recoding.levels is None:
        return "as it is" if plan.recoding.keeps_values else "class by class"
    level, height = plan.recoding.levels[name], plan.hierarchies[name].height
    said = "as it is" if level == 0 else f"nothing but {plan.hierarchies[name].top}" if level >= height else ""
    return f"level {level} of {height}{f': {said}' if said else ''}"


def _hierarchy(plan: Plan, policy: Policy, name: str) -> str:
    """Say in few words how a column's hierarchy was made."""
    if name not in plan.builders:
        return "by order"
    if policy.attributes[name].hierarchy is None:
        return "drafted from the data"
    try:
        spec = plan.builders[name].spec()
    except BadHierarchy:
        return "made by functions"
    kind, value = next(iter(spec.items()))
    said = BUILDERS[kind].sentence if kind in BUILDERS else "of its own kind"
    return said.format(join_names([str(each) for each in value], 4) if isinstance(value, list | tuple) else value)


Floats = NDArray[np.float64]
_BINS = 24
_WIDE, _HIGH = 240, 64
"""Width and height of the picture of a distribution, in its own units."""
_MOST_CELLS = 1 << 22
"""Labels times values of a column, up to which its distribution is shown."""


@dataclass(frozen=True)
class Spread:
    """Rows per value of one column, before and after."""

    column: Column
    before: Floats
    after: Floats
    numbers: Floats | None = None

    @property
    def moved(self) -> float:
        """Share of the rows that would have to change their value: half the sum of the differences."""
        return float(np.abs(_shares(self.before) - _shares(self.after)).sum() / 2)


def comparison_sections(plan: Plan, source: Source, visible: PublicView, seen: Comparison | None) -> list[Section]:
    """Build the section with one small picture for each identifying and each sensitive column."""
    if seen is None:
        return []
    facets = sorted(seen.facets, key=lambda facet: plan.quasi_identifiers.index(facet.name))
    spreads = [_spread_of_facet(seen, facet, source) for facet in facets[:MOST_CARDS]]
    sensitive = [name for name, role in plan.roles.items() if role is Role.SENSITIVE and name in visible.tallies]
    spreads += [_spread_of_values(source.table[name], visible.tallies[name]) for name in sensitive[:MOST_LABELS]]
    cards = [_card(spread) for spread in spreads if spread is not None]
    blocks: list[Block] = [
        Paragraph(
            "The distribution of each column before, and what somebody who counts the release takes it to be: a row "
            "that shows a range or a group is spread evenly over the values that rows with this label had."
        ),
        Grid(cards, and_more(len(facets) + len(sensitive) - len(cards), "columns"), key=True),
    ]
    return [Section("compared", "Before and after", blocks)]


def _spread_of_facet(seen: Comparison, facet: Facet, source: Source) -> Spread | None:
    """Return the distribution of an identifying column; None if it has too many values and labels."""
    column, codes = source.table[facet.name], seen.points.codes(facet.name)
    # [line]: the label that each line of the release shows
    label = facet.alike[facet.of]
    labels = int(label.max(initial=0)) + 1
    if labels * column.size > _MOST_CELLS:
        return None
    kept = ~seen.out[seen.line]
    # rows[label, value]: kept rows by the label they show and the value they had
    pairs = label[seen.line[kept]].astype(np.int64) * column.size + codes[seen.point[kept]]
    rows = np.bincount(pairs, weights=seen.counts[kept], minlength=labels * column.size).reshape(labels, column.size)
    # [label, value]: whether a kept row with the label had the value
    held = rows > 0
    # each label's rows, spread evenly over the values that rows with this label had
    each = rows.sum(axis=1) / np.maximum(held.sum(axis=1), 1)
    numbers = None if facet.numbers is None else facet.numbers[0]
    return Spread(column, facet.rows.astype(np.float64), each @ held, numbers)


def _spread_of_values(column: Column, tally: LabelTally) -> Spread | None:
    """Return the distribution of a column shown as it was, changed only by rows left out or added."""
    if tally.rows is None:
        return None
    place = {text: code for code, text in enumerate(column.texts.to_pylist())}
    after = np.zeros(column.size)
    for label, rows in zip(tally.labels, tally.rows.tolist(), strict=True):
        code = column.null_code if label is None else place.get(label)
        if code is not None:
            after[code] += rows
    return Spread(column, column.counts.astype(np.float64), after)


def _card(spread: Spread) -> Bars | Curve:
    column, values = spread.column, int(np.count_nonzero(spread.before))
    says = f"{format_count(values, 'value')}; {percent(spread.moved)} of the rows moved"
    if spread.numbers is not None and values > MOST_LABELS:
        return _curve(spread, says)
    before, after = _shares(spread.before), _shares(spread.after)
    order = np.arange(column.size)
    if len(order) > MOST_LABELS:
        order = np.argsort(-before, kind="stable")[: MOST_LABELS - 1]
    texts = [*column.texts.to_pylist(), None]
    lines = [ValueShare(format_label(texts[i]), float(after[i]), float(before[i])) for i in order.tolist()]
    left = values - len(lines)
    if left > 0:
        rest = float(max(1 - after[order].sum(), 0)), float(max(1 - before[order].sum(), 0))
        lines.append(ValueShare(f"{left:,} others", *rest))
    return Bars(column.name, says, lines)


def _curve(spread: Spread, says: str) -> Curve:
    """Draw two histograms over the same bins; heights are shares per width, since the last bin may be narrower."""
    assert spread.numbers is not None
    known = ~np.isnan(spread.numbers)
    numbers = spread.numbers[known]
    edges = _edges(numbers)
    # [bin]: share of the rows per unit of width, before and after
    before, after = (
        np.histogram(numbers, edges, weights=_shares(rows)[known])[0] / np.diff(edges)
        for rows in (spread.before, spread.after)
    )
    top = max(float(before.max()), float(after.max()), 1e-300)
    most = (number(_to_plain_number(edges[int(heights.argmax())])) for heights in (before, after))
    ends = number(_to_plain_number(numbers.min())), number(_to_plain_number(numbers.max()))
    told = (
        f"Histogram of {spread.column.name} from {ends[0]} to {ends[1]}: most frequent from {next(most)} on before, "
        f"from {next(most)} on after"
    )
    across = (edges - edges[0]) / (edges[-1] - edges[0])
    return Curve(spread.column.name, says, _outline(across, before / top), _outline(across, after / top), ends, told)


def _edges(numbers: Floats) -> Floats:
    """Return the edges of equal bins; edges lie between whole numbers, so that bins hold equally many of them.

    >>> _edges(np.arange(50.0)).tolist()[:3]
    [-0.5, 2.5, 5.5]
    """
    least, most = float(numbers.min()), float(numbers.max())
    if most - least <= np.spacing(max(abs(least), abs(most))) * _BINS:  # too close for distinct edges
        return np.array([np.nextafter(least, -np.inf), np.nextafter(most, np.inf)])
    if np.array_equal(numbers, np.round(numbers)) and most - least < 2**52:
        width = np.ceil((most - least + 1) / _BINS)
        edges = np.arange(least - 0.5, most + 0.5, width)
        return np.append(edges, most + 0.5)
    return np.linspace(least, most, _BINS + 1)


def _outline(across: Floats, heights: Floats) -> str:
    """Return the outline of bars of these heights as an SVG path."""
    ends = across[1:].tolist()
    steps = "".join(
        f"V{_HIGH * (1 - high):.1f}H{_WIDE * end:.1f}" for end, high in zip(ends, heights.tolist(), strict=True)
    )
    return f"M0 {_HIGH}{steps}V{_HIGH}Z"


def _to_plain_number(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _shares(rows: Floats) -> Floats:
    return rows / max(float(rows.sum()), 1.0)
