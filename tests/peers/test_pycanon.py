"""pycanon measures what we measure: the same figures, and where it is wrong, how.

It runs in an environment of its own (benchmarks/peers/environment.py).
"""

import csv
import importlib.util
import json
import subprocess
from math import floor, isnan, log
from pathlib import Path

import pytest

from shoal.api.analysis import measure
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.models import MODELS

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.csv"
QUASI = ["age", "race", "sex", "education", "marital-status"]

pytestmark = [pytest.mark.peers, pytest.mark.slow]
needs_adult = pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not beside the repository")


@pytest.fixture(scope="module")
def python():
    spec = importlib.util.spec_from_file_location("environment", PEERS / "environment.py")
    environment = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(environment)
    found = environment.peer_python()
    if found is None:
        pytest.skip("pycanon cannot be installed: is there a network, or a package index?")
    return found


def pycanon(python, file, quasi, sensitive, kind="text"):
    """What pycanon says, measure by measure."""
    command = [python, PEERS / "run_pycanon.py", file, ";", ",".join(quasi), sensitive, kind]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {name: one["says"] for name, one in said.items()}


def ours(file, quasi, sensitive):
    found = measure(file, quasi_identifiers=quasi, sensitive=sensitive)
    return {each.model: each.attained for each in found.models}


def write(folder, rows):
    path = folder / "table.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows([("q", "s"), *rows])
    return path


def agree(theirs, mine):
    """What both define alike."""
    assert theirs["k"] == mine["k-anonymity"]["k"]
    assert theirs["alpha-k"] == [pytest.approx(mine["alpha-k"]["alpha"], rel=1e-12), mine["k-anonymity"]["k"]]
    assert theirs["l"] == mine["distinct-l-diversity"]["l"]
    assert theirs["basic-beta"] == pytest.approx(mine["beta-likeness"]["basic"], rel=1e-9)
    assert theirs["delta"] == pytest.approx(mine["delta-disclosure"]["lenient"], rel=1e-9)
    # pycanon gives entropy l as int(): right where it is not whole, else one too low where a float falls short
    entropy = mine["entropy-l-diversity"]["l"]
    assert theirs["entropy-l"] in {floor(entropy), floor(entropy - 1e-9)}


@needs_adult
def test_adult(python):
    """k, (α,k), l, entropy l, t, basic β and δ agree; (c,l) and enhanced β of pycanon are other things."""
    theirs, mine = pycanon(python, ADULT, QUASI, "occupation"), ours(ADULT, QUASI, "occupation")
    agree(theirs, mine)
    assert theirs["t"] == pytest.approx(mine["t-closeness"]["t"], rel=1e-9)
    assert isnan(theirs["recursive-cl"][0])  # l = 1: it gives no c, and rightly so
    assert mine["beta-likeness"]["enhanced"] is None  # no β is enough, but pycanon gives −ln of the rarest value
    assert theirs["enhanced-beta"] == pytest.approx(log(30162 / 9))


@needs_adult
def test_adult_in_large_classes(python):
    """The same where classes have several values each; (c,l) is understated by sorting the counts upwards."""
    quasi = ["race", "sex"]
    theirs, mine = pycanon(python, ADULT, quasi, "occupation"), ours(ADULT, quasi, "occupation")
    agree(theirs, mine)
    assert theirs["t"] == pytest.approx(mine["t-closeness"]["t"], rel=1e-9)
    c, l = theirs["recursive-cl"]
    assert l == mine["distinct-l-diversity"]["l"] > 1
    assert c < recursive_c(ADULT, quasi, "occupation", int(l))


@needs_adult
def test_ordered_distances(python):
    """pycanon takes the order of numbers; we say both figures."""
    theirs = pycanon(python, ADULT, ["race", "sex"], "age", "number")
    mine = ours(ADULT, ["race", "sex"], "age")
    agree(theirs, mine)
    assert theirs["t"] == pytest.approx(mine["t-closeness"]["ordered"], rel=1e-9)


def test_recursive_cl_of_pycanon_is_wrong(python, tmp_path):
    """Counts 8, 1, 1 need c > 8 for l = 3; pycanon says 1, since it takes the rarest value for the most frequent."""
    rows = [("a", "x")] * 8 + [("a", "y"), ("a", "z")]
    path = write(tmp_path, rows)
    assert pycanon(python, path, ["q"], "s")["recursive-cl"] == [1, 3]
    assert recursive_c(path, ["q"], "s", 3) > 8


def test_entropy_l_of_pycanon_is_truncated(python, tmp_path):
    """Two equally frequent values are 2-diverse; pycanon says 1."""
    path = write(tmp_path, [("a", "x"), ("a", "y")])
    assert pycanon(python, path, ["q"], "s")["entropy-l"] == 1
    assert ours(path, ["q"], "s")["entropy-l-diversity"]["l"] == pytest.approx(2)


def test_pycanon_skips_absent_values(python, tmp_path):
    """δ to the letter is infinite where a class lacks a value; pycanon says ln 2."""
    path = write(tmp_path, [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y")])
    assert pycanon(python, path, ["q"], "s")["delta"] == pytest.approx(log(2))
    mine = ours(path, ["q"], "s")["delta-disclosure"]
    assert (mine["delta"], mine["lenient"]) == (None, pytest.approx(log(2)))


def test_pycanon_caps_enhanced_beta_instead_of_refusing_it(python, tmp_path):
    """Gains of 0.8 where −ln ½ is all that is allowed: no β is enough; pycanon says ln 2."""
    path = write(tmp_path, [("a", "x")] * 9 + [("a", "y"), ("b", "x")] + [("b", "y")] * 9)
    said = pycanon(python, path, ["q"], "s")
    assert said["enhanced-beta"] == pytest.approx(log(2))
    assert said["basic-beta"] == pytest.approx(0.8)
    mine = ours(path, ["q"], "s")["beta-likeness"]
    assert (mine["basic"], mine["enhanced"]) == (0.8, None)


def test_one_sensitive_number_is_no_error(python, tmp_path):
    """Bad input 25: one sensitive value in the whole table."""
    path = write(tmp_path, [("a", "1"), ("b", "1")])
    assert pycanon(python, path, ["q"], "s", "number")["t"] == "ZeroDivisionError"
    assert ours(path, ["q"], "s")["t-closeness"]["t"] == 0


def recursive_c(file, quasi, sensitive, l):
    """The least c for which the table is recursively (c,l)-diverse."""
    table = ArrowEngine().read(file, ReadOptions()).table
    coded = {name: (table[name].codes, table[name].size) for name in (*quasi, sensitive)}
    classes = FrequencySet.count({name: coded[name] for name in quasi}, {sensitive: coded[sensitive]})
    counts = classes.class_counts(CountInterpretation({sensitive: table[sensitive].texts.to_pylist()}))
    return MODELS["recursive-cl-diversity"](l=l, c=1, attribute=sensitive).attained(counts)["c"]
