"""Anatomy: two tables, verified together (models.md 1.17)."""

import json
from collections import Counter, defaultdict

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal as sh

ATTRIBUTES = {"name": "identifier", "age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}
DIVERSE = [{"model": "distinct-l-diversity", "l": 2}]


@pytest.fixture
def anatomy(desk):
    desk.policy(attributes=ATTRIBUTES, require=DIVERSE, method={"algorithm": "anatomy"})
    assert desk.anonymize().code == 0
    return desk


def test_the_two_tables_tell_the_truth_and_no_more(anatomy):
    rows = [line.split(",") for line in (anatomy.out / "data.csv").read_text().splitlines()]
    told = [line.split(",") for line in (anatomy.out / "sensitive.csv").read_text().splitlines()]
    assert rows[0] == ["age", "sex", "group"]
    assert told[0] == ["group", "disease", "count"]
    people = [line.split(",") for line in anatomy.data.read_text().splitlines()[1:]]
    assert sorted(row[:2] for row in rows[1:]) == sorted(person[1:3] for person in people)
    groups = defaultdict(Counter)
    for group, disease, count in told[1:]:
        groups[group][disease] += int(count)
    assert Counter(row[2] for row in rows[1:]) == {group: sum(values.values()) for group, values in groups.items()}
    assert all(2 * max(values.values()) <= sum(values.values()) for values in groups.values())
    assert sum(groups.values(), Counter()) == Counter(person[3] for person in people)


def test_the_manifest_and_the_page_say_what_it_is_and_what_is_weak(anatomy):
    public = json.loads((anatomy.out / "manifest.json").read_text())
    assert public["data"]["separate"]["file"] == "sensitive.csv"
    assert public["labels"] == {}
    page = (anatomy.out / "report.html").read_text()
    assert "as they are" in page
    assert "who is in the table" in page
    private = json.loads((anatomy.private / "manifest.json").read_text())
    assert private["recoding"]["kind"] == "groups"


def test_groups_do_not_hide_rows_from_the_prosecutor_attack(anatomy):
    """Rows are shown as they are: the attack that looks a person up counts their values, not their groups."""
    people = [tuple(line.split(",")[1:3]) for line in anatomy.data.read_text().splitlines()[1:]]
    alone = sum(count == 1 for count in Counter(people).values())
    assert alone == 12
    found = {finding.attack: finding for finding in sh.audit(anatomy.out).findings}
    assert (found["prosecutor"].exposed, found["prosecutor"].figures["smallest_class"]) == (alone, 1)
    assert "Can somebody's row be found?" in (anatomy.out / "report.html").read_text().replace("&#39;", "'")


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_changed_count_is_found_without_the_original(anatomy):
    told = (anatomy.out / "sensitive.csv").read_text().splitlines()
    change(anatomy.out / "sensitive.csv", told[1], told[1][:-1] + "2")
    ran = anatomy.verify()
    assert ran.code == 4
    assert "more or fewer sensitive values than rows" in ran.err


def test_exchanged_values_are_found_with_the_original(anatomy):
    """Two groups exchange a value: the sizes are as they were."""
    lines = (anatomy.out / "sensitive.csv").read_text().splitlines()
    one = next(i for i in range(1, len(lines)) if lines[i].split(",")[1] == "flu")
    group = lines[one].split(",")[0]
    mine = {line.split(",")[1] for line in lines[1:] if line.split(",")[0] == group}
    other = next(value for value in ("cold", "hiv", "flu") if value not in mine)
    change(anatomy.out / "sensitive.csv", lines[one], lines[one].replace("flu", other))
    ran = anatomy.verify("--original", anatomy.data, "--json")
    verdicts = {verdict["promise"]: verdict for verdict in json.loads(ran.out)["verdicts"]}
    assert ran.code == 4
    assert verdicts["truthful"]["status"] == "fails"


def test_rows_that_change_groups_are_found_with_the_original(anatomy):
    lines = (anatomy.out / "data.csv").read_text().splitlines()
    first, other = (
        lines[1].split(","),
        next(line.split(",") for line in lines[2:] if line.split(",")[2] != lines[1].split(",")[2]),
    )
    lines[1] = ",".join([*first[:2], other[2]])
    at = lines.index(",".join(other))
    lines[at] = ",".join([*other[:2], first[2]])
    (anatomy.out / "data.csv").write_text("\n".join(lines) + "\n")
    ran = anatomy.verify("--original", anatomy.data, "--json")
    assert ran.code == 4
    assert "truthful" in [v["promise"] for v in json.loads(ran.out)["verdicts"] if v["status"] == "fails"]


def test_verify_reports_a_missing_table(anatomy):
    (anatomy.out / "sensitive.csv").unlink()
    ran = anatomy.verify()
    assert (ran.code, "out/sensitive.csv: the released table is missing" in ran.err) == (2, True)


TABLE = {"age": [1, 2, 3, 4, 5, 6], "disease": ["a", "b", "c", "a", "b", "c"]}
POLICY = {
    "attributes": {"age": "quasi-identifier", "disease": "sensitive"},
    "require": [{"model": "alpha-k", "alpha": 0.34, "k": 3, "attribute": "disease"}],
    "method": {"algorithm": "anatomy"},
}


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame])
def test_frames_come_back_as_two_frames_of_their_kind(frame):
    release = sh.anonymize(frame(TABLE), POLICY)
    assert type(release.data) is type(release.separate_data) is type(frame(TABLE))
    assert list(release.data["age"]) == list(frame(TABLE)["age"])
    groups = (
        pa.table(release.separate_data) if frame is not pd.DataFrame else pa.Table.from_pandas(release.separate_data)
    )
    assert groups.num_rows == 6, "two groups of three values, each once"


def test_a_value_too_frequent_for_l_is_refused_without_its_name(desk):
    desk.policy(
        attributes=ATTRIBUTES, require=[{"model": "distinct-l-diversity", "l": 3}], method={"algorithm": "anatomy"}
    )
    err = desk.refused(3)
    assert "flu" not in err


def test_a_release_in_two_tables_can_be_replaced(anatomy):
    assert anatomy.anonymize().code == 2
    assert anatomy.anonymize("--force").code == 0
    assert anatomy.verify("--original", anatomy.data).code == 0
