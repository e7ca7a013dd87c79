"""From what a policy says about a hierarchy to a builder, and from a builder and a column to levels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow.compute as pc

from shoal.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.coding import TopBottom, ValueOnly
from shoal.hierarchy.columns import first_row, refuse_explosion
from shoal.hierarchy.csv_file import Csv
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.hipaa import Hipaa
from shoal.hierarchy.intervals import Edges, Intervals
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.python_forms import Functions, Rows, from_levels, from_list
from shoal.hierarchy.taxonomy import TOP, Hierarchy, Taxonomy, compile_taxonomy
from shoal.hierarchy.tree import Tree
from shoal.registry import Registry


@runtime_checkable
class Builder(Protocol):
    """How to make a taxonomy for a column: a frozen value, checked when it is made."""

    def taxonomy(self, column: Column) -> Taxonomy: ...

    def spec(self) -> dict[str, Any]:
        """The table of a policy that says the same: `parse(builder.spec(), base) == builder`."""
        ...


@dataclass(frozen=True)
class Form:
    """A key of a policy's `hierarchy` table: the builder that it means, and what may stand beside it."""

    name: str
    builder: Callable[..., Builder]
    """Called with what stands behind the key, and with the options."""
    sentence: str
    """What it makes of values, for people; {} is what stands behind the key."""
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
"""Which key of a policy's `hierarchy` table means which builder."""


def known_keys() -> set[str]:
    """Every key that may stand in a policy's `hierarchy` table."""
    return {*BUILDERS, *(option for form in BUILDERS.values() for option in form.options)}


def parse(spec: Any, base: Path = Path()) -> Builder:
    """The builder that a table of a policy, a form from Python, or a builder itself means.

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
    """The hierarchy of one column.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
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
    """The builder that labels other rows as it labels this column: only a mask depends on what else there is."""
    return builder.fitted(column) if isinstance(builder, Mask) else builder


def _from_table(table: Mapping[Any, Any], base: Path) -> Builder:
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
