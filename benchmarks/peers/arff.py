"""Coded columns as an ARFF file: names and values are numbered words, so that whatever they hold can be read back."""

from collections.abc import Sequence
from pathlib import Path

from shoal.data.codes import Column, Kind
from shoal.mining.attributes import values_of


def write_arff(columns: Sequence[Column], target: Column, path: Path) -> None:
    """Numbers and dates are numeric, all else nominal with its values in the order of codes; null is `?`."""
    words = [_words(column) for column in columns]
    classes = [f"c{code}" for code in range(len(target.values))]
    kinds = [
        "{" + ",".join(of or ["v0"]) + "}" if column.kind is Kind.TEXT else "numeric"
        for column, of in zip(columns, words, strict=True)
    ]
    lines = ["@relation table", *(f"@attribute a{at} {kind}" for at, kind in enumerate(kinds))]
    lines += [f"@attribute class {{{','.join(classes)}}}", "@data"]
    cells = [[*of, "?"] for of in (*words, classes)]
    codes = [column.codes.tolist() for column in (*columns, target)]
    lines += [",".join(of[code] for of, code in zip(cells, row, strict=True)) for row in zip(*codes, strict=True)]
    path.write_text("\n".join([*lines, ""]), "utf-8")


def _words(column: Column) -> list[str]:
    if column.kind is Kind.TEXT:
        return [f"v{code}" for code in range(len(column.values))]
    return [repr(value) for value in values_of(column).tolist()]
