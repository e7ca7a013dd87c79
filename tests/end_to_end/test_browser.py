"""The helper that opens pages must see what is wrong with one, or no page is ever wrong."""

import pytest
from browser import look, print_to_pdf

GOOD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>A page</title></head><body><main><h1>A page</h1><p>It says little.</p></main></body></html>"""
BAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title></head><body><main>
<h1>A page</h1><p style="color: #ddd; background: #fff">pale</p><div style="width: 3000px">wide</div>
<img alt="" src="http://127.0.0.1:9/picture.png"><script>throw new Error("raised here")</script></main></body></html>"""


@pytest.mark.thorough
def test_a_good_page_has_no_fault(tmp_path):
    (tmp_path / "good.html").write_text(GOOD, "utf-8")
    looks = look(tmp_path / "good.html", shots=tmp_path / "shots")
    assert [each.faults for each in looks] == [[], [], [], []]
    assert {(each.width, each.scheme) for each in looks} == {
        (1280, "light"),
        (1280, "dark"),
        (390, "light"),
        (390, "dark"),
    }
    assert (tmp_path / "shots" / "good-390-dark.png").read_bytes()[:4] == b"\x89PNG"


def test_every_fault_of_a_bad_page_is_told(tmp_path):
    (tmp_path / "bad.html").write_text(BAD, "utf-8")
    [seen] = look(tmp_path / "bad.html", widths=[390], schemes=["light"])
    assert any("raised here" in each for each in seen.errors)
    assert seen.outside == ("http://127.0.0.1:9/picture.png",)
    assert [each.split(" ")[0] for each in seen.violations] == ["color-contrast"]
    assert seen.wider > 2000


@pytest.mark.thorough
def test_a_site_is_served_so_that_its_scripts_read_their_neighbours(tmp_path):
    script = "fetch('words.json').then(got => got.json()).then(words => { document.title = words.title })"
    (tmp_path / "words.json").write_text('{"title": "Read"}', "utf-8")
    icon = '<link rel="icon" href="data:,">'
    (tmp_path / "index.html").write_text(GOOD.replace("</head>", f"{icon}<script>{script}</script></head>"), "utf-8")
    [seen] = look(tmp_path / "index.html", site=tmp_path, widths=[1280], schemes=["light"])
    assert seen.faults == []


@pytest.mark.thorough
def test_sheets_are_counted(tmp_path):
    (tmp_path / "good.html").write_text(GOOD, "utf-8")
    (tmp_path / "two.html").write_text(GOOD.replace("<p>", '<p style="break-before: page">'), "utf-8")
    assert print_to_pdf(tmp_path / "good.html", tmp_path / "good.pdf") == 1
    assert print_to_pdf(tmp_path / "two.html", tmp_path / "two.pdf") == 2
