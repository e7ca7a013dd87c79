"""What an attack found: how many people it exposes, and how that compares with guessing."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self

from shoal.attacks.published import Published, Truth
from shoal.attacks.rates import Rate


class Channel(StrEnum):
    """The ways in which a release can betray people; the lines of an audit's verdict.

    >>> Channel.RECORD, Channel.RECORD.question
    (<Channel.RECORD: 'record linkage'>, "Can somebody's row be found?")
    """

    question: str
    """What a reader of the report asks."""
    learned: str
    """What an attack that succeeds learns, of so many `rows`."""

    def __new__(cls, value: str, question: str, learned: str) -> Self:
        channel = str.__new__(cls, value)
        channel._value_ = value
        channel.question, channel.learned = question, learned
        return channel

    RECORD = "record linkage", "Can somebody's row be found?", "{rows} can be tied to a person"
    ATTRIBUTE = (
        "attribute linkage",
        "Can somebody's sensitive value be told without finding the row?",
        "the sensitive value of {rows} can be guessed well",
    )
    RULES = (
        "rule inference",
        "Do simple rules tell somebody's sensitive value?",
        "rules tell the sensitive value of {rows}",
    )
    COMPOSITION = (
        "composition",
        "Can this be combined with other releases about the same people?",
        "together with others, the value of {rows} is told",
    )
    SINGLING_OUT = (
        "singling out",
        "Can a description be made that fits one person only?",
        "about {rows} can be described so that nobody else fits",
    )


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


class Attack(ABC):
    """A way to attack: a frozen dataclass whose fields are its options, with one method.

    A field's `metadata["help"]` is what the command line says of it.
    """

    name: ClassVar[str]
    sentence: ClassVar[str]
    """What it does, for people; left out, the first sentence of the docstring."""
    channel: ClassVar[Channel]
    """The way of betraying people that it tries."""
    source: ClassVar[str] = ""
    if_exposed: ClassVar[str] = ""
    """What an audit says where it exposes somebody, of `exposed` people and its figures; left out, its own sentence."""
    if_not: ClassVar[str] = ""
    """The same where it exposes nobody."""
    assumes: ClassVar[bool] = False
    """Whether it is by somebody who knows more than the release tells: what it finds exposes nobody by itself."""
    of_sensitive: ClassVar[bool] = False
    """Whether it needs a sensitive attribute."""

    def __init_subclass__(cls) -> None:
        if "sentence" not in cls.__dict__ and cls.__doc__:
            cls.sentence = " ".join(cls.__doc__.split("\n\n")[0].split())

    @abstractmethod
    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Run it; with the truth, guesses are held against it."""

    @classmethod
    def words(cls, figures: Mapping[str, Any], exposed: int) -> str | None:
        """What an audit says of its finding; None where that speaks for itself."""
        said = cls.if_exposed if exposed else cls.if_not
        return said.format(**{**figures, "exposed": exposed}) if said else None
