"""The classes of a release, and of a table as it is, counted for plots."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.codes import Column, encode
from shoal.counts import ValueCounts
from shoal.errors import BadInput
from shoal.frequency import FrequencySet, Reading
from shoal.models.spec import nearest
from shoal.report.queried import original_of, shown_in_memory
from shoal.workload import Original
from shoal.workload.shown import Attribute

if TYPE_CHECKING:
    from shoal.api import Release
    from shoal.recode import Released


def known_column(name: str, columns: Mapping[str, object], what: str) -> str:
    """A name, or a word about what else it may have been."""
    if name not in columns:
        raise BadInput(f"{what} has no column {name!r}{nearest(name, columns)}")
    return name


def faces_of(release: "Release", *names: str) -> tuple[Original, Mapping[str, Attribute]]:
    """The original, and what the release shows of some of its columns, row by row."""
    others = [name for name in release.columns if name not in release.made]
    released = dict.fromkeys([*release.plan.released_as, *others])
    for name in names:
        known_column(name, released, "the release")
    original = original_of(release.source.table, release.source.name, release.policy, release.plan.builders)
    return original, shown_in_memory(release.row_by_row, release.plan, names, original).attributes


def classes_of(release: "Release", beside: Sequence[str] = ()) -> FrequencySet:
    """Rows that show the same of all quasi-identifiers, as released; and how often each value of others is in them."""
    columns = release.row_by_row
    coded = {name: (column.codes, max(len(column.texts), 1)) for name, column in columns.items()}
    for name in beside:
        known_column(name, columns, "the release")
    others: dict[str | tuple[str, ...], Any] = {name: coded[name] for name in beside}
    return FrequencySet.count({name: coded[name] for name in columns if name in release.made}, others)


def values_of(classes: FrequencySet, name: str, column: "Released") -> ValueCounts:
    """How often each value of a released column occurs in each class."""
    return Reading({name: column.texts.to_pylist()}).values(name, classes.long[name], len(classes))


def classes_of_table(table: Any, quasi_identifiers: Sequence[str], sensitive: str) -> ValueCounts:
    """The same of a frame as it is."""
    read = pa.table(table)
    known = dict.fromkeys(read.column_names)
    columns = {
        name: encode(name, read[known_column(name, known, "the table")]) for name in (*quasi_identifiers, sensitive)
    }
    coded = {name: (column.codes, max(column.size, 1)) for name, column in columns.items()}
    secret = coded.pop(sensitive)
    classes = FrequencySet.count(coded, {sensitive: secret})
    return Reading({sensitive: _texts(columns[sensitive])}).values(sensitive, classes.long[sensitive], len(classes))


def _texts(column: Column) -> list[str | None]:
    return [*column.texts.to_pylist(), None][: column.size]
