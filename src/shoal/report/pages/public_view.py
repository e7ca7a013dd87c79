"""What everybody can tell from the published files: the public page is made of this and nothing else (design 11)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from shoal.attacks.attack import Channel
from shoal.attacks.audit import Audit, absent_channels, quick_audit
from shoal.attacks.release_under_attack import LabelColumn, Published, labels_of
from shoal.data.class_counts import ClassCounts, Longs, ValueCounts, sum_counts
from shoal.data.codes import Codes, Table, encode
from shoal.data.packed_keys import join_columns
from shoal.engine_port import ReleasedRows
from shoal.errors import BadInput
from shoal.hierarchy.taxonomy import TOP, Hierarchy, say_tops
from shoal.publish.manifest import PublicManifest
from shoal.publish.release_views import ColumnRoles, column_as_read, published_from_columns, texts_in_use
from shoal.recoding.columns import ReleasedColumn
from shoal.report.plots.tree_plot import relate_labels
from shoal.runtime.events import phase


@dataclass(frozen=True)
class LabelTally:
    """The labels that occur in a released column, and the rows of each."""

    labels: tuple[str | None, ...]
    rows: Longs | None
    """Rows of each label; None where the rows do not fit in memory."""

    top: str = TOP
    """The label that covers every value, beside `*`."""

    @property
    def starred(self) -> int:
        """Rows that show `*` or the label of the top."""
        if self.rows is None:
            return 0
        return sum(int(rows) for label, rows in zip(self.labels, self.rows, strict=True) if label in (TOP, self.top))

    @property
    def mute(self) -> bool:
        """Whether no row shows more than `*` or the label of the top."""
        return bool(self.labels) and {*self.labels} <= {TOP, self.top}


@dataclass(frozen=True)
class PublicView:
    """A release as its readers have it."""

    tallies: Mapping[str, LabelTally]
    """Tally of each column, those of Anatomy's other table included."""
    sizes: Longs | None
    """Rows of each class."""
    audit: Audit
    missing: str = ""
    """Why no attack was run."""
    above: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """Of each column with a hierarchy, the lowest of the labels shown that lies above each of them, if any does."""

    def starred(self, names: Iterable[str]) -> dict[str, str]:
        """Return the columns that show `*` or the label of the top in every row, and what they show."""
        mute = {name: self.tallies[name] for name in names if name in self.tallies and self.tallies[name].mute}
        return {name: say_tops(tally.labels) for name, tally in mute.items()}


@phase("auditing")
def inspect_public_release(
    manifest: PublicManifest,
    shown: ReleasedRows,
    separate: Mapping[str, ReleasedColumn] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> PublicView:
    """Count what is shown, and run the attacks that take next to no time.

    Of the hierarchies, only what they say of the labels that are shown is told: which lies above which, and what the
    top is called.
    """
    tallies = {name: _tally(column, shown) for name, column in shown.columns.items()}
    known = {name: each for name, each in (hierarchies or {}).items() if name in tallies}
    tallies |= {name: replace(tallies[name], top=each.top) for name, each in known.items()}
    above = {name: relate_labels(each, tallies[name].labels) for name, each in known.items()}
    if separate is not None:
        tallies |= _tally_separate_values(manifest, separate)
    try:
        published, weighted = _attackers_view_of(manifest, shown, separate)
    except BadInput as why:
        missing = str(why).partition(": ")[2] or str(why)
        return PublicView(tallies, None, _empty_audit(manifest, str(why)), missing, above)
    return PublicView(tallies, published.counts.sizes, quick_audit(published, weighted=weighted), above=above)


def _tally(column: ReleasedColumn, shown: ReleasedRows) -> LabelTally:
    if shown.stream is not None:
        in_use = texts_in_use(column, np.unique(column.codes))
        return LabelTally(tuple(in_use.to_pylist()), None)
    rows = sum_counts(column.codes, shown.times, len(column.texts))
    return _tally_rows(column, rows)


def _tally_rows(column: ReleasedColumn, rows: Longs) -> LabelTally:
    """Tally the labels that occur, in their own order, on which values that were left out have no effect."""
    # codes of the labels that occur, then their sorted order
    used = np.flatnonzero(rows)
    texts = texts_in_use(column, used)
    order = np.argsort(encode("", texts).codes, kind="stable")
    return LabelTally(tuple(texts.take(pa.array(order)).to_pylist()), rows[used[order]])


def _tally_separate_values(manifest: PublicManifest, separate: Mapping[str, ReleasedColumn]) -> dict[str, LabelTally]:
    """Count each sensitive value in Anatomy's other table."""
    _, values, counts = separate.values()
    # [row]: how often the value of each row of the other table occurs in its group
    often = counts.values.to_numpy()[counts.codes]
    rows = sum_counts(values.codes, often, len(values.texts))
    return {manifest.sensitive[0]: _tally_rows(values, rows)}


def _attackers_view_of(
    manifest: PublicManifest, shown: ReleasedRows, separate: Mapping[str, ReleasedColumn] | None
) -> tuple[Published, bool]:
    """Return the release as an attacker has it, without hierarchies; and whether its rows are distinct and weighted."""
    if shown.stream is not None:
        raise BadInput("the release: its rows do not fit in memory")
    roles = ColumnRoles(manifest.quasi_identifiers, manifest.sensitive, manifest.statistics or {})
    if shown.times is not None:
        return _weighted_view_of(shown.columns, shown.times, roles), True
    return published_from_columns("the release", shown.columns, roles, {}, separate), False


def _weighted_view_of(columns: Mapping[str, ReleasedColumn], times: Longs, roles: ColumnRoles) -> Published:
    """Return the view of distinct rows that each stand for several; sizes and counts are those of all rows."""
    if not len(times):
        raise BadInput("the release: there are no records")
    table = Table({name: column_as_read(name, column) for name, column in columns.items()}, len(times))
    quasi = [table[name] for name in roles.quasi_identifiers]
    # [row]: class of each distinct row; sizes weigh each by the rows it stands for
    of_row, count, _ = join_columns([(column.codes, column.size) for column in quasi])
    sizes = sum_counts(of_row, times, count)
    values = {name: _values(table, name, of_row, times, count) for name in roles.sensitive}
    faces = {column.name: LabelColumn(column.codes, labels_of(table, column.name)) for column in quasi}
    return Published("the release", table, faces, tuple(roles.sensitive), of_row, ClassCounts(sizes, values))


def _values(table: Table, name: str, of_row: Codes, times: Longs, count: int) -> ValueCounts:
    column = table[name]
    # distinct (class, value) pairs, and the pair of each row
    pairs, at = np.unique(of_row.astype(np.int64) * column.size + column.codes, return_inverse=True)
    rows = sum_counts(at, times)
    return ValueCounts(pairs // column.size, pairs % column.size, rows, labels_of(table, name), count)


def _empty_audit(manifest: PublicManifest, why: str) -> Audit:
    return Audit((), {}, dict.fromkeys(Channel, why.partition(": ")[2] or why) | absent_channels(manifest.sensitive))
