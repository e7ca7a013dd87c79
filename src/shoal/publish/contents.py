"""What goes into `out/`, which may be published, and into `out.private/`, which knows the original."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet
from pydantic import ValidationError

from shoal.attacks.attack import Finding
from shoal.engine_port import ReleasedRows, Source
from shoal.errors import BadInput, BadOutput, BadPolicy
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import pinned
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.policy.sections import anchored
from shoal.publish.folder import put_file, refuse_file, write_file
from shoal.publish.manifest import FILE, Manifest, PublicManifest, RecodingEntry
from shoal.publish.summary import public, saveable
from shoal.recoding.columns import Released
from shoal.recoding.kinds import stored_boxes
from shoal.roles import Role
from shoal.verify.claim import PointFiles, Verdict
from shoal.verify.release_files import read_json


def told_of(
    manifest: Manifest,
    plan: Plan,
    verdicts: Sequence[Verdict],
    shown: ReleasedRows,
    separate: Mapping[str, Released] | None = None,
) -> PublicManifest:
    """Make the manifest that may be published."""
    columns = shown.columns
    ranges = [name for names in plan.released_as.values() for name in names if name not in plan.statistics]
    if plan.recoding.keeps_values:
        ranges = []  # the values themselves are in the table
    labels = {name: used_labels(columns[name]) for name in ranges}
    every = {**columns, **(separate or {})}
    values = {name: used_labels(every[name]) for name in every if plan.roles.get(name) is Role.SENSITIVE}
    return public(manifest, plan, verdicts, labels, values)


def write_public(folder: Path, told: PublicManifest, counterfeits: str | None = None) -> None:
    """Write `manifest.json` beside the table, and how many rows of each class show nobody."""
    (folder / MANIFEST).write_text(_as_json(told.document()), "utf-8")
    if counterfeits is not None:
        (folder / FILE).write_text(counterfeits, "utf-8")


def write_recommendation(place: Path, manifest: Manifest) -> None:
    """Replace the manifest of a private folder by one that says whether to publish the release."""
    put_file(place, MANIFEST, _as_json(manifest.document()), private=True)


MANIFEST = "manifest.json"


def _as_json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def used_labels(column: Released) -> tuple[str, ...]:
    """The labels that occur in the release; those of unused values would tell what was in the hierarchy."""
    present = np.flatnonzero(np.bincount(column.codes))
    labels = column.texts.to_pylist()
    return tuple(sorted(labels[code] for code in present.tolist() if labels[code] is not None))


@dataclass(frozen=True)
class PeopleFile:
    """Where the table of people goes, checked before any work is done."""

    path: Path

    @classmethod
    def choose(cls, path: str | os.PathLike[str], release: Path | None, *, force: bool) -> "PeopleFile":
        """Refuse what cannot or must not be written: nothing of it may lie in a folder that is published."""
        chosen = Path(path)
        refuse_file(chosen, (".csv",), release, force=force)
        if release is not None and release.is_dir() and release.resolve() in chosen.resolve().parents:
            raise BadOutput(f"{chosen.name}: it tells of people and must not lie inside the folder that is published")
        return cls(chosen)

    def write(self, found: Finding) -> None:
        if found.people is None:
            raise BadInput(f"the attack {found.attack!r} tells nothing of single people")
        write_file(self.path, as_csv(found.people))


def as_csv(table: pa.Table) -> bytes:
    """A table as a CSV.

    >>> as_csv(pa.table({"row": [1], "ill": [None]})).splitlines()
    [b'"row","ill"', b'1,']
    """
    from pyarrow import csv

    made = BytesIO()
    csv.write_csv(table, made)
    return made.getvalue()


MAPPED = frozenset({"boxes", "cells", "clusters", "groups"})
"""Kinds of recoding in which only the row map tells which label belongs to which row."""


def write_private(
    folder: Path,
    manifest: Manifest,
    plan: Plan,
    policy: Policy,
    source: Source,
    rows: NDArray[np.int64] | None,
) -> None:
    """Write the full manifest, the policy with its hierarchies and, if it is known, the row map."""
    (folder / MANIFEST).write_text(_as_json(manifest.document()), "utf-8")
    _self_contained(policy, plan, source, folder).save(folder / "policy.toml")
    if rows is not None:
        _write_rows(folder / "rows.arrow", plan, source.table.rows, rows)
    if plan.recoding.on_disk:
        shutil.copyfile(stored_boxes(plan.recoding).points, folder / "points.parquet")
        write_boxes(folder / "boxes.parquet", plan)
    if plan.grown is not None:
        plan.grown.history.write(folder)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


@dataclass(frozen=True)
class Private:
    """What a private folder tells of how the release was made."""

    policy: Policy
    levels: Mapping[str, int]
    """Level of each quasi-identifier; empty where levels do not tell what a row shows."""
    rows: NDArray[np.int64] | None = None
    """Position, from 0, of the input row of every released row, where levels do not tell what it shows."""
    points: PointFiles | None = None
    """Which point lies in which box, where there are neither levels nor rows."""
    attained: tuple[Mapping[str, Any], ...] = ()
    """What each model was found to attain."""


def load_private(folder: Path) -> Private:
    """Read a private folder: the policy, and the levels that were found or else the row map."""
    if not folder.is_dir():
        raise BadInput(f"{folder.name}: checking against the original needs the private folder; name it with --private")
    try:
        document = read_json(folder / "manifest.json")
        recoding = document["recoding"]
        levels = {} if recoding["kind"] in MAPPED else dict(RecodingEntry(**recoding).levels)  # type: ignore[arg-type]
        attained = tuple(dict(model["attained"]) for model in document["models"])
    except (KeyError, TypeError, ValidationError):
        raise BadInput(f"{folder.name}/manifest.json: this is not the manifest of a private folder") from None
    if not (folder / "policy.toml").is_file():
        raise BadInput(f"{folder.name}/policy.toml: there is no such file; is this the private folder of a release?")
    points = PointFiles(folder / "points.parquet", folder / "boxes.parquet") if recoding.get("by_point") else None
    mapped = points is None and (recoding["kind"] in MAPPED or document["rows"].get("added"))
    try:
        policy, rows = Policy.load(folder / "policy.toml"), load_rows(folder) if mapped else None
        return Private(policy, levels, rows, points, attained)
    except BadPolicy as wrong:
        raise BadPolicy(f"{folder.name}/{wrong}") from None


def write_boxes(path: Path, plan: Plan) -> None:
    """Write what each box shows in the released columns of the quasi-identifiers, in their order."""
    recoding = stored_boxes(plan.recoding)
    columns = [recoding.shown[name][column] for name, made in plan.released_as.items() for column in made]
    shown = {f"s{i}": column.texts.take(pa.array(column.codes)) for i, column in enumerate(columns)}
    parquet.write_table(pa.table({"part": np.arange(len(recoding.sizes), dtype=np.int32), **shown}), path)


def load_rows(folder: Path) -> NDArray[np.int64]:
    """Read the row map: the position, from 0, of the input row of each released row; -1 where it was added."""
    path = folder / "rows.arrow"
    added = read_json(folder / "manifest.json").get("rows", {}).get("added", 0)
    try:
        with pa.memory_map(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        released = table.filter(table["released_row"].is_valid())
        place, rows = (released[name].to_numpy().astype(np.int64) for name in ("released_row", "input_row"))
    except (OSError, pa.ArrowException, KeyError, ValueError):
        raise BadInput(f"{path.parent.name}/{path.name}: the row map is missing or damaged") from None
    total = len(place) + added
    # [released row, from 1] how often the map names it: no more than once, and added rows never
    known = np.bincount(place, minlength=total + 1) if len(place) == 0 or place.min() > 0 else np.empty(0)
    if len(known) != total + 1 or known.max(initial=0) > 1:
        raise BadInput(f"{path.parent.name}/{path.name}: the row map leaves out a released row, or names one twice")
    found = np.full(total, -1, dtype=np.int64)
    found[place - 1] = rows - 1
    return found


def _self_contained(policy: Policy, plan: Plan, source: Source, folder: Path) -> Policy:
    """The policy with every hierarchy made explicit: drafts and masks as they came out, files copied."""
    known = saveable(policy, plan, source)
    attributes = dict(known.attributes)
    for name in known.quasi_identifiers:
        if name not in plan.builders:  # numbers in boxes follow their order, whatever hierarchy they have
            attributes[name] = attributes[name].model_copy(update={"hierarchy": None})
    for name, builder in plan.builders.items():
        # what was used: where nothing is generalised, whatever hierarchy a column has means nothing
        kept = attributes[name].hierarchy if builder is policy.attributes[name].hierarchy else builder
        assert kept is not None
        kept = _copied(kept, folder) if isinstance(kept, Csv) else pinned(kept, source.table[name])
        attributes[name] = attributes[name].model_copy(update={"hierarchy": kept})
    require = tuple(anchored(model) for model in known.require)  # everybody is not copied
    method = known.method
    if method.workload is not None:
        method = method.model_copy(update={"workload": method.workload.absolute})
    return known.model_copy(update={"attributes": attributes, "require": require, "method": method})


def _copied(builder: Csv, folder: Path) -> Csv:
    (folder / "hierarchies").mkdir(exist_ok=True)
    number = len(list((folder / "hierarchies").iterdir())) + 1
    copy = folder / "hierarchies" / f"{number}.csv"  # a column's name need not be a file's name
    copy.write_bytes((builder.base / builder.path).read_bytes())
    return Csv(f"hierarchies/{copy.name}", folder)


def _write_rows(path: Path, plan: Plan, total: int, rows: NDArray[np.int64]) -> None:
    """Write the row map: for every input row its place in the release, and the promises that its class failed."""
    place = np.zeros(total, dtype=np.int64)
    shown = np.flatnonzero(rows >= 0)
    place[rows[shown]] = shown + 1
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
    """Promises that the class of each input row does not keep; null where it keeps all."""
    reasons = [
        ", ".join(model for model, failed in plan.failed.items() if failed[at]) or None
        for at in range(len(plan.after.classes))
    ]
    return pa.array(reasons, pa.string()).take(pa.array(plan.class_of_row))
