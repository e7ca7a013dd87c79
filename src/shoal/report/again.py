"""An earlier release that is published again: its private folder, its policy, and what all before it showed."""

import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from shoal.errors import BadInput, BadPolicy
from shoal.policy import Policy
from shoal.report.history_file import NAME, load_history
from shoal.report.private import load_private
from shoal.republish.history import History


@dataclass(frozen=True)
class Again:
    """What the next release of a table follows."""

    folder: Path
    policy: Policy
    history: History | None
    """None where the folder keeps none, since its policy did not say that the table would be published again."""
    increment: bool = False
    """Whether the table has new rows only, which are published alone."""
    erased: pa.Array | None = None
    """Keys of people of whom nothing is kept."""

    @classmethod
    def load(cls, private: str | os.PathLike[str], policy: Policy | None = None, *, increment: bool = False) -> "Again":
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
    roles = [{name: attribute.role for name, attribute in each.attributes.items()} for each in (before, now)]
    differ = sorted({name for name, _ in roles[0].items() ^ roles[1].items()})
    if differ:
        raise BadPolicy(f"attributes.{differ[0]}: its role is not that of the earlier release; keep the roles")
    kept = {
        name: now.attributes[name].model_copy(update={"hierarchy": each.hierarchy})
        for name, each in before.attributes.items()
    }
    return now.model_copy(update={"attributes": kept})
