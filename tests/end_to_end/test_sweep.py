"""One parameter, value by value: `shoal sweep` and `sh.sweep`."""

import csv
import dataclasses
import json

import pytest
import small_census
import tomli_w

import shoal as sh

PEOPLE = small_census.table(300, seed=4)


@pytest.fixture
def census(desk):
    rows = ["age,$town,ill", *(f"{r['age']},{r['$town']},{r['ill']}" for r in PEOPLE.to_pylist())]
    desk.table("\n".join(rows) + "\n")
    (desk.folder / "census.toml").write_text(tomli_w.dumps(small_census.policy(suppression=0.05)))
    return desk


def where(census, *more):
    return ("sweep", census.data, "--policy", census.folder / "census.toml", *map(str, more))


def test_each_value_is_what_anonymize_finds():
    found = sh.sweep(PEOPLE, small_census.policy(suppression=0.02), k=range(2, 12))
    assert (found.parameter, found.metric, found.algorithm, found.rows) == ("k", "loss", "optimal", 300)
    assert [run.value for run in found.runs] == list(range(2, 12))
    for run in found.runs:
        told = sh.anonymize(PEOPLE, small_census.policy(run.value, suppression=0.02)).summary
        assert run.feasible
        assert (run.suppressed, run.classes) == (told.rows.suppressed, told.classes.count)
        assert run.loss == told.metrics["loss"]
        assert run.average_class == told.metrics["average-class"]
    losses = [run.loss for run in found.runs]
    assert losses == sorted(losses), "a larger k never costs less where the least loss is proved"
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.parameter = "l"


@pytest.mark.parametrize(
    ("given", "values", "kept"),
    [
        ({"suppression": [0, 0.05]}, (0, 0.05), lambda value: small_census.policy(suppression=value)),
        ({"over": "suppression=0..0.1:0.05"}, (0, 0.05, 0.1), lambda value: small_census.policy(suppression=value)),
        ({"over": "k-anonymity.k=3,6"}, (3, 6), small_census.policy),
        ({"time_limit": [5, 10.5]}, (5, 10.5), lambda value: small_census.policy(**{"time-limit": value})),
    ],
)
def test_any_parameter(given, values, kept):
    found = sh.sweep(PEOPLE, small_census.policy(), **given)
    assert tuple(run.value for run in found.runs) == values
    assert [run.loss for run in found.runs] == [sh.anonymize(PEOPLE, kept(v)).summary.metrics["loss"] for v in values]


def test_a_sweep_over_a_key_of_a_column_or_a_section():
    levels = sh.sweep(PEOPLE, small_census.policy(suppression=1.0), over="attributes.age.max-level=0..2")
    assert len({run.suppressed for run in levels.runs}) > 1
    shown = sh.sweep(PEOPLE, small_census.policy(suppression=0.1), over="release.suppressed=drop,show")
    assert [run.value for run in shown.runs] == ["drop", "show"]


def test_algorithms_are_compared_as_by_compare():
    names = ["optimal", "mondrian", "local", "cell-suppression"]
    policy = small_census.policy(suppression=0.02)
    runs = sh.sweep(PEOPLE, policy, algorithm=names).runs
    assert {run.value: run.metrics for run in runs} == {
        run.algorithm: run.metrics for run in sh.compare(PEOPLE, policy, algorithms=names).runs
    }


def test_an_infeasible_run_says_why():
    found = sh.sweep(PEOPLE, small_census.policy(), k=[2, 301])
    assert [run.feasible for run in found.runs] == [True, False]
    assert "300 records < k=301" in found.runs[1].why
    assert (found.runs[1].loss, found.runs[1].classes, found.runs[1].seconds) == (None, None, None)
    assert found.to_dict()["runs"][1] == {"value": 301, "feasible": False, "why": found.runs[1].why, "metrics": {}}
    with pytest.raises(sh.Infeasible):
        sh.sweep(PEOPLE, small_census.policy(), k=[301, 302])


def test_a_parameter_that_the_algorithm_does_not_read_is_noted():
    with pytest.warns(sh.ShoalWarning, match=r"method\.suppression is ignored"):
        found = sh.sweep(PEOPLE, small_census.policy(algorithm="local"), suppression=[0, 0.1])
    assert found.runs[0].metrics == found.runs[1].metrics


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "name one parameter"),
        ({"k": [2], "suppression": [0]}, "one parameter at a time"),
        ({"kk": [2]}, r"'kk' is no parameter of this policy .*; known: k, generalise"),
        ({"l": [2]}, "'l' is no parameter of this policy"),
        ({"supression": [0]}, "did you mean 'suppression'"),
        ({"k": []}, "at least one value of k"),
        ({"algorithm": ["optimal", "lokal"]}, "did you mean 'local'"),
        ({"over": "k"}, "write the parameter and its values"),
        ({"over": "k=2,,3"}, "a value is missing"),
        ({"over": "k=0..0.2"}, "give a step"),
        ({"over": "k=5..2"}, "these are no values"),
        ({"over": "k=2..9:0"}, "these are no values"),
        ({"over": "k=1..5000"}, "these are 5000 values"),
        ({"over": "attributes.agee.max-level=1"}, "is no parameter"),
    ],
)
def test_what_is_no_sweep_is_refused_before_the_work(given, says):
    with pytest.raises(sh.BadInput, match=says):
        sh.sweep("there-is-no-such.csv", small_census.policy(), **given)


def test_a_bad_value_is_refused_where_it_stands():
    found = sh.sweep(PEOPLE, small_census.policy(), over="k=-1,3")
    assert [run.feasible for run in found.runs] == [False, True]
    with pytest.raises(sh.BadPolicy):
        sh.sweep(PEOPLE, small_census.policy(), over="k=much")


def test_the_plot_shows_the_feasible_runs():
    found = sh.sweep(PEOPLE, small_census.policy(), k=[2, 40, 301])
    line = found.plot().containers[0].lines[0]
    assert line.get_xdata().tolist() == [2, 40]
    assert line.get_ydata().tolist() == [run.loss for run in found.runs[:2]]
    named = sh.sweep(PEOPLE, small_census.policy(), algorithm=["optimal", "local"]).plot("average-class")
    assert [text.get_text() for text in named.get_xticklabels()] == ["optimal", "local"]
    with pytest.raises(sh.BadInput, match=r"no 'los'.*'loss'"):
        found.plot("los")


def test_the_command(census):
    ran = census.run(*where(census, "--k", "2..6"))
    assert (ran.code, ran.err) == (0, "")
    for word in ("loss against k", "300 rows", "average class", "suppressed", "seconds"):
        assert word in ran.out
    assert "why not" not in ran.out
    failing = census.run(*where(census, "--over", "k=2,301"))
    assert failing.code == 0
    assert "why not" in failing.out
    document = json.loads(census.run(*where(census, "--k", "2..6", "--json", "--reproducible")).out)
    assert document == sh.sweep(PEOPLE, small_census.policy(suppression=0.05), k=range(2, 7)).without_times().to_dict()


def test_sweep_writes_a_plot_and_a_csv(census):
    plot, lines = census.folder / "k.svg", census.folder / "k.csv"
    ran = census.run(*where(census, "--k", "2..4,301", "--plot", plot, "--csv", lines))
    assert ran.code == 0
    assert f"Wrote {plot}" in ran.err.replace("\n", "")
    assert plot.read_bytes().startswith(b"<?xml")
    rows = list(csv.DictReader(lines.read_text().splitlines()))
    assert [row["k"] for row in rows] == ["2", "3", "4", "301"]
    assert [row["feasible"] for row in rows] == ["true", "true", "true", "false"]
    assert float(rows[0]["loss"]) > 0
    assert rows[3]["loss"] == ""
    census.refused(2, *where(census, "--k", "2..4", "--plot", plot), says="--force")
    census.refused(2, *where(census, "--k", "2..4", "--plot", census.folder / "k.txt"), says=".svg")
    census.refused(2, *where(census, "--k", "2..4", "--csv", census.data, "--force"), says="table")


def test_bad_usage(census):
    census.refused(2, *where(census), says="name one parameter")
    census.refused(2, *where(census, "--k", "2", "--over", "k=3"), says="one parameter at a time")
    census.refused(3, *where(census, "--k", "301"), says="300 records")
