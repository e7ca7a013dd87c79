"""A release in two tables: rows with a group, and how often each sensitive value occurs in each group (Anatomy)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.errors import NotVerified
from shoal.verify.claim import Claim, Original, Status, Verdict
from shoal.verify.open_release import Opened, classify, numbers, opened
from shoal.verify.originals_by_class import count_behind
from shoal.verify.released_counts import ReleasedCounts, as_named
from shoal.verify.truth_by_row import covers_mapped


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
    release: Opened, separate: GroupTable, claim: Claim, original: Original | None = None
) -> ReleasedCounts:
    """Count the groups: their sizes in the first table, their values as the second one tells."""
    db = release.db
    classify(db, claim)
    sizes = numbers(db, "SELECT sum(n)::BIGINT FROM classed GROUP BY class ORDER BY class")
    (cell,) = (f"c{claim.columns.index(name)}" for name in claim.quasi_identifiers)
    known = db.sql(f"SELECT DISTINCT {cell} AS name, class FROM classed").to_arrow_table()
    number = dict(zip(known["name"].to_pylist(), known["class"].to_pylist(), strict=True))
    if set(separate.groups) != set(number):
        raise NotVerified("the two tables of the release have different groups")
    at = np.array([number[group] for group in separate.groups], dtype=np.int64)
    counts = np.array(separate.counts, dtype=np.int64)
    if not np.array_equal(np.bincount(at, weights=counts, minlength=len(sizes)), sizes):
        raise NotVerified("a group has more or fewer sensitive values than rows")
    labels = list(dict.fromkeys(separate.values))
    code = {label: i for i, label in enumerate(labels)}
    values = ValueCounts(at, np.array([code[value] for value in separate.values]), counts, labels, len(sizes))
    (sensitive,) = claim.sensitive
    behind = None if original is None else count_behind(db, claim, original, len(sizes))
    values = as_named(values, claim, sensitive)
    return ReleasedCounts(int(sizes.sum()), ClassCounts(sizes, {sensitive: values}), behind)


def covers_groups(release: Opened, counted: ReleasedCounts, claim: Claim, original: Original) -> Verdict:
    """Whether every row of the first table is an original one, and every group has the values of its rows."""
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
