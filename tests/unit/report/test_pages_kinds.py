"""Both reports of every kind of release: whole, escaped, self-contained, and fit to be read in a browser."""

import json
import re
import warnings
from html.parser import HTMLParser

import naive
import pyarrow as pa
import pytest
from browser import look, print_to_pdf
from every_release import KINDS, NUMBERS, people, policy_with, save_release
from pyarrow import parquet

import shoal as sh
from shoal.api.releases import publish
from shoal.datasets import write_census

ALONE = {"meta", "link", "path", "col"}
SECTIONS = {
    "public": ["asked", "done", "promises", "sizes", "attacks", "limits", "files"],
    "private": ["asked", "done", "promises", "sizes", "attacks", "lost", "found", "limits", "files", "sign-off"],
}


class Reader(HTMLParser):
    """Reads a page, and complains of what is not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.anchors, self.links, self.texts, self.elsewhere = [], [], [], [], []
        self.feed(page)
        assert self.open == []

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in ALONE:
            self.open.append(tag)
        if "id" in given:
            self.anchors.append(given["id"])
        for name in ("href", "src", "action"):
            if name in given:
                (self.links if given[name].startswith("#") else self.elsewhere).append(given[name])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in ALONE:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)


class Releases(dict):
    """The folders of each kind of release, made when they are first asked for."""

    def __init__(self, new_folder):
        super().__init__()
        self.new_folder = new_folder

    def __missing__(self, kind):
        self[kind] = save_release(self.new_folder("release"), kind)
        return self[kind]


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    return Releases(tmp_path_factory.mktemp)


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", KINDS)
def test_both_pages_say_everything_and_fetch_nothing(releases, kind):
    for folder, name in zip(releases[kind], SECTIONS, strict=True):
        page = (folder / "report.html").read_text("utf-8")
        read = Reader(page)
        assert [anchor for anchor in read.anchors if anchor in SECTIONS[name]] == SECTIONS[name]
        assert {link.removeprefix("#") for link in read.links} <= set(read.anchors)
        assert len(set(read.anchors)) == len(read.anchors)
        assert read.elsewhere == ["data:,"]
        assert not re.search(r"https?:|@import|url\(|<script|\bnan\b|>None<|= None|Undefined", page)


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_screen_tells_the_manifest(releases, kind):
    public = json.loads((releases[kind][0] / "manifest.json").read_text())
    text = Reader((releases[kind][0] / "report.html").read_text("utf-8")).text
    rows = public["rows"]
    people_shown = rows["released"] - rows["added"]
    assert f"Rows published {people_shown:,} of {people_shown + rows['suppressed']:,}" in text
    # classes are told in rows; of people only the promise is known
    least = public["models"][0]["asked"]["k"] if public["persons"] else public["classes"]["min"]
    assert f"{least:,} {'people' if public['persons'] else ''}" in text.split("What was asked")[0]
    assert ("rows show nobody" in text) == bool(rows["added"])
    for model in public["models"]:
        assert model["model"] in text


def test_every_page_fits_a_phone_in_the_dark(releases):
    """Both pages of every release; where it has to be quick, of the first."""
    some = list(KINDS)[: None if naive.THOROUGH else 1]
    pages = {folder / "report.html": kind for kind in some for folder in releases[kind]}
    looks = look(*pages, widths=[390], schemes=["dark"])
    assert [(kind, seen.faults) for kind, seen in zip(pages.values(), looks, strict=True) if seen.faults] == []


@pytest.mark.thorough
def test_pages_of_a_large_release_have_no_faults_at_any_width_or_colour_scheme(desk):
    """Desk and phone, light and dark, no error, no request, no serious violation."""
    write_census(desk.folder, rows=3_000)
    assert desk.anonymize(data=desk.folder / "census.csv").code == 0
    for folder in (desk.out, desk.private):
        assert [fault for seen in look(folder / "report.html") for fault in seen.faults] == []


@pytest.mark.thorough
def test_the_sign_off_fits_on_one_sheet(releases, tmp_path):
    page = (releases["several promises"][1] / "report.html").read_text("utf-8")
    only = tmp_path / "sheet.html"
    only.write_text(
        page.replace("</style>", "header, main > :not(.sheet) { display: none !important }</style>"), "utf-8"
    )
    assert print_to_pdf(only, tmp_path / "sheet.pdf") == 1
    whole = tmp_path / "whole.html"
    whole.write_text(page, "utf-8")
    assert print_to_pdf(whole, tmp_path / "whole.pdf") > 1


def test_hundreds_of_labels_in_forty_columns_do_not_blow_a_page_up(tmp_path):
    table = people(400)
    columns = {f"q{i}": table["age"] for i in range(40)}
    values = {f"v{i}": [f"{i}-{row}" for row in range(400)] for i in range(2)}
    wide = sh.anonymize(
        pa.table(columns | values),
        {
            "attributes": {
                **{name: {"role": "quasi-identifier", "hierarchy": {"intervals": [50]}} for name in columns},
                **{name: {"role": "insensitive", "confirm": True} for name in values},
            },
            "require": [{"model": "k-anonymity", "k": 2}],
            "method": {"algorithm": "datafly", "suppression": 0.5},
        },
    )
    with warnings.catch_warnings(action="ignore"):
        wide.save(tmp_path / "out")
    for folder in ("out", "out.private"):
        page = (tmp_path / folder / "report.html").read_text("utf-8")
        assert "and 16 more columns" in page
        assert len(page) < 250_000


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_pages_of_a_release_on_disk_say_what_was_left_out(tmp_path, algorithm):
    parquet.write_table(people(), tmp_path / "people.parquet")
    policy = policy_with(NUMBERS if algorithm == "mondrian" else None, method={"algorithm": algorithm})
    with warnings.catch_warnings(action="ignore"):
        publish(tmp_path / "people.parquet", policy, tmp_path / "out", engine="duckdb")
    public = Reader((tmp_path / "out" / "report.html").read_text("utf-8")).text
    private = Reader((tmp_path / "out.private" / "report.html").read_text("utf-8")).text
    assert "shoal audit out/" in public
    assert "shoal audit out/ --original DATA" in private
    if algorithm == "mondrian":
        assert "No attack was run while this was written" in public
        assert "What compares every combination of values with what it became was left out" in private
    else:
        assert "Can somebody's row be found? ✓ protected" in public
        assert "an audit runs it" in public


def test_weighing_distinct_rows_finds_what_all_rows_do(tmp_path):
    """The attacks on a tallied release are those on its rows."""
    table = people()
    parquet.write_table(table, tmp_path / "people.parquet")
    found = []
    for engine in ("arrow", "duckdb"):
        with warnings.catch_warnings(action="ignore"):
            publish(tmp_path / "people.parquet", policy_with(), tmp_path / engine, engine=engine)
        text = Reader((tmp_path / engine / "report.html").read_text("utf-8")).text
        found.append(re.findall(r"(?:prosecutor|homogeneity|background|skewness) [0-9,]+ .*?\.", text))
    assert len(found[0]) == 4
    assert found[0] == found[1]
