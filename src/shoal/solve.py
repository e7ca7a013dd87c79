"""From a problem to a plan: the one place that picks the solver by the kind of method."""

from shoal.engine_port import Engine, Source
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.problem import Problem, with_margin
from shoal.runtime.events import phase
from shoal.search.driver import Stop, Watch
from shoal.search.full_domain import search_lattice


@phase("searching")
def solve(problem: Problem) -> Plan:
    """Find the recoding of least loss that keeps the policy, or say why there is none."""
    problem.refuse_infeasible()
    if not problem.policy.method.of_cells:
        return search_lattice(problem)
    from shoal.partition.out_of_core import box_in_place  # loaded by those who cut
    from shoal.partition.solver import recode_cells

    return box_in_place(problem) if problem.in_place else recode_cells(problem)


def make_plan(
    source: Source,
    policy: Policy,
    engine: Engine,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Plan:
    """Build the problem, with the margin that the policy asks for, and solve it; `stop` ends a search early."""
    return solve(Problem.of(source, with_margin(policy), engine, watch, stop))
