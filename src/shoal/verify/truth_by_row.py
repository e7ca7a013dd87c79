"""Checks row by row that a release tells the truth, for recodings that are not given by levels."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.class_counts import Flags, Indices
from shoal.labels.scale import Coverage, Run, to_texts
from shoal.verify.claim import Claim, Original, Status, Verdict
from shoal.verify.open_release import OpenedRelease, classify, place_rows, query_number, starred_sql
from shoal.verify.original_table import OriginalColumn
from shoal.verify.true_statistics import find_misstatements

if TYPE_CHECKING:
    import duckdb


def covers_mapped(release: OpenedRelease, claim: Claim, original: Original) -> Verdict:
    """Judge whether every released row shows its input row of the row map: each cell unchanged or a true label.

    No input row may be shown twice. Statistics and observed ranges must be those of the rows behind the class.
    """
    assert release.listed, "a row map needs the released rows in their order"
    wrong = _wrong_map(release.db, claim, original) or _wrong_names(claim, original)
    if not wrong and claim.shown:
        found = query_number(release.db, f"SELECT count(*) FROM listed WHERE {starred_sql(claim)}")
        # a row may be all * without having been suppressed
        wrong = "" if found >= claim.shown else f"{found} released row(s) are all *, not {claim.shown}"
    if not wrong:
        register_origins(release.db, claim, original)
        wrong = "; ".join([*_false_cells(release, claim, original), *_false_statistics(release.db, claim, original)])
    return Verdict("truthful", Status.FAILS if wrong else Status.HOLDS, why=wrong)


def _wrong_map(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> str:
    """Return what is wrong with the row map itself; "" if nothing."""
    rows = original.rows
    assert rows is not None
    listed = query_number(db, "SELECT count(*) FROM listed")
    if len(rows) != listed:
        return f"the row map tells of {len(rows)} row(s), the released table has {listed}"
    added = int((rows < 0).sum())
    strange = int((rows >= original.table.rows).sum()) + (0 if added == claim.added else added)
    if strange:
        return f"{strange} released row(s) come from no row of the original"
    true = rows[rows >= 0]
    twice = len(true) - int((np.bincount(true, minlength=1) > 0).sum())
    return f"{twice} released row(s) show an original one that another row shows" if twice else ""


def _wrong_names(claim: Claim, original: Original) -> str:
    strange = [name for name in claim.columns if claim.source(name) not in original.table.columns]
    return f"column {strange[0]!r} tells of nothing in the original" if strange else ""


def register_origins(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> None:
    """Create `origins`: for every released row that shows somebody, the original codes o0, o1, … behind c0, c1, …"""
    assert original.rows is not None
    place = np.flatnonzero(original.rows >= 0)
    rows = original.rows[place]
    codes = {f"o{i}": original.table[claim.source(name)].codes[rows] for i, name in enumerate(claim.columns)}
    db.register("origins", pa.table({"row": place, **codes}))


def _false_cells(release: OpenedRelease, claim: Claim, original: Original) -> Iterator[str]:
    for i, name in enumerate(claim.columns):
        if name in claim.statistics:
            continue
        pairs = release.db.sql(
            f"SELECT l.c{i} AS cell, o.o{i} AS code, count(*) AS n "
            "FROM listed l JOIN origins o ON l.rowid = o.row GROUP BY ALL"
        ).to_arrow_table()
        column = original.table[name]
        false = pairs.filter(pa.array(~flag_unchanged(pairs, column, typed=name in release.typed)))
        if name in claim.quasi_identifiers and name not in release.typed:
            false = false.filter(pa.array(~flag_covered(false, column.coverage(original.hierarchies.get(name)))))
        if false.num_rows:
            yield f"{pc.sum(false['n']).as_py()} released row(s) do not cover an original one in column {name!r}"


def flag_unchanged(pairs: pa.Table, column: OriginalColumn, *, typed: bool) -> Flags:
    """Flag the pairs of a cell and an original code in which the cell shows the value itself."""
    texts = to_texts(column.values) if typed else column.texts
    true = pa.concat_arrays([texts, pa.nulls(1, pa.string())]).take(pairs["code"])
    same = pc.if_else(pc.is_null(pairs["cell"]), pc.is_null(true), pc.fill_null(pc.equal(pairs["cell"], true), False))
    return np.asarray(same.to_numpy(), dtype=bool)


def flag_covered(pairs: pa.Table, labels: Coverage) -> Flags:
    """Flag the pairs of a cell and an original code in which the cell is a label that covers the code."""
    cells = pairs["cell"].combine_chunks().dictionary_encode(null_encoding="encode")
    at, codes = cells.indices.to_numpy(), pairs["code"].to_numpy()
    # `order`: the pairs sorted by cell, so that each label is parsed once; `ends` [cell + 1]: where each begins
    order = np.argsort(at, kind="stable")
    ends = np.searchsorted(at[order], np.arange(len(cells.dictionary) + 1))
    flags = np.zeros(len(at), dtype=bool)
    for label, start, stop in zip(cells.dictionary.to_pylist(), ends[:-1], ends[1:], strict=True):
        here = order[start:stop]
        flags[here] = _inside(codes[here], labels.runs(label))
    return flags


def _inside(codes: Indices, runs: Sequence[Run]) -> Flags:
    """Flag the codes that lie in one of some runs, which are in ascending order."""
    if not runs:
        return np.zeros(len(codes), dtype=bool)
    starts, stops = np.array(runs, dtype=np.int64).T
    # `at` [code]: the last run that begins at or before it; -1 for none
    at = np.searchsorted(starts, codes, side="right") - 1
    return np.asarray((at >= 0) & (codes < stops[at]))


def _false_statistics(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> Iterator[str]:
    if claim.statistics or claim.observed:
        classify(db, claim)
        place_rows(db, claim)
        yield from find_misstatements(db, claim, original)
