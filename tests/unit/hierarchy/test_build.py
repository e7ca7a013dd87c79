"""From a policy's words to levels, and the laws that every builder keeps."""

import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal.hierarchy
from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy import value_columns as columns
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import BUILDERS, Functions, Rows, build, parse
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.draft import draft
from shoal.hierarchy.hipaa import Hipaa
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Edges, Intervals
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.top_bottom import TopBottom, ValueOnly

SPECS = [
    ("intervals = [5, 10]", Intervals([5, 10])),
    ("intervals = [0.5]\nbottom = -1\ntop = 80.5", Intervals([0.5], -1, 80.5)),
    ("edges = [0, 18, 65]", Edges([0, 18, 65])),
    ("edges = [[0, 18, 65], [18]]", Edges([[0, 18, 65], [18]])),
    ("bottom = 10\ntop = 90", TopBottom(10, 90)),
    ("top = 90", TopBottom(top=90)),
    ('mask = "right"', Mask()),
    ('mask = "left"\nchar = "x"', Mask("left", "x")),
    ('mask = "right"\nlength = 5', Mask("right", length=5)),
    ('dates = ["month", "year"]', Dates(["month", "year"])),
    ('dates = ["year"]\nformat = "%d/%m/%Y"', Dates(["year"], "%d/%m/%Y")),
    ('tree = { person = ["asian", "black"] }', Tree({"person": ["asian", "black"]})),
    ('hipaa = "zip3"', Hipaa("zip3")),
    ('csv = "hierarchies/age.csv"', Csv("hierarchies/age.csv")),
    ('rows = [["a", "*"], ["b", "*"]]', Rows([["a", "*"], ["b", "*"]])),
    ("flat = true", ValueOnly()),
]

NUMBERS = st.lists(st.none() | st.integers(-200, 200), min_size=1, max_size=30)
CODES = st.lists(st.none() | st.text("ab01-é", max_size=5), min_size=1, max_size=30)
DATES = st.lists(st.none() | st.dates().map(str).filter(lambda d: not d.startswith("9999")), min_size=1, max_size=30)
ZIPS = st.lists(st.none() | st.from_regex(r"[0-9]{5}(-[0-9]{4})?", fullmatch=True), min_size=1, max_size=30)
BUILT = [
    (Intervals([5, 10, 40], -20, 33), NUMBERS),
    (Intervals([0.5, 2]), NUMBERS),
    (Edges([[-5, 0, 7, 65], [0, 65]]), NUMBERS),
    (TopBottom(-10, 90), NUMBERS),
    (Hipaa("age"), NUMBERS),
    (Functions([lambda x: f"~{x // 5}", lambda x: x // 25 + 1000]), NUMBERS),
    (Mask("right"), CODES),
    (Mask("left", "x"), CODES),
    (ValueOnly(), CODES),
    (Dates(["day", "month", "quarter", "year", "decade", "century"]), DATES),
    (Hipaa("zip3"), ZIPS),
]


@pytest.mark.parametrize(("text", "builder"), SPECS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_hierarchy_survives_the_policy_file(text, builder):
    parsed = parse(tomllib.loads(text))
    assert parsed == builder
    assert parsed.spec() == tomllib.loads(text)
    assert parse(tomllib.loads(tomli_w.dumps(parsed.spec()))) == parsed


def test_every_key_has_a_round_trip():
    assert {key for text, _ in SPECS for key in tomllib.loads(text)} >= set(BUILDERS)


def test_a_relative_file_starts_from_the_folder_of_the_policy():
    assert parse({"csv": "age.csv"}, Path("/policies")).base == Path("/policies")


def test_forms_of_python():
    mask = Mask()
    assert parse(mask) is mask
    assert parse([0, 5, 10]) == parse(np.array([5, 10])) == Intervals([5, 10])
    assert parse([["a", "*"]]) == parse(np.array([["a", "*"]])) == parse({0: ["a"], 1: ["*"]}) == Rows([["a", "*"]])
    assert parse([str.upper]) == parse(str.upper) == Functions([str.upper])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"interval": [5]}, r"unknown key 'interval'; did you mean 'intervals'"),  # bad input 18
        ({"mask": "right", "chr": "x"}, r"unknown key 'chr'; did you mean 'char'"),
        ({"zzz": 1}, r"unknown key 'zzz'; choose one of bottom, csv"),
        ({"base": "x", "csv": "y"}, r"unknown key 'base'"),
        ({"mask": "right", "intervals": [5]}, r"'mask' beside 'intervals'"),
        ({"edges": [5], "top": 9}, r"'top' beside 'edges'"),
        ({"char": "x"}, r"names no kind"),
        ({}, r"names no kind"),
        ({0: ["a"], "b": 1}, r"unknown key 0"),
        ("age.csv", r"cannot be a str"),
        (None, r"cannot be a NoneType"),
        (5, r"cannot be a int"),
    ],
)
def test_objects_that_are_no_hierarchy_are_refused(spec, message):
    with pytest.raises(BadHierarchy, match=message):
        parse(spec)


def test_a_raw_star_is_refused_with_its_row():  # design 9
    with pytest.raises(BadHierarchy, match=r"column 'sex': row 2 is already \*.*\[data\] missing"):
        build(encode("sex", pa.array(["f", "*"])), ValueOnly())


def test_a_column_of_near_unique_values_is_refused(monkeypatch):  # bad input 16
    monkeypatch.setattr(columns, "MAX_LABELS", 2)
    with pytest.raises(BadHierarchy, match=r"column 'id': 3 distinct values .* identifier"):
        build(encode("id", pa.array(["a", "b", "c"])), ValueOnly())


@pytest.mark.parametrize(("builder", "values"), BUILT, ids=lambda x: repr(x)[:40])
@settings(deadline=None)
@given(data=st.data())
def test_laws_of_every_builder(builder, values, data):
    values = data.draw(values)
    typed = pa.array(values) if any(v is not None for v in values) else pa.array(values, pa.string())
    column = encode("x", typed)
    hierarchy = build(column, builder)
    assert hierarchy.size == max(len(column.texts), 1)  # design 8: the distinct input values
    assert hierarchy.labels[-1] == ("*",)
    for level in range(hierarchy.height):
        step = hierarchy.between(level, level + 1)
        assert (step[hierarchy.levels[level]] == hierarchy.levels[level + 1]).all()  # nested
    if column.has_null:
        assert all(
            labels[level[-1]] is None for labels, level in zip(hierarchy.labels[:-1], hierarchy.levels, strict=False)
        )
    drafted = build(column, draft(column))
    assert drafted.labels[-1] == ("*",)


def test_exports_are_sorted_and_there():
    names = shoal.hierarchy.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(hasattr(shoal.hierarchy, name) for name in names)
