"""Changes of a policy that may help a release: each in words, as a policy, and as lines of a policy file."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shoal.attacks.attack import Channel
from shoal.attacks.audit import Audit
from shoal.data.codes import Column
from shoal.errors import BadPolicy, ShoalError, ShoalWarning
from shoal.explore.column_guess import says_age
from shoal.explore.draft_policy import MOST_COMMON, toml_section
from shoal.hierarchy.draft import draft
from shoal.methods import is_search
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import Model, exact_share
from shoal.policy.document import Policy
from shoal.policy.sections import RowLimit
from shoal.problem import has_exact_values
from shoal.publish.manifest import join_names
from shoal.roles import Role

_DIVERSE: tuple[dict[str, Any], ...] = (
    {"model": "distinct-l-diversity", "l": 2},
    {"model": "distinct-l-diversity", "l": 3},
    {"model": "alpha-k", "alpha": 0.49},
    {"model": "t-closeness", "t": 0.4},
    {"model": "t-closeness", "t": 0.3},
    {"model": "t-closeness", "t": 0.2},
)
"""Promises about sensitive values, tried where attacks reveal such values."""
_LARGER = (2, 5)
"""Values of k that are tried where somebody is alone in a class."""
_OTHER_KINDS = ("local", "mondrian")
"""Algorithms that are tried where labels of another kind may help."""
_SHARES = (0.01, 0.05, 0.1)
"""The shares of suppressed rows that are tried."""
_UNIMPORTANT = 0.25
"""Importance of the columns that say something, so that those that say nothing come first."""
_LEAST_IMPORTANCE = 0.1
"""Importance that is tried for columns that are less important than others already."""
_MOST_DROPPED = 3
"""Most of the less important columns that are dropped on trial, one at a time."""


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
    """Number of columns that the change drops from the release."""
    weaker: bool = False
    """Whether less is promised than before."""
    drops_precious: bool = False
    """Whether it drops a column that analyses need first: what tells ages, or has the highest importance."""
    setting: str = ""
    """The key of [method] that differs, where it is one."""
    first: "Change | None" = None
    """The change before this one, where there are two."""

    def after(self, first: "Change") -> "Change":
        """Return this change, which was made to the policy after `first`, as the second of two.

        In the words, a change of the same setting replaces the first.
        """
        words = f"{first.words} and {self.words}"
        if self.section == first.section == "require":
            words = describe_promise_changes(first.before.require, self.policy.require)
        elif self.setting and self.setting == first.setting:
            words = self.words
        dropped, weaker = first.dropped + self.dropped, first.weaker or self.weaker
        precious = first.drops_precious or self.drops_precious
        both = replace(self, words=words, before=first.before, dropped=dropped, weaker=weaker, first=first)
        return replace(both, drops_precious=precious)

    @property
    def result(self) -> str:
        """The policy after the change as a text; promises in another order are the same."""
        document = self.policy.document()
        promises = sorted(json.dumps(promise, sort_keys=True, default=str) for promise in document["require"])
        return json.dumps({**document, "require": promises}, sort_keys=True, default=str)

    @property
    def lost_share(self) -> float:
        """The importance of the columns that it drops, as a share of that of all quasi-identifiers before."""
        before = {name: importance_of(self.before, name) for name in self.before.quasi_identifiers}
        left = sum(weight for name, weight in before.items() if name in self.policy.quasi_identifiers)
        others = self.dropped - len({*before} - {*self.policy.quasi_identifiers})  # no quasi-identifiers
        return 1 - left / (sum(before.values()) + max(others, 0))

    def fragment(self) -> dict[str, Any]:
        """Return what differs, as it is written in a policy file: a section, or some columns of the attributes."""
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
    """Return the model and the attribute of a promise, which together identify it in a policy."""
    return promise.get("model"), promise.get("attribute")


def describe_promise_changes(before: Sequence[Model], after: Sequence[Model]) -> str:
    """Say which promises differ; equal changes of several attributes are put together.

    >>> from shoal.models.k_anonymity import KAnonymity
    >>> describe_promise_changes([KAnonymity(5)], [KAnonymity(10)]), describe_promise_changes([], [KAnonymity(2)])
    ('k = 10 instead of 5', 'add k-anonymity k = 2')
    """
    told: dict[tuple[str, str], list[str]] = {}
    for model in (each for each in after if each not in before):
        option = _strength(model)
        old = [each for each in before if each not in after and _has_same_subject(each, model)]
        now = f"{option} = {getattr(model, option)}"
        if old:
            kind = "" if model.name == "k-anonymity" else f"{model.name} "
            said = f"{kind}{now} instead of {getattr(old[0], option)}"
        else:
            said = f"add {model.name} {now}"
        attribute = _attribute(model)
        told.setdefault((said, " on " if attribute else ""), []).append(attribute or "")
    return " and ".join(f"{said}{on}{join_names(names) if on else ''}" for (said, on), names in told.items())


def _strength(model: Model) -> str:
    """Return the option by which advice makes a promise stronger or weaker."""
    return next(option for option in ("alpha", "l", "t", "k") if hasattr(model, option))


def _has_same_subject(one: Model, other: Model) -> bool:
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


def importance_of(policy: Policy, name: str) -> float:
    """Return the importance of a quasi-identifier, 1 where none is given."""
    given = policy.attributes[name].importance
    return 1.0 if given is None else given


def precious_columns(policy: Policy) -> set[str]:
    """Return the quasi-identifiers that analyses need first.

    These are the columns whose header says that they tell ages, and where importances differ, those of the highest.
    """
    weights = {name: importance_of(policy, name) for name in policy.quasi_identifiers}
    most = max(weights.values())
    highest = {name for name, weight in weights.items() if weight == most > min(weights.values())}
    return highest | {name for name in weights if says_age(name)}


def _less_important(policy: Policy) -> list[str]:
    """Return the quasi-identifiers of lower importance than others, the least important first."""
    weights = {name: importance_of(policy, name) for name in policy.quasi_identifiers}
    lower = [name for name in weights if weights[name] < max(weights.values()) and not says_age(name)]
    return sorted(lower, key=weights.__getitem__)


def changes_that_may_help(
    policy: Policy, troubles: Troubles, columns: Mapping[str, Column], *, more: bool = False
) -> Iterator[Change]:
    """Yield changes that may help, likely ones first; those that contradict the rest of the policy are left out.

    Changes that make a release say more are proposed only if nobody is exposed, but for singling out. `columns` are
    those of the table. With `more`, changes are proposed that seldom help, but may be cheaper where they do.
    """
    proposed: set[str] = set()
    makers = _list_changes(policy, troubles, columns)
    if more and any(line.channel is Channel.SINGLING_OUT for line in troubles.audit.successes):
        makers += _changes_of_less_important_columns(policy)  # fewer columns describe fewer people
        makers.append(partial(_raise_k, policy, 3 * policy.largest_k))
    for make in makers:
        try:
            change = make()
        except ShoalError:  # the policy contradicts itself then
            continue
        if change.words not in proposed:  # several troubles may have one remedy
            proposed.add(change.words)
            yield change


def _list_changes(policy: Policy, troubles: Troubles, columns: Mapping[str, Column]) -> list[Callable[[], Change]]:
    """Return what makes the changes, likely ones first."""
    channels = {line.channel for line in troubles.audit.successes}
    makers: list[Callable[[], Change]] = []
    if channels & {Channel.ATTRIBUTE, Channel.RULES}:
        makers += _changes_against_disclosure(policy, _find_revealed(policy, troubles.audit), columns)
    if Channel.RULES in channels:
        for name in _used_by_rules(policy, troubles.audit):
            makers += [partial(_generalise_column, policy, columns[name]), partial(_drop_columns, policy, [name])]
    persons = [name for name in troubles.repeated if name in columns]  # of several together there is no column yet
    if persons:
        makers.append(partial(_count_persons, policy, max(persons, key=lambda name: (len(columns[name].values), name))))
    if Channel.RECORD in channels:
        promised = max((model.k for model in policy.require if isinstance(model, KAnonymity)), default=1)
        makers += [partial(_raise_k, policy, k) for k in _LARGER if k > promised]
    if Channel.SINGLING_OUT in channels:
        others = [name for name in _OTHER_KINDS if name != policy.method.algorithm]
        makers.append(partial(_raise_k, policy, 2 * policy.largest_k))
        makers += [
            partial(_change_algorithm, policy, name) for name in others
        ]  # other labels, of which none may be as rare
        makers.append(partial(_raise_k, policy, 4 * policy.largest_k))
    if troubles.says_little and not channels - {Channel.SINGLING_OUT}:
        makers += _changes_that_show_more(policy, troubles.starred)
    return makers


def _changes_against_disclosure(
    policy: Policy, told: Sequence[str], columns: Mapping[str, Column]
) -> Iterator[Callable[[], Change]]:
    """Yield changes after which attacks may tell less of sensitive columns: of promises, the weakest first."""
    exact = [name for name in told if has_exact_values(columns[name].uniques, len(columns[name].codes))]
    several = [name for name in told if name not in exact]
    lacking = {at: _attributes_lacking(policy, model, several, columns) for at, model in enumerate(_DIVERSE)}
    yield from (partial(_add_diversity, policy, _DIVERSE[at], names) for at, names in lacking.items() if names)
    yield from (partial(_drop_columns, policy, [name]) for name in exact)  # no class shares an exact value
    yield from _changes_of_less_important_columns(policy)  # larger classes hold more values
    others = {*policy.named(Role.SENSITIVE), *policy.named(Role.INSENSITIVE)} - {*told}
    if others and [*told] != exact[:1]:
        yield partial(_drop_columns, policy, told)  # what is not published is not told


def _changes_of_less_important_columns(policy: Policy) -> Iterator[Callable[[], Change]]:
    """Yield changes that give up detail of the least important quasi-identifiers, or all of it."""
    less = _less_important(policy)
    if any(importance_of(policy, name) > _LEAST_IMPORTANCE for name in less):
        yield partial(_lower_importance, policy, less, _LEAST_IMPORTANCE)
    for name in less[:_MOST_DROPPED]:
        yield partial(_drop_columns, policy, [name])


def _changes_that_show_more(policy: Policy, starred: Sequence[str]) -> Iterator[Callable[[], Change]]:
    """Yield changes after which a release may say more; quick ones first."""
    quasi = policy.quasi_identifiers
    mute = [name for name in quasi if name in starred]
    loud = [name for name in quasi if name not in starred]
    precious, less = precious_columns(policy), _less_important(policy)
    if policy.method.algorithm != "mondrian":
        yield partial(_change_algorithm, policy, "mondrian")
    yield from _changes_of_less_important_columns(policy)
    for share in _SHARES if is_search(policy.method.algorithm) else ():
        given = policy.method.suppression
        if given == "k" or isinstance(given, RowLimit) or exact_share("suppression", given) < share:
            yield partial(_change_suppression, policy, share)
    if mute and loud:
        yield partial(_lower_importance, policy, loud)
    if policy.largest_k > 2:
        yield partial(_lower_k, policy, max(policy.largest_k // 2, 2))
    if mute and loud:
        yield partial(_drop_columns, policy, mute)
    singles = [name for name in loud if name not in less[:_MOST_DROPPED]]
    for name in sorted(singles, key=lambda name: name in precious) if len(quasi) > 1 else ():
        yield partial(_drop_columns, policy, [name])
    if policy.method.algorithm != "local":
        yield partial(_change_algorithm, policy, "local")


def _find_revealed(policy: Policy, audit: Audit) -> list[str]:
    """Return the sensitive attributes whose values some attack reveals; all if the attack does not say which."""
    sensitive = policy.named(Role.SENSITIVE)
    told = {name for line in audit.successes for name in line.columns}
    return [name for name in sensitive if name in told] or sensitive


def _used_by_rules(policy: Policy, audit: Audit) -> list[str]:
    """Return the columns released unchanged that rules use to predict sensitive values."""
    rules = [rule for finding in audit.findings for rule in finding.figures.get("rules", ()) if finding.exposed]
    tests = [test for rule in rules for test in rule["antecedent"]]
    return [name for name in policy.named(Role.INSENSITIVE) if any(test.startswith(f"{name} ") for test in tests)]


def _attributes_lacking(
    policy: Policy, model: Mapping[str, Any], names: Sequence[str], columns: Mapping[str, Column]
) -> list[str]:
    """Return the attributes that could keep a model, and for which the policy does not promise as much yet."""
    kind, (option, asked) = model["model"], next(item for item in model.items() if item[0] != "model")
    promised: dict[str, list[float]] = {name: [] for name in names}
    for each in policy.require:
        if each.name == kind and getattr(each, "attribute", None) in promised:
            promised[each.attribute].append(getattr(each, option))
    if option == "l":
        enough = [name for name in names if len(columns[name].values) >= asked]
        # at most a share alpha of one value: so at least 1 / alpha values
        implied = {name for name in names if any(alpha * (asked - 1) < 1 for alpha in _promised_alphas(policy, name))}
        return [name for name in enough if name not in implied and max(promised[name], default=0) < asked]
    if option == "alpha":
        named = [name for name in names if not any(isinstance(each, Mapping) for each in promised[name])]
        names = [name for name in named if _largest_share(columns[name]) <= MOST_COMMON]
    return [name for name in names if min(promised[name], default=1) > asked]


def _promised_alphas(policy: Policy, name: str) -> list[float]:
    """Return the largest shares that a policy allows any value of a sensitive attribute to have in a class."""
    models = [model for model in policy.require if model.name == "alpha-k" and _attribute(model) == name]
    return [float(model.alpha) for model in models if not isinstance(model.alpha, Mapping)]


def _largest_share(column: Column) -> float:
    """Return the share of the most frequent value among those that are not null."""
    counts = column.counts[: len(column.values)]
    return float(counts.max() / counts.sum()) if len(counts) else 1.0


def _with_sections(policy: Policy, **sections: Any) -> Policy:
    """Return a policy with other sections; what is ignored then is no matter of whoever wrote the first one."""
    with warnings.catch_warnings(action="ignore", category=ShoalWarning):
        return Policy(**{**dict(policy), **sections})


def _add_diversity(policy: Policy, model: dict[str, Any], names: Sequence[str]) -> Change:
    return _add_promises(policy, [{**model, "attribute": name} for name in names])


def _raise_k(policy: Policy, k: int) -> Change:
    return _add_promises(policy, [{"model": "k-anonymity", "k": k}])


def _add_promises(policy: Policy, asked: Sequence[Mapping[str, Any]]) -> Change:
    """Return the change that makes these promises, replacing those of the same model and attribute."""
    require: list[Model | Mapping[str, Any]] = list(policy.require)
    for promise in asked:
        option, value = next(item for item in promise.items() if item[0] not in {"model", "attribute"})
        at = [i for i, each in enumerate(policy.require) if _subject(promise) == (each.name, _attribute(each))]
        for i in at:
            require[i] = replace(policy.require[i], **{option: value})
        if not at:
            require.append(promise)
    changed = _with_sections(policy, require=_drop_duplicates(require))
    return Change(describe_promise_changes(policy.require, changed.require), policy, changed, "require")


def _drop_duplicates(require: Sequence[Any]) -> tuple[Any, ...]:
    """Return the promises without repetitions."""
    return tuple(each for i, each in enumerate(require) if each not in require[:i])


def _attribute(model: Model) -> str | None:
    attribute: str | None = getattr(model, "attribute", None)
    return attribute


def _count_persons(policy: Policy, name: str) -> Change:
    attributes = {**policy.attributes, name: {"role": "unit"}}
    words = f'count persons by {name} (role = "unit")'
    return Change(words, policy, _with_sections(policy, attributes=attributes), "attributes", (name,))


def _generalise_column(policy: Policy, column: Column) -> Change:
    if policy.population is not None:
        raise BadPolicy(f"the population need not tell of {column.name!r}")
    attribute = {"role": "quasi-identifier", "hierarchy": draft(column, policy.largest_k).spec()}
    words = f'generalise {column.name} (role = "quasi-identifier")'
    changed = _with_sections(policy, attributes={**policy.attributes, column.name: attribute})
    return Change(words, policy, changed, "attributes", (column.name,))


def _lower_k(policy: Policy, k: int) -> Change:
    fewer = tuple(replace(m, k=min(m.k, k)) if hasattr(m, "k") else m for m in policy.require)
    words = f"k = {k} instead of {policy.largest_k}"
    return Change(words, policy, _with_sections(policy, require=fewer), "require", weaker=True)


def _drop_columns(policy: Policy, names: Sequence[str]) -> Change:
    attributes = {**policy.attributes, **{name: {"role": "identifier"} for name in names}}
    words = f'drop {join_names(names)} (role = "identifier")'
    changed = _with_sections(policy, attributes=attributes)
    precious = not {*precious_columns(policy), *policy.named(Role.SENSITIVE)}.isdisjoint(names)
    return Change(words, policy, changed, "attributes", tuple(names), dropped=len(names), drops_precious=precious)


def _lower_importance(policy: Policy, names: Sequence[str], importance: float = _UNIMPORTANT) -> Change:
    less = {name: policy.attributes[name].model_copy(update={"importance": importance}) for name in names}
    words = f"importance = {importance} on {join_names(names)}"
    changed = _with_sections(policy, attributes={**policy.attributes, **less})
    return Change(words, policy, changed, "attributes", tuple(names))


def _change_algorithm(policy: Policy, algorithm: str) -> Change:
    changed = policy.with_algorithm(algorithm)
    return Change(f'algorithm = "{algorithm}"', policy, changed, "method", setting="algorithm")


def _change_suppression(policy: Policy, share: float) -> Change:
    method = {name: getattr(policy.method, name) for name in policy.method.model_fields_set} | {"suppression": share}
    changed = _with_sections(policy, method=method)
    return Change(f"suppression = {share}", policy, changed, "method", setting="suppression")
