"""Workloads from the command line and the policy to the report (S4.8, S4.9)."""

import json
from pathlib import Path

import pytest

import shoal as sh
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.pipeline import make_release
from shoal.policy.document import Policy
from shoal.workload.queries import random_queries, toml_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
QUERIES = """
[[query]]
count = true
where = { age = { from = 31, to = 33 }, disease = "flu" }

[[query]]
avg = "age"
where = { sex = "f" }
weight = 3
"""


@pytest.fixture
def asked(desk):
    assert desk.anonymize().code == 0
    (desk.folder / "q.toml").write_text(QUERIES)
    return desk


def test_the_command(asked):
    ran = asked.run("workload", asked.data, asked.out, "--queries", asked.folder / "q.toml", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    # ages are [30, 40) and [50, 60), sexes as they are; three of the six below 40 have the flu
    assert found["answers"][0]["estimate"] == pytest.approx(3 * 3 / 10)
    assert found["answers"][0]["actual"] == 2
    assert found["answers"][1]["estimate"] == pytest.approx((3 * 34.5 + 3 * 54.5) / 6)
    assert found["answers"][1]["matches"]
    assert found["matching"] == {"share": 0.5, "queries": [2]}


def test_the_workload_command_without_json(asked, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    ran = asked.run("workload", asked.data, asked.out, "--queries", asked.folder / "q.toml")
    assert ran.code == 0
    assert "2 queries on 12 rows" in ran.out
    assert "mean error" in ran.out
    assert "1 of 2 (50 %)" in ran.out
    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    # each query with both answers, its error and whether it matches
    assert "1 count where age from 31 to 33 and disease = flu 0.9 2 55 % no" in told
    assert any(line.startswith("2 avg of age where sex = f 44.5 44.1667 ") and line.endswith(" yes") for line in told)


def test_random_queries_are_saved_and_asked_again(asked):
    saved = asked.folder / "drawn.toml"
    common = ("workload", asked.data, asked.out, "--json")
    first = asked.run(*common, "--random", "20", "--seed", "3", "--attributes", "1", "--save", saved)
    assert first.code == 0, first.err
    assert asked.run(*common, "--queries", saved).out == first.out
    assert asked.run(*common, "--random", "20", "--save", saved).code == 2
    assert asked.run(*common, "--random", "20", "--save", saved, "--force").code == 0
    assert asked.run(*common, "--random", "20", "--save", asked.data, "--force").code == 2


def test_shares_may_be_ratios(asked):
    common = ("workload", asked.data, asked.out, "--json", "--random", "5", "--attributes", "1")
    as_ratios = asked.run(*common, "--selectivity", "1/4", "--sanity", "1/100")
    assert as_ratios.code == 0, as_ratios.err
    assert as_ratios.out == asked.run(*common, "--selectivity", "0.25", "--sanity", "0.01").out


def test_a_release_in_memory_and_on_disk_answer_alike(asked):
    queries = asked.folder / "q.toml"
    release = sh.anonymize(asked.data, asked.folder / "policy.toml")
    assert sh.workload(asked.data, release, queries=queries) == sh.workload(asked.data, asked.out, queries=queries)


BAD = [
    (("--queries", "none.toml"), "none.toml: there is no such file of queries"),
    ((), "give either a workload of queries or a number of random ones"),
    (("--queries", "q.toml", "--random", "3"), "give either a workload of queries or a number of random ones"),
    (("--random", "3", "--attributes", "3"), "queries on 3 attribute(s) cannot be drawn; there are 2"),
    (("--random", "3", "--selectivity", "2"), "selectivity = 2.0 is no share"),
    (
        ("--random", "3", "--sanity", "some"),
        "sanity must be a number, or two whole numbers such as \"1/3\", not 'some'",
    ),
    (("--random", "3", "--private", "nowhere"), "nowhere: checking against the original needs the private folder"),
]


@pytest.mark.parametrize(("options", "says"), BAD)
def test_bad_usage(asked, monkeypatch, options, says):
    monkeypatch.chdir(asked.folder)
    asked.refused(2, "workload", asked.data, asked.out, *options, says=says)


BAD_QUERIES = [
    ("count = true\nwhere = { aeg = 3 }", "q.toml: query 1: the table has no column 'aeg' (did you mean 'age'?)"),
    ("count = true\nwhere = { name = 'ann' }", "q.toml: query 1: the release shows nothing of the column 'name'"),
    ("sum = 'sex'", "q.toml: query 1: sum needs numbers, and the column 'sex' has others"),
    ("count = true\nwhere = { age = 'old' }", "q.toml: query 1: where.age: the column has no such values"),
]


@pytest.mark.parametrize(("query", "says"), BAD_QUERIES)
def test_bad_queries(asked, query, says):
    file = asked.folder / "q.toml"
    file.write_text(f"[[query]]\n{query}\n")
    asked.refused(2, "workload", asked.data, asked.out, "--queries", file, says=says)


def test_another_table_is_not_the_original(asked):
    other = asked.table("age,sex\n1,f\n", "other.csv")
    asked.refused(2, "workload", other, asked.out, "--random", "1", says="other.csv: this is not the original")


STEERED = {"algorithm": "mondrian-workload", "workload": "q.toml"}
BOXES = {"name": "identifier", "age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}


def test_a_policy_with_a_workload(desk):
    """S4.9: the path starts from the policy, and stays true in the private folder."""
    (desk.folder / "q.toml").write_text(QUERIES)
    desk.policy(attributes=BOXES, method=STEERED)
    ran = desk.anonymize()
    assert ran.code == 0, ran.err
    assert desk.verify("--original", desk.data).code == 0
    kept = Policy.load(desk.private / "policy.toml").method.workload
    assert Path(kept) == (desk.folder / "q.toml").resolve()
    found = json.loads(desk.run("workload", desk.data, desk.out, "--queries", kept, "--json").out)
    assert found["answers"][0]["matches"]
    assert found["errors"]["mean"] < 0.1
    limited = desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--dry-run", "--time-limit", 9)
    assert limited.code == 0, limited.err


def test_a_policy_saved_elsewhere_reads_the_same_workload(desk):
    desk.policy(attributes=BOXES, method=STEERED)
    policy = Policy.load(desk.folder / "policy.toml")
    (desk.folder / "sub").mkdir()
    policy.save(desk.folder / "sub" / "policy.toml")
    again = Policy.load(desk.folder / "sub" / "policy.toml")
    assert again.method.workload.file.resolve() == (desk.folder / "q.toml").resolve()


BAD_WORKLOADS = [
    ("[[query]]\ncount = true\nwhere = { aeg = 3 }", "method.workload: q.toml: query 1: the table has no column 'aeg'"),
    ("[[query]]\ncount = true\nwhere = { age = 'old' }", "method.workload: q.toml: query 1: where.age"),
    ("[[query]]\ncount = true\nwhere = { disease = 'flu' }", "no query looks at a quasi-identifier"),
    ("[[query]]\nconut = true", "q.toml: query 1: unknown key 'conut'"),
]


@pytest.mark.parametrize(("content", "says"), BAD_WORKLOADS)
def test_bad_workloads(desk, content, says):
    (desk.folder / "q.toml").write_text(content)
    desk.policy(attributes=BOXES, method=STEERED)
    desk.refused(2, says=says)


@pytest.mark.parametrize("more", [{"target": "disease"}, {"workload": ""}, {"workload": 7}])
def test_a_workload_beside_a_target_or_of_a_bad_type_is_refused(desk, more):
    desk.policy(attributes=BOXES, method={**STEERED, **more})
    desk.refused(2, says="method")


def test_a_workload_that_is_not_there(desk):
    desk.policy(attributes=BOXES, method=STEERED)
    desk.refused(2, says="q.toml: there is no such file of queries")


def adult_policy(method):
    files = sorted((DATA / "adult" / "hierarchies").iterdir())
    attributes = {
        file.stem.removeprefix("adult_hierarchy_"): {"role": "quasi-identifier", "hierarchy": {"csv": str(file)}}
        for file in files
    }
    return Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": 10}], method=method)


@pytest.mark.thorough
@pytest.mark.skipif(not (DATA / "adult").is_dir(), reason="adult is not beside the repository")
def test_steered_releases_of_adult_answer_better(tmp_path):
    """S4.9: on at least nine of ten workloads of 200 queries, on two and three attributes in turn."""
    file = DATA / "adult" / "adult.csv"
    table = ArrowEngine().read(file, ReadOptions()).table
    plain = make_release(file, adult_policy({"algorithm": "mondrian"}))
    better = 0
    for seed in range(10):
        queries = random_queries(table, list(table.columns), 200, attributes=2 + seed % 2, seed=seed)
        (tmp_path / "q.toml").write_text(toml_of(queries))
        method = {"algorithm": "mondrian-workload", "workload": str(tmp_path / "q.toml")}
        release = make_release(file, adult_policy(method))
        errors = [sh.workload(file, one, queries=queries).mean for one in (release, plain)]
        better += errors[0] < errors[1]
    assert better >= 9
