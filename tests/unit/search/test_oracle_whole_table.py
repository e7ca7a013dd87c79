"""What the oracle says of promises about the whole table, about a population, and about suppressed rows that stay."""

import naive
import numpy as np
import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Reading
from shoal.hierarchy.taxonomy import Taxonomy, compile_taxonomy
from shoal.metrics.catalogue import METRICS
from shoal.models.closeness import TCloseness
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import EntropyLDiversity
from shoal.models.model import Closure
from shoal.models.presence import DeltaPresence, KMap
from shoal.recoding.outcome import Before
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
    reading = Reading({"ill": known}, split=split)
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
    some = DeltaPresence("all.csv", min=0.1)
    asked = oracle("aab", "uuu", [some], everybody="aabc")
    assert complying(asked) == [2]
    assert (asked.ask((1,)).below, asked.ask((1,)).above) == (None, -np.inf)
    lenient = oracle("aab", "uuu", [some], everybody="aabc", limit=1)
    assert complying(lenient) == [2]
    assert lenient.ask((1,)).below is not None


def test_rows_that_fail_an_open_part_are_kept_by_finer_nodes():
    """A class of four is too large, and were it left out, nobody would be shown; two classes of two are not."""
    models = [naive.MaximumSize(2), DeltaPresence("all.csv", min=0.1)]
    asked = oracle("aabb", "uuuu", models, everybody="aaaabbbb")
    assert asked.ask((1,)).below is not None
    assert complying(asked) == [0]


@pytest.mark.parametrize(("most", "levels"), [(0.6, [2]), (0.7, [0, 2])])
def test_people_whom_no_other_class_shows_may_be_behind_the_stars(most, levels):
    """b and c stay as stars: of the three who are not a, two are in the table."""
    models = [KAnonymity(2), DeltaPresence("all.csv", min=0.1, max=most)]
    assert complying(oracle("aabc", "uuuu", models, limit=2, show=True, everybody="aaaabcd")) == levels
    assert complying(oracle("aabc", "uuuu", models, limit=2, everybody="aaaabcd")) == [2]


def test_stars_of_suppressed_rows_are_the_top_of_an_attribute():
    asked = oracle("aabb", "uuvv", [KAnonymity(2)])
    assert [asked._stars((level,)) for level in range(4)] == [{"p": -1}, {"p": -1}, {"p": 0}, {"p": 0}]


def test_shares_of_persons_who_are_in_several_classes_are_not_closed():
    """S2.8: numbers of persons only grow, shares of them need not stay small."""
    entropy, k = EntropyLDiversity(2, "ill"), KAnonymity(2)
    for split, closed in ((False, Closure.UNION), (True, Closure.NOT)):
        asked = oracle("aabb", "uvuv", [k, entropy], split=split)
        assert (asked.merging(entropy), asked.merging(k)) == (closed, Closure.SUPERSET)
        assert asked.closed is not split
        assert asked.open_parts == ([entropy] if split else [])
