"""From a policy to a recoding of cells: boxes, labels of a hierarchy, clusters, groups."""

import warnings
from time import perf_counter

import numpy as np

from shoal.codes import Codes
from shoal.engine import Engine, Source
from shoal.errors import Infeasible, ShoalWarning
from shoal.events import tell
from shoal.methods import ALGORITHMS, Shape
from shoal.metrics import lost_in_cells
from shoal.partition.condition import Condition
from shoal.plan.along import recode_locally, suppress_cells_of_a_node
from shoal.plan.counting import counted, read_columns, warn_of_unknown_values
from shoal.plan.feasible import as_one_class, failed_by, refuse_impossible
from shoal.plan.ground import Ground, Made
from shoal.plan.margin import in_order
from shoal.plan.roles import assign_roles
from shoal.plan.searching import deadline
from shoal.plan.values import Plan
from shoal.policy import Policy
from shoal.policy.fitting import refuse_misfits
from shoal.recode import PartRecoding
from shoal.release import Recoded
from shoal.schema import Role
from shoal.search import Ask, Stop, Tally, Watch


def plan_cells(source: Source, policy: Policy, engine: Engine, watch: Watch, stop: Stop) -> Plan:
    """The recoding that the policy's algorithm makes, or why there is none."""
    table = source.table
    roles = assign_roles(table, policy, source.index)
    quasi = in_order((name for name, role in roles.items() if role is Role.QUASI_IDENTIFIER), policy.method)
    refuse_misfits(policy, table, roles)
    classes = engine.count(table, quasi, counted(policy, quasi))
    tell("counted", classes=len(classes))
    reading = read_columns(table, policy, classes, quasi)
    refuse_impossible(policy.models, as_one_class(classes, reading, None), 0, split=reading.split)
    warn_of_unknown_values(policy.models, reading.labels)
    started = perf_counter()
    ground = Ground(
        table,
        policy,
        roles,
        classes,
        reading,
        watch=lambda share: watch(Ask((), share), Tally()),
        stop=deadline(policy.method.time_limit, stop),
    )
    _refuse_whole(ground.condition(classes))
    algorithm = ALGORITHMS[policy.method.algorithm]
    if algorithm.shape is Shape.GROUPS:
        plan: Plan = algorithm.load()(ground)
        return plan
    if algorithm.shape is not Shape.SEARCH:
        made = algorithm.load()(ground)
    elif policy.method.generalise == "attribute":
        made = suppress_cells_of_a_node(source, ground, engine)
    else:
        made = recode_locally(ground)
    if stop():
        warnings.warn(ShoalWarning("the work was interrupted, and what was found so far was taken"), stacklevel=2)
    return _planned(ground, made, perf_counter() - started)


def _planned(ground: Ground, made: Made, seconds: float) -> Plan:
    showing = made.showing
    alike, classes = showing.alike()
    of_item = alike[made.part]
    condition = ground.condition(made.items)
    _refuse_alike(condition, of_item, classes)
    released = made.items.parted(of_item, classes)
    after = Recoded(released, made.sizes, showing.losses, tuple(showing.covers.values()))
    metrics = lost_in_cells(ground.before, after)
    return Plan(
        roles=ground.roles,
        builders=made.builders,
        hierarchies=made.hierarchies,
        before=ground.before,
        after=after,
        recoding=PartRecoding(made.kind, made.part[made.of_row], showing.shown),
        score=metrics["loss"],
        metrics=metrics,
        seconds=seconds,
        failed=failed_by(ground.policy.models, condition.counts(of_item, classes)),
        class_of_row=of_item[made.of_row],
        reading=ground.reading,
        statistics=showing.statistics,
        observed=frozenset(showing.observed),
        by_label=ground.policy.method.algorithm == "mondrian-single",
    )


def _refuse_alike(condition: Condition, classes: Codes, count: int) -> None:
    """Parts that are shown alike are one class, which may fail although each part complies."""
    if condition.complies(classes, count).all() and condition.holds(classes, count):
        return
    named = ", ".join(model.name for model in condition.models)
    raise Infeasible(
        f"parts that keep {named} are shown alike, and together they do not keep it; use algorithm = 'mondrian' or "
        "'local', which do not make such parts"
    )


def _refuse_whole(condition: Condition) -> None:
    """Where the table as one class does not keep the policy, there is nothing to begin with."""
    whole = np.zeros(len(condition.items), dtype=np.int32)
    counts = condition.counts(whole, 1)
    failing = [model.name for model in condition.models if not model.holds(counts)]
    if failing:
        raise Infeasible(
            f"the table as one class does not keep {failing[0]}, and no row may be left out; weaken it, or use "
            "algorithm = 'optimal' with suppression"
        )
