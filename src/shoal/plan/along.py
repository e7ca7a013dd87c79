"""Cells along hierarchies: local recoding, and the suppression of cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shoal.codes import Codes
from shoal.engine import Engine, Source
from shoal.errors import BadHierarchy, Infeasible
from shoal.frequency import FrequencySet
from shoal.hierarchy import TOP, Hierarchy, build
from shoal.partition.local import local
from shoal.plan.ground import Ground, Made
from shoal.plan.searching import Task, builder_of, set_task, solve
from shoal.plan.showing import Showing, show_levels
from shoal.recode import NodeRecoding
from shoal.release import Covers
from shoal.search import Tally

_SHARES = (Fraction(0), Fraction(1, 50), Fraction(1, 10), Fraction(1))
"""Of the rows that a node may leave out before cells are left out instead."""


def recode_locally(ground: Ground) -> Made:
    """Every cell along its hierarchy as far as its class needs (CG_ of S2.3); of the value or `*`, _CS."""
    builders = {name: builder_of(ground.policy, ground.table[name]) for name in ground.quasi}
    hierarchies = {name: with_one_top(build(ground.table[name], builders[name])) for name in ground.quasi}
    assert ground.classes.classes is not None
    made = _along(ground, ground.classes, ground.classes.classes, list(hierarchies.values()))
    return replace(made, builders=builders, hierarchies=hierarchies)


def suppress_cells_of_a_node(source: Source, ground: Ground, engine: Engine) -> Made:
    """The best node for rows of which some may be left out, then cells left out instead of rows (AG_CS of S2.3).

    How many rows is not known beforehand, since a cell costs less than a row: several shares are tried, none of the
    rows among them, so that the best node alone is never better.
    """
    task = set_task(source, ground.policy, engine)
    made = []
    for share in _SHARES:
        some = replace(task, oracle=replace(task.oracle, limit=int(share * task.before.rows), tally=Tally()))
        try:
            plan = solve(some, ground.policy, stop=ground.stop)
        except Infeasible:
            continue  # with more rows to leave out there is a node
        assert isinstance(plan.recoding, NodeRecoding)
        made.append(_suppress_cells(ground, task, plan.recoding.levels))
    if not made:
        raise Infeasible("no node keeps the policy, however many rows are left out; weaken it, or allow more levels")
    return min(made, key=lambda each: each.loss(ground.before.weights))


def _suppress_cells(ground: Ground, task: Task, levels: Mapping[str, int]) -> Made:
    assert task.before.classes.classes is not None
    flat = [_value_or_star(task.hierarchies[name], levels[name]) for name in ground.quasi]
    steps = {name: task.hierarchies[name].levels[levels[name]] for name in ground.quasi}
    classes = task.before.classes.rollup(steps, want_classes=True)
    assert classes.classes is not None
    made = _along(ground, classes, classes.classes[task.before.classes.classes], flat)
    _lift(made.showing, task, levels, made.part[classes.classes])
    return replace(made, builders=dict(task.builders), hierarchies=dict(task.hierarchies))


def _lift(showing: Showing, task: Task, levels: Mapping[str, int], part: Codes) -> None:
    """The covers of values and stars as those of the hierarchies that the values are labels of; the part of each class.

    The star is above all labels, also where a hierarchy has several at its top.
    """
    classes = task.before.classes
    member = np.empty(int(part.max()) + 1, dtype=np.int64)
    member[part] = np.arange(len(classes))
    for i, (name, flat) in enumerate(showing.covers.items()):
        hierarchy = task.hierarchies[name]
        each = np.where(flat.lifts == 1, hierarchy.left_out, levels[name])
        showing.covers[name] = Covers.along(hierarchy, classes.codes(name)[member], each, task.before.marginal(i))


def _along(ground: Ground, classes: FrequencySet, of_row: Codes, hierarchies: Sequence[Hierarchy]) -> Made:
    before = replace(ground.before, classes=classes, hierarchies=tuple(hierarchies))
    found = local(
        before, ground.condition(classes), seed=ground.policy.method.seed, watch=ground.watch, stop=ground.stop
    )
    showing = show_levels(classes, found.part, found.levels, hierarchies)
    return Made("cells", classes, found.part, of_row, showing, {}, {})


def _value_or_star(hierarchy: Hierarchy, level: int) -> Hierarchy:
    """The labels of a level as values, and `*` above them."""
    groups = hierarchy.groups(level)
    codes = np.arange(groups, dtype=np.int32)
    if hierarchy.labels[level] == (TOP,):
        return Hierarchy(
            hierarchy.attribute, (codes,), (hierarchy.labels[level],), (hierarchy.leaves[level],), hierarchy.size
        )
    return Hierarchy(
        hierarchy.attribute,
        (codes, np.zeros(groups, dtype=np.int32)),
        (hierarchy.labels[level], (TOP,)),
        (hierarchy.leaves[level], np.array([hierarchy.size])),
        hierarchy.size,
    )


def with_one_top(hierarchy: Hierarchy) -> Hierarchy:
    if hierarchy.groups(hierarchy.height) > 1:
        raise BadHierarchy(
            f"column {hierarchy.attribute!r}: its hierarchy has several labels at the top; add a level {TOP}"
        )
    return hierarchy
