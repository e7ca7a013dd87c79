"""Boxes and cells applied again: new rows get the labels of a class that covers them, or widen one, or are left out."""

import csv
import json
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import judge_of_truth
import naive
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal as sh
from conftest import CANARY, tree
from shoal.datasets import write_census

pytestmark = pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")

QI = {"role": "quasi-identifier"}
PEOPLE = {"name": "identifier", "age": QI, "sex": QI, "disease": "sensitive"}
BOXES = """name,age,sex,disease
ann,20,f,flu
bob,22,f,hiv
cid,30,f,flu
dot,30,f,cold
eli,41,m,flu
fay,43,m,hiv
gus,60,m,flu
hal,66,m,cold
ida,45,f,flu
joe,47,f,hiv
"""
DIVERSE = [{"model": "distinct-l-diversity", "l": 2, "attribute": "disease"}]
METHODS = {
    "mondrian": {"algorithm": "mondrian"},
    "mondrian-relaxed": {"algorithm": "mondrian-relaxed"},
    "mondrian-single": {"algorithm": "mondrian-single"},
    "mondrian-workload": {"algorithm": "mondrian-workload", "target": "disease"},
    "local": {"algorithm": "local", "seed": 3},
    "cells of a node": {"suppress": "cell"},
    "cells alone": {"algorithm": "suppress", "suppress": "cell"},
}


@pytest.fixture
def boxed(desk):
    """A desk with a release of five boxes: women below 30, of 30 and from 41, men below and from 45."""
    desk.table(BOXES)
    desk.policy(PEOPLE, require=[{"model": "k-anonymity", "k": 2}], method={"algorithm": "mondrian"})
    assert desk.anonymize().code == 0
    boxes = {("<30", "f"), ("30", "f"), ("≥41", "f"), ("<45", "m"), ("≥45", "m")}
    assert {tuple(row[:2]) for row in lines(desk, "out")} == boxes
    return desk


def lines(desk, out="out2"):
    with (desk.folder / out / "data.csv").open(newline="") as file:
        return list(csv.reader(file))[1:]


def applied(desk, data, *more, out="out2", private=None):
    return desk.run("apply", private or desk.private, data, "--out", desk.folder / out, *more)


def refuse(desk, data, *more, code=2, says="", private=None):
    return desk.refused(code, "apply", private or desk.private, data, "--out", desk.folder / "no", *more, says=says)


# the same rows


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.thorough) if how == "cells alone" else how for how in METHODS]
)
def test_the_same_rows_give_the_same_bytes(desk, how):
    write_census(desk.folder, rows=300)
    data = desk.folder / "census.csv"
    document = sh.Policy.load(desk.folder / "policy.toml").document()["attributes"]
    attributes = {**document, "age": QI, "workclass": QI}  # an order, texts in sets, and hierarchies
    desk.policy(
        attributes, require=[{"model": "k-anonymity", "k": 4}, *DIVERSE], method=METHODS[how], data={"others": "drop"}
    )
    assert desk.anonymize(data=data).code == 0
    before = tree(desk.private)
    ran = applied(desk, data)
    assert ran.code == 0, ran.err
    assert (desk.folder / "out2" / "data.csv").read_bytes() == (desk.out / "data.csv").read_bytes()
    assert tree(desk.private) == before
    made, first = (
        json.loads((desk.folder / out / "manifest.json").read_text()) for out in ("out2.private", "out.private")
    )
    assert made["metrics"]["loss"] == pytest.approx(first["metrics"]["loss"])
    assert made["recoding"] == first["recoding"]
    assert desk.run("verify", desk.folder / "out2", "--original", data).code == 0


def test_observed_ranges_stay_as_they_were(desk):
    desk.table(BOXES)
    require, method = [{"model": "k-anonymity", "k": 2}], {"algorithm": "mondrian"}
    desk.policy(PEOPLE, require=require, method=method, release={"ranges": "observed"})
    assert desk.anonymize().code == 0
    assert applied(desk, desk.data).code == 0
    assert lines(desk) == lines(desk, "out")
    new = desk.table("name,age,sex,disease\n" + "x,21,f,flu\n" * 2, "new.csv")  # neither is the least nor the greatest
    assert applied(desk, new, out="out3").code == 0
    assert [row[0] for row in lines(desk, "out3")] == ["[20, 22]"] * 2
    assert desk.run("verify", desk.folder / "out3", "--original", new).code == 0


@pytest.mark.parametrize("rows", [1, 5, 7, 20, 23])
def test_rows_of_one_point_are_spread_over_its_boxes_as_before(tmp_path, rows):
    """Relaxed: ten rows of one value stand in several boxes; others of this value follow them, over and over."""
    ages = pa.table({"age": [1, 2, *[5] * 10, 8, 9], "ill": list("abcdefghijklmn")})
    policy = {"attributes": {"age": QI, "ill": "sensitive"}, "method": {"algorithm": "mondrian-relaxed"}}
    first = sh.anonymize(ages, {**policy, "require": [{"model": "k-anonymity", "k": 3}]})
    first.save(tmp_path / "out")
    fives = first.data["age"].to_pylist()[2:12]
    assert len(set(fives)) > 1
    expected = Counter((fives * 3)[:rows])
    expected = {label: many for label, many in expected.items() if many >= 3}
    new = pa.table({"age": [5] * rows, "ill": ["a"] * rows})
    if not expected:
        with pytest.raises(sh.Infeasible):
            sh.apply(tmp_path / "out.private", new, suppression=1.0)
    else:
        shown = sh.apply(tmp_path / "out.private", new, suppression=1.0).data["age"]
        assert Counter(shown.to_pylist()) == expected


# other rows


def test_new_rows_get_the_labels_of_the_box_that_they_lie_in(boxed):
    new = boxed.table(
        "name,age,sex,disease\na,5,f,flu\nb,29,f,hiv\nc,30,f,flu\nd,30,f,hiv\ne,99,m,cold\nf,60,m,flu\n", "n.csv"
    )
    ran = applied(boxed, new)
    assert ran.code == 0, ran.err
    assert Counter(tuple(row[:2]) for row in lines(boxed)) == {("<30", "f"): 2, ("30", "f"): 2, ("≥45", "m"): 2}
    assert "comparing the two" in ran.err
    assert boxed.run("verify", boxed.folder / "out2", "--original", new).code == 0


OUTSIDE = "name,age,sex,disease\na,5,f,flu\nb,29,f,hiv\nc,61,m,flu\nd,70,m,hiv\ne,35,f,cold\n"


def test_a_row_outside_every_box_is_left_out(boxed):
    new = boxed.table(OUTSIDE, "new.csv")
    said = refuse(
        boxed,
        new,
        "--suppression",
        "0",
        code=3,
        says="1 of 5 rows (20.0%) would have to be left out, and 0 may be suppressed",
    )
    assert "1 in no class of the earlier release" in said
    assert "the earlier release fixes classes, policy and hierarchies" in said
    assert "--suppression or --outside nearest" in said
    ran = applied(boxed, new, "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["rows"] == {"read": 5, "released": 4, "suppressed": 1, "added": 0, "shown": 0}
    assert {tuple(row[:2]) for row in lines(boxed)} == {("<30", "f"), ("≥45", "m")}
    rows = pa.ipc.open_file(boxed.folder / "out2.private" / "rows.arrow").read_all().to_pylist()
    assert [row["why"] for row in rows] == [None] * 4 + ["no class"]
    assert "no class" in (boxed.folder / "out2.private" / "report.html").read_text()
    # what was allowed once is allowed again, as for levels
    assert applied(boxed, new, out="out3", private=boxed.folder / "out2.private").code == 0


def test_a_row_outside_every_box_widens_the_nearest(boxed):
    """A woman of 35: 30 becomes [30, 41) for all its rows, since 41 is the next end of any box."""
    new = boxed.table(OUTSIDE + "f,30,f,flu\ng,30,f,hiv\n", "new.csv")
    assert applied(boxed, new, "--outside", "nearest").code == 0
    assert Counter(tuple(row[:2]) for row in lines(boxed)) == {("<30", "f"): 2, ("[30, 41)", "f"): 3, ("≥45", "m"): 2}
    assert boxed.run("verify", boxed.folder / "out2", "--original", new).code == 0
    # whoever follows that release gets the boxes of the first again
    assert applied(boxed, boxed.data, out="out3", private=boxed.folder / "out2.private").code == 0
    assert lines(boxed, "out3") == lines(boxed, "out")


def test_classes_that_fail_are_left_out(boxed):
    new = boxed.table("name,age,sex,disease\na,5,f,flu\nb,29,f,hiv\nc,61,m,flu\n", "new.csv")
    refuse(boxed, new, "--suppression", "0.1", code=3, says="1 in classes that fail k-anonymity")
    assert applied(boxed, new, "--suppression", "k").code == 0
    assert {tuple(row[:2]) for row in lines(boxed)} == {("<30", "f")}
    alone = boxed.table("name,age,sex,disease\na,5,f,flu\nb,61,m,flu\n", "alone.csv")
    refuse(boxed, alone, "--suppression", "1.0", code=3, says="a release without rows is none")


def test_what_is_promised_of_the_whole_table_holds_too(tmp_path):
    """Two boxes of one row each have an average risk of 1, though no class fails by itself."""
    policy = {
        "attributes": {"age": QI},
        "require": [{"model": "average-risk", "max": 0.5}],
        "method": {"algorithm": "mondrian"},
    }
    sh.anonymize(pa.table({"age": [1, 1, 1, 9, 9, 9]}), policy).save(tmp_path / "out")
    assert sh.apply(tmp_path / "out.private", pa.table({"age": [1, 1, 9, 9]})).data["age"].to_pylist() == [
        "1",
        "1",
        "9",
        "9",
    ]
    with pytest.raises(sh.Infeasible, match="do not keep the policy as a whole"):
        sh.apply(tmp_path / "out.private", pa.table({"age": [1, 9]}))


def test_classes_without_enough_sensitive_values_are_left_out(desk):
    desk.table(BOXES)
    promise = {"model": "distinct-l-diversity", "l": 2}
    desk.policy(PEOPLE, require=[{"model": "k-anonymity", "k": 2}, promise], method={"algorithm": "mondrian"})
    assert desk.anonymize().code == 0
    new = desk.table("name,age,sex,disease\na,5,f,flu\nb,29,f,hiv\nc,61,m,flu\nd,62,m,flu\n", "new.csv")
    refuse(desk, new, "--suppression", "0.1", code=3, says="2 in classes that fail distinct-l-diversity")
    assert applied(desk, new, "--suppression", "0.5").code == 0
    assert {tuple(row[:2]) for row in lines(desk)} == {("<30", "f")}


def test_suppressed_rows_may_be_shown(desk):
    desk.table(BOXES)
    require, method = [{"model": "k-anonymity", "k": 2}], {"algorithm": "mondrian"}
    desk.policy(PEOPLE, require=require, method=method, release={"suppressed": "show"})
    assert desk.anonymize().code == 0
    new = desk.table(OUTSIDE + "f,35,f,flu\n", "new.csv")
    assert applied(desk, new, "--suppression", "0.5").code == 0
    assert Counter(tuple(row[:2]) for row in lines(desk)) == {("<30", "f"): 2, ("≥45", "m"): 2, ("*", "*"): 2}
    assert desk.run("verify", desk.folder / "out2", "--original", new).code == 0
    lone = desk.table(OUTSIDE, "lone.csv")
    refuse(desk, lone, "--suppression", "0.5", code=3, says="do not keep the policy themselves")


TOWNS = {"tree": {"any": {"coast": ["a", "b", "c"], "inland": ["x", "y", "z"]}}}


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("column", "values", "new", "expected"),
    [
        ({"hierarchy": TOWNS}, "aaaxxx", "aab", "coast"),  # along the hierarchy
        ({"hierarchy": TOWNS}, "aaaxxx", "aa", "a"),
        ({}, "aaaxxx", "aam", "{a | m}"),  # texts are listed
        ({"order": ["a", "x", "m"]}, "aaaxxx", "aam", "{a | m}"),
        ({}, [1, 1, 1, 9, 9, 9], [1, 1, 3], "[1, 9)"),  # up to the next end
        ({}, [1, 1, 1, 9, 9, 9], [9, 9, 70], "≥9"),
        ({}, [1, 1, 1, 9, 9, 9], [1, 1, -5], "<9"),
        ({}, [1, 1, 1, 9, 9, 9], [1, 1, None], "*"),  # nothing lies between a value and none
        ({}, ["2020-01-01"] * 3 + ["2020-03-01"] * 3, ["2020-01-01"] * 2 + ["2020-01-05"], "[2020-01-01, 2020-03-01)"),
    ],
)
def test_a_value_outside_widens_the_nearest_class_to_enclose_it(tmp_path, column, values, new, expected):
    policy = {
        "attributes": {"q": QI | column},
        "require": [{"model": "k-anonymity", "k": 2}],
        "method": {"algorithm": "mondrian"},
    }
    sh.anonymize(pa.table({"q": list(values)}), policy).save(tmp_path / "out")
    release = sh.apply(tmp_path / "out.private", pa.table({"q": list(new)}), outside="nearest")
    assert release.data["q"].to_pylist() == [expected] * len(new)
    assert all(verdict.holds for verdict in release.verdicts)


def test_several_classes_cover_a_row_and_the_one_of_least_loss_is_taken(tmp_path):
    """Local labels overlap: x of 34 lies in (x, [30, 40)) and in (*, [30, 40)); the first says more."""
    first = pa.table({"town": list("xxyz"), "age": [31, 32, 33, 35]})
    age = {**QI, "hierarchy": {"intervals": [10]}}
    policy = {"attributes": {"town": {**QI, "hierarchy": {"flat": True}}, "age": age}, "method": {"algorithm": "local"}}
    made = sh.anonymize(first, {**policy, "require": [{"model": "k-anonymity", "k": 2}]})
    made.save(tmp_path / "out")
    assert set(zip(*made.data.to_pydict().values(), strict=True)) == {("x", "[30, 40)"), ("*", "[30, 40)")}
    release = sh.apply(tmp_path / "out.private", pa.table({"town": list("xxyw"), "age": [34, 36, 38, 39]}))
    assert release.data["town"].to_pylist() == ["x", "x", "*", "*"]


# any table: judged by other code, from the labels alone

TREE = {"all": {"up": ["north", "east"], "down": ["south", "west"]}}
VALUES = {
    "number": st.one_of(st.none(), st.integers(-3, 9)),
    "text": st.one_of(st.none(), st.sampled_from(["a", "b", "c | d", "g, h"])),
    "day": st.sampled_from([f"2020-01-0{day}" for day in range(1, 8)]),
    "region": st.sampled_from(["north", "east", "south", "west"]),
    "ill": st.sampled_from("uvw"),
}
SCHEMA = pa.schema([(name, pa.int64() if name == "number" else pa.string()) for name in VALUES])
QUASI = [name for name in VALUES if name != "ill"]
TABLES = st.lists(st.fixed_dictionaries(VALUES), min_size=4, max_size=24)


def covers(name, label, value):
    """Whether a label is true of a value: by the judge, and along the tree and the drafted hierarchies."""
    if name == "region" and label in TREE["all"]:
        return value in TREE["all"][label]
    if name == "region" and label == "all":
        return True
    return judge_of_truth.covers(label, None if value is None else str(value))


def expected_of(earlier, shown, losses, new, k):
    """What each new row shows, None where it is left out, by definition; `shown` is per row of the earlier table."""
    before = {tuple(row[name] for name in QUASI): label for row, label in zip(earlier, shown, strict=True)}
    found = []
    for row in new:
        values = tuple(row[name] for name in QUASI)
        fitting = [label for label in losses if all(map(covers, QUASI, label, values))]
        nearest = min(fitting, key=lambda label: (losses[label], [text or "" for text in label]), default=None)
        found.append(before.get(values, nearest))
    sizes = Counter(found)
    return [None if label is None or sizes[label] < k else label for label in found], found


@pytest.mark.thorough
@naive.examples(120)
@given(
    TABLES, TABLES, st.integers(2, 3), st.sampled_from(["mondrian", "mondrian-single", "mondrian-workload", "local"])
)
def test_every_row_shows_what_the_definition_says(earlier, new, k, algorithm):
    policy = asked(algorithm, k)
    with TemporaryDirectory() as name:
        folder = Path(name)
        first = sh.anonymize(pa.Table.from_pylist(earlier, SCHEMA), policy)
        first.save(folder / "out")
        shown = labels_of(first.data)
        kept = pq.read_table(folder / "out.private" / "classes.parquet").to_pylist()
        losses = {tuple(line[f"shown.{name}"] for name in QUASI): line["loss"] for line in kept}
        assert set(losses) == set(shown)
        expected, found = expected_of(earlier, shown, losses, new, k)
        table = pa.Table.from_pylist(new, SCHEMA)
        if not any(expected):
            with pytest.raises(sh.Infeasible, match="a release without rows is none"):
                sh.apply(folder / "out.private", table, suppression=1.0)
            return
        release = sh.apply(folder / "out.private", table, suppression=1.0)
        assert labels_of(release.data) == [label for label in expected if label is not None]
        assert release.rows.tolist() == [at for at, label in enumerate(expected) if label is not None]
        widened = sh.apply(folder / "out.private", table, suppression=1.0, outside="nearest")
        assert all(verdict.holds for verdict in (*release.verdicts, *widened.verdicts))
        by_row = dict(zip(widened.rows.tolist(), labels_of(widened.data), strict=True))
        assert min(Counter(by_row.values()).values()) >= k
        for at, label in by_row.items():
            assert all(map(covers, QUASI, label, (new[at][name] for name in QUASI)))
        # nobody who was shown is lost, everybody outside is found, and what is wider is so for its whole class
        assert set(by_row) == {at for at, label in enumerate(found) if label is None or expected[at] is not None}
        assert all(len({by_row[at] for at in by_row if found[at] == label}) == 1 for label in {*expected} - {None})


@pytest.mark.thorough
@naive.examples(40)
@given(TABLES, TABLES, st.integers(2, 3), st.sampled_from(["suppress", "nearest"]))
def test_relaxed_boxes_hold_for_any_table(earlier, new, k, outside):
    with TemporaryDirectory() as name:
        folder = Path(name)
        first = sh.anonymize(pa.Table.from_pylist(earlier, SCHEMA), asked("mondrian-relaxed", k))
        first.save(folder / "out")
        again = sh.apply(folder / "out.private", pa.Table.from_pylist(earlier, SCHEMA))
        rows = [
            sorted(zip(labels_of(each.data), each.data["ill"].to_pylist(), strict=True), key=str)
            for each in (first, again)
        ]
        assert rows[0] == rows[1]
        try:
            release = sh.apply(
                folder / "out.private", pa.Table.from_pylist(new, SCHEMA), suppression=1.0, outside=outside
            )
        except sh.Infeasible:
            return
        shown = labels_of(release.data)
        assert min(Counter(shown).values()) >= k
        assert outside == "nearest" or set(shown) <= set(labels_of(first.data))
        for at, label in zip(release.rows.tolist(), shown, strict=True):
            assert all(map(covers, QUASI, label, (new[at][name] for name in QUASI)))


def asked(algorithm, k):
    attributes = {name: dict(QI) for name in QUASI}
    attributes["region"]["hierarchy"] = {"tree": TREE}
    if algorithm == "local":
        attributes["number"]["hierarchy"] = {"intervals": [2, 4]}
        attributes["text"]["hierarchy"] = {"flat": True}
        attributes["day"]["hierarchy"] = {"flat": True}
    method = {"algorithm": algorithm, **({"target": "ill"} if algorithm == "mondrian-workload" else {})}
    return {
        "attributes": {**attributes, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": k}],
        "method": method,
    }


def labels_of(data):
    return list(zip(*(data[name].to_pylist() for name in QUASI), strict=True))


# what is kept, and where


def test_the_private_folder_alone_knows_who_was_in_which_class(desk):
    people = BOXES.replace(",f,", f",{CANARY},")
    desk.table(people)
    desk.policy(PEOPLE, require=[{"model": "k-anonymity", "k": 8}], method={"algorithm": "mondrian"})
    assert desk.anonymize().code == 0
    assert applied(desk, desk.data).code == 0
    for out in ("out", "out2"):
        assert sorted(path.name for path in (desk.folder / out).iterdir()) == [
            "data.csv",
            "manifest.json",
            "report.html",
        ]
        assert not any(CANARY.encode() in path.read_bytes() for path in (desk.folder / out).iterdir())
        kept = desk.folder / f"{out}.private" / "classes.parquet"
        assert CANARY in pq.read_table(kept)["original.sex"].to_pylist()
        assert kept.stat().st_mode & 0o777 == 0o600


def test_boxes_made_on_disk_can_be_applied(boxed):
    again = boxed.folder / "disk"
    policy = boxed.folder / "policy.toml"
    assert boxed.run("anonymize", boxed.data, "--policy", policy, "--out", again, "--engine", "duckdb").code == 0
    assert applied(boxed, boxed.data, private=boxed.folder / "disk.private").code == 0
    assert lines(boxed) == lines(boxed, "out")
    kept = [pq.read_table(boxed.folder / out / "classes.parquet") for out in ("disk.private", "out.private")]
    one, other = (
        {tuple(line[c] for c in sorted(line) if c not in {"rows", "loss"}) for line in each.to_pylist()}
        for each in kept
    )
    assert one == other
    refuse(boxed, boxed.data, "--engine", "duckdb", says="needs the table in memory: use the arrow engine")


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table])
def test_a_frame_of_the_same_library_comes_back(boxed, kind):
    frame = kind(
        {"name": list("abcd"), "age": [5, 29, 35, 35], "sex": list("ffff"), "disease": ["flu", "hiv", "flu", "hiv"]}
    )
    with pytest.warns(sh.ShoalWarning, match="comparing the two"):
        release = sh.apply(boxed.private, frame, outside="nearest")
    assert type(release.data) is type(frame)
    assert pa.table(release.data)["age"].to_pylist() == ["<41"] * 4
    with warnings.catch_warnings(action="ignore"), pytest.raises(sh.Infeasible, match="2 in no class"):
        sh.apply(boxed.private, frame, suppression=0.25)
    manifest = sh.apply(boxed.private, frame).save(boxed.folder / "out2")
    assert manifest.rows.suppressed == 2
    assert boxed.run("apply", boxed.private, boxed.data, "--dry-run").code == 0


# what does not fit


CLASSLESS = {
    "clusters": ({"algorithm": "microaggregation"}, {"sex": "insensitive"}, "middle of their own cluster"),
    "groups": ({"algorithm": "anatomy"}, {}, "only its own groups have a second table"),
    "a mean": (
        {"algorithm": "mondrian"},
        {"age": QI | {"form": ["range", "mean"]}},
        "'age' show bounds or a statistic",
    ),
    "bounds": ({"algorithm": "mondrian"}, {"age": QI | {"form": ["bounds"]}}, "'age' show bounds or a statistic"),
}


@pytest.mark.parametrize("what", CLASSLESS)
def test_recodings_without_classes_are_refused(desk, what):
    method, attributes, says = CLASSLESS[what]
    require = [{"model": "distinct-l-diversity", "l": 2} if what == "groups" else {"model": "k-anonymity", "k": 2}]
    desk.policy({**PEOPLE, **attributes}, require=require, method=method, release={"means": "any"})
    assert desk.anonymize().code == 0
    assert not (desk.private / "classes.parquet").exists()
    said = refuse(desk, desk.data, says=says)
    assert "cannot be applied to other rows; anonymize afresh" in said


def test_wrong_options(boxed, desk):
    refuse(boxed, boxed.data, "--outside", "somewhere", says="outside = 'somewhere'")
    for wrong in ("2", "-1", "some"):
        refuse(boxed, boxed.data, "--suppression", wrong, says="a share from 0 to 1")
    desk.policy({**PEOPLE, "age": QI | {"hierarchy": {"intervals": [10]}}}, require=[{"model": "k-anonymity", "k": 2}])
    assert desk.anonymize("--force").code == 0
    refuse(desk, desk.data, "--outside", "nearest", says="its columns have one level each")


@pytest.mark.parametrize(
    ("change", "says"),
    [(("age", "years"), "the table has no column 'age'"), (("sex", "Sex"), "did you mean 'Sex'")],
)
def test_columns_that_do_not_fit(boxed, change, says):
    said = refuse(boxed, boxed.table(BOXES.replace(*change, 1), "new.csv"), says=says)
    assert "make the new table like the earlier one" in said


def test_values_that_a_hierarchy_does_not_know_are_refused(desk):
    desk.table("town,disease\n" + "a,flu\nb,hiv\n" * 2)
    desk.policy(
        {"town": QI | {"hierarchy": TOWNS}, "disease": "sensitive"},
        require=[{"model": "k-anonymity", "k": 2}],
        method={"algorithm": "local"},
    )
    assert desk.anonymize().code == 0
    new = desk.table(f"town,disease\na,flu\na,flu\n{CANARY},flu\n", "new.csv")
    assert "correct the new rows" in refuse(desk, new, "--outside", "nearest", says="row(s) 3")


def rewrite(path, column, value):
    """Give all lines one value."""
    kept = pq.read_table(path)
    every = pa.array([value] * kept.num_rows)
    pq.write_table(kept.set_column(kept.column_names.index(column), column, every), path)


BROKEN = {
    "none": lambda path: path.unlink(),
    "no table": lambda path: path.write_text("x"),
    "no lines": lambda path: pq.write_table(pq.read_table(path).slice(0, 0), path),
    "no rows": lambda path: rewrite(path, "rows", 0),
    "another table": lambda path: pq.write_table(pa.table({"rows": [1]}), path),
    "no labels": lambda path: pq.write_table(pq.read_table(path).drop_columns(["shown.age"]), path),
}


@pytest.mark.parametrize("how", BROKEN)
def test_classes_that_are_missing_or_damaged(boxed, how):
    BROKEN[how](boxed.private / "classes.parquet")
    refuse(boxed, boxed.data, says="out.private/classes.parquet: the")


def test_labels_that_were_tampered_with_are_refused(boxed):
    rewrite(boxed.private / "classes.parquet", "shown.age", "≥60")
    refuse(boxed, boxed.data, says="out.private/classes.parquet: the file was changed")
