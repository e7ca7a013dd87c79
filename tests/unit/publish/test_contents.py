"""A private folder with a row map: verify holds every row against the input row that it came from."""

import csv
import json

import pyarrow as pa
import pytest

import shoal as sh
from shoal.errors import BadInput
from shoal.publish.contents import load_private

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
POLICY = sh.Policy(attributes={"age": AGE, "disease": "sensitive"}, require=[{"model": "k-anonymity", "k": 2}])
PEOPLE = pa.table({"age": [58, 34, 36, 51], "disease": ["flu", "flu", "hiv", "gout"]})


@pytest.fixture
def out(tmp_path):
    """A release that says of itself that it was recoded row by row, and names no hashes, as early ones did."""
    sh.anonymize(PEOPLE, POLICY).save(tmp_path / "out")
    edit(tmp_path / "out.private", recoding={"kind": "boxes"}, files=None)
    return tmp_path / "out"


def edit(folder, **parts):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))


def rewrite(out, change):
    with (out / "data.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    with (out / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *change(rows)])


def judged(out):
    return {verdict.promise: verdict for verdict in sh.verify(out, original=PEOPLE)}


def test_the_row_map_is_that_of_the_file(out):
    known = load_private(out.with_name("out.private"))
    assert known.rows is not None
    assert known.rows.tolist() == [1, 2, 0, 3]  # sorted by age, then by disease
    assert known.levels == {}
    assert all(verdict.holds for verdict in judged(out).values())


def test_two_rows_exchanged_their_values(out):
    rewrite(out, lambda rows: [[rows[0][0], rows[1][1]], [rows[1][0], rows[0][1]], *rows[2:]])
    found = judged(out)
    assert found["k-anonymity"].holds
    assert found["truthful"].why == "2 released row(s) do not cover an original one in column 'disease'"


def test_a_label_that_does_not_cover(out):
    rewrite(out, lambda rows: [["[30, 35)", row[1]] if row[0] == "[30, 40)" else row for row in rows])
    assert judged(out)["truthful"].why == "1 released row(s) do not cover an original one in column 'age'"


def test_a_wrong_mean_is_detected(out):
    edit(out, statistics={"age": ["age", "mean"]}, labels={})
    rewrite(out, lambda rows: [["35" if row[0] == "[30, 40)" else "54.5", row[1]] for row in rows])
    found = judged(out)
    assert "differ in what columns tell of their class" in found["claim"].why  # nobody asked for means
    assert found["truthful"].holds
    rewrite(out, lambda rows: [["36" if row[0] == "35" else row[0], row[1]] for row in rows])
    assert judged(out)["truthful"].why == "2 released row(s) do not show the mean of their class in column 'age'"


def test_an_observed_range(out):
    edit(out, observed=["age"])
    assert "do not show the range" in judged(out)["truthful"].why
    rewrite(out, lambda rows: [["[34, 36]" if row[0] == "[30, 40)" else "[51, 58]", row[1]] for row in rows])
    assert judged(out)["truthful"].holds


def test_a_manifest_with_statistics_of_unknown_columns_is_refused(out):
    edit(out, statistics={"age_mean": ["age", "mean"]})
    with pytest.raises(BadInput, match="what is said of quasi-identifiers only"):
        sh.verify(out)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (None, "there is no row map"),
        ({"input_row": [1]}, "missing or damaged"),
        ({"input_row": [1, 2], "released_row": ["a", "b"]}, "missing or damaged"),
        ({"input_row": [1, 2, 3], "released_row": [1, 2, 3]}, "has not the rows that the manifest.json tells of"),
        ({"input_row": [1, 2, 3, 4], "released_row": [1, 2, 3, 5]}, "leaves out a released row"),
        ({"input_row": [1, 2, 3, 4], "released_row": [1, 2, 3, 1]}, "names one twice"),
        ({"input_row": [1, 2, 3, 0], "released_row": [1, 2, 3, 4]}, "leaves out a released row"),
        ({"input_row": [1, 2, 3, 4], "released_row": [1, 2, 3, 2**62]}, "leaves out a released row"),
    ],
)
def test_a_missing_or_invalid_row_map_is_refused(out, rows, says):
    path = out.with_name("out.private") / "rows.arrow"
    path.unlink()
    if rows is not None:
        table = pa.table(rows)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(BadInput, match=says):
        sh.verify(out, original=PEOPLE)


@pytest.mark.parametrize("kind", ["node", "spheres", None, ["boxes"]])
def test_an_unknown_kind_of_recoding_is_refused(out, kind):
    edit(out.with_name("out.private"), recoding={"kind": kind})
    with pytest.raises(BadInput, match=r"not the manifest of a private folder|it tells no levels"):
        sh.verify(out, original=PEOPLE)


def test_a_recoding_without_classes_is_not_applied_to_other_rows(out):
    with pytest.raises(BadInput, match=r"out.private/classes.parquet: the classes of this release are missing"):
        sh.apply(out.with_name("out.private"), PEOPLE)
