"""Whom studies are about: Adult where it is given, else people who do not exist."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets import ADULT_SHA256, adult, census
from shoal.errors import BadInput

ROWS = 45_222
"""Of Adult without rows that lack a value; as many are invented."""


@dataclass(frozen=True)
class People:
    """A table and what studies need to know of it."""

    name: str
    table: pa.Table
    sensitive: str
    real: bool

    @classmethod
    def of(cls, folder: Path | None, *, rows: int = ROWS, seed: int = 0) -> "People":
        """UCI's Adult from a folder, complete rows only; without one, an invented census.

        >>> People.of(None, rows=10).name
        'an invented census'
        """
        if folder is None:
            return cls("an invented census", census(rows, seed=seed).drop_columns(["disease"]), "income", real=False)
        missing = [name for name in ADULT_SHA256 if not (folder / name).is_file()]
        if missing:
            raise BadInput(f"{folder.name}: there is no {missing[0]} in this folder; it should hold UCI's Adult")
        table = adult(folder)
        known = pc.is_valid(table[0])
        for column in table.columns:
            known = pc.and_(known, pc.is_valid(column))
        return cls("Adult", table.filter(known), "salary-class", real=True)
