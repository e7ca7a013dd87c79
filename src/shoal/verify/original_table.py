"""The original as verification sees it: its values, which of them each row holds, and its rows counted in SQL."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.class_counts import Indices
from shoal.errors import NotVerified
from shoal.labels.grammar import Interval, parse_label
from shoal.labels.scale import Coverage, Scale, to_texts
from shoal.runtime.memory import is_shortage

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Levels:
    """The levels of a hierarchy: the group of each code on each level, level 0 being the values themselves."""

    levels: Sequence[Indices]
    labels: Sequence[Sequence[str | None]]
    """What each group of each level is called."""
    of_numbers: bool = False
    """Whether its labels are intervals of numbers; the meaning of other labels cannot be checked."""
    top: str = "*"
    """The label that covers every value: the name of the root where there is one."""


@dataclass(frozen=True)
class OriginalColumn:
    """One column: its distinct values without null, and which of them each row holds."""

    values: pa.Array
    """Distinct values, in the type they came in."""
    texts: pa.StringArray
    """How the release writes each of them where it shows the value itself."""
    codes: Indices
    """Code of each row's value, `len(values)` where it has none; where there are `raws`, the code of each of these."""
    has_null: bool = False
    decimal: str = "."
    raws: pa.Array | None = None
    """Distinct values as they are found where the rows are, if those are not in memory."""
    missing: tuple[str, ...] | None = None
    """Texts that mean null, in a column whose texts are too many to be collected; None in one that was collected."""

    @property
    def size(self) -> int:
        """Number of codes, null included."""
        return len(self.values) + self.has_null

    @property
    def is_collected(self) -> bool:
        return self.missing is None

    @cached_property
    def scale(self) -> Scale:
        return Scale(self.values, self.decimal)

    def coverage(self, hierarchy: Levels | None) -> Coverage:
        return Coverage(self.scale, self.has_null, hierarchy)

    def labels(self, *, typed: bool = False) -> list[str | None]:
        """Return the text of each code, as a table of texts shows it or, if `typed`, one of numbers and dates."""
        texts = to_texts(self.values) if typed else self.texts
        return [*texts.to_pylist(), *([None] if self.has_null else [])]

    def as_original(self, text: str | None) -> str | None:
        """Return how the original spells a released text; the text itself unless it stands for exactly one value."""
        codes = [] if text is None else self.scale.codes_of_text(text).tolist()
        found: str | None = self.texts[codes[0]].as_py() if len(codes) == 1 else text
        return found

    def sql(self, cell: str) -> str:
        """Return SQL for the text of a cell in a column that was not collected; null where the text means null."""
        if not self.missing:
            return cell
        marks = ", ".join("'" + text.replace("'", "''") + "'" for text in self.missing)
        return f"CASE WHEN {cell} IN ({marks}) THEN NULL ELSE {cell} END"

    @cached_property
    def misspelt(self) -> int:
        """How many values are spelt in a way that stands for another one, or for none."""
        plain = self.values if pa.types.is_string(self.values.type) else to_texts(self.values)
        other = np.flatnonzero(pc.not_equal(plain, self.texts).to_numpy(zero_copy_only=False)).tolist()
        if pa.types.is_string(self.values.type):
            return len(other)  # a text is written as it is
        return sum(code not in self.scale.codes_of_text(self.texts[code].as_py()).tolist() for code in other)

    def mislabelled(self, hierarchy: Levels) -> Iterator[int]:
        """Yield the codes with a false label: not the value itself on level 0, or an interval they do not lie in."""
        lowest = np.array([hierarchy.labels[0][group] for group in hierarchy.levels[0].tolist()], dtype=object)
        yield from np.flatnonzero(lowest != np.array(self.labels(), dtype=object)).tolist()
        if not hierarchy.of_numbers:
            return
        for level, labels in zip(hierarchy.levels[1:], hierarchy.labels[1:], strict=True):
            # `order`: the codes sorted by their group on this level; `ends` [group + 1]: where each group begins
            order = np.argsort(level, kind="stable")
            ends = np.searchsorted(level[order], np.arange(len(labels) + 1))
            for group, label in enumerate(labels):
                interval = None if label is None else parse_label(label)
                if isinstance(interval, Interval):
                    held = order[ends[group] : ends[group + 1]]
                    inside = np.zeros(self.size, dtype=bool)
                    inside[: len(self.values)] = self.scale.covered(interval)
                    yield from held[~inside[held]].tolist()


@dataclass(frozen=True)
class OriginalRelation:
    """Rows that stay where they are, and how DuckDB reads them there."""

    sql: str
    """A SELECT of all rows."""
    columns: Mapping[str, str]
    """What each column of the table is called in it."""
    setup: tuple[str, ...] = ()
    """What has to be run before."""
    counted: Callable[[Sequence[str]], pa.RecordBatchReader] | None = None
    """For rows that DuckDB cannot read: gives the distinct rows of some columns and how many `times` each occurs."""
    files: tuple[Path, ...] = ()
    """Files that DuckDB reads for it."""


@dataclass(frozen=True)
class OriginalTable:
    """All columns of the original."""

    columns: Mapping[str, OriginalColumn]
    rows: int
    relation: OriginalRelation | None = None
    """Where the rows are, if they are not in memory."""

    def __getitem__(self, name: str) -> OriginalColumn:
        return self.columns[name]


Wanted = Mapping[str, tuple[str, np.ndarray[Any, np.dtype[np.integer[Any]]]]]
"""Numbers wanted of each row, by name: the column that each is about, and the number of each of its codes.

For a column that was not collected, it is the text itself.
"""

_BITS = 63


def count_originals(db: "duckdb.DuckDBPyConnection", table: OriginalTable, wanted: Wanted, name: str) -> None:
    """Create a table `name`: every combination of the wanted numbers, and how many rows (`n`) have it."""
    if table.relation is None:
        db.register("original_rows", pa.table({at: number[table[of].codes] for at, (of, number) in wanted.items()}))
        db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT *, count(*) AS n FROM original_rows GROUP BY ALL")
        db.unregister("original_rows")
        return
    for statement in table.relation.setup:
        db.execute(statement)
    counting = _CountingQuery(db, table)
    if table.relation.counted is not None:
        cells = dict.fromkeys(table.relation.columns[of] for of, _ in wanted.values())
        db.register("given_rows", table.relation.counted(list(cells)))
        counting.times = True
    for at, (of, number) in wanted.items():
        counting.want(at, of, number)
    try:
        db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {counting.query()}")
    except _duckdb_error() as wrong:  # what it says may hold cells
        if table.relation.counted is None or is_shortage(wrong):
            raise
        raise NotVerified("the original could not be read again where it is; its own logs say why") from None
    ((strange, counted),) = db.execute(f"SELECT count(*) FILTER ({counting.strange}), sum(n) FROM {name}").fetchall()
    if strange or counted != table.rows:
        raise NotVerified("the original changed while the release was made; make a copy of it and use that")


class Lookup:
    """Rows `s`, with what is looked up for each in small tables: hundreds of joins in one query take minutes to plan.

    >>> import duckdb
    >>> with duckdb.connect() as db:
    ...     _ = db.execute("CREATE TABLE sexes AS VALUES ('f', 0), ('m', 1)")
    ...     lookup = Lookup(db, "(VALUES ('m'), ('f'), ('m'))")
    ...     told = [lookup.join("JOIN sexes {0} ON s.col0 = {0}.col0", "{0}.col1") for _ in range(100)]
    ...     db.sql(f"SELECT sum({told[0]}), sum({told[99]}) FROM {lookup.rows()} s").fetchall()
    [(2, 2)]
    """

    def __init__(self, db: "duckdb.DuckDBPyConnection", rows: str) -> None:
        self._db, self._rows = db, rows
        self._found: list[tuple[str, str]] = []
        self._number = next(_STEPS)

    def join(self, how: str, told: str) -> str:
        """Join a small table, written as {0}, and return the name of the looked-up column."""
        at = len(self._found)
        self._found.append((how.format(f"j{at}"), f"{told.format(f'j{at}')} AS told{at}"))
        return f"s.told{at}"

    def rows(self) -> str:
        """Return SQL for the rows; of many joins, intermediate results are stored after every few."""
        rows = self._rows
        for start in range(0, len(self._found), _AT_ONCE):
            some = self._found[start : start + _AT_ONCE]
            query = (
                f"SELECT s.*, {', '.join(told for _, told in some)} FROM {rows} s {' '.join(how for how, _ in some)}"
            )
            if start + _AT_ONCE >= len(self._found):
                return f"({query})"
            kept = f"step{self._number}_{start}"
            self._db.execute(f"CREATE TEMP TABLE {kept} AS {query}")
            if start:
                self._db.execute(f"DROP TABLE {rows}")
            rows = kept
        return rows


_AT_ONCE = 40
"""How many tables are joined in one query."""
_STEPS = count()


def labelled_rows(
    db: "duckdb.DuckDBPyConnection", counted: str, original: OriginalTable, labels: Mapping[str, Sequence[str | None]]
) -> str:
    """Return SQL for what `count_originals` counted, with the numbers in some columns replaced by their labels."""
    dictionaries = {at: pa.array(texts, pa.string()) for at, texts in labels.items()}
    if original.relation is None:
        rows = db.sql(f"FROM {counted}").to_arrow_table()
        for at, texts in dictionaries.items():
            numbers = rows[at].combine_chunks()
            place = rows.schema.get_field_index(at)
            rows = rows.set_column(place, at, pa.DictionaryArray.from_arrays(numbers, texts))
        db.register(f"labelled_{counted}", rows)
        return f"labelled_{counted}"
    lookup = Lookup(db, counted)
    for at, texts in dictionaries.items():
        db.register(f"labels_{at}", pa.table({"number": np.arange(len(texts)), "label": texts}))
    shown = {at: lookup.join(f"JOIN labels_{at} {{0}} ON {{0}}.number = s.{at}", "{0}.label") for at in dictionaries}
    given = db.sql(f"FROM {counted}").columns
    cells = ", ".join(f"{shown[at]} AS {at}" if at in shown else f"s.{at}" for at in given)
    return f"(SELECT {cells} FROM {lookup.rows()} s)"


def _duckdb_error() -> type[Exception]:
    import duckdb

    return duckdb.Error


class _CountingQuery:
    """Builds the counting query: packs numbers into as few words as possible, which are grouped faster than columns."""

    def __init__(self, db: "duckdb.DuckDBPyConnection", table: OriginalTable) -> None:
        assert table.relation is not None
        self.db, self.table = db, table
        rows = f"({table.relation.sql})" if table.relation.counted is None else "given_rows"
        self.lookup = Lookup(db, rows)
        self.words: list[list[str]] = [[]]
        self.texts: list[str] = []
        self.told: list[str] = []
        self.known: list[str] = []
        self.used = 0
        self.times = False
        """Whether distinct rows are given, with how often each occurs."""

    def want(self, at: str, of: str, number: np.ndarray[Any, np.dtype[np.integer[Any]]]) -> None:
        assert self.table.relation is not None
        column, cell = self.table[of], f"s.{self.table.relation.columns[of]}"
        if not column.is_collected:
            self.texts.append(f"{column.sql(cell)} AS {at}")
            self.told.append(at)
            return
        assert column.raws is not None
        # a number takes `width` bits of the last word; if these are not free, it begins a new word
        width = max(int(number.max(initial=0)).bit_length(), 1)
        if self.used + width > _BITS:
            self.words.append([])
            self.used = 0
        # `placed` [raw value]: its number, shifted to its place in the word; that of null is written into the query
        placed = number[column.codes].astype(np.int64) << self.used
        present = column.raws.is_valid()
        null = placed[~present.to_numpy(zero_copy_only=False)].tolist()
        self.db.register("raw_values", pa.table({"raw": column.raws, "number": placed}).filter(present))
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE raw_{at} AS FROM raw_values")
        self.db.unregister("raw_values")
        # without nulls an inner join is enough: a row with an unknown value is lost, and the count of rows shows it
        how = f"{'LEFT ' if null else ''}JOIN raw_{at} {{0}} ON {cell} = {{0}}.raw"
        told = f"CASE WHEN {cell} IS NULL THEN {null[0]} ELSE {{0}}.number END" if null else "{0}.number"
        self.words[-1].append(self.lookup.join(how, told))
        self.told.append(f"(w{len(self.words) - 1} >> {self.used}) & {(1 << width) - 1} AS {at}")
        self.known.append(at)
        self.used += width

    def query(self) -> str:
        words = [f"{' | '.join(parts)} AS w{w}" for w, parts in enumerate(self.words) if parts]
        cells = [*words, *self.texts, *(["s.times"] if self.times else [])]
        rows = f"SELECT {', '.join(cells)} FROM {self.lookup.rows()} s"
        counted = "* EXCLUDE (times), sum(times)::BIGINT AS n" if self.times else "*, count(*) AS n"
        return f"SELECT {', '.join(self.told)}, n FROM (SELECT {counted} FROM ({rows}) GROUP BY ALL)"

    @property
    def strange(self) -> str:
        """SQL condition for a row with a value that was not there when the table was read."""
        return " OR ".join(f"{at} IS NULL" for at in self.known) or "false"
