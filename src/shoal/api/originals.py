"""The original, handed over to verification: values and rows, without what the encoder found out about them."""

from collections.abc import Mapping

from shoal.codes import Column, Table, Tallied, Uncollected
from shoal.hierarchy import Builder, Edges, Hierarchy, Intervals, TopBottom
from shoal.verify import Levels, OriginalColumn, OriginalRelation, OriginalTable

_OF_NUMBERS = (Edges, Intervals, TopBottom)


def original_table(table: Table) -> OriginalTable:
    """A table as verification reads it."""
    columns = {name: _column(column) for name, column in table.columns.items()}
    if table.relation is None:
        return OriginalTable(columns, table.rows)
    given = table.relation
    return OriginalTable(columns, table.rows, OriginalRelation(given.sql, given.columns, given.setup, given.counted))


def original_levels(hierarchies: Mapping[str, Hierarchy], builders: Mapping[str, Builder]) -> dict[str, Levels]:
    """The levels of hierarchies, and whether their labels are intervals of numbers."""
    return {
        name: Levels(hierarchy.levels, hierarchy.labels, isinstance(builders.get(name), _OF_NUMBERS))
        for name, hierarchy in hierarchies.items()
    }


def _column(column: Column) -> OriginalColumn:
    return OriginalColumn(
        column.values,
        column.texts,
        column.codes,
        column.has_null,
        column.decimal,
        column.raws if isinstance(column, Tallied) else None,
        column.missing if isinstance(column, Uncollected) else None,
    )
