"""Means, medians, modes, bounds and observed ranges are those of the rows behind each class. # S4.6"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.data.codes import Table, encode
from shoal.errors import NotVerified
from shoal.labels.scale import Scale
from shoal.publish.verification import original_table
from shoal.verify.claim import Claim, Original
from shoal.verify.open_release import opened
from shoal.verify.truth_by_level import covers

TEXT = pa.string()
KINDS = ["lo", "hi", "min", "max", "mean", "median", "mode"]


def why(classes, values, told, kind, *, shown=0, released=TEXT, of="q"):
    """What is said of a release that tells `told` of each row's values; `classes` keeps the classes apart."""
    column = encode("q", values if isinstance(values, pa.Array) else pa.array(values))
    table = {"g": encode("g", pa.array(classes)), "q": column}
    statistics = {} if kind == "range" else {"told": (of, kind)}
    name = "q" if kind == "range" else "told"
    observed = frozenset({"q"}) if kind == "range" else frozenset()
    claim = Claim(["g", name], [], [], len(classes), ["g", name], statistics=statistics, observed=observed, shown=shown)
    groups = ["*" if shown and cell in {None, "*"} else g for g, cell in zip(classes, told, strict=True)]
    with opened(pa.table({"g": groups, name: pa.array(told, released)}), claim.columns, {}, listed=True) as release:
        return covers(
            release, claim, Original(original_table(Table(table, len(classes))), {}, {}, rows=np.arange(len(classes)))
        ).why


def naive(kind, values):
    known = sorted(v for v in values if v is not None)
    if not known:
        return None
    middle = (len(known) - 1) // 2
    return {
        "lo": known[0],
        "hi": known[-1],
        "min": known[0],
        "max": known[-1],
        "mean": Fraction(sum(known), len(known)),
        "median": Fraction(known[middle] + known[len(known) // 2], 2),
        "mode": min(Counter(known), key=lambda v: (-known.count(v), v)),
    }[kind]


@examples(60)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(-9, 9)), min_size=1, max_size=15),
    kind=st.sampled_from(KINDS),
    data=st.data(),
)
def test_the_numbers_of_each_class(rows, kind, data):
    classes, values = zip(*rows, strict=True)
    of = {c: [v for g, v in rows if g == c] for c in classes}
    true = {c: naive(kind, of[c]) for c in of}
    if kind in {"lo", "hi", "min", "max"}:  # nothing bounds null
        true = {c: None if None in of[c] else bound for c, bound in true.items()}
    told = {c: None if v is None else float(v) for c, v in true.items()}
    column = pa.array(values, pa.int64())
    assert not why(classes, column, [told[c] for c in classes], kind, released=pa.float64())
    wrong = data.draw(st.sampled_from(classes))
    side = {"lo": [0.5], "hi": [-0.5], "min": [-1.0, 0.5], "max": [1.0, -0.5]}.get(kind, [-0.25, 0.25, 1e-6])
    if told[wrong] is not None:
        told[wrong] += data.draw(st.sampled_from(side))
    elif kind in {"lo", "hi"}:
        told[wrong] = 0.0
    else:
        told[wrong] = data.draw(st.sampled_from([0.0, 1.0]))
    size = classes.count(wrong)
    expected = f"{size} released row(s) do not show the {kind} of their class in column 'told'"
    assert (
        why(classes, pa.array(values, pa.int64()), [told[c] for c in classes], kind, released=pa.float64()) == expected
    )


def test_a_bound_may_be_wider_but_a_minimum_may_not():
    ages = [31, 38]
    assert not why("aa", ages, ["30", "30"], "lo")
    assert not why("aa", ages, ["40", "40"], "hi")
    assert not why("aa", ages, [None, None], "hi")
    assert why("aa", ages, ["32", "32"], "lo")
    assert why("aa", ages, ["30", "30"], "min")
    assert why("aa", ages, ["x", "x"], "lo")
    assert why("aa", ages, [None, None], "min")


def test_a_mean_is_close_or_it_is_wrong():
    third = ["1", "1", "2"]
    assert not why("aaa", third, ["1.3333333333"] * 3, "mean")
    assert why("aaa", third, ["1.33333"] * 3, "mean")
    assert not why("aaa", [10**15, -(10**15), 0], ["0"] * 3, "mean")
    assert why("aaa", [10**15, -(10**15), 0], ["0.001"] * 3, "mean")


def test_statistics_of_texts_and_dates():
    assert not why("aaaa", ["x", "y", "y", "z"], ["y"] * 4, "mode")
    assert not why("aaaa", ["x", "x", "y", "y"], ["x"] * 4, "median")
    assert why("aaaa", ["x", "x", "y", "y"], ["y"] * 4, "median")
    assert why("aa", ["x", "y"], ["x", "x"], "mean")
    days = pa.array(["2024-01-31", "2024-02-01"])
    assert not why("aa", days, ["2024-01-31"] * 2, "min")
    assert why("aa", days, ["2024-01-30"] * 2, "min")
    assert why("aa", days, ["2024-01-30"] * 2, "lo")  # only numbers have bounds
    noon = days.cast(pa.timestamp("s"))
    assert not why("aa", noon, noon.take(pa.array([1, 1])).to_pylist(), "max", released=pa.timestamp("us"))


@pytest.mark.parametrize(
    ("values", "label", "true"),
    [
        ([31, 38], "[31, 38]", True),
        ([31, 38], "[31.0, 38]", True),
        ([31, 38], "[30, 38]", False),  # wider than what is there
        ([31, 38], "[31, 39)", False),
        ([31, 38], "{31 | 38}", True),
        ([31, 38], "*", False),
        ([31, 31], "31", True),
        ([31, 31], "[31, 31]", True),
        ([31, None], "*", True),
        ([31, 38, None], "*", True),
        ([31, 35, 38], "{31 | 38}", False),
        ([31, 35, 38], "{31 | 35 | 38}", True),
        ([31, 35, 38], "{31 | 35 | 35 | 38}", False),
        (["a", "b"], "[a, b]", True),
        (["a", "b, c"], '{a | "b, c"}', True),
        (["a", "b"], "{a | b | c}", False),
        (["2024-01-31", "2024-02-01"], "[2024-01-31, 2024-02-01]", True),
        (["2024-01-31", "2024-02-01"], "[2024-01-01, 2024-02-01]", False),
    ],
)
def test_an_observed_range_is_that_of_the_class(values, label, true):
    others = pa.array([*values, "0" if isinstance(values[0], str) else 0])  # another class, one value
    said = why(["a"] * len(values) + ["b"], others, [label] * len(values) + ["0"], "range")
    assert (not said) == true
    assert true or said.endswith(f"{len(values)} released row(s) do not show the range of their class in column 'q'")


def test_a_class_of_nulls_shows_null():
    values = pa.array([None, None, 4], pa.int64())
    assert not why("aab", values, [None, None, "4"], "range")
    assert not why("aab", values, [None, None, "4"], "mean")
    assert why("aab", values, ["0", "0", "4"], "mean")


@pytest.mark.parametrize("cell", [None, "*"])
def test_suppressed_rows_have_no_numbers(cell):
    assert not why("aab", [3, 4, 9], ["3.5", "3.5", cell], "mean", shown=1)
    assert why("aab", [3, 4, 9], ["3.5", "3.5", cell], "mean", shown=2)
    assert why("aab", [3, 4, 9], ["3.5", "3.5", cell], "mean")


def test_unknown_statistics_are_not_verified():
    with pytest.raises(NotVerified, match="column 'told'"):
        why("a", [3], ["3"], "variance")
    assert why("a", [3], ["3"], "mean", of="z") == "column 'told' tells of nothing in the original"


def test_a_claim_about_a_column_that_is_no_quasi_identifier():
    table = original_table(Table({"q": encode("q", pa.array([1])), "s": encode("s", pa.array(["x"]))}, 1))
    claim = Claim(["q"], ["s"], [], 1, ["q", "s"], observed=frozenset({"s"}))
    with opened(pa.table({"q": ["1"], "s": ["x"]}), claim.columns, {}, listed=True) as release:
        with pytest.raises(NotVerified, match="column 's'"):
            covers(release, claim, Original(table, {}, {}, rows=np.array([0])))
        assert covers(release, replace(claim, observed=frozenset()), Original(table, {}, {}, rows=np.array([0]))).holds


def test_numbers_that_are_written_to_do_harm():
    scale = Scale(pa.array([1, 2]))
    assert scale.number("1e999999999") is None
    assert scale.number("1/3") is None
    assert scale.number("9" * 5000) is None
    assert scale.number("1e2") == 100
