"""Promises about the whole table, held on every release and on what all releases show together."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes, numbered
from shoal.errors import Infeasible
from shoal.models import Model
from shoal.plan.stage import Stage
from shoal.republish.history import Levels

_ONE_BY_ONE = 50
"""New groups that are left out one after the other, the leakiest first; then all of them are."""


def calmed(stage: Stage, part: Codes, levels: Levels, groups: int, group: Codes) -> Codes:
    """The part of each row, without new groups that would break what is promised of all classes together.

    (alp,dif) is judged on the release, and in its own way on all groups that the releases let one tell apart: ALP is a
    mean over all of them, so a new group changes what is too much for the others (S3.3).
    """
    wide = [model for model in stage.policy.models if any(each.table_wide for each in model.parts())]
    wide = [model for model in wide if not model.columns]
    part = part.copy()
    for tried in range(_ONE_BY_ONE + 2 if wide else 0):
        failing = next(_failing(stage, wide, part, levels, group), None)
        new = np.unique(part[part >= groups])
        if failing is None:
            break
        model, worst = failing
        if not len(new):
            raise Infeasible(
                f"{model.name} cannot be kept on all releases together, even without the rows that are new; weaken it, "
                "or anonymize all rows afresh and withdraw what was published"
            )
        out = np.intersect1d(new, worst)
        part[np.isin(part, out if len(out) and tried < _ONE_BY_ONE else new)] = -1
    return part


def _failing(
    stage: Stage, wide: list[Model], part: Codes, levels: Levels, group: Codes
) -> Iterator[tuple[Model, NDArray[np.integer]]]:
    """A model that fails, and the parts of the class that protects least, if there is such."""
    rows = np.flatnonzero(part >= 0)
    alike = stage.alike(part, levels)
    used, at = numbered(alike[part[rows]])
    release = stage.counts(stage.now(rows), at, len(used))
    for model in wide:
        if not model.holds(release):
            worst = model.worst(release)
            yield model, np.flatnonzero(alike == used[worst]) if worst is not None else np.zeros(0, np.int32)
    if stage.policy.republish is None or stage.policy.republish.way != "alp-dif":
        return
    ever = np.flatnonzero(group >= 0)
    new = rows[part[rows] > int(group.max(initial=-1))]
    past, now = stage.past(ever), stage.now(new)
    every = {name: np.append(past[name], now[name]) for name in stage.sensitive}
    used, at = numbered(np.append(group[ever], part[new]))
    together = stage.counts(every, at, len(used))
    for model in wide:
        if not model.holds(together):
            worst = model.worst(together)
            yield model, used[[] if worst is None else [worst]]
