"""Thirty bad inputs and their good answers, through the command line; the numbers are those of the project's list."""

import errno
import json
import os
import shutil

import pytest

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
PLAIN = {"role": "quasi-identifier", "hierarchy": {"flat": True}}


def lines_of(desk):
    return (desk.out / "data.csv").read_text("utf-8").split("\n")


def levels(*lines):
    return {"role": "quasi-identifier", "hierarchy": {"rows": [line.split(";") for line in lines]}}


def test_the_unchanged_desk_fixture_is_accepted(desk):
    assert desk.anonymize().code == 0
    assert desk.out.is_dir()
    assert desk.private.is_dir()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no columns"),  # bad input 1
        ("\n\n", "no columns"),  # bad input 1
        ("name,age,sex,disease\n", "no records"),  # bad input 2
        ("age,sex,age,sex\n1,f,2,m\n", "columns 1 and 3 are both named 'age'"),  # bad input 8
        ("name,age,sex,disease\nМария,31,f,CANARY-7f3\n".encode("cp1251"), "byte offset 21 is not UTF-8"),  # 10
        (b"\xff\xfename,age\n", "utf-16"),  # bad input 10: a mark, and then no UTF-16
        (b"name,age,sex,disease\nCANARY-7f3,3\x001,f,flu\n", "line 2 holds a NUL byte"),  # bad input 11
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "NUL byte"),  # bad input 11
        (b"PAR1", "not a table as text but a Parquet file"),  # bad input 11
        ("name,age,sex,disease\nann,31,f,flu\nbob,32,m\n", "row 2 (line 3): expected 4 fields"),  # bad input 13
        ("name,age,sex,disease\nann,31,f,flu,CANARY-7f3\n", "row 1 (line 2): expected 4 fields"),  # bad input 13
        ('name,age,sex,disease\nann,31,f,"CANARY-7f3\nbob,32,m,flu\n', "a quote that is never closed"),  # 14
    ],
)
def test_a_table_that_cannot_be_read(desk, content, says):
    desk.table(content)
    desk.refused(2, says=says)
    desk.refused(2, "measure", desk.data, "--qi", "age", says=says)
    desk.refused(2, "init", desk.data, "--out", desk.folder / "new.toml", says=says)


def test_an_empty_file_is_refused_by_a_real_process(desk, process):  # bad input 1
    desk.table("")
    ran = process("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out)
    out, err = ran.communicate()
    assert (ran.returncode, out, err) == (2, "", "shoal: people.csv: the file is empty: no columns\n")
    assert sorted(path.name for path in desk.folder.iterdir()) == ["people.csv", "policy.toml"]


@pytest.mark.parametrize("arguments", [["anonymize"], ["nonsense"], ["measure", "people.csv", "--q", "age"], ["--x"]])
def test_bad_usage(desk, arguments):
    desk.refused(2, *arguments)


def test_a_file_that_is_not_there(desk):
    desk.refused(2, data=desk.folder / "peple.csv", says="did you mean people.csv?")
    (desk.folder / "empty").mkdir()
    desk.refused(2, data=desk.folder / "empty", says="there are no files in the folder")
    desk.refused(2, "anonymize", desk.data, "--policy", "nix.toml", "--out", desk.out, says="shoal init DATA")
    desk.refused(2, "anonymize", desk.data, "--policy", desk.folder / "policy.toml", says="--out")


def test_more_people_asked_for_than_there_are(desk):  # bad input 3
    desk.policy(require=[{"model": "k-anonymity", "k": 50}])
    assert "12" in desk.refused(3, says="impossible")


@pytest.mark.parametrize("k", ["0", "-1", "1.5", "'CANARY'", "1e400", "nan", "true", "inf"])  # bad input 4
def test_a_k_that_is_no_positive_number_is_refused(desk, k):
    policy = desk.policy()
    policy.write_text(policy.read_text().replace("k = 3", f"k = {k}"))
    assert "k " in desk.refused(2, says="policy.toml: the 1st [[require]]: ")


def test_k_of_one_is_allowed_and_said_to_protect_nobody(desk):  # bad input 4
    desk.policy(require=[{"model": "k-anonymity", "k": 1}])
    ran = desk.anonymize()
    assert ran.code == 0
    assert "note: k = 1 gives no protection" in ran.err


@pytest.mark.parametrize(
    ("require", "code", "says"),
    [
        ({"model": "distinct-l-diversity", "l": 4}, 3, "impossible"),
        ({"model": "distinct-l-diversity", "l": 0}, 2, "l must"),
        ({"model": "alpha-k", "alpha": 0, "k": 2}, 2, "alpha"),
        ({"model": "alpha-k", "alpha": 0.2, "k": 2}, 3, "impossible"),
        ({"model": "alpha-k", "alpha": 0.5, "k": 99}, 3, "impossible"),
        ({"model": "k-anonymty", "k": 2}, 2, "did you mean 'k-anonymity'?"),
        ({"model": "k-anonymity", "kay": 2}, 2, "'kay'"),
        ({"model": "distinct-l-diversity", "l": 2, "attribute": "name"}, 2, "'name'"),
    ],
)
def test_promises_that_contradict_themselves_or_the_table(desk, require, code, says):
    desk.policy(require=[require])
    desk.refused(code, says=says)


@pytest.mark.parametrize(
    ("section", "values", "says"),
    [
        ("method", {"suppression": 1.5}, "method.suppression"),
        ("method", {"suppression": -0.1}, "method.suppression"),
        ("method", {"algoritm": "optimal"}, "did you mean 'algorithm'?"),
        ("method", {"generalise": "cell", "algorithm": "datafly"}, "does not fit"),
        ("data", {"delimiter": ";;"}, "one ASCII character"),
        ("data", {"encoding": "klingon"}, "no encoding 'klingon'"),
        ("release", {"order": "random"}, "release.order"),
        ("format", 2, "format"),
    ],
)
def test_policies_with_invalid_sections_are_refused(desk, section, values, says):
    desk.policy(**{section: values})
    desk.refused(2, says=says)


def test_suppressing_everything_is_no_release(desk):
    desk.policy(
        {**desk_attributes(age={"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "max-level": 0})},
        method={"suppression": 1.0},
    )
    desk.refused(3, says="12 of 12 rows fail k-anonymity")


def desk_attributes(**changed):
    roles = {"name": {"role": "identifier"}, "age": AGE, "sex": PLAIN, "disease": {"role": "sensitive"}}
    return roles | changed


def test_null_is_a_class_of_its_own_and_the_text_nan_is_not_null(desk):  # bad input 5
    desk.table("age,disease\n,flu\n,hiv\n,flu\nnan,flu\nnan,hiv\nnan,cold\nNone,flu\nNone,hiv\nNone,cold\n")
    desk.policy({"age": PLAIN, "disease": {"role": "sensitive"}})
    document = json.loads(desk.anonymize("--json").out)
    assert (document["rows"]["released"], document["classes"]["count"]) == (9, 3)
    assert document["recoding"]["levels"] == {"age": 0}
    assert (desk.out / "data.csv").read_text().count("\n,") == 3


def test_a_single_null_is_not_dropped_but_counted(desk):  # bad input 5
    data = desk.table("age,disease\n1,flu\n1,hiv\n,flu\n")
    measured = json.loads(desk.run("measure", data, "--qi", "age", "--json").out)
    assert (measured["rows"], measured["classes"]) == (3, 2)
    assert measured["models"][0]["attained"] == {"k": 1}


def test_a_null_protects_nobody(desk):  # bad input 6
    desk.table("age,disease\n1,HIV\n1,HIV\n1,\n")
    measured = json.loads(desk.run("measure", desk.data, "--qi", "age", "--sensitive", "disease", "--json").out)
    attained = {m["model"]: m["attained"] for m in measured["models"]}
    assert attained["distinct-l-diversity"] == {"l": 1}
    assert attained["alpha-k"]["alpha"] == 1
    desk.policy({"age": AGE, "disease": {"role": "sensitive"}}, require=[{"model": "distinct-l-diversity", "l": 2}])
    desk.refused(3, says="impossible")


def test_values_that_look_alike_are_kept_apart_and_told(desk):  # bad input 7
    desk.table("code,disease\n" + "5,flu\n5.0,flu\n 5,flu\n" * 3)
    desk.policy({"code": PLAIN, "disease": {"role": "sensitive"}})
    ran = desk.anonymize()
    assert ran.code == 0
    assert "normalise = true" in ran.err
    assert len(set((desk.out / "data.csv").read_text().split("\n")[1:-1])) == 3


def test_a_mark_before_the_header_is_no_part_of_it(desk):  # bad input 9
    desk.table(b"\xef\xbb\xbf" + desk.data.read_bytes())
    assert desk.anonymize().code == 0


@pytest.mark.parametrize(("encoding", "given"), [("utf-16", None), ("latin-1", "latin-1"), ("cp1252", "cp1252")])
def test_other_encodings(desk, encoding, given):  # bad input 10
    desk.table(desk.data.read_text().replace("flu", "fièvre").encode(encoding))
    desk.policy(data={} if given is None else {"encoding": given})
    assert desk.anonymize().code == 0
    assert "fièvre" in (desk.out / "data.csv").read_text("utf-8")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])  # bad input 12
def test_the_delimiter_is_found_and_kept(desk, delimiter):
    desk.table(desk.data.read_text().replace(",", delimiter))
    assert desk.anonymize().code == 0
    assert (desk.out / "data.csv").read_text().startswith(f"age{delimiter}sex{delimiter}disease\n")
    assert desk.verify("--original", desk.data).code == 0


def test_decimal_commas(desk):  # bad input 12
    desk.table("weight;disease\n61,5;flu\n62,5;hiv\n63,5;flu\n71,5;flu\n72,5;hiv\n73,5;flu\n")
    desk.policy({"weight": AGE, "disease": {"role": "sensitive"}})
    assert desk.anonymize().code == 0
    assert (desk.out / "data.csv").read_text().split("\n")[1] == "[60, 70);flu"


def test_a_line_break_in_a_cell_is_kept(desk):  # bad input 15
    desk.table(desk.data.read_text().replace("hiv", '"hiv,\r\n ""two"""'))
    assert desk.anonymize().code == 0
    assert (desk.out / "data.csv").read_bytes().count(b'"hiv,\r\n ""two"""') == 3
    assert desk.verify("--original", desk.data).code == 0


def test_a_million_values_are_an_identifier(desk):  # bad input 16
    desk.table("id,disease\n" + "".join(f"{i:07d},flu\n" for i in range(1_000_000)))
    desk.policy({"id": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}}, "disease": {"role": "sensitive"}})
    desk.refused(2, says="looks like an identifier")


def test_init_proposes_to_drop_what_is_unique(desk):  # bad input 16
    desk.table("code,disease\n" + "".join(f"x{i * i},flu\n" for i in range(100)))
    policy = desk.folder / "new.toml"
    assert desk.run("init", desk.data, "--out", policy).code == 0
    assert 'role = "identifier"  # likely: nearly every row has a value of its own' in policy.read_text("utf-8")


def test_one_column_has_one_role(desk):  # bad input 17
    desk.refused(2, "measure", desk.data, "--qi", "age,sex", "--sensitive", "sex", says="'sex' cannot be")
    policy = desk.policy()
    policy.write_text(policy.read_text() + '\n[attributes.age]\nrole = "sensitive"\n')
    desk.refused(2, says="policy.toml: not TOML")


@pytest.mark.parametrize(("name", "near"), [("Age", "age"), ("agee", "age"), ("Disease", "disease")])
def test_a_misspelt_column_name_suggests_the_nearest(desk, name, near):  # bad input 18
    attributes = desk_attributes()
    attributes[name] = attributes.pop(near)
    desk.policy(attributes)
    desk.refused(2, says=f"did you mean '{near}'?")
    desk.refused(2, "measure", desk.data, "--qi", name, says=f"did you mean '{near}'?")


def test_a_column_without_a_role(desk):
    attributes = desk_attributes()
    del attributes["sex"]
    desk.policy(attributes)
    desk.refused(2, says="column(s) 'sex' have no role")


def test_a_column_that_may_identify_people_must_be_confirmed(desk):
    desk.policy(desk_attributes(name={"role": "insensitive"}))
    desk.refused(2, says="confirm = true")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("f;x;*\n", "row(s) 2"),  # lacks a value
        ("f;x;*\nm;x;*\nf;y;*\n", "line 3 of sex.csv gives a value other parents than line 1"),
        ("f;x;*\nm;*\n", "line 2 of sex.csv has 1 level(s)"),
        ("f;x;a\nm;x;b\n", "line 2 of sex.csv splits at level 2"),
        ("f;m;*\nm;f;*\n", "a label that means another set"),  # a cycle
        ("f;;*\nm;x;*\n", "line 1 of sex.csv has an empty label"),
        ('f;"x;*\nm;x;*\n', "line 1 of sex.csv has a quote"),
        ("", "is empty"),
        (None, "cannot be read"),
    ],
)
def test_an_invalid_hierarchy_file_is_refused(desk, lines, says):  # bad input 19
    if lines is not None:
        (desk.folder / "sex.csv").write_text(lines)
    desk.policy(desk_attributes(sex={"role": "quasi-identifier", "hierarchy": {"csv": "sex.csv"}}))
    desk.refused(2, says=says)


def test_more_values_in_a_hierarchy_than_in_the_table_are_welcome(desk):  # bad input 19
    desk.policy(desk_attributes(sex=levels("f;*", "m;*", "x;*")))
    assert desk.anonymize().code == 0


def test_a_hierarchy_without_one_top_is_told(desk):  # bad input 20
    desk.policy(desk_attributes(sex=levels("f;F", "m;M")))
    ran = desk.anonymize()
    assert ran.code == 0
    assert "cannot reach full suppression" in ran.err


@pytest.mark.parametrize("odd", ["inf", "-0", "1e308", "1_000", "0x1F", "١٢", "NaN", "1/2"])  # bad input 21
def test_odd_numbers_are_text_and_fit_no_interval(desk, odd):
    desk.table(desk.data.read_text().replace("31", odd))
    said = desk.refused(2, says="column 'age'")
    assert "row 1" in said or "number" in said
    assert odd not in said
    desk.policy(desk_attributes(age={"role": "sensitive"}))
    assert desk.anonymize().code == 0
    assert sum(line.startswith((f"{odd},", f"'{odd},")) for line in lines_of(desk)) == 1


def test_zeros_before_a_number_are_kept(desk):  # bad input 22
    desk.table("zip,disease\n" + "02138,flu\n02138,hiv\n02138,cold\n02139,flu\n02139,hiv\n02139,flu\n")
    desk.policy({"zip": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}}, "disease": {"role": "sensitive"}})
    assert desk.anonymize().code == 0
    assert (desk.out / "data.csv").read_text().startswith("zip,disease\n02138,cold\n")


@pytest.mark.parametrize("day", ["01/02/03", "0000-00-00", "9999-12-31", "2001-02-30"])  # bad input 23
def test_days_that_may_mean_several_need_a_format(desk, day):
    desk.table("birth,disease\n" + f"2001-02-03,flu\n{day},hiv\n2001-02-04,flu\n")
    birth = {"role": "quasi-identifier", "hierarchy": {"dates": ["month", "year"]}}
    desk.policy({"birth": birth, "disease": {"role": "sensitive"}})
    said = desk.refused(2, says="column 'birth'")
    assert "row 2" in said
    assert day not in said


def test_one_class_and_one_value(desk):  # bad input 25
    desk.table("age,disease\n" + "30,flu\n" * 5)
    measured = json.loads(desk.run("measure", desk.data, "--qi", "age", "--sensitive", "disease", "--json").out)
    attained = {entry["model"]: entry["attained"] for entry in measured["models"]}
    assert (attained["k-anonymity"], attained["distinct-l-diversity"]) == ({"k": 5}, {"l": 1})
    desk.policy({"age": AGE, "disease": {"role": "sensitive"}})
    assert desk.anonymize().code == 0
    desk.policy({"age": AGE, "disease": {"role": "sensitive"}}, require=[{"model": "distinct-l-diversity", "l": 2}])
    desk.refused(3, "anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.folder / "x")


NASTY = ["=cmd|'/C calc'!A0", "<script>alert(1)</script>", "\u202eflu", "\x1b[2Jflu", "@SUM(1)", "'=already"]


@pytest.mark.some(2)
@pytest.mark.parametrize("cell", NASTY)  # bad input 27
def test_cells_that_attack_a_reader(desk, cell):
    desk.table(desk.data.read_text().replace("flu", '"' + cell + '"'))
    ran = desk.anonymize()
    assert ran.code == 0
    assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)
    written = (desk.out / "data.csv").read_text("utf-8")
    assert f",{cell}\n" in written or f",'{cell}\n" in written
    assert (f",'{cell}\n" in written) == (cell.lstrip("'")[0] in "=@")
    for folder in (desk.out, desk.private):
        assert "<script>" not in (folder / "report.html").read_text("utf-8")
    assert desk.verify("--original", desk.data).code == 0
    desk.policy(release={"spreadsheet-safe": False})
    assert desk.anonymize("--force").code == 0
    assert f",{cell}\n" in (desk.out / "data.csv").read_text("utf-8")
    assert desk.verify("--original", desk.data).code == 0


def test_cells_that_differ_in_a_leading_quote_stay_different(desk):  # bad input 27
    desk.table("age,disease\n" + "1,=x\n1,'=x\n1,''=x\n" * 3)
    alpha = {"=x": 0.4, "'=x": 0.4}
    desk.policy({"age": PLAIN, "disease": {"role": "sensitive"}}, [{"model": "distinct-l-diversity", "l": 3},
                {"model": "alpha-k", "alpha": alpha}])  # fmt: skip
    document = json.loads(desk.anonymize("--json").out)
    assert document["data"]["spreadsheet_safe"]
    assert document["models"][0]["attained"] == {"l": 3}
    assert set(document["models"][1]["attained"]["values"]) == {"=x", "'=x", "''=x"}
    assert sorted(set(lines_of(desk)[1:-1])) == [f"1,{chr(39) * n}=x" for n in (3, 2, 1)]
    assert desk.verify("--original", desk.data).code == 0
    desk.table("age,disease\n" + "1,=x\n" * 2 + "1,y\n")
    desk.policy({"age": PLAIN, "disease": {"role": "sensitive"}}, [{"model": "alpha-k", "alpha": alpha}])
    desk.refused(3, "anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.folder / "another")


def test_a_very_long_cell(desk):  # bad input 27
    desk.table(desk.data.read_text().replace("cold", "x" * 10_000_000))
    assert desk.anonymize().code == 0
    assert len((desk.out / "data.csv").read_bytes()) > 30_000_000


@pytest.mark.parametrize(("level", "marker"), [(1, "NA"), (2, "*")])
def test_a_label_that_reads_as_missing_is_refused(desk, level, marker):
    desk.table(desk.data.read_text().replace(",f,", ",?,"))
    sex = levels("f;NA;*", "m;NA;*") | {"min-level": level, "max-level": level}
    desk.policy(desk_attributes(sex=sex), data={"missing": [marker, "?"]})
    desk.refused(2, says="column 'sex': a label is written like a missing value")
    desk.policy(desk_attributes(sex=sex), data={"missing": ["n/a, sorry", "?"]})
    desk.refused(2, says="a CSV cannot show it")
    desk.policy(desk_attributes(sex=sex), data={"missing": ["n/a", "?"]})
    assert desk.anonymize().code == 0
    assert desk.verify("--original", desk.data).code == 0


# bad input 28: where a release must not go


def test_output_over_the_input_is_refused(desk):
    desk.refused(2, out=desk.data, says="its own input")
    desk.refused(2, out=desk.folder, says="its own input")
    desk.refused(2, "init", desk.data, "--out", desk.data, "--force", says="over the table")


def test_output_over_a_link_to_the_input_is_refused(desk):
    link = desk.folder / "link.csv"
    link.symlink_to(desk.data)
    hard = desk.folder / "hard.csv"
    os.link(desk.data, hard)
    desk.refused(2, out=link, says="symbolic link")
    desk.refused(2, out=hard, says="this is a file")
    desk.refused(2, "init", desk.data, "--out", hard, "--force", says="over the table")
    deep = desk.folder / "deep"
    deep.mkdir()
    inner = deep / "people.csv"
    inner.write_bytes(desk.data.read_bytes())
    desk.refused(2, "anonymize", inner, "--policy", desk.folder / "policy.toml", "--out", deep, "--force")


def test_output_into_a_folder_with_other_files_is_refused(desk):
    desk.out.mkdir()
    (desk.out / "thesis.txt").write_text("years of work")
    desk.refused(2, says="not empty and not a release")
    (desk.out / "manifest.json").write_text('{"name": "a web page"}')
    policy = desk.folder / "policy.toml"
    desk.refused(2, "anonymize", desk.data, "--policy", policy, "--out", desk.out, "--force", says="not a release")
    (desk.out / "thesis.txt").unlink()
    desk.refused(2, "anonymize", desk.data, "--policy", policy, "--out", desk.out, "--force", says="not a release")


def test_an_older_release_is_replaced_only_with_force(desk):
    assert desk.anonymize().code == 0
    desk.refused(2, says="use --force")
    desk.policy(require=[{"model": "k-anonymity", "k": 6}])
    assert desk.anonymize("--force").code == 0
    assert json.loads((desk.out / "manifest.json").read_text())["models"][0]["asked"] == {"k": 6}
    (desk.out / "notes.txt").write_text("mine")
    policy = desk.folder / "policy.toml"
    desk.refused(2, "anonymize", desk.data, "--policy", policy, "--out", desk.out, "--force", says="not a release")


def test_an_empty_folder_is_welcome(desk):
    desk.out.mkdir()
    assert desk.anonymize().code == 0


def test_output_where_nothing_can_be_written_is_refused(desk, monkeypatch):
    desk.refused(2, out=desk.folder / "nowhere" / "out", says="does not exist")
    desk.refused(2, out=desk.folder / "policy.toml", says="this is a file")
    desk.refused(2, out=desk.data / "out", says="does not exist")
    target = desk.folder / "elsewhere"
    target.mkdir()
    (desk.folder / "link").symlink_to(target)
    desk.refused(2, out=desk.folder / "link", says="symbolic link")
    monkeypatch.setattr(os, "access", lambda _, how: not how & os.W_OK)
    desk.refused(2, says="no permission")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_output_without_permission_is_refused(desk):
    locked = desk.folder / "locked"
    locked.mkdir(mode=0o500)
    desk.refused(2, out=locked / "out", says="no permission")


def test_private_and_public_do_not_lie_inside_each_other(desk):
    policy = desk.folder / "policy.toml"
    where = ["anonymize", desk.data, "--policy", policy, "--out"]
    desk.refused(2, *where, desk.out, "--private", desk.out / "private", says="must not lie inside")
    desk.refused(2, *where, desk.out, "--private", desk.out, says="must not lie inside")
    desk.refused(2, *where, desk.folder / "p" / "out", "--private", desk.folder / "p", says="must not lie inside")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("older", [False, True])
def test_a_full_disk_leaves_everything_as_it_was(desk, monkeypatch, number, older):
    if older:
        assert desk.anonymize().code == 0

    def full(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("shoal.engines.table_writer.write_bytes", full)
    policy = desk.folder / "policy.toml"
    force = ["--force"] if older else []
    desk.refused(2, "anonymize", desk.data, "--policy", policy, "--out", desk.out, *force, says=os.strerror(number))


@pytest.mark.some(2)
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("fails", range(4))
def test_a_failed_move_of_one_folder_undoes_the_other(desk, monkeypatch, older, fails):
    from pathlib import Path

    if older:
        assert desk.anonymize().code == 0
    elif fails > 1:
        return
    rename, moves = Path.rename, iter(range(99))

    def sometimes(self, target):
        if next(moves) == fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", sometimes)
    policy = desk.folder / "policy.toml"
    desk.refused(
        2, "anonymize", desk.data, "--policy", policy, "--out", desk.out, "--force", says="nothing was changed"
    )


def test_odd_names_of_folders(desk):
    for name in ("a[b]*?", "späße", "-", "with space", "x" * 100):
        out = desk.folder / name
        assert desk.anonymize(out=out).code == 0, name
        assert desk.run("verify", "--", out).code == 0, name


def test_a_number_of_thousands_of_digits_in_a_policy(desk):
    """Python reads no whole number of more than 4,300 digits."""
    (desk.folder / "policy.toml").write_text(f"[[require]]\nmodel = 'k-anonymity'\nk = {'9' * 5000}\n", "utf-8")
    desk.refused(2, says="policy.toml: a number has thousands of digits; write a shorter one")


@pytest.mark.parametrize("digits", [4000, 4301, 5000])
def test_a_number_of_thousands_of_digits_in_a_table(desk, digits):
    """It is a text, for attacks as for everything else."""
    desk.table("age,sex,disease\n" + "31,f,flu\n32,m,hiv\n" * 4 + f"{'9' * digits},f,flu\n" * 2)
    desk.policy(
        {"age": {"role": "quasi-identifier"}, "sex": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}},
        method={"algorithm": "mondrian"},
    )
    ran = desk.anonymize()
    assert ran.code == 0, ran.err[-300:]
    assert desk.verify("--original", desk.data).code == 0


@pytest.mark.parametrize("memory", ["9" * 5000, "1e9", "99999999999TB"])
def test_more_memory_than_there_is(desk, memory):
    desk.policy()
    ran = desk.anonymize("--memory", memory)
    assert (ran.code, "memory: " in ran.err) == (2, True)


def test_a_release_at_a_path_that_is_not_utf_8(desk):
    """No database opens it: a sentence, for whoever reads it."""
    desk.policy()
    assert desk.anonymize().code == 0
    odd = desk.folder / os.fsdecode(b"odd\x80")
    shutil.copytree(desk.out, odd)
    ran = desk.run("verify", odd)
    assert (ran.code, "not written in UTF-8" in ran.err) == (2, True)
