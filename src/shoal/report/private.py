"""What goes into `out.private/`: everything that knows the original."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import ValidationError

from shoal.engine import Source
from shoal.errors import BadInput, BadPolicy
from shoal.hierarchy import Csv, pinned
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.policy.paths import anchored
from shoal.report.manifest import Manifest, Recoding, saveable
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
    try:
        levels = Recoding(**read_json(folder / "manifest.json")["recoding"]).levels
    except (KeyError, TypeError, ValidationError):
        raise BadInput(f"{folder.name}/manifest.json: this is not the manifest of a private folder") from None
    if not (folder / "policy.toml").is_file():
        raise BadInput(f"{folder.name}/policy.toml: there is no such file; is this the private folder of a release?")
    try:
        return Policy.load(folder / "policy.toml"), levels
    except BadPolicy as wrong:
        raise BadPolicy(f"{folder.name}/{wrong}") from None


def _self_contained(policy: Policy, plan: Plan, source: Source, folder: Path) -> Policy:
    """The policy with every hierarchy made explicit: drafts and masks as they came out, files copied."""
    known = saveable(policy, plan, source)
    attributes = dict(known.attributes)
    for name, builder in plan.builders.items():
        kept = attributes[name].hierarchy or builder
        kept = _copied(kept, folder) if isinstance(kept, Csv) else pinned(kept, source.table[name])
        attributes[name] = attributes[name].model_copy(update={"hierarchy": kept})
    require = tuple(anchored(model) for model in known.require)  # everybody is not copied
    return known.model_copy(update={"attributes": attributes, "require": require})


def _copied(builder: Csv, folder: Path) -> Csv:
    (folder / "hierarchies").mkdir(exist_ok=True)
    number = len(list((folder / "hierarchies").iterdir())) + 1
    copy = folder / "hierarchies" / f"{number}.csv"  # a column's name need not be a file's name
    copy.write_bytes((builder.base / builder.path).read_bytes())
    return Csv(f"hierarchies/{copy.name}", folder)


def _write_rows(path: Path, plan: Plan, total: int, rows: NDArray[np.int64]) -> None:
    """For every input row: its place in the release, and which promises its class failed, if any."""
    place = np.zeros(total, dtype=np.int64)
    place[rows] = np.arange(1, len(rows) + 1)
    table = pa.table(
        {
            "input_row": pa.array(np.arange(1, total + 1)),
            "released_row": pa.array(place, mask=place == 0),
            "suppressed": pa.array(plan.recoding.suppressed),
            "why": _why(plan),
        }
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _why(plan: Plan) -> pa.Array:
    """Per input row, the promises that its class does not keep; null where it keeps all."""
    reasons = [
        ", ".join(model for model, failed in plan.failed.items() if failed[at]) or None
        for at in range(len(plan.after.classes))
    ]
    assert plan.after.classes.classes is not None
    assert plan.before.classes.classes is not None
    return pa.array(reasons, pa.string()).take(pa.array(plan.after.classes.classes[plan.before.classes.classes]))
