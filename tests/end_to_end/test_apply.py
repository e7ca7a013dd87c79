"""A recoding applied again: the same labels for new rows, a release like any other, an earlier one left as it was."""

import csv
import json
import warnings

import naive
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import instances

import shoal as sh
from conftest import ATTRIBUTES, CANARY, tree
from shoal.data.codes import encode
from shoal.datasets import write_census
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import build, parse, pinned
from shoal.hierarchy.draft import draft

NEW = """name,age,sex,disease
mia,21,f,flu
ned,22,m,hiv
ora,23,f,cold
pat,61,m,flu
quy,62,f,flu
ray,63,m,cold
"""
QI = {"role": "quasi-identifier"}
HIDDEN = {**ATTRIBUTES, "sex": {**ATTRIBUTES["sex"], "min-level": 1}}
DISEASE = {"role": "sensitive"}


@pytest.fixture
def first(desk):
    """A desk with a release in `out/`, ages in tens, sexes hidden."""
    desk.policy(HIDDEN)
    assert desk.anonymize().code == 0
    return desk


def applied(desk, data, *more, out="out2", private=None):
    return desk.run("apply", private or desk.private, data, "--out", desk.folder / out, *more)


def refuse(desk, data, *more, code=2, says="", out="out2", private=None):
    arguments = ("apply", private or desk.private, data, "--out", desk.folder / out, *more)
    return desk.refused(code, *arguments, says=says)


def levels(desk, folder="out.private"):
    return json.loads((desk.folder / folder / "manifest.json").read_text())["recoding"]["levels"]


def lines(desk, out="out2"):
    with (desk.folder / out / "data.csv").open(newline="") as file:
        return list(csv.reader(file))


# the way it goes


def test_new_rows_get_the_levels_that_were_found(first):
    before = tree(first.private)
    ran = applied(first, first.table(NEW, "new.csv"))
    assert ran.code == 0, ran.err
    assert levels(first, "out2.private") == levels(first) == {"age": 1, "sex": 1}
    assert {row[0] for row in lines(first)[1:]} == {"[20, 30)", "[60, 70)"}
    assert "no other node was allowed" in " ".join(ran.out.split())
    assert "publish this" in ran.out
    assert tree(first.private) == before


def test_what_comes_out_verifies_and_can_be_applied_again(first):
    new = first.table(NEW, "new.csv")
    assert applied(first, new).code == 0
    verified = first.run("verify", first.folder / "out2", "--original", new, "--json")
    assert verified.code == 0
    assert {verdict["status"] for verdict in json.loads(verified.out)["verdicts"]} == {"holds"}
    assert applied(first, new, out="out3", private=first.folder / "out2.private").code == 0
    assert lines(first, "out3") == lines(first)
    assert first.run("verify", first.folder / "out2", "--original", first.data).code == 4


METHODS = {
    "optimal": {},
    "suppressing": {"suppression": 0.1},
    "Sweeney's rule": {"algorithm": "datafly", "suppression": "k"},
    "all nodes": {"algorithm": "incognito", "preference": "minimum-absolute-distance", "minimal": True},
    "a moment": {"time-limit": 0.000001, "metric": "discernibility", "seed": 7},
    "greedy": {"algorithm": "greedy", "weighting": "paper"},
    "no suppression": {"suppress": "none"},
}


@pytest.mark.some(2)
@pytest.mark.parametrize("how", METHODS)
def test_the_same_rows_give_the_same_bytes(desk, how):
    write_census(desk.folder, rows=400, k=5)
    data = desk.folder / "census.csv"
    document = sh.Policy.load(desk.folder / "policy.toml").document()
    hierarchies = {name: a for name, a in document["attributes"].items() if a["role"] == "quasi-identifier"}
    bounded = {name: {**a, "min-level": 1} for name, a in hierarchies.items()}
    desk.policy({**document["attributes"], **bounded}, method=METHODS[how])
    if desk.anonymize(data=data).code != 0:
        pytest.fail("the first release must succeed")
    assert applied(desk, data).code == 0
    assert (desk.folder / "out2" / "data.csv").read_bytes() == (desk.out / "data.csv").read_bytes()
    assert levels(desk, "out2.private") == levels(desk)


def test_drafted_hierarchies_are_those_of_the_first_release(desk):
    ages = [18 + i % 60 for i in range(300)]
    rows = [f"{age},{10000 + i % 25},{('a', 'b')[i % 2]}" for i, age in enumerate(ages)]
    data = desk.table("\n".join(["age,zip,disease", *rows]) + "\n")
    desk.policy({"age": {**QI, "min-level": 1, "max-level": 1}, "zip": QI, "disease": DISEASE})
    assert desk.anonymize().code == 0
    new = desk.table("age,zip,disease\n" + "95,123,a\n" * 3 + "2,99999,b\n" * 3, "new.csv")
    ran = applied(desk, new)
    assert ran.code == 0, ran.err
    assert {row[0] for row in lines(desk)[1:]} == {"<20", "≥76"}
    assert applied(desk, data, out="out3").code == 0
    assert (desk.folder / "out3" / "data.csv").read_bytes() == (desk.out / "data.csv").read_bytes()


def test_rows_are_suppressed_where_needed(desk):
    desk.policy(HIDDEN, method={"suppression": 0.2})
    assert desk.anonymize().code == 0
    new = desk.table(NEW + "sam,99,f,flu\n", "new.csv")
    ran = applied(desk, new, "--json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["rows"] == {"read": 7, "released": 6, "suppressed": 1, "added": 0, "shown": 0}
    assert document == json.loads((desk.folder / "out2.private" / "manifest.json").read_text())


def test_a_release_that_shows_suppressed_rows(desk):
    desk.table("age,disease\n1,a\n1,b\n1,c\n2,a\n3,b\n4,c\n")
    age = {**QI, "hierarchy": {"flat": True}, "max-level": 0}
    desk.policy({"age": age, "disease": DISEASE}, method={"suppression": 0.5}, release={"suppressed": "show"})
    assert desk.anonymize().code == 0
    new = desk.table("age,disease\n5,a\n5,b\n5,c\n6,a\n7,b\n8,c\n", "new.csv")
    assert applied(desk, new).code == 0
    assert lines(desk)[1:] == [["*", "a"], ["*", "b"], ["*", "c"], ["5", "a"], ["5", "b"], ["5", "c"]]
    assert desk.run("verify", desk.folder / "out2", "--original", new).code == 0
    lone = desk.table("age,disease\n5,a\n5,b\n5,c\n6,a\n", "lone.csv")
    refuse(desk, lone, code=3, says="do not keep the policy themselves", out="out3")


def test_people_are_told_that_releases_can_be_compared(first):
    new = first.table(NEW, "new.csv")
    ran = applied(first, new)
    assert "note: people who are both in this release and in the earlier one" in ran.err
    private = json.loads((first.folder / "out2.private" / "manifest.json").read_text())
    assert any("comparing the two" in note for note in private["warnings"])
    assert "comparing the two" in (first.folder / "out2.private" / "report.html").read_text()
    assert "comparing" not in (first.folder / "out2" / "manifest.json").read_text()
    machine = applied(first, new, "--json", out="out3")
    assert [f"note: {note}" for note in json.loads(machine.out)["warnings"]] == machine.err.splitlines()


def test_apply_to_parquet_with_a_private_folder_gives_equal_bytes(first):
    new = first.folder / "new.parquet"
    pq.write_table(pa.table(people(NEW).to_dict("list")), new)
    hidden = first.folder / "hidden"
    assert applied(first, new, "--private", hidden, "--reproducible").code == 0
    assert (hidden / "policy.toml").is_file()
    assert set(pq.read_table(first.folder / "out2" / "data.parquet")["age"].to_pylist()) == {"[20, 30)", "[60, 70)"}
    refuse(first, new, "--private", hidden, says="--force")
    once = tree(hidden)
    assert applied(first, new, "--private", hidden, "--reproducible", "--force").code == 0
    assert tree(hidden) == once
    assert applied(first, new, "--format", "csv", out="out3").code == 0
    assert lines(first, "out3")[0] == ["age", "sex", "disease"]


def people(text):
    import io

    return pd.read_csv(io.StringIO(text))


def test_a_dry_run_writes_nothing(first):
    before = tree(first.folder)
    new = first.folder / "people.csv"
    assert first.run("apply", first.private, new, "--dry-run").code == 0
    ran = first.run("apply", first.private, new, "--dry-run", "--json", "--reproducible")
    assert "seconds" not in json.loads(ran.out)["method"]
    assert first.run("apply", first.private, new, "--dry-run", "--out", first.folder / "out2").code == 0
    assert tree(first.folder) == before
    first.refused(2, "apply", first.private, new, "--dry-run", "--out", first.out, says="the earlier one")
    first.refused(2, "apply", first.private, new, says="--out")


def test_stdin_and_another_encoding_or_delimiter(desk):
    desk.policy(HIDDEN, data={"delimiter": ",", "encoding": "utf-8"})
    assert desk.anonymize().code == 0
    text = NEW.replace(",", ";").replace("cold", "Erkältung")
    new = desk.table(text.encode("latin-1"), "new.csv")
    options = ["--delimiter", ";", "--encoding", "latin-1"]
    assert applied(desk, new, *options).code == 0
    assert desk.run("verify", desk.folder / "out2", "--original", new).code == 0
    refuse(desk, new, out="out3")
    ran = desk.run("apply", desk.private, "-", "--out", desk.folder / "out4", stdin=NEW.encode())
    assert ran.code == 0


# infeasible


def test_more_rows_fail_than_may_be_suppressed(first):
    new = first.table(NEW + "sam,99,f,flu\n", "new.csv")
    said = refuse(first, new, code=3, says="at the only one 1 of 7 rows fail k-anonymity and only 0 may be suppressed")
    assert "the earlier release fixes levels" in said
    assert "--suppression (in Python suppression=…), or anonymize afresh" in said
    assert applied(first, new, "--suppression", "0.15").code == 0
    assert len(lines(first)) == 1 + 6
    assert applied(first, new, "--suppression", "k", out="out3").code == 0
    assert applied(first, new, out="out4", private=first.folder / "out2.private").code == 0


def test_suppression_may_be_allowed_where_there_was_none(desk):
    desk.policy(HIDDEN, method={"suppress": "none"})
    assert desk.anonymize().code == 0
    new = desk.table(NEW + "sam,99,f,flu\n", "new.csv")
    refuse(desk, new, code=3, says="only 0 may be suppressed")
    assert applied(desk, new, "--suppression", "0.15").code == 0


@pytest.mark.parametrize("wrong", ["2", "-1", "some", "nan", ""])
def test_a_wrong_share(first, wrong):
    refuse(first, first.data, "--suppression", wrong, says="a share from 0 to 1")


def test_a_bare_1_is_refused_with_both_spellings(first):
    refuse(first, first.data, "--suppression", "1", says="write 1.0 for a share of all, { rows = 1 } for one row")


@pytest.mark.parametrize("limit", ["rows=2", "{ rows = 2 }"])
def test_suppression_as_a_number_of_rows(first, limit):
    from shoal.policy.sections import suppression_of_text
    from shoal.publish.fixed_recoding import FixedRecoding

    again = FixedRecoding.load(first.private, suppression=suppression_of_text(limit))
    assert again.policy.suppressible(1_000) == 2
    assert first.run("apply", first.private, first.data, "--dry-run", "--suppression", limit).code == 0


def test_too_few_rows(first):
    new = first.table("\n".join(NEW.splitlines()[:3]), "new.csv")
    refuse(first, new, code=3, says="2 records < k=3")
    refuse(first, new, "--suppression", "1.0", code=3, says="anonymize afresh")


# rows and columns that do not fit

HIERARCHIES = {
    "tree": ({"tree": {"any": {"x": ["a", "b"], "y": ["c"]}}}, "ab", "are missing from its hierarchy"),
    "rows": ({"rows": [["a", "x", "*"], ["b", "x", "*"]]}, "ab", "are missing from the hierarchy"),
    "csv": ({"csv": "town.csv"}, "ab", "are missing from hierarchy file hierarchies/1.csv"),
    "mask": ({"mask": "right"}, ["abc", "abd"], "longer than the 3 character(s) of the mask"),
    "intervals": ({"intervals": [5]}, [1, 2], "row 3 holds none"),
    "edges": ({"edges": [5]}, [1, 2], "row 3 holds none"),
    "top": ({"top": 5}, [1, 2], "row 3 holds none"),
    "dates": ({"dates": ["month"]}, ["2020-01-02", "2020-01-03"], "row 3 is not an ISO date"),
    "hipaa": ({"hipaa": "zip3"}, ["02138", "02139"], "row 3 is not a ZIP code"),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("kind", HIERARCHIES)
def test_values_outside_the_hierarchy_are_refused_with_their_rows(desk, kind):
    hierarchy, values, says = HIERARCHIES[kind]
    (desk.folder / "town.csv").write_text("a;x;*\nb;x;*\n")
    desk.table("town,disease\n" + "".join(f"{value},flu\n" for value in values) * 3)
    desk.policy({"town": {**QI, "hierarchy": hierarchy}, "disease": DISEASE})
    assert desk.anonymize().code == 0
    (desk.folder / "town.csv").unlink()  # the private folder has its own
    assert applied(desk, desk.data, out="again").code == 0
    assert lines(desk, "again") == lines(desk, "out")
    new = desk.table("town,disease\n" + f"{values[0]},flu\n" * 2 + f"{CANARY},flu\n" * 3, "new.csv")
    said = refuse(desk, new, says=says)
    assert "3" in said
    assert "column 'town'" in said
    assert "correct the new rows, or anonymize afresh" in said


def test_rows_are_named_and_values_only_to_those_who_ask(desk):
    desk.table("town,disease\n" + "a,flu\n" * 3)
    desk.policy({"town": {**QI, "hierarchy": {"rows": [["a", "*"]]}}, "disease": DISEASE})
    assert desk.anonymize().code == 0
    new = desk.table(f"town,disease\na,flu\n{CANARY},flu\na,flu\n{CANARY}2,flu\n", "new.csv")
    assert "2 value(s)" in refuse(desk, new, says="row(s) 2, 4")
    ran = applied(desk, new, "--show-values")
    assert ran.code == 2
    assert CANARY in ran.err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("age", "years"), "the table has no column 'age'"),
        (("sex", "Sex"), "did you mean 'Sex'"),
    ],
)
def test_columns_that_do_not_fit(first, change, says):
    new = first.table(NEW.replace(*change, 1), "new.csv")
    refuse(first, new, says=says)


def test_a_column_too_many_has_no_role(first):
    header, *rows = NEW.splitlines()
    new = first.table("\n".join([f"{header},more", *(f"{row},1" for row in rows)]), "new.csv")
    assert "make the new table like the earlier one" in refuse(first, new, says="column(s) 'more' have no role")


def test_no_table(first):
    refuse(first, first.folder / "nix.csv", says="nix.csv")
    refuse(first, first.private, says="")
    refuse(first, first.table("name,age,sex,disease\n", "new.csv"), code=2)


# labels do not depend on what else there is


def test_a_mask_hides_as_many_characters_as_before(desk):
    desk.table("zip,disease\n" + "53715,a\n53719,b\n53711,c\n02138,a\n02139,b\n02137,c\n")
    desk.policy({"zip": {**QI, "hierarchy": {"mask": "right"}}, "disease": DISEASE})
    assert desk.anonymize().code == 0
    new = desk.table("zip,disease\n" + "537,a\n5371,b\n5371,c\n5371,a\n537,a\n537,b\n", "new.csv")
    assert applied(desk, new).code == 0
    assert {row[0] for row in lines(desk)[1:]} == {"537", "5371*"}
    assert desk.run("verify", desk.folder / "out2", "--original", new).code == 0


def test_a_code_longer_than_all_before_is_refused(desk):
    desk.table("zip,disease\n" + "53715,a\n" * 3)
    desk.policy({"zip": {**QI, "hierarchy": {"mask": "right"}}, "disease": DISEASE})
    assert desk.anonymize().code == 0
    longer = desk.table("zip,disease\n" + "53715,a\n" * 3 + f"{CANARY},a\n", "longer.csv")
    refuse(desk, longer, says="1 value(s) are longer than the 5 character(s) of the mask, first seen in row(s) 4")


BUILT = {
    "mask": ({"mask": "right"}, st.text("0123456789", min_size=1, max_size=6)),
    "left mask": ({"mask": "left", "char": "#"}, st.text("abc", min_size=1, max_size=6)),
    "intervals": ({"intervals": [5, 10]}, st.integers(-50, 50).map(str)),
    "tails": ({"intervals": [2.5, 5], "bottom": -10, "top": 12}, st.integers(-50, 50).map(str)),
    "edges": ({"edges": [[-5, 0, 7], [0]]}, st.integers(-50, 50).map(str)),
    "top": ({"bottom": -3, "top": 9}, st.integers(-50, 50).map(str)),
    "dates": ({"dates": ["month", "quarter", "decade"]}, st.dates().filter(lambda d: d.year < 9999).map(str)),
    "hipaa": ({"hipaa": "zip3"}, st.integers(0, 99999).map("{:05}".format)),
    "flat": ({"flat": True}, st.text("abc", min_size=1)),
    "functions": ([lambda value: f"{value[0]}-"], st.text("abc", min_size=1, max_size=3)),
    "tree": ({"tree": {"x": ["a", "b"], "y": ["c"]}}, st.sampled_from("abc")),
    "drafted number": (None, st.integers(0, 9).map(str)),
    "drafted code": (None, st.integers(100, 400).map("z{}".format)),
    "drafted date": (None, st.dates().filter(lambda d: 0 < d.year < 9999).map(str)),
}


@pytest.mark.parametrize("kind", BUILT)
@given(data=st.data())
@naive.examples(30)
def test_a_value_has_one_label_per_level_in_both_releases(kind, data):
    spec, values = BUILT[kind]
    old = data.draw(st.lists(values, min_size=1, max_size=60))
    new = data.draw(st.lists(st.sampled_from(old) | values, min_size=1, max_size=30))
    column, other = encode("q", pa.array(old)), encode("q", pa.array(new))
    builder = draft(column) if spec is None else parse(spec)
    kept = pinned(builder, column)
    again = kept if kind == "functions" else parse(kept.spec())  # as the policy in the private folder says it
    before = build(column, builder)
    try:
        after = build(other, again)
    except BadHierarchy:  # outside: refused, never labelled otherwise
        assert not set(new) <= set(old)
        return
    assert after.height == before.height
    for level in range(before.height + 1):
        labels = dict(zip(column.texts.to_pylist(), named(before, level), strict=True))
        others = dict(zip(other.texts.to_pylist(), named(after, level), strict=True))
        assert all(labels.get(value, label) == label for value, label in others.items())


def named(hierarchy, level):
    return [hierarchy.labels[level][group] for group in hierarchy.levels[level]]


# any recoding, any rows: the definition by rows agrees


def frame_of(instance, rows):
    sensitive = {"ill": pa.array(instance.sensitive, pa.string())}
    return pa.table({**instance.columns(), **sensitive}).take(pa.array(rows))


def policy_of(instance):
    attributes = {"ill": "sensitive"}
    for name in instance.names:
        a = instance.attributes[name]
        rows = [[leaf, *(level[leaf] for level in a.levels)] for leaf in a.leaves]
        attributes[name] = {**QI, "hierarchy": {"rows": rows}, "min-level": a.low, "max-level": a.high}
    return sh.Policy(
        attributes=attributes,
        require=instance.models,
        method={"suppression": float(instance.share)},
        release={"suppressed": "show" if instance.show else "drop"},
    )


@given(instance=instances(show=st.booleans()), data=st.data())
@naive.examples(60, fixtures=True)
@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_apply_keeps_the_rows_that_the_definition_keeps(instance, data, tmp_path_factory):
    if any(not a.levels for a in instance.attributes.values()):
        return  # a hierarchy in a policy has a level above its values
    everyone = list(range(instance.rows))
    folder = tmp_path_factory.mktemp("release")
    try:
        sh.anonymize(frame_of(instance, everyone), policy_of(instance)).save(folder / "out", format="parquet")
    except sh.Infeasible:
        return
    found = json.loads((folder / "out.private" / "manifest.json").read_text())["recoding"]["levels"]
    node = tuple(found[name] for name in instance.names)
    chosen = data.draw(st.lists(st.sampled_from(everyone), min_size=1, max_size=12))
    expected = only(instance, chosen).outcome(node)
    try:
        release = sh.apply(folder / "out.private", frame_of(instance, chosen))
    except sh.Infeasible:
        assert not expected.ok
        return
    assert expected.ok
    assert set(np.flatnonzero(release.plan.recoding.suppressed)) == set(expected.suppressed)
    assert tuple(release.summary.recoding.levels[name] for name in instance.names) == node


def only(instance, rows):
    """The instance of some of the rows, some of them more than once."""
    from dataclasses import replace
    from fractions import Fraction
    from math import floor

    attributes = {
        name: replace(instance.attributes[name], values=column.take(pa.array(rows)).to_pylist())
        for name, column in instance.columns().items()
    }
    limit = floor(Fraction(instance.share) * len(rows))
    return replace(instance, attributes=attributes, sensitive=[instance.sensitive[r] for r in rows], limit=limit)


# the earlier release stays as it is


@pytest.mark.parametrize("out", ["out", "out.private", "out.private/new", "out.private/a"])
def test_the_private_folder_is_not_written_to(first, out):
    refuse(first, first.data, "--force", out=out, says="written over the earlier one, or into it")
    refuse(first, first.data, "--force", "--private", first.private, says="written over the earlier one, or into it")
    refuse(first, first.data, "--private", first.private / "x", says="written over the earlier one, or into it")


def test_a_link_to_the_private_folder_is_refused(first):
    (first.folder / "link").symlink_to(first.private)
    refuse(first, first.data, out="link/new", says="written over the earlier one, or into it")
    refuse(first, first.data, out="link/new", private=first.folder / "link", says="the earlier one")
    refuse(first, first.data, out="out", private=first.folder / "link", says="the earlier one")


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_python_cannot_write_over_the_earlier_release(first):
    release = sh.apply(first.private, first.data)
    for out in (first.out, first.private, first.private / "new", first.folder):
        with pytest.raises(sh.BadOutput):
            release.save(out, force=True)


# a private folder that is none

BROKEN = {
    "the public one": lambda desk: desk.out,
    "a file": lambda desk: desk.data,
    "nothing": lambda desk: desk.folder / "nix",
    "an empty folder": lambda desk: made(desk.folder / "empty"),
    "no policy": lambda desk: without(desk, "policy.toml"),
    "no manifest": lambda desk: without(desk, "manifest.json"),
    "no hierarchy": lambda desk: without(desk, "hierarchies/1.csv"),
    "a policy that is none": lambda desk: spoilt(desk, "policy.toml", "[[["),
    "a policy of nothing": lambda desk: spoilt(desk, "policy.toml", ""),
    "a manifest that is none": lambda desk: spoilt(desk, "manifest.json", "{"),
    "a manifest of something else": lambda desk: spoilt(desk, "manifest.json", '{"shoal": "1"}'),
    "other levels": lambda desk: with_levels(desk, {"sex": 0}),
    "levels below": lambda desk: with_levels(desk, {"age": -1, "sex": 0}),
    "levels above": lambda desk: with_levels(desk, {"age": 9, "sex": 0}),
    "levels that are none": lambda desk: with_levels(desk, {"age": "x", "sex": 0}),
    "another kind of recoding": lambda desk: spoilt(desk, "manifest.json", '{"shoal": "1", "recoding": {"kind": "x"}}'),
}


def made(folder):
    folder.mkdir()
    return folder


def without(desk, name):
    (desk.private / name).unlink()
    return desk.private


def spoilt(desk, name, text):
    (desk.private / name).write_text(text)
    return desk.private


def with_levels(desk, found):
    document = json.loads((desk.private / "manifest.json").read_text())
    document["recoding"]["levels"] = found
    return spoilt(desk, "manifest.json", json.dumps(document))


@pytest.mark.some(4)
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_private_folder_is_refused_in_one_sentence(desk, what):
    (desk.folder / "sex.csv").write_text("f;*\nm;*\n")
    desk.policy({**ATTRIBUTES, "sex": {**QI, "hierarchy": {"csv": "sex.csv"}}})
    assert desk.anonymize().code == 0
    broken = BROKEN[what](desk)
    refuse(desk, desk.data, private=broken, says="attributes." if "s above" in what else broken.name)


def unsigned(desk):
    """Take the hashes out of the private manifest, as early versions wrote none."""
    path = desk.private / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "files": None}))


def test_a_hierarchy_that_was_not_kept_is_not_drafted_anew(first):
    text = (first.private / "policy.toml").read_text()
    spoilt(first, "policy.toml", text.replace("[attributes.age.hierarchy]\nintervals = [\n    10,\n    20,\n]\n", ""))
    assert (first.private / "policy.toml").read_text() != text
    refuse(first, first.data, says="the file was changed")
    unsigned(first)
    refuse(first, first.data, says="does not say in full which hierarchy 'age' had")


def test_a_missing_mask_length_is_refused_and_not_guessed(desk):
    desk.table("zip,disease\n" + "53715,a\n" * 3)
    desk.policy({"zip": {**QI, "hierarchy": {"mask": "right"}}, "disease": DISEASE})
    assert desk.anonymize().code == 0
    text = (desk.private / "policy.toml").read_text()
    spoilt(desk, "policy.toml", text.replace("length = 5\n", ""))
    unsigned(desk)
    refuse(desk, desk.data, says="does not say in full which hierarchy 'zip' had")


# from Python


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_kind_of_frame_comes_back(first, kind):
    frame = kind(people(NEW).to_dict("list"))
    with pytest.warns(sh.ShoalWarning, match="comparing the two") as notes:
        release = sh.apply(first.private, frame)
    assert notes[0].filename == __file__
    assert type(release.data) is type(frame)
    assert pa.table(release.data)["age"].to_pylist() == ["[20, 30)"] * 3 + ["[60, 70)"] * 3
    assert all(verdict.holds for verdict in release.verdicts)
    assert release.save(first.folder / "out2").warnings == release.summary.warnings
    assert all(verdict.holds for verdict in sh.verify(first.folder / "out2", original=frame))


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_options_from_python(first):
    frame = people(NEW + "sam,99,f,flu\n")
    with pytest.raises(sh.Infeasible, match="the earlier release fixes levels"):
        sh.apply(str(first.private), frame)
    assert len(sh.apply(first.private, frame, suppression=0.2).data) == 6
    assert len(sh.apply(first.private, frame, suppression="k").data) == 6
    with pytest.raises(sh.BadPolicy, match="a share"):
        sh.apply(first.private, frame, suppression=5)
    with pytest.raises(sh.BadInput, match="no such folder"):
        sh.apply(first.folder / "nix", frame)


def test_functions_are_kept_as_the_labels_that_they_made(tmp_path):
    frame = pd.DataFrame({"age": [31, 33, 35, 51, 53, 55]})
    age = {**QI, "hierarchy": lambda age: f"{age // 10}0s"}
    sh.anonymize(frame, sh.Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 3}])).save(
        tmp_path / "out"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sh.ShoalWarning)
        assert list(sh.apply(tmp_path / "out.private", frame[3:].reset_index(drop=True)).data["age"]) == ["50s"] * 3
        with pytest.raises(sh.BadHierarchy, match=r"first seen in row\(s\) 1, 2, 3"):
            sh.apply(tmp_path / "out.private", pd.DataFrame({"age": [32, 34, 36]}))
