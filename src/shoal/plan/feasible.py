"""What can be refused before anything is searched for."""

from dataclasses import replace

import numpy as np

from shoal.counts import ClassCounts
from shoal.errors import BadData, Infeasible
from shoal.frequency import FrequencySet, Reading
from shoal.models import Closure, Flags, Model
from shoal.models.presence import DeltaPresence


def as_one_class(classes: FrequencySet, reading: Reading, population: FrequencySet | None) -> ClassCounts:
    whole = classes.project([]).class_counts(reading)
    return whole if population is None else replace(whole, population=np.array([population.rows]))


def refuse_outsiders(
    models: list[Model], classes: FrequencySet, reading: Reading, population: FrequencySet | None
) -> None:
    """Who is in the table is in the population: else the share of it that is in the table means nothing."""
    if population is None or not any(isinstance(model, DeltaPresence) for model in models):
        return
    found, _ = classes.found_in(population)
    outside = int(np.maximum(classes.class_counts(reading).sizes - found, 0).sum())
    if outside:
        raise BadData(
            f"{outside} row(s) of the table have quasi-identifiers that fewer persons of the population have; "
            "delta-presence needs a population that the table is a part of"
        )


def refuse_impossible(models: list[Model], whole: ClassCounts, limit: int, *, split: bool) -> None:
    """What the whole table shows of its classes; where persons are in several, only what grows shows."""
    for model in models:
        parts = [part for part in model.parts() if part.merging is Closure.SUPERSET] if split else [model]
        for part in parts:
            why = part.impossible(whole, limit)
            if why is not None:
                raise Infeasible(f"impossible: {model.name}: {why}")


def failed_by(models: list[Model], counts: ClassCounts) -> dict[str, Flags]:
    """Per model, whatever attribute it is about, the classes that fail it."""
    failed: dict[str, Flags] = {}
    for model in models:
        failed[model.name] = ~model.complies(counts) | failed.get(model.name, np.False_)
    return failed
