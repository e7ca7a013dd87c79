"""The bytes behind a path or standard input."""

import mmap
import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from shoal.errors import BadData

Bytes = bytes | mmap.mmap


@dataclass(frozen=True)
class Content:
    name: str
    """What errors call it; without terminal control characters."""
    suffix: str
    """`.csv`, in lower case; empty for standard input."""
    data: Bytes


def shown(name: str) -> str:
    r"""Return the name as a terminal may show it.

    >>> print(shown("people.csv"), shown("\x1b[2J.csv"))
    people.csv '\x1b[2J.csv'
    """
    return name if name.isprintable() else repr(name)


def open_content(source: "str | os.PathLike[str]") -> Content:
    """Open a file (memory mapped where possible) or read standard input to its end."""
    if source == "-":
        return _filled(Content("-", "", sys.stdin.buffer.read()))
    path = Path(os.fsdecode(source))
    name = shown(path.name or str(path))
    try:
        data = _bytes_of(path)
    except (FileNotFoundError, NotADirectoryError):
        raise BadData(f"{name}: there is no such file{_near(path)}") from None
    except IsADirectoryError:
        raise BadData(f"{name}: this is a folder, not a file; name the table in it") from None
    except PermissionError:
        raise BadData(f"{name}: no permission to read the file") from None
    except OSError as error:
        raise BadData(f"{name}: the file cannot be read ({error.strerror or 'input/output error'})") from None
    except ValueError:  # a NUL in the path
        raise BadData(f"{name}: this is not a path") from None
    return _filled(Content(name, path.suffix.lower(), data))


def _bytes_of(path: Path) -> Bytes:
    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # empty, or a pipe
            return file.read()


def _filled(content: Content) -> Content:
    if not len(content.data):
        raise BadData(f"{content.name}: the file is empty: no columns")
    return content


def _near(path: Path) -> str:
    try:
        others = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return ""
    near = [shown(name) for name in get_close_matches(path.name, others, n=3)]
    return f"; did you mean {' or '.join(near)}?" if near else ""
