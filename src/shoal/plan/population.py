"""A table that knows the population."""

from collections.abc import Sequence
from dataclasses import replace

from shoal.codes import Table, alone, united
from shoal.engine import Source
from shoal.errors import BadData, BadHierarchy
from shoal.hierarchy import Builder, Hierarchy, build


def meet(source: Source, everybody: Source, quasi: Sequence[str]) -> Source:
    """A table that knows the population: their quasi-identifiers in one encoding."""
    missing = [name for name in quasi if name not in everybody.table.columns]
    if missing:
        named = ", ".join(map(repr, missing))
        raise BadData(f"{everybody.name}: the population has no column {named}; it needs every quasi-identifier")
    both = {name: united(source.table[name], everybody.table[name]) for name in quasi if name in source.table.columns}
    table = {name: both[name][0] if name in both else column for name, column in source.table.columns.items()}
    people = {name: column for name, (_, column) in both.items()}
    return replace(source, table=Table(table, source.table.rows), population=Table(people, everybody.table.rows))


def hierarchy_of(source: Source, name: str, builder: Builder) -> Hierarchy:
    """The hierarchy of a quasi-identifier; an error counts the rows of the table that it is about."""
    try:
        return build(source.table[name], builder)
    except BadHierarchy:
        if source.population is not None:
            build(alone(source.table[name]), builder)
            try:
                build(alone(source.population[name]), builder)
            except BadHierarchy as wrong:
                raise BadHierarchy(f"the population: {wrong}", wrong.values) from None
        raise
