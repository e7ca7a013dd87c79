"""The Python surface: frames in and out, policies without files, what importing costs."""

import copy
import datetime as dt
import inspect
import io
import json
import pickle
import subprocess
import sys
from decimal import Decimal

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel, ValidationError
from schemas import FOLDER, generated

import shoal as sh

ROWS = {
    "name": [f"p{i}" for i in range(6)],
    "age": [31, 33, 35, 51, 53, 55],
    "disease": ["flu", "hiv", "flu", "cold", "hiv", "flu"],
    "seen": [dt.date(2020, 1, 1)] * 6,
}
POLICY = sh.Policy(
    attributes={
        "name": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
        "disease": "sensitive",
        "seen": "insensitive",
    },
    require=[{"model": "k-anonymity", "k": 3}],
)
AGES = ["[30, 40)"] * 3 + ["[50, 60)"] * 3


def policy(age="quasi-identifier", require=None, **sections):
    return sh.Policy(
        attributes={"age": age, "disease": "sensitive"},
        require=require or [{"model": "k-anonymity", "k": 3}],
        **sections,
    )


def lone(extra, **columns):
    """Six people in two classes, and one who stands alone and will be suppressed."""
    return {"age": [31, 32, 33, 51, 52, 53, 99], "disease": ["a", "b", "c", "a", "b", "c", extra], **columns}


LONE = policy({"role": "quasi-identifier", "hierarchy": [10], "max-level": 1}, method={"suppression": 0.2})


# the same kind of frame comes back


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict])
def test_a_frame_of_the_same_library_comes_back(kind):
    frame = kind(ROWS)
    release = sh.anonymize(frame, POLICY)
    assert type(release.data) is type(frame)
    assert list(pa.table(release.data).to_pydict()) == ["age", "disease", "seen"]
    assert pa.table(release.data)["age"].to_pylist() == AGES
    assert pa.table(release.data)["disease"].to_pylist() == ROWS["disease"]
    assert release.summary.rows.released == 6
    assert all(verdict.holds for verdict in release.verdicts)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_input_is_not_changed(kind):
    frame = kind(ROWS)
    before = pa.table(frame).to_pydict()
    released = sh.anonymize(frame, POLICY).data
    if kind is pd.DataFrame:
        released.loc[0, "disease"] = "changed"
    assert pa.table(frame).to_pydict() == before


MARKED = {"age": ["1"] * 60, "s": ["a", "", "?", " b"] * 15, "other": ["x", "?", "5.0", "5"] * 15}


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda data: pd.DataFrame(data).astype("category"),
        pl.DataFrame,
        lambda data: pl.DataFrame(data).with_columns(pl.col("s").cast(pl.Categorical)),
        pa.table,
        lambda data: pa.table(data).set_column(1, "s", pa.array(data["s"]).dictionary_encode()),
    ],
)
@pytest.mark.parametrize("how", [{}, {"missing": ["?", ""]}, {"normalise": True}, {"missing": []}])
@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_what_means_missing_stays_in_the_frame_and_counts_as_null(make, how, tmp_path):
    rules = sh.Policy(
        attributes={"age": "quasi-identifier", "s": "sensitive", "other": "insensitive"},
        require=[{"model": "k-anonymity", "k": 3}, {"model": "distinct-l-diversity", "l": 2}],
        data=how,
    )
    frame = make(MARKED)
    release = sh.anonymize(frame, rules)
    assert all(verdict.holds for verdict in release.verdicts)
    released = pl.from_arrow(pa.table(release.data))
    assert released["s"].cast(pl.String).to_list() == MARKED["s"]
    known = 4 - len(how.get("missing", [""]))
    assert release.summary.models[1].attained == {"l": known}
    release.save(tmp_path / "out", format="parquet")
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=frame))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_label_that_looks_missing_is_none_in_a_frame(make):
    frame = make({"age": [1, 2, 3], "disease": ["a", "b", ""]})
    age = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    release = sh.anonymize(frame, policy(age, data={"missing": ["*", ""]}))
    assert pa.table(release.data)["age"].to_pylist() == ["*"] * 3


def test_a_file_gives_an_arrow_table(tmp_path):
    path = tmp_path / "people.csv"
    pl.DataFrame(ROWS).write_csv(path)
    assert sh.anonymize(path, POLICY).data["age"].to_pylist() == AGES
    assert sh.anonymize(str(path), POLICY).data.column_names == ["age", "disease", "seen"]


PANDAS = {
    "category": pd.Categorical(["a", "b", "a", None, "b", "a"], categories=["b", "a"], ordered=True),
    "datetime": pd.to_datetime(["2020-01-01"] * 5 + [None]),
    "zoned": pd.to_datetime(["2020-01-01 12:00"] * 6).tz_localize("Europe/Berlin"),
    "nullable": pd.array([1, 2, None, 1, 2, 1], dtype="Int64"),
    "float": [1.0, 2.5, np.nan, 1e20, 0.1, -0.0],
    "float32": np.array([1, 2.5, 3, 4, 5, 6], np.float32),
    "boolean": pd.array([True, None, False] * 2, dtype="boolean"),
    "string": pd.array(["x", None, "y"] * 2, dtype="string"),
    "arrow": pd.Series([1, 2, None] * 2, dtype="int64[pyarrow]"),
    "delta": pd.to_timedelta([1, 2, 3, 1, 2, 3], unit="h"),
    "period": pd.period_range("2020-01", periods=6, freq="M"),
    "text": ["x", None, "y", "=1", "'=1", "?"],
}


@pytest.mark.parametrize("column", PANDAS)
def test_pandas_columns_keep_their_type(column):
    frame = pd.DataFrame({"age": ROWS["age"], column: PANDAS[column], "disease": ROWS["disease"]})
    rules = policy({"role": "quasi-identifier", "hierarchy": [10]})
    rules = sh.Policy(attributes={**rules.attributes, column: "sensitive"}, require=rules.require)
    released = sh.anonymize(frame, rules).data
    assert list(released) == list(frame)
    pd.testing.assert_series_equal(released[column], frame[column])


ARROW = {
    "int8": pa.array([1, 2, None] * 2, pa.int8()),
    "float": pa.array([1.0, 2.5, None, 1e20, 0.1, 3]),
    "half": pa.array(np.array([1, 2.5, 3, 4, 5, 6], np.float16)),
    "bool": pa.array([True, False, None] * 2),
    "date64": pa.array([dt.date(2020, 1, i + 1) for i in range(6)], pa.date64()),
    "midnight": pa.array(range(0, 6 * 86_400, 86_400), pa.int64()).cast(pa.timestamp("s")),
    "moment": pa.array(range(10**15, 10**15 + 6000, 1000), pa.int64()).cast(pa.timestamp("ns")),
    "zoned": pa.array(range(6), pa.int64()).cast(pa.timestamp("us", "Europe/Berlin")),
    "time": pa.array([dt.time(i, 2, 3) for i in range(6)], pa.time32("s")),
    "delta": pa.array([dt.timedelta(seconds=i) for i in range(6)]),
    "decimal": pa.array([Decimal("1.50")] * 6),
    "wide": pa.array([Decimal("1.50")] * 6, pa.decimal256(50, 2)),
    "dictionary": pa.array(["a", "b", None] * 2).dictionary_encode(),
    "large": pa.array(["a", "b", None] * 2, pa.large_string()),
    "view": pa.array(["a", "b", None] * 2, pa.string_view()),
    "null": pa.nulls(6),
    "text": pa.array(["'=x", "=x", "a\rb", "\u202e", 'q"', "a\nb"]),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("column", ARROW)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_every_type_goes_through_memory_and_disk(column, form, tmp_path):
    table = pa.table({"age": ROWS["age"], "s": ARROW[column]})
    rules = sh.Policy(
        attributes={"age": {"role": "quasi-identifier", "hierarchy": [10]}, "s": "sensitive"},
        require=[{"model": "k-anonymity", "k": 3}],
    )
    release = sh.anonymize(table, rules)
    assert release.data.schema.field("s").type == ARROW[column].type
    assert release.data["s"].to_pylist() == ARROW[column].to_pylist()
    release.save(tmp_path / "out", format=form)
    statuses = {v.promise: str(v.status) for v in sh.verify(tmp_path / "out", original=table)}
    assert set(statuses.values()) == {"holds"}


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["hiv", "flu", "cold"]), pl.String])
def test_polars_columns_keep_their_type(dtype):
    frame = pl.DataFrame(ROWS).with_columns(pl.col("disease").cast(dtype))
    released = sh.anonymize(frame, POLICY).data
    assert released.schema == {**frame.drop("name").schema, "age": pl.String}
    assert released["disease"].to_list() == ROWS["disease"]


def test_a_lazy_frame_is_refused():
    with pytest.raises(sh.BadData, match="collect"):
        sh.anonymize(pl.DataFrame(ROWS).lazy(), POLICY)


# what was suppressed is gone, categories and metadata too


def serialised(frame):
    sink = io.BytesIO()
    if isinstance(frame, pd.DataFrame):
        frame.to_pickle(sink)
    elif isinstance(frame, pl.DataFrame):
        frame.write_ipc(sink)
    else:
        with pa.ipc.new_stream(sink, frame.schema) as writer:
            writer.write_table(frame)
    return sink.getvalue()


LONG = "CANARY-7f3 and so on, longer than a string view holds inline"
FRAMES = {
    "pandas": lambda: pd.DataFrame(lone(LONG)),
    "pandas category": lambda: pd.DataFrame(lone(LONG)).astype({"disease": "category"}),
    "polars": lambda: pl.DataFrame(lone(LONG)),
    "polars categorical": lambda: pl.DataFrame(lone(LONG)).with_columns(pl.col("disease").cast(pl.Categorical)),
    "polars enum": lambda: pl.DataFrame(lone(LONG)).with_columns(
        pl.col("disease").cast(pl.Enum(["c", "a", "b", LONG]))
    ),
    "arrow": lambda: pa.table(lone(LONG)),
    "arrow dictionary": lambda: pa.table(lone(pa.array(lone(LONG)["disease"])[6].as_py())).set_column(
        1, "disease", pa.array(lone(LONG)["disease"]).dictionary_encode()
    ),
    "arrow metadata": lambda: pa.table(lone(LONG)).replace_schema_metadata({"note": LONG}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_forgets_what_was_suppressed(kind):
    frame = FRAMES[kind]()
    assert b"CANARY" in serialised(frame)
    release = sh.anonymize(frame, LONE)
    assert release.summary.rows.suppressed == 1
    assert len(release.data) == 6
    assert b"CANARY" not in serialised(release.data)
    if isinstance(release.data, pd.DataFrame):
        assert list(release.data.index) == list(range(6))


# bad input 24: the index of pandas is a column like any other


@pytest.mark.parametrize(
    "index",
    [[3, 1, 2, 0, 5, 4], [7, 7, 7, 8, 8, 8], ["x", "y", "z", "u", "v", "w"], pd.RangeIndex(1, 7)],
)
def test_an_index_without_a_role_is_refused(index):
    with pytest.raises(sh.BadPolicy, match="give it a role as attribute 'index'"):
        sh.anonymize(pd.DataFrame(ROWS, index), POLICY)


def with_index(role, name="index"):
    return sh.Policy(attributes={**POLICY.attributes, name: role}, require=POLICY.require)


@pytest.mark.parametrize("role", ["identifier", {"role": "insensitive", "confirm": True}])
def test_an_index_with_a_role_changes_nothing_else(role):
    plain = sh.anonymize(pd.DataFrame(ROWS), POLICY)
    index = [7, 3, 5, 9, 1, 0]
    release = sh.anonymize(pd.DataFrame(ROWS, index), with_index(role))
    pd.testing.assert_frame_equal(release.data.reset_index(drop=True), plain.data)
    assert release.summary.method.score == plain.summary.method.score
    assert list(release.data.index) == (list(range(6)) if role == "identifier" else index)


def test_a_released_index_comes_back_as_an_index():
    index = pd.Index([31, 32, 33, 51, 52, 53], name="who")
    release = sh.anonymize(
        pd.DataFrame(ROWS, index), with_index({"role": "quasi-identifier", "hierarchy": [10]}, "who")
    )
    assert release.data.index.name == "who"
    assert list(release.data.index) == AGES


def test_some_levels_of_an_index_may_be_released():
    index = pd.MultiIndex.from_arrays([list("abcdef"), pd.to_datetime(["2020-01-01"] * 6)], names=["id", "day"])
    rules = sh.Policy(
        attributes={**POLICY.attributes, "id": "identifier", "day": "insensitive"}, require=POLICY.require
    )
    released = sh.anonymize(pd.DataFrame(ROWS, index), rules).data
    pd.testing.assert_index_equal(released.index, index.get_level_values("day"))


# policies without files


def decade(age):
    return f"{age // 10}0s"


FORMS = {
    "table": {"intervals": [10]},
    "widths": [10],
    "rows": [[str(age), decade(age), "*"] for age in ROWS["age"]],
    "levels": {0: ROWS["age"], 1: [decade(age) for age in ROWS["age"]], 2: ["*"] * 6},
    "functions": [decade],
    "one function": decade,
    "tree": {"tree": {"30s": ["31", "33", "35"], "50s": ["51", "53", "55"]}},
    "array": np.array([[str(age), decade(age), "*"] for age in ROWS["age"]]),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("form", FORMS)
def test_hierarchies_in_all_forms(form, tmp_path):
    frame = pd.DataFrame(ROWS)[["age", "disease"]]
    release = sh.anonymize(frame, policy({"role": "quasi-identifier", "hierarchy": FORMS[form]}))
    expected = AGES if form in {"table", "widths"} else ["30s"] * 3 + ["50s"] * 3
    assert list(release.data["age"]) == expected
    manifest = release.save(tmp_path / "out")
    assert manifest.policy["attributes"]["age"]["hierarchy"]
    assert all(v.holds for v in sh.verify(tmp_path / "out", original=frame))


def test_drafted_and_csv_hierarchies_are_saved_and_verified(tmp_path):
    frame = pd.DataFrame({"age": list(range(30, 60)) * 10, "disease": list("abc") * 100})
    sh.anonymize(frame, policy()).save(tmp_path / "drafted")
    (tmp_path / "age.csv").write_text("".join(f"{age};{decade(age)};*\n" for age in range(30, 60)))
    (tmp_path / "policy.toml").write_text(
        '[attributes]\nage = { role = "quasi-identifier", hierarchy = { csv = "age.csv" } }\ndisease = "sensitive"\n'
        '[[require]]\nmodel = "k-anonymity"\nk = 3\n'
    )
    sh.anonymize(frame, sh.Policy.load(tmp_path / "policy.toml")).save(tmp_path / "csv")
    (tmp_path / "age.csv").unlink()  # the private folder has its own
    for out in ("drafted", "csv"):
        assert all(v.holds for v in sh.verify(tmp_path / out, original=frame))


def test_infeasible_and_the_tree_of_errors():
    with pytest.raises(sh.Infeasible, match="impossible") as caught:
        sh.anonymize(
            pd.DataFrame(ROWS), sh.Policy(attributes=POLICY.attributes, require=[{"model": "k-anonymity", "k": 7}])
        )
    assert caught.value.exit_code == 3
    assert issubclass(sh.Infeasible, sh.ShoalError)
    for error in (sh.BadData, sh.BadHierarchy, sh.BadPolicy, sh.BadOutput):
        assert issubclass(error, sh.BadInput)
    with pytest.raises(sh.BadPolicy):
        sh.Policy(attributes={}, require=[])
    with pytest.raises(sh.BadInput, match="no column"):
        sh.measure(pd.DataFrame(ROWS), quasi_identifiers=["agee"])


def test_warnings_are_shoals_own():
    with pytest.warns(sh.ShoalWarning, match="no protection"):
        sh.anonymize(
            pd.DataFrame(ROWS), sh.Policy(attributes=POLICY.attributes, require=[{"model": "k-anonymity", "k": 1}])
        )


def test_save_refuses_what_exists(tmp_path):
    release = sh.anonymize(pd.DataFrame(ROWS), POLICY)
    release.save(tmp_path / "out")
    with pytest.raises(sh.BadOutput, match="force"):
        release.save(tmp_path / "out")
    with pytest.raises(sh.BadInput, match="xml"):
        release.save(tmp_path / "other", format="xml")
    assert release.save(tmp_path / "out", force=True).data.file == "data.csv"


def test_small_numbers_are_written_as_numbers(tmp_path):
    frame = pd.DataFrame({"age": ROWS["age"], "disease": [-1.5e-7, 2.0, -3.0, 1e20, -2e-9, 0.5]})
    release = sh.anonymize(frame, policy({"role": "quasi-identifier", "hierarchy": [10]}))
    assert release.save(tmp_path / "out").warnings == ()
    assert "'" not in (tmp_path / "out" / "data.csv").read_text()
    assert sorted(pd.read_csv(tmp_path / "out" / "data.csv")["disease"]) == sorted(frame["disease"])


def test_an_empty_text_needs_a_missing_marker_other_than_empty(tmp_path):
    frame = pd.DataFrame({"age": [1] * 3, "disease": ["a", "", "b"]})
    release = sh.anonymize(frame, policy(data={"missing": []}))
    with pytest.raises(sh.BadInput, match=r"missing = \['NA'\], or write Parquet"):
        release.save(tmp_path / "out")
    assert release.save(tmp_path / "out", format="parquet").data.spreadsheet_safe is False
    sh.anonymize(frame, policy(data={"missing": ["NA"]})).save(tmp_path / "other")
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "other", original=frame))


@pytest.mark.parametrize("kind", [str, lambda path: path, sh.Policy.load, lambda path: sh.Policy.load(path).document()])
def test_a_policy_may_be_a_path_or_a_mapping(tmp_path, kind):
    POLICY.save(tmp_path / "p.toml")
    release = sh.anonymize(pd.DataFrame(ROWS), kind(tmp_path / "p.toml"))
    assert list(release.data["age"]) == AGES
    assert isinstance(release.policy, sh.Policy)


@pytest.mark.parametrize("given", [None, 5, ["age"], {1: 2}])
def test_what_is_no_policy_is_refused(given):
    with pytest.raises(sh.BadPolicy, match="the path of its file or a mapping"):
        sh.anonymize(pd.DataFrame(ROWS), given)


def test_a_single_column_name_may_be_a_plain_string():
    frame = pd.DataFrame({"age": [1, 1, 2, 2], "s": ["NA", "x", "x", "y"]})
    several = sh.measure(frame, quasi_identifiers=["age", "age"], sensitive=["s"], missing=["NA"])
    assert sh.measure(frame, quasi_identifiers="age", sensitive="s", missing="NA") == several
    found = {each.model: each.attained for each in several.models}
    assert (found["k-anonymity"], found["distinct-l-diversity"]) == ({"k": 2}, {"l": 1})


def parts(value):
    """Every value inside a summary."""
    yield value
    if isinstance(value, BaseModel):
        inside = [getattr(value, name) for name in type(value).model_fields]
    else:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else []
    for part in inside:
        yield from parts(part)


def test_a_summary_is_frozen_in_depth():
    require = [{"model": "alpha-k", "alpha": {"flu": 0.9}}, {"model": "k-anonymity", "k": 3}]
    summary = sh.anonymize(pd.DataFrame(ROWS), sh.Policy(attributes=POLICY.attributes, require=require)).summary
    document = summary.document()
    for part in parts(summary):
        assert not isinstance(part, list | set)
        if isinstance(part, dict):
            for change in (
                lambda d: d.update(a=1),
                lambda d: d.__setitem__("a", 1),
                lambda d: d.pop("a", None),
                lambda d: d.clear(),
                lambda d: d.setdefault("a", 1),
                lambda d: d.__ior__({}),
            ):
                with pytest.raises(TypeError, match="does not change"):
                    change(part)
        elif isinstance(part, BaseModel):
            with pytest.raises(ValidationError):
                setattr(part, next(iter(type(part).model_fields)), 1)
    assert summary.document() == document == json.loads(json.dumps(document))
    assert type(document["metrics"]) is dict
    for copied in (pickle.loads(pickle.dumps(summary)), copy.deepcopy(summary)):
        assert copied == summary


def test_a_population_that_no_promise_uses_gives_a_warning(tmp_path):
    sh.anonymize(pd.DataFrame(ROWS), POLICY).save(tmp_path / "out")
    with pytest.warns(sh.ShoalWarning, match="no promise of this release looks at the population"):
        sh.verify(tmp_path / "out", population=pd.DataFrame(ROWS))
    with pytest.raises(sh.BadData, match="no such file"):
        sh.verify(tmp_path / "out", population=tmp_path / "nix.csv")


def test_measure_needs_no_policy():
    found = sh.measure(pl.DataFrame(ROWS), quasi_identifiers=["seen"], sensitive=["disease"])
    attained = {each.model: each.attained for each in found.models}
    assert (attained["k-anonymity"], attained["distinct-l-diversity"]) == ({"k": 6}, {"l": 3})


# the surface and its weight

NAMES = [
    *("BadData", "BadHierarchy", "BadInput", "BadOutput", "BadPolicy", "Infeasible", "NotVerified", "Policy"),
    *(
        "Postgres",
        "Release",
        "Role",
        "ShoalError",
        "ShoalWarning",
        "anonymize",
        "apply",
        "attack",
        "attacks",
        "audit",
        "block",
        "compare",
        "datasets",
        "draft",
        "lattice",
    ),
    *("learn", "measure", "plot"),
    *("register_algorithm", "register_attack", "register_hierarchy", "register_metric", "register_model"),
    *("remove", "republish", "risk", "sweep", "verify", "workload"),
]


def test_public_names():
    assert sorted(sh.__all__) == NAMES
    assert all(getattr(sh, name) is not None for name in NAMES)
    assert set(NAMES) <= set(dir(sh))
    with pytest.raises(AttributeError):
        sh.nonsense  # noqa: B018


def test_verify_is_a_function_though_a_module_has_its_name():
    import shoal.verify

    assert callable(sh.verify)
    assert callable(shoal.verify)
    from shoal.verify.claim import Verdict

    assert Verdict.__module__ == "shoal.verify.claim"


HEAVY = {
    *("duckdb", "jinja2", "matplotlib", "narwhals", "numpy", "pandas", "polars", "pyarrow", "pydantic"),
    *("python_calamine", "rich", "scipy", "sklearn"),
}


HELP = """
import sys, shoal.cli.main
sys.argv = ['shoal', '--help']
try:
    shoal.cli.main.main()
except SystemExit as done:
    assert not done.code
"""


@pytest.mark.parametrize("code", ["import shoal", "import shoal; shoal.Infeasible, shoal.__all__, dir(shoal)", HELP])
def test_importing_loads_no_heavy_module(code):
    script = f"{code}\nimport sys\nprint('LOADED', *sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = {name.split(".")[0] for name in said.split("LOADED")[1].split()}
    assert not loaded & (HEAVY - {"rich"} if "cli" in code else HEAVY)


# schemas


@pytest.mark.parametrize("name", generated())
def test_the_shipped_schemas_are_the_generated_ones(name):
    assert json.loads((FOLDER / name).read_text("utf-8")) == generated()[name]
    jsonschema.Draft202012Validator.check_schema(generated()[name])


def test_every_schema_file_is_a_generated_one():
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(generated())


def test_documents_keep_to_their_schemas(tmp_path):
    release = sh.anonymize(pd.DataFrame(ROWS), POLICY)
    release.save(tmp_path / "out")
    schemas = generated()
    jsonschema.validate(release.summary.document(), schemas["manifest.schema.json"])
    jsonschema.validate(POLICY.document(), schemas["policy.schema.json"])
    public = json.loads((tmp_path / "out" / "manifest.json").read_text())
    jsonschema.validate(public, schemas["public-manifest.schema.json"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**POLICY.document(), "nonsense": 1}, schemas["policy.schema.json"])


def test_a_policy_with_everything_keeps_to_its_schema():
    everything = sh.Policy(
        data={"missing": ["", "?"], "delimiter": ";", "others": "drop"},
        attributes={
            "age": {"role": "quasi-identifier", "hierarchy": [5], "importance": 0.5, "min-level": 0, "max-level": 1},
            "disease": "sensitive",
        },
        require=[
            {"model": "k-anonymity", "k": 5},
            {"model": "distinct-l-diversity", "l": 2, "attribute": "disease"},
            {"model": "alpha-k", "alpha": {"hiv": 0.5}, "k": 2},
            {"model": "alpha-k", "alpha": 0.5},
        ],
        method={"suppression": "k", "metric": "height", "time-limit": 5, "seed": 1},
        release={"order": "keep", "suppressed": "show", "spreadsheet-safe": False},
    )
    jsonschema.validate(everything.document(), generated()["policy.schema.json"])


# at home in Python


def people(count=60):
    return pd.DataFrame(
        {
            "age": [20 + i % 40 for i in range(count)],
            "sex": ["f", "m"] * (count // 2),
            "disease": ["flu", "hiv", "cold"] * (count // 3),
        }
    )


def test_a_draft_is_a_policy_that_can_be_read_and_saved(tmp_path):
    found = sh.draft(people(), k=3)
    assert str(found) == found.text
    assert found.text.startswith("# Drafted by shoal")
    assert found.policy.quasi_identifiers == ["age", "sex"]
    assert repr(found) == "PolicyDraft(quasi-identifier: 2, sensitive: 1)"
    assert found.save(tmp_path / "policy.toml") == tmp_path / "policy.toml"
    assert (tmp_path / "policy.toml").read_text("utf-8") == found.text
    assert sh.Policy.load(tmp_path / "policy.toml") == found.policy
    with pytest.raises(sh.BadOutput, match="there is such a file already"):
        found.save(tmp_path / "policy.toml")
    with pytest.raises(sh.BadOutput, match="the folder 'nowhere' that should hold it does not exist"):
        found.save(tmp_path / "nowhere" / "policy.toml")
    assert sh.anonymize(people(), found.policy).summary.rows.read == 60
    assert found._repr_html_().startswith("<pre># Drafted")


def test_a_draft_escapes_the_names_of_columns():
    assert "<b>" not in sh.draft(people().rename(columns={"sex": "<b>"}))._repr_html_()


@pytest.mark.parametrize(
    "error",
    [
        sh.ShoalError,
        sh.BadInput,
        sh.BadData,
        sh.BadPolicy,
        sh.BadHierarchy,
        sh.BadOutput,
        sh.Infeasible,
        sh.NotVerified,
    ],
)
def test_errors_are_value_errors(error):
    assert issubclass(error, ValueError)


def test_common_arguments_may_be_positional(tmp_path):
    frame = people()
    file = tmp_path / "people.csv"
    frame.to_csv(file, index=False)
    named = sh.measure(frame, quasi_identifiers=["age", "sex"], sensitive="disease")
    assert sh.measure(frame, ["age", "sex"], "disease") == named
    found = sh.risk(frame, ["age", "sex"]).document()
    assert found == sh.risk(frame, quasi_identifiers=["age", "sex"]).document()
    drafted = sh.draft(file, 3).policy
    assert sh.compare(frame, drafted, ["datafly"]).runs[0].algorithm == "datafly"
    release = sh.anonymize(file, drafted)
    release.save(tmp_path / "out")
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", file))
    assert sh.audit(release).lines
    assert sh.attack(release, "homogeneity") == sh.attack(release, sh.attacks.Homogeneity())
    assert sh.workload(file, release, [{"count": True}]).answered[0].actual == 60


@pytest.mark.parametrize("given", ["homogenity", 5, sh.attacks.Homogeneity])
def test_what_is_no_attack_is_refused(given):
    release = sh.anonymize(pd.DataFrame(ROWS), POLICY)
    with pytest.raises(sh.BadInput, match=r"is no attack.*known: .*homogeneity"):
        sh.attack(release, given)
    with pytest.raises(sh.BadInput, match=r"join: it needs register: run `shoal attack join` \(in Python shoal.attack"):
        sh.attack(release, "join")


@pytest.mark.parametrize(("given", "values"), [(3, [3]), ("2..3", [2, 3]), (range(2, 4), [2, 3])])
def test_sweep_takes_values_in_several_forms(given, values):
    assert [run.value for run in sh.sweep(pd.DataFrame(ROWS), POLICY, k=given).runs] == values


@pytest.mark.parametrize("name", [name for name in sh.__all__ if inspect.isfunction(getattr(sh, name))])
def test_signatures_show_no_lambda_and_no_nameless_object(name):
    said = str(inspect.signature(getattr(sh, name)))
    assert "<" not in said  # neither a lambda nor an object without a name
    assert "lambda" not in said
