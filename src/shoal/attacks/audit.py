"""Run every attack that fits a release, and give a verdict for each channel (S1.7)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from shoal.attacks import ATTACKS
from shoal.attacks.attack import LATER, NONE_SENSITIVE, Attack, Channel, Finding
from shoal.attacks.release_under_attack import Published, Truth
from shoal.errors import BadInput
from shoal.runtime import html_table
from shoal.runtime.events import report_progress

Verdict = Literal["protected", "protected unless more is known", "exposed", "not looked at"]
"""What an audit says of a channel; the second where only attackers succeed who know more than the release."""
_MOST_NAMED = 4
"""Most columns that a line names."""


def _name_some(columns: Sequence[str], joined_by: str = "and") -> str:
    """Return the names of columns as in a sentence; of many, only the first.

    >>> _name_some(["pay", "vote"]), _name_some("abcdef", "or")
    ('pay and vote', 'a, b, c or 3 other columns')
    """
    shown = [*columns[:_MOST_NAMED]]
    if len(columns) > _MOST_NAMED:
        shown = [*shown[:-1], f"{len(columns) - _MOST_NAMED + 1} other columns"]
    *others, last = shown or ["sensitive value"]
    return f"{', '.join(others)} {joined_by} {last}" if others else last


@dataclass(frozen=True)
class AuditLine:
    """The verdict on one channel."""

    channel: Channel
    verdict: Verdict
    people: int
    """How many people the worst attack exposes."""
    why: str
    columns: tuple[str, ...] = ()
    """Sensitive attributes whose values are told, where attacks say which."""
    attacks: tuple[str, ...] = ()
    """Names of the attacks that succeed, the one that exposes the most people first."""
    worst_columns: tuple[str, ...] = ()
    """Sensitive attributes of which the first of these attacks tells."""
    people_if_more_is_known: int = 0
    """How many people fall to attackers who know more than the release, where nobody does to others."""

    @property
    def verdict_text(self) -> str:
        return self.describe("record")

    def describe(self, what: str) -> str:
        """Return the verdict with how many are exposed, or would be to somebody who knows more."""
        people = self.people or self.people_if_more_is_known
        return f"{self.verdict}: {people:,} {what}{'' if people == 1 else 's'}" if people else self.verdict

    def describe_exposure(self, rows: str) -> str:
        """Return a sentence about what the worst attack learns of so many rows, and of which columns.

        >>> names = ("pay", "vote", "faith")
        >>> AuditLine(Channel.RULES, "exposed", 3, "", names, ("rules",), names).describe_exposure("3 rows")
        'rules tell the pay, vote or faith of 3 rows'
        """
        return self.channel.describe(self.attacks, rows, _name_some(self.worst_columns, "or"))

    def document(self) -> dict[str, Any]:
        return {
            "channel": str(self.channel),
            "verdict": self.verdict,
            "records": self.people,
            "why": self.why,
            **({"attacks": list(self.attacks)} if self.attacks else {}),
            **({"records_if_more_is_known": self.people_if_more_is_known} if self.people_if_more_is_known else {}),
        }


@dataclass(frozen=True)
class Doubt:
    """Why a channel is not protected, though no attack that was run exposes anybody through it."""

    why: str
    people: int = 0
    """How many records are exposed all the same."""


def doubts_of_rows(repeated: Mapping[str, str], found: str = "", people: int = 0) -> dict[Channel, Doubt]:
    """Return a doubt about record linkage where a column that names persons repeats, since rows were counted.

    `found` is appended to the reason; `people` is the number of records exposed all the same.
    """
    if not repeated:
        return {}
    (name, often), *_ = repeated.items()
    why = (
        f"rows were counted, and {name!r} repeats: {often}{found}; give a column that tells persons apart the role "
        "'unit', so that they are counted"
    )
    return {Channel.RECORD: Doubt(why, people)}


@dataclass(frozen=True, repr=False)
class Audit:
    """What the attacks found, and which attacks could not be run."""

    findings: tuple[Finding, ...]
    skipped: Mapping[str, str]
    """Why an attack was not run, by its name."""
    absent: Mapping[Channel, str]
    """What is missing to look at a channel at all."""
    doubts: Mapping[Channel, Doubt] = field(default_factory=dict)
    """Why channels are not protected through which no attack exposes anybody."""
    agreement: str = ""
    """Whether it agrees with the verdict that was given when the release was made, where that is known."""
    taken_as_sensitive: tuple[str, ...] = ()
    """Quasi-identifiers of the release that were attacked as sensitive attributes, and not taken as known."""

    def __repr__(self) -> str:
        return f"Audit({'; '.join(f'{line.channel}: {line.verdict_text}' for line in self.lines)})"

    def _repr_html_(self) -> str:
        told = [(line.channel, line.verdict_text, self._reason(line)) for line in self.lines]
        return html_table(f"{len(self.findings)} attacks run, {len(self.skipped)} not", told)

    def _reason(self, line: AuditLine) -> str:
        """Return why a channel was not looked at, else an empty text: sentences of attacks are too long here."""
        return line.why if line.verdict == "not looked at" else ""

    @cached_property
    def lines(self) -> tuple[AuditLine, ...]:
        """One line for each channel, from the attacks that were run, never from what was promised."""
        return tuple(self._line(channel) for channel in Channel)

    @property
    def tried(self) -> tuple[AuditLine, ...]:
        """The lines of channels that some attack looked at."""
        return tuple(line for line in self.lines if line.verdict != "not looked at")

    @property
    def successes(self) -> tuple[AuditLine, ...]:
        """The lines of channels through which people are exposed."""
        return tuple(line for line in self.lines if line.verdict == "exposed")

    @property
    def not_looked_at(self) -> dict[str, str]:
        """Why nothing is known of some channels."""
        return {str(line.channel): line.why for line in self.lines if line.verdict == "not looked at"}

    @property
    def exposed(self) -> bool:
        return bool(self.successes)

    @property
    def attacks_left(self) -> tuple[str, ...]:
        """Names of attacks that could expose somebody by themselves, and were left to a longer audit.

        Those that were tried on some columns only are named with the others: "definetti on pay".
        """
        later = [name for name, why in self.skipped.items() if why.endswith(LATER) and not ATTACKS[name].assumes]
        partly = [f"{each.attack} on {_name_some(each.columns_left)}" for each in self.findings if each.columns_left]
        return *later, *partly

    @property
    def left_channels(self) -> frozenset[Channel]:
        """The channels of which a longer audit may find more."""
        return frozenset(ATTACKS[name.partition(" ")[0]].channel for name in self.attacks_left)

    def document(self) -> dict[str, Any]:
        """Return the audit as a JSON object."""
        return {
            "verdict": [line.document() for line in self.lines],
            "attacks": [finding.document() for finding in self.findings],
            "not_run": dict(self.skipped),
            **({"taken_as_sensitive": list(self.taken_as_sensitive)} if self.taken_as_sensitive else {}),
            **({"agreement": self.agreement} if self.agreement else {}),
        }

    def _line(self, channel: Channel) -> AuditLine:
        pieces = [
            piece for finding in self.findings for piece in _split_by_channel(finding) if piece.channel is channel
        ]
        if not pieces:
            return AuditLine(channel, "not looked at", 0, self.absent.get(channel, "nothing could be run"))
        worst = sorted((each for each in pieces if each.exposed), key=lambda each: (each.assumes, -each.exposed))
        counted = [each for each in worst if not each.assumes]
        said = [each.sentence for each in worst]
        if counted:
            columns = tuple(dict.fromkeys(name for each in counted for name in each.columns))
            names = tuple(dict.fromkeys(each.attack for each in counted))
            return AuditLine(
                channel, "exposed", counted[0].exposed, "; ".join(said), columns, names, counted[0].columns
            )
        doubt = self.doubts.get(channel)
        if doubt is not None:
            return AuditLine(channel, "exposed" if doubt.people else "not looked at", doubt.people, doubt.why)
        held = [each.sentence for each in pieces if not each.exposed]
        knowing = max((each.exposed for each in worst if each.needs_knowledge), default=0)
        verdict: Verdict = "protected unless more is known" if knowing else "protected"
        return AuditLine(channel, verdict, 0, "; ".join([*held, *said]), people_if_more_is_known=knowing)


def audit(
    published: Published,
    attacks: Sequence[tuple[str, Attack | str]],
    truth: Truth | None = None,
    absent: Mapping[Channel, str] | None = None,
    tell: Callable[[str, float], None] = lambda *_: None,
    known: Mapping[str, Finding] | None = None,
) -> Audit:
    """Run attacks by name; one that is not to be run is given by the reason why, and one that does not fit says so.

    Findings that are `known` stand in place of attacks that would find them again.

    >>> import pyarrow as pa
    >>> from shoal.attacks import Homogeneity
    >>> from shoal.data.codes import Table, encode
    >>> shown = {"age": ["3*", "3*", "4*", "4*"], "ill": ["flu", "flu", "flu", "hiv"]}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in shown.items()}, 4)
    >>> found = audit(Published.of("the frame", table, ["age"], ["ill"]), [("homogeneity", Homogeneity())])
    >>> [(str(line.channel), line.verdict_text) for line in found.lines][:2]
    [('record linkage', 'not looked at'), ('attribute linkage', 'exposed: 2 records')]
    """
    findings, skipped = [], {}
    for done, (name, how) in enumerate(attacks):
        tell(name, done / len(attacks))
        if isinstance(how, str):
            skipped[name] = how
            continue
        if known and name in known:
            findings.append(known[name])
            continue
        try:
            findings.append(how.on(published, truth))
        except BadInput as why:
            skipped[name] = str(why).removeprefix(f"{published.name}: ")
        except MemoryError:
            skipped[name] = "not measured: it needs more memory than there is"
    tell("", 1.0)
    return Audit(tuple(findings), skipped, absent or {})


def quick_audit(published: Published, *, weighted: bool = False, known: Mapping[str, Finding] | None = None) -> Audit:
    """Run every quick attack that reads the release alone; for the others, say why not.

    What is `known` already of the same release is not run again.
    """
    fitting = [kind for kind in ATTACKS.values() if published.sensitive or not kind.of_sensitive]
    attacks = [(kind.name, kind.for_report(published, weighted=weighted)) for kind in fitting]
    # what is run first, then what is only slow, then what needs more than the release
    attacks.sort(key=lambda each: (isinstance(each[1], str), each[1] != LATER))
    absent = absent_channels(published.sensitive)
    return audit(published, attacks, absent=absent, tell=lambda _, share: report_progress(share), known=known)


def maker_audit(published: Published, truth: Truth, light: Audit | None = None, share: float = 1.0) -> Audit:
    """Run the attacks that the maker of a release, who has its hierarchies and the original, can run at little cost.

    `light` is an earlier quick audit, made without these. A slow attack is run only where no other attack of its
    channel succeeds; the result names what is left to a full audit with the original. Of a sample, `share` is the share
    of all rows that it has.
    """
    known = {} if light is None else {finding.attack: finding for finding in light.findings}
    known = {name: finding for name, finding in known.items() if not ATTACKS[name].checked}
    found = quick_audit(published, known=known)
    for name in tuple(found.skipped):
        kind = ATTACKS[name]
        if not kind.slow or kind.needs or kind.assumes or _is_exposed(found, kind.channel):
            continue
        how = kind.for_maker(published, share)
        more = audit(published, [(name, how)], truth)
        skipped = {other: reason for other, reason in found.skipped.items() if other != name}
        found = replace(found, findings=(*found.findings, *more.findings), skipped={**skipped, **more.skipped})
    return found


def _is_exposed(found: Audit, channel: Channel) -> bool:
    """Whether an audit found people exposed through a channel."""
    return any(line.channel is channel for line in found.successes)


def absent_channels(sensitive: Sequence[str]) -> dict[Channel, str]:
    """Say what is missing to look at some channels, where there is nothing but a release."""
    absent = {Channel.COMPOSITION: "no other release about these people was given"}
    if not sensitive:
        absent |= dict.fromkeys((Channel.ATTRIBUTE, Channel.RULES), NONE_SENSITIVE)
    return absent


@dataclass(frozen=True)
class _Piece:
    """What one finding says about one channel, in few words."""

    attack: str
    channel: Channel
    exposed: int
    sentence: str
    assumes: bool
    """Whether the attack assumes knowledge beyond the release, or is no better than a guess."""
    columns: tuple[str, ...] = ()
    needs_knowledge: bool = False
    """Whether the attack assumes knowledge beyond the release."""


def _split_by_channel(finding: Finding) -> list[_Piece]:
    """Return what a finding says about each channel; joining with a register is about two."""
    figures = finding.figures
    if finding.attack != "join":
        return [_make_piece(finding, finding.exposed)]
    certain = figures["certain_without_unique_match"]
    told = f"of {certain:,} of the register all candidates have one value"
    shared = _Piece(finding.attack, Channel.ATTRIBUTE, certain, told, assumes=False)
    return [_make_piece(finding, figures["unique_matches"]), *([shared] if certain else [])]


def _make_piece(finding: Finding, exposed: int) -> _Piece:
    """Return what a finding says about its own channel."""
    kind = ATTACKS[finding.attack]
    sentence = kind.words(finding.figures, exposed) or finding.sentence
    assumes = kind.assumes or _is_no_better_than_chance(finding)
    return _Piece(finding.attack, finding.channel, exposed, sentence, assumes, finding.columns, kind.assumes)


def _is_no_better_than_chance(finding: Finding) -> bool:
    """Whether an attack that guesses everybody's value does no better than a guess without the release."""
    if finding.attack != "definetti" or finding.success is None or finding.baseline is None:
        return False
    return not finding.success.is_above(finding.baseline)
