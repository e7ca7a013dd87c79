"""Algorithm 1 of Sané et al.: rows added until no rule tells a sensitive value (S1.3 to S1.5)."""

from collections import Counter
from fractions import Fraction
from math import ceil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.blocking.algorithm import Diversifier, Limits, block, compare_rules
from shoal.data.codes import encode
from shoal.mining.c45 import C45
from shoal.mining.decision_tree import ChannelCriterion, Rule
from shoal.mining.decision_tree import Test as Asked
from shoal.models import MODELS

# Table 1 of the paper: 12 rows, 4-anonymous
AGES = ["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4
ZIPS = ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4
ILL = ["Heart Disease"] * 2 + ["Viral Infection"] * 2 + ["Cancer", "Heart Disease"] + ["Viral Infection"] * 2
ILL += ["Cancer"] * 4


def coded(**columns):
    return {name: encode(name, pa.array(values, pa.string())) for name, values in columns.items()}


def table_1():
    columns = coded(zip=ZIPS, age=AGES, nationality=["*"] * 12, disease=ILL)
    return columns, columns.pop("disease")


def grown(columns, target, done):
    """The table with the added rows, as texts."""
    rows = [*range(len(target.codes)), *done.copied.tolist()]
    texts = {name: [column.texts.to_pylist()[column.codes[row]] for row in rows] for name, column in columns.items()}
    values = [*target.texts.to_pylist(), None]
    told = [values[code] for code in [*target.codes.tolist(), *done.values.tolist()]]
    return texts, told


def mined(texts, told):
    columns = coded(**texts)
    return C45().fit_codes(columns, encode("told", pa.array(told, pa.string()))).rules()


def test_table_1_has_one_channel_and_it_is_gone_afterwards():  # S1.2, S1.4
    columns, ill = table_1()
    done = block(columns, ill, ChannelCriterion(), Limits(Fraction(1, 2)))
    assert [(rule.comparison_key, rule.confidence) for rule in done.before] == [
        ((frozenset({Asked("age", "=", "3*")}), "Cancer"), 1.0)
    ]
    assert (done.left, done.stopped) == ((), "")
    assert ChannelCriterion().select_channels(mined(*grown(columns, ill, done))) == ()
    assert len(done.copied) == ceil(4 * (1 / Fraction(1, 2) - 1))  # S1.3
    assert Counter(grown(columns, ill, done)[1][12:]) == {"Heart Disease": 2, "Viral Infection": 2}  # spread
    assert set(done.copied.tolist()) <= {8, 9, 10, 11}


def test_unknown_values_hide_nothing_from_who_drops_them():  # S1.4
    columns, ill = table_1()
    done = block(columns, ill, ChannelCriterion(), Limits(Fraction(1, 2)), unknown=True)
    texts, told = grown(columns, ill, done)
    assert told[12:] == [None] * 4
    assert (len(done.before), done.left, done.silent) == (1, (), 1)
    assert ChannelCriterion().select_channels(mined(texts, told)) == done.before  # learned from rows with a class
    shown = [value or "unknown" for value in told]
    assert not [
        rule for rule in ChannelCriterion().select_channels(mined(texts, shown)) if rule.consequent != "unknown"
    ]


@pytest.mark.parametrize("confidence", [Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("rows", [4, 7, 20])
def test_a_rule_without_exceptions_is_blocked_by_the_fewest_rows(confidence, rows):  # S1.3
    columns = coded(age=["old"] * rows + ["young"] * 30, ill=["a"] * rows + ["b", "b", "c"] * 10)
    ill = columns.pop("ill")
    done = block(columns, ill, ChannelCriterion(values=frozenset("a")), Limits(confidence, passes=1))
    assert len(done.copied) == ceil(rows * (1 / confidence - 1))


def tables():
    values = st.sampled_from(["a", "b", "c"])

    @st.composite
    def drawn(draw):
        rows = draw(st.integers(2, 40))
        many = draw(st.integers(1, 3))
        texts = {f"q{i}": draw(st.lists(values, min_size=rows, max_size=rows)) for i in range(many)}
        sensitive = st.sampled_from(["x", "y", "z"][: draw(st.integers(2, 3))])
        told = draw(st.lists(sensitive, min_size=rows, max_size=rows))
        return texts, told

    return drawn()


@examples(200)
@given(tables(), st.integers(0, 3), st.sampled_from([Fraction(1, 2), Fraction(3, 5), Fraction(4, 5)]), st.booleans())
def test_mining_again_finds_no_channel_unless_something_stopped_it(table, seed, confidence, perfect):  # S1.5
    texts, told = table
    columns = coded(**texts)
    target = encode("told", pa.array(told))
    at = Fraction(1) if perfect else Fraction(17, 20)
    sensitive = ChannelCriterion(at)
    if len(target.values) < 2:
        return
    done = block(columns, target, sensitive, Limits(confidence), seed=seed)
    after, shown = grown(columns, target, done)
    left = sensitive.select_channels(mined(after, shown))
    assert {rule.same for rule in left} == {rule.same for rule in done.left}
    assert not left or done.stopped
    # nothing is added but copies of rows there are, and the same seed adds the same
    combinations = set(zip(*texts.values(), strict=True))
    assert set(zip(*after.values(), strict=True)) == combinations
    again = block(columns, target, sensitive, Limits(confidence), seed=seed)
    assert np.array_equal(done.copied, again.copied)
    assert np.array_equal(done.values, again.values)
    rules, before = mined(after, shown), mined(texts, told)
    others = {
        rule.comparison_key
        for rule in before
        if rule.comparison_key not in {channel.comparison_key for channel in done.before}
    }
    now = {rule.comparison_key for rule in rules}
    assert done.lost == (Fraction(len(others - now), len(others)) if others else 0)
    assert done.ghosts == (
        Fraction(len(now - {rule.comparison_key for rule in before}), len(now)) if len(done.copied) else 0
    )


def spoiled():
    """Two channels, and rules that any row would change."""
    columns = coded(
        age=["old"] * 6 + ["young"] * 6 + ["mid"] * 12,
        sex=["f", "m"] * 12,
        ill=["a"] * 6 + ["b"] * 6 + ["a", "b", "c", "c"] * 3,
    )
    return columns, columns.pop("ill")


def test_limits_stop_it_and_say_so():
    columns, ill = spoiled()
    free = block(columns, ill, ChannelCriterion(), Limits(Fraction(1, 2)))
    assert len(free.before) >= 2
    assert (free.left, free.stopped) == ((), "")
    few = block(columns, ill, ChannelCriterion(), Limits(Fraction(1, 2), rows=3))
    assert (len(few.copied), few.stopped) == (3, "limit")
    assert few.left
    none = block(columns, ill, ChannelCriterion(), Limits(Fraction(1, 2), rows=0))
    assert (len(none.copied), none.stopped, len(none.left)) == (0, "limit", len(free.before))
    one = block(columns, ill, ChannelCriterion(support=7), Limits(Fraction(1, 2)))
    assert (one.before, len(one.copied)) == ((), 0)
    only = block(columns, ill, ChannelCriterion(values=frozenset("b")), Limits(Fraction(1, 2)))
    assert {rule.consequent for rule in only.before} == {"b"}


def test_h_and_passes_stop_it_before_it_is_done():
    free = block(*layered(), ChannelCriterion(), Limits(Fraction(9, 10)))
    assert free.passes > 1
    assert (free.left, free.stopped) == ((), "")
    assert max(free.lost, free.ghosts) > 0
    stopped = block(*layered(), ChannelCriterion(), Limits(Fraction(9, 10), h=Fraction(0)))
    assert stopped.stopped == "h"
    assert max(stopped.exceeded) > 0
    assert (stopped.lost, stopped.ghosts) == (0, 0)
    kept = block(*layered(), ChannelCriterion(), Limits(Fraction(9, 10), h=Fraction(0), keep=True))
    assert (kept.lost, kept.ghosts) == kept.exceeded == stopped.exceeded
    assert (len(kept.copied), kept.taken_back) == (len(stopped.copied) + stopped.taken_back, 0)
    once = block(*layered(), ChannelCriterion(), Limits(Fraction(9, 10), passes=1))
    assert (once.passes, once.stopped) == (1, "passes")
    assert once.left


@examples(150)
@given(tables(), st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2)]), st.integers(0, 3))
def test_h_is_tested_rule_by_rule(table, h, seed):
    """Additions are those of a run without h, one rule after the other, up to the first that passes it."""
    columns, target = coded(**table[0]), encode("told", pa.array(table[1]))
    if len(target.values) < 2:
        return
    free = block(columns, target, ChannelCriterion(), Limits(Fraction(1, 2)), seed=seed)
    done = block(columns, target, ChannelCriterion(), Limits(Fraction(1, 2), h=h), seed=seed)
    kept = block(columns, target, ChannelCriterion(), Limits(Fraction(1, 2), h=h, keep=True), seed=seed)
    assert done.copied.tolist() == free.copied.tolist()[: len(done.copied)]
    assert kept.copied.tolist() == free.copied.tolist()[: len(kept.copied)]
    assert done.exceeded == kept.exceeded
    assert max(done.lost, done.ghosts) <= h
    if done.exceeded is None:
        assert len(done.copied) == len(kept.copied) == len(free.copied)
        return
    assert (done.stopped, kept.stopped) == ("h", "h")  # said also where no channel is left
    assert max(done.exceeded) > h
    assert (kept.lost, kept.ghosts) == kept.exceeded
    assert len(kept.copied) == len(done.copied) + done.taken_back


def test_exceeding_h_is_said_even_if_no_channel_is_left():
    """By the letter of the paper the last rows stay: they close the channel, and change the other rules."""
    columns, ill = spoiled()
    kept = block(
        columns, ill, ChannelCriterion(values=frozenset("a")), Limits(Fraction(1, 3), h=Fraction(0), keep=True)
    )
    assert kept.exceeded is not None
    assert (kept.left, kept.stopped) == ((), "h")


def layered():
    """A table in which blocking makes new channels."""
    rng = np.random.default_rng(50)
    texts = {f"q{i}": rng.choice(list("abc"), 60).tolist() for i in range(3)}
    told = [
        "x" if (one == "a") == (two in "bc") else "y" if three == "a" else str(rng.choice(list("xyz")))
        for one, two, three in zip(*texts.values(), strict=True)
    ]
    return coded(**texts), encode("told", pa.array(told))


def test_rules_are_the_same_when_their_tests_and_what_they_tell_are():
    one = Rule((Asked("a", "=", "1"), Asked("b", "=", "2")), "x", 4, 4, 0.5)
    turned = Rule((Asked("b", "=", "2"), Asked("a", "=", "1")), "x", 9, 8, 0.5)
    other = Rule((Asked("a", "=", "1"), Asked("b", "=", "2")), "y", 4, 4, 0.5)
    assert compare_rules([one], [], [turned]) == (0, 0)
    assert compare_rules([one, other], [other], [other]) == (1, 0)
    assert compare_rules([one], [one], [one, other]) == (0, Fraction(1, 2))


MODELS_TO_ATTAIN = [
    MODELS["distinct-l-diversity"](l=3, attribute="ill"),
    MODELS["entropy-l-diversity"](l=1.8, attribute="ill"),
    MODELS["alpha-k"](alpha=0.6, k=1, attribute="ill"),
    MODELS["t-closeness"](t=0.2, attribute="ill", reference="release"),
    MODELS["recursive-cl-diversity"](c=2, l=2, attribute="ill"),
]


@pytest.mark.parametrize("model", MODELS_TO_ATTAIN, ids=lambda model: model.name)
def test_classes_grow_until_they_keep_a_model(model):  # S1.8
    rng = np.random.default_rng(3)
    ill = encode("ill", pa.array(rng.choice(["flu", "hiv", "ulcer"], 200, p=[0.6, 0.25, 0.15])))
    of_row = np.sort(rng.integers(0, 30, 200)).astype(np.int32)
    _, of_row = np.unique(of_row, return_inverse=True)
    asked = Diversifier((model,), of_row.astype(np.int32), ill)
    assert asked.list_failed_models(np.arange(200), ill.codes)
    rows, values = asked.find_further_rows(np.arange(200), ill.codes, np.random.default_rng(0))
    every, told = np.concatenate([np.arange(200), rows]), np.concatenate([ill.codes, values])
    assert asked.list_failed_models(every, told) == []
    # judged by hand too, for the two that a line can tell
    shares = [np.bincount(told[of_row[every] == one], minlength=3) for one in range(of_row.max() + 1)]
    if model.name == "distinct-l-diversity":
        assert all((counts > 0).sum() >= 3 for counts in shares)
    if model.name == "alpha-k":
        assert all(5 * counts.max() <= 3 * counts.sum() for counts in shares)
