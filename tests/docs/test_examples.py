"""Every example of the documentation is run, page by page, and shows what it shows."""

import os
import shutil
from pathlib import Path

import pytest
from examples import WIDTH, Reader, masked

pytestmark = pytest.mark.advice

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
AS_WRITTEN = {"tutorial.md"}
"""Pages whose commands are processes of their own; others share one process, which is faster."""
NEEDS_JAVA = {"engines/spark.md"}
LONG = AS_WRITTEN | NEEDS_JAVA | {"apply.md"}
"""Pages that take long."""


@pytest.fixture
def reader(tmp_path, shoal, monkeypatch):
    def of(page):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", str(WIDTH))
        return Reader(tmp_path, None if page in AS_WRITTEN else said)

    def said(words):
        ran = shoal(*words)
        return ran.out + ran.err

    return of


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.thorough) if page in LONG else page for page in PAGES]
)
def test_examples_print_what_the_page_shows(page, reader):
    """With SHOAL_EXAMPLES=write, what really came out is written into the page, to be looked at."""
    if page in NEEDS_JAVA and shutil.which("java") is None:
        pytest.skip("Java is not installed, so Spark was not started")
    path = DOCS / page
    text = path.read_text("utf-8")
    fresh = reader(page).read(text)
    if os.environ.get("SHOAL_EXAMPLES") == "write":
        path.write_text(fresh, "utf-8")
    else:
        assert masked(fresh) == masked(text), "SHOAL_EXAMPLES=write writes what comes out into the page"
