"""From a policy to a decision: roles, feasibility, limits, drafts."""

import warnings

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.errors import BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.build import Rows
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.methods import searches
from shoal.policy.document import Policy
from shoal.problem import assign_roles
from shoal.roles import Role
from shoal.search import full_domain as planning
from shoal.search import optimal as searching
from shoal.search import walks as finding
from shoal.search.full_domain import allowed_lattice
from shoal.solve import make_plan

PEOPLE = {
    "age": ["21", "22", "23", "24", "31", "32", "33", "34", "41", "42", "43", "44"],
    "sex": ["f", "m"] * 6,
    "disease": ["flu", "hiv", "flu", "cold"] * 3,
}
AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
SEX = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
SICK = {"role": "sensitive"}
K2 = {"model": "k-anonymity", "k": 2}


def source_of(columns):
    return ArrowEngine().read(pa.table(columns), ReadOptions())


def planned(columns=None, attributes=None, require=(K2,), **sections):
    given = {"age": AGE, "sex": SEX, "disease": SICK} if attributes is None else attributes
    policy = Policy(attributes=given, require=list(require), **sections)
    return make_plan(source_of(PEOPLE if columns is None else columns), policy, ArrowEngine())


def test_a_table_is_planned_from_data_to_levels():
    plan = planned()
    assert plan.recoding.levels == {"age": 1, "sex": 0}
    assert plan.after.kept.tolist() == [2] * 6
    assert not plan.recoding.suppressed.any()
    assert plan.search.found.proved
    assert plan.score == pytest.approx((3 / 11 + 0) / 2)


# roles (design 12)


@pytest.mark.parametrize(
    ("name", "near"), [("Age", "age"), ("agee", "age"), ("desease", "disease"), ("qqqqqqqq", None)]
)
def test_a_missing_column_suggests_a_near_name(name, near):
    """Bad input 18."""
    with pytest.raises(BadPolicy) as caught:
        planned(attributes={name: {"role": "quasi-identifier"}}, data={"others": "drop"})
    assert f"no column {name!r}" in str(caught.value)
    assert (f"did you mean {near!r}" in str(caught.value)) == (near is not None)


def test_a_column_without_a_role_is_an_error():
    with pytest.raises(BadPolicy, match=r"column\(s\) 'sex', 'disease' have no role"):
        planned(attributes={"age": AGE})


@pytest.mark.parametrize(("others", "role"), [("drop", Role.IDENTIFIER), ("insensitive", Role.INSENSITIVE)])
def test_the_role_of_other_columns(others, role):
    plan = planned(attributes={"age": AGE}, data={"others": others})
    assert plan.roles == {"age": Role.QUASI_IDENTIFIER, "sex": role, "disease": role}


def test_one_column_tells_persons_apart():
    with pytest.raises(BadPolicy, match=r"attributes\.disease: 'sex' is the unit already"):
        planned(attributes={"age": AGE, "sex": "unit", "disease": "unit"})


@pytest.mark.parametrize(("unique", "rows", "refused"), [(1, 20, False), (2, 20, True), (1, 19, True), (7, 140, False)])
def test_a_column_of_many_unique_values_needs_confirmation(unique, rows, refused):
    """More than 5 %, exactly."""
    columns = {"age": ["30"] * rows, "code": [*map(str, range(unique)), *["same"] * (rows - unique)]}
    policy = Policy(attributes={"age": SEX, "code": "insensitive"}, require=[K2])
    if not refused:
        assert assign_roles(source_of(columns).table, policy)["code"] is Role.INSENSITIVE
        return
    with pytest.raises(BadPolicy, match=rf"attributes\.code: {unique} of {rows} rows .* confirm = true"):
        assign_roles(source_of(columns).table, policy)
    confirmed = {"age": SEX, "code": {"role": "insensitive", "confirm": True}}
    assign_roles(source_of(columns).table, Policy(attributes=confirmed, require=[K2]))


def test_other_columns_of_many_unique_values_need_confirmation():
    with pytest.raises(BadPolicy, match=r"attributes\.age: 12 of 12"):
        planned(attributes={"sex": SEX}, data={"others": "insensitive"})


def test_k_1_warns():
    """Bad input 4."""
    with pytest.warns(ShoalWarning, match="k = 1 gives no protection"):
        planned(require=[{"model": "k-anonymity", "k": 1}])


# feasibility


@pytest.mark.parametrize(
    ("require", "why"),
    [
        ({"model": "k-anonymity", "k": 50}, "impossible: k-anonymity: 12 records < k=50"),  # bad input 3
        ({"model": "alpha-k", "alpha": 0.9, "k": 50}, "impossible: alpha-k: 12 records < k=50"),
        (
            {"model": "distinct-l-diversity", "l": 4},
            "impossible: distinct-l-diversity: 'disease' has 3 different values in the whole table < l=4",
        ),
        (
            {"model": "alpha-k", "alpha": 0.4},
            "impossible: alpha-k: a value of 'disease' needs alpha >= 0.5000 in the whole table",
        ),
    ],
)
def test_impossible_promises_are_refused_before_the_search(require, why, monkeypatch):
    monkeypatch.setattr(planning, "find", None)
    with pytest.raises(Infeasible) as caught:
        planned(require=[require])
    assert str(caught.value) == why


def test_a_value_is_never_named():
    with pytest.raises(Infeasible) as caught:
        planned(require=[{"model": "alpha-k", "alpha": 0.3}])
    assert "flu" not in str(caught.value)


def test_a_refusal_after_the_search_names_the_model():
    low = {**AGE, "max-level": 0}
    with pytest.raises(Infeasible) as caught:
        planned(
            attributes={"age": low, "sex": SEX, "disease": SICK},
            require=[K2, {"model": "distinct-l-diversity", "l": 2}],
            method={"suppression": 0.5},
        )
    assert "12 of 12 rows fail k-anonymity and only 6 may be suppressed" in str(caught.value)


def test_an_empty_release_is_refused():
    with pytest.raises(Infeasible, match="a release without rows is none"):
        planned(attributes={"age": {**AGE, "max-level": 0}, "sex": SEX, "disease": SICK}, method={"suppression": 1.0})


def test_shown_rows_that_fail_are_named():
    columns = {"age": [*["30"] * 9, "40"], "disease": ["flu", "hiv"] * 5}
    attributes = {"age": {**SEX, "max-level": 0}, "disease": SICK}
    options = {"columns": columns, "attributes": attributes, "method": {"suppression": 0.2}}
    assert planned(**options).recoding.suppressed.sum() == 1
    with pytest.raises(Infeasible, match=r"1 of 10 rows fail k-anonymity, and the suppressed rows, shown as one class"):
        planned(**options, release={"suppressed": "show"})


def test_two_sensitive_attributes_are_both_judged():
    columns = {"age": ["30"] * 4, "one": ["a", "a", "a", "b"], "two": ["a"] * 4}
    attributes = {"age": SEX, "one": SICK, "two": SICK}
    with pytest.raises(Infeasible, match="'two' has 1 different values"):
        planned(columns, attributes, [{"model": "distinct-l-diversity", "l": 2}])
    plan = planned(columns, attributes, [{"model": "distinct-l-diversity", "l": 2, "attribute": "one"}])
    assert plan.after.classes.long.keys() == {"one"}


# limits of the search


def test_levels_are_kept():
    plan = planned(attributes={"age": AGE, "sex": {**SEX, "min-level": 1}, "disease": SICK})
    assert plan.recoding.levels == {"age": 1, "sex": 1}
    plan = planned(attributes={"age": {**AGE, "min-level": 2}, "sex": {**SEX, "max-level": 0}, "disease": SICK})
    assert plan.recoding.levels == {"age": 2, "sex": 0}


@pytest.mark.parametrize("level", ["min-level", "max-level"])
def test_a_level_above_the_hierarchy_is_refused(level):
    with pytest.raises(BadPolicy, match=r"attributes\.age: its hierarchy has the levels 0 to 2 only"):
        planned(attributes={"age": {**AGE, level: 3}, "sex": SEX, "disease": SICK})


@pytest.mark.parametrize("algorithm", ["samarati", "hybrid", "incognito"])
def test_a_lattice_too_large_to_list_is_refused(monkeypatch, algorithm):
    """Bad input 26."""
    monkeypatch.setattr(finding, "LARGEST_LISTED", 5)
    with pytest.raises(BadPolicy, match=r"the lattice has 6 nodes, more than the 5 .* use algorithm = 'optimal'"):
        planned(method={"algorithm": algorithm})
    assert planned(method={"algorithm": "datafly"}).recoding.levels == {"age": 1, "sex": 0}


def test_attributes_stand_in_the_order_of_their_names():
    plan = planned({name: PEOPLE[name] for name in ("sex", "disease", "age")})
    assert plan.search.lattice.attributes == ("age", "sex")
    assert plan.before.classes.attributes == ("age", "sex")
    assert [h.attribute for h in plan.before.hierarchies] == ["age", "sex"]


def test_drafts_are_used_where_the_policy_has_none():
    columns = {"age": [str(17 + i % 74) for i in range(370)], "sex": ["f", "m"] * 185}
    plan = planned(columns, {"age": "quasi-identifier", "sex": "quasi-identifier"})
    assert isinstance(plan.builders["age"], Intervals)
    assert plan.builders["age"].bottom is not None
    assert isinstance(plan.builders["sex"], ValueOnly)


# suppression


@pytest.mark.parametrize(
    ("share", "rows", "limit"),
    [(0.29, 100, 29), (0.57, 100, 57), (0.1, 10, 1), (0.1, 9, 0), (1.0, 7, 7), (0, 7, 0), (0.07, 100, 7), ("k", 99, 2)],
)
def test_suppression_is_floor_of_the_share_exactly(share, rows, limit):
    policy = Policy(attributes={"age": AGE}, require=[K2], method={"suppression": share})
    assert policy.suppressible(rows) == limit


@pytest.mark.parametrize("suppress", ["none", "attribute"])
def test_nothing_is_suppressed_unless_tuples_may_be(suppress):
    assert Policy(attributes={"age": AGE}, require=[K2], method={"suppress": suppress}).suppressible(100) == 0


def test_a_suppression_of_0_29_allows_29_of_100_rows():
    """0.29 · 100 is 28.999999999999996 in floats."""
    columns = {"age": [*map(str, range(29)), *["50"] * 71]}
    attributes = {"age": {**SEX, "max-level": 0}}
    plan = planned(columns, attributes, method={"suppression": 0.29})
    assert plan.recoding.suppressed.sum() == plan.after.suppressed_rows == 29
    with pytest.raises(Infeasible, match="only 28 may be suppressed"):
        planned(columns, attributes, method={"suppression": 0.28})


def test_why_a_class_was_suppressed():
    columns = {"age": ["30", "30", "40"], "disease": ["flu", "hiv", "flu"]}
    plan = planned(
        columns,
        {"age": {**SEX, "max-level": 0}, "disease": SICK},
        [K2, {"model": "distinct-l-diversity", "l": 1}],
        method={"suppression": 0.5},
    )
    assert {name: classes.tolist() for name, classes in plan.failed.items()} == {
        "k-anonymity": [False, True],
        "distinct-l-diversity": [False, False],
    }


def test_time_runs_out():
    plan = planned(method={"time-limit": 1e-9})
    assert plan.search.gap >= 0
    assert (plan.after.kept >= 2).all()


# algorithms


ALGORITHMS = searches()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_finds_the_only_minimal_node(algorithm):
    """S2.4, S2.5, S2.6, S2.8, S3.4: age in tens, sex as it is, is below all other nodes that comply."""
    plan = planned(method={"algorithm": algorithm})
    assert plan.recoding.levels == {"age": 1, "sex": 0}
    assert plan.search.tally.nodes == 6
    assert plan.search.found.proved == (algorithm in {"optimal", "incognito"})
    assert plan.search.gap >= 0


def test_options_of_an_algorithm_reach_it():
    """S2.4, S2.5: without `minimal` all complying nodes, with it the antichain; S3.5: the weighting."""
    assert len(planned(method={"algorithm": "incognito"}).search.found.nodes) == 4
    assert planned(method={"algorithm": "incognito", "minimal": True}).search.found.nodes == ((1, 0),)
    columns = {"age": list("aabb"), "sex": list("abab")}
    attributes = {"age": {**SEX, "importance": 0.75}, "sex": {**SEX, "importance": 0.25}}
    for weighting, levels in [("importance", {"age": 0, "sex": 1}), ("paper", {"age": 1, "sex": 0})]:
        plan = planned(columns, attributes, method={"algorithm": "greedy", "weighting": weighting})
        assert plan.recoding.levels == levels


def test_a_preference_decides_among_the_nodes_of_one_height():
    """S2.5: at height 1 of the survey's table, k = 2 and two rows to suppress, either way the metric would not go."""
    columns = {"race": RACE, "zip": ZIP}
    attributes = {
        "race": {"role": "quasi-identifier", "hierarchy": {"tree": {"person": ["asian", "black", "white"]}}},
        "zip": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}, "max-level": 2},
    }
    method = {"algorithm": "samarati", "suppression": 0.23}
    plan = planned(columns, attributes, method=method)
    assert set(plan.search.found.nodes) == {(1, 0), (0, 1)}
    assert plan.recoding.suppressed.sum() == 2
    # 94139 and 94141 as they are, or asian and black in two and one ranges: 2 classes against 3
    plan = planned(columns, attributes, method={**method, "preference": "maximum-distribution"})
    assert plan.recoding.levels == {"race": 0, "zip": 1}
    assert len(plan.after.kept) == 3


RACE = ["asian"] * 5 + ["black"] * 2 + ["white"] * 2
ZIP = ["94142", "94141", "94139", "94139", "94139", "94138", "94139", "94139", "94141"]


@pytest.mark.parametrize("algorithm", ["datafly", "greedy"])
def test_a_walk_that_misses_complying_nodes_does_not_say_that_nothing_complies(algorithm):
    """S2.6, S3.4: the walk lifts age first, which merges too much; with sex lifted instead the policy is kept."""
    columns = {"age": list("aabbccdd"), "sex": list("abababab")}
    attributes = {"age": {**SEX, "importance": 0.1}, "sex": {**SEX, "importance": 1.0}}
    require = [naive.MaximumSize(2), K2]
    with pytest.raises(Infeasible) as caught:
        planned(columns, attributes, require, method={"algorithm": algorithm})
    assert str(caught.value) == (
        f"{algorithm} went up to the most general node without meeting one that keeps the policy, but maximum-size may "
        "hold elsewhere; use algorithm = 'optimal'"
    )
    assert planned(columns, attributes, require).recoding.levels == {"age": 0, "sex": 1}, "the advice works"


@pytest.mark.parametrize("algorithm", ["datafly", "greedy", "samarati", "incognito", "hybrid", "optimal"])
def test_for_a_closed_policy_it_is_said_that_nothing_complies(algorithm):
    low = {"age": {**AGE, "max-level": 0}, "sex": SEX, "disease": SICK}
    with pytest.raises(Infeasible, match="no node keeps the policy: even at the most general one 12 of 12 rows fail"):
        planned(attributes=low, method={"algorithm": algorithm})


def test_for_a_large_lattice_it_is_said_that_nothing_complies(monkeypatch):
    """Its top fails, so everything does: no time is asked for."""
    monkeypatch.setattr(searching, "LARGEST_EXHAUSTED", 2)
    ranges = {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8]}, "max-level": 2}
    attributes = {"age": ranges, "size": ranges}
    columns = {"age": ["1", "1", "5", "5"], "size": ["1", "5", "1", "5"]}
    with pytest.raises(Infeasible, match="no node keeps the policy"):
        planned(columns, attributes, method={"time-limit": 0.2})


@pytest.mark.parametrize("algorithm", ["datafly", "greedy", "samarati", "incognito", "hybrid"])
def test_a_walk_out_of_time_says_so(algorithm):
    with pytest.raises(Infeasible, match=f"{algorithm} was stopped before its end and has no node to release"):
        planned(method={"algorithm": algorithm, "time-limit": 1e-9})


# the whole against brute force


def policy_of(instance, metric):
    attributes = {naive.SENSITIVE: {"role": "sensitive"}}
    for name, attribute in instance.attributes.items():
        rows = [[leaf, *(level[leaf] for level in attribute.levels)] for leaf in attribute.leaves]
        attributes[name] = {"role": "quasi-identifier", "hierarchy": Rows(rows), "min-level": attribute.low}
        attributes[name]["max-level"] = attribute.high
        if attribute.importance is not None:
            attributes[name]["importance"] = float(attribute.importance)
    method = {"metric": metric, "suppression": float(instance.share)}
    return Policy(attributes=attributes, require=instance.models, method=method)


def weighed(instance):
    """A policy refuses to weigh nothing at all."""
    return any(attribute.importance != 0 for attribute in instance.attributes.values())


def starred(instance):
    return all(a.levels and set(a.levels[-1].values()) == {"*"} for a in instance.attributes.values())


@naive.examples(100)
@given(naive.instances().filter(starred).filter(weighed), st.sampled_from(sorted(naive.EXACT)), st.data())
def test_a_plan_is_the_optimum_whatever_the_order(instance, metric, data):
    """From frame to rows: the same levels and the same suppressed rows as brute force."""
    order = data.draw(st.permutations(range(instance.rows)))
    columns = {naive.SENSITIVE: instance.sensitive} | {n: a.values for n, a in instance.attributes.items()}
    names = data.draw(st.permutations(list(columns)))
    table = {name: pa.array([columns[name][row] for row in order], pa.string()) for name in names}
    best = naive.best(metric, instance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # k = 1
        try:
            plan = make_plan(source_of(table), policy_of(instance, metric), ArrowEngine())
        except Infeasible:
            assert best is None
            return
    assert best is not None
    assert tuple(plan.recoding.levels[name] for name in instance.names) == best.node
    assert {order[row] for row in np.flatnonzero(plan.recoding.suppressed)} == best.suppressed
    assert plan.score == pytest.approx(naive.value(metric, instance, best), rel=1e-12, abs=1e-12)


def test_allowed_lattice_is_between_the_levels():
    plan = planned()
    policy = Policy(attributes={"age": {**AGE, "min-level": 1}, "sex": SEX, "disease": SICK}, require=[K2])
    lattice = allowed_lattice(policy, plan.hierarchies)
    assert (lattice.bottom, lattice.top) == ((1, 0), (2, 1))
