"""The algorithm that a policy names, run; or refused with an advice that works."""

from dataclasses import replace
from math import inf
from typing import get_args

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BadPolicy, Infeasible
from shoal.methods import searches
from shoal.metrics.catalogue import METRICS
from shoal.policy.method import Method, Preference
from shoal.search import walks as finding
from shoal.search.walks import find

CLOSED = ["samarati", "incognito", "hybrid"]


def found_by(instance, algorithm, metric="loss", **options):
    stop = options.pop("stop", lambda: False)
    watch = options.pop("watch", lambda *_: None)
    oracle = instance.oracle(metric)
    return find(Method(algorithm=algorithm, metric=metric, **options), instance.lattice(), oracle, watch, stop)


def people(promises, limit, *, show=False):
    """Six rows, one column of two levels: two classes of two and one of two below, one of six above."""
    values, levels = list("aabbcc"), [{"a": "x", "b": "x", "c": "y"}, dict.fromkeys("abc", "*")]
    return naive.Instance(
        {"p": naive.Attribute(list("abc"), levels, values, 0, 2, None)}, list("uuuvvw"), promises, limit, show
    )


# refusals (design 1 and 2): what relies on closure is refused with the reason, and the advice works


REFUSED = {
    "alpha-k once rows may be suppressed": people([naive.alpha_k(0.5, 2)], 2),
    "a model that promises nothing": people([naive.maximum_size(4), naive.k_anonymity(2)], 0),
    "suppressed rows that are shown": people([naive.k_anonymity(2)], 2, show=True),
}
SAYS = {
    "alpha-k once rows may be suppressed": "which alpha-k does not promise once rows may be suppressed",
    "a model that promises nothing": "which maximum-size does not promise;",
    "suppressed rows that are shown": "which suppressed rows that are shown as a class do not promise",
}
ADVICE = {
    "alpha-k once rows may be suppressed": ("suppression = 0", lambda instance: replace(instance, limit=0)),
    "suppressed rows that are shown": ("suppressed = 'drop'", lambda instance: replace(instance, show=False)),
}
"""Besides algorithm = 'optimal'."""


@pytest.mark.parametrize("algorithm", CLOSED)
@pytest.mark.parametrize("why", REFUSED)
def test_an_open_policy_is_refused(algorithm, why):
    """S2.4, S2.5, S2.8: they discard nodes unseen."""
    with pytest.raises(BadPolicy) as caught:
        found_by(REFUSED[why], algorithm)
    said = str(caught.value)
    assert said.startswith(f"method.algorithm: {algorithm!r} relies on it")
    assert SAYS[why] in said
    assert "use algorithm = 'optimal'" in said
    best = found_by(REFUSED[why], "optimal").best
    assert REFUSED[why].outcomes[best.node].ok
    for other, (advice, _) in ADVICE.items():
        assert (advice in said) == (other == why), "no advice that does not help"
    if why in ADVICE:
        advised = ADVICE[why][1](REFUSED[why])
        assert advised.complying
        assert found_by(advised, algorithm).best.node in advised.complying


def test_an_open_policy_can_hold_at_the_bottom_and_fail_at_the_top():
    """(a,k) holds at the bottom, where two rows are suppressed, and fails at the top, where they join the others."""
    instance = replace(REFUSED["alpha-k once rows may be suppressed"], sensitive=list("uvuvuu"))
    assert instance.outcomes[0,].ok
    assert not instance.outcomes[2,].ok
    assert not upward_closed(instance)


def upward_closed(instance):
    return all(
        instance.outcomes[above].ok
        for node in instance.complying
        for above in instance.outcomes
        if all(a <= b for a, b in zip(node, above, strict=True))
    )


@naive.examples(300)
@given(naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans()), st.sampled_from(CLOSED))
def test_refused_exactly_where_the_policy_is_open(instance, algorithm):
    """UNION is enough where nothing may be suppressed; and what is accepted is right."""
    union = any(model.name in {"alpha-k", "entropy-l-diversity"} for model in instance.models)
    nothing = any(isinstance(model, naive.MaximumSize) for model in instance.models)
    refused = nothing or (instance.limit > 0 and (union or instance.show))
    try:
        found = found_by(instance, algorithm)
    except BadPolicy:
        assert refused
        assert found_by(instance, "optimal").proved
        return
    assert not refused
    assert upward_closed(instance)
    assert set(found.nodes) <= set(instance.complying)
    assert bool(found.nodes) == bool(instance.complying) == (found.best is not None)


def test_a_lattice_too_large_to_list_is_refused(monkeypatch):
    """Bad input 26; what the advice says works."""
    monkeypatch.setattr(finding, "LARGEST_LISTED", 2)
    instance = people([naive.k_anonymity(2)], 0)
    for algorithm in CLOSED:
        with pytest.raises(BadPolicy, match=r"3 nodes, more than the 2 .* 'optimal', .* min-level and max-level"):
            found_by(instance, algorithm)
        narrower = {"p": replace(instance.attributes["p"], low=1)}
        assert found_by(replace(instance, attributes=narrower), algorithm).best.node == (1,)
    for algorithm in ("optimal", "datafly", "greedy"):
        assert found_by(instance, algorithm).best.node == (0,)


# what is found


@naive.examples(200)
@given(st.sampled_from(naive.SHARES).flatmap(naive.closed_instances), st.data())
def test_the_released_node_is_chosen_by_preference_metric_height_and_name(instance, data):
    """S2.5: of the set that the algorithm returns, by preference, then by metric, then the lower, then by name."""
    algorithm = data.draw(st.sampled_from(CLOSED))
    preference = data.draw(st.sampled_from(get_args(Preference)))
    metric = data.draw(st.sampled_from(sorted(METRICS)))
    found = found_by(instance, algorithm, metric, preference=preference)
    heights = [max(instance.attributes[name].height, 1) for name in instance.names]
    keys = {
        "metric": lambda _: 0,
        "minimum-absolute-distance": lambda outcome: sum(outcome.node),
        "minimum-relative-distance": lambda outcome: sum(
            naive.Fraction(*pair) for pair in zip(outcome.node, heights, strict=True)
        ),
        "maximum-distribution": lambda outcome: -len(outcome.kept),
        "minimum-suppression": lambda outcome: len(outcome.suppressed),
    }

    def key(node):
        outcome = instance.outcomes[node]
        return keys[preference](outcome), naive.EXACT[metric](instance, outcome), sum(node), node

    assert (found.best and found.best.node) == min(found.nodes, key=key, default=None)
    if algorithm == "incognito" and preference == "metric":
        best = naive.best(metric, instance)
        assert found.proved, "of all complying nodes the best is the optimum"
        assert (found.best and found.best.node) == (best and best.node)


@naive.examples(200)
@given(naive.instances(promises=naive.EVERY_CLOSURE, show=st.booleans()), st.sampled_from(searches()))
def test_bounds_and_claims_of_infeasibility_are_true(instance, algorithm):
    """A bound is never above the optimum; that nothing complies is said only where nothing does."""
    try:
        found = found_by(instance, algorithm)
    except BadPolicy:
        return
    best = naive.best("loss", instance)
    optimum = inf if best is None else naive.value("loss", instance, best)
    assert found.bound <= optimum + 1e-12
    if found.best is None:
        assert found.proved == (found.bound == inf)
    else:
        assert instance.outcomes[found.best.node].ok


def test_a_walk_up_a_policy_that_is_not_closed_proves_nothing():
    """Only the middle node complies: classes of 2 are too small, one of 6 is too large."""
    instance = people([naive.maximum_size(3)], 0)
    assert instance.complying == [(0,)]
    small = replace(instance, promises=[naive.k_anonymity(7), naive.maximum_size(7)])
    for algorithm in ("datafly", "greedy"):
        assert not found_by(small, algorithm).proved
        assert found_by(replace(small, promises=[naive.k_anonymity(7)]), algorithm).proved


def test_the_size_of_the_lattice_is_counted():
    for algorithm in searches():
        seen = []
        found_by(
            people([naive.k_anonymity(2)], 0), algorithm, watch=lambda _, tally, seen=seen: seen.append(tally.nodes)
        )
        assert set(seen) == {3}, algorithm


# stopping


@pytest.mark.parametrize("algorithm", ["datafly", "greedy", *CLOSED])
def test_a_walk_that_is_stopped_has_nothing(algorithm):
    instance = people([naive.k_anonymity(3)], 0)
    instance = replace(instance, attributes=dict.fromkeys("pq", instance.attributes["p"]))
    with pytest.raises(Infeasible) as caught:
        found_by(instance, algorithm, stop=naive.stop_after(0))
    assert str(caught.value) == (
        f"{algorithm} was stopped before its end and has no node to release; allow more time, or use "
        "algorithm = 'optimal', which ends with the best node so far"
    )
    assert found_by(instance, "optimal", stop=naive.stop_after(0)).best is not None, "the advice works"


@naive.examples(100)
@given(naive.instances(promises=naive.EVERY_CLOSURE), st.integers(0, 8))
def test_optimal_stopped_keeps_the_best(instance, calls):
    met = []
    found = found_by(
        instance, "optimal", stop=naive.stop_after(calls), watch=lambda question, _: met.append(question.node)
    )
    complying = [node for node in met if instance.outcomes[node].ok]
    if not complying:
        assert found.best is None
        return

    def key(node):
        return naive.EXACT["loss"](instance, instance.outcomes[node]), sum(node), node

    assert found.best.node == min(complying, key=key)


@pytest.mark.parametrize("algorithm", searches())
def test_a_watch_sees_the_walk_and_the_choice(algorithm):
    seen = []
    found = found_by(people([naive.k_anonymity(3)], 0), algorithm, watch=lambda question, _: seen.append(question))
    assert found.best.node in {question.node for question in seen}
    assert all(0 <= question.settled <= 1 for question in seen)
