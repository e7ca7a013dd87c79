"""Columns with names that mean something elsewhere are columns like all others."""

import pyarrow as pa
import pytest

import shoal as sh


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["a\rb", "a\r\nb", "a\nb"])
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_column_with_a_line_end_in_its_name(tmp_path, name, engine):
    """DuckDB guesses the line end by the header: a release of such a column seemed to have no rows, and was refused."""
    rows = "".join(f"{20 + i % 4},{'xyz'[i % 3]}\n" for i in range(12))
    (tmp_path / "people.csv").write_text(f'age,"{name}"\n{rows}', "utf-8", newline="")
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
    policy = {"attributes": {"age": age, name: "sensitive"}, "require": [{"model": "k-anonymity", "k": 3}]}
    sh.anonymize(str(tmp_path / "people.csv"), policy, engine=engine).save(tmp_path / "out")
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=str(tmp_path / "people.csv")))


TREE = {"tree": {"any": {"airways": ["flu", "cold"], "others": ["hiv"]}}}


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize(
    ("model", "role"),
    [
        ({"model": "x-y-privacy", "y": ["*"], "k": 2}, "identifier"),
        ({"model": "x-y-privacy", "x": ["*"], "y": ["who"], "k": 2}, "quasi-identifier"),
        ({"model": "personalised", "guard": "*", "max": 0.9, "attribute": "ill"}, "identifier"),
        ({"model": "b-t-privacy", "b": 1, "t": 1, "attribute": "ill"}, "quasi-identifier"),
        ({"model": "b-t-privacy", "b": 1, "t": 1, "attribute": "*"}, "sensitive"),
        ({"model": "distinct-l-diversity", "l": 1, "attribute": "ill", "others": ["*"]}, "sensitive"),
    ],
)
def test_a_column_named_star(tmp_path, model, role):
    """`*` is the label of the top in every hierarchy, and a name like any other."""
    table = pa.table(
        {
            "*": ["airways", "hiv", None, "others"] * 3,
            "age": [20 + i // 6 for i in range(12)],
            "who": [f"p{i}" for i in range(12)],
            "ill": ["flu", "cold", "hiv"] * 4,
        }
    )
    policy = {
        "attributes": {
            "*": role,
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
            "who": "identifier",
            "ill": {"role": "sensitive", "hierarchy": TREE},
        },
        "require": [{"model": "k-anonymity", "k": 2}, model],
    }
    release = sh.anonymize(table, policy)
    release.save(tmp_path / "out")
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=table))
