"""What the oracle says of promises about the whole table, about a population, and about suppressed rows that stay."""

from fractions import Fraction

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.hierarchy.taxonomy import Taxonomy, compile_taxonomy
from shoal.metrics.catalogue import METRICS
from shoal.models.closeness import TCloseness
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import EntropyLDiversity
from shoal.models.model import Closure
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.reidentification import AverageRisk, PopulationUniqueness, SampleUniqueness
from shoal.recoding.outcome import Before
from shoal.search.driver import drive_search
from shoal.search.optimal import optimal
from shoal.search.oracle import Oracle

LEAVES = list("abcd")
LEVELS = [["ab", "ab", "cd", "cd"], ["*"] * 4]
NODES = [(0,), (1,), (2,)]


def counted(letters, known):
    return np.array([known.index(letter) for letter in letters], np.int32), len(known)


def oracle(values, ills, models, *, limit=0, show=False, everybody=None, split=False):
    """One attribute of four values, two pairs of them above, and `*` on top; `everybody` is a population."""
    known = sorted(set(ills))
    classes = FrequencySet.count({"p": counted(values, LEAVES)}, {"ill": counted(ills, known)})
    hierarchy = compile_taxonomy(encode("p", pa.array(LEAVES)), Taxonomy(LEAVES, LEVELS, str))
    population = None if everybody is None else FrequencySet.count({"p": counted(everybody, LEAVES)})
    before = Before(classes, (hierarchy,), population=population)
    reading = CountInterpretation({"ill": known}, split=split)
    return Oracle(before, models, limit, METRICS["loss"].on(before), reading, show)


def complying(asked):
    """Levels that comply; a full answer says the same."""
    found = [node for node in NODES if asked.complies(node)]
    assert found == [node for node in NODES if asked.ask(node).ok]
    return [level for (level,) in found]


def close(t):
    return TCloseness(t, "equal", "ill", "release")


def test_a_promise_about_the_whole_table_prunes_nothing():
    asked = oracle("aabb", "uuvv", [close(0.2)])
    assert complying(asked) == [1, 2]
    assert asked.open_parts == [close(0.2)]
    said = asked.ask((0,))
    assert (said.ok, said.score, said.suppressed, said.classes) == (False, np.inf, 0, 2)
    assert said.below is not None
    assert complying(oracle("aabb", "uuvv", [close(1), close(0.2)])) == [1, 2]


def test_the_whole_table_is_what_is_kept():
    """The one of class c has what nobody else has, and is suppressed; k = 2."""
    assert complying(oracle("aabbc", "uvuvw", [KAnonymity(2), close(0)], limit=1)) == [0, 1, 2]
    assert complying(oracle("aabbc", "uvuvw", [close(0)], limit=1)) == [2]
    assert complying(oracle("aabbc", "uvuvw", [KAnonymity(2), close(0)])) == [2]


@pytest.mark.parametrize(("t", "levels"), [(0.33, [2]), (0.34, [0, 1, 2])])
def test_suppressed_rows_that_stay_are_a_class_of_the_whole_table(t, levels):
    """Two of six have flu in c and d, four in all: the class of stars is 1 - 4/6 away."""
    models = [KAnonymity(2), close(t)]
    assert complying(oracle("aabbcd", "uvuvuu", models, limit=2, show=True)) == levels
    assert 0 in complying(oracle("aabbcd", "uvuvuu", models, limit=2))


def test_suppressed_rows_that_stay_keep_every_promise():
    """One row is too few for k = 2, though not for k = 1; two are enough."""
    assert complying(oracle("aabbc", "uuuuu", [KAnonymity(1), KAnonymity(2)], limit=2, show=True)) == [2]
    assert complying(oracle("aabbcd", "uuuuuu", [KAnonymity(2)], limit=2, show=True)) == [0, 1, 2]


@pytest.mark.parametrize(("k", "levels"), [(3, [0, 1, 2]), (4, [1, 2]), (8, [2]), (9, [])])
def test_classes_of_the_population(k, levels):
    """Four of everybody are a, three b and one c."""
    asked = oracle("aab", "uuu", [KMap(k, "all.csv")], everybody="aaaabbbc")
    assert complying(asked) == levels
    found = asked.counts((0,), asked.apply((0,)).classes)
    assert (found.population.tolist(), found.strangers) == ([4, 3], 1)


def test_classes_of_the_population_that_show_nobody():
    """Nobody of c is in the table: no level below the top complies, which is known where nothing is suppressed."""
    some = DeltaPresence("all.csv", min=0.1, suppressed_counts=True)
    asked = oracle("aab", "uuu", [some], everybody="aabc")
    assert complying(asked) == [2]
    assert (asked.ask((1,)).below, asked.ask((1,)).above) == (None, -np.inf)
    lenient = oracle("aab", "uuu", [some], everybody="aabc", limit=1)
    assert complying(lenient) == [2]
    assert lenient.ask((1,)).below is None, "whoever is dropped leaves a class of the population that shows nobody"
    plain = oracle("aab", "uuu", [DeltaPresence("all.csv", min=0.1)], everybody="aabc", limit=1)
    assert complying(plain) == [2]
    assert plain.ask((1,)).below is None  # whom the table never had is missing at every finer node, too


def test_a_suppressed_class_is_no_class_of_share_0_unless_asked():
    """Both of c are in the table, more than one in two; they are left out where two rows may be."""

    def levels(**options):
        some = DeltaPresence("all.csv", min=0.1, max=0.5, **options)
        return complying(oracle("aacc", "uuuu", [some], everybody="aaaacc", limit=2))

    assert levels() == [0, 1]
    assert levels(suppressed_counts=True) == []


def test_rows_that_fail_an_open_part_are_kept_by_finer_nodes():
    """A class of four is too large, and were it left out, nobody would be shown; two classes of two are not."""
    models = [naive.MaximumSize(2), DeltaPresence("all.csv", min=0.1)]
    asked = oracle("aabb", "uuuu", models, everybody="aaaabbbb")
    assert asked.ask((1,)).below is not None
    assert complying(asked) == [0]


@pytest.mark.parametrize(("most", "levels"), [(0.6, [2]), (0.7, [0, 2])])
def test_people_whom_no_other_class_shows_may_be_behind_the_stars(most, levels):
    """b and c stay as stars: of the three who are not a, two are in the table."""
    models = [KAnonymity(2), DeltaPresence("all.csv", min=0.1, max=most, suppressed_counts=True)]
    assert complying(oracle("aabc", "uuuu", models, limit=2, show=True, everybody="aaaabcd")) == levels
    assert complying(oracle("aabc", "uuuu", models, limit=2, everybody="aaaabcd")) == [2]


def test_stars_of_suppressed_rows_are_the_top_of_an_attribute():
    asked = oracle("aabb", "uuvv", [KAnonymity(2)])
    assert [asked._star_groups((level,)) for level in range(4)] == [{"p": -1}, {"p": -1}, {"p": 0}, {"p": 0}]


def test_shares_of_persons_who_are_in_several_classes_are_not_closed():
    """S2.8: numbers of persons only grow, shares of them need not stay small."""
    entropy, k = EntropyLDiversity(2, "ill"), KAnonymity(2)
    for split, closed in ((False, Closure.UNION), (True, Closure.NOT)):
        asked = oracle("aabb", "uvuv", [k, entropy], split=split)
        assert (asked.merging(entropy), asked.merging(k)) == (closed, Closure.SUPERSET)
        assert asked.closed is not split
        assert asked.open_parts == ([entropy] if split else [])


# promises about sizes suppress the smallest classes


def test_the_smallest_classes_are_suppressed_until_a_promise_about_the_table_holds():
    """Of a, a, a, b, c and d three rows are alone; without two of them one of four is, without three nobody."""

    def suppressed(most, limit):
        said = oracle("aaabcd", "uuuuuu", [SampleUniqueness(most)], limit=limit).ask((0,))
        return said.suppressed if said.ok else None

    assert [suppressed(most, 3) for most in (0.5, 0.4, 0.25, 0.2, 0)] == [0, 1, 2, 3, 3]
    assert [suppressed(0, limit) for limit in (0, 2, 3, 6)] == [None, None, 3, 3]
    risk = oracle("aaabcd", "uuuuuu", [AverageRisk(0.34)], limit=3).ask((0,))
    assert (risk.ok, risk.suppressed, risk.classes) == (True, 3, 1)


def test_what_is_suppressed_for_the_table_is_explained():
    models = [KAnonymity(2), AverageRisk(0.4)]
    asked = oracle("aaaabbc", "u" * 7, models, limit=3)
    after = asked.apply((0,))
    assert after.suppressed_rows == 1
    assert {name: after.count_rows(flags) for name, flags in asked.explain(after).items()} == {
        "k-anonymity": 1,
        "average-risk": 0,
    }
    stricter = oracle("aaaabbc", "u" * 7, [KAnonymity(2), AverageRisk(0.25)], limit=3)
    after = stricter.apply((0,))
    assert {name: after.count_rows(flags) for name, flags in stricter.explain(after).items()} == {
        "k-anonymity": 1,
        "average-risk": 2,
    }


def test_rows_shown_as_stars_are_counted_as_one_class():
    """Three of six are alone: one of them as a class of stars would still be, two are not."""
    asked = oracle("aaabcd", "uuuuuu", [SampleUniqueness(0.2)], limit=3, show=True)
    assert (asked.ask((0,)).ok, asked.ask((0,)).suppressed) == (True, 2)
    assert asked.open_parts == [SampleUniqueness(0.2)]


def test_population_uniqueness_suppresses_by_a_heuristic():
    one = PopulationUniqueness(0.001, 100, "zayatz")
    assert [oracle("aaaabbbccd", "u" * 10, [one], limit=limit).ask((0,)).ok for limit in (0, 1)] == [False, True]


ABOUT_SIZES = st.tuples(
    st.lists(
        st.sampled_from([AverageRisk(0.25), AverageRisk(0.4), AverageRisk(0.6), SampleUniqueness(0)])
        | st.sampled_from([SampleUniqueness(0.1), SampleUniqueness(0.3)]),
        min_size=1,
        max_size=2,
    ),
    st.just([]) | naive.EVERY_CLOSURE,
).map(lambda both: [*both[1], *(naive.Promise(model, lambda _: True) for model in both[0])])


def keeps_sizes(models, sizes):
    """The definitions: classes / rows, and rows that are alone / rows, exactly."""
    shares = {"average-risk": len(sizes), "sample-uniqueness": sizes.count(1)}
    return all(shares[m.name] <= Fraction(str(m.max)) * sum(sizes) for m in models if m.name in shares)


@naive.examples(150, fewest=25)
@given(naive.instances(None, ABOUT_SIZES))
def test_nodes_suppress_as_brute_force_over_classes_does(instance):
    """Fewest rows at every node, least loss among them, and the search finds the best of all nodes."""
    asked, found = instance.oracle("loss"), {}
    for node in instance.nodes():
        least = naive.suppress_fewest(instance, node, lambda sizes: keeps_sizes(instance.models, sizes))
        said = asked.ask(node)
        assert said.ok == (least is not None)
        assert asked.complies(node) == said.ok
        if least is not None:
            assert said.suppressed == len(least.suppressed)
            assert said.score == pytest.approx(naive.value("loss", instance, least), abs=1e-12)
            found[node] = least
    best = min(found.values(), key=lambda each: naive.EXACT["loss"](instance, each), default=None)
    before, scorer = instance.before(), asked.scorer
    ended = drive_search(optimal(instance.lattice(), scorer.floors, before.left_out), instance.oracle("loss"))
    assert ended.proved
    assert (ended.best is None) == (best is None)
    if best is not None:
        assert ended.best.score == pytest.approx(naive.value("loss", instance, best), abs=1e-12)
    if asked.closed:  # what a complying node suppresses is enough at every coarser one
        for node, least in found.items():
            for above in instance.nodes():
                if all(a <= b for a, b in zip(node, above, strict=True)):
                    assert len(found[above].suppressed) <= len(least.suppressed)
