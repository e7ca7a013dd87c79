"""How DuckDB reads what a path names: the same cells as the Arrow reader, with columns named c0, c1, …"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.data.codes import Relation
from shoal.engine_port import ReadOptions, Source
from shoal.engines.duckdb.groups import SOURCE
from shoal.engines.duckdb.session import Session, describe_damage, explain_read_error
from shoal.engines.reading.assemble import assemble, check_names, check_type, null_marker
from shoal.engines.reading.binary import (
    int96_columns,
    partition_columns,
    refuse_duplicate_columns,
    refuse_unsafe_timestamps,
)
from shoal.engines.reading.content import (
    DATABASES,
    PATTERN,
    Content,
    files_of,
    is_many,
    iter_unpacked,
    local_path,
    open_content,
    packing_of,
    printable_name,
    unpacked_suffix,
)
from shoal.engines.reading.csv_reader import Header, copy_records, diagnose, has_paired_quotes, read_header
from shoal.engines.reading.sniff import UTF8, codec_of, format_of, iter_as_utf8
from shoal.errors import BadData, ShoalError

_READ = {"csv", "parquet"}


@dataclass(frozen=True)
class TableLocation:
    """Files of one format, or a table of a database."""

    name: str
    """Name in error messages."""
    format: str
    """csv, parquet or database."""
    files: tuple[Path, ...]
    table: str = ""
    """Name of the table in a database; empty if it has only one."""
    told: Mapping[str, pa.Array] = field(default_factory=dict)
    """Columns given by the names of folders (`year=2024/`), one value per file."""


def locate_table(source: Any, engine: str = "duckdb") -> TableLocation:
    """Find the files or the database that a path names; raise BadData if this engine cannot read it."""
    if not isinstance(source, str | os.PathLike):
        raise BadData(f"the {engine} engine reads files and databases, not this kind of frame; leave out the engine")
    text = os.fsdecode(source)
    if text == "-":
        raise BadData(
            f"-: the {engine} engine reads a table several times, so it cannot read standard input; name a file"
        )
    database = database_of(text)
    if database is not None and engine != "duckdb":
        raise BadData(f"{database.name}: only the duckdb engine reads DuckDB databases")
    if database is not None:
        return database
    path = local_path(text)
    if path is None:
        raise BadData(
            f"{printable_name(Path(text).name)}: the {engine} engine reads files of this machine; use the arrow engine"
        )
    name = printable_name(path.name or text)
    root, found = None, [path]
    if is_many(path):
        root, found = files_of(path, name)
    else:
        open_content(path)
    kind = _kind_of(name, found, engine)
    below = [file.relative_to(root) if root else file for file in found] if is_many(path) else []
    told = partition_columns(name, below) if below else {}
    if told and kind != "parquet":
        raise BadData(f"{name}: folders that name a column (key=value) are read of Parquet files only; rename them")
    return TableLocation(name, kind, tuple(found), told=told)


def _kind_of(name: str, files: Sequence[Path], engine: str) -> str:
    """Return the common format of the files, csv or parquet; refuse other and mixed formats."""
    contents = [open_content(file) for file in files]
    packed = [content.name for content in contents if packing_of(content)]
    if packed and engine != "duckdb":
        raise BadData(f"{packed[0]}: the {engine} engine reads no packed files; unpack it, or use the arrow engine")
    kinds = {format_of(_beginning_of(content)) for content in contents}
    if len(kinds) > 1:
        raise BadData(f"{name}: its files are of different formats ({', '.join(sorted(kinds))}); name those of one")
    (kind,) = kinds
    if kind not in _READ:
        raise BadData(f"{name}: the {engine} engine reads CSV and Parquet files, not {kind}")
    return kind


def _beginning_of(content: Content) -> Content:
    """Return the beginning of the unpacked content of a packed file; other content as it is."""
    if packing_of(content) is None:
        return content
    return Content(content.name, unpacked_suffix(content), next(iter_unpacked(content), b""))


def database_of(text: str) -> TableLocation | None:
    """Return the table that `people.duckdb::table` names; None if it is no database. A lone table needs no name."""
    file, _, table = text.partition("::")
    path = Path(file)
    if path.suffix.lower() not in DATABASES or path.is_dir():
        return None
    if not path.is_file():
        raise BadData(f"{printable_name(path.name)}: there is no such database")
    return TableLocation(printable_name(path.name), "database", (path,), table)


def quote_text(text: str) -> str:
    """Quote a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def sql_list_of(files: tuple[Path, ...]) -> str:
    """Return an SQL list of files, in which characters of patterns are escaped."""
    paths = ("".join(f"[{c}]" if c in PATTERN else c for c in str(file.absolute())) for file in files)
    return f"[{', '.join(quote_text(path) for path in paths)}]"


_LONGEST_LINE = 128 << 20
_STEP = 8 << 20
_LONGEST_BLANK = 1 << 10
_UNSURE = (
    pa.types.is_duration,
    pa.types.is_time,
    pa.types.is_decimal256,
    pa.types.is_float16,
    lambda of: pa.types.is_timestamp(of) and of.tz is not None,
)
"""Types that DuckDB and Arrow do not represent in the same way."""


@dataclass(frozen=True)
class FoundRelation:
    """A relation, with the types of its columns and the headers of its files."""

    relation: Relation
    types: "Mapping[str, pa.DataType]"
    """The Arrow type of each column."""
    headers: tuple[Header, ...] = ()
    """Header of each CSV file; empty for other formats."""
    delimiters: int | None = None
    """Number of delimiters in a CSV after its header, between cells and inside of them; None if the CSV was copied."""

    @property
    def header(self) -> Header | None:
        return self.headers[0] if self.headers else None


def find_relation(
    place: TableLocation, options: ReadOptions, session: Session, *, copies: bool = False
) -> FoundRelation:
    """Return the relation for the rows of a place, without reading them.

    With `copies`, texts that DuckDB would parse differently from Arrow, or not at all, are copied into the session's
    folder; otherwise they are refused.
    """
    if place.format == "database":
        return _find_database(place, options, session)
    found = _find_csv(place, options, session, copies=copies) if place.format == "csv" else _find_parquet(place)
    session.allow(found.relation.files)
    return found


def _name_columns(titles: Sequence[str]) -> dict[str, str]:
    """Name columns c0, c1, … by their position, because DuckDB does not distinguish `ssn` from `SSN`."""
    return {title: f"c{i}" for i, title in enumerate(titles)}


def _find_csv(place: TableLocation, options: ReadOptions, session: Session, *, copies: bool) -> FoundRelation:
    texts = [_as_utf8(file, options, session if copies else None) for file in place.files]
    headers = tuple(_header_of(content, codec, options) for _, content, codec in texts)
    first, delimiters, odd = headers[0], 0, None
    for (file, _, _), header in zip(texts, headers, strict=True):
        if header.names != first.names or header.dialect != first.dialect:
            raise BadData(f"{header.name}: its header or delimiter differs from that of {first.name}")
        if header.line_end != first.line_end:
            odd = f"{header.name}: its line ends differ from those of {first.name}"
        found = _count_delimiters(header, file)
        if found is None:
            odd = f"{header.name}: some cell has a blank before a quote; remove it, or use the arrow engine"
        delimiters += found or 0
    if len(first.names) == 1 or first.first_line != 1:
        odd = f"{first.name}: only the arrow engine reads one column, or lines before the header; use it"
    if odd is not None and not copies:
        raise BadData(odd)
    if odd is not None:
        return copy_as_parquet(headers, session)
    names = _name_columns(first.names)
    types = "{" + ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names.values()) + "}"
    quote = quote_text(first.dialect.quote)
    files = sql_list_of(tuple(file for file, _, _ in texts))
    sql = (
        f"SELECT * FROM read_csv({files}, auto_detect=false, header=true, columns={types}, "
        f"delim={quote_text(first.dialect.delimiter)}, quote={quote}, escape={quote}, comment='', "
        f"new_line={_LINE_ENDS[first.line_end]}, max_line_size={_LONGEST_LINE}, "
        f"force_not_null=[{', '.join(quote_text(name) for name in names.values())}])"
    )
    relation = Relation(sql, names, files=tuple(file for file, _, _ in texts))
    return FoundRelation(relation, dict.fromkeys(names, pa.string()), headers, delimiters)


def copy_as_parquet(headers: tuple[Header, ...], session: Session) -> FoundRelation:
    """Parse a CSV by Arrow into a Parquet file in the session's folder, and return the relation of that file."""
    file = session.scratch.path / "cells.parquet"
    copy_records(headers, file)
    names = _name_columns(headers[0].names)
    sql = f"SELECT * FROM read_parquet({sql_list_of((file,))}) AS r({', '.join(names.values())})"
    return FoundRelation(Relation(sql, names, files=(file,)), dict.fromkeys(names, pa.string()), headers)


def _as_utf8(file: Path, options: ReadOptions, session: Session | None) -> tuple[Path, Content, str]:
    """Return a file, its content and its encoding; a packed file, or one in another encoding, is copied as UTF-8."""
    content = open_content(file)
    if session is not None and packing_of(content) is not None:
        file, content = _copy_text(content, iter_unpacked(content), unpacked_suffix(content), session)
    codec = codec_of(content, options)
    if codec in UTF8:
        return file, content, codec
    if session is None:
        raise BadData(f"{content.name}: this engine reads UTF-8 only; save the file as UTF-8, or use the arrow engine")
    return (*_copy_text(content, iter_as_utf8(content, codec), content.suffix, session), codec)


def _copy_text(content: Content, steps: Iterator[bytes], suffix: str, session: Session) -> tuple[Path, Content]:
    """Copy a text into the session's folder; its content keeps the name of the original, for error messages."""
    file = session.scratch.path / f"text{next(_NUMBER)}.csv"
    with file.open("xb") as stream:
        stream.writelines(steps)
    return file, replace(open_content(file), name=content.name, suffix=suffix)


_NUMBER = count()


def _header_of(content: Content, codec: str, options: ReadOptions) -> Header:
    """Read the header of a text that was converted to UTF-8; the header has the original encoding."""
    header = read_header(content, options if codec in UTF8 else replace(options, encoding="utf-8"))
    found = {} if options.encoding is not None else {"encoding": codec}
    return replace(header, encoding=codec, guessed={**header.guessed, **found})


_LINE_ENDS = {"\n": r"'\n'", "\r\n": r"'\r\n'", "\r": r"'\r'"}


def _count_delimiters(header: Header, file: Path) -> int | None:
    """Count the delimiters after the header; None if DuckDB would see a quoted cell where Arrow does not."""
    text, dialect = header.text
    delimiter, found = dialect.delimiter.encode(), 0

    def counted() -> Iterator[bytes]:
        nonlocal found
        for step in _steps(header, file):
            found += step.count(delimiter)
            yield step

    if not has_paired_quotes(counted(), dialect):
        diagnose(text, dialect)
        blank, before = re.compile(rb"[\r\n%b] +%b" % (re.escape(delimiter), re.escape(dialect.quote.encode()))), b""
        for step in _steps(header, file):
            if blank.search(before + step):
                return None
            before = step[-_LONGEST_BLANK:]
    return found - bytes(text.data[: header.body]).count(delimiter)


def _steps(header: Header, file: Path) -> Iterator[bytes]:
    """Yield a file in chunks, so that it is never in memory as a whole; refuse one with a NUL byte."""
    with file.open("rb") as stream:
        while step := stream.read(_STEP):
            if b"\0" in step:
                raise BadData(f"{header.name}: the file holds a NUL byte, so this is no plain text")
            yield step


def refuse_surplus_fields(name: str, found: FoundRelation, rows: int, session: Session) -> None:
    """Refuse rows with more cells than the header: DuckDB ignores surplus cells that are empty."""
    if found.header is None or found.delimiters is None:
        return
    dialect = found.header.dialect
    surplus = found.delimiters - rows * (len(found.types) - 1)
    if surplus and dialect.quote:  # subtract the delimiters inside of quoted cells
        mark = quote_text(dialect.delimiter)
        for cell in found.relation.columns.values():
            within = f"strlen({cell}) - strlen(replace({cell}, {mark}, ''))"
            surplus -= session.number(f"SELECT coalesce(sum({within}), 0) FROM {SOURCE} WHERE contains({cell}, {mark})")
    if surplus:
        diagnose_files(found.headers)
        raise BadData(f"{name}: some rows have more fields than the header")


def diagnose_files(headers: Sequence[Header]) -> None:
    """Raise BadData for the first error in the files of a CSV that DuckDB could not read; return if none is found."""
    for header in headers:
        diagnose(*header.text)


def _find_parquet(place: TableLocation) -> FoundRelation:
    schemas = []
    for file in place.files:
        try:
            schemas.append(_parquet_schema(file))
        except ShoalError:
            raise
        except (pa.ArrowException, OSError, ValueError):
            raise BadData(f"{file.name}: this is not a Parquet file, or it is damaged or cut short") from None
        if not schemas[0].equals(schemas[-1]):
            raise BadData(f"{file.name}: its columns or their types differ from those of {place.files[0].name}")
    schema = schemas[0]
    check_names(place.name, schema.names)
    _check_types(place, schema)
    refuse_duplicate_columns(place.name, schema.names, place.told)
    names = _name_columns([*schema.names, *place.told])
    types = {column.name: _plain(column.type) for column in schema}
    inside = [names[title] for title in schema.names]
    if not place.told:
        sql = (
            f"SELECT * FROM read_parquet({sql_list_of(place.files)}, hive_partitioning=false) AS r({', '.join(inside)})"
        )
        return FoundRelation(Relation(sql, names, files=place.files), types)
    told = ", ".join(f"{_folder_cell_sql(i)} AS {names[title]}" for i, title in enumerate(place.told))
    beside = "f" * (1 + max(len(title) for title in schema.names))  # longer than any column name, so it is unused
    files = f"read_parquet({sql_list_of(place.files)}, hive_partitioning=false, filename='{beside}')"
    sql = (
        f"SELECT {', '.join(f'r.{cell}' for cell in inside)}, {told} FROM {files} AS r({', '.join(inside)}, file) "
        f"LEFT JOIN {_folder_table_sql(place)} ON r.file = p.file"
    )
    types |= {title: values.type for title, values in place.told.items()}
    return FoundRelation(Relation(sql, names, files=place.files), types)


def _parquet_schema(file: Path) -> pa.Schema:
    """Read the schema of a Parquet file; old timestamps of 96 bits become microseconds, as DuckDB reads them."""
    from pyarrow import parquet

    data = open_content(file).data
    schema = parquet.read_schema(pa.BufferReader(data)).remove_metadata()
    refuse_unsafe_timestamps(printable_name(file.name), data)
    for column in int96_columns(data):
        schema = schema.set(schema.get_field_index(column), pa.field(column, pa.timestamp("us")))
    return schema


def _folder_cell_sql(i: int) -> str:
    """Return SQL for the value that the folder of a row's file gives; an error, not null, if the file is not known."""
    return f"CASE WHEN p.file IS NULL THEN error('unknown file') ELSE p.v{i} END"


def _folder_table_sql(place: TableLocation) -> str:
    """Return SQL for a table with a row for each file: its path, and the values that its folders give."""
    sorts = {title: "BIGINT" if pa.types.is_integer(values.type) else "VARCHAR" for title, values in place.told.items()}
    rows = []
    for at, file in enumerate(place.files):
        cells = [(values[at].as_py(), sorts[title]) for title, values in place.told.items()]
        texts = (f"{'NULL' if cell is None else quote_text(str(cell))}::{sort}" for cell, sort in cells)
        rows.append(f"({quote_text(str(file.absolute()))}, {', '.join(texts)})")
    return f"(VALUES {', '.join(rows)}) AS p(file, {', '.join(f'v{i}' for i in range(len(sorts)))})"


def _check_types(place: TableLocation, schema: pa.Schema) -> None:
    """Refuse columns of types that this engine does not read."""
    for column in schema:
        check_type(place.name, column.name, column.type)
        if any(unsure(column.type) for unsure in _UNSURE):
            raise BadData(
                f"{place.name}: column {column.name!r} is of a type that only the arrow engine reads ({column.type}); "
                "use the arrow engine or turn it into text"
            )


def _plain(of: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary, and one type for all texts."""
    plain = of.value_type if pa.types.is_dictionary(of) else of
    return pa.string() if pa.types.is_large_string(plain) or pa.types.is_string_view(plain) else plain


def _find_database(place: TableLocation, options: ReadOptions, session: Session) -> FoundRelation:
    """Return the relation for a table or view of a database, which is opened read-only."""
    del options
    full, setup, schema = _open_table(place, session)
    _check_types(place, schema)
    names = _name_columns(schema.names)
    types = {column.name: _plain(column.type) for column in schema}
    sql = f"SELECT * FROM {full} AS r({', '.join(names.values())})"
    return FoundRelation(Relation(sql, names, (setup,), files=place.files), types)


def read_database(place: TableLocation, options: ReadOptions) -> Source:
    """Read a table or view of a database into memory."""
    with closing(Session(None, None)) as session:
        full, _, schema = _open_table(place, session)
        with explain_read_error(describe_damage(place.name)):
            session.db.execute("SET preserve_insertion_order = true")
            table = session.table(f"SELECT * FROM {full}")
    columns = dict(zip(schema.names, table.columns, strict=True))
    return Source(
        assemble(place.name, columns, options), format="database", name=place.name, missing=null_marker(options)
    )


def estimate_cells(place: TableLocation) -> int:
    """Estimate the number of cells of a table of a database; the rows of a view are counted."""
    with closing(Session(None, None)) as session:
        full, _, schema = _open_table(place, session)
        tables = session.db.execute(
            "SELECT schema_name, table_name, estimated_size FROM duckdb_tables() WHERE database_name = 'given'"
        ).fetchall()
        known = [int(rows) for of, name, rows in tables if _full_name(of, name) == full]
        with explain_read_error(describe_damage(place.name)):
            rows = known[0] if known else session.number(f"SELECT count(*) FROM {full}")
    return rows * len(schema.names)


def _full_name(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in ("given", *parts))


def _open_table(place: TableLocation, session: Session) -> tuple[str, str, pa.Schema]:
    """Open the table of a place: return its full name in SQL, the statement that opens its database, its schema."""
    import duckdb

    session.allow(place.files)
    setup = f"ATTACH IF NOT EXISTS {quote_text(str(place.files[0].absolute()))} AS given (READ_ONLY)"
    try:
        session.db.execute(setup).fetchall()
    except duckdb.Error:
        raise BadData(f"{place.name}: this is no DuckDB database, or another program is writing to it") from None
    listed_tables = session.db.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'given' "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'given' AND NOT internal"
    ).fetchall()
    wanted = [(of, name) for of, name in listed_tables if not place.table or place.table in {name, f"{of}.{name}"}]
    if len(wanted) != 1:
        known = ", ".join(sorted(repr(name) for _, name in listed_tables)) or "none"
        raise BadData(f"{place.name}: name one of its tables after two colons, file.duckdb::table (there are {known})")
    full = _full_name(*wanted[0])
    with explain_read_error(describe_damage(place.name)):  # a view may refer to a table that no longer exists
        try:
            schema = session.table(f"SELECT * FROM {full} LIMIT 0").schema
        except duckdb.PermissionException:
            raise BadData(
                f"{place.name}: this view reads files outside the database, which is not allowed; make a table of it"
            ) from None
    check_names(place.name, schema.names)
    return full, setup, schema
