"""Compares several algorithms on one table and one policy, with further figures of their releases."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from time import perf_counter, process_time
from typing import Any

from shoal.engine_port import Engine, Source
from shoal.engines.choice import recode
from shoal.errors import BadInput, Infeasible, ShoalError, ShoalWarning
from shoal.methods import ALGORITHMS, VARIANTS
from shoal.metrics.catalogue import measured
from shoal.models.spec import suggest_nearest
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.policy.method import Method
from shoal.problem import Problem, with_margin
from shoal.publish.manifest import FrozenDict
from shoal.publish.release_views import generalised_from_columns, original_of
from shoal.publish.summary import compare_with_original, is_cheap_to_compare, metrics_of
from shoal.runtime import html_table, short_number
from shoal.search.driver import Ask, Stop, Watch
from shoal.search.full_domain import allowed_lattice
from shoal.search.oracle import Tally
from shoal.solve import solve
from shoal.workload.answers import compare_answers
from shoal.workload.queries import Query, attributes_of

Figures = Callable[[Policy, Plan], Mapping[str, float]]
"""Computes further figures of a release by name, from the policy with its algorithm and the plan."""


def all_measures(source: Source) -> Figures:
    """Return a function that computes every measure of the catalogue that the plan itself does not have."""

    def figures(policy: Policy, plan: Plan) -> dict[str, float]:
        told = metrics_of(
            plan, measured(compare_with_original(plan, policy, source)) if is_cheap_to_compare(plan) else {}
        )
        return {name: value for name, value in told.items() if name not in plan.metrics}

    return figures


def workload_errors(source: Source, engine: Engine, queries: Sequence[Query], sanity: float) -> Figures:
    """Return a function that computes the errors of a workload's answers, and the share of queries that match."""

    def figures(policy: Policy, plan: Plan) -> dict[str, float]:
        original = original_of(source.table, source.name, policy, plan.builders)
        columns = recode(source, plan, policy, engine).columns
        found = compare_answers(
            generalised_from_columns(columns, plan, attributes_of(queries), original), original, queries, sanity=sanity
        )
        return {
            "workload mean error": found.mean,
            "workload median error": found.median,
            "workload 95 % error": found.percentile_95,
            "workload matching": len(found.matching) / len(queries),
        }

    return figures


@dataclass(frozen=True, slots=True)
class AlgorithmRun:
    """What one algorithm found, and what it took to find it."""

    algorithm: str
    seconds: float | None
    cpu_seconds: float | None
    asked: int | None
    """Questions of the search, each remembered, inferred or checked; None where no lattice was searched."""
    inferred: int | None
    checked: int | None
    levels: Mapping[str, int] | None
    height: int | None
    suppressed: int
    classes: int
    metrics: Mapping[str, float]
    proved: bool
    gap: float | None
    """Most by which the policy's metric may lie above the optimum, as far as the search knows."""
    solutions: int | None
    """Number of nodes that the algorithm returned, where it returns a set."""
    figures: Mapping[str, float] = field(default_factory=FrozenDict)
    """Further figures of its release, such as how well a learner does on it."""
    rows: tuple["ShownRow", ...] = ()
    """What some rows of the table show in its release, where asked for."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of the table, numbered from 1, as an algorithm would release its quasi-identifiers."""

    number: int
    cells: Mapping[str, str] | None
    """None where the row is suppressed."""


@dataclass(frozen=True, slots=True)
class FailedRun:
    """An algorithm that gave no release, and why."""

    algorithm: str
    why: str


@dataclass(frozen=True, repr=False)
class AlgorithmComparison:
    """What several algorithms make of the same table and policy, in the order in which they were named."""

    metric: str
    rows: int
    nodes: int | None
    """Nodes of the lattice, where one was searched."""
    outcomes: tuple[AlgorithmRun | FailedRun, ...]

    def __repr__(self) -> str:
        told = [f"{run.algorithm} {_score(run, self.metric)}" for run in self.runs]
        without = [f"{len(self.others)} without a release"] if self.others else []
        return f"AlgorithmComparison({self.metric} on {self.rows:,} rows: {', '.join([*told, *without])})"

    def _repr_html_(self) -> str:
        head = ("algorithm", self.metric, "classes", "suppressed", "seconds")
        lines = [
            (run.algorithm, _score(run, self.metric), *map(short_number, (run.classes, run.suppressed, run.seconds)))
            for run in self.runs
        ]
        without = [(other.algorithm, other.why) for other in self.others]
        return html_table(f"{self.rows:,} rows", [head, *lines, *without])

    @property
    def runs(self) -> tuple[AlgorithmRun, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, AlgorithmRun))

    @property
    def others(self) -> tuple[FailedRun, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, FailedRun))

    def without_times(self) -> "AlgorithmComparison":
        """Return the comparison without times, so that equal runs are equal."""
        timeless = [
            replace(o, seconds=None, cpu_seconds=None) if isinstance(o, AlgorithmRun) else o for o in self.outcomes
        ]
        return replace(self, outcomes=tuple(timeless))

    def document(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        algorithms = [{**_as_document(outcome), "ran": isinstance(outcome, AlgorithmRun)} for outcome in self.outcomes]
        return {"metric": self.metric, "rows": self.rows, "nodes": self.nodes, "algorithms": algorithms}


def _score(run: AlgorithmRun, metric: str) -> str:
    return short_number(run.metrics.get(metric))


def all_algorithms() -> tuple[str, ...]:
    """Return every name that can be compared: all algorithms, and the variants that suppress cells."""
    return (*ALGORITHMS, *VARIANTS)


def known_algorithms(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the algorithms to compare, each once; None when none is named.

    >>> known_algorithms(["datafly", "optimal", "datafly"])
    ('datafly', 'optimal')
    """
    every = all_algorithms()
    if names is not None and not names:
        raise BadInput(f"name at least one algorithm; known: {', '.join(every)}")
    for name in names or ():
        if name not in every:
            raise BadInput(f"algorithm {name!r} is not known{suggest_nearest(name, every)}; known: {', '.join(every)}")
    return tuple(dict.fromkeys(names)) if names else None


def compare_algorithms(
    source: Source,
    policy: Policy,
    engine: Engine,
    algorithms: Sequence[str] | None,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
    further: Sequence[Figures] = (),
    rows: int = 0,
) -> AlgorithmComparison:
    """Run the algorithms in turn, every kind unless named; one without a release does not stop the others."""
    cases = {name: partial(policy.with_algorithm, name) for name in algorithms or all_algorithms()}
    problems: dict[object, Problem] = {}
    outcomes = run_each(source, cases, engine, watch, stop, further, problems, rows)
    searched = [problem for problem in problems.values() if not problem.policy.method.of_cells]
    nodes = allowed_lattice(searched[0].policy, searched[0].hierarchies).size if searched else None
    return AlgorithmComparison(policy.method.metric, source.table.rows, nodes, outcomes)


def run_each(
    source: Source,
    cases: Mapping[str, Callable[[], Policy]],
    engine: Engine,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
    further: Sequence[Figures] = (),
    problems: dict[object, Problem] | None = None,
    rows: int = 0,
) -> tuple[AlgorithmRun | FailedRun, ...]:
    """Solve the policy of each case by name, in turn; the first error is raised if none of them gives a release.

    `problems` lets cases whose policies differ only in the search share what was counted. `rows` is the number of rows
    that are shown as each case would release them.
    """
    outcomes: list[AlgorithmRun | FailedRun] = []
    errors: list[ShoalError] = []
    for done, (name, case) in enumerate(cases.items()):
        try:
            given = case()
            changed = given.model_copy(update={"method": given.method.in_effect})
            share = _report_share(_with_time_limit(watch, given.method), done, len(cases))
            problem = _problem(source, with_margin(changed), engine, problems)
            run, plan = _run(name, replace(problem, watch=share, stop=stop))
            shown = _sample_rows(source, plan, changed, engine, rows) if rows else ()
            outcomes.append(replace(run, figures=_figures(changed, plan, further), rows=shown))
        except ShoalError as wrong:
            errors.append(wrong)
            outcomes.append(FailedRun(name, str(wrong)))
    if len(errors) == len(cases):
        raise errors[0]
    return tuple(outcomes)


def _problem(source: Source, policy: Policy, engine: Engine, known: dict[object, Problem] | None) -> Problem:
    """Build the problem, or reuse what was counted for another search of the same lattice."""
    method = policy.method
    alike = method.generalise, method.suppress, method.suppression, method.metric
    if known is None or method.of_cells:
        return Problem.of(source, policy, engine)
    if alike not in known:
        known[alike] = Problem.of(source, policy, engine)
    return replace(known[alike], policy=policy)


def _with_time_limit(watch: Watch, method: Method) -> Watch:
    """Return a watch that also raises when the time limit is over, for algorithms that know no limit themselves."""
    if "time_limit" not in method.ignored or method.time_limit is None:
        return watch
    limit, ends = method.time_limit, perf_counter() + method.time_limit

    def bounded(ask: Ask, tally: Tally) -> None:
        if perf_counter() >= ends:
            raise Infeasible(f"{method.algorithm} was not done after {limit:g} s; allow more time")
        watch(ask, tally)

    return bounded


def _report_share(watch: Watch, done: int, of: int) -> Watch:
    """Return a watch that reports the progress of one search as a part of all."""

    def part(ask: Ask, tally: Tally) -> None:
        watch(ask._replace(settled=(done + ask.settled) / of), tally)

    return part


def _figures(policy: Policy, plan: Plan, further: Sequence[Figures]) -> FrozenDict:
    """Compute the further figures; one that a release does not have is left out, with a warning."""
    found: dict[str, float] = {}
    for figures in further:
        try:
            found |= figures(policy, plan)
        except ShoalError as wrong:
            warnings.warn(ShoalWarning(f"{policy.method.algorithm}: {wrong}"), stacklevel=2)
    return FrozenDict(found)


def _sample_rows(source: Source, plan: Plan, policy: Policy, engine: Engine, count: int) -> tuple[ShownRow, ...]:
    """Return what the quasi-identifiers of some rows, spread over the table, show in the release."""
    released = recode(source, plan, policy, engine)
    assert released.rows is not None
    total = source.table.rows
    place = {int(row): at for at, row in enumerate(released.rows)}
    columns = {name: released.columns[name] for name in policy.quasi_identifiers if name in released.columns}
    shown = []
    for row in (total * at // count for at in range(count)) if count < total else range(total):
        at = place.get(row)
        cells = None if at is None else FrozenDict({name: column.text(at) for name, column in columns.items()})
        shown.append(ShownRow(row + 1, cells))
    return tuple(shown)


def _run(name: str, problem: Problem) -> tuple[AlgorithmRun, Plan]:
    wall, cpu = perf_counter(), process_time()
    plan = solve(problem)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    search, levels = plan.search, plan.recoding.levels
    run = AlgorithmRun(
        algorithm=name,
        seconds=round(wall, 6),
        cpu_seconds=round(cpu, 6),
        asked=None if search is None else search.tally.asked,
        inferred=None if search is None else search.tally.inferred,
        checked=None if search is None else search.tally.checked,
        levels=None if levels is None else FrozenDict(levels),
        height=None if levels is None else sum(levels.values()),
        suppressed=plan.after.suppressed_rows,
        classes=len(plan.after.kept),
        metrics=FrozenDict(plan.metrics),
        proved=plan.proved,
        gap=plan.gap,
        solutions=(len(search.found.nodes) or None) if search else None,
    )
    return run, plan


def _as_document(outcome: AlgorithmRun | FailedRun) -> dict[str, Any]:
    """Return the fields that have a value."""
    document = {each.name: getattr(outcome, each.name) for each in fields(outcome)}
    if rows := document.pop("rows", ()):
        document["rows"] = [{"row": shown.number, "cells": shown.cells} for shown in rows]
    return {key: value for key, value in document.items() if value is not None and value != {}}
