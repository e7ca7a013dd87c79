"""From a policy to the two tables of Anatomy."""

from fractions import Fraction
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np

from shoal.errors import Infeasible
from shoal.metrics import lost_in_cells
from shoal.models import Model
from shoal.partition.anatomy import anatomy
from shoal.plan.feasible import failed_by
from shoal.plan.ground import Ground
from shoal.plan.values import Plan
from shoal.recode import GroupRecoding
from shoal.release import Recoded
from shoal.schema import Role

_NAMES = ("group", "group_id", "anatomy_group", "shoal_group")


def plan_groups(ground: Ground) -> Plan:
    """Groups in which no sensitive value is more frequent than one in l, for the least l that keeps the policy."""
    started = perf_counter()
    items, item = ground.rows
    (sensitive,) = ground.policy.named(Role.SENSITIVE)
    condition = ground.condition(items)
    l = max(_least(model) for model in ground.policy.models)
    while True:
        group = anatomy(ground.table[sensitive].codes[np.argsort(item)], l, ground.policy.method.seed)
        groups = int(group.max()) + 1
        if condition.complies(group, groups).all() and condition.holds(group, groups):
            break
        l += 1
        if l > ground.table[sensitive].size:
            raise Infeasible(
                f"no groups of different values of {sensitive!r} keep the policy; weaken it, or use another algorithm"
            )
    name = next(name for name in _NAMES if name not in ground.table.columns)
    sizes = np.bincount(group).astype(np.int64)
    after = Recoded(items.parted(group, groups), sizes, np.zeros((groups, len(ground.quasi))))
    metrics = lost_in_cells(ground.before, after)
    return Plan(
        roles=ground.roles,
        builders={},
        hierarchies={},
        before=ground.before,
        after=after,
        recoding=GroupRecoding(group[item], name, sensitive),
        score=metrics["loss"],
        metrics=metrics,
        seconds=perf_counter() - started,
        failed=failed_by(ground.policy.models, condition.counts(group, groups)),
        class_of_row=group[item],
        reading=ground.reading,
    )


def _least(model: Model) -> int:
    """How many different values a group must have at least for a model."""
    many: Any = getattr(model, "l", None) or getattr(model, "p", None) or 2
    alpha: Any = getattr(model, "alpha", None)
    shares = list(alpha.values()) if isinstance(alpha, dict) else [alpha] if isinstance(alpha, float) else []
    return max([int(many), *(ceil(1 / Fraction(repr(share))) for share in shares)])
