"""Verify counts as a naive count does, and sees what is not true."""

import csv
import json
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

from shoal.api.releases import anonymize
from shoal.data.codes import Table, encode
from shoal.engines.table_writer import Style, text_order, write_csv, write_parquet
from shoal.errors import BadInput, NotVerified
from shoal.hierarchy.build import build, parse
from shoal.hierarchy.intervals import Intervals
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import DistinctLDiversity
from shoal.policy.document import Policy
from shoal.publish.verification import original_levels, original_table
from shoal.recoding.columns import ReleasedColumn
from shoal.verify.claim import Claim, Original, Status
from shoal.verify.judge import judge
from shoal.verify.open_release import opened
from shoal.verify.release_files import check_hash, read_json
from shoal.verify.released_counts import count_released
from shoal.verify.truth_by_level import covers

HOW = {"delimiter": ";", "quote": '"', "missing": "?"}
ODD = st.sampled_from(
    [
        "a",
        "b",
        "A",
        "ä",
        "a ",
        " a",
        "",
        "*",
        "nan",
        "None",
        "NULL",
        "a;b",
        'a"b',
        "a\nb",
        "a\rb",
        "=1",
        "'=1",
        "''=1",
        "'",
        "-1e-7",
    ]
)
CELL = st.none() | ODD | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="?\0"), max_size=3)
ROW = st.tuples(CELL, CELL, CELL)


def released(rows, names=("q", "r", "s")):
    """Rows of texts as coded columns."""
    out = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        labels = list(dict.fromkeys(cells))
        out[name] = ReleasedColumn.of(np.array([labels.index(cell) for cell in cells], np.int32), labels)
    return out


def naive(rows, quasi):
    """Class sizes, and per class how often each value of the last column occurs; classes in any order."""
    classes = defaultdict(Counter)
    for row in rows:
        classes[row[:quasi]][row[-1]] += 1
    return sorted((sum(values.values()), sorted(map(str, values.items()))) for values in classes.values())


def counted(release, claim):
    found = count_released(release, claim).classes
    values = found.sensitive["s"]
    per_class = [Counter() for _ in found.sizes]
    for at, value, n in zip(values.classes, values.values, values.counts, strict=True):
        per_class[at][values.labels[value]] += int(n)
    return sorted((int(n), sorted(map(str, c.items()))) for n, c in zip(found.sizes, per_class, strict=True))


@examples(60, fixtures=True)
@given(rows=st.lists(ROW, min_size=1, max_size=30), form=st.sampled_from(["csv", "parquet", "table"]))
def test_the_counts_are_those_of_a_naive_count(rows, form, tmp_path):
    columns = released(rows)
    file = tmp_path / f"data.{form}"
    file.unlink(missing_ok=True)
    if form == "csv":
        write_csv(columns, text_order(columns), file, Style(";", '"', "?", spreadsheet_safe=False))
    elif form == "parquet":
        write_parquet(columns, text_order(columns), file)
    else:
        file = pa.table({name: c.values.take(pa.array(c.codes)) for name, c in columns.items()})
    claim = Claim(["q", "r"], ["s"], [KAnonymity(2), DistinctLDiversity(2, "s")], len(rows), ["q", "r", "s"])
    with opened(file, claim.columns, HOW) as release:
        assert counted(release, claim) == naive(rows, 2)
        verdicts = {v.promise: v for v in judge(claim, count_released(release, claim))}
    sizes = Counter(row[:2] for row in rows)
    distinct = {of: len({row[2] for row in rows if row[:2] == of} - {None}) for of in sizes}
    assert verdicts["rows"].holds
    assert verdicts["classes"].attained == {
        "count": len(sizes),
        "min": min(sizes.values()),
        "max": max(sizes.values()),
        "mean": len(rows) / len(sizes),
    }
    assert verdicts["k-anonymity"].holds == (min(sizes.values()) >= 2)
    assert verdicts["k-anonymity"].attained == {"k": min(sizes.values())}
    assert verdicts["distinct-l-diversity"].attained == {"l": min(distinct.values())}


# what is true


ROWS = [("[30, 40)", "flu"), ("[30, 40)", "hiv"), ("[50, 60)", "flu"), ("[50, 60)", None)]
CLAIM = Claim(["age"], ["s"], [KAnonymity(2)], 4, ["age", "s"])


def ten(ages):
    """A hierarchy of ages in tens."""
    builder = Intervals([10])
    return original_levels({"age": build(ages, builder)}, {"age": builder})


@pytest.fixture
def original():
    columns = {
        "age": encode("age", pa.array([31, 35, 51, 55])),
        "s": encode("s", pa.array(["flu", "hiv", "flu", None])),
    }
    return Original(original_table(Table(columns, 4)), ten(columns["age"]), {"age": 1})


def truthful(rows, original, shown=0):
    table = pa.table({"age": [age for age, _ in rows], "s": pa.array([s for _, s in rows], pa.string())})
    with opened(table, CLAIM.columns, {}) as release:
        return covers(release, replace(CLAIM, shown=shown), original)


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        (ROWS, 0),
        (ROWS[:2], 0),  # what is left out is no lie
        (ROWS[::-1], 0),
        ([("[30, 50)", "flu"), *ROWS[1:]], 1),  # no label of the hierarchy
        ([("[50, 60)", "hiv"), *ROWS[1:]], 1),  # a wrong label
        ([("[30, 40)", "cold"), *ROWS[1:]], 1),  # a wrong value
        ([("[30, 40)", None), *ROWS[1:]], 1),  # null is a value too
        ([(None, "flu"), *ROWS[1:]], 1),
        ([ROWS[0], *ROWS], 1),  # once too often
        ([("*", "flu"), *ROWS[1:]], 1),  # nothing is said to be shown
    ],
)
def test_every_row_must_cover_an_original_one(rows, wrong, original):
    verdict = truthful(rows, original)
    assert verdict.status is (Status.FAILS if wrong else Status.HOLDS)
    assert verdict.why == (f"{wrong} released row(s) do not cover an original one" if wrong else "")


@pytest.mark.parametrize(
    ("rows", "shown", "says"),
    [
        ([("*", "flu"), *ROWS[1:]], 1, ""),
        ([("*", "flu"), ("*", "hiv"), *ROWS[2:]], 2, ""),
        ([("*", "cold"), *ROWS[1:]], 1, "1 released row(s) do not cover"),
        ([("*", "hiv"), ("*", "hiv")], 2, "1 released row(s) do not cover"),
        ([("*", "hiv"), *ROWS], 1, "1 released row(s) do not cover"),  # the only hiv row is there already
        ([("*", None), *ROWS[:3], ("[50, 60)", "hiv")], 1, "1 released row(s) do not cover"),
        ([("*", "flu"), *ROWS[1:]], 2, "1 released row(s) are all *, not 2"),
        ([("*", "flu"), ("*", "hiv"), *ROWS[2:]], 1, "2 released row(s) are all *, not 1"),
        (ROWS, 1, "0 released row(s) are all *, not 1"),
    ],
)
def test_suppressed_rows_that_are_shown_cover_what_is_left(rows, shown, says, original):
    verdict = truthful(rows, original, shown)
    assert verdict.holds == (not says)
    assert verdict.why.startswith(says)


def test_suppressed_rows_in_a_table_of_stars(original):
    original = Original(original.table, original.hierarchies, {"age": 2})
    rows = [("*", s) for _, s in ROWS]
    assert truthful(rows, original).holds
    assert not truthful([*rows, ("*", "flu")], original).holds
    assert not truthful([("*", "cold"), *rows[1:]], original).holds


def test_without_other_columns_stars_are_counted():
    ages = encode("age", pa.array([31, 35, 51, 55]))
    original = Original(original_table(Table({"age": ages}, 4)), ten(ages), {"age": 1})
    claim = Claim(["age"], [], [KAnonymity(2)], 4, ["age"], shown=2)
    for cells, holds in ((["[30, 40)"] * 2 + ["*"] * 2, True), (["[30, 40)"] * 3 + ["*"] * 2, False)):
        with opened(pa.table({"age": cells}), claim.columns, {}) as release:
            assert covers(release, claim, original).holds == holds


def test_a_leading_apostrophe_is_undone_once():
    texts = ["=1", "'=1", "'a", "a"]
    columns = {"q": encode("q", pa.array(["x"] * 4)), "s": encode("s", pa.array(texts))}
    original = Original(
        original_table(Table(columns, 4)),
        original_levels({"q": build(columns["q"], parse({"flat": True}))}, {}),
        {"q": 0},
    )
    claim = Claim(["q"], ["s"], [], 4, ["q", "s"])
    safe = {"spreadsheet_safe": True}
    for how, cells, holds in (
        ({}, texts, True),
        (safe, ["'=1", "''=1", "'a", "a"], True),
        ({}, ["'=1", "''=1", "'a", "a"], False),
        (safe, ["'=1", "'=1", "'a", "a"], False),
        (safe, ["=1", "=1", "'a", "a"], False),
    ):
        with opened(pa.table({"q": ["x"] * 4, "s": cells}), claim.columns, how) as release:
            assert covers(release, claim, original).holds == holds


@examples(40, fixtures=True)
@given(rows=st.lists(st.tuples(st.just("x"), st.just("y"), CELL), min_size=1, max_size=12))
def test_defused_texts_are_counted_as_they_were(rows, tmp_path):
    columns = released(rows)
    file = tmp_path / "data.csv"
    file.unlink(missing_ok=True)
    write_csv(columns, text_order(columns), file, Style(";", '"', "?", spreadsheet_safe=True))
    claim = Claim(["q", "r"], ["s"], [], len(rows), ["q", "r", "s"])
    with opened(file, claim.columns, {**HOW, "spreadsheet_safe": True}) as release:
        assert counted(release, claim) == naive(rows, 2)


# files that are not what they should be


def write(path, rows, **how):
    with path.open("w", newline="") as file:
        csv.writer(file, **how).writerows(rows)
    return path


@pytest.mark.parametrize("header", [["s", "age"], ["age"], ["age", "s", "x"], ["Age", "s"], []])
def test_other_columns_are_not_verified(tmp_path, header):
    file = write(tmp_path / "data.csv", [header, ["a", "b"]], delimiter=";")
    with pytest.raises(NotVerified, match="other columns"), opened(file, ["age", "s"], HOW):
        pass
    pq.write_table(pa.table({name: ["a"] for name in header}), tmp_path / "data.parquet")
    with pytest.raises(NotVerified, match="other columns"), opened(tmp_path / "data.parquet", ["age", "s"], HOW):
        pass


@pytest.mark.parametrize("content", [b"PAR1 and nothing else", b"", b"age;s\n1;2\n"])
def test_a_damaged_parquet_file_is_not_verified(tmp_path, content):
    (tmp_path / "data.parquet").write_bytes(content)
    with pytest.raises(NotVerified, match="damaged"), opened(tmp_path / "data.parquet", ["age", "s"], HOW):
        pass


@pytest.mark.parametrize("rows", [[["1"]], [["1", "2", "3"]]])
def test_a_ragged_csv_is_not_verified_and_its_cells_not_told(tmp_path, rows):
    file = write(tmp_path / "data.csv", [["age", "s"], *rows, ["CANARY-7f3"] * 3], delimiter=";")
    with pytest.raises(NotVerified) as caught, opened(file, ["age", "s"], HOW):
        pass
    assert "CANARY" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_names_of_columns_and_files_are_not_sql(tmp_path):
    names = ['a"b', "a'b", "a, b", "c0", "n", "class", "=x", "select"]
    folder = tmp_path / "a[b]*'?"
    folder.mkdir()
    (tmp_path / "a[b]x'y").mkdir()
    write(tmp_path / "a[b]x'y" / "data.csv", [names, ["2"] * 8], delimiter=";")
    file = write(folder / "data.csv", [["'=x" if name == "=x" else name for name in names], ["1"] * 8], delimiter=";")
    claim = Claim([names[0]], [names[4]], [KAnonymity(1)], 1, names)
    with opened(file, names, {**HOW, "spreadsheet_safe": True}) as release:
        assert all(v.holds for v in judge(claim, count_released(release, claim)))


def test_an_empty_table_keeps_nothing():
    claim = Claim(["q"], ["s"], [KAnonymity(1), DistinctLDiversity(1, "s")], 0, ["q", "s"])
    with opened(pa.table({"q": pa.array([], pa.string()), "s": pa.array([], pa.string())}), ["q", "s"], {}) as release:
        statuses = {v.promise: v.holds for v in judge(claim, count_released(release, claim))}
    assert statuses == {"rows": True, "classes": True, "k-anonymity": False, "distinct-l-diversity": False}


def test_the_hash_of_a_file_is_checked(tmp_path):
    (tmp_path / "x").write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert check_hash(tmp_path / "x", empty).holds
    assert check_hash(tmp_path / "x", "0").status is Status.FAILS


def test_a_missing_manifest_is_refused(tmp_path):
    with pytest.raises(BadInput, match="there is no manifest"):
        read_json(tmp_path / "manifest.json")


def test_what_classes_show_is_told_by_the_names_of_columns_in_order():
    q = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
    require = [{"model": "b-t-privacy", "b": 0.5, "t": 0.9, "attribute": "s"}]
    policy = Policy(attributes={"zip": q, "age": q, "s": "sensitive"}, require=require)
    table = pa.table({"zip": [11, 12, 21, 22] * 5, "age": [31, 38, 52, 59] * 5, "s": ["a", "b", "a", "c"] * 5})
    assert all(verdict.holds for verdict in anonymize(table, policy).verdicts)


def test_the_class_that_keeps_a_promise_least_is_told_by_its_size():
    age = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "max-level": 0}
    table = pa.table({"age": [1, 1, 2, 2, 2, 2], "ill": ["flu", "cold", "flu", "flu", "flu", "flu"]})
    require = [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "l": 1}]
    verdicts = {
        v.promise: v
        for v in anonymize(table, Policy(attributes={"age": age, "ill": "sensitive"}, require=require)).verdicts
    }
    assert (verdicts["k-anonymity"].worst, verdicts["distinct-l-diversity"].worst) == (2, 4)
    assert verdicts["rows"].worst is None


def test_an_original_with_other_rows_is_named_as_that(desk):
    desk.policy()
    desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out)
    longer = desk.table(desk.data.read_text("utf-8") + "lia,57,f,flu\n", "longer.csv")
    ran = desk.run("verify", desk.out, "--original", longer, "--json")
    claim = next(each for each in json.loads(ran.out)["verdicts"] if each["promise"] == "claim")
    assert ran.code == 4
    assert claim["why"] == (
        "the release was made of 12 rows, by its manifest, and what was given as the original has 13"
    )
