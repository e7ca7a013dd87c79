"""The port to where the records are: few methods, so that an engine stays thin.

Records are touched twice: `read` and `count` at the start, `recode` and `write` at the end. All else works on the
FrequencySet. An engine whose rows stay where they are (on disk, on a cluster) gives columns that are `Tallied` and a
frequency set without the class of each row; what it cannot do then is declared in `abilities`, and a policy that needs
it is refused before any work. `docs/engines.md` says what each method promises.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.codes import Bounds, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Counted
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.recoding.columns import ReleasedColumn
from shoal.recoding.kinds import Recoding


class Ability(StrEnum):
    """What an engine may be able to do beyond full-domain recoding of rows that are counted."""

    CELLS = "cells"
    """Boxes, clusters, cells and groups, and the blocking of inference channels: they need every row in memory."""
    BOXES = "boxes"
    """The boxes of strict Mondrian for k alone, wherever the rows are."""
    PERSONS = "persons"
    """Count persons, of whom one may have several rows."""
    POPULATION = "population"
    """Compare with a population."""
    ORDER = "order"
    """Leave the rows in the order of the input."""
    ROW_MAP = "row map"
    """Tell for each released row which row of the input it was."""


Sniffed = str | int | tuple[int, int]
"""What was detected about a file: a sign, a name, a row, or the first and the last of several rows."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table; None means that it is detected."""

    missing: tuple[str, ...] = ("",)
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    """Mark between the thousands of numbers that stand as texts in a CSV or a sheet."""
    sheet: str | None = None
    header_row: int | tuple[int, int] | None = None
    """Row of a sheet, or line of a CSV, that names the columns; the first is 1. Of a sheet also the first and the last
    of several rows, whose names are joined."""
    normalise: bool = False
    rounding: tuple[tuple[str, Fraction], ...] = ()
    """Columns that are rounded, and to multiples of what."""
    bounds: tuple[tuple[str, Bounds], ...] = ()
    """The least and the greatest number of rounded columns that have such bounds."""
    guess_encoding: bool = False
    """Whether the encoding of a CSV that is not UTF-8 is guessed and reported, instead of having to be given."""

    row_names_settled: bool = False
    """Whether a policy says what becomes of a first column without a name, so that nobody need be told of it."""

    def step(self, title: str) -> Fraction | None:
        """Return the step to whose multiples a column is rounded; None where it is not rounded."""
        return dict(self.rounding).get(title)

    def bounds_of(self, title: str) -> Bounds:
        """Return the least and the greatest number that a rounded column shows; None where there is no bound."""
        return dict(self.bounds).get(title, (None, None))


@dataclass(frozen=True)
class Source:
    """A table as read, with what is needed to give the same kind back."""

    table: Table
    format: str
    """csv, parquet, arrow, excel, statistics, database or frame."""
    name: str
    """What errors call it: the file's name, `-`, or `the frame`."""
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    missing: str = ""
    """How a null is written in a CSV."""
    native: Any = field(default=None, repr=False)
    """The frame that came in (pandas, polars, pyarrow …)."""
    index: tuple[str, ...] = ()
    """Columns of `table` that were the index of a pandas frame."""
    guessed: Mapping[str, Sniffed] = field(default_factory=dict)
    """What was detected, by its key under [data], for people to check: {"delimiter": ";", …}."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What the caller said about reading, by its key under [data], where a policy is drafted from it."""
    room: int | None = None
    """How many classes a search may remember; None means no limit."""
    population: Table | None = None
    """Everybody's quasi-identifiers in the codes of `table`, where a model compares with them."""


@dataclass(frozen=True)
class WriteOptions:
    """How to write."""

    format: str = "csv"
    keep_order: bool = False
    spreadsheet_safe: bool = True
    quote: str = '"'
    """Quote of the policy, not of the input, whose quoting may give away columns that are not released."""


class Frame(Protocol):
    """A release whose rows stay outside memory, as the kind of frame that came in."""

    @property
    def data(self) -> Any:
        """The frame itself; its rows are computed on demand."""
        ...

    def counted(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return the distinct rows of the frame as it is handed out, and how often each occurs."""
        ...


class RowStream(Protocol):
    """Released rows that do not fit in memory, kept by their engine in the order in which they are written."""

    @property
    def total(self) -> int: ...

    @property
    def schema(self) -> Any: ...

    def rows(self) -> Iterator[Any]:
        """Yield all rows as Arrow batches."""
        ...

    def holds(self, name: str, texts: Sequence[str]) -> bool:
        """Whether a column contains one of these texts."""
        ...

    def defused(self) -> int:
        """Count the cells that a spreadsheet would run as a formula."""
        ...


@dataclass(frozen=True)
class ReleasedRows:
    """A table as it will be published, not yet in its order."""

    columns: dict[str, ReleasedColumn]
    """Released columns, with a code for every row or, where there are `times`, for every distinct one."""
    rows: NDArray[np.int64] | None = None
    """The input row of each released row; negative where it was added. None where the engine has no row map."""
    times: NDArray[np.int64] | None = None
    """How often each of these rows is released; None means once."""
    frame: Frame | None = field(default=None, repr=False)
    """The same rows as a frame where they are, if the engine can make one."""
    stream: RowStream | None = None
    """The rows, if even the distinct ones do not fit in memory; `columns` then have the labels in use, and no rows."""

    @property
    def count(self) -> int:
        """How many rows are released."""
        if self.stream is not None:
            return self.stream.total
        if self.times is not None:
            return int(self.times.sum())
        return len(next(iter(self.columns.values())).codes)

    @property
    def added(self) -> int:
        """How many released rows were added and show nobody."""
        return 0 if self.rows is None else int((self.rows < 0).sum())


@dataclass(frozen=True)
class Written:
    """A file that was written: its hash, and for each of its rows the position among the released rows."""

    sha256: str
    order: NDArray[np.int64] | None
    """Position of each written row among the released ones; None where the engine has no row map."""


class Engine(Protocol):
    """Where the records are: it reads, counts, recodes and writes them, and knows nothing of privacy."""

    name: ClassVar[str]
    abilities: ClassVar[frozenset[Ability]]

    def read(self, source: Any, options: ReadOptions) -> Source:
        """Read a table; its columns have the codes that `encode` gives, the same in every engine for the same cells."""
        ...

    def count(self, table: Table, quasi_identifiers: Sequence[str], counted: Sequence[Counted]) -> FrequencySet:
        """Count classes, and each of `counted` in them, in one GROUP BY; tell the class of every row in memory."""
        ...

    def recode(
        self,
        source: Source,
        recoding: Recoding,
        hierarchies: Mapping[str, Hierarchy],
        columns: Sequence[str],
        quasi_identifiers: Collection[str],
        *,
        show: bool,
    ) -> ReleasedRows:
        """Recode these columns; with `show`, suppressed rows stay, as all `*`."""
        ...

    def write(self, shown: ReleasedRows, path: Path, source: Source, options: WriteOptions) -> Written:
        """Write rows sorted by all columns as text, null last: the same bytes in every engine (design 10)."""
        ...
