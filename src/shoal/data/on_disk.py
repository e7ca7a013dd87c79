"""Frequency sets that do not fit in memory: distinct rows are stored in files and rolled up piece by piece."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet, Rest
from shoal.data.packed_keys import Counted, Layout
from shoal.errors import BadInput

CHUNK = 1 << 20
"""Rows that are read at a time."""


@dataclass
class Traffic:
    """Rows read from and written to the disk, per level of cuts (S4.7)."""

    read: Counter[int] = field(default_factory=Counter)
    written: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class StoredRows:
    """A frequency set in a file, read piece by piece.

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
    """Number of rows that may be in memory."""
    parted: bool = False
    """Whether the part of each row is stored with it."""

    @property
    def _dtype(self) -> np.dtype[np.void]:
        fields: list[tuple[Any, ...]] = [("key", "<u8", (self.layout.words,)), ("n", "<i8")]
        return np.dtype([*fields, ("part", "<i4")] if self.parted else fields)

    @property
    def items(self) -> int:
        """Number of rows of the file."""
        return self.path.stat().st_size // self._dtype.itemsize if self.path.exists() else 0

    def add(self, piece: FrequencySet, part: Codes | None = None) -> None:
        """Append rows to the file, with the part of each if parts are stored; the file does not stay open."""
        rows = np.empty(len(piece), dtype=self._dtype)
        rows["key"], rows["n"] = piece.keys, piece.counts
        if self.parted:
            rows["part"] = part
        with self.path.open("ab") as file:
            file.write(rows.tobytes())

    def pieces(self, size: int = CHUNK) -> Iterator[FrequencySet]:
        """Yield the rows, `size` at a time."""
        for rows in self._rows(size):
            yield self._piece(rows)

    def pieces_with_parts(self, size: int = CHUNK) -> Iterator[tuple[FrequencySet, Codes]]:
        """Yield the rows, `size` at a time, with the part of each."""
        for rows in self._rows(size):
            yield self._piece(rows), np.ascontiguousarray(rows["part"])

    def _rows(self, size: int) -> Iterator[NDArray[np.void]]:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            while len(rows := np.fromfile(file, self._dtype, size)):
                yield rows

    def _piece(self, rows: NDArray[np.void]) -> FrequencySet:
        keys, counts = np.ascontiguousarray(rows["key"]), np.ascontiguousarray(rows["n"])
        return FrequencySet(self.attributes, self.layout, keys, counts)

    def empty_sibling(self, name: str, *, parted: bool = False) -> "StoredRows":
        """Return an empty file of this name in the same folder, for rows with the same attributes and layout."""
        return StoredRows(self.attributes, self.layout, self.path.with_name(name), self.room, parted)

    def read_all(self) -> FrequencySet:
        """Return all rows at once; none where the file is empty, or was never written."""
        return next(self.pieces(max(self.items, 1)), self._piece(np.empty(0, self._dtype)))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def distinct_of(piece: FrequencySet, names: Sequence[str], part: Codes) -> tuple[FrequencySet, Codes]:
    """Return the distinct combinations of part and values of some attributes: the rows, and the part of each."""
    sizes = [int(piece.layout.mask[piece.attributes.index(name)]) + 1 for name in names]
    first = int(part.min())
    columns = {name: (piece.codes(name), size) for name, size in zip(names, sizes, strict=True)}
    # the part is grouped as one more attribute without a name, numbered from 0
    found = FrequencySet.count(columns | {"": (part - np.int32(first), int(part.max()) - first + 1)})
    # the same rows packed without the part
    layout = Layout.of(sizes)
    codes = {name: (found.codes(name), size) for name, size in zip(names, sizes, strict=True)}
    made = FrequencySet.from_rows(codes)
    return FrequencySet(tuple(names), layout, made.keys, found.counts), found.codes("") + np.int32(first)


_CHUNK = 1 << 20
"""Rows of the file that are processed at a time."""
_WAITING = 1 << 22
"""Rows that are collected before they are merged."""
_SURELY = 1.2
"""If the first part exceeds its share of `room` by this factor, the whole will not fit: parts are similar in size."""
_FEW = 0.05
"""A node with fewer classes than this share of `room` is listed even if it fails, as coarser nodes are made from it."""


class Spool:
    """Writes distinct rows to a pair of files, one of keys and one of counts."""

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
    """A frequency set whose classes are in a file; columns counted per class are further attributes of its rows."""

    full: FrequencySet = field(
        default_factory=lambda: FrequencySet((), Layout.of([]), np.zeros((0, 1), np.uint64), np.zeros(0, np.int64))
    )
    """An empty set with the attributes and layout of the rows of the file."""
    path: Path = field(default_factory=Path)
    items: int = 0
    """Number of rows of the file."""
    total: int = 0
    """Number of rows of the table."""
    counted: tuple[Counted, ...] = ()
    columns: Mapping[str, Longs] = field(default_factory=dict)
    """Rows of the table per code of every column."""
    room: int = 1 << 20
    """Number of classes that may be listed in memory."""
    least: int = 1
    """Classes of fewer rows fail in any case."""
    lost: int = 0
    """A node at which more rows fail is not examined any further."""

    def __len__(self) -> int:
        return self.items

    @property
    def rows(self) -> int:
        return self.total

    def all_marginals(self, sizes: Sequence[int]) -> list[Longs]:
        return [self.marginal(name, size) for name, size in zip(self.attributes, sizes, strict=True)]

    def marginal(self, attribute: str, size: int) -> Longs:
        del size
        return self.columns[attribute]

    def at_least(self, rows: int, lost: int) -> "Spilled":
        return replace(self, least=rows, lost=lost)

    def rollup(self, maps: Mapping[str, Codes], *, want_classes: bool = False) -> FrequencySet:
        """Roll up into a set in memory, whose `classes` is never set; small classes may be summarised in its `rest`."""
        del want_classes
        alone = [name for name in self.attributes if name not in maps or maps[name].any()]
        if len(alone) <= 1 and not self.counted:
            return self._rollup_one_attribute(maps, alone)
        parts = self._part_count
        first = self._merged(maps, parts, 0)  # from its size, the size of the whole is estimated
        if self.least <= 1 or self._is_worth_listing(first, parts):
            whole = self._merged(maps)
            if whole is not None:
                return whole.classed(self.attributes, self.counted, self._sizes)
        if self.least <= 1:
            raise BadInput(
                f"a node has more than {self.room:,} classes, which do not fit, and no model asks for a least size of "
                "a class; allow more memory, or set min-level of some attributes"
            )
        return self._rollup_large_classes(maps, parts, first)

    def rollup_rows(self, maps: Mapping[str, Codes], only: FrequencySet | None) -> FrequencySet | None:
        """Return the rows of the file rolled up, those of the classes `only` if given; None if they do not fit."""
        return self._merged(maps, only=only)

    def compact(self, maps: Mapping[str, Codes], sizes: Sequence[int]) -> FrequencySet:
        """Roll up and narrow the keys, unless some classes are not listed: then keys keep their width."""
        coarse = self.rollup(maps)
        return coarse if coarse.rest is not None else coarse.compact({}, sizes)

    @property
    def _sizes(self) -> dict[str, int]:
        return {name: len(counts) for name, counts in self.columns.items()}

    def _rollup_one_attribute(self, maps: Mapping[str, Codes], alone: Sequence[str]) -> FrequencySet:
        """Return the classes if at most one attribute, in `alone`, varies: they are known without the file."""
        codes = {name: np.zeros(1, dtype=np.int32) for name in self.attributes}
        counts = np.array([self.total])
        for name in alone:
            every = np.arange(len(self.columns[name]), dtype=np.int32)
            lifted = maps.get(name, every)
            counts = sum_counts(lifted[: len(every)], self.columns[name])
            codes = {other: np.zeros(len(counts), dtype=np.int32) for other in self.attributes}
            codes[name] = np.arange(len(counts), dtype=np.int32)
        made = FrequencySet.from_rows({name: (codes[name], self._sizes[name]) for name in self.attributes})
        return replace(made, counts=counts, classes=None).select_classes(counts > 0)

    def _is_worth_listing(self, first: FrequencySet | None, parts: int) -> bool:
        """Return whether all classes are expected to fit, and are few or not failing; judged by the first part."""
        if first is None or len(first) * parts > _SURELY * self.room:
            return False
        return len(first) * parts < _FEW * self.room or self._small_classes(first).rows <= self.lost

    def _small_classes(self, rows: FrequencySet) -> FrequencySet:
        """Return the classes of these rows that have fewer rows than `least`."""
        classes = rows.classed(self.attributes, (), self._sizes)
        return classes.select_classes(classes.counts < self.least)

    @property
    def _part_count(self) -> int:
        """Number of parts to divide the rows into, so that each is expected to fit even if no rows merge."""
        return 2 * ceil(self.items / self.room)

    def _pieces(self) -> Iterator[FrequencySet]:
        """Yield the rows of the file, a chunk at a time."""
        words = self.full.layout.words
        with self.path.with_suffix(".keys").open("rb") as keys, self.path.open("rb") as counts:
            for _ in range(0, self.items, _CHUNK):
                many = np.fromfile(counts, np.int64, _CHUNK)
                piece = np.fromfile(keys, np.uint64, len(many) * words).reshape(-1, words)
                yield replace(self.full, keys=piece, counts=many)

    def _merged(
        self, maps: Mapping[str, Codes], parts: int = 1, part: int = 0, only: FrequencySet | None = None
    ) -> FrequencySet | None:
        """Return the rows rolled up, all of them or one of several parts; None as soon as they are too many.

        Raises BadInput if a single class is too large, since smaller parts would not help.
        """
        merged, waiting, many = None, [], 0
        for piece in self._pieces():
            chosen = piece.rollup(maps) if parts == 1 else piece.rollup_part(maps, self.attributes, parts, part)
            chosen = chosen if only is None else chosen.select_classes(chosen.is_in(only))
            waiting.append(chosen)
            many += len(chosen)
            if many >= max(_WAITING, 0 if merged is None else len(merged)):
                merged, waiting, many = _merge_all(merged, waiting), [], 0
                if len(merged) > self.room:
                    break
        merged = _merge_all(merged, waiting)
        if len(merged) <= self.room:
            return merged
        if parts > 1:
            self._refuse_large_class(merged)
        return None

    def _refuse_large_class(self, rows: FrequencySet) -> None:
        """Raise BadInput if one class alone does not fit: its rows stay together, however many parts there are."""
        each = replace(rows, counts=np.ones(len(rows), dtype=np.int64))
        if each.classed(self.attributes, (), self._sizes).counts.max() > self.room:
            raise BadInput(
                f"the rows of one class hold more than {self.room:,} different values beside the quasi-identifiers, "
                "which do not fit; allow more memory"
            )

    def _rollup_large_classes(self, maps: Mapping[str, Codes], parts: int, first: FrequencySet | None) -> FrequencySet:
        """Return the classes that are large enough, with a summary of the others in `rest`.

        All rows of a class are in the same part, so its size is known from that part. Once small classes hold too many
        rows, the node fails, and the remaining parts are not read.
        """
        listed, rest = None, None
        for part in range(parts):
            merged = first if part == 0 else self._merged(maps, parts, part)
            if merged is None:  # this part is too large: divide into more parts
                return self._rollup_large_classes(maps, 2 * parts, self._merged(maps, 2 * parts, 0))
            classes = merged.classed(self.attributes, self.counted, self._sizes)
            large = classes.counts >= self.least
            kept, fewer = classes.select_classes(large), classes.select_classes(~large)
            small = Rest.of(fewer, [self._sizes[name] for name in self.attributes])
            listed = kept if listed is None else listed.concat(kept)
            rest = small if rest is None else rest.merge(small)
            if rest.rows > self.lost:
                break
            if len(listed) > self.room:
                raise BadInput(f"a node has more than {self.room:,} classes that may be released; allow more memory")
        assert listed is not None
        return replace(listed, rest=rest)


def _merge_all(merged: FrequencySet | None, waiting: Sequence[FrequencySet]) -> FrequencySet:
    """Merge what was merged before and the waiting pieces into one set."""
    every = [*([] if merged is None else [merged]), *waiting]
    keys = np.concatenate([each.keys for each in every])
    counts = np.concatenate([each.counts for each in every])
    return replace(every[0], keys=keys, counts=counts).rollup({})
