"""anonymize, apply, lattice, compare, learn, measure, risk, workload, verify, save: the joiner of all below."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engine import Engine, ReadOptions, Source, WriteOptions
from shoal.engines import ArrowEngine
from shoal.engines.frames import read_again, to_native, to_same_kind
from shoal.engines.writing import QUOTE, count_defused, refuse_marker, style_of, to_table
from shoal.errors import BadInput, BadPolicy, ShoalWarning
from shoal.hierarchy import build
from shoal.mining import Learned
from shoal.models import Need
from shoal.plan import Plan, Task, make_plan, meet, orders_of, set_task, together, trees_of
from shoal.policy import Policy
from shoal.recode import GroupRecoding, NodeRecoding, Released, decoded
from shoal.report.alpha_files import GraphFile
from shoal.report.claims import agrees, claim_of, load_public
from shoal.report.comparing import Comparison, compare_algorithms, known_algorithms
from shoal.report.drafted import draft_policy
from shoal.report.earlier import COMPARED, Earlier
from shoal.report.figures import all_measures, of_workload, released_by
from shoal.report.folder import Places, known_format, write_whole
from shoal.report.lattice_files import LatticeFiles
from shoal.report.lattice_table import LatticeTable, list_nodes
from shoal.report.learning import figures_of, learn_from, set_lesson
from shoal.report.manifest import Data, Manifest, Separate, summarise
from shoal.report.measuring import measure_table
from shoal.report.private import load_private, write_private
from shoal.report.public import write_public
from shoal.report.queried import builders_of, original_of, shown_in_folder, shown_in_memory
from shoal.report.risking import RiskAsked, assess, read_for_risk
from shoal.risk import Assessment
from shoal.schema import Role
from shoal.search import Stop, Watch
from shoal.verify import Claim, Original, Status, Verdict, check_hash, count, covers, judge, opened, refuse_failures
from shoal.verify.groups import count_groups, covers_groups, read_separate
from shoal.workload import (
    SANITY,
    Query,
    WorkloadReport,
    attributes_of,
    compare_answers,
    load_queries,
    queries_of,
    random_queries,
    toml_of,
)

Source_ = Any
"""A path, `-` for stdin, or a frame of any kind that narwhals knows."""
Path_ = str | os.PathLike[str]
Policy_ = Policy | Path_ | Mapping[str, Any] | Earlier
"""A policy, the path of its file, a mapping of its parts, or an earlier release."""


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
    earlier: Path | None = None
    """The private folder whose recoding was applied, which is never written over either."""

    @cached_property
    def table(self) -> pa.Table:
        """The release as an Arrow table, rows in the order of the input."""
        return to_table(self.columns)

    @cached_property
    def data(self) -> Any:
        """The release as the same kind of frame as came in; a pyarrow Table where a file came in."""
        return to_native(self.source, self.table, self.rows, self.made)

    @property
    def made(self) -> set[str]:
        """The released columns that were made from quasi-identifiers, or the groups of Anatomy."""
        if isinstance(self.plan.recoding, GroupRecoding):
            return {self.plan.recoding.column}
        return {column for columns in self.plan.released_as.values() for column in columns}

    @cached_property
    def separate(self) -> dict[str, Released] | None:
        """The other table of Anatomy: how often each sensitive value occurs in each group."""
        recoding = self.plan.recoding
        if not isinstance(recoding, GroupRecoding):
            return None
        return recoding.separate(self.source.table[recoding.sensitive])

    @cached_property
    def separate_data(self) -> Any:
        """The same as a frame of the kind that came in."""
        return None if self.separate is None else to_same_kind(self.source, to_table(self.separate))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Every promise, judged on the frame that is handed out, its columns read and counted afresh (design 14)."""
        handed_out = read_again(self.engine, self.data, read_options(self.policy), self.made)
        second = None if self.separate is None else to_table(self.separate)
        return self._judged(decoded(handed_out), second, {}, self.rows)

    @cached_property
    def summary(self) -> Manifest:
        """The manifest as a frozen value."""
        second = None if self.separate is None else Separate(columns=tuple(self.separate))
        data = Data(format="frame", columns=tuple(self.columns), separate=second)
        return summarise(self.plan, self.policy, self.source, self.verdicts, data, self.notes)

    @property
    def claim(self) -> Claim:
        roles = self.plan.roles
        quasi = [name for name in self.columns if name in self.made]
        released = [*self.columns, *(self.separate or ())]
        sensitive = [name for name in released if roles.get(name) is Role.SENSITIVE and name not in self.made]
        shown = self.plan.after.suppressed_rows if self.policy.release.suppressed == "show" else 0
        return Claim(
            quasi,
            sensitive,
            self.policy.models,
            len(self.rows),
            list(self.columns),
            shown=shown,
            persons=self.policy.unit is not None,
            statistics=self.plan.statistics,
            observed=self.plan.observed,
            by_label=self.plan.by_label,
        )

    def original(self, rows: NDArray[np.int64]) -> Original:
        """The input as verify needs it; `rows` are the input rows in the order of the release."""
        reading, recoding = self.plan.reading, self.plan.recoding
        return Original(
            self.source.table,
            self.plan.hierarchies,
            recoding.levels if isinstance(recoding, NodeRecoding) else {},
            rows=None if isinstance(recoding, NodeRecoding) else rows,
            unit=reading.unit,
            trees=reading.levels,
            order=reading.order,
            together=tuple(reading.joint),
            population=self.source.population,
            tree_labels=reading.level_labels,
        )

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
        places = Places.choose(out, private, self.path, force=force, earlier=self.earlier)
        options = self.write_options(format)
        kind = options.format
        with places.filled() as (public, secret):
            file = public / f"data.{kind}"
            written = self.engine.write(self.columns, file, self.source, options)
            other = public / f"sensitive.{kind}"
            second = None
            if self.separate is not None:
                told = self.engine.write(self.separate, other, self.source, replace(options, keep_order=False))
                second = Separate(file=other.name, sha256=told.sha256, columns=tuple(self.separate))
            data = Data(
                file=file.name,
                sha256=written.sha256,
                format=kind,
                delimiter=self.source.delimiter,
                quote=self.source.quote or QUOTE,
                missing=self.source.missing,
                spreadsheet_safe=kind == "csv" and options.spreadsheet_safe,
                columns=tuple(self.columns),
                separate=second,
            )
            verdicts = self._verify_file(file, data, self.rows[written.order])
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

    def _verify_file(self, file: Path, data: Data, rows: NDArray[np.int64]) -> list[Verdict]:
        """Re-read what was written and judge it; a file that does not keep its promises is never published."""
        second = data.separate
        other = None if second is None else file.with_name(second.file or "")
        verdicts = self._judged(file, other, data.model_dump(), rows)
        verdicts.append(check_hash(file, data.sha256 or ""))
        if other is not None and second is not None:
            verdicts.append(check_hash(other, second.sha256 or ""))
        refuse_failures(verdicts)
        return verdicts

    def _judged(
        self,
        release: Path | pa.Table,
        separate: Path | pa.Table | None,
        how: Mapping[str, Any],
        rows: NDArray[np.int64],
    ) -> list[Verdict]:
        """Every promise of a file or a table whose rows came from these rows of the input."""
        claim, original = self.claim, self.original(rows)
        with opened(release, claim.columns, how, listed=original.rows is not None) as database:
            if separate is None:
                return [*judge(claim, count(database, claim, original)), covers(database, claim, original)]
            counted = count_groups(database, read_separate(separate, list(self.separate or ()), how), claim, original)
            return [*judge(claim, counted), covers_groups(database, counted, claim, original)]

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
    return _handed_out(prepare(source, policy, watch=watch, stop=stop))


def apply(
    private: Path_,
    source: Source_,
    *,
    suppression: float | str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Release:
    """The recoding of an earlier release, found in its private folder, applied to new rows; verified like any other.

    Rows are suppressed where needed, as many as the earlier policy or `suppression` allows, else Infeasible is raised.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
    ...     _ = anonymize(pa.table({"age": [31, 38, 52, 59]}), policy).save(f"{folder}/out")
    ...     release = apply(f"{folder}/out.private", pa.table({"age": [20, 25, 21]}))
    >>> release.data["age"].to_pylist()
    ['[20, 30)', '[20, 30)', '[20, 30)']
    """
    earlier = Earlier.load(private, suppression=suppression, delimiter=delimiter, encoding=encoding)
    return _handed_out(prepare(source, earlier))


def _handed_out(release: Release) -> Release:
    """The release once it is verified, its notes shown to the caller of the caller."""
    refuse_failures(release.verdicts)
    for note in release.notes:
        warnings.warn(ShoalWarning(note), stacklevel=3)
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
    # refuse a bad place before the work, not after it
    Places.choose(out, private, _path(source), force=force, earlier=_folder(policy))
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
        Places.choose(out, private, _path(source), force=force, earlier=_folder(policy))
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
    if isinstance(policy, Earlier):
        with policy.explained():
            release = prepare(source, policy.policy, watch=watch, stop=stop, engine=engine)
        return replace(release, notes=(*release.notes, COMPARED), earlier=policy.folder)
    engine = engine or ArrowEngine()
    policy = _policy(policy)
    with _noted() as notes:
        read = _read(source, policy, engine)
        plan = make_plan(read, policy, engine, watch, stop)
        if policy.release.order == "keep":
            warnings.warn(ShoalWarning("order = 'keep': the order of the rows can identify people"), stacklevel=2)
    columns, rows = released_by(plan, policy, read)
    return Release(policy, read, plan, columns, rows, tuple(dict.fromkeys(notes)), engine, _path(source))


def _policy(given: Policy | Path_ | Mapping[str, Any]) -> Policy:
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | os.PathLike):
        return Policy.load(given)
    try:
        return Policy(**given)
    except TypeError:  # no mapping, or keys that are not text
        kind = type(given).__name__
        raise BadPolicy(f"a policy is a Policy, the path of its file or a mapping of its parts, not {kind!r}") from None


def _folder(policy: Policy_) -> Path | None:
    return policy.folder if isinstance(policy, Earlier) else None


def _path(source: Source_) -> Path | None:
    return Path(source) if isinstance(source, str | os.PathLike) and str(source) != "-" else None


def lattice(
    source: Source_,
    policy: Policy | Path_ | Mapping[str, Any],
    *,
    picture: Path_ | None = None,
    csv: Path_ | None = None,
    force: bool = False,
    watch: Watch = lambda *_: None,
) -> LatticeTable:
    """Every node of the policy's lattice: whether it complies, what it costs, and whether any node is plainly better.

    `picture` (an SVG or a PNG) and `csv` are files to write it to as well; what they tell of the table is private.

    >>> import pyarrow as pa
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> table = lattice(pa.table({"age": [31, 38, 52, 59]}), policy)
    >>> [(node.levels, node.suppressed, node.complies) for node in table.nodes]
    [((0,), 4, False), ((1,), 4, False), ((2,), 0, True), ((3,), 0, True)]
    >>> table.best.levels, table.best.metrics["average-class"]
    ((2,), 2.0)
    """
    files = LatticeFiles.choose(picture, csv, _path(source), force=force)
    policy = _policy(policy)
    table = list_nodes(_task(source, policy), policy, watch)
    files.write(table)
    return table


def compare(
    source: Source_,
    policy: Policy | Path_ | Mapping[str, Any],
    *,
    algorithms: Sequence[str] | None = None,
    target: str | None = None,
    learners: str | Sequence[str] | None = None,
    queries: Path_ | Iterable[Query | Mapping[str, Any]] | None = None,
    random: int | None = None,
    seed: int = 0,
    sanity: float = SANITY,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Comparison:
    """What several algorithms, all unless named, make of one table and policy; the table is read and counted once.

    Every measure is among the `figures` of a run; with `queries`, or so many `random` ones, the errors of their answers
    too, and with a `target` what `learn` would tell.

    >>> import pyarrow as pa
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> found = compare(pa.table({"age": [31, 38, 52, 59]}), policy, algorithms=["optimal", "datafly"])
    >>> [(run.algorithm, run.height, run.proved) for run in found.runs]
    [('optimal', 2, True), ('datafly', 2, False)]
    """
    chosen = known_algorithms(None if algorithms is None else _several(algorithms))
    policy, engine = _policy(policy), ArrowEngine()
    with _once():
        read = _read(source, policy, engine)
        further = [all_measures(read)]
        if queries is not None or random is not None:
            asked = _asked(read, policy, queries, random, seed=seed)
            further.append(of_workload(read, asked, sanity))
        if target is not None:
            lesson = set_lesson(read, policy, target, learners=None if learners is None else _several(learners))
            further.append(figures_of(read, engine, lesson, stop))
        return compare_algorithms(read, policy, engine, chosen, watch, stop, further)


def learn(
    source: Source_,
    policy: Policy | Path_ | Mapping[str, Any],
    *,
    target: str,
    learners: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    rows: int | None = None,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Learned:
    """How well classifiers predict a column when trained on the original and on the release; needs `shoal[learn]`.

    Cross-validated: each fold's training rows are anonymized by themselves, and the rows held out are shown through the
    recoding found (`Learned.how`). `features` are the quasi-identifiers unless named; at most `rows` are trained on.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [21, 22, 23, 61, 62, 63] * 4, "ill": ["no", "no", "no", "yes", "yes", "yes"] * 4})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
    >>> policy = Policy(attributes={"age": age, "ill": "sensitive"}, require=[{"model": "k-anonymity", "k": 4}])
    >>> learned = learn(people, policy, target="ill", learners="logistic", folds=3)
    >>> learned.majority.mean, [(score.original.mean, score.release.mean) for score in learned.scores]
    (0.5, [(1.0, 1.0)])
    """
    policy, engine = _policy(policy), ArrowEngine()
    asked, named = (None if given is None else _several(given) for given in (learners, features))
    with _once():
        read = _read(source, policy, engine)
        lesson = set_lesson(read, policy, target, learners=asked, features=named, folds=folds, seed=seed, rows=rows)
        return learn_from(read, policy, engine, lesson, watch, stop)


def _task(source: Source_, policy: Policy) -> Task:
    engine = ArrowEngine()
    return set_task(_read(source, policy, engine), policy, engine)


def _read(source: Source_, policy: Policy, engine: Engine) -> Source:
    """The table and, where a model compares with everybody, the population; both are read as [data] says."""
    read = engine.read(source, read_options(policy))
    if policy.population is None:
        return read
    return meet(read, engine.read(policy.population, read_options(policy)), policy.quasi_identifiers)


def measure(
    source: Source_,
    *,
    quasi_identifiers: str | Sequence[str],
    sensitive: str | Sequence[str] = (),
    unit: str | None = None,
    missing: str | Sequence[str] = ("",),
    ignore_suppressed: bool = False,
    options: ReadOptions | None = None,
    graph: Path_ | None = None,
    force: bool = False,
    show_values: bool = False,
) -> dict[str, Any]:
    """Every model's attained value for a table as it is; no policy needed.

    With a `unit`, persons are counted, not rows. `graph` is a file (.graphml, .svg, .png) for the graph of the
    sensitive values and the classes. `show_values` names what the members of the worst classes share.

    >>> import pyarrow as pa
    >>> measure(pa.table({"sex": ["f", "f", "m"]}), quasi_identifiers="sex")["models"][0]
    {'model': 'k-anonymity', 'attained': {'k': 1}, 'worst': {'size': 1, 'rows': [3]}}
    """
    file = None if graph is None else GraphFile.choose(graph, _path(source), _several(sensitive), force=force)
    read = ArrowEngine().read(source, options or ReadOptions(missing=tuple(_several(missing))))
    return measure_table(
        read,
        _several(quasi_identifiers),
        _several(sensitive),
        unit=unit,
        ignore_suppressed=ignore_suppressed,
        graph=file,
        show_values=show_values,
    )


def risk(
    source: Source_,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    weight: str | None = None,
    unit: str | None = None,
    population: Source_ = None,
    population_size: int | None = None,
    threshold: float = 0.2,
    preset: str | Sequence[str] = (),
    missing: str | Sequence[str] = ("",),
    options: ReadOptions | None = None,
    watch: Watch = lambda *_: None,
    **further: Any,
) -> Assessment:
    """How easily people are found in a table or in the folder of a release, which names its quasi-identifiers itself.

    Without quasi-identifiers it looks for identifiers and for combinations of columns that tell rows apart. Further
    keywords are the other fields of `RiskAsked`: `suda`, `suda_size`, `discover`, `identifiers` …

    >>> import pyarrow as pa
    >>> found = risk(pa.table({"age": [31, 31, 31, 52, 52, 60]}), quasi_identifiers="age", threshold=0.34)
    >>> found.document()["reidentification"]["prosecutor"]
    {'basis': 'the table', 'max': 1.0, 'average': 0.5, 'at_risk': 3, 'certain': 1}
    """
    quasi, secret, presets = (tuple(_several(given)) for given in (quasi_identifiers, sensitive, preset))
    about = RiskAsked(quasi, secret, weight, unit, population, population_size, threshold, presets, **further)
    how, engine = options or ReadOptions(missing=tuple(_several(missing))), ArrowEngine()
    read, about, dropped = read_for_risk(source, how, about, engine)
    everybody = None if about.population is None else engine.read(about.population, how)
    return assess(read, about, everybody, watch, dropped)


def _several(names: str | Sequence[str]) -> list[str]:
    """One name or several, each once."""
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def workload(
    source: Source_,
    out: Path_ | Release,
    *,
    queries: Path_ | Iterable[Query | Mapping[str, Any]] | None = None,
    random: int | None = None,
    attributes: int = 2,
    selectivity: float = 0.1,
    seed: int = 0,
    sanity: float = SANITY,
    private: Path_ | None = None,
    save: Path_ | None = None,
    force: bool = False,
) -> WorkloadReport:
    """Answer queries from a release under the uniform assumption, beside the answers of the original (S4.8).

    `queries` is a file or the queries themselves, else so many `random` ones are drawn on so many quasi-identifiers
    each; `save` writes them as TOML. What comes back tells of the original: it is private.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 34, 38, 39]})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> release = anonymize(people, {"attributes": {"age": age}, "require": [{"model": "k-anonymity", "k": 2}]})
    >>> found = workload(people, release, queries=[{"count": True, "where": {"age": {"to": 34}}}, {"avg": "age"}])
    >>> [(one.estimate, one.actual, one.matches) for one in found.answered]
    [(2.0, 2.0, True), (34.5, 35.5, True)]
    """
    _refuse_both(queries, random)
    file = None if save is None else _new_file(save, _path(source), force=force)
    manifest = None if isinstance(out, Release) else load_public(Path(out))
    policy = out.policy if isinstance(out, Release) else load_private(_private(Path(out), private)).policy
    builders = out.plan.builders if isinstance(out, Release) else builders_of(policy)
    read = ArrowEngine().read(source, read_options(policy))
    original = original_of(read.table, read.name, policy, builders)
    asked = _asked(read, policy, queries, random, attributes=attributes, selectivity=selectivity, seed=seed)
    if file is not None:
        write_whole(file, toml_of(asked))
    names = attributes_of(asked)
    if isinstance(out, Release):
        shown = shown_in_memory(out.columns, out.plan, names, original)
    else:
        assert manifest is not None
        shown = shown_in_folder(Path(out), manifest, names, original)
    with _about(queries):
        return compare_answers(shown, original, asked, sanity=sanity)


def _refuse_both(queries: Any, random: int | None) -> None:
    if (queries is None) == (random is None):
        raise BadInput("give either a workload of queries or a number of random ones, not both and not neither")


def _asked(
    read: Source,
    policy: Policy,
    queries: Path_ | Iterable[Query | Mapping[str, Any]] | None,
    random: int | None,
    **how: Any,
) -> tuple[Query, ...]:
    """The queries of a file, those given, or random ones."""
    _refuse_both(queries, random)
    if random is not None:
        return random_queries(read.table, policy.quasi_identifiers, random, **how)
    return load_queries(queries) if isinstance(queries, str | os.PathLike) else queries_of(queries or ())


@contextmanager
def _about(queries: Any) -> Iterator[None]:
    """Names the file of queries in what is wrong with one of them."""
    try:
        yield
    except BadInput as wrong:
        named = isinstance(queries, str | os.PathLike)
        raise BadInput(f"{Path(queries).name}: {wrong}" if named else str(wrong)) from None


def _new_file(path: Path_, source: Path | None, *, force: bool) -> Path:
    """A file that may be written: never over the table, over others only when forced."""
    file = Path(path)
    if source is not None and file.exists() and source.exists() and file.samefile(source):
        raise BadInput(f"{file.name}: the queries would be written over the table; name another file")
    if file.exists() and not force:
        raise BadInput(f"{file.name}: there is such a file already; use --force to replace it or name another")
    return file


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
    claim = claim_of(manifest, folder)
    asked_for = any(Need.POPULATION in model.needs for model in claim.models)
    if population is not None and not (asked_for and original is not None):
        ArrowEngine().read(population, ReadOptions())
    if population is not None and not asked_for:
        warnings.warn(ShoalWarning("no promise of this release looks at the population"), stacklevel=2)
    verdicts = [check_hash(file, data.sha256 or "")]
    everybody = population if asked_for else None
    policy, true = (None, None) if original is None else _original(folder, private, original, everybody)
    listed = true is not None and true.rows is not None
    with opened(file, data.columns, data.model_dump(), listed=listed) as release:
        if data.separate is None:
            counted = replace(count(release, claim, true), everybody=everybody is not None)
        else:
            other = folder / (data.separate.file or "")
            if not other.is_file() or other.parent != folder:
                raise BadInput(f"{folder.name}/{data.separate.file}: the other released table is missing")
            verdicts.append(check_hash(other, data.separate.sha256 or ""))
            told = read_separate(other, data.separate.columns, data.model_dump())
            counted = count_groups(release, told, claim, true)
        verdicts += judge(claim, counted)
        if policy is None or true is None:
            return [*verdicts, *(Verdict(promise, Status.NEEDS_ORIGINAL) for promise in NEED_ORIGINAL)]
        if data.separate is None:
            return [*verdicts, agrees(claim, policy, counted), covers(release, claim, true)]
        return [*verdicts, agrees(claim, policy, counted), covers_groups(release, counted, claim, true)]


NEED_ORIGINAL = ("claim", "truthful")
"""What is judged beside the promises of the manifest, against the original and the private folder."""


def _original(folder: Path, private: Path_ | None, original: Source_, population: Source_) -> tuple[Policy, Original]:
    """The policy of the private folder, and the input with its hierarchies and, where it is given, the population."""
    known = load_private(_private(folder, private))
    policy = known.policy
    read = ArrowEngine().read(original, read_options(policy))
    missing = [name for name in policy.attributes if name not in read.table.columns]
    if missing:
        raise BadInput(f"{read.name}: this is not the original: it has no column {missing[0]!r}")
    if population is not None:
        read = meet(read, ArrowEngine().read(population, read_options(policy)), policy.quasi_identifiers)
    named = known.levels if known.rows is None else policy.quasi_identifiers
    kept = {name: policy.attributes[name].hierarchy for name in named}
    hierarchies = {name: build(read.table[name], builder) for name, builder in kept.items() if builder is not None}
    trees = trees_of(read.table, policy)
    return policy, Original(
        read.table,
        hierarchies,
        known.levels,
        unit=policy.unit,
        trees={name: tree.levels for name, tree in trees.items()},
        order=orders_of(policy),
        together=together(policy, sorted(policy.quasi_identifiers)),
        population=read.population,
        tree_labels={name: tree.labels for name, tree in trees.items()},
        rows=known.rows,
    )


def _private(folder: Path, private: Path_ | None) -> Path:
    return Path(private) if private else folder.absolute().with_name(folder.absolute().name + ".private")


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


@contextmanager
def _once() -> Iterator[None]:
    """Says once what the folds or the algorithms would say again and again."""
    with _noted() as notes:
        yield
    for note in dict.fromkeys(notes):
        warnings.warn(ShoalWarning(note), stacklevel=4)


def draft(source: Source_, *, k: int = 5, delimiter: str | None = None, encoding: str | None = None) -> str:
    """A first policy for a table, as TOML with comments."""
    return draft_policy(ArrowEngine().read(source, ReadOptions(delimiter=delimiter, encoding=encoding)), k)
