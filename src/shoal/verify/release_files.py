"""Reads the files of a release safely: regular files only, strict JSON, and Parquet in one file or in folders."""

import hashlib
import json
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from shoal.errors import BadInput, NotVerified, reason_of
from shoal.runtime.tempdir import settle
from shoal.verify.claim import Status, Verdict

if TYPE_CHECKING:
    import duckdb


def refuse_irregular(path: Path) -> None:
    """Refuse anything but a regular file: a link may lead anywhere, a pipe never ends. A missing file passes."""
    mode = _mode(path)
    if mode is None or stat.S_ISREG(mode):
        return
    what = "a symbolic link; put the file itself there" if stat.S_ISLNK(mode) else "no file; use a copy of the folder"
    raise BadInput(f"{path.parent.name}/{path.name}: this is {what}")


def is_there(path: Path) -> bool:
    """Whether there is such a file; refuse it if it is not a regular one."""
    refuse_irregular(path)
    return _mode(path) is not None


def _mode(path: Path) -> int | None:
    """Return the mode of a file without following links; None if there is none, or the name is impossible."""
    try:
        return path.lstat().st_mode
    except (OSError, ValueError):
        return None


def table_in(folder: Path, name: str | None) -> Path:
    """Return the path of the released table: a file, or the folder of its parts, directly in the published folder."""
    table = folder / (name or "")
    mode = _mode(table)
    if not name or table.parent != folder or table.name != name or mode is None:
        raise BadInput(f"{folder.name}/{(name or '')[:80]}: the released table is missing")
    if not stat.S_ISDIR(mode):
        refuse_irregular(table)
    return table


def published_table(folder: Path, name: str | None, sha256: str | None) -> Path:
    """Return the path of the released table; refuse a table whose hash is not the one in the manifest."""
    table = table_in(folder, name)
    if not check_hash(table, sha256 or "").holds:
        raise NotVerified(f"{folder.name}: the released table was changed since it was published; use a copy of it")
    return table


def parts_of(table: Path) -> list[Path]:
    """Return all files of a partitioned table, sorted by relative path; refuse irregular ones."""
    found = [path for path in table.rglob("*") if path.is_symlink() or not path.is_dir()]
    for path in found:
        refuse_irregular(path)
    return sorted(found, key=lambda path: path.relative_to(table).as_posix())


def check_hash(table: Path, sha256: str) -> Verdict:
    """Judge whether the table is the one that was published; for parts, the listing of `sha256sum` is hashed."""
    if table.is_dir():
        lines = (f"{digest_of(part)}  ./{part.relative_to(table).as_posix()}\n" for part in parts_of(table))
        found = hashlib.sha256("".join(lines).encode()).hexdigest()
    else:
        found = digest_of(table)
    return Verdict("sha256", Status.HOLDS if found == sha256 else Status.FAILS, {"sha256": sha256}, {"sha256": found})


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


MOST_BYTES = 1 << 29
"""Size of the largest manifest that is read."""
MOST_LEVELS = 200
"""Deepest nesting of objects and lists."""
_MOST_DIGITS = 4_000


def read_json(path: Path) -> dict[str, Any]:
    """Read a manifest, or raise BadInput; what a killed run left halfway is finished or undone first."""
    settle(path.parent)
    where = f"{path.parent.name}/{path.name}"
    if not is_there(path):
        raise BadInput(f"{where}: there is no manifest; is this the folder of a release?")
    try:
        with path.open("rb") as file:
            document = parse_json(file.read(MOST_BYTES + 1))
    except OSError as wrong:
        raise BadInput(f"{where}: the manifest cannot be read ({reason_of(wrong)})") from None
    except ValueError as wrong:
        raise BadInput(f"{where}: the manifest cannot be read: {wrong}") from None
    if not isinstance(document, dict) or "shoal" not in document:
        raise BadInput(f"{where}: this is not a manifest of Shoal")
    return document


def parse_json(content: bytes) -> Any:
    """Parse unambiguous JSON: no repeated keys, no numbers beyond the range of floats, no excessive nesting.

    Only the policy may contain larger numbers, since its hierarchies may.

    >>> parse_json(b'{"k": 3, "k": 4}')
    Traceback (most recent call last):
    ValueError: an object has a key twice
    """
    if len(content) > MOST_BYTES:
        raise ValueError("it is too long")
    try:
        document = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
            parse_int=_parse_whole_number,
        )
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError("it is not JSON") from None
    except RecursionError:
        raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep") from None
    _refuse_endless(document)
    return document


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _parse_whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


def _refuse_endless(document: Any) -> None:
    """Refuse excessive nesting, numbers beyond the range of floats, and texts with lone surrogates."""
    todo: list[tuple[Any, int, bool]] = [(document, 0, False)]
    while todo:
        value, depth, long = todo.pop()
        if depth > MOST_LEVELS:
            raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep")
        if isinstance(value, dict):
            todo += [(key, depth, long) for key in value]
            todo += [(part, depth + 1, long or (key == "policy" and not depth)) for key, part in value.items()]
        elif isinstance(value, list):
            todo += [(part, depth + 1, long) for part in value]
        elif isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise ValueError("a text has half a character")
        elif isinstance(value, int | float) and not long and not abs(value) <= sys.float_info.max:
            raise ValueError("a number is too large")


_NULL = "__HIVE_DEFAULT_PARTITION__"
_ODD = "the released table has other files or folders than its manifest says"


@dataclass(frozen=True)
class PartitionFiles:
    """The files of a released table, and the partition values that their folders tell."""

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
        rows = [_values_in_path(file.relative_to(table), kinds) for file in files]
        try:
            told = pa.table(
                {name: _partition_values(kind, [row[name] for row in rows]) for name, kind in kinds.items()}
            )
        except pa.ArrowException:
            raise NotVerified(_ODD) from None
        schema = _schema(files[0])
        if set(schema.names) & set(kinds) or any(_schema(file) != schema for file in files):
            raise NotVerified(_ODD)
        return cls(files, told, pa.schema([*schema, *told.schema]))

    def read(self) -> pa.Table:
        """Return all rows, file by file."""
        from pyarrow import parquet

        tables = []
        for at, file in enumerate(self.files):
            rows = parquet.ParquetFile(file).read()
            for name, column in zip(self.told.column_names, self.told.columns, strict=True):
                rows = rows.append_column(name, pa.repeat(column[at], rows.num_rows))
            tables.append(rows)
        return pa.concat_tables(tables)

    def query(self, db: "duckdb.DuckDBPyConnection", columns: Sequence[str]) -> str:
        """Return SQL for all rows, in any order, with the columns c0, c1, …"""
        files = ", ".join(f"'{escape_glob(file)}'" for file in self.files)
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


def _partition_values(kind: str, told: Sequence[str | None]) -> pa.Array:
    """Return partition values as texts, or as whole numbers, which may need all 64 bits."""
    texts = pa.array(told, pa.string())
    if kind == "text":
        return texts
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return texts.cast(pa.uint64())


def escape_glob(file: Path) -> str:
    """Return a path, escaped for a quoted SQL string, that DuckDB takes for one file and not for a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(file.absolute())).replace("'", "''")


def _schema(file: Path) -> pa.Schema:
    from pyarrow import parquet

    try:
        return parquet.read_schema(file).remove_metadata()
    except (pa.ArrowException, OSError, ValueError):
        raise NotVerified("the released table is not a Parquet file, or it is damaged") from None


def _values_in_path(path: Path, kinds: Mapping[str, str]) -> dict[str, str | None]:
    """Return the partition values in the folders above a file; each partition must occur once, in order."""
    pairs = [part.partition("=") for part in path.parent.parts]
    if [unquote(name) for name, _, _ in pairs] != list(kinds):
        raise NotVerified(_ODD)
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}
