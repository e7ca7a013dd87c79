"""Released rows with columns of too many texts to collect: recoded and sorted by DuckDB into a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.data.codes import Codes, Tallied, UncollectedColumn
from shoal.engine_port import ReleasedRows
from shoal.engines.duckdb.groups import SOURCE, DuckColumns
from shoal.engines.row_stream import Stream, flag_formulas
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.recoding.columns import ReleasedColumn, unchanged_column
from shoal.recoding.kinds import NodeRecoding
from shoal.verify.original_table import Lookup

_BATCH = 1 << 17
_NUMBER = count()


@dataclass(frozen=True)
class _OrderedLabels:
    """Labels of a column in the order of their texts, null last, and the index of each code among them."""

    released: ReleasedColumn
    place: Codes

    @classmethod
    def of(cls, labels: ReleasedColumn) -> "_OrderedLabels":
        order = pc.sort_indices(labels.texts)
        # [code] index of its label in sorted order
        place = np.empty(len(order), dtype=np.int32)
        place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        return cls(ReleasedColumn(labels.codes, labels.values.take(order), labels.texts.take(order)), place)


class _LookupQuery:
    """Collects the joins that look up numbers for the values of each row."""

    def __init__(self, columns: DuckColumns) -> None:
        self.columns = columns
        self.lookup = Lookup(columns.session.db, SOURCE)
        self.tables = 0

    def look_up(self, name: str, of_raw: NDArray[np.integer]) -> str:
        """Add a join that looks up the number of each row's raw value in a column; return SQL for that number."""
        column, cell = self.columns[name], f"s.{self.columns.cells[name]}"
        assert isinstance(column, Tallied)
        table = f"t{self.tables}"
        self.tables += 1
        present = column.raws.is_valid()
        null = of_raw[~present.to_numpy(zero_copy_only=False)].tolist()
        self.columns.session.create_table(table, pa.table({"raw": column.raws, "number": of_raw}).filter(present))
        told = f"CASE WHEN {cell} IS NULL THEN {null[0]} ELSE {{0}}.number END" if null else "{0}.number"
        return self.lookup.join(f"{'LEFT ' if null else ''}JOIN {table} {{0}} ON {cell} = {{0}}.raw", told)


def stream(
    columns: DuckColumns,
    recoding: NodeRecoding,
    hierarchies: Mapping[str, Hierarchy],
    names: Sequence[str],
    *,
    show: bool,
) -> ReleasedRows:
    """Return the rows that a recoding releases as a stream, sorted by all columns as text."""
    kept = recoding.kept
    assert kept is not None
    query, labels = _LookupQuery(columns), {}
    cells: dict[str, str] = {}
    words: list[list[str]] = [[] for _ in range(kept.layout.words)]
    # for each quasi-identifier, SQL of its field in the key of the class, and of the index of its label
    for i, name in enumerate(kept.attributes):
        level = recoding.levels[name]
        codes = hierarchies[name].levels[level][columns[name].codes]
        texts = list(hierarchies[name].labels[level])
        texts += [TOP] if show and TOP not in texts else []
        labels[name] = _OrderedLabels.of(ReleasedColumn.of(codes, texts))
        part = query.look_up(name, codes.astype(np.uint64) << np.uint64(kept.layout.shift[i]))
        words[int(kept.layout.word[i])].append(f"({part})::UBIGINT")
        cells[name] = query.look_up(name, labels[name].place[codes])
    for name in names:
        column = columns[name]
        if isinstance(column, UncollectedColumn):
            cells[name] = column.sql(f"s.{columns.cells[name]}")
        elif name not in cells:
            labels[name] = _OrderedLabels.of(unchanged_column(column))
            cells[name] = query.look_up(name, labels[name].place[column.codes])
    columns.session.create_table("kept", pa.table({f"k{w}": kept.keys[:, w] for w in range(kept.layout.words)}))
    keys = [f"{' | '.join(parts) or '0::UBIGINT'} AS k{w}" for w, parts in enumerate(words)]
    rows = ", ".join([*keys, *(f"{cells[name]} AS c{i}" for i, name in enumerate(names))])
    rows = f"SELECT {rows} FROM {query.lookup.rows()} s"
    # rows are joined with the released classes by key; rows of other classes are left out, or shown as `*`
    same = " AND ".join(f"x.k{w} = kept.k{w}" for w in range(kept.layout.words))
    shown = []
    for i, name in enumerate(names):
        cell = f"x.c{i}"
        if show and name in recoding.levels:
            star = labels[name].released.texts.to_pylist().index(TOP)
            cell = f"CASE WHEN kept.k0 IS NULL THEN {star} ELSE {cell} END"
        shown.append(f"{cell}{'' if name not in labels else '::INTEGER'} AS c{i}")
    order = ", ".join(f"c{i} NULLS LAST" for i in range(len(names)))
    join = f"{'LEFT' if show else 'INNER'} JOIN kept ON {same}"
    return _write_rows(columns, names, labels, f"SELECT {', '.join(shown)} FROM ({rows}) x {join} ORDER BY {order}")


def _write_rows(
    columns: DuckColumns, names: Sequence[str], labels: Mapping[str, _OrderedLabels], query: str
) -> ReleasedRows:
    """Write the result of a query to a file, counting the rows per label and the formulas on the way."""
    path = columns.session.scratch.path / f"rows{next(_NUMBER)}.arrow"
    schema = pa.schema([(name, pa.int32() if name in labels else pa.string()) for name in names])
    tally = {name: np.zeros(len(each.released.texts), dtype=np.int64) for name, each in labels.items() if name in names}
    total = formulas = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in columns.batches(query, _BATCH):
            for name, column in zip(names, batch.columns, strict=True):
                if name in tally:
                    tally[name] += np.bincount(column.to_numpy(), minlength=len(tally[name]))
                else:
                    formulas += pc.sum(flag_formulas(column)).as_py() or 0
            total += batch.num_rows
            writer.write_batch(pa.record_batch(list(batch.columns), schema=schema))
    none = ReleasedColumn(np.zeros(0, dtype=np.int32), pa.array([], pa.string()), pa.array([], pa.string()))
    shown = {
        name: replace(labels[name].released, codes=np.flatnonzero(tally[name]).astype(np.int32))
        if name in tally
        else none
        for name in names
    }
    texts = tuple(name for name in names if name not in tally)
    return ReleasedRows(shown, stream=Stream(path, total, shown, tally, texts, formulas))
