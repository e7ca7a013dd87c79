"""Makes a Table from Arrow columns: what every format checks, encodes and warns about in the same way."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from shoal.data.codes import Column, Table, encode
from shoal.engine_port import ReadOptions
from shoal.errors import BadData, ShoalWarning

FRAME = "the frame"
"""What errors call a frame."""

_PLAIN = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_duration,
    pa.types.is_null,
)
_REFUSED = {
    pa.types.is_nested: "lists or records, not one value per row",
    pa.types.is_binary: "binary data",
    pa.types.is_large_binary: "binary data",
    pa.types.is_binary_view: "binary data",
    pa.types.is_fixed_size_binary: "binary data",
}


def assemble(
    name: str, columns: Mapping[str, Any], options: ReadOptions, decimals: Sequence[str] | None = None
) -> Table:
    """Encode the columns of a table called `name`; their names have passed `check_names`."""
    rows = len(next(iter(columns.values())))
    if not rows:
        raise BadData(f"{name}: there are no records")
    marks = decimals or [options.decimal or "."] * len(columns)
    encoded = {
        title: _encoded(name, title, array, mark, options)
        for (title, array), mark in zip(columns.items(), marks, strict=True)
    }
    for column in encoded.values():
        warn_of_look_alikes(column)
    return Table(encoded, rows)


def check_names(name: str, titles: Sequence[Any]) -> None:
    """Refuse no columns at all, and columns whose name is no text, empty or taken."""
    if not titles:
        raise BadData(f"{name}: the table is empty: no columns")
    first: dict[str, int] = {}
    for at, title in enumerate(titles, 1):
        if not isinstance(title, str):
            raise BadData(f"{name}: the name of column {at} is not text; rename the columns to strings")
        if not title.strip():
            raise BadData(f"{name}: column {at} has no name; give it one")
        if title in first:
            raise BadData(f"{name}: columns {first[title]} and {at} are both named {title!r}; rename one")
        first[title] = at


def check_type(name: str, title: str, of: pa.DataType) -> None:
    """Refuse a column that does not hold one plain value per row."""
    plain = of.value_type if pa.types.is_dictionary(of) else of
    if any(test(plain) for test in _PLAIN):
        return
    what = next((said for test, said in _REFUSED.items() if test(plain)), "values of a type Shoal does not know")
    raise BadData(f"{name}: column {title!r} holds {what}; drop it or turn it into text")


def marker(options: ReadOptions) -> str:
    """Tell how a null is written in text."""
    return options.missing[0] if options.missing else ""


def _encoded(name: str, title: str, array: Any, decimal: str, options: ReadOptions) -> Column:
    check_type(name, title, array.type)
    try:
        return encode(title, array, missing=options.missing, decimal=decimal, normalise=options.normalise)
    except (pa.ArrowException, UnicodeError):  # what they say may hold cells
        raise BadData(f"{name}: column {title!r} cannot be read; turn it into text") from None


def warn_of_look_alikes(column: Column) -> None:
    """Warn of the values of a column that differ in form only."""
    if count := column.look_alikes:
        warnings.warn(
            f"column {column.name!r}: {count:,} values differ only in form (like 5 and 5.0, or outer spaces)"
            " and are kept apart; set normalise = true under [data] to join them",
            ShoalWarning,
            stacklevel=2,
        )
