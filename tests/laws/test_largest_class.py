"""LeFevre, DeWitt and Ramakrishnan's bounds on the largest class, through the whole program (S4.1, S4.2)."""

from collections import Counter

import naive
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal as sh
from shoal.report.pages.search_section import describe_bound

COLUMNS = ("a", "b", "c")


@st.composite
def tables(draw):
    columns = COLUMNS[: draw(st.integers(1, 3))]
    rows = draw(st.lists(st.tuples(*(st.integers(0, 6) for _ in columns)), min_size=4, max_size=40))
    return dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))


def rules(table, k, algorithm, **attributes):
    return {
        "attributes": {name: attributes.get(name, "quasi-identifier") for name in table},
        "require": [{"model": "k-anonymity", "k": k}],
        "method": {"algorithm": algorithm},
    }


def said(release):
    return describe_bound(release.summary, release.plan, release.policy, release.source)


@naive.examples(60)
@given(tables(), st.integers(2, 4))
def test_strict_classes_keep_the_bound_that_the_report_tells(table, k):
    release = sh.anonymize(pa.table(table), rules(table, k, "mondrian"))
    copies = max(Counter(zip(*table.values(), strict=True)).values())
    bound = 2 * len(table) * (k - 1) + copies
    largest = max(Counter(zip(*release.table.to_pydict().values(), strict=True)).values())
    assert largest <= bound
    assert said(release).startswith(f"Largest class: {largest} rows; bound 2d(k−1)+m = {bound} ")


def test_the_bound_of_the_papers_table():  # S4: figure 2, d = 3 as numbers, k = 2, nobody like another
    people = {"a": [35, 35, 36, 37, 37, 38], "b": [0, 1, 0, 0, 1, 0], "c": [9, 1, 9, 8, 1, 9]}
    release = sh.anonymize(pa.table(people), rules(people, 2, "mondrian"))
    assert said(release) == (
        "Largest class: 2 rows; bound 2d(k−1)+m = 7 (LeFevre and others, 2006), for strict cuts of d = 3 ordered "
        "columns, k = 2 and at most m = 1 rows with equal values."
    )


@pytest.mark.filterwarnings("ignore:column .a.")
def test_equal_numbers_are_one_point_however_they_are_written():
    ages = {"a": ["7", "7.0", "7.00", "7", "9", "9"]}
    release = sh.anonymize(pa.table(ages), rules(ages, 2, "mondrian"))
    assert "m = 4 rows" in said(release)


TREE = {"role": "quasi-identifier", "hierarchy": {"tree": {"all": ["x", "y", "z"]}}}


@pytest.mark.parametrize(
    ("table", "changes", "why"),
    [
        ({"a": [1, 2, 3]}, {"method": {"algorithm": "mondrian-single"}}, "cuts go through the whole table"),
        ({"a": ["x", "y", "z"]}, {"attributes": {"a": TREE}}, "a column is cut along a hierarchy"),
        ({"a": [1, 2, None]}, {}, "a column has missing values"),
        (
            {"a": [1, 2, 3]},
            {"attributes": {"a": {"role": "quasi-identifier", "form": ["mean"]}}},
            "not shown as a range",
        ),
    ],
)
def test_where_nothing_is_proved_that_is_said(table, changes, why):
    release = sh.anonymize(pa.table(table), {**rules(table, 3, "mondrian"), "release": {"means": "any"}, **changes})
    assert said(release).startswith("Largest class: 3 rows; no bound is proved, since ")
    assert why in said(release)


def test_relaxed_parts_have_2k_minus_1_rows_at_most():
    ages = {"a": [1, 2, 3, 4, 5]}
    release = sh.anonymize(pa.table(ages), rules(ages, 2, "mondrian-relaxed"))
    assert said(release).startswith("Largest class: 3 rows; bound 2k−1 = 3 for every part")


def test_other_algorithms_have_no_bound():
    ages = {"a": [1, 2, 3, 4, 5]}
    assert said(sh.anonymize(pa.table(ages), rules(ages, 2, "optimal"))) == ""
