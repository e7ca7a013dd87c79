"""A population beside the table: read, coded alike, searched with, verified with."""

import copy
import json
import pickle
import warnings
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import naive
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal as sh
from shoal.data.codes import encode, encode_together
from shoal.errors import Infeasible
from shoal.policy.sections import LocatedPath

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}
SEX = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
EVERYBODY = "name,age,sex\n" + "".join(f"p{i},{20 + i % 40},{'fm'[i % 2]}\n" for i in range(120))
K_MAP = {"model": "k-map", "k": 5, "population": "register.csv"}
PRESENCE = {"model": "delta-presence", "min": 0.05, "max": 0.5, "population": "register.csv"}
FEW = "age,sex,disease\n" + "".join(f"{age},{sex},flu\n" for age, sex in ((21, "m"), (22, "f"), (35, "m"), (52, "f")))
ATTRIBUTES = {"age": AGE, "sex": SEX, "disease": {"role": "sensitive"}}


@pytest.fixture
def register(desk):
    desk.table(FEW)
    desk.table(EVERYBODY, "register.csv")
    desk.policy(ATTRIBUTES, [K_MAP])
    return desk


def statuses(ran):
    return {verdict["promise"]: verdict["status"] for verdict in json.loads(ran.out)["verdicts"]}


# the encoding


def test_table_and_population_share_codes():
    one, other = encode_together(encode("a", pa.array(["b", None, "a"])), encode("a", pa.array(["c", "b"])))
    assert one.texts.to_pylist() == other.texts.to_pylist() == ["a", "b", "c"]
    assert (one.codes.tolist(), other.codes.tolist()) == ([1, 3, 0], [2, 1])
    assert one.size == other.size == 4


def test_numbers_of_a_frame_match_texts_of_a_file():
    one, other = encode_together(encode("a", pa.array([10, 9])), encode("a", pa.array(["9", "100"])))
    assert one.texts.to_pylist() == ["9", "10", "100"]
    assert (one.codes.tolist(), other.codes.tolist()) == ([1, 0], [0, 2])
    assert one.kind == "number"


@given(st.lists(st.sampled_from("abcde") | st.none()), st.lists(st.sampled_from("cdefg") | st.none()))
def test_shared_codes_keep_every_cell(mine, theirs):
    both = encode_together(encode("a", pa.array(mine, pa.string())), encode("a", pa.array(theirs, pa.string())))
    for column, cells in zip(both, (mine, theirs), strict=True):
        labels = [*column.texts.to_pylist(), None]
        assert [labels[code] for code in column.codes.tolist()] == cells
    assert both[0].texts.equals(both[1].texts)


# from file to release


def test_a_row_alone_in_the_table_is_safe_among_many(register):
    """models.md 1.15."""
    ran = register.anonymize("--json")
    assert ran.code == 0, ran.err
    manifest = json.loads(ran.out)
    assert manifest["models"][0]["attained"]["k"] >= 5
    assert manifest["classes"]["min"] == 1
    assert (register.out / "manifest.json").is_file()


def test_the_public_folder_names_no_path(register):
    register.table(EVERYBODY, "CANARY-7f3.csv")
    register.policy(ATTRIBUTES, [{**K_MAP, "population": "CANARY-7f3.csv"}])
    assert register.anonymize().code == 0
    for file in register.out.iterdir():
        assert b"CANARY" not in file.read_bytes()
    model = json.loads((register.out / "manifest.json").read_text())["models"][0]
    assert model["asked"] == {"k": 5, "population": "the population"}


def test_verify_says_that_it_needs_the_population(register):
    assert register.anonymize().code == 0
    everybody = register.folder / "register.csv"
    ran = register.verify("--json")
    assert (ran.code, statuses(ran)["k-map"]) == (0, "needs the population")
    ran = register.verify("--original", register.data, "--json")
    assert statuses(ran)["k-map"] == "needs the population"
    ran = register.verify("--population", everybody, "--json")
    assert statuses(ran)["k-map"] == "needs the original"
    ran = register.verify("--original", register.data, "--population", everybody, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert set(statuses(ran).values()) == {"holds"}


def test_verify_counts_the_population_afresh(register):
    assert register.anonymize().code == 0
    half = register.table("\n".join(EVERYBODY.splitlines()[:40]) + "\n", "half.csv")
    ran = register.verify("--original", register.data, "--population", half, "--json")
    assert (ran.code, statuses(ran)["k-map"]) == (4, "fails")


def test_a_private_policy_finds_the_population(register, tmp_path, monkeypatch):
    """Its folder is made elsewhere and moved."""
    assert register.anonymize().code == 0
    monkeypatch.chdir(register.private)
    again = sh.Policy.load(register.private / "policy.toml")
    assert again.population == (register.folder / "register.csv").resolve()
    register.table(FEW, "new.csv")
    ran = register.run("apply", register.private, register.folder / "new.csv", "--out", register.folder / "later")
    assert ran.code == 0, ran.err


def test_a_path_is_kept_through_load_and_save(register):
    policy = sh.Policy.load(register.folder / "policy.toml")
    policy.save(register.folder / "copy.toml")
    assert sh.Policy.load(register.folder / "copy.toml") == policy
    (register.folder / "deep" / "er").mkdir(parents=True)
    moved = register.folder / "deep" / "er" / "policy.toml"
    policy.save(moved)
    assert sh.Policy.load(moved).require[0].population == "../../register.csv"
    assert sh.Policy.load(moved).population.resolve() == policy.population.resolve()


def test_a_located_path():
    path = LocatedPath("a.csv", Path("b"))
    for same in (copy.deepcopy(path), pickle.loads(pickle.dumps(path))):
        assert (same, same.base) == ("a.csv", Path("b"))


# what is refused


def test_a_population_that_is_not_there(register):
    (register.folder / "register.csv").unlink()
    register.refused(2, says="register.csv: there is no such file")


def test_a_population_without_a_column(register):
    register.table("age\n30\n", "register.csv")
    register.refused(2, says="register.csv: the population has no column 'sex'; it needs every quasi-identifier")


def test_several_populations(register):
    register.policy(ATTRIBUTES, [K_MAP, {**PRESENCE, "population": "other.csv"}])
    register.refused(2, says="the models name several populations")
    register.policy(ATTRIBUTES, [K_MAP, {**PRESENCE, "min": 0}])
    assert register.anonymize().code == 0


def test_a_table_that_is_no_part_of_the_population(register):
    register.policy(ATTRIBUTES, [PRESENCE])
    register.table(FEW + "99,m,flu\n98,m,flu\n")
    register.refused(2, says="2 row(s) of the table have quasi-identifiers that fewer persons of the population have")
    register.policy(ATTRIBUTES, [K_MAP], method={"suppression": 0.4})
    assert register.anonymize().code == 0  # k-map asks nothing of the kind: they are suppressed


def test_a_value_of_the_population_that_a_hierarchy_lacks(register):
    tree = {"role": "quasi-identifier", "hierarchy": {"tree": {"*": ["f", "m"]}}}
    register.policy({**ATTRIBUTES, "sex": tree}, [K_MAP])
    register.table(EVERYBODY + "z,30,CANARY-7f3\n", "register.csv")
    says = "the population: column 'sex': 1 value(s) are missing from its hierarchy, first seen in row(s) 121"
    register.refused(2, says=says)
    register.table(FEW + "30,CANARY-7f3,flu\n")
    register.refused(2, says="column 'sex': 1 value(s) are missing from its hierarchy, first seen in row(s) 5")


def test_a_value_of_the_population_that_is_no_number(register):
    register.table(EVERYBODY + "z,CANARY-7f3,f\n", "register.csv")
    register.refused(2, says="the population: column 'age': intervals needs plain numbers, and row 121 holds none")


def test_impossible_promises_are_refused_before_the_search(register):
    register.policy(ATTRIBUTES, [{**K_MAP, "k": 121}])
    register.refused(3, says="impossible: k-map: the population has 120 persons < k=121")
    register.policy(ATTRIBUTES, [{**PRESENCE, "max": 0.03, "min": 0}])
    register.refused(3, says="4 of the 120 persons of the population are in the table: max >= 0.0334")


# against brute force


LEAVES = "abcd"
LEVELS = [
    dict(zip(LEAVES, LEAVES, strict=True)),
    {"a": "ab", "b": "ab", "c": "cd", "d": "cd"},
    dict.fromkeys(LEAVES, "*"),
]
ROWS = [[leaf, LEVELS[1][leaf], "*"] for leaf in LEAVES]
PEOPLE = st.lists(st.tuples(st.sampled_from(LEAVES), st.sampled_from(LEAVES)), min_size=1, max_size=14)


def keeps(model, here, everywhere):
    """Of each class of the table whether it keeps the model; here and everywhere count rows per class."""
    if model["model"] == "k-map":
        return {at: everywhere[at] >= model["k"] for at in here}
    low, high = Fraction(str(model["min"])), Fraction(str(model["max"]))
    return {at: bool(everywhere[at]) and low <= Fraction(here[at], everywhere[at]) <= high for at in here}


def allowed(model, table, people, limit, *, show):
    """Every node that complies, by its rows."""
    for node in product(range(3), repeat=2):
        lift = lambda row, node=node: tuple(LEVELS[level][cell] for level, cell in zip(node, row, strict=True))  # noqa: E731
        here, everywhere = Counter(map(lift, table)), Counter(map(lift, people))
        fine = keeps(model, here, everywhere)
        suppressed = sum(here[at] for at in here if not fine[at])
        if suppressed > limit or suppressed == len(table):
            continue
        unseen = {at: n for at, n in everywhere.items() if not fine.get(at, False)}
        if show and suppressed:
            star = keeps(model, {"*": suppressed}, {"*": sum(unseen.values())})
            ok = star["*"]
        else:
            # a class that was left out is no class of share 0, unless that is asked for
            nobody = unseen if model.get("suppressed-counts") else everywhere.keys() - here.keys()
            ok = not (nobody and model.get("min", 0))
        if ok:
            yield node


MODELS = st.one_of(
    st.builds(lambda k: {"model": "k-map", "k": k}, st.integers(1, 6)),
    st.builds(
        lambda low, high, counts: {"model": "delta-presence", "min": low, "max": high, "suppressed-counts": counts},
        st.sampled_from([0, 0.1, 0.25]),
        st.sampled_from([0.3, 0.5, 0.7, 1.0]),
        st.booleans(),
    ),
)


@settings(naive.examples(150), suppress_health_check=list(HealthCheck))
@given(PEOPLE, PEOPLE, MODELS, st.sampled_from([0, 0.2, 0.5]), st.booleans())
def test_the_search_finds_what_brute_force_finds(tmp_path, table, others, model, share, show):
    """And verify accepts what the search found, or it would be refused."""
    people = table + others
    pd.DataFrame(people, columns=["p", "q"]).to_csv(tmp_path / "people.csv", index=False)
    column = {"role": "quasi-identifier", "hierarchy": ROWS}
    policy = sh.Policy(
        attributes={"p": column, "q": column},
        require=[{**model, "population": str(tmp_path / "people.csv")}],
        method={"suppression": share, "metric": "height"},
        release={"suppressed": "show" if show else "drop"},
    )
    nodes = list(allowed(model, table, people, int(Fraction(str(share)) * len(table)), show=show))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sh.ShoalWarning)
        try:
            release = sh.anonymize(pd.DataFrame(table, columns=["p", "q"]), policy)
        except Infeasible:
            assert not nodes
            return
    found = tuple(release.plan.recoding.levels.values())
    assert found in nodes
    assert sum(found) == min(map(sum, nodes))


# from Python


def test_frames(tmp_path):
    people = pd.DataFrame({"age": [20 + i % 40 for i in range(120)], "sex": ["f", "m"] * 60})
    people.to_csv(tmp_path / "people.csv", index=False)
    policy = sh.Policy(
        attributes={"age": AGE, "sex": SEX},
        require=[{"model": "delta-presence", "population": tmp_path / "people.csv", "max": 0.5}],
    )
    release = sh.anonymize(people.iloc[:30].reset_index(drop=True), policy)
    release.save(tmp_path / "out")
    verdicts = sh.verify(tmp_path / "out", original=people.iloc[:30].reset_index(drop=True), population=people)
    assert all(verdict.holds for verdict in verdicts)
    attained = next(v.attained for v in verdicts if v.promise == "delta-presence")
    assert attained["max"] <= 0.5


def test_lattice_and_compare(register):
    table = sh.lattice(register.data, register.folder / "policy.toml")
    assert any(node.complies for node in table.nodes)
    found = sh.compare(register.data, register.folder / "policy.toml", algorithms=["optimal", "samarati"])
    assert len(found.runs) == 2
