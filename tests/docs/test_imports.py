"""What benchmarks, scripts and pages import of the package is there: they are run rarely, and would break unseen."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_IMPORT = re.compile(r"^[ \t]*from (shoal(?:\.\w+)*) import (\([^)]*\)|[^\n#]*)", re.MULTILINE)
FILES = [
    *(ROOT / "benchmarks").rglob("*.py"),
    *(ROOT / "scripts").glob("*.py"),
    *(ROOT / "docs").rglob("*.py"),
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("*.md"),
]


@pytest.mark.parametrize("path", sorted(FILES), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_imported_name_is_there(path):
    for module, names in _IMPORT.findall(path.read_text("utf-8")):
        for name in re.sub(r"[()\n]", " ", names).split(","):
            if name.strip():
                wanted = name.split()[0]
                assert hasattr(import_module(module), wanted) or import_module(f"{module}.{wanted}")
