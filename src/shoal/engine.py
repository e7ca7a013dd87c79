"""The port to where the records are: few methods, so that an engine stays thin.

Records are touched twice: `read` and `count` at the start, `write` at the end. All else works on the FrequencySet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Table
from shoal.frequency import Counted, FrequencySet
from shoal.recode import Released


@dataclass(frozen=True)
class ReadOptions:
    """How to read; None means: find out."""

    missing: tuple[str, ...] = ("",)
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    normalise: bool = False


@dataclass(frozen=True)
class Source:
    """A table as read, with what is needed to give the same kind back."""

    table: Table
    format: str
    """csv, parquet, arrow, excel or frame."""
    name: str
    """What errors call it: the file's name, `-`, or `the frame`."""
    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str = "."
    missing: str = ""
    """How a null is written in a CSV."""
    native: Any = field(default=None, repr=False)
    """The frame that came in (pandas, polars, pyarrow …)."""
    index: tuple[str, ...] = ()
    """Columns of `table` that were the index of a pandas frame."""
    guessed: Mapping[str, str] = field(default_factory=dict)
    """What was sniffed, for people to check: {"delimiter": ";", …}."""
    population: Table | None = None
    """Everybody's quasi-identifiers in the codes of `table`, where a model compares with them."""


@dataclass(frozen=True)
class WriteOptions:
    """How to write."""

    format: str = "csv"
    keep_order: bool = False
    spreadsheet_safe: bool = True


@dataclass(frozen=True)
class Written:
    """A file that was written: its hash, and for each of its rows the position among the released rows."""

    sha256: str
    order: NDArray[np.int64]


class Engine(Protocol):
    """Where the records are: it reads, counts and writes them, and knows nothing of privacy."""

    def read(self, source: Any, options: ReadOptions) -> Source: ...

    def count(self, table: Table, quasi_identifiers: Sequence[str], counted: Sequence[Counted]) -> FrequencySet:
        """One GROUP BY, with the class of every row and, beside the classes, each of `counted`."""
        ...

    def write(self, columns: Mapping[str, Released], path: Path, source: Source, options: WriteOptions) -> Written: ...
