"""The nine models of the survey as one pair of options (S2.3)."""

from collections import Counter
from itertools import combinations, product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

import shoal as sh
from shoal.pipeline import make_release

NAMES = ("age", "sex", "zip")
AGES = {"tree": {"all": {"low": ["1", "2"], "high": ["3", "4"]}}}
TABLES = st.lists(
    st.fixed_dictionaries({"age": st.sampled_from("1234"), "sex": st.sampled_from("fm"), "zip": st.sampled_from("78")}),
    min_size=3,
    max_size=9,
)


def released(rows, **method):
    """The quasi-identifiers as they come out, row by row."""
    policy = {
        "attributes": {
            "age": {"role": "quasi-identifier", "hierarchy": AGES},
            "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
            "zip": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
        },
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": method,
    }
    data = make_release(pa.Table.from_pylist(rows), policy).table  # verified elsewhere
    return list(zip(*(data[name].to_pylist() for name in NAMES), strict=True))


def stars(rows):
    return sum(cell == "*" for row in rows for cell in row)


@examples(30)
@given(TABLES)
def test_to_suppress_an_attribute_is_to_generalise_it_to_the_top(rows):
    """AG_AS is AG_."""
    every = [released(rows, suppress=suppress) for suppress in ("none", "attribute")]
    assert every[0] == every[1]


@examples(30)
@given(TABLES)
def test_to_suppress_a_cell_is_to_generalise_it_to_the_top(rows):
    """CG_CS is CG_."""
    every = [released(rows, generalise="cell", suppress=suppress) for suppress in ("none", "cell")]
    assert every[0] == every[1]


@examples(50)
@given(TABLES)
def test_rows_alone_are_left_out_without_generalisation(rows):
    """_TS: exactly the rows whose combination is rare."""
    keys = [tuple(row[name] for name in NAMES) for row in rows]
    kept = [key for key in keys if Counter(keys)[key] >= 2]
    if not kept:
        with pytest.raises(sh.Infeasible):
            released(rows, generalise="none", suppress="tuple")
    else:
        assert released(rows, generalise="none", suppress="tuple") == kept


@examples(50)
@given(TABLES)
def test_the_fewest_values_are_lost_with_whole_attributes(rows):
    """_AS: brute force over all sets of attributes."""

    def without(gone):
        return [tuple("*" if name in gone else row[name] for name in NAMES) for row in rows]

    sets = [gone for size in range(4) for gone in combinations(NAMES, size)]
    complying = [gone for gone in sets if min(Counter(without(gone)).values()) >= 2]
    found = released(rows, generalise="none", suppress="attribute")
    assert found in [without(gone) for gone in complying]
    assert stars(found) == min(len(gone) for gone in complying) * len(rows)


@examples(40)
@given(TABLES)
def test_cells_alone_are_suppressed(rows):
    """_CS: every row stays, cells are as they were or `*`, and `*` is a value of its own."""
    found = released(rows, generalise="none", suppress="cell")
    assert min(Counter(found).values()) >= 2
    for shown, row in zip(found, rows, strict=True):
        assert all(cell in {"*", row[name]} for cell, name in zip(shown, NAMES, strict=True))


@examples(40)
@given(TABLES)
def test_after_a_node_cells_are_suppressed_instead_of_rows(rows):
    """AG_CS: one level per attribute or `*`, nobody left out, and no more is lost than by the best node alone."""
    found = released(rows, generalise="attribute", suppress="cell")
    assert min(Counter(found).values()) >= 2
    labels = [{"1": "low", "2": "low", "3": "high", "4": "high"}.get(row["age"]) for row in rows]
    shown = {
        (cell[0] == row["age"], cell[0] == label)
        for cell, row, label in zip(found, rows, labels, strict=True)
        if cell[0] != "*"
    }
    assert len(shown) <= 1, "all ages that are shown are of one level"
    nodes = [generalised(rows, levels) for levels in product(range(3), range(2), range(2))]
    assert lost(found) <= min(lost(node) for node in nodes if min(Counter(node).values()) >= 2)


def lost(rows):
    """In thirds of a cell: an age between the leaves and the top loses one of them."""
    return sum({"*": 3, "low": 1, "high": 1}.get(cell, 0) for row in rows for cell in row)


def generalised(rows, levels):
    """Every row at the levels of a node."""
    ages = [{}, {"1": "low", "2": "low", "3": "high", "4": "high"}, dict.fromkeys("1234", "*")][levels[0]]
    return [
        (ages.get(row["age"], row["age"]), "*" if levels[1] else row["sex"], "*" if levels[2] else row["zip"])
        for row in rows
    ]
