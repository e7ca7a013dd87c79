"""From a policy to a recoding, given an engine."""

from shoal.engine import Engine, Source
from shoal.plan.blocking import block_channels
from shoal.plan.cells import plan_cells
from shoal.plan.counting import orders_of, together, trees_of
from shoal.plan.growing import grow
from shoal.plan.in_place import plan_in_place
from shoal.plan.lacking import refuse_lacking
from shoal.plan.margin import drawn_margin, with_margin
from shoal.plan.population import meet
from shoal.plan.roles import assign_roles
from shoal.plan.searching import Task, allowed_lattice, set_task, solve
from shoal.plan.stage import Grown
from shoal.plan.values import Added, Plan, Searched
from shoal.policy import Policy
from shoal.search import Stop, Watch

__all__ = [
    "Added",
    "Grown",
    "Plan",
    "Searched",
    "Task",
    "allowed_lattice",
    "assign_roles",
    "block_channels",
    "drawn_margin",
    "grow",
    "make_plan",
    "meet",
    "orders_of",
    "refuse_lacking",
    "set_task",
    "solve",
    "together",
    "trees_of",
]


def make_plan(
    source: Source,
    policy: Policy,
    engine: Engine,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Plan:
    """Find the recoding of least loss that keeps the policy, or say why there is none; `stop` ends the search early."""
    policy = with_margin(policy)
    if policy.method.of_cells:
        if source.table.relation is not None:
            return plan_in_place(source, policy, engine, watch, stop)
        return plan_cells(source, policy, engine, watch, stop)
    return solve(set_task(source, policy, engine), policy, watch, stop)
