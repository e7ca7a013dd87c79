"""What goes into `out/`: the manifest and the page that may be published."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from shoal.engine import Shown
from shoal.plan import Plan
from shoal.recode import GroupRecoding, Released
from shoal.report.manifest import Manifest, PublicManifest, public
from shoal.report.republished import FILE
from shoal.schema import Role
from shoal.verify import Verdict


def told_of(
    manifest: Manifest,
    plan: Plan,
    verdicts: Sequence[Verdict],
    shown: Shown,
    separate: Mapping[str, Released] | None = None,
) -> PublicManifest:
    """The manifest that may be published."""
    columns = shown.columns
    ranges = [name for names in plan.released_as.values() for name in names if name not in plan.statistics]
    if isinstance(plan.recoding, GroupRecoding):
        ranges = []  # the values themselves are in the table
    labels = {name: used_labels(columns[name]) for name in ranges}
    every = {**columns, **(separate or {})}
    values = {name: used_labels(every[name]) for name in every if plan.roles.get(name) is Role.SENSITIVE}
    return public(manifest, plan, verdicts, labels, values)


def write_public(folder: Path, told: PublicManifest, counterfeits: str | None = None) -> None:
    """Write `manifest.json` beside the table, and how many rows of each class show nobody."""
    text = json.dumps(told.document(), indent=2, ensure_ascii=False)
    (folder / "manifest.json").write_text(text + "\n", "utf-8")
    if counterfeits is not None:
        (folder / FILE).write_text(counterfeits, "utf-8")


def used_labels(column: Released) -> tuple[str, ...]:
    """The labels that occur in the release; those of unused values would tell what was in the hierarchy."""
    present = np.flatnonzero(np.bincount(column.codes))
    labels = column.texts.to_pylist()
    return tuple(sorted(labels[code] for code in present.tolist() if labels[code] is not None))
