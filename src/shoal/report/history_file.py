"""The history of a growing table as a file of the private folder: it names everybody who was ever shown."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from shoal.attacks.running import Candidates
from shoal.errors import BadInput
from shoal.republish.history import History

if TYPE_CHECKING:
    from shoal.attacks.running import Bits

NAME = "history.parquet"
_FORMAT = 1


def write_history(folder: Path, history: History) -> None:
    """One line of a Parquet file for each of the history, and what its columns mean."""
    columns: dict[str, Any] = {"key": history.keys, "group": history.group, "shown": history.shown}
    columns |= {f"level{i}": history.levels[:, i] for i in range(len(history.quasi))}
    for i, name in enumerate(history.sensitive):
        columns |= {f"value{i}": history.values[name], f"left{i}": _sets(history.candidates[name])}
    if history.signatures is not None:
        columns["signature"] = _sets(history.signatures)
    about = {
        "format": _FORMAT,
        "releases": history.releases,
        "quasi": history.quasi,
        "sensitive": history.sensitive,
        "values": [history.candidates[name].values for name in history.sensitive],
        "source": history.source,
    }
    table = pa.table(columns).replace_schema_metadata({"shoal": json.dumps(about)})
    parquet.write_table(table, folder / NAME)


def load_history(folder: Path) -> History:
    """The history that a private folder keeps."""
    try:
        table = parquet.read_table(folder / NAME).combine_chunks()
        about = json.loads((table.schema.metadata or {})[b"shoal"])
        if about["format"] != _FORMAT:
            raise BadInput(f"{folder.name}/{NAME}: it was written by another version")
        return _read(table, about)
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        raise BadInput(f"{folder.name}/{NAME}: the history is damaged; use a copy of the folder") from None


def _read(table: pa.Table, about: dict[str, Any]) -> History:
    numbers = {name: table[name].to_numpy() for name in table.column_names if name.startswith(("group", "level"))}
    of = dict(zip(about["sensitive"], about["values"], strict=True))
    left = {name: _candidates(table[f"left{i}"], of[name]) for i, name in enumerate(of)}
    values = {name: _whole(table[f"value{i}"]) for i, name in enumerate(of)}
    return History(
        tuple(about["quasi"]),
        tuple(about["sensitive"]),
        about["releases"],
        _whole(table["key"]).cast(pa.string()),
        numbers["group"].astype(np.int32),
        table["shown"].to_numpy(),
        np.stack([numbers[f"level{i}"] for i in range(len(about["quasi"]))], axis=1).astype(np.int16),
        values,
        {name: _domain(each, of[name]) for name, each in values.items()},
        left,
        _candidates(table["signature"], *of.values()) if "signature" in table.column_names else None,
        about["source"],
    )


def _domain(values: pa.Array, texts: list[str | None]) -> pa.Array:
    """Every value, in the type of those that are held."""
    return pa.array([text for text in texts if text is not None], pa.string()).cast(values.type)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _sets(candidates: Candidates) -> pa.Array:
    """The bits of everybody's set; null of who has none."""
    sets = pa.array([each.tobytes() for each in candidates.sets], pa.binary())
    return pa.DictionaryArray.from_arrays(pa.array(candidates.of, mask=candidates.of < 0), sets)


def _candidates(column: pa.ChunkedArray, values: list[str | None]) -> Candidates:
    coded = _whole(column)
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    bits = [np.frombuffer(each, np.uint8) for each in coded.dictionary.to_pylist()]
    sets: Bits = np.stack(bits) if bits else np.zeros((0, (len(values) + 7) // 8), np.uint8)
    of = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return Candidates(tuple(values), sets, of)
