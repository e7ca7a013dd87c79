"""What is said about one promise of a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shoal.errors import NotVerified


class Status(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    NEEDS_ORIGINAL = "needs --original"
    NEEDS_POPULATION = "needs --population"


@dataclass(frozen=True)
class Verdict:
    """One promise and what the release, as counted here, says about it."""

    promise: str
    status: Status
    asked: Mapping[str, Any] = field(default_factory=dict)
    attained: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    worst: int | None = None
    """How large the class is that protects its members least, where one does."""
    published: Mapping[str, Any] = field(default_factory=dict)
    """Of `attained` what the released table alone tells; what is compared with the release stands under `release`."""
    published_worst: int | None = None
    """The same of `worst`."""

    @property
    def holds(self) -> bool:
        return self.status is Status.HOLDS


def refuse_failures(verdicts: Sequence[Verdict]) -> None:
    """Raise unless everything holds."""
    failed = [v for v in verdicts if not v.holds]
    if failed:
        raise NotVerified(
            "the release does not verify: " + "; ".join(f"{v.promise} {v.status} {v.why}".strip() for v in failed)
        )
