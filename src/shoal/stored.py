"""Distinct rows that lie in files because they do not fit in memory: packed keys, and how often each occurs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes
from shoal.frequency import FrequencySet, Layout

CHUNK = 1 << 20
"""Rows that are read at once."""


@dataclass
class Traffic:
    """Rows that went from and to the disk, level by level (S4.7)."""

    read: Counter[int] = field(default_factory=Counter)
    written: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Stored:
    """A frequency set in a file; who asks for its pieces gets so many rows at a time.

    >>> import tempfile
    >>> ages = FrequencySet.count({"age": (np.array([0, 1, 1], np.int32), 2)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = Stored(("age",), ages.layout, Path(folder) / "ages")
    ...     stored.add(ages)
    ...     stored.items, [piece.counts.tolist() for piece in stored.pieces()]
    (2, [[1, 2]])
    """

    attributes: tuple[str, ...]
    layout: Layout
    path: Path
    room: int = 1 << 22
    """How many rows may be in memory."""
    parted: bool = False
    """Whether the part of each row lies beside it."""

    @property
    def _kind(self) -> np.dtype[np.void]:
        fields: list[tuple[Any, ...]] = [("key", "<u8", (self.layout.words,)), ("n", "<i8")]
        return np.dtype([*fields, ("part", "<i4")] if self.parted else fields)

    @property
    def items(self) -> int:
        """Rows of the file."""
        return self.path.stat().st_size // self._kind.itemsize if self.path.exists() else 0

    def add(self, piece: FrequencySet, part: Codes | None = None) -> None:
        """Write more rows behind those that are there; the file is open no longer than that."""
        rows = np.empty(len(piece), dtype=self._kind)
        rows["key"], rows["n"] = piece.keys, piece.counts
        if self.parted:
            rows["part"] = part
        with self.path.open("ab") as file:
            file.write(rows.tobytes())

    def pieces(self, size: int = CHUNK) -> Iterator[FrequencySet]:
        """The rows, so many at a time."""
        for rows in self._rows(size):
            yield self._piece(rows)

    def with_parts(self, size: int = CHUNK) -> Iterator[tuple[FrequencySet, Codes]]:
        """The same, and the part of each row."""
        for rows in self._rows(size):
            yield self._piece(rows), np.ascontiguousarray(rows["part"])

    def _rows(self, size: int) -> Iterator[NDArray[np.void]]:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            while len(rows := np.fromfile(file, self._kind, size)):
                yield rows

    def _piece(self, rows: NDArray[np.void]) -> FrequencySet:
        keys, counts = np.ascontiguousarray(rows["key"]), np.ascontiguousarray(rows["n"])
        return FrequencySet(self.attributes, self.layout, keys, counts)

    def beside(self, name: str, *, parted: bool = False) -> "Stored":
        """An empty file in the same folder for rows of the same kind."""
        return Stored(self.attributes, self.layout, self.path.with_name(name), self.room, parted)

    def whole(self) -> FrequencySet:
        """All rows at once."""
        pieces = list(self.pieces(max(self.items, 1)))
        assert len(pieces) == 1
        return pieces[0]

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def distinct_of(piece: FrequencySet, names: Sequence[str], part: Codes) -> tuple[FrequencySet, Codes]:
    """The distinct rows of some attributes, in no part more than one, and the part of each."""
    sizes = [int(piece.layout.mask[piece.attributes.index(name)]) + 1 for name in names]
    first = int(part.min())
    columns = {name: (piece.codes(name), size) for name, size in zip(names, sizes, strict=True)}
    found = FrequencySet.count(columns | {"": (part - np.int32(first), int(part.max()) - first + 1)})
    layout = Layout.of(sizes)
    codes = {name: (found.codes(name), size) for name, size in zip(names, sizes, strict=True)}
    made = FrequencySet.listed(codes)
    return FrequencySet(tuple(names), layout, made.keys, found.counts), found.codes("") + np.int32(first)
