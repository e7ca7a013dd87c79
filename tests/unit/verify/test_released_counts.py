"""Values are called what the promises call them, whichever way the file spells times."""

import warnings
from dataclasses import dataclass
from datetime import date, time
from typing import ClassVar

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import shoal as sh
from shoal.data.class_counts import ValueCounts
from shoal.data.codes import encode
from shoal.errors import NotVerified
from shoal.models.k_anonymity import KAnonymity
from shoal.models.p_sensitive import PPlusSensitive
from shoal.verify.claim import Claim
from shoal.verify.released_counts import _columns_counted_together, _joint_counts, read_separate, with_promised_names

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}


def named(labels, *categories):
    values = ValueCounts(np.zeros(len(labels), int), np.arange(len(labels)), np.ones(len(labels), int), labels, 1)
    claim = Claim(["q"], ["s"], [PPlusSensitive(1, categories, "s")], 9, ["q", "s"])
    return with_promised_names(values, claim, "s").labels


@pytest.mark.parametrize(
    ("labels", "categories", "names"),
    [
        (["2020-01-01 00:00:00", None], [["2020-01-01"]], ["2020-01-01", None]),
        (["2020-01-01"], [["2020-01-01 00:00:00"]], ["2020-01-01 00:00:00"]),
        (["12:30:00"], [["12:30:00.000000"]], ["12:30:00.000000"]),
        # texts that spell one day in two ways are two values
        (["2020-01-01", "2020-01-01 00:00:00"], [["2020-01-01"]], ["2020-01-01", "2020-01-01 00:00:00"]),
        (["2020-01-01"], [["2020-01-01 00:00:00", "2020-01-01"]], ["2020-01-01"]),
        (["flu", "2020-02-30"], [["2020-02-30 00:00:00"]], ["flu", "2020-02-30"]),
    ],
)
def test_times_are_called_what_promises_call_them(labels, categories, names):
    assert named(labels, *categories) == names


TIMES = {
    "texts of one day": pa.array(["2020-01-01", "2020-01-01 00:00:00", "2020-01-01T00:00:00"] * 8),
    "times of day": pa.array([time(12, 30), time(3), time(0, 0, 0, 500_000)] * 8),
    "timestamps": pa.array([0, 86_400, 129_600] * 8, pa.timestamp("s")),
    "midnights": pa.array([0, 86_400, 172_800] * 8, pa.timestamp("s")),
    "days": pa.array([date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 3)] * 8),
    "spellings of one number": pa.array(["1", "1.0", " 1"] * 8),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("kind", TIMES)
def test_a_release_verifies_whose_categories_name_times(kind, form, tmp_path):
    table = pa.table({"age": [31, 32, 33, 51, 52, 53] * 4, "s": TIMES[kind]})
    first, *others = encode("s", table["s"]).texts.to_pylist()
    require = [{"model": "l-alpha-diversity", "l": 2, "alpha": 1, "categories": [[first], others], "attribute": "s"}]
    with warnings.catch_warnings(action="ignore"):
        sh.anonymize(table, {"attributes": {"age": AGE, "s": "sensitive"}, "require": require}).save(
            tmp_path / "out", format=form
        )
        found = sh.verify(tmp_path / "out", original=table)
        alone = sh.verify(tmp_path / "out")
    assert [verdict.why for verdict in found if not verdict.holds] == []
    assert [verdict.why for verdict in alone if verdict.status == "fails"] == []


@dataclass(frozen=True)
class Together(KAnonymity):
    """Looks at two released columns together."""

    name: ClassVar[str] = "together"

    @property
    def columns(self):
        return ("job", "ill")


@pytest.mark.parametrize(("columns", "fine"), [(["job", "ill"], True), (["job", "ill", "age"], True), (["job"], False)])
def test_promises_are_about_released_columns(columns, fine):
    claim = Claim(["job"], [], [Together(2)], 4, columns)
    if fine:
        assert _columns_counted_together(claim) == [("job", "ill")]
        return
    with pytest.raises(NotVerified, match="a promise about columns that the release does not have"):
        _columns_counted_together(claim)


def test_columns_are_counted_together():
    """Class 0 has two of (a, flu) and one of (a, null); class 1 one of (b, flu)."""
    with duckdb.connect() as db:
        db.execute(
            "CREATE TABLE classed AS FROM (VALUES (0, 'a', 'flu', 2), (0, 'a', NULL, 1), (1, 'b', 'flu', 1)) "
            "given(class, c0, c1, n)"
        )
        found = _joint_counts(db, ("job", "ill"), Claim(["job"], [], [], 4, ["job", "ill"]))
    told = {
        (at, found.labels[0][job], found.labels[1][ill]): many
        for at, job, ill, many in zip(found.classes, *found.codes, found.counts, strict=True)
    }
    assert told == {(0, "a", "flu"): 2, (0, "a", None): 1, (1, "b", "flu"): 1}


@pytest.mark.parametrize(
    ("counts", "fine"),
    [(["1", "2"], True), (["1", "0"], False), (["1", None], False), (["1", "many"], False), (["-1", "1"], False)],
)
def test_counts_of_the_second_table(counts, fine):
    table = pa.table({"group": ["1", "1"], "ill": ["flu", "hiv"], "count": counts})
    if fine:
        assert read_separate(table, table.column_names, {}).counts == [1, 2]
        return
    with pytest.raises(NotVerified, match="counts that are none"):
        read_separate(table, table.column_names, {})
