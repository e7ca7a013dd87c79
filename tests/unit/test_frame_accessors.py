"""`df.shoal` of pandas and polars does what the functions do."""

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import shoal as sh
import shoal.frame_accessors

ROWS = {"age": [20 + i % 30 for i in range(90)], "sex": ["f", "m"] * 45, "disease": ["flu", "hiv", "cold"] * 30}
POLICY = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": [10]},
        "sex": "quasi-identifier",
        "disease": "sensitive",
    },
    "require": [{"model": "k-anonymity", "k": 5}],
}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_the_methods_are_the_functions(kind):
    frame = kind(ROWS)
    assert frame.shoal.measure(["age", "sex"], "disease") == sh.measure(frame, ["age", "sex"], "disease")
    found = frame.shoal.risk(["age", "sex"], threshold=0.5)
    assert found.document() == sh.risk(frame, ["age", "sex"], threshold=0.5).document()
    assert frame.shoal.draft(3).text == sh.draft(frame, 3).text
    release = frame.shoal.anonymize(POLICY)
    assert type(release.data) is kind
    assert release.data.equals(sh.anonymize(frame, POLICY).data)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_an_accessor_shows_no_cell(kind):
    assert "flu" not in repr(kind(ROWS).shoal)


@pytest.mark.thorough
@pytest.mark.parametrize("missing", ["pandas", "polars"])
def test_accessors_work_with_one_library_installed(missing):
    other = {"pandas": "polars", "polars": "pandas"}[missing]
    code = (
        f"import importlib.util as u; found = u.find_spec; u.find_spec = lambda n, *a: None if n == {missing!r} else "
        f"found(n, *a)\nimport shoal.frame_accessors, {other}\n{other}.DataFrame({{'a': [1]}}).shoal.measure('a')\n"
        f"import {missing}\nassert not hasattr({missing}.DataFrame, 'shoal')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_shoal_registers_nothing():
    code = "import shoal, pandas; assert not hasattr(pandas.DataFrame, 'shoal')"
    subprocess.run([sys.executable, "-c", code], check=True)
