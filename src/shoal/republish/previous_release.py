"""An earlier release that is published again: its private folder, its policy, and what all before it showed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.composition_over_time import sets_of
from shoal.data.codes import Table
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadInput, BadPolicy
from shoal.hierarchy.build import build
from shoal.policy.document import Policy
from shoal.publish.contents import load_private
from shoal.publish.fixed_recoding import EarlierRelease
from shoal.republish.history import NAME, History, begun, load_history, match, typed
from shoal.roles import Role


def remember(table: Table, policy: Policy, levels: Mapping[str, int], rows: NDArray[np.int64], name: str) -> History:
    """Rebuild the history of one release at a node from its original, whose `rows` are behind the released ones."""
    quasi = tuple(sorted(levels))
    sensitive = tuple(policy.named(Role.SENSITIVE))
    empty = begun(quasi, sensitive, table)
    match(table, policy.key or "", empty, name)  # refuses a key that is none
    # [released row] its code at the released level, by quasi-identifier; together they tell its class
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


@dataclass(frozen=True)
class PreviousRelease(EarlierRelease):
    """What the next release of a table follows."""

    doing: ClassVar[str] = "republish"
    history: History | None
    """None where the folder keeps none, since its policy did not say that the table would be published again."""
    increment: bool = False
    """Whether the table has new rows only, which are published alone."""
    erased: pa.Array | None = None
    """Keys of people of whom nothing is kept."""

    @classmethod
    def load(
        cls, private: str | os.PathLike[str], policy: Policy | None = None, *, increment: bool = False
    ) -> "PreviousRelease":
        """Read a private folder; hierarchies and roles are those of before, all else is what the policy says now."""
        folder = Path(os.path.abspath(private))
        if not folder.is_dir():
            raise BadInput(f"{folder.name}: there is no such folder; give the private one of a release: OUT.private")
        before = load_private(folder).policy
        now = before if policy is None else _following(before, policy)
        if now.republish is None:
            raise BadPolicy("the policy has no section [republish]: it must name the key that tells persons apart")
        if (folder / NAME).is_file() and before.republish is not None and before.republish.way != now.republish.way:
            raise BadPolicy(f"republish.way was {before.republish.way!r}, and no other one continues it")
        if (folder / NAME).is_file() and before.key != now.key:
            raise BadPolicy(f"republish.key was {before.key!r}; persons cannot be known again by another column")
        if increment and now.republish.way == "m-invariance":
            raise BadPolicy("republish.way = 'm-invariance' shows everybody again; leave --increment out")
        return cls(folder, now, load_history(folder) if (folder / NAME).is_file() else None, increment)

    def forgotten(self, history: History) -> History:
        return history if self.erased is None else history.forgetting(self.erased)


def _following(before: Policy, now: Policy) -> Policy:
    """The policy of now with the hierarchies of before; refused where roles differ."""
    roles = [{name: attribute.role for name, attribute in each.attributes.items()} for each in (before, now)]
    differ = sorted({name for name, _ in roles[0].items() ^ roles[1].items()})
    if differ:
        raise BadPolicy(f"attributes.{differ[0]}: its role is not that of the earlier release; keep the roles")
    kept = {
        name: now.attributes[name].model_copy(update={"hierarchy": each.hierarchy})
        for name, each in before.attributes.items()
    }
    return now.model_copy(update={"attributes": kept})
