"""Advice on a release: whether to publish it and, if not, which changes of its policy would help.

Each change is solved on the same table and attacked like the release itself, so its loss is no estimate. How many are
tried depends on the size of the table and never on a clock: equal inputs give equal advice. Where the table is too
large even for a few, they are tried on a sample of its rows; the best are then tried on all rows, or else promise
nothing.
"""

import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import count, zip_longest
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks.attack import NONE_SENSITIVE, Channel
from shoal.attacks.audit import Audit, AuditLine, maker_audit, quick_audit
from shoal.attacks.definetti import DeFinetti
from shoal.attacks.release_under_attack import Truth
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Column, Table, sample_table
from shoal.data.packed_keys import join_columns
from shoal.engine_port import Engine, ReleasedRows, Source
from shoal.engines.choice import recode
from shoal.errors import ShoalError, ShoalWarning
from shoal.explore.column_guess import find_giveaways, look_identifying, look_sensitive, rounding_step
from shoal.explore.draft_policy import written_step
from shoal.explore.policy_changes import Change, Troubles, changes_that_may_help
from shoal.hierarchy.taxonomy import TOP, say_tops
from shoal.methods import ALGORITHMS, Shape
from shoal.metrics.cell_measures import loss as measured_loss
from shoal.models.k_anonymity import KAnonymity
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.problem import (
    dropped_by_decision,
    exact_columns,
    has_exact_values,
    repeated_persons,
    unique_after_rounding,
)
from shoal.publish.contents import VerdictAtRelease
from shoal.publish.manifest import (
    ADVICE_WORDS,
    CONDITIONAL,
    NOTHING_SENSITIVE,
    Advice,
    Manifest,
    ModelSummary,
    Recommendation,
    Remedy,
    join_names,
    say_repeats,
)
from shoal.publish.release_views import published_from_plan
from shoal.publish.released_table import ReleasedTable
from shoal.publish.summary import compare_with_original, with_saveable_hierarchies
from shoal.recoding.columns import ReleasedColumn
from shoal.roles import Role
from shoal.runtime import whole_percent
from shoal.runtime.events import only_trying, phase
from shoal.solve import make_plan

_seconds: ContextVar[float | None] = ContextVar("seconds", default=None)


@contextmanager
def advice_time_budget(seconds: float | None) -> Iterator[None]:
    """Set how many seconds the releases of this block may spend on looking for changes that help.

    At least the time of their own search is allowed. None keeps the setting around the block, by default an effort that
    depends on no clock; 0 allows no search at all.
    """
    token = _seconds.set(_seconds.get() if seconds is None else seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


_FIRSTS = 3
"""Number of the best single changes to which a second one is added."""
_MOST = 16
"""Changes that are tried at once, and again as second ones."""
_WORK = 4_000_000.0
"""Usual effort, in steps of about a microsecond each; they are counted and not measured."""
_FEWEST = 3
"""Changes that the effort must allow on the whole table; otherwise only a sample is used."""
_FIRST_PART = 0.6
"""Part of the effort for single changes, where all are tried on the whole table; the rest is for second ones."""
_SCREENED = 3
"""One part in so many of the effort is spent on a sample, to choose changes for the whole table."""
_CONFIRMED = 2
"""Changes that did best on a sample and are tried on all rows, until one does as well there."""
_CONFIRMING = 3_000_000.0
"""Most steps that such a change may take."""
_LEAST_SAMPLE = 500
"""Rows of the smallest sample: fewer say nothing about a table."""
_ONCE = 20_000.0
"""Steps that a change takes on a table of any size."""
_QUESTION = 0.03
"""Steps of a question of a search, for each row."""
_QUESTIONS = 100
"""Questions that any search may ask; on a sample, also the rounds of local recoding."""
_HARDER = 2.0
"""How many times the steps of k-anonymity alone local recoding takes for other promises."""
_GUESS = (100.0, 12.0)
"""Steps of the deFinetti attack, for each row, and for each row and sensitive value."""
_SAFE = 1
"""Rank of the worst advice of a release that is safe to publish."""
_RANKS: tuple[Advice, ...] = ("publish", "of little use", "think again", "do not publish")


_NOTHING_LEFT = 0.95
"""Loss above which a release says next to nothing."""


@phase("auditing")
def audit_with_original(release: ReleasedTable, light: Audit) -> Audit:
    """Return what attacks find when they may use the original; the light audit itself where rows are not in memory."""
    if not light.tried or release.shown.rows is None:
        return light
    published = published_from_plan(release.plan, release.policy, release.row_by_row, release.separate)
    with warnings.catch_warnings(action="ignore", category=ShoalWarning):  # hierarchies have been warned of
        return maker_audit(published, Truth(release.source.table, release.rows), light)


def advise(
    release: ReleasedTable, manifest: Manifest, audit: Audit, starred: Mapping[str, str], *, reproducible: bool = False
) -> Iterator[Manifest]:
    """Yield the manifest with the verdict: what holds, what attacks found, whether to publish.

    Then, unless it is to be published as it is, yield it once more with what would help, which takes long to find out.
    `starred` are the columns that show `*` or the label of the top in every row, and what they show.
    """
    repeated, loss, hidden = (
        _find_repeated_persons(release),
        manifest.metrics.get("loss"),
        find_hidden(release, starred),
    )
    exact = exact_columns(release.source.table, release.policy, release.plan.roles)
    steps = {name: rounding_step(release.source.table[name]) for name in exact}
    sensitive = find_sensitive_looks(release.source.table, release.policy, release.plan.roles)
    unpromised = find_unpromised(release.source.table, release.policy)
    known = find_identifying_looks(release)
    said = recommend(
        manifest.models, audit, starred, loss, repeated, exact, hidden, steps, sensitive, unpromised, known
    )
    said = _tell_giveaways(said, release)
    said = _tell_unique_values(said, unique_after_rounding(release.source.table, release.policy, release.plan.roles))
    # the findings already say what helps with exact values
    safe = advice_on(audit, starred, loss, repeated, (), hidden) == "publish"
    if safe or _reason_not_to_search(release, audit) is None:  # otherwise the second one takes no time
        yield manifest.model_copy(update={"recommendation": said})
    if not safe:
        with phase("looking for a better policy"):
            said = with_remedies(said, release, audit, hidden, reproducible=reproducible)
        said = _doubt_remedies(said, release)
        yield manifest.model_copy(update={"recommendation": said})


@dataclass(frozen=True)
class SensitiveLook:
    """Why a column looks sensitive, though the policy gives it another role."""

    why: str
    role: Role

    def describe(self, name: str) -> str:
        """Say what was not tried because of the role, and what helps."""
        article = "a " if self.role is Role.QUASI_IDENTIFIER else ""
        return (
            f"{name} looks sensitive ({self.why}) and is {article}{self.role}, so what is learned of it was not tried "
            f"(shoal audit OUT --sensitive {shlex.quote(name)}, in Python shoal.audit, tries it): make it sensitive, "
            "drop it, or, if others may know it of anybody, confirm = true"
        )


def find_sensitive_looks(table: Table, policy: Policy, roles: Mapping[str, Role]) -> dict[str, SensitiveLook]:
    """Return the quasi-identifiers and insensitive columns that look sensitive and whose role nobody has confirmed."""
    shown = {name: role for name, role in roles.items() if role in {Role.QUASI_IDENTIFIER, Role.INSENSITIVE}}
    looks = {name: look_sensitive(table[name], table.rows) for name in shown if name not in policy.confirmed}
    return {name: SensitiveLook(why, shown[name]) for name, why in looks.items() if why is not None}


@dataclass(frozen=True)
class IdentifyingLooks:
    """Columns that are published unchanged although others may know them of people."""

    columns: Mapping[str, str]
    """Those that nobody has confirmed, and what the header of each says."""
    found: int = 0
    """Rows that nobody else looks like, if these columns are known beside the quasi-identifiers."""
    confirmed: int = 0
    """The same for the insensitive columns that somebody has confirmed, if the rows are many."""

    def __bool__(self) -> bool:
        return bool(self.columns or self.confirmed)

    def describe(self) -> str:
        """Say what the columns look like, how many rows they find, and what helps.

        >>> IdentifyingLooks({"zip": "a postcode"}, 2).describe().partition(";")[0]
        'zip looks known to others (a postcode) and is published unchanged, by which 2 rows are unique'
        """
        if not self.columns:
            return f"{_format_rows(self.confirmed)} are unique by what is published unchanged, as confirmed"
        says = ", ".join(dict.fromkeys(self.columns.values()))
        several = len(self.columns) > 1
        look, are, it = ("look", "are", "them") if several else ("looks", "is", "it")
        unique = f", by which {_format_rows(self.found)} {'is' if self.found == 1 else 'are'} unique"
        role = "quasi-identifiers" if several else "a quasi-identifier"
        return (
            f"{join_names([*self.columns])} {look} known to others ({says}) and {are} published unchanged"
            f"{unique if self.found else ''}; make {it} {role}, drop {it}, or confirm = true"
        )


def find_identifying_looks(release: ReleasedTable) -> IdentifyingLooks:
    """Find the sensitive and insensitive columns whose headers say what others know of people, and count who is found.

    Insensitive columns are looked at for all such headers, sensitive ones only for those that name people.
    """
    columns = _list_identifying_columns(release.source.table, release.policy, release.plan.roles)
    confirmed = [name for name in release.policy.named(Role.INSENSITIVE) if name in release.policy.confirmed]
    unique = _count_found(release, confirmed)
    many = unique if has_exact_values(unique, release.source.table.rows) else 0  # a few were meant to be confirmed
    return IdentifyingLooks(columns, _count_found(release, [*columns]), many)


def _count_found(release: ReleasedTable, columns: Sequence[str]) -> int:
    """Count the rows that nobody else looks like, by what is shown and by columns published as they are.

    0 where there are no such columns, or the rows are not in memory.
    """
    table, shown = release.source.table, release.shown
    if not columns or shown.rows is None:
        return 0
    behind = shown.rows >= 0
    names = [name for names in release.plan.released_as.values() for name in names if name in shown.columns]
    # [released row] the codes of what it shows, then those of the columns that are published as they are
    codes = [(shown.columns[name].codes[behind], len(shown.columns[name].texts)) for name in names]
    codes += [(table[name].codes[shown.rows[behind]], table[name].size) for name in columns]
    return int((np.bincount(join_columns(codes)[0]) == 1).sum())


def _list_identifying_columns(table: Table, policy: Policy, roles: Mapping[str, Role]) -> dict[str, str]:
    """Return the columns published unchanged, and not confirmed, whose headers say what others know; and what."""
    shown = [name for name, role in roles.items() if role in {Role.INSENSITIVE, Role.SENSITIVE}]
    looks = {name: look_identifying(name) for name in shown if name not in policy.confirmed and table[name].size > 1}
    return {
        name: look.title
        for name, look in looks.items()
        if look is not None and (look.role is Role.IDENTIFIER or roles[name] is Role.INSENSITIVE)
    }


def find_unpromised(table: Table, policy: Policy) -> list[str]:
    """Return the sensitive columns of several values about which nothing is promised."""
    promised = {model.about for model in policy.promises}
    return [name for name in policy.named(Role.SENSITIVE) if name not in promised and len(table[name].values) > 1]


def _describe_unpromised(names: Sequence[str]) -> str:
    """Say about which sensitive columns nothing is promised, and the least that could be.

    >>> _describe_unpromised(["pay", "vote"])
    '; nothing is promised about pay and vote (the least would be distinct-l-diversity l = 2 for each)'
    """
    if not names:
        return ""
    each = " for each" if len(names) > 1 else ""
    shown = (
        names
        if len(names) <= _MOST_UNPROMISED
        else [*names[: _MOST_UNPROMISED - 1], f"{len(names) - _MOST_UNPROMISED + 1} more"]
    )
    return f"; nothing is promised about {join_names(shown)} (the least would be distinct-l-diversity l = 2{each})"


_MOST_UNPROMISED = 5
"""Most sensitive columns without a promise that a verdict names."""


def _doubt_remedies(said: Recommendation, release: ReleasedTable) -> Recommendation:
    """Return the recommendation with "think again" for changes after which columns still look sensitive."""
    table, policy = release.source.table, release.policy

    def doubt(remedy: Remedy) -> Remedy:
        if remedy.advice not in CONDITIONAL:
            return remedy
        changed = remedy.applied_to(policy)
        roles = {n: changed.attributes[n].role if n in changed.attributes else r for n, r in release.plan.roles.items()}
        looks = find_sensitive_looks(table, changed, roles) or _list_identifying_columns(table, changed, roles)
        return remedy.model_copy(update={"advice": "think again"}) if looks else remedy

    doubted = tuple(doubt(remedy) for remedy in said.remedies)
    if doubted[:1] == said.remedies[:1]:
        return said.model_copy(update={"remedies": doubted})
    sentence = said.sentence.replace(f"; {_HELPS}: ", f"; {_BETTER}: ")
    return said.model_copy(update={"remedies": doubted, "sentence": sentence})


def _tell_giveaways(said: Recommendation, release: ReleasedTable) -> Recommendation:
    """Return the recommendation with why columns are hidden: they nearly determine what something is promised about."""
    hidden = {*said.starred, *said.mostly_starred}
    if not hidden:
        return said
    table, policy = release.source.table, release.policy
    about = {model.about for model in policy.require if model.about is not None}
    known = [table[name] for name in policy.quasi_identifiers if name in hidden]
    found = find_giveaways(known, [table[name] for name in sorted(about)]) if release.shown.rows is not None else []
    if not found:
        return said
    words = "".join(f"; {pair}" for pair in found) + ". Advice: "
    return said.model_copy(update={"sentence": words.join(said.sentence.rsplit(". Advice: ", 1))})


def _tell_unique_values(said: Recommendation, unique: Mapping[str, int]) -> Recommendation:
    """Return the recommendation with the number of rows that a rounded value still finds, before the advice."""
    if not unique:
        return said
    told = " and ".join(f"{name} finds {_format_rows(rows)}" for name, rows in unique.items())
    words = f"; even rounded, the value of {told} (bottom, top or a larger round hide these). Advice: "
    sentence = words.join(said.sentence.rsplit(". Advice: ", 1))
    return said.model_copy(update={"sentence": sentence, "unique_after_rounding": dict(unique)})


def _find_repeated_persons(release: ReleasedTable) -> dict[str, str]:
    """Return the dropped columns that name persons who have several rows, where rows are counted."""
    if release.policy.unit is not None:
        return {}
    return repeated_persons(release.source.table, dropped_by_decision(release.policy, release.plan.roles))


@dataclass(frozen=True)
class Hidden:
    """What a release hides without its loss showing it."""

    rows: int = 0
    """How many rows it has."""
    columns: Mapping[str, int] = field(default_factory=dict)
    """Quasi-identifiers that are `*` or the top in more than half of the rows but not in all, and in how many."""
    blank: int = 0
    """Rows that are `*` or the top in every quasi-identifier."""
    vanished: Mapping[str, int] = field(default_factory=dict)
    """Quasi-identifiers of few values, and how many of these no row shows any more."""
    values: Mapping[str, int] = field(default_factory=dict)
    """How many values these quasi-identifiers have."""
    vanished_rows: Mapping[str, int] = field(default_factory=dict)
    """How many rows of the original hold a value that vanished."""
    tops: Mapping[str, str] = field(default_factory=dict)
    """What quasi-identifiers show that say nothing, where it is not `*` alone."""

    @property
    def many_blank(self) -> int:
        """Rows that are `*` or the top in every quasi-identifier, if they are more than one in twenty; else 0."""
        return self.blank if self.blank * _MANY_BLANK > self.rows else 0

    @property
    def says_little(self) -> bool:
        """Whether so much is hidden that the release is of little use."""
        return bool(self.columns or self.many_blank)

    def main_sentences(self) -> Iterator[str]:
        """Yield why the release is of little use, where it is."""
        for name, rows in self.columns.items():
            yield f"{name} is {self.tops.get(name, TOP)} in {whole_percent(rows, self.rows)} of the rows"
        if self.many_blank:
            yield self._describe_blank()

    def further_sentences(self) -> Iterator[str]:
        """Yield what else is hidden; no value is named."""
        if self.blank and not self.many_blank:
            yield self._describe_blank()
        for name, lost in self.vanished.items():
            are, rows = "is" if lost == 1 else "are", _format_rows(self.vanished_rows[name])
            yield f"{lost} of the {self.values[name]} values of {name} {are} shown nowhere ({rows})"

    def _describe_blank(self) -> str:
        what = f"{TOP} or the top of the hierarchy" if self.tops else TOP
        return f"{_format_rows(self.blank)} {'shows' if self.blank == 1 else 'show'} {what} in every quasi-identifier"


_MANY_BLANK = 20
"""More than one row in so many that is `*` in every quasi-identifier makes a release of little use."""
_FEW_VALUES = 6
"""Most values of a column whose vanished values are reported."""


def find_hidden(release: ReleasedTable, starred: Collection[str]) -> Hidden:
    """Find columns, rows and values that a release hides; nothing is known where its rows are not in memory."""
    return _find_hidden(release.shown, release.plan, release.source.table, starred)


def _find_hidden(shown: ReleasedRows, plan: Plan, table: Table, starred: Collection[str]) -> Hidden:
    names = [name for names in plan.released_as.values() for name in names if name in shown.columns]
    if shown.rows is None or not names:
        return Hidden()
    tops = plan.tops
    # [column][released row] whether it is * or the label of the top
    hidden = {name: _is_starred(shown.columns[name], tops[name]) for name in names}
    count = {name: int(flags.sum()) for name, flags in hidden.items()}
    mostly = {name: count[name] for name in names if name not in starred and 2 * count[name] > len(shown.rows)}
    blank = 0 if len(starred) == len(names) else int(np.logical_and.reduce(list(hidden.values())).sum())
    few = [name for name in names if name in table.columns and 1 < len(table[name].values) <= _FEW_VALUES]
    vanished = {name: _find_vanished(table[name], shown.rows, hidden[name]) for name in few if name not in starred}
    lost = {name: len(codes) for name, codes in vanished.items() if len(codes)}
    rows = {name: int(table[name].counts[vanished[name]].sum()) for name in lost}
    values = {name: len(table[name].values) for name in lost}
    said = {name: _say_top_of(shown.columns[name], tops[name]) for name in names if tops[name] != TOP and count[name]}
    told = {name: what for name, what in said.items() if what != TOP}
    return Hidden(len(shown.rows), mostly, blank, lost, values, rows, told)


def _is_starred(column: ReleasedColumn, top: str) -> Flags:
    told = pc.is_in(column.texts, value_set=pa.array([TOP, top], pa.string())).to_numpy(zero_copy_only=False)
    return np.isin(column.codes, np.flatnonzero(told))


def _say_top_of(column: ReleasedColumn, top: str) -> str:
    """Return which of `*` and the label of the top a column shows."""
    return say_tops({top, TOP}.intersection(column.texts.take(pa.array(np.unique(column.codes))).to_pylist()))


def _find_vanished(column: Column, rows: Longs, hidden: Flags) -> Longs:
    """Return the codes of the values that are `*` or the top in every released row."""
    shown = column.codes[rows[(rows >= 0) & ~hidden]]
    return np.setdiff1d(np.arange(len(column.values)), shown)


MOST_LOST = 0.5
"""Loss above which a release loses more than it keeps."""


def recommend(
    models: Sequence[ModelSummary],
    audit: Audit,
    starred: Mapping[str, str],
    loss: float | None,
    repeated: Mapping[str, str] | None = None,
    exact: Mapping[str, int] | None = None,
    hidden: Hidden | None = None,
    steps: Mapping[str, Fraction | None] | None = None,
    sensitive: Mapping[str, SensitiveLook] | None = None,
    unpromised: Sequence[str] = (),
    known: IdentifyingLooks | None = None,
) -> Recommendation:
    """Recommend whether to publish a release: by its promises, by what attacks found, and by what it still shows.

    `repeated` are dropped columns that name persons who have several rows, though rows are counted; `exact` are
    sensitive columns in which many rows, as many as told, hold a value that no other row has; `starred` tells what
    columns show that say nothing in any row, `hidden` what else is not shown, and `steps` what exact numbers may be
    rounded to multiples of. `sensitive` are columns that look sensitive, though their role is another; `unpromised`
    are sensitive columns about which nothing is promised; `known` are columns that others may know, though they are
    published as they are.
    """
    findings = f"Verdict: {'; '.join(_describe_findings(models, audit, starred))}."
    repeated, exact, hidden, sensitive = repeated or {}, exact or {}, hidden or Hidden(), sensitive or {}
    known = known or IdentifyingLooks({})
    advice = advice_on(audit, starred, loss, repeated, exact, hidden, {*sensitive, *known.columns})
    rows = "".join(
        f"; rows were counted, though {say_repeats(*each)} ({_say_how_often(each[1])})" for each in repeated.items()
    )
    lost = f"; most of the detail is lost (loss {loss:.2f}; {SCALE})" if loss is not None and loss > MOST_LOST else ""
    unless = _describe_untried_attacks(audit.attacks_left) if advice in CONDITIONAL else ""
    looks = "".join(f"; {look.describe(name)}" for name, look in sensitive.items())
    looks += f"; {known.describe()}" if known else ""
    looks += _describe_unpromised(unpromised)
    why = [*hidden.main_sentences()]
    little = f": {', '.join(why)}" if advice == "of little use" else ""
    unseen = "".join(f"; {each}" for each in [*([] if little else why), *hidden.further_sentences()])
    told = f"{findings.removesuffix('.')}{looks}{unseen}{rows}{_describe_exact_values(exact, steps or {})}{lost}"
    return Recommendation(
        holds=all(model.holds for model in models),
        attacks={str(line.channel): line.people for line in audit.tried},
        succeeding={str(line.channel): line.attacks for line in audit.successes if line.attacks},
        attacks_left=audit.attacks_left,
        not_looked_at=audit.not_looked_at,
        starred=tuple(starred),
        mostly_starred=dict(hidden.columns),
        tops={
            name: what
            for name, what in {**hidden.tops, **starred}.items()
            if what != TOP and (name in starred or name in hidden.columns)
        },
        blank=hidden.blank,
        vanished=dict(hidden.vanished),
        repeated=dict(repeated),
        exact=dict(exact),
        looks_sensitive={name: look.why for name, look in sensitive.items()},
        looks_known=dict(known.columns),
        unpromised=tuple(unpromised),
        findings=findings,
        advice=advice,
        sentence=f"{told}. Advice: {ADVICE_WORDS[advice]}{little}{'; safe' if little and unless else ''}{unless}.",
    )


def _say_how_often(often: str) -> str:
    """Say how often something repeats and, where no single column tells persons apart, what to do."""
    return f"{often}: add a column that joins them, as unit" if "combinations" in often else often


def _describe_untried_attacks(left: Sequence[str]) -> str:
    """Say that an audit can find more, where attacks were left to it.

    >>> _describe_untried_attacks(["definetti"]).partition(" (")[0]
    ' if an audit with the original finds no more: definetti was not tried'
    """
    if not left:
        return ""
    were = "were" if len(left) > 1 else "was"
    what = f"{join_names(left)} {were} not tried (shoal audit OUT --original DATA, in Python shoal.audit)"
    return f" if an audit with the original finds no more: {what}"


def _describe_exact_values(exact: Mapping[str, int], steps: Mapping[str, Fraction | None]) -> str:
    """Say in which columns exact values identify rows, and what helps."""
    if not exact:
        return ""
    known = [f"round = {written_step(step)}" for step in (steps.get(name) for name in exact) if step is not None]
    rounding = f"round it ({', '.join(dict.fromkeys(known))}), " if known else ""
    told = " and ".join(f"{name} finds {_format_rows(rows)}" for name, rows in exact.items())
    helps = f"{rounding}drop it, make it a quasi-identifier if others may know it, or confirm = true"
    return f"; the exact value of {told}: {helps}"


SCALE = "0 intact … 1 nothing left"
"""What the ends of the scale of losses mean."""


def advice_on(
    audit: Audit,
    starred: Collection[str],
    loss: float | None,
    repeated: Collection[str] = (),
    exact: Collection[str] = (),
    hidden: Hidden | None = None,
    sensitive: Collection[str] = (),
) -> Advice:
    """Advise against a release that tells of people, and to think again where it tells nothing or was not attacked.

    Descriptions that fit one person only do not say who that is: they alone are a reason to think again. So is that
    rows are counted though columns that name persons repeat, that exact sensitive values find rows, and that columns
    look sensitive of which nothing was tried. A release that is safe and yet `*` in most rows of a column, or in every
    column of many rows, is of little use.
    """
    if audit.exposed and _advise(audit.successes) == "do not publish":
        return "do not publish"
    doubtful = audit.exposed or not audit.tried or starred or repeated or exact or sensitive
    if doubtful or (loss or 0.0) > MOST_LOST:
        return "think again"
    return "of little use" if hidden is not None and hidden.says_little else "publish"


def compare_with_verdict(audit: Audit, verdict: VerdictAtRelease, *, with_original: bool = False) -> str:
    """Say whether an audit agrees with the verdict that was given when the release was made, or found more or less.

    Where the verdict left attacks to an audit, say whether this audit `with_original` has tried them.
    """
    said = verdict.said
    found = {line: line.describe_exposure(_format_rows(line.people)) for line in audit.successes}
    if said is not None and audit.taken_as_sensitive:
        named = join_names(audit.taken_as_sensitive)
        several = len(audit.taken_as_sensitive) > 1
        role, them = ("quasi-identifiers", "them") if several else ("a quasi-identifier", "it")
        first = f"The verdict ({said.conditional_advice}) was given with {named} as {role}; with {them}"
        result = f"that {', '.join(found.values())}: {_advise(found)}" if found else "nobody exposed"
        return f"{first} as sensitive, this audit found {result}."
    if said is None:
        first = "It is not known" if verdict.unknown else "There was no verdict"
        if not found:
            return f"{first} when the release was made; nothing that this audit found speaks against publishing it."
        return (
            f"{first} when the release was made; this audit found that {', '.join(found.values())}: {_advise(found)}."
        )
    more = {line: told for line, told in found.items() if line.people > said.attacks.get(str(line.channel), 0)}
    if more:
        first = f"The audit found more than the verdict ({said.conditional_advice})"
        return f"{first}: {', '.join(more.values())}: {_advise(more)}."
    now = {str(line.channel): line.people for line in audit.successes}
    if any(now.get(channel, 0) < rows for channel, rows in said.attacks.items()):
        return f"The audit found less than the verdict, which stands: {said.brief}."
    return f"The audit agrees with the verdict: {_settle_condition(said, audit, with_original)}."


def _settle_condition(said: Recommendation, audit: Audit, with_original: bool) -> str:
    """Repeat a verdict: without its condition if the audit has tried what that needs, else with what would try it."""
    if not said.condition:
        return said.brief
    left = {name.partition(" ")[0] for name in said.attacks_left}  # without the columns that were left
    if with_original and {finding.attack for finding in audit.findings} >= left:
        settled = said.model_copy(update={"attacks_left": ()}).brief
        return f"{settled}; it has tried {join_names(said.attacks_left)}, too"
    it = "them" if len(said.attacks_left) > 1 else "it"
    if not with_original:
        return f"{said.brief}; give the original to try {it} (--original DATA, in Python original=…)"
    return f"{said.brief}; this audit could not try {it} either"


def _advise(lines: Iterable[AuditLine]) -> Advice:
    """Return the advice where people are exposed by these lines of an audit."""
    told = any(line.channel is not Channel.SINGLING_OUT for line in lines)
    return "do not publish" if told else "think again"


def _describe_findings(models: Sequence[ModelSummary], audit: Audit, starred: Mapping[str, str]) -> Iterator[str]:
    """Yield what the published table tells: which promises hold, which attacks succeed, which columns say nothing."""
    failed = [model.model for model in models if not model.holds]
    many = f"all {len(models)} promises hold" if len(models) > 2 else "both promises hold"
    yield f"{', '.join(failed)} fails" if failed else "the promise holds" if len(models) == 1 else many
    found = [line.describe_exposure(f"{_at_least(line, audit)}{_format_rows(line.people)}") for line in audit.successes]
    kinds = f"{len(audit.tried)} {'kind' if len(audit.tried) == 1 else 'kinds'} of attack"
    if not audit.tried:
        yield "no attack was tried"
    else:
        yield f"{len(found)} of {kinds} {'succeeds' if len(found) == 1 else 'succeed'}{_in_brackets(found)}"
    if audit.absent.get(Channel.ATTRIBUTE) == NONE_SENSITIVE:
        yield NOTHING_SENSITIVE
    for what in dict.fromkeys(starred.values()):
        alike = [name for name, each in starred.items() if each == what]
        yield f"{join_names(alike)} {'are' if len(alike) > 1 else 'is'} {what} in every row"


def _at_least(line: AuditLine, audit: Audit) -> str:
    """Say that more may be found, where an attack of the same kind was left to an audit."""
    return "at least " if line.channel in audit.left_channels else ""


def _format_rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _in_brackets(texts: Sequence[str]) -> str:
    return f" ({', '.join(texts)})" if texts else ""


@dataclass(frozen=True)
class TriedRelease:
    """The properties of a release on which advice depends."""

    loss: float
    audit: Audit
    starred: tuple[str, ...]
    """Columns that show `*` or the label of the top in every row."""
    dropped: int = 0
    """Quasi-identifiers of the policy that are left out of it."""
    columns: int = 1
    """Quasi-identifiers that it has."""
    repeated: tuple[str, ...] = ()
    """Columns that name persons who have several rows, where rows are counted."""
    exact: tuple[str, ...] = ()
    """Sensitive columns whose exact values find rows."""
    share: float = 1.0
    """Share of the rows that it is made of; the loss is an estimate where that is not all."""
    attack_further: Callable[[], Audit] | None = field(default=None, repr=False, compare=False)
    """Tries every further attack that its maker can try; None where they were tried."""
    lost_share: float | None = None
    """Share of the importance of all columns that those left out have; by default all are as important."""
    hidden: Hidden = field(default_factory=Hidden)
    """What it hides without its loss showing it."""

    @property
    def lost(self) -> float:
        """The loss, counting a column that is left out as wholly lost."""
        share = self.dropped / (self.columns + self.dropped) if self.lost_share is None else self.lost_share
        return self.loss * (1 - share) + share

    @property
    def exposed(self) -> int:
        """Rows that the worst attack exposes; extrapolated to the whole table where only a sample was used."""
        return round(max((line.people for line in self.audit.successes), default=0) / self.share)

    def scale_to_all_rows(self, here: "TriedRelease", now: "TriedRelease", share: float) -> "TriedRelease":
        """Return what is expected of all rows: `here` is the release before on the same sample, `now` on all rows."""
        loss = now.loss * self.loss / here.loss if here.loss else now.loss + self.loss
        return replace(self, loss=min(loss, 1.0), share=share)

    def attacked_further(self) -> "TriedRelease":
        """Return it with what every attack finds that its maker can try."""
        return self if self.attack_further is None else replace(self, audit=self.attack_further(), attack_further=None)

    @property
    def advice(self) -> Advice:
        return advice_on(self.audit, self.starred, self.loss, self.repeated, self.exact, self.hidden)

    @property
    def rank(self) -> int:
        """Rank of the advice, 0 being the best; exact values, which no change helps with, are left out.

        A release without most of its columns does not rank best.
        """
        return _RANKS.index(advice_on(self.audit, self.starred, self.lost, self.repeated, (), self.hidden))

    @property
    def troubles(self) -> tuple[int, int, int, int, int, float]:
        """What is wrong: rows exposed, columns of uncounted persons, columns that say nothing, and excessive loss.

        Columns that say nothing in most rows, and many rows that say nothing, come between; they matter only for what
        is safe to publish.
        """
        exposed, mute = sum(line.people for line in self.audit.successes), len(self.starred) + self.dropped
        little = (mute + len(self.hidden.columns), self.hidden.many_blank) if self.rank <= _SAFE else (0, 0)
        return exposed, len(self.repeated), mute, *little, max(self.lost, MOST_LOST)

    def gains_on(self, start: "TriedRelease") -> bool:
        """Whether a change gains something: fewer rows exposed or persons uncounted, or less lost of a safe release."""
        exposed, before = (sum(line.people for line in each.audit.successes) for each in (self, start))
        if before or len(self.repeated) < len(start.repeated):
            return exposed < before or (exposed == before and len(self.repeated) < len(start.repeated))
        return exposed == 0 and self.loss < start.loss

    def better_than(self, other: "TriedRelease") -> bool:
        """Whether the advice is better; or the same, and nothing is worse and something better."""
        if self.rank != other.rank:
            return self.rank < other.rank
        no_worse = all(mine <= others for mine, others in zip(self.troubles, other.troubles, strict=True))
        return no_worse and self.troubles != other.troubles


def _steps(policy: Policy, rows: int, checked: int) -> float:
    """Estimate how many steps a policy takes on `rows` rows, if a search checks `checked` nodes."""
    columns, shape = len(policy.quasi_identifiers), ALGORITHMS[policy.method.algorithm].shape
    models = {model.name for model in policy.models}
    row = {
        Shape.SEARCH: 2 + _QUESTION * checked,
        Shape.BOXES: 3 + 2.0 * columns,
        Shape.GROUPS: 5.0,
        Shape.CELLS: 80.0 * columns * (1 if models == {KAnonymity.name} else _HARDER),
        Shape.CLUSTERS: 80.0 * columns,
    }[shape]
    return _ONCE + row * rows


@dataclass(frozen=True)
class TrialTable:
    """A table that changes are tried on: all rows of the original, or a sample of them."""

    source: Source
    share: float = 1.0
    """Share of the rows that it has."""

    @property
    def rows(self) -> int:
        return self.source.table.rows

    def sample(self, rows: int, unit: str | None) -> "TrialTable":
        """Return a sample of at most so many rows, the same at every run; where persons are counted, of whole ones."""
        table = sample_table(self.source.table, rows, unit)
        if table is self.source.table:
            return self
        return TrialTable(replace(self.source, table=table), table.rows / self.rows)


@dataclass
class RemedySearch:
    """Tries changes of a policy on a table, as many as the effort allows."""

    whole: TrialTable
    engine: Engine
    checked: int = 0
    """Nodes that the search of the release checked."""
    repeated: tuple[str, ...] = ()
    """Dropped columns that name persons who have several rows."""
    exact: tuple[str, ...] = ()
    """Sensitive columns whose exact values find rows; no change that is tried helps with them."""
    work: float = 0.0
    """Steps that are left."""
    ends: float | None = None
    """When time is over, if a clock decides instead of the work."""
    found: list[tuple[Change, TriedRelease]] = field(default_factory=list)
    useless: list[tuple[Change, TriedRelease]] = field(default_factory=list)
    """Changes that do not help alone; where none does, they are tried in pairs."""
    untried: list[str] = field(default_factory=list)
    waiting: list[tuple[Change, TriedRelease]] = field(default_factory=list)
    """Changes that are tried last, if there is work left."""
    sampled: TrialTable | None = None
    """The sample that changes were tried on, where the whole table is too large."""
    tries: int = 0
    """Number of changes that were tried, on the whole table or on a sample."""
    start: TriedRelease | None = None
    """The release as it is; a change must gain something on it."""
    report: Callable[[float], None] = lambda _: None
    """Told, before each change that is tried, which share of the effort is spent."""
    begun: float = field(default_factory=perf_counter)
    """When the search began."""
    done: float = 0.0
    """The share of the effort that was last reported as spent; it never falls."""

    def try_changes(self, start: Change, now: TriedRelease) -> None:
        """Try the changes that may help; where none leads to a release to publish, try a second after the best.

        Where somebody gave time for it, a second one is tried in any case, since two may be cheaper than one.
        """
        self.start = now
        pairs = [(change, now) for change in self._changes(start.policy, now)]
        if not self._try_some(pairs, self.work * _FIRST_PART):
            self._estimate(pairs, start)
            self._confirm(now)
            return
        if self.ends is not None or all(then.rank or change.drops_precious for change, then in self.found):
            firsts = sorted(self.found or self.useless, key=self.cost)[:_FIRSTS]
            firsts = [(change, then) for change, then in firsts if then.rank <= firsts[0][1].rank]
            # a second change must be better than the first alone, or than none where that is useless
            rounds = zip_longest(
                *(
                    [(c.after(f), then if self.found else now) for c in self._changes(f.policy, then)]
                    for f, then in firsts
                )
            )
            seconds: dict[str, tuple[Change, TriedRelease]] = {}  # by the result: in either order two changes are one
            for pair in (pair for some in rounds for pair in some if pair is not None):
                seconds.setdefault(pair[0].result, pair)
            tried = {start.result, *(change.result for change, _ in pairs)}
            self._try_some([pair for result, pair in seconds.items() if result not in tried], self.work)
        self._try_all(self.waiting)
        if self.ends is None:  # of pairs of changes there are always more
            single = {change.words for change, _ in pairs}
            self.untried = [words for words in self.untried if words in single]

    def cost(self, found: tuple[Change, TriedRelease]) -> tuple[Any, ...]:
        """Return the sort key of a change: what leads to "publish" comes first, and of that what loses least.

        What was tried on a sample alone comes after what was tried on all rows, and what drops the columns that
        analyses need first after what keeps them; then the advice decides, whether a promise is weakened, and what is
        lost. Of equal ones those that keep every column come first, then single changes before pairs of them, then what
        was proposed first: of promises, the weakest.
        """
        change, then = found
        pair, short = change.first is not None, then.rank > 0
        kept = (then.share < 1.0, change.drops_precious)
        return short, *kept, then.rank, change.weaker, then.lost, change.dropped, pair

    def _changes(self, policy: Policy, now: TriedRelease) -> Iterator[Change]:
        little = bool(now.starred) or now.loss > MOST_LOST or now.hidden.says_little
        troubles = Troubles(now.audit, now.repeated, (*now.starred, *now.hidden.columns), little)
        more = self.ends is not None  # somebody is ready to wait
        return changes_that_may_help(policy, troubles, self.whole.source.table.columns, more=more)

    def _try_some(self, pairs: Sequence[tuple[Change, TriedRelease]], work: float) -> bool:
        """Try changes on the whole table, comparing each with the release before; return False if that takes too long.

        If all together take more than `work`, a sample decides which come first.
        """
        if self.ends is not None or not pairs:
            self._try_all(pairs)
            return True
        pairs, more = pairs[:_MOST], pairs[_MOST:]
        costs = [self._steps(change.policy, self.whole.rows) for change, _ in pairs]
        within = [pair for pair, cost in zip(pairs, costs, strict=True) if cost <= self.work * (1 - 1 / _SCREENED)]
        if pairs and not within:
            return False
        if sum(costs) <= work:
            self.untried += [change.words for change, _ in more]
            self._try_all(pairs)
            return True
        self.untried += [change.words for change, now in [*pairs, *more] if (change, now) not in within]
        order, rank = self._screen(within)
        before = len(self.found)
        while order and not any(then.rank <= rank for _, then in self.found[before:]):
            self._try_all([order.pop(0)])
        self.waiting = order + self.waiting  # second changes follow the best first ones, and promise more than the rest
        return True

    def _try_all(self, pairs: Iterable[tuple[Change, TriedRelease]]) -> None:
        for change, now in pairs:
            then, done = self._tried(change, self.whole)
            if not done:
                self.untried.append(change.words)
            elif then is not None:
                (self.found if self._helps(then, now) else self.useless).append((change, then))

    def _helps(self, then: TriedRelease, now: TriedRelease) -> bool:
        """Whether a release is better than the one before the change, and gains something on the first of all."""
        return then.better_than(now) and (self.start is None or then.gains_on(self.start))

    def _screen(self, pairs: Sequence[tuple[Change, TriedRelease]]) -> tuple[list[tuple[Change, TriedRelease]], int]:
        """Return the changes, best on a sample first, and the best rank that one of them has there."""
        left = self.work * (1 - 1 / _SCREENED)
        sample = self._sample([change for change, _ in pairs], self.work - left)
        tried = [(pair, self._tried(pair[0], sample)[0]) for pair in pairs]
        self.work = left
        able = sorted(((self.cost((pair[0], then)), pair) for pair, then in tried if then is not None), key=_first)
        return [pair for _, pair in able], min((then.rank for _, then in tried if then is not None), default=0)

    def _estimate(self, pairs: Sequence[tuple[Change, TriedRelease]], start: Change) -> None:
        """Try changes on a sample only, comparing each with the unchanged policy on the same rows."""
        if self.whole.source.population is not None:
            self.untried += [change.words for change, _ in pairs]
            return
        self.sampled = sample = self._sample([start, *(change for change, _ in pairs[: 2 * _FEWEST])], self.work)
        here, _ = self._tried(start, sample)
        # of promises about people the strongest come first: they are most likely to help
        for change, now in sorted(pairs, key=lambda pair: -pairs.index(pair) * pair[1].audit.exposed):
            then, done = self._tried(change, sample)
            if here is None or not done:
                self.untried.append(change.words)
            elif then is not None and then.rank <= now.rank and then.better_than(here) and then.gains_on(here):
                self.found.append((change, then.scale_to_all_rows(here, now, sample.share)))
        proposed = [change.words for change, _ in pairs]
        self.found.sort(key=lambda found: proposed.index(found[0].words))

    def _confirm(self, now: TriedRelease) -> None:
        """Try the changes that did best on a sample on all rows, if not too many, until one does as well there."""
        for change, guess in sorted(self.found, key=self.cost)[:_CONFIRMED]:
            steps = self._steps(change.policy, self.whole.rows)
            if steps > _CONFIRMING:
                continue
            self.work = max(self.work, steps)
            then, done = self._tried(change, self.whole)
            if not done:
                continue
            self.found.remove((change, guess))
            if then is not None and self._helps(then, now):
                self.found.append((change, then))
                if then.rank <= guess.rank:
                    break

    def forget_empty(self, now: TriedRelease) -> None:
        """Leave out changes that turn a release that says something into one that says next to nothing."""
        if now.lost < _NOTHING_LEFT:
            self.found = [(change, then) for change, then in self.found if then.lost < _NOTHING_LEFT]

    def judge_best(self, now: TriedRelease) -> None:
        """Attack the result of the best change as thoroughly as an audit with the original would."""
        for _ in range(_CONFIRMED):
            if not self.found:
                return
            change, then = best = min(self.found, key=self.cost)
            if then.attack_further is None or then.share < 1.0:
                return
            again = then.attacked_further()
            place = self.found.index(best)  # of equal changes the first that was proposed stays the first
            self.found[place : place + 1] = [(change, again)] if self._helps(again, now) else []

    def _steps(self, policy: Policy, rows: int, checked: int | None = None) -> float:
        """Estimate how many steps it takes to solve a policy on `rows` rows and to assess the result."""
        return _steps(policy, rows, self.checked if checked is None else checked)

    def _definetti_steps(self, policy: Policy, made: TriedRelease | None, rows: int) -> float:
        """Estimate how many steps the deFinetti attack took; 0 where it was not tried."""
        found = () if made is None else made.audit.findings
        left = next((finding.columns_left for finding in found if finding.attack == DeFinetti.name), None)
        if left is None:
            return 0.0
        row, cell = _GUESS
        tried = [name for name in policy.named(Role.SENSITIVE) if name not in left]
        return rows * sum(row + cell * len(self.whole.source.table[name].values) for name in tried)

    def _sample(self, changes: Sequence[Change], work: float) -> TrialTable:
        """Return a sample of the size on which these changes together take about `work` steps."""
        rows = self.whole.rows
        each = sum(self._steps(change.policy, rows) - _ONCE for change in changes) / rows
        most = int((work - _ONCE * len(changes)) / each)
        unit = changes[0].policy.unit
        return self.whole.sample(max(most, _LEAST_SAMPLE), unit)

    def _tried(self, change: Change, table: TrialTable) -> tuple[TriedRelease | None, bool]:
        """Return the release after a change, None if there is none; and whether the trial was completed."""
        # as long as nothing helps, one trial more may take up to half of all steps
        left = self.work if self.found or self.work <= 0 else max(self.work, _WORK / 2)
        if self._over() or (self.ends is None and left < self._steps(change.policy, table.rows)):
            return None, False
        self._report_share()
        # rounds of local recoding cool down: some are skipped only on a sample, whose loss is an estimate anyway
        rounds = table is not self.whole and ALGORITHMS[change.policy.method.algorithm].shape is Shape.CELLS
        most = _QUESTIONS if rounds else max(int(self.work / (_QUESTION * table.rows)), _QUESTIONS)
        asked = count(1)
        stop = self._over if self.ends is not None else lambda: next(asked) > most
        made, checked = self._outcome(change, table, stop)
        self.tries += 1
        self.work -= self._steps(change.policy, table.rows, checked) + self._definetti_steps(
            change.policy, made, table.rows
        )
        return (None, False) if table is self.whole and stop() else (made, True)

    def _report_share(self) -> None:
        spent = 1 - self.work / _WORK
        if self.ends is not None:
            spent = (perf_counter() - self.begun) / (self.ends - self.begun)
        self.done = max(self.done, min(spent, 1.0))
        self.report(self.done)

    def _over(self) -> bool:
        return self.ends is not None and perf_counter() >= self.ends

    def _outcome(
        self, change: Change, table: TrialTable, stop: Callable[[], bool]
    ) -> tuple[TriedRelease | None, int | None]:
        """Solve a policy and attack its release; return it, None if there is none, and the number of nodes checked.

        Slow attacks are tried only if it may be published; the others wait for the best change.
        """
        policy = change.policy
        if self.ends is None:  # nothing may depend on a clock
            policy = policy.model_copy(update={"method": policy.method.model_copy(update={"time_limit": None})})
        source = table.source
        try:
            plan = make_plan(source, policy, self.engine, stop=stop)
            shown = recode(source, plan, policy, self.engine)
            assert shown.rows is not None  # changes are tried in memory only
            published = published_from_plan(plan, policy, shown.columns, plan.recoding.separate(source.table))
            quasi = [name for names in plan.released_as.values() for name in names]
            shows = {name: {*published.table[name].texts.to_pylist()} for name in quasi}
            starred = tuple(name for name in quasi if shows[name] and shows[name] <= {TOP, plan.tops[name]})
            columns_left = len(plan.quasi_identifiers)
            repeated = self.repeated if policy.unit is None else ()
            lost, audit = _comparable_loss(change, plan, source), quick_audit(published)
            hidden = _find_hidden(shown, plan, source.table, starred)
            made = TriedRelease(lost, audit, starred, change.dropped, columns_left, repeated, self.exact, hidden=hidden)
            further = partial(maker_audit, published, Truth(source.table, shown.rows), audit, table.share)
            made = replace(made, lost_share=change.lost_share, attack_further=further)
            return made.attacked_further() if made.rank <= _SAFE else made, plan.effort["checked"]
        except (ShoalError, MemoryError):
            return None, None


def _comparable_loss(change: Change, plan: Plan, source: Source) -> float:
    """Return the loss of a plan, weighted by the importance before the change, so that losses can be compared."""
    names = plan.quasi_identifiers
    importance = [[policy.attributes[name].importance for name in names] for policy in (change.before, change.policy)]
    if importance[0] == importance[1]:
        return plan.metrics["loss"]
    weights = [1.0 if each is None else each for each in importance[0]]
    if not any(weights):  # the columns that mattered were dropped
        return plan.metrics["loss"]
    losses = measured_loss(compare_with_original(plan, change.policy, source)).attributes
    return sum(weight * losses[name] for weight, name in zip(weights, names, strict=True)) / sum(weights)


def with_remedies(
    said: Recommendation, release: ReleasedTable, audit: Audit, hidden: Hidden, *, reproducible: bool = False
) -> Recommendation:
    """Return the recommendation with the changes that help, best first, and with the best one in its sentence."""
    loss = release.plan.metrics.get("loss")
    why = _reason_not_to_search(release, audit)
    if why is not None or loss is None:
        return _append_to_sentence(
            said, f"changes that would help were not looked for, since {why or 'no loss is told'}"
        )
    seconds = None if reproducible else _seconds.get()
    search = RemedySearch(
        TrialTable(release.source),
        release.engine,
        checked=release.plan.effort["checked"] or _USUALLY_CHECKED,
        repeated=tuple(said.repeated),
        exact=tuple(said.exact),
        work=_WORK,
        ends=None if seconds is None else perf_counter() + max(seconds, release.plan.seconds),
    )
    with warnings.catch_warnings(action="ignore", category=ShoalWarning), only_trying() as search.report:
        policy = with_saveable_hierarchies(release.policy, release.plan, release.source)
        start = Change("", policy, policy)
        columns = len(release.plan.quasi_identifiers)
        repeated, exact = tuple(said.repeated), tuple(said.exact)
        now = TriedRelease(loss, audit, said.starred, 0, columns, repeated, exact, hidden=hidden)
        search.try_changes(start, now)
        search.forget_empty(now)
        search.judge_best(now)
    remedies = tuple(_remedy(*found, loss, release.source) for found in sorted(search.found, key=search.cost))
    told = said.model_copy(update={"remedies": remedies, "untried": tuple(search.untried)})
    return _append_to_sentence(told, _describe_best(remedies, search))


_USUALLY_CHECKED = 100
"""Nodes that a search is assumed to check if the release was not found by a search."""


def _first(pair: tuple[Any, ...]) -> Any:
    return pair[0]


def _remedy(change: Change, then: TriedRelease, before: float, source: Source) -> Remedy:
    return Remedy(
        change=change.words,
        policy=change.fragment(),
        toml=change.toml(),
        before=before,
        after=then.loss,
        exposed=then.exposed,
        advice=then.advice if then.share == 1.0 else None,
        dropped=then.dropped,
        sample=None if then.share == 1.0 else round(then.share * source.table.rows),
    )


def _append_to_sentence(said: Recommendation, words: str) -> Recommendation:
    return said.model_copy(update={"sentence": f"{said.sentence.removesuffix('.')}; {words}."})


def _describe_best(remedies: Sequence[Remedy], search: RemedySearch) -> str:
    """Say which change is the best, or that none helps; mention it if only a sample was used."""
    of = "" if search.sampled is None else f" on a sample of {search.sampled.rows:,} rows"  # or on all rows, too
    if not search.tries and not search.untried:
        return "no change is known that might help"
    if not search.tries:
        return "no change that might help was tried, since that takes long: give --advise 60 (in Python advise=60)"
    if not remedies:
        rest = f"; {len(search.untried):,} others were not tried" if search.untried else ""
        return f"none of the changes that were tried{of} helps{rest}"
    best = remedies[0]
    if best.sample is not None:
        return f"may help, tried{of} only: {best.change}"
    kind = _HELPS if best.advice == "publish" else _BETTER
    rest = " of the columns left" if best.dropped else ""
    return f"{kind}: {best.change}: loss {_from_to(best.before, best.after)}{rest}"


_HELPS, _BETTER = 'cheapest change tried that leads to "publish"', "not enough, but better"
"""What is said before the best change: that a release after it may be published, or that it may not."""


def _from_to(before: float, after: float) -> str:
    """Format two losses, with as many decimals as tell them apart.

    >>> _from_to(0.09, 0.11), _from_to(0.091, 0.092), _from_to(0.5, 0.5)
    ('0.09 → 0.11', '0.091 → 0.092', '0.50 → 0.50')
    """
    digits = next((n for n in (2, 3, 4) if f"{before:.{n}f}" != f"{after:.{n}f}"), 2)
    return f"{before:.{digits}f} → {after:.{digits}f}"


def _reason_not_to_search(release: ReleasedTable, audit: Audit) -> str | None:
    """Return why no change can be tried; None if changes can be tried."""
    policy = release.policy
    if _seconds.get() == 0:
        return "no time was given for it"
    if release.engine.name != "arrow" or not audit.tried:
        return "the rows are not in memory"
    if release.earlier is not None or policy.republish is not None:
        return "it follows an earlier release"
    if policy.blocking is not None:
        return "rows were changed once more after the search, to block inference"
    return None
