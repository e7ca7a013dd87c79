"""A taxonomy in a file of its own, in the format of ARX: `value;level1;level2;…`, no header (S2.2)."""

import csv
import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from shoal.data.codes import Column
from shoal.errors import BadHierarchy, ShoalWarning
from shoal.hierarchy.taxonomy import Taxonomy

Lines = Sequence[tuple[str, ...]]


def from_lines(lines: Lines, where: Callable[[int], str], name: str) -> Taxonomy:
    """Build a taxonomy of lines; `where(i)` says how a person finds line `i`, `name` what holds them all.

    >>> from_lines([("a", "x", "*"), ("b", "x", "*"), ("a", "x", "*")], str, "the list").leaves
    ['a', 'b']
    """
    if not lines:
        raise BadHierarchy(f"{name} is empty; write one line per value: value;level 1;level 2;…")
    _refuse_uneven(lines, where)
    kept = _unique_lines(lines, where)
    leaves, *levels = (list(column) for column in zip(*(lines[i] for i in kept), strict=True))
    return Taxonomy(leaves, levels, lambda leaf: where(kept[leaf]), name)


def warn_of_open_top(taxonomy: Taxonomy, name: str) -> None:
    """Warn of several labels at the top: allowed, but no node then hides everything (bad input 20)."""
    tops = len(set(taxonomy.levels[-1]))
    if tops > 1:
        warnings.warn(
            f"{name} ends in {tops} labels and cannot reach full suppression; end every line in *",
            ShoalWarning,
            stacklevel=3,
        )


def _refuse_uneven(lines: Lines, where: Callable[[int], str]) -> None:
    """Refuse lines of different lengths, without levels, or with empty labels."""
    width = len(lines[0])
    for i, line in enumerate(lines):
        if len(line) != width:
            raise BadHierarchy(
                f"{where(i)} has {len(line) - 1} level(s) where {where(0)} has {width - 1}; give every value "
                "the same number of levels"
            )
        if len(line) < 2:
            raise BadHierarchy(f"{where(i)} has a value but no level above it; write value;level 1;…")
        if "" in line[1:]:
            raise BadHierarchy(f"{where(i)} has an empty label at level {line.index('', 1)}; name it, or write *")


def _unique_lines(lines: Lines, where: Callable[[int], str]) -> list[int]:
    """Return the positions of the lines without exact repetitions; refuse a value with two different lines."""
    first: dict[str, int] = {}
    for i, line in enumerate(lines):
        before = first.setdefault(line[0], i)
        if line != lines[before]:
            raise BadHierarchy(
                f"{where(i)} gives a value other parents than {where(before)} does, and it can have one "
                "only; keep one of the two"
            )
    return list(first.values())


_DELIMITERS = ";\t|,"
_SNIFFED_LINES = 100


@dataclass(frozen=True, slots=True)
class Csv:
    r"""A hierarchy file in UTF-8, its delimiter sniffed; a relative path starts from the folder `base` (ARX).

    >>> import tempfile, pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "sex.csv").write_text("f;*\nm;*\n")
    ...     Csv("sex.csv", Path(folder)).taxonomy(encode("sex", pa.array(["m"]))).where(1)
    'line 2 of sex.csv'
    """

    path: str
    base: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        if not _is_path(self.path):
            raise BadHierarchy(f"csv = {self.path!r} is not a path; write one such as 'hierarchies/age.csv'")
        object.__setattr__(self, "path", str(self.path))

    def taxonomy(self, column: Column) -> Taxonomy:  # noqa: ARG002 - a file has its own leaves
        lines, numbers = self._lines(self._text())
        name = f"hierarchy file {self.path}"
        taxonomy = from_lines(lines, lambda i: f"line {numbers[i]} of {self.path}", name)
        warn_of_open_top(taxonomy, name)
        return taxonomy

    def spec(self) -> dict[str, Any]:
        return {"csv": self.path}

    def seen_from(self, folder: Path) -> "Csv":
        """Return the same file with its path written for a policy in another folder; an absolute path stays."""
        path = rewrite_path(self.path, self.base, folder)
        return self if path == self.path else Csv(path, folder)

    def _text(self) -> str:
        """Read the file; refuse one that cannot be read or is not text in UTF-8."""
        try:
            text = (self.base / self.path).read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise BadHierarchy(
                f"hierarchy file {self.path} cannot be read ({error.strerror}); check its path"
            ) from None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise BadHierarchy(f"line {line} of {self.path} is not UTF-8; save the file as UTF-8") from None
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise BadHierarchy(f"line {line} of {self.path} is not text; save the file as a CSV in UTF-8")
        return text

    def _lines(self, text: str) -> tuple[list[tuple[str, ...]], list[int]]:
        """Return the lines that are not blank, and the number of each in the file."""
        lines, numbers, number = [], [], 1
        try:
            reader = csv.reader(StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
            for line in reader:
                if line:
                    lines.append(tuple(line))
                    numbers.append(number)
                number = reader.line_num + 1  # a quoted line break makes one record of two lines
        except csv.Error:
            raise BadHierarchy(
                f"line {number} of {self.path} has a quote that does not end where it should, or no end; correct it"
            ) from None
        return lines, numbers


def rewrite_path(path: str, base: Path, folder: Path) -> str:
    """Rewrite a path relative to `base` for another folder; an absolute path stays."""
    here, there = os.path.realpath(base), os.path.realpath(folder)
    if Path(path).is_absolute() or here == there:
        return path
    file = os.path.realpath(Path(here, path))  # `..` leads out of a folder, not back over a link to it
    try:
        return Path(os.path.relpath(file, there)).as_posix()
    except ValueError:  # on another drive
        return Path(file).as_posix()


def _is_path(value: Any) -> bool:
    """Return whether a value can be a path: not empty, and without a null character."""
    return isinstance(value, str | Path) and str(value) != "" and "\0" not in str(value)


def _delimiter(text: str) -> str:
    r"""Return the delimiter that cuts most of the first lines into the same number of fields, at least two.

    >>> _delimiter("1;[0, 5[;*\n2;[0, 5[;*\n"), _delimiter("a,x;y,*\nb,z,*\n")
    (';', ',')
    """
    lines = [line for line in text.splitlines()[:_SNIFFED_LINES] if line]

    def agreement(delimiter: str) -> int:
        widths = Counter(len(line) for line in csv.reader(lines, delimiter=delimiter) if len(line) > 1)
        return max(widths.values(), default=0)

    return max(_DELIMITERS, key=agreement)
