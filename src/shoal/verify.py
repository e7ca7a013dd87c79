"""Counts a released table afresh, with DuckDB in SQL, and judges it; shares nothing with what made the release.

Only the models' pure functions and the hierarchies are common ground, and both are held to naive definitions in tests.
"""

import csv
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.codes import Table
from shoal.counts import ClassCounts, Indices, JointCounts, ValueCounts
from shoal.errors import BadInput, NotVerified
from shoal.hierarchy import TOP, Hierarchy
from shoal.models import Model, Need, asked

if TYPE_CHECKING:
    import duckdb


_UNDEFUSED = r"CASE WHEN c{0} ^@ '''' THEN regexp_replace(c{0}, '^''(''*[=+@\t\r\n-])', '\1') ELSE c{0} END AS c{0}"
"""A cell as it was before one ' was put in front of it; the same as `_undefused`, in SQL."""


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
    classes: Mapping[str, float] | None = None
    """Number and sizes of the classes, where they were said before."""
    attained: Sequence[Mapping[str, Any]] | None = None
    """Per model what the release is said to attain."""
    shown: int = 0
    """How many of the rows were suppressed and stay, all their quasi-identifiers `*`."""
    persons: bool = False
    """Whether sizes and shares count persons, not rows."""


@dataclass(frozen=True)
class Original:
    """The input and the levels it was generalised to, for checking that a release tells the truth."""

    table: Table
    hierarchies: Mapping[str, Hierarchy]
    levels: Mapping[str, int]
    unit: str | None = None
    """The column that tells persons apart, where persons are counted."""
    trees: Mapping[str, Sequence[Indices]] = field(default_factory=dict)
    """Hierarchies of sensitive attributes, by the codes of the table."""
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    together: Sequence[tuple[str, ...]] = ()
    """Columns that models need counted together."""
    population: Table | None = None
    """Everybody, in the codes of the table, where that is known."""
    tree_labels: Mapping[str, Sequence[Sequence[str | None]]] = field(default_factory=dict)
    """What the groups of `trees` are called."""


@dataclass(frozen=True)
class Counted:
    """What the SQL counted."""

    rows: int
    classes: ClassCounts
    behind: ClassCounts | None = None
    """The same classes as the rows of the original that became them, where the original is given."""
    everybody: bool = False
    """Whether the population is known."""


@dataclass(frozen=True)
class Opened:
    """A release in a private database: its distinct rows as texts c0, c1, … with their count n, in `released`."""

    db: "duckdb.DuckDBPyConnection"
    typed: frozenset[str]
    """Columns that were not released as text but as numbers, dates …"""


@contextmanager
def opened(data: Path | pa.Table, columns: Sequence[str], how: Mapping[str, Any]) -> Iterator[Opened]:
    """Open a file or a table that should have these columns; `how` tells how a CSV is written."""
    import duckdb

    # what does not fit in memory spills to a private folder; nothing is fetched from anywhere
    with (
        tempfile.TemporaryDirectory(prefix="shoal-") as spill,
        duckdb.connect(config={"temp_directory": spill, "autoinstall_known_extensions": False}) as db,
    ):
        typed: frozenset[str] = frozenset()
        if isinstance(data, Path) and data.suffix != ".parquet":
            source, values = _csv(data, columns, how)
        else:
            table = _parquet(data) if isinstance(data, Path) else data
            _refuse_other_columns(table.column_names, columns)
            typed = frozenset(column.name for column in table.schema if not _is_text(column.type))
            texts = [_words(column) for column in table.columns]
            db.register("given", pa.table(texts, names=[f"c{i}" for i in range(len(texts))]))
            source, values = "given", []
        cells = ", ".join(f"CAST(c{i} AS VARCHAR) AS c{i}" for i in range(len(columns)))
        query = f"SELECT {cells}, count(*) AS n FROM {source} GROUP BY ALL"
        if how.get("spreadsheet_safe"):
            query = f"SELECT {', '.join(_UNDEFUSED.format(i) for i in range(len(columns)))}, n FROM ({query})"
        try:
            db.execute(f"CREATE TEMP TABLE released AS {query}", values)
        except duckdb.Error:  # what it says may hold cells
            raise NotVerified("the released table cannot be read as its manifest says") from None
        yield Opened(db, typed)


def _csv(file: Path, columns: Sequence[str], how: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The SQL that reads a CSV, and its parameters."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            header = next(csv.reader(lines, delimiter=how["delimiter"], quotechar=how["quote"]), [])
    except (csv.Error, UnicodeDecodeError):
        header = []
    _refuse_other_columns([_undefused(name) for name in header] if how.get("spreadsheet_safe") else header, columns)
    types = "{" + ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(columns))) + "}"
    source = (
        f"read_csv(?, auto_detect=false, header=true, columns={types}, delim=?, quote=?, escape=?, nullstr=?, "
        "max_line_size=134217728)"
    )
    path = "".join(f"[{c}]" if c in "*?[" else c for c in str(file.absolute()))  # a path, not a pattern
    return source, [path, how["delimiter"], how["quote"], how["quote"], how["missing"]]


def _parquet(file: Path) -> pa.Table:
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(file).read()
    except (pa.ArrowException, OSError, ValueError):
        raise NotVerified("the released table is not a Parquet file, or it is damaged") from None


def _refuse_other_columns(found: Sequence[str], columns: Sequence[str]) -> None:
    if list(found) != list(columns):
        raise NotVerified("the released table has other columns than its manifest says")


def _undefused(text: str) -> str:
    """Without the one ' that keeps a spreadsheet from running a cell."""
    return text[1:] if text[:1] == "'" and text.lstrip("'")[:1] in set("=+-@\t\r\n") else text


def _is_text(of: pa.DataType) -> bool:
    plain = of.value_type if pa.types.is_dictionary(of) else of
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain))


def _words(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Each value as text, however its type is stored: 12:30:00 and 12:30:00.000 are one time."""
    texts = values.cast(pa.string())
    if pa.types.is_timestamp(values.type) or pa.types.is_time(values.type):
        shorter = pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+\b", r"\1")
        return pc.replace_substring_regex(shorter, r"\.0+\b", "")
    return texts


def count(release: Opened, claim: Claim, original: Original | None = None) -> Counted:
    """Sizes of the classes and how often each sensitive value occurs in each; also as the original tells it."""
    db = release.db
    by = ", ".join(f"c{claim.columns.index(name)}" for name in claim.quasi_identifiers)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE classed AS "
        f"SELECT *, dense_rank() OVER (ORDER BY {by}) - 1 AS class FROM released"
    )
    sizes = _numbers(db, "SELECT sum(n)::BIGINT FROM classed GROUP BY class ORDER BY class")
    values = {name: _value_counts(db, f"c{claim.columns.index(name)}", len(sizes)) for name in claim.sensitive}
    behind = None if original is None else count_behind(db, claim, original, len(sizes))
    everybody = behind is not None and behind.population is not None
    joint = {names: _joint_counts(db, names, claim) for names in _together(claim)}
    return Counted(int(sizes.sum()), ClassCounts(sizes, values, joint), behind, everybody)


def _together(claim: Claim) -> list[tuple[str, ...]]:
    """The sets of released columns that models need counted together; what needs the original is counted there."""
    wanted = sorted({model.columns for model in claim.models if model.columns and not model.needs})
    if not {name for names in wanted for name in names} <= set(claim.columns):
        raise NotVerified("the manifest makes a promise about columns that the release does not have")
    return wanted


def _joint_counts(db: "duckdb.DuckDBPyConnection", names: tuple[str, ...], claim: Claim) -> JointCounts:
    cells = [f"c{claim.columns.index(name)}" for name in names]
    found = db.sql(f"SELECT class, {', '.join(cells)}, sum(n)::BIGINT AS n FROM classed GROUP BY ALL").to_arrow_table()
    coded = [found[cell].combine_chunks().dictionary_encode(null_encoding="encode") for cell in cells]
    at, counts = (found[name].combine_chunks().to_numpy(zero_copy_only=False) for name in ("class", "n"))
    codes = tuple(column.indices.to_numpy() for column in coded)
    return JointCounts(at, codes, counts, tuple(column.dictionary.to_pylist() for column in coded))


def _value_counts(db: "duckdb.DuckDBPyConnection", column: str, classes: int) -> ValueCounts:
    query = f"SELECT class, {column} AS value, sum(n)::BIGINT AS n FROM classed GROUP BY ALL"
    found = db.sql(query).to_arrow_table().combine_chunks()
    coded = found["value"].combine_chunks().dictionary_encode(null_encoding="encode")
    at, counts = (found[name].combine_chunks().to_numpy(zero_copy_only=False) for name in ("class", "n"))
    return ValueCounts(at, coded.indices.to_numpy(), counts, coded.dictionary.to_pylist(), classes)


def count_behind(db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, classes: int) -> ClassCounts:
    """The released classes as the rows of the original that became them: with persons, and with columns not released.

    A row of the original belongs to the class of its generalised quasi-identifiers; where suppressed rows are shown,
    those of no such class belong to the class of stars.
    """
    quasi = list(claim.quasi_identifiers)
    others = list(dict.fromkeys([*claim.sensitive, *(n for names in original.together for n in names)]))
    rows = {f"q{i}": _labelled(original, name, original.table) for i, name in enumerate(quasi)}
    rows |= {f"v{i}": pa.array(original.table[name].codes) for i, name in enumerate(others)}
    if original.unit is not None:
        rows["person"] = pa.array(original.table[original.unit].codes)
    db.register("source", pa.table(rows))
    same = " AND ".join(f"s.q{i} IS NOT DISTINCT FROM r.c{claim.columns.index(name)}" for i, name in enumerate(quasi))
    known = f"(SELECT DISTINCT class, {', '.join(f'c{claim.columns.index(name)}' for name in quasi)} FROM classed)"
    join = f"FROM source s {'LEFT ' if claim.shown else ''}JOIN {known} r ON {same}"
    stars = " AND ".join(f"c{claim.columns.index(name)} IS NOT DISTINCT FROM '{TOP}'" for name in quasi)
    star = f"(SELECT any_value(class) FROM classed WHERE {stars})"
    db.execute(f"CREATE OR REPLACE TEMP TABLE behind AS SELECT s.*, coalesce(r.class, {star}) AS class {join}")
    many = "count(*)" if original.unit is None else "count(DISTINCT person)"
    sizes = np.zeros(classes, dtype=np.int64)
    at, counts = _columns(db, f"SELECT class, {many} AS n FROM behind GROUP BY class")
    sizes[at] = counts
    sensitive = {
        name: _values_behind(db, f"v{others.index(name)}", name, original, sizes, many) for name in claim.sensitive
    }
    joint = {
        names: _joint_behind(db, [f"v{others.index(name)}" for name in names], names, original)
        for names in original.together
    }
    found = ClassCounts(sizes, sensitive, joint, released=_released(db, claim) if joint else {})
    return found if original.population is None else _in_population(db, claim, original, found)


def _released(db: "duckdb.DuckDBPyConnection", claim: Claim) -> dict[str, Indices]:
    """Of each quasi-identifier, a number for the value that each class shows."""
    cells = [f"c{claim.columns.index(name)}" for name in claim.quasi_identifiers]
    shown = db.sql(f"SELECT DISTINCT class, {', '.join(cells)} FROM classed ORDER BY class").to_arrow_table()
    coded = (shown[cell].combine_chunks().dictionary_encode(null_encoding="encode").indices for cell in cells)
    return dict(zip(claim.quasi_identifiers, (codes.to_numpy() for codes in coded), strict=True))


def _values_behind(
    db: "duckdb.DuckDBPyConnection",
    column: str,
    name: str,
    original: Original,
    sizes: np.ndarray[Any, np.dtype[np.int64]],
    many: str,
) -> ValueCounts:
    labels = _texts(original.table, name)
    at, values, counts = _columns(db, f"SELECT class, {column} AS value, {many} AS n FROM behind GROUP BY ALL")
    value, overall = _columns(db, f"SELECT {column} AS value, {many} AS n FROM source GROUP BY ALL")
    reference = np.zeros(len(labels), dtype=np.int64)
    reference[value] = overall
    holders = None
    if original.unit is not None:
        null = len(labels) - 1 if labels and labels[-1] is None else -1
        holders = np.zeros_like(sizes)
        here, persons = _columns(db, f"SELECT class, {many} AS n FROM behind WHERE {column} <> {null} GROUP BY class")
        holders[here] = persons
    return ValueCounts(
        at,
        values,
        counts,
        labels,
        len(sizes),
        reference=reference,
        levels=original.trees.get(name, ()),
        order=original.order.get(name, ()),
        holders=holders,
        everyone=None if holders is None else sizes,
        level_labels=original.tree_labels.get(name, ()),
    )


def _joint_behind(
    db: "duckdb.DuckDBPyConnection", columns: list[str], names: tuple[str, ...], original: Original
) -> JointCounts:
    labels = tuple(_texts(original.table, name) for name in names)
    listed = ", ".join(columns)
    *codes, overall = _columns(db, f"SELECT {listed}, count(*) AS n FROM source GROUP BY ALL")
    whole = JointCounts(np.zeros(len(overall), dtype=np.int64), tuple(codes), overall, labels)
    at, *codes, counts = _columns(db, f"SELECT class, {listed}, count(*) AS n FROM behind GROUP BY ALL")
    return JointCounts(at, tuple(codes), counts, labels, whole)


def _in_population(
    db: "duckdb.DuckDBPyConnection", claim: Claim, original: Original, counts: ClassCounts
) -> ClassCounts:
    """How many persons of the population each class has, and how many of its classes have nobody released.

    Where suppressed rows are shown, whoever is in no other class may be behind the class of stars.
    """
    assert original.population is not None
    quasi = list(claim.quasi_identifiers)
    people = {f"q{i}": _labelled(original, name, original.population) for i, name in enumerate(quasi)}
    db.register("people", pa.table(people))
    same = " AND ".join(f"s.q{i} IS NOT DISTINCT FROM r.c{claim.columns.index(name)}" for i, name in enumerate(quasi))
    known = f"(SELECT DISTINCT class, {', '.join(f'c{claim.columns.index(name)}' for name in quasi)} FROM classed)"
    grouped = "(SELECT *, count(*) AS n FROM people GROUP BY ALL)"
    at, found = _columns(
        db, f"SELECT coalesce(class, -1), sum(n)::BIGINT FROM {grouped} s LEFT JOIN {known} r ON {same} GROUP BY ALL"
    )
    population = np.zeros(len(counts.sizes), dtype=np.int64)
    population[at[at >= 0]] = found[at >= 0]
    if claim.shown:
        stars = " AND ".join(f"c{claim.columns.index(name)} IS NOT DISTINCT FROM '{TOP}'" for name in quasi)
        star, *_ = _numbers(db, f"SELECT coalesce(any_value(class), -1) FROM classed WHERE {stars}").tolist()
        if star >= 0:
            population[star] += int(found[at < 0].sum())
            return replace(counts, population=population)
    strangers = _number(db, f"SELECT count(*) FROM {grouped} s LEFT JOIN {known} r ON {same} WHERE class IS NULL")
    return replace(counts, population=population, strangers=strangers)


def _labelled(original: Original, name: str, table: Table) -> pa.Array:
    """A quasi-identifier's column as it is released."""
    level, hierarchy = original.levels[name], original.hierarchies[name]
    return pa.array(hierarchy.labels[level], pa.string()).take(pa.array(hierarchy.levels[level][table[name].codes]))


def _texts(table: Table, name: str) -> list[str | None]:
    column = table[name]
    return [*column.texts.to_pylist(), *([None] if column.has_null else [])]


def _columns(db: "duckdb.DuckDBPyConnection", query: str) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    found = db.sql(query).to_arrow_table()
    return [np.asarray(c.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64) for c in found.columns]


def judge(claim: Claim, counted: Counted) -> list[Verdict]:
    """The number of rows, the classes, and every model of the claim."""
    found = _classes(counted)
    verdicts = [
        Verdict("rows", _holds(counted.rows == claim.rows), {"rows": claim.rows}, {"rows": counted.rows}),
        Verdict("classes", _holds(_agree(claim.classes, found)), claim.classes or {}, found),
    ]
    said = claim.attained if claim.attained is not None else [None] * len(claim.models)
    for model, before in zip(claim.models, said, strict=True):
        verdicts.append(_judge_model(model, before, claim, counted))
    return verdicts


def _judge_model(model: Model, said: Mapping[str, Any] | None, claim: Claim, counted: Counted) -> Verdict:
    """One promise, on the classes as released or, where that tells too little, on the rows behind them."""
    needs = model.needs | ({Need.ORIGINAL} if claim.persons else set())
    if Need.POPULATION in needs and not counted.everybody:
        return Verdict(model.name, Status.NEEDS_POPULATION, asked(model))
    if needs and counted.behind is None:
        return Verdict(model.name, Status.NEEDS_ORIGINAL, asked(model))
    classes = counted.behind if needs and counted.behind is not None else counted.classes
    kept = counted.rows > 0 and model.holds(classes)
    attained = model.attained(classes) if counted.rows else {}
    true = _agree(said, attained)
    why = "" if true else "the manifest says that it attains something else"
    return Verdict(model.name, _holds(kept and true), asked(model), attained, why)


def _holds(holds: bool) -> Status:
    return Status.HOLDS if holds else Status.FAILS


def _classes(counted: Counted) -> dict[str, float]:
    sizes = counted.classes.sizes
    if not len(sizes):
        return {"count": 0, "min": 0, "max": 0, "mean": 0.0}
    return {
        "count": len(sizes),
        "min": int(sizes.min()),
        "max": int(sizes.max()),
        "mean": counted.rows / len(sizes),
    }


def _agree(said: Any, found: Any) -> bool:
    """Whether what was said before is what was found; nothing said is no lie."""
    if said is None:
        return True
    if isinstance(said, Mapping):
        return isinstance(found, Mapping) and all(k in found and _agree(said[k], found[k]) for k in said)
    if isinstance(said, float) or isinstance(found, float):
        return isinstance(found, int | float) and isclose(said, found, rel_tol=1e-12)
    return bool(said == found)


def covers(release: Opened, claim: Claim, original: Original) -> Verdict:
    """Whether every released row is an original one, each cell as it was or generalised to a label that covers it.

    Rows are compared as multisets: no row may occur more often than originals that became it. Rows whose
    quasi-identifiers are all `*` because they were suppressed, if the claim says that there are such, cover any of the
    originals that no other row has covered; of them the other columns are compared.
    """
    db = release.db
    generalised = _generalised(claim, original, release.typed)
    db.register("codes", pa.table({f"c{i}": codes for i, (codes, _) in enumerate(generalised)}))
    for i, (_, labels) in enumerate(generalised):
        db.register(f"l{i}", pa.table({"code": np.arange(len(labels)), "label": pa.array(labels, pa.string())}))
    every = list(range(len(generalised)))
    joins = " ".join(f"JOIN l{i} ON l{i}.code = d.c{i}" for i in every)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE generalised AS "
        f"SELECT {', '.join(f'l{i}.label AS c{i}' for i in every)}, d.n FROM "
        f"(SELECT *, count(*) AS n FROM codes GROUP BY ALL) d {joins}"
    )
    if not claim.shown:
        return _truthful(_surplus(db, every, "released", "generalised"))
    quasi = [i for i in every if claim.columns[i] in original.hierarchies]
    return _covers_shown(db, claim.shown, quasi, [i for i in every if i not in quasi])


def _covers_shown(db: "duckdb.DuckDBPyConnection", shown: int, quasi: list[int], others: list[int]) -> Verdict:
    """The same where suppressed rows are shown: they come last, and share what originals are left."""
    stars = " AND ".join(f"c{i} IS NOT DISTINCT FROM '{TOP}'" for i in quasi)
    found, natural = (_rows(db, f"{table} WHERE {stars}") for table in ("released", "generalised"))
    if not shown <= found <= shown + natural:  # a value may itself be *
        return Verdict("truthful", Status.FAILS, why=f"{found} released row(s) are all *, not {shown}")
    every = sorted([*quasi, *others])
    kept = f"(FROM released WHERE NOT ({stars}))"
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE remaining AS SELECT g.* REPLACE (greatest(g.n - coalesce(r.n, 0), 0) AS n) "
        f"FROM {_grouped(every, 'generalised')} g LEFT JOIN {_grouped(every, kept)} r ON {_same(every)}"
    )
    wrong = _surplus(db, every, kept, "generalised")
    return _truthful(wrong + _surplus(db, others, f"(FROM released WHERE {stars})", "remaining"))


def _truthful(wrong: int) -> Verdict:
    if wrong:
        return Verdict("truthful", Status.FAILS, why=f"{wrong} released row(s) do not cover an original one")
    return Verdict("truthful", Status.HOLDS)


def _generalised(
    claim: Claim, original: Original, typed: frozenset[str]
) -> list[tuple[np.ndarray[Any, np.dtype[np.int32]], list[str | None]]]:
    out = []
    for name in claim.columns:
        column, hierarchy = original.table[name], original.hierarchies.get(name)
        if hierarchy is None:
            texts = _words(column.values) if name in typed else column.texts
            out.append((column.codes, [*texts.to_pylist(), *([None] if column.has_null else [])]))
        else:
            level = original.levels[name]
            out.append((hierarchy.levels[level][column.codes], list(hierarchy.labels[level])))
    return out


def _surplus(db: "duckdb.DuckDBPyConnection", columns: list[int], released: str, originals: str) -> int:
    """How many released rows occur more often, in these columns, than the originals allow."""
    return _number(
        db,
        "SELECT coalesce(sum(greatest(r.n - coalesce(g.n, 0), 0)), 0)::BIGINT "
        f"FROM {_grouped(columns, released)} r LEFT JOIN {_grouped(columns, originals)} g ON {_same(columns)}",
    )


def _grouped(columns: list[int], table: str) -> str:
    cells = ", ".join(f"c{i}" for i in columns) or "1 AS one"
    return f"(SELECT {cells}, sum(n) AS n FROM {table} GROUP BY ALL)"


def _same(columns: list[int]) -> str:
    return " AND ".join(f"r.c{i} IS NOT DISTINCT FROM g.c{i}" for i in columns) or "true"


def _rows(db: "duckdb.DuckDBPyConnection", table: str) -> int:
    return _number(db, f"SELECT coalesce(sum(n), 0)::BIGINT FROM {table}")


def _number(db: "duckdb.DuckDBPyConnection", query: str) -> int:
    ((found,),) = db.execute(query).fetchall()  # all: an unfinished result blocks the connection
    return int(found)


def check_hash(file: Path, sha256: str) -> Verdict:
    """Whether the file is the one that was published."""
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return Verdict("sha256", Status.HOLDS if found == sha256 else Status.FAILS, {"sha256": sha256}, {"sha256": found})


def refuse_failures(verdicts: Sequence[Verdict]) -> None:
    """Raise unless everything holds."""
    failed = [v for v in verdicts if not v.holds]
    if failed:
        raise NotVerified(
            "the release does not verify: " + "; ".join(f"{v.promise} {v.status} {v.why}".strip() for v in failed)
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
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)
