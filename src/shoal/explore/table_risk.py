"""Assesses the risk of a table or a release."""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs
from shoal.data.codes import Table
from shoal.data.frequency_set import FrequencySet
from shoal.engine_port import ReadOptions, Source
from shoal.errors import NAME_QUASI_IDENTIFIERS, BadInput, ShoalWarning
from shoal.explore.measure import refuse_roles, suppressed_rows, warn_of_persons
from shoal.models.model import refuse_unless_whole
from shoal.problem import with_population
from shoal.publish.claims import load_public
from shoal.risk import Assessment, Reidentification
from shoal.risk.attackers import (
    Attacker,
    Uniqueness,
    counted_uniqueness,
    estimated_journalist,
    journalist,
    known_threshold,
    marketer,
    people_by_risk,
    prosecutor,
    uniqueness,
    weighted_journalist,
)
from shoal.risk.discovery import discover
from shoal.risk.identifiers import identifiers
from shoal.risk.individual import Individual, individual_risks, read_weights
from shoal.risk.presets import PresetFigures, judged, known_preset
from shoal.risk.suda import Told, coded, suda
from shoal.runtime.events import phase
from shoal.runtime.tempdir import settle
from shoal.search.driver import Ask, Watch
from shoal.search.oracle import Tally
from shoal.verify.release_files import published_table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RiskAsked:
    """What to assess."""

    quasi_identifiers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    unit: str | None = None
    population: Any = None
    population_size: int | None = None
    threshold: float | Fraction | str = 0.2
    presets: tuple[str, ...] = ()
    suda: bool = False
    suda_size: int | None = None
    fraction: float | None = None
    """The sampling fraction of DIS-SUDA."""
    discover: bool | None = None
    """Whether to look for combinations; None: where no quasi-identifiers are named."""
    discover_measure: str = "distinction"
    discover_threshold: float | Fraction | str = 0.5
    discover_size: int | None = None
    identifiers: bool | None = None
    """Whether to look for identifiers; None: without named quasi-identifiers, or if a preset asks for them."""

    def __post_init__(self) -> None:
        known_threshold(self.threshold)
        for name in self.presets:
            known_preset(name)
        for what in ("population_size", "suda_size", "discover_size"):
            _refuse_unless_whole(what.replace("_", "-"), getattr(self, what))
        if self.population_size is not None and self.population is not None:
            raise BadInput("give either a population table or its size, not both")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise BadInput(f"the sampling fraction must lie above 0 and at most at 1, not {self.fraction!r}")
        if self.unit is not None and (self.weight is not None or self.suda):
            raise BadInput("weights and SUDA look at rows, a unit at persons: leave one of them out")

    @property
    def has_no_quasi_identifiers(self) -> bool:
        """Whether no quasi-identifiers are named, so that the question is which columns are."""
        return not self.quasi_identifiers

    def refuse_without_quasi_identifiers(self) -> None:
        needing = {
            "a weight": self.weight is not None,
            "a population": self.population is not None,
            "the size of a population": self.population_size is not None,
            "a unit": self.unit is not None,
            "SUDA": self.suda,
            **{f"the preset {name!r}": known_preset(name).counted for name in self.presets},
        }
        named = [option for option, given in needing.items() if given]
        if self.has_no_quasi_identifiers and named:
            raise BadInput(f"{named[0]} looks at classes: {NAME_QUASI_IDENTIFIERS}")


def _refuse_unless_whole(what: str, value: object) -> None:
    try:
        if value is not None:
            refuse_unless_whole(what, value)
    except ValueError as wrong:
        raise BadInput(str(wrong)) from None


def read_for_risk(
    source: Any, options: ReadOptions, asked: RiskAsked, read: Callable[[Any, ReadOptions], Source]
) -> tuple[Source, RiskAsked, int | None]:
    """Read the table; of a published folder also take its quasi-identifiers and the number of suppressed rows."""
    if isinstance(source, str | os.PathLike):
        settle(Path(source))
    if not isinstance(source, str | os.PathLike) or not (Path(source) / "manifest.json").is_file():
        return read(source, options), asked, None
    folder = Path(source)
    manifest = load_public(folder)
    data = manifest.data
    file = published_table(folder, data.file, data.sha256)
    how = ReadOptions(missing=(data.missing,), delimiter=data.delimiter, quote=data.quote)  # options are for others
    shown = tuple(name for name in manifest.quasi_identifiers if name in data.columns)
    hidden = tuple(name for name in manifest.sensitive if name in data.columns and not asked.quasi_identifiers)
    about = replace(
        asked,
        quasi_identifiers=asked.quasi_identifiers or shown,
        sensitive=asked.sensitive or hidden,
    )
    if manifest.persons:
        warnings.warn(
            ShoalWarning(
                f"{folder.name}: its promises count persons, and which rows are one person's is not in a release: here "
                "each row is taken for a person"
            ),
            stacklevel=2,
        )
    return read(file, how if data.format == "csv" else ReadOptions()), about, manifest.rows.suppressed


@phase("counting")
def assess(
    read: Source, asked: RiskAsked, everybody: Source | None, watch: Watch, dropped: int | None = None
) -> Assessment:
    """Assess all that was asked for."""
    asked.refuse_without_quasi_identifiers()
    others = [*asked.sensitive, *([asked.weight] if asked.weight is not None else [])]
    refuse_roles(read, asked.quasi_identifiers, others, asked.unit)
    table = read.table
    warn_of_persons(table, {*asked.quasi_identifiers, *others}, asked.unit)
    notes: list[str] = []
    wanted = any(name == "hipaa-safe-harbor" for name in asked.presets)
    look = asked.has_no_quasi_identifiers if asked.identifiers is None else asked.identifiers
    findings = identifiers(table) if look or wanted else None
    found = None if asked.has_no_quasi_identifiers else _reidentification(read, asked, everybody, watch, dropped, notes)
    seen = PresetFigures(None if found is None else found.sizes, findings or ())
    telling = None
    if asked.has_no_quasi_identifiers if asked.discover is None else asked.discover:
        left_out = {*others, asked.unit}
        telling = discover(
            coded(table, [name for name in table.columns if name not in left_out]),
            threshold=asked.discover_threshold,
            measure=asked.discover_measure,
            max_size=asked.discover_size,
            told=_report_to(watch),
        )
    presets = tuple(judged(known_preset(name), seen) for name in asked.presets)
    return Assessment(read.name, table.rows, found, findings, telling, presets, tuple(notes))


def _report_to(watch: Watch) -> Told:
    return lambda share: watch(Ask((), share), Tally())


def _reidentification(
    read: Source, asked: RiskAsked, everybody: Source | None, watch: Watch, dropped: int | None, notes: list[str]
) -> Reidentification:
    quasi, threshold = asked.quasi_identifiers, known_threshold(asked.threshold)
    weights = None if asked.weight is None else read_weights(read.table[asked.weight])
    read = read if everybody is None else with_population(read, everybody, quasi)
    table = read.table
    stars = suppressed_rows(table, quasi)
    rows = np.flatnonzero(~stars)
    if not len(rows):
        raise BadInput(f"{read.name}: every row is suppressed, so nobody is at risk")
    columns = coded(table, quasi, rows)
    classes, sizes, persons = _classes(table, columns, asked.unit, rows)
    people = None
    if asked.unit is not None:
        assert classes.classes is not None
        people = partial(people_by_risk, classes.classes, table[asked.unit].codes[rows])
    if persons is not None and int(sizes.sum()) > persons:
        notes.append(
            f"some of the {persons:,} persons stand in several classes; each is counted once, in the smallest of them"
        )
    individual = None if weights is None else _individual(asked, classes, weights[rows], notes)
    attackers, unique = _attackers(read, asked, classes, sizes, individual, notes, people)
    special = None
    if asked.suda:
        fraction = {} if (known := _fraction(asked, len(rows))) is None else {"fraction": known}
        special = replace(
            suda(columns, max_size=asked.suda_size, told=_report_to(watch), **fraction),
            numbers=rows + 1,
        )
    hidden = int(stars.sum())
    found = Reidentification(quasi, threshold, sizes, attackers, unique, persons, individual, special, hidden, dropped)
    return found if people is None else replace(found, people=people(sizes))


def _classes(
    table: Table, columns: Mapping[str, Any], unit: str | None, rows: Longs
) -> tuple[FrequencySet, Longs, int | None]:
    """Return the classes, the rows or persons of each, and the number of persons."""
    if unit is None:
        classes = FrequencySet.count(columns, want_classes=True)
        return classes, classes.counts, None
    beside = coded(table, [unit], rows)[unit]
    classes = FrequencySet.count(columns, {unit: beside}, want_classes=True)
    return classes, classes.long[unit].count_distinct(len(classes)), len(np.unique(beside[0]))


def _individual(asked: RiskAsked, classes: FrequencySet, weights: Floats, notes: list[str]) -> Individual:
    assert classes.classes is not None
    found = individual_risks(asked.weight or "", classes.classes, weights)
    if found.light:
        notes.append(
            f"the weights of {found.light:,} rows add up to less than the rows of their class, which were taken to be "
            "all there are"
        )
    return found


def _fraction(asked: RiskAsked, rows: int) -> float | None:
    """Return the sampling fraction that was given, or that follows from the size of the population."""
    if asked.fraction is not None or asked.population_size is None:
        return asked.fraction
    return min(rows / asked.population_size, 1.0)


def _attackers(
    read: Source,
    asked: RiskAsked,
    classes: FrequencySet,
    sizes: Longs,
    individual: Individual | None,
    notes: list[str],
    people: Callable[[Longs], Longs] | None,
) -> tuple[tuple[Attacker, ...], Uniqueness]:
    """Return the attackers; the journalist only where a population is known: by a table first, then by weights.

    `people` tells who is counted in which class, given how many share each; None where rows are counted.
    """
    threshold = known_threshold(asked.threshold)
    counted = sizes if people is None else people(sizes)
    first = prosecutor(sizes, threshold, counted)
    if read.population is not None:
        everybody = FrequencySet.count(coded(read.population, asked.quasi_identifiers))
        inside = _in_population(read, classes, sizes, everybody, notes)
        counted = sizes if people is None else people(inside)
        found = (first, journalist(counted, inside, threshold), marketer(sizes, inside, counted))
        return found, counted_uniqueness(sizes, inside, everybody.counts, counted)
    unique = uniqueness(sizes, asked.population_size, counted)
    last = marketer(sizes, people=counted)
    if individual is not None:
        return (first, weighted_journalist(individual, threshold), last), unique
    if asked.population_size is None:
        return (first, last), unique
    notes.append(
        "the journalist's risks are expected ones: everybody in the population is taken to have had the same chance to "
        "be in the table"
    )
    return (first, estimated_journalist(sizes, asked.population_size, threshold, counted), last), unique


def _in_population(read: Source, classes: FrequencySet, sizes: Longs, people: FrequencySet, notes: list[str]) -> Longs:
    """Count the people of the population in each class: at least as many as in the table."""
    inside, _ = classes.count_in(people)
    if not inside.any():
        raise BadInput(
            f"{read.name}: no row of the table is found in the population; both must show the same values, recoded "
            "alike"
        )
    short = inside < sizes
    if short.any():
        notes.append(
            f"{int(short.sum()):,} classes ({int(sizes[short].sum()):,} rows) have more rows than people in the "
            "population; they were taken to have as many"
        )
    return np.maximum(inside, sizes)
