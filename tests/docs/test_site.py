"""The site as a browser shows it: built strictly, at both widths, light and dark, without a fault."""

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from browser import _browser, look

from shoal.explore.glossary import WORDS

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[2]
OPENED = (
    "index.html",
    "tutorial.html",
    "choosing.html",
    "notebooks/steward.html",
    "models/t-closeness.html",
    "metrics/index.html",
    "reference/index.html",
    "growth.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    yield folder
    shutil.rmtree(folder)


def test_pages_load_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        for part in ('src="http', 'src="//', 'rel="stylesheet" href="http', 'rel="preconnect"'):
            assert part not in text, f"{page.name} has {part}"


def test_generated_facts_are_on_the_pages(site):
    text = (site / "models" / "entropy-l-diversity.html").read_text("utf-8")
    assert "Closure declared" in text
    assert "<code>UNION</code>" in text
    assert "pycon" in (site / "reference" / "models.html").read_text("utf-8")
    assert "shoal anonymize" in (site / "reference" / "commands.html").read_text("utf-8")


def test_every_word_of_the_papers_is_found_by_search(site):
    """The page of the papers is indexed with each of them."""
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    found = [each for each in index if each["location"].startswith("papers.html")]
    told = unescape(" ".join(re.sub(r"<[^>]*>", "", each["title"] + " " + each["text"]) for each in found)).casefold()
    missing = [word.name for word in WORDS if not any(each.casefold() in told for each in (word.name, *word.aliases))]
    assert len(WORDS) > 30
    assert not missing


TYPED = [
    *("bipartite graph", "cost adjacency matrix", "homogeneity attack", "SE", "inference channel", "sensitive rule"),
    *("BIC", "lost rules", "LR", "ghost rules", "GR", "hiding effect threshold", "key attribute", "DGH"),
    *("distance vector", "MaxSup", "generalised table", "generalized table", "joining attack"),
    *("k-minimal generalisation", "k-minimal generalization", "AG_TS", "_CS"),
    *("average leakage probability", "probability difference", "Prec", "multidimensional", "single-dimensional"),
    *(
        "allowable cut",
        "strict",
        "relaxed",
        "summary statistic",
        "predicate–range matching",
        "predicate-range matching",
    ),
]
"""Words of the papers, as a reader types them."""


def test_words_of_the_papers_are_in_headings_of_their_page(site):
    """Search puts headings first; it splits them and what is typed at the same signs."""
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    sections = [each for each in index["docs"] if each["location"].startswith("papers.html#")]

    def words(text):
        return {word for word in re.split(index["config"]["separator"], text.casefold()) if word}

    headings = [words(unescape(each["title"])) for each in sections]
    assert [typed for typed in TYPED if not any(words(typed) <= heading for heading in headings)] == []


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        (1280, "light"),
        (1280, "dark"),
        (390, "light"),
    ],
)
def test_pages_have_no_faults_in_a_browser(site, width, scheme):
    shots = os.environ.get("SHOAL_SHOTS")
    looks = look(
        *(site / page for page in OPENED),
        site=site,
        shots=None if shots is None else Path(shots),
        widths=[width],
        schemes=[scheme],
    )
    assert [fault for each in looks for fault in each.faults] == []


def test_search_works_from_a_folder(site):
    with _browser() as browser:
        tab = browser.new_page()
        said = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda raised: said.append(str(raised)))
        tab.goto((site / "models" / "k-map.html").as_uri())
        tab.wait_for_load_state("networkidle")
        tab.locator("input.md-search__input").click()
        tab.keyboard.type("closeness")
        tab.locator(".md-search-result__item").first.wait_for(state="attached")
        assert "t-closeness" in tab.locator(".md-search-result__list").inner_text()
        assert said == []
