"""What classifiers learn from releases: by tables of which the answer is known."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from real_tables import DATA

import shoal as sh
from shoal.explore import learn as learning
from shoal.mining import features as encoding
from shoal.mining.learners import LEARNERS

ALL = list(LEARNERS)
MANY = 240


def qi(**more):
    return {"role": "quasi-identifier", **more}


def people(n=MANY, seed=0):
    """Who is ill depends on the job alone; age and sex tell nothing."""
    random = np.random.default_rng(seed)
    job = random.choice(["cook", "nurse", "smith"], n)
    return pa.table(
        {
            "age": random.integers(20, 70, n),
            "job": job,
            "sex": random.choice(["f", "m"], n),
            "ill": np.where(job == "nurse", "yes", "no"),
        }
    )


def policy(k=3, *, job=None, method=None, **more):
    return {
        "attributes": {
            "age": qi(hierarchy={"intervals": [10, 20]}),
            "job": qi(hierarchy={"tree": {"*": ["cook", "nurse", "smith"]}}, **(job or {})),
            "sex": qi(hierarchy={"flat": True}),
            "ill": "sensitive",
        },
        "require": [{"model": "k-anonymity", "k": k}],
        "method": method or {},
        **more,
    }


def means(learned):
    return {score.learner: (score.original.mean, score.release.mean) for score in learned.scores}


def test_what_is_kept_can_be_learned_and_what_is_hidden_cannot():
    kept = sh.learn(people(), policy(job={"max-level": 0}), target="ill", folds=3)
    assert means(kept) == dict.fromkeys(ALL, (1.0, 1.0))
    assert [score.relative for score in kept.scores] == [1.0] * len(ALL)
    hidden = sh.learn(people(), policy(job={"min-level": 1}), target="ill", learners=["logistic"])
    assert hidden.scores[0].original.mean == 1.0
    # nothing but noise is left: about the majority, and for a learner that sees nothing just that
    assert abs(hidden.scores[0].release.mean - hidden.majority.mean) < 0.05
    alone = sh.learn(people(), policy(job={"min-level": 1}), target="ill", features="job", folds=3)
    for score in alone.scores:
        assert (score.release, score.relative) == (alone.majority, 0.0)


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("algorithm", "how"),
    [("datafly", "levels"), ("mondrian", "boxes"), ("mondrian-relaxed", "boxes"), ("local", "values")],
)
def test_every_recoding_can_be_learned_from(algorithm, how):
    learned = sh.learn(people(), policy(method={"algorithm": algorithm}), target="ill", learners="forest")
    assert learned.how == how
    assert learned.scores[0].original.mean == 1.0
    assert learned.majority.mean < learned.scores[0].release.mean <= 1.0


def test_numbers_shown_as_means_and_bounds():
    table = people().set_column(3, "ill", pa.array(np.where(np.asarray(people()["age"]) < 45, "no", "yes")))
    for method, form in (
        ("mondrian", ["bounds", "mean"]),
        ("mondrian", "mean"),
        ("mondrian", "bounds"),
        ("microaggregation", "mean"),
    ):
        rules = {
            "attributes": {"age": qi(form=form), "job": "insensitive", "sex": "insensitive", "ill": "sensitive"},
            "require": [{"model": "k-anonymity", "k": 5}],
            "method": {"algorithm": method},
            "release": {"means": "any"},
        }
        learned = sh.learn(table, rules, target="ill", learners="logistic", folds=3)
        assert learned.scores[0].original.mean > 0.95
        assert learned.scores[0].release.mean > 0.9, (method, form)


def test_anatomy_shows_the_values():
    table = people().append_column("ward", pa.array(["a", "b", "c", "d"] * (MANY // 4)))
    rules = {**policy(method={"algorithm": "anatomy"}), "require": [{"model": "distinct-l-diversity", "l": 2}]}
    rules["attributes"] |= {"ward": "sensitive", "ill": "insensitive"}
    learned = sh.learn(table, rules, target="ill", learners="logistic")
    assert (means(learned), learned.how) == ({"logistic": (1.0, 1.0)}, "values")
    with pytest.raises(sh.BadInput, match="anatomy shows 'ward' in a table of its own"):
        sh.learn(table, rules, target="ward", learners="logistic")


def test_the_given_features_are_learned_from():
    """Without the job nothing is known; with what is released beside it, everything."""
    table = people().append_column("ward", pa.array(np.where(np.asarray(people()["ill"]) == "yes", "a", "b")))
    rules = policy()
    rules["attributes"]["ward"] = "insensitive"
    learned = sh.learn(table, rules, target="ill", learners="logistic", features=["ward", "age"])
    assert learned.features == ("ward", "age")
    assert means(learned) == {"logistic": (1.0, 1.0)}


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_scores():
    def learned(seed, **how):
        return sh.learn(
            people(), policy(job={"min-level": 1}), target="ill", learners="forest", seed=seed, folds=2, **how
        )

    assert learned(3) == learned(3)
    assert learned(3) != learned(4)
    assert learned(3, rows=40) == learned(3, rows=40)
    assert learned(3, rows=40).scores != learned(3).scores
    assert learned(3, rows=10**6).scores == learned(3).scores


def test_a_sparse_table_gives_the_same_scores(monkeypatch):
    dense = sh.learn(people(), policy(job={"min-level": 1}), target="ill", folds=2)
    monkeypatch.setattr(encoding, "_MOST_CELLS", 0)
    sparse = sh.learn(people(), policy(job={"min-level": 1}), target="ill", folds=2)
    assert (sparse.majority, sparse.scores[2]) == (dense.majority, dense.scores[2])
    for one, other in zip(sparse.scores, dense.scores, strict=True):
        assert (one.original.mean, one.release.mean) == pytest.approx(
            (other.original.mean, other.release.mean), abs=0.03
        )


def test_the_original_is_the_same_whatever_makes_the_release():
    names = ["optimal", "datafly", "mondrian", "local"]
    found = sh.compare(people(), policy(), algorithms=names, target="ill", learners="logistic")
    assert [run.figures["accuracy logistic, original"] for run in found.runs] == [1.0] * 4
    for run in found.runs:
        own = sh.learn(people(), policy(method={"algorithm": run.algorithm}), target="ill", learners="logistic")
        assert own.figures.items() <= run.figures.items()


# nothing leaks


def spied(monkeypatch):
    """What each fold was made from, and what was made of it."""
    seen = []
    real = learning.make_plan

    def spy(source, *more):
        plan = real(source, *more)
        seen.append((source.table, plan))
        return plan

    monkeypatch.setattr(learning, "make_plan", spy)
    return seen


def decisions(plan):
    recoding = plan.recoding
    if plan.search is not None:
        return dict(recoding.levels), recoding.suppressed.tolist()
    shown = {name: released.texts.to_pylist() for each in recoding.shown.values() for name, released in each.items()}
    return recoding.part.tolist(), shown


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "mondrian", "local"])
def test_held_out_rows_have_no_say(monkeypatch, algorithm):
    """Rows of a fold are poisoned: its own recoding stays, that of the others, which train on them, does not."""
    random = np.random.default_rng(1)
    columns = {"age": random.integers(20, 26, 120), "sex": random.choice(["f", "m"], 120), "ill": ["yes", "no"] * 60}
    rules = policy(k=4, method={"algorithm": algorithm, **({"suppression": 0.1} if algorithm == "optimal" else {})})
    del rules["attributes"]["job"]
    seen = spied(monkeypatch)
    sh.learn(pa.table(columns), rules, target="ill", learners="logistic", folds=4)
    before = list(seen)
    fold = learning.PredictionTask.fold.func  # the folds depend on the target and the seed only
    seen.clear()
    made = []
    monkeypatch.setattr(learning.PredictionTask, "cross_validate", lambda self, *_: made.append(fold(self)))
    sh.learn(pa.table(columns), rules, target="ill", learners="logistic", folds=4)
    monkeypatch.undo()
    poisoned = {name: np.array(values) for name, values in columns.items()}
    poisoned["age"][made[0] == 2], poisoned["sex"][made[0] == 2] = 25, "f"
    assert set(poisoned["age"][made[0] != 2]) == set(columns["age"])
    seen = spied(monkeypatch)
    sh.learn(pa.table(poisoned), rules, target="ill", learners="logistic", folds=4)
    same = [decisions(one[1]) == decisions(two[1]) for one, two in zip(before, seen, strict=True)]
    assert same[2]
    assert not all(same)
    for at, (table, _) in enumerate(before):
        assert table.rows == (made[0] != at).sum()
        assert table["age"].codes.tolist() == (columns["age"][made[0] != at] - 20).tolist()


def test_a_hierarchy_is_drafted_once_from_all_rows(monkeypatch):
    rules = policy()
    rules["attributes"]["age"] = "quasi-identifier"
    seen = spied(monkeypatch)
    sh.learn(people(), rules, target="ill", learners="logistic")
    assert len({plan.builders["age"] for _, plan in seen}) == 1
    assert len({tuple(plan.hierarchies["age"].labels) for _, plan in seen}) == 1


def test_rows_of_one_person_stay_together(monkeypatch):
    rules = policy()
    rules["attributes"]["who"] = "unit"
    table = people().append_column("who", pa.array([f"p{i // 3}" for i in range(MANY)]))
    seen = spied(monkeypatch)
    with pytest.warns(sh.ShoalWarning):
        sh.learn(table, rules, target="ill", learners="logistic")
    for trained, _ in seen:
        assert set(np.bincount(trained["who"].codes).tolist()) == {0, 3}


def test_notes_are_said_once():
    with pytest.warns(sh.ShoalWarning, match="k = 1 gives no protection") as said:
        sh.learn(people(), policy(k=1), target="ill", learners="logistic")
    ours = [each for each in said if issubclass(each.category, sh.ShoalWarning)]
    assert len(ours) == 1
    assert ours[0].filename == __file__


def test_suppressed_rows_are_left_out():
    """One smith among many is suppressed, wherever he is trained on."""
    jobs = ["cook", "nurse"] * 40 + ["smith"]
    table = pa.table({"job": jobs, "ill": ["no", "yes"] * 40 + ["no"]})
    rules = {
        "attributes": {"job": qi(hierarchy={"flat": True}, **{"max-level": 0}), "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"suppression": 0.1},
    }
    learned = sh.learn(table, rules, target="ill", learners="logistic", folds=3)
    assert learned.suppressed == 2


def test_rows_without_the_target_teach_nothing():
    table = people().set_column(3, "ill", pa.array([None, *people()["ill"].to_pylist()[1:]]))
    assert sh.learn(table, policy(), target="ill", learners="logistic").rows == MANY - 1


# what is refused


def test_a_fold_that_cannot_keep_the_policy():
    """Ten rows of one class are enough for k = 10, eight of them are not."""
    table = pa.table({"age": [30] * 10, "job": ["cook"] * 10, "sex": ["f"] * 10, "ill": ["no", "yes"] * 5})
    sh.anonymize(table, policy(k=10))
    with pytest.raises(sh.Infeasible, match="training rows of fold 1 of 5 cannot keep the policy: impossible: k-anon"):
        sh.learn(table, policy(k=10), target="ill")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"target": "job"}, "target 'job' is a quasi-identifier"),
        ({"target": "nothing"}, "no column 'nothing'"),
        ({"target": "name"}, "'name' is not released: its role is identifier"),
        ({"target": "id"}, "has 240 different value"),
        ({"target": "same"}, "has 1 different value"),
        ({"features": ["ill"]}, "among the features"),
        ({"features": []}, "at least one feature"),
        ({"features": "name"}, "'name' is not released"),
        ({"learners": []}, "name at least one learner; known: logistic, forest, boosting, c45"),
        ({"learners": "logistics"}, r"not known \(did you mean 'logistic'\?\)"),
        ({"folds": 1}, "folds = 1"),
        ({"rows": 0}, "rows = 0"),
    ],
)
def test_refusals(how, says):
    table = people().append_column("name", pa.array(map(str, range(MANY)))).append_column("same", pa.array([1] * MANY))
    table = table.append_column("id", pa.array(range(MANY)))
    rules = policy()
    rules["attributes"] |= {"name": "identifier", "same": "insensitive", "id": {"role": "insensitive", "confirm": True}}
    with pytest.raises(sh.BadInput, match=says):
        sh.learn(table, rules, **{"target": "ill", "learners": "logistic", **how})


def test_learning_without_scikit_learn_says_what_to_install(monkeypatch, desk):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    where = (desk.data, "--policy", desk.folder / "policy.toml")
    for command in (("learn", *where, "--target", "disease"), ("compare", *where, "--learn", "disease")):
        said = desk.refused(2, *command, says="learning needs scikit-learn")
        assert said.endswith("pip install shoal[learn]\n")


# the command line


def test_the_learn_command_with_and_without_json(desk):
    where = ("learn", desk.data, "--policy", desk.policy(require=[{"model": "k-anonymity", "k": 2}]))
    how = ("--target", "disease", "--folds", 2, "--learners", "logistic,forest")
    shown = desk.run(*where, *how)
    assert shown.code == 0, shown.err
    assert "Accuracy for disease: 12 rows, 2 folds" in shown.out
    assert "Held-out rows are shown at the levels found on the training rows." in shown.err
    ran = desk.run(*where, *how, "--json")
    found = json.loads(ran.out)
    assert (found["target"], found["rows"], found["folds"], found["seed"]) == ("disease", 12, 2, 0)
    assert [each["learner"] for each in found["learners"]] == ["logistic", "forest"]
    assert found["held_out"] == {"shown": "levels", "outside": 0}
    assert set(found["learners"][0]["release"]) == {"mean", "deviation"}
    assert ran.out == desk.run(*where, *how, "--json").out


@pytest.mark.thorough
def test_learning_in_a_process_of_its_own(desk, process):
    desk.policy(require=[{"model": "k-anonymity", "k": 2}])
    where = ("learn", desk.data, "--policy", desk.folder / "policy.toml", "--target", "disease", "--folds", "2")
    ended = process(*where, "--learners", "boosting", "--json")
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 0, err
    assert [each["learner"] for each in json.loads(out)["learners"]] == ["boosting"]


def test_compare_side_by_side(desk):
    where = ("compare", desk.data, "--policy", desk.policy(require=[{"model": "k-anonymity", "k": 2}]))
    how = ("--algorithms", "optimal,mondrian,local", "--learn", "disease", "--learners", "logistic")
    shown = desk.run(*where, *how)
    assert shown.code == 0, shown.err
    assert "accuracy logistic" in shown.out
    found = json.loads(desk.run(*where, *how, "--json").out)
    names = {"accuracy logistic", "accuracy logistic, original", "accuracy majority"}
    assert all(names <= set(run["figures"]) for run in found["algorithms"])
    plain = json.loads(desk.run(*where, "--json").out)
    assert not any(names & set(run["figures"]) for run in plain["algorithms"] if run["ran"])
    desk.refused(2, *where, "--learners", "logistic", says="say what with --learn")


def test_compare_goes_on_where_nothing_can_be_learned(desk):
    """All rows keep k = 10, the training rows alone do not."""
    where = ("compare", desk.data, "--policy", desk.policy(require=[{"model": "k-anonymity", "k": 10}]))
    ran = desk.run(*where, "--algorithms", "optimal", "--learn", "disease", "--json")
    assert ran.code == 0
    assert "note: optimal: the training rows of fold 1 of 5 cannot keep the policy" in ran.err
    assert not any("accuracy" in name for name in json.loads(ran.out)["algorithms"][0]["figures"])


# a real table


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "adult").is_dir(), reason="adult is not beside the repository")
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "local"])
def test_adult(algorithm):
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    files = DATA / "adult" / "hierarchies"
    attributes = {name: qi(hierarchy={"csv": str(files / f"adult_hierarchy_{name}.csv")}) for name in names}
    rules = {
        "attributes": {**attributes, "salary-class": "insensitive"},
        "require": [{"model": "k-anonymity", "k": 5}],
        "method": {"algorithm": algorithm, **({"suppression": 0.05} if algorithm == "optimal" else {})},
    }
    learned = sh.learn(DATA / "adult" / "adult.csv", rules, target="salary-class", folds=3, rows=10_000)
    assert learned.majority.mean == pytest.approx(0.7511, abs=0.0005)
    for score in learned.scores:
        assert 0.80 < score.original.mean < 0.87
        assert learned.majority.mean < score.release.mean < score.original.mean + 0.01
