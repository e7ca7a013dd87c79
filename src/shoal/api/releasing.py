"""anonymize, apply, publish: from a table and a policy to a release."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from shoal.api.given import (
    Path_,
    Policy_,
    Source_,
    Target_,
    folder_of,
    noted,
    path_of,
    policy_of,
    read_for,
    target_of,
)
from shoal.api.release import Release, tell_verdicts
from shoal.engine import Engine, Source
from shoal.engines import choose_engine, named, refuse_target
from shoal.errors import BadInput, ShoalWarning
from shoal.events import run, tell
from shoal.memory import bytes_of, enough
from shoal.plan import Plan, block_channels, grow, make_plan, refuse_lacking
from shoal.policy import Policy
from shoal.report.again import Again
from shoal.report.blocked import unblocked
from shoal.report.earlier import COMPARED, Earlier
from shoal.report.figures import released_by
from shoal.report.folder import Places, known_format, partitioned_format
from shoal.report.manifest import Manifest
from shoal.search import Stop, Watch
from shoal.verify import Room, refuse_failures


def anonymize(
    source: Source_,
    policy: Policy_,
    *,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
) -> Release:
    """The table of least loss that keeps the policy, verified; raises Infeasible when there is none.

    `watch` sees every question of the search; once `stop` says so, an anytime search ends with its best node so far.
    `engine` is "arrow" for what fits in memory, "duckdb" for what does not fit in `memory`, e.g. "2GB", "spark" for
    what is on the cluster of `master`, or "auto".

    >>> import pyarrow as pa
    >>> from shoal.policy import Policy
    >>> people = pa.table({"age": [34, 36, 34, 51, 58, 52], "disease": ["flu", "flu", "hiv", "flu", "hiv", "flu"]})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(
    ...     attributes={"age": age, "disease": "sensitive"},
    ...     require=[{"model": "k-anonymity", "k": 3}],
    ... )
    >>> anonymize(people, policy).data["age"].to_pylist()
    ['[30, 40)', '[30, 40)', '[30, 40)', '[50, 60)', '[50, 60)', '[50, 60)']
    """
    with run("anonymize"), enough():
        return handed_out(prepare(source, policy, watch=watch, stop=stop, engine=engine, memory=memory, master=master))


def apply(
    private: Path_,
    source: Source_,
    *,
    suppression: float | str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
) -> Release:
    """The recoding of an earlier release, found in its private folder, applied to new rows; verified like any other.

    Rows are suppressed where needed, as many as the earlier policy or `suppression` allows, else Infeasible is raised.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from shoal.policy import Policy
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
    ...     _ = anonymize(pa.table({"age": [31, 38, 52, 59]}), policy).save(f"{folder}/out")
    ...     release = apply(f"{folder}/out.private", pa.table({"age": [20, 25, 21]}))
    >>> release.data["age"].to_pylist()
    ['[20, 30)', '[20, 30)', '[20, 30)']
    """
    with run("apply"), enough():
        earlier = Earlier.load(private, suppression=suppression, delimiter=delimiter, encoding=encoding)
        return handed_out(prepare(source, earlier, engine=engine, memory=memory, master=master))


def handed_out(release: Release) -> Release:
    """The release once it is verified, its notes shown to the caller of the caller."""
    tell_verdicts(release.verdicts)
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
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
    to: Target_ = None,
    partition_by: Sequence[str] = (),
) -> Manifest:
    """Anonymize and save in one go, verifying the file only; with `to`, stored in a database too."""
    with run(_doing(policy)), enough():
        # refuse a bad place before the work, not after it
        places = Places.choose(out, private, path_of(source), force=force, earlier=folder_of(policy))
        known_format(partitioned_format(format) if partition_by else format or "csv")
        _refuse_target(to, source, force=force)
        where = {"engine": engine, "memory": memory, "master": master, "spill": places.public.parent}
        release = prepare(source, policy, watch=watch, stop=stop, **where)  # type: ignore[arg-type]
        how = {"private": private, "format": format, "force": force, "reproducible": reproducible, "to": to}
        return release.save(out, partition_by=partition_by, **how)  # type: ignore[arg-type]


def _doing(policy: Policy_) -> str:
    return {Earlier: "apply", Again: "republish"}.get(type(policy), "anonymize")


def _refuse_target(to: Target_, source: Source_, *, force: bool) -> None:
    target = target_of(to)
    if target is not None:
        refuse_target(target, named(source), force=force)


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
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
    to: Target_ = None,
    partition_by: Sequence[str] = (),
) -> Manifest:
    """Search and judge, refuse what `publish` would refuse, write nothing."""
    with run("dry run"), enough():
        if out is not None:
            Places.choose(out, private, path_of(source), force=force, earlier=folder_of(policy))
        elif private is not None:
            raise BadInput("a private folder was named, but no folder for the release; name it too with --out")
        known_format(partitioned_format(format) if partition_by else format or "csv")
        _refuse_target(to, source, force=force)
        release = prepare(source, policy, watch=watch, stop=stop, engine=engine, memory=memory, master=master)
        release.write_options(format, partition_by)
        tell_verdicts(release.verdicts)
        refuse_failures(release.verdicts)
        return release.summary.without_times() if reproducible else release.summary


def prepare(
    source: Source_,
    policy: Policy_,
    *,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
    engine: Engine | str = "auto",
    memory: str | int | None = None,
    master: str | None = None,
    spill: Path | None = None,
) -> Release:
    """A release that was not judged yet; what does not fit in memory is spilled into a private folder in `spill`."""
    chosen = engine == "auto"
    if isinstance(engine, str):
        engine = choose_engine(engine, memory, source, spill, master)
    if isinstance(policy, Earlier):
        with policy.explained():
            release = prepare(
                source, policy.policy, watch=watch, stop=stop, engine=engine, memory=memory, master=master, spill=spill
            )
        return replace(release, notes=(*release.notes, COMPARED), earlier=policy.folder)
    again = policy if isinstance(policy, Again) else None
    policy = policy_of(policy.policy if isinstance(policy, Again) else policy)
    refuse_lacking(policy, engine)
    with noted() as notes:
        if chosen and engine.name != "arrow":
            warnings.warn(ShoalWarning(f"the table was read where it is, by the {engine.name} engine"), stacklevel=2)
        read = source if isinstance(source, Source) else read_for(source, policy, engine)
        tell(
            "read",
            name=read.name,
            format=read.format,
            engine=engine.name,
            rows=read.table.rows,
            columns=len(read.table.columns),
        )
        if policy.republish is None:
            plan = block_channels(read, policy, make_plan(read, policy, engine, watch, stop), engine)
        else:
            read, plan = _grown(read, policy, engine, again, lambda of, by: make_plan(of, by, engine, watch, stop))
            plan = _remembering(plan, path_of(source), again)
        if plan.blocked is not None and plan.blocked.left:
            warnings.warn(ShoalWarning(unblocked(plan.blocked)), stacklevel=2)
        if policy.release.order == "keep":
            warnings.warn(ShoalWarning("order = 'keep': the order of the rows can identify people"), stacklevel=2)
    _tell_search(plan, policy)
    shown = released_by(plan, policy, read, engine)
    tell("recoded", released=shown.count, suppressed=plan.after.suppressed_rows, added=shown.added)
    room = Room(None if memory is None else bytes_of(memory), spill)
    earlier = None if again is None else again.folder
    return Release(policy, read, plan, shown, tuple(dict.fromkeys(notes)), engine, path_of(source), room, earlier)


def _grown(
    read: Source, policy: Policy, engine: Engine, again: Again | None, make: Callable[[Source, Policy], Plan]
) -> tuple[Source, Plan]:
    """The next release of a growing table, or its first."""
    if again is None:
        return grow(read, policy, engine, None, make)
    return grow(read, policy, engine, again.history, make, increment=again.increment)


def _remembering(plan: Plan, file: Path | None, again: Again | None) -> Plan:
    """The same, whose history knows the file, and forgets who was erased."""
    assert plan.grown is not None
    whole = again is None or not again.increment
    history = replace(plan.grown.history, source=file.name if whole and file is not None else None)
    return replace(plan, grown=replace(plan.grown, history=history if again is None else again.forgotten(history)))


def _tell_search(plan: Plan, policy: Policy) -> None:
    search = plan.search
    tell(
        "searched",
        algorithm=policy.method.algorithm,
        nodes=None if search is None else search.lattice.size,
        checked=None if search is None else search.tally.checked,
    )
