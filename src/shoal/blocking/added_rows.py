"""Rows that show nobody, put among the others so that no one can tell them apart (S1.3), and what the owner is told."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.blocking.algorithm import Blocked
from shoal.errors import ShoalWarning
from shoal.plan import Added, Plan
from shoal.recoding.columns import Released

Rows = NDArray[np.int64]


def with_added(columns: Mapping[str, Released], rows: Rows, added: Added) -> tuple[dict[str, Released], Rows]:
    """All rows in the order of what they show; of an added one, -1 minus the input row that it copies.

    >>> age = Released.of(np.array([0, 0], np.int32), ["3*"])
    >>> ill = Released.of(np.array([0, 1], np.int32), ["flu", "hiv"])
    >>> made, rows = with_added({"age": age, "ill": ill}, np.array([4, 7]), Added("ill", np.array([7]), np.array([0])))
    >>> made["ill"].codes.tolist(), rows.tolist(), shown_or_copied(rows).tolist()
    ([0, 0, 1], [4, -8, 7], [4, 7, 7])
    """
    place = np.zeros(int(rows.max(initial=0)) + 1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    at = np.concatenate([np.arange(len(rows)), place[added.copied]])
    every = {name: replace(column, codes=column.codes[at]) for name, column in columns.items()}
    every[added.attribute] = _told(columns[added.attribute], added.codes)
    order = np.lexsort([column.codes for column in reversed(every.values())])
    whole = np.concatenate([rows, -1 - added.copied])[order]
    return {name: replace(column, codes=column.codes[order]) for name, column in every.items()}, whole


def shown_or_copied(rows: Rows) -> Rows:
    """The input row that every released row shows, or copies where it was added."""
    return np.where(rows < 0, -1 - rows, rows)


def _told(column: Released, codes: NDArray[np.int32]) -> Released:
    """The sensitive column with the values of the added rows after the others."""
    values, texts = column.values, column.texts
    if (codes < 0).any() and not texts.null_count:
        values, texts = (pa.concat_arrays([each, pa.nulls(1, each.type)]) for each in (values, texts))
    null = len(texts) - 1  # where there is one, it is the last
    return Released(np.concatenate([column.codes, np.where(codes < 0, null, codes)]).astype(np.int32), values, texts)


_WHY = {
    "h": "more rules would be lost or made up than h allows",
    "passes": "all passes were made",
    "limit": "no more rows may be added or left out",
    "fractions": "only fractions of rows with missing values support them",
    "": "they were not looked for any longer",
}


def warn_of_open_channels(plan: Plan) -> None:
    """Warn of the channels that blocking left open, and say why."""
    blocked = plan.blocked
    if blocked is not None and blocked.left:
        said = f"{len(blocked.left)} inference channel(s) are left: {_WHY[blocked.stopped]}"
        warnings.warn(ShoalWarning(said), stacklevel=2)


def blocking_summary(blocked: Blocked, by: str) -> dict[str, Any]:
    """As the private manifest tells it."""
    return {
        "by": by,
        "channels": len(blocked.before),
        "left": len(blocked.left),
        "why": _WHY[blocked.stopped] if blocked.left else None,
        "lost": float(blocked.lost),
        "ghosts": float(blocked.ghosts),
        "passes": blocked.passes,
        "seen_without_nulls": blocked.silent or None,
        "rules": tuple(map(str, blocked.before)),
        "unblocked": tuple(map(str, blocked.left)),
    }
