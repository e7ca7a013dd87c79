"""The manifests of a release as documents: the public one says what the release shows anyway, the private one all."""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from shoal.attacks.attack import NONE_SENSITIVE, Channel
from shoal.errors import BadInput, ShoalWarning
from shoal.policy.document import FORMAT, Policy
from shoal.runtime import SummaryRepr
from shoal.verify.release_files import read_json


class FrozenDict(dict[str, Any]):
    """A dictionary that does not change.

    >>> FrozenDict(k=5)["k"] = 6
    Traceback (most recent call last):
    TypeError: a manifest does not change
    """

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a manifest does not change")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type["FrozenDict"], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def freeze(value: Any) -> Any:
    """Return the same value with lists as tuples and dictionaries that do not change.

    >>> freeze({"require": [{"k": 5}]})
    {'require': ({'k': 5},)}
    """
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(part) for key, part in value.items()})
    return tuple(freeze(part) for part in value) if isinstance(value, list | tuple) else value


def to_plain(value: Any) -> Any:
    """Return the same value as JSON has it: tuples as lists, fixed dictionaries as plain ones.

    >>> to_plain(freeze({"require": [{"k": 5}]}))
    {'require': [{'k': 5}]}
    """
    if isinstance(value, Mapping):
        return {key: to_plain(part) for key, part in value.items()}
    return [to_plain(part) for part in value] if isinstance(value, list | tuple) else value


FIXED = AfterValidator(freeze)
"""Makes the value of a manifest field immutable; its JSON Schema stays that of the plain type."""
Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A number of rows, classes, people."""
Figure = Annotated[float, Field(allow_inf_nan=False)]
Step = Annotated[int | float, Field(gt=0, allow_inf_nan=False)]
Bound = Annotated[int | float, Field(allow_inf_nan=False)]
Character = Annotated[str, Field(min_length=1, max_length=1)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Statistic = Literal["lo", "hi", "min", "max", "mean", "median", "mode"]
"""Which number of its class a column tells."""


FILE, COUNT = "counterfeits.csv", "counterfeits"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MethodSummary(_Frozen):
    """How the recoding was found."""

    algorithm: str
    metric: str
    score: float
    proved: bool
    gap: float | None = None
    nodes: int | None = None
    """Number of nodes of the lattice, where one was searched."""
    asked: int | None = None
    """Questions of the search; each was remembered, inferred, or checked."""
    inferred: int | None = None
    checked: int | None = None
    rolled_up: int | None = None
    """Frequency sets made from another one; `grouped`: from the table's own classes."""
    grouped: int | None = None
    solutions: tuple[tuple[int, ...], ...] | None = None
    """All nodes that the algorithm returned, where it returns a set, in the order of the recoding's levels."""
    seconds: float | None = None
    margin: int | None = None
    """By how much the search asked for a larger k than promised: a secret."""


class RecodingEntry(_Frozen):
    kind: Literal["node", "boxes", "cells", "clusters", "groups"]
    levels: Annotated[dict[str, Count], FIXED] | None = None
    """Level of each quasi-identifier, in a recoding of kind `node`."""
    stars: tuple[str, ...] | None = None
    """Quasi-identifiers whose level is the top for every value, in a recoding of kind `node`."""
    tops: Annotated[dict[str, str], FIXED] | None = None
    """Labels of `stars` whose hierarchy names its root; the others are `*`."""
    labels: Annotated[dict[str, Count], FIXED] | None = None
    """How many different labels each released column shows, in a recoding of any other kind."""
    by_point: bool | None = None
    """Whether the private folder tells in which box a point lies, since the rows were too many for a row map."""


class RowCounts(_Frozen):
    read: Count
    released: Count
    suppressed: Count
    added: Count = 0
    shown: Count = 0
    """Suppressed rows that stay in the table, all their quasi-identifiers `*`."""


class PublicRows(_Frozen):
    released: Count
    suppressed: Count
    added: Count = 0
    shown: Count = 0


class ExceededSummary(_Frozen):
    """The moment when more rules were lost or made up than h allows."""

    lost: float
    """LR at that moment."""
    ghosts: float
    """GR at that moment."""
    taken_back: int
    """How many rows, changed last, were taken back."""


class BlockingSummary(_Frozen):
    """What was done about inference channels."""

    by: str
    channels: int
    """How many channels there were."""
    left: int
    why: str | None = None
    """Why some channels are left, or blocking ended before its time."""
    exceeded: ExceededSummary | None = None
    """LR and GR when one of them passed h; left out if none did."""
    lost: float
    """LR: the share of the other rules that are gone."""
    ghosts: float
    """GR: the share of the present rules that there were not before."""
    passes: int
    seen_without_nulls: int | None = None
    """How many channels a miner who drops rows without a value still sees."""
    rules: tuple[str, ...]
    unblocked: tuple[str, ...]


class RepublishSummary(_Frozen):
    """What a release adds to the ones before it, and what all of them tell together."""

    way: str
    release: int
    """Number of releases so far, this one included."""
    people: int
    """How many people the composition attack looked at: everybody who is in one of the releases."""
    exposed: int
    finding: str
    figures: Annotated[dict[str, Any], FIXED]


class PublicRepublish(_Frozen):
    way: str
    release: Count


class Classes(_Frozen):
    """How many classes the released table has, and their sizes in rows, also where a policy counts persons."""

    count: Count
    min: Count
    max: Count
    mean: Figure


class ModelSummary(_Frozen):
    """A promise: what was asked, what the file attains as counted by verify.

    In the public manifest `attained` and `worst` are told only as far as the released table alone tells them.
    """

    model: str
    attribute: str | None = None
    asked: Annotated[dict[str, Any], FIXED]
    attained: Annotated[dict[str, Any], FIXED]
    holds: bool
    with_added: bool | None = None
    """Whether it holds only because of rows that were added."""
    worst: Count | None = None
    """How large the class is that protects its members least, where one does."""


def fewest_persons(models: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the least number of persons in a class, from the promises of a private manifest; None if none tells it.

    >>> fewest_persons([{"model": "k-anonymity", "attained": {"k": 6}}, {"model": "t-closeness", "attained": {}}])
    6
    """
    found = (each["attained"].get("k") for each in models if each["model"] == "k-anonymity")
    return next((k for k in found if k is not None), None)


class SeparateTable(_Frozen):
    """The other file of a release in two tables, written like the first: how often each value occurs in each group."""

    file: str | None = None
    sha256: Hash | None = None
    columns: tuple[str, ...]


class Data(_Frozen):
    """The released file and how to read it."""

    file: str | None = None
    sha256: Hash | None = None
    format: Literal["csv", "parquet", "frame"]
    delimiter: Character = ","
    quote: Character = '"'
    missing: str = ""
    spreadsheet_safe: bool = False
    """Whether text that a spreadsheet would run as a formula has a ' in front of it, one more than it had.

    So has what follows a `;`, `,`, `|`, tab or line break inside a cell, where another reader could begin a cell.
    """
    columns: tuple[str, ...]
    partitions: Annotated[dict[str, Literal["text", "integer"]], FIXED] | None = None
    """Columns that the names of folders tell, `region=north/`, and not the files in them."""
    separate: SeparateTable | None = None


Advice = Literal["publish", "of little use", "think again", "do not publish"]
"""What is advised: "of little use" means that it is safe to publish, but that columns or rows of it say nothing."""


class Remedy(_Frozen):
    """A change of the policy that was tried on the same table or a sample of it, and what comes of it."""

    change: str
    """The change, in the words of a policy."""
    policy: Annotated[dict[str, Any], FIXED]
    """Sections of the policy as they are then; of `attributes`, the columns that change."""
    toml: str = ""
    """The lines of a policy file that change, under comments that say where they go."""
    before: float
    """Loss of the release as it is."""
    after: float
    """Loss of the release that comes of the change, over the columns that it has."""
    exposed: int = 0
    """Rows that the worst attack still exposes."""
    advice: Advice | None = None
    """What is advised then; None where it was tried on a sample alone, which promises nothing.

    Of a change that is not named first and does not lead to "publish", quick attacks alone tell.
    """
    dropped: int = 0
    """Quasi-identifiers that it leaves out."""
    sample: int | None = None
    """Rows that it was tried on, where that are not all: loss and rows exposed are estimates then."""

    def applied_to(self, policy: Policy) -> Policy:
        """Return the policy after the change."""
        changed = {**dict(policy), **self.policy}
        with warnings.catch_warnings(action="ignore", category=ShoalWarning):  # what is ignored then was said of it
            return Policy(**{**changed, "attributes": {**policy.attributes, **self.policy.get("attributes", {})}})


def join_names(names: Sequence[str], most: int = 8) -> str:
    """Join names with commas and "and", as in a sentence; of many only the first.

    >>> join_names(["age"]), join_names(["age", "sex", "zip"]), join_names(["a", "b", "c"], 2)
    ('age', 'age, sex and zip', 'a, b and 1 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def say_repeats(names: str, often: str) -> str:
    """Say that a column repeats, or that several do together.

    >>> say_repeats("patient", "2 values on 3 rows"), say_repeats("name and born", "2 combinations on 3 rows")
    ('patient repeats', 'name and born repeat together')
    """
    return f"{names} {'repeat together' if 'combinations' in often else 'repeats'}"


class Recommendation(_Frozen):
    """Whether to publish a release, and which changes of the policy would help."""

    holds: bool
    """Whether every promise holds."""
    attacks: Annotated[dict[str, int], FIXED]
    """Rows that each kind of attack exposes, of those that were tried."""
    succeeding: Annotated[dict[str, tuple[str, ...]], FIXED] = {}
    """Names of the attacks that succeed, by their kind; the first exposes that many rows."""
    attacks_left: tuple[str, ...] = ()
    """Attacks that were left to an audit with the original: the advice to publish holds if they find nobody."""
    not_looked_at: Annotated[dict[str, str], FIXED] = {}
    """Kinds of attack that were not tried, and why."""
    starred: tuple[str, ...] = ()
    """Quasi-identifiers that show `*`, or the label of the top, in every row."""
    mostly_starred: Annotated[dict[str, int], FIXED] = {}
    """Quasi-identifiers that show `*`, or the label of the top, in more than half of the rows, and in how many."""
    tops: Annotated[dict[str, str], FIXED] = {}
    """What these quasi-identifiers show there, where it is not `*` alone."""
    blank: int = 0
    """Rows that show `*`, or the label of the top, in every quasi-identifier."""
    vanished: Annotated[dict[str, int], FIXED] = {}
    """Quasi-identifiers of few values, and how many of these no row shows any more, not even as part of a group."""
    repeated: Annotated[dict[str, str], FIXED] = {}
    """Dropped columns that name persons who have several rows, though rows were counted; and how often they repeat."""
    exact: Annotated[dict[str, int], FIXED] = {}
    """Sensitive columns in which many rows, as many as told, hold a value that no other row has."""
    looks_sensitive: Annotated[dict[str, str], FIXED] = {}
    """Columns that look sensitive, and why; yet the policy gives them another role and does not confirm it."""
    looks_known: Annotated[dict[str, str], FIXED] = {}
    """Columns whose names say that others know them of people, and what; yet they are published as they are."""
    unpromised: tuple[str, ...] = ()
    """Sensitive columns about which nothing is promised."""
    unique_after_rounding: Annotated[dict[str, int], FIXED] = {}
    """Rounded columns in which some rows, as many as told, still hold a value that no other row has."""
    findings: str
    """What holds and what the attacks found, as the published table tells it."""
    advice: Advice
    sentence: str
    """The verdict in one line: the findings, the advice, and the cheapest change that helps."""
    remedies: tuple[Remedy, ...] = ()
    """Changes that help, the best first."""
    untried: tuple[str, ...] = ()
    """Changes that were not tried on the whole table, since that would have taken too long."""

    @property
    def brief(self) -> str:
        """The advice with its reasons, in a few words: "do not publish (3 rows can be tied to a person)"."""
        reasons = [*self._list_exposures()]
        if self.advice == "think again":
            reasons += [] if self.attacks else ["no attack was tried"]
            reasons += [f"{name} is {self.tops.get(name, '*')} in every row" for name in self.starred]
            reasons += [f"rows were counted, though {say_repeats(*each)}" for each in self.repeated.items()]
            reasons += [f"the exact value of {name} finds {_format_rows(rows)}" for name, rows in self.exact.items()]
            reasons += [f"{name} looks sensitive and is not declared so" for name in self.looks_sensitive]
            reasons += [f"{name} looks known to others and is published as it is" for name in self.looks_known]
            reasons = reasons or ["most of the detail is lost"]
        if self.advice == "of little use":
            reasons += [f"{name} is {self.tops.get(name, '*')} in most rows" for name in self.mostly_starred]
            reasons = reasons or [f"{_format_rows(self.blank)} say nothing in any quasi-identifier"]
        if self.advice in CONDITIONAL and self.nothing_sensitive:
            reasons.append(NOTHING_SENSITIVE)
        words = ADVICE_WORDS[self.advice] + (f" ({', '.join(reasons)})" if reasons else "")
        return f"{words}{self._safe_only}{self.condition}"

    @property
    def conditional_advice(self) -> str:
        """The advice in words, with its condition."""
        return f"{ADVICE_WORDS[self.advice]}{self._safe_only}{self.condition}"

    @property
    def _safe_only(self) -> str:
        """Tell apart, before a condition, that a release is of little use from what depends on the condition."""
        return "; safe" if self.advice == "of little use" and self.condition else ""

    @property
    def condition(self) -> str:
        """On what the advice to publish depends, to be appended to it; empty where it depends on nothing."""
        if self.advice not in CONDITIONAL or not self.attacks_left:
            return ""
        were = "were" if len(self.attacks_left) > 1 else "was"
        return f" if an audit with the original finds no more: {join_names(self.attacks_left)} {were} not tried"

    @property
    def nothing_sensitive(self) -> bool:
        """Whether nothing was tried about what is learned of people, since no column is declared sensitive."""
        return self.not_looked_at.get(str(Channel.ATTRIBUTE)) == NONE_SENSITIVE

    def _list_exposures(self) -> Iterator[str]:
        """Yield what each kind of attack learns, of those that succeed."""
        for channel in Channel:
            if rows := self.attacks.get(str(channel), 0):
                by = self.succeeding.get(str(channel), ())
                yield channel.describe(by, _format_rows(rows), "sensitive value")


ADVICE_WORDS: Mapping[Advice, str] = {
    "publish": "publish",
    "of little use": "safe to publish, but of little use",
    "think again": "think again",
    "do not publish": "do not publish",
}
"""What people are told, by the advice."""
CONDITIONAL: tuple[Advice, ...] = ("publish", "of little use")
"""Advice that depends on what attacks find that were left to an audit."""
NOTHING_SENSITIVE = f"{NONE_SENSITIVE}, so nothing about what is learned of people was tried"


def _format_rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


class Manifest(SummaryRepr, _Frozen):
    """Everything about a release; belongs in the private folder."""

    shoal: str
    format: Literal[1] = FORMAT
    policy: Annotated[dict[str, Any], FIXED]
    method: MethodSummary
    recoding: RecodingEntry
    rows: RowCounts
    classes: Classes
    models: tuple[ModelSummary, ...]
    metrics: Annotated[dict[str, float], FIXED]
    measures: Annotated[dict[str, Any], FIXED] = {}
    """What the metrics are made of: per attribute, per pair of attributes, per size of class."""
    blocking: BlockingSummary | None = None
    republish: RepublishSummary | None = None
    data: Data
    warnings: tuple[str, ...] = ()
    recommendation: Recommendation | None = None
    """Whether to publish it; None until it was attacked, which is done once it stands in its place."""
    files: Annotated[dict[str, Hash], FIXED] | None = None
    """SHA-256 of every other file of the private folder but its report, by where it lies."""

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """What a glance shows; the verdict where there is one."""
        promises = [f"{each.model} {'holds' if each.holds else 'fails'}" for each in self.models]
        advice = [] if self.recommendation is None else [("advice", self.recommendation.conditional_advice)]
        return [
            ("rows", f"{self.rows.read:,} read, {self.rows.released:,} released, {self.rows.suppressed:,} suppressed"),
            ("promises", ", ".join(dict.fromkeys(promises))),
            (self.method.metric, f"{self.method.score:.4g}"),
            *advice,
        ]

    def document(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)

    def without_times(self) -> Self:
        """Return the manifest without the durations, which differ between equal runs."""
        return self.model_copy(update={"method": self.method.model_copy(update={"seconds": None})})


class StoredManifest(Manifest):
    """The manifest of a private folder as it is read again."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # later versions may say more


class PublicManifest(_Frozen):
    """What may be published beside the table: nothing that the table does not show."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # later versions may say more

    shoal: str
    format: Literal[1] = FORMAT
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    persons: bool = False
    """Whether sizes and shares count persons, of whom one may have several rows."""
    statistics: Annotated[dict[str, tuple[str, Statistic]], FIXED] | None = None
    """Quasi-identifiers that tell a number of their class: the attribute it is about, and which number."""
    observed: tuple[str, ...] | None = None
    """Quasi-identifiers whose ranges are those of the class itself."""
    by_label: bool | None = None
    """Whether `observed` ranges are those of all rows that show the same range, not of the class."""
    rounded: Annotated[dict[str, Step], FIXED] | None = None
    """Columns whose numbers are rounded, and to multiples of what."""
    bottom: Annotated[dict[str, Bound], FIXED] | None = None
    """Rounded columns whose numbers below a bound are published as the bound."""
    top: Annotated[dict[str, Bound], FIXED] | None = None
    """Rounded columns whose numbers above a bound are published as the bound."""
    models: tuple[ModelSummary, ...]
    labels: Annotated[dict[str, tuple[str, ...]], FIXED]
    rows: PublicRows
    classes: Classes
    republish: PublicRepublish | None = None
    """Where the table was published before, or will be again."""
    data: Data

    def document(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


Stored = TypeVar("Stored", StoredManifest, PublicManifest)


def read_manifest(folder: Path, kind: type[Stored]) -> Stored:
    """Read the manifest of a folder strictly: unambiguous JSON, and every field of exactly its type."""
    document = read_json(folder / "manifest.json")
    if isinstance(document.get("format"), bool):
        raise BadInput(f"{folder.name}/manifest.json: true and false are no format")
    try:
        return kind.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as wrong:
        of = "private" if kind is StoredManifest else "published"
        first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"]))[:80]
        other = "out.private" if kind is StoredManifest else "out"
        raise BadInput(
            f"{folder.name}/manifest.json: this is not the manifest of a {of} folder, such as {other}: {at or 'it'} is "
            "not as it must be"
        ) from None
