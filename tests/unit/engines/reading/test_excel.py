"""Excel sheets."""

import io
import zipfile
from datetime import date, datetime, time

import openpyxl
import pytest

from shoal.data.codes import Kind
from shoal.engines.reading import excel as zip_guard
from shoal.errors import ShoalWarning

ROWS = [
    ["age", "share", "birth", "seen", "ok", "zip", "empty", 2020],
    [39, 1.5, date(2020, 1, 2), datetime(2020, 1, 2, 3, 4), True, "02138", None, "x"],  # noqa: DTZ001
    [None, 2, date(1999, 1, 1), datetime(2020, 1, 2), False, "?", None, "y"],  # noqa: DTZ001
]


def book(*sheets):
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for i, rows in enumerate(sheets):
        sheet = workbook.create_sheet(f"sheet{i}")
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["people.xlsx", "people"])
def test_types(load, cells_of, name):
    source = load(book(ROWS), name, missing=("?",))
    assert (source.format, source.name) == ("excel", name)
    assert list(source.table.columns) == [str(title) for title in ROWS[0]]
    assert cells_of(source, "age") == ["39", None]
    assert cells_of(source, "share") == ["1.5", "2"]
    assert cells_of(source, "birth") == ["2020-01-02", "1999-01-01"]
    assert cells_of(source, "seen") == ["2020-01-02 03:04:00", "2020-01-02 00:00:00"]
    assert cells_of(source, "ok") == ["true", "false"]
    assert cells_of(source, "zip") == ["02138", None]
    assert cells_of(source, "empty") == [None, None]
    assert source.table["birth"].kind is Kind.DATE


def test_a_sheet_by_name(load, cells_of, refused):
    two = book([["a"], [1]], [["b"], [2]])
    assert cells_of(load(two, "x.xlsx"), "a") == ["1"]
    assert cells_of(load(two, "x.xlsx", sheet="sheet1"), "b") == ["2"]
    assert refused(two, "x.xlsx", sheet="no") == "x.xlsx: there is no sheet 'no'; there is 'sheet0', 'sheet1'"


def test_mixed_types_become_text(load, cells_of):
    # bad input 7
    mixed = book([["a"], [5], ["x"], [2.5], [True], [date(2020, 1, 2)], [None], [time(1, 2)]])
    with pytest.warns(ShoalWarning, match="'a' mixes date and number and text and time and true/false cells"):
        source = load(mixed, "x.xlsx")
    assert cells_of(source, "a") == ["5", "x", "2.5", "true", "2020-01-02", None, "01:02:00"]


def test_empty_rows_are_no_records(load, cells_of):
    # bad input 29
    source = load(book([["a", "b", None], [1, 2], [None, None], [3, 4], [None, None, None], [None]]), "x.xlsx")
    assert cells_of(source, "a") == ["1", "3"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no columns"),  # bad input 1
        ([["a", "b"]], "no records"),  # bad input 2
        ([["a", "a"], ["CANARY-7f3", 1]], "columns 1 and 2 are both named 'a'"),  # bad input 8
        ([["a", None], ["CANARY-7f3", 1]], "column 2 has no name"),
    ],
)
def test_refusals(refused, rows, said):
    assert said in refused(book(rows), "x.xlsx")


@pytest.mark.parametrize("name", ["x.xlsx", "x.xls", "x.ods"])
@pytest.mark.parametrize(
    "content", [b"CANARY-7f3,b\n1,2\n", b"PK\x03\x04CANARY-7f3", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"]
)
def test_what_is_no_workbook(refused, name, content):
    assert "not an Excel file" in refused(content, name)


def test_cut_and_damaged_workbooks(refused):
    whole = book([["a"], ["CANARY-7f3"]])
    assert "not an Excel file" in refused(whole[: len(whole) // 2], "x.xlsx")
    assert "not an Excel file" in refused(zipped({"a.txt": b"CANARY-7f3"}), "x.xlsx")


def zipped(parts):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return stream.getvalue()


def test_zip_bombs(refused, monkeypatch):
    # bad input 29
    assert "200 times" in refused(zipped({"xl/a.xml": b"0" * (11 << 20)}), "x.xlsx")
    assert "10,001 parts" in refused(zipped({str(i): b"" for i in range(10_001)}), "x.xlsx")
    monkeypatch.setattr(zip_guard, "_TOTAL", 1 << 20)
    assert "unpacks to more than 1 MB" in refused(zipped({"xl/a.xml": b"0" * (2 << 20)}), "x.xlsx")


def test_a_size_that_lies(refused):
    # bad input 29
    whole = bytearray(zipped({"xl/a.xml": b"0" * (11 << 20)}))
    size = (11 << 20).to_bytes(4, "little")
    lying = bytes(whole).replace(size, (100).to_bytes(4, "little"))
    assert "not an Excel file" in refused(lying, "x.xlsx")


def test_a_sheet_of_two_far_cells(refused):
    # bad input 29
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "CANARY-7f3"
    workbook.active["XFD1048576"] = 5
    stream = io.BytesIO()
    workbook.save(stream)
    assert "spans 1,048,576 rows × 16,384 columns" in refused(stream.getvalue(), "x.xlsx")
