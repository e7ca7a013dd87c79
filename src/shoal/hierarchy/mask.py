"""Codes to prefixes or suffixes, one character less per level (S2.2)."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.taxonomy import Taxonomy
from shoal.hierarchy.value_columns import built, first_row, refuse_explosion

MAX_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Mask:
    """Level h hides h characters of the longest value: 53715, 5371*, 537**, … `*` (S2.2).

    A shorter value stays as it is until a level reaches it, so that `5***` never has two meanings.

    >>> from shoal.data.codes import encode
    >>> Mask("right").taxonomy(encode("zip", pa.array(["021", "025"]))).levels
    [['02*', '02*'], ['0**', '0**'], ['*', '*']]
    """

    side: Literal["right", "left"] = "right"
    char: str = "*"
    length: int | None = None
    """Length of the longest possible value; left out, that of the longest in the column."""

    def __post_init__(self) -> None:
        if self.side not in ("right", "left"):
            raise BadHierarchy(f"mask = {self.side!r} is no side; write 'right' or 'left'")
        if not _is_visible(self.char):
            raise BadHierarchy(f"char = {self.char!r} is not one visible character; write one such as '*'")
        if self.length is not None:
            object.__setattr__(self, "length", _length(self.length))

    def taxonomy(self, column: Column) -> Taxonomy:
        lengths = pc.utf8_length(column.texts)
        longest = self.length or _longest(lengths)
        if self.length:
            _refuse_longer(column, lengths, self.length)
        elif longest > MAX_LENGTH:
            row = first_row(column, pc.greater(lengths, MAX_LENGTH))
            raise BadHierarchy(
                f"column {column.name!r}: row {row} is longer than {MAX_LENGTH} characters, too long for a "
                "mask; choose another hierarchy or give the column another role"
            )
        refuse_explosion(column, longest)
        return built(column, [self._level(column.texts, lengths, longest - h, h) for h in range(1, longest)])

    def fit(self, column: Column) -> "Mask":
        """Return a mask that hides of any row what it hides of this column's rows.

        >>> from shoal.data.codes import encode
        >>> Mask().fit(encode("zip", pa.array(["021", "02567"]))).length
        5
        """
        return self if self.length else replace(self, length=max(_longest(pc.utf8_length(column.texts)), 1))

    def spec(self) -> dict[str, Any]:
        char = {"char": self.char} if self.char != "*" else {}
        return {"mask": self.side} | char | ({"length": self.length} if self.length else {})

    def _level(self, texts: pa.StringArray, lengths: pa.Array, keep: int, hide: int) -> list[str]:
        """Return the labels of a level: `keep` characters and `hide` masks; a text shorter than `keep` stays."""
        fill = pa.scalar(self.char * hide)
        if self.side == "right":
            masked = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, keep), fill, "")
        else:
            masked = pc.binary_join_element_wise(fill, pc.utf8_slice_codeunits(texts, -keep), "")
        labels: list[str] = pc.if_else(pc.less(lengths, keep), texts, masked).to_pylist()
        return labels


def _is_visible(char: Any) -> bool:
    """Return whether a value is one visible character."""
    return isinstance(char, str) and len(char) == 1 and char.isprintable() and not char.isspace()


def _length(value: Any) -> int:
    """Return a length as an int; refuse anything that is not a whole number in the allowed range."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= MAX_LENGTH:
        raise BadHierarchy(f"length = {value!r} is not a whole number from 1 to {MAX_LENGTH}; write one such as 5")
    return int(value)


def _longest(lengths: pa.Array) -> int:
    return pc.max(lengths).as_py() or 0


def _refuse_longer(column: Column, lengths: pa.Array, length: int) -> None:
    """Refuse values that are longer than the mask."""
    longer = np.flatnonzero(pc.greater(lengths, length).to_numpy(zero_copy_only=False))
    if len(longer):
        rows = sorted(column.first_rows[longer].tolist())
        raise BadHierarchy(
            f"column {column.name!r}: {len(longer)} value(s) are longer than the {length} character(s) of the mask, "
            f"first seen in row(s) {', '.join(map(str, rows[:5]))}{', …' if len(rows) > 5 else ''}; correct them, or "
            "give the mask a greater length",
            values=column.texts.take(pa.array(longer[:5])).to_pylist(),
        )
