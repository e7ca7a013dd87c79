"""The transformer for scikit-learn: its promises, and scikit-learn's own checks of estimators."""

import pickle
from zlib import crc32

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import shoal as sh
from shoal.sklearn import Anonymizer

TEXT = "it compares numbers, and labels are text: run below with labels that are numbered"
NOT_FOR_TEXT = dict.fromkeys(
    [
        "check_estimators_pickle",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_pipeline_consistency",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
    ],
    TEXT,
)


class NumberedLabels(Anonymizer):
    """The same transformer, each label as a number, so that scikit-learn can compare them."""

    def transform(self, X):  # noqa: N803
        return numbered(super().transform(X))

    def fit_transform(self, X, y=None):  # noqa: N803
        return numbered(super().fit_transform(X, y))


def numbered(shown):
    return np.array([[float(crc32(str(label).encode())) for label in row] for row in shown])


@parametrize_with_checks([Anonymizer(k=2)], expected_failed_checks=lambda _: NOT_FOR_TEXT)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.some(12)
@parametrize_with_checks([NumberedLabels(k=2)])
def test_checks_of_scikit_learn_that_compare_numbers(estimator, check):
    check(estimator)


def people(rows=240, seed=0):
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, rows)
    return pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(rows)],
            "age": age,
            "town": random.choice(["a", "b", "c"], rows),
            "ill": np.where(age + random.normal(0, 10, rows) > 50, "yes", "no"),
        }
    )


def policy(**method):
    return {
        "attributes": {
            "name": "identifier",
            "age": {"role": "quasi-identifier", "hierarchy": [5, 10, 20]},
            "town": "quasi-identifier",
            "ill": "sensitive",
        },
        "require": [{"model": "k-anonymity", "k": 5}],
        "method": method,
    }


@pytest.mark.parametrize("method", [{"suppression": 0.1}, {"algorithm": "mondrian"}], ids=["levels", "boxes"])
@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, lambda rows: pa.table(dict(rows))], ids=["pd", "pl", "pa"]
)
def test_what_is_shown_of_new_rows_was_shown_of_training_rows(kind, method):
    train, test = kind(people()), kind(people(seed=1))
    learner = Anonymizer(policy=policy(**method))
    released = learner.fit_transform(train)
    assert type(released) is type(train)
    shown = learner.transform(test)
    assert type(shown) is type(test)
    first, second = (pa.table(frame).select(["age", "town"]).to_pylist() for frame in (released, shown))
    assert len(second) == 240  # no row is left out
    classes = {tuple(row.values()) for row in first}
    assert {tuple(row.values()) for row in second} <= classes | {("*", "*")}
    kept = [tuple(row.values()) for row in first if row["age"] != "*"]
    assert min(kept.count(each) for each in set(kept)) >= 5
    assert pa.table(learner.fit(train).transform(train)).equals(pa.table(released))
    assert list(learner.get_feature_names_out()) == ["age", "town", "ill"]
    assert pa.table(shown)["ill"].to_pylist() == people(seed=1)["ill"].tolist()


def test_a_row_of_no_class_is_shown_as_stars():
    train = pd.DataFrame({"age": [21, 22, 23, 41, 42, 43], "town": ["x"] * 3 + ["y"] * 3})
    learner = Anonymizer(k=3, hierarchies={"age": [10]}).fit(train)
    shown = learner.transform(
        pd.DataFrame({"age": [25, 25, 77, 45], "town": ["x", "y", "x", "unseen"]}, index=[9, 8, 7, 9])
    )
    assert shown["age"].tolist() == ["[20, 30)", "*", "*", "*"]
    assert shown["town"].tolist() == ["x", "*", "*", "*"]
    assert shown.index.tolist() == [9, 8, 7, 9]


def test_what_was_learned_holds_no_row():
    train = people().assign(town=["CANARY"] + ["a"] * 239)
    learner = Anonymizer(policy=policy(suppression=0.1)).fit(train)
    assert "*" in learner.transform(train)["town"].tolist()  # the lone one is suppressed
    kept = pickle.dumps(learner)
    assert b"CANARY" not in kept
    assert b"n17" not in kept
    assert "CANARY" not in repr(learner)


def test_the_anonymizer_works_in_a_pipeline_with_a_grid_search():
    features, y = people().drop(columns=["name", "ill"]), people()["ill"]
    train, test, y_train, y_test = train_test_split(features, y, random_state=0)
    steps = make_pipeline(Anonymizer(k=5), OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    grid = GridSearchCV(steps, {"anonymizer__k": [3, 10]}, cv=2).fit(train, y_train)
    assert grid.score(test, y_test) > 0.6
    assert clone(steps).get_params()["anonymizer__k"] == 5


def test_set_output():
    cells = people()[["age", "town"]].to_numpy(dtype=object)
    learner = Anonymizer(k=5).set_output(transform="pandas")
    shown = learner.fit_transform(cells)
    assert shown.columns.tolist() == ["x0", "x1"]
    assert learner.get_feature_names_out(["age", "town"]).tolist() == ["age", "town"]
    assert learner.set_output(transform="polars").transform(cells).columns == ["x0", "x1"]


def test_roles_by_parameters():
    frame = people().drop(columns="name")
    shown = Anonymizer("age", sensitive="ill", insensitive=["town"], k=4).fit_transform(frame)
    assert shown["town"].tolist() == frame["town"].tolist()
    with pytest.raises(sh.BadPolicy, match="'town' have no role"):
        Anonymizer("age", "ill", k=4).fit(frame)


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        (Anonymizer(k=500), "n_samples = 240, and k = 500 needs at least 500 rows"),
        (Anonymizer(policy=policy(algorithm="local")), "levels or boxes"),
    ],
)
def test_bad_parameters_are_refused(learner, why):
    with pytest.raises(sh.BadInput, match=why):
        learner.fit(people() if learner.policy else people()[["age", "town"]])


def test_names_that_are_not_those_of_the_training_rows_are_refused():
    learner = Anonymizer(k=5).fit(people()[["age", "town"]])
    with pytest.raises(ValueError, match="feature_names_in_"):
        learner.get_feature_names_out(["a", "b"])
    with pytest.raises(ValueError, match="length"):
        learner.get_feature_names_out(["age"])
