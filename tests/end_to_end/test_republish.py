"""Publish again and erase, end to end: the papers' examples, every way, what is refused, what is kept, what is not."""

import csv
import json
import stat
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal as sh
from shoal.attacks.composition import Compose
from shoal.pipeline import make_release
from shoal.policy.document import Policy
from shoal.republish.history import load_history
from shoal.republish.next_release import PreviousRelease

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}
SEX = {"role": "quasi-identifier", "hierarchy": {"flat": True}}
ROLES = {"name": {"role": "identifier"}, "age": AGE, "sex": SEX, "disease": {"role": "sensitive"}}
TWO = [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "l": 2}]
WAYS = {
    "monotone": {},
    "m-invariance": {"m": 2, "counterfeits": 0.5},
    "alp-dif": {},
}
MORE = {"alp-dif": [{"model": "alp-dif", "alp": 0.9, "dif": 0.5}]}


def sections(way, **more):
    return {
        "require": [*TWO, *MORE.get(way, [])],
        "method": {"suppression": 0.8},
        "republish": {"key": "name", "way": way, **WAYS[way], **more},
    }


LATER = """name,age,sex,disease
ann,31,f,flu
bob,32,m,hiv
dot,44,f,cold
eli,35,m,flu
fay,36,f,hiv
gus,51,m,flu
hal,52,m,cold
ida,53,f,cold
kim,55,f,cold
lea,56,f,flu
max,33,m,cold
ned,34,m,flu
ola,52,f,hiv
pat,57,f,flu
"""


def lines_of(path):
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def again(policy, release):
    return PreviousRelease("earlier.private", Policy(**policy), release.plan.grown.history)


class TestExamples:
    def test_bob_stands_beside_a_counterfeit_once_his_partner_left(self):  # models.md 1.16
        rows = {"name": ["bob", "ann", "joe", "eve"], "age": [21, 22, 41, 42]}
        disease = ["dyspepsia", "bronchitis", "flu", "cold"]
        policy = {
            "attributes": {"name": "identifier", "age": AGE, "disease": "sensitive"},
            "require": [{"model": "distinct-l-diversity", "l": 2}],
            "republish": {"key": "name", "way": "m-invariance", "m": 2, "counterfeits": 0.5},
        }
        first = pa.table({**rows, "disease": disease})
        before = make_release(first, policy)
        assert class_of(before, 0) == ["bronchitis", "dyspepsia"]
        new = pa.table({"name": ["ray", "may"], "age": [51, 52], "disease": ["flu", "cold"]})
        second = pa.concat_tables([first.take([0, 2, 3]), new])
        after = make_release(second, again(policy, before))
        assert class_of(after, 0) == ["bronchitis", "dyspepsia"]
        assert after.summary.rows.added == 1
        alone = class_of(
            make_release(second, policy), 0
        )  # whoever anonymizes afresh needs no counterfeit, and betrays him
        assert set(alone) & {"bronchitis", "dyspepsia"} == {"dyspepsia"}

    def test_two_diverse_releases_leave_one_value(self):  # models.md 2, composition
        first = pa.table({"name": ["bob", "a", "b"], "age": [24, 25, 26], "disease": ["hiv", "flu", "ulcer"]})
        second = pa.table({"name": ["bob", "c", "d"], "age": [24, 27, 28], "disease": ["hiv", "cancer", "asthma"]})
        policy = {
            "attributes": {"name": "identifier", "age": AGE, "disease": "sensitive"},
            "require": [{"model": "distinct-l-diversity", "l": 3}],
            "method": {"suppression": 1.0},
            "republish": {"key": "name"},
        }
        before, afresh = make_release(first, policy), make_release(second, policy)
        found = sh.attack(afresh, Compose([before], truths=[first], key="name"), original=second)
        assert (found.exposed, found.of) == (1, 1)
        with pytest.raises(sh.Infeasible, match="nobody could be shown"):
            make_release(second, again(policy, before))
        more = pa.table({"name": ["e", "f"], "age": [24, 21], "disease": ["flu", "hiv"]})
        third = make_release(pa.concat_tables([second, more]), again(policy, before))
        assert 0 not in third.rows.tolist()  # bob is left out
        assert len(third.rows) == 4


def class_of(release, row):
    """The sensitive values beside a row of the input, in order."""
    table = release.table
    shown = table.select([name for name in table.column_names if name != "disease"]).to_pylist()
    label = shown[release.rows.tolist().index(row)]
    return sorted(value for value, each in zip(table["disease"].to_pylist(), shown, strict=True) if each == label)


@pytest.mark.parametrize("way", WAYS)
class TestEveryWay:
    def test_three_releases(self, desk, way):
        desk.policy(ROLES, **sections(way))
        assert desk.anonymize().code == 0
        desk.table(LATER, "later.csv")
        desk.table(LATER.replace("ida,53,f,cold", "ida,53,f,hiv") + "zoe,31,m,hiv\nquy,34,m,cold\n", "last.csv")
        before = desk.private
        for number, table in enumerate(("later.csv", "last.csv"), 2):
            out = desk.folder / f"out{number}"
            ran = desk.run("republish", before, desk.folder / table, "--out", out, "--json")
            assert ran.code == 0, ran.err
            told = json.loads(ran.out)["republish"]
            assert (told["release"], told["exposed"], told["way"]) == (number, 0, way)
            ran = desk.run("verify", out, "--original", desk.folder / table)
            assert ran.code == 0, ran.out
            assert desk.run("verify", out).code == 0
            before = desk.folder / f"out{number}.private"

    def test_the_public_folder_names_nobody(self, desk, way):
        desk.policy(ROLES, **sections(way))
        desk.anonymize()
        desk.table(LATER, "later.csv")
        assert desk.run("republish", desk.private, desk.folder / "later.csv", "--out", desk.folder / "out2").code == 0
        for path in (desk.folder / "out2").iterdir():
            content = path.read_bytes()
            assert not any(f"{name},".encode() in content for name in ("ann", "bob", "max", "pat")), path
        kept = desk.folder / "out2.private" / "history.parquet"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert {"ann", "max"} <= set(parquet.read_table(kept)["key"].to_pylist())

    def test_equal_runs_give_equal_bytes(self, desk, way):
        desk.policy(ROLES, **sections(way))
        desk.anonymize()
        desk.table(LATER, "later.csv")
        for out in ("one", "two"):
            ran = desk.run(
                "republish", desk.private, desk.folder / "later.csv", "--out", desk.folder / out, "--reproducible"
            )
            assert ran.code == 0, ran.err
        for path in (desk.folder / "one").iterdir():
            assert path.read_bytes() == (desk.folder / "two" / path.name).read_bytes()

    def test_a_dry_run_writes_nothing(self, desk, way):
        desk.policy(ROLES, **sections(way))
        desk.anonymize()
        desk.table(LATER, "later.csv")
        names = sorted(path.name for path in desk.folder.iterdir())
        assert desk.run("republish", desk.private, desk.folder / "later.csv", "--dry-run").code == 0
        assert sorted(path.name for path in desk.folder.iterdir()) == names

    def test_a_history_survives_its_file(self, desk, way):
        desk.policy(ROLES, **sections(way))
        desk.anonymize()
        kept = load_history(desk.private)
        made = make_release(desk.data, desk.folder / "policy.toml").plan.grown.history
        assert sorted(kept.keys.to_pylist()) == sorted(made.keys.to_pylist())
        assert (kept.group == made.group).all()
        assert (kept.levels == made.levels).all()
        left = {name: each.count_left().tolist() for name, each in made.candidates.items()}
        assert {name: each.count_left().tolist() for name, each in kept.candidates.items()} == left
        assert kept.domains["disease"].to_pylist() == made.domains["disease"].to_pylist()
        assert (kept.seen is None) == (made.seen is None) == (way != "m-invariance")
        if made.seen is not None:
            # what the class of each line shows; numbers of classes may be others
            shown = [each.counts[0][each.classes[0]].tolist() for each in (kept.seen, made.seen)]
            assert (shown[0], kept.seen.values) == (shown[1], made.seen.values)


class TestCounterfeits:
    def test_their_numbers_are_published_class_by_class(self, desk):
        desk.policy(ROLES, **sections("m-invariance"))
        desk.anonymize()
        few = "\n".join(LATER.splitlines()[:4]) + "\n"
        desk.table(few, "later.csv")
        out = desk.folder / "out2"
        ran = desk.run("republish", desk.private, desk.folder / "later.csv", "--out", out, "--json")
        assert ran.code == 0, ran.err
        added = json.loads(ran.out)["rows"]["added"]
        assert added > 0
        lines = lines_of(out / "counterfeits.csv")
        assert sum(int(line["counterfeits"]) for line in lines) == added
        shown = {(row["age"], row["sex"]) for row in lines_of(out / "data.csv")}
        assert {(line["age"], line["sex"]) for line in lines} <= shown
        public = json.loads((out / "manifest.json").read_text())
        assert public["republish"] == {"way": "m-invariance", "release": 2}
        assert desk.run("verify", out).code == 0
        (out / "counterfeits.csv").write_text((out / "counterfeits.csv").read_text() + "*,*,1\n")
        assert desk.run("verify", out).code == 4
        (out / "counterfeits.csv").unlink()
        assert desk.run("verify", out).code == 4
        page = (out / "report.html").read_text("utf-8")
        assert "counterfeits.csv" in page
        assert "release 2 of a table that grows" in page
        assert "All releases together" in (desk.folder / "out2.private" / "report.html").read_text("utf-8")

    def test_more_than_allowed_are_refused(self, desk):
        desk.policy(ROLES, **sections("m-invariance", counterfeits=0.1))
        desk.anonymize()
        desk.table("\n".join(LATER.splitlines()[:4]) + "\n", "later.csv")
        desk.refused(
            3,
            *("republish", desk.private, desk.folder / "later.csv", "--out", desk.folder / "out2"),
            says="rows that show nobody",
        )


class TestMonotone:
    def test_nobody_is_shown_finer_or_apart_from_before(self):
        policy = {"attributes": ROLES, **sections("monotone")}
        first = _table(ROWS)
        before = make_release(first, policy)
        moved = [(name, age + 25 if name == "p3" else age, sex, ill) for name, age, sex, ill in ROWS]
        after = make_release(_table([*moved, *NEW]), again(policy, before))
        classes = [_classes(release) for release in (before, after)]
        assert len(after.rows) == len(ROWS) + len(NEW)
        for row in range(len(ROWS)):
            others = {other for other in range(len(ROWS)) if classes[0][other] == classes[0][row]}
            assert {classes[1][other] for other in others} == {classes[1][row]}

    def test_new_rows_that_are_too_few_wait(self):
        policy = {"attributes": ROLES, **sections("monotone")}
        before = make_release(_table(ROWS), policy)
        one = make_release(_table([*ROWS, NEW[0]]), again(policy, before))
        assert sorted(one.rows.tolist()) == list(range(len(ROWS)))
        both = make_release(_table([*ROWS, *NEW]), again(policy, one))
        assert len(both.rows) == len(ROWS) + len(NEW)

    def test_people_who_left_are_hidden_among_others(self):
        policy = {"attributes": ROLES, **sections("monotone")}
        before = make_release(_table(ROWS), policy)
        after = make_release(_table(ROWS[1:]), again(policy, before))
        gone = [ill for _, _, _, ill in ROWS]
        for ill in after.table["disease"].to_pylist():
            gone.remove(ill)
        assert len(gone) >= 2
        assert len(set(gone)) >= 2
        assert after.plan.grown.finding.figures["of_them_below_the_policy"] == 0

    def test_above_the_suppression_there_is_no_release(self):
        policy = {"attributes": ROLES, **sections("monotone"), "method": {"suppression": 0.0}}
        before = make_release(_table(ROWS), policy)
        with pytest.raises(sh.Infeasible, match="suppression allows 0"):
            make_release(_table(ROWS[1:]), again(policy, before))

    def test_an_increment_is_a_table_of_its_own(self, desk):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        new = "name,age,sex,disease\nzoe,31,m,hiv\nquy,34,m,cold\nuli,38,m,flu\n"
        desk.table(new, "new.csv")
        out = desk.folder / "out2"
        ran = desk.run("republish", desk.private, desk.folder / "new.csv", "--out", out, "--increment", "--json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["rows"]["released"] == 3
        assert desk.run("verify", out, "--original", desk.folder / "new.csv").code == 0
        kept = load_history(desk.folder / "out2.private")
        assert kept.shown.all()
        assert len(kept) == 15
        desk.table(desk.data.read_text() + "".join(new.splitlines(keepends=True)[1:]), "all.csv")
        ran = desk.run(
            "republish", desk.folder / "out2.private", desk.folder / "all.csv", "--out", desk.folder / "out3"
        )
        assert ran.code == 0, ran.err
        desk.refused(
            2,
            *("republish", desk.private, desk.folder / "all.csv", "--out", desk.folder / "no", "--increment"),
            says="12 row(s) are of people who were released before",
        )

    def test_a_release_without_a_history_is_continued_by_its_original(self, desk):
        desk.policy(ROLES, require=TWO, method={"suppression": 0.5})
        desk.anonymize()
        policy = desk.policy(ROLES, **sections("monotone"))
        desk.table(LATER, "later.csv")
        command = (
            "republish",
            desk.private,
            desk.folder / "later.csv",
            "--policy",
            policy,
            "--out",
            desk.folder / "out2",
        )
        desk.refused(2, *command, says="--original")
        ran = desk.run(*command, "--original", desk.data, "--json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["republish"]["release"] == 2
        assert desk.run("verify", desk.folder / "out2", "--original", desk.folder / "later.csv").code == 0


ROWS = [(f"p{i}", 20 + i, "fm"[i % 2], ("flu", "hiv", "cold")[i % 3]) for i in range(12)]
NEW = [("q1", 30, "f", "flu"), ("q2", 31, "f", "hiv")]


def _table(rows):
    name, age, sex, disease = zip(*rows, strict=True)
    return pa.table({"name": list(name), "age": list(age), "sex": list(sex), "disease": list(disease)})


def _classes(release):
    shown = zip(release.table["age"].to_pylist(), release.table["sex"].to_pylist(), strict=True)
    return dict(zip(release.rows.tolist(), shown, strict=True))


class TestRemove:
    def test_a_removed_person_is_hidden_and_forgotten(self, desk):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        whom = desk.table("name\nbob\n", "whom.csv")
        out = desk.folder / "out2"
        ran = desk.run("remove", whom, desk.private, "--original", desk.data, "--out", out, "--json")
        assert ran.code == 0, ran.err
        told = json.loads(ran.out)
        assert told["republish"]["exposed"] == 0
        before, after = (lines_of(folder / "data.csv") for folder in (desk.out, out))
        for row in after:
            before.remove(row)  # monotone: what is shown is shown as before
        assert len({row["disease"] for row in before}) >= 2
        rest = "".join(line for line in desk.data.read_text().splitlines(keepends=True) if not line.startswith("bob"))
        desk.table(rest, "rest.csv")
        assert desk.run("verify", out, "--original", desk.folder / "rest.csv").code == 0
        assert "bob" not in load_history(desk.folder / "out2.private").keys.to_pylist()
        assert b"bob" not in (desk.folder / "out2.private" / "history.parquet").read_bytes()

    def test_the_released_file_is_found_until_it_holds_a_removed_person(self, desk, monkeypatch):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        found = desk.folder / "out2"
        assert desk.run("remove", "bob", desk.private, "--out", found).code == 0
        named = desk.run("remove", "bob", desk.private, "--original", desk.data, "--out", desk.folder / "out3")
        assert named.code == 0
        assert lines_of(found / "data.csv") == lines_of(desk.folder / "out3" / "data.csv")
        desk.refused(2, "remove", "fay", desk.folder / "out2.private", "--out", desk.folder / "o", says="erased since")
        elsewhere = desk.folder / "elsewhere"
        elsewhere.mkdir()
        desk.data.rename(elsewhere / desk.data.name)
        desk.refused(2, "remove", "fay", desk.private, "--out", desk.folder / "o", says="neither beside out.private")
        monkeypatch.chdir(elsewhere)
        assert desk.run("remove", "fay", desk.private, "--out", desk.folder / "out4").code == 0

    def test_remove_refuses_a_release_of_a_frame_without_the_original(self, desk):
        frame = pa.Table.from_pylist(lines_of(desk.data))
        sh.anonymize(frame, desk.policy(ROLES, **sections("monotone"))).save(desk.out)
        desk.refused(2, "remove", "fay", desk.private, "--out", desk.folder / "o", says="was no file")

    def test_remove_by_keys_from_the_command_and_from_python(self, desk):
        desk.policy(ROLES, **sections("m-invariance"))
        desk.anonymize()
        ran = desk.run("remove", "bob,fay", desk.private, "--original", desk.data, "--out", desk.folder / "out2")
        assert ran.code == 0, ran.err
        release = sh.remove(["bob", "fay"], desk.private, desk.data)
        assert release.summary.rows.read == 10

    @pytest.mark.parametrize(
        ("rows", "says"),
        [("nobody", "1 of 1 keys"), ("people.csv", "nobody would be left"), ("other.csv", "no column 'name'")],
    )
    def test_rows_that_cannot_be_removed_are_refused(self, desk, rows, says):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        desk.table("who\nbob\n", "other.csv")
        given = desk.folder / rows if rows.endswith(".csv") else rows
        desk.refused(2, "remove", given, desk.private, "--original", desk.data, "--out", desk.folder / "o", says=says)


class TestRefused:
    def republish(self, desk, code, says, *more, table="later.csv"):
        private, data, out = desk.private, desk.folder / table, desk.folder / "out2"
        return desk.refused(code, "republish", private, data, "--out", out, *more, says=says)

    @pytest.fixture
    def ready(self, desk):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        desk.table(LATER, "later.csv")
        return desk

    def test_repeated_and_missing_keys_are_refused(self, ready):
        ready.table(LATER.replace("bob,", "ann,"), "later.csv")
        self.republish(ready, 2, "row 1 has that of another row")
        ready.table(LATER.replace("bob,", ","), "later.csv")
        self.republish(ready, 2, "row 2 has none")

    def test_another_way_another_role_or_no_republish_section_is_refused(self, ready):
        ready.policy(ROLES, **sections("m-invariance"))
        self.republish(ready, 2, "republish.way was 'monotone'", "--policy", ready.folder / "policy.toml")
        roles = {**ROLES, "sex": {"role": "insensitive"}}
        ready.policy(roles, **sections("monotone"))
        self.republish(ready, 2, "attributes.sex: its role", "--policy", ready.folder / "policy.toml")
        ready.policy(ROLES)
        self.republish(ready, 2, "no section [republish]", "--policy", ready.folder / "policy.toml")

    def test_a_damaged_history(self, ready):
        (ready.private / "history.parquet").write_bytes(b"nothing")
        self.republish(ready, 2, "the file was changed, or it is damaged")

    def test_a_folder_that_is_no_private_folder_is_refused(self, ready):
        out = ready.folder / "out2"
        ready.refused(2, "republish", ready.folder / "no", ready.data, "--out", out, says="there is no such folder")
        ready.refused(2, "republish", ready.out, ready.data, "--out", out, says="manifest.json")

    def test_output_over_the_earlier_release_is_refused(self, ready):
        ready.refused(2, "republish", ready.private, ready.data, "--out", ready.out, "--force", says="earlier one")

    def test_exposure_above_the_limit(self, desk):
        # who asks for more values than models do may be told that there is no way
        desk.policy(ROLES, **sections("monotone", m=3))
        desk.refused(3, says="composition attack")
        desk.policy(ROLES, **sections("monotone", m=3, limit=1.0))
        assert desk.anonymize().code == 0


MISFITS = [
    ({"republish": {}}, "name the column that tells persons apart"),
    ({"republish": {"key": "age"}}, "'age' must have the role 'identifier' or 'unit'"),
    ({"republish": {"key": "other"}}, "'other' must have the role"),
    ({"republish": {"key": "name"}, "method": {"algorithm": "mondrian"}}, "'mondrian'"),
    ({"republish": {"key": "name"}, "blocking": {}}, "do not go together"),
    ({"republish": {"key": "name"}, "release": {"suppressed": "show"}}, "release.suppressed"),
    ({"republish": {"key": "name", "way": "alp-dif"}}, "needs the model alp-dif"),
    ({"republish": {"key": "name", "way": "m-invariance"}}, "needs m"),
    ({"republish": {"key": "name", "way": "m-invariance", "m": 1}}, "republish.m"),
    ({"republish": {"key": "name", "way": "m-invariance", "m": 2}, "data": {"others": "insensitive"}}, "insensitive"),
    (
        {"republish": {"key": "name", "way": "m-invariance", "m": 2}, "require": [{"model": "k-anonymity", "k": 3}]},
        "k-anonymity is not what",
    ),
    (
        {
            "republish": {"key": "name", "way": "m-invariance", "m": 2},
            "require": [{"model": "t-closeness", "t": 0.2}],
        },
        "t-closeness is not what",
    ),
    ({"republish": {"key": "name", "wya": "monotone"}}, "wya"),
]


@pytest.mark.parametrize(("more", "says"), MISFITS)
def test_policies_that_republish_does_not_allow_are_refused(more, says):
    with pytest.raises(sh.BadPolicy, match=says.replace("(", r"\(")):
        Policy(**{"attributes": ROLES, "require": TWO, **more})


def test_a_policy_survives_its_file(tmp_path):
    policy = Policy(attributes=ROLES, **sections("m-invariance"))
    policy.save(tmp_path / "policy.toml")
    assert Policy.load(tmp_path / "policy.toml") == policy


def test_other_engines_say_that_they_cannot(desk):
    desk.policy(ROLES, **sections("monotone"))
    desk.refused(
        2,
        *("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out, "--engine", "duckdb"),
        says="[republish] needs the table in memory",
    )


def test_the_running_attack_is_compose(desk):  # over all releases, before anything is written
    policy = {"attributes": ROLES, **sections("monotone")}
    before = make_release(_table(ROWS), policy)
    after = make_release(_table([*ROWS, *NEW]), again(policy, before))
    found = sh.attack(after, Compose([before], truths=[_table(ROWS)], key="name"), original=_table([*ROWS, *NEW]))
    assert found.exposed == 0
    left = after.plan.grown.history.candidates["disease"].count_left()[: len(ROWS)]
    assert found.figures["values_left_mean"] == pytest.approx(left.mean())


@pytest.mark.parametrize("way", list(WAYS))
def test_reports_tell_of_all_releases(desk, monkeypatch, way):
    desk.policy(ROLES, **sections(way))
    later = desk.table(LATER, "later.csv")
    monkeypatch.chdir(desk.folder)
    assert desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", "first").code == 0
    assert desk.run("republish", "first.private", later, "--out", "second").code == 0
    said = {name: Path(name, "report.html").read_text("utf-8") for name in ("first", "second", "second.private")}
    assert f"release 2 of a table that grows ({way})" in said["second"]
    assert "of a table that grows" not in said["first"]
    assert "All releases together" in said["second.private"]
    assert "All releases together" not in said["second"]


class TestWhoIsWho:
    """What ties two releases together beyond the key."""

    def policy(self, desk, *sensitive, **others):
        roles = {"name": {"role": "identifier"}, "age": AGE, **{name: {"role": "sensitive"} for name in sensitive}}
        diverse = [{"model": "distinct-l-diversity", "l": 2, "attribute": name} for name in sensitive]
        return desk.policy(
            roles | others,
            require=[{"model": "k-anonymity", "k": 2}, *diverse],
            method={"suppression": 0.7},
            republish={"key": "name"},
        )

    def again(self, desk, first, then, out="out2"):
        assert desk.anonymize(data=desk.table(first, "first.csv")).code == 0
        return desk.run("republish", desk.private, desk.table(then, "then.csv"), "--out", desk.folder / out)

    def test_a_person_who_keeps_one_of_two_values_is_tied_to_it(self, desk):
        """Ann and Bob would be shown with the same jobs in another class, and what is left of the first is Cid's."""
        self.policy(desk, "ill", "job")
        ran = self.again(
            desk,
            "name,age,ill,job\nann,31,flu,cook\nbob,32,hiv,baker\ncid,33,flu,judge\n",
            "name,age,ill,job\nann,31,cold,cook\nbob,32,gout,baker\ncid,33,flu,judge\ndot,34,cold,pilot\n",
        )
        assert (ran.code, ran.out) == (3, "")

    def test_a_person_who_keeps_a_value_is_held_back_for_good(self, desk):
        """Another release later they are still no two people."""
        self.policy(desk, "ill", "job")
        one = "name,age,ill,job\nann,31,flu,cook\nbob,32,hiv,baker\ncid,33,flu,judge\n"
        two = "eva,51,flu,cook\nfay,52,hiv,baker\ngus,53,cold,judge\n"
        changed = "name,age,ill,job\nann,31,cold,cook\nbob,32,gout,baker\ncid,33,flu,judge\ndot,34,cold,pilot\n"
        assert self.again(desk, one + two, changed + two).code == 0
        ran = desk.run(
            "republish", desk.folder / "out2.private", desk.folder / "then.csv", "--out", desk.folder / "out3"
        )
        assert ran.code == 0, ran.err
        for out in ("out2", "out3"):
            assert {row["job"] for row in lines_of(desk.folder / out / "data.csv")} == {"cook", "baker", "judge"}
            assert len(lines_of(desk.folder / out / "data.csv")) == 3

    def test_a_person_who_keeps_an_insensitive_value_is_tied_to_it(self, desk):
        self.policy(desk, "ill", note={"role": "insensitive", "confirm": True})
        ran = self.again(
            desk,
            "name,age,ill,note\nann,31,flu,n1\nbob,32,hiv,n2\n",
            "name,age,ill,note\nann,31,cold,n1\nbob,32,hiv,n2\ndot,34,gout,n3\n",
        )
        assert (ran.code, ran.out) == (3, "")

    @pytest.mark.parametrize(
        "then", ["1.0,25,1.0\n2.0,31,2.0\n3.0,26,3.0\n4.0,32,4.5\n", "1,25, 1\n2,31,2 \n3,26,3\n4,32,4\n"]
    )
    def test_other_spellings_of_a_number_are_the_same_value(self, desk, then):
        self.policy(desk, "code")
        ran = self.again(desk, "name,age,code\n1,25,1\n2,31,2\n", "name,age,code\n" + then)
        assert ran.code == 0, ran.err
        told = [lines_of(desk.folder / out / "data.csv") for out in ("out", "out2")]
        young = [{float(row["code"]) for row in rows if row["age"] == told[0][0]["age"]} for rows in told]
        assert young[0] <= young[1] or not young[0] & young[1]
        assert load_history(desk.folder / "out2.private").keys.null_count == 0

    def test_a_person_with_a_changed_value_stays_one_person(self, desk):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        then = desk.table(desk.data.read_text().replace("ann,31,f,flu", "ann,31,f,cold"), "then.csv")
        ran = desk.run("republish", desk.private, then, "--out", desk.folder / "out2", "--json")
        assert json.loads(ran.out)["republish"]["people"] == 12

    def test_a_table_in_which_nobody_is_found_again_is_refused(self, desk):
        self.policy(desk, "code")
        desk.anonymize(data=desk.table("name,age,code\n1,25,1\n2,31,2\n", "first.csv"))
        then = desk.table("name,age,code\n01,25,1\n02,31,2\n03,26,3\n04,32,4\n", "then.csv")
        desk.refused(2, "republish", desk.private, then, "--out", desk.folder / "o", says="nobody of the last release")

    def test_few_are_found_again(self, desk):
        self.policy(desk, "code")
        ran = self.again(
            desk,
            "name,age,code\n1,25,1\n2,31,2\n3,25,3\n4,31,4\n5,25,5\n",
            "name,age,code\n1,25,1\n02,31,2\n03,25,3\n04,31,4\n05,25,5\n",
        )
        assert "only 1 of 5 people of the last release are found again" in ran.err

    @pytest.mark.parametrize("way", ["monotone", "m-invariance"])
    def test_a_value_that_was_missing_may_be_known_later(self, desk, way):
        desk.policy(ROLES, **sections(way))
        people = desk.data.read_text()
        desk.anonymize(data=desk.table(people.replace("ann,31,f,flu", "ann,31,f,"), "first.csv"))
        ran = desk.run("republish", desk.private, desk.data, "--out", desk.folder / "out2")
        assert ran.code == 0, ran.err

    def test_a_different_table_is_refused_as_the_original(self, desk):
        desk.policy(ROLES, **{name: each for name, each in sections("monotone").items() if name != "republish"})
        desk.anonymize()
        policy = desk.policy(ROLES, **sections("monotone"))
        then = desk.table(LATER, "then.csv")
        command = ["republish", desk.private, then, "--policy", policy, "--out", desk.folder / "o", "--original"]
        desk.refused(2, *command, then, says="it has 14 rows, and the release was made of 12")
        other = desk.table(desk.data.read_text().replace("ann,31", "ann,51"), "other.csv")
        desk.refused(2, *command, other, says="do not make the classes")
        assert desk.run(*command, desk.data).code == 0

    def test_a_history_that_is_gone(self, desk):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        (desk.private / "history.parquet").unlink()
        desk.refused(2, "republish", desk.private, desk.data, "--out", desk.folder / "o", says="no such file")

    @pytest.mark.parametrize("keys", ["", ","])
    def test_nobody_is_removed(self, desk, keys):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        desk.refused(2, "remove", keys, desk.private, "--out", desk.folder / "o", says="nobody to remove")

    def test_many_unknown_keys_are_counted_in_the_refusal(self, desk):
        desk.policy(ROLES, **sections("monotone"))
        desk.anonymize()
        many = ",".join(f"person{i:03}" for i in range(60))
        desk.refused(2, "remove", many, desk.private, "--out", desk.folder / "o", says="60 of 60 keys")
