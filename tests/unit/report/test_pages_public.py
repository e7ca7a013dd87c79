"""The public report tells nothing that the release does not show (design 11)."""

import json
import re
import shutil
import warnings

import pyarrow as pa
import pytest
from every_release import KINDS, save_release

import shoal as sh
from shoal.attacks import ATTACKS
from shoal.report.pages.blocks import number

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "max-level": 1}
TOWN = {
    "role": "quasi-identifier",
    "min-level": 1,
    "hierarchy": {"tree": {"north": ["Ayr", "Wick"], "south": ["Deal", "Hove", "Rye"], "isles": ["Unst", "Yell"]}},
}
POLICY = {
    "attributes": {"age": AGE, "town": TOWN, "ill": "sensitive"},
    "require": [{"model": "k-anonymity", "k": 2}],
    "method": {"suppression": 0.3},
}


def table(ages, towns):
    return pa.table({"age": ages, "town": towns, "ill": ["flu", "cold", "flu", "gout", "cold", "flu", "hiv"]})


def public(folder, people):
    with warnings.catch_warnings(action="ignore"):
        sh.anonymize(people, POLICY).save(folder / "out", reproducible=True)
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_originals_that_are_released_alike_are_reported_alike(tmp_path):
    """Whatever else differs — values behind labels, who was left out, losses — cannot be in the public page."""
    one = table([31, 32, 33, 41, 42, 43, 77], ["Ayr", "Ayr", "Wick", "Deal", "Hove", "Rye", "Unst"])
    other = table([30, 39, 39, 49, 49, 40, 92], ["Wick", "Wick", "Wick", "Rye", "Rye", "Deal", "Yell"])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = public(tmp_path / "a", one), public(tmp_path / "b", other)
    assert first["data.csv"] == second["data.csv"]
    assert first["report.html"] == second["report.html"]
    pages = [(tmp_path / name / "out.private" / "report.html").read_text("utf-8") for name in "ab"]
    assert pages[0] != pages[1]
    text = first["report.html"].decode()
    assert not re.search(r"Ayr|Wick|Deal|Hove|Rye|Unst|Yell|isles|\bhiv\b", text)
    assert "north" in text


@pytest.mark.some(5)
@pytest.mark.parametrize("kind", KINDS)
def test_figures_of_the_private_part_do_not_occur(tmp_path, kind):
    """Losses, scores, searches, levels and times are in the private report and in no word of the public one."""
    out, private = save_release(tmp_path, kind)
    secret = json.loads((private / "manifest.json").read_text())
    pages = ((folder / "report.html").read_text("utf-8") for folder in (out, private))
    page, known = (page.partition("</style>")[2] for page in pages)
    words = [
        "Before",
        "before",
        "Detail left",
        "minimised",
        "What the data lost",
        "How it was found",
        "Sign-off",
        "hierarch",
    ]
    assert [word for word in words if word in page] == []
    assert [
        word for word in ("Detail left", "What the data lost", "How it was found", "Sign-off") if word not in known
    ] == []
    shares = {f"{100 * value:.1f} %" for name, value in secret["metrics"].items() if name in {"loss", "sse-share"}}
    told = {name: number(value) for name, value in secret["metrics"].items() if isinstance(value, float)}
    figures = {text for text in told.values() if "." in text and len(text) > 4} | shares
    assert all(figure in known for figure in figures - shares)
    classes = json.loads((out / "manifest.json").read_text())["classes"]
    shown = {f"{classes['mean']:,.4g}", f"{classes['mean']:,.1f}"}
    assert {figure for figure in figures - shown if figure in page} <= _visible(page)
    if secret["method"].get("nodes"):
        assert "nodes" not in page


def _visible(page):
    """Shares that the published table itself shows, which a private figure may happen to equal."""
    return set(re.findall(r"<td>([0-9.]+ %)</td>", page))


@pytest.mark.parametrize("kind", ["node", "boxes", "cells", "groups", "rows added"])
def test_the_verdict_is_that_of_an_attacker_who_has_nothing_else(tmp_path, kind):
    out, private = save_release(tmp_path, kind)
    shutil.rmtree(private)
    page = (out / "report.html").read_text("utf-8")
    table = page.partition("Attacks that were run</caption>")[2].partition("</table>")[0]
    told = {
        name: int(rows.replace(",", ""))
        for name, rows in re.findall(r'rowheader">([a-z-]+)</th><td[^>]*>([0-9,]+)</td>', table)
    }
    found = {finding.attack: finding.exposed for finding in sh.audit(out).findings}
    assert {name for name, kind in ATTACKS.items() if not kind.needs and not kind.slow} >= set(told)
    assert len(told) > 3
    assert told == {name: found[name] for name in told}


def test_the_share_of_cells_says_that_it_counts_stars_only(tmp_path):
    """Boxes as wide as half of the table are no stars: the page must not call that detail."""
    people = pa.table({"age": [20 + i % 50 for i in range(100)], "ill": ["flu", "cold", "gout", "hiv"] * 25})
    policy = {
        "attributes": {"age": "quasi-identifier", "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": 40}],
        "method": {"algorithm": "mondrian"},
    }
    sh.anonymize(people, policy).save(tmp_path / "out", advise=0)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Detail shown" not in page
    assert "Cells that are not *" in page
    assert "be it an interval or a group of values; the others are *" in page
