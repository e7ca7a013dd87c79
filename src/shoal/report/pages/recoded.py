"""What was asked of each column, and what was done to it."""

from typing import TYPE_CHECKING

from shoal.engine import Source
from shoal.errors import BadHierarchy
from shoal.hierarchy import BUILDERS
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.recode import KINDS, GroupRecoding, NodeRecoding
from shoal.report.manifest import Manifest
from shoal.report.pages.blocks import Bullets, Meter, Section, Table, Text, and_more, listed, many, percent
from shoal.report.pages.figures import promise
from shoal.report.pages.visible import Visible
from shoal.schema import Role

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Block, Cell

_MOST = 60
"""Columns of one table."""
_LISTED = frozenset({"dates", "intervals"})
_ROLES = {
    Role.QUASI_IDENTIFIER: "Identifying together (quasi-identifiers), made coarser",
    Role.SENSITIVE: "Sensitive, protected by the promises about them",
    Role.INSENSITIVE: "Insensitive, published as they are",
    Role.IDENTIFIER: "Identifying alone, dropped",
    Role.UNIT: "Telling persons apart, dropped",
    Role.SAMPLING_WEIGHT: "Sampling weights",
}


def asked(manifest: Manifest, policy: Policy, plan: Plan) -> Section:
    """The roles, the promises and what the search was allowed."""
    said = [
        f"{words}: {listed(names, 12)}."
        for role, words in _ROLES.items()
        if (names := [name for name, of in plan.roles.items() if of is role])
    ]
    promises = [promise(model.model, model.attribute, model.asked) for model in manifest.models]
    said.append(f"{many(len(promises), 'promise')}: {'; '.join(promises)}.")
    method = policy.method
    if method.of_cells:
        said.append(f"The algorithm {method.algorithm}, which decides class by class.")
    else:
        allowed = method.suppression if isinstance(method.suppression, str) else percent(float(method.suppression or 0))
        said.append(
            f"The algorithm {method.algorithm}, for the least {method.metric}; rows that may be left out: {allowed}."
        )
    return Section("asked", "What was asked", [Bullets(said)])


def recoded(manifest: Manifest, plan: Plan, policy: Policy, source: Source, visible: Visible) -> Section:
    """Every identifying column: its hierarchy, its level, its values and labels, and what detail is left."""
    recoding = plan.recoding
    blocks: list[Block] = [Text(KINDS[recoding.kind])]
    if not isinstance(recoding, NodeRecoding | GroupRecoding):
        blocks.append(Text("Rows with equal values may show different labels.", "soft"))
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
    blocks.append(Table(head, rows, and_more(len(plan.quasi_identifiers) - len(rows), "columns")))
    return Section("done", "What was done", blocks)


def _level(plan: Plan, name: str) -> str:
    if not isinstance(plan.recoding, NodeRecoding):
        return "as it is" if isinstance(plan.recoding, GroupRecoding) else "class by class"
    level, height = plan.recoding.levels[name], plan.hierarchies[name].height
    said = "as it is" if level == 0 else "nothing but *" if level >= height else ""
    return f"level {level} of {height}{f': {said}' if said else ''}"


def _hierarchy(plan: Plan, policy: Policy, name: str) -> str:
    """How it was made, in few words."""
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
    return said.format(listed([str(each) for each in value], 4) if kind in _LISTED else value)
