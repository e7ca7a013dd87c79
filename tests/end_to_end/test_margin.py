"""What a policy can do against who knows the algorithm, and what that brings against the attacks."""

import json

import pyarrow as pa
import pytest

import shoal as sh
from shoal.attacks.downcode import Downcode
from shoal.attacks.minimality import Minimality
from shoal.errors import BadPolicy
from shoal.policy.method import Method
from shoal.problem import drawn_margin, order_of_attributes, with_margin

Q = {"role": "quasi-identifier", "hierarchy": {"tree": {"any": ["a", "b"]}}}
ALPHA = {"model": "alpha-k", "alpha": {"HIV": 0.5}, "k": 2}
PEOPLE = pa.table({"q": ["a"] * 2 + ["b"] * 4, "s": ["HIV"] * 2 + ["no"] * 4})


def policy(require=ALPHA, **method):
    return sh.Policy(attributes={"q": Q, "s": "sensitive"}, require=[require], method=method)


def seed_that_draws(margin, wanted):
    return next(seed for seed in range(1, 100) if drawn_margin(Method(margin=margin, seed=seed)) == wanted)


def credibility(rules):
    release = sh.anonymize(PEOPLE, rules)
    how = Minimality(register=PEOPLE.select(["q"]), values=("HIV",))
    return sh.attack(release, how).figures["largest_credibility"]


def test_a_margin_defeats_the_minimality_attack():
    """Both of `a` have HIV, for else nothing would be generalised; with k + 1 it would be in every world."""
    assert credibility(policy()) == 1
    assert credibility(policy(margin=3, seed=seed_that_draws(3, 1))) == pytest.approx(2 / 6)
    assert credibility(policy(margin=3, seed=seed_that_draws(3, 0))) == 1  # nothing was drawn: it helps by chance only


@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_the_promise_stays_and_the_classes_grow(algorithm, tmp_path):
    ages = pa.table({"age": [i // 2 for i in range(40)]})
    attributes = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8, 16, 32]}}}
    require = [{"model": "k-anonymity", "k": 2}]
    method = {"algorithm": algorithm, "margin": 3, "seed": seed_that_draws(3, 2)}
    release = sh.anonymize(ages, sh.Policy(attributes=attributes, require=require, method=method))
    assert release.summary.models[0].asked == {"k": 2}
    assert release.summary.classes.min >= 4
    assert release.summary.method.margin == 2
    release.save(tmp_path / "out")
    assert "margin" not in (tmp_path / "out/manifest.json").read_text("utf-8")
    assert "seed" not in (tmp_path / "out/manifest.json").read_text("utf-8")
    private = json.loads((tmp_path / "out.private/manifest.json").read_text("utf-8"))
    assert private["method"]["margin"] == 2
    assert [verdict.holds for verdict in sh.verify(tmp_path / "out")] != []


def test_downcoding_with_the_promised_k_is_wrong_about_some_classes():
    """Downcoding assumes that no class could be split with k = 2; with a margin, some could."""
    ages = pa.table({"age": [f"{i % 16:02}" for i in range(48)]})
    tree = {
        "any": {
            f"h{h}": {f"p{h}{p}": [f"{h * 4 + p * 2 + i:02}" for i in range(2)] for p in range(2)} for h in range(4)
        }
    }
    attributes = {"age": {"role": "quasi-identifier", "hierarchy": {"tree": tree}}}
    found = {}
    for margin, wanted in ((0, 0), (6, 3)):
        method = {"algorithm": "local", "margin": margin, "seed": seed_that_draws(6, wanted)}
        rules = sh.Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": 2}], method=method)
        release = sh.anonymize(ages, rules)
        found[margin] = sh.attack(release, Downcode(k=2, minimal="class"), original=ages).figures
    assert found[0].get("labels_that_were_not_minimal", 0) == 0
    assert found[6]["labels_that_were_not_minimal"] > 0


def test_ties_are_decided_by_the_seed():
    """Three attributes alike: which of them is generalised is no one's to know."""
    cells = pa.table({name: ["a", "a", "b", "b"] if name != "z" else ["a", "b", "a", "b"] for name in "xyz"})
    rows = dict.fromkeys("xyz", Q)
    require = [{"model": "k-anonymity", "k": 2}]

    def levels(**method):
        rules = sh.Policy(attributes=rows, require=require, method={"algorithm": "datafly", **method})
        release = sh.anonymize(cells, rules)
        return tuple(sorted(release.summary.recoding.levels.items()))

    assert levels() == levels(seed=5)
    drawn = {levels(ties="random", seed=seed) for seed in range(1, 12)}
    assert len(drawn) > 1
    assert levels(ties="random", seed=3) == levels(ties="random", seed=3)


def test_orders_are_drawn_evenly():
    orders = {tuple(order_of_attributes("abc", Method(ties="random", seed=seed))) for seed in range(1, 60)}
    assert len(orders) == 6


def test_a_margin_raises_only_models_with_a_k():
    rules = policy(margin=3, seed=seed_that_draws(3, 2))
    assert [model.k for model in with_margin(rules).require] == [4]
    assert with_margin(policy()) == policy()


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ({"margin": 2}, "0 is no secret"),
        ({"ties": "random"}, "0 is no secret"),
        ({"margin": -1, "seed": 1}, "margin"),
        ({"margin": 1.5, "seed": 1}, "whole number"),
        ({"ties": "some", "seed": 1}, "ties"),
        ({"margin": 2, "seed": 1, "suppression": "k"}, "contradict"),
    ],
)
def test_bad_options(method, said):
    with pytest.raises(BadPolicy, match=said):
        policy(**method)


def test_a_margin_needs_a_k():
    with pytest.raises(BadPolicy, match="needs a required model with a k"):
        policy({"model": "distinct-l-diversity", "l": 2}, margin=2, seed=1)
