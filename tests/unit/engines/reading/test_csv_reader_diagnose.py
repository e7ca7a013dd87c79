"""What is wrong with a CSV, and where; never what its cells hold."""

import csv

import pytest

from shoal.engines.reading import csv_reader as cut
from shoal.engines.reading import csv_reader as diagnose


@pytest.mark.parametrize(
    ("content", "said"),
    [
        # bad input 13
        ("a,b\n1,2\n\nCANARY-7f3\n", "people.csv: row 2 (line 4): expected 2 fields as in the header, got 1"),
        ("a,b\n1,CANARY-7f3,3\n", "people.csv: row 1 (line 2): expected 2 fields as in the header, got 3"),
        (
            '\n"a\nx",b\n"1\n1",2\n1,CANARY-7f3,\n',
            "people.csv: row 2 (line 6): expected 2 fields as in the header, got 3",
        ),
        ("a,b,c\n1,2\n", "people.csv: row 1 (line 2): expected 3 fields as in the header, got 2"),
        # bad input 14
        ('a,b\n1,2\n3,"CANARY-7f3\n5,6\n', "people.csv: row 2 (line 3) opens a quote that is never closed"),
        ('a,b\n1,2\n3,"CANARY-7f3', "people.csv: row 2 (line 3) opens a quote that is never closed"),
        ('a,b\n1,2\n3,"', "people.csv: row 2 (line 3) opens a quote that is never closed"),
        ('a,b\n1,2\n3,"""', "people.csv: row 2 (line 3) opens a quote that is never closed"),
        ('a\n1\n"CANARY-7f3\n', "people.csv: row 2 (line 3) opens a quote that is never closed"),
        ('a,"b\n1,CANARY-7f3\n', "people.csv: the header (line 1) opens a quote that is never closed"),
        ("a,b\n'x',1\n1,'CANARY-7f3\n", "people.csv: row 2 (line 3) opens a quote that is never closed"),
    ],
)
def test_refusals_name_the_place_of_the_error(refused, content, said):
    options = {"quote": "'"} if "'x'" in content else {}
    assert refused(content, **options) == said


@pytest.mark.parametrize(
    "content",
    [
        'a,b\n1,"2\n3,CANARY-7f3\n5,"x"\n7,8\n',  # closed by the next quote, which opens another
        'a,b\n1,"2\n3,CANARY-7f3\n5,"x\n7,8\n',
        'a,b\n1,"2\n3,""\n5,CANARY-7f3\n',
    ],
)
def test_a_stray_quote_never_joins_records(refused, content):
    # bad input 14
    assert "row 1 (line 2)" in refused(content)


AFTER = "has text after a closing quote; a quote inside a quoted cell is written twice"


@pytest.mark.parametrize(
    "cell", ['"CANARY-7f3" ', '"CANARY-7f3"z', '""CANARY-7f3', '"a"""CANARY-7f3', '"a""b" ""', '"a"\t']
)
@pytest.mark.parametrize("other", ["r", '"r"', '"""r"', '"two\nlines"', 'r"'])
def test_text_after_a_closing_quote(refused, cell, other):
    """Whatever other cells hold."""
    line = 4 if "\n" in other else 3
    assert refused(f"a,b\n1,{other}\n2,{cell}\n3,x\n") == f"people.csv: row 2 (line {line}) {AFTER}"
    assert refused(f"a,b\n{other},1\n{cell},2") == f"people.csv: row 2 (line {line}) {AFTER}"


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_text_after_a_closing_quote_at_the_end_of_a_step(refused, load, cells_of, monkeypatch, step):
    monkeypatch.setattr(cut, "_STEP", step)
    assert AFTER in refused('a,b\n1,"x"\n2,"CANARY-7f3" \n')
    source = load('a,b\n"1","x"",""y"\n2,""\n"","""z"""')
    assert cells_of(source, "b") == ['x","y', None, '"z"']


@pytest.mark.parametrize("cell", ['5" pipe', 'x"y"', ' "x"', 'x"'])
def test_a_quote_inside_of_an_unquoted_cell_is_text(load, cells_of, cell):
    assert cells_of(load(f'a,b\n"1",{cell}\n2,"y"\n'), "b") == [cell, "y"]


@pytest.mark.parametrize("last", ['""', '"x"', '"""x"""', '""""', "x", 'x"', "", '"a""b"', '"x\ny"'])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_closed_last_cell_is_no_trouble(load, last, end):
    assert load(f"a,b\n1,2\n3,{last}{end}").table.rows == 2


def test_too_large_cells(monkeypatch, refused):
    # bad input 14
    monkeypatch.setattr(diagnose, "CELL_LIMIT", 1000)
    limit = csv.field_size_limit()
    assert "row 2 (line 3) has a cell of more than 64 MB" in refused("a,b\n1,2\n" + "x" * 1001 + "\n1,2\n")
    assert "row 1 (line 2) has a cell" in refused('a,b\n1,"' + "x\n" * 1001 + '"\n2\n')
    assert csv.field_size_limit() == limit


def test_ragged_rows_after_many(refused):
    assert "row 300001 (line 300002)" in refused("a,b\n" + "1,2\n" * 300_000 + "CANARY-7f3\n")
