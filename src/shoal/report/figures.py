"""Figures of a plan that nothing was released of yet: every measure, and how wrong a workload's answers would be."""

from collections.abc import Callable, Mapping, Sequence

from shoal.engine import Engine, Shown, Source
from shoal.metrics import measured
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.recode import GroupRecoding
from shoal.report.added import with_added
from shoal.report.manifest import few_enough, metrics_of, seen_of
from shoal.report.queried import original_of, shown_in_memory
from shoal.workload import Query, attributes_of, compare_answers

Figures = Callable[[Policy, Plan], Mapping[str, float]]
"""Further figures of a release, by name: from the policy with its algorithm, and the plan that was made."""


def released_by(plan: Plan, policy: Policy, source: Source, engine: Engine) -> Shown:
    """The table that a plan releases; of added rows, as `with_added` says."""
    names = [name for name, role in plan.roles.items() if role.released]
    grouping = plan.recoding if isinstance(plan.recoding, GroupRecoding) else None
    if grouping is not None:
        names.remove(grouping.sensitive)
    show = policy.release.suppressed == "show"
    shown = engine.recode(source, plan.recoding, plan.hierarchies, names, plan.quasi_identifiers, show=show)
    if grouping is not None:
        shown.columns[grouping.column] = grouping.grouped()
    if plan.added is None:
        return shown
    assert shown.rows is not None
    return Shown(*with_added(shown.columns, shown.rows, plan.added))


def all_measures(source: Source) -> Figures:
    """Every measure of the catalogue that the plan did not tell itself."""

    def figures(policy: Policy, plan: Plan) -> dict[str, float]:
        told = metrics_of(plan, measured(seen_of(plan, policy, source)) if few_enough(plan) else {})
        return {name: value for name, value in told.items() if name not in plan.metrics}

    return figures


def of_workload(source: Source, engine: Engine, queries: Sequence[Query], sanity: float) -> Figures:
    """The errors of a workload's answers, and the share of its queries that match."""

    def figures(policy: Policy, plan: Plan) -> dict[str, float]:
        original = original_of(source.table, source.name, policy, plan.builders)
        columns = released_by(plan, policy, source, engine).columns
        found = compare_answers(
            shown_in_memory(columns, plan, attributes_of(queries), original), original, queries, sanity=sanity
        )
        return {
            "workload mean error": found.mean,
            "workload median error": found.median,
            "workload 95 % error": found.percentile_95,
            "workload matching": len(found.matching) / len(queries),
        }

    return figures
