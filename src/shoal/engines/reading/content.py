"""The bytes behind a path, an address or standard input."""

import glob
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePath, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from shoal.errors import BadData, BadInput, reason_of


@dataclass(frozen=True)
class Content:
    name: str
    """Name in error messages, without terminal control characters."""
    suffix: str
    """`.csv`, in lower case; empty for standard input."""
    data: bytes


def printable_name(name: str) -> str:
    r"""Return the name in a form that is safe to print on a terminal.

    >>> print(printable_name("people.csv"), printable_name("\x1b[2J.csv"))
    people.csv '\x1b[2J.csv'
    """
    return name if name.isprintable() else repr(name)


def open_content(source: "str | os.PathLike[str]") -> Content:
    """Read a file or standard input to its end."""
    if source == "-":
        return _refuse_empty(Content("-", "", sys.stdin.buffer.read()))
    path = Path(os.fsdecode(source))
    name = printable_name(path.name or str(path))
    if path.name.startswith("~$"):
        raise BadData(f"{name}: this is the lock file of an open workbook; take {printable_name(path.name[2:])}")
    try:
        data = _bytes_of(path)
    except BadData:
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise BadData(f"{name}: there is no such file{_suggest_names(path)}") from None
    except IsADirectoryError:
        raise BadData(f"{name}: this is a folder, not a file; name the table in it") from None
    except PermissionError:
        raise BadData(f"{name}: no permission to read the file") from None
    except OSError as error:
        raise BadData(f"{name}: the file cannot be read ({reason_of(error)})") from None
    except ValueError:  # a NUL in the path
        raise BadData(f"{name}: this is not a path") from None
    return _refuse_empty(Content(name, path.suffix.lower(), data))


def _bytes_of(path: Path) -> bytes:
    """Read a file once, to its end: a second read, or a memory map, could see it changed or truncated."""
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty() and not path.samefile(os.devnull)):
            raise BadData(f"{printable_name(path.name)}: this is a device, which may have no end; name a file")
        return file.read()


def _refuse_empty(content: Content) -> Content:
    """Return the content; refuse an empty file."""
    if not len(content.data):
        raise BadData(f"{content.name}: the file is empty: no columns")
    return content


_PACKED: Mapping[bytes, str] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_RATIO = 200
_LARGE = 10 << 20
_STEP = 4 << 20


def packing_of(content: Content) -> str | None:
    """Return gzip or zstd, detected by the first bytes; None if the content is not packed."""
    return next((name for magic, name in _PACKED.items() if content.data[: len(magic)] == magic), None)


def unpack(content: Content) -> Content:
    """Unpack a gzip or zstd file, refusing one that unpacks to far more than its size; return other content as is."""
    if packing_of(content) is None:
        return content
    return _refuse_empty(Content(content.name, unpacked_suffix(content), b"".join(iter_unpacked(content))))


def unpacked_suffix(content: Content) -> str:
    """Return the suffix of a packed file before that of its packing: `.csv` for `people.csv.gz`."""
    return PurePath(PurePath(content.name).stem).suffix.lower()


def iter_unpacked(content: Content) -> Iterator[bytes]:
    """Yield the unpacked content of a file in chunks; refuse one that unpacks to far more than its size."""
    import pyarrow as pa

    packing = packing_of(content)
    most, size = max(_LARGE, _RATIO * len(content.data)), 0
    try:
        with pa.input_stream(pa.BufferReader(content.data), compression=packing) as stream:
            while step := stream.read(_STEP):
                size += len(step)
                if size > most:
                    raise BadData(
                        f"{content.name}: the file unpacks to more than {_RATIO} times its size; unpack it yourself"
                    )
                yield step
    except (pa.ArrowException, OSError):
        raise BadData(f"{content.name}: this is not a {packing} file, or it is damaged or cut short") from None


def _suggest_names(path: Path) -> str:
    """Return the end of an error message that suggests files with similar names, or an empty text."""
    try:
        others = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return ""
    near = [printable_name(name) for name in get_close_matches(path.name, others, n=3)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def is_remote(source: "str | os.PathLike[str]") -> bool:
    """Return whether fsspec is needed to open a source.

    >>> is_remote("s3://bucket/people.parquet"), is_remote("file:///people.csv"), is_remote("people.csv")
    (True, False, False)
    """
    found = _ADDRESS.match(os.fsdecode(source))
    return found is not None and found[1].lower() != "file"


def local_path(source: "str | os.PathLike[str]") -> Path | None:
    """Return the path of a source on this machine; None for a remote address.

    >>> print(local_path("file:///tmp/my%20people.csv"), local_path("memory://people.csv"))
    /tmp/my people.csv None
    """
    text = os.fsdecode(source)
    if not text:  # Path would take it for the current folder
        raise BadInput("the name of the table is empty; name a file")
    if is_remote(text):
        return None
    return Path(unquote(urlsplit(text).path)) if _ADDRESS.match(text) else Path(text)


def open_remote(address: str) -> tuple[bool, list[tuple[PurePosixPath, Content]]]:
    """Return whether an address names several files (folder or pattern), and each with its path below the folder."""
    name = _name(address)
    with _explain_store_error(name, address):
        import fsspec

        store, path = fsspec.core.url_to_fs(address)
        root, several = PurePosixPath(path), True
        if any(c in path for c in PATTERN) and not store.exists(path):
            files = [each for each in store.glob(path) if store.isfile(each) and _is_asked_for(each, path)]
            root = PurePosixPath()
        elif store.isdir(path):
            files = store.find(path)
        else:
            files, several = [path], False
        found = [(_below(each, root), each) for each in sorted(files)]
        contents = [
            (below, Content(printable_name(below.name or name), below.suffix.lower(), store.cat_file(each)))
            for below, each in found
            if not several or root == PurePosixPath() or not is_hidden(below)
        ]
    if not contents:
        raise BadData(f"{name}: there are no files in the folder")
    for _, content in contents:
        if not content.data:
            raise BadData(f"{content.name}: the file is empty: no columns")
    return several, contents


def _below(file: str, root: PurePosixPath) -> PurePosixPath:
    path = PurePosixPath(file)
    return path.relative_to(root) if path != root and path.is_relative_to(root) else path


def _name(address: str) -> str:
    """Return the last part of an address, since the others may contain keys."""
    return printable_name(PurePosixPath(urlsplit(address).path).name or f"{urlsplit(address).scheme}://")


@contextmanager
def _explain_store_error(name: str, address: str) -> Iterator[None]:
    """Turn errors of a remote store into BadData that shows neither the address nor the message of the store."""
    scheme = urlsplit(address).scheme
    try:
        yield
    except ImportError:
        raise BadData(
            f"{name}: to read {scheme}://, install fsspec and what it needs for that, e.g. pip install fsspec s3fs"
        ) from None
    except FileNotFoundError:
        raise BadData(f"{name}: there is no such file") from None
    except Exception as wrong:  # noqa: BLE001 - every store has its own tree, and what they say may hold keys
        raise BadData(f"{name}: {scheme}:// cannot be read ({type(wrong).__name__})") from None


PATTERN = "*?["
DATABASES = {".duckdb", ".ddb", ".db"}
"""Suffixes of DuckDB databases."""


def names_database(source: "str | os.PathLike[str]") -> bool:
    """Return whether a path is that of a database, with or without a table.

    >>> names_database("people.duckdb::visits"), names_database("people.csv")
    (True, False)
    """
    return Path(os.fsdecode(source).partition("::")[0]).suffix.lower() in DATABASES


def is_many(source: Any) -> bool:
    """Return whether a path is a folder or a pattern.

    >>> is_many("people/*.parquet"), is_many("people.csv")
    (True, False)
    """
    if not isinstance(source, str | os.PathLike):
        return False
    text = os.fsdecode(source)
    return os.path.isdir(text) or is_pattern(text)  # noqa: PTH112 - it raises for no path, however odd


def is_pattern(text: str) -> bool:
    return any(c in text for c in PATTERN) and not os.path.exists(text)  # noqa: PTH110 - the same


def files_of(path: Path, name: str) -> tuple[Path | None, list[Path]]:
    """Return the folder, None for a pattern, and its files, or those that fit the pattern; hidden ones are left out."""
    if path.is_dir():
        root: Path | None = path
        found = [each for each in path.rglob("*") if each.is_file() and not is_hidden(each.relative_to(path))]
    else:
        root = None
        fitting = glob.glob(str(path), recursive=True)  # noqa: PTH207 - a pattern may be absolute
        found = [Path(each) for each in fitting if Path(each).is_file() and _is_asked_for(each, str(path))]
    if not found:
        raise BadData(f"{name}: {'there are no files in the folder' if root else 'no file fits the pattern'}")
    return root, sorted(found)


def _is_asked_for(file: str, pattern: str) -> bool:
    """Return whether a file that fits a pattern is meant by it: not hidden, unless the pattern names hidden ones.

    Folders before the first wildcard are named by the pattern, whatever they are called.

    >>> [_is_asked_for(f"_ours/{name}", "_ours/*") for name in ("a.csv", "_SUCCESS")], _is_asked_for("_a.csv", "_*.csv")
    ([True, False], True)
    """
    parts, asked = (PurePosixPath(text.lstrip("/")).parts for text in (file, pattern))
    fixed = next((at for at, part in enumerate(asked) if any(c in part for c in PATTERN)), len(asked))
    return not is_hidden(PurePath(*parts[fixed:])) or any(part.startswith((".", "_")) for part in asked[fixed:])


def is_hidden(below: PurePath) -> bool:
    """Return whether a path below a folder is not part of its data: `.hidden`, `_SUCCESS`, `_temporary/…`.

    >>> is_hidden(PurePath("_temporary/0/a.parquet")), is_hidden(PurePath("_year=2024/a.parquet"))
    (True, False)
    """
    return any(part.startswith((".", "_")) and "=" not in part for part in below.parts)
