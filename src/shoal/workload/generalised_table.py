"""A table as queries see it: for each attribute, the face that every row shows."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from shoal.data.codes import Codes, Table
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadInput
from shoal.hierarchy.taxonomy import TOP, Taxonomy
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.workload.queries import Domain, Numbers, Texts, domain_of
from shoal.workload.selectivity import Faces, NumberFaces, Sets, TextFaces

Cell = str | None
Face = Mapping[str, Cell]
"""Cells of an attribute's released columns, keyed `label`, or by the name of a statistic or a bound."""
LABEL = "label"
_BOUNDS = (("lo", "hi"), ("min", "max"))
_SINGLE = ("mean", "median", "mode")


@dataclass(frozen=True)
class Extent:
    """The numbers that a face stands for."""

    low: float = math.nan
    high: float = math.nan
    open: bool = False
    filled: float = 1.0
    vague: bool = False
    members: tuple[float, ...] = ()


@dataclass(frozen=True)
class FaceReader:
    """Reads the faces of one attribute.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.workload.queries import domain_of
    >>> ages = FaceReader("age", domain_of(encode("age", pa.array([18, 95]))))
    >>> faces = ages.read_faces([{"label": label} for label in ("[20, 30)", "≥80", "*", "25", None)])
    >>> faces.low.tolist()[:4], faces.high.tolist()[:4]
    ([20.0, 80.0, 18.0, 25.0], [29.0, 95.0, 95.0, 25.0])
    """

    name: str
    domain: Domain
    taxonomy: Taxonomy | None = field(default=None, repr=False)

    def read_faces(self, shown: Sequence[Face]) -> Faces:
        """Return what each face stands for."""
        if isinstance(self.domain, Texts):
            return self._texts([self._value_cell(face) for face in shown], self.domain)
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

    def _value_cell(self, face: Face) -> Cell:
        """Return the cell that stands for the values: the label, or else a statistic."""
        return next(face[kind] for kind in (LABEL, *_SINGLE) if kind in face)

    # --- numbers ---------------------------------------------------------------------------------------------------

    def _extent(self, face: Face, domain: Numbers) -> Extent:
        if LABEL in face:
            return self._extent_of_label(face[LABEL], domain)
        for low, high in _BOUNDS:
            if low in face:
                return self._extent_of_bounds(face[low], face[high], domain)
        cell = self._value_cell(face)
        if cell is None:
            return Extent(filled=0.0)
        if cell in self._tops:
            return self._whole_extent(domain)
        return Extent(self._number(cell), self._number(cell), vague=True)

    def _extent_of_label(self, label: Cell, domain: Numbers) -> Extent:
        if label is None:
            return Extent(filled=0.0)
        if label in self._tops:
            return self._whole_extent(domain)
        leaves, meant = self._leaves.get(label), None if label in self._raw else parse_label(label)
        if isinstance(meant, Interval):
            extent = self._interval(meant, domain)
            # a hierarchy may use such a label for other values than those of the range
            if leaves is None or all(_is_inside(extent, self._number(leaf)) for leaf in leaves):
                return extent
        members = meant.values if isinstance(meant, Members) else leaves
        if members is not None and label not in self._raw:
            return Extent(members=tuple({self._number(value) for value in members}))
        return Extent(self._number(label), self._number(label))

    def _interval(self, meant: Interval, domain: Numbers) -> Extent:
        low = domain.low if meant.low is None else self._number(meant.low)
        if meant.high is None:
            return Extent(low, domain.high)
        end = domain.greatest_up_to(meant.high) if meant.closed else self._number(meant.high)
        if domain.whole:
            return Extent(math.ceil(low), math.floor(end) if meant.closed else math.ceil(end) - 1)
        return Extent(low, end, open=not meant.closed)

    def _extent_of_bounds(self, low: Cell, high: Cell, domain: Numbers) -> Extent:
        if low is None and high is None:
            return self._whole_extent(domain)
        return Extent(
            domain.low if low is None else self._number(low), domain.high if high is None else self._number(high)
        )

    def _whole_extent(self, domain: Numbers) -> Extent:
        return Extent(domain.low, domain.high, filled=self._non_null_share)

    def _number(self, text: str) -> float:
        assert isinstance(self.domain, Numbers)
        try:
            return self.domain.number(text)
        except ValueError:
            raise self._unreadable_error() from None

    # --- texts -----------------------------------------------------------------------------------------------------

    def _texts(self, shown: Sequence[Cell], domain: Texts) -> TextFaces:
        members: dict[Cell, Sequence[int]] = {cell: self._members(cell, domain) for cell in dict.fromkeys(shown)}
        filled = [0.0 if cell is None else self._non_null_share if cell in self._tops else 1.0 for cell in shown]
        sets = [(at, members[cell]) for at, cell in enumerate(shown) if members[cell]]
        return TextFaces(domain, Sets.of(sets), np.array(filled, dtype=np.float64))

    def _members(self, cell: Cell, domain: Texts) -> Sequence[int]:
        """Return the places in the domain of the values that a label may stand for."""
        if cell is None:
            return ()
        if cell in self._tops:
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
        raise self._unreadable_error()

    # --- both ------------------------------------------------------------------------------------------------------

    @property
    def _non_null_share(self) -> float:
        """The share of non-null values in a face that may stand for anything: distinct ones, with null as one more."""
        column = self.domain.column
        return len(column.values) / column.size if column.size else 0.0

    @cached_property
    def _raw(self) -> frozenset[str]:
        """The values of the column; one of them may look like a label."""
        return frozenset(self.domain.column.texts.to_pylist())

    @cached_property
    def _tops(self) -> frozenset[str]:
        """The labels that may stand for anything: `*`, and the name of the hierarchy's root."""
        return frozenset({TOP} if self.taxonomy is None else {TOP, self.taxonomy.top})

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

    def _unreadable_error(self) -> BadInput:
        return BadInput(f"column {self.name!r}: it shows what neither the grammar of labels nor its hierarchy explains")


def _is_inside(extent: Extent, number: float) -> bool:
    return extent.low <= number < extent.high or (number == extent.high and not extent.open)


Cells = tuple[Codes, Sequence[str | None]]
"""A released column: a code per row, and the text behind each code."""


@dataclass(frozen=True)
class ShownAttribute:
    """What is shown of one attribute."""

    codes: Codes
    """The face of each row."""
    faces: Faces
    size: int
    """Number of faces."""
    numeric: bool


@dataclass(frozen=True)
class GeneralisedTable:
    """A release, or the original itself: attributes and the faces of their rows."""

    attributes: Mapping[str, ShownAttribute]
    rows: int


@dataclass(frozen=True)
class QueriedOriginal:
    """The table that a release was made from, and what is known of its attributes.

    >>> from shoal.data.codes import encode
    >>> table = Table({"age": encode("age", pa.array([20, 31]))}, 2)
    >>> QueriedOriginal(table).show_columns({"age"}).attributes["age"].faces.low.tolist()
    [20.0, 31.0]
    """

    table: Table
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)
    """Taxonomies of the attributes that were generalised along a hierarchy."""

    def domain(self, name: str) -> Domain:
        known = self.taxonomies.get(name)
        return domain_of(self.table[name], known.leaves if known is not None else ())

    def show_columns(self, names: Collection[str]) -> GeneralisedTable:
        """Return columns of the table unchanged: every value is its own face."""
        known = [name for name in self.table.columns if name in names]
        return GeneralisedTable({name: self._show_unchanged(name) for name in known}, self.table.rows)

    def _show_unchanged(self, name: str) -> ShownAttribute:
        column, domain = self.table[name], self.domain(name)
        filled = np.ones(column.size)
        filled[len(column.values) :] = 0.0
        faces: Faces
        if isinstance(domain, Numbers):
            numbers = np.append(domain.values, np.zeros(column.size - len(domain.values)))
            faces = NumberFaces(domain, numbers, numbers, filled=filled)
        else:
            each = np.arange(len(column.values), dtype=np.int64)
            faces = TextFaces(domain, Sets(each, each, each.astype(np.float64)), filled)
        return ShownAttribute(column.codes, faces, column.size, domain.kind == "number")


def read_release(
    columns: Mapping[str, Cells],
    statistics: Mapping[str, tuple[str, str]],
    names: Collection[str],
    original: QueriedOriginal,
) -> GeneralisedTable:
    """Return what released columns show of some attributes of the original, read from the columns alone.

    `statistics` maps a column that shows a statistic or a bound to its attribute and the kind of statistic.

    >>> from shoal.data.codes import encode
    >>> original = QueriedOriginal(Table({"age": encode("age", pa.array([20, 31]))}, 2))
    >>> cells = np.array([0, 0], np.int32), ["[20, 40)"]
    >>> read_release({"age": cells}, {}, ["age"], original).attributes["age"].faces.high.tolist()
    [39.0]
    """
    parts: dict[str, dict[str, Cells]] = {}
    for name, cells in columns.items():
        of, kind = statistics.get(name, (name, LABEL))
        if of in names and of in original.table.columns:
            parts.setdefault(of, {})[kind] = cells
    rows = len(next(iter(columns.values()))[0])
    attributes = {name: _read_attribute(name, shown, original) for name, shown in parts.items()}
    return GeneralisedTable(attributes, rows)


def _read_attribute(name: str, shown: Mapping[str, Cells], original: QueriedOriginal) -> ShownAttribute:
    """Read an attribute: each distinct combination of cells in its columns is one face."""
    domain = original.domain(name)
    reader = FaceReader(name, domain, original.taxonomies.get(name))
    together = FrequencySet.count(
        {kind: (codes, max(len(texts), 1)) for kind, (codes, texts) in shown.items()}, want_classes=True
    )
    assert together.classes is not None
    cells = {kind: [texts[code] for code in together.codes(kind).tolist()] for kind, (_, texts) in shown.items()}
    faces = [dict(zip(cells, each, strict=True)) for each in zip(*cells.values(), strict=True)]
    return ShownAttribute(
        together.classes,
        reader.read_faces(faces),
        len(faces),
        not isinstance(domain, Texts) and domain.kind == "number",
    )


def text_cells(table: pa.Table) -> dict[str, Cells]:
    """Encode the columns of a table of texts; null gets a code of its own."""
    found = {}
    for name in table.column_names:
        column = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        found[name] = (column.indices.to_numpy().astype(np.int32), column.dictionary.to_pylist())
    return found
