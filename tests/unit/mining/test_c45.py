"""C4.5: worked trees, the definitions on random tables, missing and unseen values, rules, scikit-learn's manners."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from naive import examples
from naive_c45 import Naive, entropy
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import estimator_checks

from shoal.data.codes import encode
from shoal.errors import BadInput
from shoal.mining.c45 import C45
from shoal.mining.decision_tree import Rule, Test
from shoal.mining.learners import LEARNERS

# the 14 days of Quinlan's golf
OUTLOOK = ["sunny"] * 2 + ["overcast"] + ["rainy"] * 3 + ["overcast"] + ["sunny"] * 2 + ["rainy", "sunny"]
OUTLOOK += ["overcast"] * 2 + ["rainy"]
TEMPERATURE = [85, 80, 83, 70, 68, 65, 64, 72, 69, 75, 75, 72, 81, 71]
HUMIDITY = [85, 90, 86, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 91]
WINDY = [False, True, False, False, False, True, True, False, False, False, True, True, False, True]
PLAY = ["no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes", "yes", "yes", "yes", "no"]
GOLF = {"outlook": OUTLOOK, "temperature": TEMPERATURE, "humidity": HUMIDITY, "windy": WINDY}


def nominal_golf():
    hot = ["hot" if t >= 80 else "mild" if t >= 70 else "cool" for t in TEMPERATURE]
    return {**GOLF, "temperature": hot, "humidity": ["high" if h > 80 else "normal" for h in HUMIDITY]}


def test_golf():  # S1.1: the tree that J48 is shown with
    learner = C45().fit(pa.table(GOLF), PLAY)
    assert str(learner.tree_).splitlines() == [
        "outlook = overcast: yes (4.0)",
        "outlook = rainy",
        "|   windy = false: yes (3.0)",
        "|   windy = true: no (2.0)",
        "outlook = sunny",
        "|   humidity <= 75: yes (2.0)",
        "|   humidity > 75: no (3.0)",
    ]
    assert (learner.n_nodes_, learner.n_leaves_) == (8, 5)
    assert learner.predict(pa.table(GOLF)).tolist() == PLAY


def test_nominal_golf():  # S1.1
    learner = C45().fit(pa.table(nominal_golf()), PLAY)
    assert learner.text().splitlines()[4:] == [
        "outlook = sunny",
        "|   humidity = high: no (3.0)",
        "|   humidity = normal: yes (2.0)",
    ]


def test_gain_ratio_of_golf():
    """Quinlan's numbers: outlook gains 0.247 bits, 0.156 for each that it tells."""
    naive = Naive([(OUTLOOK.index(o),) for o in OUTLOOK], [int(p == "yes") for p in PLAY], [14], 2)
    rows = [((o,), int(p == "yes"), 1.0) for o, p in zip(OUTLOOK, PLAY, strict=True)]
    gain, ratio, _ = naive.gain_and_ratio(rows, 0, lambda value: value)
    assert entropy([9, 5]) == pytest.approx(0.940, abs=5e-4)
    assert (gain, ratio) == (pytest.approx(0.247, abs=5e-4), pytest.approx(0.156, abs=5e-4))


def test_golf_without_one_outlook():  # S1.1: Quinlan's example of a missing value, 5/13 of a row and so on
    frame = pd.DataFrame(GOLF)
    frame.loc[11, "outlook"] = None
    learner = C45().fit(frame, PLAY)
    assert learner.text().splitlines() == [
        "outlook = overcast: yes (3.23)",
        "outlook = rainy",
        "|   windy = false: yes (3.0)",
        "|   windy = true: no (2.38/0.38)",
        "outlook = sunny",
        "|   humidity <= 75: yes (2.0)",
        "|   humidity > 75: no (3.38/0.38)",
    ]
    # a row of which nothing is known goes all ways, by their weight
    nothing = pd.DataFrame({"outlook": [None], "temperature": [None], "humidity": [None], "windy": [None]})
    (shares,) = learner.predict_proba(nothing)
    counts = learner.tree_.counts[0]
    assert shares == pytest.approx(counts / counts.sum())


def test_unseen_value_is_missing():  # S1.1
    learner = C45().fit(pa.table(GOLF), PLAY)
    day = {"outlook": ["foggy", None], "temperature": [70, 70], "humidity": [70, 70], "windy": [True, True]}
    one, other = learner.predict_proba(pa.table(day))
    assert (
        one.tolist() == other.tolist() == pytest.approx([5 / 14, 9 / 14], abs=1e-12)
    )  # 5 of 14 rain, and none is played


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 40))
    classes = draw(st.integers(1, 4))
    columns, sizes = [], []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.sampled_from([0, 0, 2, 3, 12]))
        values = st.integers(0, (size or 12) - 1)
        gaps = draw(st.sampled_from([0, 0, 1, 4]))
        columns.append(
            draw(
                st.lists(
                    st.sampled_from([None] * gaps + [...] * 8).flatmap(
                        lambda hole, values=values: st.none() if hole is None else values
                    ),
                    min_size=rows,
                    max_size=rows,
                )
            )
        )
        sizes.append(size)
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows))
    return columns, sizes, labels, classes


@given(tables())
@examples(300)
@example(([[0, 0, 1, 1, 2, 2, None]], [3], [0, 0, 1, 1, 0, 1, 1], 2))
def test_the_compiled_tree_is_that_of_the_definitions(drawn):  # S1.1
    """The compiled tree is the one that the definitions make."""
    columns, sizes, labels, classes = drawn
    naive = Naive(list(zip(*columns, strict=True)), labels, sizes, classes).flat()
    assert built(columns, sizes, labels, classes) == naive


def built(columns, sizes, labels, classes):
    """Every value and class is known to the coding, whether a row has it or not."""
    coded = {}
    for at, (values, size) in enumerate(zip(columns, sizes, strict=True)):
        given = pa.array([None if v is None else v if not size else f"v{v:02}" for v in values])
        every = pa.array(range(12)) if not size else pa.array([f"v{v:02}" for v in range(size)])
        coded[f"x{at}"] = some(encode(f"x{at}", pa.concat_arrays([given.cast(every.type), every])), len(values))
    target = pa.array([f"k{c}" for c in [*labels, *range(classes)]])
    learner = C45().fit_codes(coded, some(encode("class", target), len(labels)))
    out = []
    for node in learner.tree_.nodes():
        if node.attribute is None:
            out.append((len(node.path), node.label, round(node.rows, 4), round(node.correct, 4)))
            continue
        a = int(node.attribute[1:])
        cut = learner.tree_.cut[node.number]
        out.append((len(node.path), (a, None if sizes[a] else learner.tree_.attributes[a].shown[cut])))
    return out


def some(column, rows):
    return replace(column, codes=column.codes[:rows].copy())


# rules


TABLE_1 = {
    "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "age": ["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4,
    "nationality": ["*"] * 12,
}
CONDITION = ["Heart", "Heart", "Viral", "Viral", "Cancer", "Heart", "Viral", "Viral"] + ["Cancer"] * 4


def test_sensitive_rule_of_table_1():  # S1.2
    learner = C45().fit(pa.table(TABLE_1), CONDITION)
    (rule,) = [rule for rule in learner.rules() if rule.confidence == 1]
    assert (rule.antecedent, rule.consequent) == ((Test("age", "=", "3*"),), "Cancer")
    assert (rule.support, rule.correct, rule.prior) == (4, 4, 5 / 12)
    assert rule.lift == pytest.approx(12 / 5)


def test_rules_and_their_rows():  # S1.2
    frame = pa.table(GOLF)
    columns = {name: encode(name, frame[name]) for name in frame.column_names}
    learner = C45().fit_codes(columns, encode("play", pa.array(PLAY)))
    rules = learner.rules()
    assert len({rule.comparison_key for rule in rules}) == len(rules) == 5
    assert sum(rule.support for rule in rules) == 14
    leaves = learner.leaf_of(columns)
    assert [int((leaves == at).sum()) for at in range(5)] == [rule.support for rule in rules]
    for rule, leaf in zip(rules, range(5), strict=True):
        held = [PLAY[row] for row in np.flatnonzero(leaves == leaf)]
        assert held.count(rule.consequent) == rule.correct
    assert rules[3].antecedent == (Test("outlook", "=", "sunny"), Test("humidity", "<=", 75))
    assert rules[3].comparison_key == Rule(rules[3].antecedent[::-1], "yes", 1, 1, 1).comparison_key


def test_leaf_of_rows_with_missing_values():  # S1.1
    learner = C45().fit(pa.table(GOLF), PLAY)
    day = {"outlook": [None, "sunny"], "temperature": [70, None], "humidity": [70, None], "windy": [True, None]}
    assert learner.leaf_of(pa.table(day)).tolist() == [2, 4]  # rainy is the first of the two heaviest


def test_empty_branches():  # S1.1
    """A value that no row of a node has is a leaf of the class above; no rule speaks of it."""
    rows = [("a", "x", 0)] * 9 + [("b", "x", 0)] * 4 + [("b", "y", 1)] * 4 + [("b", "z", 2)] * 4
    one, other, target = (list(column) for column in zip(*rows, strict=True))
    learner = C45().fit_codes(*unused(one, other, target))
    assert "other = w: 0 (0.0)" in learner.text()
    assert len(learner.rules()) == learner.n_leaves_ - 1
    asked = pa.table({"one": ["b"], "other": ["w"]})
    assert learner.leaf_of(asked).tolist() == [-1]
    assert learner.predict_proba(asked).tolist() == [[13 / 21, 4 / 21, 4 / 21]]


def unused(one, other, target):
    """Coded columns, one of which knows a value that no row has."""
    columns = {"one": encode("one", pa.array(one)), "other": some(encode("other", pa.array([*other, "w"])), len(one))}
    return columns, encode("class", pa.array(target))


# what may come in


def test_same_tree_of_every_frame():
    frames = [pa.table(GOLF), pd.DataFrame(GOLF, index=range(5, 19)), pl.DataFrame(GOLF)]
    frames.append(frames[0].to_batches()[0])
    assert len({C45().fit(frame, PLAY).text() for frame in frames}) == 1
    for y in (pd.Series(PLAY), pl.Series(PLAY), pa.array(PLAY), pa.chunked_array([PLAY]), np.array(PLAY)):
        assert C45().fit(frames[0], y).text() == C45().fit(frames[0], PLAY).text()


def test_matrix():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(200, 3))
    matrix[::7, 1] = np.nan
    y = (matrix[:, 0] > 0.3).astype(int)
    learner = C45().fit(matrix, y)
    assert learner.rules()[0].antecedent[0].attribute == "x0"
    assert learner.score(matrix, y) == 1
    assert learner.predict(matrix.tolist()).tolist() == y.tolist()


def test_odd_columns():
    numbered = C45().fit(pd.DataFrame({0: [1, 2, 3, 4], 1: ["a", "b", "a", "b"]}), [1.5, 1.5, 2.5, 2.5])
    assert [str(rule) for rule in numbered.rules()] == ["0 <= 2 => 1.5 (2.0)", "0 > 2 => 2.5 (2.0)"]
    # beyond 2**53 different whole numbers are the same float
    large = C45().fit(pa.table({"x": [2**60, 2**60 + 1, 2**60 + 2, 5, 6, 7]}), [0, 0, 0, 1, 1, 1])
    assert large.text().splitlines() == ["x <= 7: 1 (3.0)", "x > 7: 0 (3.0)"]
    with pytest.raises(BadInput, match="same name"):
        C45().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]), [0])
    with pytest.raises(BadInput, match="not plain"):
        C45().fit(pd.DataFrame({"a": [[1], "x"]}), [0, 1])


def test_rows_without_a_class_are_not_learned_from():  # S1.1
    learner = C45().fit(pa.table({"x": ["a", "b"] * 6}), ["k", "l"] * 5 + [None, None])
    assert learner.tree_.counts[0].tolist() == [5, 5]


def test_dates_are_ordered():
    days = pa.array([f"2026-01-{day:02}" for day in range(1, 11)])
    learner = C45().fit(pa.table({"day": days}), [0] * 5 + [1] * 5)
    assert learner.rules()[0].antecedent == (Test("day", "<=", "2026-01-05"),)
    assert learner.predict(pa.table({"day": ["2025-12-31", "2027-01-01"]})).tolist() == [0, 1]


def test_labels_as_midpoints():
    ages = ["[20, 30)"] * 3 + ["3*"] * 3 + ["≥40"] * 3 + ["*"]
    ill = [0] * 6 + [1] * 3 + [0]
    nominal, numeric = (C45(numeric=names).fit(pa.table({"age": ages}), ill) for names in ((), ("age",)))
    assert nominal.rules()[0].antecedent[0].operator == "="
    assert numeric.rules()[0].antecedent == (Test("age", "<=", 34.5),)
    assert numeric.predict(pa.table({"age": ["[31, 33)", "44"]})).tolist() == [0, 1]
    with pytest.raises(BadInput, match="cannot be read as a number"):
        C45(numeric=["age"]).fit(pa.table({"age": ["young", "old"]}), [0, 1])


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows(rows):
    learner = C45().fit(pa.table({"x": list(range(rows)), "y": ["a"] * rows}), ["k"] * rows)
    assert learner.text() == f": k ({rows}.0)"
    assert learner.rules() == (Rule((), "k", rows, rows, 1.0),)
    assert learner.predict_proba(
        pa.table({"x": [None], "y": ["b"]}).cast(pa.schema([("x", pa.int64()), ("y", pa.string())]))
    ).tolist() == [[1]]


@pytest.mark.parametrize(
    ("how", "frame", "y", "says"),
    [
        ({}, {"x": []}, [], "no row with a class"),
        ({}, {"x": [1, 2]}, [None, None], "no row with a class"),
        ({}, {"x": [1, 2]}, [1], "2 rows and 1 classes"),
        ({}, {"x": [1, 2]}, None, "requires y"),
        ({}, {}, [], "no column|no row"),
        ({"confidence": 0}, {"x": [1, 2]}, [0, 1], "above 0 and at most 0.5"),
        ({"confidence": 0.6}, {"x": [1, 2]}, [0, 1], "above 0 and at most 0.5"),
        ({"minimum": 0}, {"x": [1, 2]}, [0, 1], "at least 1"),
        ({"numeric": ["z"]}, {"x": [1, 2]}, [0, 1], "'z'"),
        ({}, {"x": [1, 2]}, [[1], [2, 3]], "not plain"),
    ],
)
def test_bad_input(how, frame, y, says):
    with pytest.raises(BadInput, match=says):
        C45(**how).fit(pa.table(frame), y)


def test_bad_questions():
    learner = C45().fit(pa.table(GOLF), PLAY)
    with pytest.raises(BadInput, match="call fit first"):
        C45().predict(pa.table(GOLF))
    with pytest.raises(BadInput, match="X has 1 features, but C45 is expecting 4"):
        learner.predict(pa.table({"outlook": ["sunny"]}))
    with pytest.raises(BadInput, match="'windy' of the training rows is not there"):
        learner.predict(pa.table({**GOLF, "calm": WINDY}).drop_columns(["windy"]))
    with pytest.raises(BadInput, match="'humidity' was numeric"):
        learner.predict(pa.table({**GOLF, "humidity": ["high"] * 14}))
    with pytest.raises(BadInput, match="give a frame"):
        C45().fit(np.array([["a", "b"]]), ["k"])
    with pytest.raises(BadInput, match="infinity"):
        C45().fit([[float("inf")]], ["k"])
    with pytest.raises(BadInput, match="no parameter 'depth'"):
        C45().set_params(depth=3)


# scikit-learn's manners


def test_cross_validation():  # S1.1
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 400), "sex": rng.choice(["f", "m"], 400)})
    y = np.where((frame["age"] > 50) & (frame["sex"] == "f"), "ill", "well")
    learner = C45(minimum=3)
    assert is_classifier(learner)
    assert clone(learner).get_params() == {"confidence": 0.25, "minimum": 3, "numeric": ()}
    assert cross_val_score(learner, frame, y, cv=5).mean() > 0.98
    assert cross_val_score(learner, frame, y, cv=3, scoring="roc_auc").mean() > 0.98
    search = GridSearchCV(learner, {"confidence": [0.1, 0.25]}, cv=3).fit(frame, y)
    assert search.best_estimator_.n_leaves_ == 3


CHECKS = ["classifiers_classes", "classifiers_one_label", "dict_unchanged", "estimators_pickle", "fit2d_1feature"]
CHECKS += ["fit_idempotent", "get_params_invariance", "methods_sample_order_invariance", "methods_subset_invariance"]
CHECKS += ["no_attributes_set_in_init", "parameters_default_constructible", "set_params", "estimators_overwrite_params"]


@pytest.mark.parametrize("name", CHECKS)
def test_estimator_check(name):
    getattr(estimator_checks, f"check_{name}")("C45", C45())


def test_a_pickled_learner_is_the_same():
    learner = C45().fit(pa.table(GOLF), PLAY)
    again = pickle.loads(pickle.dumps(learner))
    assert again.text() == learner.text() == C45().fit(pa.table(GOLF), PLAY).text()
    assert hash(learner.rules()) == hash(again.rules())


def test_is_one_of_the_learners():
    rng = np.random.default_rng(2)
    features = rng.random((100, 2))
    classes = (features[:, 0] > 0.5).astype(np.int32)
    learner = LEARNERS["c45"].make(0)
    learner.fit(features, classes)
    assert (learner.predict(features) == classes).all()
