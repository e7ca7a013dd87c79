"""Values that do not change in depth, though they still are dictionaries to JSON and pydantic."""

from collections.abc import Mapping
from typing import Any

from pydantic import AfterValidator


class Fixed(dict[str, Any]):
    """A dictionary that does not change.

    >>> Fixed(k=5)["k"] = 6
    Traceback (most recent call last):
    TypeError: a manifest does not change
    """

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a manifest does not change")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type["Fixed"], tuple[dict[str, Any]]]:
        return Fixed, (dict(self),)


def fixed(value: Any) -> Any:
    """The same value, lists as tuples and dictionaries fixed.

    >>> fixed({"require": [{"k": 5}]})
    {'require': ({'k': 5},)}
    """
    if isinstance(value, Mapping):
        return Fixed({key: fixed(part) for key, part in value.items()})
    return tuple(fixed(part) for part in value) if isinstance(value, list | tuple) else value


FIXED = AfterValidator(fixed)
"""Fixes what a field of a manifest holds; its JSON Schema stays that of the plain type."""
