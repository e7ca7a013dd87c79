"""Blocks the inference channels of a plan: by added rows, or by generalising or leaving out rows (S1.3 to S1.8)."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.blocking.algorithm import Blocked, Diversifying, Limits, Rows, block, compared
from shoal.data.codes import Codes, Column, Table, encode, rows_of
from shoal.data.frequency_set import FrequencySet
from shoal.engine_port import Engine, Source
from shoal.errors import BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.lattice import Node
from shoal.metrics.catalogue import scorers
from shoal.mining.c45 import C45
from shoal.mining.decision_tree import Rule, Sensitive
from shoal.models.model import Flags, exact
from shoal.plan import Added, Plan
from shoal.policy.document import Policy
from shoal.problem import Problem, counted, failed_by
from shoal.recoding.columns import Released
from shoal.recoding.kinds import NodeRecoding, Recoding, recode
from shoal.recoding.outcome import After
from shoal.roles import Role
from shoal.runtime.events import phase
from shoal.search.full_domain import LatticeSearch


def with_added(columns: Mapping[str, Released], rows: Rows, added: Added) -> tuple[dict[str, Released], Rows]:
    """Sort added rows in among the others, by what they show; the number of one is -1 minus the input row it copies.

    >>> age = Released.of(np.array([0, 0], np.int32), ["3*"])
    >>> ill = Released.of(np.array([0, 1], np.int32), ["flu", "hiv"])
    >>> made, rows = with_added({"age": age, "ill": ill}, np.array([4, 7]), Added("ill", np.array([7]), np.array([0])))
    >>> made["ill"].codes.tolist(), rows.tolist(), shown_or_copied(rows).tolist()
    ([0, 0, 1], [4, -8, 7], [4, 7, 7])
    """
    # [input row] where it stands among the released rows; [row] which of these it shows or copies
    place = np.zeros(int(rows.max(initial=0)) + 1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    at = np.concatenate([np.arange(len(rows)), place[added.copied]])
    every = {name: replace(column, codes=column.codes[at]) for name, column in columns.items()}
    every[added.attribute] = _told(columns[added.attribute], added.codes)
    order = np.lexsort([column.codes for column in reversed(every.values())])
    whole = np.concatenate([rows, -1 - added.copied])[order]
    return {name: replace(column, codes=column.codes[order]) for name, column in every.items()}, whole


def shown_or_copied(rows: Rows) -> Rows:
    """The input row that every released row shows, or copies where it was added."""
    return np.where(rows < 0, -1 - rows, rows)


def _told(column: Released, codes: NDArray[np.int32]) -> Released:
    """The sensitive column, with the values of the added rows after the others."""
    values, texts = column.values, column.texts
    if (codes < 0).any() and not texts.null_count:
        values, texts = (pa.concat_arrays([each, pa.nulls(1, each.type)]) for each in (values, texts))
    null = len(texts) - 1  # where there is one, it is the last
    return Released(np.concatenate([column.codes, np.where(codes < 0, null, codes)]).astype(np.int32), values, texts)


_WHY = {
    "h": "more rules would be lost or made up than h allows",
    "passes": "all passes were made",
    "limit": "no more rows may be added or left out",
    "fractions": "only fractions of rows with missing values support them",
    "": "they were not looked for any longer",
}


def _warn_of_open_channels(plan: Plan) -> None:
    """Warn of the channels that blocking left open, and say why."""
    blocked = plan.blocked
    if blocked is not None and blocked.left:
        said = f"{len(blocked.left)} inference channel(s) are left: {_WHY[blocked.stopped]}"
        warnings.warn(ShoalWarning(said), stacklevel=2)


def blocking_summary(blocked: Blocked, by: str) -> dict[str, Any]:
    """What blocking did, as the private manifest tells it."""
    return {
        "by": by,
        "channels": len(blocked.before),
        "left": len(blocked.left),
        "why": _WHY[blocked.stopped] if blocked.left else None,
        "lost": float(blocked.lost),
        "ghosts": float(blocked.ghosts),
        "passes": blocked.passes,
        "seen_without_nulls": blocked.silent or None,
        "rules": tuple(map(str, blocked.before)),
        "unblocked": tuple(map(str, blocked.left)),
    }


def mined(
    table: Table, policy: Policy, plan: Plan, recoding: Recoding | None = None
) -> tuple[dict[str, Column], Column, Rows]:
    """Columns that rules test, the column that they predict, and the input row of each row.

    They are read as by somebody who has nothing but the release: what no released row shows is unknown.
    """
    assert policy.blocking is not None
    assert policy.blocked is not None
    asked = policy.blocking.features
    useful = {name for name, role in plan.roles.items() if role.released and role is not Role.SENSITIVE}
    names = [name for name in plan.roles if name == policy.blocked or (name in (asked or useful) and name in useful)]
    columns, rows = recode(
        table,
        recoding or plan.recoding,
        plan.hierarchies,
        names,
        plan.quasi_identifiers,
        show=policy.release.suppressed == "show",
    )
    read = {name: _read(name, column) for name, column in columns.items()}
    return read, read.pop(policy.blocked), rows


def _read(name: str, column: Released) -> Column:
    return encode(name, pa.DictionaryArray.from_arrays(pa.array(column.codes), column.texts))


CHANNEL = "inference channel"
"""Why a row was left out."""


@dataclass(frozen=True)
class _Standing:
    """The rows that are not left out for a channel, at a node: their classes, and which of these fail the policy."""

    node: Node
    dropped: Flags
    """Which rows of the input are left out for a channel."""
    classes: FrequencySet
    failing: Flags
    of_row: Codes
    """The class of each row that is not dropped."""

    @property
    def suppressed(self) -> Flags:
        """Which rows of the input are left out, for a channel or since their class fails the policy."""
        flags = self.dropped.copy()
        flags[~self.dropped] = self.failing[self.of_row]
        return flags


@dataclass(frozen=True)
class _ChannelProblem:
    search: LatticeSearch

    @property
    def table(self) -> Table:
        return self.search.problem.table

    @property
    def policy(self) -> Policy:
        return self.search.problem.policy

    def stand(self, node: Node, dropped: Flags) -> _Standing:
        """Classes at a node of the rows that are not `dropped`."""
        search, names = self.search, self.search.lattice.attributes
        some = rows_of(self.table, np.flatnonzero(~dropped))
        fine = search.problem.engine.count(some, list(names), counted(self.policy, list(names)))
        steps = {name: search.problem.hierarchies[name].levels[level] for name, level in zip(names, node, strict=True)}
        coarse = fine.rollup(steps, want_classes=True)
        assert fine.classes is not None
        assert coarse.classes is not None
        return _Standing(node, dropped, coarse, search.oracle.failing(node, coarse), coarse.classes[fine.classes])

    def recoding(self, standing: _Standing) -> NodeRecoding:
        return NodeRecoding(dict(zip(self.search.lattice.attributes, standing.node, strict=True)), standing.suppressed)

    def higher(self, node: Node, channels: Sequence[Rule]) -> Node | None:
        """The cheapest complying node one level up in a quasi-identifier that a channel looks at."""
        lattice, told = self.search.lattice, {test.attribute for rule in channels for test in rule.antecedent}
        above = [
            (*node[:i], node[i] + 1, *node[i + 1 :])
            for i, name in enumerate(lattice.attributes)
            if name in told and node[i] < lattice.top[i]
        ]
        answers = [answer for answer in map(self.search.oracle.ask, above) if answer.ok]
        return min(answers, key=lambda answer: (answer.score, answer.node)).node if answers else None


def without_false_rows(
    source: Source, policy: Policy, plan: Plan, engine: Engine, sensitive: Sensitive, limits: Limits
) -> Plan:
    """Block the channels of a plan by generalising further where a rule looks at a quasi-identifier, or else, and
    with `suppress` always, by leaving out the rows of the channel's leaf and then every class that fails the policy.
    """
    levels = plan.recoding.levels
    assert policy.blocking is not None
    assert levels is not None
    channels = _ChannelProblem(LatticeSearch.of(Problem.of(source, policy, engine)))
    names = channels.search.lattice.attributes
    standing = channels.stand(tuple(levels[name] for name in names), np.zeros(source.table.rows, bool))
    begun = int(standing.suppressed.sum())
    rules, leaf = _mine(channels, plan, standing)
    first = left = sensitive.among(rules)
    lost, ghosts = compared(rules, first, rules)
    before, passes, stopped = rules, 0, ""
    while left and not stopped:
        if passes == limits.passes:
            stopped = "passes"
            break
        node = channels.higher(standing.node, left) if policy.blocking.by == "generalise" else None
        if node is not None:
            then = channels.stand(node, standing.dropped)
        else:
            told = [number for number, rule in enumerate(rules) if rule in left]
            then = channels.stand(standing.node, standing.dropped | np.isin(leaf, told))
        gone = int(then.suppressed.sum())
        if gone == source.table.rows:
            raise Infeasible("blocking would leave out every row; use blocking.by = 'absent', or block less")
        if limits.rows is not None and gone - begun > limits.rows:
            stopped = "limit"
            break
        standing, passes = then, passes + 1
        rules, leaf = _mine(channels, plan, standing)
        left = sensitive.among(rules)
        lost, ghosts = compared(before, first, rules)
        if max(lost, ghosts) > limits.h:
            stopped = "h"
    done = Blocked(first, left, lost, ghosts, passes, stopped if left else "")
    return _planned(channels, plan, standing, done)


def _mine(channels: _ChannelProblem, plan: Plan, standing: _Standing) -> tuple[tuple[Rule, ...], Codes]:
    """The rules of what is left, and for every row of the input the rule whose leaf it is in; -1 if it is in none."""
    columns, target, rows = mined(channels.table, channels.policy, plan, channels.recoding(standing))
    tree = C45().fit_codes(columns, target)
    leaf = np.full(channels.table.rows, -1, dtype=np.int32)
    leaf[rows] = tree.leaf_of(columns)
    return tree.rules(), leaf


def _planned(channels: _ChannelProblem, plan: Plan, standing: _Standing, done: Blocked) -> Plan:
    """The plan for what is left; rows left out for a channel are suppressed classes of their own."""
    oracle = channels.search.oracle
    out = channels.stand(standing.node, ~standing.dropped)
    classes = standing.classes.beside(out.classes)
    suppressed = np.concatenate([standing.failing, np.ones(len(out.classes), dtype=bool)])
    of_row = np.empty(len(standing.dropped), dtype=np.int32)
    of_row[~standing.dropped] = standing.of_row
    of_row[standing.dropped] = out.of_row + len(standing.classes)
    after = After(standing.node, classes, suppressed)
    if not oracle.holds(after):
        raise Infeasible(
            "what is left when channels are blocked does not keep the policy as a whole; use blocking.by = 'absent', "
            "or weaken what is promised of the whole table"
        )
    failed = failed_by(channels.policy.models, oracle.counts(standing.node, standing.classes))
    padding = np.zeros(len(out.classes), dtype=bool)
    scorer = oracle.scorer
    score = scorer.value(scorer.score(after))
    found = plan.search
    assert found is not None
    return replace(
        plan,
        after=after,
        recoding=channels.recoding(standing),
        score=score,
        metrics={name: each.value(each.score(after)) for name, each in scorers(oracle.before).items()},
        failed={name: np.concatenate([flags, padding]) for name, flags in failed.items()}
        | {CHANNEL: np.concatenate([np.zeros(len(standing.classes), dtype=bool), ~padding])},
        class_of_row=of_row,
        # no search was made for the least loss that leaves no channel
        search=replace(found, found=replace(found.found, bound=-inf), gap=found.gap + score - plan.score),
        blocked=done,
    )


@phase("blocking")
def block_channels(source: Source, policy: Policy, plan: Plan, engine: Engine) -> Plan:
    """Block the channels of a plan as the policy asks; warn of those that are left."""
    done = _blocked(source, policy, plan, engine)
    _warn_of_open_channels(done)
    return done


def _blocked(source: Source, policy: Policy, plan: Plan, engine: Engine) -> Plan:
    how, attribute = policy.blocking, policy.blocked
    assert how is not None
    assert attribute is not None
    sensitive = Sensitive(exact("at", how.at), how.support, frozenset(how.values))
    limits = Limits(
        exact("confidence", how.confidence),
        exact("h", how.h),
        int(exact("limit", how.limit) * source.table.rows),
        how.passes,
    )
    features, target, rows = mined(source.table, policy, plan)
    _refuse_too_low(target, how.confidence)
    if how.by in {"generalise", "suppress"}:
        return without_false_rows(source, policy, plan, engine, sensitive, limits)
    rng = np.random.default_rng([policy.method.seed, 1])
    further = _further(policy, plan, target, rows)
    done = block(
        features,
        target,
        sensitive,
        limits,
        unknown=how.by == "unknown",
        seed=policy.method.seed,
        further=None if further is None else lambda shows, values: further.further(shows, values, rng),
    )
    if further is not None:
        _refuse_unattained(further, target, done)
    return replace(plan, blocked=done, added=_added(source.table[attribute], target, rows, done))


def _refuse_too_low(target: Column, confidence: float) -> None:
    least = Fraction(1, max(len(target.values), 1))
    if exact("confidence", confidence) < least:
        raise BadPolicy(
            f"blocking.confidence = {confidence!r}: the release shows {len(target.values)} sensitive values, so the "
            f"likeliest of them has at least 1/{len(target.values)}; ask for no less"
        )


def _further(policy: Policy, plan: Plan, target: Column, rows: Rows) -> Diversifying | None:
    assert policy.blocking is not None
    models = policy.promises[len(policy.models) :]
    if not models:
        return None
    _, of_row = np.unique(plan.class_of_row[rows], return_inverse=True)
    return Diversifying(models, of_row.astype(np.int32), target)


def _refuse_unattained(further: Diversifying, target: Column, done: Blocked) -> None:
    shows = np.concatenate([np.arange(len(target.codes)), done.copied])
    left = further.left(shows, np.concatenate([target.codes, done.values]))
    if left:
        why = f" before {done.stopped} stopped it" if done.stopped else ""
        raise Infeasible(f"blocking did not attain {left[0]}{why}; allow more rows and passes, or a weaker model")


def _added(column: Column, target: Column, rows: Rows, done: Blocked) -> Added:
    """Added rows in the codes of the table."""
    known = {text: code for code, text in enumerate(column.texts.to_pylist())}
    # [value as released] its code in the table; the last one is null
    codes = np.array([*(known[text] for text in target.texts.to_pylist()), -1], dtype=np.int32)
    return Added(column.name, rows[done.copied], codes[done.values])
