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
    environment.filters["number"] = lambda value: f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
    environment.filters["percent"] = lambda part, whole: f"{100 * part / whole:.2f} %" if whole else "0 %"
    return environment


def render(template: str, document: dict[str, Any]) -> str:
    """Fill one of the templates."""
    page: str = _environment().get_template(template).render(**document)
    return page
