"""The contents of a Parquet file with its pages unpacked: a search of the raw bytes finds no compressed text."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DATA, DICTIONARY = 0, 2


def pages_of(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """Yield each page of each column: the column, the kind of the page, and its bytes, unpacked."""
    content, metadata = path.read_bytes(), pq.ParquetFile(path).metadata
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            at = chunk.dictionary_page_offset or chunk.data_page_offset
            end = at + chunk.total_compressed_size
            while at < end:
                head, begin = _struct(content, at)
                kind, full, packed = head[1], head[2], head[3]
                assert kind in {DATA, DICTIONARY}, "a kind of page that this reader does not know"
                at = begin + packed
                body = content[begin:at]
                if chunk.compression != "UNCOMPRESSED":
                    body = pa.Codec(chunk.compression.lower()).decompress(body, full, asbytes=True)
                yield chunk.path_in_schema, kind, body


def _struct(content: bytes, at: int) -> tuple[dict[int, int], int]:
    """Read a struct of Thrift's compact protocol: its integer fields by number, and where it ends.

    A field begins with a byte: the step from the last field's number (if 0, the number follows), and its type.
    """
    fields: dict[int, int] = {}
    number = 0
    while content[at]:
        step, of = content[at] >> 4, content[at] & 15
        at += 1
        if step == 0:
            zigzag, at = _varint(content, at)
            number = (zigzag >> 1) ^ -(zigzag & 1)
        else:
            number += step
        if of in {4, 5, 6}:  # integers of 16, 32 and 64 bits
            zigzag, at = _varint(content, at)
            fields[number] = (zigzag >> 1) ^ -(zigzag & 1)
        elif of == 3:
            at += 1
        elif of == 8:  # bytes, such as the least and the greatest value
            length, at = _varint(content, at)
            at += length
        elif of == 12:
            _, at = _struct(content, at)
        else:
            assert of in {1, 2}, f"a type of Thrift that no page header has: {of}"
    return fields, at + 1


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned number of seven bits a byte, and where it ends."""
    number = shift = 0
    while True:
        number |= (content[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if not content[at - 1] & 128:
            return number, at
