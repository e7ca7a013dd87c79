"""Samarati's search: every complying node of least height (S2.5)."""

import naive
import pytest
from hypothesis import given

from shoal.hierarchy.lattice import Lattice
from shoal.search.driver import drive_walk
from shoal.search.samarati import samarati

RACE = ["asian"] * 5 + ["black"] * 2 + ["white"] * 2
ZIP = ["94142", "94141", "94139", "94139", "94139", "94138", "94139", "94139", "94141"]


def masked(code, digits):
    return code[: 5 - digits] + "*" * digits


def race_and_zip(limit):
    """The private table of the survey, section 3.3.1, and its hierarchies R0 R1 and Z0 Z1 Z2; k = 2."""
    races, zips = sorted(set(RACE)), sorted(set(ZIP))
    race = naive.Attribute(races, [dict.fromkeys(races, "person")], RACE, 0, 1, None)
    levels = [{code: masked(code, digits) for code in zips} for digits in (1, 2)]
    zip_code = naive.Attribute(zips, levels, ZIP, 0, 2, None)
    return naive.Instance({"race": race, "zip": zip_code}, [None] * 9, [naive.k_anonymity(2)], limit)


def least_height(instance):
    lowest = min(map(sum, instance.complying), default=None)
    return tuple(node for node in instance.complying if sum(node) == lowest)


def test_race_and_zip():
    """S2.5: with MaxSup = 2 exactly GT[1,0] and GT[0,1], each without the two tuples that the survey leaves out."""
    instance = race_and_zip(limit=2)
    nodes = drive_walk(samarati(instance.lattice()), instance.oracle())
    assert set(nodes) == {(1, 0), (0, 1)}
    assert instance.outcome((1, 0)).suppressed == {0, 5}  # 94142 and 94138
    assert instance.outcome((0, 1)).suppressed == {7, 8}  # the two white ones
    assert {instance.oracle().ask(node).suppressed for node in nodes} == {2}


@pytest.mark.parametrize(("limit", "expected"), [(0, {(1, 1), (0, 2)}), (1, {(1, 1), (0, 2)}), (7, {(0, 0)})])
def test_race_and_zip_with_other_limits(limit, expected):
    assert set(drive_walk(samarati(race_and_zip(limit).lattice()), race_and_zip(limit).oracle())) == expected


@pytest.mark.parametrize("share", naive.SHARES)
def test_equals_brute_force(share):
    """S2.5: all complying nodes of least height, and none else."""

    @naive.examples(300)
    @given(naive.closed_instances(share, fewest=3))
    def check(instance):
        assert drive_walk(samarati(instance.lattice()), instance.oracle()) == least_height(instance)

    check()


LINE = Lattice(("age",), (0,), (8,))


@pytest.mark.parametrize("least", range(10))
def test_the_search_is_binary(least):
    """Of 9 heights at most 4 are looked at before the last, which is listed whole."""
    asked, nodes = naive.run_search(samarati(LINE), lambda node: node[0] >= least)
    assert nodes == (((least,),) if least <= 8 else ())
    assert len(asked) <= 5
    assert asked[0].node == (4,)


@pytest.mark.parametrize("high", range(9))
def test_nothing_is_asked_above_a_height_that_is_known(high):
    """S2.8: what Datafly found bounds the search."""
    asked, nodes = naive.run_search(samarati(LINE, high), lambda node: node[0] >= high)
    assert nodes == ((high,),)
    assert max(question.node[0] for question in asked) == high


def test_a_height_is_left_at_its_first_complying_node():
    lattice = Lattice(("age", "sex"), (0, 0), (2, 2))
    asked, nodes = naive.run_search(samarati(lattice), lambda node: sum(node) >= 2)
    assert [question.node for question in asked] == [(0, 2), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0)]
    assert nodes == ((0, 2), (1, 1), (2, 0))


def test_progress_goes_up():
    settled = [question.settled for question in naive.run_search(samarati(LINE), lambda node: node[0] >= 3)[0]]
    assert settled == sorted(settled)
    assert (settled[0], settled[-1]) == (0, 1)
