"""What a label says by its grammar alone (design 9)."""

from math import isnan, nan

import pytest

from shoal.labels.grammar import Interval, Members, ends_of, middle, parse_label


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        ("[20, 30)", Interval("20", "30")),
        ("[20, 30]", Interval("20", "30", closed=True)),
        ("<20", Interval(None, "20")),
        ("≥80", Interval("80", None)),
        ('["a, b", "c"]', Interval("a, b", "c", closed=True, quoted=True)),
        ('≥"80"', Interval("80", None, quoted=True)),
        ('{a | "b | c" | "d""e"}', Members(("a", "b | c", 'd"e'))),
    ],
)
def test_what_the_grammar_reads(label, meaning):
    assert parse_label(label) == meaning


@pytest.mark.parametrize(
    "label", ['["20", 30)', '[20, "30")', "[ 20, 30)", "[20, 30 )", "< 20", "{a | b }", "{ a | b}"]
)
def test_one_end_in_quotes_and_spaces_without_quotes_are_not_read(label):
    assert parse_label(label) is None


def test_the_ends_of_an_interval():
    assert Interval("20", "30").ends == ("20", "30")
    assert Interval(None, "30").ends == ("30",)


@pytest.mark.parametrize(
    ("label", "whole", "ends"),
    [
        ("[20, 30)", True, (20, 29)),
        ("[20, 30)", False, (20, 30)),
        ("[20, 30]", True, (20, 30)),
        ("12**", True, (1200, 1299)),
        ("-3*", True, (-39, -30)),
        ("{46 | 40 | 43}", True, (40, 46)),
        ("17", True, (17, 17)),
    ],
)
def test_the_numbers_between_which_a_label_lies(label, whole, ends):
    assert ends_of(label, whole=whole) == ends


def test_a_star_is_open_at_both_ends():
    assert all(map(isnan, ends_of("*", whole=True)))


@pytest.mark.parametrize("label", ['["20", "30"]', "north", "{40 | north}", "[a, b)", "<a"])
def test_labels_that_tell_no_number(label):
    assert ends_of(label, whole=True) is None


@pytest.mark.parametrize(
    ("ends", "least", "greatest", "found"),
    [
        ((20, 29), nan, nan, 24.5),
        ((20, 29), 0, 100, 24.5),
        ((nan, 20), 10, 90, 15),
        ((80, nan), 10, 90, 85),
        ((nan, 20), nan, 90, 20),
        ((80, nan), 10, nan, 80),
        ((nan, nan), 10, 90, 50),
    ],
)
def test_an_open_end_lies_where_the_column_ends_or_else_at_the_other(ends, least, greatest, found):
    assert middle(ends, least, greatest) == found
