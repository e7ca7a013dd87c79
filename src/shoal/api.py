"""anonymize, measure, verify, save: the only joiner of plan, engines, verify and report."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import ValidationError

from shoal.engine import Engine, ReadOptions, Source, WriteOptions
from shoal.engines import ArrowEngine
from shoal.engines.frames import to_native
from shoal.engines.writing import QUOTE, count_formulas, to_table
from shoal.errors import BadInput, NotVerified, ShoalWarning
from shoal.frequency import FrequencySet
from shoal.hierarchy import build
from shoal.models import MODELS, Model, measured
from shoal.plan import Plan, make_plan
from shoal.policy import Policy
from shoal.recode import Released, decoded, recode
from shoal.report.drafted import draft_policy
from shoal.report.folder import Places
from shoal.report.manifest import Data, Manifest, ModelSummary, PublicManifest, summarise
from shoal.report.private import load_private, write_private
from shoal.report.public import write_public
from shoal.search import Watch
from shoal.verify import Claim, Original, Status, Verdict, check_hash, count, covers, judge, opened, read_json

Source_ = Any
"""A path, `-` for stdin, or a frame of any kind that narwhals knows."""


@dataclass(frozen=True)
class Release:
    """A table that keeps its policy: as data, as a summary, and as folders on disk."""

    policy: Policy
    source: Source = field(repr=False)
    plan: Plan = field(repr=False)
    columns: dict[str, Released] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    """The position in the input of every released row: private."""
    notes: tuple[str, ...] = ()
    engine: Engine = field(default_factory=ArrowEngine, repr=False)
    path: Path | None = None
    """The file that was read, so that it is never written over."""

    @cached_property
    def table(self) -> pa.Table:
        """The release as an Arrow table, rows in the order of the input."""
        return to_table(self.columns)

    @cached_property
    def data(self) -> Any:
        """The release as the same kind of frame as came in; a pyarrow Table where a file came in."""
        return to_native(self.source, self.table, self.rows, set(self.plan.hierarchies))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Every promise, judged on the frame that is handed out, its columns read and counted afresh (design 14)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)  # what it warns of was said of the input
            handed_out = self.engine.read(self.data, ReadOptions(missing=())).table
        with opened(decoded(handed_out), list(self.columns), {}) as release:
            claim = self.claim
            return [*judge(claim, count(release, claim)), covers(release, claim, self.original)]

    @cached_property
    def summary(self) -> Manifest:
        """The manifest as a frozen value."""
        data = Data(format="frame", columns=list(self.columns))
        return summarise(self.plan, self.policy, self.source, self.verdicts, data, list(self.notes))

    @property
    def claim(self) -> Claim:
        roles = self.plan.roles
        quasi = [name for name in self.columns if name in self.plan.hierarchies]
        sensitive = [name for name in self.columns if roles[name] == "sensitive"]
        return Claim(quasi, sensitive, self.policy.models, len(self.rows), list(self.columns))

    @property
    def original(self) -> Original:
        return Original(self.source.table, self.plan.hierarchies, self.plan.recoding.levels)

    def save(
        self,
        out: str | os.PathLike[str],
        *,
        private: str | os.PathLike[str] | None = None,
        format: str | None = None,  # noqa: A002
        force: bool = False,
        reproducible: bool = False,
    ) -> Manifest:
        """Write `out/` and `out.private/`, both or none, verified as re-read from disk."""
        places = Places.choose(out, private, self.path, force=force)
        kind = _known_format(format or ("parquet" if self.source.format in {"parquet", "arrow"} else "csv"))
        if kind == "csv":
            _refuse_marker(self.source, self.columns)
        options = WriteOptions(kind, self.policy.release.order == "keep", self.policy.release.spreadsheet_safe)
        with places.filled() as (public, secret):
            file = public / f"data.{kind}"
            written = self.engine.write(self.columns, file, self.source, options)
            data = Data(
                file=file.name,
                sha256=written.sha256,
                format=kind,
                delimiter=self.source.delimiter,
                quote=self.source.quote or QUOTE,
                missing=self.source.missing,
                columns=list(self.columns),
            )
            verdicts = self._verify_file(file, data)
            manifest = summarise(self.plan, self.policy, self.source, verdicts, data, self._notes(kind))
            if reproducible:
                manifest = manifest.model_copy(update={"method": manifest.method.model_copy(update={"seconds": None})})
            write_public(public, manifest, self.plan, self.columns)
            write_private(secret, manifest, self.plan, self.policy, self.source, self.rows[written.order])
        return manifest

    def _verify_file(self, file: Path, data: Data) -> list[Verdict]:
        """Re-read what was written and judge it; a file that does not keep its promises is never published."""
        claim = self.claim
        with opened(file, claim.columns, data.model_dump()) as release:
            verdicts = [*judge(claim, count(release, claim)), covers(release, claim, self.original)]
        verdicts.append(check_hash(file, data.sha256 or ""))
        refuse_failures(verdicts)
        return verdicts

    def _notes(self, kind: str) -> list[str]:
        notes = list(self.notes)
        formulas = count_formulas(self.columns) if kind == "csv" and self.policy.release.spreadsheet_safe else 0
        if formulas:
            notes.append(
                f"{formulas} cell(s) that a spreadsheet would run as a formula got a leading '; set "
                "spreadsheet-safe = false under [release] to keep them as they are"
            )
        return notes


def anonymize(source: Source_, policy: Policy, *, watch: Watch = lambda *_: None) -> Release:
    """The table of least loss that keeps the policy, verified; raises Infeasible when there is none.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [34, 36, 34, 51, 58, 52], "disease": ["flu", "flu", "hiv", "flu", "hiv", "flu"]})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(
    ...     attributes={"age": age, "disease": "sensitive"},
    ...     require=[{"model": "k-anonymity", "k": 3}],
    ... )
    >>> anonymize(people, policy).data["age"].to_pylist()
    ['[30, 40)', '[30, 40)', '[30, 40)', '[50, 60)', '[50, 60)', '[50, 60)']
    """
    release = prepare(source, policy, watch=watch)
    refuse_failures(release.verdicts)
    for note in release.notes:
        warnings.warn(ShoalWarning(note), stacklevel=2)
    return release


def publish(
    source: Source_,
    policy: Policy,
    out: str | os.PathLike[str],
    *,
    watch: Watch = lambda *_: None,
    force: bool = False,
    private: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    reproducible: bool = False,
) -> Manifest:
    """Anonymize and save in one go, verifying the file only."""
    Places.choose(out, private, _path(source), force=force)  # refuse a bad place before the work, not after it
    _known_format(format or "csv")
    release = prepare(source, policy, watch=watch)
    return release.save(out, private=private, format=format, force=force, reproducible=reproducible)


def _known_format(name: str) -> str:
    if name not in {"csv", "parquet"}:
        raise BadInput(f"format {name!r} is not known; a release is written as csv or parquet")
    return name


def _refuse_marker(source: Source, columns: Mapping[str, Released]) -> None:
    """A null in a CSV must be told from everything else."""
    if any(c in source.missing for c in (source.delimiter, source.quote or QUOTE, "\r", "\n")):
        raise BadInput(
            f"data.missing: {source.missing!r} holds the delimiter, a quote or a line break, so a CSV cannot show it; "
            "put another text first"
        )
    for name, column in columns.items():
        texts = column.texts.to_pylist()
        if source.missing in texts and (column.codes == texts.index(source.missing)).any():
            raise BadInput(
                f"column {name!r}: a label is written like a missing value; put another text first in [data] missing"
            )


def prepare(
    source: Source_, policy: Policy, *, watch: Watch = lambda *_: None, engine: Engine | None = None
) -> Release:
    """A release that was not judged yet."""
    engine = engine or ArrowEngine()
    with _noted() as notes:
        read = engine.read(source, read_options(policy))
        plan = make_plan(read, policy, engine, watch)
        if policy.release.order == "keep":
            warnings.warn(ShoalWarning("order = 'keep': the order of the rows can identify people"), stacklevel=2)
    released = [name for name, role in plan.roles.items() if role.released]
    show = policy.release.suppressed == "show"
    columns, rows = recode(read.table, plan.recoding, plan.hierarchies, released, show=show)
    return Release(policy, read, plan, columns, rows, tuple(notes), engine, _path(source))


def _path(source: Source_) -> Path | None:
    return Path(source) if isinstance(source, str | os.PathLike) and str(source) != "-" else None


def measure(
    source: Source_,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    missing: Sequence[str] = ("",),
    ignore_suppressed: bool = False,
    options: ReadOptions | None = None,
) -> dict[str, Any]:
    """Every model's attained value for a table as it is; no policy needed.

    >>> import pyarrow as pa
    >>> measure(pa.table({"sex": ["f", "f", "m"]}), quasi_identifiers=["sex"])["models"]
    [{'model': 'k-anonymity', 'attained': {'k': 1}}]
    """
    read = ArrowEngine().read(source, options or ReadOptions(missing=tuple(missing)))
    for name in (*quasi_identifiers, *sensitive):
        if name not in read.table.columns:
            near = get_close_matches(name, read.table.columns, n=1, cutoff=0.5)
            raise BadInput(
                f"{read.name}: there is no column {name!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
            )
    if not quasi_identifiers:
        raise BadInput("name at least one quasi-identifier, e.g. --qi age,sex")
    both = sorted(set(quasi_identifiers) & set(sensitive))
    if both:
        raise BadInput(f"{', '.join(map(repr, both))} cannot be quasi-identifier and sensitive at once")
    return _measured(read, list(quasi_identifiers), list(sensitive), ignore_suppressed=ignore_suppressed)


def _measured(read: Source, quasi: list[str], sensitive: list[str], *, ignore_suppressed: bool) -> dict[str, Any]:
    table = read.table
    stars = np.ones(table.rows, dtype=bool)
    for name in quasi:
        texts: list[str | None] = [*table[name].texts.to_pylist(), None]
        stars &= np.array([text == "*" for text in texts], dtype=bool)[table[name].codes]
    suppressed = int(stars.sum())
    keep = ~stars if ignore_suppressed else np.ones(table.rows, dtype=bool)
    if not keep.any():
        raise BadInput(f"{read.name}: every row is suppressed, so there is nothing to measure")
    columns = {name: (table[name].codes[keep], table[name].size) for name in (*quasi, *sensitive)}
    classes = FrequencySet.count({q: columns[q] for q in quasi}, {s: columns[s] for s in sensitive})
    labels = {name: [*table[name].texts.to_pylist(), None][: table[name].size] for name in sensitive}
    counts = classes.class_counts(labels)
    out: dict[str, Any] = {"rows": counts.rows, "classes": len(classes), "models": measured(counts, sensitive)}
    if suppressed:
        out["suppressed"] = {"rows": suppressed, "ignored": ignore_suppressed}
    return out


def verify(
    out: str | os.PathLike[str],
    *,
    original: Source_ = None,
    population: Source_ = None,
    private: str | os.PathLike[str] | None = None,
) -> list[Verdict]:
    """Judge a release on disk: every promise holds, fails, or needs what was not given."""
    del population  # no model of this version looks at one
    folder = Path(out)
    manifest = _public_manifest(folder)
    data, rows = manifest.data, manifest.rows
    file = folder / (data.file or "")
    if not file.is_file() or file.parent != folder:
        raise BadInput(f"{folder.name}/{data.file}: the released table is missing")
    claim = Claim(
        manifest.quasi_identifiers,
        manifest.sensitive,
        [_promised(model, folder) for model in manifest.models],
        rows.released + rows.shown,
        data.columns,
        manifest.classes.model_dump(),
        [model.attained for model in manifest.models],
    )
    verdicts = [check_hash(file, data.sha256 or "")]
    with opened(file, data.columns, data.model_dump()) as release:
        verdicts += judge(claim, count(release, claim))
        if original is None:
            verdicts.append(Verdict("truthful", Status.NEEDS_ORIGINAL))
        else:
            verdicts.append(covers(release, claim, _original(folder, private, original)))
    return verdicts


def _public_manifest(folder: Path) -> PublicManifest:
    document = read_json(folder / "manifest.json")
    try:
        manifest = PublicManifest(**document)
    except (TypeError, ValidationError):
        raise BadInput(f"{folder.name}/manifest.json: this is not the manifest of a published folder") from None
    named = [*manifest.quasi_identifiers, *manifest.sensitive, *(m.attribute for m in manifest.models if m.attribute)]
    if not manifest.quasi_identifiers or not manifest.models or not set(named) <= set(manifest.data.columns):
        raise BadInput(f"{folder.name}/manifest.json: it names no quasi-identifier, no model or columns there are not")
    return manifest


def _promised(said: ModelSummary, folder: Path) -> Model:
    """The model that a manifest says was asked for."""
    about = {} if said.attribute is None else {"attribute": said.attribute}
    try:
        model: Model = MODELS[said.model](**said.asked, **about)
    except (KeyError, TypeError, ValueError):
        raise BadInput(f"{folder.name}/manifest.json: it promises a model that this version does not know") from None
    return model


def _original(folder: Path, private: str | os.PathLike[str] | None, original: Source_) -> Original:
    """The input with the hierarchies of the private folder."""
    secret = Path(private) if private else folder.absolute().with_name(folder.absolute().name + ".private")
    policy, levels = load_private(secret)
    read = ArrowEngine().read(original, read_options(policy))
    missing = [name for name in policy.attributes if name not in read.table.columns]
    if missing:
        raise BadInput(f"{read.name}: this is not the original: it has no column {missing[0]!r}")
    kept = {name: policy.attributes[name].hierarchy for name in levels}
    hierarchies = {name: build(read.table[name], builder) for name, builder in kept.items() if builder is not None}
    return Original(read.table, hierarchies, levels)


def refuse_failures(verdicts: Sequence[Verdict]) -> None:
    """Raise unless everything holds."""
    failed = [v for v in verdicts if not v.holds]
    if failed:
        raise NotVerified(
            "the release does not verify: " + "; ".join(f"{v.promise} {v.status} {v.why}".strip() for v in failed)
        )


def read_options(policy: Policy) -> ReadOptions:
    return ReadOptions(**policy.data.model_dump(exclude={"others"}))


@contextmanager
def _noted() -> Iterator[list[str]]:
    """Collects the project's own warnings as sentences; others pass."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, ShoalWarning):
            notes.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def dry_run(source: Source_, policy: Policy, *, watch: Watch = lambda *_: None) -> Manifest:
    """Search and judge, write nothing."""
    release = prepare(source, policy, watch=watch)
    refuse_failures(release.verdicts)
    return release.summary


def draft(source: Source_, *, k: int = 5, delimiter: str | None = None, encoding: str | None = None) -> str:
    """A first policy for a table, as TOML with comments."""
    return draft_policy(ArrowEngine().read(source, ReadOptions(delimiter=delimiter, encoding=encoding)), k)
