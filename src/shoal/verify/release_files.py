"""The files of a release: whether the table is the published one, its manifests, and Parquet files in folders."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from shoal.errors import BadInput, NotVerified
from shoal.verify.claim import Status, Verdict

if TYPE_CHECKING:
    import duckdb


def table_in(folder: Path, name: str | None) -> Path:
    """The released table: a file, or the folder that its parts lie in, right inside the published folder."""
    table = folder / (name or "")
    if table.parent != folder or not table.exists():
        raise BadInput(f"{folder.name}/{name}: the released table is missing")
    return table


def parts_of(table: Path) -> list[Path]:
    """All files of a table in parts, sorted by where they lie."""
    return sorted(
        (path for path in table.rglob("*") if not path.is_dir()), key=lambda path: path.relative_to(table).as_posix()
    )


def check_hash(table: Path, sha256: str) -> Verdict:
    """Whether the file is the one that was published; of parts, the list that `sha256sum` prints of them is hashed."""
    if table.is_dir():
        lines = (f"{_digest(part)}  ./{part.relative_to(table).as_posix()}\n" for part in parts_of(table))
        found = hashlib.sha256("".join(lines).encode()).hexdigest()
    else:
        found = _digest(table)
    return Verdict("sha256", Status.HOLDS if found == sha256 else Status.FAILS, {"sha256": sha256}, {"sha256": found})


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """Read a manifest, or raise one sentence about why it is none."""
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


_NULL = "__HIVE_DEFAULT_PARTITION__"
_TYPES = {"text": pa.string(), "integer": pa.int64()}
_ODD = "the released table has other files or folders than its manifest says"


@dataclass(frozen=True)
class PartitionFiles:
    """The files of a released table, and what the folders of each tell."""

    files: tuple[Path, ...]
    told: pa.Table
    """A column for each partition, a row for each file."""
    schema: pa.Schema
    """Columns of the files, then those that folders tell."""

    @classmethod
    def of(cls, table: Path, kinds: Mapping[str, str]) -> "PartitionFiles":
        """Find the files of a table, and what their folders tell; a single file has no folders that tell anything."""
        if not table.is_dir():
            return cls((table,), pa.table({}), _schema(table))
        files = tuple(parts_of(table))
        if not files:
            raise NotVerified(_ODD)
        rows = [_told(file.relative_to(table), kinds) for file in files]
        try:
            told = pa.table(
                {name: pa.array([row[name] for row in rows]).cast(_TYPES[kind]) for name, kind in kinds.items()}
            )
        except pa.ArrowException:
            raise NotVerified(_ODD) from None
        schema = _schema(files[0])
        if set(schema.names) & set(kinds) or any(_schema(file) != schema for file in files):
            raise NotVerified(_ODD)
        return cls(files, told, pa.schema([*schema, *told.schema]))

    def read(self) -> pa.Table:
        """All rows, as the files follow each other."""
        from pyarrow import parquet

        tables = []
        for at, file in enumerate(self.files):
            rows = parquet.ParquetFile(file).read()
            for name, column in zip(self.told.column_names, self.told.columns, strict=True):
                rows = rows.append_column(name, pa.repeat(column[at], rows.num_rows))
            tables.append(rows)
        return pa.concat_tables(tables)

    def query(self, db: "duckdb.DuckDBPyConnection", columns: Sequence[str]) -> str:
        """SQL of all rows, in any order, with the columns c0, c1, …"""
        files = ", ".join(f"'{path_not_pattern(file)}'" for file in self.files)
        if not self.told.num_columns:
            named = ", ".join(f"c{i}" for i in range(len(columns)))
            return f"SELECT * FROM read_parquet([{files}], hive_partitioning=false) AS rows({named})"
        numbered = {f"t{i}": column for i, column in enumerate(self.told.columns)}
        db.register("parts_given", pa.table({"file": [str(file.absolute()) for file in self.files], **numbered}))
        db.execute("CREATE TEMP TABLE parts AS FROM parts_given")
        db.unregister("parts_given")
        inside = [name for name in self.schema.names if name not in self.told.column_names]
        places = {name: f"f{i}" for i, name in enumerate(inside)} | {
            name: f"t{i}" for i, name in enumerate(self.told.column_names)
        }
        cells = ", ".join(f"{places[name]} AS c{i}" for i, name in enumerate(columns))
        every = ", ".join(f"f{i}" for i in range(len(inside)))
        beside = "f" * (1 + max(len(name) for name in inside))  # no column is called that
        rows = f"read_parquet([{files}], hive_partitioning=false, filename='{beside}') AS rows({every}, file)"
        return f"SELECT {cells} FROM {rows} JOIN parts USING (file)"


def path_not_pattern(file: Path) -> str:
    """A path escaped so that DuckDB takes it for one file, not for a pattern; it goes inside quotes."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(file.absolute())).replace("'", "''")


def _schema(file: Path) -> pa.Schema:
    from pyarrow import parquet

    try:
        return parquet.read_schema(file).remove_metadata()
    except (pa.ArrowException, OSError, ValueError):
        raise NotVerified("the released table is not a Parquet file, or it is damaged") from None


def _told(path: Path, kinds: Mapping[str, str]) -> dict[str, str | None]:
    """What the folders above a file tell: each partition once, in its order."""
    pairs = [part.partition("=") for part in path.parent.parts]
    if [unquote(name) for name, _, _ in pairs] != list(kinds):
        raise NotVerified(_ODD)
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}
