"""Every model's attained value for a table as it is."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Table
from shoal.engine import Source
from shoal.errors import BadInput
from shoal.frequency import FrequencySet
from shoal.hierarchy import TOP
from shoal.models import measured


def measure_table(
    read: Source, quasi: Sequence[str], sensitive: Sequence[str], *, ignore_suppressed: bool
) -> dict[str, Any]:
    """Rows, classes, what each model attains, the k of each quasi-identifier alone, and how many rows are suppressed.

    Attributes that hide people one by one may point at them together (S2.2b).
    """
    _refuse_roles(read, quasi, sensitive)
    table = read.table
    stars = _suppressed(table, quasi)
    keep = ~stars if ignore_suppressed else np.ones(table.rows, dtype=bool)
    if not keep.any():
        raise BadInput(f"{read.name}: every row is suppressed, so there is nothing to measure")
    columns = {name: (table[name].codes[keep], table[name].size) for name in (*quasi, *sensitive)}
    classes = FrequencySet.count({q: columns[q] for q in quasi}, {s: columns[s] for s in sensitive})
    labels = {name: [*table[name].texts.to_pylist(), None][: table[name].size] for name in sensitive}
    counts = classes.class_counts(labels)
    out: dict[str, Any] = {"rows": counts.rows, "classes": len(classes), "models": measured(counts, sensitive)}
    out["alone"] = {name: int(classes.project([name]).counts.min()) for name in quasi}
    if stars.any():
        out["suppressed"] = {"rows": int(stars.sum()), "ignored": ignore_suppressed}
    return out


def _refuse_roles(read: Source, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    for name in (*quasi, *sensitive):
        if name not in read.table.columns:
            near = get_close_matches(name, read.table.columns, n=1, cutoff=0.5)
            raise BadInput(
                f"{read.name}: there is no column {name!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
            )
    if not quasi:
        raise BadInput("name at least one quasi-identifier, e.g. --qi age,sex")
    both = sorted(set(quasi) & set(sensitive))
    if both:
        raise BadInput(f"{', '.join(map(repr, both))} cannot be quasi-identifier and sensitive at once")


def _suppressed(table: Table, quasi: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows are `*` in every quasi-identifier."""
    stars = np.ones(table.rows, dtype=bool)
    for name in quasi:
        texts: list[str | None] = [*table[name].texts.to_pylist(), None]
        stars &= np.array([text == TOP for text in texts], dtype=bool)[table[name].codes]
    return stars
