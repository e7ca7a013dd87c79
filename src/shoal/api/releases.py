"""anonymize, apply, block, verify: from a table and a policy to a release, and back."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from shoal.blocking.block import BlockedTable, block_table
from shoal.engine_port import Ability, Engine, ReadOptions, WriteOptions
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import choose_engine, read_into_memory, read_options, refuse_missing_abilities
from shoal.engines.postgres.connection import Postgres, parse_postgres_table
from shoal.engines.postgres.tables import ask_of, refuse_target
from shoal.engines.table_writer import style_of, text_order, write_csv
from shoal.errors import BadInput, ShoalWarning
from shoal.explore.advice import advise, audit_with_original
from shoal.explore.measure import refuse_roles
from shoal.hierarchy.build import build
from shoal.inputs import (
    PathLike,
    PolicyLike,
    SourceLike,
    TargetLike,
    earlier_folder_of,
    path_of,
    private_folder_of,
    target_of,
    unique_names,
)
from shoal.models.model import Need
from shoal.pipeline import Release, make_release, publish_release
from shoal.policy.document import Policy
from shoal.policy.sections import SuppressionLike
from shoal.problem import columns_counted_together, orders_of, sensitive_hierarchies_of, with_population
from shoal.publish.claims import claim_of, judge_claim, judge_counterfeits, load_public
from shoal.publish.contents import PrivateFolder, VerdictAtRelease, load_private, public_manifest_of, read_verdict
from shoal.publish.data_files import choose_write_options
from shoal.publish.fixed_recoding import EarlierRelease, FixedRecoding, Outside
from shoal.publish.folder import Places, known_format, partitioned_format, refuse_file
from shoal.publish.manifest import Manifest
from shoal.publish.released_table import Frame
from shoal.publish.verification import log_verdicts, original_levels, original_table
from shoal.report.pages.public_view import inspect_public_release
from shoal.republish.history import count_releases
from shoal.runtime.events import phase, run
from shoal.runtime.memory import bytes_of, explain_memory_error
from shoal.runtime.tempdir import remove_scratch_folders
from shoal.search.driver import Stop, Watch
from shoal.verify.claim import Original, Status, Verdict, refuse_failures
from shoal.verify.judge import ADDED, judge, judge_labels, judge_people, judge_rounding
from shoal.verify.open_release import Room, opened
from shoal.verify.release_files import check_hash, table_in
from shoal.verify.released_counts import count_groups, count_released, covers_groups, read_separate
from shoal.verify.truth_by_level import covers


def block(
    source: SourceLike,
    sensitive: str,
    quasi_identifiers: str | Sequence[str] = (),
    *,
    out: PathLike | None = None,
    force: bool = False,
    seed: int = 0,
    options: ReadOptions | None = None,
    **blocking: Any,
) -> BlockedTable:
    """Block the inference channels of a table that is anonymous already, by added rows (S1.3).

    No policy and no original are needed: labels are read as values, and columns of `*` stay as they are. The other
    options are those of `[blocking]`: `confidence`, `h`, `over`, `at`, `by` and so on. Without quasi-identifiers all
    other columns are; k is counted by them, and is never lowered. `out` is a CSV file for the table.

    >>> import pyarrow as pa
    >>> ages, ill = ["<30"] * 4 + ["3*"] * 4, ["flu", "flu", "flu", "cold"] + ["cold"] * 4
    >>> block(pa.table({"age": ages, "ill": ill}), "ill", confidence=0.5)
    BlockedTable(12 rows, 4 added, 1 channels, 0 left)
    """
    file = None if out is None else Path(out)
    if file is not None:
        refuse_file(file, (".csv",), path_of(source), force=force)
    read = read_into_memory(source, replace(options or ReadOptions(missing=("",)), guess_encoding=True))
    others = [name for name in read.table.columns if name != sensitive]
    quasi = unique_names(quasi_identifiers) or others
    refuse_roles(read, quasi, [sensitive], None)
    roles = {name: "quasi-identifier" if name in quasi else "insensitive" for name in others}
    policy = Policy(
        attributes={**roles, sensitive: "sensitive"},
        require=[{"model": "k-anonymity", "k": 1}],
        method={"seed": seed},
        blocking=blocking,
    )
    done = block_table(read.table, policy)
    if file is not None:
        write_csv(done.columns, text_order(done.columns), file, style_of(read, WriteOptions()))
    return done


def verify(
    out: PathLike,
    original: SourceLike = None,
    *,
    population: SourceLike = None,
    private: PathLike | None = None,
    memory: str | int | None = None,
    reading: Mapping[str, Any] | None = None,
) -> list[Verdict]:
    """Judge a release on disk: every promise holds, fails, or needs what was not given.

    `reading` holds keys of [data], e.g. {"delimiter": ";"}, for an original or a population written in another way.

    With `memory`, e.g. "2GB", what does not fit is spilled; so it is for an original that seems not to fit in memory.
    """
    with run("verify"), explain_memory_error(), remove_scratch_folders():
        verdicts = _judge_folder(Path(out), original, population, private, memory, reading or {})
        log_verdicts(verdicts)
        return verdicts


def find_verdict(out: PathLike, private: PathLike | None = None) -> VerdictAtRelease | None:
    """Return the verdict that was given when a release was made, where its private folder is there."""
    return read_verdict(Path(out), private_folder_of(Path(out), private))


@phase("verifying")
def _judge_folder(
    folder: Path,
    original: SourceLike,
    population: SourceLike,
    private: PathLike | None,
    memory: str | int | None,
    reading: Mapping[str, Any],
) -> list[Verdict]:
    manifest = load_public(folder)
    data = manifest.data
    file = table_in(folder, data.file)
    claim = claim_of(manifest, folder)
    asked_for = any(Need.POPULATION in model.needs for model in claim.models)
    if population is not None and not (asked_for and original is not None):
        ArrowEngine().read(population, read_options(None, reading))
    if population is not None and not asked_for:
        warnings.warn(ShoalWarning("no promise of this release looks at the population"), stacklevel=2)
    verdicts = [check_hash(file, data.sha256 or "")]
    everybody = population if asked_for else None
    beside = private_folder_of(folder, private)
    known = None if original is None else load_private(beside)
    true = None if known is None else _original(known, original, everybody, memory, reading)
    listed = true is not None and true.rows is not None
    room = Room(None if memory is None else bytes_of(memory), files=() if true is None else tuple(true.files))
    with opened(file, data.columns, data.model_dump(), listed=listed, room=room) as release:
        verdicts += judge_counterfeits(manifest, folder, release, claim, true)
        if data.separate is None:
            counted = replace(count_released(release, claim, true), everybody=everybody is not None)
        else:
            other = table_in(folder, data.separate.file)
            verdicts.append(check_hash(other, data.separate.sha256 or ""))
            told = read_separate(other, data.separate.columns, data.model_dump())
            counted = count_groups(release, told, claim, true)
        verdicts += [*judge(claim, counted, true), *judge_people(claim, counted), *judge_labels(claim, release)]
        verdicts += judge_rounding(claim, release)
        if known is None or true is None:
            return [*verdicts, *(Verdict(promise, Status.NEEDS_ORIGINAL) for promise in _BESIDE)]
        verdicts.append(judge_claim(manifest, claim, known, count_releases(beside), counted, true))
        if data.separate is None:
            return [*verdicts, covers(release, claim, true)]
        return [*verdicts, covers_groups(release, counted, claim, true)]


_BESIDE = ("claim", "truthful")
NEED_ORIGINAL = (*_BESIDE, ADDED)
"""What is judged beside the promises of the manifest, against the original and the private folder."""


def _original(
    known: PrivateFolder,
    original: SourceLike,
    population: SourceLike,
    memory: str | int | None,
    reading: Mapping[str, Any],
) -> Original:
    """Read the original with the hierarchies of the private folder and, where given, the population."""
    policy = known.policy
    engine = choose_engine("auto", memory, original)
    refuse_missing_abilities(policy, engine)
    if known.rows is not None and Ability.ROW_MAP not in engine.abilities:
        raise BadInput("checking a row map needs the original in memory: set no limit of memory, or a higher one")
    how = read_options(policy, reading)
    read = engine.read(original, how)
    missing = [name for name in policy.attributes if name not in read.table.columns]
    if missing:
        raise BadInput(f"{read.name}: this is not the original: it has no column {missing[0]!r}")
    if population is not None:
        read = with_population(read, ArrowEngine().read(population, how), policy.quasi_identifiers)
    named = known.levels if known.rows is None and known.points is None else policy.quasi_identifiers
    kept = {name: policy.attributes[name].hierarchy for name in named}
    hierarchies = {name: build(read.table[name], builder) for name, builder in kept.items() if builder is not None}
    if any(name not in hierarchies or level > hierarchies[name].height for name, level in known.levels.items()):
        raise BadInput("the manifest of the private folder tells levels that the hierarchies of its policy do not have")
    trees = sensitive_hierarchies_of(read.table, policy)
    return Original(
        original_table(read.table),
        original_levels(hierarchies, {name: builder for name, builder in kept.items() if builder is not None}),
        known.levels,
        unit=policy.unit,
        trees={name: tree.levels for name, tree in trees.items()},
        order=orders_of(policy),
        together=columns_counted_together(policy, sorted(policy.quasi_identifiers)),
        quasi=tuple(sorted(policy.quasi_identifiers)),
        population=None if read.population is None else original_table(read.population),
        tree_labels={name: tree.labels for name, tree in trees.items()},
        rows=known.rows,
        points=known.points,
        attained=[model.attained for model in known.manifest.models],
        worst=[model.worst for model in known.manifest.models],
    )


@overload
def anonymize(
    source: PathLike | Postgres,
    policy: PolicyLike,
    *,
    watch: Watch | None = ...,
    stop: Stop | None = ...,
    engine: Engine | str = ...,
    memory: str | int | None = ...,
    master: str | None = ...,
) -> Release[Any]: ...


@overload
def anonymize(
    source: Frame,
    policy: PolicyLike,
    *,
    watch: Watch | None = ...,
    stop: Stop | None = ...,
    engine: Engine | str = ...,
    memory: str | int | None = ...,
    master: str | None = ...,
) -> Release[Frame]: ...


def anonymize(
    source: SourceLike,
    policy: PolicyLike,
    *,
    watch: Watch | None = None,
    stop: Stop | None = None,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
) -> Release:
    """Make the release of least loss that keeps the policy, and verify it; raise Infeasible when there is none.

    `watch` sees every question of the search; once `stop` says so, an anytime search ends with its best node so far.
    `engine` is "arrow" for what fits in memory, "duckdb" for what does not fit in `memory`, e.g. "2GB", "spark" for
    what is on the cluster of `master`, or "auto".

    >>> import pyarrow as pa
    >>> from shoal.policy.document import Policy
    >>> people = pa.table({"age": [34, 36, 34, 51, 58, 52], "disease": ["flu", "flu", "hiv", "flu", "hiv", "flu"]})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(
    ...     attributes={"age": age, "disease": "sensitive"},
    ...     require=[{"model": "k-anonymity", "k": 3}],
    ... )
    >>> anonymize(people, policy).data["age"].to_pylist()
    ['[30, 40)', '[30, 40)', '[30, 40)', '[50, 60)', '[50, 60)', '[50, 60)']
    """
    with run("anonymize"), explain_memory_error(), remove_scratch_folders(kept=True):
        return refuse_unverified(
            make_release(source, policy, watch=watch, stop=stop, engine=engine, memory=memory, master=master)
        )


@overload
def apply(
    private: PathLike,
    source: PathLike | Postgres,
    *,
    suppression: SuppressionLike | None = ...,
    outside: Outside | None = ...,
    reading: Mapping[str, Any] | None = ...,
    engine: Engine | str = ...,
    memory: str | int | None = ...,
    master: str | None = ...,
) -> Release[Any]: ...


@overload
def apply(
    private: PathLike,
    source: Frame,
    *,
    suppression: SuppressionLike | None = ...,
    outside: Outside | None = ...,
    reading: Mapping[str, Any] | None = ...,
    engine: Engine | str = ...,
    memory: str | int | None = ...,
    master: str | None = ...,
) -> Release[Frame]: ...


def apply(
    private: PathLike,
    source: SourceLike,
    *,
    suppression: SuppressionLike | None = None,
    outside: Outside | None = None,
    reading: Mapping[str, Any] | None = None,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
) -> Release:
    """Apply the recoding of an earlier release, found in its private folder, to new rows; verified like any other.

    Levels fit every row. Into boxes and cells each row is put as its values were before, or else as the class of least
    loss that covers it; `outside` says what becomes of a row that none covers: "suppress", or "nearest", by which the
    nearest class is widened for all its rows. Means, medians, groups and bounds fit no other rows: they are refused.
    Rows are suppressed where needed, as many as the earlier policy or `suppression` allows, else Infeasible is raised.
    `reading` holds keys of [data], e.g. {"delimiter": ";"}, for rows that are written in another way.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from shoal.policy.document import Policy
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
    ...     _ = anonymize(pa.table({"age": [31, 38, 52, 59]}), policy).save(f"{folder}/out")
    ...     release = apply(f"{folder}/out.private", pa.table({"age": [20, 25, 21]}))
    >>> release.data["age"].to_pylist()
    ['[20, 30)', '[20, 30)', '[20, 30)']
    """
    with run("apply"), explain_memory_error(), remove_scratch_folders(kept=True):
        earlier = FixedRecoding.load(private, suppression=suppression, outside=outside, reading=reading)
        return refuse_unverified(make_release(source, earlier, engine=engine, memory=memory, master=master))


def refuse_unverified(release: Release) -> Release:
    """Return the release if its verdicts hold, and warn with its notes at the caller's caller."""
    log_verdicts(release.verdicts)
    refuse_failures(release.verdicts)
    for note in release.notes:
        warnings.warn(ShoalWarning(note), stacklevel=3)
    return release


def publish(
    source: SourceLike,
    policy: PolicyLike,
    out: PathLike,
    *,
    watch: Watch | None = None,
    stop: Stop | None = None,
    force: bool = False,
    private: PathLike | None = None,
    format: str | None = None,  # noqa: A002
    reproducible: bool = False,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
    to: TargetLike = None,
    partition_by: Sequence[str] = (),
) -> Manifest:
    """Anonymize and save in one step, verifying only the file; with `to`, store it in a database too."""
    doing = policy.doing if isinstance(policy, EarlierRelease) else "anonymize"
    with run(doing), explain_memory_error(), remove_scratch_folders():
        # refuse a bad place before the work, not after it
        earlier, ask = earlier_folder_of(policy), None if to is None else ask_of(target_of(to))
        chosen = Places.choose(out, private, path_of(source), force=force, earlier=earlier, ask=ask)
        known_format(partitioned_format(format) if partition_by else format or "csv")
        _refuse_target(to, source, force=force)
        where = {"engine": engine, "memory": memory, "master": master, "spill": chosen.public.parent}
        with chosen.reserve() as places:  # locked: no other run writes there
            release = make_release(source, policy, watch=watch, stop=stop, **where)  # type: ignore[arg-type]
            return publish_release(release, places, format, partition_by, to, reproducible=reproducible)


def _refuse_target(to: TargetLike, source: SourceLike, *, force: bool) -> None:
    target = target_of(to)
    if target is not None:
        refuse_target(target, parse_postgres_table(source), force=force)


def dry_run(
    source: SourceLike,
    policy: PolicyLike,
    *,
    watch: Watch | None = None,
    stop: Stop | None = None,
    out: PathLike | None = None,
    force: bool = False,
    private: PathLike | None = None,
    format: str | None = None,  # noqa: A002
    reproducible: bool = False,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
    to: TargetLike = None,
    partition_by: Sequence[str] = (),
) -> Manifest:
    """Search and judge, refuse what `publish` would refuse, write nothing."""
    with run("dry run"), explain_memory_error(), remove_scratch_folders():
        if out is not None:
            earlier = earlier_folder_of(policy)
            Places.choose(out, private, path_of(source), force=force, earlier=earlier, ask=ask_of(target_of(to)))
        elif private is not None:
            raise BadInput(
                "a private folder was named, but no folder for the release; name it too with --out (in Python out=…)"
            )
        known_format(partitioned_format(format) if partition_by else format or "csv")
        _refuse_target(to, source, force=force)
        release = make_release(source, policy, watch=watch, stop=stop, engine=engine, memory=memory, master=master)
        choose_write_options(release, format, partition_by)
        log_verdicts(release.verdicts)
        refuse_failures(release.verdicts)
        manifest = release.summary.without_times() if reproducible else release.summary
        told = public_manifest_of(manifest, release.plan, release.verdicts, release.shown, release.separate)
        visible = inspect_public_release(told, release.shown, release.separate, release.plan.hierarchies)
        starred = visible.starred(told.quasi_identifiers)
        audit = audit_with_original(release, visible.audit)
        *_, advised = advise(release, manifest, audit, starred, reproducible=reproducible)
        return advised
