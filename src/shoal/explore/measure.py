"""Every model's attained value for a table as it is."""

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.homogeneity import expectations, homogeneous
from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.data.codes import Column, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Reading, joined
from shoal.engine_port import Source
from shoal.errors import BadInput
from shoal.hierarchy.taxonomy import TOP
from shoal.metrics.alpha import alphas, largest, spread
from shoal.models import measured
from shoal.problem import warn_of_several_rows
from shoal.risk.vocabulary import meaning_of


def measured_homogeneity(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """For each sensitive attribute: expected (S0.3, S0.4) and actual homogeneous classes, and their rows."""
    return {name: _document(counts, name) for name in sensitive}


def _document(counts: ClassCounts, name: str) -> dict[str, Any]:
    found = homogeneous(counts, [name])
    return expectations(counts, [name]) | {"classes": int(found.sum()), "rows": int(counts.sizes[found].sum())}


def measured_alphas(counts: ClassCounts, sensitive: Sequence[str]) -> dict[str, Any]:
    """For each sensitive attribute: the α of each value that occurs, the largest, and their spread (S0.1, S0.6)."""
    out = {}
    for name in sensitive:
        alpha = alphas(counts.sensitive[name])
        labels = counts.sensitive[name].labels
        values = {label: float(a) for label, a in zip(labels, alpha, strict=True) if np.isfinite(a)}
        out[name] = {"max": largest(alpha), "spread": spread(alpha), "values": values}
    return out


_ROWS_NAMED = 10


def measure_table(
    read: Source,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    *,
    unit: str | None = None,
    ignore_suppressed: bool,
    graph: Callable[[str, ValueCounts], None] | None = None,
    show_values: bool = False,
) -> dict[str, Any]:
    """Rows, classes, what each model attains and in which class, the k of each quasi-identifier alone, suppressed rows.

    Attributes that hide people one by one may point at them together (S2.2b).
    """
    if not quasi:
        raise BadInput("name at least one quasi-identifier, e.g. --qi age,sex")
    refuse_roles(read, quasi, sensitive, unit)
    table = read.table
    warn_of_persons(table, {*quasi, *sensitive}, unit)
    stars = suppressed_rows(table, quasi)
    rows = np.flatnonzero(~stars) if ignore_suppressed else np.arange(table.rows)
    if not len(rows):
        raise BadInput(f"{read.name}: every row is suppressed, so there is nothing to measure")
    classes = _count(table, rows, quasi, sensitive, unit)
    reading = Reading({name: _labels(table[name]) for name in sensitive}, unit)
    counts = classes.class_counts(reading)
    out: dict[str, Any] = {"rows": len(rows), "classes": len(classes)}
    if unit is not None:
        out["persons"] = int(classes.project([]).class_counts(reading).sizes[0])
    found = measured(counts, sensitive)
    out["models"] = [_located(entry, counts, classes, rows) for entry in found]
    if show_values:
        _name_values(out["models"], table, quasi)
    out["homogeneity"] = measured_homogeneity(counts, sensitive)
    out["alphas"] = measured_alphas(counts, sensitive)
    if graph is not None:
        graph(sensitive[0], counts.sensitive[sensitive[0]])
    out["alone"] = {name: int(classes.project([name]).class_counts(reading).sizes.min()) for name in quasi}
    if stars.any():
        out["suppressed"] = {"rows": int(stars.sum()), "ignored": ignore_suppressed}
    return out


def warn_of_persons(table: Table, named: Collection[str], unit: str | None) -> None:
    """Warn where rows are counted though another column seems to tell persons apart, who have several rows."""
    others = [name for name in table.columns if name not in named and unit is None]
    meant = {name: meaning_of(name) for name in others}
    warn_of_several_rows(table, [name for name, found in meant.items() if found and found[0].name == "person_number"])


def _count(
    table: Table, rows: NDArray[np.int64], quasi: Sequence[str], sensitive: Sequence[str], unit: str | None
) -> FrequencySet:
    coded = {n: (table[n].codes[rows], table[n].size) for n in (*quasi, *sensitive, *([unit] if unit else []))}
    beside: dict[Any, Any] = {name: coded[name] for name in sensitive}
    if unit is not None:
        beside = {unit: coded[unit]} | {(unit, name): joined([coded[unit], coded[name]]) for name in sensitive}
    return FrequencySet.count({name: coded[name] for name in quasi}, beside, want_classes=True)


def _located(
    entry: dict[str, Any], counts: ClassCounts, classes: FrequencySet, rows: NDArray[np.int64]
) -> dict[str, Any]:
    """Add the size of the class that protects least, and the numbers of its first rows."""
    at = entry.pop("worst")
    if at is not None:
        members = rows[np.flatnonzero(classes.classes == at)] + 1
        entry["worst"] = {"size": int(counts.sizes[at]), "rows": members[:_ROWS_NAMED].tolist()}
    return entry


def _name_values(entries: list[dict[str, Any]], table: Table, quasi: Sequence[str]) -> None:
    """Add the values that the members of the worst classes share."""
    labels = {name: _labels(table[name]) for name in quasi}
    for entry in entries:
        if "worst" in entry:
            row = entry["worst"]["rows"][0] - 1
            entry["worst"]["values"] = {name: labels[name][table[name].codes[row]] for name in quasi}


def _labels(column: Column) -> list[str | None]:
    return [*column.texts.to_pylist(), None][: column.size]


def refuse_roles(read: Source, quasi: Sequence[str], sensitive: Sequence[str], unit: str | None) -> None:
    """Refuse names that are no columns, and columns with two roles."""
    named = [*quasi, *sensitive, *([unit] if unit is not None else [])]
    for name in named:
        if name not in read.table.columns:
            near = get_close_matches(name, read.table.columns, n=1, cutoff=0.5)
            raise BadInput(
                f"{read.name}: there is no column {name!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
            )
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
