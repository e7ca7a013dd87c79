"""Tests of a module are named after it: `tests/unit` mirrors `src/shoal` file by file."""

from pathlib import Path

import pytest
from shoal_source import FOLDER

UNIT = Path(__file__).parents[1] / "unit"


def modules_of(folder):
    """What may be tested in a folder: its modules, and the packages in it."""
    return {path.stem for path in folder.glob("*.py*")} | {path.name for path in folder.iterdir() if path.is_dir()}


@pytest.mark.parametrize("path", sorted(UNIT.rglob("test_*.py")), ids=lambda path: str(path.relative_to(UNIT)))
def test_a_unit_test_is_named_after_its_module(path):
    known = {name.lstrip("_") for name in modules_of(FOLDER / path.parent.relative_to(UNIT))}
    tested = path.stem.removeprefix("test_")
    assert any(tested == name or tested.startswith(f"{name}_") for name in known)


def test_only_conftest_lies_directly_in_tests():
    assert [path.name for path in UNIT.parent.glob("*.py")] == ["conftest.py"]
