"""Advice: what it depends on, and what time leaves untried."""

import pyarrow as pa
import pytest

import shoal as sh
from shoal.attacks.attack import Channel, Finding
from shoal.attacks.audit import Audit
from shoal.explore import advice
from shoal.explore.advice import TriedRelease, advice_on

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
    assert f"there was no time for {len(said.untried)} others" in said.sentence
