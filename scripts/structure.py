"""Checks what keeps the code easy to enter, and prints the numbers: `make lint` runs it.

python scripts/structure.py
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "shoal"
MOST_MODULES = 280
LONGEST_CHAIN = 30
LONGEST_PIPELINE = 150
WORDS_OF_THE_FIELD = {"recoding", "blocking", "mining", "reading", "local_recoding", "fixed_recoding"}
GRID = {"duckdb", "postgres", "spark"}
"""Folders of engines, whose files have equal names where they do the same."""


def modules() -> dict[str, ast.Module]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("shoal", *path.relative_to(SOURCE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text("utf-8"))
    return found


def imports_of(tree: ast.Module, known: dict[str, ast.Module]) -> set[str]:
    """The modules that are imported when a module is: not those of functions, nor those for type checkers."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in inside}
    return found & set(known)


def longest_chain(known: dict[str, ast.Module]) -> tuple[str, ...]:
    """The longest chain of modules that import each other."""
    imported = {name: imports_of(tree, known) - {name} for name, tree in known.items()}
    chains: dict[str, tuple[str, ...]] = {}
    try:
        for name in TopologicalSorter(imported).static_order():
            chains[name] = (name, *max((chains[other] for other in imported[name]), key=len, default=()))
    except CycleError as why:
        sys.exit(f"modules import each other in a circle: {' → '.join(reversed(why.args[1]))}")
    return max(chains.values(), key=len)


def repeated_modules(known: dict[str, ast.Module]) -> Iterator[str]:
    places = defaultdict(list)
    for name in known:
        places[name.rsplit(".", 1)[-1]].append(name)
    for name, found in places.items():
        outside = [place for place in found if not GRID & set(place.split("."))]
        if len(found) > 1 and (outside or len(found) > len(GRID)):
            yield f"the module name {name!r} is used {len(found)} times: {', '.join(found)}"


def repeated_classes(known: dict[str, ast.Module]) -> Iterator[str]:
    places = defaultdict(list)
    for module, tree in known.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    for name, found in places.items():
        if len(found) > 1:
            yield f"the class name {name!r} is used {len(found)} times: {', '.join(found)}"


def odd_names(known: dict[str, ast.Module]) -> Iterator[str]:
    for name in known:
        last = name.rsplit(".", 1)[-1]
        if last.endswith(("ing", "ed")) and last not in WORDS_OF_THE_FIELD:
            yield f"the module {name} is named by a verb; name the thing"


def questions_of_kind(known: dict[str, ast.Module]) -> Iterator[str]:
    """Who asks a recoding what it is, instead of asking it to do something."""
    for module, tree in known.items():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "isinstance"
                and "Recoding" in ast.unparse(node.args[1])
                and not module.startswith("shoal.recoding")
            ):
                yield f"{module}:{node.lineno} asks isinstance(…Recoding); give recodings a method for it"


def main() -> None:
    known = modules()
    chain = longest_chain(known)
    lines = len((SOURCE / "pipeline.py").read_text("utf-8").splitlines())
    wrong = [*repeated_modules(known), *repeated_classes(known), *odd_names(known), *questions_of_kind(known)]
    if len(known) > MOST_MODULES:
        wrong.append(f"there are {len(known)} modules, more than {MOST_MODULES}")
    if len(chain) > LONGEST_CHAIN:
        wrong.append(f"{len(chain)} modules import each other in a chain: {' → '.join(chain)}")
    if lines > LONGEST_PIPELINE:
        wrong.append(f"pipeline.py has {lines} lines, more than {LONGEST_PIPELINE}; it must fit a page")
    classes = sum(isinstance(node, ast.ClassDef) for tree in known.values() for node in ast.walk(tree))
    counted = f"{len(known)} modules, {classes} classes, longest import chain {len(chain)}, pipeline {lines} lines"
    print(f"structure: {counted}")
    sys.exit("\n".join(wrong) if wrong else None)


if __name__ == "__main__":
    main()
