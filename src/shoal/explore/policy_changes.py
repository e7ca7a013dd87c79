"""Changes of a policy that may help a release: what each is in words, as a policy, and as lines of a policy file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shoal.attacks.attack import Channel
from shoal.attacks.audit import Audit
from shoal.data.codes import Column
from shoal.errors import BadPolicy, ShoalError
from shoal.explore.compare import with_algorithm
from shoal.explore.draft_policy import MOST_COMMON, toml_section
from shoal.hierarchy.draft import draft
from shoal.methods import is_search
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import Model
from shoal.policy.document import Policy
from shoal.problem import has_exact_values
from shoal.roles import Role

_DIVERSE: tuple[dict[str, Any], ...] = (
    {"model": "distinct-l-diversity", "l": 2},
    {"model": "distinct-l-diversity", "l": 3},
    {"model": "alpha-k", "alpha": 0.49},
    {"model": "t-closeness", "t": 0.4},
    {"model": "t-closeness", "t": 0.3},
    {"model": "t-closeness", "t": 0.2},
)
"""Promises about sensitive values, which are tried where these can be told."""
_LARGER = (2, 5)
"""The k that is tried where somebody is alone."""
_OTHER_KINDS = ("local", "mondrian")
"""Algorithms that are tried where labels of another kind may help."""
_SHARES = (0.01, 0.05, 0.1)
"""The shares of suppressed rows that are tried."""
_UNIMPORTANT = 0.25
"""Importance of the columns that say something, so that those that say nothing come first."""


@dataclass(frozen=True)
class Change:
    """A change of a policy, before it is tried."""

    words: str
    before: Policy
    """The policy before the change."""
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
    setting: str = ""
    """The key of [method] that differs, where it is one."""
    first: "Change | None" = None
    """The change before this one, where there are two."""

    def after(self, first: "Change") -> "Change":
        """Return this change as the second of two; it was made of the policy after the first.

        One of the same kind replaces the first.
        """
        words = f"{first.words} and {self.words}"
        if self.section == first.section == "require":
            words = promises_changed(first.before.require, self.policy.require)
        elif self.setting and self.setting == first.setting:
            words = self.words
        dropped, weaker = first.dropped + self.dropped, first.weaker or self.weaker
        return replace(self, words=words, before=first.before, dropped=dropped, weaker=weaker, first=first)

    def fragment(self) -> dict[str, Any]:
        """Return what differs as it stands in a policy file: a section, or of the attributes some columns."""
        plain = self.policy.document()
        told = {} if self.first is None else self.first.fragment()
        if not self.columns:
            return {**told, self.section: plain.get(self.section, {})}
        columns = {name: plain["attributes"][name] for name in self.columns}
        return {**told, "attributes": {**told.get("attributes", {}), **columns}}

    def toml(self) -> str:
        """Return the lines of a policy file that differ, under comments that say where they go."""
        old, parts = self.before.document(), list[str]()
        for section, content in self.fragment().items():
            if section == "require":
                parts += _promise_lines(old["require"], content)
            elif section == "attributes":
                texts = [toml_section([section, name], column) for name, column in content.items()]
                parts += [f"# in place of {text.partition(chr(10))[0]}\n{text}" for text in texts]
            else:
                where = f"in place of [{section}]" if section in old else "a new section, e.g. at the end"
                parts.append(f"# {where}\n{toml_section([section], content)}")
        return "\n".join(parts)


def _promise_lines(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the promises of a policy file that are new, each with where it goes."""
    for promise in (each for each in after if each not in before):
        text = toml_section(["require"], promise, listed=True)
        where = "one more [[require]], e.g. at the end"
        if any(each not in after and _subject(each) == _subject(promise) for each in before):
            told = [line for line in text.splitlines() if line.startswith(("model = ", "attribute = "))]
            where = f"in place of the [[require]] with {', '.join(told)}"
        yield f"# {where}\n{text}"


def _subject(promise: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the model of a promise and its attribute: a policy makes one such promise."""
    return promise.get("model"), promise.get("attribute")


def promises_changed(before: Sequence[Model], after: Sequence[Model]) -> str:
    """Say which promises differ; equal ones on several attributes at once.

    >>> from shoal.models.k_anonymity import KAnonymity
    >>> promises_changed([KAnonymity(5)], [KAnonymity(10)]), promises_changed([], [KAnonymity(2)])
    ('k = 10 instead of 5', 'add k-anonymity k = 2')
    """
    told: dict[tuple[str, str], list[str]] = {}
    for model in (each for each in after if each not in before):
        option = _strength(model)
        old = [each for each in before if each not in after and _alike(each, model)]
        now = f"{option} = {getattr(model, option)}"
        if old:
            kind = "" if model.name == "k-anonymity" else f"{model.name} "
            said = f"{kind}{now} instead of {getattr(old[0], option)}"
        else:
            said = f"add {model.name} {now}"
        attribute = _attribute(model)
        told.setdefault((said, " on " if attribute else ""), []).append(attribute or "")
    return " and ".join(f"{said}{on}{listed(names) if on else ''}" for (said, on), names in told.items())


def _strength(model: Model) -> str:
    """Return the option by which advice makes a promise stronger or weaker."""
    return next(option for option in ("alpha", "l", "t", "k") if hasattr(model, option))


def _alike(one: Model, other: Model) -> bool:
    return one.name == other.name and _attribute(one) == _attribute(other)


@dataclass(frozen=True)
class Troubles:
    """What is wrong with a release, as far as a change of its policy may help."""

    audit: Audit
    repeated: Sequence[str] = ()
    """Dropped columns that name persons who have several rows, where rows are counted."""
    starred: Sequence[str] = ()
    """Columns that show `*` in every row."""
    says_little: bool = False
    """Whether it shows nothing of a column, or little of all."""


def changes_that_may_help(policy: Policy, troubles: Troubles, columns: Mapping[str, Column]) -> Iterator[Change]:
    """Yield changes that may help, likely ones first; those that contradict the rest of the policy are left out.

    Where people are exposed, that comes first: only then does it help that a release says more. `columns` are those of
    the table.
    """
    channels = {line.channel for line in troubles.audit.successes}
    makers: list[Callable[[], Change]] = []
    if channels & {Channel.ATTRIBUTE, Channel.RULES}:
        told = _told(policy, troubles.audit)
        exact = [name for name in told if has_exact_values(columns[name].uniques, len(columns[name].codes))]
        several = [name for name in told if name not in exact]
        lacking = {at: _lacking(policy, model, several, columns) for at, model in enumerate(_DIVERSE)}
        makers += [partial(_diverse, policy, _DIVERSE[at], names) for at, names in lacking.items() if names]
        makers += [partial(_without, policy, [name]) for name in exact]  # no class shares an exact value
    if Channel.RULES in channels:
        for name in _used_by_rules(policy, troubles.audit):
            makers += [partial(_generalised, policy, columns[name]), partial(_without, policy, [name])]
    if troubles.repeated:
        makers.append(
            partial(_of_persons, policy, max(troubles.repeated, key=lambda name: (len(columns[name].values), name)))
        )
    if Channel.RECORD in channels:
        promised = max((model.k for model in policy.require if isinstance(model, KAnonymity)), default=1)
        makers += [partial(_larger, policy, k) for k in _LARGER if k > promised]
    if Channel.SINGLING_OUT in channels:
        others = [name for name in _OTHER_KINDS if name != policy.method.algorithm]
        makers.append(partial(_larger, policy, 2 * policy.largest_k))
        makers += [partial(_by, policy, name) for name in others]  # other labels, of which none may be as rare
        makers.append(partial(_larger, policy, 4 * policy.largest_k))
    if troubles.says_little and not channels - {Channel.SINGLING_OUT}:
        makers += _saying_more(policy, troubles.starred)
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
    if policy.method.algorithm != "mondrian":
        yield partial(_by, policy, "mondrian")
    for share in _SHARES if is_search(policy.method.algorithm) else ():
        if policy.method.suppression == "k" or policy.method.suppression < share:
            yield partial(_suppressing, policy, share)
    if mute and loud:
        yield partial(_less_important, policy, loud)
    if policy.largest_k > 2:
        yield partial(_smaller, policy, max(policy.largest_k // 2, 2))
    if mute and loud:
        yield partial(_without, policy, mute)
    for name in loud if len(quasi) > 1 else ():
        yield partial(_without, policy, [name])
    if policy.method.algorithm != "local":
        yield partial(_by, policy, "local")


def _told(policy: Policy, audit: Audit) -> list[str]:
    """Return the sensitive attributes whose values some attack tells; all where it does not say which."""
    sensitive = policy.named(Role.SENSITIVE)
    told = {name for line in audit.successes for name in line.columns}
    return [name for name in sensitive if name in told] or sensitive


def _used_by_rules(policy: Policy, audit: Audit) -> list[str]:
    """Return the columns that are released as they are, and by which rules tell sensitive values."""
    rules = [rule for finding in audit.findings for rule in finding.figures.get("rules", ()) if finding.exposed]
    tests = [test for rule in rules for test in rule["antecedent"]]
    return [name for name in policy.named(Role.INSENSITIVE) if any(test.startswith(f"{name} ") for test in tests)]


def _lacking(
    policy: Policy, model: Mapping[str, Any], names: Sequence[str], columns: Mapping[str, Column]
) -> list[str]:
    """Return the attributes that could keep a model, and of which the policy does not promise as much already."""
    kind, (option, asked) = model["model"], next(item for item in model.items() if item[0] != "model")
    promised: dict[str, list[float]] = {name: [] for name in names}
    for each in policy.require:
        if each.name == kind and getattr(each, "attribute", None) in promised:
            promised[each.attribute].append(getattr(each, option))
    if option == "l":
        enough = [name for name in names if len(columns[name].values) >= asked]
        return [name for name in enough if max(promised[name], default=0) < asked]
    if option == "alpha":
        named = [name for name in names if not any(isinstance(each, Mapping) for each in promised[name])]
        names = [name for name in named if _largest_share(columns[name]) <= MOST_COMMON]
    return [name for name in names if min(promised[name], default=1) > asked]


def _largest_share(column: Column) -> float:
    """Return the share of the most frequent value among those that are not null."""
    counts = column.counts[: len(column.values)]
    return float(counts.max() / counts.sum()) if len(counts) else 1.0


def _changed(policy: Policy, **sections: Any) -> Policy:
    return Policy(**{**dict(policy), **sections})


def _diverse(policy: Policy, model: dict[str, Any], names: Sequence[str]) -> Change:
    return _promising(policy, [{**model, "attribute": name} for name in names])


def _larger(policy: Policy, k: int) -> Change:
    return _promising(policy, [{"model": "k-anonymity", "k": k}])


def _promising(policy: Policy, asked: Sequence[Mapping[str, Any]]) -> Change:
    """Return the change by which promises are made, in place of weaker ones of the same model and attribute."""
    require: list[Model | Mapping[str, Any]] = list(policy.require)
    for promise in asked:
        option, value = next(item for item in promise.items() if item[0] not in {"model", "attribute"})
        at = [i for i, each in enumerate(policy.require) if _subject(promise) == (each.name, _attribute(each))]
        for i in at:
            require[i] = replace(policy.require[i], **{option: value})
        if not at:
            require.append(promise)
    changed = _changed(policy, require=_once(require))
    return Change(promises_changed(policy.require, changed.require), policy, changed, "require")


def _once(require: Sequence[Any]) -> tuple[Any, ...]:
    """Leave out what is promised twice."""
    return tuple(each for i, each in enumerate(require) if each not in require[:i])


def _attribute(model: Model) -> str | None:
    attribute: str | None = getattr(model, "attribute", None)
    return attribute


def _of_persons(policy: Policy, name: str) -> Change:
    attributes = {**policy.attributes, name: {"role": "unit"}}
    words = f'count persons by {name} (role = "unit")'
    return Change(words, policy, _changed(policy, attributes=attributes), "attributes", (name,))


def _generalised(policy: Policy, column: Column) -> Change:
    if policy.population is not None:
        raise BadPolicy(f"the population need not tell of {column.name!r}")
    attribute = {"role": "quasi-identifier", "hierarchy": draft(column, policy.largest_k).spec()}
    words = f'generalise {column.name} (role = "quasi-identifier")'
    changed = _changed(policy, attributes={**policy.attributes, column.name: attribute})
    return Change(words, policy, changed, "attributes", (column.name,))


def _smaller(policy: Policy, k: int) -> Change:
    fewer = tuple(replace(m, k=min(m.k, k)) if hasattr(m, "k") else m for m in policy.require)
    words = f"k = {k} instead of {policy.largest_k}"
    return Change(words, policy, _changed(policy, require=fewer), "require", weaker=True)


def _without(policy: Policy, names: Sequence[str]) -> Change:
    attributes = {**policy.attributes, **{name: {"role": "identifier"} for name in names}}
    words = f'drop {listed(names)} (role = "identifier")'
    changed = _changed(policy, attributes=attributes)
    return Change(words, policy, changed, "attributes", tuple(names), dropped=len(names))


def _less_important(policy: Policy, names: Sequence[str]) -> Change:
    less = {name: policy.attributes[name].model_copy(update={"importance": _UNIMPORTANT}) for name in names}
    words = f"importance = {_UNIMPORTANT} on {listed(names)}"
    changed = _changed(policy, attributes={**policy.attributes, **less})
    return Change(words, policy, changed, "attributes", tuple(names))


def _by(policy: Policy, algorithm: str) -> Change:
    changed = with_algorithm(policy, algorithm)
    return Change(f'algorithm = "{algorithm}"', policy, changed, "method", setting="algorithm")


def _suppressing(policy: Policy, share: float) -> Change:
    method = {name: getattr(policy.method, name) for name in policy.method.model_fields_set} | {"suppression": share}
    changed = _changed(policy, method=method)
    return Change(f"suppression = {share}", policy, changed, "method", setting="suppression")


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence has them.

    >>> listed(["age", "sex", "zip"]), listed(["age"])
    ('age, sex and zip', 'age')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
