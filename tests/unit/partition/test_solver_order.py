"""An order that the policy gives: null stays behind all values, also where a number is spelt in two ways."""

import csv
import json
from math import log2

import pyarrow as pa
import pytest

import shoal as sh
from shoal.data.codes import encode
from shoal.partition.axes import ordered_axis
from shoal.partition.solver import _reorder_axis


def test_null_comes_after_every_spelling():
    column = encode("v", pa.array(["1", "1.0", "2", None]))
    axis = _reorder_axis(ordered_axis(column), column, ["2", "1", "1.0"])
    places = dict(zip([*column.texts.to_pylist(), None], axis.positions.tolist(), strict=True))
    assert places == {"2": 0, "1": 1, "1.0": 2, None: 3}
    assert axis.null == 3


@pytest.mark.filterwarnings("ignore:.*differ only in form:shoal.ShoalWarning")
def test_the_loss_of_a_release_is_finite(tmp_path):
    rows = [*["1", "1.0"] * 2, *["2"] * 2, *[None] * 5]
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["v", "ill"], *([cell, "flu"] for cell in rows)])
    policy = sh.Policy(
        attributes={"v": {"role": "quasi-identifier", "order": ["2", "1", "1.0"], "form": ["range"]}},
        require=[{"model": "k-anonymity", "k": 4}],
        method={"algorithm": "mondrian"},
        data={"others": "drop"},
    )
    sh.anonymize(tmp_path / "people.csv", policy).save(tmp_path / "out")
    metrics = json.loads((tmp_path / "out.private" / "manifest.json").read_text("utf-8"))["metrics"]
    assert metrics["ambiguity-log2"] == pytest.approx(log2(3) * 6 / 11)  # null is known, the others are one of three
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=tmp_path / "people.csv"))
