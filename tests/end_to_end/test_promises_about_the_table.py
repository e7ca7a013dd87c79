"""Promises about the whole table under a suppression limit: the smallest classes are left out until they hold."""

import csv
import json

import pyarrow as pa
import pytest

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 100]}}
SEX = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
DISEASE = {"role": "sensitive"}
ATTRIBUTES = {"age": AGE, "sex": SEX, "disease": DISEASE}
ROWS = [(21, "f")] * 6 + [(25, "f")] * 6 + [(34, "m")] * 5 + [(41, "m"), (52, "f"), (63, "m")]
"""Twenty people, three of them alone."""
TABLE = "age,sex,disease\n" + "".join(f"{age},{sex},flu\n" for age, sex in ROWS)


def released(desk):
    return csv.DictReader((desk.out / "data.csv").read_text("utf-8").splitlines())


def statuses(ran):
    return {verdict["promise"]: verdict["status"] for verdict in json.loads(ran.out)["verdicts"]}


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
@pytest.mark.parametrize("algorithm", ["optimal", "incognito", "samarati"])
def test_rows_that_are_alone_are_suppressed_instead_of_generalising_all(desk, algorithm, engine):
    """One in eighteen may be alone: two of the three are left out, nothing is generalised, and the release verifies."""
    desk.table(TABLE)
    desk.policy(
        ATTRIBUTES,
        [{"model": "sample-uniqueness", "max": 0.06}],
        method={"algorithm": algorithm, "suppression": 0.1, "metric": "loss"},
    )
    ran = desk.anonymize("--json", "--engine", engine)
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    assert (said["rows"]["suppressed"], said["classes"]["min"]) == (2, 1)
    assert said["models"][0]["attained"]["max"] == pytest.approx(1 / 18)
    assert set(statuses(desk.verify("--original", desk.data, "--json")).values()) == {"holds"}
    shown = sorted(row["age"] for row in released(desk))
    assert shown == ["21"] * 6 + ["25"] * 6 + ["34"] * 5 + ["63"]  # of equal ones, the first in order are left out


def test_the_row_map_names_the_promise(desk):
    desk.table(TABLE)
    desk.policy(ATTRIBUTES, [{"model": "average-risk", "max": 0.2}], method={"suppression": 0.15, "metric": "loss"})
    assert desk.anonymize().code == 0
    with pa.OSFile(str(desk.private / "rows.arrow")) as file:
        mapped = pa.ipc.open_file(file).read_all().to_pylist()
    why = [row for row in mapped if "average-risk" in row.values()]
    assert len(why) == 3


def test_a_limit_that_is_too_small_says_so(desk):
    desk.table("age,sex,disease\n21,f,flu\n34,m,flu\n")
    desk.policy(
        {"age": AGE | {"max-level": 0}, "sex": SEX, "disease": DISEASE},
        [{"model": "sample-uniqueness", "max": 0.0}],
        method={"suppression": 0.5},
    )
    desk.refused(3, says="whichever of its smallest classes are suppressed, 1 rows at most")


def test_a_suppressed_class_is_no_class_of_share_0_unless_asked(desk):
    """Both people in their thirties are in the table, more than one in two: they are left out."""
    desk.table("age,disease\n21,flu\n22,flu\n31,flu\n32,flu\n")
    desk.table("age\n21\n22\n23\n24\n31\n32\n", "register.csv")
    presence = {"model": "delta-presence", "population": "register.csv", "min": 0.2, "max": 0.5}
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "min-level": 1}
    desk.policy({"age": age, "disease": DISEASE}, [presence], method={"suppression": 0.5})
    ran = desk.anonymize("--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["rows"]["suppressed"] == 2
    checked = desk.verify("--original", desk.data, "--population", desk.folder / "register.csv", "--json")
    assert statuses(checked)["delta-presence"] == "holds"
    desk.policy({"age": age, "disease": DISEASE}, [presence | {"suppressed-counts": True}], method={"suppression": 0.5})
    desk.refused(3, out=desk.folder / "other")


def test_cells_are_suppressed_instead_of_rows_for_a_promise_about_the_table(desk):
    """AG_CS: the node is searched with rows left out, and then only cells are: nobody is missing."""
    desk.table(TABLE)
    desk.policy(
        ATTRIBUTES,
        [{"model": "sample-uniqueness", "max": 0.0}],
        method={"generalise": "attribute", "suppress": "cell"},
    )
    ran = desk.anonymize("--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    assert (said["rows"]["released"], said["models"][0]["attained"]["max"]) == (20, 0.0)
