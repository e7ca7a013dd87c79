"""What an attack is and what it found: how many people it exposes, and how that compares with guessing."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from math import inf, isfinite, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.codes import Table
from shoal.errors import BadInput
from shoal.models.model import Model, exact_share
from shoal.models.spec import suggest_column, suggest_nearest
from shoal.runtime import SummaryRepr


def refuse_missing(published: Published, people: Table, called: str) -> None:
    """Refuse a table of people that is empty or lacks one of the release's quasi-identifiers."""
    for name in published.quasi_identifiers:
        if name not in people.columns:
            raise BadInput(
                f"{called} has no column {name!r}{suggest_column(name, people.columns)}, and {published.name} does"
            )
    if not people.rows:
        raise BadInput(f"{called} has no records")


def refuse_repeated_key(people: Table, key: str | None, called: str) -> None:
    """Refuse a table of people in which two rows share a value of the key column; null names nobody."""
    if key is None:
        return
    if key not in people.columns:
        raise BadInput(f"{called} has no column {key!r}{suggest_column(key, people.columns)} to tell persons apart")
    codes = people[key].codes
    named = np.flatnonzero(codes != people[key].null_code) if people[key].has_null else np.arange(len(codes))
    first = named[np.unique(codes[named], return_index=True)[1]]
    if len(first) < len(named):
        again = np.setdiff1d(named, first)
        raise BadInput(f"{called} holds a person twice: row {int(again[0]) + 1} repeats a {key!r}; keep one row each")


def sensitive_of(published: Published, attribute: str | None) -> str:
    """Return the sensitive attribute that an attack is about: the one named, or the first."""
    if attribute is not None and attribute not in published.sensitive:
        raise BadInput(
            f"{published.name}: {attribute!r} is no sensitive "
            f"attribute{suggest_nearest(attribute, published.sensitive)}"
        )
    if not published.sensitive:
        raise BadInput(
            f"{published.name}: it has no sensitive attribute; name one with --sensitive (in Python sensitive=…)"
        )
    return published.sensitive[0] if attribute is None else attribute


def refuse_seed(seed: object) -> None:
    """Refuse a seed that is not a whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadInput("seed must be a whole number of at least 0")


def refuse_unless_at_least(name: str, value: object, least: int) -> None:
    """Refuse an option that is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(f"{name} must be a whole number of at least {least}")


def refuse_unless_number(name: str, value: Any, least: float = 0, most: float = inf) -> None:
    """Refuse a value that is not a finite number from `least` to `most`.

    >>> refuse_unless_number("width", 10)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise BadInput(f"{name} = {value!r} is not a finite number")
    if not least <= value <= most:
        span = f"of at least {least:g}" if most == inf else f"from {least:g} to {most:g}"
        raise BadInput(f"{name} = {value!r} is not a number {span}")


ShareLike = float | Fraction | str
"""What an attack takes as a share: a number, or a ratio such as "1/3", which is exact."""


def read_share(name: str, value: ShareLike) -> Fraction:
    """Return a share as an exact fraction; refuse what is neither a number nor a ratio.

    >>> read_share("at", "9/10"), read_share("at", 0.9)
    (Fraction(9, 10), Fraction(9, 10))
    """
    try:
        return exact_share(name, value)
    except ValueError as wrong:
        raise BadInput(str(wrong)) from None


def refuse_unless_whole(name: str, value: Any, least: int = 0) -> None:
    """Refuse a value that is not a whole number of at least `least`.

    >>> refuse_unless_whole("excluded", 3)
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(f"{name} = {value!r} is not a whole number of at least {least}")


LEVEL = 0.95


@dataclass(frozen=True)
class Rate:
    """So many of so many guesses were right.

    >>> rate = Rate(60, 500)
    >>> round(rate.centre, 5), round(rate.error, 5)
    (0.1229, 0.02852)
    """

    right: int
    guesses: int
    level: float = LEVEL

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.guesses or not 0 < self.level < 1:
            raise BadInput("a rate needs 0 <= right <= guesses and a level between 0 and 1")

    @property
    def share(self) -> float:
        """Observed share of right guesses; 0 where nothing was guessed."""
        return self.right / self.guesses if self.guesses else 0.0

    @property
    def _z(self) -> float:
        return NormalDist().inv_cdf((1 + self.level) / 2)

    @property
    def centre(self) -> float:
        """Centre of Wilson's score interval."""
        return (self.right + self._z**2 / 2) / (self.guesses + self._z**2)

    @property
    def error(self) -> float:
        """Half the width of Wilson's score interval."""
        n, right = self.guesses, self.right
        spread = right * (n - right) / n if n else 0.0
        return self._z / (n + self._z**2) * sqrt(spread + self._z**2 / 4)

    @property
    def interval(self) -> tuple[float, float]:
        return max(self.centre - self.error, 0.0), min(self.centre + self.error, 1.0)

    def is_above(self, baseline: "Rate") -> bool:
        """Whether the guesses are right more often than a baseline's, by more than chance explains."""
        return self.interval[0] > baseline.share

    def document(self) -> dict[str, Any]:
        """Return the rate as a JSON object."""
        low, high = self.interval
        return {"right": self.right, "guesses": self.guesses, "share": self.share, "interval": [low, high]}


def lift(attack: Rate, control: Rate) -> tuple[float, float]:
    """Return how much better an attack does than on people outside the table, and the error of that figure.

    The first number is (attack - control) / (1 - control): the gain as a share of what the control leaves to gain.

    >>> risk, error = lift(Rate(60, 500), Rate(40, 500))
    >>> round(risk, 4), round(error, 4)
    (0.0433, 0.0399)
    """
    left = 1 - control.centre
    if left <= 0:
        return 0.0, 1.0
    risk = (attack.centre - control.centre) / left
    error = sqrt((attack.error / left) ** 2 + (control.error * (attack.centre - 1) / left**2) ** 2)
    return min(max(risk, 0.0), 1.0), error


NONE_SENSITIVE = "no column is declared sensitive"
"""Why it is not looked at what is learned of people."""


class Channel(StrEnum):
    """The ways in which a release can betray people; the lines of an audit's verdict.

    >>> Channel.RECORD, Channel.RECORD.question
    (<Channel.RECORD: 'record linkage'>, "Can somebody's row be found?")
    """

    question: str
    """What a reader of the report asks."""
    learned: str
    """What a successful attack learns; {rows} stands for how many rows, {what} for the columns that it tells."""

    def __new__(cls, value: str, question: str, learned: str) -> Self:
        channel = str.__new__(cls, value)
        channel._value_ = value
        channel.question, channel.learned = question, learned
        return channel

    def describe(self, attacks: Sequence[str], rows: str, what: str) -> str:
        """Say what the first of these attacks learns of so many rows.

        >>> Channel.ATTRIBUTE.describe(["definetti"], "93 rows", "income")
        'definetti: the income of 93 rows can be guessed well'
        >>> Channel.RULES.describe(["rules"], "93 rows", "income")
        'rules tell the income of 93 rows'
        """
        told = self.learned.format(rows=rows, what=what)
        return f"{attacks[0]}: {told}" if attacks and not told.startswith(attacks[0]) else told

    RECORD = "record linkage", "Can somebody's row be found?", "{rows} can be tied to a person"
    ATTRIBUTE = (
        "attribute linkage",
        "Can somebody's sensitive value be told without finding the row?",
        "the {what} of {rows} can be guessed well",
    )
    RULES = (
        "rule inference",
        "Do simple rules tell somebody's sensitive value?",
        "rules tell the {what} of {rows}",
    )
    COMPOSITION = (
        "composition",
        "Can this be combined with other releases about the same people?",
        "together with others, the {what} of {rows} is told",
    )
    SINGLING_OUT = (
        "singling out",
        "Can a description be made that fits one person only?",
        "about {rows} can be described so that nobody else fits",
    )


@dataclass(frozen=True, repr=False)
class Finding(SummaryRepr):
    """What one attack found when it was run."""

    attack: str
    channel: Channel
    exposed: int
    """People about whom it learned what the release should have hidden."""
    of: int
    """People it looked at."""
    sentence: str
    """The same as a sentence for a person to read."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Everything measured, in types that JSON knows; no cell of the original."""
    success: Rate | None = None
    """How often its guesses were right, where the truth was known."""
    baseline: Rate | None = None
    """How often guesses are right without the weakness that the attack uses."""
    columns: tuple[str, ...] = ()
    """Sensitive attributes whose values it tells; empty where it tells none, or does not say which."""
    columns_left: tuple[str, ...] = ()
    """Sensitive attributes that it did not try, since that takes longer; an audit does."""
    people: Any = field(default=None, compare=False)
    """An Arrow table of what was learned of each person, where the attack tells: private, never in the document."""
    named: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    """The people exposed, by name, and what was learned of them; only where the caller asked for names."""

    @property
    def _facts(self) -> list[tuple[str, str]]:
        return [(self.attack, f"{self.exposed:,} of {self.of:,} exposed")]

    def document(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
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
        people = {"people": [dict(person) for person in self.named]} if self.named else {}
        return told | {"figures": dict(self.figures)} | people


def option(
    default: Any,
    help: str,  # noqa: A002 - as typer calls it
    *,
    name: str = "",
    metavar: str = "",
    least: int | None = None,
    listed: bool = False,
    share: bool = False,
    **more: Any,
) -> Any:
    """Declare a field of an attack that is also a command option.

    Options that are `listed` are texts separated by commas; one that is a `share` is a number or a ratio such as 1/3.
    Without a `name` the option is called like the field; a name in capitals makes it an argument. Fields declared
    without this function are no command options.
    """
    told = {"help": help, "name": name, "metavar": metavar, "least": least, "listed": listed, "share": share}
    return field(default=default, metadata=told, **more)


SEED = "Random seed."
ATTRIBUTE = "The sensitive attribute; the first unless named."
REGISTER = "A table of people with their quasi-identifiers."
KEY = "The column that tells persons apart."
CONTROL = "A table of people like those in the release."
LATER = "it takes longer; an audit runs it"
"""Why an attack is not run while a release is written."""


class Knowledge(Protocol):
    """What is known of how a release was made, and of other tables; given to attacks before they run."""

    @property
    def models(self) -> Sequence[Model] | None:
        """What the policy promises, where it is known."""
        ...

    @property
    def promised_k(self) -> int | None:
        """The k that a published folder states, if any."""
        ...

    @property
    def minimal_part(self) -> tuple[Literal["class", "column"] | None, str]:
        """Where nothing could be finer, by the policy; None where something could or nothing is known, and why."""
        ...

    @property
    def least_levels(self) -> Mapping[str, int]:
        """The lowest level that the policy allows each attribute, where it names one."""
        ...

    @property
    def original(self) -> Any:
        """The original of the release, where it was given."""
        ...

    def read(self, source: Any) -> Table | None:
        """Read a table from whatever holds one."""
        ...

    def open(self, release: Any) -> Published:
        """Open another release as an attacker has it."""
        ...

    def behind(self, release: Any, original: Any) -> Truth:
        """Find the rows of the original behind a release."""
        ...

    def algorithm(self, attribute: str | None) -> tuple[Any, bool] | None:
        """Return what the policy makes of any table, and whether the attribute matters to it; None without a policy."""
        ...


@dataclass(frozen=True)
class AuditInputs:
    """What an audit was given beside the release."""

    register: Any = None
    others: Sequence[Any] = ()
    control: Any = None
    width: float | None = None
    seed: int = 0


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
    by_hierarchy: ClassVar[bool] = False
    """Whether it is quick once the hierarchy of a sensitive attribute is known."""
    assumes: ClassVar[bool] = False
    """Whether it is by somebody who knows more than the release tells: what it finds exposes nobody by itself."""
    of_sensitive: ClassVar[bool] = False
    """Whether it needs a sensitive attribute."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Fields that hold a table, or whatever one can be read from."""
    checked: ClassVar[bool] = True
    """Whether its guesses can be held against the original."""
    originals: ClassVar[bool] = False
    """Whether each of several releases may have an original of its own."""
    tells_people: ClassVar[bool] = False
    """Whether it tells what was learned of each person."""
    draws: ClassVar[str] = ""
    """The option that names a file for its picture, where it has one."""
    needs: ClassVar[str] = ""
    """What it needs beside the release, and the option that gives it."""
    slow: ClassVar[bool] = False
    """Whether it takes longer than writing a release: then only audits run it."""

    def __init_subclass__(cls) -> None:
        if "sentence" not in cls.__dict__ and cls.__doc__:
            cls.sentence = " ".join(cls.__doc__.split("\n\n")[0].split())

    @abstractmethod
    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Run the attack; with the truth, compare its guesses with it."""

    @classmethod
    def words(cls, figures: Mapping[str, Any], exposed: int) -> str | None:
        """Return what an audit says of the finding; None to use the finding's own sentence."""
        said = cls.if_exposed if exposed else cls.if_not
        return said.format(**{**figures, "exposed": exposed}) if said else None

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "Attack | str":  # noqa: ARG003
        """Return the attack as an audit runs it, or the reason why it cannot."""
        return cls.with_defaults()

    @classmethod
    def for_report(cls, published: Published, *, weighted: bool) -> "Attack | str":  # noqa: ARG003
        """Return the attack as it is run while a release is written, or the reason why it is not.

        The release is all that is known then. Where it is `weighted`, equal rows are one, and counted.
        """
        if cls.needs:
            return f"it needs {cls.needs}"
        return LATER if cls.slow else cls.with_defaults()

    @classmethod
    def for_maker(cls, published: Published, share: float = 1.0) -> "Attack | str":  # noqa: ARG003
        """Return the attack as it is run with the original, before advice is given; or the reason why it is not.

        Called only for attacks that no report runs and that can expose somebody by themselves. Of a sample, `share` is
        the share of all rows that it has: what would take too long on all is not tried on it, either.
        """
        if not cls.by_hierarchy:
            return LATER
        known = any(name in published.builders for name in published.sensitive)
        return cls.with_defaults() if known else "no sensitive attribute has a known hierarchy"

    @classmethod
    def with_defaults(cls) -> "Attack | str":
        """Return the attack with the defaults of its options, or a text that names the options to give."""
        options = [each for each in fields(cls) if each.default is MISSING and each.default_factory is MISSING]  # type: ignore[arg-type]
        needed = ", ".join(each.name for each in options)
        named = f"`shoal attack {cls.name}` (in Python shoal.attack with {cls.__name__}(…))"
        return f"it needs {needed}: run {named}" if needed else cls()

    def lacking(self, known: Knowledge) -> str | None:
        """Return why an audit cannot run the attack with what is known; None where it can."""
        return None

    @property
    def columns_of_table(self) -> Sequence[str]:
        """Quasi-identifiers that its options name, for a plain table that does not name its own."""
        return ()

    def prepared(self, known: Knowledge) -> "Attack":
        """Return the attack with every table read that it names."""
        return replace(self, **{name: known.read(getattr(self, name)) for name in self.reads})  # type: ignore[type-var]

    @classmethod
    def listing(cls, figures: Mapping[str, Any]) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]] | None:  # noqa: ARG003
        """Return a table for people, beside the single figures: its title, header and lines."""
        return None
