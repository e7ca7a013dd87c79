"""Rules that tell a sensitive value, and whether they tell it of other people too (S1.2; models.md §2)."""

import json

import pyarrow as pa
import pytest

import shoal as sh
from shoal.attacks.rule_inference import Rules
from shoal.data.codes import Table, encode

TABLE_1 = pa.table(
    {
        "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
        "age": ["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4,
        "nationality": ["*"] * 12,
        "disease": ["Heart Disease"] * 2
        + ["Viral Infection"] * 2
        + ["Cancer", "Heart Disease"]
        + ["Viral Infection"] * 2
        + ["Cancer"] * 4,
    }
)
NAMED = {"quasi_identifiers": ["zip", "age", "nationality"], "sensitive": "disease"}


def test_table_1_of_the_paper():  # S1.2
    found = sh.attack(TABLE_1, Rules(), **NAMED)
    (rule,) = found.figures["rules"]
    assert (rule["antecedent"], rule["consequent"], rule["confidence"]) == (["age = 3*"], "Cancer", 1.0)
    assert (rule["people"], rule["support"], rule["lift"]) == (4, 4.0, pytest.approx(12 / 5))
    assert (found.exposed, found.of) == (4, 12)
    assert sh.attack(TABLE_1, Rules(support=5), **NAMED).exposed == 0
    assert sh.attack(TABLE_1, Rules(values=("Heart Disease",)), **NAMED).exposed == 0
    half = sh.attack(TABLE_1, Rules(at=0.5), **NAMED)
    assert half.figures["channels"] == half.figures["mined_rules"] == 3
    assert half.exposed == 4 + 2 + 2  # of each leaf, those who have what its rule tells


def people(**columns):
    rows = len(next(iter(columns.values())))
    return Table({name: encode(name, pa.array(values)) for name, values in columns.items()}, rows)


def test_a_control_tells_knowledge_of_the_world_from_a_leak():
    """Labels hold for whom they cover; those in their thirties who are not in the table have cancer or not."""
    control = {"zip": ["13068"] * 4, "age": [31, 35, 38, 52], "nationality": ["x"] * 4}
    ill = people(**control, disease=["Cancer", "Cancer", "Cancer", "Cancer"])
    well = people(**control, disease=["Flu", "Flu", "Cancer", "Cancer"])
    released = TABLE_1.set_column(1, "age", pa.array(["<30"] * 4 + ["≥40"] * 4 + ["[30, 40)"] * 4))
    science = sh.attack(released, Rules(control=ill), **NAMED)
    leak = sh.attack(released, Rules(control=well), **NAMED)
    assert science.figures["rules"][0]["outside"]["right"] == 3
    assert science.baseline.guesses == leak.baseline.guesses == 3
    assert leak.baseline.right == 1
    assert leak.figures["leak"] > science.figures["leak"]
    assert "tell 100% right" in science.sentence


def test_rows_held_out_are_not_mined():
    many = pa.concat_tables([TABLE_1] * 10)
    found = sh.attack(many, Rules(held_out=0.25, seed=1), **NAMED)
    assert found.success.guesses <= 40
    assert found.baseline.guesses + found.success.guesses == 40  # all in their thirties
    assert found.baseline.share == 1.0
    assert found == sh.attack(many, Rules(held_out=0.25, seed=1), **NAMED)


def test_rules_infer_numbers_too():
    table = pa.table({"job": ["a", "a", "b", "b", "b", "b"], "wage": [10, 10, 20, 30, 20, 30]})
    found = sh.attack(table, Rules(), quasi_identifiers="job", sensitive="wage")
    assert found.exposed == 2
    assert found.figures["rules"][0]["consequent"] == "10"


@pytest.mark.parametrize(
    ("how", "named", "says"),
    [
        (Rules(), {"quasi_identifiers": "age"}, "name the sensitive attribute"),
        (Rules(), {"quasi_identifiers": "agee", "sensitive": "disease"}, "did you mean 'age'"),
        (Rules(), {"sensitive": "disease"}, "name its quasi-identifiers"),
        (Rules(at=0), NAMED, "lies above 0"),
        (Rules(held_out=1), NAMED, "to below 1"),
        (Rules(control=people(age=["3*"])), NAMED, "no column 'disease'"),
        (Rules(control=people(disease=["x"])), NAMED, "no column 'age'"),
    ],
)
def test_what_cannot_be_attacked_is_said(how, named, says):
    with pytest.raises(sh.BadInput, match=says):
        sh.attack(TABLE_1, how, **named)


def test_the_command(desk):
    from pyarrow import csv

    csv.write_csv(TABLE_1, desk.folder / "table.csv")
    ran = desk.run(
        "attack", "rules", desk.folder / "table.csv", "--qi", "zip,age,nationality", "--sensitive", "disease"
    )
    assert ran.code == 0, ran.err
    assert "1 rule(s) tell the sensitive value of 4 of 12 records" in " ".join(ran.out.split())
    assert "age = 3*" in ran.out
    told = desk.run(
        "attack", "rules", desk.folder / "table.csv", "--qi", "age", "--sensitive", "disease", "--json", "--at", "0.5"
    )
    assert json.loads(told.out)["figures"]["channels"] == 3
    desk.refused(2, "attack", "rules", desk.folder, says="no manifest.json")
