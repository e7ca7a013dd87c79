"""Counts a released table afresh, with DuckDB in SQL, and judges it; shares nothing with what made the release.

Only the models' pure functions and the hierarchies are common ground, and both are held to naive definitions in tests.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.codes import Table
from shoal.counts import ClassCounts, ValueCounts
from shoal.errors import BadInput
from shoal.hierarchy import TOP, Hierarchy
from shoal.models import Model, asked

if TYPE_CHECKING:
    import duckdb


class Status(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    NEEDS_ORIGINAL = "needs --original"
    NEEDS_POPULATION = "needs --population"


@dataclass(frozen=True)
class Verdict:
    """One promise and what the release, as counted here, says about it."""

    promise: str
    status: Status
    asked: Mapping[str, Any] = field(default_factory=dict)
    attained: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""

    @property
    def holds(self) -> bool:
        return self.status is Status.HOLDS


@dataclass(frozen=True)
class Claim:
    """What a release says of itself: the part of its public manifest that can be checked."""

    quasi_identifiers: Sequence[str]
    sensitive: Sequence[str]
    models: Sequence[Model]
    rows: int
    columns: Sequence[str]


@dataclass(frozen=True)
class Original:
    """The input and the levels it was generalised to, for checking that a release tells the truth."""

    table: Table
    hierarchies: Mapping[str, Hierarchy]
    levels: Mapping[str, int]


@dataclass(frozen=True)
class Counted:
    """What the SQL counted."""

    rows: int
    classes: ClassCounts


@contextmanager
def opened(
    data: Path | pa.Table, columns: Sequence[str], csv: Mapping[str, str]
) -> Iterator["duckdb.DuckDBPyConnection"]:
    """A private database in memory with the table `released`: the distinct rows of a file or table, and their count n."""
    import duckdb

    with duckdb.connect() as db:
        if isinstance(data, pa.Table):
            db.register("given", data)
            source, values = "given", []
        elif data.suffix == ".parquet":
            source, values = "read_parquet(?)", [str(data)]
        else:
            types = "{" + ", ".join(f"{_text(name)}: 'VARCHAR'" for name in columns) + "}"
            source = (
                f"read_csv(?, auto_detect=false, header=true, columns={types}, delim=?, quote=?, escape=?, nullstr=?, "
                "max_line_size=134217728)"
            )
            values = [str(data), csv["delimiter"], csv["quote"], csv["quote"], csv["missing"]]
        cells = ", ".join(f"CAST({_name(name)} AS VARCHAR) AS c{i}" for i, name in enumerate(columns))
        query = f"CREATE TEMP TABLE released AS SELECT {cells}, count(*) AS n FROM {source} GROUP BY ALL"
        try:
            db.execute(query, values)
        except duckdb.Error:  # what it says may hold cells
            raise NotVerified("the released table cannot be read as its manifest says") from None
        yield db


def count(db: "duckdb.DuckDBPyConnection", claim: Claim) -> Counted:
    """Sizes of the classes and, per sensitive attribute, how often each value occurs in each."""
    by = ", ".join(f"c{claim.columns.index(name)}" for name in claim.quasi_identifiers)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE classed AS "
        f"SELECT *, dense_rank() OVER (ORDER BY {by}) - 1 AS class FROM released"
    )
    sizes = _numbers(db, "SELECT sum(n)::BIGINT FROM classed GROUP BY class ORDER BY class")
    values = {name: _value_counts(db, f"c{claim.columns.index(name)}", len(sizes)) for name in claim.sensitive}
    return Counted(int(sizes.sum()), ClassCounts(sizes, values))


def _value_counts(db: "duckdb.DuckDBPyConnection", column: str, classes: int) -> ValueCounts:
    query = f"SELECT class, {column} AS value, sum(n)::BIGINT AS n FROM classed GROUP BY ALL"
    found = db.sql(query).to_arrow_table().combine_chunks()
    coded = found["value"].combine_chunks().dictionary_encode(null_encoding="encode")
    at, counts = (found[name].combine_chunks().to_numpy(zero_copy_only=False) for name in ("class", "n"))
    return ValueCounts(at, coded.indices.to_numpy(), counts, coded.dictionary.to_pylist(), classes)


def judge(claim: Claim, counted: Counted) -> list[Verdict]:
    """Every model of the claim, and the number of rows."""
    verdicts = [
        Verdict(
            "rows",
            Status.HOLDS if counted.rows == claim.rows else Status.FAILS,
            {"rows": claim.rows},
            {"rows": counted.rows},
        )
    ]
    for model in claim.models:
        kept = counted.rows > 0 and bool(model.complies(counted.classes).all())
        verdicts.append(
            Verdict(
                model.name,
                Status.HOLDS if kept else Status.FAILS,
                asked(model),
                model.attained(counted.classes),
            )
        )
    return verdicts


def covers(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> Verdict:
    """Whether every released row is an original one, each cell as it was or generalised to a label that covers it.

    Rows are compared as multisets: no row may occur more often than originals that became it. Rows whose
    quasi-identifiers are all `*` (suppressed but shown) cover anything; of them the other columns are compared.
    """
    generalised = _generalised(claim, original)
    db.register("codes", pa.table({f"c{i}": codes for i, (codes, _) in enumerate(generalised)}))
    for i, (_, labels) in enumerate(generalised):
        db.register(f"l{i}", pa.table({"code": np.arange(len(labels)), "label": pa.array(labels, pa.string())}))
    every = range(len(generalised))
    joins = " ".join(f"JOIN l{i} ON l{i}.code = d.c{i}" for i in every)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE generalised AS "
        f"SELECT {', '.join(f'l{i}.label AS c{i}' for i in every)}, d.n FROM "
        f"(SELECT *, count(*) AS n FROM codes GROUP BY ALL) d {joins}"
    )
    quasi = [i for i in every if claim.columns[i] in original.hierarchies]
    stars = " AND ".join(f"c{i} IS NOT DISTINCT FROM '{TOP}'" for i in quasi)
    at_top = all(labels == [TOP] for i, (_, labels) in enumerate(generalised) if i in quasi)
    wrong = _surplus(db, list(every), "true" if at_top else f"NOT ({stars})")
    if not at_top:
        wrong += _surplus(db, [i for i in every if i not in quasi], stars)
    if wrong:
        return Verdict("truthful", Status.FAILS, why=f"{wrong} released row(s) do not cover an original one")
    return Verdict("truthful", Status.HOLDS)


def _generalised(
    claim: Claim, original: Original
) -> list[tuple[np.ndarray[Any, np.dtype[np.int32]], list[str | None]]]:
    out = []
    for name in claim.columns:
        column, hierarchy = original.table[name], original.hierarchies.get(name)
        if hierarchy is None:
            out.append((column.codes, [*column.texts.to_pylist(), *([None] if column.has_null else [])]))
        else:
            level = original.levels[name]
            out.append((hierarchy.levels[level][column.codes], list(hierarchy.labels[level])))
    return out


def _surplus(db: "duckdb.DuckDBPyConnection", columns: list[int], where: str) -> int:
    """How many released rows occur more often, in these columns, than the originals allow."""
    # a leading ' that keeps a spreadsheet from running the cell is not part of the value
    plain = r"CASE WHEN c{0} ^@ '''' THEN regexp_replace(c{0}, '^''([=+@\t\r\n-])', '\1') ELSE c{0} END AS c{0}"
    cells = ", ".join(plain.format(i) for i in columns) or "1 AS one"
    named = ", ".join(f"c{i}" for i in columns) or "1 AS one"
    same = " AND ".join(f"r.c{i} IS NOT DISTINCT FROM g.c{i}" for i in columns) or "true"
    found = db.execute(
        f"SELECT coalesce(sum(greatest(r.n - coalesce(g.n, 0), 0)), 0)::BIGINT FROM "
        f"(SELECT {cells}, sum(n) AS n FROM released WHERE {where} GROUP BY ALL) r "
        f"LEFT JOIN (SELECT {named}, sum(n) AS n FROM generalised GROUP BY ALL) g ON {same}"
    ).fetchone()
    assert found is not None
    return int(found[0])


def check_hash(file: Path, sha256: str) -> Verdict:
    """Whether the file is the one that was published."""
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return Verdict("sha256", Status.HOLDS if found == sha256 else Status.FAILS, {"sha256": sha256}, {"sha256": found})


def read_json(path: Path) -> dict[str, Any]:
    """A manifest, or one sentence about why it is none."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput(
            f"{path.parent.name}/{path.name}: there is no manifest; is this the folder of a release?"
        ) from None
    except (OSError, ValueError):
        raise BadInput(f"{path.parent.name}/{path.name}: the manifest cannot be read") from None
    if not isinstance(document, dict) or "shoal" not in document:
        raise BadInput(f"{path.parent.name}/{path.name}: this is not a manifest of Shoal")
    return document


def _numbers(db: "duckdb.DuckDBPyConnection", query: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    column = db.sql(query).to_arrow_table().column(0).combine_chunks()
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
