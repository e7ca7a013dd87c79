"""Excel sheets."""

import io
import warnings
import zipfile
from datetime import date, datetime, time

import openpyxl
import pytest

from shoal.data.codes import Kind
from shoal.engines.reading import excel as zip_guard
from shoal.engines.reading.content import Content
from shoal.errors import ShoalWarning

ROWS = [
    ["age", "share", "birth", "seen", "ok", "zip", "empty", 20],
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


def test_a_zip_entry_with_a_false_size_is_refused(refused):
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


FAR = {
    "blanks": b"<row r = '1048576'><c r\n=\t'XFD1048576'><v>1</v></c></row>",
    "small letters": b"<row r='1048576'><c r='xfd1048576'><v>1</v></c></row>",
    "zeros": b"<row r='1048576'><c r='XFD0001048576'><v>1</v></c></row>",
    "a prefix": b"<x:row r='1048576'><x:c r='XFD1048576'><v>1</v></x:c></x:row>",
    "cells that follow on others": b"<row r='1048576'>" + b"<c><v>1</v></c>" * 900 + b"</row>",
    "nothing but order": b"<row>" + b"<c/>" * 16000 + b"</row>" + b"<row><c/></row>" * 4000,
    "a repeated cell": b"<table:table-row><table:table-cell value-type='float' number-columns-repeated='4000000000'/>",
    "a repeated row": b"<table:table-row table:number-rows-repeated='4000000'><table:table-cell/>"
    + b"<table:table-cell office:value-type='float'/>" * 20,
    "a cell after empty ones": b"<table:table-row table:number-rows-repeated='1048575'/><table:table-row>"
    b"<table:table-cell table:number-columns-repeated='16383'/><table:table-cell><text:p>1</text:p></table:table-cell>",
}


@pytest.mark.parametrize("cells", FAR.values(), ids=FAR)
def test_far_cells_are_found_however_they_are_written(refused, cells):
    sheet = b"<sheetData><row r='1'><c r='A1'><v>1</v></c></row>" + cells + b"</sheetData>"
    assert " rows × " in refused(zipped({"xl/worksheets/sheet1.xml": sheet}), "x.xlsx")


def test_a_greater_sign_in_an_attribute_does_not_hide_a_far_cell(refused):
    sheet = b"<sheetData><row r='1'><c x='>' r='XFD1'><v>1</v></c></row></sheetData>"
    assert "is damaged" in refused(zipped({"xl/worksheets/sheet1.xml": sheet}), "x.xlsx")


def test_empty_cells_at_the_end_are_no_extent():
    """Programs write how many empty rows and columns follow the table."""
    sheet = (
        b"<table:table table:name=\"Ann's\"><table:table-row><table:table-cell office:value-type='float'/>"
        b"<table:table-cell table:number-columns-repeated='16383'/></table:table-row>"
        b"<table:table-row table:number-rows-repeated='1048575'><table:table-cell "
        b"table:number-columns-repeated='16384'/></table:table-row></table:table>"
    )
    zip_guard.refuse_unsafe_zip(Content("x.ods", ".ods", zipped({"content.xml": sheet})))


def table_of(load, *sheets, merged=(), **options):
    """Read a workbook in which cells of the last sheet are merged; return its names, its source and what was said."""
    workbook = openpyxl.load_workbook(io.BytesIO(book(*sheets)))
    for cells in merged:
        workbook.worksheets[-1].merge_cells(cells)
    stream = io.BytesIO()
    workbook.save(stream)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = load(stream.getvalue(), "x.xlsx", **options)
    return list(source.table.columns), source, [str(one.message) for one in caught]


def test_the_first_sheet_with_a_table(load):
    cover = [["A study"], [], ["by us"]]
    names, source, said = table_of(load, cover, [["age", "sex"], [1, "f"]], [["b", "c"], [2, 3]])
    assert names == ["age", "sex"]
    assert dict(source.guessed) == {"sheet": "sheet1", "header-row": 1}
    assert len(said) == 1
    assert "x.xlsx: the table is read from sheet 'sheet1', its column names from row 1; give another sheet" in said[0]


def test_a_cover_page_by_name_is_refused_and_the_table_is_named(load, cells_of, refused):
    cover, table = [["A study"], [], ["by us"]], [["age", "sex"], [1, "f"]]
    assert refused(book(cover, table), "x.xlsx", sheet="sheet0") == (
        "x.xlsx: sheet 'sheet0' holds no table; 'sheet1' does"
    )
    assert refused(book(cover, table, table), "x.xlsx", sheet="sheet0", header_row=2) == (
        "x.xlsx: sheet 'sheet0' holds no table; 'sheet1', 'sheet2' do"
    )
    assert refused(book([["A study"]], table), "x.xlsx", sheet="sheet0").endswith("holds no table; 'sheet1' does")
    assert cells_of(load(book([["key"], ["a"], [], ["b"]], table), "x.xlsx", sheet="sheet0"), "key") == ["a", None, "b"]


def test_rows_of_titles_are_skipped_and_footers_kept(load, cells_of):
    rows = [["Report"], ["of", 2024], [], ["age", "sex", "zip", "ill", "x"], [1, "f", "a", "b", "c"], ["Total", 1]]
    names, source, said = table_of(load, rows)
    assert names == ["age", "sex", "zip", "ill", "x"]
    assert source.guessed["header-row"] == 4
    assert any("its column names from row 4" in one for one in said)
    assert cells_of(source, "age") == ["1", "Total"]
    names, source, said = table_of(load, rows, header_row=4)
    assert (names[0], "header-row" in source.guessed) == ("age", False)
    assert not any("column names" in one for one in said)


def test_merged_headers_are_joined(load, cells_of):
    rows = [["Blood pressure", None, "age"], ["systolic", "diastolic", None], [120, 80, 31], [130, 85, 40]]
    names, source, said = table_of(load, rows, merged=["A1:B1", "C1:C2"])
    assert names == ["Blood pressure systolic", "Blood pressure diastolic", "age"]
    assert cells_of(source, "Blood pressure diastolic") == ["80", "85"]
    assert "from rows 1 to 2, joined" in said[0]


def test_row_names_of_a_sheet(load, cells_of, refused):
    names, source, said = table_of(load, [[None, "age"], [1, 31], [2, 31]])
    assert names == ["row names", "age"]
    assert cells_of(source, "row names") == ["1", "2"]
    assert "so it is read as 'row names'" in said[0]
    assert not table_of(load, [[None, "age"], [1, 31], [2, 31]], row_names_settled=True)[2]
    assert "column 1 has no name" in refused(book([[None, "age"], [1, 31], [1, 32]]), "x.xlsx")


@pytest.mark.parametrize(
    "rows",
    [
        [["a", None, "c"], ["CANARY-7f3", "d", "e"], ["f", "g", "h"]],
        [["a", None], ["CANARY-7f3", "d"], ["f", "g"]],
        [["a"], ["CANARY-7f3", 1, 2], ["f", 3, 4]],
    ],
)
def test_no_row_of_data_is_taken_for_the_header(refused, rows):
    assert refused(book(rows), "x.xlsx") == "x.xlsx: column 2 has no name; give it one"


def test_a_header_row_that_is_empty(refused):
    said = refused(book([["a", "b"], [], [1, 2]]), "x.xlsx", header_row=2)
    assert said == "x.xlsx: sheet 'sheet0' has nothing in row 2; give another header row"


PATIENTS = [
    ["Nr.", "Name", "Geburtsdatum", "PLZ", "Bemerkung", None],
    [100369, "Hoffmann", "19.07.1977", "01139", "Wiederaufnahme", None],
    [100370, "Koch", "k. A.", "01097", "nüchtern", "Penicillin"],
    [100371, "Wolf", "01.02.1950", "k. A.", None, None],
]


def test_a_merged_header_cell_over_data_swallows_no_row(load, cells_of):
    """Merged cells in data rows, too, make no names of them."""
    for merged in (["E1:F1"], ["E1:F1", "E2:F2", "E3:F3"], ["E2:F2", "E4:F4", "E1:F1"]):
        names, source, said = table_of(load, [row[:] for row in PATIENTS], merged=merged)
        assert names[:5] == PATIENTS[0][:5]
        assert names[5:] in ([], ["Bemerkung 2"])  # a column that only merged cells cover is empty
        assert cells_of(source, "Nr.") == ["100369", "100370", "100371"]
        assert source.guessed["header-row"] == 1
        assert not any("joined" in one for one in said)


def test_one_header_row_is_read_in_doubt_and_said_so(load):
    rows = [["Name", "Place", None], ["red", "far", "there"], ["blue", "near", "here"]]
    names, _, said = table_of(load, rows, merged=["B1:C1"])
    assert names == ["Name", "Place", "Place 2"]
    assert "from row 1 alone, since row 2 may be data (if it is not, header-row = [1, 2] joins both)" in said[0]
    names, source, said = table_of(load, rows, merged=["B1:C1"], header_row=(1, 2))
    assert names == ["Name red", "Place far", "Place there"]
    assert "from rows 1 to 2, joined" in said[0]
    assert "header-row" not in source.guessed


@pytest.mark.parametrize(
    "first",
    [
        ["lab", "x", 7, 3],  # a number
        ["lab", "x", "2024-01-02", 3],
        ["lab", "x", "J18.9", 3],
        ["lab", "x", "k. A.", "n/a"],  # not known
        ["lab", "Zoltan", "y", "z"],  # only one cell tells that it is of another kind than those below it
        ["Anna", "x", "y", "z"],  # a person
        ["ward", "x", "y", "z"],  # a value that occurs again
        ["lab", "x", "y", "-"],
    ],
)
def test_rows_under_a_merged_cell_that_are_data(load, first):
    rows = [["unit", "seen", None, "age"], first, ["ward", "p", "q", 31], ["ward", "r", "s", 40]]
    if first[0] == "Anna":
        rows = [[*row, 2 * at] for at, row in enumerate(rows)]
        rows[0][-1], rows[1][-1] = "visits", "w"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names, source, _ = table_of(load, rows, merged=["B1:C1"])
    assert names[:4] == ["unit", "seen", "seen 2", "age"]
    assert source.table.rows == 3


def test_header_rows_in_the_wrong_order(refused):
    said = refused(book([["a", "b"], ["c", "d"], [1, 2]]), "x.xlsx", header_row=(2, 1))
    assert said == "header rows 2 to 1: name the first before the last"


def test_a_given_header_row_is_read_alone(load):
    rows = [["Blood pressure", None, "age"], ["systolic", "diastolic", "years"], ["a", "b", "c"], ["d", "e", "f"]]
    names, source, said = table_of(load, rows, merged=["A1:B1"], header_row=1)
    assert names == ["Blood pressure", "Blood pressure 2", "age"]
    assert (source.table.rows, said) == (3, [])


def test_three_rows_of_names(load, cells_of):
    rows = [
        ["id", "Arms", None, None, None],
        [None, "left", None, "right", None],
        [None, "systolic", "diastolic", "systolic", "diastolic"],
        [1, 120, 80, 121, 81],
        [2, 130, 85, 131, 86],
    ]
    names, source, said = table_of(load, rows, merged=["A1:A3", "B1:E1", "B2:C2", "D2:E2"])
    assert names == ["id", *(f"Arms {side} {of}" for side in ("left", "right") for of in ("systolic", "diastolic"))]
    assert source.guessed["header-row"] == (1, 3)
    assert cells_of(source, "id") == ["1", "2"]
    assert "from rows 1 to 3, joined" in said[0]
    assert table_of(load, rows, merged=["B1:E1", "B2:C2", "D2:E2"], header_row=(1, 3))[0] == names


def test_column_names_that_look_like_data_are_told(load):
    names, source, said = table_of(load, [["Anna", "19.07.1977", "01139"], ["Jan", "01.02.1950", "01097"]])
    assert names == ["Anna", "19.07.1977", "01139"]
    assert len(said) == 1
    assert "x.xlsx: the column names look like a row of data (of columns 2, 3" in said[0]
    assert "01139" not in said[0]
    assert "header-row" not in source.guessed
    assert not table_of(load, [["Anna", "01139"], ["Jan", "01097"]], header_row=1)[2]


def test_texts_with_their_thousands_apart(load, cells_of):
    rows = [["id", "cost"], ["a", "1.234,50"], ["b", "12,5"], ["c", "-"]]
    _, source, _ = table_of(load, rows, missing=("-",))
    assert cells_of(source, "cost") == ["1234,50", "12,5", None]
    assert (source.guessed["decimal"], source.guessed["thousands"], source.delimiter) == (",", ".", ";")
    _, source, _ = table_of(load, [["id", "cost"], ["a", "1.234"], ["b", "2.345"]], thousands=".")
    assert cells_of(source, "cost") == ["1234", "2345"]
