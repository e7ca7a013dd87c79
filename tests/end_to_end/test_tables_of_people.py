"""Tables as people have them, from `init` to a verified release: sheets, encodings, packed files, databases."""

import gzip
import json
import tomllib
import warnings
from datetime import date
from pathlib import Path

import click
import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import csv, parquet
from sas_files import write_sas
from typer.main import get_command
from typer.testing import CliRunner

import shoal as sh
from shoal import api
from shoal.cli.main import app
from shoal.data.codes import Kind
from shoal.engine_port import ReadOptions
from shoal.engines.choice import read_into_memory
from shoal.errors import BadData, BadInput, BadPolicy, ShoalWarning
from shoal.publish.folder import known_format

PEOPLE = [(age, sex, ill) for age in (21, 24, 33, 38) for sex in ("f", "m") for ill in ("flu", "cold", "asthma")] * 2
HEADER = ("age", "sex", "disease")


def written(delimiter=",", people=PEOPLE, header=HEADER):
    return "".join(delimiter.join(map(str, row)) + "\n" for row in [header, *people])


@pytest.fixture
def shoal(tmp_path, monkeypatch):
    """Run a command in a folder of its own; return its output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        done = CliRunner().invoke(app, [str(each) for each in arguments])
        assert done.exit_code == 0, done.stderr
        return done.stdout, done.stderr

    return run


def through(shoal, data, *reading):
    """Draft, measure, assess and anonymize a table; return the drafted policy and all that was said."""
    said = [shoal("init", data, "--out", "policy.toml", *reading)[1]]
    policy = tomllib.loads(Path("policy.toml").read_text("utf-8"))
    measured, told = shoal("measure", data, "--qi", "age,sex", *reading, "--json")
    assert json.loads(measured)["rows"] == len(PEOPLE)
    said.append(told)
    assessed, told = shoal("risk", data, "--qi", "age,sex", *reading, "--json")
    assert json.loads(assessed)["reidentification"]["rows"] == len(PEOPLE)
    said.append(told)
    shoal("anonymize", data, "--policy", "policy.toml", "--out", "out")
    shoal("verify", "out", "--original", data)
    return policy, "".join(said)


def a_workbook(path):
    book = openpyxl.Workbook()
    cover = book.active
    cover.title = "Cover"
    cover["B2"] = "A study of people"
    cover["B4"] = "Do not pass on"
    sheet = book.create_sheet("Data 2024")
    sheet["A1"] = "People of the study"
    sheet.merge_cells("A1:D1")
    sheet.append([])
    sheet.append(["age", "sex", "Findings", None])
    sheet.merge_cells("A3:A4")
    sheet.merge_cells("B3:B4")
    sheet.merge_cells("C3:D3")
    sheet.append([None, None, "disease", "seen"])
    for age, sex, ill in PEOPLE:
        sheet.append([age, sex, ill, date(2024, 1, 2)])
    book.save(path)


def test_a_workbook_with_cover_titles_and_merged_headers(shoal, tmp_path):
    a_workbook(tmp_path / "people.xlsx")
    policy, said = through(shoal, "people.xlsx")
    assert list(policy["attributes"]) == ["age", "sex", "Findings disease", "Findings seen"]
    assert (policy["data"]["sheet"], policy["data"]["header-row"]) == ("Data 2024", [3, 4])
    assert "sheet 'Data 2024', its column names from rows 3 to 4, joined" in said


def test_a_sheet_and_a_header_row_that_are_given(shoal, tmp_path):
    a_workbook(tmp_path / "people.xlsx")
    policy, said = through(shoal, "people.xlsx", "--sheet", "Data 2024", "--header-row", "3-4")
    assert (policy["data"]["sheet"], policy["data"]["header-row"]) == ("Data 2024", [3, 4])
    assert "its column names from rows 3 to 4, joined" in said


def test_the_header_row_of_a_sheet_is_not_that_of_a_csv(shoal, tmp_path):
    """The steward checks a release of a workbook against the same table as a CSV."""
    book = openpyxl.Workbook()
    for row in [("People of the study",), (), HEADER, *PEOPLE]:
        book.active.append(row)
    book.save(tmp_path / "people.xlsx")
    (tmp_path / "people.csv").write_text(written(), "utf-8")
    policy, _ = through(shoal, "people.xlsx")
    assert policy["data"]["header-row"] == 3
    told, said = shoal("verify", "out", "--original", "people.csv")
    assert "FAILS" not in told
    assert said.count("people.csv: header row 3 is that of sheet 'Sheet', and this file has no sheets") == 1
    assert shoal("audit", "out", "--original", "people.csv")


@pytest.mark.parametrize("reading", [(), ("--encoding", "cp1252")])
def test_cp1252_is_kept_from_init_to_the_release(shoal, tmp_path, reading):
    people = [(*row, "5 € für Müller") for row in PEOPLE]
    (tmp_path / "people.csv").write_bytes(written(";", people, (*HEADER, "größe")).encode("cp1252"))
    policy, said = through(shoal, "people.csv", *reading)
    assert policy["data"]["encoding"] == "cp1252"
    assert "größe" in policy["attributes"]
    assert ("a guess" in said) == (not reading)


def test_files_of_a_folder_have_one_encoding(shoal, tmp_path):
    """A file of plain ASCII is text in every encoding, and one that is UTF-8 is not text in cp1252."""
    (tmp_path / "people").mkdir()
    for i, (ill, encoding) in enumerate([("flu", "ascii"), ("Übel", "latin-1"), ("5 €", "cp1252")]):
        text = written(people=[(age, sex, ill) for age, sex, _ in PEOPLE[:16]])
        (tmp_path / "people" / f"{i}.csv").write_bytes(text.encode(encoding))
    policy, said = through(shoal, "people")
    assert policy["data"]["encoding"] == "cp1252"
    assert "2.csv: this is not UTF-8; it is read as cp1252" in said
    (tmp_path / "people" / "0.csv").write_text(written(people=[(21, "f", "Übel")]), encoding="utf-8")
    refused = pytest.raises(BadData, match=r"people: its files are of different encodings \(cp1252, latin-1, utf-8\)")
    with pytest.warns(ShoalWarning, match="it is read as"), refused:
        api.draft(tmp_path / "people")


def test_without_an_encoding_in_the_policy_another_one_is_refused(tmp_path):
    (tmp_path / "people.csv").write_bytes(written(people=[(21, "ä", "flu")]).encode("latin-1"))
    policy = {"attributes": {"age": "quasi-identifier"}, "data": {"others": "drop"}}
    with pytest.raises(BadData, match=r"byte offset 19 is not UTF-8; give the encoding"):
        sh.anonymize(tmp_path / "people.csv", {**policy, "require": [{"model": "k-anonymity", "k": 1}]})


def test_row_names_are_recognised_and_dropped(shoal, tmp_path):
    frame = pd.DataFrame(PEOPLE, columns=list(HEADER), index=range(1, len(PEOPLE) + 1))
    frame.to_csv(tmp_path / "people.csv")
    policy, said = through(shoal, "people.csv")
    assert policy["attributes"]["row names"]["role"] == "identifier"
    assert "the first column has no name and another value in every row, so it is read as 'row names'" in said


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_row_names_have_the_same_name_in_every_engine(tmp_path, engine):
    pd.DataFrame(PEOPLE, columns=list(HEADER)).to_csv(tmp_path / "people.csv")
    policy = {"attributes": {"age": "quasi-identifier", "row names": "identifier"}, "data": {"others": "insensitive"}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = sh.anonymize(
            tmp_path / "people.csv", {**policy, "require": [{"model": "k-anonymity", "k": 3}]}, engine=engine
        )
    assert not [one for one in caught if "row names" in str(one.message)]  # the policy has settled it
    assert sorted(release.data.schema.names) == ["age", "disease", "sex"]


@pytest.mark.parametrize(("mark", "delimiter"), [(",", ";"), (".", ",")])
def test_a_csv_of_a_sheet_has_the_delimiter_that_fits_its_decimals(tmp_path, mark, delimiter):
    doses = [f"{i % 3}{mark}5" for i in range(len(PEOPLE))]
    a_sheet(tmp_path / "people.xlsx", doses)
    roles = {"age": "quasi-identifier", "dose": "insensitive"}
    policy = {"attributes": roles, "data": {"others": "drop"}, "require": [{"model": "k-anonymity", "k": 3}]}
    told = api.publish(tmp_path / "people.xlsx", policy, tmp_path / "out")
    lines = (tmp_path / "out" / "data.csv").read_text("utf-8").splitlines()
    assert lines[0] == f"age{delimiter}dose"
    assert {line.split(delimiter)[-1] for line in lines[1:]} == {*doses}
    assert [note for note in told.warnings if "semicolons" in note] == [
        "the sheet has decimal commas, so a CSV of it has semicolons between its cells, as Excel expects there"
    ] * (mark == ",")
    assert all(verdict.holds for verdict in api.verify(tmp_path / "out", original=tmp_path / "people.xlsx"))


def test_the_help_says_which_format_is_written(shoal):
    with pytest.raises(BadInput, match="a release is written as csv or parquet"):
        known_format("xlsx")
    assert "parquet if the input is, else csv" in " ".join(shoal("anonymize", "--help")[0].split())


def test_decimal_commas(shoal, tmp_path):
    people = [(*row, f"{i % 3},5") for i, row in enumerate(PEOPLE)]
    (tmp_path / "people.csv").write_text(written(";", people, (*HEADER, "dose")), encoding="utf-8")
    policy, _ = through(shoal, "people.csv", "--decimal", ",")
    assert policy["data"]["decimal"] == ","
    shoal("measure", "people.csv", "--qi", "dose", "--decimal", ",")


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_packed_csv(shoal, tmp_path, packing):
    if packing == "gz":
        (tmp_path / "people.csv.gz").write_bytes(gzip.compress(written().encode()))
    else:
        with pa.output_stream(tmp_path / "people.csv.zst", compression="zstd") as stream:
            stream.write(written().encode())
    policy, _ = through(shoal, f"people.csv.{packing}")
    assert list(policy["attributes"]) == list(HEADER)


@pytest.mark.parametrize("kind", ["dta", "sav", "zsav"])
def test_stata_and_spss_show_labels(shoal, tmp_path, kind):
    coded = pd.DataFrame([(age, "fm".index(sex) + 1, ill) for age, sex, ill in PEOPLE], columns=list(HEADER))
    labels = {"sex": {1: "female", 2: "male"}}
    write, how = (pyreadstat.write_dta, {}) if kind == "dta" else (pyreadstat.write_sav, {"compress": kind == "zsav"})
    write(coded, tmp_path / f"people.{kind}", variable_value_labels=labels, **how)
    through(shoal, f"people.{kind}")
    released = csv.read_csv(tmp_path / "out" / "data.csv")
    assert set(released["sex"].to_pylist()) <= {"female", "male", "*"}


@pytest.mark.parametrize("kind", ["sas7bdat", "xpt"])
def test_sas_files(shoal, tmp_path, kind):
    if kind == "xpt":
        pyreadstat.write_xport(pd.DataFrame(PEOPLE, columns=list(HEADER)), tmp_path / "people.xpt")
    else:
        write_sas(tmp_path / "people.sas7bdat", HEADER, PEOPLE, [""] * len(HEADER))
    policy, _ = through(shoal, f"people.{kind}")
    assert [name.lower() for name in policy["attributes"]] == list(HEADER)


@pytest.mark.thorough
def test_folders_patterns_and_databases(shoal, tmp_path):
    people_table = pa.Table.from_pylist([dict(zip(HEADER, row, strict=True)) for row in PEOPLE])
    for name in ("csvs", "parquets"):
        (tmp_path / name).mkdir()
    for i, part in enumerate((people_table.slice(0, 20), people_table.slice(20))):
        csv.write_csv(part, tmp_path / "csvs" / f"{i}.csv")
        parquet.write_table(part, tmp_path / "parquets" / f"{i}.parquet")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as db:
        db.execute("CREATE TABLE everybody AS FROM people_table")
        db.execute("CREATE TABLE nobody (a INTEGER)")
    drafts = []
    for data in ("csvs", "csvs/*.csv", "parquets", "people.duckdb::everybody"):
        policy, _ = through(shoal, data)
        drafts.append(policy["attributes"])
        for name in ("policy.toml", "out", "out.private"):
            (tmp_path / name).rename(tmp_path / f"{len(drafts)} {name}")
    assert all(draft == drafts[0] for draft in drafts)


def test_a_table_that_does_not_fit_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text(written())
    monkeypatch.setattr("shoal.engines.choice._free", lambda: 10)
    with pytest.raises(BadData, match=r"people\.csv: the table seems to need 0\.0 GB of memory"):
        sh.measure(tmp_path / "people.csv", quasi_identifiers="age")


@pytest.mark.parametrize("command", [("init",), ("measure", "--qi", "age"), ("risk",)])
def test_two_columns_of_one_name_are_one_sentence(tmp_path, command):
    (tmp_path / "people.csv").write_text("age,age\n1,2\n")
    done = CliRunner().invoke(app, [command[0], str(tmp_path / "people.csv"), *command[1:]])
    assert isinstance(done.exception, BadData)
    assert str(done.exception) == "people.csv: columns 1 and 2 are both named 'age'; rename one"


def test_the_draft_keeps_the_options_of_reading(tmp_path):
    (tmp_path / "people.csv").write_text("Report\nage|sex\n31|-9\n32|f\n")
    options = ReadOptions(missing=("", "-9"), delimiter="|", header_row=2)
    data = tomllib.loads(api.draft(tmp_path / "people.csv", options=options).text)["data"]
    assert (data["missing"], data["delimiter"], data["header-row"]) == (["", "-9"], "|", 2)


TABLES = {"data", "original", "population", "register", "control"}
READING = {"missing", "delimiter", "encoding", "decimal", "sheet", "header_row", "connection_file"}


def commands(group):
    """Every command below a group, those of attacks included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        each = group.get_command(context, name)
        yield from commands(each) if hasattr(each, "list_commands") else [(name, each)]


def test_every_command_that_reads_a_table_has_the_same_options():
    found = {name: {each.name for each in command.params} for name, command in commands(get_command(app))}
    readers = {name for name, options in found.items() if TABLES & options}
    assert readers >= {"init", "verify", "workload", "republish", "remove", "audit", "join", "downcode", "sweep"}
    assert {name: READING - found[name] for name in readers if READING - found[name]} == {}


AS_WRITTEN = ("--delimiter", "|", "--encoding", "cp1252", "--header-row", "3", "--missing", "-9")


@pytest.fixture
def another_way(shoal, tmp_path):
    """A release of a plain file, and the same people in a file that must be read in another way."""
    people = [(age, sex, ill, "€" if i % 3 else "") for i, (age, sex, ill) in enumerate(PEOPLE)]
    header = (*HEADER, "paid")
    (tmp_path / "people.csv").write_text(written(people=people, header=header), encoding="utf-8")
    copied = [(*row[:3], row[3] or "-9") for row in people]
    text = "Hospital|of\nBonn\n" + written("|", copied, header)
    (tmp_path / "copy.txt").write_bytes(text.encode("cp1252"))
    shoal("init", "people.csv")
    shoal("anonymize", "people.csv", "--policy", "policy.toml", "--out", "out", "--accept-guesses")
    return "copy.txt"


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "command",
    [
        ("verify", "out", "--original"),
        ("audit", "out", "--original"),
        ("workload", "--random", "5", "out"),
        ("attack", "join", "out", "--register"),
        ("attack", "prosecutor", "out", "--original"),
        ("attack", "homogeneity", "--qi", "age", "--sensitive", "disease"),
        ("attack", "singling-out", "out", "--original"),
    ],
)
def test_an_original_that_is_written_in_another_way(shoal, another_way, command):
    asked = [*command, another_way]
    if command[0] == "workload":
        asked = ["workload", another_way, "out", "--random", "5"]
    assert isinstance(CliRunner().invoke(app, asked).exception, BadInput)
    shoal(*asked, *AS_WRITTEN)


def test_the_next_release_of_a_table_that_is_written_in_another_way(shoal, tmp_path):
    people = [(f"p{i}", *row, "Köln") for i, row in enumerate(PEOPLE)]
    header = ("id", *HEADER, "city")
    (tmp_path / "people.csv").write_text(written(people=people, header=header), encoding="utf-8")
    (tmp_path / "later.csv").write_bytes(written("|", people, header).encode("cp1252"))
    (tmp_path / "leavers.csv").write_bytes("id|why\np3|Übel\n".encode("cp1252"))
    (tmp_path / "policy.toml").write_text(
        """
[attributes]
id = "identifier"
age = { role = "quasi-identifier", hierarchy = { intervals = [10, 20] } }
sex = "quasi-identifier"
disease = "sensitive"
city = "insensitive"
[[require]]
model = "k-anonymity"
k = 3
[method]
suppression = 0.5
[republish]
key = "id"
way = "monotone"
""",
        encoding="utf-8",
    )
    reading = ("--delimiter", "|", "--encoding", "cp1252")
    shoal("anonymize", "people.csv", "--policy", "policy.toml", "--out", "out")
    shoal("republish", "out.private", "later.csv", "--out", "later", *reading)
    shoal("verify", "later", "--original", "later.csv")  # the private folder keeps how it was read
    shoal("remove", "leavers.csv", "later.private", "--original", "later.csv", "--out", "last", *reading)
    assert csv.read_csv(tmp_path / "last" / "data.csv").num_rows < len(PEOPLE)


@pytest.mark.usefixtures("another_way")
def test_options_of_reading_are_not_for_a_release(shoal):
    said, _ = shoal("risk", "out", *AS_WRITTEN, "--json")
    assert json.loads(said)["reidentification"]["rows"] == len(PEOPLE)


def test_python_reads_an_original_that_is_written_in_another_way(another_way):
    reading = {"delimiter": "|", "encoding": "cp1252", "header_row": 3, "missing": ("", "-9")}
    assert all(verdict.holds for verdict in sh.verify("out", another_way, reading=reading))
    with pytest.raises(BadPolicy, match=r"data\.delimeter"):
        sh.verify("out", another_way, reading={"delimeter": "|"})
    with pytest.raises(BadInput, match=r"reading: 'delimeter' is not known \(did you mean"):
        sh.attack(another_way, sh.attacks.Homogeneity(), quasi_identifiers="age", reading={"delimeter": "|"})


DRAWN = [(30 + i % 7 * 5, "fm"[i % 2], ("flu", "cold", "asthma", "cough")[i * i % 11 % 4]) for i in range(140)]


@pytest.mark.some(2)
@pytest.mark.parametrize("data", ["people.duckdb", "csvs", "western", "packed", "parquets"])
def test_an_unedited_draft_fits_folders_and_databases(shoal, tmp_path, data):
    """Whatever the draft asks for, e.g. boxes with l-diversity: what fits in memory is read into it."""
    people = pa.Table.from_pylist([dict(zip(HEADER, row, strict=True)) for row in DRAWN])
    if data == "people.duckdb":
        with duckdb.connect(str(tmp_path / data)) as db:
            db.execute("CREATE TABLE everybody AS FROM people")
    else:
        (tmp_path / data).mkdir()
        for i, part in enumerate((people.slice(0, 70), people.slice(70))):
            text = written(people=[tuple(row.values()) for row in part.to_pylist()], header=(*HEADER[:2], "übel"))
            if data == "parquets":
                parquet.write_table(part, tmp_path / data / f"{i}.parquet")
            elif data == "packed":
                (tmp_path / data / f"{i}.csv.gz").write_bytes(gzip.compress(text.encode()))
            else:
                (tmp_path / data / f"{i}.csv").write_bytes(text.encode("cp1252" if data == "western" else "utf-8"))
    shoal("init", data)
    policy = tomllib.loads(Path("policy.toml").read_text("utf-8"))
    policy["method"] = {"algorithm": "mondrian"}
    ill = list(policy["attributes"])[-1]
    policy["require"] = [{"model": "k-anonymity", "k": 5}, {"model": "distinct-l-diversity", "l": 2, "attribute": ill}]
    sh.Policy(**policy).save("policy.toml")
    shoal("anonymize", data, "--policy", "policy.toml", "--out", "out", "--accept-guesses")
    shoal("verify", "out", "--original", data)
    shoal("audit", "out", "--original", data)


def a_sheet(path, doses):
    book = openpyxl.Workbook()
    book.active.append([*HEADER, "dose", "height"])
    for row, dose in zip(PEOPLE, doses, strict=False):
        book.active.append([*row, dose, 1.5])
    book.save(path)


def test_decimal_commas_in_cells_of_a_sheet_that_are_texts(shoal, tmp_path):
    a_sheet(tmp_path / "people.xlsx", [f"{i % 3},5" for i in range(len(PEOPLE))])
    policy, _ = through(shoal, "people.xlsx")
    assert policy["data"]["decimal"] == ","
    dose = read_into_memory(tmp_path / "people.xlsx", ReadOptions()).table["dose"]
    assert dose.kind is Kind.NUMBER
    assert sorted({float(number) for number in dose.numbers}) == [0.5, 1.5, 2.5]
    shoal("measure", "people.xlsx", "--qi", "dose,height", "--decimal", ",")


@pytest.mark.parametrize("doses", [["1,250", "12,500"], ["1,5", "much"]])
def test_commas_that_may_part_thousands_or_words_are_left_alone(shoal, tmp_path, doses):
    a_sheet(tmp_path / "people.xlsx", doses * (len(PEOPLE) // 2))
    policy, _ = through(shoal, "people.xlsx")
    assert "decimal" not in policy["data"]
