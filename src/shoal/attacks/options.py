"""Numbers that people give as options of an attack."""

from math import inf, isfinite
from typing import Any

from shoal.errors import BadInput


def number(name: str, value: Any, least: float = 0, most: float = inf) -> None:
    """Refuse what is no number between two ends.

    >>> number("width", 10)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise BadInput(f"{name} = {value!r} is not a finite number")
    if not least <= value <= most:
        span = f"of at least {least:g}" if most == inf else f"from {least:g} to {most:g}"
        raise BadInput(f"{name} = {value!r} is not a number {span}")


def whole(name: str, value: Any, least: int = 0) -> None:
    """Refuse what is no whole number from an end on.

    >>> whole("excluded", 3)
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(f"{name} = {value!r} is not a whole number of at least {least}")
