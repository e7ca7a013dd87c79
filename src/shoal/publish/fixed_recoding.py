"""Earlier releases that a new one follows, and those whose recoding is applied to new rows."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from shoal.errors import BadHierarchy, BadInput, BadPolicy, Infeasible
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.mask import Mask
from shoal.policy.document import Policy
from shoal.publish.contents import load_private

COMPARED = (
    "people who are both in this release and in the earlier one can be found by comparing the two, however well each "
    "protects them; publish both only if nobody is in both, or anonymize all rows together"
)
"""What is said of every release whose recoding was found for another (composition)."""

_ADVICE = {
    Infeasible: "give --suppression, or anonymize afresh",
    BadPolicy: "make the new table like the earlier one, or anonymize afresh",
    BadHierarchy: "correct the new rows, or anonymize afresh",
}
"""What is left to do when neither levels, policy nor hierarchies can be changed."""


@dataclass(frozen=True)
class EarlierRelease:
    """A release that was made before, by its private folder, and the policy of the one that follows it."""

    folder: Path
    policy: Policy

    doing: ClassVar[str]
    """What the run that follows it is called."""
    notes: ClassVar[tuple[str, ...]] = ()
    """What is said of every release that follows it so."""

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Adds to an error what the earlier release has to do with it."""
        yield


@dataclass(frozen=True)
class FixedRecoding(EarlierRelease):
    """The policy that makes the recoding of an earlier release once more."""

    doing: ClassVar[str] = "apply"
    notes: ClassVar[tuple[str, ...]] = (COMPARED,)

    @classmethod
    def load(
        cls,
        private: str | os.PathLike[str],
        *,
        suppression: float | str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> "FixedRecoding":
        """Read a private folder; what is given here, `reading` for [data], replaces what its policy says."""
        folder = Path(os.path.abspath(private))
        if not folder.is_dir():
            raise BadInput(f"{folder.name}: there is no such folder; give the private one of a release: OUT.private")
        known = load_private(folder)
        policy, levels = known.policy, known.levels
        if known.rows is not None:
            raise BadInput(f"{folder.name}: its recoding was made row by row and fits no other rows; anonymize afresh")
        _refuse_broken(folder, policy, levels)
        method = {} if suppression is None else {"suppress": "tuple", "suppression": suppression}
        return cls(folder, _fixed(policy, levels, method, reading or {}))

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Adds to an error that the earlier release leaves no choice, and what can be done."""
        try:
            yield
        except tuple(_ADVICE) as wrong:
            kind = type(wrong)
            said = f"{wrong} (the earlier release fixes levels, policy and hierarchies: {_ADVICE[kind]})"
            raise kind(said, wrong.values) from None


def _refuse_broken(folder: Path, policy: Policy, levels: Mapping[str, int]) -> None:
    """Refuse a folder without what would then be drafted or searched for anew, and differ from the earlier release."""
    if set(levels) != set(policy.quasi_identifiers) or min(levels.values()) < 0:
        raise BadInput(f"{folder.name}: its manifest.json has not the levels of what its policy.toml generalises")
    for name in levels:
        builder = policy.attributes[name].hierarchy
        if builder is None or (isinstance(builder, Mask) and builder.length is None):
            raise BadInput(f"{folder.name}/policy.toml: it does not say in full which hierarchy {name!r} had")
        if isinstance(builder, Csv) and not (builder.base / builder.path).is_file():
            raise BadInput(f"{folder.name}/{builder.path}: the hierarchy of {name!r} is missing")


def _fixed(policy: Policy, levels: Mapping[str, int], method: Mapping[str, Any], read: Mapping[str, Any]) -> Policy:
    """Policy whose lattice is just the node that was found, so that how it was found no longer matters."""
    attributes = {name: dict(attribute) for name, attribute in policy.attributes.items()}
    for name, level in levels.items():
        attributes[name] |= {"min_level": level, "max_level": level}
    kept = policy.method.model_dump(include={"generalise", "suppress", "suppression", "metric"})
    return Policy(
        data={**policy.data.model_dump(), **read},
        attributes=attributes,
        require=policy.require,
        method={**kept, **method},
        release=policy.release,
    )
