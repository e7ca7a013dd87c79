"""A table as queries see it: of each attribute the face that every row shows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from shoal.codes import Codes, Table
from shoal.frequency import FrequencySet
from shoal.hierarchy import Taxonomy
from shoal.workload.domains import Domain, Numbers, Texts, domain_of
from shoal.workload.reading import LABEL, Reader
from shoal.workload.seeing import Faces, NumberFaces, Sets, TextFaces

Cells = tuple[Codes, Sequence[str | None]]
"""A released column: a code per row, and the text behind each code."""


@dataclass(frozen=True)
class Attribute:
    """What is shown of one attribute."""

    codes: Codes
    """The face of each row."""
    faces: Faces
    size: int
    """How many faces there are."""
    numeric: bool


@dataclass(frozen=True)
class Shown:
    """A release, or the original itself: attributes and the faces of their rows."""

    attributes: Mapping[str, Attribute]
    rows: int


@dataclass(frozen=True)
class Original:
    """The table that a release was made from, and what is known of its attributes.

    >>> from shoal.codes import encode
    >>> table = Table({"age": encode("age", pa.array([20, 31]))}, 2)
    >>> Original(table).shown({"age"}).attributes["age"].faces.low.tolist()
    [20.0, 31.0]
    """

    table: Table
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)
    """Of the attributes that were generalised along a hierarchy."""

    def domain(self, name: str) -> Domain:
        known = self.taxonomies.get(name)
        return domain_of(self.table[name], known.leaves if known is not None else ())

    def shown(self, names: Collection[str]) -> Shown:
        """Columns of the table as they are: every value shows itself."""
        known = [name for name in self.table.columns if name in names]
        return Shown({name: self._as_it_is(name) for name in known}, self.table.rows)

    def _as_it_is(self, name: str) -> Attribute:
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
        return Attribute(column.codes, faces, column.size, domain.kind == "number")


def read_release(
    columns: Mapping[str, Cells], statistics: Mapping[str, tuple[str, str]], names: Collection[str], original: Original
) -> Shown:
    """What released columns show of some attributes of the original, as the columns themselves tell it.

    `statistics` says which columns tell a number of which attribute.

    >>> from shoal.codes import encode
    >>> original = Original(Table({"age": encode("age", pa.array([20, 31]))}, 2))
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
    attributes = {name: _attribute(name, shown, original) for name, shown in parts.items()}
    return Shown(attributes, rows)


def _attribute(name: str, shown: Mapping[str, Cells], original: Original) -> Attribute:
    """One face for each combination that the columns of an attribute show."""
    domain = original.domain(name)
    reader = Reader(name, domain, original.taxonomies.get(name))
    together = FrequencySet.count(
        {kind: (codes, max(len(texts), 1)) for kind, (codes, texts) in shown.items()}, want_classes=True
    )
    assert together.classes is not None
    cells = {kind: [texts[code] for code in together.codes(kind).tolist()] for kind, (_, texts) in shown.items()}
    faces = [dict(zip(cells, each, strict=True)) for each in zip(*cells.values(), strict=True)]
    return Attribute(
        together.classes, reader.faces(faces), len(faces), not isinstance(domain, Texts) and domain.kind == "number"
    )


def text_cells(table: pa.Table) -> dict[str, Cells]:
    """The columns of a table of texts."""
    found = {}
    for name in table.column_names:
        column = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        found[name] = (column.indices.to_numpy().astype(np.int32), column.dictionary.to_pylist())
    return found
