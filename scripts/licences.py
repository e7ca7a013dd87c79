"""Writes docs/licences.md: the licence of every package that Shoal needs, as the installed packages state it.

python scripts/licences.py
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
LISTS = {
    "run.txt": ("To run", "What an install of Shoal brings along."),
    "build.txt": ("To build", "What builds the compiled core; of these, a wheel holds code of nanobind."),
    "dev.txt": ("To develop", "Tests, documentation and benchmarks; nothing of it is needed to use Shoal."),
}
HEAD = """# Licences

Shoal is under the Apache License 2.0. These are the packages that it needs, with the licence that each states;
`python scripts/licences.py` writes this page from the installed packages.
"""
LONGEST = 60
"""Where a package has the whole text of its licence as its name, the classifier tells it."""


def names(file: str) -> list[str]:
    """Packages that a list pins, but for those of the lists that it includes."""
    text = (ROOT / "requirements" / file).read_text("utf-8")
    return sorted(re.findall(r"^([A-Za-z0-9._-]+)==", text, flags=re.MULTILINE), key=str.lower)


def licence_of(package: Distribution) -> str:
    """What a package states: an expression, else a short text, else its classifiers."""
    told = package.metadata.json
    stated = str(told.get("license_expression") or told.get("license") or "")
    if stated.strip() and len(stated) <= LONGEST and "\n" not in stated.strip():
        return stated.strip()
    kinds = [
        line.rsplit(" :: ", 1)[-1] for line in package.metadata.get_all("Classifier") or () if "License ::" in line
    ]
    return " or ".join(kinds) or _of_text(stated) or "not stated in its metadata: see its files"


def _of_text(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:LONGEST]


def row(name: str) -> str:
    try:
        package = distribution(name)
    except PackageNotFoundError:
        raise SystemExit(f"{name} is not installed, so its licence is not known: run `make lint` once") from None
    return f"| {name} | {licence_of(package)} |"


def page() -> str:
    """The page as it should be."""
    parts = [HEAD]
    for file, (title, about) in LISTS.items():
        rows = "\n".join(map(row, names(file)))
        parts.append(f"## {title}\n\n{about}\n\n| package | licence |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(PAGE)
