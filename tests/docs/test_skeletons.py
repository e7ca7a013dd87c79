"""A page that is missing gets a skeleton with the sections that it must have."""

import importlib.util
from pathlib import Path

from facts import SECTIONS

ROOT = Path(__file__).parents[2]


def test_a_skeleton_has_every_section():
    spec = importlib.util.spec_from_file_location("pages", ROOT / "scripts" / "pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    skeleton = pages.skeleton("model", "k-anonymity")
    assert [line[3:] for line in skeleton.splitlines() if line.startswith("## ")] == list(SECTIONS["model"])
