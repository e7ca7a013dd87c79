"""Rounded columns: numbers that are not generalised are published as multiples of a step, and the release says so."""

import json
import re
from collections import Counter
from math import floor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal as sh
from shoal.errors import BadData, BadPolicy, ShoalWarning

ROWS = [(20 + n % 4, f"{n * 1.37 + 100:.2f}") for n in range(40)]
PEOPLE = {"age": [age for age, _ in ROWS], "pay": [pay for _, pay in ROWS]}
POLICY = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
        "pay": {"role": "sensitive", "round": 10},
    },
    "require": [{"model": "k-anonymity", "k": 5}],
}


def released(out):
    return [line.split(",")[1] for line in (out / "data.csv").read_text("utf-8").splitlines()[1:]]


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_numbers_are_published_as_multiples(engine, tmp_path):
    (tmp_path / "people.csv").write_text("age,pay\n" + "".join(f"{age},{pay}\n" for age, pay in ROWS), "utf-8")
    made = sh.anonymize(tmp_path / "people.csv", POLICY, engine=engine).save(tmp_path / "out")
    shown = released(tmp_path / "out")
    assert sorted(shown) == sorted(str(round(float(pay) / 10) * 10) for _, pay in ROWS)
    assert not made.recommendation.exact
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["rounded"] == {"pay": 10}
    verdicts = {each.promise: each.holds for each in sh.verify(tmp_path / "out", original=tmp_path / "people.csv")}
    assert verdicts["rounded"]
    assert all(verdicts.values())


def test_a_cell_that_is_not_rounded_is_found(tmp_path):
    sh.anonymize(pa.table(PEOPLE), POLICY).save(tmp_path / "out")
    data = tmp_path / "out" / "data.csv"
    first = released(tmp_path / "out")[0]
    data.write_text(data.read_text("utf-8").replace(f",{first}\n", f",{first[:-1]}1\n", 1), "utf-8")
    verdicts = {each.promise: each for each in sh.verify(tmp_path / "out")}
    assert not verdicts["rounded"].holds
    assert verdicts["rounded"].why == "column 'pay' shows numbers that are not rounded as the manifest says"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("of", "step"), [(float, 12.5), (int, 20)])
def test_frames_are_rounded_too(frame, of, step):
    people = frame({**PEOPLE, "pay": [of(float(pay)) for pay in PEOPLE["pay"]]})
    attributes = {**POLICY["attributes"], "pay": {"role": "sensitive", "round": step}}
    shown = sh.anonymize(people, {**POLICY, "attributes": attributes}).data["pay"]
    cells = shown.to_pylist() if frame is pa.table else shown.to_list()
    assert {type(cell) for cell in cells} == {of}
    assert all(cell % step == 0 for cell in cells)
    assert max(abs(sum(cells) / 40 - sum(map(float, PEOPLE["pay"])) / 40), 0) < step / 2


@pytest.mark.parametrize(
    ("largest", "of", "step", "shown"),
    [
        (2**63, pa.uint64(), 5, 2**63 + 2),
        (2**64 - 1, pa.uint64(), 10, 2**64 + 4),
        (2**53 + 1, pa.int64(), 0.5, 2**53 + 1),
        (None, pa.float64(), 0.5, None),
    ],
)
def test_numbers_that_no_float_holds_are_rounded_exactly(tmp_path, largest, of, step, shown):
    people = pa.table({"age": PEOPLE["age"], "pay": pa.array([largest] * 40, of)})
    pq.write_table(people, tmp_path / "people.parquet")
    attributes = {**POLICY["attributes"], "pay": {"role": "sensitive", "round": step}}
    sh.anonymize(tmp_path / "people.parquet", {**POLICY, "attributes": attributes}).save(tmp_path / "out")
    assert set(pq.read_table(tmp_path / "out" / "data.parquet")["pay"].to_pylist()) == {shown}
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=tmp_path / "people.parquet"))


def test_a_column_without_any_number_can_be_rounded():
    people = pa.table({"age": [1], "pay": pa.array([None], pa.float64())})
    attributes = {**POLICY["attributes"], "pay": {"role": "sensitive", "round": 0.5}}
    policy = {"attributes": attributes, "require": [{"model": "k-anonymity", "k": 1}]}
    with pytest.warns(sh.ShoalWarning) as noted:
        assert sh.anonymize(people, policy).data["pay"].to_pylist() == [None]
    assert any("give it bottom = … and top = …" in str(note.message) for note in noted)


def test_decimal_commas_stay_commas(tmp_path):
    lines = "".join(f"{age};{pay.replace('.', ',')}\n" for age, pay in ROWS)
    (tmp_path / "people.csv").write_text(f"age;pay\n{lines}", "utf-8")
    attributes = {**POLICY["attributes"], "pay": {"role": "sensitive", "round": 2.5, "confirm": True}}
    sh.anonymize(tmp_path / "people.csv", {**POLICY, "attributes": attributes}).save(tmp_path / "out")
    text = (tmp_path / "out" / "data.csv").read_text("utf-8")
    assert "100,0" in text
    assert "102,5" in text
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=tmp_path / "people.csv"))


def test_what_is_no_number_is_not_rounded():
    people = pa.table({**PEOPLE, "pay": [*PEOPLE["pay"][:-1], "CANARY"]})
    with pytest.raises(BadData, match=r"^column 'pay', row 40: it is to be rounded and is no number") as said:
        sh.anonymize(people, POLICY)
    assert "CANARY" not in str(said.value)


@pytest.mark.parametrize("step", [0, -1, "10", True, float("nan")])
def test_invalid_steps_are_refused(step):
    with pytest.raises(BadPolicy, match=r"attributes\.pay\.round"):
        sh.Policy(**{**POLICY, "attributes": {**POLICY["attributes"], "pay": {"role": "sensitive", "round": step}}})


def test_a_quasi_identifier_is_generalised_and_not_rounded():
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "round": 5}
    with pytest.raises(BadPolicy, match="round has no meaning for the role 'quasi-identifier'"):
        sh.Policy(**{**POLICY, "attributes": {**POLICY["attributes"], "age": age}})


BOUNDED = {
    **POLICY,
    "attributes": {**POLICY["attributes"], "pay": {"role": "sensitive", "round": 10, "bottom": 110, "top": 140}},
}


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_numbers_beyond_a_bound_are_published_as_the_bound(engine, tmp_path):
    (tmp_path / "people.csv").write_text("age,pay\n" + "".join(f"{age},{pay}\n" for age, pay in ROWS), "utf-8")
    sh.anonymize(tmp_path / "people.csv", BOUNDED, engine=engine).save(tmp_path / "out")
    expected = [min(max(round(float(pay) / 10) * 10, 110), 140) for _, pay in ROWS]
    assert sorted(released(tmp_path / "out")) == sorted(map(str, expected))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert (manifest["rounded"], manifest["bottom"], manifest["top"]) == ({"pay": 10}, {"pay": 110}, {"pay": 140})
    assert all(each.holds for each in sh.verify(tmp_path / "out", original=tmp_path / "people.csv"))


@pytest.mark.parametrize("of", [float, int])
def test_bounds_of_frames(of):
    people = pa.table({**PEOPLE, "pay": [of(float(pay)) for pay in PEOPLE["pay"]]})
    shown = sh.anonymize(people, BOUNDED).data["pay"].to_pylist()
    assert (min(shown), max(shown), {type(cell) for cell in shown}) == (110, 140, {of})


def test_an_endless_number_is_published_as_the_bound():
    people = pa.table({**PEOPLE, "pay": [float("inf"), *(float(pay) for pay in PEOPLE["pay"][1:])]})
    assert max(sh.anonymize(people, BOUNDED).data["pay"].to_pylist()) == 140


def test_a_cell_beyond_the_bound_is_found(tmp_path):
    sh.anonymize(pa.table(PEOPLE), BOUNDED).save(tmp_path / "out")
    data = tmp_path / "out" / "data.csv"
    data.write_text(data.read_text("utf-8").replace(",140\n", ",150\n", 1), "utf-8")
    verdicts = {each.promise: each for each in sh.verify(tmp_path / "out")}
    assert not verdicts["rounded"].holds
    assert verdicts["rounded"].why == "column 'pay' shows numbers beyond the bounds that the manifest says"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"top": 140}, "top is for numbers that are rounded"),
        ({"round": 10, "top": 145}, "top = 145 is no multiple of round = 10; rounded numbers are: take 140 or 150"),
        ({"round": 0.1, "bottom": -1.31}, r"bottom = -1\.31 is no multiple of .*: take -1\.4 or -1\.3"),
        ({"round": 10, "bottom": 140, "top": 140}, "bottom 140 does not lie below top 140"),
        ({"round": 10, "top": float("inf")}, r"attributes\.pay\.top"),
    ],
)
def test_bounds_that_are_none(keys, said):
    with pytest.raises(BadPolicy, match=said):
        sh.Policy(**{**POLICY, "attributes": {**POLICY["attributes"], "pay": {"role": "sensitive", **keys}}})


def test_values_that_stay_unique_are_counted(tmp_path):
    people = pa.table(
        {"age": [20 + n % 4 for n in range(400)], "pay": [100.0 + n % 40 for n in range(398)] + [900.0, 1480.0]}
    )
    with pytest.warns(ShoalWarning, match=r"even after rounding, in 'pay' \(2 of 400 rows\)"):
        release = sh.anonymize(people, POLICY)
    said = release.save(tmp_path / "out").recommendation
    assert said.unique_after_rounding == {"pay": 2}
    assert (
        "; even rounded, the value of pay finds 2 rows (bottom, top or a larger round hide these). Advice: "
        in said.sentence
    )


@pytest.mark.parametrize(
    ("bounds", "ends", "said"),
    [
        ({}, [900.0], "'pay': give it top = …, beyond which"),
        ({"top": 1000}, [900.0], "'pay': lower its top, beyond which"),
        ({"bottom": 0, "top": 1000}, [-7.0, 20.0], "'pay': raise its bottom, beyond which"),
        ({"bottom": 0}, [20.0, 900.0], "'pay': raise its bottom and give it top = …, beyond which"),
    ],
)
def test_the_note_on_unique_values_says_which_bound_to_move(bounds, ends, said):
    pay = {"role": "sensitive", "round": 10, **bounds}
    policy = {**POLICY, "attributes": {**POLICY["attributes"], "pay": pay}}
    numbers = [100.0 + n % 40 for n in range(400 - len(ends))] + ends
    people = pa.table({"age": [20 + n % 4 for n in range(400)], "pay": numbers})
    with pytest.warns(ShoalWarning, match=re.escape(said)):
        sh.anonymize(people, policy)


def test_a_draft_hides_extreme_numbers(tmp_path):
    dice = np.random.default_rng(3)
    cost = [f"{each:.2f}" for each in dice.lognormal(4.5, 0.8, 924)]
    drafted = sh.draft(pa.table({"age": dice.integers(20, 80, 924), "cost": cost}))
    attribute = drafted.policy.attributes["cost"]
    assert attribute.top is not None
    shown = [min(floor(float(each) / attribute.round + 0.5) * attribute.round, attribute.top) for each in cost]
    counts = Counter(max(each, attribute.bottom or 0) for each in shown)
    alone = sum(count == 1 for count in counts.values())
    assert counts[attribute.top] >= 10
    assert alone == next(g for g in drafted.guesses if g.column.name == "cost").published.uniques
    assert alone == 0
    assert "larger ones, some of them unique, are published as this" in drafted.text
