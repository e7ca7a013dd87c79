"""Counts in SQL the classes of a release and the values in them: in one table, or in two (Anatomy)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.data.class_counts import ClassCounts, JointCounts, ValueCounts, sum_counts
from shoal.errors import NotVerified
from shoal.labels.scale import read_time
from shoal.models.model import asked
from shoal.verify.claim import Claim, Original, Status, Verdict
from shoal.verify.open_release import OpenedRelease, classify, opened, query_numbers
from shoal.verify.originals_by_class import count_originals_behind
from shoal.verify.truth_by_row import covers_mapped

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ReleasedCounts:
    """The classes of a release, as counted in SQL."""

    rows: int
    classes: ClassCounts
    behind: ClassCounts | None = None
    """The same classes, counted on the original rows behind them, where the original is given."""
    everybody: bool = False
    """Whether the population is known."""


def count_released(release: OpenedRelease, claim: Claim, original: Original | None = None) -> ReleasedCounts:
    """Count the sizes of classes and each sensitive value in them; also on the original, where one is given."""
    db = release.db
    classify(db, claim)
    sizes = query_numbers(db, "SELECT sum(n)::BIGINT FROM classed GROUP BY class ORDER BY class")
    values = {
        name: with_promised_names(_value_counts(db, f"c{claim.columns.index(name)}", len(sizes)), claim, name, original)
        for name in claim.sensitive
    }
    behind = (
        None
        if original is None or _needs_no_original(claim, original)
        else count_originals_behind(db, claim, original, len(sizes))
    )
    everybody = behind is not None and behind.population is not None
    joint = {names: _joint_counts(db, names, claim) for names in _columns_counted_together(claim)}
    return ReleasedCounts(int(sizes.sum()), ClassCounts(sizes, values, joint), behind, everybody)


def _needs_no_original(claim: Claim, original: Original) -> bool:
    """Whether no promise needs the original rows and they are outside memory, so that counting them would be costly."""
    asked = claim.persons or claim.added or any(model.needs for model in claim.models)
    return original.table.relation is not None and not asked


def _columns_counted_together(claim: Claim) -> list[tuple[str, ...]]:
    """Return the sets of released columns that models need counted together, unless they need the original."""
    wanted = {model.columns for model in claim.models if model.columns and not model.needs}
    if not {name for names in wanted for name in names} <= set(claim.columns):
        raise NotVerified("the manifest makes a promise about columns that the release does not have")
    return sorted(tuple(map(str, names)) for names in wanted)


def _joint_counts(db: "duckdb.DuckDBPyConnection", names: tuple[str, ...], claim: Claim) -> JointCounts:
    cells = [f"c{claim.columns.index(name)}" for name in names]
    listed = ", ".join(cells)
    query = f"SELECT class, {listed}, sum(n)::BIGINT AS n FROM classed GROUP BY ALL ORDER BY {listed}, class"
    found = db.sql(query).to_arrow_table()
    coded = [found[cell].combine_chunks().dictionary_encode(null_encoding="encode") for cell in cells]
    at, counts = (found[name].combine_chunks().to_numpy(zero_copy_only=False) for name in ("class", "n"))
    codes = tuple(column.indices.to_numpy() for column in coded)
    return JointCounts(at, codes, counts, tuple(column.dictionary.to_pylist() for column in coded))


def with_promised_names(
    values: ValueCounts, claim: Claim, attribute: str, original: Original | None = None
) -> ValueCounts:
    """Rename values to the spelling of the promises: a typed file shows a day as its midnight.

    With the original, its spelling is used. Without it, a time is spelt as in a promise, unless several spellings of
    one time show that the column holds texts.
    """
    if original is not None:
        column = original.table[attribute]
        texts = set(column.texts.to_pylist())
        return replace(values, labels=[each if each in texts else column.as_original(each) for each in values.labels])
    named = {name for model in claim.models if model.about in {None, attribute} for name in _values_named(asked(model))}
    times = {label: time for label in values.labels if label is not None and (time := read_time(label)) is not None}
    if len(set(times.values())) < len(times):
        return values
    names = {time: name for name in sorted(named - times.keys()) if (time := read_time(name)) is not None}
    spelt = {label: names[time] for label, time in times.items() if label not in named and time in names}
    return replace(values, labels=[spelt.get(label, label) if label is not None else None for label in values.labels])


def _values_named(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sensitive values that parameters name: keys of thresholds, members of categories."""
    for parameter in parameters.values():
        if isinstance(parameter, Mapping):
            yield from map(str, parameter)
        elif isinstance(parameter, Sequence) and not isinstance(parameter, str):
            yield from (str(value) for each in parameter if not isinstance(each, str | float | int) for value in each)


def _value_counts(db: "duckdb.DuckDBPyConnection", column: str, classes: int) -> ValueCounts:
    query = f"SELECT class, {column} AS value, sum(n)::BIGINT AS n FROM classed GROUP BY ALL ORDER BY value, class"
    found = db.sql(query).to_arrow_table().combine_chunks()
    coded = found["value"].combine_chunks().dictionary_encode(null_encoding="encode")
    at, counts = (found[name].combine_chunks().to_numpy(zero_copy_only=False) for name in ("class", "n"))
    return ValueCounts(at, coded.indices.to_numpy(), counts, coded.dictionary.to_pylist(), classes)


@dataclass(frozen=True)
class GroupTable:
    """The second table: a group, a value and a count in each of its rows."""

    groups: list[str | None]
    values: list[str | None]
    counts: list[int]


def read_separate(data: Path | pa.Table, columns: Sequence[str], how: Mapping[str, Any]) -> GroupTable:
    """Read the second table afresh."""
    with opened(data, columns, how) as release:
        found = release.db.sql(
            "SELECT c0, c1, TRY_CAST(c2 AS BIGINT) AS counted, n FROM released ORDER BY ALL"
        ).to_arrow_table()
    counts = found["counted"].to_pylist()
    if any(count is None or count < 1 for count in counts) or any(n != 1 for n in found["n"].to_pylist()):
        raise NotVerified("the table of sensitive values has counts that are none, or tells one of them twice")
    return GroupTable(found["c0"].to_pylist(), found["c1"].to_pylist(), counts)


def count_groups(
    release: OpenedRelease, separate: GroupTable, claim: Claim, original: Original | None = None
) -> ReleasedCounts:
    """Count the groups: their sizes in the first table, their values as the second one tells."""
    db = release.db
    classify(db, claim)
    sizes = query_numbers(db, "SELECT sum(n)::BIGINT FROM classed GROUP BY class ORDER BY class")
    (cell,) = (f"c{claim.columns.index(name)}" for name in claim.quasi_identifiers)
    known = db.sql(f"SELECT DISTINCT {cell} AS name, class FROM classed").to_arrow_table()
    number = dict(zip(known["name"].to_pylist(), known["class"].to_pylist(), strict=True))
    if set(separate.groups) != set(number):
        raise NotVerified("the two tables of the release have different groups")
    at = np.array([number[group] for group in separate.groups], dtype=np.int64)
    counts = np.array(separate.counts, dtype=np.int64)
    if not np.array_equal(sum_counts(at, counts, len(sizes)), sizes):
        raise NotVerified("a group has more or fewer sensitive values than rows")
    labels = list(dict.fromkeys(separate.values))
    code = {label: i for i, label in enumerate(labels)}
    values = ValueCounts(at, np.array([code[value] for value in separate.values]), counts, labels, len(sizes))
    (sensitive,) = claim.sensitive
    behind = None if original is None else count_originals_behind(db, claim, original, len(sizes))
    values = with_promised_names(values, claim, sensitive, original)
    return ReleasedCounts(int(sizes.sum()), ClassCounts(sizes, {sensitive: values}), behind)


def covers_groups(release: OpenedRelease, counted: ReleasedCounts, claim: Claim, original: Original) -> Verdict:
    """Judge whether every row of the first table is an original one, and every group has the values of its rows."""
    rows = replace(claim, columns=claim.columns[:-1], quasi_identifiers=(), sensitive=())  # the last one is the group
    true = covers_mapped(release, rows, original)
    assert counted.behind is not None
    (sensitive,) = claim.sensitive
    column = original.table[sensitive]
    told = _as_set(counted.classes.sensitive[sensitive], column.as_original)
    found = _as_set(counted.behind.sensitive[sensitive])
    if true.holds and told != found:
        return Verdict("truthful", Status.FAILS, why="a group does not have the sensitive values of its rows")
    return true


def _as_set(
    values: ValueCounts, name: Callable[[str | None], str | None] = lambda label: label
) -> set[tuple[int, str | None, int]]:
    labels = [name(label) for label in values.labels]
    named = (labels[code] for code in values.values.tolist())
    return set(zip(values.classes.tolist(), named, values.counts.tolist(), strict=True))
