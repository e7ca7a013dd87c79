"""Changes of a policy: what is proposed, in which words, and as which lines of a policy file."""

from dataclasses import replace

import pyarrow as pa

import shoal as sh
from shoal.attacks.attack import Channel, Finding
from shoal.attacks.audit import Audit
from shoal.data.codes import encode
from shoal.explore import policy_changes
from shoal.explore.policy_changes import Troubles, changes_that_may_help

POLICY = {
    "attributes": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "ill": "sensitive"},
    "require": [{"model": "k-anonymity", "k": 3}],
}
FOUND = Audit((Finding("homogeneity", Channel.ATTRIBUTE, 2, 9, "found", {"classes": 3}),), {}, {})


def columns(values, rows=60):
    """Return a table's columns: as many values of `ill`, equally often, an exact pay and a shop that is no secret."""
    cells = {
        "age": range(rows),
        "ill": [f"i{n % values}" for n in range(rows)],
        "pay": [f"{n}.{n}" for n in range(rows)],
        "shop": [f"s{n % 3}" for n in range(rows)],
    }
    return {name: encode(name, pa.array(list(of))) for name, of in cells.items()}


def test_a_promise_that_is_made_already_is_not_proposed():
    policy = sh.Policy(
        **{**POLICY, "require": [*POLICY["require"], {"model": "distinct-l-diversity", "l": 3, "attribute": "ill"}]}
    )
    now = Troubles(FOUND)
    proposed = [change.words for change in changes_that_may_help(policy, now, columns(4))]
    assert proposed == [
        "add alpha-k alpha = 0.49 on ill",
        *(f"add t-closeness t = {t} on ill" for t in (0.4, 0.3, 0.2)),
    ]
    weaker = policy.model_copy(update={"require": (policy.require[0], replace(policy.require[1], l=2))})
    assert "distinct-l-diversity l = 3 instead of 2 on ill" in [
        change.words for change in changes_that_may_help(weaker, now, columns(4))
    ]
    few = [change.words for change in changes_that_may_help(sh.Policy(**POLICY), now, columns(2))]
    assert "add distinct-l-diversity l = 3 on ill" not in few


def test_a_second_change_of_the_same_kind_replaces_the_first():
    policy = sh.Policy(**POLICY)
    ten = policy_changes._raise_k(policy, 10)
    twenty = policy_changes._raise_k(ten.policy, 20).after(ten)
    assert (ten.words, twenty.words) == ("k = 10 instead of 3", "k = 20 instead of 3")
    assert twenty.fragment() == {"require": [{"model": "k-anonymity", "k": 20}]}
    assert (
        twenty.toml()
        == '# in place of the [[require]] with model = "k-anonymity"\n[[require]]\nmodel = "k-anonymity"\nk = 20\n'
    )
    assert policy_changes._raise_k(ten.policy, 3).after(ten).words == ""  # as it was
    less = policy_changes._change_suppression(policy, 0.01)
    assert policy_changes._change_suppression(less.policy, 0.05).after(less).words == "suppression = 0.05"
    both = policy_changes._change_suppression(ten.policy, 0.05).after(ten)
    assert both.words == "k = 10 instead of 3 and suppression = 0.05"
    assert both.toml().endswith("\n# a new section, e.g. at the end\n[method]\nsuppression = 0.05\n")


def test_promises_on_several_columns_are_said_at_once():
    people = {**POLICY["attributes"], "pay": "sensitive", "vote": "sensitive"}
    policy = sh.Policy(**{**POLICY, "attributes": people})
    model = {"model": "t-closeness", "t": 0.4}
    first = policy_changes._add_diversity(policy, model, ["ill", "pay", "vote"])
    assert first.words == "add t-closeness t = 0.4 on ill, pay and vote"
    assert first.toml().count("# one more [[require]]") == 3
    again = policy_changes._add_diversity(first.policy, {**model, "t": 0.2}, ["ill", "pay", "vote"])
    assert again.words == "t-closeness t = 0.2 instead of 0.4 on ill, pay and vote"
    assert len(again.policy.require) == len(first.policy.require)


def test_no_value_can_be_rare_where_the_table_has_it_in_half_of_the_rows():
    proposed = [change.words for change in changes_that_may_help(sh.Policy(**POLICY), Troubles(FOUND), columns(2))]
    assert "add distinct-l-diversity l = 2 on ill" in proposed
    assert not any("alpha-k" in words for words in proposed)


def test_columns_that_tell_more_than_their_role_says_get_another_one():
    attributes = {**POLICY["attributes"], "pay": "sensitive", "shop": "insensitive"}
    policy = sh.Policy(**{**POLICY, "attributes": attributes})
    rule = {"antecedent": ["age = *", "shop = s1"], "attribute": "pay"}
    found = Finding("rules", Channel.RULES, 2, 60, "told", {"rules": [rule], "channels": 1}, columns=("pay",))
    proposed = list(changes_that_may_help(policy, Troubles(Audit((found,), {}, {})), columns(4)))
    assert [change.words for change in proposed] == [
        'drop pay (role = "identifier")',  # no class shares an exact value: no promise about it helps
        'generalise shop (role = "quasi-identifier")',
        'drop shop (role = "identifier")',
    ]
    assert proposed[1].policy.quasi_identifiers == ["age", "shop"]
    asked = [*POLICY["require"], {"model": "k-map", "k": 2, "population": "everybody.csv"}]
    policy = sh.Policy(**{**POLICY, "attributes": attributes, "require": asked})
    proposed = [change.words for change in changes_that_may_help(policy, Troubles(Audit((found,), {}, {})), columns(4))]
    assert 'drop shop (role = "identifier")' in proposed
    assert not any("generalise" in words for words in proposed)  # the population may not tell of it


VISITS = {
    "attributes": {
        "birth date": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
        "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
        "zip": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}, "importance": 0.5},
        "insurer": {"role": "quasi-identifier", "hierarchy": {"flat": True}, "importance": 0.3},
        "ill": "sensitive",
    },
    "require": [{"model": "k-anonymity", "k": 3}],
    "method": {"algorithm": "mondrian"},
}


def test_the_least_important_columns_are_given_up_first():
    policy = sh.Policy(**VISITS)
    assert policy_changes.precious_columns(policy) == {"birth date", "sex"}
    proposed = list(changes_that_may_help(policy, Troubles(FOUND), columns(4)))
    assert [change.words for change in proposed][-3:] == [
        "importance = 0.1 on insurer and zip",
        'drop insurer (role = "identifier")',
        'drop zip (role = "identifier")',
    ]
    mute = Troubles(Audit((), {}, {}), starred=["birth date"], says_little=True)
    drops = [change for change in changes_that_may_help(policy, mute, columns(4)) if change.dropped]
    assert [(change.columns, change.drops_precious) for change in drops] == [
        (("insurer",), False),
        (("zip",), False),
        (("birth date",), True),
        (("sex",), True),
    ]
    assert round(drops[0].lost_share, 6) == round(0.3 / 2.8, 6)


def test_ages_are_precious_whatever_their_importance():
    attributes = {**VISITS["attributes"], "birth date": {**VISITS["attributes"]["birth date"], "importance": 0.1}}
    assert "birth date" in policy_changes.precious_columns(sh.Policy(**{**VISITS, "attributes": attributes}))
    plain = dict.fromkeys(("sex", "zip"), "quasi-identifier")
    assert policy_changes.precious_columns(sh.Policy(**{**VISITS, "attributes": plain})) == set()


def test_a_share_implies_several_values():
    asked = [*POLICY["require"], {"model": "alpha-k", "alpha": 0.49, "attribute": "ill"}]
    proposed = changes_that_may_help(sh.Policy(**{**POLICY, "require": asked}), Troubles(FOUND), columns(4))
    assert not any("distinct" in change.words for change in proposed)


def test_two_changes_in_either_order_are_one():
    policy = sh.Policy(**POLICY)
    close, diverse = {"model": "t-closeness", "t": 0.4}, {"model": "distinct-l-diversity", "l": 2}

    def both(one, other):
        first = policy_changes._add_diversity(policy, one, ["ill"])
        return policy_changes._add_diversity(first.policy, other, ["ill"]).after(first)

    assert both(close, diverse).words != both(diverse, close).words
    assert both(close, diverse).result == both(diverse, close).result
    assert both(close, {"model": "distinct-l-diversity", "l": 3}).result != both(close, diverse).result


def test_what_a_change_leaves_without_meaning_is_not_said_of_the_policy(recwarn):
    """Dropping a column drops what is promised about it: whoever wrote that promise has not dropped anything."""
    attributes = {**POLICY["attributes"], "pay": {"role": "sensitive", "round": 10}, "shop": "insensitive"}
    require = [*POLICY["require"], {"model": "distinct-l-diversity", "l": 2, "attribute": "pay"}]
    policy = sh.Policy(attributes=attributes, require=require)
    told = replace(FOUND, findings=(replace(FOUND.findings[0], columns=("pay",)),))
    proposed = list(changes_that_may_help(policy, Troubles(told), columns(4)))
    assert any("pay" not in {getattr(m, "attribute", None) for m in each.policy.require} for each in proposed)
    assert not recwarn.list


def test_more_changes_are_proposed_to_who_waits_for_them():
    attributes = {**POLICY["attributes"], "shop": {"role": "quasi-identifier", "importance": 0.5}}
    policy = sh.Policy(**{**POLICY, "attributes": attributes})
    singled_out = Audit((Finding("singling-out", Channel.SINGLING_OUT, 2, 60, "found"),), {}, {})
    usual, more = (
        [change.words for change in changes_that_may_help(policy, Troubles(singled_out), columns(4), more=each)]
        for each in (False, True)
    )
    assert more[: len(usual)] == usual
    assert more[len(usual) :] == [
        "importance = 0.1 on shop",
        'drop shop (role = "identifier")',
        "k = 9 instead of 3",
    ]
