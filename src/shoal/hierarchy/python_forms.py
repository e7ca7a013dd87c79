"""Hierarchies in the forms that people bring from other tools; what is passed in is never changed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from shoal.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.columns import built
from shoal.hierarchy.exact import is_list
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.lines import from_lines, warn_of_open_top
from shoal.hierarchy.taxonomy import TOP, Taxonomy

Label = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """A list `[[value, level 1, …, "*"], …]`, as in pyarxaas and python-anonymity; None is null or the top.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> Rows([["f", "*"], ["m", "*"]]).taxonomy(encode("sex", pa.array(["m"]))).leaves
    ['f', 'm']
    """

    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not is_list(self.rows) or not all(is_list(row) and row for row in self.rows):
            raise BadHierarchy("rows is not a list of lists; write one such as [['a', '*'], ['b', '*']]")
        leaves_and_labels = ((_text(leaf), [_label(label) for label in labels]) for leaf, *labels in self.rows)
        rows = tuple((leaf, *labels) for leaf, labels in leaves_and_labels if leaf is not None)
        object.__setattr__(self, "rows", rows)
        self._taxonomy()

    def taxonomy(self, column: Column) -> Taxonomy:
        taxonomy = self._taxonomy()
        warn_of_open_top(taxonomy, f"the hierarchy of column {column.name!r}")
        return taxonomy

    def spec(self) -> dict[str, Any]:
        return {"rows": [list(row) for row in self.rows]}

    def _taxonomy(self) -> Taxonomy:
        return from_lines(self.rows, lambda i: f"entry {i + 1} of the hierarchy", "the hierarchy")


@dataclass(frozen=True, slots=True)
class Functions:
    """One function value -> label per level, as in crowds; None as a label means `*`, which is put on top.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> Functions([lambda age: age // 10]).taxonomy(encode("age", pa.array([34, 57]))).levels
    [['3', '5'], ['*', '*']]
    """

    functions: tuple[Label, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", tuple(self.functions))
        if not self.functions or not all(callable(function) for function in self.functions):
            raise BadHierarchy("a hierarchy of functions needs one function per level; give a list of functions")

    def taxonomy(self, column: Column) -> Taxonomy:
        values = column.values.to_pylist()
        levels = [_labels(column, values, function, h) for h, function in enumerate(self.functions, 1)]
        if set(levels[-1]) == {TOP}:
            levels.pop()
        return built(column, levels)

    def spec(self) -> dict[str, Any]:
        raise BadHierarchy("a hierarchy of functions cannot be saved in a policy; give it as a list of lists or a CSV")


def from_levels(levels: Mapping[int, Any]) -> Rows:
    """A dict level -> labels, as anjana has it; the labels may be a list, an array or a pandas Series.

    >>> from_levels({0: ["f", "m"], 1: ["*", "*"]}).rows
    (('f', '*'), ('m', '*'))
    """
    if sorted(levels) != list(range(len(levels))):
        raise BadHierarchy(
            f"levels {sorted(levels)} of a hierarchy are not 0, 1, 2, …; number them so, 0 for the values"
        )
    columns = [_listed(levels[h], h) for h in range(len(levels))]
    for h, column in enumerate(columns):
        if len(column) != len(columns[0]):
            raise BadHierarchy(
                f"level {h} of a hierarchy has {len(column)} labels for {len(columns[0])} values; give one per value"
            )
    return Rows(tuple(zip(*columns, strict=True)))


def from_list(form: Sequence[Any]) -> Rows | Functions | Intervals:
    """The builder that a list means: rows, functions, or interval widths (a leading 0 is dropped).

    >>> from_list([0, 5, 10])
    Intervals(widths=(5, 10), bottom=None, top=None)
    """
    if form and all(callable(item) for item in form):
        return Functions(tuple(form))
    if form and all(isinstance(item, Real) for item in form):
        return Intervals(tuple(form[1:] if form[0] == 0 else form))
    return Rows(tuple(item.tolist() if hasattr(item, "tolist") else item for item in form))


def _text(value: Any) -> str | None:
    """As a column shows it: 5.0 is `5`."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _listed(labels: Any, level: int) -> list[Any]:
    if isinstance(labels, str) or not hasattr(labels, "__iter__"):
        raise BadHierarchy(f"level {level} of a hierarchy is not a list of labels; give one label per value")
    return list(labels)


def _label(value: Any) -> str:
    text = _text(value)
    return TOP if text is None else text


def _labels(column: Column, values: list[Any], function: Label, level: int) -> list[str]:
    labels = []
    for code, value in enumerate(values):
        try:
            labels.append(_label(function(value)))
        except Exception as error:  # noqa: BLE001 - whatever it is, its text may hold a cell
            raise BadHierarchy(
                f"column {column.name!r}: the function of level {level} raised {type(error).__name__} on row "
                f"{column.first_row(code)}; make it take every value"
            ) from None
    return labels
