"""Names and values that are programs elsewhere: in a browser, in a terminal, in a spreadsheet, they stay texts."""

import csv
import json
import unicodedata
import warnings

import pyarrow as pa
import pyarrow.csv as pc
import pytest
from browser import scripts_run_by

import shoal as sh

PROGRAMS = [
    "<script>hacked('tag')</script>",
    '"><img src=x onerror=hacked("attribute")>',
    "' onmouseover='hacked(1)' x='",
    "</style></title></textarea><script>hacked('end')</script>",
    "<svg/onload=hacked('svg')>",
    "javascript:hacked('address')",
    "{{ 7 * 7 }}{% raise %}${7*7}",
    "--><script>hacked('comment')</script>",
    "]]><script>hacked('cdata')</script>",
    "&lt;script&gt;hacked('twice')&lt;/script&gt;",
]
STEERING = [
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "\u202eright to left",
    "a\rb",
    "\x08\x08\x7f",
    "\u2066x\u2069",
    "z\x0b",
]
FORMULAS = ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", "a;=1+1", "'=1", "x,=2"]


def table(texts, rows=8):
    """A table in which every column, but ages, is named by a hostile text and holds some."""
    count = len(texts) * rows
    values = [texts[i % len(texts)] for i in range(count)]
    columns = {
        f"who {texts[0]}": [f"{text} {i}" for i, text in enumerate(values)],
        f"age {texts[1]}": [str(20 + i % 30) for i in range(count)],
        f"job {texts[2]}": values,
        f"ill {texts[3]}": [texts[(i * 7 + i // 3) % len(texts)] for i in range(count)],
        f"note {texts[4]}": [texts[(i * 3) % len(texts)] for i in range(count)],
    }
    return pa.table(columns)


def policy(names, texts, **method):
    """Labels are hostile, too: those of a tree."""
    who, age, job, ill, note = names
    tree = {
        texts[0] + " all": {texts[1] + " some": texts[: len(texts) // 2], texts[2] + " more": texts[len(texts) // 2 :]}
    }
    role = "quasi-identifier"
    return {
        "attributes": {
            who: "identifier",
            age: {"role": role, "hierarchy": {"intervals": [10, 20]}},
            job: {"role": role, "hierarchy": {"tree": tree}},
            ill: "sensitive",
            note: {"role": "insensitive", "confirm": True},
        },
        "require": [{"model": "k-anonymity", "k": 3}, {"model": "alpha-k", "alpha": 0.9, "k": 2, "attribute": ill}],
        "method": {"suppression": 0.1, **method},
    }


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "anatomy", "local"])
def test_report_pages_run_no_script_of_names_and_values(tmp_path, algorithm):
    given = table(PROGRAMS)
    asked = policy(given.column_names, PROGRAMS, algorithm=algorithm)
    if algorithm != "optimal":
        del asked["method"]["suppression"]
    if algorithm == "anatomy":
        asked["require"] = [{"model": "distinct-l-diversity", "l": 2}]
    pc.write_csv(given, tmp_path / "<img src=x onerror=hacked(2)>.csv")
    with warnings.catch_warnings(action="ignore"):
        release = sh.anonymize(tmp_path / "<img src=x onerror=hacked(2)>.csv", asked)
        release.save(tmp_path / "out")
    pages = [tmp_path / "out" / "report.html", tmp_path / "out.private" / "report.html"]
    assert "hacked(" in pages[1].read_text("utf-8"), "no page shows a hostile text: nothing is tested"
    assert scripts_run_by(*pages) == []
    (tmp_path / "frame.html").write_text(f"<!doctype html><title>x</title>{release._repr_html_()}", "utf-8")
    assert scripts_run_by(tmp_path / "frame.html") == []


def test_a_script_that_runs_is_seen(tmp_path):
    (tmp_path / "page.html").write_text("<title>x</title><p onclick=0>p<img src=x onerror=hacked('yes')>", "utf-8")
    seen = scripts_run_by(tmp_path / "page.html")
    assert any("yes" in each for each in seen)
    assert any("onclick" in each for each in seen)


COMMANDS = [
    ("anonymize", "{data}", "--policy", "{policy}", "--out", "{out}2", "--log-json", "{log}"),
    ("anonymize", "{data}", "--policy", "{policy}", "--out", "{out}3", "--json"),
    ("verify", "{out}", "--original", "{data}"),
    ("verify", "{out}", "--original", "{data}", "--json"),
    ("measure", "{data}", "--qi", "{age}", "--sensitive", "{ill}"),
    ("risk", "{data}", "--qi", "{age}"),
    ("risk", "{out}"),
    ("init", "{data}", "--out", "{folder}/draft.toml"),
    ("compare", "{data}", "--policy", "{policy}", "--algorithms", "optimal,mondrian", "--rows", "4"),
    ("lattice", "{data}", "--policy", "{policy}"),
    ("audit", "{out}"),
    ("attack", "homogeneity", "{out}"),
    ("attack", "rules", "{out}"),
    ("attack", "skewness", "{out}"),
]
UNKNOWN = [
    ("verify", "{out}\x1b[2J"),
    ("measure", "{data}", "--qi", "\x1b[2J\u202e"),
    ("measure", "{folder}/\x1b[31m.csv", "--qi", "x"),
]


@pytest.mark.thorough
def test_nothing_steers_the_terminal(desk):
    """Whatever the command: names, values and labels that steer terminals come out as texts."""
    given = table(STEERING)
    desk.data.unlink()
    data = desk.folder / "pe\x1bop\u202ele.csv"
    pc.write_csv(given, data)
    asked = policy(given.column_names, STEERING)
    path = desk.policy(asked["attributes"], asked["require"], method=asked["method"])
    ran = desk.run("anonymize", data, "--policy", path, "--out", desk.out)
    assert ran.code == 0, ran.err
    _, age, _, ill, _ = given.column_names
    log = desk.folder / "log"
    names = {"data": data, "policy": path, "out": desk.out, "age": age, "ill": ill, "folder": desk.folder, "log": log}
    for command in [*COMMANDS, *UNKNOWN]:
        ran = desk.run(*(word.format(**names) for word in command))
        assert (ran.code, "internal error" in ran.err) == (2 if command in UNKNOWN else 0, False), (command, ran)
        for text in (ran.out, ran.err, log.read_text("utf-8")):
            steering = {c for c in text if unicodedata.category(c) in {"Cc", "Cf"} and c not in "\n\t"}
            assert not steering, f"{steering!a} in what {command[:2]} says"
        if "--json" in command:
            assert json.loads(ran.out)


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_no_cell_and_no_header_of_a_csv_is_a_formula(tmp_path, engine):
    """As a spreadsheet reads it, whichever of the usual delimiters it takes: nothing begins as formulas do."""
    given = table(FORMULAS)
    pc.write_csv(given, tmp_path / "people.csv")
    with warnings.catch_warnings(action="ignore"):
        release = sh.anonymize(str(tmp_path / "people.csv"), policy(given.column_names, FORMULAS), engine=engine)
        release.save(tmp_path / "out")
        verdicts = sh.verify(tmp_path / "out", original=str(tmp_path / "people.csv"))
    assert all(verdict.holds for verdict in verdicts)
    text = (tmp_path / "out" / "data.csv").read_text("utf-8")
    assert "1+1" in text
    for delimiter in ",;\t|":
        for row in csv.reader(text.splitlines(), delimiter=delimiter):
            formulas = [cell for cell in row if cell.startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))]
            assert not formulas, (delimiter, formulas)
