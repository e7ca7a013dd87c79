"""Channels blocked without a false row: their rows are generalised further, or left out (S1.8)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from shoal.codes import Codes
from shoal.engine import Engine, Source
from shoal.errors import Infeasible
from shoal.frequency import FrequencySet
from shoal.lattice import Node
from shoal.metrics import scorers
from shoal.mining.blocking import Blocked, Limits, compared
from shoal.mining.c45 import C45
from shoal.mining.channels import Sensitive
from shoal.mining.folds import rows_of
from shoal.mining.rules import Rule
from shoal.models import Flags
from shoal.plan.counting import counted
from shoal.plan.feasible import failed_by
from shoal.plan.mined import mined
from shoal.plan.searching import Task, set_task
from shoal.plan.values import Plan
from shoal.policy import Policy
from shoal.recode import NodeRecoding
from shoal.release import After

CHANNEL = "inference channel"
"""Why a row was left out."""


@dataclass(frozen=True)
class _Standing:
    """The rows that are not left out for a channel, at a node: their classes, and which of these fail the policy."""

    node: Node
    dropped: Flags
    """Per row of the input."""
    classes: FrequencySet
    failing: Flags
    of_row: Codes
    """The class of each row that is not dropped."""

    @property
    def suppressed(self) -> Flags:
        """Per row of the input."""
        flags = self.dropped.copy()
        flags[~self.dropped] = self.failing[self.of_row]
        return flags


@dataclass(frozen=True)
class _Ground:
    source: Source
    policy: Policy
    engine: Engine
    task: Task

    def stand(self, node: Node, dropped: Flags) -> _Standing:
        """What is left at a node without some rows."""
        task, names = self.task, self.task.lattice.attributes
        some = rows_of(self.source.table, np.flatnonzero(~dropped))
        fine = self.engine.count(some, list(names), counted(self.policy, list(names)))
        steps = {name: task.hierarchies[name].levels[level] for name, level in zip(names, node, strict=True)}
        coarse = fine.rollup(steps, want_classes=True)
        assert fine.classes is not None
        assert coarse.classes is not None
        return _Standing(node, dropped, coarse, task.oracle.failing(node, coarse), coarse.classes[fine.classes])

    def recoding(self, standing: _Standing) -> NodeRecoding:
        return NodeRecoding(dict(zip(self.task.lattice.attributes, standing.node, strict=True)), standing.suppressed)

    def higher(self, node: Node, channels: Sequence[Rule]) -> Node | None:
        """The cheapest complying node one level up in a quasi-identifier that a channel looks at."""
        lattice, told = self.task.lattice, {test.attribute for rule in channels for test in rule.antecedent}
        above = [
            (*node[:i], node[i] + 1, *node[i + 1 :])
            for i, name in enumerate(lattice.attributes)
            if name in told and node[i] < lattice.top[i]
        ]
        answers = [answer for answer in map(self.task.oracle.ask, above) if answer.ok]
        return min(answers, key=lambda answer: (answer.score, answer.node)).node if answers else None


def without_false_rows(
    source: Source, policy: Policy, plan: Plan, engine: Engine, sensitive: Sensitive, limits: Limits
) -> Plan:
    """The plan with its channels blocked by generalising further where a rule looks at a quasi-identifier, or else, and
    with `suppress` always, by leaving out the rows of the channel's leaf and then every class that fails the policy.
    """
    assert policy.blocking is not None
    assert isinstance(plan.recoding, NodeRecoding)
    ground = _Ground(source, policy, engine, set_task(source, policy, engine))
    names = ground.task.lattice.attributes
    standing = ground.stand(tuple(plan.recoding.levels[name] for name in names), np.zeros(source.table.rows, bool))
    begun = int(standing.suppressed.sum())
    rules, leaf = _mine(ground, plan, standing)
    first = left = sensitive.among(rules)
    lost, ghosts = compared(rules, first, rules)
    before, passes, stopped = rules, 0, ""
    while left and not stopped:
        if passes == limits.passes:
            stopped = "passes"
            break
        node = ground.higher(standing.node, left) if policy.blocking.by == "generalise" else None
        if node is not None:
            then = ground.stand(node, standing.dropped)
        else:
            told = [number for number, rule in enumerate(rules) if rule in left]
            then = ground.stand(standing.node, standing.dropped | np.isin(leaf, told))
        gone = int(then.suppressed.sum())
        if gone == source.table.rows:
            raise Infeasible("blocking would leave out every row; use blocking.by = 'absent', or block less")
        if limits.rows is not None and gone - begun > limits.rows:
            stopped = "limit"
            break
        standing, passes = then, passes + 1
        rules, leaf = _mine(ground, plan, standing)
        left = sensitive.among(rules)
        lost, ghosts = compared(before, first, rules)
        if max(lost, ghosts) > limits.h:
            stopped = "h"
    done = Blocked(first, left, lost, ghosts, passes, stopped if left else "")
    return _planned(ground, plan, standing, done)


def _mine(ground: _Ground, plan: Plan, standing: _Standing) -> tuple[tuple[Rule, ...], Codes]:
    """The rules of what is left, and for every row of the input the rule whose leaf it is in; -1 if it is in none."""
    columns, target, rows = mined(ground.source.table, ground.policy, plan, ground.recoding(standing))
    tree = C45().fit_codes(columns, target)
    leaf = np.full(ground.source.table.rows, -1, dtype=np.int32)
    leaf[rows] = tree.leaf_of(columns)
    return tree.rules(), leaf


def _planned(ground: _Ground, plan: Plan, standing: _Standing, done: Blocked) -> Plan:
    """The plan for what is left; rows left out for a channel are suppressed classes of their own."""
    task = ground.task
    out = ground.stand(standing.node, ~standing.dropped)
    classes = standing.classes.beside(out.classes)
    suppressed = np.concatenate([standing.failing, np.ones(len(out.classes), dtype=bool)])
    of_row = np.empty(len(standing.dropped), dtype=np.int32)
    of_row[~standing.dropped] = standing.of_row
    of_row[standing.dropped] = out.of_row + len(standing.classes)
    after = After(standing.node, classes, suppressed)
    if not task.oracle.holds(after):
        raise Infeasible(
            "what is left when channels are blocked does not keep the policy as a whole; use blocking.by = 'absent', "
            "or weaken what is promised of the whole table"
        )
    failed = failed_by(ground.policy.models, task.oracle.counts(standing.node, standing.classes))
    padding = np.zeros(len(out.classes), dtype=bool)
    scorer = task.oracle.scorer
    score = scorer.value(scorer.score(after))
    search = plan.search
    assert search is not None
    return replace(
        plan,
        after=after,
        recoding=ground.recoding(standing),
        score=score,
        metrics={name: each.value(each.score(after)) for name, each in scorers(task.before).items()},
        failed={name: np.concatenate([flags, padding]) for name, flags in failed.items()}
        | {CHANNEL: np.concatenate([np.zeros(len(standing.classes), dtype=bool), ~padding])},
        class_of_row=of_row,
        # no search was made for the least loss that leaves no channel
        search=replace(search, found=replace(search.found, bound=-inf), gap=search.gap + score - plan.score),
        blocked=done,
    )
