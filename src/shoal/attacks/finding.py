"""What an attack found: how many people it exposes, and how that compares with guessing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from shoal.attacks.published import Published, Truth
from shoal.attacks.rates import Rate


class Channel(StrEnum):
    """The ways in which a release can betray people; the lines of an audit's verdict."""

    RECORD = "record linkage"
    ATTRIBUTE = "attribute linkage"
    RULES = "rule inference"
    COMPOSITION = "composition"
    SINGLING_OUT = "singling out"


@dataclass(frozen=True)
class Finding:
    """What one attack found when it was run."""

    attack: str
    channel: Channel
    exposed: int
    """People about whom it learned what the release should have hidden."""
    of: int
    """People it looked at."""
    sentence: str
    """The same for a person to read."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Everything measured, in types that JSON knows; no cell of the original."""
    success: Rate | None = None
    """How often its guesses were right, where the truth was known."""
    baseline: Rate | None = None
    """How often they are right without the weakness that it uses."""
    people: Any = field(default=None, repr=False, compare=False)
    """An Arrow table of what was learned of each person, where the attack tells: private, never in the document."""

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        told: dict[str, Any] = {
            "attack": self.attack,
            "channel": str(self.channel),
            "exposed": self.exposed,
            "of": self.of,
            "sentence": self.sentence,
        }
        if self.success is not None:
            told["success"] = self.success.document()
        if self.baseline is not None:
            told["baseline"] = self.baseline.document()
        return told | {"figures": dict(self.figures)}


class Attack(Protocol):
    """A way to attack: a frozen value that says how, with one method."""

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Run it; with the truth, guesses are held against it."""
        ...
