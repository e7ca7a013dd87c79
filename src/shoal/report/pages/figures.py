"""Figures for people: parameters and numbers as text."""

from collections.abc import Mapping, Sequence
from typing import Any

_LARGE, _HUGE = 1e3, 1e12
"""Numbers between these are told in full, without decimals."""
_MOST = 6
"""Values of one parameter that are named."""


def number(value: float | None) -> str:
    """A figure; None is one that no number is large enough for.

    >>> number(1 / 3), number(30162), number(54893.7), number(None), number(True)
    ('0.3333', '30,162', '54,894', '∞', 'yes')
    """
    if value is None:
        return "∞"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if _LARGE <= abs(value) < _HUGE else f"{value:,.4g}"


def asked(parameters: Mapping[str, Any]) -> str:
    """The parameters of a promise, those of many values shortened.

    >>> asked({"alpha": {"hiv": 0.6, "cold": 0.75}, "k": 3})
    'alpha = hiv 0.6 | cold 0.75, k = 3'
    """
    return ", ".join(f"{name} = {_parameter(value)}" for name, value in parameters.items())


def promise(model: str, attribute: str | None, parameters: Mapping[str, Any]) -> str:
    """A promise in one line.

    >>> promise("distinct-l-diversity", "disease", {"l": 3})
    'distinct-l-diversity of disease (l = 3)'
    """
    return f"{model}{f' of {attribute}' if attribute else ''} ({asked(parameters)})"


def attained(figures: Mapping[str, Any]) -> str:
    """What is reached; beside what was compared with the original, or alone, what was compared with the release.

    >>> attained({"t": 0.25, "release": {"t": 0.5}})
    't = 0.25 (compared with the release itself: t = 0.5)'
    >>> attained({"release": {"t": 0.5}}), attained({})
    ('t = 0.5, compared with the release itself', 'not published')
    """
    plain = ", ".join(f"{name} = {_parameter(value)}" for name, value in figures.items() if not _many(value))
    itself = figures.get("release")
    if not isinstance(itself, Mapping):
        return plain if figures else "not published"
    compared = "compared with the release itself"
    return f"{plain} ({compared}: {attained(itself)})" if plain else f"{attained(itself)}, {compared}"


def _many(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _parameter(value: Any) -> str:
    if isinstance(value, Mapping):
        return _joined([f"{name} {_parameter(limit)}" for name, limit in value.items()])
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _joined([_parameter(each) for each in value])
    return value if isinstance(value, str) else number(value)


def _joined(texts: Sequence[str]) -> str:
    left = len(texts) - _MOST
    return " | ".join([*texts[:_MOST], *([f"and {left:,} more"] if left > 0 else [])])
