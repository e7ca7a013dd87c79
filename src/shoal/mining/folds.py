"""Rows dealt into folds, so that every row is held out once."""

from dataclasses import replace

import numpy as np

from shoal.codes import Codes, Table
from shoal.errors import BadInput
from shoal.mining.shown import Rows

FEWEST = 2


def dealt(classes: Codes, folds: int, seed: int, persons: Codes | None = None) -> Codes:
    """The fold of every row: shuffled, each class dealt out evenly, all rows of a person into one fold.

    >>> folds = dealt(np.array([0, 0, 0, 0, 1, 1]), 2, seed=0)
    >>> sorted(zip(folds.tolist(), [0, 0, 0, 0, 1, 1]))
    [(0, 0), (0, 0), (0, 1), (1, 0), (1, 0), (1, 1)]
    """
    of_row = np.arange(len(classes)) if persons is None else np.unique(persons, return_inverse=True)[1]
    first = np.unique(of_row, return_index=True)[1]  # a person has the class of his first row
    if not FEWEST <= folds <= len(first):
        many = "rows" if persons is None else "persons"
        raise BadInput(f"folds = {folds}: there must be at least {FEWEST}, and at most as many as {many}: {len(first)}")
    shuffled = np.random.default_rng(seed).permutation(len(first))
    order = shuffled[np.argsort(classes[first][shuffled], kind="stable")]
    fold = np.empty(len(first), dtype=np.int32)
    fold[order] = np.arange(len(first)) % folds
    return fold[of_row].astype(np.int32)


def rows_of(table: Table, rows: Rows) -> Table:
    """Some rows of a table in the codes of all, so that a code means the same in every fold."""
    return Table({name: replace(column, codes=column.codes[rows]) for name, column in table.columns.items()}, len(rows))
