"""The joining attack: a release and a public register of people, linked by what both tell (S2.1)."""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks.attack import Attack, AuditInputs, Channel, Finding, Knowledge, Rate, option
from shoal.attacks.label_match import Matching
from shoal.attacks.label_sets import CodeAxis
from shoal.attacks.record_linkage import DistinctRows, Links, link_people
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, Column, Table, encode_together
from shoal.data.packed_keys import join_columns
from shoal.errors import BadInput
from shoal.models.spec import suggest_column, suggest_nearest


@dataclass(frozen=True)
class Owners:
    """Row of the original, and released row, of each person of the register; -1 where there is none."""

    original: Longs
    released: Longs
    table: Table

    @classmethod
    def of(cls, truth: Truth, people: Table, on: Sequence[str], key: str | None) -> "Owners":
        """Match people by the column `key`; without one, the register must be the original row by row."""
        original = (
            _match_row_by_row(truth.table, people, on) if key is None else _match_by_key(truth.table, people, key)
        )
        # [original row] its released row; one more entry at the end
        released = np.full(truth.table.rows + 1, -1, dtype=np.int64)
        known = np.flatnonzero(truth.rows >= 0)
        released[truth.rows[known]] = known
        return cls(original, np.where(original < 0, -1, released[original]), truth.table)

    def flag_right_links(self, axes: Sequence[CodeAxis], places: Sequence[Codes], faces: DistinctRows) -> Flags:
        """Flag the people whose own record is among their candidates."""
        # [person] distinct row shown by the person's own released row
        face = np.where(self.released < 0, -1, faces.of_row[self.released])
        right = np.asarray(face >= 0)
        for a, (axis, place) in enumerate(zip(axes, places, strict=True)):
            right[right] = axis.holds(faces.labels[face[right], a], place[right])
        return right

    def figures(self, right: Flags, links: Links, faces: DistinctRows, sensitive: Sequence[str]) -> dict[str, Any]:
        """Count right links, and the right guesses to expect when one candidate is chosen blindly."""
        certain = {
            f"certain_and_right: {name}": int(self._flag_true_guesses(s, name, links, faces).sum())
            for s, name in enumerate(sensitive)
            if name in self.table.columns
        }
        return {
            "people_in_the_release": int((self.released >= 0).sum()),
            "own_record_among_candidates": int(right.sum()),
            "unique_and_right": int((right & (links.candidates == 1)).sum()),
            "expected_right": float((1 / links.candidates[right]).sum()),
        } | certain

    def _flag_true_guesses(self, attribute: int, name: str, links: Links, faces: DistinctRows) -> Flags:
        """Flag the people for whom the one value that all candidates share is the true one."""
        asked = np.flatnonzero((links.distinct[:, attribute] == 1) & (self.original >= 0))
        texts = pa.concat_arrays([self.table[name].texts, pa.nulls(1, pa.string())])
        true = texts.take(pa.array(self.table[name].codes[self.original[asked]]))
        guess = pa.array(faces.names, pa.string()).take(pa.array(links.likeliest[asked, attribute]))
        return np.asarray(pc.fill_null(pc.equal(true, guess), False).to_numpy(zero_copy_only=False), dtype=bool)


def _match_by_key(original: Table, people: Table, key: str) -> Longs:
    """Return the row of the original of each person, found by the key; -1 where there is none."""
    if key not in original.columns:
        raise BadInput(f"the original: there is no column {key!r}{suggest_column(key, original.columns)}")
    mine, theirs = encode_together(original[key], people[key])
    named = mine.codes < len(mine.values)
    if len(np.unique(mine.codes[named])) < int(named.sum()):
        raise BadInput(f"the original: column {key!r} does not tell people apart: several rows share a value")
    row = np.full(mine.size + 1, -1, dtype=np.int64)
    row[mine.codes[named]] = np.flatnonzero(named)
    return row[theirs.codes]


def _match_row_by_row(original: Table, people: Table, on: Sequence[str]) -> Longs:
    """Return the row of each person, which is their own number; refuse a register of other rows than the original."""
    if original.rows == people.rows and all(name in original.columns for name in on):
        both = [encode_together(original[name], people[name]) for name in on]
        if all(bool((mine.codes == theirs.codes).all()) for mine, theirs in both):
            return np.arange(people.rows, dtype=np.int64)
    raise BadInput("the register is not the original row by row; name as key the column that tells who is who in both")


_BINS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1_000, 10_000)
"""Where the bins of the histogram of candidates begin."""


@dataclass(frozen=True)
class Join(Attack):
    """For each person of a register, the released records that may be theirs, and what these tell of them (S2.1).

    Sweeney 2002; El Emam 2010. A record may be somebody's if each of its labels contains their value. Rows that were
    suppressed and show only `*` may be anybody's. They are left out and counted apart: with a hundred of them in the
    table nobody would ever match one record, though they hide none of the people whose own records are shown.
    `suppressed` counts them as candidates.

    >>> from shoal.data.codes import encode
    >>> def table(columns):
    ...     return Table({name: encode(name, pa.array(values)) for name, values in columns.items()}, 3)
    >>> patients = table({"age": ["[30, 40)", "[40, 50)", "[40, 50)"], "disease": ["flu", "hiv", "hiv"]})
    >>> people = table({"name": ["Ann", "Bob", "Cy"], "age": [31, 44, 50]})
    >>> print(Join(people).on(Published.of("patients", patients, ["age"], ["disease"])).sentence)
    1 of 3 people in the register matches exactly one released record; for 1 more all candidates have the same disease
    """

    name: ClassVar[str] = "join"
    sentence: ClassVar[str] = (
        "Join a release with a register of people: who matches few records, and what these tell of them."
    )
    channel: ClassVar[Channel] = Channel.RECORD
    needs: ClassVar[str] = "people whom an attacker knows (a register)"
    source: ClassVar[str] = "Sweeney, IJUFKS 10(5), 2002"
    if_exposed: ClassVar[str] = "{exposed:,} of the register match one record only"
    if_not: ClassVar[str] = "everybody in the register has at least {least_candidates:,} candidates, or none"

    reads: ClassVar[tuple[str, ...]] = ("register",)
    tells_people: ClassVar[bool] = True

    register: Any = option(MISSING, "The table of people whom the attacker knows.", metavar="PEOPLE", repr=False)
    """A table; `shoal.attack` also takes any file or frame."""
    attributes: Sequence[str] = option(
        (),
        "Quasi-identifiers to join on, separated by commas; all that both have unless given. Of a plain table, these "
        "are its quasi-identifiers.",
        name="on",
        listed=True,
    )
    """What to join on; all quasi-identifiers that the register has unless given. A plain table has no others."""
    exact: Sequence[str] = option(
        (), "Columns of the release that show values as they are, separated by commas.", listed=True
    )
    """Columns of the release that show values as they are; it matters only where no hierarchy explains them."""
    suppressed: bool = option(False, "Count rows that are all * as candidates of everybody.")
    key: str | None = option(None, "With the original: the column that tells who is who in it and in the register.")
    """The column that tells who is who in the register and in the original, where links are held against it."""
    name_column: str | None = option(None, "Name the people exposed by this column of the register; private.")
    """The column of the register by which the people exposed are named; nobody is named unless it is given."""

    @property
    def columns_of_table(self) -> Sequence[str]:
        return tuple(self.attributes)

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "Join":
        return cls(given.register)

    def lacking(self, known: Knowledge) -> str | None:
        del known
        return "give a register of people whom an attacker knows" if self.register is None else None

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Link everybody; with the truth, count how many links are right."""
        people = _register(self.register)
        on = self._choose_attributes(published, people)
        left_out = np.zeros(published.rows, dtype=bool) if self.suppressed else published.hidden
        if left_out.all():
            left_out = ~left_out  # no row stands out: this is how the whole table was generalised
        matchings = self._matchings(published, people, on)
        axes = [_axis(matching, published, name) for name, matching in zip(on, matchings, strict=True)]
        places = [axis.place[people[name].codes] for name, axis in zip(on, axes, strict=True)]
        faces = DistinctRows.of(published, on, ~left_out)
        links = link_people(axes, places, faces)
        figures: dict[str, Any] = {
            "attributes": list(on),
            "people": people.rows,
            "repeated_people": _count_repeated_people(people, self.key),
            "people_with_unknown_values": _count_people_with_null(axes, places),
            "people_outside_the_hierarchies": _count_people_outside(people, on, matchings),
            "records": published.rows,
            "suppressed_records": int(published.hidden.sum()),
            "suppressed_records_left_out": int(left_out.sum()),
        }
        success = None
        if truth is not None:
            owners = Owners.of(truth, people, on, self.key)
            right = owners.flag_right_links(axes, places, faces)
            success = Rate(int((right & (links.candidates == 1)).sum()), int((links.candidates == 1).sum()))
            figures |= owners.figures(right, links, faces, published.sensitive)
        found = _finding(published, links, faces, figures, success)
        return found if self.name_column is None else _with_names(found, people[self.name_column], published.sensitive)

    def _choose_attributes(self, published: Published, people: Table) -> list[str]:
        """Return the attributes to join on, which both tables must have."""
        known = list(published.quasi_identifiers)
        for name in (*self.attributes, *self.exact):
            if name not in known:
                raise BadInput(f"{published.name}: there is no quasi-identifier {name!r}{suggest_nearest(name, known)}")
        for name in self.attributes:
            if name not in people.columns:
                raise BadInput(f"the register: there is no column {name!r}{suggest_column(name, people.columns)}")
        for column in (self.key, self.name_column):
            if column is not None and column not in people.columns:
                raise BadInput(f"the register: there is no column {column!r}{suggest_column(column, people.columns)}")
        on = list(self.attributes) or [name for name in known if name in people.columns]
        if not on:
            hint = next((near for name in known if (near := suggest_column(name, people.columns))), "")
            raise BadInput(f"the register: it has none of the quasi-identifiers {', '.join(map(repr, known))}{hint}")
        return on

    def _matchings(self, published: Published, people: Table, on: Sequence[str]) -> list[Matching]:
        return [
            Matching(people[name], published.builders.get(name), exact=published.exact or name in self.exact)
            for name in on
        ]


def _register(given: Any) -> Table:
    """Return the register; refuse what is no table, or an empty one."""
    if not isinstance(given, Table):
        raise BadInput("the register is a table; files and frames are read by shoal.attack")
    if not given.rows:
        raise BadInput("the register: there are no records")
    return given


def _axis(matching: Matching, published: Published, name: str) -> CodeAxis:
    """Return the axis of what an attribute's labels cover in the register; labels that no row shows are not read."""
    shown = published.quasi_identifiers[name]
    used, first = np.unique(shown.codes, return_index=True)
    axis = matching.runs([shown.labels[code] for code in used.tolist()], first).axis()
    number = np.zeros(len(shown.labels), dtype=np.int32)
    number[used] = np.arange(len(used))
    return axis.renumber_labels(number)


def _count_people_with_null(axes: Sequence[CodeAxis], places: Sequence[Codes]) -> int:
    """Count the people with a null, which excludes no record."""
    missing = np.zeros(len(places[0]), dtype=bool)
    for axis, place in zip(axes, places, strict=True):
        missing |= place == axis.size
    return int(missing.sum())


def _count_people_outside(people: Table, on: Sequence[str], matchings: Sequence[Matching]) -> int:
    """Count the people with a value that a hierarchy does not know, so that its labels cannot cover it."""
    outside = np.zeros(people.rows, dtype=bool)
    for name, matching in zip(on, matchings, strict=True):
        unknown = np.zeros(people[name].size, dtype=bool)
        unknown[matching.unknown] = True
        outside |= unknown[people[name].codes]
    return int(outside.sum())


def _count_repeated_people(people: Table, key: str | None) -> int:
    """Count the rows of the register that repeat another's key or, without a key, all its columns."""
    columns = [people[key]] if key is not None else list(people.columns.values())
    codes, size = columns[0].codes, columns[0].size
    for column in columns[1:]:  # two by two: no register is too wide
        codes, size, _ = join_columns([(codes, size), (column.codes, column.size)])
    return people.rows - len(np.unique(codes))


def _finding(
    published: Published, links: Links, faces: DistinctRows, figures: dict[str, Any], success: Rate | None
) -> Finding:
    unique = links.candidates == 1
    certain = links.distinct == 1
    more = certain.any(axis=1) & ~unique
    matched = links.candidates > 0
    figures |= {
        "matched_people": int(matched.sum()),
        "unique_matches": int(unique.sum()),
        "certain_without_unique_match": int(more.sum()),
        "least_candidates": int(links.candidates[matched].min(initial=published.rows)) if matched.any() else 0,
        "mean_candidates": float(links.candidates.mean()),
        "candidates": _histogram(links.candidates),
        "learned": {
            name: {
                "certain": int(certain[:, s].sum()),
                "mean_probability": float(links.probability[matched, s].mean()) if matched.any() else 0.0,
                "share_in_the_release": _share_of_commonest(published, name),
            }
            for s, name in enumerate(published.sensitive)
        },
    }
    exposed = int(unique.sum() + more.sum())
    sentence = _sentence(int(unique.sum()), int(more.sum()), len(unique), published.sensitive)
    people = _people(links, faces, published.sensitive, certain)
    return Finding("join", Channel.RECORD, exposed, len(unique), sentence, figures, success, people=people)


def _sentence(unique: int, more: int, people: int, sensitive: Sequence[str]) -> str:
    verb = "matches" if unique == 1 else "match"
    told = f"{unique:,} of {people:,} people in the register {verb} exactly one released record"
    same = " or ".join(f"the same {name}" for name in sensitive)
    return f"{told}; for {more:,} more all candidates have {same}" if sensitive else told


def _histogram(candidates: Longs) -> list[dict[str, Any]]:
    """Count people by their number of candidates, in bins."""
    ends = [*(start - 1 for start in _BINS[1:]), None]
    counts = np.bincount(np.searchsorted(_BINS, candidates, side="right") - 1, minlength=len(_BINS)).tolist()
    return [
        {"from": start, "to": end, "people": count}
        for start, end, count in zip(_BINS, ends, counts, strict=True)
        if count
    ]


def _share_of_commonest(published: Published, name: str) -> float:
    """Return the share of the commonest value in the whole release: how likely it is without any match."""
    overall = published.counts.sensitive[name].non_null().overall
    return float(overall.max(initial=0) / max(int(overall.sum()), 1))


def _people(links: Links, faces: DistinctRows, sensitive: Sequence[str], certain: Flags) -> pa.Table:
    """Return what was learned of each row of the register, as an Arrow table; as private as the original."""
    names = pa.array([*faces.names, None], pa.string())
    columns: dict[str, Any] = {
        "row": np.arange(1, len(links.candidates) + 1),
        "candidates": links.candidates,
        "classes": links.classes,
    }
    for s, name in enumerate(sensitive):
        columns[name] = names.take(pa.array(links.likeliest[:, s] % len(names)))
        columns[f"{name}: probability"] = links.probability[:, s]
        columns[f"{name}: certain"] = certain[:, s]
    return pa.table(columns)


def _with_names(found: Finding, names: Column, sensitive: Sequence[str]) -> Finding:
    """Return the finding with a name for each row of the register, and with the people exposed by name."""
    texts = pa.concat_arrays([names.texts, pa.nulls(1, pa.string())]).take(pa.array(names.codes))
    learned = [
        {name: person[name] for name in sensitive if person[f"{name}: certain"]} for person in found.people.to_pylist()
    ]
    told = zip(texts.to_pylist(), found.people["candidates"].to_pylist(), learned, strict=True)
    named = [
        {"name": name, "candidates": candidates, "learned": certain}
        for name, candidates, certain in told
        if candidates == 1 or certain
    ]
    return replace(found, people=found.people.add_column(1, "name", texts), named=tuple(named))
