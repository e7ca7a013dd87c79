"""What every part of Shoal runs on: events, memory, temporary folders, and how a value shows itself in a notebook."""

from collections.abc import Iterable
from html import escape
from typing import Any


def html_table(title: str, rows: Iterable[Iterable[object]]) -> str:
    """A small table for a notebook, everything in it escaped.

    >>> html_table("2 rows", [("k", "<5")])
    '<table><caption>2 rows</caption><tr><td>k</td><td>&lt;5</td></tr></table>'
    """
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><caption>{escape(title)}</caption>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class Glance:
    """A value that shows itself by a few figures: in a line at a prompt, in a small table in a notebook, by no cell."""

    __slots__ = ()

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """What a glance shows: names and figures."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(f'{what}: {said}' for what, said in self._facts)})"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts)


def short_number(value: Any) -> str:
    """A number as people read it: whole ones with commas, others with three digits.

    >>> short_number(1234), short_number(0.12345), short_number(None)
    ('1,234', '0.123', 'none')
    """
    if isinstance(value, float):
        return f"{value:.3g}"
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
