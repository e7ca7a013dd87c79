"""Top and bottom coding, and the hierarchy of two levels that any column can have (S2.2)."""

from dataclasses import dataclass
from typing import Any

from shoal.data.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.exact_numbers import Number, check_tails, exact, interval_label
from shoal.hierarchy.taxonomy import Taxonomy
from shoal.hierarchy.value_columns import built, numbers_of


@dataclass(frozen=True, slots=True)
class TopBottom:
    """Numbers below `bottom` and from `top` on become one open label each, the others stay; then `*` (S2.2).

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> TopBottom(bottom=10, top=90).taxonomy(encode("age", pa.array([4, 50, 90]))).levels
    [['<10', '50', '≥90'], ['*', '*', '*']]
    """

    bottom: Number | None = None
    top: Number | None = None

    def __post_init__(self) -> None:
        if self.bottom is None and self.top is None:
            raise BadHierarchy("top and bottom coding needs bottom, top or both; give one of them")
        bottom, top = check_tails(self.bottom, self.top)
        object.__setattr__(self, "bottom", bottom)
        object.__setattr__(self, "top", top)

    def taxonomy(self, column: Column) -> Taxonomy:
        labels = column.texts.to_pylist()
        numbers = numbers_of(column, "top and bottom coding")
        if self.bottom is not None:
            low = exact(self.bottom)
            labels = [interval_label(None, low) if x < low else label for x, label in zip(numbers, labels, strict=True)]
        if self.top is not None:
            high = exact(self.top)
            labels = [
                interval_label(high, None) if x >= high else label for x, label in zip(numbers, labels, strict=True)
            ]
        return built(column, [labels])

    def spec(self) -> dict[str, Any]:
        tails = {"bottom": self.bottom, "top": self.top}
        return {key: value for key, value in tails.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ValueOnly:
    """The value or `*`, nothing between.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> ValueOnly().taxonomy(encode("sex", pa.array(["m", "f"]))).levels
    [['*', '*']]
    """

    flat: bool = True

    def __post_init__(self) -> None:
        if self.flat is not True:
            raise BadHierarchy(f"flat = {self.flat!r} means nothing; write flat = true or name another hierarchy")

    def taxonomy(self, column: Column) -> Taxonomy:
        return built(column, [])

    def spec(self) -> dict[str, Any]:
        return {"flat": True}
