"""Functions that run on the executors, which need pyarrow and numpy but not Shoal: they are pickled by value.

Each public function returns one to be passed to `mapInArrow`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Batches = Iterable[pa.RecordBatch]
Run = Callable[[Batches], Batches]

_BLOCK = 1 << 17
_STEP = 8 << 20
_LONGEST = 64 << 20


def pack_batches() -> Run:
    """Pack each batch into one cell of bytes, so that results reach the driver without becoming Python objects."""

    def run(batches: Batches) -> Batches:
        for block in join_into_blocks(batches):
            yield pa.record_batch({"packed": pa.array([to_ipc_bytes(block)], pa.binary())})

    return run


def to_ipc_bytes(batch: pa.RecordBatch) -> bytes:
    """Serialize a batch as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def unpack_batches(given: Any) -> Run:
    """Unpack batches that were broadcast as bytes; each input row is the index of one of them."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for i in batch.column(0).to_pylist():
                yield from pa.ipc.open_stream(given.value[i])

    return run


def keyed(given: Any, words: int, changed: str) -> Run:
    """Make the packed key of every row: each raw value is replaced by its code, shifted to its field in the key.

    `given` is a broadcast list with (raw values, shifted codes, word) for each column; `changed` is the error message
    for a value that is not among them.
    """

    def run(batches: Batches) -> Batches:
        for block in join_into_blocks(batches):
            # [word, row] the keys
            key = np.zeros((words, block.num_rows), dtype=np.uint64)
            for column, (raws, parts, word) in zip(block.columns, given.value, strict=True):
                # adding 0.0 turns -0.0 into 0.0, since Spark groups them together
                cells = pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column
                at = pc.index_in(cells, value_set=raws)
                if at.null_count:
                    raise ValueError(changed)
                key[word] |= parts[at.to_numpy()]
            yield pa.record_batch([pa.array(word.view(np.int64)) for word in key], [f"k{w}" for w in range(words)])

    return run


def labelled(given: Any, names: Sequence[str]) -> Run:
    """Look up the released cells of each key; `given` has (values, word, shift, mask) for each column."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            words = [batch.column(w).to_numpy().view(np.uint64) for w in range(batch.num_columns)]
            cells = []
            for values, word, shift, mask in given.value:
                codes = (words[word] >> np.uint64(shift)) & np.uint64(mask)
                found = values.take(pa.array(codes.astype(np.int64)))
                cells.append(found.dictionary_decode() if isinstance(found, pa.DictionaryArray) else found)
            yield pa.record_batch(cells, names)

    return run


def repeat_keys(begin: Any) -> Run:
    """Repeat the key of each item as often as it occurs (`n`), with the number of its part as one more word.

    `begin` is broadcast: for each `top`, the number of the first of its parts.
    """

    def run(batches: Batches) -> Batches:
        for batch in batches:
            *keys, n, top, part = (column.to_numpy() for column in batch.columns)
            words = [*keys, begin.value[top] + part]
            names = [f"k{w}" for w in range(len(words))]
            # [item] where its repetitions end in the output
            ends = np.cumsum(n)
            total = int(ends[-1]) if len(ends) else 0
            for first in range(0, total, _BLOCK):
                rows = np.searchsorted(ends, np.arange(first, min(first + _BLOCK, total)), side="right")
                yield pa.record_batch([word[rows] for word in words], names)

    return run


def version() -> Run:
    """Return the version of Shoal on an executor, an empty text if it is not installed."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            try:
                import shoal.kernels

                found = shoal.__version__
            except ImportError:
                found = ""
            yield pa.record_batch({"version": pa.array([found] * batch.num_rows, pa.string())})

    return run


def find_torn_pieces(ranges: Sequence[tuple[str, int, int, int]], line_end: bytes, quote: bytes) -> Run:
    """Find for each piece whether a line has an odd number of quotes: then a cell may contain a line end."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            found = [
                any(_odd(lines, quote) for lines in _lines(ranges[i], line_end)) for i in batch.column(0).to_pylist()
            ]
            yield pa.record_batch({"piece": batch.column(0), "torn": pa.array(found, pa.bool_())})

    def _odd(lines: bytes, mark: bytes) -> bool:
        cells = np.frombuffer(lines, np.uint8)
        ends = np.flatnonzero(cells == line_end[-1])
        quotes = np.flatnonzero(cells == mark[0])
        return bool((np.diff(np.searchsorted(quotes, ends), prepend=0) % 2).any() or (len(quotes) % 2))

    return run


def parse_csv(ranges: Sequence[tuple[str, int, int, int]], line_end: bytes, how: dict[str, Any], width: int) -> Run:
    """Parse pieces of CSV files by Arrow into cells, all of them texts.

    A piece is (path, offset of the first record, start, end); an end of -1 means the whole file, whose cells may
    contain line ends.
    """

    def run(batches: Batches) -> Batches:
        from pyarrow import csv

        names = [f"c{i}" for i in range(width)]
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[],
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        )
        for batch in batches:
            for i in batch.column(0).to_pylist():
                whole = ranges[i][3] < 0
                try:
                    for source in _open_piece(ranges[i], line_end):
                        reader = csv.open_csv(
                            source,
                            csv.ReadOptions(block_size=_LONGEST, column_names=names, use_threads=False),
                            csv.ParseOptions(**how, newlines_in_values=whole, ignore_empty_lines=True),
                            convert,
                        )
                        yield from reader
                except pa.ArrowInvalid:  # its message may contain cells
                    raise ValueError("shoal: the rows cannot be cut into cells") from None

    return run


def _open_piece(piece: tuple[str, int, int, int], line_end: bytes) -> Iterator[pa.NativeFile]:
    """Yield the lines of a piece as files that Arrow can read."""
    path, body, _, end = piece
    if end >= 0:
        for lines in _lines(piece, line_end):
            if lines.strip(b"\r\n"):
                yield pa.BufferReader(lines)
        return
    with open(path, "rb") as file:  # noqa: PTH123 - the path is a text that travelled
        file.seek(body)
        yield pa.PythonFile(file)


def _lines(piece: tuple[str, int, int, int], line_end: bytes) -> Iterator[bytes]:
    """Yield the complete lines that begin in a piece, a few megabytes at a time."""
    path, body, start, end = piece
    with open(path, "rb") as file:  # noqa: PTH123 - the path is a text that travelled
        at = start
        if start > body:  # a line that begins before the piece belongs to the previous one
            file.seek(start - 1)
            at = start - 1 + len(_read_rest_of_line(file, line_end))
        file.seek(at)
        while at < end:
            lines = file.read(min(_STEP, end - at))
            if not lines:
                return
            if not lines.endswith(line_end):
                lines += _read_rest_of_line(file, line_end)
            at += len(lines)
            yield lines


def _read_rest_of_line(file: BinaryIO, line_end: bytes) -> bytes:
    """Read from here to the end of the line."""
    read = b""
    while step := file.readline(_STEP) if line_end == b"\n" else file.read(1):
        read += step
        if step.endswith(line_end):
            break
    return read


def join_into_blocks(batches: Batches) -> Batches:
    """Join batches into fewer, larger ones, since each look-up has a cost per batch."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _BLOCK:
            yield concat_batches(held)
            held, rows = [], 0
    if rows:
        yield concat_batches(held)


def concat_batches(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    return held[0] if len(held) == 1 else pa.Table.from_batches(held).combine_chunks().to_batches()[0]
