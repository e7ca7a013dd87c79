"""Tables of people who do not exist: skewed, correlated columns of any number, the same for the same seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from shoal.policy.document import Policy

Ints = NDArray[np.int64]
Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """Whole numbers below `values`, generalised by intervals of these widths and then to `*`."""

    values: int
    widths: tuple[int, ...] = ()
    spread: float = 1.5
    """How fast values grow rare around what is usual; the larger, the more alike people of a sort are."""

    @property
    def hierarchy(self) -> dict[str, Any]:
        return {"intervals": list(self.widths)} if self.widths else {"flat": True}


Columns = Mapping[str, Column]

SURVEY: Columns = {
    "age": Column(86, (5, 10, 20), 1.2),
    "education": Column(26, (4, 12), 3.5),
    "year": Column(12, (2, 6), 0.2),
    "ancestry": Column(16, (4,), 4.0),
    "marital": Column(10, (5,), 4.0),
    "region": Column(4, (2,), 2.5),
    "household": Column(24, (6,), 4.0),
    "quarter": Column(4, (), 0.1),
    "sex": Column(2, (), 0.3),
}
"""Nine columns, a lattice of 5·4·4·3·3·3·3·2·2 = 25,920 nodes: the shape of a health survey."""

EIGHT: Columns = {
    "sex": Column(2, spread=0.3),
    "region": Column(4, spread=1.0),
    "year": Column(12, spread=0.2),
    "ancestry": Column(16, spread=1.5),
    "household": Column(24, spread=2.0),
    "education": Column(26, spread=1.5),
    "age": Column(86, spread=0.8),
    "income": Column(1000, spread=0.6),
}
"""Eight columns without hierarchies, nearly all rows distinct: for boxes."""

MANY: Columns = {f"q{i:02}": Column(4 + i, (2, 4) if i % 2 else (3,), 2.0) for i in range(40)}
"""Forty columns, a lattice of 4^20 · 3^20 = 3.8e21 nodes."""


def people(columns: Columns, rows: int, seed: int = 0, sorts: int = 12) -> pa.Table:
    """Everybody is of one of a few sorts, some of them rare; a sort has a usual value in each column.

    >>> people({"age": Column(9)}, 3).num_rows
    3
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    sort = rng.choice(sorts, rows, p=_zipf(np.arange(sorts), 1.0))
    drawn = {name: _drawn(rng, column, sort, rng.integers(0, column.values, sorts)) for name, column in columns.items()}
    return pa.table(drawn)


def more_people(columns: Columns, rows: int, block: int, sorts: int = 12) -> pa.Table:
    """Another block of a table that is too large to be made at once: the same sorts, others drawn.

    >>> more_people({"age": Column(9)}, 3, 7).num_rows
    3
    """
    usual = np.random.Generator(np.random.PCG64(0))
    rng = np.random.Generator(np.random.PCG64([1, block]))
    sort = rng.choice(sorts, rows, p=_zipf(np.arange(sorts), 1.0))
    drawn = {
        name: _drawn(rng, column, sort, usual.integers(0, column.values, sorts)) for name, column in columns.items()
    }
    return pa.table(drawn)


def policy_of(columns: Columns, k: int, method: Mapping[str, Any]) -> Policy:
    """All columns quasi-identifiers, k-anonymity."""
    attributes = {name: {"role": "quasi-identifier", "hierarchy": column.hierarchy} for name, column in columns.items()}
    return Policy.model_validate(
        {"attributes": attributes, "require": [{"model": "k-anonymity", "k": k}], "method": dict(method)}
    )


def write_people(folder: Path, columns: Columns, rows: int, k: int, method: Mapping[str, Any]) -> tuple[Path, Path]:
    """The table as CSV and its policy."""
    table, policy = folder / "people.csv", folder / "policy.toml"
    csv.write_csv(people(columns, rows), table)
    policy_of(columns, k, method).save(policy)
    return table, policy


def _drawn(rng: np.random.Generator, column: Column, sort: Ints, usual: Ints) -> Ints:
    drawn = np.empty(len(sort), dtype=np.int64)
    for one in range(len(usual)):
        of_sort = sort == one
        far = np.abs(np.arange(column.values) - usual[one])
        drawn[of_sort] = rng.choice(column.values, int(of_sort.sum()), p=_zipf(far, column.spread))
    return drawn


def _zipf(ranks: Ints, skew: float) -> Weights:
    weights: Weights = (1.0 + ranks) ** -skew
    return weights / weights.sum()
