"""A taxonomy written in the policy itself, as nested tables (S2.2)."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from shoal.data.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.taxonomy import TOP, Taxonomy

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """Inner nodes are keys, leaves are listed; a single root keeps its name, several get `*` on top (S2.2).

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> column = encode("s", pa.array(["flu"]))
    >>> Tree({"any": {"lung": ["flu", "cold"], "heart": ["infarct"]}}).taxonomy(column).levels
    [['lung', 'lung', 'heart'], ['any', 'any', 'any']]
    """

    tree: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", deepcopy(self.tree))
        if not isinstance(self.tree, dict | list | tuple):
            raise BadHierarchy(f"tree = {self.tree!r} is not a tree; write one such as {{ all = ['a', 'b'] }}")
        first, *others = _leaves(self.tree)
        seen = {first[-1]}
        for path in others:
            if len(path) != len(first):
                raise BadHierarchy(
                    f"tree: {path[-1]!r} lies {len(path) - 1} level(s) deep where {first[-1]!r} lies "
                    f"{len(first) - 1}; give every leaf the same depth"
                )
            if path[-1] in seen:
                raise BadHierarchy(f"tree: the leaf {path[-1]!r} is listed twice; keep one of them")
            seen.add(path[-1])

    def taxonomy(self, column: Column) -> Taxonomy:  # noqa: ARG002 - a tree has its own leaves
        paths = list(_leaves(self.tree))
        leaves = [path[-1] for path in paths]
        levels = [list(level) for level in zip(*(path[-2::-1] for path in paths), strict=True)]
        if not levels or len(set(levels[-1])) > 1:
            levels.append([TOP] * len(leaves))
        return Taxonomy(leaves, levels, lambda i: f"the leaf {leaves[i]!r} of its tree")

    def spec(self) -> dict[str, Any]:
        return {"tree": deepcopy(self.tree)}


def _leaves(node: Any, above: Path = ()) -> Iterator[Path]:
    """Yield every leaf with its ancestors, outermost first."""
    if isinstance(node, dict | list | tuple):
        if not node:
            raise BadHierarchy(
                f"tree: {above[-1] if above else 'the root'!r} is empty; list its values or leave it out"
            )
        children = node.items() if isinstance(node, dict) else ((None, child) for child in node)
        for name, child in children:
            yield from _leaves(child, above if name is None else (*above, str(name)))
    elif isinstance(node, str | int | float) and not isinstance(node, bool):
        yield (*above, str(node))
    else:
        raise BadHierarchy(f"tree: {node!r} is not a value; put texts in quotes")
