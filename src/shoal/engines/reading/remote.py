"""Paths that are addresses: `file://` is a path of this machine; all others are opened by fsspec, where it is there."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from shoal.engines.reading.content import Content, shown
from shoal.engines.reading.many import PATTERN, hidden
from shoal.errors import BadData, BadInput

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def is_remote(source: "str | os.PathLike[str]") -> bool:
    """Whether fsspec is needed to open it.

    >>> is_remote("s3://bucket/people.parquet"), is_remote("file:///people.csv"), is_remote("people.csv")
    (True, False, False)
    """
    found = _ADDRESS.match(os.fsdecode(source))
    return found is not None and found[1].lower() != "file"


def local_path(source: "str | os.PathLike[str]") -> Path | None:
    """The path on this machine; None where there is none.

    >>> print(local_path("file:///tmp/my%20people.csv"), local_path("memory://people.csv"))
    /tmp/my people.csv None
    """
    text = os.fsdecode(source)
    if not text:  # which Path takes for the folder we are in
        raise BadInput("the name of the table is empty; name a file")
    if is_remote(text):
        return None
    return Path(unquote(urlsplit(text).path)) if _ADDRESS.match(text) else Path(text)


def open_remote(address: str) -> tuple[bool, list[tuple[PurePosixPath, Content]]]:
    """Whether an address names several files, of a folder or a pattern, and each with its path below the folder."""
    name = _name(address)
    with _explained(name, address):
        import fsspec

        store, path = fsspec.core.url_to_fs(address)
        root, several = PurePosixPath(path), True
        if any(c in path for c in PATTERN) and not store.exists(path):
            files = [each for each in store.glob(path) if store.isfile(each)]
            root = PurePosixPath()
        elif store.isdir(path):
            files = store.find(path)
        else:
            files, several = [path], False
        found = [(_below(each, root), each) for each in sorted(files)]
        contents = [
            (below, Content(shown(below.name or name), below.suffix.lower(), store.cat_file(each)))
            for below, each in found
            if not several or not hidden(below)
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
    """The last part of an address: the others may hold keys."""
    return shown(PurePosixPath(urlsplit(address).path).name or f"{urlsplit(address).scheme}://")


@contextmanager
def _explained(name: str, address: str) -> Iterator[None]:
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
