"""What a later release must know of all earlier ones: carried forward from each to the next, and its private file."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.composition_over_time import Candidates, SeenClasses
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, Column, Table, canonical, encode, encode_together
from shoal.errors import BadData, BadInput, ShoalError
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.verify.release_files import is_there, parse_json, refuse_irregular

if TYPE_CHECKING:
    from shoal.attacks.composition_over_time import Bits

Levels = NDArray[np.int16]


@dataclass(frozen=True)
class History:
    """Everybody who was ever shown, line by line: a person has a second line once the sensitive value changed.

    A group is what the attacker can subtract out of all releases: the sensitive values of its people together are
    known, and nothing else of them. In m-invariance it is a group of the last release.
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    releases: int = 0
    keys: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    """Key of each line's person; null where nobody can come back: the value changed, or the person was erased."""
    group: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    """Group of each line; -1 where it is in none."""
    shown: Flags = field(default_factory=lambda: np.zeros(0, bool))
    """Which lines the last release showed."""
    levels: Levels = field(default_factory=lambda: np.zeros((0, 0), np.int16))
    """levels[line, quasi-identifier]: how far the line was generalised."""
    values: Mapping[str, pa.Array] = field(default_factory=dict)
    """Values of each sensitive attribute, in the type they came in."""
    domains: Mapping[str, pa.Array] = field(default_factory=dict)
    """Every value of each sensitive attribute that was ever shown or could have been."""
    candidates: Mapping[str, Candidates] = field(default_factory=dict)
    signatures: Candidates | None = None
    """In m-invariance, the values that each person is always shown among."""
    seen: SeenClasses | None = None
    """In m-invariance, the classes of all releases; None where an earlier version began the history."""
    source: str | None = None
    """The file of the last release, by its name; None where it was none, or has people who were erased since."""

    def __len__(self) -> int:
        return len(self.keys)

    def write(self, folder: Path) -> None:
        """Write a Parquet file with a row for each line, and what its columns mean."""
        _write(folder / NAME, self)

    def respell(self, table: Table, key: str) -> "History":
        """Return the history spelt as the table is: 1.0 is 1, and blanks around a text do not count.

        Otherwise people would not be recognised, or be taken for changed, and be shown afresh.
        """
        keys = _respell(self.keys, _find_new_spellings(self.keys, table[key].texts))
        values, domains, candidates, signatures, seen = {}, {}, {}, self.signatures, self.seen
        for name in self.sensitive:
            known = self.candidates[name]
            spelt = _find_new_spellings(pa.array(known.values, pa.string()), table[name].texts)
            values[name], domains[name] = (_respell(each[name], spelt) for each in (self.values, self.domains))
            candidates[name] = known.rename_values(spelt)
            signatures = None if signatures is None else signatures.rename_values(spelt)
            seen = None if seen is None else seen.rename_values(spelt)
        told = replace(self, values=values, domains=domains, candidates=candidates, signatures=signatures, seen=seen)
        return replace(told, keys=keys)

    def forget(self, keys: pa.Array) -> "History":
        """Return the history without the keys of some people; their lines stay, since others are hidden among them."""
        gone = pc.is_in(self.keys, value_set=keys)
        return replace(self, keys=pc.if_else(gone, pa.scalar(None, pa.string()), self.keys), source=None)


@dataclass(frozen=True)
class MatchedTable:
    """A new table beside the history: who is who."""

    table: Table
    """The table, whose sensitive columns know the values of the history too."""
    past: Mapping[str, Column]
    """The history's values of each sensitive attribute, in the codes of the table."""
    line: NDArray[np.int64]
    """Line of each row of the table in the history; -1 for people who are new."""
    row: NDArray[np.int64]
    """Row of each line in the table; -1 for people who are not there."""

    @property
    def unchanged(self) -> Flags:
        """Flags of the lines whose person is in the table with the same sensitive values as before."""
        flags = self.row >= 0
        for name, column in self.past.items():
            flags &= column.codes == self.table[name].codes[self.row]
        return flags


def _find_new_spellings(known: pa.Array, texts: pa.Array) -> dict[str, str]:
    """Return the new spelling of each known text that the table lacks, where a new text looks like this one alone."""
    strange = texts.filter(pc.invert(pc.is_in(texts, value_set=known))).to_pylist()
    if not strange:
        return {}
    lost = known.filter(pc.invert(pc.is_in(known, value_set=texts))).drop_null().to_pylist()
    new = {canonical(text): text for text in strange}
    once = Counter(map(canonical, lost))
    return {text: new[canonical(text)] for text in lost if canonical(text) in new and once[canonical(text)] == 1}


def _respell(values: pa.Array, spelt: Mapping[str, str]) -> pa.Array:
    """Return the values with some texts spelt anew."""
    if not spelt or not pa.types.is_string(values.type):
        return values
    at = pc.index_in(values, value_set=pa.array(list(spelt), pa.string()))
    return pc.if_else(at.is_valid(), pa.array(list(spelt.values()), pa.string()).take(at), values)


def match_people(table: Table, key: str, history: History, name: str) -> MatchedTable:
    """Find the people of the history in the table by the key; refuse a key that is missing or repeats.

    `name` is what errors call the table.
    """
    column = table[key]
    if column.has_null or len(column.values) < table.rows:
        code = column.null_code if column.has_null else int((column.counts > 1).argmax())
        what = "has none" if column.has_null else "has that of another row"
        raise BadData(
            f"{name}: column {key!r} must tell persons apart, one row for each, and row {column.first_row(code or 0)} "
            f"{what}; correct it, or name another key under [republish]"
        )
    # [code] line with that key, -1 for none; then [row] line, and [line] row
    found = pc.index_in(column.texts, value_set=history.keys).fill_null(-1).to_numpy(zero_copy_only=False)
    line = found.astype(np.int64)[column.codes]
    row = np.full(len(history), -1, dtype=np.int64)
    row[line[line >= 0]] = np.flatnonzero(line >= 0)
    columns, past = dict(table.columns), {}
    for attribute in history.sensitive:
        ever = pa.concat_arrays([history.values[attribute], history.domains[attribute]])
        columns[attribute], known = encode_together(
            table[attribute], encode(attribute, ever, decimal=table[attribute].decimal)
        )
        past[attribute] = replace(known, codes=known.codes[: len(history)])
    return MatchedTable(replace(table, columns=columns), past, line, row)


def labels_of_codes(column: Column) -> list[str | None]:
    """Return the text behind each code; None is null."""
    return [*column.texts.to_pylist(), None][: column.size]


def values_of_codes(column: Column, codes: Codes) -> pa.Array:
    """Return the values behind some codes, in the type they came in."""
    values = pa.concat_arrays([column.values, pa.nulls(1, column.values.type)])
    return values.take(pa.array(codes))


def empty_history(quasi: Sequence[str], sensitive: Sequence[str], table: Table) -> History:
    """Return an empty history, for a table of which nothing was released."""
    nothing = np.zeros(0, np.int32)
    return History(
        tuple(quasi),
        tuple(sensitive),
        levels=np.zeros((0, len(quasi)), np.int16),
        values={name: values_of_codes(table[name], nothing) for name in sensitive},
        domains={name: table[name].values for name in sensitive},
        candidates={name: Candidates.empty(labels_of_codes(table[name])) for name in sensitive},
    )


def find_lowest_levels(part: Codes, parts: int, codes: Sequence[Codes], hierarchies: Sequence[Hierarchy]) -> Levels:
    """Return levels[part, attribute], the lowest level at which all rows of a part show the same; no part is empty.

    Levels are nested, so that the lowest level at which two rows agree is the number of levels at which they differ.
    """
    # [part] its first row: assigned in reverse, so that the first row is written last
    first = np.zeros(parts, dtype=np.int64)
    first[part[::-1]] = np.arange(len(part))[::-1]
    out = np.zeros((parts, len(hierarchies)), dtype=np.int16)
    for i, (column, hierarchy) in enumerate(zip(codes, hierarchies, strict=True)):
        # [row] number of levels at which it differs from the first row of its part
        steps = np.zeros(len(part), dtype=np.int16)
        for groups in hierarchy.levels:
            steps += groups[column] != groups[column[first]][part]
        np.maximum.at(out[:, i], part, steps)
    return out


NAME = "history.parquet"
_FORMAT = 1


def _write(path: Path, history: History) -> None:
    from pyarrow import parquet

    columns: dict[str, Any] = {"key": history.keys, "group": history.group, "shown": history.shown}
    columns |= {f"level{i}": history.levels[:, i] for i in range(len(history.quasi))}
    for i, name in enumerate(history.sensitive):
        columns |= {f"value{i}": history.values[name], f"left{i}": _sets(history.candidates[name])}
    if history.signatures is not None:
        columns["signature"] = _sets(history.signatures)
    if history.seen is not None:
        for i, (shown, counts) in enumerate(zip(history.seen.classes, history.seen.counts, strict=True)):
            columns[f"class{i}"] = _classes_to_arrow(shown, counts, len(history))
    about = {
        "format": _FORMAT,
        "releases": history.releases,
        "quasi": history.quasi,
        "sensitive": history.sensitive,
        "values": [history.candidates[name].values for name in history.sensitive],
        "source": history.source,
    }
    table = pa.table(columns).replace_schema_metadata({"shoal": json.dumps(about)})
    parquet.write_table(table, path)


def load_history(folder: Path) -> History:
    """Return the history that a private folder keeps; refuse a damaged one."""
    from pyarrow import parquet

    refuse_irregular(folder / NAME)
    try:
        table = parquet.read_table(folder / NAME, memory_map=False).combine_chunks()
        table.validate(full=True)
        about = parse_json((table.schema.metadata or {})[b"shoal"])
        if about["format"] != _FORMAT:
            raise BadInput(f"{folder.name}/{NAME}: it was written by another version")
        history = _read(table, about)
        _refuse_contradictions(history)
    except ShoalError:
        raise
    except (OSError, pa.ArrowException, ArithmeticError, LookupError, TypeError, ValueError):
        raise BadInput(f"{folder.name}/{NAME}: the history is damaged; use a copy of the folder") from None
    return history


def count_releases(folder: Path) -> int | None:
    """Return how many releases the history of a private folder covers; None where it keeps no history."""
    from pyarrow import parquet

    if not is_there(folder / NAME):
        return None
    try:
        about = parse_json((parquet.read_schema(folder / NAME).metadata or {})[b"shoal"])
        return int(about["releases"])
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError):
        raise BadInput(f"{folder.name}/{NAME}: the history is damaged; use a copy of the folder") from None


def _refuse_contradictions(history: History) -> None:
    """Raise ValueError where group numbers, levels or sets have impossible values or shapes."""
    lines = len(history)
    odd = history.group.min(initial=-1) < -1 or history.shown.dtype != bool
    for known in [*history.candidates.values(), *([history.signatures] if history.signatures is not None else [])]:
        odd |= len(known.of) != lines or known.sets.shape[1] != (len(known.values) + 7) // 8
    if odd or history.levels.min(initial=0) < 0 or history.releases < 1:
        raise ValueError("a history that contradicts itself")


def _read(table: pa.Table, about: dict[str, Any]) -> History:
    """Return the history from its table and the description of its columns."""
    numbers = {name: table[name].to_numpy() for name in table.column_names if name.startswith(("group", "level"))}
    of = dict(zip(about["sensitive"], about["values"], strict=True))
    left = {name: _candidates_from_arrow(table[f"left{i}"], of[name]) for i, name in enumerate(of)}
    values = {name: _combine_chunks(table[f"value{i}"]) for i, name in enumerate(of)}
    return History(
        tuple(about["quasi"]),
        tuple(about["sensitive"]),
        about["releases"],
        _combine_chunks(table["key"]).cast(pa.string()),
        numbers["group"].astype(np.int32),
        table["shown"].to_numpy(),
        np.stack([numbers[f"level{i}"] for i in range(len(about["quasi"]))], axis=1).astype(np.int16),
        values,
        {name: _domain(each, of[name]) for name, each in values.items()},
        left,
        _candidates_from_arrow(table["signature"], *of.values()) if "signature" in table.column_names else None,
        _seen_from_arrow(table, *of.values()) if "class0" in table.column_names else None,
        about["source"],
    )


def _domain(values: pa.Array, texts: list[str | None]) -> pa.Array:
    """Return every value that `texts` spell, in the type of `values`."""
    return pa.array([text for text in texts if text is not None], pa.string()).cast(values.type)


def _combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _sets(candidates: Candidates) -> pa.Array:
    """Return the set of each line as bits, as an Arrow dictionary; null where it has none."""
    sets = pa.array([each.tobytes() for each in candidates.sets], pa.binary())
    return pa.DictionaryArray.from_arrays(pa.array(candidates.of, mask=candidates.of < 0), sets)


def _classes_to_arrow(shown: Codes, counts: Longs, lines: int) -> pa.Array:
    """Return the class of each line as an Arrow dictionary of its number and of (value, rows) pairs; null for none."""
    held = []
    for number, each in enumerate(counts):
        values = np.flatnonzero(each)
        pairs = np.stack([values, each[values]], axis=1).ravel()
        held.append(np.concatenate([[number], pairs]).astype("<i8").tobytes())
    of = np.append(shown, np.full(lines - len(shown), -1, np.int32))
    return pa.DictionaryArray.from_arrays(pa.array(of, mask=of < 0), pa.array(held, pa.binary()))


def _seen_from_arrow(table: pa.Table, values: list[str | None]) -> SeenClasses:
    """Read the classes of all releases; the number of a class is among its own bytes, since Arrow may renumber."""
    seen = SeenClasses(tuple(values))
    for name in (f"class{i}" for i in range(len(table.column_names)) if f"class{i}" in table.column_names):
        coded = _combine_chunks(table[name])
        coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
        held = [np.frombuffer(each, "<i8") for each in coded.dictionary.to_pylist()]
        counts = np.zeros((len(held), len(values)), dtype=np.int64)
        for at, each in enumerate(held):
            counts[at, each[1::2]] = each[2::2]
        of = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        seen = seen.add_release(of, counts)
    return seen


def _candidates_from_arrow(column: pa.ChunkedArray, values: list[str | None]) -> Candidates:
    """Read candidates from a column of sets as bits."""
    coded = _combine_chunks(column)
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    bits = [np.frombuffer(each, np.uint8) for each in coded.dictionary.to_pylist()]
    sets: Bits = np.stack(bits) if bits else np.zeros((0, (len(values) + 7) // 8), np.uint8)
    of = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return Candidates(tuple(values), sets, of)
