"""On random histories no attacker who has all releases learns more than the policy allows (S3.10).

The attackers are those of `naive_republish`: one intersects, one looks for worlds in which a person has another value.
Against m-invariance a third, of `naive_beliefs`, counts all worlds.
"""

import warnings
from collections import Counter
from fractions import Fraction

import naive
import naive_beliefs
import naive_republish
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from shoal.errors import BadData, Infeasible
from shoal.pipeline import Release, make_release
from shoal.republish import m_invariance
from shoal.republish.context import RepublishContext
from shoal.republish.next_release import PreviousRelease
from shoal.verify.claim import refuse_failures

VALUES = "abcde"
AGES, SEXES, ILL = st.integers(20, 59), st.sampled_from("fm"), st.sampled_from(VALUES)
L = 2


def policy(way, require=(), sensitive=("ill",)):
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    sex = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    models = [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "l": L}, *require]
    more = {"m": L, "counterfeits": 1.0} if way == "m-invariance" else {}
    return {
        "attributes": {"id": "identifier", "age": age, "sex": sex, **dict.fromkeys(sensitive, "sensitive")},
        "require": models,
        "method": {"suppression": 1.0},
        "republish": {"key": "id", "way": way, **more},
    }


POLICIES = {
    "monotone": policy("monotone"),
    "m-invariance": policy("m-invariance"),
    "alp-dif": policy("alp-dif", [{"model": "alp-dif", "alp": 0.7, "dif": 0.3}]),
}
TWO = policy("monotone", sensitive=("ill", "job"))


def as_told(release: Release, keys, name="ill") -> naive_republish.SeenRelease:
    """A release as its public table tells it, and who is in which class of it."""
    table = release.table
    labels = list(zip(table["age"].to_pylist(), table["sex"].to_pylist(), strict=True))
    of = {keys[row]: label for row, label in zip(release.rows.tolist(), labels, strict=True) if row >= 0}
    fakes = Counter(label for row, label in zip(release.rows.tolist(), labels, strict=True) if row < 0)
    return naive_republish.SeenRelease(list(zip(labels, table[name].to_pylist(), strict=True)), of, fakes)


class Growing(RuleBasedStateMachine):
    """People come, leave, move and fall ill with something else; now and then the table is published."""

    way = "monotone"

    def __init__(self):
        super().__init__()
        self.people, self.spell, self.number = {}, Counter(), 0
        self.names = [name for name, role in POLICIES[self.way]["attributes"].items() if role == "sensitive"]
        self.history, self.last = None, None
        self.releases, self.spells = ({name: [] for name in self.names} for _ in range(2))

    @initialize(first=st.lists(st.tuples(AGES, SEXES, ILL, ILL), min_size=4, max_size=10))
    def begin(self, first):
        self.come(first)

    @rule(new=st.lists(st.tuples(AGES, SEXES, ILL, ILL), min_size=1, max_size=6))
    def come(self, new):
        for one in new:
            self.people[f"p{self.number}"] = list(one[: 2 + len(self.names)])
            self.number += 1

    @rule(which=st.integers(0, 99))
    def leave(self, which):
        if len(self.people) > 2:
            del self.people[list(self.people)[which % len(self.people)]]

    @rule(which=st.integers(0, 99), value=ILL, of=st.integers(0, 9))
    def change(self, which, value, of):
        who, at = list(self.people)[which % len(self.people)], of % len(self.names)
        self.spell[who, self.names[at]] += self.people[who][2 + at] != value
        self.people[who][2 + at] = value

    @rule(which=st.integers(0, 99), age=AGES)
    def move(self, which, age):
        self.people[list(self.people)[which % len(self.people)]][0] = age

    @rule()
    def publish(self):
        keys = list(self.people)
        columns = zip(*self.people.values(), strict=True)
        table = pa.table({"id": keys, **dict(zip(["age", "sex", *self.names], map(list, columns), strict=True))})
        rules = POLICIES[self.way]
        try:
            with warnings.catch_warnings(action="ignore"):
                release = make_release(table, rules if self.history is None else again(rules, self.history))
        except (Infeasible, BadData):  # BadData: nobody is left of the last release
            return
        self.history, self.last = release.plan.grown.history, release
        for name in self.names:
            self.releases[name].append(as_told(release, keys, name))
            changed = {who: times for (who, of), times in self.spell.items() if of == name}
            self.spells[name].append(changed | {key: self.spell[key, name] for key in keys})

    @invariant()
    def nobody_is_betrayed(self):
        for name, releases in self.releases.items():
            left = naive_republish.intersected_values(releases)
            assert min(map(len, left.values()), default=L) >= L
            for person in releases[-1].of if releases else ():
                assert len(naive_republish.possible_values(releases, self.spells[name], person, VALUES, L)) >= L

    @invariant()
    def every_class_complies(self):
        for releases in self.releases.values():
            for values in releases[-1].held.values() if releases else ():
                assert len(values) >= L
                if self.way == "m-invariance":
                    assert L * max(values.values()) <= values.total()

    def teardown(self):
        if self.last is not None:
            refuse_failures(self.last.verdicts)


def again(rules, history):
    from pathlib import Path

    from shoal.policy.document import Policy

    return PreviousRelease(Path("earlier.private"), Policy(**rules), history)


@pytest.mark.slow
@pytest.mark.parametrize("way", POLICIES)
def test_no_random_history_exposes_anybody(way):  # S3.10
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
        found += min(map(len, naive_republish.intersected_values(told).values())) < L
    return found


def history_of_two_values(number):
    """Tables of people of whom every third changes one of two values, and how often each had changed by then."""
    rng, people, changes, told = np.random.default_rng(number), {}, Counter(), []
    for step in range(3):
        for key, (_, values) in people.items():
            if rng.random() < 0.3:
                at = int(rng.integers(2))
                old, values[at] = values[at], str(rng.choice(list(VALUES)))
                changes[key, at] += old != values[at]
        for _ in range(3 if step else 8):
            people[f"p{len(people)}"] = (int(rng.integers(20, 60)), [str(v) for v in rng.choice(list(VALUES), 2)])
        ages, values = zip(*people.values(), strict=True)
        ill, job = map(list, zip(*values, strict=True))
        table = pa.table({"id": list(people), "age": list(ages), "sex": ["f"] * len(ages), "ill": ill, "job": job})
        told.append((table, [{key: changes[key, at] for key in people} for at in range(2)]))
    return told


def told_of_two_values(histories):
    """In how many histories somebody has fewer worlds left than values are asked for."""
    found, rules = 0, TWO
    for number in range(histories):
        history, told = None, []
        for table, spells in history_of_two_values(number):
            try:
                with warnings.catch_warnings(action="ignore"):
                    release = make_release(table, rules if history is None else again(rules, history))
            except Infeasible:
                continue
            history, keys = release.plan.grown.history, table["id"].to_pylist()
            told.append([(as_told(release, keys, name), spells[at]) for at, name in enumerate(("ill", "job"))])
        found += any(
            len(
                naive_republish.possible_values(
                    [one[at][0] for one in told], [one[at][1] for one in told], who, VALUES, L
                )
            )
            < L
            for at in range(2)
            for who in {key for one in told for key in one[at][0].of}
        )
    return found


def test_people_with_one_of_two_values_changed_are_not_exposed(monkeypatch):  # S3.10
    many = 40 if naive.THOROUGH else 12
    assert told_of_two_values(many) == 0
    monkeypatch.setattr(RepublishContext, "bound", property(lambda stage: np.zeros(len(stage.history), dtype=bool)))
    assert told_of_two_values(many) > 0, "the attacker finds nothing where nobody waits"


@pytest.mark.slow
def test_anonymizing_afresh_exposes_people_in_most_histories():  # S3.10
    many = 200 if naive.THOROUGH else 40
    rules = POLICIES["monotone"]
    afresh = betrayed(many, lambda table, _: make_release(table, rules))
    followed = betrayed(
        many, lambda table, before: make_release(table, rules if before is None else again(rules, before.history))
    )
    assert followed == 0
    assert afresh > many // 2, afresh


def changing_history(number):
    """Tables of a small history: people come, leave, come back, move and change; and how often each had changed."""
    rng, people, away, changes = np.random.default_rng(number), {}, {}, Counter()
    for step in range(int(rng.integers(2, 4))):
        for key in list(people):
            fate = rng.random()
            if fate < 0.2 and len(people) > 2:
                away[key] = people.pop(key)
            elif fate < 0.3:
                people[key] = (int(rng.integers(20, 60)), *people[key][1:])
            elif fate < 0.4:
                ill = str(rng.choice(list(VALUES)))
                changes[key] += ill != people[key][2]
                people[key] = (*people[key][:2], ill)
        for key in [key for key in away if rng.random() < 0.3]:
            people[key] = away.pop(key)
        for _ in range(int(rng.integers(1, 4)) + (3 if step == 0 else 0)):
            one = int(rng.integers(20, 60)), str(rng.choice(["f", "m"])), str(rng.choice(list(VALUES)))
            people[f"p{len(people) + len(away)}"] = one
        age, sex, ill = map(list, zip(*people.values(), strict=True))
        keys = list(people)
        yield pa.table({"id": keys, "age": age, "sex": sex, "ill": ill}), {key: changes[key] for key in keys}


def greatest_belief(number, m):
    """What the attacker believes most of anybody, after all releases of a history by m-invariance; 0 without any."""
    rules, history, seen, spells = policy("m-invariance"), None, [], []
    rules = {**rules, "require": rules["require"][:1], "republish": {**rules["republish"], "m": m}}
    for table, changed in changing_history(number):
        try:
            with warnings.catch_warnings(action="ignore"):
                release = make_release(table, rules if history is None else again(rules, history))
        except (Infeasible, BadData):  # BadData: nobody is left of the last release
            continue
        found = release.plan.grown
        assert found.finding.figures["believed_above_1_in_m"] == 0
        history = found.history
        seen.append(as_told(release, table["id"].to_pylist()))
        spells.append(changed)
    believed = naive_beliefs.posteriors(seen, spells).values() if seen else ()
    return max((max(shares.values()) for _, shares in believed), default=Fraction(0)), len(seen)


@pytest.mark.parametrize(
    ("m", "histories"),
    [(2, 120), (3, 30), pytest.param(2, 800, marks=pytest.mark.slow), pytest.param(3, 200, marks=pytest.mark.slow)],
)
def test_nobody_is_believed_to_have_a_value_above_1_in_m(m, histories):  # S3.10
    """The attacker knows who is in which class of all releases, and counts the worlds that give them."""
    many, releases = histories if naive.THOROUGH else 12, 0
    for number in range(many):
        belief, made = greatest_belief(1000 * m + number, m)
        assert belief <= Fraction(1, m), number
        releases += made
    assert releases > many // 2


def test_groups_that_look_alike_would_raise_belief(monkeypatch):  # S3.10
    """Bob (f, d), Ann (m, a); then, without Ann, three more (f, d), (m, e), (m, f), (m, g): 840 of 1,050 worlds."""
    rules = {
        "attributes": {"id": "identifier", "sex": {"role": "quasi-identifier"}, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"suppression": 0.8},
        "republish": {"key": "id", "way": "m-invariance", "m": 2, "counterfeits": 0.5},
    }
    first = pa.table({"id": ["bob", "ann"], "sex": ["f", "m"], "ill": ["d", "a"]})
    new = pa.table({"id": list("uvwxyz"), "sex": list("fffmmm"), "ill": list("dddefg")})
    second = pa.concat_tables([new.slice(0, 3), first.slice(0, 1), new.slice(3)])
    before = make_release(first, rules)
    after = make_release(second, again(rules, before.plan.grown.history))
    shown = after.table.group_by(["sex"]).aggregate([("ill", "count_distinct"), ("ill", "count")]).to_pylist()
    assert all(each["ill_count_distinct"] == each["ill_count"] == 2 for each in shown)
    monkeypatch.setattr(m_invariance, "keep_signatures_apart", lambda signature, sizes, levels, *_: (levels, sizes > 0))
    with pytest.raises(Infeasible, match="exposes 2 of 8 people"):
        make_release(second, again(rules, before.plan.grown.history))
