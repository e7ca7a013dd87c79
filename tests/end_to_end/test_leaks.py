"""The public folder says nothing that the released table does not show, and no message holds a cell."""

import json
import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import ATTRIBUTES as USUAL
from conftest import PEOPLE

ROWS = 40
ATTRIBUTES = {
    "Name<script>": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "max-level": 1},
    "town": {"role": "quasi-identifier", "hierarchy": {"csv": "CANARY-hierarchy-file.csv"}, "max-level": 1},
    "job": {
        "role": "quasi-identifier",
        "hierarchy": {"tree": {"work": {"CANARY-branch": ["CANARY-leaf"], "office": ["clerk", "lawyer"]}}},
        "max-level": 1,
    },
    "disease": {"role": "sensitive"},
    "visit": {"role": "insensitive", "confirm": True},
    "weight": {"role": "sampling-weight"},
}


def people():
    """Forty people in large classes, and two that stand alone and must be suppressed."""
    plain = [
        {
            "Name<script>": f"CANARY-name-{i}",
            "age": str(30 + i % 3),
            "town": ("Ulm", "Bonn")[i % 2],
            "job": ("clerk", "lawyer")[i % 2],
            "disease": ("flu", "cold")[i % 3 == 0],
            "visit": "2020",
            "weight": f"CANARY-weight-{i}",
            "extra": f"CANARY-extra-{i}",
        }
        for i in range(ROWS)
    ]
    alone = [
        dict(plain[0], age="99", disease="CANARY-disease", visit="CANARY-visit"),
        dict(plain[0], town="CANARY-town", disease="CANARY-other", visit="CANARY-visit-2"),
    ]
    return [*plain[:20], *alone, *plain[20:]]


@pytest.fixture(params=["csv", "parquet"])
def published(desk, request):
    """A release of a table full of canaries: everything private has one in it."""
    table = pa.Table.from_pylist(people())
    data = desk.folder / f"CANARY-input.{request.param}"
    if request.param == "csv":
        desk.table("\n".join(",".join(row) for row in [table.column_names, *map(dict.values, table.to_pylist())]), data)
    else:
        pq.write_table(table, data)
    (desk.folder / "CANARY-hierarchy-file.csv").write_text(
        "Ulm;south;*\nBonn;south;*\nCANARY-unused;CANARY-label;*\nCANARY-town;CANARY-region;*\n"
    )
    require = [{"model": "k-anonymity", "k": 5}, {"model": "alpha-k", "alpha": 0.9, "k": 2}]
    policy = desk.policy(ATTRIBUTES, require, method={"suppression": 0.1}, data={"others": "drop"})
    policy = policy.rename(desk.folder / "CANARY-policy.toml")
    ran = desk.run("anonymize", data, "--policy", policy, "--out", desk.out)
    assert ran.code == 0, ran.err
    assert "CANARY-" not in ran.out + ran.err
    return desk


def public_texts(folder):
    for path in folder.rglob("*"):
        yield path.name
        if path.is_file():
            yield path.read_bytes().decode("utf-8", "replace")
            if path.suffix == ".parquet":
                table = pq.read_table(path)
                yield str(table.to_pylist()) + str(table.schema)


def test_the_public_folder_holds_no_canary(published):
    manifest = json.loads((published.private / "manifest.json").read_text())
    assert manifest["rows"]["suppressed"] == 2
    for text in public_texts(published.out):
        assert "CANARY" not in text
        assert str(published.folder) not in text


def test_labels_of_suppressed_rows_are_not_published(published):
    labels = json.loads((published.out / "manifest.json").read_text())["labels"]
    assert not {"99", "[90, 100)"} & set(labels["age"])


def test_the_public_manifest_knows_only_its_keys(published):
    manifest = json.loads((published.out / "manifest.json").read_text())
    assert set(manifest) == {
        *("shoal", "format", "quasi_identifiers", "sensitive", "persons", "models", "labels", "rows", "classes", "data")
    }
    assert manifest["labels"] == {
        "age": ["[30, 40)"],
        "town": ["Bonn", "Ulm"],
        "job": ["clerk", "lawyer"],
    }
    assert set(manifest["rows"]) == {"released", "suppressed", "added", "shown"}
    assert manifest["data"]["columns"] == ["age", "town", "job", "disease", "visit"]


@pytest.mark.parametrize(
    ("alpha", "public"),
    [
        ({"CANARY-disease": 0.5}, 1.0),
        ({"CANARY-disease": 0.5, "flu": 0.9}, {"flu": 0.9}),
        ({"CANARY-never": 0.5, "cold": 0.8, "flu": 0.9}, {"cold": 0.8, "flu": 0.9}),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_limits_of_values_that_are_not_shown_are_private(desk, alpha, public, kind):
    desk.table("age,disease\n" + "1,flu\n1,cold\n1,flu\n" * 4 + "99,CANARY-disease\n")
    age = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "max-level": 0}
    require = [{"model": "k-anonymity", "k": 3}, {"model": "alpha-k", "alpha": alpha, "k": 2}]
    desk.policy({"age": age, "disease": {"role": "sensitive"}}, require, method={"suppression": 0.1})
    assert desk.anonymize("--format", kind).code == 0
    for text in public_texts(desk.out):
        assert "CANARY" not in text
    manifest = json.loads((desk.out / "manifest.json").read_text())
    assert manifest["models"][1]["asked"] == {"alpha": public, "k": 2}
    secret = json.loads((desk.private / "manifest.json").read_text())
    assert secret["models"][1]["asked"] == {"alpha": alpha, "k": 2}
    for ran in (desk.verify(), desk.verify("--original", desk.data)):
        assert ran.code == 0
        assert "CANARY" not in ran.out + ran.err


def test_the_private_folder_is_for_its_owner(published):
    assert stat.S_IMODE(published.private.stat().st_mode) == 0o700
    modes = {p.is_dir(): stat.S_IMODE(p.stat().st_mode) for p in published.private.rglob("*")}
    assert modes == {False: 0o600, True: 0o700}
    assert sorted(p.name for p in published.private.iterdir()) == [
        *("hierarchies", "manifest.json", "policy.toml", "report.html", "rows.arrow")
    ]


def test_suppressed_rows_are_named_in_the_private_folder_only(published):
    rows = pa.ipc.open_file(published.private / "rows.arrow").read_all().to_pylist()
    gone = [row for row in rows if row["suppressed"]]
    assert [row["input_row"] for row in gone] == [21, 22]
    assert {row["released_row"] for row in gone} == {None}
    assert {row["why"] for row in gone} <= {"k-anonymity", "k-anonymity, alpha-k"}
    assert sorted(row["released_row"] for row in rows if not row["suppressed"]) == list(range(1, ROWS + 1))


@pytest.mark.parametrize(("umask", "folder", "file"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600)])
def test_the_public_folder_is_as_open_as_the_umask_allows(desk, umask, folder, file):
    before = os.umask(umask)
    try:
        assert desk.anonymize().code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(desk.out.stat().st_mode) == folder
    assert {stat.S_IMODE(p.stat().st_mode) for p in desk.out.iterdir()} == {file}
    assert stat.S_IMODE(desk.private.stat().st_mode) == 0o700


# a canary in every cell, and every way to fail

HEADER = "name,age,sex,disease\n"
CELLS = "CANARY-7f3,CANARY-7f3,CANARY-7f3,CANARY-7f3\n"
QUASI = {"role": "quasi-identifier"}


def roles(**changed):
    return {"name": {"role": "identifier"}, "age": QUASI, "sex": QUASI, "disease": {"role": "sensitive"}} | changed


FAILURES = {
    "ragged": (HEADER + CELLS + "CANARY-7f3\n", {}),
    "open quote": (HEADER + CELLS + '"' + CELLS, {}),
    "bytes": ((HEADER + CELLS).encode() + b"CANARY-7f3\xff,1,2,3\n", {}),
    "nul": (HEADER + CELLS + "CANARY-7f3\0,1,2,3\n", {}),
    "no number": (HEADER + CELLS * 9, {"attributes": roles(age=QUASI | {"hierarchy": {"intervals": [5]}})}),
    "no date": (HEADER + CELLS * 9, {"attributes": roles(age=QUASI | {"hierarchy": {"dates": ["year"]}})}),
    "mask": (HEADER + CELLS * 9 + "a,b,c,d\n", {"attributes": roles(age=QUASI | {"hierarchy": {"mask": "middle"}})}),
    "not in tree": (HEADER + CELLS * 9, {"attributes": roles(age=QUASI | {"hierarchy": {"tree": {"a": ["b"]}}})}),
    "not in rows": (HEADER + CELLS * 9, {"attributes": roles(age=QUASI | {"hierarchy": {"rows": [["a", "*"]]}})}),
    "unique": (HEADER + CELLS, {"attributes": roles(name={"role": "insensitive"})}),
    "impossible k": (HEADER + CELLS, {"attributes": roles(age=QUASI | {"hierarchy": {"flat": True}})}),
    "impossible l": (HEADER + CELLS * 9, {"require": [{"model": "distinct-l-diversity", "l": 2}]}),
    "impossible alpha": (HEADER + CELLS * 9, {"require": [{"model": "alpha-k", "alpha": 0.5, "k": 2}]}),
    "infeasible": (
        HEADER + CELLS * 5 + "a,b,c,d\n",
        {"attributes": {n: {**a, **({"hierarchy": {"flat": True}, "max-level": 0} if a == QUASI else {})}
                        for n, a in roles().items()}},
    ),
    "no role": (HEADER + CELLS * 9, {"attributes": {"age": QUASI}}),
    "unit": (HEADER + CELLS * 9, {"attributes": roles(name={"role": "unit"})}),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("json_too", [False, True])
def test_no_failure_says_what_a_cell_holds(desk, failure, json_too):
    content, policy = FAILURES[failure]
    desk.table(content)
    desk.policy(**{"attributes": roles(), **policy})
    more = ["--json"] if json_too else []
    policy = desk.folder / "policy.toml"
    ran = desk.run("anonymize", desk.data, "--policy", policy, "--out", desk.out, *more)
    assert ran.code in {2, 3}
    desk.refused(ran.code, "anonymize", desk.data, "--policy", policy, "--out", desk.out, *more)


@pytest.mark.parametrize(
    "step",
    [
        "pipeline.solve",
        "pipeline.recode",
        "publish.verification.opened",
        "publish.verification.judge",
        "publish.verification.covers",
        "pipeline.summarise",
        "pipeline.write_private",
    ],
)
def test_an_internal_error_says_nothing_of_cells(desk, monkeypatch, step):
    def broken(*_, **__):
        raise RuntimeError("CANARY-7f3")

    monkeypatch.setattr(f"shoal.{step}", broken)
    ran = desk.anonymize()
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("shoal: internal error (RuntimeError at test_leaks.py:")
    assert "CANARY" not in ran.err
    assert sorted(path.name for path in desk.folder.iterdir()) == ["people.csv", "policy.toml"]


def test_a_release_that_does_not_verify_is_never_written(desk, monkeypatch):
    from shoal.engines import table_writer as writing

    wrong = writing._quoted
    monkeypatch.setattr(writing, "_quoted", lambda text, style: wrong(text.replace("flu", "CANARY-7f3"), style))
    desk.refused(4, says="truthful fails 6 released row(s)")


def test_names_of_columns_are_escaped_everywhere(desk):
    nasty = "<script>alert(1)</script>"
    steering = "\x1b[31mage\u202e"
    desk.table(f'"{steering}","{nasty}"\n' + "1,a\n1,b\n1,c\n")
    desk.policy({steering: {"role": "quasi-identifier", "hierarchy": {"flat": True}}, nasty: {"role": "sensitive"}},
                [{"model": "k-anonymity", "k": 3}, {"model": "distinct-l-diversity", "l": 2}])  # fmt: skip
    for ran in (desk.anonymize(), desk.verify(), desk.run("measure", desk.data, "--qi", steering)):
        assert ran.code == 0
        assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)
    for page in (desk.out / "report.html", desk.private / "report.html"):
        text = page.read_text("utf-8")
        assert "<script>" not in text
        assert "&lt;script&gt;" in text
    desk.policy({"nix": {"role": "quasi-identifier"}})
    desk.refused(2, out=desk.folder / "another", says="nix")
    desk.refused(2, "measure", desk.data, "--qi", "\x1b[31m", says="\\x1b[31m")


def test_labels_are_escaped_in_the_reports(desk):
    sex = {"role": "quasi-identifier", "min-level": 1, "hierarchy": {"tree": {"<script>": ["f", "m"], "x": ["y"]}}}
    desk.policy(
        {"name": {"role": "identifier"}, "age": {"role": "identifier"}, "sex": sex, "disease": {"role": "sensitive"}}
    )
    assert desk.anonymize().code == 0
    assert "<script>," in (desk.out / "data.csv").read_text()
    for folder in (desk.out, desk.private):
        assert "<script>" not in (folder / "report.html").read_text()
    assert "&lt;script&gt;" in (desk.out / "report.html").read_text()


def test_no_temporary_file_is_left_behind(desk, monkeypatch, tmp_path_factory):
    """Nothing is left in the folder for temporary files, nor in the one the command was started in."""
    place = tmp_path_factory.mktemp("temporary")
    here = tmp_path_factory.mktemp("here")
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(here)
    assert desk.anonymize().code == 0
    assert desk.verify("--original", desk.data).code == 0
    assert [*place.iterdir(), *here.iterdir()] == []


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
@pytest.mark.parametrize(("engine", "more"), [("arrow", []), ("duckdb", ["--memory", "80MB"])])
def test_temporary_folders_are_for_their_owner(desk, monkeypatch, tmp_path_factory, algorithm, engine, more):
    """What is spilled lies in folders (0700) of our own, whatever the umask and whoever writes the files in them."""
    from shoal.runtime import tempdir

    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    removed, modes, remove = [], {}, tempdir._remove

    def watched(path, handle):
        removed.append([each.relative_to(path).parts[0] for each in path.rglob("*")])
        modes.update((each, stat.S_IMODE(each.stat().st_mode)) for each in (path, *place.iterdir()))
        remove(path, handle)

    monkeypatch.setattr(tempdir, "_remove", watched)
    header, people = PEOPLE.split("\n", 1)
    desk.table(f"{header}\n{people * 40}".encode("latin-1") + "é,31,f,flu\n".encode("latin-1"))
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}} if algorithm == "optimal" else QUASI
    desk.policy(USUAL | {"age": age}, method={"algorithm": algorithm}, data={"encoding": "latin-1"})
    before = os.umask(0)
    try:
        ran = desk.anonymize("--engine", engine, *more)
        assert (ran.code, desk.verify("--original", desk.data, *more).code) == (0, 0), ran
    finally:
        os.umask(before)
    others = {path.name: mode for path, mode in modes.items() if mode != 0o700}
    assert all(name.startswith(".out.shoal-") for name in others), others  # the public folder itself, once it is whole
    assert len(removed) >= 2
    assert any(removed) == (engine == "duckdb")  # what is in memory is not spilled
    assert list(place.iterdir()) == []


def test_a_category_does_not_name_values_that_nobody_has(desk):
    """What the policy calls a category may name diseases that the release does not show."""
    desk.policy(
        require=[{"model": "p-plus-sensitive", "p": 2, "categories": [["hiv", "ebola"], ["flu", "cold"], ["plague"]]}]
    )
    assert desk.anonymize().code == 0
    public = (desk.out / "manifest.json").read_text()
    assert "ebola" not in public
    assert "plague" not in public
    assert json.loads(public)["models"][0]["asked"]["categories"][0] == ["hiv", "(others of category 1)"]
    assert desk.verify().code == 0
    assert desk.verify("--original", desk.data).code == 0
