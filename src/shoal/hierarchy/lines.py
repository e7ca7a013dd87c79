"""Lines `value, level 1, level 2, …`, from a file or from Python, checked and turned to a taxonomy."""

import warnings
from collections.abc import Callable, Sequence

from shoal.errors import BadHierarchy, ShoalWarning
from shoal.hierarchy.taxonomy import Taxonomy

Lines = Sequence[tuple[str, ...]]


def from_lines(lines: Lines, where: Callable[[int], str], name: str) -> Taxonomy:
    """The taxonomy of the lines; `where(i)` says how a person finds line `i`, `name` what holds them all.

    >>> from_lines([("a", "x", "*"), ("b", "x", "*"), ("a", "x", "*")], str, "the list").leaves
    ['a', 'b']
    """
    if not lines:
        raise BadHierarchy(f"{name} is empty; write one line per value: value;level 1;level 2;…")
    _refuse_uneven(lines, where)
    kept = _once_each(lines, where)
    leaves, *levels = (list(column) for column in zip(*(lines[i] for i in kept), strict=True))
    return Taxonomy(leaves, levels, lambda leaf: where(kept[leaf]), name)


def warn_of_open_top(taxonomy: Taxonomy, name: str) -> None:
    """Several labels at the top are allowed, but no node then hides everything (bad input 20)."""
    tops = len(set(taxonomy.levels[-1]))
    if tops > 1:
        warnings.warn(
            f"{name} ends in {tops} labels and cannot reach full suppression; end every line in *",
            ShoalWarning,
            stacklevel=3,
        )


def _refuse_uneven(lines: Lines, where: Callable[[int], str]) -> None:
    width = len(lines[0])
    for i, line in enumerate(lines):
        if len(line) != width:
            raise BadHierarchy(
                f"{where(i)} has {len(line) - 1} level(s) where {where(0)} has {width - 1}; give every value "
                "the same number of levels"
            )
        if len(line) < 2:
            raise BadHierarchy(f"{where(i)} has a value but no level above it; write value;level 1;…")
        if "" in line[1:]:
            raise BadHierarchy(f"{where(i)} has an empty label at level {line.index('', 1)}; name it, or write *")


def _once_each(lines: Lines, where: Callable[[int], str]) -> list[int]:
    """Positions of the lines without their exact repetitions."""
    first: dict[str, int] = {}
    for i, line in enumerate(lines):
        before = first.setdefault(line[0], i)
        if line != lines[before]:
            raise BadHierarchy(
                f"{where(i)} gives a value other parents than {where(before)} does, and it can have one "
                "only; keep one of the two"
            )
    return list(first.values())
