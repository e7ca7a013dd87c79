"""verify: a release on disk, judged."""

import warnings
from dataclasses import replace
from pathlib import Path

from shoal.api.given import (
    Path_,
    Source_,
    private_of,
    read_options,
)
from shoal.api.originals import original_levels, original_table
from shoal.api.release import tell_verdicts
from shoal.engine import Ability, ReadOptions
from shoal.engines import ArrowEngine, choose_engine
from shoal.errors import BadInput, ShoalWarning
from shoal.events import run
from shoal.hierarchy import build
from shoal.memory import bytes_of, enough
from shoal.models import Need
from shoal.plan import meet, orders_of, refuse_lacking, together, trees_of
from shoal.policy import Policy
from shoal.report.claims import agrees, claim_of, counterfeits_told, load_public
from shoal.report.private import load_private
from shoal.verify import (
    Original,
    Room,
    Status,
    Verdict,
    check_hash,
    count,
    covers,
    judge,
    judge_people,
    opened,
    table_in,
)
from shoal.verify.groups import count_groups, covers_groups, read_separate
from shoal.verify.judging import ADDED


def verify(
    out: Path_,
    *,
    original: Source_ = None,
    population: Source_ = None,
    private: Path_ | None = None,
    memory: str | int | None = None,
) -> list[Verdict]:
    """Judge a release on disk: every promise holds, fails, or needs what was not given.

    With `memory`, e.g. "2GB", what does not fit is spilled; so it is for an original that seems not to fit in memory.
    """
    with run("verify"), enough():
        verdicts = _verified(Path(out), original, population, private, memory)
        tell_verdicts(verdicts)
        return verdicts


def _verified(
    folder: Path, original: Source_, population: Source_, private: Path_ | None, memory: str | int | None
) -> list[Verdict]:
    manifest = load_public(folder)
    data = manifest.data
    file = table_in(folder, data.file)
    claim = claim_of(manifest, folder)
    asked_for = any(Need.POPULATION in model.needs for model in claim.models)
    if population is not None and not (asked_for and original is not None):
        ArrowEngine().read(population, ReadOptions())
    if population is not None and not asked_for:
        warnings.warn(ShoalWarning("no promise of this release looks at the population"), stacklevel=2)
    verdicts = [check_hash(file, data.sha256 or ""), *counterfeits_told(manifest, folder)]
    everybody = population if asked_for else None
    policy, true = (None, None) if original is None else _original(folder, private, original, everybody, memory)
    listed = true is not None and true.rows is not None
    room = Room(None if memory is None else bytes_of(memory))
    with opened(file, data.columns, data.model_dump(), listed=listed, room=room) as release:
        if data.separate is None:
            counted = replace(count(release, claim, true), everybody=everybody is not None)
        else:
            other = table_in(folder, data.separate.file)
            verdicts.append(check_hash(other, data.separate.sha256 or ""))
            told = read_separate(other, data.separate.columns, data.model_dump())
            counted = count_groups(release, told, claim, true)
        attained = () if true is None else true.attained
        verdicts += [*judge(claim, counted, attained), *judge_people(claim, counted)]
        if policy is None or true is None:
            return [*verdicts, *(Verdict(promise, Status.NEEDS_ORIGINAL) for promise in _BESIDE)]
        if data.separate is None:
            return [*verdicts, agrees(claim, policy, counted), covers(release, claim, true)]
        return [*verdicts, agrees(claim, policy, counted), covers_groups(release, counted, claim, true)]


_BESIDE = ("claim", "truthful")
NEED_ORIGINAL = (*_BESIDE, ADDED)
"""What is judged beside the promises of the manifest, against the original and the private folder."""


def _original(
    folder: Path, private: Path_ | None, original: Source_, population: Source_, memory: str | int | None
) -> tuple[Policy, Original]:
    """The policy of the private folder, and the input with its hierarchies and, where it is given, the population."""
    known = load_private(private_of(folder, private))
    policy = known.policy
    engine = choose_engine("auto", memory, original)
    refuse_lacking(policy, engine)
    if known.rows is not None and Ability.ROW_MAP not in engine.abilities:
        raise BadInput("checking a row map needs the original in memory: leave out --memory, or raise it")
    read = engine.read(original, read_options(policy))
    missing = [name for name in policy.attributes if name not in read.table.columns]
    if missing:
        raise BadInput(f"{read.name}: this is not the original: it has no column {missing[0]!r}")
    if population is not None:
        read = meet(read, ArrowEngine().read(population, read_options(policy)), policy.quasi_identifiers)
    named = known.levels if known.rows is None and known.points is None else policy.quasi_identifiers
    kept = {name: policy.attributes[name].hierarchy for name in named}
    hierarchies = {name: build(read.table[name], builder) for name, builder in kept.items() if builder is not None}
    trees = trees_of(read.table, policy)
    return policy, Original(
        original_table(read.table),
        original_levels(hierarchies, {name: builder for name, builder in kept.items() if builder is not None}),
        known.levels,
        unit=policy.unit,
        trees={name: tree.levels for name, tree in trees.items()},
        order=orders_of(policy),
        together=together(policy, sorted(policy.quasi_identifiers)),
        population=None if read.population is None else original_table(read.population),
        tree_labels={name: tree.labels for name, tree in trees.items()},
        rows=known.rows,
        points=known.points,
        attained=known.attained,
    )
