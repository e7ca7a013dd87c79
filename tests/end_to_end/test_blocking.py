"""Releases whose inference channels were blocked: verified with the added rows and without (S1.3 to S1.8)."""

import json
from collections import Counter

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples

import shoal as sh
from shoal.attacks.rule_inference import Rules

PEOPLE = pa.table(
    {
        "zip": ["13053"] * 4 + ["14853"] * 4 + ["13068"] * 4,
        "age": [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35],
        "disease": ["heart", "heart", "viral", "viral", "cancer", "heart", "viral", "viral"] + ["cancer"] * 4,
    }
)
ATTRIBUTES = {
    "zip": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}},
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "disease": {"role": "sensitive"},
}
WAYS = ["absent", "unknown", "suppress", "generalise"]


def asked(k=4, attributes=ATTRIBUTES, method=None, **blocking):
    return {
        "attributes": attributes,
        "require": [{"model": "k-anonymity", "k": k}],
        "method": method or {},
        "blocking": {"confidence": 0.5, **blocking},
    }


def verdicts(folder, **known):
    return {verdict.promise: str(verdict.status) for verdict in sh.verify(folder, **known)}


@pytest.mark.parametrize("by", WAYS)
def test_a_blocked_release_verifies_and_says_what_was_done(tmp_path, by):
    release = sh.anonymize(PEOPLE, asked(by=by))
    document = release.save(tmp_path / "out").document()
    found = verdicts(tmp_path / "out", original=PEOPLE)
    assert set(found.values()) == {"holds"}
    blocking, rows = document["blocking"], document["rows"]
    assert (blocking["channels"], blocking["left"]) == (1, 0)
    assert rows["released"] == rows["read"] - rows["suppressed"] + rows["added"] == release.data.num_rows
    assert rows["added"] == (4 if by in {"absent", "unknown"} else 0)
    assert ("without added rows" in found) == bool(rows["added"])
    public = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert public["rows"]["added"] == rows["added"]
    assert "blocking" not in public  # the rules would tell
    left = sh.attack(tmp_path / "out", Rules()).figures["channels"]
    assert left == (1 if by == "unknown" else 0)  # who drops nulls still sees it
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("show nobody" in page) == bool(rows["added"])


def test_nobody_can_tell_added_rows_from_others(tmp_path):
    release = sh.anonymize(PEOPLE, asked())
    listed = release.data.to_pylist()
    assert listed == sorted(listed, key=lambda row: list(row.values()))
    release.save(tmp_path / "out")
    public = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"copied" not in public
    # copies of one row are equal but for the sensitive value, and combinations are those there were
    before = sh.anonymize(PEOPLE, asked() | {"blocking": None})
    combinations = {(row["zip"], row["age"]) for row in before.data.to_pylist()}
    assert {(row["zip"], row["age"]) for row in listed} == combinations


@pytest.mark.parametrize("kind", [pl.from_arrow, lambda table: table.to_pandas().set_index(pd.Index(range(5, 17)))])
def test_frames_come_back_as_they_came_with_the_added_rows(kind):
    frame = kind(PEOPLE)
    policy = asked(
        attributes=ATTRIBUTES | {"index": {"role": "identifier"}} if isinstance(frame, pd.DataFrame) else ATTRIBUTES
    )
    if isinstance(frame, pd.DataFrame):
        frame = frame.reset_index(names="index")
    made = sh.anonymize(frame, policy).data
    assert type(made) is type(frame)
    assert len(made) == 16
    assert Counter(made["disease"]) == {"cancer": 5, "heart": 5, "viral": 6}
    if isinstance(made, pd.DataFrame):
        assert list(made.index) == list(range(16))


def test_unknown_values_come_back_as_null():
    made = sh.anonymize(PEOPLE, asked(by="unknown"))
    assert made.data["disease"].null_count == 4
    assert sh.anonymize(PEOPLE.to_pandas(), asked(by="unknown")).data["disease"].isna().sum() == 4


@pytest.mark.some(2)
@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "local", "mondrian", "mondrian-relaxed"])
def test_rows_are_added_to_releases_of_every_kind(tmp_path, algorithm):
    attributes = ATTRIBUTES if algorithm != "mondrian" else ATTRIBUTES | {"zip": {"role": "quasi-identifier"}}
    people = pa.concat_tables([PEOPLE] * 3)
    release = sh.anonymize(people, asked(attributes=attributes, method={"algorithm": algorithm}))
    release.save(tmp_path / "out")
    assert set(verdicts(tmp_path / "out", original=people).values()) == {"holds"}
    assert sh.attack(tmp_path / "out", Rules()).exposed == 0
    assert release.summary.rows.added > 0


def test_a_model_of_the_classes_can_be_attained_on_top(tmp_path):  # S1.8
    policy = asked(require=[{"model": "distinct-l-diversity", "l": 3}])
    document = sh.anonymize(PEOPLE, policy).save(tmp_path / "out").document()
    told = {model["model"]: model for model in document["models"]}
    assert told["distinct-l-diversity"]["attained"] == {"l": 3}
    assert told["distinct-l-diversity"]["with_added"]
    assert "with_added" not in told["k-anonymity"]
    assert set(verdicts(tmp_path / "out", original=PEOPLE).values()) == {"holds"}
    assert "with the added rows" in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(sh.Infeasible, match="blocking did not attain distinct-l-diversity"):
        sh.anonymize(PEOPLE, asked(require=[{"model": "distinct-l-diversity", "l": 4}]))


def tampered(folder, **rows):
    for place in (folder / "out", folder / "out.private"):
        manifest = json.loads((place / "manifest.json").read_text())
        manifest["rows"] |= rows
        (place / "manifest.json").write_text(json.dumps(manifest))


def test_a_manifest_that_hides_added_rows_is_found_out(tmp_path):
    sh.anonymize(PEOPLE, asked()).save(tmp_path / "out")
    tampered(tmp_path, added=0)
    assert verdicts(tmp_path / "out", original=PEOPLE)["truthful"] == "fails"
    public = json.loads((tmp_path / "out" / "manifest.json").read_text())
    public["rows"]["added"] = 0
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(public))
    private = json.loads((tmp_path / "out.private" / "manifest.json").read_text())
    private["rows"]["added"] = 4
    (tmp_path / "out.private" / "manifest.json").write_text(json.dumps(private))
    assert verdicts(tmp_path / "out", original=PEOPLE)["truthful"] == "fails"


def test_rows_added_where_nobody_is_are_found_out(tmp_path):
    """A class of added rows alone would raise k for nobody."""
    sh.anonymize(PEOPLE, asked()).save(tmp_path / "out")
    table = tmp_path / "out" / "data.csv"
    lines = table.read_text().splitlines()
    rows = pa.ipc.open_file(pa.memory_map(str(tmp_path / "out.private" / "rows.arrow"))).read_all()
    known = set(rows["released_row"].to_pylist())
    added = next(place for place in range(1, len(lines)) if place not in known)
    lines[added] = lines[added].replace("13068", "99999")
    table.write_text("\n".join(lines) + "\n")
    assert verdicts(tmp_path / "out", original=PEOPLE)["without added rows"] == "fails"


def test_what_was_left_out_for_a_channel_is_told_privately(tmp_path):
    sh.anonymize(PEOPLE, asked(by="suppress")).save(tmp_path / "out")
    rows = pa.ipc.open_file(pa.memory_map(str(tmp_path / "out.private" / "rows.arrow"))).read_all()
    assert Counter(rows["why"].to_pylist()) == {None: 8, "inference channel": 4}
    assert rows["suppressed"].to_pylist() == [False] * 8 + [True] * 4


def test_channels_that_are_left_are_reported(tmp_path):
    with pytest.warns(sh.ShoalWarning, match=r"1 inference channel\(s\) are left: no more rows may be added"):
        release = sh.anonymize(PEOPLE, asked(limit=0.05))
    document = release.save(tmp_path / "out").document()
    assert document["blocking"]["left"] == 1
    assert document["blocking"]["why"] == "no more rows may be added or left out"
    assert document["blocking"]["unblocked"][0].startswith("zip > 13053 and zip <= 13068 => cancer")


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.integers(20, 49), st.sampled_from("fm"), st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z"])
        ),
        min_size=6,
        max_size=40,
    ),
    st.sampled_from(WAYS),
    st.integers(2, 3),
)
def test_any_blocked_release_keeps_its_promises(people, by, k):
    columns = [list(column) for column in zip(*people, strict=True)]
    table = pa.table(dict(zip(["age", "sex", "job", "ill"], columns, strict=True)))
    attributes = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        "sex": {"role": "quasi-identifier"},
        "job": {"role": "insensitive", "confirm": True},
        "ill": {"role": "sensitive"},
    }
    if len(set(columns[3])) < 2:
        return
    policy = asked(k=k, attributes=attributes, by=by, confidence=0.6)
    try:
        release = sh.anonymize(table, policy)
    except sh.Infeasible:
        assert by in {"suppress", "generalise"}  # every row would be left out
        return
    done, rows = release.plan.blocked, release.summary.rows
    assert not done.left or done.stopped
    sizes = Counter(
        (row["age"], row["sex"])
        for row, origin in zip(release.data.to_pylist(), release.rows, strict=True)
        if origin >= 0
    )
    assert min(sizes.values()) >= k
    assert {(row["age"], row["sex"]) for row in release.data.to_pylist()} == set(sizes)
    assert rows.added == sum(origin < 0 for origin in release.rows)
    found = sh.attack(release, Rules())
    assert by == "unknown" or bool(found.figures["channels"]) == bool(done.left)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"confidence": 0.2}, "the release shows 3 sensitive values"),
        ({"confidence": 1.0}, "less than 1"),
        ({"at": 0.4}, "must lie below at"),
        ({"by": "magic"}, "absent"),
        ({"attribute": "age"}, "has not the role 'sensitive'"),
        ({"features": ["disease"]}, "is no column that is released and not sensitive"),
        ({"confidance": 0.5}, "did you mean 'confidence'"),
        ({"passes": 0}, "greater than or equal to 1"),
        ({"require": [{"model": "k-anonymity", "k": 2}]}, "is not about the sensitive values of single classes"),
        ({"require": [{"model": "t-closeness", "t": 0.2}]}, "reference must be 'release'"),
        ({"by": "suppress", "require": [{"model": "distinct-l-diversity", "l": 2}]}, "use by = 'absent'"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(change, says):
    with pytest.raises(sh.BadPolicy, match=says):
        sh.anonymize(PEOPLE, asked(**change))


def test_ways_of_blocking_that_do_not_fit_the_policy_are_refused():
    with pytest.raises(sh.BadPolicy, match="needs one level per attribute"):
        sh.Policy(**asked(by="suppress", method={"algorithm": "mondrian"}))
    grouped = asked(method={"algorithm": "anatomy"}) | {"require": [{"model": "distinct-l-diversity", "l": 2}]}
    with pytest.raises(sh.BadPolicy, match="no rules to block"):
        sh.Policy(**grouped)
    with pytest.raises(sh.BadPolicy, match="not by persons"):
        sh.Policy(**asked(attributes=ATTRIBUTES | {"id": {"role": "unit"}}))
    with pytest.raises(sh.BadPolicy, match="2 are sensitive"):
        sh.Policy(**asked(attributes=ATTRIBUTES | {"salary": {"role": "sensitive"}}))


def test_a_policy_with_blocking_survives_saving_and_loading(tmp_path):
    policy = sh.Policy(**asked(values="cancer", require=[{"model": "distinct-l-diversity", "l": 2}]))
    policy.save(tmp_path / "policy.toml")
    assert sh.Policy.load(tmp_path / "policy.toml") == policy


def test_the_command_says_how_many_rows_show_nobody(desk):
    desk.table(
        "age,job,disease\n"
        + "".join(f"{30 + i % 10},{'a' if i % 3 else 'b'},{'flu' if i % 3 else 'hiv'}\n" for i in range(40))
    )
    attributes = {"age": "quasi-identifier", "job": "insensitive", "disease": "sensitive"}
    desk.policy({name: {"role": role} for name, role in attributes.items()}, blocking={"confidence": 0.6})
    ran = desk.anonymize()
    assert ran.code == 0, ran.err
    assert "added" in ran.out
    assert "inference channel(s), 0 left" in ran.out
    attacked = desk.run("attack", "rules", desk.out)
    assert attacked.code == 0, attacked.err
    assert "0 rule(s) tell" in attacked.out


TABLE_1 = {
    "ZipCode": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "Age": ["< 30"] * 4 + ["≥ 40"] * 4 + ["3*"] * 4,
    "Nationality": ["*"] * 12,
    "Disease": ["Heart Disease"] * 2
    + ["Viral Infection"] * 2
    + ["Cancer", "Heart Disease"]
    + ["Viral Infection"] * 2
    + ["Cancer"] * 4,
}
"""Table 1 of the paper as printed."""


def test_table_1_is_blocked_as_it_is_printed(shoal, tmp_path):  # S1.2, S1.3
    pd.DataFrame(TABLE_1).to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "blocked.csv"
    given = ["block", tmp_path / "table.csv", "--sensitive", "Disease", "--confidence", "1/2"]
    ran = shoal(*given, "--out", out, "--json", "--show-values")
    told = json.loads(ran.out)
    assert (told["rows"], told["added"], told["k"]) == (16, 4, {"before": 4, "after": 4})
    assert told["blocking"]["rules"] == ["Age = 3* => Cancer (4.0)"]
    assert (told["blocking"]["left"], told["blocking"]["lost"], told["blocking"]["ghosts"]) == (0, 0, 0)
    written = pd.read_csv(out)
    assert list(written.columns) == list(TABLE_1)
    thirties = Counter(written[written["Age"] == "3*"]["Disease"])
    assert thirties == {"Cancer": 4, "Heart Disease": 2, "Viral Infection": 2}
    assert set(written["Nationality"]) == {"*"}
    assert shoal(*given, "--out", out).code != 0  # it is there already
    assert "Cancer" not in shoal(*given).out  # no cell is shown unless asked for


def test_a_table_can_be_blocked_in_python():
    done = sh.block(pa.table(TABLE_1), "Disease", confidence="1/2", quasi_identifiers=["ZipCode", "Age"])
    assert (done.rows, done.added, done.k) == (16, 4, (4, 4))
    assert done.table.num_rows == 16
    nulls = sh.block(pa.table(TABLE_1), "Disease", confidence=0.5, by="unknown")
    assert nulls.table["Disease"].null_count == 4
    with pytest.raises(sh.BadPolicy, match="needs hierarchies"):
        sh.block(pa.table(TABLE_1), "Disease", by="suppress")
    with pytest.raises(sh.BadInput, match="there is no column"):
        sh.block(pa.table(TABLE_1), "Illness")


def test_exceeding_h_is_said_with_both_shares():
    table = pa.table(
        {
            "age": ["old"] * 6 + ["young"] * 6 + ["mid"] * 12,
            "sex": ["f", "m"] * 12,
            "ill": ["a"] * 6 + ["b"] * 6 + ["a", "b", "c", "c"] * 3,
        }
    )
    with pytest.warns(sh.ShoalWarning, match=r"h was exceeded \(LR .*%, GR .*%\) .* taken back"):
        back = sh.block(table, "ill", confidence="1/3", h=0)
    with pytest.warns(sh.ShoalWarning, match=r"h was exceeded \(LR .*%, GR .*%\) .* they were kept"):
        kept = sh.block(table, "ill", confidence="1/3", h=0, over="keep")
    moment = back.blocking["exceeded"]
    assert kept.added == back.added + moment["taken_back"]
    assert (kept.blocking["lost"], kept.blocking["ghosts"]) == (moment["lost"], moment["ghosts"])
    assert back.blocking["lost"] == back.blocking["ghosts"] == 0


@pytest.mark.parametrize("by", ["suppress", "generalise"])
def test_steps_without_added_rows_are_taken_back_too(by):
    people = {**PEOPLE.to_pydict(), "sex": ["f", "m"] * 6}
    roles = {**ATTRIBUTES, "sex": {"role": "insensitive"}}
    with pytest.warns(sh.ShoalWarning):
        kept = sh.anonymize(pa.table(people), asked(by=by, h=0, over="keep", attributes=roles)).summary.blocking
    assert kept.exceeded is not None
    with pytest.warns(sh.ShoalWarning, match="h was exceeded"):
        back = sh.anonymize(pa.table(people), asked(by=by, h=0, attributes=roles)).summary.blocking
    assert (back.lost, back.ghosts) == (0, 0)
    assert back.exceeded.taken_back > 0
