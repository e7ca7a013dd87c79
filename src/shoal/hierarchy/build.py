"""From the description of a hierarchy to a builder, and from a builder and a column to levels."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow.compute as pc

from shoal.data.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.arx_csv import Csv, from_lines, warn_of_open_top
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.exact_numbers import is_list
from shoal.hierarchy.hipaa import Hipaa
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Edges, Intervals
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.taxonomy import TOP, Hierarchy, Taxonomy, compile_taxonomy
from shoal.hierarchy.top_bottom import TopBottom, ValueOnly
from shoal.hierarchy.value_columns import built, first_row, refuse_explosion
from shoal.registry import Registry

Label = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """A list `[[value, level 1, …, "*"], …]`, as in pyarxaas and python-anonymity; None is null or the top.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
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
    >>> from shoal.data.codes import encode
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
    """Read a dict level -> labels, as in anjana; the labels may be a list, an array or a pandas Series.

    >>> from_levels({0: ["f", "m"], 1: ["*", "*"]}).rows
    (('f', '*'), ('m', '*'))
    """
    if sorted(levels) != list(range(len(levels))):
        raise BadHierarchy(
            f"levels {sorted(levels)} of a hierarchy are not 0, 1, 2, …; number them so, 0 for the values"
        )
    columns = [_to_list(levels[h], h) for h in range(len(levels))]
    for h, column in enumerate(columns):
        if len(column) != len(columns[0]):
            raise BadHierarchy(
                f"level {h} of a hierarchy has {len(column)} labels for {len(columns[0])} values; give one per value"
            )
    return Rows(tuple(zip(*columns, strict=True)))


def from_list(form: Sequence[Any]) -> Rows | Functions | Intervals:
    """Return the builder that a list means: rows, functions, or interval widths (a leading 0 is dropped).

    >>> from_list([0, 5, 10])
    Intervals(widths=(5, 10), bottom=None, top=None)
    """
    if form and all(callable(item) for item in form):
        return Functions(tuple(form))
    if form and all(isinstance(item, Real) for item in form):
        return Intervals(tuple(form[1:] if form[0] == 0 else form))
    return Rows(tuple(item.tolist() if hasattr(item, "tolist") else item for item in form))


def _text(value: Any) -> str | None:
    """Return a value as a column shows it: 5.0 is `5`."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _to_list(labels: Any, level: int) -> list[Any]:
    """Return the labels of a level as a list; refuse what is not a list of labels."""
    if isinstance(labels, str) or not hasattr(labels, "__iter__"):
        raise BadHierarchy(f"level {level} of a hierarchy is not a list of labels; give one label per value")
    return list(labels)


def _label(value: Any) -> str:
    """Return a value as a label; None and nan are the top."""
    text = _text(value)
    return TOP if text is None else text


def _labels(column: Column, values: list[Any], function: Label, level: int) -> list[str]:
    """Apply the function of a level to all values; name the row where it fails, but not its value."""
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


@runtime_checkable
class Builder(Protocol):
    """How to make a taxonomy for a column: a frozen value, checked when it is made."""

    def taxonomy(self, column: Column) -> Taxonomy: ...

    def spec(self) -> dict[str, Any]:
        """Return the table of a policy that gives this builder: `parse(builder.spec(), base) == builder`."""
        ...


@dataclass(frozen=True)
class Form:
    """A key of a policy's `hierarchy` table: the builder that it means, and what may stand beside it."""

    name: str
    builder: Callable[..., Builder]
    """Makes the builder from the value of the key and the options."""
    sentence: str
    """What it makes of values, for people; {} stands for the value of the key."""
    options: tuple[str, ...] = ()


BUILDERS: Registry[Form] = Registry(
    "shoal.hierarchies",
    [
        Form("csv", Csv, "from a file"),
        Form("dates", Dates, "dates by {}", ("format",)),
        Form("edges", Edges, "ranges between given edges"),
        Form("flat", ValueOnly, "the value, or *"),
        Form("hipaa", Hipaa, "by HIPAA Safe Harbor"),
        Form("intervals", Intervals, "ranges of {}", ("bottom", "top")),
        Form("mask", Mask, "cut from the {}", ("char", "length")),
        Form("rows", Rows, "given value by value"),
        Form("tree", Tree, "a tree"),
        # the last two of ours: they may also be options of intervals
        Form("bottom", TopBottom, "the low end joined", ("top",)),
        Form("top", TopBottom, "the high end joined", ("bottom",)),
    ],
)
"""Builders by their key in a policy's `hierarchy` table."""


def known_keys() -> set[str]:
    """Return every key that a policy's `hierarchy` table may have."""
    return {*BUILDERS, *(option for form in BUILDERS.values() for option in form.options)}


def parse(spec: Any, base: Path = Path()) -> Builder:
    """Return the builder that a table of a policy, a form from Python, or a builder itself means.

    >>> parse({"intervals": [5, 10], "top": 80})
    Intervals(widths=(5, 10), bottom=None, top=80)
    """
    if isinstance(spec, Builder) and not isinstance(spec, type):
        return spec
    if callable(spec):
        return Functions((spec,))
    if isinstance(spec, Mapping):
        levels = spec and all(isinstance(key, Integral) for key in spec)
        return from_levels(spec) if levels else _from_table(spec, base)
    form = spec.tolist() if hasattr(spec, "tolist") else spec
    if isinstance(form, list | tuple):
        return from_list(form)
    raise BadHierarchy(
        f"a hierarchy cannot be a {type(spec).__name__}; write a table such as {{ intervals = [5, 10] }}"
    )


def build(column: Column, builder: Builder) -> Hierarchy:
    """Build the hierarchy of one column.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> build(encode("age", pa.array([23, 27, 31])), Intervals([10])).labels
    (('23', '27', '31'), ('[20, 30)', '[30, 40)'), ('*',))
    """
    row = first_row(column, pc.equal(column.texts, TOP))
    if row is not None:
        raise BadHierarchy(
            f"column {column.name!r}: row {row} is already {TOP}, the label of the top; list it in [data] missing"
        )
    refuse_explosion(column, 1)
    return compile_taxonomy(column, builder.taxonomy(column))


def pinned(builder: Builder, column: Column) -> Builder:
    """Return a builder that labels other rows as it labels this column; only a mask depends on other rows."""
    return builder.fit(column) if isinstance(builder, Mask) else builder


def _from_table(table: Mapping[Any, Any], base: Path) -> Builder:
    """Return the builder that a table of a policy means; refuse unknown keys and those that do not go together."""
    known = known_keys()
    for key in table:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(sorted(BUILDERS))}"
            raise BadHierarchy(f"hierarchy has an unknown key {key!r}; {hint}")
    main = next((key for key in BUILDERS if key in table), None)
    if main is None:
        raise BadHierarchy(f"hierarchy names no kind; choose one of {', '.join(sorted(BUILDERS))}")
    options = {key: value for key, value in table.items() if key != main}
    for key in options:
        if key not in BUILDERS[main].options:
            raise BadHierarchy(f"hierarchy has {key!r} beside {main!r}, and they do not go together; keep one of them")
    made = BUILDERS[main].builder
    if made is TopBottom:
        return TopBottom(**table)
    return Csv(table[main], base) if made is Csv else made(table[main], **options)
