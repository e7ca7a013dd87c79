"""What a page is made of: plain values that one template draws, so that no section writes HTML of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

_LARGE, _HUGE = 1e3, 1e12
"""Numbers between these are written in full, without decimals."""
_MOST = 6
"""Most values of one parameter that are named."""


def number(value: float | None) -> str:
    """Format a figure; None stands for infinity.

    >>> number(1 / 3), number(30162), number(54893.7), number(None), number(True)
    ('0.3333', '30,162', '54,894', '∞', 'yes')
    """
    if value is None:
        return "∞"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if _LARGE <= abs(value) < _HUGE else f"{value:,.4g}"


def format_parameters(parameters: Mapping[str, Any]) -> str:
    """Format the parameters of a promise, shortening those of many values.

    >>> format_parameters({"alpha": {"hiv": 0.6, "cold": 0.75}, "k": 3})
    'alpha = hiv 0.6 | cold 0.75, k = 3'
    """
    return ", ".join(f"{name} = {_parameter(value)}" for name, value in parameters.items())


def promise(model: str, attribute: str | None, parameters: Mapping[str, Any]) -> str:
    """Format a promise in one line.

    >>> promise("distinct-l-diversity", "disease", {"l": 3})
    'distinct-l-diversity of disease (l = 3)'
    """
    return f"{model}{f' of {attribute}' if attribute else ''} ({format_parameters(parameters)})"


def format_attained(figures: Mapping[str, Any]) -> str:
    """Format what is attained, and what is attained when compared with the release itself.

    >>> format_attained({"t": 0.25, "release": {"t": 0.5}})
    't = 0.25 (compared with the release itself: t = 0.5)'
    >>> format_attained({"release": {"t": 0.5}}), format_attained({})
    ('t = 0.5, compared with the release itself', 'not published')
    """
    plain = ", ".join(f"{name} = {_parameter(value)}" for name, value in figures.items() if not _is_collection(value))
    itself = figures.get("release")
    if not isinstance(itself, Mapping):
        return plain if figures else "not published"
    compared = "compared with the release itself"
    return f"{plain} ({compared}: {format_attained(itself)})" if plain else f"{format_attained(itself)}, {compared}"


def _is_collection(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _parameter(value: Any) -> str:
    if isinstance(value, Mapping):
        return _join_first([f"{name} {_parameter(limit)}" for name, limit in value.items()])
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _join_first([_parameter(each) for each in value])
    return value if isinstance(value, str) else number(value)


def _join_first(texts: Sequence[str]) -> str:
    left = len(texts) - _MOST
    return " | ".join([*texts[:_MOST], *([f"and {left:,} more"] if left > 0 else [])])


Tone = Literal["good", "bad", "open", "plain"]
"""How a figure is to be taken; the page says it by colour, by a sign and by a word."""


@dataclass(frozen=True)
class Mark:
    """A verdict of one word."""

    tone: Tone
    word: str


@dataclass(frozen=True)
class Meter:
    """A share of 1 as a bar, with its figure."""

    share: float
    text: str


Cell = str | Mark | Meter


@dataclass(frozen=True)
class Paragraph:
    kind: ClassVar[str] = "text"
    text: str
    tone: Literal["", "soft", "warn"] = ""


@dataclass(frozen=True)
class Bullets:
    kind: ClassVar[str] = "bullets"
    items: Sequence[str]
    more: str = ""


@dataclass(frozen=True)
class Command:
    """A command that tells more."""

    kind: ClassVar[str] = "command"
    text: str


@dataclass(frozen=True)
class PageTable:
    kind: ClassVar[str] = "table"
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    more: str = ""
    caption: str = ""


@dataclass(frozen=True)
class ValueShare:
    """One value of an attribute: its share of the rows before and after; only the owner knows the first."""

    label: str
    after: float
    before: float | None = None


@dataclass(frozen=True)
class Bars:
    """How often each value occurs, one bar for each."""

    kind: ClassVar[str] = "bars"
    name: str
    says: str
    lines: Sequence[ValueShare]
    more: str = ""


@dataclass(frozen=True)
class Curve:
    """A distribution of numbers before and after, as the outlines of two histograms in SVG's path syntax."""

    kind: ClassVar[str] = "curve"
    name: str
    says: str
    before: str
    after: str
    ends: tuple[str, str]
    told: str
    """The same in words, for readers who cannot see it."""


@dataclass(frozen=True)
class LabelBox:
    """A label of a tree: where its box begins, how wide it is, and the middle of its line; in pixels."""

    x: float
    y: float
    wide: float
    text: str
    kind: Literal["", "on", "rest"] = ""
    """`on`: the release shows it; `rest`: it stands for labels that are not drawn."""


@dataclass(frozen=True)
class TreePicture:
    """A hierarchy: its labels in boxes, joined by lines in SVG's path syntax."""

    kind: ClassVar[str] = "tree"
    name: str
    says: str
    size: tuple[float, float]
    branches: str
    boxes: Sequence[LabelBox]
    heads: Sequence[tuple[float, str]]
    """Where each level begins, and what it is called."""
    told: str
    """The same in words, for readers who cannot see it."""


@dataclass(frozen=True)
class Grid:
    """Small pictures side by side."""

    kind: ClassVar[str] = "grid"
    cards: Sequence[Bars | Curve | TreePicture]
    more: str = ""
    key: bool = False
    """Whether to explain which colour is before and which after."""


@dataclass(frozen=True)
class Association:
    """How strongly two attributes go together, from 0 to 1, before and after."""

    names: str
    before: float
    after: float


@dataclass(frozen=True)
class Pairs:
    kind: ClassVar[str] = "pairs"
    caption: str
    pairs: Sequence[Association]
    more: str = ""


@dataclass(frozen=True)
class Details:
    """What most readers need not see at once."""

    kind: ClassVar[str] = "details"
    summary: str
    blocks: Sequence["Block"]


Block = Paragraph | Bullets | Command | PageTable | Grid | Pairs | Details


@dataclass(frozen=True)
class Card:
    """One fact of the first screen."""

    title: str
    figure: str
    says: str
    tone: Tone = "plain"
    share: float | None = None


@dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    kind: str
    lead: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    foot: str
    warning: str = ""
    verdict: str = ""
    """The last line, which the first screen shows too."""
    sign_off: Sequence[tuple[str, Sequence[str]]] = ()
    """What the last page states before it is signed: headings, each with what is to be read there."""


def and_more(left: int, what: str) -> str:
    """Format a remark about what is not listed.

    >>> and_more(3, "columns"), and_more(0, "columns")
    ('and 3 more columns', '')
    """
    return f"and {left:,} more {what}" if left > 0 else ""


def percent(part: float, whole: float = 1.0) -> str:
    """Format a share; one above 0 is never shown as 0 %, and one below 1 never as 100 %.

    >>> percent(1, 3), percent(1, 100_000), percent(99_999, 100_000), percent(0, 5), percent(3, 3)
    ('33.3 %', '<0.1 %', '>99.9 %', '0 %', '100 %')
    """
    share = part / whole if whole else 0.0
    if share in {0.0, 1.0}:
        return f"{share:.0%}".replace("%", " %")
    if share < 0.001:
        return "<0.1 %"
    return ">99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def format_count(count: int, one: str, several: str | None = None) -> str:
    """Format a number with its noun.

    >>> format_count(1, "row"), format_count(2_000, "row"), format_count(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"
