"""Which table of PostgreSQL is meant; where the database is, is never part of the name."""

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.engines.reading.content import shown
from shoal.errors import BadInput

PREFIX = "postgres:"
_PART = r'(?:"((?:[^"]|"")+)"|([^".@]+))'
_NAMES = re.compile(rf"(?:{_PART}\.)?{_PART}")
_LONGEST = 63
"""Bytes of a name; the server would cut a longer one without an error."""
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
                "variable SHOAL_POSTGRES or into a file (--connection-file)"
            )
        if self.query_file is None and not all(self.names):
            raise BadInput("postgres: name a table, postgres:schema.table")

    @property
    def name(self) -> str:
        """What errors call it."""
        return shown(f"{PREFIX}{self.table}" if self.query_file is None else f"{PREFIX}@{self.query_file.name}")

    @property
    def query_file(self) -> Path | None:
        return Path(self.table[1:]) if self.table.startswith("@") else None

    @cached_property
    def names(self) -> tuple[str, str]:
        """The schema and the table."""
        found = _NAMES.fullmatch(self.table)
        if found is None:
            raise BadInput(
                f"{shown(PREFIX + self.table)}: this is no name of a table; write postgres:schema.table, names that "
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
        """The table as SQL names it."""
        return ".".join(identifier(name) for name in self.names)


def named(source: Any, connection_file: str | os.PathLike[str] | None = None) -> Postgres | None:
    """The table that a text like `postgres:public.people` names; None for all else.

    >>> named("postgres:people"), named("people.csv")
    (Postgres(table='people'), None)
    """
    if isinstance(source, Postgres):
        return source
    if isinstance(source, str) and source.startswith("postgresql:"):
        source = PREFIX + source.removeprefix("postgresql:")
    if not isinstance(source, str) or not source.startswith(PREFIX):
        return None
    return Postgres(source.removeprefix(PREFIX), connection_file)


def identifier(name: str) -> str:
    """A name as SQL quotes it.

    >>> print(identifier('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL quotes it, where backslashes mean nothing, as they do on every connection of ours."""
    return "'" + text.replace("'", "''") + "'"


def refuse_name(of: str, name: str) -> None:
    if "\0" in name or len(name.encode(errors="replace")) > _LONGEST:
        raise BadInput(f"{of}: PostgreSQL knows no name that is longer than {_LONGEST} bytes or holds a NUL: rename it")
