"""A private DuckDB database with a memory limit, which spills into a folder of its own."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.errors import BadData
from shoal.runtime.memory import is_shortage
from shoal.runtime.tempdir import SPILL, Scratch
from shoal.verify.open_release import connect

if TYPE_CHECKING:
    import duckdb

_OF_DATABASE = 0.5
_OF_CLASSES = 0.2
_NO_MEMORY, _NO_DISK = "Out of Memory Error", "No space left"


class Session:
    """A connection, its memory limit and its folder, which end together."""

    def __init__(self, memory: int | None, spill: Path | None) -> None:
        self.memory = memory
        self._parent = spill or Path(tempfile.gettempdir())
        self._files: tuple[Path, ...] = ()

    @cached_property
    def scratch(self) -> Scratch:
        return Scratch(self._parent, SPILL)

    @cached_property
    def db(self) -> "duckdb.DuckDBPyConnection":
        settings: dict[str, Any] = {"preserve_insertion_order": False}
        if self.memory is not None:
            settings["memory_limit"] = f"{int(self.memory * _OF_DATABASE)}B"
        return connect(self.scratch.path, self._files, **settings)

    def close(self) -> None:
        """Close the connection, and remove its folder."""
        if "db" in self.__dict__:
            self.db.close()
        if "scratch" in self.__dict__:
            self.scratch.close()

    def allow(self, files: Sequence[Path]) -> None:
        """Set the files that the database may read, before it is opened: it can access nothing else."""
        assert "db" not in self.__dict__, "an open database is given no further files"
        self._files = tuple(files)

    @property
    def room(self) -> int | None:
        """Bytes that the classes of the table may take outside of DuckDB; None means no limit."""
        return None if self.memory is None else int(self.memory * _OF_CLASSES)

    def number(self, query: str) -> int:
        """Return the single number that a query selects."""
        ((found,),) = self.db.execute(query).fetchall()
        return int(found)

    def table(self, query: str) -> pa.Table:
        return self.db.sql(query).to_arrow_table()

    def batches(self, query: str, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query in batches of about `rows` rows."""
        yield from self.db.sql(query).to_arrow_reader(rows)

    def create_table(self, name: str, table: pa.Table) -> None:
        """Create, or replace, a table of the database from an Arrow table."""
        self.db.register("given_table", table)
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM given_table")
        self.db.unregister("given_table")


def describe_damage(name: str) -> str:
    """Return the message for a table whose rows cannot be read."""
    return f"{name}: the table cannot be read; is it damaged?"


@contextmanager
def explain_read_error(otherwise: str) -> Iterator[None]:
    """Turn errors of reading into BadData with this message, since those of DuckDB and Arrow may contain cells."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeError) as wrong:
        if is_shortage(wrong) or isinstance(wrong, duckdb.InterruptException) or _NO_DISK in str(wrong):
            raise
        if str(wrong).startswith(_NO_MEMORY):  # from a batch reader, every error is an OSError
            raise MemoryError from None
        raise BadData(otherwise) from None


def to_one_chunk(array: pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)


def to_int64(array: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(to_one_chunk(array).to_numpy(zero_copy_only=False), dtype=np.int64)
