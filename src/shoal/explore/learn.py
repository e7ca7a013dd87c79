"""Measures what can be learned from releases of a table: states the task, and anonymizes the rows of each fold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shoal.data.codes import Table, select_table_rows
from shoal.engine_port import Engine, Source
from shoal.errors import BadInput, Infeasible
from shoal.explore.compare import Figures
from shoal.hierarchy.build import build
from shoal.hierarchy.draft import draft
from shoal.methods import ALGORITHMS, Shape
from shoal.mining.attributes import Rows
from shoal.mining.cross_validation import Learned, PredictionTask
from shoal.mining.held_out_rows import TrainingRecoding
from shoal.mining.learners import LEARNERS, import_extra, known_learners
from shoal.policy.document import Policy
from shoal.problem import assign_roles
from shoal.roles import Role
from shoal.search.driver import Ask, Stop, Watch
from shoal.search.oracle import Tally
from shoal.solve import make_plan

_MOST_CLASSES = 100


def set_lesson(
    source: Source,
    policy: Policy,
    target: str,
    *,
    learners: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    rows: int | None = None,
) -> PredictionTask:
    """State what is predicted from which features, by default the quasi-identifiers; refuse what cannot be learned.

    Rows that miss the target are left out. Hierarchies that the policy does not give are drafted from all rows.
    """
    chosen = known_learners(tuple(LEARNERS) if learners is None else learners)
    roles = assign_roles(source.table, policy, source.index)
    quasi = [name for name, role in roles.items() if role is Role.QUASI_IDENTIFIER]
    named = tuple(dict.fromkeys(features)) if features is not None else tuple(quasi)
    _refuse_unshown(roles, target, named)
    if rows is not None and rows < 1:
        raise BadInput(f"rows = {rows}: at least one row is needed to train on")
    import_extra("sklearn")  # say what is missing before the work
    builders = {
        name: policy.attributes[name].hierarchy or draft(source.table[name], policy.largest_k) for name in quasi
    }
    hierarchies = {name: build(source.table[name], builder) for name, builder in builders.items()}
    table = _with_target(source.table, target)
    return PredictionTask(table, target, named, frozenset(quasi), hierarchies, chosen, folds, seed, rows, policy.unit)


def learn_from(
    source: Source,
    policy: Policy,
    engine: Engine,
    lesson: PredictionTask,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Learned:
    """Anonymize the training rows of every fold as the policy says, and learn from them."""
    _refuse_separate_table(policy, lesson)
    steady = _policy_for_folds(source.table, policy)

    def recode(at: int, rows: Rows) -> TrainingRecoding:
        some = replace(source, table=select_table_rows(lesson.table, rows))

        def part(ask: Ask, tally: Tally) -> None:
            watch(ask._replace(settled=(at + ask.settled / 2) / lesson.folds), tally)

        try:
            plan = make_plan(some, steady, engine, part, stop)
        except Infeasible as wrong:
            said = f"the training rows of fold {at + 1} of {lesson.folds} cannot keep the policy: {wrong}"
            raise Infeasible(said, wrong.values) from None
        return TrainingRecoding(some.table, plan.recoding, plan.hierarchies, plan.statistics)

    return lesson.cross_validate(recode, lambda share: watch(Ask((), share), Tally()))


def figures_of(source: Source, engine: Engine, lesson: PredictionTask, stop: Stop) -> Figures:
    """Return a function that computes the figures of each algorithm; every fold is planned anew."""
    return lambda policy, _: learn_from(source, policy, engine, lesson, stop=stop).figures


def _refuse_unshown(roles: Mapping[str, Role], target: str, features: Sequence[str]) -> None:
    """Refuse columns that the release does not show, and a target that it generalises."""
    for name in (target, *features):
        if name not in roles:
            raise BadInput(f"there is no column {name!r} to learn about; name one of the table")
        if not roles[name].released:
            raise BadInput(f"column {name!r} is not released: its role is {roles[name]}; name another one")
    if roles[target] is Role.QUASI_IDENTIFIER:
        raise BadInput(f"target {target!r} is a quasi-identifier; name a column that is released as it is")
    if target in features:
        raise BadInput(f"target {target!r} is among the features; leave it out there")
    if not features:
        raise BadInput("name at least one feature to learn from")


def _refuse_separate_table(policy: Policy, lesson: PredictionTask) -> None:
    apart = [name for name in policy.named(Role.SENSITIVE) if name in {lesson.target, *lesson.features}]
    if policy.method.algorithm == "anatomy" and apart:
        raise BadInput(
            f"anatomy shows {apart[0]!r} in a table of its own, so that no row is known to have a value; learn about "
            "another column, or use another algorithm"
        )


def _with_target(table: Table, target: str) -> Table:
    column = table[target]
    known = np.flatnonzero(column.codes < len(column.values))
    classes = len(np.unique(column.codes[known]))
    if not 2 <= classes <= _MOST_CLASSES:
        raise BadInput(
            f"target {target!r} has {classes} different value(s); something with 2 to {_MOST_CLASSES} can be predicted"
        )
    return select_table_rows(table, known) if len(known) < table.rows else table


def _policy_for_folds(table: Table, policy: Policy) -> Policy:
    """Return one policy for every fold: hierarchies drafted, and confirmations judged, from all rows."""
    shaped = ALGORITHMS[policy.method.algorithm].shape in {Shape.BOXES, Shape.CLUSTERS}
    drafted = policy.method.generalise != "none" and not shaped
    changed = {}
    for name, attribute in policy.attributes.items():
        more: dict[str, object] = {}
        if attribute.role is Role.INSENSITIVE:
            more = {"confirm": True}
        elif attribute.role is Role.QUASI_IDENTIFIER and attribute.hierarchy is None and drafted:
            more = {"hierarchy": draft(table[name], policy.largest_k)}
        changed[name] = attribute.model_copy(update=more)
    others = policy.data.model_copy(update={"others": "drop"})
    return policy.model_copy(update={"attributes": changed, "data": others})
