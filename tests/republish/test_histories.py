"""On random histories no attacker who has all releases learns more than the policy allows (S3.10).

The attackers are those of `naive_republish`: one intersects, one looks for worlds in which a person has another value.
"""

import warnings
from collections import Counter

import naive
import naive_republish
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from shoal.api import Release, prepare
from shoal.errors import Infeasible
from shoal.report.again import Again
from shoal.verify import refuse_failures

VALUES = "abcde"
AGES, SEXES, ILL = st.integers(20, 59), st.sampled_from("fm"), st.sampled_from(VALUES)
L = 2


def policy(way, require=()):
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    sex = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    models = [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "l": L}, *require]
    more = {"m": L, "counterfeits": 1.0} if way == "m-invariance" else {}
    return {
        "attributes": {"id": "identifier", "age": age, "sex": sex, "ill": "sensitive"},
        "require": models,
        "method": {"suppression": 1.0},
        "republish": {"key": "id", "way": way, **more},
    }


POLICIES = {
    "monotone": policy("monotone"),
    "m-invariance": policy("m-invariance"),
    "alp-dif": policy("alp-dif", [{"model": "alp-dif", "alp": 0.7, "dif": 0.3}]),
}


def as_told(release: Release, keys) -> naive_republish.Told:
    """A release as its public table tells it, and who is in which class of it."""
    table = release.table
    labels = list(zip(table["age"].to_pylist(), table["sex"].to_pylist(), strict=True))
    of = {keys[row]: label for row, label in zip(release.rows.tolist(), labels, strict=True) if row >= 0}
    fakes = Counter(label for row, label in zip(release.rows.tolist(), labels, strict=True) if row < 0)
    return naive_republish.Told(list(zip(labels, table["ill"].to_pylist(), strict=True)), of, fakes)


class Growing(RuleBasedStateMachine):
    """People come, leave, move and fall ill with something else; now and then the table is published."""

    way = "monotone"

    def __init__(self):
        super().__init__()
        self.people, self.spell, self.number = {}, Counter(), 0
        self.history, self.releases, self.spells, self.last = None, [], [], None

    @initialize(first=st.lists(st.tuples(AGES, SEXES, ILL), min_size=4, max_size=10))
    def begin(self, first):
        self.come(first)

    @rule(new=st.lists(st.tuples(AGES, SEXES, ILL), min_size=1, max_size=6))
    def come(self, new):
        for one in new:
            self.people[f"p{self.number}"] = list(one)
            self.number += 1

    @rule(which=st.integers(0, 99))
    def leave(self, which):
        if len(self.people) > 2:
            del self.people[list(self.people)[which % len(self.people)]]

    @rule(which=st.integers(0, 99), ill=ILL)
    def change(self, which, ill):
        who = list(self.people)[which % len(self.people)]
        self.spell[who] += self.people[who][2] != ill
        self.people[who][2] = ill

    @rule(which=st.integers(0, 99), age=AGES)
    def move(self, which, age):
        self.people[list(self.people)[which % len(self.people)]][0] = age

    @rule()
    def publish(self):
        keys = list(self.people)
        columns = zip(*self.people.values(), strict=True)
        table = pa.table({"id": keys, **dict(zip(["age", "sex", "ill"], map(list, columns), strict=True))})
        rules = POLICIES[self.way]
        try:
            with warnings.catch_warnings(action="ignore"):
                release = prepare(table, rules if self.history is None else again(rules, self.history))
        except Infeasible:
            return
        self.history, self.last = release.plan.grown.history, release
        self.releases.append(as_told(release, keys))
        self.spells.append(dict(self.spell) | {key: self.spell[key] for key in keys})

    @invariant()
    def nobody_is_betrayed(self):
        left = naive_republish.intersected(self.releases)
        assert min(map(len, left.values()), default=L) >= L
        for person in self.releases[-1].of if self.releases else ():
            assert len(naive_republish.possible(self.releases, self.spells, person, VALUES, L)) >= L

    @invariant()
    def every_class_complies(self):
        for values in self.releases[-1].held.values() if self.releases else ():
            assert len(values) >= L
            if self.way == "m-invariance":
                assert L * max(values.values()) <= values.total()

    def teardown(self):
        if self.last is not None:
            refuse_failures(self.last.verdicts)


def again(rules, history):
    from pathlib import Path

    from shoal.policy import Policy

    return Again(Path("earlier.private"), Policy(**rules), history)


@pytest.mark.slow
@pytest.mark.parametrize("way", POLICIES)
def test_no_history_betrays_anybody(way):  # S3.10
    machine = type("Growing", (Growing,), {"way": way})
    run_state_machine_as_test(machine, settings=naive.settings(naive.examples(200), stateful_step_count=16))


def drawn_history(rng, steps=4):
    """Tables of one history: everybody's key, age, sex and value in each."""
    people, number = {}, 0
    for step in range(steps):
        for key in list(people):
            fate = rng.random()
            if step and fate < 0.15:
                del people[key]
        for _ in range(12 if step == 0 else 6):
            people[f"p{number}"] = (int(rng.integers(20, 60)), rng.choice(["f", "m"]), rng.choice(list(VALUES)))
            number += 1
        keys = list(people)
        age, sex, ill = zip(*people.values(), strict=True)
        yield pa.table({"id": keys, "age": list(age), "sex": list(map(str, sex)), "ill": list(map(str, ill))})


def betrayed(histories, release_of):
    """In how many histories somebody has fewer values left than every single release promises."""
    found = 0
    for number in range(histories):
        told, before = [], None
        for table in drawn_history(np.random.default_rng(number)):
            with warnings.catch_warnings(action="ignore"):
                release = release_of(table, before)
            before = release.plan.grown
            told.append(as_told(release, table["id"].to_pylist()))
        found += min(map(len, naive_republish.intersected(told).values())) < L
    return found


@pytest.mark.slow
def test_anonymizing_afresh_betrays_people_in_most_histories():  # S3.10
    many = 200 if naive.THOROUGH else 40
    rules = POLICIES["monotone"]
    afresh = betrayed(many, lambda table, _: prepare(table, rules))
    followed = betrayed(
        many, lambda table, before: prepare(table, rules if before is None else again(rules, before.history))
    )
    assert followed == 0
    assert afresh > many // 2, afresh
