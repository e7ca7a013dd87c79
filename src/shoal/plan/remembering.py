"""The history of a release that was made before anybody thought of a second one."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.running import sets_of
from shoal.codes import Table
from shoal.frequency import FrequencySet
from shoal.hierarchy import build
from shoal.policy import Policy
from shoal.republish.history import History, begun, match, typed
from shoal.schema import Role


def remember(table: Table, policy: Policy, levels: Mapping[str, int], rows: NDArray[np.int64], name: str) -> History:
    """One release at a node, from its original: `rows` of it are behind the released ones."""
    quasi = tuple(sorted(levels))
    sensitive = tuple(policy.named(Role.SENSITIVE))
    empty = begun(quasi, sensitive, table)
    match(table, policy.key or "", empty, name)  # refuses a key that is none
    coded = {}
    for attribute in quasi:
        builder = policy.attributes[attribute].hierarchy
        assert builder is not None, "a private folder tells every hierarchy in full"
        tree, level = build(table[attribute], builder), levels[attribute]
        coded[attribute] = tree.levels[level][table[attribute].codes[rows]], tree.groups(level)
    group = FrequencySet.count(coded, want_classes=True).classes
    assert group is not None
    key = table[policy.key or ""]
    left = {}
    for each, candidates in empty.candidates.items():
        column = table[each]
        sets = sets_of(group, column.codes[rows], int(group.max(initial=-1)) + 1, column.size)
        left[each] = candidates.joined_by(len(rows)).after(group, sets)
    return replace(
        empty,
        releases=1,
        keys=key.texts.take(pa.array(key.codes[rows])),
        group=group,
        shown=np.ones(len(rows), dtype=bool),
        levels=np.tile(np.array([levels[each] for each in quasi], dtype=np.int16), (len(rows), 1)),
        values={each: typed(table[each], table[each].codes[rows]) for each in sensitive},
        candidates=left,
    )
