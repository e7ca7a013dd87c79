"""Codes to prefixes or suffixes, one character less per level (S2.2)."""

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from shoal.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.columns import built, first_row, refuse_explosion
from shoal.hierarchy.taxonomy import Taxonomy

MAX_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Mask:
    """Level h hides h characters of the longest value: 53715, 5371*, 537**, … `*` (S2.2).

    A shorter value stays as it is until a level reaches it, so that `5***` never has two meanings.

    >>> from shoal.codes import encode
    >>> Mask("right").taxonomy(encode("zip", pa.array(["021", "025"]))).levels
    [['02*', '02*'], ['0**', '0**'], ['*', '*']]
    """

    side: Literal["right", "left"] = "right"
    char: str = "*"

    def __post_init__(self) -> None:
        if self.side not in ("right", "left"):
            raise BadHierarchy(f"mask = {self.side!r} is no side; write 'right' or 'left'")
        if not _is_visible(self.char):
            raise BadHierarchy(f"char = {self.char!r} is not one visible character; write one such as '*'")

    def taxonomy(self, column: Column) -> Taxonomy:
        lengths = pc.utf8_length(column.texts)
        longest = pc.max(lengths).as_py() or 0
        if longest > MAX_LENGTH:
            row = first_row(column, pc.greater(lengths, MAX_LENGTH))
            raise BadHierarchy(
                f"column {column.name!r}: row {row} is longer than {MAX_LENGTH} characters, too long for a "
                "mask; choose another hierarchy or give the column another role"
            )
        refuse_explosion(column, longest)
        return built(column, [self._level(column.texts, lengths, longest - h, h) for h in range(1, longest)])

    def spec(self) -> dict[str, Any]:
        return {"mask": self.side} | ({"char": self.char} if self.char != "*" else {})

    def _level(self, texts: pa.StringArray, lengths: pa.Array, keep: int, hide: int) -> list[str]:
        fill = pa.scalar(self.char * hide)
        if self.side == "right":
            masked = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, keep), fill, "")
        else:
            masked = pc.binary_join_element_wise(fill, pc.utf8_slice_codeunits(texts, -keep), "")
        labels: list[str] = pc.if_else(pc.less(lengths, keep), texts, masked).to_pylist()
        return labels


def _is_visible(char: Any) -> bool:
    return isinstance(char, str) and len(char) == 1 and char.isprintable() and not char.isspace()
