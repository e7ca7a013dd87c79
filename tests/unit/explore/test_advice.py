"""Advice: what it depends on, and what time leaves untried."""

import json
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
from shoal.recoding.columns import ReleasedColumn
from shoal.runtime.events import listening

pytestmark = pytest.mark.advice

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


@pytest.mark.parametrize(
    ("rows", "columns", "blank", "advised"),
    [
        (100, {}, 5, "publish"),
        (100, {}, 6, "of little use"),
        (100, {"zip": 51}, 0, "of little use"),
        (0, {}, 0, "publish"),
    ],
)
def test_rows_and_columns_that_are_mostly_stars_are_of_little_use(rows, columns, blank, advised):
    hidden = advice.Hidden(rows, columns, blank)
    assert advice_on(audit(), (), 0.1, hidden=hidden) == advised
    assert advice_on(audit("homogeneity"), (), 0.1, hidden=hidden) == "do not publish"
    assert advice_on(audit(), (), 0.6, hidden=hidden) == "think again"


def test_showing_more_of_a_column_is_better_at_the_same_loss():
    mute, loud = (TriedRelease(0.1, audit(), (), hidden=advice.Hidden(9, columns)) for columns in ({"zip": 8}, {}))
    assert loud.better_than(mute)
    assert not mute.better_than(loud)


def test_protection_counts_more_than_detail():
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
    with advice.advice_time_budget(1.0):
        said = sh.anonymize(PEOPLE, POLICY).save(tmp_path / "out").recommendation
    assert said.remedies == ()
    assert "add distinct-l-diversity l = 2 on ill" in said.untried
    assert said.sentence.endswith("was tried, since that takes long: give --advise 60 (in Python advise=60).")


def test_what_is_only_tried_is_one_phase_with_a_share(tmp_path):
    heard = []
    release = sh.anonymize(PEOPLE, POLICY)
    with listening(lambda name, share: heard.append((name, share))):
        release.save(tmp_path / "out")
    names = list(dict.fromkeys(name for name, _ in heard))
    assert names == ["writing", "verifying", "publishing", "auditing", "reporting", "looking for a better policy"]
    shares = [share for name, share in heard if name == "looking for a better policy" and share is not None]
    assert shares[0] == 0.0
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0


def test_the_verdict_is_written_before_changes_are_tried(monkeypatch, tmp_path):
    def look(said, *_, **__):
        written = json.loads((tmp_path / "out.private" / "manifest.json").read_text("utf-8"))
        assert written["recommendation"] == said.model_dump(mode="json", exclude_none=True)
        assert said.advice == "do not publish"
        told = (
            "homogeneity: the sensitive value of 3 rows can be guessed well, rules tell the sensitive value of 3 rows"
        )
        assert said.brief == f"do not publish ({told})"
        assert all((tmp_path / name / "report.html").is_file() for name in ("out", "out.private"))
        raise LookupError("seen")

    monkeypatch.setattr(advice, "with_remedies", look)
    with pytest.raises(LookupError, match="seen"):
        sh.anonymize(PEOPLE, POLICY).save(tmp_path / "out")


def test_a_sample_has_all_rows_of_the_persons_in_it():
    people = pa.table({"who": [f"p{n % 50}" for n in range(500)], "age": [20 + n % 60 for n in range(500)]})
    table = advice.TrialTable(ArrowEngine().read(people, ReadOptions()))
    some = table.sample(100, "who")
    drawn = some.source.table["who"].codes
    assert some.rows == 100
    assert sorted(np.bincount(drawn)[np.unique(drawn)]) == [10] * 10
    assert np.array_equal(table.sample(100, "who").source.table["who"].codes, drawn)


def test_a_sample_ends_with_a_whole_person():
    people = pa.table({"who": [f"p{n // 7}" for n in range(350)], "age": [20 + n % 60 for n in range(350)]})
    table = advice.TrialTable(ArrowEngine().read(people, ReadOptions()))
    some = table.sample(100, "who")
    drawn = some.source.table["who"].codes
    assert (some.rows, some.share) == (98, 98 / 350)
    assert set(np.bincount(drawn)[np.unique(drawn)]) == {7}
    assert table.sample(3, "who").rows == 7  # at least one person


def test_screening_tells_how_well_the_best_change_does(monkeypatch):
    """On the whole table, changes are tried until one does as well as the best of them on the sample."""
    exposed = {"a": 2, "b": 2, "c": 2}
    search = advice.RemedySearch(SimpleNamespace(rows=10), None, work=1e9)
    monkeypatch.setattr(search, "_sample", lambda changes, work: None)

    def tried(change, table):
        found = Finding("homogeneity", Channel.ATTRIBUTE, exposed[change.words], 9, "found", {"classes": 3})
        return TriedRelease(0.2, Audit((found,), {}, {}), ()), True

    monkeypatch.setattr(search, "_tried", tried)
    pairs = [(Change(name, None, None, "method"), None) for name in exposed]
    assert search._screen(pairs)[1] == 3  # none can be published: no need to try them all
    exposed["b"] = 0
    order, rank = search._screen(pairs)
    assert ([change.words for change, _ in order], rank) == (["b", "a", "c"], 0)


def test_a_column_that_is_left_out_counts_as_lost():
    less, now = TriedRelease(0.0, audit(), (), dropped=3, columns=1), TriedRelease(0.7, audit(), ("a", "b", "c"))
    assert less.advice == "publish"
    assert less.rank == now.rank
    assert not less.better_than(now)


def test_exact_sensitive_values_are_a_reason_to_think_again():
    assert advice_on(audit(), (), 0.1, exact=["cost"]) == "think again"
    assert advice_on(audit("homogeneity"), (), 0.1, exact=["cost"]) == "do not publish"


def test_the_verdict_names_exact_values_and_what_helps():
    said = advice.recommend((), audit(), {}, 0.1, exact={"cost": 812, "days": 1})
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
        name: ReleasedColumn.of(np.arange(12, dtype=np.int32), [row[at] for row in rows])
        for at, name in enumerate(["sex", "age", "zip"])
    }
    release = replace(release, shown=replace(release.shown, columns=shown, rows=np.arange(12)))
    hidden = advice.find_hidden(release, ["zip"])
    assert (hidden.columns, hidden.blank, hidden.vanished) == ({}, 2, {"sex": 1})
    assert list(hidden.main_sentences()) == ["2 rows show * in every quasi-identifier"]
    kept = "(2 rows)"
    assert list(hidden.further_sentences()) == [f"1 of the 2 values of sex is shown nowhere {kept}"]
    mostly = advice.find_hidden(release, [])
    assert mostly.columns == {"zip": 12}
    said = advice.recommend([], audit(), {}, 0.2, hidden=replace(hidden, columns={"zip": 8}))
    assert said.sentence.endswith(
        f"succeed; 1 of the 2 values of sex is shown nowhere {kept}. Advice: safe to publish, but of little use: zip "
        "is * in 67 % of the rows, 2 rows show * in every quasi-identifier."
    )
    assert said.advice == "of little use"
    assert said.brief == "safe to publish, but of little use (zip is * in most rows)"
    assert said.model_copy(update={"attacks_left": ("definetti",)}).conditional_advice == (
        "safe to publish, but of little use; safe if an audit with the original finds no more: definetti was not tried"
    )
    assert (said.mostly_starred, said.blank, said.vanished) == ({"zip": 8}, 2, {"sex": 1})


def test_changes_that_help_only_together_are_found(monkeypatch):
    """Where no change helps alone, two are tried; the second is measured against the release as it is."""
    said = {"a": 2, "b": 2, "a and b": 0, "b and a": 0, "a and a": 2}

    def policy_of(changed):
        return SimpleNamespace(changed=changed, document=lambda: {"require": sorted(changed)})

    def changes(policy, now):
        return (Change(name, policy, policy_of({*policy.changed, name}), "method") for name in "ab")

    search = advice.RemedySearch(SimpleNamespace(rows=10), None, work=1e9)
    monkeypatch.setattr(search, "_changes", changes)
    monkeypatch.setattr(search, "_steps", lambda *given: 1.0)

    def tried(change, table):
        exposed = said.get(change.words, 2)
        found = Finding("homogeneity", Channel.ATTRIBUTE, exposed, 9, "found", {"classes": 3})
        return TriedRelease(0.2, Audit((found,), {}, {}), ()), True

    monkeypatch.setattr(search, "_tried", tried)
    now, _ = tried(Change("now", None, None), None)
    search.try_changes(Change("", policy_of(set()), policy_of(set())), now)
    assert [change.words for change, _ in search.found] == ["b and a"]  # and not a and b, which is the same


def test_what_drops_precious_columns_is_proposed_last():
    search = advice.RemedySearch(None, None)
    dear = Change("drop birth", None, None, dropped=1, drops_precious=True), TriedRelease(0.1, audit(), ())
    other = Change("drop insurer", None, None, dropped=1), TriedRelease(0.4, audit(), ())
    assert sorted([dear, other], key=search.cost) == [other, dear]
    assert other[0].after(dear[0]).drops_precious


def test_what_leads_to_publish_is_proposed_first():
    """Whatever it drops, and also where it was tried on a sample alone."""
    search = advice.RemedySearch(None, None)
    mute = Change("importance", None, None), TriedRelease(0.2, audit(), ("zip",))
    dear = Change("drop birth", None, None, dropped=1, drops_precious=True), TriedRelease(0.1, audit(), ())
    guess = Change("k = 20", None, None), TriedRelease(0.1, audit(), (), share=0.1)
    assert sorted([mute, guess, dear], key=search.cost) == [dear, guess, mute]


def test_a_change_that_gains_nothing_is_no_help():
    """Fewer columns say nothing after it, and more is lost all the same; or as many rows are exposed as before."""
    several = advice.Hidden(10, {"zip": 6, "job": 6})
    now = TriedRelease(0.3, audit(), (), hidden=several)
    for lost, gains in ((0.3, False), (0.31, False), (0.29, True)):
        then = TriedRelease(lost, audit(), (), hidden=advice.Hidden(10, {"zip": 6}))
        assert then.better_than(now)
        assert then.gains_on(now) is gains


def test_ages_that_are_hidden_in_most_rows_are_a_trouble():
    hidden = advice.Hidden(10, {"age": 9})
    muted, told = TriedRelease(0.4, audit(), (), hidden=hidden), TriedRelease(0.4, audit(), ())
    assert told.better_than(muted)
    assert not muted.better_than(told)


def test_dropped_columns_are_lost_by_their_importance():
    assert TriedRelease(0.2, audit(), (), dropped=1, columns=4, lost_share=0.1).lost == pytest.approx(0.28)


def test_the_verdict_says_why_a_column_is_hidden(tmp_path):
    """Whoever is alive has one day of death: a promise about the status hides the day."""
    people = pa.table({"death": [1, 2] * 50, "status": ["A", "D"] * 50})
    flat = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    asked = [{"model": "distinct-l-diversity", "l": 2, "attribute": "status"}]
    policy = {"attributes": {"death": flat, "status": "sensitive"}, "require": asked}
    said = sh.anonymize(people, policy).save(tmp_path / "out").recommendation.sentence
    assert "; in 100 % of the rows the value of death nearly tells that of status, so a promise about" in said
    assert (
        "drop one of the two, or, if others may know status anyway, make it a quasi-identifier with confirm = true. Adv"
        in said
    )
