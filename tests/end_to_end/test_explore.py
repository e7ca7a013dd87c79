"""Looking around without releasing: every node of a lattice, and several algorithms side by side."""

import csv
import dataclasses
import json
import shlex
from fractions import Fraction
from itertools import product
from math import isclose

import naive
import pyarrow as pa
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

import shoal as sh
from shoal import solve as planning
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.explore import lattice_table
from shoal.explore.lattice_table import LatticeTable, NodeRow, list_nodes
from shoal.hierarchy.lattice import Lattice
from shoal.methods import ALGORITHMS, algorithms_reading, searches
from shoal.metrics.catalogue import METRICS
from shoal.policy.document import Policy
from shoal.search.oracle import Oracle

SENSITIVE_METRICS = {name for name, metric in METRICS.items() if metric.of_sensitive}
RACE = {
    "Race": ["asian"] * 5 + ["black"] * 2 + ["white"] * 2,
    "ZIP": ["94142", "94141", "94139", "94139", "94139", "94138", "94139", "94139", "94141"],
}
RACE_POLICY = {
    "attributes": {
        "Race": {"role": "quasi-identifier", "hierarchy": {"tree": {"person": ["asian", "black", "white"]}}},
        "ZIP": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}, "max-level": 2},
    },
    "require": [{"model": "k-anonymity", "k": 2}],
    "method": {"suppression": "k"},
}
many = naive.examples(150)


def with_method(policy, **method):
    return {**policy, "method": {**policy["method"], **method}}


# every node


def listing(instance, metric):
    """The nodes of a random table, listed as the product does."""
    before = instance.before()
    scorer = METRICS[metric].on(before)
    oracle = Oracle(before, instance.models, instance.limit, scorer, instance.reading, instance.show)
    policy = Policy(attributes={"p": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 1}])
    method = policy.method.model_copy(update={"metric": metric})
    return list_nodes(instance.lattice(), oracle, policy.model_copy(update={"method": method}))


@many
@given(naive.instances(show=st.booleans()))
def test_equals_brute_force(instance):
    """Every node, complying or not, by the textbook: rows, classes, every metric."""
    table = listing(instance, "loss")
    assert [row.levels for row in table.nodes] == sorted(instance.nodes(), key=lambda node: (sum(node), node))
    for row in table.nodes:
        outcome = instance.outcome(row.levels)
        assert (row.complies, row.suppressed) == (outcome.ok, len(outcome.suppressed))
        assert (row.classes, row.height) == (len(outcome.kept), sum(row.levels))
        for metric in METRICS:
            value = naive.value(metric, instance, outcome)
            assert isclose(row.metrics[metric], value, rel_tol=1e-12, abs_tol=1e-12), metric


@pytest.mark.parametrize("metric", sorted(METRICS))
@naive.examples(60, fixtures=True)
@given(instance=naive.instances(show=st.booleans()))
def test_the_front_and_the_best_by_definition(metric, instance):
    table = listing(instance, metric)
    outcomes = [outcome for outcome in map(instance.outcome, instance.nodes()) if outcome.ok]
    costs = {o.node: (naive.EXACT[metric](instance, o), len(o.suppressed)) for o in outcomes}

    def beaten(node):
        ours = costs[node]
        return any(x <= ours[0] and y <= ours[1] and (x, y) != ours for x, y in costs.values())

    assert {row.levels for row in table.front} == {node for node in costs if not beaten(node)}
    best = naive.best(metric, instance)
    assert (table.best and table.best.levels) == (best and best.node)


@pytest.mark.parametrize("metric", sorted(METRICS))
@naive.examples(60, fixtures=True)
@given(instance=naive.instances())
def test_the_score_of_a_search_is_the_score_of_the_judge(metric, instance):
    before = instance.before()
    scorer = METRICS[metric].on(before)
    oracle = Oracle(before, instance.models, instance.limit, scorer, instance.reading)
    for node in instance.nodes():
        after = oracle.apply(node)
        judged = scorer.judge(after, after.classes.counts * after.suppressed).score
        assert isclose(scorer.score(after), judged, rel_tol=1e-12, abs_tol=1e-12)


def test_race_and_zip():
    """S2.5: k = 2, MaxSup = 2: the complying nodes of least height are exactly [1,0] and [0,1]."""
    table = sh.lattice(pa.table(RACE), RACE_POLICY)
    assert table.limit == 2
    least = min(node.height for node in table.nodes if node.complies)
    assert [n.levels for n in table.nodes if n.complies and n.height == least] == [(0, 1), (1, 0)]
    assert {n.levels: n.suppressed for n in table.nodes if n.height <= 1} == {(0, 0): 6, (0, 1): 2, (1, 0): 2}
    samarati = planning.make_plan(
        ArrowEngine().read(pa.table(RACE), ReadOptions()),
        Policy(**with_method(RACE_POLICY, algorithm="samarati")),
        ArrowEngine(),
    )
    assert sorted(samarati.search.found.nodes) == [(0, 1), (1, 0)]


def test_ties_by_rounding_are_ties():
    """0.1 + 0.2 is no better than 0.3, and with fewer suppressed rows the same loss wins."""
    lattice = Lattice(("a",), (0,), (3,))
    losses = [(0.1 + 0.2, 5), (0.3, 5), (0.1 + 0.2, 7), (0.29, 9)]
    rows = [NodeRow((i,), True, gone, 1, {"loss": loss}) for i, (loss, gone) in enumerate(losses)]
    nodes = lattice_table._with_front(rows, "loss")
    table = LatticeTable(lattice, (), "loss", 10, 10, nodes)
    assert [row.levels for row in table.front] == [(0,), (1,), (3,)]
    assert table.best.levels == (3,)
    assert LatticeTable(lattice, (), "loss", 10, 10, nodes[:3]).best.levels == (0,)


def test_a_listing_does_not_change():
    table = sh.lattice(pa.table(RACE), RACE_POLICY)
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.metric = "height"
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.nodes[0].suppressed = 0
    with pytest.raises(TypeError):
        table.nodes[0].metrics["loss"] = 0


def test_sh_lattice_is_callable_and_does_not_hide_the_module():

    assert callable(sh.lattice)
    assert Lattice.__module__ == "shoal.hierarchy.lattice"


def test_the_watcher_is_called_for_every_node():
    seen = []
    sh.lattice(pa.table(RACE), RACE_POLICY, watch=lambda ask, tally: seen.append((ask.settled, tally.checked)))
    assert [checked for _, checked in seen] == list(range(1, 7))
    assert [settled for settled, _ in seen] == [i / 6 for i in range(6)]


# the command


@pytest.fixture
def race(desk):
    desk.table("Race,ZIP\n" + "".join(f"{r},{z}\n" for r, z in zip(*RACE.values(), strict=True)))
    desk.policy(**RACE_POLICY)
    return desk


def lattice(desk, *more):
    return desk.run("lattice", desk.data, "--policy", desk.folder / "policy.toml", *more)


def test_lattice_as_json(race):
    ran = lattice(race, "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["attributes"] == ["Race", "ZIP"]
    assert (document["rows"], document["suppressible"], document["complying"]) == (9, 2, 5)
    assert (document["best"], document["front"]) == ([0, 1], [[0, 1], [0, 2]])
    assert document["require"] == [{"model": "k-anonymity", "k": 2}]
    assert [node["levels"] for node in document["nodes"]] == [[0, 0], [0, 1], [1, 0], [0, 2], [1, 1], [1, 2]]
    assert document["nodes"][0] == {
        "levels": [0, 0],
        "height": 0,
        "complies": False,
        "suppressed": 6,
        "classes": 1,
        "metrics": pytest.approx(
            {"loss": 2 / 3, "loss-geometric": 2 / 3, "precision-loss": 2 / 3, "discernibility": 9 + 54}
            | {"average-class": 4.5, "height": 0}
        ),
        "pareto": False,
    }


def test_lattice_for_people(race):
    ran = lattice(race)
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    for word in ("6 nodes [Race, ZIP], 5 of which comply", "[1,0]", "fails", "◆★", "0.3519"):
        assert word in ran.out


def test_many_nodes_are_summed_up_for_people(desk, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    data = desk.table("a,b,c\n" + "".join(f"{i},{i % 7},{i % 5}\n" for i in range(60)))
    wide = {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8, 16]}}
    desk.policy(dict.fromkeys("abc", wide), [{"model": "k-anonymity", "k": 4}])
    ran = desk.run("lattice", data, "--policy", desk.folder / "policy.toml", "--csv", desk.folder / "all.csv")
    assert ran.code == 0
    for word in ("216 nodes [a, b, c]", "fewest suppressed", "the Pareto front of loss"):
        assert word in ran.out
    assert "--json or --csv FILE gives all nodes" in ran.err
    assert len((desk.folder / "all.csv").read_text().splitlines()) == 217


def test_lattice_as_csv(race):
    ran = lattice(race, "--csv", race.folder / "nodes.csv")
    assert ran.code == 0
    assert "do not publish it" in ran.err
    with (race.folder / "nodes.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["level of Race"], line["level of ZIP"]) for line in lines[:3]] == [("0", "0"), ("0", "1"), ("1", "0")]
    assert [line["complies"] for line in lines] == ["false"] + ["true"] * 5
    assert [line["best"] for line in lines] == ["false", "true", *["false"] * 4]
    assert [line["pareto"] for line in lines] == ["false", "true", "false", "true", "false", "false"]
    table = sh.lattice(race.data, race.folder / "policy.toml")
    for name in set(METRICS) - SENSITIVE_METRICS:  # no sensitive attribute is counted
        assert [float(line[name]) for line in lines] == [node.metrics[name] for node in table.nodes]


@pytest.mark.parametrize("kind", ["svg", "png", "SVG"])
def test_lattice_as_picture(race, kind):
    file = race.folder / f"lattice.{kind}"
    ran = lattice(race, "--picture", file)
    assert ran.code == 0
    assert file.read_bytes().startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    first = file.read_bytes()
    race.refused(2, "lattice", race.data, "--policy", race.folder / "policy.toml", "--picture", file, says="--force")
    assert lattice(race, "--picture", file, "--force").code == 0
    assert file.read_bytes() == first
    assert not list(race.folder.glob(".*"))


@pytest.mark.parametrize(
    ("option", "name", "says"),
    [
        ("--picture", "lattice.pdf", "must end in .svg or .png"),
        ("--picture", "lattice", "must end in .svg or .png"),
        ("--csv", "nodes.txt", "must end in .csv"),
        ("--picture", "nowhere/lattice.svg", "the folder 'nowhere' that should hold it does not exist"),
        ("--csv", "people.csv", "the table itself would be written over"),
        ("--picture", "folder.png", "this is a folder"),
    ],
)
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_bad_files_are_refused_before_the_work(race, monkeypatch, option, name, says, force):
    (race.folder / "folder.png").mkdir()
    monkeypatch.setattr(ArrowEngine, "read", lambda *_: pytest.fail("read before the refusal"))
    where = ("lattice", race.data, "--policy", race.folder / "policy.toml")
    race.refused(2, *where, option, race.folder / name, *force, says=says)


def test_a_file_that_cannot_be_written(race, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shoal.publish.folder.write_whole", full)
    where = ("lattice", race.data, "--policy", race.folder / "policy.toml", "--csv", race.folder / "nodes.csv")
    race.refused(2, *where, says="nodes.csv: the file could not be written (No space left on device)")


# a node that was listed


@pytest.mark.parametrize("order", ["names", "listed"])
def test_each_listed_node_can_be_taken(race, order):
    """Those that comply are released as they were listed; of others it is said which promise fails."""
    table = sh.lattice(pa.table(RACE), RACE_POLICY)
    for row in table.nodes:
        named = ",".join(f"{name}={level}" for name, level in table.levels_of(row).items())
        node = named if order == "names" else str(list(row.levels))
        where = ("--policy", race.folder / "policy.toml", "--node", node, "--json")
        listed = json.loads(race.run("lattice", race.data, *where).out)
        assert [each["levels"] for each in listed["nodes"]] == [list(row.levels)]
        ran = race.run("anonymize", race.data, *where, "--dry-run")
        if not row.complies:
            assert (ran.code, "fail k-anonymity" in ran.err) == (3, True)
            continue
        document = json.loads(ran.out)
        assert document["recoding"]["levels"] == table.levels_of(row)
        assert document["rows"]["suppressed"] == row.suppressed
        assert document["method"]["score"] == pytest.approx(row.metrics["loss"])


def test_the_command_that_lattice_suggests_works(race):
    told = race.run("lattice", race.data, "--policy", race.folder / "policy.toml").err
    command = shlex.split(told.split("complies: shoal ")[1].splitlines()[0])
    assert command[0] == "anonymize"
    assert race.run(*command[:-1], race.folder / "out").code == 0
    assert race.run("verify", race.folder / "out", "--original", race.data).code == 0


@pytest.mark.parametrize("algorithm", searches())
def test_a_node_by_any_search(algorithm):
    policy = Policy(**with_method(RACE_POLICY, algorithm=algorithm)).at_node({"Race": 1, "ZIP": 1})
    assert dict(sh.anonymize(pa.table(RACE), policy).summary.recoding.levels) == {"Race": 1, "ZIP": 1}


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ("Race=1", "no level for 'ZIP'"),
        ("Race=1,ZIP=0,age=2", "'age', which is no quasi-identifier"),
        ("Rac=1,ZIP=0", "did you mean 'Race'"),
        ("Race=1,ZIP=3", "levels of 0 to 2, and the node has 3"),
        ("Race=9,ZIP=1", "levels 0 to 1 only"),
        ("Race=1,ZIP=-1", "write the level of every"),
        ("Race=1,Race=1", "write the level of every"),
        ("[1]", "write the level of every"),
        ("", "write the level of every"),
    ],
)
def test_invalid_nodes_are_refused(race, node, says):
    where = (race.data, "--policy", race.folder / "policy.toml", "--node", node)
    race.refused(2, "anonymize", *where, "--out", race.folder / "out", says=says)
    race.refused(2, "lattice", *where, says=says)


@pytest.mark.parametrize("name", ["a,b", ' "c"', "d=e", " f"])
def test_suggested_commands_quote_strange_column_names(desk, name):
    quoted = '"' + name.replace('"', '""') + '"'
    desk.table(quoted + "\n" + "1\n" * 4)
    desk.policy({name: {"role": "quasi-identifier", "hierarchy": {"flat": True}}})
    told = desk.run("lattice", desk.data, "--policy", desk.folder / "policy.toml").err
    command = shlex.split(told.split("complies: shoal ")[1].splitlines()[0])
    assert desk.run(*command[:-1], desk.folder / "out").code == 0


def test_a_node_below_the_least_level_is_refused():
    ages = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "min-level": 1}}
    policy = Policy(attributes=ages, require=[{"model": "k-anonymity", "k": 1}])
    with pytest.raises(sh.BadPolicy, match="levels of at least 1, and the node has 0"):
        policy.at_node({"age": 0})
    with pytest.raises(sh.BadPolicy, match="algorithm = 'local' does not look for that"):
        Policy(**with_method(MASKED, algorithm="local")).at_node({"Race": 0, "ZIP": 0})


def test_a_lattice_too_large_to_list(desk):
    names = [f"q{i}" for i in range(9)]
    data = desk.table(",".join(names) + "\n" + "".join(",".join(str(i + j) for j in range(9)) + "\n" for i in range(9)))
    wide = {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}}
    desk.policy(dict.fromkeys(names, wide), [{"model": "k-anonymity", "k": 2}])
    where = ("lattice", data, "--policy", desk.folder / "policy.toml")
    says = "the lattice has 262,144 nodes, more than the 200,000 that can be listed; make it smaller with min-level"
    desk.refused(2, *where, says=says)


def test_no_node_complies(race):
    race.policy(
        {
            **RACE_POLICY["attributes"],
            "ZIP": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}, "max-level": 0},
        },
        [{"model": "k-anonymity", "k": 9}],
    )
    ran = lattice(race, "--json", "--picture", race.folder / "none.svg")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert (document["best"], document["front"], document["complying"]) == (None, [], 0)
    assert lattice(race).code == 0


def test_the_wrong_table_is_refused(desk):
    desk.table("other\n1\n2\n")
    desk.refused(2, "lattice", desk.data, "--policy", desk.folder / "policy.toml", says="the policy of another table")
    desk.refused(2, "compare", desk.data, "--policy", desk.folder / "policy.toml", says="the policy of another table")


# several algorithms


def test_all_algorithms_side_by_side():
    found = sh.compare(pa.table(RACE), RACE_POLICY, algorithms=searches())
    assert [run.algorithm for run in found.runs] == list(searches())
    assert (found.metric, found.rows, found.nodes, found.others) == ("loss", 9, 6, ())
    table = {node.levels: node for node in sh.lattice(pa.table(RACE), RACE_POLICY).nodes}
    for run in found.runs:
        node = table[tuple(run.levels.values())]
        assert (run.height, run.suppressed, run.classes) == (node.height, node.suppressed, node.classes)
        assert run.metrics == pytest.approx(node.metrics)
        assert run.asked >= run.checked + run.inferred
        assert run.gap >= 0
        assert run.seconds >= 0
        assert run.cpu_seconds >= 0
    proved = {run.algorithm for run in found.runs if run.proved}
    assert proved == {"optimal", "incognito"}
    assert all(run.gap == 0 for run in found.runs if run.proved)
    assert {run.algorithm: run.solutions for run in found.runs}["samarati"] == 2


@pytest.mark.thorough
@naive.examples(8, fixtures=True)
@given(data=st.data())
def test_an_algorithm_finds_the_same_alone_and_beside_others(data):
    """Nothing that one algorithm learnt helps or harms the next."""
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from("abcd")] * 2), min_size=4, max_size=12))
    tree = {"*": {"x": ["a", "b"], "y": ["c", "d"]}}
    policy = {
        "attributes": {name: {"role": "quasi-identifier", "hierarchy": {"tree": tree}} for name in "pq"},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"suppression": 0.25},
    }
    table = pa.table(dict(zip("pq", map(list, zip(*rows, strict=True)), strict=True)))
    names = data.draw(st.permutations(searches()))
    together = sh.compare(table, policy, algorithms=names).without_times()
    alone = [sh.compare(table, policy, algorithms=[name]).without_times().outcomes[0] for name in names]
    assert list(together.outcomes) == alone
    released = [sh.anonymize(table, with_method(policy, algorithm=name)).summary for name in names]
    assert [dict(run.levels) for run in together.runs] == [dict(summary.recoding.levels) for summary in released]
    assert [run.checked for run in together.runs] == [summary.method.checked for summary in released]


def test_rows_as_each_would_release_them():
    table = pa.table({"age": [31, 32, 33, 34, 51, 59, 71, 79]})
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    policy = {"attributes": {"age": age}, "require": [{"model": "k-anonymity", "k": 2}]}
    found = sh.compare(table, policy, ["optimal", "local"], rows=3)
    shown = {run.algorithm: {row.number: dict(row.cells) for row in run.rows} for run in found.runs}
    assert shown == {
        "optimal": {1: {"age": "[30, 40)"}, 3: {"age": "[30, 40)"}, 6: {"age": "[50, 60)"}},
        "local": {1: {"age": "[30, 35)"}, 3: {"age": "[30, 35)"}, 6: {"age": "[50, 60)"}},
    }
    assert "rows" not in sh.compare(table, policy, ["optimal"]).document()["algorithms"][0]


def test_a_suppressed_row_is_said_to_be_one():
    table = pa.table({"sex": ["m"] * 5 + ["f"]})
    policy = {
        "attributes": {"sex": "quasi-identifier"},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"suppression": 0.2},
    }
    (run,) = sh.compare(table, policy, ["optimal"], rows=9).runs
    assert [(row.number, row.cells) for row in run.rows] == [*((i, {"sex": "m"}) for i in range(1, 6)), (6, None)]


def test_rows_are_shown_beside_the_chief_figures(race):
    where = ("compare", race.data, "--policy", race.folder / "policy.toml", "--algorithms", "optimal,datafly")
    shown = race.run(*where, "--rows", "2").out
    assert "2 algorithms, the least loss first" in shown
    assert "granularity" not in shown
    (first, second) = [line.split()[-4:] for line in shown.splitlines() if line.startswith((" 1 ", " 5 "))]
    assert first[:2] == ["1", "optimal"]
    assert second[:2] == ["5", "optimal"]
    document = json.loads(race.run(*where, "--rows", "2", "--json").out)
    assert [[row["row"] for row in each["rows"]] for each in document["algorithms"]] == [[1, 5]] * 2
    race.refused(2, *where, "--rows=-1", says="--rows")


def test_the_table_is_read_and_counted_once(monkeypatch):
    calls = []
    for name in ("read", "count"):
        real = getattr(ArrowEngine, name)
        monkeypatch.setattr(
            ArrowEngine, name, lambda *given, real=real, name=name: (calls.append(name), real(*given))[1]
        )
    sh.compare(pa.table(RACE), RACE_POLICY, algorithms=searches())
    assert calls == ["read", "count"]


def test_searches_of_different_lattices_share_nothing():
    """Values or stars are another lattice than levels."""
    policy = {**RACE_POLICY, "attributes": dict.fromkeys(RACE, "quasi-identifier")}
    together = sh.compare(pa.table(RACE), policy, algorithms=["optimal", "suppress"]).without_times()
    alone = sh.compare(pa.table(RACE), policy, algorithms=["suppress"]).without_times()
    assert together.runs[1] == alone.runs[0]


@pytest.mark.parametrize(
    ("option", "value", "algorithm"),
    [
        ("preference", "minimum-suppression", "samarati"),
        ("weighting", "paper", "greedy"),
        ("minimal", True, "incognito"),
    ],
)
def test_options_of_one_algorithm_are_no_hindrance_to_others(monkeypatch, option, value, algorithm):
    """An option that does not apply is left at its default."""
    from shoal.explore import compare as comparing

    seen = {}
    real = comparing.solve
    monkeypatch.setattr(
        comparing,
        "solve",
        lambda problem: (
            seen.update({problem.policy.method.algorithm: getattr(problem.policy.method, option)}),
            real(problem),
        )[1],
    )
    policy = with_method(RACE_POLICY, algorithm=algorithm, **{option: value})
    found = sh.compare(pa.table(RACE), policy, algorithms=searches())
    assert not found.others
    default = Policy(**RACE_POLICY).method
    for name in searches():
        assert seen[name] == (value if name in algorithms_reading(option) else getattr(default, option))


SICK = {**RACE, "ill": ["u", "v", "w"] * 3}
OPEN = {
    **RACE_POLICY,
    "attributes": {**RACE_POLICY["attributes"], "ill": "sensitive"},
    "require": [{"model": "alpha-k", "alpha": 0.5, "k": 2}],
}


def test_a_refusal_does_not_stop_the_others():
    found = sh.compare(pa.table(SICK), OPEN, algorithms=["samarati", "optimal", "hybrid"])
    assert [outcome.algorithm for outcome in found.outcomes] == ["samarati", "optimal", "hybrid"]
    assert [run.algorithm for run in found.runs] == ["optimal"]
    assert all("which alpha-k does not promise" in other.why for other in found.others)
    document = found.document()
    assert [entry["ran"] for entry in document["algorithms"]] == [False, True, False]


def test_when_all_are_refused_the_error_is_raised(race):
    race.table("Race,ZIP,ill\n" + "".join(f"{r},{z},{i}\n" for r, z, i in zip(*SICK.values(), strict=True)))
    race.policy(**{**OPEN, "attributes": {**RACE_POLICY["attributes"], "ill": {"role": "sensitive"}}})
    where = ("compare", race.data, "--policy", race.folder / "policy.toml")
    race.refused(2, *where, "--algorithms", "samarati,incognito", says="'samarati' relies on it")
    ran = race.run(*where, "--json", "--algorithms", "samarati,optimal")
    assert ran.code == 0
    assert [entry["ran"] for entry in json.loads(ran.out)["algorithms"]] == [False, True]
    shown = race.run(*where)
    assert shown.code == 0
    assert "Without a release" in shown.out


def test_compare_refuses_a_policy_that_no_node_keeps(race):
    low = {name: {**spec, "max-level": 0} for name, spec in RACE_POLICY["attributes"].items()}
    race.policy(low, [{"model": "k-anonymity", "k": 4}])
    where = ("compare", race.data, "--policy", race.folder / "policy.toml")
    race.refused(3, *where, says="no node keeps the policy")


def test_compare_for_people(race):
    ran = race.run("compare", race.data, "--policy", race.folder / "policy.toml")
    assert (ran.code, ran.err) == (0, "")
    for word in (*searches(), "CPU seconds", "nodes inferred", "loss proved least", "level of ZIP", "discernibility"):
        assert word in ran.out


def test_compare_as_json(race):
    where = ("compare", race.data, "--policy", race.folder / "policy.toml", "--json")
    document = json.loads(race.run(*where, "--algorithms", "datafly,optimal").out)
    assert (document["metric"], document["rows"], document["nodes"]) == ("loss", 9, 6)
    datafly, optimal = document["algorithms"]
    assert (datafly["algorithm"], datafly["ran"], optimal["proved"]) == ("datafly", True, True)
    assert optimal["levels"] == {"Race": 0, "ZIP": 1}
    assert set(optimal["metrics"]) == set(METRICS) - SENSITIVE_METRICS
    assert {"seconds", "cpu_seconds", "asked", "inferred", "checked", "height", "suppressed", "gap"} <= set(optimal)


def test_compare_reproducibly(race):
    where = ("compare", race.data, "--policy", race.folder / "policy.toml", "--reproducible")
    one, two = race.run(*where, "--json"), race.run(*where, "--json")
    assert one.out == two.out
    assert "seconds" not in one.out
    shown = race.run(*where)
    assert shown.code == 0
    assert "seconds" not in shown.out


def test_each_algorithm_has_its_own_time_limit(race):
    where = ("compare", race.data, "--policy", race.folder / "policy.toml", "--json")
    ran = race.run(*where, "--time-limit", "1e-9", "--algorithms", "optimal,incognito")
    assert ran.code == 0
    optimal, incognito = json.loads(ran.out)["algorithms"]
    assert optimal["ran"]
    assert not incognito["ran"]
    assert "incognito was stopped before its end" in incognito["why"]
    race.refused(2, *where, "--time-limit", "0", says="greater than 0")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("optimal,smarati", "algorithm 'smarati' is not known (did you mean 'samarati'?)"),
        ("nothing-like-it", "known: optimal, datafly, samarati"),
        ("", "name at least one algorithm"),
    ],
)
def test_unknown_algorithms_are_refused_before_the_work(race, monkeypatch, names, says):
    monkeypatch.setattr(ArrowEngine, "read", lambda *_: pytest.fail("read before the refusal"))
    race.refused(2, "compare", race.data, "--policy", race.folder / "policy.toml", "--algorithms", names, says=says)


def test_progress_is_of_all_algorithms():
    seen = []
    sh.compare(
        pa.table(RACE), RACE_POLICY, algorithms=["datafly", "greedy"], watch=lambda ask, _: seen.append(ask.settled)
    )
    turn = next(i for i, settled in enumerate(seen) if settled >= 0.5)
    assert all(0 <= settled < 0.5 for settled in seen[:turn])
    assert all(0.5 <= settled <= 1 for settled in seen[turn:])


def test_the_metric_of_the_policy_is_compared():
    found = sh.compare(pa.table(RACE), with_method(RACE_POLICY, metric="height"), algorithms=["optimal"])
    assert (found.metric, found.runs[0].metrics["height"]) == ("height", 1)


def test_the_textbook_losses_of_race_and_zip():
    """Worked by hand: [0,1] suppresses two of nine rows; 9413* and 9414* stand for 2 of 4 ZIPs each."""
    node = next(n for n in sh.lattice(pa.table(RACE), RACE_POLICY).nodes if n.levels == (0, 1))
    race = Fraction(2, 9)
    zip_codes = (2 + 7 * Fraction(1, 3)) / 9
    assert node.metrics["loss"] == pytest.approx(float((race + zip_codes) / 2))


def test_lattice_lists_every_node():
    table = sh.lattice(pa.table(RACE), RACE_POLICY)
    assert {node.levels for node in table.nodes} == set(product(range(2), range(3)))


def test_compare_without_rows_prints_the_same_table(desk):
    where = ("compare", desk.data, "--policy", desk.folder / "policy.toml", "--algorithms", "optimal,datafly")
    with_rows = desk.run(*where, "--rows", "2", "--reproducible").out
    assert with_rows.startswith(none := desk.run(*where, "--rows", "0", "--reproducible").out.rstrip("\n"))
    assert "algorithm" in none
    assert "The same rows" in with_rows.removeprefix(none)
    assert desk.run(*where, "--reproducible").out.startswith("12 rows")  # every figure, a column for each


def test_compare_says_how_a_policy_asks_for_a_variant(desk):
    where = ("compare", desk.data, "--policy", desk.folder / "policy.toml", "--algorithms")
    said = desk.run(*where, "optimal,cell-suppression").err
    assert (
        'cell-suppression is no name for a policy: write generalise = "attribute" and suppress = "cell" under [method].'
        in said
    )
    assert "no name for a policy" not in desk.run(*where, "optimal,datafly").err


def test_compare_tries_every_kind_of_algorithm_by_default():
    """Searches, boxes, cells, clusters and groups: what does not fit the policy says why, and stops nothing."""
    found = sh.compare(pa.table(RACE), MASKED)
    assert [outcome.algorithm for outcome in found.outcomes] == [*ALGORITHMS, "cell-suppression", "suppress-cells"]
    reasons = {other.algorithm: other.why for other in found.others}
    assert {name: why.split(":")[0] for name, why in reasons.items()} == {
        "mondrian-workload": "method",
        "microaggregation": "attributes.Race",
        "anatomy": "require",
    }
    runs = {run.algorithm: run for run in found.runs}
    assert runs["cell-suppression"].suppressed == runs["suppress-cells"].suppressed == 0
    assert runs["cell-suppression"].metrics["loss"] < runs["optimal"].metrics["loss"]


def test_every_kind_of_algorithm_runs_for_some_policy():
    """Numbers, a target and a promise about the sensitive value alone suit all but those who need k."""
    table = pa.table({"age": [21, 22, 23, 51] * 20, "ill": list("uuuuvvvvwwwwxxxxyyyy") * 4})
    policy = {
        "attributes": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "ill": "sensitive"},
        "require": [{"model": "distinct-l-diversity", "l": 5}],
        "method": {"algorithm": "mondrian-workload", "target": "ill"},
    }
    assert sh.compare(table, policy).others == ()


def test_the_algorithm_of_the_policy_does_not_change_the_results_of_others():
    """What its own algorithm does not read still counts for the others."""
    one = sh.compare(pa.table(RACE), with_method(MASKED, algorithm="local"), algorithms=["optimal"])
    other = sh.compare(pa.table(RACE), MASKED, algorithms=["optimal"])
    assert one.without_times().runs == other.without_times().runs
    assert one.runs[0].suppressed > 0


def test_algorithms_that_make_boxes_keep_the_time_limit():
    policy = with_method(FREE, **{"time-limit": 1e-9})
    found = sh.compare(pa.table(RACE), policy, algorithms=["optimal", "mondrian", "mondrian-relaxed"])
    assert [run.algorithm for run in found.runs] == ["optimal"]
    ages = {"attributes": {"age": {"role": "quasi-identifier"}}, "require": [{"model": "k-anonymity", "k": 5}]}
    with pytest.raises(sh.Infeasible, match="microaggregation was not done after 1e-09 s"):
        sh.compare(
            pa.table({"age": [*range(40)]}), {**ages, "method": policy["method"]}, algorithms=["microaggregation"]
        )
    assert [other.why for other in found.others] == [
        f"{name} was not done after 1e-09 s; allow more time" for name in ("mondrian", "mondrian-relaxed")
    ]


MASK = {"mask": "right"}
FREE = {**RACE_POLICY, "attributes": {**RACE_POLICY["attributes"], "ZIP": {"role": "quasi-identifier"}}}
"""Without a highest level, which only one level per attribute can have."""
MASKED = {**FREE, "attributes": {**FREE["attributes"], "ZIP": {"role": "quasi-identifier", "hierarchy": MASK}}}


def test_recodings_of_cells_beside_searches():
    """One table, one policy: what has no levels says so, and each keeps the policy in its own way."""
    named = ["optimal", "mondrian", "local", "mondrian-single", "suppress"]
    runs = {run.algorithm: run for run in sh.compare(pa.table(RACE), FREE, algorithms=named).runs}
    assert list(runs) == named
    assert runs["mondrian"].levels is runs["local"].height is runs["mondrian"].gap is None
    assert 0 <= runs["local"].gap < runs["local"].metrics["loss"], "local knows a bound"
    assert runs["suppress"].levels == {"Race": 0, "ZIP": 0}, "rows alone are left out"
    assert runs["local"].suppressed == runs["mondrian"].suppressed == 0
    assert "height" not in runs["local"].metrics


def test_recodings_of_cells_beside_searches_for_people(race):
    (race.folder / "free.toml").write_text(tomli_w.dumps(FREE))
    ran = race.run("compare", race.data, "--policy", race.folder / "free.toml", "--algorithms", "optimal,mondrian")
    assert ran.code == 0
    assert "–" in ran.out


def test_measures_and_workload_errors_side_by_side(race):
    """Every measure of each release, and how wrong the answers to random queries are."""
    (race.folder / "free.toml").write_text(tomli_w.dumps(FREE))
    where = ("compare", race.data, "--policy", race.folder / "free.toml", "--algorithms", "optimal,local")
    found = json.loads(race.run(*where, "--random", "20", "--json").out)
    for run in found["algorithms"]:
        assert {"gcp", "non-uniform-entropy", "workload mean error", "workload matching"} <= set(run["figures"])
        assert run["figures"]["gcp"] == pytest.approx(run["metrics"]["loss"])
    (race.folder / "q.toml").write_text('[[query]]\ncount = true\nwhere = { Race = "asian" }\n')
    assert race.run(*where, "--queries", race.folder / "q.toml").code == 0
    race.refused(2, *where, "--queries", race.folder / "q.toml", "--random", "5", says="not both")
