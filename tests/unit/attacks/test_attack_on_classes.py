"""Attacks on the classes of a release, by their definitions: homogeneity, background, skewness, similarity."""

from collections import Counter, defaultdict
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.attacks.background import Background
from shoal.attacks.homogeneity import Homogeneity
from shoal.attacks.release_under_attack import Published
from shoal.attacks.similarity import Similarity
from shoal.attacks.skewness import Skewness
from shoal.data.codes import Table, encode
from shoal.errors import BadInput
from shoal.hierarchy.inline_tree import Tree

ILL = {"lung": ["flu", "cold"], "blood": ["hiv", "lupus"]}


def published(rows, builders=None):
    """Rows of a class and one or more sensitive values."""
    names = ["class", *(f"ill{i}" if i else "ill" for i in range(len(rows[0]) - 1))]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    table = Table({name: encode(name, pa.array(list(values))) for name, values in columns.items()}, len(rows))
    return Published.of("the release", table, ["class"], names[1:], builders)


def held(rows, at=1):
    """The known values of each class."""
    classes = defaultdict(Counter)
    for row in rows:
        classes[row[0]].update([row[at]] if row[at] is not None else [])
    return classes


def size(rows, chosen):
    return sum(row[0] in chosen for row in rows)


# S0, Table 2
TABLE_2 = list(zip([*"aaaabbbbcccc"], ["BC", "M", "HD", "M", "HD", "M", "HD", "M", "HD", "BC", "M", "BC"], strict=True))
tables = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["flu", "cold", "hiv", "lupus", None])), min_size=1, max_size=25
)


def test_the_three_forms_of_se_side_by_side():
    """S0.3: n=12, k=4, K=3: 1/9. S0.4: shares 3, 5 and 4 of 12 and three classes of four. None is homogeneous."""
    found = Homogeneity().on(published(TABLE_2))
    assert found.figures["expected_uniform"] == pytest.approx(1 / 9)
    assert found.figures["expected"] == pytest.approx(float(3 * sum(Fraction(y, 12) ** 4 for y in (3, 5, 4))))
    assert (found.exposed, found.figures["homogeneous_classes"]) == (0, 0)


def test_records_under_attack_and_those_with_protected_values():
    """S3.7."""
    rows = [("a", "hiv"), ("a", "hiv"), ("b", "flu"), ("b", "flu"), ("b", None), ("c", "flu"), ("c", "hiv")]
    assert Homogeneity().on(published(rows)).exposed == 5
    found = Homogeneity(protected=["hiv"]).on(published(rows))
    assert found.exposed == 2
    assert found.sentence == "2 of 7 records lie in 1 of 3 classes that show one protected value of ill"
    with pytest.raises(BadInput, match="none of the protected values"):
        Homogeneity(protected=["measles"]).on(published(rows))


def test_several_attributes_and_all_of_them_together():
    rows = [("a", "flu", "x"), ("a", "flu", "y"), ("b", "flu", "x"), ("b", "hiv", "x"), ("c", "hiv", "y")]
    found = Homogeneity().on(published(rows))
    assert found.exposed == 5
    assert [found.figures["attributes"][name]["rows"] for name in ("ill", "ill1")] == [3, 3]
    assert found.figures["all_attributes_together"]["rows"] == 1
    # classes of 2, 2 and 1: shares of ill are 3/5 and 2/5, and so are those of ill1
    one, alone = Fraction(9, 25) + Fraction(4, 25), Fraction(1)
    some = 2 * (1 - (1 - one) ** 2) + alone
    assert found.figures["expected"] == found.figures["any_attribute"]["expected"] == pytest.approx(float(some))
    assert found.figures["expected_in_all"] == pytest.approx(float(2 * one**2 + alone))
    assert (found.figures["homogeneous_classes"], found.figures["homogeneous_in_all"]) == (3, 1)


def test_protected_values_have_their_own_expectation():
    """Two of four rows have hiv: a class of two shows it alone with a chance of 1/4, in each of two classes."""
    rows = [("a", "hiv"), ("a", "hiv"), ("b", "flu"), ("b", "flu")]
    found = Homogeneity(protected=["hiv"]).on(published(rows))
    assert (found.figures["homogeneous_classes"], found.figures["expected"]) == (1, 0.5)
    assert found.figures["expected_uniform"] == 0.5


@given(tables)
@examples(200)
def test_homogeneous_is_one_known_value(rows):
    one = {name for name, values in held(rows).items() if len(values) == 1}
    assert Homogeneity().on(published(rows)).exposed == size(rows, one)


@given(tables, st.integers(0, 4))
@examples(200)
def test_ruling_out_the_most_frequent_others(rows, most):
    """models.md §2: after excluding up to b known values; a class of l values falls at b = l - 1."""
    steps = Background(excluded=most).on(published(rows)).figures["steps"]
    for b, step in enumerate(steps):
        classes = held(rows)
        fallen = {name for name, values in classes.items() if 1 <= len(values) <= b + 1}
        assert step["records"] == size(rows, fallen)
        sure = []
        for values in classes.values():
            for value, count in values.items():
                others = sorted((n for other, n in values.items() if other != value), reverse=True)
                sure += [count / (count + sum(others[b:]))] * count
        assert step["mean_posterior"]["ill"] == pytest.approx(sum(sure) / len(sure) if sure else 0)


def test_every_excluded_value_exposes_more_records_than_homogeneity():
    rows = [("a", "flu"), ("a", "flu"), ("b", "flu"), ("b", "hiv"), ("c", "flu"), ("c", "hiv"), ("c", "cold")]
    found = Background(excluded=2).on(published(rows))
    assert [step["records"] for step in found.figures["steps"]] == [2, 4, 7]
    assert found.exposed == 7
    with pytest.raises(BadInput, match="excluded"):
        Background(excluded=-1)


def test_a_column_of_two_values_falls_in_any_release_to_who_rules_one_out():
    two = [("a", "alive"), ("a", "dead"), ("b", "alive"), ("b", "dead")]
    told = "4 of 4 records fall to an attacker who can rule out 1 other value of ill, 0 to one who knows nothing"
    trivial = "; ill has no more values, so in any release ruling out all but one tells it"
    assert Background().on(published(two)).sentence == told + trivial
    assert "in any release" not in Background().on(published([*two, ("a", "lost"), ("b", "lost")])).sentence


@given(tables, st.sampled_from([1, 1.5, 2, 3]), st.sampled_from([0, 0.3, 0.5, 1]))
@examples(200)
def test_gain_over_the_whole_release(rows, factor, threshold):
    """models.md §2: max gain q/p."""
    whole, classes = Counter(ill for _, ill in rows if ill is not None), held(rows)
    gains, skewed = [0], set()
    for name, values in classes.items():
        for value, count in values.items():
            q, p = Fraction(count, values.total()), Fraction(whole[value], whole.total())
            gains.append(q / p)
            if q / p >= Fraction(str(factor)) and q >= Fraction(str(threshold)):
                skewed.add(name)
    found = Skewness(factor, threshold).on(published(rows))
    assert found.exposed == size(rows, skewed)
    assert found.figures["largest_gain"] == pytest.approx(float(max(gains)))


@pytest.mark.parametrize("wrong", [{"factor": 0.5}, {"factor": float("nan")}, {"threshold": 2}, {"threshold": True}])
def test_skewness_refuses_bad_options(wrong):
    with pytest.raises(BadInput):
        Skewness(**wrong)


@given(tables)
@examples(100)
def test_similarity_exposes_classes_inside_one_node_of_the_hierarchy(rows):
    """models.md §2: share of E inside one hierarchy node; the top is what all have in common."""
    node = {leaf: name for name, leaves in ILL.items() for leaf in leaves}
    alike = {name for name, values in held(rows).items() if len({node[v] for v in values}) == 1}
    found = Similarity().on(published(rows, {"ill": Tree(ILL)})) if len({node[i] for _, i in rows if i}) > 1 else None
    assert found is None or found.exposed == size(rows, alike)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.sampled_from(["1", "1.5", "2", "4", "-3"])), min_size=1),
    st.sampled_from([0, 0.5, 1, 3]),
)
@examples(150)
def test_similarity_exposes_classes_inside_one_band_of_numbers(rows, width):
    """models.md §2: share of E inside a numeric interval, absolute or of the range of the release."""
    numbers = [Fraction(pay) for _, pay in rows if pay is not None]

    def within(widest):
        spreads = {name: [Fraction(v) for v in values] for name, values in held(rows).items()}
        return {name for name, all_ in spreads.items() if all_ and max(all_) - min(all_) <= widest}

    assert Similarity(width=width).on(published(rows)).exposed == size(rows, within(Fraction(str(width))))
    share = Fraction(str(width)) * (max(numbers) - min(numbers)) if numbers else 0
    assert Similarity(share=width).on(published(rows)).exposed == size(rows, within(share))


def test_similarity_needs_something_to_judge_by():
    with pytest.raises(BadInput, match="the width of a band"):
        Similarity().on(published(TABLE_2))
    with pytest.raises(BadInput, match="the width of a band"):
        Similarity(width=3).on(published(TABLE_2))
    with pytest.raises(BadInput, match="not both"):
        Similarity(width=3, share=0.1)
    with pytest.raises(BadInput, match="does not fit all values"):
        Similarity().on(published(TABLE_2, {"ill": Tree(ILL)}))


@pytest.mark.parametrize("how", [Homogeneity(), Background(), Skewness(), Similarity()])
def test_without_a_sensitive_attribute_there_is_nothing_to_learn(how):
    with pytest.raises(BadInput, match="--sensitive"):
        how.on(published([("a",), ("b",)]))
