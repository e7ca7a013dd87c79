"""What every part of Shoal uses: events, memory limits, temporary folders, and short representations of results."""

import sys
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib import import_module
from typing import Any


def load_on_use(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: each module of `names` is loaded when one of its names is used.

    >>> load_on_use(__name__, {"math": ["tau"]})("tau")
    6.283185307179586
    """
    home = {name: module for module, listed in names.items() for name in listed}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, found)  # asked once
        return found

    return load


def html_table(title: str, rows: Iterable[Iterable[object]]) -> str:
    """Return a small HTML table for a notebook, with everything in it escaped.

    >>> html_table("2 rows", [("k", "<5")])
    '<table><caption>2 rows</caption><tr><td>k</td><td>&lt;5</td></tr></table>'
    """
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><caption>{escape(title)}</caption>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class SummaryRepr:
    """Base of results shown by a few figures, never by cells: in a line at a prompt, in a table in a notebook."""

    __slots__ = ()

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """Names and values of the figures to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(f'{what}: {said}' for what, said in self._facts)})"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts)


def whole_percent(part: int, whole: int) -> str:
    """Format a share as a whole number of percent, rounded; only none is 0 %, and only all is 100 %.

    >>> whole_percent(829, 924), whole_percent(999, 1000), whole_percent(1, 1000), whole_percent(4, 4)
    ('90 %', '99 %', '1 %', '100 %')
    """
    rounded = (200 * part + whole) // (2 * whole) if whole else 0
    return f"{rounded if part in {0, whole} else min(max(rounded, 1), 99)} %"


def short_number(value: Any) -> str:
    """Format a number for people: integers with commas, others with three significant digits.

    >>> short_number(1234), short_number(0.12345), short_number(None)
    ('1,234', '0.123', 'none')
    """
    if isinstance(value, float):
        return f"{value:.3g}"
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
