"""Files of Stata, SPSS and SAS."""

import sys
from datetime import date

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from sas_files import write_sas

from shoal.engine_port import ReadOptions
from shoal.engines.reading import read
from shoal.errors import BadData

FRAME = pd.DataFrame(
    {
        "SEX": [1, 2, 1, 9],
        "AGE": [31.0, np.nan, 52, 40],
        "DOSE": [0.5, 1.0, 2.0, 2.5],
        "CITY": ["Bonn", "", "Köln", "Ulm"],
        "BORN": [date(2000, 1, 2), date(1999, 3, 4), date(2000, 1, 2), None],
    }
)
LABELS = {"SEX": {1: "male", 2: "female"}}


def saved(path, write, frame=FRAME, **how):
    write(frame, path, **how)
    return read(path, ReadOptions())


def test_spss(tmp_path, cells_of):
    how = {"variable_value_labels": LABELS, "missing_ranges": {"SEX": [9]}}
    for name, compress in (("people.sav", False), ("people.zsav", True)):
        source = saved(tmp_path / name, pyreadstat.write_sav, compress=compress, **how)
        assert (source.format, source.name) == ("statistics", name)
        assert cells_of(source, "SEX") == ["male", "female", "male", None]
        assert cells_of(source, "AGE") == ["31", None, "52", "40"]
        assert cells_of(source, "DOSE") == ["0.5", "1", "2", "2.5"]
        assert cells_of(source, "CITY") == ["Bonn", None, "Köln", "Ulm"]
        assert cells_of(source, "BORN") == ["2000-01-02", "1999-03-04", "2000-01-02", None]


def test_stata(tmp_path, cells_of):
    some = FRAME.assign(SEX=["a", 1, 2, 1], AGE=[1, 2, 3, 4])
    some["SEX"] = pd.Series(["a", 1, 2, 1], dtype=object)
    how = {"variable_value_labels": LABELS, "missing_user_values": {"SEX": ["a"]}}
    source = saved(tmp_path / "people.dta", pyreadstat.write_dta, some, **how)
    assert cells_of(source, "SEX") == [None, "male", "female", "male"]
    assert cells_of(source, "CITY") == ["Bonn", None, "Köln", "Ulm"]


@pytest.mark.parametrize(("name", "write"), [("a.por", pyreadstat.write_por), ("a.xpt", pyreadstat.write_xport)])
def test_files_without_labels(tmp_path, cells_of, name, write):
    source = saved(tmp_path / name, write, FRAME[["SEX", "AGE", "DOSE"]])
    assert cells_of(source, "SEX") == ["1", "2", "1", "9"]
    assert cells_of(source, "AGE") == ["31", None, "52", "40"]


def test_sas(tmp_path, cells_of):
    rows = [(1.0, "Bonn", 31, 14_611), (2.5, None, None, 0), (3, "Köln", 7, None)]
    write_sas(tmp_path / "a.sas7bdat", ["dose", "city", "age", "born"], rows * 400, ["", "", "", "DATE"])
    source = read(tmp_path / "a.sas7bdat", ReadOptions())
    assert (source.format, source.table.rows) == ("statistics", 1200)
    assert cells_of(source, "dose")[-3:] == ["1", "2.5", "3"]
    assert cells_of(source, "city")[-3:] == ["Bonn", None, "Köln"]
    assert cells_of(source, "age")[-3:] == ["31", None, "7"]
    assert cells_of(source, "born")[-3:] == ["2000-01-02", "1960-01-01", None]


def test_a_sas_file_that_is_cut_short(tmp_path):
    write_sas(tmp_path / "a.sas7bdat", ["age"], [(31,)] * 3000, [""])
    whole = (tmp_path / "a.sas7bdat").read_bytes()
    (tmp_path / "a.sas7bdat").write_bytes(whole[:-9000])
    with pytest.raises(BadData, match=r"a\.sas7bdat: this is not a SAS file, or it is damaged"):
        read(tmp_path / "a.sas7bdat", ReadOptions())


def test_a_sas_transport_file(tmp_path, cells_of):
    source = saved(tmp_path / "a.xpt", pyreadstat.write_xport, FRAME, file_format_version=8)
    assert cells_of(source, "CITY") == ["Bonn", None, "Köln", "Ulm"]
    assert cells_of(source, "BORN") == ["2000-01-02", "1999-03-04", "2000-01-02", None]


def test_a_file_without_rows(tmp_path):
    with pytest.raises(BadData, match=r"a\.sav: there are no records"):
        saved(tmp_path / "a.sav", pyreadstat.write_sav, FRAME[["DOSE"]].head(0))


@pytest.mark.parametrize("suffix", ["dta", "sav", "zsav", "por", "sas7bdat", "xpt"])
def test_damaged_files(refused, suffix):
    assert "file, or it is damaged" in refused("CANARY-7f3" * 50, f"people.{suffix}")


def test_without_pyreadstat(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    said = refused("CANARY-7f3", "people.sav")
    assert said == "people.sav: to read an SPSS file, install shoal[statistics], or pyreadstat itself"
