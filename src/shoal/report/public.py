"""What goes into `out/`: the manifest and the page that may be published."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from shoal.plan import Plan
from shoal.recode import GroupRecoding, Released
from shoal.report.manifest import Manifest, public
from shoal.report.page import render
from shoal.report.republished import FILE, counterfeits_of
from shoal.schema import Role


def write_public(folder: Path, manifest: Manifest, plan: Plan, columns: Mapping[str, Released]) -> None:
    """Write `manifest.json` and `report.html` beside the table."""
    ranges = [name for names in plan.released_as.values() for name in names if name not in plan.statistics]
    if isinstance(plan.recoding, GroupRecoding):
        ranges = []  # the values themselves are in the table
    labels = {name: used_labels(columns[name]) for name in ranges}
    shown = {name: used_labels(columns[name]) for name in columns if plan.roles.get(name) is Role.SENSITIVE}
    document = public(manifest, plan, labels, shown).document()
    (folder / "manifest.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    (folder / "report.html").write_text(render("public.html", document), "utf-8")
    beside = counterfeits_of(plan)
    if beside is not None:
        (folder / FILE).write_text(beside, "utf-8")


def used_labels(column: Released) -> tuple[str, ...]:
    """The labels that occur in the release; those of unused values would tell what was in the hierarchy."""
    present = np.unique(column.codes)
    labels = column.texts.to_pylist()
    return tuple(sorted(labels[code] for code in present.tolist() if labels[code] is not None))
