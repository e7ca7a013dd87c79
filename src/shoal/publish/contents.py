"""What goes into `out/`, which may be published, and into `out.private/`, which knows the original."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.attack import Finding
from shoal.data.codes import Codes, Table
from shoal.engine_port import ReleasedRows, Source
from shoal.errors import BadInput, BadOutput, BadPolicy
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import pinned
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.policy.sections import make_population_absolute
from shoal.publish.folder import Places, put_file, refuse_file, write_file
from shoal.publish.manifest import (
    FILE,
    FrozenDict,
    Manifest,
    PublicManifest,
    Recommendation,
    StoredManifest,
    read_manifest,
)
from shoal.publish.summary import make_public_manifest, with_saveable_hierarchies
from shoal.recoding.columns import ReleasedColumn, values_with_null
from shoal.recoding.kinds import PartRecoding, StoredRecoding, as_stored_recoding
from shoal.recoding.outcome import RecodedCells
from shoal.roles import Role
from shoal.runtime.events import PUBLISHED, phase
from shoal.runtime.tempdir import delay_signals
from shoal.verify.claim import PointFiles, Verdict
from shoal.verify.release_files import digest_of, is_there, refuse_irregular


def public_manifest_of(
    manifest: Manifest,
    plan: Plan,
    verdicts: Sequence[Verdict],
    shown: ReleasedRows,
    separate: Mapping[str, ReleasedColumn] | None = None,
) -> PublicManifest:
    """Make the public manifest, listing only labels and values that occur in the release."""
    columns = shown.columns
    ranges = [name for names in plan.released_as.values() for name in names if name not in plan.statistics]
    if plan.recoding.keeps_values:
        ranges = []  # the values themselves are in the table
    labels = {name: used_labels(columns[name]) for name in ranges}
    every = {**columns, **(separate or {})}
    values = {name: used_labels(every[name]) for name in every if plan.roles.get(name) is Role.SENSITIVE}
    return make_public_manifest(manifest, plan, verdicts, labels, values)


def write_public(folder: Path, told: PublicManifest, counterfeits: str | None = None) -> None:
    """Write `manifest.json` beside the table, and the counts of rows that show nobody where there are any."""
    (folder / MANIFEST).write_text(_as_json(told.document()), "utf-8")
    if counterfeits is not None:
        (folder / FILE).write_text(counterfeits, "utf-8")


def write_recommendation(places: Places, manifest: Manifest) -> None:
    """Replace the manifest of the private folder by one with the recommendation whether to publish.

    From then on an interruption tells the verdict.
    """
    assert manifest.recommendation is not None
    with delay_signals():  # what is said of the verdict and what is written are the same
        put_file(places.private, MANIFEST, _as_json(manifest.document()), private=True)
        PUBLISHED[places.public.name] = manifest.recommendation.brief


MANIFEST, POLICY, ROWS, CLASSES = "manifest.json", "policy.toml", "rows.arrow", "classes.parquet"
_NAMED = (POLICY, ROWS, CLASSES, "points.parquet", "boxes.parquet", "history.parquet")
_MOST_ADDED = 1_000
"""Most added rows for each row that shows somebody."""


def _as_json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def used_labels(column: ReleasedColumn) -> tuple[str, ...]:
    """Return the labels that occur in the release, sorted; unused ones would reveal what is in the hierarchy."""
    present = np.flatnonzero(np.bincount(column.codes))
    labels = column.texts.to_pylist()
    return tuple(sorted(labels[code] for code in present.tolist() if labels[code] is not None))


@dataclass(frozen=True)
class PeopleFile:
    """Where the table of people goes, checked before any work is done."""

    path: Path

    @classmethod
    def choose(cls, path: str | os.PathLike[str], release: Path | None, *, force: bool) -> "PeopleFile":
        """Check the path; refuse one that cannot be written, or that lies in a folder that is published."""
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
    """Return a table as the bytes of a CSV.

    >>> as_csv(pa.table({"row": [1], "ill": [None]})).splitlines()
    [b'"row","ill"', b'1,']
    """
    from pyarrow import csv

    made = BytesIO()
    csv.write_csv(table, made)
    return made.getvalue()


MAPPED = frozenset({"boxes", "cells", "clusters", "groups"})
"""Kinds of recoding in which only the row map tells which label belongs to which row."""


@phase("writing")
def write_private(
    folder: Path,
    manifest: Manifest,
    plan: Plan,
    policy: Policy,
    source: Source,
    rows: NDArray[np.int64] | None,
) -> Manifest:
    """Write the policy with its hierarchies, the row map if it is known, and the full manifest, which is returned.

    It names the hash of every other file: the folder is a record of how the release was made.
    """
    _make_self_contained(policy, plan, source, folder).save(folder / POLICY)
    if rows is not None:
        _write_rows(folder / ROWS, plan, source.table.rows, rows)
    if plan.recoding.on_disk:
        shutil.copyfile(as_stored_recoding(plan.recoding).points, folder / "points.parquet")
        write_boxes(folder / "boxes.parquet", plan)
    write_classes(folder / CLASSES, plan, source)
    if plan.grown is not None:
        plan.grown.history.write(folder)
    made = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    manifest = manifest.model_copy(update={"files": FrozenDict({name: digest_of(path) for name, path in made.items()})})
    (folder / MANIFEST).write_text(_as_json(manifest.document()), "utf-8")
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return manifest


@dataclass(frozen=True)
class PrivateFolder:
    """The record of how a release was made, as read from its private folder."""

    policy: Policy
    manifest: Manifest
    levels: Mapping[str, int]
    """Level of each quasi-identifier; empty where levels do not tell what a row shows."""
    rows: NDArray[np.int64] | None = None
    """Position, from 0, of the input row of every released row, where levels do not tell what it shows."""
    points: PointFiles | None = None
    """Which point lies in which box, where there are neither levels nor rows."""

    @property
    def kind(self) -> str:
        """Kind of its recoding, a key of `SENTENCES`."""
        return self.manifest.recoding.kind

    @property
    def repeated(self) -> Mapping[str, str]:
        """Dropped columns that name persons with several rows, though rows were counted, and how often they repeat."""
        said = self.manifest.recommendation
        return {} if said is None else said.repeated


@dataclass(frozen=True)
class VerdictAtRelease:
    """What a private folder tells of the verdict that was given when its release was made."""

    release: str
    """Name of the folder of the release."""
    said: Recommendation | None = None
    """The verdict; None where none was given."""
    unknown: bool = False
    """Whether the folder is damaged, or of another release."""

    @property
    def sentence(self) -> str:
        """The verdict as one line for people."""
        if self.unknown:
            return (
                "The verdict at release is not known: the private folder beside it is damaged, or of another release."
            )
        if self.said is None:
            again = f"shoal audit {self.release} --original … (in Python shoal.audit)"
            return f"There is no verdict, since the run ended before: do not hand the release out before {again}"
        return f"The verdict at release: {self.said.brief}"

    def document(self) -> dict[str, Any] | None:
        """The verdict as a JSON object; None where there is none."""
        if self.said is None:
            return None
        left = {"attacks_left": list(self.said.attacks_left)} if self.said.condition else {}
        return {"advice": self.said.advice, "verdict": self.said.brief, **left}


def read_verdict(release: Path, private: Path) -> VerdictAtRelease | None:
    """Return the verdict at release that a private folder tells; None where there is no such folder."""
    if not private.is_dir():
        return None
    name = release.absolute().name
    try:
        told, known = read_manifest(release, PublicManifest), read_manifest(private, StoredManifest)
    except BadInput:
        return VerdictAtRelease(name, unknown=True)
    if told.data.sha256 != known.data.sha256:
        return VerdictAtRelease(name, unknown=True)
    return VerdictAtRelease(name, known.recommendation)


def load_private(folder: Path) -> PrivateFolder:
    """Read a private folder: the policy, and the levels that were found or else the row map."""
    if not folder.is_dir():
        raise BadInput(
            f"{folder.name}: checking against the original needs the private folder; name it with --private (in Python "
            "private=…)"
        )
    manifest = read_manifest(folder, StoredManifest)
    recoding, by_levels = manifest.recoding, manifest.recoding.kind not in MAPPED
    if by_levels == (recoding.levels is None):
        raise BadInput(f"{folder.name}/{MANIFEST}: it tells no levels, or levels of a recoding that has none")
    if not is_there(folder / POLICY):
        raise BadInput(f"{folder.name}/{POLICY}: there is no such file; is this the private folder of a release?")
    _refuse_changed(folder, manifest)
    points = PointFiles(folder / "points.parquet", folder / "boxes.parquet") if recoding.by_point else None
    mapped = points is None and (not by_levels or manifest.rows.added > 0)
    try:
        policy = Policy.load(folder / POLICY)
    except BadPolicy as wrong:
        raise BadPolicy(f"{folder.name}/{wrong}") from None
    except RecursionError:
        raise BadPolicy(f"{folder.name}/{POLICY}: it is nested too deep") from None
    _refuse_outside(folder, policy)
    if by_levels and set(recoding.levels or ()) != set(policy.quasi_identifiers):
        raise BadInput(f"{folder.name}: its {MANIFEST} has not the levels of what its {POLICY} generalises")
    rows = load_rows(folder, manifest) if mapped else None
    return PrivateFolder(policy, manifest, recoding.levels or {}, rows, points)


def _refuse_changed(folder: Path, manifest: Manifest) -> None:
    """Refuse a folder whose files are not those that its manifest names."""
    trees = folder / "hierarchies"
    for name, sha256 in (manifest.files or {}).items():
        path = folder / name
        if path.parent not in {folder, trees} or trees.is_symlink():
            raise BadInput(f"{folder.name}/{MANIFEST}: it names files outside the folder, or one that is linked there")
        if not is_there(path):
            raise BadInput(f"{folder.name}/{name[:80]}: there is no such file; use a copy of the folder")
        if digest_of(path) != sha256:
            raise BadInput(f"{folder.name}/{name}: the file was changed, or it is damaged; use a copy of the folder")
    for name in _NAMED:
        if is_there(folder / name) and manifest.files is not None and name not in manifest.files:
            raise BadInput(f"{folder.name}/{name}: the {MANIFEST} beside it does not name it; use a copy of the folder")


def _refuse_outside(folder: Path, policy: Policy) -> None:
    """Refuse a policy whose hierarchies lie elsewhere: a private folder has them all."""
    for name, attribute in policy.attributes.items():
        if isinstance(attribute.hierarchy, Csv):
            path = folder / attribute.hierarchy.path
            if ".." in path.parts or folder not in path.parents or path.parent.is_symlink():
                raise BadInput(f"{folder.name}/{POLICY}: the hierarchy of {name!r} lies outside the folder")
            refuse_irregular(path)


def write_boxes(path: Path, plan: Plan) -> None:
    """Write what each box shows in the released columns of the quasi-identifiers, in their order."""
    from pyarrow import parquet

    recoding = as_stored_recoding(plan.recoding)
    columns = [recoding.shown[name][column] for name, made in plan.released_as.items() for column in made]
    shown = {f"s{i}": column.texts.take(pa.array(column.codes)) for i, column in enumerate(columns)}
    parquet.write_table(pa.table({"part": np.arange(len(recoding.sizes), dtype=np.int32), **shown}), path)


def write_classes(path: Path, plan: Plan, source: Source) -> None:
    """Write the classes of boxes and cells, for later rows: the values that lay in each, and what they show.

    A line is a combination of values of one class; where equal rows are shown differently, the lines of a combination
    follow its rows in the order of all other columns. Nothing is written where classes show statistics of their rows,
    or are part of a history.
    """
    from pyarrow import parquet

    if plan.known_classes is not None:
        parquet.write_table(plan.known_classes, path)
    elif not (plan.statistics or plan.grown is not None or plan.added is not None):
        nothing = dict.fromkeys(["node", "groups"], lambda _: None)
        plan.recoding.by_kind(
            parts=lambda own: _write_parts(path, plan, source.table, own),
            stored=lambda own: _write_points(path, plan, source.table, own),
            **nothing,
        )


def _write_parts(path: Path, plan: Plan, table: Table, recoding: PartRecoding) -> None:
    from pyarrow import parquet

    classes, part, quasi = plan.before.classes, recoding.part, plan.quasi_identifiers
    assert classes.classes is not None
    # `rows` [class of the table]: its last row, whose part stands for the class if all its rows are in one part
    rows = np.zeros(len(classes), dtype=np.int64)
    rows[classes.classes] = np.arange(table.rows)
    many = classes.counts
    if (part[rows][classes.classes] != part).any():
        others = [name for name in table.columns if name not in quasi]
        order = np.lexsort([table[name].codes for name in reversed([*quasi, *others])])
        # `fresh` [row, in this order]: whether it begins a new line, i.e. another combination or another part
        fresh = np.ones(table.rows, dtype=bool)
        fresh[1:] = np.any([np.diff(codes[order]) != 0 for codes in (classes.classes, part)], axis=0)
        rows, many = order[fresh], np.diff(np.append(np.flatnonzero(fresh), table.rows))
    assert isinstance(plan.after, RecodedCells)
    # `losses` [line]: weighted loss over the attributes of the part that the line lies in
    losses = (plan.after.losses @ plan.before.weights)[part[rows]]
    codes = {name: table[name].codes[rows] for name in quasi}
    parquet.write_table(_class_lines(table, codes, recoding.shown, part[rows], many, losses), path)


def _write_points(path: Path, plan: Plan, table: Table, recoding: StoredRecoding) -> None:
    from pyarrow import parquet

    names = sorted(plan.quasi_identifiers)
    losses = recoding.losses @ plan.before.weights
    with ExitStack() as stack:
        writer = None
        points = stack.enter_context(parquet.ParquetFile(recoding.points))
        for batch in points.iter_batches():
            part = batch["part"].to_numpy()
            codes = {name: batch[f"q{i}"].to_numpy() for i, name in enumerate(names)}
            lines = _class_lines(table, codes, recoding.shown, part, np.ones_like(part), losses[part])
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(path, lines.schema))
            writer.write_table(lines)


def _class_lines(
    table: Table,
    codes: Mapping[str, Codes],
    shown: Mapping[str, Mapping[str, ReleasedColumn]],
    part: Codes,
    rows: NDArray[np.integer[Any]],
    losses: NDArray[np.float64],
) -> pa.Table:
    """Return lines of classes.parquet: of each the original values, what its part shows, its rows and its loss."""
    lines = {}
    for name, own in codes.items():
        label = shown[name][name]
        lines[f"original.{name}"] = values_with_null(table[name])[1].take(pa.array(own))
        lines[f"shown.{name}"] = label.texts.take(pa.array(label.codes[part]))
    return pa.table({**lines, "rows": pa.array(rows, pa.int64()), "loss": pa.array(losses, pa.float64())})


def load_classes(folder: Path, quasi: Sequence[str]) -> pa.Table:
    """Read the classes that a private folder keeps for later rows."""
    from pyarrow import parquet

    path = folder / CLASSES
    asked = pa.schema(
        [(f"{what}.{name}", pa.string()) for name in quasi for what in ("original", "shown")]
        + [("rows", pa.int64()), ("loss", pa.float64())]
    )
    try:
        read = parquet.read_table(path)
        lines = read.select(asked.names).cast(asked.with_metadata(read.schema.metadata))
    except (OSError, pa.ArrowException, KeyError, ValueError):
        lines = None
    if lines is None or not lines.num_rows or (lines["rows"].to_numpy() < 1).any():
        raise BadInput(
            f"{folder.name}/{path.name}: the classes of this release are missing or damaged; anonymize it once more, "
            "or the new rows afresh"
        )
    return lines


def load_rows(folder: Path, manifest: Manifest | None = None) -> NDArray[np.int64]:
    """Read the row map: the position, from 0, of the input row of each released row; -1 where it was added."""
    path = folder / ROWS
    if folder.is_dir() and not path.exists() and not path.is_symlink():
        raise BadInput(
            f"{folder.name}/{path.name}: there is no row map, as for every release whose rows stayed where they are; "
            "leave the original out, or anonymize with the arrow engine"
        )
    refuse_irregular(path)
    counts = (manifest or read_manifest(folder, StoredManifest)).rows
    try:
        with pa.OSFile(str(path)) as file:  # not mapped: it may change
            table = pa.ipc.open_file(file).read_all()
        table.validate(full=True)
        released = table.filter(table["released_row"].is_valid())
        place, rows = (released[name].cast(pa.int64()).to_numpy() for name in ("released_row", "input_row"))
    except (OSError, pa.ArrowException, KeyError, ValueError):
        raise BadInput(f"{path.parent.name}/{path.name}: the row map is missing or damaged") from None
    total = len(place) + counts.added
    if total != counts.released + counts.shown or counts.added > _MOST_ADDED * (1 + len(place)):
        raise BadInput(f"{path.parent.name}/{path.name}: the row map has not the rows that the {MANIFEST} tells of")
    inside = not len(place) or (place.min() > 0 and place.max() <= total and rows.min() > 0)
    # [released row, from 1] how often the map names it: no more than once, and added rows never
    if not inside or np.bincount(place, minlength=total + 1).max(initial=0) > 1:
        raise BadInput(f"{path.parent.name}/{path.name}: the row map leaves out a released row, or names one twice")
    found = np.full(total, -1, dtype=np.int64)
    found[place - 1] = rows - 1
    return found


def _make_self_contained(policy: Policy, plan: Plan, source: Source, folder: Path) -> Policy:
    """Return the policy with every hierarchy made explicit: drafts and masks as they came out, files copied."""
    known = with_saveable_hierarchies(policy, plan, source)
    attributes = dict(known.attributes)
    for name in known.quasi_identifiers:
        if name not in plan.builders:  # numbers in boxes follow their order, whatever hierarchy they have
            attributes[name] = attributes[name].model_copy(update={"hierarchy": None})
    for name, builder in plan.builders.items():
        # what was used: where nothing is generalised, whatever hierarchy a column has means nothing
        kept = attributes[name].hierarchy if builder is policy.attributes[name].hierarchy else builder
        assert kept is not None
        kept = _copy_hierarchy(kept, folder) if isinstance(kept, Csv) else pinned(kept, source.table[name])
        attributes[name] = attributes[name].model_copy(update={"hierarchy": kept})
    require = tuple(make_population_absolute(model) for model in known.require)  # everybody is not copied
    method = known.method
    if method.workload is not None:
        method = method.model_copy(update={"workload": method.workload.absolute})
    return known.model_copy(update={"attributes": attributes, "require": require, "method": method})


def _copy_hierarchy(builder: Csv, folder: Path) -> Csv:
    (folder / "hierarchies").mkdir(exist_ok=True)
    number = len(list((folder / "hierarchies").iterdir())) + 1
    copy = folder / "hierarchies" / f"{number}.csv"  # a column's name need not be a file's name
    copy.write_bytes((builder.base / builder.path).read_bytes())
    return Csv(f"hierarchies/{copy.name}", folder)


def _write_rows(path: Path, plan: Plan, total: int, rows: NDArray[np.int64]) -> None:
    """Write the row map: for every input row its place in the release, and the promises that its class failed."""
    # `place` [input row]: the number, from 1, of the released row that shows it; 0 where none does
    place = np.zeros(total, dtype=np.int64)
    # `shown` [released row that was not added]: its position among all released rows
    shown = np.flatnonzero(rows >= 0)
    place[rows[shown]] = shown + 1
    table = pa.table(
        {
            "input_row": pa.array(np.arange(1, total + 1)),
            "released_row": pa.array(place, mask=place == 0),
            "suppressed": pa.array(plan.recoding.suppressed),
            "why": _list_failed_promises(plan),
        }
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _list_failed_promises(plan: Plan) -> pa.Array:
    """Return, for each input row, the promises that its class does not keep; null where it keeps all."""
    reasons = [
        ", ".join(model for model, failed in plan.failed.items() if failed[at]) or None
        for at in range(len(plan.after.classes))
    ]
    return pa.array(reasons, pa.string()).take(pa.array(plan.class_of_row))
