"""The tables of the five papers, typed in, and what the commands print of them."""

import json

import pyarrow as pa
import pytest
import tomli_w

import shoal as sh
from shoal.attacks.join import Join
from shoal.errors import BadInput

# S2.1, §1.2 of the survey
HOSPITAL = """DOB,Sex,Zipcode,Disease
1/21/76,Male,53715,Heart Disease
4/13/86,Female,53715,Hepatitis
2/28/76,Male,53703,Brochitis
1/21/76,Male,53703,Broken Arm
4/13/86,Female,53706,Flu
2/28/76,Female,53706,Hang Nail
"""
VOTERS = """Name,DOB,Sex,Zipcode
Andre,1/21/76,Male,53715
Beth,1/10/81,Female,55410
Carol,10/1/44,Female,90210
Dan,2/21/84,Male,02174
Ellen,4/19/72,Female,02237
"""


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hospital.csv").write_text(HOSPITAL)
    (tmp_path / "voters.csv").write_text(VOTERS)


JOIN = [
    "attack",
    "join",
    "hospital.csv",
    "--register",
    "voters.csv",
    "--on",
    "DOB,Sex,Zipcode",
    "--sensitive",
    "Disease",
]


@pytest.mark.usefixtures("survey")
def test_join_on_names_the_quasi_identifiers_of_a_plain_table(shoal):
    found = shoal(*JOIN, "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert (told["exposed"], told["of"]) == (1, 5)
    assert told["figures"]["attributes"] == ["DOB", "Sex", "Zipcode"]
    assert told["figures"]["unique_matches"] == 1
    assert "people" not in told
    assert "Andre" not in found.out


@pytest.mark.usefixtures("survey")
def test_join_reads_off_that_andre_has_heart_disease(shoal):
    found = shoal(*JOIN, "--name-column", "Name")
    assert found.code == 0, found.err
    lines = [line.strip().split(None, 2) for line in found.out.splitlines()]
    assert [line for line in lines if line[:1] == ["Andre"]] == [["Andre", "1", "Heart Disease"]]
    assert "Beth" not in found.out
    assert "do not publish them" in found.err


@pytest.mark.usefixtures("survey")
def test_join_without_the_zip_code_leaves_andre_two_candidates(shoal):
    found = shoal("attack", "join", "hospital.csv", "--register", "voters.csv", "--on", "DOB,Sex", "--json")
    told = json.loads(found.out)["figures"]
    assert (told["least_candidates"], told["unique_matches"]) == (2, 0)


@pytest.mark.usefixtures("survey")
def test_join_in_python_takes_a_plain_table_too():
    how = Join("voters.csv", attributes=["DOB", "Sex", "Zipcode"], name_column="Name")
    found = sh.attack("hospital.csv", how, sensitive="Disease")
    assert found.named[0]["learned"] == {"Disease": "Heart Disease"}


@pytest.mark.usefixtures("survey")
def test_named_quasi_identifiers_stay_those_of_the_table():
    how = Join("voters.csv", attributes=["DOB", "Zipcode"])
    with pytest.raises(BadInput, match="there is no quasi-identifier 'Zipcode'"):
        sh.attack("hospital.csv", how, quasi_identifiers=["DOB", "Sex"])
    with pytest.raises(BadInput, match="name its quasi-identifiers"):
        sh.attack("hospital.csv", Join("voters.csv"), sensitive="Disease")


def test_explain_prints_a_meaning(shoal):
    found = shoal("explain", "distance", "vector")
    assert found.code == 0, found.err
    assert found.out.startswith("distance vector: word of a paper")
    told = json.loads(shoal("explain", "MaxSup", "--json").out)
    assert told["meanings"][0]["use"][0] == "[method] suppression = { rows = 2 }"
    assert "MaxSup" in json.loads(shoal("explain", "--json").out)["terms"]
    assert "MaxSup" in shoal("explain").out


def test_explain_refuses_an_unknown_term_with_the_nearest_names(shoal):
    found = shoal("explain", "distnce")
    assert found.code == 2
    assert "'distance vector'" in found.err


RACE = {
    "Race": ["asian"] * 5 + ["black"] * 2 + ["white"] * 2,
    "ZIP": ["94142", "94141", "94139", "94139", "94139", "94138", "94139", "94139", "94141"],
}


def race_policy(**method):
    return {
        "attributes": {
            "ZIP": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}, "max-level": 2},
            "Race": {"role": "quasi-identifier", "hierarchy": {"tree": {"person": ["asian", "black", "white"]}}},
        },
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"suppression": {"rows": 2}, **method},
    }


def test_maxsup_2_gives_exactly_the_two_minimal_generalisations():
    """S2.5: Race × ZIP, k = 2."""
    release = sh.anonymize(pa.table(RACE), race_policy(model="AG_TS", algorithm="incognito", minimal=True))
    assert set(release.summary.method.solutions) == {(0, 1), (1, 0)}
    assert release.summary.rows.released == 7


def test_lattice_lists_vectors_in_the_order_of_the_policy():
    table = sh.lattice(pa.table(RACE), race_policy())
    assert table.lattice.attributes == ("ZIP", "Race")
    assert table.lattice.top == (2, 1)
    assert [row.levels for row in table.nodes] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert [row.levels for row in table.nodes if row.height == 1 and row.complies] == [(0, 1), (1, 0)]
    assert table.levels_of(table.best) == {"ZIP": 1, "Race": 0}


def test_a_listed_vector_is_read_in_the_order_of_the_policy(desk, shoal):
    desk.table("Race,ZIP\n" + "".join(f"{race},{zip_}\n" for race, zip_ in zip(*RACE.values(), strict=True)))
    (desk.folder / "policy.toml").write_text(tomli_w.dumps({"format": 1, **race_policy()}))
    listed = shoal("lattice", desk.data, "--policy", desk.folder / "policy.toml", "--node", "[1,0]")
    assert listed.code == 0, listed.err
    assert "1 nodes [ZIP, Race]" in listed.out
    assert "--node ZIP=1,Race=0" in listed.err
