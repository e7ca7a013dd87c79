"""Several files that one path names: those of a folder, or those that a pattern fits."""

import glob
import os
from pathlib import Path, PurePath
from typing import Any

from shoal.errors import BadData

PATTERN = "*?["


def is_many(source: Any) -> bool:
    """Whether a path is a folder or a pattern.

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
    """The folder, where it is one, and the files; `hidden` ones are none of its data."""
    if path.is_dir():
        root: Path | None = path
        found = [each for each in path.rglob("*") if each.is_file() and not hidden(each.relative_to(path))]
    else:
        root = None
        fitting = glob.glob(str(path), recursive=True)  # noqa: PTH207 - a pattern may be absolute
        found = [Path(each) for each in fitting if Path(each).is_file()]
    if not found:
        raise BadData(f"{name}: {'there are no files in the folder' if root else 'no file fits the pattern'}")
    return root, sorted(found)


def hidden(below: PurePath) -> bool:
    """Whether a path below a folder is none of its data: `.hidden`, `_SUCCESS`, `_temporary/…`.

    >>> hidden(PurePath("_temporary/0/a.parquet")), hidden(PurePath("_year=2024/a.parquet"))
    (True, False)
    """
    return any(part.startswith((".", "_")) and "=" not in part for part in below.parts)
