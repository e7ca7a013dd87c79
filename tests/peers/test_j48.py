"""Weka's J48 with its defaults builds the tree that we build, node by node (S1.1).

It runs in an environment of its own (benchmarks/peers/environment.py).
"""

import importlib.util
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv

from shoal.data.codes import encode
from shoal.mining.c45 import C45
from shoal.mining.decision_tree import argmax_of_rows

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

pytestmark = [pytest.mark.peers, pytest.mark.slow]


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, PEERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def python():
    if shutil.which("java") is None:
        pytest.skip("J48 needs Java: install a JDK (Debian/Ubuntu: apt install openjdk-17-jdk-headless)")
    found = loaded("environment").peer_python()
    if found is None:
        pytest.skip("Weka cannot be installed: is there a network, or a package index?")
    return found


def j48(python, tables, folder):
    """What J48 says of each table: features by name, and the target."""
    files = [folder / f"{at}.arff" for at in range(len(tables))]
    for (columns, target), file in zip(tables, files, strict=True):
        loaded("arff").write_arff(list(columns.values()), target, file)
    command = [python, PEERS / "run_j48.py", "1", *files]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout.splitlines()[-1])


def flat(tree):
    """J48's nodes, each before those below it: depth, test, and class, rows and errors of a leaf."""
    stack, out = [(0, "", "", tree)], []
    while stack:
        depth, operator, value, node = stack.pop()
        leaf = len(node) == 3
        out.append((depth, operator, value, node[0], *(node[1:] if leaf else ())))
        if not leaf:
            stack.extend(reversed([(depth + 1, *branch) for branch in node[1]]))
    return out


def ours(learner):
    """The same of our tree, in the words of the ARFF file."""
    tree = learner.tree_
    number = {attribute.name: f"a{at}" for at, attribute in enumerate(tree.attributes)}
    values = {
        attribute.name: {value: f"v{code}" for code, value in enumerate(attribute.shown)}
        if attribute.numbers is None
        else dict(zip(attribute.shown, attribute.numbers.tolist(), strict=True))
        for attribute in tree.attributes
    }
    out = []
    for node in tree.nodes():
        last = node.path[-1] if node.path else None
        test = (last.operator, values[last.attribute][last.value]) if last else ("", "")
        is_leaf = node.attribute is None
        said = (f"c{node.label}", node.rows, node.rows - node.correct) if is_leaf else (number[node.attribute],)
        out.append((len(node.path), *test, *said))
    return out


def agree(theirs, columns, target):
    learner = C45().fit_codes(columns, target)
    assert (learner.n_nodes_, learner.n_leaves_) == (theirs["nodes"], theirs["leaves"])
    for mine, other in zip(ours(learner), flat(theirs["tree"]), strict=True):
        depth, operator, value, said, *counts = other
        assert (mine[0], mine[1], mine[3]) == (depth, operator, said)
        assert mine[4:] == pytest.approx(counts, abs=0.0051)  # it shows two decimals
        if operator in {"<=", ">"}:
            assert mine[2] == pytest.approx(float(value), abs=6e-7, rel=1e-12)  # and six of thresholds
        else:
            assert mine[2] == value
    assert argmax_of_rows(learner.predict_proba(columns)).tolist() == theirs["predicted"]


def coded(table, target, features=None):
    names = features or [name for name in table.column_names if name != target]
    return {name: encode(name, table[name]) for name in names}, encode(target, table[target])


# generated tables


def holes(rng, values, share):
    return pa.array(values, mask=rng.random(len(values)) < share)


def nominal(rng, rows, values):
    return np.array([f"v{code:03}" for code in range(values)])[rng.integers(0, values, rows)]


def classes(rng, score, count, noise):
    ranks = np.argsort(np.argsort(score + noise * rng.normal(size=len(score))))
    return pa.array(np.array([f"k{at}" for at in range(count)])[ranks * count // len(score)])


def generated(seed, rows, kinds, count, noise, missing):
    """Columns of some kinds, on which a noisy class depends."""
    rng = np.random.default_rng(seed)
    score, columns = np.zeros(rows), {}
    for at, kind in enumerate(kinds):
        if kind == "number":
            values = rng.normal(size=rows)
            score += values
        elif kind == "integer":
            values = rng.integers(0, 30, rows)
            score += (values > 12) * 1.5
        elif kind == "close":  # values that J48 takes for equal, and some that it does not quite
            values = rng.integers(0, 6, rows) * rng.choice([1e-7, 4e-7, 3e-6, 8e-6, 2e-5], rows)
        else:
            values = nominal(rng, rows, int(kind))
            score += rng.normal(size=int(kind))[[int(value[1:]) for value in values]]
        columns[f"x{at}"] = holes(rng, values, missing)
    columns["class"] = classes(rng, score, count, noise)
    return pa.table(columns)


GENERATED = {
    "nominal": (1, 2000, ["2", "3", "5", "12"], 2, 0.7, 0),
    "nominal, missing": (2, 1500, ["2", "3", "5", "12"], 3, 0.5, 0.1),
    "numeric": (3, 2000, ["number", "number", "integer"], 2, 0.5, 0),
    "numeric, missing": (4, 1200, ["number", "integer", "integer"], 4, 0.5, 0.15),
    "mixed": (5, 3000, ["number", "4", "integer", "9"], 3, 1.0, 0),
    "mixed, missing": (6, 2000, ["number", "4", "integer", "9"], 3, 1.0, 0.2),
    "many values": (7, 800, ["300", "500", "3", "integer"], 2, 0.5, 0.02),
    "very many values only": (8, 500, ["160", "170"], 2, 0.0, 0),
    "many classes": (9, 2000, ["number", "6", "integer"], 25, 0.5, 0.05),
    "nearly equal numbers": (10, 1500, ["close", "close", "integer"], 3, 0.8, 0.05),
    "noise": (11, 1000, ["number", "3", "8"], 2, 50.0, 0.05),
    "no noise": (12, 3000, ["number", "number", "7"], 5, 0.0, 0),
}


@pytest.mark.parametrize("name", GENERATED)
def test_generated_tables_give_the_tree_of_j48(python, tmp_path, name):  # S1.1
    columns, target = coded(generated(*GENERATED[name]), "class")
    (theirs,) = j48(python, [(columns, target)], tmp_path)
    assert theirs["nodes"] > 1 or name == "noise"
    agree(theirs, columns, target)


def small(seed):
    """Anything: few rows, constant and empty columns, ties, rows without a class, values that no row has."""
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([2, 3, 5, 8, 12, 20, 40, 100, 300]))
    kinds = rng.choice(["number", "integer", "close", "2", "3", "8", "40"], rng.integers(1, 6))
    missing = rng.choice([0, 0, 0.05, 0.3])
    table = generated(seed, rows, kinds.tolist(), int(rng.choice([2, 2, 3, 10])), rng.choice([0.0, 0.5, 5.0]), missing)
    table = table.add_column(0, "one", pa.array(["same"] * rows)).add_column(0, "none", pa.nulls(rows, pa.float64()))
    if seed % 3 == 0:
        gone = pa.array(rng.random(rows) < 0.1)
        table = table.set_column(len(kinds) + 2, "class", pc.if_else(gone, None, table["class"]))
    columns, target = coded(table, "class")
    if seed % 4 == 0 and rows > 5:
        half = slice(0, rows // 2)
        columns = {name: replace(column, codes=column.codes[half].copy()) for name, column in columns.items()}
        target = replace(target, codes=target.codes[half].copy())
    return columns, target


def test_small_tables_give_the_trees_of_j48(python, tmp_path):  # S1.1
    tables = [small(seed) for seed in range(300)]
    # J48 refuses a class of one value
    tables = [(c, t) for c, t in tables if len(t.values) > 1 and (t.codes < len(t.values)).any()]
    assert len(tables) > 250
    said = j48(python, tables, tmp_path)
    assert sum(theirs["nodes"] > 1 for theirs in said) > 100
    for theirs, (columns, target) in zip(said, tables, strict=True):
        agree(theirs, columns, target)


# real tables


def uci():
    """UCI's Adult, both parts; what is unknown is null."""
    if not (DATA / "adult_uci").is_dir():
        pytest.skip("adult_uci is not beside the repository")
    sys.path.insert(0, str(PEERS.parent))
    try:
        from adult import adult_uci
    finally:
        sys.path.pop(0)
    return adult_uci()


def real(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not beside the repository")
    return csv.read_csv(DATA / name / f"{name}.csv", parse_options=csv.ParseOptions(delimiter=";"))


def test_adult_with_nine_features_gives_the_tree_of_j48(python, tmp_path):  # S1.1, S1.6
    from_uci = uci()
    complete = from_uci.drop_null()
    assert complete.num_rows == 45_222
    nine = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "hours", "native-country"]
    columns, target = coded(complete, "salary", nine)
    tens = pc.multiply(pc.divide(complete["age"], 10), 10)
    in_tens = pc.binary_join_element_wise("[", tens.cast(pa.string()), ", …)", "")
    generalised = columns | {"age": encode("age", in_tens)}
    everything = coded(from_uci, "salary")  # 48,842 rows, three columns with missing values
    tables = [(columns, target), (generalised, target), everything]
    for theirs, table in zip(j48(python, tables, tmp_path), tables, strict=True):
        agree(theirs, *table)


@pytest.mark.parametrize(
    ("name", "target", "rows"),
    [
        ("adult", "salary-class", None),
        ("adult", "occupation", 8_000),
        ("cup", "GENDER", 10_000),
        ("fars_subset", "iinjury", None),
        ("ss13acs", "Marital status", 30_000),
        ("ss13acs", "Education", 5_000),
        ("creditcard_int", "default-payment-next-month", 6_000),
        ("mach2019_int", "gender", 5_000),
    ],
)
def test_real_tables_give_the_tree_of_j48(python, tmp_path, name, target, rows):  # S1.1
    table = real(name)
    table = table if rows is None else table.take(np.random.default_rng(0).permutation(table.num_rows)[:rows])
    columns, target = coded(table, target)
    (theirs,) = j48(python, [(columns, target)], tmp_path)
    agree(theirs, columns, target)
