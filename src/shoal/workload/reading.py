"""What a release shows of an attribute, read by the grammar of labels and the hierarchy (design 9)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.errors import BadInput
from shoal.hierarchy import TOP, Taxonomy
from shoal.labels import Interval, Members, parse_label
from shoal.workload.domains import Domain, Numbers, Texts
from shoal.workload.seeing import Faces, NumberFaces, Sets, TextFaces

Cell = str | None
Face = Mapping[str, Cell]
"""What stands in the released columns of an attribute: under `label`, or the name of a statistic, or a bound."""
LABEL = "label"
_BOUNDS = (("lo", "hi"), ("min", "max"))
_SINGLE = ("mean", "median", "mode")


@dataclass(frozen=True)
class Extent:
    """What a face of numbers stands for."""

    low: float = math.nan
    high: float = math.nan
    open: bool = False
    filled: float = 1.0
    vague: bool = False
    members: tuple[float, ...] = ()


@dataclass(frozen=True)
class Reader:
    """Reads the faces of one attribute.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> from shoal.workload.domains import domain_of
    >>> ages = Reader("age", domain_of(encode("age", pa.array([18, 95]))))
    >>> faces = ages.faces([{"label": label} for label in ("[20, 30)", "≥80", "*", "25", None)])
    >>> faces.low.tolist()[:4], faces.high.tolist()[:4]
    ([20.0, 80.0, 18.0, 25.0], [29.0, 95.0, 95.0, 25.0])
    """

    name: str
    domain: Domain
    taxonomy: Taxonomy | None = field(default=None, repr=False)

    def faces(self, shown: Sequence[Face]) -> Faces:
        """What each of these stands for."""
        if isinstance(self.domain, Texts):
            return self._texts([self._single(face) for face in shown], self.domain)
        known: dict[tuple[tuple[str, Cell], ...], Extent] = {}
        extents, means = [], []
        for face in shown:
            key = tuple((kind, cell) for kind, cell in face.items() if kind != "mean" or len(face) == 1)
            if key not in known:
                known[key] = self._extent(dict(key), self.domain)
            extents.append(known[key])
            mean = face.get("mean")
            means.append(math.nan if mean is None else self._number(mean))
        return NumberFaces(
            self.domain,
            np.array([extent.low for extent in extents], dtype=np.float64),
            np.array([extent.high for extent in extents], dtype=np.float64),
            np.array([extent.open for extent in extents], dtype=bool),
            np.array([extent.filled for extent in extents]),
            np.array(means, dtype=np.float64),
            np.array([extent.vague for extent in extents], dtype=bool),
            Sets.of([(at, extent.members) for at, extent in enumerate(extents) if extent.members]),
        )

    def _single(self, face: Face) -> Cell:
        """The one column that tells the values: its range, or else a statistic."""
        return next(face[kind] for kind in (LABEL, *_SINGLE) if kind in face)

    # --- numbers ---------------------------------------------------------------------------------------------------

    def _extent(self, face: Face, domain: Numbers) -> Extent:
        if LABEL in face:
            return self._label(face[LABEL], domain)
        for low, high in _BOUNDS:
            if low in face:
                return self._between(face[low], face[high], domain)
        cell = self._single(face)
        if cell is None:
            return Extent(filled=0.0)
        return self._all(domain) if cell == TOP else Extent(self._number(cell), self._number(cell), vague=True)

    def _label(self, label: Cell, domain: Numbers) -> Extent:
        if label is None:
            return Extent(filled=0.0)
        if label == TOP:
            return self._all(domain)
        leaves, meant = self._leaves.get(label), None if label in self._raw else parse_label(label)
        if isinstance(meant, Interval):
            extent = self._interval(meant, domain)
            # a hierarchy may use such a label for other values than those of the range
            if leaves is None or all(_inside(extent, self._number(leaf)) for leaf in leaves):
                return extent
        members = meant.values if isinstance(meant, Members) else leaves
        if members is not None and label not in self._raw:
            return Extent(members=tuple({self._number(value) for value in members}))
        return Extent(self._number(label), self._number(label))

    def _interval(self, meant: Interval, domain: Numbers) -> Extent:
        low = domain.low if meant.low is None else self._number(meant.low)
        if meant.high is None:
            return Extent(low, domain.high)
        end = domain.last(meant.high) if meant.closed else self._number(meant.high)
        if domain.whole:
            return Extent(math.ceil(low), math.floor(end) if meant.closed else math.ceil(end) - 1)
        return Extent(low, end, open=not meant.closed)

    def _between(self, low: Cell, high: Cell, domain: Numbers) -> Extent:
        if low is None and high is None:
            return self._all(domain)
        return Extent(
            domain.low if low is None else self._number(low), domain.high if high is None else self._number(high)
        )

    def _all(self, domain: Numbers) -> Extent:
        return Extent(domain.low, domain.high, filled=self._filled)

    def _number(self, text: str) -> float:
        assert isinstance(self.domain, Numbers)
        try:
            return self.domain.number(text)
        except ValueError:
            raise self._strange() from None

    # --- texts -----------------------------------------------------------------------------------------------------

    def _texts(self, shown: Sequence[Cell], domain: Texts) -> TextFaces:
        members: dict[Cell, Sequence[int]] = {cell: self._members(cell, domain) for cell in dict.fromkeys(shown)}
        filled = [0.0 if cell is None else self._filled if cell == TOP else 1.0 for cell in shown]
        sets = [(at, members[cell]) for at, cell in enumerate(shown) if members[cell]]
        return TextFaces(domain, Sets.of(sets), np.array(filled, dtype=np.float64))

    def _members(self, cell: Cell, domain: Texts) -> Sequence[int]:
        """The values that a label may stand for."""
        if cell is None:
            return ()
        if cell == TOP:
            return range(len(domain.values))
        if cell in self._raw:
            return (domain.place[cell],)
        if cell in self._leaves:
            return [domain.place[leaf] for leaf in self._leaves[cell]]
        match parse_label(cell):
            case Members(values) if all(value in domain.place for value in values):
                return [domain.place[value] for value in dict.fromkeys(values)]
            case Interval(str(low), str(high), True):
                return [at for at, text in enumerate(domain.values) if low <= text <= high]
        raise self._strange()

    # --- both ------------------------------------------------------------------------------------------------------

    @property
    def _filled(self) -> float:
        """What is not null of a face that may stand for anything: null is one of the values of its column."""
        column = self.domain.column
        return len(column.values) / column.size if column.size else 0.0

    @cached_property
    def _raw(self) -> frozenset[str]:
        """The values themselves: one may look like a label."""
        return frozenset(self.domain.column.texts.to_pylist())

    @cached_property
    def _leaves(self) -> dict[str, list[str]]:
        """The leaves under each label of the hierarchy."""
        found: dict[str, list[str]] = {}
        if self.taxonomy is None:
            return found
        for labels in (self.taxonomy.leaves, *self.taxonomy.levels):
            level: dict[str, list[str]] = {}
            for label, leaf in zip(labels, self.taxonomy.leaves, strict=True):
                level.setdefault(label, []).append(leaf)
            found |= level  # one label means one set of leaves, on whatever level
        return found

    def _strange(self) -> BadInput:
        return BadInput(f"column {self.name!r}: it shows what neither the grammar of labels nor its hierarchy explains")


def _inside(extent: Extent, number: float) -> bool:
    return extent.low <= number < extent.high or (number == extent.high and not extent.open)
