"""Every promise of a claim is judged on what was counted, and held against what was said before. # S4.6"""

from datetime import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.errors import NotVerified
from shoal.models.closeness import TCloseness
from shoal.models.k_anonymity import KAnonymity
from shoal.models.presence import KMap
from shoal.verify.claim import Claim, Original, Status
from shoal.verify.judge import _is_multiple as is_multiple
from shoal.verify.judge import judge, judge_labels, judge_people, judge_rounding, refuse_other_rows
from shoal.verify.open_release import opened
from shoal.verify.released_counts import ReleasedCounts

K = KAnonymity(2)
CLOSE = TCloseness(0.5, "equal", "s")


def classes(*rows, labels=("flu", "hiv"), **more):
    dense = np.array(rows, np.int64).reshape(-1, len(labels))
    at, values = np.nonzero(dense)
    return ClassCounts(
        dense.sum(axis=1), {"s": ValueCounts(at, values, dense[at, values], list(labels), len(dense))}, **more
    )


COUNTED = ReleasedCounts(5, classes([1, 1], [2, 1]))
"""Classes of two and three rows."""
NOTHING = ReleasedCounts(0, classes())


def claim(*models, rows=5, **said):
    return Claim(["q"], ["s"], models or (K,), rows, ["q", "s"], **said)


def original(attained=(), worst=()):
    return Original(None, {}, {}, attained=attained, worst=worst)


def model_verdict(said, counted=COUNTED, before=None):
    return judge(said, counted, before)[-1]


@pytest.mark.parametrize(("rows", "status"), [(5, Status.HOLDS), (4, Status.FAILS)])
def test_the_number_of_rows(rows, status):
    verdict = judge(claim(rows=rows), COUNTED)[0]
    assert (verdict.promise, verdict.status) == ("rows", status)
    assert (verdict.asked, verdict.attained) == ({"rows": rows}, {"rows": 5})


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (None, Status.HOLDS),
        ({"count": 2, "min": 2, "max": 3, "mean": 2.5}, Status.HOLDS),
        ({"count": 2, "min": 2, "max": 3, "mean": 2.5 + 1e-15}, Status.HOLDS),
        ({"count": 3}, Status.FAILS),
        ({"min": 3}, Status.FAILS),
        ({"max": 2}, Status.FAILS),
        ({"mean": 2.6}, Status.FAILS),
        ({"mean": 2.5 + 1e-11}, Status.FAILS),
        ({"mean": "2.5"}, Status.FAILS),
        ({"median": 2}, Status.FAILS),
        ({"count": "2"}, Status.FAILS),
        ({"count": 2.0}, Status.HOLDS),
        ({"count": 2, "min": 3}, Status.FAILS),
    ],
)
def test_the_sizes_of_classes(said, status):
    verdict = judge(claim(classes=said), COUNTED)[1]
    assert (verdict.promise, verdict.status) == ("classes", status)
    assert verdict.asked == (said or {})
    assert verdict.attained == {"count": 2, "min": 2, "max": 3, "mean": 2.5}


def test_a_boolean_is_not_accepted_as_a_number():
    one = ReleasedCounts(1, classes([1, 0]))
    assert judge(claim(KAnonymity(1), rows=1, classes={"mean": 1}), one)[1].holds
    assert not judge(claim(KAnonymity(1), rows=1, classes={"mean": True}), one)[1].holds


def test_a_promise_that_holds_and_one_that_does_not():
    verdict = model_verdict(claim())
    assert (verdict.promise, verdict.status, verdict.why) == ("k-anonymity", Status.HOLDS, "")
    assert verdict.asked == {"k": 2}
    assert verdict.attained == verdict.published == {"k": 2}
    assert verdict.worst == verdict.published_worst == 2
    assert model_verdict(claim(KAnonymity(3))).status is Status.FAILS
    assert model_verdict(claim(KAnonymity(1), rows=1), ReleasedCounts(1, classes([1, 0]))).holds


def test_a_table_without_rows_keeps_nothing():
    rows, sizes, model = judge(claim(rows=0), NOTHING)
    assert rows.holds
    assert sizes.attained == {"count": 0, "min": 0, "max": 0, "mean": 0.0}
    assert (model.status, model.attained, model.worst) == (Status.FAILS, {}, None)
    assert model_verdict(claim(CLOSE, rows=0), ReleasedCounts(0, classes(), classes())).published == {}


@pytest.mark.parametrize(
    ("said", "before", "why"),
    [
        ({"attained": [{"k": 2}], "worst": [2]}, None, ""),
        ({"attained": [{"k": 3}]}, None, "the manifest says that it attains something else"),
        ({"worst": [3]}, None, "a manifest says that another class keeps it least"),
        ({}, original([{"k": 2}], [2]), ""),
        ({}, original([{"k": 3}], [2]), "the private manifest says that it attains something else"),
        ({}, original([{"k": 2}], [3]), "a manifest says that another class keeps it least"),
        ({}, original(), ""),  # it says nothing
        ({}, original([{"k": 3}], []), ""),  # nor of each model
    ],
)
def test_what_manifests_say_is_held_against_what_is_found(said, before, why):
    verdict = model_verdict(claim(**said), before=before)
    assert (verdict.status, verdict.why) == (Status.FAILS if why else Status.HOLDS, why)
    assert verdict.attained == {"k": 2}


@pytest.mark.parametrize("said", [{"attained": []}, {"worst": []}])
def test_no_promise_is_left_out_where_less_was_said_than_promised(said):
    with pytest.raises(ValueError, match="zip"):
        judge(claim(**said), COUNTED)


def test_a_promise_about_the_original_is_judged_on_the_rows_behind():
    """All of the first class have flu; behind it is one who has not."""
    released = classes([2, 0], [0, 2])
    assert model_verdict(claim(CLOSE, rows=4), ReleasedCounts(4, released)).status is Status.NEEDS_ORIGINAL
    behind = classes([1, 1], [1, 1])
    verdict = model_verdict(claim(CLOSE, rows=4), ReleasedCounts(4, released, behind))
    assert (verdict.status, verdict.attained) == (Status.HOLDS, {"t": 0.0})
    assert verdict.published == {"release": {"t": 0.5}}


def test_what_the_release_alone_tells_is_not_judged_on_the_rows_behind():
    behind = ReleasedCounts(5, COUNTED.classes, classes([1, 0], [1, 0]))
    assert model_verdict(claim(), behind).attained == {"k": 2}


def test_against_the_release_numbers_are_as_different_as_texts():
    """The original did not show numbers alone, so that no distance had to be said."""
    numbers = ReleasedCounts(4, classes([2, 0], [0, 2], labels=("1", "2")))
    assert model_verdict(claim(TCloseness(0.5, None, "s", "release"), rows=4), numbers).holds


def test_persons_are_told_by_the_original_alone():
    assert model_verdict(claim(persons=True)).status is Status.NEEDS_ORIGINAL
    behind = ReleasedCounts(5, COUNTED.classes, classes([1, 0], [1, 1]))
    verdict = model_verdict(claim(persons=True), behind)
    assert (verdict.status, verdict.attained, verdict.worst) == (Status.FAILS, {"k": 1}, 1)
    assert (verdict.published, verdict.published_worst) == ({}, None)


def test_a_promise_about_the_population_needs_one():
    behind = classes([1, 1], [2, 1], population=np.array([4, 3]))
    counted = ReleasedCounts(5, COUNTED.classes, behind, everybody=True)
    assert model_verdict(claim(KMap(3, "all.csv")), counted).attained == {"k": 3}
    assert model_verdict(claim(KMap(3, "all.csv")), counted).holds
    assert not model_verdict(claim(KMap(4, "all.csv")), counted).holds
    without = ReleasedCounts(5, COUNTED.classes, behind)
    assert model_verdict(claim(KMap(3, "all.csv")), without).status is Status.NEEDS_POPULATION
    assert model_verdict(claim(CLOSE), without).holds


def people(*rows, models=(K,), added=1, further=0):
    behind = classes(*rows) if rows else None
    return judge_people(claim(*models, added=added, further=further), ReleasedCounts(5, COUNTED.classes, behind))


def test_promises_hold_for_people_without_the_rows_that_were_added():
    assert people([1, 1], [2, 0], added=0) == []
    assert [verdict.status for verdict in people()] == [Status.NEEDS_ORIGINAL]
    for rows, models, further, why in [
        (([1, 1], [2, 0]), (K,), 0, ""),
        (([1, 1], [0, 0]), (K,), 0, "1 class(es) show nobody"),
        (([0, 0], [0, 0]), (K,), 0, "2 class(es) show nobody"),
        (([1, 1], [1, 0]), (KAnonymity(1), K), 0, "k-anonymity fails"),
        (([1, 1], [1, 0]), (KAnonymity(1), K), 1, ""),  # the last is kept by added rows alone
    ]:
        (verdict,) = people(*rows, models=models, further=further)
        assert (verdict.status, verdict.why) == (Status.FAILS if why else Status.HOLDS, why)


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [({"q": ["a", "b"]}, False), ({"q": ["a"]}, True), ({"q": ["a", "b", "c"]}, True), ({"s": ["a", "b"]}, True)],
)
def test_the_labels_that_were_listed_are_those_that_are_shown(labels, wrong):
    with opened(pa.table({"q": ["b", "a", "b", None], "s": ["x", "x", "x", "y"]}), ["q", "s"], {}) as release:
        (verdict,) = judge_labels(claim(labels=labels), release)
        assert judge_labels(claim(), release) == []
    assert (verdict.promise, verdict.status) == ("labels", Status.FAILS if wrong else Status.HOLDS)
    assert bool(verdict.why) == wrong


@pytest.mark.parametrize(
    ("rounded", "wrong"),
    [({"s": Fraction(5)}, False), ({"s": Fraction(10)}, True), ({"elsewhere": Fraction(7)}, False)],
)
def test_rounded_columns_show_multiples(rounded, wrong):
    with opened(pa.table({"q": ["a", "b", "c"], "s": ["10", "15", None]}), ["q", "s"], {}) as release:
        (verdict,) = judge_rounding(claim(rounded=rounded), release)
        assert judge_rounding(claim(), release) == []
    assert (verdict.promise, verdict.status) == ("rounded", Status.FAILS if wrong else Status.HOLDS)


def test_floats_are_multiples_as_nearly_as_they_can_be():
    """0.1 + 0.2 is no multiple of one tenth, except where it was released as a float."""
    for values, holds in ((pa.array([0.1 + 0.2]), True), (pa.array([str(0.1 + 0.2)]), False)):
        with opened(pa.table({"q": ["a"], "s": values}), ["q", "s"], {}) as release:
            (verdict,) = judge_rounding(claim(rounded={"s": Fraction(1, 10)}), release)
        assert verdict.holds == holds


@pytest.mark.parametrize(
    ("text", "typed", "multiple"),
    [
        ("1.0000008", True, True),
        ("-1.0000008", True, True),
        ("1.0000008", False, False),
        ("1.0000012", True, False),
        ("1.001", True, False),
        ("0.9999992", True, True),
        ("inf", True, True),
        ("-inf", True, True),
        ("nan", True, False),
        ("3,0", False, True),
        ("3,5", False, False),
    ],
)
def test_a_millionth_of_a_float_may_be_off(text, typed, multiple):
    assert is_multiple(text, Fraction(1), typed=typed) == multiple


def stored(**columns):
    table = pa.table(columns)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


@pytest.mark.parametrize(
    ("rows", "same"),
    [(["b", "a", "a"], True), (["a", "b", "b"], False), (["a", "b"], False), (["a", "a", "b", "c"], False)],
)
def test_a_copy_has_each_row_as_often(rows, same):
    with opened(pa.table({"q": ["a", "a", "b"]}), ["q"], {}) as release:
        if same:
            refuse_other_rows(release, stored(q=rows), "copy")
        else:
            with pytest.raises(NotVerified, match="copy: the database does not give back the rows"):
                refuse_other_rows(release, stored(q=rows), "copy")


@pytest.mark.parametrize("of", [pa.time64("us"), pa.timestamp("us")])
def test_a_copy_may_write_times_with_more_zeros(of):
    times = pa.array([time(12, 30), time(12, 30, 0, 250_000)]).cast(pa.time64("us"))
    times = times.cast(pa.int64()).cast(of)
    texts = [f"{text}00" if "." in text else text for text in times.cast(pa.string()).to_pylist()]
    with opened(pa.table({"q": texts}), ["q"], {}) as release:
        refuse_other_rows(release, stored(q=times), "copy")
