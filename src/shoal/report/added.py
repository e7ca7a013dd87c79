"""Rows that show nobody, put among the others so that no one can tell them apart (S1.3)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.plan import Added
from shoal.recode import Released

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
