"""In ten batches, anonymizing afresh betrays people, and no way of publishing again does (S3.10)."""

import pytest

from shoal.studies import STUDIES
from shoal.studies.study import People


@pytest.mark.thorough
def test_only_anonymizing_afresh_exposes_people():
    study = STUDIES["batches"](People.of(None, rows=1_500))
    (sheet,) = study.sheets
    last = {row["way"]: row for row in sheet.records() if row["release"] == 10}
    assert last["afresh"]["exposed"] > 0
    for way in ("monotone", "m-invariance", "alp-dif"):
        assert all(row["exposed"] == 0 for row in sheet.records() if row["way"] == way)
        assert last[way]["loss"] >= last["afresh"]["loss"]
    assert all(each.holds for each in study.directions[1:])
    assert set(study.figures) == {"exposed", "loss", "counterfeits"}
