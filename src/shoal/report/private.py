"""What goes into `out.private/`: everything that knows the original."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engine import Source
from shoal.errors import BadHierarchy, BadInput
from shoal.hierarchy import Builder, Csv, Rows
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.report.manifest import Manifest
from shoal.report.page import render
from shoal.verify import read_json


def write_private(
    folder: Path, manifest: Manifest, plan: Plan, policy: Policy, source: Source, rows: NDArray[np.int64]
) -> None:
    """Write the full manifest, the policy with its hierarchies, the row map and the private page."""
    document = manifest.document()
    (folder / "manifest.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    (folder / "report.html").write_text(render("private.html", document), "utf-8")
    _self_contained(policy, plan, source, folder).save(folder / "policy.toml")
    _write_rows(folder / "rows.arrow", plan, source.table.rows, rows)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def load_private(folder: Path) -> tuple[Policy, dict[str, int]]:
    """The policy and the levels that were found."""
    if not folder.is_dir():
        raise BadInput(f"{folder.name}: checking against the original needs the private folder; name it with --private")
    levels: dict[str, int] = read_json(folder / "manifest.json")["recoding"]["levels"]
    return Policy.load(folder / "policy.toml"), levels


def _self_contained(policy: Policy, plan: Plan, source: Source, folder: Path) -> Policy:
    """The policy with every hierarchy made explicit: drafts as drawn up, files copied beside it."""
    attributes = dict(policy.attributes)
    for name, builder in plan.builders.items():
        attributes[name] = attributes[name].model_copy(update={"hierarchy": _kept(name, builder, source, folder)})
    return policy.model_copy(update={"attributes": attributes})


def _kept(name: str, builder: Builder, source: Source, folder: Path) -> Builder:
    if isinstance(builder, Csv):
        (folder / "hierarchies").mkdir(exist_ok=True)
        number = len(list((folder / "hierarchies").iterdir())) + 1
        copy = folder / "hierarchies" / f"{number}.csv"  # a column's name need not be a file's name
        copy.write_bytes((builder.base / builder.path).read_bytes())
        return Csv(f"hierarchies/{copy.name}", folder)
    try:
        builder.spec()
    except BadHierarchy:  # made by functions: keep what they made
        made = builder.taxonomy(source.table[name])
        return Rows(tuple(zip(made.leaves, *made.levels, strict=True)))
    return builder


def _write_rows(path: Path, plan: Plan, total: int, rows: NDArray[np.int64]) -> None:
    """For every input row: its place in the release, or null and which promises its class failed."""
    place = np.zeros(total, dtype=np.int64)
    place[rows] = np.arange(1, len(rows) + 1)
    table = pa.table(
        {
            "input_row": pa.array(np.arange(1, total + 1)),
            "released_row": pa.array(place, mask=place == 0),
            "suppressed": pa.array(plan.recoding.suppressed),
        }
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
