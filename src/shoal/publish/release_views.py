"""Releases as an attacker or a query sees them: in memory, in a published folder, or any table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.release_under_attack import LabelColumn, Published, classes_of, labels_of
from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.data.codes import Column, Table, encode
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadInput, NotVerified
from shoal.hierarchy.build import Builder
from shoal.hierarchy.taxonomy import TOP
from shoal.models.spec import suggest_column
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.publish.manifest import PublicManifest
from shoal.recoding.columns import ReleasedColumn
from shoal.roles import Role
from shoal.runtime.events import phase
from shoal.verify.claim import Claim
from shoal.verify.judge import judge, judge_labels, judge_rounding
from shoal.verify.open_release import OpenedRelease, opened
from shoal.verify.release_files import published_table
from shoal.verify.released_counts import GroupTable, count_released, read_separate
from shoal.workload.generalised_table import GeneralisedTable, QueriedOriginal, read_release, text_cells

_BOUNDS = (("lo", "hi"), ("min", "max"))


@dataclass(frozen=True)
class ColumnRoles:
    """Which released columns are quasi-identifiers, which are sensitive, and which statistics columns show."""

    quasi_identifiers: Sequence[str]
    sensitive: Sequence[str]
    statistics: Mapping[str, tuple[str, str]]
    taken: Sequence[str] = ()
    """Quasi-identifiers that are taken as sensitive instead."""
    unknown: Sequence[str] = ()
    """Columns declared sensitive in place of which others are taken; they are not known for that."""

    def with_sensitive(self, names: Sequence[str], release: str, *, in_groups: bool = False) -> "ColumnRoles":
        """Return the roles with other sensitive columns, which are quasi-identifiers no longer; as they are for none.

        Of a release in groups (Anatomy) no other column can be sensitive, since the values of all others are shown.

        >>> ColumnRoles(["age", "sex"], ["ill"], {}).with_sensitive(["sex"], "out")
        ColumnRoles(quasi_identifiers=['age'], sensitive=('sex',), statistics={}, taken=('sex',), unknown=('ill',))
        """
        if not names or set(names) == {*self.sensitive}:
            return self
        if in_groups:
            raise BadInput(
                f"{release}: its sensitive column is {', '.join(self.sensitive)}, in a table of its own, and all "
                "others are shown as they are; leave out --sensitive (in Python sensitive)"
            )
        left = [name for name in self.quasi_identifiers if name not in names]
        if self.quasi_identifiers and not left:
            raise BadInput(f"{release}: no quasi-identifier is left by which people could be found; name fewer columns")
        taken = tuple(name for name in names if name in self.quasi_identifiers)
        unknown = tuple(name for name in self.sensitive if name not in names)
        return ColumnRoles(left, tuple(names), self.statistics, taken, unknown)

    def without_hierarchies(self, builders: Mapping[str, Builder] | None) -> Mapping[str, Builder] | None:
        """Return the hierarchies without those of columns that are taken as sensitive: their labels are no leaves."""
        return builders and {name: builder for name, builder in builders.items() if name not in self.taken}


@phase("reading")
def read_published_folder(
    folder: Path,
    manifest: PublicManifest,
    builders: Mapping[str, Builder] | None = None,
    sensitive: Sequence[str] = (),
) -> Published:
    """Read the table of a published folder afresh, its rows in the order of the file.

    `sensitive` columns take the place of those that the manifest names, and are no quasi-identifiers.
    """
    data = manifest.data
    table = published_table(folder, data.file, data.sha256)
    with opened(table, data.columns, data.model_dump(), listed=True) as release:
        _refuse_other_figures(release, folder, manifest)
        texts = release.db.sql("SELECT * FROM listed ORDER BY rowid").to_arrow_table()
    encoded = _encode_table(texts.rename_columns(list(data.columns)))
    columns = ColumnRoles(manifest.quasi_identifiers, manifest.sensitive, manifest.statistics or {})
    columns = columns.with_sensitive(sensitive, folder.name, in_groups=data.separate is not None)
    if data.separate is None:
        return published_from_table(folder.name, encoded, columns, columns.without_hierarchies(builders))
    second = published_table(folder, data.separate.file, data.separate.sha256)
    other = read_separate(second, data.separate.columns, data.model_dump())
    return _published_from_groups(folder.name, encoded, columns, data.separate.columns[0], other, builders)


def _refuse_other_figures(release: OpenedRelease, folder: Path, manifest: PublicManifest) -> None:
    """Refuse a table whose rows, classes or labels differ from what its manifest says."""
    separate, rows = manifest.data.separate, manifest.rows
    quasi = manifest.quasi_identifiers if separate is None else separate.columns[:1]
    told = Claim(
        quasi,
        (),
        (),
        rows.released + rows.shown,
        manifest.data.columns,
        manifest.classes.model_dump(),
        statistics=manifest.statistics or {},
        labels=manifest.labels,
    )
    for verdict in [
        *judge(told, count_released(release, told)),
        *judge_labels(told, release),
        *judge_rounding(told, release),
    ]:
        if not verdict.holds:
            raise NotVerified(f"{folder.name}: the table has other {verdict.promise} than its manifest says")


def published_from_columns(
    name: str,
    columns: Mapping[str, ReleasedColumn],
    roles: ColumnRoles,
    builders: Mapping[str, Builder],
    separate: Mapping[str, ReleasedColumn] | None = None,
) -> Published:
    """Return a release in memory as a CSV would show it; `separate` is the other table of Anatomy."""
    coded = {name: column_as_read(name, column) for name, column in columns.items()}
    table = Table(coded, len(next(iter(coded.values())).codes))
    if separate is None:
        return published_from_table(name, table, roles, builders)
    groups, values, counts = (each.texts.take(pa.array(each.codes)).to_pylist() for each in separate.values())
    other = GroupTable(groups, values, [int(count) for count in counts])
    return _published_from_groups(name, table, roles, next(iter(separate)), other, builders)


def published_from_plan(
    plan: Plan,
    policy: Policy,
    columns: Mapping[str, ReleasedColumn],
    separate: Mapping[str, ReleasedColumn] | None = None,
    sensitive: Sequence[str] = (),
) -> Published:
    """Return the release of a plan as seen by an attacker who knows its hierarchies.

    `sensitive` columns take the place of those of the policy, and are no quasi-identifiers.
    """
    quasi = [name for names in plan.released_as.values() for name in names]
    declared = [name for name, role in plan.roles.items() if role is Role.SENSITIVE]
    roles = ColumnRoles(quasi, declared, plan.statistics)
    roles = roles.with_sensitive(sensitive, "the release", in_groups=separate is not None)
    builders = roles.without_hierarchies(dict(plan.builders) | builders_of(policy, [Role.SENSITIVE])) or {}
    return published_from_columns("the release", columns, roles, builders, separate)


def column_as_read(name: str, column: ReleasedColumn) -> Column:
    """Return a released column as a reader of the file would code it: by the labels that occur, and no others.

    >>> column_as_read("age", ReleasedColumn.of(np.array([2, 0, 2], np.int32), ["3*", "4*", "2*"])).codes.tolist()
    [0, 1, 0]
    """
    used = np.flatnonzero(np.bincount(column.codes, minlength=len(column.texts)))
    seen = encode(name, texts_in_use(column, used))
    # `place` [old code]: the code that a reader of the file gives to its label
    place = np.zeros(len(column.texts), dtype=np.int32)
    place[used] = seen.codes
    return replace(seen, codes=place[column.codes])


def texts_in_use(column: ReleasedColumn, used: NDArray[np.integer]) -> pa.StringArray:
    """Return the texts of the values that occur; whether times show hours must not depend on who was left out."""
    values = column.values.take(pa.array(used))
    if not pa.types.is_timestamp(values.type):
        return column.texts.take(pa.array(used))
    seen = encode("", values)
    texts = pa.concat_arrays([seen.texts, pa.nulls(1, pa.string())])
    return texts.take(pa.array(seen.codes))


def published_from_table(
    name: str, table: Table, columns: ColumnRoles, builders: Mapping[str, Builder] | None = None
) -> Published:
    """Return a table as an attacker sees it, with one class per combination of quasi-identifiers."""
    for column in (*columns.quasi_identifiers, *columns.sensitive):
        if column not in table.columns:
            raise BadInput(f"{name}: there is no column {column!r}{suggest_column(column, table.columns)}")
    both = sorted({*columns.quasi_identifiers} & {*columns.sensitive})
    if both:
        raise BadInput(f"{name}: column {both[0]!r} cannot be a quasi-identifier and sensitive")
    if not columns.quasi_identifiers:
        raise BadInput(f"{name}: name its quasi-identifiers with --qi (in Python quasi_identifiers=…)")
    if not table.rows:
        raise BadInput(f"{name}: there are no records")
    of_row, counts = classes_of(table, columns.quasi_identifiers, columns.sensitive)
    shown = _label_columns(table, columns)
    sensitive, unknown = tuple(columns.sensitive), tuple(columns.unknown)
    return Published(name, table, shown, sensitive, of_row, counts, builders or {}, unknown=unknown)


def _published_from_groups(
    name: str,
    table: Table,
    columns: ColumnRoles,
    group: str,
    separate: GroupTable,
    builders: Mapping[str, Builder] | None,
) -> Published:
    """Return Anatomy's two tables as an attacker sees them: each row in a group, whose values the other table has."""
    of_row = FrequencySet.count({group: (table[group].codes, table[group].size)}, want_classes=True)
    assert of_row.classes is not None
    names = labels_of(table, group)
    number = {names[code]: at for at, code in enumerate(of_row.codes(group).tolist())}
    if set(separate.groups) != set(number):
        raise NotVerified(f"{name}: the two tables of the release have different groups")
    # [line of the other table] `at`: the class number of its group; `values`: the code of its sensitive value
    at = np.array([number[each] for each in separate.groups], dtype=np.int64)
    place = {value: code for code, value in enumerate(dict.fromkeys(separate.values))}
    labels = list(place)
    values = np.array([place[each] for each in separate.values], dtype=np.int64)
    counted = ValueCounts(at, values, np.array(separate.counts, dtype=np.int64), labels, len(of_row))
    counts = ClassCounts(of_row.counts, dict.fromkeys(columns.sensitive, counted))
    shown = _label_columns(table, columns)
    sensitive = tuple(columns.sensitive)
    return Published(name, table, shown, sensitive, of_row.classes, counts, builders or {}, exact=True)


def _label_columns(table: Table, columns: ColumnRoles) -> dict[str, LabelColumn]:
    """Return what every row shows of each quasi-identifier: its label, or the range between two bounds."""
    parts: dict[str, dict[str, str]] = {}
    for name in columns.quasi_identifiers:
        of, kind = columns.statistics.get(name, (name, "label"))
        parts.setdefault(of, {})[kind] = name
    return {of: _label_column_of(table, kinds) for of, kinds in parts.items()}


def _label_column_of(table: Table, kinds: Mapping[str, str]) -> LabelColumn:
    if "label" in kinds:
        name = kinds["label"]
        return LabelColumn(table[name].codes, labels_of(table, name))
    for low, high in _BOUNDS:
        if low in kinds and high in kinds:
            return _ranges(table, kinds[low], kinds[high])
    return LabelColumn(np.zeros(table.rows, dtype=np.int32), [TOP])  # a mean alone excludes no value


def _ranges(table: Table, low: str, high: str) -> LabelColumn:
    """Join two columns of bounds into one of closed intervals."""
    # `pairs` [distinct pair]: low code × size + high code; `codes` [row]: which pair it shows
    size = table[high].size
    pairs, codes = np.unique(table[low].codes.astype(np.int64) * size + table[high].codes, return_inverse=True)
    lows, highs = labels_of(table, low), labels_of(table, high)
    labels = [_range(lows[pair // size], highs[pair % size]) for pair in pairs.tolist()]
    return LabelColumn(codes.astype(np.int32), labels)


def _range(low: str | None, high: str | None) -> str:
    if low is None or high is None:
        return TOP
    return f"[{low}, {high}]"


def _encode_table(table: pa.Table) -> Table:
    return Table({name: encode(name, table[name]) for name in table.column_names}, table.num_rows)


def original_of(table: Table, name: str, policy: Policy, builders: Mapping[str, Builder]) -> QueriedOriginal:
    """Return the original table of a release, with the hierarchies along which it was generalised."""
    missing = [attribute for attribute in policy.attributes if attribute not in table.columns]
    if missing:
        raise BadInput(f"{name}: this is not the original: it has no column {missing[0]!r}")
    return QueriedOriginal(table, {of: builder.taxonomy(table[of]) for of, builder in builders.items()})


def builders_of(policy: Policy, roles: Collection[Role] = (Role.QUASI_IDENTIFIER,)) -> dict[str, Builder]:
    """Return the hierarchies that a policy names for attributes of some roles."""
    known = {name: policy.attributes[name].hierarchy for role in roles for name in policy.named(role)}
    return {name: builder for name, builder in known.items() if builder is not None}


def generalised_from_columns(
    columns: Mapping[str, ReleasedColumn], plan: Plan, names: Collection[str], original: QueriedOriginal
) -> GeneralisedTable:
    """Return what a release in memory shows of some attributes, for answering queries."""
    cells = {name: (column.codes, column.texts.to_pylist()) for name, column in columns.items()}
    return read_release(cells, plan.statistics, names, original)


def generalised_from_folder(
    folder: Path, manifest: PublicManifest, names: Collection[str], original: QueriedOriginal
) -> GeneralisedTable:
    """Return what a published folder, read afresh, shows of some attributes, for answering queries."""
    data = manifest.data
    table = published_table(folder, data.file, data.sha256)
    with opened(table, data.columns, data.model_dump()) as release:
        distinct = release.db.sql("FROM released").to_arrow_table()
    often = distinct["n"].to_numpy()
    cells = text_cells(distinct.drop_columns(["n"]).rename_columns(list(data.columns)))
    each = {name: (np.repeat(codes, often), texts) for name, (codes, texts) in cells.items()}
    return read_release(each, manifest.statistics or {}, names, original)
