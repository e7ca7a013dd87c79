"""Numbers to nested half-open intervals: by width, or by edges of one's own choice (S2.2)."""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from shoal.data.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.exact_numbers import Number, check_tails, exact, is_list, label_intervals, require_numbers
from shoal.hierarchy.taxonomy import Taxonomy
from shoal.hierarchy.value_columns import built, numbers_of

Cell = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals `[a, b)` of one width per level, counted from 0, with open tails `<bottom` and `≥top` (S2.2).

    An interval that a tail cuts is labelled by what is left of it: top = 90 leaves `[80, 90)` of width 20.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> Intervals([5, 10], top=80).taxonomy(encode("age", pa.array([23, 81]))).levels
    [['[20, 25)', '≥80'], ['[20, 30)', '≥80'], ['*', '*']]
    """

    widths: tuple[Number, ...]
    bottom: Number | None = None
    top: Number | None = None

    def __post_init__(self) -> None:
        widths = require_numbers(self.widths, "intervals")
        bottom, top = check_tails(self.bottom, self.top)
        if any(width <= 0 for width in widths):
            raise BadHierarchy(f"intervals = {list(widths)}: a width must be above 0")
        for fine, coarse in pairwise(widths):
            if exact(coarse) % exact(fine) or exact(coarse) == exact(fine):
                raise BadHierarchy(
                    f"intervals = {list(widths)}: {coarse} is not a multiple of {fine}, so they do not nest; "
                    "make each width a multiple of the one before"
                )
        for field, value in (("widths", widths), ("bottom", bottom), ("top", top)):
            object.__setattr__(self, field, value)

    def taxonomy(self, column: Column) -> Taxonomy:
        numbers = numbers_of(column, "intervals")
        return built(column, [label_intervals(numbers, partial(self._cell, exact(width))) for width in self.widths])

    def spec(self) -> dict[str, Any]:
        tails = {"bottom": self.bottom, "top": self.top}
        return {"intervals": list(self.widths)} | {k: v for k, v in tails.items() if v is not None}

    def _cell(self, width: Fraction, number: Fraction) -> Cell:
        """Return the ends of the interval that a number lies in; an open end is None."""
        low = number // width * width
        high = low + width
        if self.bottom is not None:
            bottom = exact(self.bottom)
            if number < bottom:
                return None, bottom
            low = max(low, bottom)
        if self.top is not None:
            top = exact(self.top)
            if number >= top:
                return top, None
            high = min(high, top)
        return low, high


@dataclass(frozen=True, slots=True)
class Edges:
    """Intervals between given edges, open at both ends; a further level keeps some of the edges (S2.2).

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> Edges([18, 65]).taxonomy(encode("age", pa.array([7, 18, 65]))).levels
    [['<18', '[18, 65)', '≥65'], ['*', '*', '*']]
    """

    edges: tuple[Number, ...] | tuple[tuple[Number, ...], ...]

    def __post_init__(self) -> None:
        given: Any = self.edges
        nested = is_list(given) and given and all(is_list(level) for level in given)
        edges = tuple(require_numbers(level, "edges") for level in given) if nested else require_numbers(given, "edges")
        object.__setattr__(self, "edges", edges)
        for level in self._levels():
            if any(low >= high for low, high in pairwise(level)):
                raise BadHierarchy(f"edges = {self.spec()['edges']}: edges must rise; sort them and name each once")
        for fine, coarse in pairwise(self._levels()):
            if not set(coarse) < set(fine):
                raise BadHierarchy(
                    f"edges = {self.spec()['edges']}: every level must keep some, not all, edges of the level before"
                )

    def taxonomy(self, column: Column) -> Taxonomy:
        numbers = numbers_of(column, "edges")
        return built(column, [label_intervals(numbers, partial(_between, level)) for level in self._levels()])

    def spec(self) -> dict[str, Any]:
        return {"edges": [list(edge) if isinstance(edge, tuple) else edge for edge in self.edges]}

    def _levels(self) -> list[list[Fraction]]:
        """Return the exact edges of each level."""
        levels = [level for level in self.edges if isinstance(level, tuple)]
        flat = tuple(edge for edge in self.edges if not isinstance(edge, tuple))
        return [[exact(edge) for edge in level] for level in levels or [flat]]


def _between(edges: list[Fraction], number: Fraction) -> Cell:
    """Return the two edges that a number lies between; an open end is None."""
    at = bisect_right(edges, number)
    return (edges[at - 1] if at else None), (edges[at] if at < len(edges) else None)
