"""Mutations of the folders of a release: of every field of a manifest, of the files, and of the table itself."""

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HUGE = 10**400
"""A number that no float holds."""
DEEP = "[" * 100_000 + "]" * 100_000
LONG = "x" * 300


@dataclass(frozen=True)
class Mutation:
    """A change of a folder: its name, and the function that makes it."""

    name: str
    make: Callable[[Path], None] = field(compare=False)
    """Changes the folder, in which the file lies."""
    document: Any = None
    """The resulting manifest, where it still is one."""
    path: tuple[str | int, ...] = ()
    """The field of the manifest that it changes."""


class DoubledKey(dict[str, Any]):
    """A JSON object with one of its keys twice."""

    def __init__(self, given: dict[str, Any], key: str, other: Any) -> None:
        super().__init__(given)
        self.key, self.other = key, other

    def items(self) -> Any:
        return [*super().items(), (self.key, self.other)]


def fields_of(document: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the path and the value of every field; of a list of many, the first and the last."""
    if path:
        yield path, document
    if isinstance(document, dict):
        for key, value in document.items():
            yield from fields_of(value, (*path, key))
    elif isinstance(document, list):
        for at in sorted({0, len(document) - 1} if document else ()):
            yield from fields_of(document[at], (*path, at))


def other_values(value: Any) -> dict[str, Any]:
    """Values to put in place of one, by what is wrong with them."""
    found: dict[str, Any] = {
        "null": None,
        "a wrong text": "CANARY-7f3",
        "-1": -1,
        "a fraction": 0.5,
        "10^400": HUGE,
        "infinity": float("inf"),
        "true": True,
        "an empty list": [],
        "an empty object": {},
        "in a list": [value],
        "in an object": {"x": value},
    }
    if isinstance(value, str):
        found |= {
            "an empty text": "",
            "a traversal": "../outside.csv",
            "an absolute path": "/etc/passwd",
            "a long text": LONG,
            "SQL": "x'); DROP TABLE released; --",
        }
    if isinstance(value, int | float):
        found |= {"0": 0, "2^63": 2**63, "2^62": 2**62, "not a number": float("nan"), "false": False}
    if isinstance(value, bool):
        found["negated"] = not value
    elif isinstance(value, int):
        found |= {"one more": value + 1, "one less": value - 1, "as text": str(value), "as a float": float(value)}
    elif isinstance(value, float):
        found |= {"more": value * 1.5 + 1, "less": value / 2, "as text": str(value)}
    elif isinstance(value, str):
        found |= {
            "upper case": value.upper(),
            "longer": f"{value}x",
            "a blank more": f"{value} ",
            "null character": "\0",
        }
    elif isinstance(value, list):
        found |= {
            "reversed": value[::-1],
            "one less": value[1:],
            "twice": [*value, *value[:1]],
            "one more": [*value, "x"],
        }
    elif isinstance(value, dict):
        found |= {"a key more": {**value, "x": 1}, "a key less": dict(list(value.items())[1:])}
    return {what: other for what, other in found.items() if not _same(value, other)}


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def of_manifest(file: str, document: dict[str, Any], deep: bool = True) -> Iterator[Mutation]:
    """Yield the mutations of every field of a manifest."""
    for path, value in fields_of(document):
        shown = ".".join(map(str, path))
        for what, other in other_values(value).items():
            made = _with(document, path, other)
            yield Mutation(f"{file}: {shown} is {what}", _writes(file, made), made, path)
        less = _without(document, path)
        yield Mutation(f"{file}: {shown} is left out", _writes(file, less), less, path)
        if isinstance(path[-1], str):
            for what, other in (("the same", value), ("another value", _another(value))):
                twice = _doubled(document, path, other)
                yield Mutation(f"{file}: {shown} is there twice, with {what}", _writes(file, twice), None, path)
    for what, text in _broken(document, deep=deep).items():
        yield Mutation(f"{file}: it is {what}", _text(file, text))


def _another(value: Any) -> Any:
    return value + 1 if isinstance(value, int | float) else [] if isinstance(value, list) else "x"


def _broken(document: dict[str, Any], *, deep: bool) -> dict[str, str | bytes]:
    plain = json.dumps(document)
    found: dict[str, str | bytes] = {
        "empty": "",
        "cut off": plain[: len(plain) // 2],
        "not UTF-8": plain.encode("utf-16"),
        "a list": f"[{plain}]",
        "a number": "1",
        "twice": plain * 2,
        "begun with a mark of bytes": b"\xef\xbb\xbf" + plain.encode(),
        "a lone surrogate": plain.replace('"shoal"', '"\\ud800": 1, "shoal"', 1),
    }
    if deep:
        found["nested deep"] = DEEP
        found["nested deep within"] = plain[:-1] + f', "x": {DEEP}' + "}"
        found["nested 300 deep"] = plain[:-1] + ', "x": ' + '{"x": ' * 300 + "1" + "}" * 300 + "}"
        found["of 5,000 digits"] = plain[:-1] + f', "x": {"9" * 5_000}' + "}"
    return found


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def _with(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    made = deepcopy(document)
    _at(made, path[:-1])[path[-1]] = value
    return made


def _without(document: Any, path: tuple[str | int, ...]) -> Any:
    made = deepcopy(document)
    del _at(made, path[:-1])[path[-1]]
    return made


def _doubled(document: Any, path: tuple[str | int, ...], other: Any) -> Any:
    made = deepcopy(document)
    twice = DoubledKey(_at(made, path[:-1]), str(path[-1]), other)
    return twice if len(path) == 1 else _with(made, path[:-1], twice)


def _writes(file: str, document: Any) -> Callable[[Path], None]:
    return _text(file, as_json(document))


def as_json(document: Any) -> str:
    """The text of a document, even of one that JSON does not allow."""
    if isinstance(document, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {as_json(value)}" for key, value in document.items()) + "}"
    if isinstance(document, list | tuple):
        return "[" + ", ".join(map(as_json, document)) + "]"
    return json.dumps(document)


def _text(file: str, text: str | bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / file).write_bytes(text.encode() if isinstance(text, str) else text)

    return make


def of_files(folder: Path, outside: Path) -> Iterator[Mutation]:
    """Yield the mutations of every file of a folder: gone, renamed, linked, a FIFO, a folder, damaged."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name == "report.html":
            continue  # for people; nothing reads it
        for what, make in _OF_A_FILE.items():
            yield Mutation(f"{name}: {what}", _changes(name, make, outside))


def _changes(name: str, make: Callable[[Path, Path], None], outside: Path) -> Callable[[Path], None]:
    return lambda folder: make(folder / name, outside)


def _gone(path: Path, outside: Path) -> None:
    path.unlink()


def _renamed(path: Path, outside: Path) -> None:
    path.rename(path.with_name(f"{path.name}.x"))


def _linked(path: Path, outside: Path) -> None:
    """Leave a link to a true copy outside: a reader that follows it finds nothing wrong."""
    kept = outside / path.name
    shutil.move(path, kept)
    path.symlink_to(kept)


def _linked_inside(path: Path, outside: Path) -> None:
    path.rename(path.with_name(f".{path.name}"))
    path.symlink_to(f".{path.name}")


def _dangling(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(outside / "nothing")


def _circular(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _fifo(path: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path, outside: Path) -> None:
    path.unlink()
    path.mkdir()


def _empty(path: Path, outside: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path, outside: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _garbled(path: Path, outside: Path) -> None:
    content = bytearray(path.read_bytes())
    for at in range(0, len(content), max(len(content) // 20, 1)):
        content[at] ^= 0xFF
    path.write_bytes(bytes(content))


def _longer(path: Path, outside: Path) -> None:
    path.write_bytes(path.read_bytes() * 2)


def _zeros(path: Path, outside: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


_OF_A_FILE: dict[str, Callable[[Path, Path], None]] = {
    "gone": _gone,
    "renamed": _renamed,
    "a link out of the folder": _linked,
    "a link within the folder": _linked_inside,
    "a link to nothing": _dangling,
    "a link to itself": _circular,
    "a FIFO": _fifo,
    "a folder": _folder,
    "empty": _empty,
    "cut off": _cut,
    "garbled": _garbled,
    "twice as long": _longer,
    "zeros": _zeros,
}


def of_csv(file: str, content: str, delimiter: str = ",") -> Iterator[Mutation]:
    """Yield the mutations of a table: rows swapped, repeated and left out, cells changed, columns swapped."""
    header, *rows = list(csv.reader(content.splitlines(), delimiter=delimiter))
    last = len(rows) - 1
    made: dict[str, list[list[str]]] = {
        "the first and the last row are swapped": [rows[last], *rows[1:last], rows[0]],
        "a row is left out": rows[1:],
        "a row is there twice": [*rows, rows[0]],
        "no row is left": [],
    }
    for at, name in enumerate(header):
        other = next((row[at] for row in rows if row[at] != rows[0][at]), "x")
        for what, cell in (("another cell", other), ("*", "*"), ("nothing", ""), ("what nothing is", "CANARY-7f3")):
            if cell != rows[0][at]:
                changed = [*rows[0][:at], cell, *rows[0][at + 1 :]]
                made[f"row 1 shows {what} in {name}"] = [changed, *rows[1:]]
        swapped = [[*row[:at], rows[last - i][at], *row[at + 1 :]] for i, row in enumerate(rows)]
        if sorted(swapped) != sorted(rows):
            made[f"the cells of {name} are in reverse order"] = swapped
    for what, lines in made.items():
        yield Mutation(f"{file}: {what}", _rows(file, [header, *lines], delimiter))
    turned = [row[1:2] + row[:1] + row[2:] for row in (header, *rows)]
    yield Mutation(f"{file}: two columns are swapped", _rows(file, turned, delimiter))
    yield Mutation(f"{file}: a column is called otherwise", _rows(file, [["x", *header[1:]], *rows], delimiter))


def _rows(file: str, lines: list[list[str]], delimiter: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        with (folder / file).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(lines)

    return make
