"""Several searches on one table and one policy, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from time import perf_counter, process_time
from typing import Any, get_args

from shoal.errors import BadInput, ShoalError
from shoal.metrics import scorers
from shoal.models.spec import nearest
from shoal.plan import Plan, Task, solve
from shoal.policy import Policy
from shoal.policy.parts import ALGORITHM_OPTIONS, Algorithm, Method
from shoal.report.fixed import Fixed
from shoal.search import Ask, Stop, Tally, Watch

ALGORITHMS: tuple[str, ...] = get_args(Algorithm)


@dataclass(frozen=True, slots=True)
class Run:
    """What one algorithm found and what it took."""

    algorithm: str
    seconds: float | None
    cpu_seconds: float | None
    asked: int
    """Questions of the search; each was remembered, inferred, or checked."""
    inferred: int
    checked: int
    levels: Mapping[str, int]
    height: int
    suppressed: int
    classes: int
    metrics: Mapping[str, float]
    proved: bool
    gap: float
    """By how much the metric of the policy may lie above the least, as far as the search knows."""
    solutions: int | None
    """How many nodes the algorithm returned, where it returns a set."""


@dataclass(frozen=True, slots=True)
class NoRun:
    """An algorithm that gave no release, and why."""

    algorithm: str
    why: str


@dataclass(frozen=True)
class Comparison:
    """What several algorithms make of the same table and policy, in the order in which they were named."""

    metric: str
    rows: int
    nodes: int
    """Of the lattice."""
    outcomes: tuple[Run | NoRun, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Run))

    @property
    def others(self) -> tuple[NoRun, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, NoRun))

    def without_times(self) -> "Comparison":
        """The same for every equal run."""
        timeless = [replace(o, seconds=None, cpu_seconds=None) if isinstance(o, Run) else o for o in self.outcomes]
        return replace(self, outcomes=tuple(timeless))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        algorithms = [{**_as_document(outcome), "ran": isinstance(outcome, Run)} for outcome in self.outcomes]
        return {"metric": self.metric, "rows": self.rows, "nodes": self.nodes, "algorithms": algorithms}


def known_algorithms(names: Sequence[str] | None) -> tuple[str, ...]:
    """The algorithms to compare, each once; all when none is named.

    >>> known_algorithms(["datafly", "optimal", "datafly"])
    ('datafly', 'optimal')
    """
    if names is not None and not names:
        raise BadInput(f"name at least one algorithm; known: {', '.join(ALGORITHMS)}")
    for name in names or ():
        if name not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise BadInput(f"algorithm {name!r} is not known{nearest(name, ALGORITHMS)}; known: {known}")
    return tuple(dict.fromkeys(names)) if names else ALGORITHMS


def compare_algorithms(
    task: Task,
    policy: Policy,
    algorithms: Sequence[str],
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Comparison:
    """Run them one after the other; one that is refused or finds nothing does not stop the others, unless all do."""
    outcomes: list[Run | NoRun] = []
    errors: list[ShoalError] = []
    for done, algorithm in enumerate(algorithms):
        try:
            share = _share(watch, done, len(algorithms))
            outcomes.append(_run(task.afresh(), _with_algorithm(policy, algorithm), share, stop))
        except ShoalError as wrong:
            errors.append(wrong)
            outcomes.append(NoRun(algorithm, str(wrong)))
    if len(errors) == len(algorithms):
        raise errors[0]
    return Comparison(policy.method.metric, task.before.rows, task.lattice.size, tuple(outcomes))


def _with_algorithm(policy: Policy, algorithm: str) -> Policy:
    """The policy with another algorithm; options that mean nothing to it are left at their defaults."""
    defaults = {
        option: Method.model_fields[option].default
        for option, algorithms in ALGORITHM_OPTIONS.items()
        if algorithm not in algorithms
    }
    method = policy.method.model_copy(update={"algorithm": algorithm, **defaults})
    return policy.model_copy(update={"method": method})


def _share(watch: Watch, done: int, of: int) -> Watch:
    """Progress of one search as a part of all."""

    def part(ask: Ask, tally: Tally) -> None:
        watch(ask._replace(settled=(done + ask.settled) / of), tally)

    return part


def _run(task: Task, policy: Policy, watch: Watch, stop: Stop) -> Run:
    wall, cpu = perf_counter(), process_time()
    plan = solve(task, policy, watch, stop)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    return Run(
        algorithm=policy.method.algorithm,
        seconds=round(wall, 6),
        cpu_seconds=round(cpu, 6),
        asked=plan.tally.asked,
        inferred=plan.tally.inferred,
        checked=plan.tally.checked,
        levels=Fixed(plan.recoding.levels),
        height=sum(plan.after.node),
        suppressed=plan.after.suppressed_rows,
        classes=len(plan.after.kept),
        metrics=_metrics(plan),
        proved=plan.found.proved,
        gap=plan.gap,
        solutions=len(plan.found.nodes) or None,
    )


def _metrics(plan: Plan) -> Fixed:
    return Fixed({name: scorer.value(scorer.score(plan.after)) for name, scorer in scorers(plan.before).items()})


def _as_document(outcome: Run | NoRun) -> dict[str, Any]:
    """Its fields, those without a value left out."""
    document = {field.name: getattr(outcome, field.name) for field in fields(outcome)}
    return {key: value for key, value in document.items() if value is not None}
