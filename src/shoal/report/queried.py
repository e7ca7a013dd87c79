"""Releases as queries see them: in memory, or in a published folder with the private one beside it."""

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from shoal.codes import Table
from shoal.errors import BadInput
from shoal.hierarchy import Builder
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.recode import Released
from shoal.report.manifest import PublicManifest
from shoal.schema import Role
from shoal.verify import opened, table_in
from shoal.workload import Original, Shown, read_release, text_cells


def original_of(table: Table, name: str, policy: Policy, builders: Mapping[str, Builder]) -> Original:
    """The table that a release was made from, with the hierarchies along which it was generalised."""
    missing = [attribute for attribute in policy.attributes if attribute not in table.columns]
    if missing:
        raise BadInput(f"{name}: this is not the original: it has no column {missing[0]!r}")
    return Original(table, {of: builder.taxonomy(table[of]) for of, builder in builders.items()})


def builders_of(policy: Policy, roles: Collection[Role] = (Role.QUASI_IDENTIFIER,)) -> dict[str, Builder]:
    """The hierarchies that the policy of a private folder names for attributes of some roles."""
    known = {name: policy.attributes[name].hierarchy for role in roles for name in policy.named(role)}
    return {name: builder for name, builder in known.items() if builder is not None}


def shown_in_memory(columns: Mapping[str, Released], plan: Plan, names: Collection[str], original: Original) -> Shown:
    """What the columns of a release show, as a CSV would."""
    cells = {name: (column.codes, column.texts.to_pylist()) for name, column in columns.items()}
    return read_release(cells, plan.statistics, names, original)


def shown_in_folder(folder: Path, manifest: PublicManifest, names: Collection[str], original: Original) -> Shown:
    """What the table of a published folder shows, read afresh."""
    data = manifest.data
    with opened(table_in(folder, data.file), data.columns, data.model_dump()) as release:
        distinct = release.db.sql("FROM released").to_arrow_table()
    often = distinct["n"].to_numpy()
    cells = text_cells(distinct.drop_columns(["n"]).rename_columns(list(data.columns)))
    each = {name: (np.repeat(codes, often), texts) for name, (codes, texts) in cells.items()}
    return read_release(each, manifest.statistics or {}, names, original)
