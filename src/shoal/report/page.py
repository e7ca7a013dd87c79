"""A manifest as a page: self-contained HTML, every value escaped."""

from functools import cache
from typing import Any


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["percent"] = lambda part, whole: f"{100 * part / whole:.2f} %" if whole else "0 %"
    return environment


def _number(value: Any) -> str:
    """A figure for people; None is one that no number is large enough for.

    >>> _number(1 / 3), _number(30162), _number(None)
    ('0.333333', '30,162', '∞')
    """
    if value is None:
        return "∞"
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"


def render(template: str, document: dict[str, Any]) -> str:
    """Fill one of the templates."""
    page: str = _environment().get_template(template).render(**document)
    return page
