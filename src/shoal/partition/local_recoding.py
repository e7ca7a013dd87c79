"""Recoding of cells along hierarchies: local recoding, and suppression of cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadHierarchy, Infeasible
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.partition.cell_labels import SpreadForm, least_rows_of, rules_of
from shoal.partition.condition import condition_of, lending_items, progress_reporter_of
from shoal.partition.local import local
from shoal.partition.released_labels import Partitioning, ShownParts, show_levels
from shoal.problem import Problem
from shoal.recoding.outcome import Before, Covers
from shoal.search.full_domain import search_lattice

_SHARES = (Fraction(0), Fraction(1, 50), Fraction(1, 10), Fraction(1))
"""Shares of the rows that a node may suppress before cells are suppressed instead."""


def recode_locally(problem: Problem) -> Partitioning:
    """Generalise every cell only as far as its class needs (CG_ of S2.3); between the value and `*` only, _CS."""
    hierarchies = {name: require_one_top(hierarchy) for name, hierarchy in problem.hierarchies.items()}
    made = _recode_along(problem, *_cut_into_items(problem), list(hierarchies.values()))
    return replace(made, builders=dict(problem.builders), hierarchies=hierarchies)


def suppress_cells_of_a_node(problem: Problem) -> Partitioning:
    """Find the best node if some rows may be suppressed, then suppress cells instead of rows (AG_CS of S2.3).

    How many rows to allow is not known beforehand, since a cell costs less than a row: several shares are tried. The
    share 0 is one of them, so that the result is never worse than the best node alone.
    """
    unwatched = replace(problem, watch=lambda *_: None)
    made = []
    for share in _SHARES:
        try:
            plan = search_lattice(unwatched, limit=int(share * problem.classes.rows))
        except Infeasible:
            continue  # a larger share may have a node
        levels = plan.recoding.levels
        assert levels is not None
        made.append(_suppress_cells(problem, plan.before, levels))
    if not made:
        raise Infeasible("no node keeps the policy, however many rows are left out; weaken it, or allow more levels")
    return min(made, key=lambda each: each.loss(problem.before.weights))


def _suppress_cells(problem: Problem, before: Before, levels: Mapping[str, int]) -> Partitioning:
    """Recode the table at a node locally, every cell as its label there or `*`."""
    assert problem.classes.classes is not None
    flat = [_value_or_star(problem.hierarchies[name], levels[name]) for name in problem.quasi]
    steps = {name: problem.hierarchies[name].levels[levels[name]] for name in problem.quasi}
    made = _recode_along(problem, *_cut_into_items(problem, steps), flat)
    _restore_covers(made.showing, before, levels, problem.classes.classes, made.part[made.of_row])
    # the bound is of the table at this node, and rows of other nodes may lose less
    return replace(made, builders=dict(problem.builders), hierarchies=dict(problem.hierarchies), bound=None)


def _restore_covers(showing: ShownParts, before: Before, levels: Mapping[str, int], of_row: Codes, part: Codes) -> None:
    """Replace the covers of flat hierarchies (a label or `*`) by covers along the real ones.

    `of_row` is the class of each row before, `part` its part. `*` is above all labels, even where a hierarchy has
    several at its top.
    """
    classes = before.classes
    member = np.empty(int(part.max()) + 1, dtype=np.int64)  # some class of each part
    member[part] = of_row
    for i, (hierarchy, (name, flat)) in enumerate(zip(before.hierarchies, showing.covers.items(), strict=True)):
        each = np.where(flat.lifts == 1, hierarchy.left_out, levels[name])
        showing.covers[name] = Covers.along(hierarchy, classes.codes(name)[member], each, before.marginal(i))


def _recode_along(
    problem: Problem, classes: FrequencySet, of_row: Codes, hierarchies: Sequence[Hierarchy]
) -> Partitioning:
    """Recode some classes locally along these hierarchies."""
    before = replace(problem.before, classes=classes, hierarchies=tuple(hierarchies))
    found = local(
        before,
        condition_of(problem, classes),
        seed=problem.policy.method.seed,
        watch=progress_reporter_of(problem),
        stop=problem.stop,
    )
    showing = show_levels(classes, found.part, found.levels, hierarchies)
    return Partitioning("cells", classes, found.part, of_row, showing, {}, {}, found.bound)


def _cut_into_items(problem: Problem, lifts: Mapping[str, Codes] | None = None) -> tuple[FrequencySet, Codes]:
    """Return items that can be lent as far as the policy makes classes borrow, and each row's item."""
    condition = condition_of(problem, problem.classes)
    forms = {rule.form for rule in rules_of(condition)}
    return lending_items(problem, least_rows_of(condition), any_value=forms == {SpreadForm.DISTINCT}, lifts=lifts)


def _value_or_star(hierarchy: Hierarchy, level: int) -> Hierarchy:
    """Return a hierarchy with the labels of a level as values, and `*` above them."""
    groups = hierarchy.groups(level)
    codes = np.arange(groups, dtype=np.int32)
    if hierarchy.labels[level] in {(TOP,), (hierarchy.top,)}:  # nothing is left to hide
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


def require_one_top(hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy; refuse one with several labels at the top."""
    if hierarchy.groups(hierarchy.height) > 1:
        raise BadHierarchy(
            f"column {hierarchy.attribute!r}: its hierarchy has several labels at the top; add a level {TOP}"
        )
    return hierarchy
