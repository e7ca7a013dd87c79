"""README's table of what is implemented comes from the registries."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_what_is_registered():
    spec = importlib.util.spec_from_file_location("pages", ROOT / "scripts" / "pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    text = (ROOT / "README.md").read_text("utf-8")
    assert pages.with_table(text) == text, "python scripts/pages.py writes it anew"
    assert "## Definition\n" in pages.skeleton("model", "k-anonymity")
