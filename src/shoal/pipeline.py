"""The whole way from a file to a published folder: read, problem, solve, recode; then write, verify, publish.

`anonymize` and `publish` take every step. `apply` reuses the recoding of an earlier release, `republish` and `remove`
continue its history, a dry run writes nothing, `lattice` stops at the problem and `compare` at the plan.
"""

import warnings
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

from shoal.blocking.block import block_channels
from shoal.engine_port import Engine, Source
from shoal.engines.choice import choose_engine, read_with_population, recode, refuse_missing_abilities
from shoal.engines.postgres.tables import ask_of, storage_transaction
from shoal.errors import BadOutput, ShoalWarning
from shoal.explore.advice import advice_time_budget, advise, audit_with_original
from shoal.inputs import PathLike, PolicyLike, SourceLike, TargetLike, collect_warnings, path_of, policy_of, target_of
from shoal.problem import Problem, with_margin
from shoal.publish.contents import public_manifest_of, write_private, write_public, write_recommendation
from shoal.publish.data_files import choose_write_options, list_notes, store_rows, write_data
from shoal.publish.fixed_recoding import EarlierRelease
from shoal.publish.folder import Places
from shoal.publish.manifest import Manifest
from shoal.publish.released_table import Frame, ReleasedTable
from shoal.publish.summary import compare_if_cheap, counterfeits_csv_of, summarise
from shoal.publish.verification import judge_files
from shoal.report.pages import write_reports
from shoal.report.pages.public_view import inspect_public_release
from shoal.runtime.events import log_event
from shoal.runtime.memory import bytes_of
from shoal.search.driver import Stop, Watch, ignore_progress, never_stop
from shoal.solve import make_plan, solve
from shoal.verify.open_release import Room


class Release(ReleasedTable[Frame]):
    """A table that keeps its policy: as data, as a summary, and as folders on disk."""

    def save(
        self,
        out: PathLike,
        *,
        private: PathLike | None = None,
        format: str | None = None,  # noqa: A002
        force: bool = False,
        reproducible: bool = False,
        to: TargetLike = None,
        partition_by: Sequence[str] = (),
        advise: float | None = None,
    ) -> Manifest:
        """Write `out/` and `out.private/`, both or none, after verifying them as re-read from disk.

        `partition_by` writes Parquet in folders named after the values of these columns; `to`, e.g. "postgres:a.b",
        also stores the rows there, re-read and compared before publishing. `advise` is the seconds spent on remedies.
        """
        places = Places.choose(out, private, self.path, force=force, earlier=self.earlier, ask=ask_of(target_of(to)))
        with places.reserve() as held, advice_time_budget(advise):
            return publish_release(self, held, format, partition_by, to, reproducible=reproducible)


def make_release(
    source: SourceLike,
    policy: PolicyLike,
    *,
    watch: Watch | None = None,
    stop: Stop | None = None,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
    spill: Path | None = None,
) -> Release:
    """Read → problem → solve → recode: return a release that is not yet verified.

    What does not fit in memory is spilled into a private folder inside `spill`.
    """
    earlier = policy if isinstance(policy, EarlierRelease) else None
    with collect_warnings() as ignored:
        policy = policy_of(policy.policy if isinstance(policy, EarlierRelease) else policy)
    if earlier is None:
        policy.refuse_questions()
    asked, watch, stop = engine, watch or ignore_progress, stop or never_stop
    engine = choose_engine(engine, memory, source, spill, master) if isinstance(engine, str) else engine
    refuse_missing_abilities(policy, engine, () if earlier is None else earlier.needs)
    with nullcontext() if earlier is None else earlier.explain_errors(), collect_warnings() as notes:
        if asked == "auto" and engine.name != "arrow":
            warnings.warn(ShoalWarning(f"the table was read where it is, by the {engine.name} engine"), stacklevel=2)
        table = source if isinstance(source, Source) else read_with_population(source, policy, engine)
        rows, columns = table.table.rows, len(table.table.columns)
        log_event("read", name=table.name, format=table.format, rows=rows, columns=columns, engine=engine.name)
        if policy.republish is None:
            problem = Problem.of(table, with_margin(policy), engine, watch, stop)
            plan = solve(problem) if earlier is None else earlier.solve(problem)
        else:
            from shoal.republish.next_release import plan_next_release  # loaded by those who publish again

            first = partial(make_plan, engine=engine, watch=watch, stop=stop)
            table, plan = plan_next_release(table, policy, engine, earlier, path_of(source), first)
        if policy.blocking is not None:
            plan = block_channels(table, policy, plan, engine)
        log_event("searched", algorithm=policy.method.algorithm, **plan.effort)
        if policy.release.order == "keep":
            warnings.warn(ShoalWarning("order = 'keep': the order of the rows can identify people"), stacklevel=2)
    released = recode(table, plan, policy, engine)
    log_event("recoded", released=released.count, suppressed=plan.after.suppressed_rows, added=released.added)
    all_notes = tuple(dict.fromkeys([*ignored, *notes, *(() if earlier is None else earlier.notes)]))
    room = Room(None if memory is None else bytes_of(memory), spill)
    folder = None if earlier is None else earlier.folder
    return Release(policy, table, plan, released, all_notes, engine, path_of(source), room, folder)


def publish_release(
    release: Release,
    places: Places,
    format: str | None = None,  # noqa: A002
    partition_by: Sequence[str] = (),
    to: TargetLike = None,
    *,
    reproducible: bool = False,
) -> Manifest:
    """Write → verify → publish: both folders, and the database table if one is named, or nothing at all."""
    options, target = choose_write_options(release, format, partition_by), target_of(to)
    if target is not None and release.separate is not None:
        raise BadOutput(f"{target.name}: a release in two tables is written into folders only")
    plan, policy, source = release.plan, release.policy, release.source
    with ExitStack() as stack:
        stored = None if target is None else stack.enter_context(storage_transaction(target, force=places.force))
        last = () if stored is None else (stored.commit, stored.mark)
        public, private = stack.enter_context(places.staging_folders(*last))
        written = write_data(release, public, options, partition_by)
        verdicts = judge_files(release, written)
        compared = compare_if_cheap(plan, policy, source)
        manifest = summarise(plan, policy, source, verdicts, written.data, list_notes(release, written.data), compared)
        manifest = manifest.without_times() if reproducible else manifest
        public_manifest = public_manifest_of(manifest, plan, verdicts, release.shown, release.separate)
        write_public(public, public_manifest, counterfeits_csv_of(plan))
        manifest = write_private(private, manifest, plan, policy, source, written.rows)
        if stored is not None:
            store_rows(release, written, stored)
    with places.explain_report_errors():  # the release is on disk: a report that fails cannot undo it
        visible = inspect_public_release(public_manifest, release.shown, release.separate, plan.hierarchies)
        starred = visible.starred(public_manifest.quasi_identifiers)
        audit = audit_with_original(release, visible.audit)
        for manifest in advise(release, manifest, audit, starred, reproducible=reproducible):  # noqa: B020 - told more
            write_recommendation(places, manifest)
            write_reports(places, release, manifest, public_manifest, visible, audit, compared)
    return manifest
