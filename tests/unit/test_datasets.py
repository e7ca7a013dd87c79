import hashlib
import threading
import tomllib
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv

from shoal import datasets
from shoal.datasets import adult, census, census_hierarchies, main, write_census
from shoal.errors import BadData

QIS = ["age", "sex", "race", "education", "marital-status", "country", "workclass", "occupation"]
ADULT = Path(__file__).parents[3] / "shared/data/adult_uci"
LINE = "39, State-gov, 1, Bachelors, 13, Never-married, ?, Wife, White, Female, 0, 0, 40, Cuba, >50K"
FILES = {"adult.data": f"{LINE}\n\n".encode(), "adult.test": f"|1x3 Cross validator\n{LINE}.\n\n".encode()}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return census()


def mean_age(people, column, value):
    return pc.mean(people.filter(pc.equal(people[column], value))["age"]).as_py()


def share(people, column, value, **where):
    for name, wanted in where.items():
        people = people.filter(pc.is_in(people[name], pa.array(wanted)))
    return pc.mean(pc.equal(people[column], value).cast(pa.float64())).as_py()


def leaf_sets(rows):
    """Per level, the leaves under each label."""
    levels = [defaultdict(set) for _ in rows[0]]
    for row in rows:
        for level, label in zip(levels, row, strict=True):
            level[label].add(row[0])
    return levels


def test_a_seed_fixes_the_census():
    assert census(500, seed=7).equals(census(500, seed=7))
    assert not census(500, seed=7).equals(census(500, seed=8))


def test_the_columns(people):
    assert people.column_names == [*QIS, "income", "disease"]
    assert people.schema.field("age").type == pa.int64()
    assert all(people.schema.field(name).type == pa.string() for name in people.column_names[1:])
    assert sum(column.null_count for column in people.columns) == 0


@pytest.mark.parametrize("rows", [0, 1, 10])
def test_any_number_of_rows(rows):
    assert census(rows).num_rows == rows


@pytest.mark.parametrize("wrong", [{"rows": -1}, {"seed": -1}])
def test_negative_numbers_are_refused(wrong):
    with pytest.raises(BadData, match="0 or more"):
        census(**wrong)


@pytest.mark.parametrize("seed", range(3))
def test_about_half_of_the_people_are_told_apart(seed):
    assert 0.4 <= census(seed=seed).group_by(QIS).aggregate([]).num_rows / 30_000 <= 0.7


def test_every_row_of_weights_has_one_weight_per_outcome():
    leaves = {name: len(rows) for name, rows in census_hierarchies().items()} | {"disease": len(datasets.DISEASES)}
    for table, outcome in [
        (datasets.RACE_BY_CONTINENT, "race"),
        (datasets.EDUCATION_BY_AGE, "education"),
        (datasets.MARITAL_BY_AGE | {0: datasets.MARITAL_OF_MEN}, "marital-status"),
        (datasets.OCCUPATION_BY_EDUCATION | {"": datasets.OCCUPATION_OF_MEN}, "occupation"),
        (datasets.WORKCLASS_BY_OCCUPATION, "workclass"),
        (datasets.DISEASE_BY_AGE | {0: datasets.DISEASE_OF_MEN}, "disease"),
    ]:
        assert {len(weights) for weights in table.values()} == {leaves[outcome]}


def test_draws_follow_the_weights():
    rng = datasets.np.random.default_rng(0)
    given = datasets.np.repeat([0, 1], 10_000)
    drawn = datasets._draw(rng, [[0, 1, 3, 0], [1, 0, 0, 1]], given)
    counts = [datasets.np.bincount(drawn[given == row], minlength=4) / 10_000 for row in (0, 1)]
    assert counts[0] == pytest.approx([0, 0.25, 0.75, 0], abs=0.02)
    assert counts[1] == pytest.approx([0.5, 0, 0, 0.5], abs=0.02)
    assert counts[0][0] == counts[0][3] == counts[1][1] == counts[1][2] == 0


@pytest.mark.parametrize("column", QIS)
def test_a_hierarchy_is_complete_nested_and_unambiguous(people, column):
    rows = census_hierarchies()[column]
    levels = leaf_sets(rows)
    assert len(levels[0]) == len(rows), "a leaf has one row"
    assert set(people[column].cast(pa.string()).to_pylist()) <= set(levels[0])
    assert levels[-1] == {"*": set(levels[0])}
    for low, high in pairwise(levels):
        assert all(any(fine <= coarse for coarse in high.values()) for fine in low.values())
    meanings = {(label, frozenset(leaves)) for level in levels for label, leaves in level.items()}
    assert len(meanings) == len({label for label, _ in meanings})


def test_the_lattice_has_thousands_of_nodes():
    hierarchies = census_hierarchies()
    assert list(hierarchies) == QIS
    nodes = 1
    for rows in hierarchies.values():
        nodes *= len(rows[0])
    assert nodes == 6480


def test_the_widowed_are_older_and_more_often_women(people):
    widowed = mean_age(people, "marital-status", "Widowed")
    assert widowed > mean_age(people, "marital-status", "Married") + 5
    assert mean_age(people, "marital-status", "Married") > mean_age(people, "marital-status", "Never-married") + 5
    widows, widowers = (share(people, "marital-status", "Widowed", sex=[sex]) for sex in ("Female", "Male"))
    assert widows > 2 * widowers


def test_education_takes_years(people):
    assert mean_age(people, "education", "Doctorate") > mean_age(people, "education", "Some-college")
    assert pc.min(people.filter(pc.equal(people["education"], "Doctorate"))["age"]).as_py() >= 25


def test_income_rises_with_education_hours_and_occupation(people):
    steps = ["Grade-7-8", "School-diploma", "Bachelor", "Master"]
    shares = [share(people, "income", ">50K", education=[step]) for step in steps]
    assert shares == sorted(shares)
    assert shares[-1] > 5 * shares[0]
    men, women = (share(people, "income", ">50K", sex=[sex]) for sex in ("Male", "Female"))
    assert men > women
    middle, young = (share(people, "income", ">50K", age=list(ages)) for ages in (range(40, 60), range(17, 25)))
    assert middle > young
    managers, cleaners = (share(people, "income", ">50K", occupation=[o]) for o in ("Manager", "Cleaning"))
    assert managers > cleaners


def test_occupation_depends_on_sex_and_education(people):
    assert share(people, "occupation", "Craft", sex=["Male"]) > 3 * share(people, "occupation", "Craft", sex=["Female"])
    taught = share(people, "occupation", "Teacher", education=["Master"])
    assert taught > 5 * share(people, "occupation", "Teacher", education=["School-diploma"])


def test_disease_depends_on_age_and_sex(people):
    assert mean_age(people, "disease", "Heart-disease") > mean_age(people, "disease", "Asthma") + 5
    women, men = (share(people, "disease", "Migraine", sex=[sex]) for sex in ("Female", "Male"))
    assert women > men


def test_the_written_census_reads_back(tmp_path):
    folder = write_census(tmp_path / "new" / "folder", rows=200, seed=3, k=7)
    assert csv.read_csv(folder / "census.csv").equals(census(200, seed=3))
    for name, rows in census_hierarchies().items():
        lines = (folder / f"hierarchies/{name}.csv").read_text(encoding="utf-8").splitlines()
        assert [line.split(";") for line in lines] == rows


def test_the_written_policy(tmp_path):
    policy = tomllib.loads((write_census(tmp_path, rows=5, k=7) / "policy.toml").read_text(encoding="utf-8"))
    attributes = policy["attributes"]
    assert [name for name, a in attributes.items() if a["role"] == "quasi-identifier"] == QIS
    assert attributes["age"]["hierarchy"] == {"intervals": [5, 10, 20]}
    assert all((tmp_path / attributes[name]["hierarchy"]["csv"]).is_file() for name in QIS[1:])
    assert attributes["income"]["role"] == "insensitive"
    assert attributes["disease"]["role"] == "sensitive"
    assert policy["require"] == [{"model": "k-anonymity", "k": 7}]
    assert policy["method"] == {"algorithm": "optimal", "suppression": 0.02, "metric": "loss"}


def test_the_policy_for_publication(tmp_path):
    policy = tomllib.loads((write_census(tmp_path, rows=5) / "policy.toml").read_text(encoding="utf-8"))
    assert policy["data"] == {"others": "drop"}
    assert [*policy["attributes"]] == ["age", "sex", "marital-status", "occupation", "disease"]
    assert policy["attributes"]["disease"]["role"] == "sensitive"
    assert policy["require"] == [{"model": "k-anonymity", "k": 10}, {"model": "alpha-k", "alpha": 0.4, "k": 10}]
    assert policy["method"] == {"algorithm": "mondrian"}


def test_main_prints_what_it_wrote(tmp_path, capsys):
    main([str(tmp_path), "--rows", "20", "--seed", "1"])
    printed = {Path(line) for line in capsys.readouterr().out.splitlines()}
    assert printed == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert csv.read_csv(tmp_path / "census.csv").equals(census(20, seed=1))


def test_main_says_in_one_sentence_what_is_wrong(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), "--rows", "-1"])
    assert "0 or more" in capsys.readouterr().err


@pytest.mark.skipif(not ADULT.is_dir(), reason=f"UCI's files are not in {ADULT}")
def test_adult_as_published():
    table = adult(ADULT)
    assert table.column_names == datasets.ADULT_COLUMNS
    assert table.num_rows == 48_842
    assert table.drop_null().num_rows == 45_222
    assert set(table["salary-class"].to_pylist()) == {"<=50K", ">50K"}
    assert pc.min_max(table["age"]).as_py() == {"min": 17, "max": 90}
    for name, sha256 in datasets.ADULT_SHA256.items():
        assert hashlib.sha256((ADULT / name).read_bytes()).hexdigest() == sha256


@pytest.mark.parametrize(("cell", "message"), [("39,", "line 1: Adult has 15 columns, not 16"), ("SECRET", "text")])
def test_a_malformed_adult_is_refused_without_showing_a_cell(tmp_path, cell, message):
    for name in FILES:
        (tmp_path / name).write_text(LINE.replace("39", cell), encoding="utf-8")
    with pytest.raises(BadData, match=message) as caught:
        adult(tmp_path)
    assert "SECRET" not in str(caught.value)


@pytest.fixture
def uci(monkeypatch, tmp_path):
    """A server of FILES in UCI's place; yields what it serves and the list of what was asked for."""
    served, asked = dict(FILES), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.rpartition("/")[2]
            asked.append(name)
            self.send_response(200 if name in served else 404)
            self.end_headers()
            self.wfile.write(served.get(name, b""))

        def log_message(self, *args):
            pass

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    monkeypatch.setattr(datasets, "ADULT_SHA256", sums)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setattr(datasets, "ADULT_URL", f"http://127.0.0.1:{server.server_port}/adult/")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served, asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("folder", [None, Path("no/such/folder")])
def test_adult_is_downloaded_once(uci, tmp_path, folder):
    _, asked = uci
    table = adult(folder)
    assert table.num_rows == 2
    assert table["salary-class"].to_pylist() == [">50K", ">50K"]
    assert table["occupation"].null_count == 2
    assert adult(folder).equals(table)
    assert asked == ["adult.data", "adult.test"]
    assert {path.name for path in (tmp_path / "cache/shoal").iterdir()} == set(FILES)


def test_a_damaged_cache_is_fetched_again(uci, tmp_path):
    _, asked = uci
    adult()
    (tmp_path / "cache/shoal/adult.test").write_bytes(b"half")
    assert adult().num_rows == 2
    assert asked == ["adult.data", "adult.test", "adult.test"]


def test_wrong_bytes_are_refused_and_not_kept(uci, tmp_path):
    served, _ = uci
    served["adult.data"] = b"a login page"
    with pytest.raises(BadData, match=r"SHA-256 .* by hand and pass their folder"):
        adult()
    assert not list((tmp_path / "cache").rglob("adult*"))


def test_an_absent_file_is_refused(uci):
    served, _ = uci
    del served["adult.test"]
    with pytest.raises(BadData, match=r"adult\.test could not be fetched .*404"):
        adult()


def test_no_network_is_one_sentence(monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise ConnectionRefusedError("no network")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(datasets, "urlopen", refuse)
    with pytest.raises(BadData, match=r"no network.*by hand and pass their folder"):
        adult()
