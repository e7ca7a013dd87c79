"""A writer of small SAS7BDAT files, from the public description of the format: 32 bits, one page of metadata."""

import struct
from collections.abc import Sequence
from pathlib import Path

_MAGIC = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
_HEADER, _PAGE = 1024, 8192
_UTF8, _LITTLE_ENDIAN, _UNIX = 20, 1, b"1"
_META, _DATA = 0, 256
_NUMBER, _TEXT = 1, 2


def write_sas(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[float | str | None]], formats: Sequence[str]
) -> None:
    """Write rows of numbers and texts; a format such as DATE says what a number means, an empty one nothing."""
    columns = list(zip(*rows, strict=True))
    of_text = [any(isinstance(cell, str) for cell in column) for column in columns]
    widths = [
        max(len((cell or "").encode()) for cell in column) if text else 8
        for column, text in zip(columns, of_text, strict=True)
    ]
    starts = [sum(widths[:i]) for i in range(len(widths))]
    cells = [b"".join(map(_cell, row, widths, of_text)) for row in rows]
    fitting = (_PAGE - 24) // sum(widths)
    pages = [cells[i : i + fitting] for i in range(0, len(cells), fitting)]
    text, places = _texts([*names, *formats])
    named, formatted = places[: len(names)], places[len(names) :]
    size = bytearray(480)
    struct.pack_into("<4s16xII8xII", size, 0, b"\xf7" * 4, sum(widths), len(rows), len(names), 0)
    pointers = b"".join(struct.pack("<HHHH", 0, *place, 0) for place in named)
    kinds = [_TEXT if is_text else _NUMBER for is_text in of_text]
    places_of_cells = zip(starts, widths, kinds, strict=True)
    attributes = b"".join(struct.pack("<IIHBx", at, width, 1024, kind) for at, width, kind in places_of_cells)
    subheaders = [
        bytes(size),
        struct.pack("<4sI4x", b"\xf6" * 4, len(names)),
        _block(b"\xfd\xff\xff\xff", text),
        _block(b"\xff\xff\xff\xff", bytes(6) + pointers + bytes(8)),
        _block(b"\xfc\xff\xff\xff", bytes(6) + attributes + bytes(8)),
        *(struct.pack("<4s30xHHH12x", b"\xfe\xfb\xff\xff", 0, *place) for place in formatted),
    ]
    written = [_metadata(subheaders), *(_page(_DATA, len(page), 0, b"".join(page)) for page in pages)]
    path.write_bytes(_header(len(written)) + b"".join(written))


def _cell(cell: float | str | None, width: int, is_text: bool) -> bytes:
    if is_text:
        return str(cell or "").encode().ljust(width)
    return bytes.fromhex("0000000000feffff") if cell is None else struct.pack("<d", float(cell))


def _texts(texts: Sequence[str]) -> tuple[bytes, list[tuple[int, int]]]:
    """Lay texts side by side, and return where each begins and how long it is."""
    laid, places = bytearray(26), []
    for text in texts:
        places.append((len(laid) + 2, len(text.encode())))
        laid += text.encode()
        laid += bytes(-len(laid) % 4)
    return bytes(laid) + bytes(8), places


def _block(signature: bytes, content: bytes) -> bytes:
    """Put the signature and the size before a content."""
    return signature + struct.pack("<H", len(content) - 6) + content


def _metadata(subheaders: Sequence[bytes]) -> bytes:
    """Lay the subheaders at the end of a page, and point at them from its beginning."""
    pointers, at, laid = b"", _PAGE, b""
    for each in subheaders:
        at -= len(each)
        pointers += struct.pack("<IIBBxx", at, len(each), 0, 0)
        laid = each + laid
    gap = bytes(_PAGE - 24 - len(pointers) - len(laid))
    return _page(_META, len(subheaders), len(subheaders), pointers + gap + laid)


def _page(kind: int, blocks: int, subheaders: int, content: bytes) -> bytes:
    return (bytes(16) + struct.pack("<HHHxx", kind, blocks, subheaders) + content).ljust(_PAGE, b"\0")


def _header(pages: int) -> bytes:
    header = bytearray(_HEADER)
    header[:32] = _MAGIC
    header[32], header[35], header[37], header[70] = 0x22, 0x22, _LITTLE_ENDIAN, _UTF8
    header[39:40] = _UNIX
    header[84:92], header[92:156], header[156:164] = b"SAS FILE", b"PEOPLE".ljust(64), b"DATA    "
    struct.pack_into("<dd16xIII8x8s16s", header, 164, 0.0, 0.0, _HEADER, _PAGE, pages, b"9.0401M6", b"Linux")
    return bytes(header)
