"""Frequency sets that do not fit in memory: distinct rows in files, rolled up piece by piece."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet, Rest
from shoal.data.packed_keys import Counted, Layout
from shoal.errors import BadInput

CHUNK = 1 << 20
"""Rows that are read at once."""


@dataclass
class Traffic:
    """Rows that went from and to the disk, level by level (S4.7)."""

    read: Counter[int] = field(default_factory=Counter)
    written: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class StoredRows:
    """A frequency set in a file; who asks for its pieces gets so many rows at a time.

    >>> import tempfile
    >>> ages = FrequencySet.count({"age": (np.array([0, 1, 1], np.int32), 2)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = StoredRows(("age",), ages.layout, Path(folder) / "ages")
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

    def beside(self, name: str, *, parted: bool = False) -> "StoredRows":
        """An empty file in the same folder for rows of the same kind."""
        return StoredRows(self.attributes, self.layout, self.path.with_name(name), self.room, parted)

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


_CHUNK = 1 << 20
"""Rows of the file that are looked at together."""
_WAITING = 1 << 22
"""Rows that are merged together."""
_SURELY = 1.2
"""Where a part has so many times its share of what fits, the whole does not: parts are nearly alike."""
_FEW = 0.05
"""A node with so few of the classes that fit is listed even if it fails: others are made from it, and people told."""


class Spool:
    """Distinct rows on their way into a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, 0
        self._files: tuple[BinaryIO, BinaryIO] = (path.with_suffix(".keys").open("wb"), path.open("wb"))

    def add(self, keys: NDArray[np.uint64], counts: Longs) -> None:
        for file, array in zip(self._files, (keys, counts), strict=True):
            file.write(np.ascontiguousarray(array).data)
        self.rows += len(counts)

    def close(self) -> None:
        for file in self._files:
            file.close()


@dataclass(frozen=True)
class Spilled(FrequencySet):
    """The classes of the attributes, not listed; what was counted beside them lies in the same file."""

    full: FrequencySet = field(
        default_factory=lambda: FrequencySet((), Layout.of([]), np.zeros((0, 1), np.uint64), np.zeros(0, np.int64))
    )
    """Empty: what the rows of the file are made of."""
    path: Path = field(default_factory=Path)
    items: int = 0
    """Rows of the file."""
    total: int = 0
    """Rows of the table."""
    counted: tuple[Counted, ...] = ()
    columns: Mapping[str, Longs] = field(default_factory=dict)
    """Rows of the table per code of every column."""
    room: int = 1 << 20
    """How many classes may be listed."""
    least: int = 1
    """Classes of fewer rows fail, whatever else they are."""
    lost: int = 0
    """A node at which more rows fail is not looked at any further."""

    def __len__(self) -> int:
        return self.items

    @property
    def rows(self) -> int:
        return self.total

    def marginal(self, attribute: str, size: int) -> Longs:
        del size
        return self.columns[attribute]

    def at_least(self, rows: int, lost: int) -> "Spilled":
        return replace(self, least=rows, lost=lost)

    def rollup(self, maps: Mapping[str, Codes], *, want_classes: bool = False) -> FrequencySet:
        """The classes that become of these, in memory; `classes` is never told."""
        del want_classes
        alone = [name for name in self.attributes if name not in maps or maps[name].any()]
        if len(alone) <= 1 and not self.counted:
            return self._marginal(maps, alone)
        parts = self._parts
        first = self._merged(maps, parts, 0)  # tells whether a look at all of them is worth it
        if self.least <= 1 or self._worth_listing(first, parts):
            whole = self._merged(maps)
            if whole is not None:
                return whole.classed(self.attributes, self.counted, self._sizes)
        if self.least <= 1:
            raise BadInput(
                f"a node has more than {self.room:,} classes, which do not fit, and no model asks for a least size of "
                "a class; raise --memory, or set min-level of some attributes"
            )
        return self._condensed(maps, parts, first)

    def shown(self, maps: Mapping[str, Codes], only: FrequencySet | None) -> FrequencySet | None:
        """The rows of the file as they become, of some classes only; None where they do not fit."""
        return self._merged(maps, only=only)

    def compact(self, maps: Mapping[str, Codes], sizes: Sequence[int]) -> FrequencySet:
        """As of any set, but where not all classes are listed their keys stay as they are."""
        coarse = self.rollup(maps)
        return coarse if coarse.rest is not None else coarse.compact({}, sizes)

    @property
    def _sizes(self) -> dict[str, int]:
        return {name: len(counts) for name, counts in self.columns.items()}

    def _marginal(self, maps: Mapping[str, Codes], alone: Sequence[str]) -> FrequencySet:
        """Of one attribute or none, what is known without a look at the file."""
        codes = {name: np.zeros(1, dtype=np.int32) for name in self.attributes}
        counts = np.array([self.total])
        for name in alone:
            every = np.arange(len(self.columns[name]), dtype=np.int32)
            lifted = maps.get(name, every)
            counts = np.bincount(lifted[: len(every)], weights=self.columns[name]).astype(np.int64)
            codes = {other: np.zeros(len(counts), dtype=np.int32) for other in self.attributes}
            codes[name] = np.arange(len(counts), dtype=np.int32)
        made = FrequencySet.listed({name: (codes[name], self._sizes[name]) for name in self.attributes})
        return replace(made, counts=counts, classes=None).kept(counts > 0)

    def _worth_listing(self, first: FrequencySet | None, parts: int) -> bool:
        """Whether all classes will fit, to judge by one part of them, and are few or not failing already."""
        if first is None or len(first) * parts > _SURELY * self.room:
            return False
        return len(first) * parts < _FEW * self.room or self._small(first).rows <= self.lost

    def _small(self, rows: FrequencySet) -> FrequencySet:
        """The classes, of rows of the file, that fail because of their size."""
        classes = rows.classed(self.attributes, (), self._sizes)
        return classes.kept(classes.counts < self.least)

    @property
    def _parts(self) -> int:
        """Into how many parts the rows of the file are dealt, so that each fits even if nothing merges."""
        return 2 * ceil(self.items / self.room)

    def _pieces(self) -> Iterator[FrequencySet]:
        words = self.full.layout.words
        with self.path.with_suffix(".keys").open("rb") as keys, self.path.open("rb") as counts:
            for _ in range(0, self.items, _CHUNK):
                many = np.fromfile(counts, np.int64, _CHUNK)
                piece = np.fromfile(keys, np.uint64, len(many) * words).reshape(-1, words)
                yield replace(self.full, keys=piece, counts=many)

    def _merged(
        self, maps: Mapping[str, Codes], parts: int = 1, part: int = 0, only: FrequencySet | None = None
    ) -> FrequencySet | None:
        """All rows as they become, or one of several parts of them; None as soon as they are too many.

        Of parts, only where smaller ones may help.
        """
        merged, waiting, many = None, [], 0
        for piece in self._pieces():
            chosen = piece.rollup(maps) if parts == 1 else piece.rollup_part(maps, self.attributes, parts, part)
            chosen = chosen if only is None else chosen.kept(chosen.among(only))
            waiting.append(chosen)
            many += len(chosen)
            if many >= max(_WAITING, 0 if merged is None else len(merged)):
                merged, waiting, many = _together(merged, waiting), [], 0
                if len(merged) > self.room:
                    break
        merged = _together(merged, waiting)
        if len(merged) <= self.room:
            return merged
        if parts > 1:
            self._refuse_large_class(merged)
        return None

    def _refuse_large_class(self, rows: FrequencySet) -> None:
        """Raise BadInput if a class alone is too much: it falls into one part, however many there are."""
        each = replace(rows, counts=np.ones(len(rows), dtype=np.int64))
        if each.classed(self.attributes, (), self._sizes).counts.max() > self.room:
            raise BadInput(
                f"the rows of one class hold more than {self.room:,} different values beside the quasi-identifiers, "
                "which do not fit; raise --memory"
            )

    def _condensed(self, maps: Mapping[str, Codes], parts: int, first: FrequencySet | None) -> FrequencySet:
        """The classes of at least the least size, and what the others are together.

        Rows of one class fall into the same part, so what is small in its part is small: once too many rows are in
        such classes, the node fails and the parts that are left are not looked at.
        """
        listed, rest = None, None
        for part in range(parts):
            merged = first if part == 0 else self._merged(maps, parts, part)
            if merged is None:  # more rows alike in one part than in others: deal them out into more
                return self._condensed(maps, 2 * parts, self._merged(maps, 2 * parts, 0))
            classes = merged.classed(self.attributes, self.counted, self._sizes)
            large = classes.counts >= self.least
            kept, fewer = classes.kept(large), classes.kept(~large)
            small = Rest.of(fewer, [self._sizes[name] for name in self.attributes])
            listed = kept if listed is None else listed.beside(kept)
            rest = small if rest is None else rest.beside(small)
            if rest.rows > self.lost:
                break
            if len(listed) > self.room:
                raise BadInput(f"a node has more than {self.room:,} classes that may be released; raise --memory")
        assert listed is not None
        return replace(listed, rest=rest)


def _together(merged: FrequencySet | None, waiting: Sequence[FrequencySet]) -> FrequencySet:
    """All of them as one set."""
    every = [*([] if merged is None else [merged]), *waiting]
    keys = np.concatenate([each.keys for each in every])
    counts = np.concatenate([each.counts for each in every])
    return replace(every[0], keys=keys, counts=counts).rollup({})
