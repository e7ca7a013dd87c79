"""A page as HTML: self-contained, every value escaped.

Pictures are drawn by the template itself, as bars of CSS and paths of SVG: they follow light, dark and the printer, and
cost next to nothing. matplotlib takes 0.3 s and 36 MB to load, more than a small release has left for its reports.
"""

from functools import cache
from importlib.resources import files
from typing import Any

from shoal.report.pages.blocks import Page, percent

_SIGNS = {"good": "✓", "bad": "!", "open": "?", "plain": ""}


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": percent, "width": _width}
    here = files("shoal.report") / "templates"
    style = Markup((here / "page.css").read_text("utf-8"))  # noqa: S704 - our own file, not a value
    environment.globals |= {"signs": _SIGNS, "style": style}
    return environment.from_string((here / "page.html").read_text("utf-8"))


def _width(share: float) -> str:
    """A share as CSS tells a width.

    >>> _width(1 / 3), _width(-0.1)
    ('33.3%', '0.0%')
    """
    return f"{100 * min(max(share, 0.0), 1.0):.1f}%"


def render(page: Page) -> str:
    """The whole page as one text."""
    text: str = _template().render(page=page)
    return text
