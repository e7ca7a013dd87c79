"""Workloads on disk."""

import pytest

import shoal as sh
from shoal.workload.queries import Among, Query, Within, load_queries, queries_of, toml_of

TOML = """
[[query]]
count = true
where = { age = { from = 20, to = 40 }, sex = "Male", zip = { in = ["a", "b, c"] } }
weight = 2

[[query]]
avg = "age"
"""
CSV = """aggregate,of,weight,age,sex,zip
count,,2,20..40,Male,"{a | ""b, c""}"
avg,age,,,,
min,age,1,..40,{x},
max,age,1,7..,,
"""
FIRST = Query(
    where=(("age", Within(20, 40)), ("sex", Among(("Male",))), ("zip", Among(("a", "b, c")))),
    weight=2.0,
)


def test_toml(tmp_path):
    file = tmp_path / "q.toml"
    file.write_text(TOML)
    assert load_queries(file) == (FIRST, Query("avg", "age"))
    again = tmp_path / "again.toml"
    again.write_text(toml_of(load_queries(file)))
    assert load_queries(again) == load_queries(file)


def test_csv(tmp_path):
    """The texts of a CSV are read as what the column holds."""
    file = tmp_path / "q.csv"
    file.write_text(CSV, "utf-8-sig")
    first, *others = load_queries(file)
    assert first.where == (("age", Within("20", "40")), *FIRST.where[1:])
    assert first.weight == 2
    assert others == [
        Query("avg", "age"),
        Query("min", "age", (("age", Within(None, "40")), ("sex", Among(("x",))))),
        Query("max", "age", (("age", Within("7")),)),
    ]


BAD = [
    ("q.toml", "= 3", "q.toml: not TOML"),
    ("q.toml", "", "q.toml: there is no query in it"),
    ("q.toml", "[[querry]]\ncount = true", "q.toml: unknown key 'querry' (did you mean 'query'?)"),
    ("q.toml", "[query]\ncount = true", "q.toml: queries are written as [[query]]"),
    ("q.toml", "[[query]]\ncount = true\n[[query]]\nsumm = 'age'", "q.toml: query 2: unknown key 'summ'"),
    ("q.csv", "aggregate\ncuont\n", "q.csv: query 1: unknown aggregate 'cuont' (did you mean 'count'?)"),
    ("q.csv", "age\n3\n", "q.csv: the first line names the columns"),
    ("q.csv", "aggregate,age,age\ncount,1,2\n", "q.csv: the first line names the columns, each once"),
    ("q.csv", "aggregate\ncount,3\n", "q.csv: query 1: the line has more cells than the first one"),
    ("q.csv", "aggregate,of\nsum,\n", "q.csv: query 1: sum needs the name of a column"),
    ("q.csv", "aggregate,weight\ncount,much\n", "q.csv: query 1: weight must be a number above 0"),
    ("q.csv", 'aggregate,age\ncount,"3\n', "q.csv: not a CSV"),
    ("q.csv", "", "q.csv: the first line names the columns"),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD)
def test_bad_files(tmp_path, name, content, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(sh.BadInput) as wrong:
        load_queries(tmp_path / name)
    assert str(wrong.value).startswith(says)
    assert "\n" not in str(wrong.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(sh.BadInput, match=r"^none.toml: there is no such file"):
        load_queries(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes("ä".encode("latin-1"))
    with pytest.raises(sh.BadInput, match="cannot be read"):
        load_queries(tmp_path / "latin.toml")


def test_queries_without_a_file():
    assert queries_of([{"count": True}]) == (Query(),)
