"""Whose record is whose: links of a register held against the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks.linking import Faces, Links
from shoal.attacks.published import Truth
from shoal.attacks.runs import Axis
from shoal.codes import Codes, Table, united
from shoal.counts import Flags, Longs
from shoal.errors import BadInput
from shoal.models.spec import nearest


@dataclass(frozen=True)
class Owners:
    """Of each person of the register the row of the original and the released row; -1 where there is none."""

    original: Longs
    released: Longs
    table: Table

    @classmethod
    def of(cls, truth: Truth, people: Table, on: Sequence[str], key: str | None) -> "Owners":
        """By a column that both have; without one, the register must be the original itself."""
        original = _same_rows(truth.table, people, on) if key is None else _by_key(truth.table, people, key)
        released = np.full(truth.table.rows + 1, -1, dtype=np.int64)
        known = np.flatnonzero(truth.rows >= 0)
        released[truth.rows[known]] = known
        return cls(original, np.where(original < 0, -1, released[original]), truth.table)

    def right(self, axes: Sequence[Axis], places: Sequence[Codes], faces: Faces) -> Flags:
        """Whose own record is among their candidates."""
        face = np.where(self.released < 0, -1, faces.of_row[self.released])
        right = np.asarray(face >= 0)
        for a, (axis, place) in enumerate(zip(axes, places, strict=True)):
            right[right] = axis.holds(faces.labels[face[right], a], place[right])
        return right

    def figures(self, right: Flags, links: Links, faces: Faces, sensitive: Sequence[str]) -> dict[str, Any]:
        """How many links are right, and how many right guesses one candidate chosen blindly would give."""
        certain = {
            f"certain_and_right: {name}": int(self._true(s, name, links, faces).sum())
            for s, name in enumerate(sensitive)
            if name in self.table.columns
        }
        return {
            "people_in_the_release": int((self.released >= 0).sum()),
            "own_record_among_candidates": int(right.sum()),
            "unique_and_right": int((right & (links.candidates == 1)).sum()),
            "expected_right": float((1 / links.candidates[right]).sum()),
        } | certain

    def _true(self, attribute: int, name: str, links: Links, faces: Faces) -> Flags:
        """Of whom the one value that all candidates have is the true one."""
        asked = np.flatnonzero((links.distinct[:, attribute] == 1) & (self.original >= 0))
        texts = pa.concat_arrays([self.table[name].texts, pa.nulls(1, pa.string())])
        true = texts.take(pa.array(self.table[name].codes[self.original[asked]]))
        guess = pa.array(faces.names, pa.string()).take(pa.array(links.likeliest[asked, attribute]))
        return np.asarray(pc.fill_null(pc.equal(true, guess), False).to_numpy(zero_copy_only=False), dtype=bool)


def _by_key(original: Table, people: Table, key: str) -> Longs:
    if key not in original.columns:
        raise BadInput(f"the original: there is no column {key!r}{nearest(key, original.columns)}")
    mine, theirs = united(original[key], people[key])
    named = mine.codes < len(mine.values)
    if len(np.unique(mine.codes[named])) < int(named.sum()):
        raise BadInput(f"the original: column {key!r} does not tell people apart: several rows share a value")
    row = np.full(mine.size + 1, -1, dtype=np.int64)
    row[mine.codes[named]] = np.flatnonzero(named)
    return row[theirs.codes]


def _same_rows(original: Table, people: Table, on: Sequence[str]) -> Longs:
    if original.rows == people.rows and all(name in original.columns for name in on):
        both = [united(original[name], people[name]) for name in on]
        if all(bool((mine.codes == theirs.codes).all()) for mine, theirs in both):
            return np.arange(people.rows, dtype=np.int64)
    raise BadInput(
        "the register is not the original row by row; name with --key the column that tells who is who in both"
    )
