"""The commands, end to end: what they print, write, refuse to write, and detect."""

import csv
import hashlib
import json
import os
import random
import signal
import tomllib
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from naive import THOROUGH

from shoal.cli.console import show_manifest
from shoal.datasets import write_census
from shoal.models import MODELS

SCHEMAS = Path(__file__).parents[2] / "src" / "shoal" / "schemas"
PLAIN = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "max-level": 0}
DISEASE = {"role": "sensitive"}


def strict(text):
    """One JSON document, and nothing that is JSON only to Python."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def validate(document, schema):
    jsonschema.validate(document, json.loads((SCHEMAS / f"{schema}.schema.json").read_text()))


def files(*folders):
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}


# the whole way


def test_init_anonymize_verify(desk):
    write_census(desk.folder, rows=2000 if THOROUGH else 400)
    data = desk.folder / "census.csv"
    policy = desk.folder / "drafted.toml"
    drafted = desk.run("init", data, "--out", policy, "--k", "4")
    assert drafted.code == 0
    assert "shoal anonymize" in drafted.err
    ran = desk.run("anonymize", data, "--policy", policy, "--out", desk.out, "--accept-guesses", "--json")
    assert (ran.code, ran.err.count("Traceback")) == (0, 0)
    assert strict(ran.out)["models"][0]["attained"]["k"] >= 4
    assert desk.verify().code == 0
    assert desk.verify("--original", data).code == 0


def test_the_census_policy(desk):
    write_census(desk.folder, rows=2000)
    data = desk.folder / "census.csv"
    ran = desk.anonymize("--json", data=data)
    assert (ran.code, ran.err) == (0, "")
    document = strict(ran.out)
    validate(document, "manifest")
    assert document == strict((desk.private / "manifest.json").read_text())
    public = strict((desk.out / "manifest.json").read_text())
    validate(public, "public-manifest")
    verdicts = strict(desk.verify("--original", data, "--json").out)
    assert verdicts["verified"]
    assert {v["status"] for v in verdicts["verdicts"]} == {"holds"}
    with (desk.out / "data.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) - 1 == public["rows"]["released"] == document["rows"]["read"] - document["rows"]["suppressed"]
    assert rows[1:] == sorted(rows[1:])


def test_output_without_json_is_tables(desk):
    ran = desk.anonymize()
    assert ran.code == 0
    for word in ("k-anonymity", "k = 3", "holds", "12 read", "publish this", "never publish this"):
        assert word in ran.out
    measured = desk.run("measure", desk.data, "--qi", "sex", "--sensitive", "disease")
    assert "12 rows in 2 classes" in measured.out
    assert "flu" not in measured.out
    shown = desk.run("measure", desk.data, "--qi", "sex", "--sensitive", "disease", "--show-values")
    assert "disease = flu" in shown.out


def test_measure_as_json(desk):
    ran = desk.run("measure", desk.data, "--qi", "sex", "--sensitive", "disease", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = strict(ran.out)
    assert (document["rows"], document["classes"]) == (12, 2)
    found = {entry["model"]: entry for entry in document["models"]}
    measured = {name for name, model in MODELS.items() if [*model.probes(None), *model.probes("disease")]}
    assert found.keys() == measured >= {"k-anonymity", "entropy-l-diversity", "t-closeness", "alp-dif"}
    assert found["alpha-k"]["attained"]["values"] == pytest.approx({"cold": 2 / 6, "flu": 3 / 6, "hiv": 2 / 6})
    assert found["k-anonymity"]["worst"]["size"] == 6
    assert document["alphas"]["disease"]["max"] == pytest.approx(3 / 6)
    assert document["homogeneity"]["disease"]["classes"] == 0


def test_measure_tells_of_suppressed_rows(desk):
    data = desk.table("age,sex\n*,*\n1,f\n1,f\n")
    counted = desk.run("measure", data, "--qi", "age,sex", "--json")
    assert strict(counted.out)["suppressed"] == {"rows": 1, "ignored": False}
    ignored = desk.run("measure", data, "--qi", "age,sex", "--ignore-suppressed")
    assert "2 rows in 1 classes" in ignored.out
    assert "1 row(s) are * in every quasi-identifier and were left out" in ignored.err


def test_init_as_json(desk):
    ran = desk.run("init", desk.data, "--out", desk.folder / "new.toml", "--json")
    assert ran.code == 0
    told = strict(ran.out)
    assert (told["policy"], told["text"]) == ("new.toml", (desk.folder / "new.toml").read_text())
    assert [(each["name"], each["role"]) for each in told["columns"]] == [
        *(("name", "identifier"), ("age", "quasi-identifier"), ("sex", "quasi-identifier"), ("disease", "sensitive")),
    ]
    assert (told["questions"], [each["algorithm"] for each in told["algorithms"]]) == (
        [],
        ["optimal", "mondrian", "local"],
    )
    desk.refused(2, "init", desk.data, "--out", desk.folder / "new.toml", says="--force")
    assert desk.run("init", desk.data, "--out", desk.folder / "new.toml", "--force").code == 0
    assert not list(desk.folder.glob(".*"))


def test_init_prints_the_draft_for_a_hyphen(desk):
    ran = desk.run("init", desk.data, "--out", "-")
    assert ran.code == 0, ran.err
    assert desk.run("init", desk.data, "--out", desk.folder / "drafted.toml").code == 0
    assert ran.out == (desk.folder / "drafted.toml").read_text("utf-8")
    assert tomllib.loads(ran.out)["format"] == 1
    assert not Path("-").exists()
    both = desk.run("init", desk.data, "--out", "-", "--json")
    assert both.code != 0
    assert "leave out --out - or --json" in both.err


def test_a_printed_draft_cannot_control_the_terminal(desk):
    desk.table("a\u009b2Jge,sex\n" + "31,f\n32,m\n" * 20)
    ran = desk.run("init", desk.data, "--out", "-")
    assert "\u009b" not in ran.out
    assert "a\u009b2Jge" in tomllib.loads(ran.out)["attributes"]


WRITES_ONE_FILE = {
    "policy.toml": ("init", "DATA", "--out"),
    "nodes.csv": ("lattice", "DATA", "--policy", "POLICY", "--csv"),
    "nodes.svg": ("lattice", "DATA", "--policy", "POLICY", "--picture"),
    "sweep.csv": ("sweep", "DATA", "--policy", "POLICY", "--k", "2..3", "--csv"),
    "graph.graphml": ("measure", "DATA", "--qi", "age,sex", "--sensitive", "disease", "--graph"),
    "people.csv": ("attack", "join", "OUT", "--register", "DATA", "--people"),
    "queries.toml": ("workload", "DATA", "OUT", "--random", "5", "--save"),
}


@pytest.mark.parametrize("name", WRITES_ONE_FILE)
def test_one_file_is_written_through_a_link_and_never_over_a_pipe(desk, name):
    desk.anonymize()
    known = {"DATA": desk.data, "POLICY": desk.folder / "policy.toml", "OUT": desk.out}
    command = [known.get(word, word) for word in WRITES_ONE_FILE[name]]
    (desk.folder / "elsewhere").mkdir()
    file, link, pipe = desk.folder / "elsewhere" / name, desk.folder / f"link_{name}", desk.folder / f"pipe_{name}"
    file.write_text("old")
    link.symlink_to(file)
    os.mkfifo(pipe)
    ran = desk.run(*command, link, "--force")
    assert ran.code == 0, ran.err
    assert link.is_symlink()
    assert file.read_bytes() != b"old"
    refused = desk.run(*command, pipe, "--force")
    assert refused.code != 0
    assert refused.err == f"shoal: {pipe.name}: this is a device or a pipe, not a regular file; name a file\n"
    assert pipe.is_fifo()


def test_without_a_policy_the_way_to_one_is_told(desk):
    says = "Missing option '--policy'. Run `shoal init DATA` first: it drafts policy.toml."
    for command in (("anonymize", desk.data, "--dry-run"), ("lattice", desk.data), ("compare", desk.data)):
        desk.refused(2, *command, says=says)
    assert "shoal init" not in desk.run("measure", desk.data).err


def test_a_suggested_column_is_near(desk):
    desk.table("Vorname,age,zip_code\nann,31,1\nbob,32,2\n")
    desk.policy({"row names": {"role": "identifier"}, "age": {"role": "quasi-identifier"}})
    desk.refused(2, says="attributes.row names: the table has no column 'row names'\n")
    for name, meant in (("Age", "age"), ("aeg", "age"), ("ZIP", "zip_code")):
        desk.policy({name: {"role": "quasi-identifier"}})
        desk.refused(2, says=f"no column {name!r} (did you mean {meant!r}?)")


def test_a_few_of_many_suppressed_rows_are_not_0_percent(desk, capfd):
    document = json.loads(desk.anonymize("--json").out)
    for suppressed, shown in ((0, "(0.00 %)"), (1, "(<0.01 %)"), (100, "(0.01 %)")):
        document["rows"] |= {"read": 1_000_000, "suppressed": suppressed}
        show_manifest(document, None, None)
        assert shown in capfd.readouterr().out


def test_queries_cannot_be_saved_in_a_folder_that_is_not_there(desk):
    desk.anonymize()
    ran = desk.run("workload", desk.data, desk.out, "--random", "5", "--save", desk.folder / "no" / "queries.toml")
    assert "queries.toml: the file could not be written" in ran.err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["anonymize", "--help"], ["--version"]])
def test_help_and_version(shoal, arguments):
    ran = shoal(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "shoal" in ran.out


def test_a_dry_run_writes_nothing(desk):
    before = files(desk.folder)
    ran = desk.run("anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--dry-run", "--json")
    assert (ran.code, ran.err) == (0, "")
    validate(strict(ran.out), "manifest")
    assert desk.anonymize("--dry-run").code == 0
    assert files(desk.folder) == before


def test_a_dry_run_refuses_what_the_run_would_refuse(desk, monkeypatch):
    run = ["anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--dry-run"]
    document = strict(desk.run(*run, "--reproducible", "--json").out)
    assert "seconds" not in document["method"]
    assert "seconds" in strict(desk.run(*run, "--json").out)["method"]
    assert desk.anonymize().code == 0
    monkeypatch.setattr("shoal.api.releases.make_release", lambda *_, **__: pytest.fail("too late"))
    desk.refused(2, *run, "--format", "xml", says="'xml'")
    desk.refused(2, *run, "--out", desk.out, says="--force")
    desk.refused(2, *run, "--out", desk.data, says="its own input")
    desk.refused(2, *run, "--out", desk.folder / "x", "--private", desk.folder / "x" / "y", says="must not lie inside")
    desk.refused(2, *run, "--private", desk.folder / "x", says="--out")


def test_a_dry_run_refuses_a_marker_that_a_csv_cannot_hold(desk):
    desk.policy(data={"missing": ["flu,", "?"]})
    run = ["anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--dry-run"]
    desk.refused(2, *run, says="a CSV cannot show it")
    assert desk.run(*run, "--format", "parquet").code == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--qi", '"a,b",c, " d "'],
        ["--qi", '"a,b"', "--qi", "c", "--qi", '" d "'],
        ["--qi", 'c,"a,b",c', "--qi", '" d ","a,b"'],
    ],
)
def test_names_with_commas_and_spaces(desk, options):
    data = desk.table('"a,b",c, d ,"s,t"\n1,2,3,x\n1,2,3,y\n1,2,4,x\n')
    ran = desk.run("measure", data, *options, "--sensitive", '"s,t"', "--json")
    assert (ran.code, ran.err) == (0, "")
    document = strict(ran.out)
    assert (document["rows"], document["classes"], document["models"][-1]["attribute"]) == (3, 2, "s,t")


@pytest.mark.parametrize("wrong", ['"a', '"a"b', 'c,"a', ' "a" b,c'])
def test_a_quote_that_is_not_closed(desk, wrong):
    desk.refused(2, "measure", desk.data, "--qi", wrong, says="a quote is not closed")
    desk.refused(2, "measure", desk.data, "--qi", "", says="name the quasi-identifiers, e.g. --qi age,sex")


def test_limits_per_value_are_shown_as_asked(desk, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    desk.policy(require=[{"model": "alpha-k", "alpha": {"hiv": 0.6, "cold": 0.75}, "k": 3}])
    for ran in (desk.anonymize(), desk.verify()):
        assert "alpha = hiv 0.6 | cold 0.75, k = 3" in " ".join(ran.out.split())
        assert "flu" not in ran.out
    assert "alpha = hiv 0.6 | cold 0.75, k = 3" in (desk.out / "report.html").read_text()


# same bytes


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_equal_runs_give_equal_bytes(desk, kind):
    write_census(desk.folder, rows=500)
    data = desk.folder / "census.csv"

    def run():
        assert desk.anonymize("--reproducible", "--force", "--format", kind, data=data).code == 0
        return files(desk.out, desk.private)

    first = run()
    assert {"out/manifest.json", "out/report.html", f"out/data.{kind}", "out.private/rows.arrow"} <= set(first)
    assert b"seconds" not in first["out.private/manifest.json"]
    assert run() == first


def test_the_order_of_the_input_leaves_no_trace(desk):
    assert desk.anonymize().code == 0
    first = files(desk.out)
    header, *rows = desk.data.read_text().splitlines()
    random.Random(1).shuffle(rows)
    desk.table("\n".join([header, *rows]) + "\n")
    assert desk.anonymize("--force").code == 0
    assert files(desk.out) == first


# what verify detects


def rewritten(desk, change):
    """Change the lines of the released table."""
    file = desk.out / "data.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join(change(lines)) + "\n")
    return file


def forged(desk, **changes):
    """Change the manifest, and make its hash agree with the table."""
    path = desk.out / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["data"]["sha256"] = hashlib.sha256((desk.out / "data.csv").read_bytes()).hexdigest()
    for dotted, value in changes.items():
        part = manifest
        *above, last = dotted.split("__")
        for key in above:
            part = part[int(key) if key.isdigit() else key]
        part[last] = value
    path.write_text(json.dumps(manifest))


TAMPERED = {
    "a changed cell": lambda lines: [*lines[:-1], lines[-1].replace("hiv", "flu")],
    "a changed label": lambda lines: [lines[0], lines[1].replace("[30", "[31"), *lines[2:]],
    "a removed row": lambda lines: lines[:-1],
    "an added row": lambda lines: [*lines, lines[-1]],
    "a duplicated member": lambda lines: [*lines[:-2], lines[-1], lines[-1]],
    "no rows": lambda lines: lines[:1],
    "another header": lambda lines: [lines[0].replace("age,sex", "sex,age"), *lines[1:]],
    "a ragged row": lambda lines: [*lines, "x"],
    "an open quote": lambda lines: [*lines, '"x'],
    "nothing": lambda _: [],
}


@pytest.mark.some(3)
@pytest.mark.parametrize("what", TAMPERED)
def test_verify_detects_a_tampered_table(desk, what):
    assert desk.anonymize().code == 0
    before = (desk.out / "data.csv").read_bytes()
    assert rewritten(desk, TAMPERED[what]).read_bytes() != before
    assert desk.verify().code == 4
    assert desk.verify("--original", desk.data).code == 4
    ran = desk.verify("--json")
    assert ran.code == 4
    assert not ran.out or not strict(ran.out)["verified"]


@pytest.mark.some(3)
@pytest.mark.parametrize("what", TAMPERED)
def test_verify_detects_a_tampered_table_with_a_forged_hash(desk, what):
    assert desk.anonymize().code == 0
    rewritten(desk, TAMPERED[what])
    forged(desk)
    assert desk.verify("--original", desk.data).code == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"models__0__asked": {"k": 7}},
        {"models__0__attained": {"k": 7}},
        {"classes__min": 4},
        {"rows__released": 11},
        {"data__columns": ["sex", "age", "disease"]},
        {"data__sha256": "0" * 64},
        {"data__delimiter": ";"},
    ],
)
def test_verify_detects_a_manifest_that_promises_more(desk, changes):
    assert desk.anonymize().code == 0
    forged(desk, **changes)
    assert desk.verify().code == 4


ALPHA = [{"model": "k-anonymity", "k": 3}, {"model": "alpha-k", "alpha": {"hiv": 0.9, "cold": 0.9}, "k": 2}]


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"quasi_identifiers": ["age"]}, "quasi-identifiers"),
        ({"sensitive": []}, "sensitive attributes"),
        ({"models__0__asked": {"k": 2}}, "models or their parameters"),
        ({"models__1__asked": {"alpha": {"hiv": 0.9}, "k": 2}}, "models or their parameters"),
        ({"models__1__asked": {"alpha": {"hiv": 0.95, "cold": 0.9}, "k": 2}}, "models or their parameters"),
        ({"models__1__asked": {"alpha": {"hiv": 0.9, "cold": 0.9, "gout": 0.9}, "k": 2}}, "models or their parameters"),
        ({"models__1__asked": {"alpha": 1.0, "k": 2}}, "models or their parameters"),
        ({"models__1__asked": {"alpha": 0.9, "k": 2}}, "models or their parameters"),
        ({"models__1__asked": {"alpha": {"hiv": 0.9, "cold": 0.9}, "k": 1}}, "models or their parameters"),
        ({"models__1__model": "distinct-l-diversity", "models__1__asked": {"l": 1}}, "models or their parameters"),
        ({"models": None}, "models or their parameters"),
    ],
)
def test_verify_detects_a_claim_that_differs_from_the_policy(desk, changes, says):
    desk.policy(require=ALPHA)
    assert desk.anonymize().code == 0
    assert desk.verify("--original", desk.data).code == 0
    manifest = json.loads((desk.out / "manifest.json").read_text())
    if "models" in changes:
        changes = {"models": manifest["models"][:1]}
    elif "sensitive" in changes:
        changes = {"sensitive": [], "models": manifest["models"][:1]}
    elif "quasi_identifiers" in changes:
        changes = {**changes, "classes": {"count": 2, "min": 6, "max": 6, "mean": 6.0}}
        changes |= {"models__0__attained": {}, "models__0__worst": None, "models__1__attained": {}}
        changes |= {"models__1__worst": None, "labels": {"age": manifest["labels"]["age"]}}
    if "models__1__asked" in changes:
        changes = {**changes, "models__1__attained": {}}
    forged(desk, **changes)
    if "sensitive" not in changes:
        assert desk.verify().code == 0
    ran = desk.verify("--original", desk.data, "--json")
    assert ran.code == 4
    claim = next(v for v in strict(ran.out)["verdicts"] if v["promise"] == "claim")
    assert claim["status"] == "fails"
    assert says in claim["why"]


def test_verify_detects_invented_rows_of_stars(desk):
    assert desk.anonymize().code == 0
    rewritten(desk, lambda lines: [*lines, *["*,*,flu"] * 3])
    manifest = json.loads((desk.out / "manifest.json").read_text())
    classes = {"count": 5, "min": 3, "max": 3, "mean": 3.0}
    assert manifest["classes"]["count"] == 4
    labels = {name: sorted([*labels, "*"]) for name, labels in manifest["labels"].items()}
    for rows in ({"rows__released": 15}, {"rows__shown": 3, "rows__suppressed": 3}):
        forged(desk, **{"rows__released": 12, "rows__shown": 0, "classes": classes, "labels": labels} | rows)
        assert desk.verify().code == 0
        ran = desk.verify("--original", desk.data, "--json")
        assert ran.code == 4
        failed = {v["promise"] for v in strict(ran.out)["verdicts"] if v["status"] == "fails"}
        assert failed == {"truthful", "claim"}


def test_verify_reads_the_population(desk):
    assert desk.anonymize().code == 0
    desk.refused(2, "verify", desk.out, "--population", desk.folder / "nix.csv", says="no such file")
    ran = desk.verify("--population", desk.data, "--json")
    assert (ran.code, ran.err) == (0, "note: no promise of this release looks at the population\n")
    assert strict(ran.out)["verified"]


def test_verify_detects_a_class_that_is_too_small(desk):
    assert desk.anonymize().code == 0
    rewritten(desk, lambda lines: [lines[0], *lines[2:], lines[1].replace("f", "x").replace("m", "x")])
    forged(desk)
    ran = desk.verify("--json")
    assert ran.code == 4
    assert next(v for v in strict(ran.out)["verdicts"] if v["promise"] == "k-anonymity")["attained"] == {"k": 1}


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda out: (out / "manifest.json").unlink(), "no manifest"),
        (lambda out: (out / "data.csv").unlink(), "the released table is missing"),
        (lambda out: (out / "manifest.json").write_text("{"), "cannot be read"),
        (lambda out: (out / "manifest.json").write_text("[]"), "not a manifest of Shoal"),
        (lambda out: (out / "manifest.json").write_text('{"shoal": "0.1.0"}'), "not the manifest"),
        (lambda out: (out / "manifest.json").write_bytes(b"\xff\xfe"), "cannot be read"),
    ],
)
def test_verify_refuses_a_folder_that_is_no_release(desk, break_it, says):
    assert desk.anonymize().code == 0
    break_it(desk.out)
    desk.refused(2, "verify", desk.out, says=says)


@pytest.mark.parametrize(
    "changes",
    [
        {"models__0__model": "nonsense"},
        {"models__0__asked": {"z": 3}},
        {"quasi_identifiers": []},
        {"quasi_identifiers": ["nix"]},
        {"models": []},
        {"data__file": "../people.csv"},
        {"data__file": "/etc/passwd"},
    ],
)
def test_verify_refuses_an_invalid_manifest(desk, changes):
    assert desk.anonymize().code == 0
    forged(desk, **changes)
    desk.refused(2, "verify", desk.out)


def test_verify_never_passes_silently_what_needs_the_original(desk):
    assert desk.anonymize().code == 0
    document = strict(desk.verify("--json").out)
    assert document["verified"]
    open_ones = {v["promise"] for v in document["verdicts"] if v["status"] == "needs the original"}
    assert open_ones == {"claim", "truthful"}
    assert "needs the original" in desk.verify().out


def test_verify_with_the_original_needs_the_private_folder(desk):
    assert desk.anonymize("--private", desk.folder / "elsewhere").code == 0
    desk.refused(2, "verify", desk.out, "--original", desk.data, says="--private")
    ran = desk.verify("--original", desk.data, "--private", desk.folder / "elsewhere")
    assert ran.code == 0
    desk.refused(2, "verify", desk.out, "--original", desk.data, "--private", desk.out, says="private folder")


def test_verify_knows_another_original(desk):
    assert desk.anonymize().code == 0
    other = desk.table(desk.data.read_text().replace("flu", "gout"), "other.csv")
    assert desk.verify("--original", other).code == 4
    desk.table("a,b\n1,2\n", "none.csv")
    desk.refused(2, "verify", desk.out, "--original", desk.folder / "none.csv", says="not the original")


# interruptions


@pytest.mark.parametrize(
    "where",
    ["shoal.search.oracle.Oracle.ask", "shoal.engines.table_writer.write_bytes", "shoal.publish.verification.judge"],
)
@pytest.mark.parametrize("older", [False, True])
def test_an_interruption_leaves_nothing(desk, monkeypatch, where, older):
    if older:
        assert desk.anonymize().code == 0

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    arguments = ["anonymize", desk.data, "--policy", desk.folder / "policy.toml", "--out", desk.out, "--force"]
    assert desk.refused(130, *arguments) == "shoal: interrupted; nothing was written\n"


def test_an_interruption_from_outside(desk, process):
    import subprocess

    started = process(
        "anonymize", "-", "--policy", desk.folder / "policy.toml", "--out", desk.out, stdin=subprocess.PIPE
    )
    started.stdin.write("x" * (1 << 20))  # returns when the process is reading
    started.stdin.flush()
    started.send_signal(signal.SIGINT)
    out, err = started.communicate()
    assert (started.returncode, out, err) == (130, "", "shoal: interrupted; nothing was written\n")
    assert sorted(path.name for path in desk.folder.iterdir()) == ["people.csv", "policy.toml"]


# ways in and out


def test_standard_input(desk):
    content = desk.data.read_bytes()
    policy = desk.folder / "policy.toml"
    assert desk.run("anonymize", "-", "--policy", policy, "--out", desk.out, stdin=content).code == 0
    assert desk.run("verify", desk.out, "--original", "-", stdin=content).code == 0
    assert strict(desk.run("measure", "-", "--qi", "sex", "--json", stdin=content).out)["rows"] == 12
    assert desk.run("measure", "-", "--qi", "sex").code == 2


def test_missing_markers(desk):
    desk.table(desk.data.read_text().replace(",f,", ",?,").replace("hiv", "NA"))
    desk.policy(data={"missing": ["?", "NA"]})
    assert desk.anonymize().code == 0
    written = (desk.out / "data.csv").read_text()
    assert written.count("?") >= 3
    assert "NA" not in written
    assert desk.verify("--original", desk.data).code == 0
    measured = desk.run("measure", desk.data, "--qi", "sex", "--sensitive", "disease", "--missing", "?,NA", "--json")
    found = {entry["model"]: entry["attained"] for entry in strict(measured.out)["models"]}
    assert found["distinct-l-diversity"] == {"l": 2}


def test_a_table_without_quotes(desk):
    desk.table(desk.data.read_text().replace("flu", 'the "flu'))
    desk.policy(data={"quote": ""})
    assert desk.anonymize().code == 0
    assert '"[30, 40)"' in (desk.out / "data.csv").read_text()
    assert desk.verify("--original", desk.data).code == 0


@pytest.mark.parametrize(("kind", "flag"), [("parquet", None), ("csv", "csv"), ("parquet", "parquet")])
def test_parquet(desk, kind, flag):
    table = pa.table(
        {
            "age": pa.array([31, 32, 33, 51, 52, 53], pa.int8()),
            "disease": ["flu", None, "hiv", "flu", "hiv", "cold"],
            "cost": [1.0, 2.5, 1.0, float("nan"), 1e20, 2.5],
        }
    )
    pq.write_table(table, desk.folder / "people.parquet")
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
    desk.policy({"age": age, "disease": DISEASE, "cost": DISEASE})
    data = desk.folder / "people.parquet"
    assert desk.anonymize(*(["--format", flag] if flag else []), data=data).code == 0
    assert desk.verify("--original", data).code == 0
    if kind == "parquet":
        released = pq.read_table(desk.out / "data.parquet")
        assert released.schema.names == ["age", "disease", "cost"]
        assert [str(field.type) for field in released.schema] == ["string", "string", "double"]
        assert set(released["age"].to_pylist()) == {"[30, 40)", "[50, 60)"}
    else:
        assert (desk.out / "data.csv").read_text().startswith('age,disease,cost\n"[30, 40)",flu,1\n')


def test_another_format_is_refused_before_the_search(desk, monkeypatch):
    monkeypatch.setattr("shoal.api.releases.make_release", lambda *_, **__: pytest.fail("too late"))
    policy = desk.folder / "policy.toml"
    desk.refused(2, "anonymize", desk.data, "--policy", policy, "--out", desk.out, "--format", "xml", says="'xml'")


def test_suppressed_rows_may_be_shown_if_they_comply(desk):
    desk.table("age,disease\n1,a\n1,b\n1,c\n2,a\n3,b\n4,c\n")
    desk.policy({"age": PLAIN, "disease": DISEASE}, method={"suppression": 0.5}, release={"suppressed": "show"})
    document = strict(desk.anonymize("--json").out)
    assert document["rows"] == {"read": 6, "released": 3, "suppressed": 3, "added": 0, "shown": 3}
    assert document["classes"] == {"count": 2, "min": 3, "max": 3, "mean": 3.0}
    assert (desk.out / "data.csv").read_text() == "age,disease\n*,a\n*,b\n*,c\n1,a\n1,b\n1,c\n"
    assert desk.verify("--original", desk.data).code == 0
    assert "have * in place" in (desk.out / "report.html").read_text()


def test_suppressed_rows_are_not_shown_if_they_do_not_comply(desk):
    desk.table("age,disease\n1,a\n1,b\n1,c\n2,a\n3,b\n")
    desk.policy({"age": PLAIN, "disease": DISEASE}, method={"suppression": 0.5}, release={"suppressed": "show"})
    desk.refused(3)
    desk.policy({"age": PLAIN, "disease": DISEASE}, method={"suppression": 0.5})
    assert desk.anonymize().code == 0


def test_keeping_the_order_of_rows_gives_a_warning(desk):
    desk.policy(release={"order": "keep"})
    ran = desk.anonymize()
    assert ran.code == 0
    assert "order = 'keep'" in ran.err
    ages = [line.split('"')[1] for line in (desk.out / "data.csv").read_text().splitlines()[1:]]
    assert ages == sorted(ages)
    diseases = [line.rsplit(",", 1)[1] for line in (desk.out / "data.csv").read_text().splitlines()[1:]]
    assert diseases == [line.rsplit(",", 1)[1] for line in desk.data.read_text().splitlines()[1:]]
    assert desk.verify("--original", desk.data).code == 0
