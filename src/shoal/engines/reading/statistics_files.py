"""Read files of Stata, SPSS and SAS: value labels become the values, and values declared missing become null."""

import io
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from shoal.engine_port import ReadOptions, Source
from shoal.engines.reading.assemble import assemble, check_names, null_marker, typed_column
from shoal.engines.reading.content import Content
from shoal.errors import BadData

_READERS: Mapping[str, tuple[str, str]] = {
    ".dta": ("a Stata", "read_dta"),
    ".sav": ("an SPSS", "read_sav"),
    ".zsav": ("an SPSS", "read_sav"),
    ".por": ("a portable SPSS", "read_por"),
    ".sas7bdat": ("a SAS", "read_sas7bdat"),
    ".xpt": ("a SAS transport", "read_xport"),
}
"""By extension: the kind of file in error messages, and the function of pyreadstat that reads it."""


def read_statistics(content: Content, options: ReadOptions) -> Source:
    """Read a file of Stata, SPSS or SAS, which needs `shoal[statistics]`."""
    cells, labels = _load(content, options)
    check_names(content.name, list(cells))
    columns = {title: typed_column(title, _apply_labels(cells[title], labels.get(title, {}))) for title in cells}
    table = assemble(content.name, columns, options)
    return Source(table, format="statistics", name=content.name, missing=null_marker(options))


def _load(
    content: Content, options: ReadOptions
) -> tuple[Mapping[str, Sequence[Any]], Mapping[str, Mapping[Any, str]]]:
    """Return the cells of each column, and the value labels of the columns that have some."""
    kind, reader = _READERS[content.suffix]
    try:
        import pyreadstat
    except ImportError:
        raise BadData(f"{content.name}: to read {kind} file, install shoal[statistics], or pyreadstat itself") from None
    how = {} if options.encoding is None else {"encoding": options.encoding}
    try:
        cells, about = getattr(pyreadstat, reader)(io.BytesIO(content.data), output_format="dict", **how)
    except Exception:  # noqa: BLE001 - it raises errors of many kinds, and what they say may hold cells
        raise BadData(f"{content.name}: this is not {kind} file, or it is damaged") from None
    return cells, about.variable_value_labels


def _apply_labels(cells: Sequence[Any], labels: Mapping[Any, str]) -> list[Any]:
    """Return the label of each value, the value itself if it has none, and None if it is missing."""
    values = [_to_python(cell) for cell in cells]
    return [labels.get(value, value) for value in values] if labels else values


def _to_python(cell: Any) -> Any:
    """Convert a cell to a plain Python value; None if it is missing."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(value, float) and isnan(value) else value
