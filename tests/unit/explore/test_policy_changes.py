"""Changes of a policy: what is proposed, in which words, and as which lines of a policy file."""

from dataclasses import replace

import shoal as sh
from shoal.attacks.attack import Channel, Finding
from shoal.attacks.audit import Audit
from shoal.explore import policy_changes
from shoal.explore.policy_changes import Troubles, changes_that_may_help

POLICY = {
    "attributes": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "ill": "sensitive"},
    "require": [{"model": "k-anonymity", "k": 3}],
}
FOUND = Audit((Finding("homogeneity", Channel.ATTRIBUTE, 2, 9, "found", {"classes": 3}),), {}, {})


def test_a_promise_that_is_made_already_is_not_proposed():
    policy = sh.Policy(
        **{**POLICY, "require": [*POLICY["require"], {"model": "distinct-l-diversity", "l": 3, "attribute": "ill"}]}
    )
    now = Troubles(FOUND)
    proposed = [change.words for change in changes_that_may_help(policy, now, {"ill": 4})]
    assert proposed == [f"add t-closeness t = {t} on ill" for t in (0.4, 0.3, 0.2)]
    weaker = policy.model_copy(update={"require": (policy.require[0], replace(policy.require[1], l=2))})
    assert "distinct-l-diversity l = 3 instead of 2 on ill" in [
        change.words for change in changes_that_may_help(weaker, now, {"ill": 4})
    ]
    few = [change.words for change in changes_that_may_help(sh.Policy(**POLICY), now, {"ill": 2})]
    assert "add distinct-l-diversity l = 3 on ill" not in few


def test_a_second_change_of_the_same_kind_replaces_the_first():
    policy = sh.Policy(**POLICY)
    ten = policy_changes._larger(policy, 10)
    twenty = policy_changes._larger(ten.policy, 20).after(ten)
    assert (ten.words, twenty.words) == ("k = 10 instead of 3", "k = 20 instead of 3")
    assert twenty.fragment() == {"require": [{"model": "k-anonymity", "k": 20}]}
    assert (
        twenty.toml()
        == '# in place of the [[require]] with model = "k-anonymity"\n[[require]]\nmodel = "k-anonymity"\nk = 20\n'
    )
    assert policy_changes._larger(ten.policy, 3).after(ten).words == ""  # as it was
    less = policy_changes._suppressing(policy, 0.01)
    assert policy_changes._suppressing(less.policy, 0.05).after(less).words == "suppression = 0.05"
    both = policy_changes._suppressing(ten.policy, 0.05).after(ten)
    assert both.words == "k = 10 instead of 3 and suppression = 0.05"
    assert both.toml().endswith("\n# a new section, e.g. at the end\n[method]\nsuppression = 0.05\n")


def test_promises_on_several_columns_are_said_at_once():
    people = {**POLICY["attributes"], "pay": "sensitive", "vote": "sensitive"}
    policy = sh.Policy(**{**POLICY, "attributes": people})
    model = {"model": "t-closeness", "t": 0.4}
    first = policy_changes._diverse(policy, model, ["ill", "pay", "vote"])
    assert first.words == "add t-closeness t = 0.4 on ill, pay and vote"
    assert first.toml().count("# one more [[require]]") == 3
    again = policy_changes._diverse(first.policy, {**model, "t": 0.2}, ["ill", "pay", "vote"])
    assert again.words == "t-closeness t = 0.2 instead of 0.4 on ill, pay and vote"
    assert len(again.policy.require) == len(first.policy.require)
