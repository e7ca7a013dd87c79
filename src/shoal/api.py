"""anonymize, measure, verify, save: the only joiner of plan, engines, verify and report."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engine import Engine, ReadOptions, Source, WriteOptions
from shoal.engines import ArrowEngine
from shoal.engines.frames import read_again, to_native
from shoal.engines.writing import QUOTE, count_defused, refuse_marker, style_of, to_table
from shoal.errors import BadInput, BadPolicy, ShoalWarning
from shoal.hierarchy import build
from shoal.plan import Plan, make_plan
from shoal.policy import Policy
from shoal.recode import Released, decoded, recode
from shoal.report.claims import agrees, claim_of, load_public
from shoal.report.drafted import draft_policy
from shoal.report.folder import Places, known_format
from shoal.report.manifest import Data, Manifest, summarise
from shoal.report.measuring import measure_table
from shoal.report.private import load_private, write_private
from shoal.report.public import write_public
from shoal.search import Stop, Watch
from shoal.verify import Claim, Original, Status, Verdict, check_hash, count, covers, judge, opened, refuse_failures

Source_ = Any
"""A path, `-` for stdin, or a frame of any kind that narwhals knows."""
Path_ = str | os.PathLike[str]
Policy_ = Policy | Path_ | Mapping[str, Any]
"""A policy, the path of its file, or a mapping of its parts."""


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
        handed_out = read_again(self.engine, self.data, read_options(self.policy), set(self.plan.hierarchies))
        with opened(decoded(handed_out), list(self.columns), {}) as release:
            claim = self.claim
            return [*judge(claim, count(release, claim)), covers(release, claim, self.original)]

    @cached_property
    def summary(self) -> Manifest:
        """The manifest as a frozen value."""
        data = Data(format="frame", columns=tuple(self.columns))
        return summarise(self.plan, self.policy, self.source, self.verdicts, data, self.notes)

    @property
    def claim(self) -> Claim:
        roles = self.plan.roles
        quasi = [name for name in self.columns if name in self.plan.hierarchies]
        sensitive = [name for name in self.columns if roles[name] == "sensitive"]
        shown = self.plan.after.suppressed_rows if self.policy.release.suppressed == "show" else 0
        return Claim(quasi, sensitive, self.policy.models, len(self.rows), list(self.columns), shown=shown)

    @property
    def original(self) -> Original:
        return Original(self.source.table, self.plan.hierarchies, self.plan.recoding.levels)

    def save(
        self,
        out: Path_,
        *,
        private: Path_ | None = None,
        format: str | None = None,  # noqa: A002
        force: bool = False,
        reproducible: bool = False,
    ) -> Manifest:
        """Write `out/` and `out.private/`, both or none, verified as re-read from disk."""
        places = Places.choose(out, private, self.path, force=force)
        options = self.write_options(format)
        kind = options.format
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
                spreadsheet_safe=kind == "csv" and options.spreadsheet_safe,
                columns=tuple(self.columns),
            )
            verdicts = self._verify_file(file, data)
            manifest = summarise(self.plan, self.policy, self.source, verdicts, data, self._notes(data))
            if reproducible:
                manifest = manifest.without_times()
            write_public(public, manifest, self.plan, self.columns)
            write_private(secret, manifest, self.plan, self.policy, self.source, self.rows[written.order])
        return manifest

    def write_options(self, format: str | None) -> WriteOptions:  # noqa: A002
        """How it will be written; refused where a reader could not tell null from everything else."""
        kind = known_format(format or ("parquet" if self.source.format in {"parquet", "arrow"} else "csv"))
        options = WriteOptions(kind, self.policy.release.order == "keep", self.policy.release.spreadsheet_safe)
        if kind == "csv":
            refuse_marker(self.columns, style_of(self.source, options), self.policy.data.missing)
        return options

    def _verify_file(self, file: Path, data: Data) -> list[Verdict]:
        """Re-read what was written and judge it; a file that does not keep its promises is never published."""
        claim = self.claim
        with opened(file, claim.columns, data.model_dump()) as release:
            verdicts = [*judge(claim, count(release, claim)), covers(release, claim, self.original)]
        verdicts.append(check_hash(file, data.sha256 or ""))
        refuse_failures(verdicts)
        return verdicts

    def _notes(self, data: Data) -> list[str]:
        defused = count_defused(self.columns) if data.spreadsheet_safe else 0
        if not defused:
            return list(self.notes)
        note = (
            f"{defused} cell(s) that a spreadsheet would run as a formula got a leading '; set "
            "spreadsheet-safe = false under [release] to keep them as they are"
        )
        return [*self.notes, note]


def anonymize(
    source: Source_, policy: Policy_, *, watch: Watch = lambda *_: None, stop: Stop = lambda: False
) -> Release:
    """The table of least loss that keeps the policy, verified; raises Infeasible when there is none.

    `watch` sees every question of the search; once `stop` says so, an anytime search ends with its best node so far.

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
    release = prepare(source, policy, watch=watch, stop=stop)
    refuse_failures(release.verdicts)
    for note in release.notes:
        warnings.warn(ShoalWarning(note), stacklevel=2)
    return release


def publish(
    source: Source_,
    policy: Policy_,
    out: Path_,
    *,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
    force: bool = False,
    private: Path_ | None = None,
    format: str | None = None,  # noqa: A002
    reproducible: bool = False,
) -> Manifest:
    """Anonymize and save in one go, verifying the file only."""
    Places.choose(out, private, _path(source), force=force)  # refuse a bad place before the work, not after it
    known_format(format or "csv")
    release = prepare(source, policy, watch=watch, stop=stop)
    return release.save(out, private=private, format=format, force=force, reproducible=reproducible)


def dry_run(
    source: Source_,
    policy: Policy_,
    *,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
    out: Path_ | None = None,
    force: bool = False,
    private: Path_ | None = None,
    format: str | None = None,  # noqa: A002
    reproducible: bool = False,
) -> Manifest:
    """Search and judge, refuse what `publish` would refuse, write nothing."""
    if out is not None:
        Places.choose(out, private, _path(source), force=force)
    elif private is not None:
        raise BadInput("a private folder was named, but no folder for the release; name it too with --out")
    known_format(format or "csv")
    release = prepare(source, policy, watch=watch, stop=stop)
    release.write_options(format)
    refuse_failures(release.verdicts)
    return release.summary.without_times() if reproducible else release.summary


def prepare(
    source: Source_,
    policy: Policy_,
    *,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
    engine: Engine | None = None,
) -> Release:
    """A release that was not judged yet."""
    engine = engine or ArrowEngine()
    policy = _policy(policy)
    with _noted() as notes:
        read = engine.read(source, read_options(policy))
        plan = make_plan(read, policy, engine, watch, stop)
        if policy.release.order == "keep":
            warnings.warn(ShoalWarning("order = 'keep': the order of the rows can identify people"), stacklevel=2)
    released = [name for name, role in plan.roles.items() if role.released]
    show = policy.release.suppressed == "show"
    columns, rows = recode(read.table, plan.recoding, plan.hierarchies, released, show=show)
    return Release(policy, read, plan, columns, rows, tuple(notes), engine, _path(source))


def _policy(given: Policy_) -> Policy:
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | os.PathLike):
        return Policy.load(given)
    try:
        return Policy(**given)
    except TypeError:  # no mapping, or keys that are not text
        kind = type(given).__name__
        raise BadPolicy(f"a policy is a Policy, the path of its file or a mapping of its parts, not {kind!r}") from None


def _path(source: Source_) -> Path | None:
    return Path(source) if isinstance(source, str | os.PathLike) and str(source) != "-" else None


def measure(
    source: Source_,
    *,
    quasi_identifiers: str | Sequence[str],
    sensitive: str | Sequence[str] = (),
    missing: str | Sequence[str] = ("",),
    ignore_suppressed: bool = False,
    options: ReadOptions | None = None,
) -> dict[str, Any]:
    """Every model's attained value for a table as it is; no policy needed.

    >>> import pyarrow as pa
    >>> measure(pa.table({"sex": ["f", "f", "m"]}), quasi_identifiers="sex")["models"]
    [{'model': 'k-anonymity', 'attained': {'k': 1}}]
    """
    read = ArrowEngine().read(source, options or ReadOptions(missing=tuple(_several(missing))))
    return measure_table(read, _several(quasi_identifiers), _several(sensitive), ignore_suppressed=ignore_suppressed)


def _several(names: str | Sequence[str]) -> list[str]:
    """One name or several, each once."""
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def verify(
    out: Path_,
    *,
    original: Source_ = None,
    population: Source_ = None,
    private: Path_ | None = None,
) -> list[Verdict]:
    """Judge a release on disk: every promise holds, fails, or needs what was not given."""
    folder = Path(out)
    manifest = load_public(folder)
    data = manifest.data
    file = folder / (data.file or "")
    if not file.is_file() or file.parent != folder:
        raise BadInput(f"{folder.name}/{data.file}: the released table is missing")
    if population is not None:
        ArrowEngine().read(population, ReadOptions())
        warnings.warn(ShoalWarning("no promise of this release looks at the population"), stacklevel=2)
    claim = claim_of(manifest, folder)
    verdicts = [check_hash(file, data.sha256 or "")]
    with opened(file, data.columns, data.model_dump()) as release:
        counted = count(release, claim)
        verdicts += judge(claim, counted)
        if original is None:
            return [*verdicts, *(Verdict(promise, Status.NEEDS_ORIGINAL) for promise in NEED_ORIGINAL)]
        policy, true = _original(folder, private, original)
        return [*verdicts, agrees(claim, policy, counted), covers(release, claim, true)]


NEED_ORIGINAL = ("claim", "truthful")
"""What is judged beside the promises of the manifest, against the original and the private folder."""


def _original(folder: Path, private: Path_ | None, original: Source_) -> tuple[Policy, Original]:
    """The policy of the private folder, and the input with its hierarchies."""
    secret = Path(private) if private else folder.absolute().with_name(folder.absolute().name + ".private")
    policy, levels = load_private(secret)
    read = ArrowEngine().read(original, read_options(policy))
    missing = [name for name in policy.attributes if name not in read.table.columns]
    if missing:
        raise BadInput(f"{read.name}: this is not the original: it has no column {missing[0]!r}")
    kept = {name: policy.attributes[name].hierarchy for name in levels}
    hierarchies = {name: build(read.table[name], builder) for name, builder in kept.items() if builder is not None}
    return policy, Original(read.table, hierarchies, levels)


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


def draft(source: Source_, *, k: int = 5, delimiter: str | None = None, encoding: str | None = None) -> str:
    """A first policy for a table, as TOML with comments."""
    return draft_policy(ArrowEngine().read(source, ReadOptions(delimiter=delimiter, encoding=encoding)), k)
