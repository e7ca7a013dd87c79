"""Advice on a release: whether to publish it and, if not, which changes of its policy would help.

Each change is solved on the same table and attacked like the release itself, so its loss is no estimate.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from time import perf_counter
from typing import Any

from shoal.attacks import ATTACKS
from shoal.attacks.attack import Channel
from shoal.attacks.audit import Audit, quick_audit
from shoal.engine_port import Engine, Source
from shoal.engines.choice import recode
from shoal.errors import ShoalError, ShoalWarning
from shoal.explore.compare import with_algorithm
from shoal.hierarchy.taxonomy import TOP
from shoal.policy.document import Policy
from shoal.publish.manifest import Advice, Manifest, ModelSummary, Recommendation, Remedy
from shoal.publish.release_views import Columns, published_in_memory
from shoal.publish.released_table import ReleasedTable
from shoal.publish.summary import saveable
from shoal.roles import Role
from shoal.runtime.events import unlogged
from shoal.solve import make_plan

_seconds: ContextVar[float] = ContextVar("seconds", default=0.0)


@contextmanager
def seeking(seconds: float) -> Iterator[None]:
    """Let releases of this block look so long for changes that help, and at least as long as their search took."""
    token = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


_DIVERSE: tuple[dict[str, Any], ...] = (
    {"model": "distinct-l-diversity", "l": 2},
    {"model": "distinct-l-diversity", "l": 3},
    {"model": "t-closeness", "t": 0.4},
    {"model": "t-closeness", "t": 0.2},
)
"""Promises about sensitive values, which are tried where these can be told."""
_LARGER = (2, 5)
"""The k that is tried where somebody is alone."""
_SHARES = (0.01, 0.05, 0.1)
"""The shares of suppressed rows that are tried."""
_UNIMPORTANT = 0.25
"""Importance of the columns that say something, so that those that say nothing come first."""
_FIRSTS = 3
"""Number of changes after which a second one is tried."""
_RANKS: tuple[Advice, ...] = ("publish", "think again", "do not publish")


def advise(
    release: ReleasedTable, manifest: Manifest, audit: Audit, starred: Sequence[str], *, reproducible: bool = False
) -> Manifest:
    """Return the manifest with the verdict: what holds, what attacks found, whether to publish, what would help.

    `starred` are the columns that show `*` in every row.
    """
    said = recommend(manifest.models, audit, starred, manifest.metrics.get("loss"))
    if said.advice != "publish":
        said = with_remedies(said, release, audit, reproducible=reproducible)
    return manifest.model_copy(update={"recommendation": said})


MOST_LOST = 0.5
"""Loss above which a release says less than it leaves out."""


def recommend(
    models: Sequence[ModelSummary], audit: Audit, starred: Sequence[str], loss: float | None
) -> Recommendation:
    """Say whether to publish a release, by its promises, what attacks found, and whether it still says something."""
    findings = f"Verdict: {'; '.join(_findings(models, audit, starred))}."
    advice = advice_on(audit, starred, loss)
    lost = f"; most of the detail is lost (loss {loss:.2f}; {SCALE})" if loss is not None and loss > MOST_LOST else ""
    return Recommendation(
        holds=all(model.holds for model in models),
        attacks={str(line.channel): line.people for line in audit.tried},
        starred=tuple(starred),
        findings=findings,
        advice=advice,
        sentence=f"{findings.removesuffix('.')}{lost}. Advice: {advice}.",
    )


SCALE = "0 intact … 1 nothing left"
"""What the ends of the scale of losses mean."""


def advice_on(audit: Audit, starred: Sequence[str], loss: float | None) -> Advice:
    """Advise against a release that tells of people, and to think again where it tells nothing or was not attacked.

    Descriptions that fit one person only do not say who that is: they alone are a reason to think again.
    """
    told = [line for line in audit.successes if line.channel is not Channel.SINGLING_OUT]
    if told:
        return "do not publish"
    doubtful = audit.exposed or not audit.tried or starred or (loss or 0.0) > MOST_LOST
    return "think again" if doubtful else "publish"


def _findings(models: Sequence[ModelSummary], audit: Audit, starred: Sequence[str]) -> Iterator[str]:
    """Yield what the published table tells: which promises hold, which attacks succeed, which columns say nothing."""
    failed = [model.model for model in models if not model.holds]
    many = f"all {len(models)} promises hold" if len(models) > 2 else "both promises hold"
    yield f"{', '.join(failed)} fails" if failed else "the promise holds" if len(models) == 1 else many
    found = [line.channel.learned.format(rows=_rows(line.people)) for line in audit.successes]
    kinds = f"{len(audit.tried)} {'kind' if len(audit.tried) == 1 else 'kinds'} of attack"
    if not audit.tried:
        yield "no attack was tried"
    else:
        yield f"{len(found)} of {kinds} {'succeeds' if len(found) == 1 else 'succeed'}{_in_brackets(found)}"
    if starred:
        *others, last = starred
        names = f"{', '.join(others)} and {last}" if others else last
        yield f"{names} {'are' if others else 'is'} {TOP} in every row"


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _in_brackets(texts: Sequence[str]) -> str:
    return f" ({', '.join(texts)})" if texts else ""


@dataclass(frozen=True)
class Change:
    """A change of a policy, before it is tried."""

    words: str
    policy: Policy
    """The policy after the change."""
    section: str = ""
    """The section of the policy that differs."""
    columns: tuple[str, ...] = ()
    """Attributes that differ."""
    dropped: int = 0
    """Number of columns that are left out, of which nothing is shown then."""
    weaker: bool = False
    """Whether less is promised than before."""
    first: "Change | None" = None
    """The change before this one, where there are two."""

    def after(self, first: "Change") -> "Change":
        """Return this change as the second of two; it was made of the policy after the first."""
        words = f"{first.words} and {self.words}"
        dropped, weaker = first.dropped + self.dropped, first.weaker or self.weaker
        return replace(self, words=words, dropped=dropped, weaker=weaker, first=first)

    def fragment(self) -> dict[str, Any]:
        """Return what differs as it stands in a policy file: a section, or of the attributes some columns."""
        plain = self.policy.document()
        told = {} if self.first is None else self.first.fragment()
        if not self.columns:
            return {**told, self.section: plain.get(self.section, {})}
        columns = {name: plain["attributes"][name] for name in self.columns}
        return {**told, "attributes": {**told.get("attributes", {}), **columns}}


@dataclass(frozen=True)
class TriedRelease:
    """A release as far as advice depends on it."""

    loss: float
    audit: Audit
    starred: tuple[str, ...]
    """Columns that show `*` in every row."""

    @property
    def advice(self) -> Advice:
        return advice_on(self.audit, self.starred, self.loss)

    @property
    def rank(self) -> int:
        """How good the advice is; 0 is the best."""
        return _RANKS.index(self.advice)

    @property
    def troubles(self) -> tuple[int, int, bool]:
        """What is wrong: rows exposed, columns that say nothing, and whether most is lost."""
        return sum(line.people for line in self.audit.successes), len(self.starred), self.loss > MOST_LOST

    def better_than(self, other: "TriedRelease") -> bool:
        """Whether the advice is better; or the same, and nothing is worse and something better."""
        if self.rank != other.rank:
            return self.rank < other.rank
        no_worse = all(mine <= others for mine, others in zip(self.troubles, other.troubles, strict=True))
        return no_worse and self.troubles != other.troubles


@dataclass
class RemedySearch:
    """Tries changes on a table until the time is over."""

    source: Source
    engine: Engine
    columns: int
    """Number of quasi-identifiers of the release."""
    ends: float
    found: list[tuple[Change, TriedRelease]] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)

    def look(self, start: Change, now: TriedRelease) -> None:
        """Try the changes that may help; where none leads to a release to publish, try a second after the best."""
        for change in _changes(start.policy, now):
            self._try(change, now)
        if all(then.rank for _, then in self.found):
            firsts = sorted(self.found, key=self.cost)[:_FIRSTS]
            for seconds in zip_longest(*(_changes(first.policy, then) for first, then in firsts)):
                for (first, then), second in zip(firsts, seconds, strict=True):
                    if second is not None:
                        self._try(second.after(first), then)

    def cost(self, found: tuple[Change, TriedRelease]) -> tuple[Any, ...]:
        """Order changes: by the advice then, those that keep every promise first, then by loss.

        A column that is dropped shows nothing: it counts as lost.
        """
        change, then = found
        loss = (then.loss * (self.columns - change.dropped) + change.dropped) / self.columns
        return then.rank, change.weaker, loss, change.words

    def _try(self, change: Change, now: TriedRelease) -> None:
        then = None if self._over() else self._outcome(change.policy)
        if self._over():  # what was stopped is not what would come out
            self.untried.append(change.words)
        elif then is not None and then.better_than(now):
            self.found.append((change, then))

    def _over(self) -> bool:
        return perf_counter() >= self.ends

    def _outcome(self, policy: Policy) -> TriedRelease | None:
        """Solve a policy, and attack what it releases; None where no release keeps it."""
        try:
            plan = make_plan(self.source, policy, self.engine, stop=self._over)
            columns = recode(self.source, plan, policy, self.engine).columns
            quasi = [name for names in plan.released_as.values() for name in names]
            sensitive = [name for name, role in plan.roles.items() if role is Role.SENSITIVE]
            roles = Columns(quasi, sensitive, plan.statistics)
            separate = plan.recoding.separate(self.source.table)
            published = published_in_memory("the release", columns, roles, {}, separate)
            starred = tuple(name for name in quasi if published.table[name].texts.to_pylist() == [TOP])
            return TriedRelease(plan.metrics["loss"], quick_audit(published), starred)
        except (ShoalError, MemoryError):
            return None


def with_remedies(
    said: Recommendation, release: ReleasedTable, audit: Audit, *, reproducible: bool = False
) -> Recommendation:
    """Return the recommendation with the changes of the policy that help, the best first, and the best in its words."""
    loss = release.plan.metrics.get("loss")
    why = _why_not(release, audit, reproducible=reproducible)
    if why is not None or loss is None:
        return _ending(said, f"changes that would help were not looked for, since {why or 'no loss is told'}")
    ends = perf_counter() + max(_seconds.get(), release.plan.seconds)
    search = RemedySearch(release.source, release.engine, len(release.plan.quasi_identifiers), ends)
    with warnings.catch_warnings(action="ignore", category=ShoalWarning), unlogged():
        start = Change("", saveable(release.policy, release.plan, release.source))
        search.look(start, TriedRelease(loss, audit, said.starred))
    remedies = tuple(_remedy(*found, loss) for found in sorted(search.found, key=search.cost))
    told = said.model_copy(update={"remedies": remedies, "untried": tuple(search.untried)})
    return _ending(told, _best(remedies, search.untried))


def _remedy(change: Change, then: TriedRelease, before: float) -> Remedy:
    return Remedy(
        change=change.words,
        policy=change.fragment(),
        before=before,
        after=then.loss,
        exposed=max((line.people for line in then.audit.successes), default=0),
        advice=then.advice,
    )


def _ending(said: Recommendation, words: str) -> Recommendation:
    return said.model_copy(update={"sentence": f"{said.sentence.removesuffix('.')}; {words}."})


def _best(remedies: Sequence[Remedy], untried: Sequence[str]) -> str:
    if not remedies:
        rest = f", and there was no time for {len(untried)} others" if untried else ""
        return f"none of the changes that were tried helps{rest}"
    best = remedies[0]
    kind = "cheapest change that helps" if best.advice == "publish" else "not enough, but better"
    return f"{kind}: {best.change}: loss {_from_to(best.before, best.after)}"


def _from_to(before: float, after: float) -> str:
    """Format two losses, with as many decimals as tell them apart.

    >>> _from_to(0.09, 0.11), _from_to(0.091, 0.092), _from_to(0.5, 0.5)
    ('0.09 → 0.11', '0.091 → 0.092', '0.50 → 0.50')
    """
    digits = next((n for n in (2, 3, 4) if f"{before:.{n}f}" != f"{after:.{n}f}"), 2)
    return f"{before:.{digits}f} → {after:.{digits}f}"


def _why_not(release: ReleasedTable, audit: Audit, *, reproducible: bool) -> str | None:
    """Say why no change can be tried; None where it can."""
    policy = release.policy
    if not _seconds.get():
        return "that takes time: --advise looks for them"
    if reproducible:
        return "how many are found depends on time, and equal runs give equal bytes"
    if release.engine.name != "arrow" or not audit.tried:
        return "the rows are not in memory"
    if release.earlier is not None or policy.republish is not None:
        return "it follows an earlier release"
    if policy.blocking is not None:
        return "rows were changed once more after the search, to block inference"
    return None


def _changes(policy: Policy, now: TriedRelease) -> Iterator[Change]:
    """Yield changes that may help, likely ones first; those that contradict the rest of the policy are left out.

    Where people are exposed, that comes first: only then does it help that a release says more.
    """
    channels = {line.channel for line in now.audit.successes}
    makers: list[Callable[[], Change]] = []
    if channels & {Channel.ATTRIBUTE, Channel.RULES}:
        told = _told(policy, now.audit)
        makers += [partial(_diverse, policy, each, told) for each in _DIVERSE]
    if Channel.RECORD in channels:
        makers += [partial(_larger, policy, k) for k in _LARGER]
    if Channel.SINGLING_OUT in channels:
        makers.append(partial(_larger, policy, 2 * policy.largest_k))
    if now.advice != "do not publish" and (now.starred or now.loss > MOST_LOST):
        makers += _saying_more(policy, now.starred)
    for make in makers:
        try:
            yield make()
        except ShoalError:  # the policy contradicts itself then
            continue


def _saying_more(policy: Policy, starred: Sequence[str]) -> Iterator[Callable[[], Change]]:
    """Yield changes after which a release may say more; quick ones first."""
    quasi = policy.quasi_identifiers
    mute = [name for name in quasi if name in starred]
    loud = [name for name in quasi if name not in starred]
    yield partial(_by, policy, "mondrian")
    for share in _SHARES:
        if policy.method.suppression == "k" or policy.method.suppression < share:
            yield partial(_suppressing, policy, share)
    if mute and loud:
        yield partial(_less_important, policy, loud)
    if policy.largest_k > 2:
        yield partial(_smaller, policy, max(policy.largest_k // 2, 2))
    if len(quasi) > 1:
        for name in [*mute, *loud]:
            yield partial(_without, policy, name)
    yield partial(_by, policy, "local")


def _told(policy: Policy, audit: Audit) -> list[str]:
    """Return the sensitive attributes whose values some attack tells; all where it does not say which."""
    sensitive = policy.named(Role.SENSITIVE)
    certain = [finding.figures for finding in audit.findings if not ATTACKS[finding.attack].assumes]
    told = {name for each in certain for name, one in each.get("attributes", {}).items() if one.get("classes")}
    told |= {rule["attribute"] for each in certain for rule in each.get("rules", ())}
    return [name for name in sensitive if name in told] or sensitive


def _changed(policy: Policy, **sections: Any) -> Policy:
    return Policy(**{**dict(policy), **sections})


def _diverse(policy: Policy, model: dict[str, Any], names: Sequence[str]) -> Change:
    asked = [{**model, "attribute": name} for name in names]
    (key, value), *_ = [item for item in model.items() if item[0] != "model"]
    words = f"add {model['model']} {key} = {value} on {' and '.join(names)}"
    return Change(words, _changed(policy, require=(*policy.require, *asked)), "require")


def _larger(policy: Policy, k: int) -> Change:
    asked = {"model": "k-anonymity", "k": k}
    return Change(f"add k-anonymity k = {k}", _changed(policy, require=(*policy.require, asked)), "require")


def _smaller(policy: Policy, k: int) -> Change:
    fewer = tuple(replace(m, k=min(m.k, k)) if hasattr(m, "k") else m for m in policy.require)
    words = f"k = {k} instead of {policy.largest_k}"
    return Change(words, _changed(policy, require=fewer), "require", weaker=True)


def _without(policy: Policy, name: str) -> Change:
    attributes = {**policy.attributes, name: {"role": "identifier"}}
    words = f'drop {name} (role = "identifier")'
    return Change(words, _changed(policy, attributes=attributes), "attributes", (name,), dropped=1)


def _less_important(policy: Policy, names: Sequence[str]) -> Change:
    less = {name: policy.attributes[name].model_copy(update={"importance": _UNIMPORTANT}) for name in names}
    words = f"importance = {_UNIMPORTANT} on {' and '.join(names)}"
    return Change(words, _changed(policy, attributes={**policy.attributes, **less}), "attributes", tuple(names))


def _by(policy: Policy, algorithm: str) -> Change:
    return Change(f'algorithm = "{algorithm}"', with_algorithm(policy, algorithm), "method")


def _suppressing(policy: Policy, share: float) -> Change:
    method = {name: getattr(policy.method, name) for name in policy.method.model_fields_set} | {"suppression": share}
    return Change(f"suppression = {share}", _changed(policy, method=method), "method")
