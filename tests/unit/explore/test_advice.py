"""Advice: what it depends on, and what time leaves untried."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import shoal as sh
from shoal.attacks.attack import Channel, Finding
from shoal.attacks.audit import Audit
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.explore import advice
from shoal.explore.advice import TriedRelease, advice_on
from shoal.explore.policy_changes import Change
from shoal.recoding.columns import Released

PEOPLE = pa.table({"age": [31, 32, 33, 41, 42, 43], "ill": ["hiv"] * 3 + ["flu", "cold", "gout"]})
POLICY = {
    "attributes": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "ill": "sensitive"},
    "require": [{"model": "k-anonymity", "k": 3}],
}


def audit(*exposed):
    """An audit of two attacks, of which some expose two rows each."""
    tried = {"homogeneity": Channel.ATTRIBUTE, "singling-out": Channel.SINGLING_OUT}
    figures = {"classes": 3}
    found = [Finding(name, tried[name], 2 * (name in exposed), 9, "found", figures) for name in tried]
    return Audit(tuple(found), {}, {})


@pytest.mark.parametrize(
    ("exposed", "starred", "loss", "advised"),
    [
        ((), (), 0.2, "publish"),
        ((), (), None, "publish"),
        ((), (), 0.6, "think again"),
        ((), ("zip",), 0.2, "think again"),
        (("singling-out",), (), 0.2, "think again"),
        (("homogeneity",), (), 0.2, "do not publish"),
    ],
)
def test_advice_depends_on_attacks_stars_and_loss(exposed, starred, loss, advised):
    assert advice_on(audit(*exposed), starred, loss) == advised


def test_a_release_that_no_attack_was_tried_on_is_doubtful():
    assert advice_on(Audit((), {}, {}), (), 0.1) == "think again"


def test_people_come_before_detail():
    told, mute = TriedRelease(0.1, audit("homogeneity"), ()), TriedRelease(0.9, audit(), ("age",))
    assert mute.better_than(told)
    assert not told.better_than(mute)


def test_a_release_that_says_nothing_is_not_proposed():
    told, empty, some = (TriedRelease(loss, audit(), ()) for loss in (0.1, 0.99, 0.6))
    search = advice.RemedySearch(None, None, found=[("a", empty), ("b", some)])
    search.forget_empty(told)
    assert search.found == [("b", some)]


def test_less_of_one_trouble_and_more_of_another_is_not_better():
    one, other = TriedRelease(0.1, audit(), ("age",)), TriedRelease(0.9, audit(), ())
    assert not one.better_than(other)
    assert not other.better_than(one)


def test_without_time_all_changes_are_named_as_untried(monkeypatch, tmp_path):
    monkeypatch.setattr(advice.RemedySearch, "_over", lambda self: True)
    with advice.seeking(1.0):
        said = sh.anonymize(PEOPLE, POLICY).save(tmp_path / "out").recommendation
    assert said.remedies == ()
    assert "add distinct-l-diversity l = 2 on ill" in said.untried
    assert said.sentence.endswith("was tried, since that takes long: give --advise 60 (in Python advise=60).")


def test_a_sample_has_all_rows_of_the_persons_in_it():
    people = pa.table({"who": [f"p{n % 50}" for n in range(500)], "age": [20 + n % 60 for n in range(500)]})
    table = advice.TrialTable(ArrowEngine().read(people, ReadOptions()))
    some = table.sample(100, "who")
    drawn = some.source.table["who"].codes
    assert some.rows == 100
    assert sorted(np.bincount(drawn)[np.unique(drawn)]) == [10] * 10
    assert np.array_equal(table.sample(100, "who").source.table["who"].codes, drawn)


def test_a_column_that_is_left_out_counts_as_lost():
    less, now = TriedRelease(0.0, audit(), (), dropped=3, columns=1), TriedRelease(0.7, audit(), ("a", "b", "c"))
    assert less.advice == "publish"
    assert less.rank == now.rank
    assert not less.better_than(now)


def test_exact_sensitive_values_are_a_reason_to_think_again():
    assert advice_on(audit(), (), 0.1, exact=["cost"]) == "think again"
    assert advice_on(audit("homogeneity"), (), 0.1, exact=["cost"]) == "do not publish"


def test_the_verdict_names_exact_values_and_what_helps():
    said = advice.recommend((), audit(), (), 0.1, exact={"cost": 812, "days": 1})
    assert "the exact value of cost finds 812 rows and days finds 1 row: drop it" in said.sentence
    assert said.sentence.endswith("or confirm = true. Advice: think again.")
    assert said.exact == {"cost": 812, "days": 1}


def test_a_change_after_which_exact_values_still_find_rows_is_not_enough():
    assert TriedRelease(0.1, audit(), (), exact=("cost",)).advice == "think again"


def test_what_a_release_hides_is_told_without_values(tmp_path):
    people = pa.table({"sex": ["f"] * 2 + ["m"] * 10, "age": [31] * 12, "zip": [f"{n}" for n in range(12)]})
    flat = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    policy = {
        "attributes": {"sex": flat, "age": flat, "zip": flat},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"algorithm": "local"},
    }
    rows = [["*", "31", "*"]] * 2 + [["m", "31", "*"]] * 8 + [["*", "*", "*"]] * 2
    release = sh.anonymize(people, policy)
    shown = {
        name: Released.of(np.arange(12, dtype=np.int32), [row[at] for row in rows])
        for at, name in enumerate(["sex", "age", "zip"])
    }
    release = replace(release, shown=replace(release.shown, columns=shown, rows=np.arange(12)))
    hidden = advice.find_hidden(release, ["zip"])
    assert (hidden.columns, hidden.blank, hidden.vanished) == ({}, 2, {"sex": 1})
    assert list(hidden.sentences()) == [
        "2 rows show * in every quasi-identifier",
        "1 of the 2 values of sex is shown nowhere",
    ]
    mostly = advice.find_hidden(release, [])
    assert mostly.columns == {"zip": 12}
    said = advice.recommend([], audit(), [], 0.2, hidden=replace(hidden, columns={"zip": 8}))
    assert "; zip is * in 66 % of the rows; 2 rows show *" in said.sentence
    assert said.advice == "publish"
    assert (said.mostly_starred, said.blank, said.vanished) == ({"zip": 8}, 2, {"sex": 1})


def test_changes_that_help_only_together_are_found(monkeypatch):
    """Where no change helps alone, two are tried; the second is measured against the release as it is."""
    said = {"a": 2, "b": 2, "a and b": 0, "a and a": 2}
    changes = {name: Change(name, None, None, "method") for name in "ab"}
    search = advice.RemedySearch(SimpleNamespace(rows=10), None, work=1e9)
    monkeypatch.setattr(search, "_changes", lambda policy, now: iter(changes.values()))
    monkeypatch.setattr(search, "_steps", lambda *given: 1.0)

    def tried(change, table):
        exposed = said.get(change.words, 2)
        found = Finding("homogeneity", Channel.ATTRIBUTE, exposed, 9, "found", {"classes": 3})
        return TriedRelease(0.2, Audit((found,), {}, {}), ()), True

    monkeypatch.setattr(search, "_tried", tried)
    now, _ = tried(Change("now", None, None), None)
    search.look(Change("", None, None), now)
    assert [change.words for change, _ in search.found] == ["a and b"]
