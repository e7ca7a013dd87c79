"""Varies one parameter of a policy: what each value costs, and which values allow no release."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal
from functools import partial
from typing import Any, Self

from shoal.engine_port import Engine, Source
from shoal.errors import BadInput, BadPolicy
from shoal.explore.compare import AlgorithmRun, FailedRun, known_algorithms, run_each
from shoal.models.spec import kebab, suggest_nearest
from shoal.policy.document import Policy
from shoal.policy.method import Method
from shoal.policy.sections import Attribute, ReleaseOptions, suppression_of_text
from shoal.publish.manifest import FrozenDict
from shoal.runtime import html_table, short_number
from shoal.search.driver import Stop, Watch

MOST_VALUES = 1000
_SHOWN = 10
"""Most values that the short form of a sweep shows."""
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::({_NUMBER}))?")
Value = int | float | str | bool


@dataclass(frozen=True, slots=True)
class SweepRun:
    """The result for one value of the parameter."""

    value: Value
    feasible: bool
    why: str | None = None
    """Why this value gives no release."""
    classes: int | None = None
    suppressed: int | None = None
    """Rows that are suppressed."""
    seconds: float | None = None
    metrics: Mapping[str, float] = field(default_factory=FrozenDict)

    @property
    def loss(self) -> float | None:
        return self.metrics.get("loss")

    @property
    def average_class(self) -> float | None:
        return self.metrics.get("average-class")

    @classmethod
    def of(cls, value: Value, outcome: AlgorithmRun | FailedRun) -> "SweepRun":
        """Return the result for a value, from the outcome of its run."""
        if isinstance(outcome, FailedRun):
            return cls(value, feasible=False, why=outcome.why)
        return cls(value, True, None, outcome.classes, outcome.suppressed, outcome.seconds, outcome.metrics)


@dataclass(frozen=True, repr=False)
class ParameterSweep:
    """A policy at several values of one parameter, in the order in which they were given."""

    parameter: str
    metric: str
    """The metric that the policy minimises."""
    algorithm: str
    rows: int
    runs: tuple[SweepRun, ...]

    def __repr__(self) -> str:
        told = ", ".join(f"{run.value}: {self._cost(run)}" for run in self.runs[:_SHOWN])
        more = f", {len(self.runs) - _SHOWN} more" if len(self.runs) > _SHOWN else ""
        return f"{type(self).__name__}({self.metric} on {self.rows:,} rows by {self.parameter}: {told}{more})"

    def _repr_html_(self) -> str:
        head = (self.parameter, self.metric, "classes", "suppressed")
        lines = [(run.value, self._cost(run), *map(short_number, (run.classes, run.suppressed))) for run in self.runs]
        return html_table(f"{self.rows:,} rows, {self.algorithm}", [head, *lines])

    def _cost(self, run: SweepRun) -> str:
        return short_number(run.metrics.get(self.metric)) if run.feasible else "no release"

    def without_times(self) -> Self:
        """Return the sweep without times, so that equal sweeps are equal."""
        return replace(self, runs=tuple(replace(run, seconds=None) for run in self.runs))

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as a JSON object; a run has the fields that have a value."""
        said = [{key: value for key, value in asdict(run).items() if value is not None} for run in self.runs]
        runs = [{**each, "metrics": dict(each["metrics"])} for each in said]
        told = {"parameter": self.parameter, "metric": self.metric, "algorithm": self.algorithm, "rows": self.rows}
        return {**told, "runs": runs}

    def csv(self) -> str:
        """Return one CSV line for each value."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        metrics = list(dict.fromkeys(name for run in self.runs for name in run.metrics))
        lines.writerow([self.parameter, "feasible", "classes", "suppressed", "seconds", *metrics, "why"])
        for run in self.runs:
            numbers = [run.classes, run.suppressed, run.seconds, *(run.metrics.get(name) for name in metrics)]
            lines.writerow([run.value, str(run.feasible).lower(), *numbers, run.why])
        return text.getvalue()


def parameter_of(text: str) -> tuple[str, tuple[Value, ...]]:
    """Return the name and the values of `name=values`.

    >>> parameter_of("suppression=0..0.2:0.05")
    ('suppression', (0, 0.05, 0.1, 0.15, 0.2))
    """
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise BadInput(f"{text!r}: write the parameter and its values, e.g. 'suppression=0..0.2:0.05'")
    return name.strip(), values_of(values)


def values_of(text: str) -> tuple[Value, ...]:
    """Return values separated by commas; `2..50` is every whole number between, `0..0.2:0.05` goes by steps.

    >>> values_of("2..5,10"), values_of("optimal, local"), values_of("10..2:-4")
    ((2, 3, 4, 5, 10), ('optimal', 'local'), (10, 6, 2))
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise BadInput(f"{text!r}: a value is missing; write values as 2..50, 0..0.2:0.05 or a,b,c")
    return tuple(value for part in parts for value in _values(part))


def _values(part: str) -> Sequence[Value]:
    found = _RANGE.fullmatch(part)
    if found is None:
        return [_value(part)]
    first, last, step = (Decimal(number) for number in (found[1], found[2], found[3] or "1"))
    if found[3] is None and (first % 1 or last % 1):
        raise BadInput(f"{part!r}: the ends are no whole numbers, so give a step, e.g. '{part}:0.05'")
    many = int((last - first) / step) + 1 if step and (last - first) * step >= 0 else 0
    if not 0 < many <= MOST_VALUES:
        raise BadInput(f"{part!r}: these are {many or 'no'} values; a sweep has 1 to {MOST_VALUES:,}")
    found_numbers = [_number(first + step * number) for number in range(many)]
    return [float(number) if number and step % 1 else number for number in found_numbers]  # 1.0: 1 may mean one row


def _value(text: str) -> Value:
    if text in {"true", "false"}:
        return text == "true"
    if not re.fullmatch(_NUMBER, text):
        return text
    return float(text) if "." in text else _number(Decimal(text))


def _number(number: Decimal) -> int | float:
    return float(number) if number % 1 else int(number)


def sweep_parameter(
    source: Source,
    policy: Policy,
    engine: Engine,
    name: str,
    values: Iterable[Value],
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> ParameterSweep:
    """Solve the policy at each value; a value without a release is an error only if all are."""
    values = tuple(dict.fromkeys(values))
    # keyed by position: 1 and True are equal, and so are 2 and 2.0
    cases = {str(at): partial(_policy_with_value, policy, name, value) for at, value in enumerate(values)}
    outcomes = run_each(source, cases, engine, watch, stop)
    runs = tuple(SweepRun.of(value, outcome) for value, outcome in zip(values, outcomes, strict=True))
    return ParameterSweep(name, policy.method.metric, policy.method.algorithm, source.table.rows, runs)


def _policy_with_value(policy: Policy, name: str, value: Value) -> Policy:
    """Return the policy with one value; ignored options are warned of, unless the algorithm itself varies."""
    changed = vary(policy, name, value)
    return changed if name == "algorithm" else changed.in_effect()


def refuse_unknown(policy: Policy, name: str, values: Iterable[Value]) -> None:
    """Refuse parameters and algorithms that the policy cannot have, before any work is done."""
    if name == "algorithm":
        known_algorithms([str(value) for value in values])
    elif not values:
        raise BadInput(f"give at least one value of {name}")
    else:
        _find_section(policy, name)


def vary(policy: Policy, name: str, value: Value) -> Policy:
    """Return the policy with another value of a parameter.

    That is an option of [method] (`suppression`), a parameter of the models required (`k`, `t-closeness.t`), an
    option of [release] (`release.suppressed`) or of a column (`attributes.age.max-level`).

    >>> policy = Policy(attributes={"age": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 5}])
    >>> vary(policy, "k", 7).require, vary(policy, "attributes.age.max-level", 1).attributes["age"].max_level
    ((KAnonymity(k=7),), 1)
    """
    section, key = _find_section(policy, name)
    if section == "method":
        if key == "algorithm":
            return policy.with_algorithm(str(value))
        said = {option: getattr(policy.method, option) for option in policy.method.model_fields_set}
        meant = suppression_of_text(value) if key == "suppression" and isinstance(value, str) else value  # rows=2
        return Policy(**{**dict(policy), "method": {**said, key: meant}})
    if section == "release":
        return Policy(**{**dict(policy), "release": {**dict(policy.release), key: value}})
    if section == "require":
        return Policy(
            **{**dict(policy), "require": tuple(_vary_model(model, name, key, value) for model in policy.require)}
        )
    attributes = {column: dict(attribute) for column, attribute in policy.attributes.items()}
    attributes[section.removeprefix("attributes.")][key] = value
    return Policy(**{**dict(policy), "attributes": attributes})


def _vary_model(model: Any, name: str, key: str, value: Value) -> Any:
    """Return a model with another value of a parameter, if it is meant and has this parameter."""
    if name.rpartition(".")[0] not in {"", model.name} or key not in _keys(model):
        return model
    try:
        return replace(model, **{key: value})
    except (TypeError, ValueError) as wrong:
        raise BadPolicy(f"require: {model.name}: {wrong}") from None


def _keys(model: Any) -> set[str]:
    return {each.name for each in fields(model)}


def _find_section(policy: Policy, name: str) -> tuple[str, str]:
    """Return the section of the policy that has a parameter, and its key there."""
    above, _, last = name.rpartition(".")
    key = last.replace("-", "_")
    if above in {"", "method"} and key in Method.model_fields:
        return "method", key
    if above == "release" and key in ReleaseOptions.model_fields:
        return "release", key
    if any(above in {"", model.name} and key in _keys(model) for model in policy.require):
        return "require", key
    if above.removeprefix("attributes.") in policy.attributes and key in Attribute.model_fields:
        return f"attributes.{above.removeprefix('attributes.')}", key
    parameters = [key for model in policy.require for key in sorted(_keys(model))]
    known = list(dict.fromkeys(map(kebab, [*parameters, *Method.model_fields])))
    raise BadInput(
        f"{name!r} is no parameter of this policy{suggest_nearest(name, known)}; known: {', '.join(known)}, and "
        "attributes.COLUMN.KEY"
    )
