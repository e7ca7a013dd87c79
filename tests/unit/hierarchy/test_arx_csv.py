"""Hierarchy files: the real ones, and those that are refused with their line."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy, ShoalWarning
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import build

DATA = Path(__file__).parents[3].parent / "shared" / "data"
REAL = sorted(DATA.glob("*/hierarchies/*.csv"))
TWO_MEANINGS = {"ss13acs_hierarchy_Relationship": 6, "ss13acs_hierarchy_Workclass": 3}

needs_data = pytest.mark.skipif(not REAL, reason=f"the real hierarchies are not at {DATA}")


@pytest.fixture
def written(tmp_path):
    def write(content, name="education.csv"):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        return Csv(name, tmp_path)

    return write


def column(*values):
    return encode("education", pa.array(values))


@pytest.mark.some(24)
@pytest.mark.parametrize("path", REAL or [pytest.param(None, marks=needs_data)], ids=lambda p: p and p.stem)
def test_real_hierarchies_compile(path):  # S2.2, bad input 19
    with path.open(newline="") as file:
        lines = list(csv.reader(file, delimiter=";"))
    values = encode("x", pa.array([line[0] for line in lines]))
    if path.stem in TWO_MEANINGS:
        with pytest.raises(BadHierarchy, match=rf"line {TWO_MEANINGS[path.stem]} of .* another set of values"):
            build(values, Csv(path.name, path.parent))
        return
    hierarchy = build(values, Csv(path.name, path.parent))
    assert hierarchy.height == len(lines[0]) - 1
    assert hierarchy.size == len(lines)
    assert hierarchy.groups(hierarchy.height) == 1


@pytest.mark.parametrize("delimiter", list(";,\t|"))
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiter_byte_order_mark_and_line_ends(written, delimiter, bom, end):  # bad inputs 9, 12
    lines = ['"a;,|b"', "x", "*"], ["é", "x", "*"]
    hierarchy = build(column("a;,|b", "é"), written(bom + end.join(map(delimiter.join, lines)) + end))
    assert hierarchy.labels == (("a;,|b", "é"), ("x",), ("*",))


def test_a_quoted_line_break_does_not_shift_the_numbers(written):  # bad input 15
    taxonomy = written('"a\nb";x;*\n\nc;y;*\n').taxonomy(column())
    assert taxonomy.leaves == ["a\nb", "c"]
    assert [taxonomy.where(i) for i in (0, 1)] == ["line 1 of education.csv", "line 4 of education.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"hierarchy file education\.csv is empty"),
        ("\n\n", r"hierarchy file education\.csv is empty"),
        ("a\nb\n", r"line 1 of education\.csv has a value but no level"),
        (
            "a;x;*\nb;x;*\nCANARY;*\n",
            r"line 3 of education\.csv has 1 level\(s\) where line 1 of education\.csv has 2",
        ),
        ("a;x;*\nCANARY;;*\n", r"line 2 of education\.csv has an empty label at level 1"),
        (
            "CANARY;x;*\nb;x;*\nCANARY;y;*\n",
            r"line 3 of education\.csv gives a value other parents than line 1 of education\.csv",
        ),
        ('a;x;*\n"CANARY;x;*\n', r"line 2 of education\.csv has a quote"),
        ("a;x;*\n" + "CANARY" * 30_000 + ";x;*\n", r"line . of education\.csv"),
        (b"a;x;*\nCANARY\xff;x;*\n", r"line 2 of education\.csv is not UTF-8"),
        ("a;x;*\n".encode("utf-16"), r"line 1 of education\.csv is not UTF-8"),
        ("a;x;*\nCANARY\0;x;*\n", r"line 2 of education\.csv is not text"),
    ],
)
def test_bad_files_are_refused_with_their_line(written, content, message):  # bad inputs 10, 11, 13, 14, 19
    with pytest.raises(BadHierarchy, match=message) as refusal:
        written(content).taxonomy(column())
    assert "CANARY" not in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a;x;p;*\nb;x;q;*\n", r"column 'education': line 2 of education\.csv splits at level 2"),
        ("a;b;*\nb;x;*\n", r"column 'education': line . of education\.csv uses at level 1 a label"),
        ("a;x;*\n", r"column 'education': 1 value.* row\(s\) 2"),
    ],
)
def test_what_is_no_hierarchy_of_the_column_is_refused(written, content, message):  # bad input 19
    with pytest.raises(BadHierarchy, match=message):
        build(column("a", "b"), written(content))


def test_values_that_the_data_lacks_count_as_leaves(written):  # design 8
    assert build(column("a"), written("a;*\nb;*\nc;*\n")).size == 3


def test_several_tops_warn(written):  # bad input 20
    with pytest.warns(ShoalWarning, match=r"education\.csv ends in 2 labels and cannot reach full suppression"):
        build(column("a", "b"), written("a;x\nb;y\n"))


def test_missing_files_and_folders_are_named_as_in_the_policy(tmp_path):
    (tmp_path / "hierarchies").mkdir()
    for path in ("hierarchies/none.csv", "hierarchies"):
        with pytest.raises(BadHierarchy, match=rf"hierarchy file {path} cannot be read") as refusal:
            Csv(path, tmp_path).taxonomy(column())
        assert str(tmp_path) not in str(refusal.value)


@pytest.mark.parametrize("path", [5, "", None, "a\0b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(BadHierarchy, match="is not a path"):
        Csv(path)
