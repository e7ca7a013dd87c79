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

from shoal.codes import Column, Table
from shoal.counts import ClassCounts, ValueCounts
from shoal.errors import BadInput
from shoal.hierarchy import TOP, Hierarchy
from shoal.models import Model, asked

if TYPE_CHECKING:
    import duckdb

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How text begins that a spreadsheet runs as a formula (OWASP, CSV injection)."""


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
    """The input, for checking that every released cell covers what stood there."""

    table: Table
    hierarchies: Mapping[str, Hierarchy]
    rows: np.ndarray[Any, np.dtype[np.int64]] | None = None
    """The input row of each released row; without it, rows are compared as multisets at `levels`."""
    levels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Counted:
    """What the SQL counted."""

    rows: int
    classes: ClassCounts


@contextmanager
def opened(
    data: Path | pa.Table, columns: Sequence[str], csv: Mapping[str, str]
) -> Iterator["duckdb.DuckDBPyConnection"]:
    """A private in-memory database with the view `released` on a file or a table."""
    import duckdb

    with duckdb.connect(config={"threads": 2, "temp_directory": "", "enable_external_access": True}) as db:
        if isinstance(data, pa.Table):
            db.register("released", data)
        elif data.suffix == ".parquet":
            db.execute("CREATE TEMP TABLE released AS SELECT * FROM read_parquet(?)", [str(data)])
        else:
            types = "{" + ", ".join(f"{_text(name)}: 'VARCHAR'" for name in columns) + "}"
            db.execute(
                f"CREATE TEMP TABLE released AS SELECT * FROM read_csv(?, auto_detect=false, header=true, "  # noqa: S608
                f"columns={types}, delim=?, quote=?, escape=?, nullstr=?, max_line_size=134217728)",
                [str(data), csv["delimiter"], csv["quote"], csv["quote"], csv["missing"]],
            )
        yield db


def count(
    db: "duckdb.DuckDBPyConnection", quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> Counted:
    """Sizes of the classes and, per sensitive attribute, how often each value occurs in each."""
    by = ", ".join(_name(name) for name in quasi_identifiers)
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE classes AS SELECT {by}, count(*) AS n, row_number() OVER () - 1 AS id FROM released GROUP BY {by}"
    )  # noqa: S608
    sizes = _numbers(db, "SELECT n FROM classes ORDER BY id")
    same = " AND ".join(f"r.{_name(q)} IS NOT DISTINCT FROM c.{_name(q)}" for q in quasi_identifiers)
    values = {}
    for name in sensitive:
        found = (
            db.sql(
                f"SELECT c.id, CAST(r.{_name(name)} AS VARCHAR) AS value, count(*) AS n "  # noqa: S608
                f"FROM released r JOIN classes c ON {same} GROUP BY ALL"
            )
            .to_arrow_table()
            .combine_chunks()
        )
        coded = found["value"].combine_chunks().dictionary_encode(null_encoding="encode")
        labels: list[str | None] = coded.dictionary.to_pylist()
        classes, counts = (found[c].combine_chunks().to_numpy(zero_copy_only=False) for c in ("id", "n"))
        values[name] = ValueCounts(classes, coded.indices.to_numpy(), counts, labels, len(sizes))
    return Counted(int(sizes.sum()), ClassCounts(sizes, values))


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
    """Whether every released cell covers the value that stood there (S0: a release is truthful)."""
    wrong = _by_row(db, claim, original) if original.rows is not None else _by_multiset(db, claim, original)
    if wrong:
        return Verdict(
            "truthful",
            Status.FAILS,
            why=f"column(s) {', '.join(map(repr, wrong))} hold cells that do not cover the original",
        )
    return Verdict("truthful", Status.HOLDS)


def _by_row(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> list[str]:
    """Columns with a cell that does not cover its original, row by row: compare distinct pairs only."""
    assert original.rows is not None
    wrong = []
    for name in claim.columns:
        column = original.table[name]
        cells = db.sql(f"SELECT CAST({_name(name)} AS VARCHAR) AS c FROM released").to_arrow_table()["c"]  # noqa: S608
        coded = cells.combine_chunks().dictionary_encode(null_encoding="encode")
        labels: list[str | None] = coded.dictionary.to_pylist()
        released = coded.indices.to_numpy().astype(np.int64)
        if len(released) != len(original.rows):
            return list(claim.columns)
        pairs = np.unique(column.codes[original.rows].astype(np.int64) * len(labels) + released)
        allowed = _allowed(column, original.hierarchies.get(name))
        if any(
            labels[pair % len(labels)] not in allowed(int(pair // len(labels))) for pair in pairs.tolist()
        ):
            wrong.append(name)
    return wrong


def _allowed(column: Column, hierarchy: Hierarchy | None) -> Any:
    """For a code, the set of texts that cover it."""
    texts: list[str | None] = [*column.texts.to_pylist(), None]

    def covering(code: int) -> set[str | None]:
        if hierarchy is None:
            text = texts[code]
            return {text, f"'{text}"} if text and text.startswith(FORMULA) else {text}
        ways = {hierarchy.labels[h][hierarchy.levels[h][code]] for h in range(hierarchy.height + 1)} | {TOP}
        return ways | {f"'{label}" for label in ways if label and label.startswith(FORMULA)}

    return covering


def _by_multiset(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original) -> list[str]:
    """For a global node: the released rows must be among the originals, generalised to the node's levels."""
    generalised = {}
    for name in claim.columns:
        column, hierarchy = original.table[name], original.hierarchies.get(name)
        if hierarchy is None:
            labels, codes = [*column.texts.to_pylist(), None], column.codes
        else:
            level = original.levels[name]
            labels, codes = list(hierarchy.labels[level]), hierarchy.levels[level][column.codes]
        generalised[name] = pa.array(labels, pa.string()).take(pa.array(codes))
    db.register("generalised", pa.table(generalised))
    # a leading ' that defuses a formula is not part of the value
    undefused = r"regexp_replace(CAST({} AS VARCHAR), '^''([=+@\t\r\n-])', '\1')"
    cells = ", ".join(undefused.format(_name(name)) for name in claim.columns)
    left = db.execute(
        f"SELECT count(*) FROM (SELECT {cells} FROM released EXCEPT ALL SELECT {cells} FROM generalised)"
    ).fetchone()  # noqa: S608
    return list(claim.columns) if left is None or left[0] else []


def check_hash(file: Path, sha256: str) -> Verdict:
    """Whether the file is the one that was published."""
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return Verdict(
        "sha256", Status.HOLDS if found == sha256 else Status.FAILS, {"sha256": sha256}, {"sha256": found}
    )


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
    return column.to_numpy(zero_copy_only=False).astype(np.int64)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
