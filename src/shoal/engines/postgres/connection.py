"""A table of PostgreSQL and the connection to it: errors never quote the driver, and never show the address."""

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from shoal.engines.reading.content import printable_name
from shoal.errors import REPLACE_IT, BadData, BadInput, ShoalError, ShoalWarning

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor

Answer = TypeVar("Answer")
PREFIX = "postgres:"
_PART = r'(?:"((?:[^"]|"")+)"|([^".@]+))'
_NAMES = re.compile(rf"(?:{_PART}\.)?{_PART}")
_LONGEST = 63
"""Maximum length of a name in bytes; the server would silently truncate a longer one."""
_LOOKS_LIKE_CONNECTION = re.compile(r"\s*//|[a-z]+\s*=|.*://", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Postgres:
    """A table or view `schema.table` of PostgreSQL (case as written, odd names in "quotes"), or `@file` with a query.

    How to connect stands in the environment variable SHOAL_POSTGRES or in `connection_file`, and nowhere else.

    >>> Postgres("people").names, Postgres('"my.schema"."My people"').names
    (('public', 'people'), ('my.schema', 'My people'))
    """

    table: str
    connection_file: str | os.PathLike[str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if _LOOKS_LIKE_CONNECTION.match(self.table):  # never echoed: it may hold a password
            raise BadInput(
                "postgres: name a table, postgres:schema.table; a connection string belongs into the environment "
                "variable SHOAL_POSTGRES or into a file of its own (a connection file)"
            )
        if self.query_file is None and not all(self.names):
            raise BadInput("postgres: name a table, postgres:schema.table")

    def __str__(self) -> str:
        return f"{PREFIX}{self.table}"

    @property
    def name(self) -> str:
        """Name in error messages."""
        return printable_name(
            f"{PREFIX}{self.table}" if self.query_file is None else f"{PREFIX}@{self.query_file.name}"
        )

    @property
    def query_file(self) -> Path | None:
        return Path(self.table[1:]) if self.table.startswith("@") else None

    @cached_property
    def names(self) -> tuple[str, str]:
        """The schema and the table."""
        found = _NAMES.fullmatch(self.table)
        if found is None:
            raise BadInput(
                f"{printable_name(PREFIX + self.table)}: this is no name of a table; write "
                f"postgres:schema.table, names that "
                'hold a dot, a quote or an @ in double quotes, "" for a quote'
            )
        schema, table = (
            quoted.replace('""', '"') if quoted else plain for quoted, plain in (found.group(1, 2), found.group(3, 4))
        )
        names = schema or "public", table
        for name in names:
            refuse_name(self.name, name)
        return names

    @property
    def sql(self) -> str:
        """The quoted name of the table in SQL."""
        return ".".join(quote_identifier(name) for name in self.names)


def parse_postgres_table(source: Any, connection_file: str | os.PathLike[str] | None = None) -> Postgres | None:
    """Return the table that a text like `postgres:public.people` names; None for everything else.

    >>> parse_postgres_table("postgres:people"), parse_postgres_table("people.csv")
    (Postgres(table='people'), None)
    """
    if isinstance(source, Postgres):
        return source
    if isinstance(source, str) and source.startswith("postgresql:"):
        source = PREFIX + source.removeprefix("postgresql:")
    if not isinstance(source, str) or not source.startswith(PREFIX):
        return None
    return Postgres(source.removeprefix(PREFIX), connection_file)


def quote_identifier(name: str) -> str:
    """Quote a name as an SQL identifier.

    >>> print(quote_identifier('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Quote a text as an SQL literal; every connection sets standard_conforming_strings, so backslashes are plain."""
    return "'" + text.replace("'", "''") + "'"


def refuse_name(of: str, name: str) -> None:
    """Refuse a name that PostgreSQL cannot store as it is."""
    if "\0" in name or len(name.encode(errors="replace")) > _LONGEST:
        raise BadInput(f"{of}: PostgreSQL knows no name that is longer than {_LONGEST} bytes or holds a NUL: rename it")


VARIABLE = "SHOAL_POSTGRES"
_OTHERS_MAY = 0o077
_SAID: Mapping[str, str] = {
    "25006": "the query would change the database; it may only read",
    "2BP01": "views or keys depend on the table: drop them first, or choose another table",
    "3F000": "there is no such schema; make it first",
    "42501": "no permission; ask for it, or connect as another role",
    "42601": "the query is not understood",
    "42703": "the query names a column that is not there",
    "42P01": "there is no such table",
    "42P07": f"there is such a table already; {REPLACE_IT}",
    "53100": "the disk of the database is full",
    "55P03": "somebody else holds the table; try again later",
    "57014": "the statement was cancelled",
    "57P01": "the connection was ended by the server",
}
"""Messages for SQL states; those of the server may contain cells, and those of the driver the connection string."""


@contextmanager
def open_connection(source: Postgres) -> Iterator["Connection"]:
    """Open a connection with one transaction, which is rolled back at the end of the block unless committed."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise BadInput(f"{source.name}: install what PostgreSQL needs: pip install 'shoal[postgres]'") from None
    where = _connection_string(source)
    try:
        connection = dbapi.connect(where)
    except (dbapi.Error, OSError, ValueError):
        raise BadInput(
            f"{source.name}: the database cannot be reached or refuses the connection; check the connection string "
            f"in {_connection_origin(source)}"
        ) from None
    try:
        with explain_database_error(source.name):
            # notices would be printed as they are, and may contain cells
            run(connection, "SET client_min_messages = 'error'", "SET standard_conforming_strings = on")
        yield connection
    finally:
        connection.close()


def run(connection: "Connection", *statements: str) -> list[tuple[Any, ...]]:
    """Run statements, and return the rows of the last one."""
    rows: list[tuple[Any, ...]] = []
    for statement in statements:
        with connection.cursor() as cursor:
            call_driver(cursor, partial(cursor.execute, statement))
            rows = call_driver(cursor, cursor.fetchall) if cursor.description else []
    return rows


def call_driver(cursor: "Cursor", call: Callable[[], Answer]) -> Answer:
    """Make a call of the driver that waits for the server; Ctrl-C cancels the statement and is raised as ever.

    In the main thread the driver handles SIGINT by itself: it may forget it, and it may crash where it cancels a
    statement that has just ended. So the call is made in another thread, for which this one waits.
    """
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call)
        try:
            return answer.result()
        except BaseException:
            if not answer.done():
                cursor.adbc_cancel()
            raise


@contextmanager
def explain_database_error(
    name: str, kind: type[ShoalError] = BadData, what: str = "the database refused to answer"
) -> Iterator[None]:
    """Turn errors of the database into an error of ours, whose message quotes nothing."""
    from adbc_driver_manager import Error

    try:
        yield
    except (Error, pa.ArrowException, OSError) as wrong:
        state = getattr(wrong, "sqlstate", None)
        said = _SAID.get(state or "", what if state is None else f"{what} (SQLSTATE {_printable_state(state)})")
        raise kind(f"{name}: {said}") from None


def _printable_state(state: str) -> str:
    """Return an SQL state if it is well-formed, so that a message never shows anything else."""
    return state if len(state) == 5 and state.isascii() and state.isalnum() else "unknown"


def _connection_origin(source: Postgres) -> str:
    """Return where the connection string comes from: the environment variable, or the name of the file."""
    return (
        VARIABLE if source.connection_file is None else printable_name(Path(os.fsdecode(source.connection_file)).name)
    )


def _connection_string(source: Postgres) -> str:
    """Read the connection string from the connection file, or else from the environment."""
    if source.connection_file is None:
        if not os.environ.get(VARIABLE, "").strip():
            raise BadInput(
                f"{source.name}: say how to connect, in the environment variable {VARIABLE} or in a file, by "
                "--connection-file (in Python shoal.Postgres(…, connection_file=…))"
            )
        return os.environ[VARIABLE].strip()
    path = Path(os.fsdecode(source.connection_file))
    try:
        text, mode = path.read_text("utf-8").strip(), path.stat().st_mode
    except (OSError, ValueError):
        raise BadInput(f"{_connection_origin(source)}: the file with the connection string cannot be read") from None
    if not text:
        raise BadInput(f"{_connection_origin(source)}: there is no connection string in the file")
    if mode & _OTHERS_MAY:
        warnings.warn(
            f"{_connection_origin(source)}: others may read the file with the connection string; chmod 600 it",
            ShoalWarning,
            stacklevel=2,
        )
    return text
