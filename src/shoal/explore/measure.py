"""Measures what every model attains on a table as it is."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.homogeneity import describe_homogeneity
from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.data.codes import Column, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation, join_columns
from shoal.engine_port import Source
from shoal.errors import NAME_QUASI_IDENTIFIERS, BadInput
from shoal.hierarchy.taxonomy import TOP
from shoal.metrics.alpha import alpha_spread, alphas, largest_alpha
from shoal.models import KAnonymity, measured
from shoal.models.spec import suggest_column
from shoal.problem import repeated_persons, repeated_together, warn_of_repeated
from shoal.publish.manifest import freeze, to_plain
from shoal.risk.vocabulary import meaning_of
from shoal.runtime import html_table, short_number
from shoal.runtime.events import phase


def measure_homogeneity(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """Return, per sensitive attribute, the expected (S0.3, S0.4) and actual homogeneous classes, and their rows."""
    return {name: describe_homogeneity(counts, [name]) for name in sensitive}


def measure_joint_homogeneity(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any] | None:
    """Return the same of classes that show one value of any attribute, and of all: equation (1) with m > 1."""
    if len(sensitive) < 2:
        return None
    return {
        "any": describe_homogeneity(counts, sensitive, some=True),
        "all": describe_homogeneity(counts, sensitive),
    }


def measure_alphas(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """Return, per sensitive attribute, the α of each value that occurs, the largest, and their spread (S0.1, S0.6)."""
    out = {}
    for name in sensitive:
        alpha = alphas(counts.sensitive[name])
        labels = counts.sensitive[name].labels
        values = {label: float(a) for label, a in zip(labels, alpha, strict=True) if np.isfinite(a)}
        out[name] = {"max": largest_alpha(alpha), "spread": alpha_spread(alpha), "values": values}
    return out


_ROWS_NAMED = 10


@dataclass(frozen=True, repr=False)
class ModelMeasurement:
    """What one model attains on a table, and in which class it protects least."""

    model: str
    attribute: str | None
    """The sensitive attribute that it is about, if it is about one."""
    attained: Mapping[str, Any]
    """Its best parameters; by value where a threshold is per value."""
    worst: Mapping[str, Any] | None
    """The size of the class, the numbers of its first rows and, where asked for, the values they share."""

    @property
    def figures(self) -> str:
        """The parameters as text, without those that are told value by value."""
        told = {name: value for name, value in self.attained.items() if not isinstance(value, Mapping)}
        return ", ".join(f"{name} = {short_number(value)}" for name, value in told.items())

    def to_dict(self) -> dict[str, Any]:
        about = {} if self.attribute is None else {"attribute": self.attribute}
        return {
            "model": self.model,
            **about,
            "attained": to_plain(self.attained),
            **({} if self.worst is None else {"worst": to_plain(self.worst)}),
        }

    def __repr__(self) -> str:
        about = "" if self.attribute is None else f" of {self.attribute!r}"
        return f"ModelMeasurement({self.model}{about}: {self.figures})"


@dataclass(frozen=True, repr=False)
class TableMeasurement:
    """How anonymous a table is as it is: what every model attains, attribute by attribute."""

    rows: int
    classes: int
    models: tuple[ModelMeasurement, ...]
    homogeneity: Mapping[str, Any]
    """Of each sensitive attribute, how many classes show one value only, and how many would by chance."""
    alphas: Mapping[str, Any]
    """Of each sensitive attribute, the largest share of each value in a class."""
    alone: Mapping[str, int]
    """The k of each quasi-identifier alone."""
    persons: int | None = None
    suppressed: Mapping[str, Any] | None = None
    """How many rows are `*` in every quasi-identifier, and whether they were left out."""
    joint_homogeneity: Mapping[str, Any] | None = None
    """With several sensitive attributes: how many classes show one value of `any`, and of `all`, and by chance."""

    @property
    def k(self) -> int:
        """The rows, or persons, of the smallest class."""
        return int(next(each.attained["k"] for each in self.models if each.model == KAnonymity.name))

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as a JSON object."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            **({} if self.persons is None else {"persons": self.persons}),
            "models": [each.to_dict() for each in self.models],
            "homogeneity": to_plain(self.homogeneity),
            "alphas": to_plain(self.alphas),
            "alone": to_plain(self.alone),
            **({} if self.suppressed is None else {"suppressed": to_plain(self.suppressed)}),
            **({} if self.joint_homogeneity is None else {"joint_homogeneity": to_plain(self.joint_homogeneity)}),
        }

    def __repr__(self) -> str:
        return f"TableMeasurement({self.rows:,} rows in {self.classes:,} classes, k = {self.k:,})"

    def _repr_html_(self) -> str:
        told = [(each.model, each.attribute or "", each.figures) for each in self.models]
        return html_table(f"{self.rows:,} rows in {self.classes:,} classes", told)


@phase("counting")
def measure_table(
    read: Source,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    *,
    unit: str | None = None,
    ignore_suppressed: bool,
    graph: Callable[[str, ValueCounts], None] | None = None,
    show_values: bool = False,
) -> TableMeasurement:
    """Measure classes, what each model attains and where, the k of each quasi-identifier alone, and suppressed rows.

    Attributes that hide people one by one may point at them together (S2.2b).
    """
    if not quasi:
        raise BadInput(f"no column is named to measure by: {NAME_QUASI_IDENTIFIERS}")
    refuse_roles(read, quasi, sensitive, unit)
    table = read.table
    warn_of_persons(table, {*quasi, *sensitive}, unit)
    stars = suppressed_rows(table, quasi)
    rows = np.flatnonzero(~stars) if ignore_suppressed else np.arange(table.rows)
    if not len(rows):
        raise BadInput(f"{read.name}: every row is suppressed, so there is nothing to measure")
    classes = _count(table, rows, quasi, sensitive, unit)
    reading = CountInterpretation({name: _labels(table[name]) for name in sensitive}, unit)
    counts = classes.class_counts(reading)
    found = measured(counts, sensitive)
    worst = [_locate_class(entry["worst"], counts, classes, rows) for entry in found]
    if show_values:
        _name_values(worst, table, quasi)
    if graph is not None:
        graph(sensitive[0], counts.sensitive[sensitive[0]])
    return TableMeasurement(
        len(rows),
        len(classes),
        tuple(
            ModelMeasurement(entry["model"], entry.get("attribute"), freeze(entry["attained"]), freeze(at))
            for entry, at in zip(found, worst, strict=True)
        ),
        freeze(measure_homogeneity(counts, sensitive)),
        freeze(measure_alphas(counts, sensitive)),
        freeze({name: int(classes.project([name]).class_counts(reading).sizes.min()) for name in quasi}),
        None if unit is None else int(classes.project([]).class_counts(reading).sizes[0]),
        freeze({"rows": int(stars.sum()), "ignored": ignore_suppressed}) if stars.any() else None,
        freeze(measure_joint_homogeneity(counts, sensitive)),
    )


def warn_of_persons(table: Table, named: Collection[str], unit: str | None) -> dict[str, str]:
    """Warn if rows are counted though a column seems to identify persons; return such columns and how they repeat."""
    others = [name for name in table.columns if name not in named and unit is None]
    meant = {name: meaning_of(name) for name in others}
    numbers = [name for name, found in meant.items() if found and found[0].name == "person_number"]
    return warn_of_repeated(repeated_persons(table, numbers) or repeated_together(table, others))


def _count(
    table: Table, rows: NDArray[np.int64], quasi: Sequence[str], sensitive: Sequence[str], unit: str | None
) -> FrequencySet:
    coded = {n: (table[n].codes[rows], table[n].size) for n in (*quasi, *sensitive, *([unit] if unit else []))}
    beside: dict[Any, Any] = {name: coded[name] for name in sensitive}
    if unit is not None:
        beside = {unit: coded[unit]} | {(unit, name): join_columns([coded[unit], coded[name]]) for name in sensitive}
    return FrequencySet.count({name: coded[name] for name in quasi}, beside, want_classes=True)


def _locate_class(
    at: int | None, counts: ClassCounts, classes: FrequencySet, rows: NDArray[np.int64]
) -> dict[str, Any] | None:
    """Return the size of the class that protects least, and the numbers of its first rows."""
    if at is None:
        return None
    members = rows[np.flatnonzero(classes.classes == at)] + 1
    return {"size": int(counts.sizes[at]), "rows": members[:_ROWS_NAMED].tolist()}


def _name_values(worst: Sequence[dict[str, Any] | None], table: Table, quasi: Sequence[str]) -> None:
    """Add the values that the members of the worst classes share."""
    labels = {name: _labels(table[name]) for name in quasi}
    for found in worst:
        if found is not None:
            row = found["rows"][0] - 1
            found["values"] = {name: labels[name][table[name].codes[row]] for name in quasi}


def _labels(column: Column) -> list[str | None]:
    return [*column.texts.to_pylist(), None][: column.size]


def refuse_roles(read: Source, quasi: Sequence[str], sensitive: Sequence[str], unit: str | None) -> None:
    """Refuse names that are no columns, and columns with two roles."""
    named = [*quasi, *sensitive, *([unit] if unit is not None else [])]
    for name in named:
        if name not in read.table.columns:
            raise BadInput(f"{read.name}: there is no column {name!r}{suggest_column(name, read.table.columns)}")
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise BadInput(f"{', '.join(map(repr, twice))} cannot be quasi-identifier, sensitive or unit at once")


def suppressed_rows(table: Table, quasi: Sequence[str]) -> NDArray[np.bool_]:
    """Flag the rows that are `*` in every quasi-identifier."""
    stars = np.ones(table.rows, dtype=bool)
    for name in quasi:
        texts: list[str | None] = [*table[name].texts.to_pylist(), None]
        stars &= np.array([text == TOP for text in texts], dtype=bool)[table[name].codes]
    return stars
