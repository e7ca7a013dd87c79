"""What models need counted beside the classes, and how it is read."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from shoal.codes import Column, Table
from shoal.errors import ShoalWarning
from shoal.frequency import Counted, FrequencySet, Reading, joined
from shoal.hierarchy import Hierarchy, build
from shoal.models import QUASI, Model, asked
from shoal.policy import Policy
from shoal.schema import Role


def counted(policy: Policy, quasi: Sequence[str]) -> list[Counted]:
    """What models and the metric need counted beside the classes; where a unit is given, with the persons."""
    if policy.unit is None:
        return [*policy.about, *together(policy, quasi)]
    return [policy.unit, *((policy.unit, name) for name in policy.about), *together(policy, quasi)]


def together(policy: Policy, quasi: Sequence[str]) -> list[tuple[str, ...]]:
    """The sets of columns that models need counted together."""
    return sorted({_expanded(model.columns, quasi) for model in policy.models if model.columns})


def _expanded(columns: Sequence[str], quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for column in columns for name in (quasi if column == QUASI else [column]))


def trees_of(table: Table, policy: Policy) -> dict[str, Hierarchy]:
    """The hierarchies of sensitive attributes that have one."""
    known = {name: policy.attributes[name].hierarchy for name in policy.named(Role.SENSITIVE)}
    return {name: build(table[name], builder) for name, builder in known.items() if builder is not None}


def orders_of(policy: Policy) -> dict[str, tuple[str, ...]]:
    """The orders of sensitive attributes that have one."""
    return {name: a.order for name, a in policy.attributes.items() if a.order is not None}


def read_columns(table: Table, policy: Policy, classes: FrequencySet, quasi: Sequence[str]) -> Reading:
    """How the counted columns are read: labels, hierarchies and orders, and what the whole table holds."""
    jointly = together(policy, quasi)
    trees = trees_of(table, policy)
    reading = Reading(
        labels={name: _labels(table[name]) for name in dict.fromkeys([*policy.about, *chain(*jointly)])},
        unit=policy.unit,
        levels={name: tree.levels for name, tree in trees.items()},
        order=orders_of(policy),
        joint=dict.fromkeys(jointly),
        level_labels={name: tree.labels for name, tree in trees.items()},
        split=_warn_of_varying_persons(table, quasi, policy.unit),
    )
    whole = classes.project([]).class_counts(reading)
    reference = {name: values.overall for name, values in whole.sensitive.items()}
    return replace(reading, reference=reference, joint=whole.joint)


def _labels(column: Column) -> list[str | None]:
    return [*column.texts.to_pylist(), None][: column.size]


def _warn_of_varying_persons(table: Table, quasi: Sequence[str], unit: str | None) -> bool:
    """Whether a person's quasi-identifiers differ from row to row, so that he stands in several classes."""
    varying = []
    for name in quasi if unit is not None else ():
        _, pairs, _ = joined([(table[n].codes, table[n].size) for n in (unit, name) if n is not None])
        varying += [name] if pairs > table[unit or ""].size else []
    for name in varying:
        said = f"attributes.{name}: some persons have several values of it, so they stand in several classes"
        warnings.warn(ShoalWarning(said), stacklevel=2)
    return bool(varying)


def warn_of_unknown_values(models: list[Model], labels: Mapping[str, Sequence[str | None]]) -> None:
    """A threshold for a value that the table does not hold protects nobody: a slip of the pen, perhaps."""
    for model in models:
        for table in asked(model).values():
            unknown = [v for v in table if v not in labels[model.about or ""]] if isinstance(table, Mapping) else []
            if unknown:
                named = ", ".join(repr(value) for value in unknown)
                warnings.warn(ShoalWarning(f"{model.name}: the table holds no {named}"), stacklevel=2)
