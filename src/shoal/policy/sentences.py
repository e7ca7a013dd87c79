"""What is wrong with a policy, in one sentence."""

from typing import Any

from pydantic import BaseModel, ValidationError

from shoal.models.spec import kebab, nearest
from shoal.policy.blocking import Blocking
from shoal.policy.method import Method
from shoal.policy.parts import Attribute, DataOptions, ReleaseOptions
from shoal.policy.republish import Republish

_LATER = {
    "categories": "categories of sensitive values are not in this version; leave the key out",
}
"""Keys of an attribute that a later version will know."""

_TABLES: dict[str, type[BaseModel]] = {
    "data": DataOptions,
    "attributes": Attribute,
    "method": Method,
    "release": ReleaseOptions,
    "blocking": Blocking,
    "republish": Republish,
}


def sentence(wrong: ValidationError, policy: type[BaseModel]) -> str:
    """One sentence about the first error, and in how many other places there are more."""
    errors = wrong.errors(include_url=False)
    first = errors[0]
    where = [str(part) for part in first["loc"]]
    others = len({error["loc"] for error in errors}) - 1
    more = f" (and {others} more)" if others else ""
    return ": ".join([*([".".join(where)] if where else []), _message(first, where, policy)]) + more


def _message(error: Any, where: list[str], policy: type[BaseModel]) -> str:
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "extra_forbidden":
        return _unknown(where, policy)
    message = f"{error['msg'][0].lower()}{error['msg'][1:]}"
    return f"{message}, not {error['input']!r}" if isinstance(error["input"], int | float | str) else message


def _unknown(where: list[str], policy: type[BaseModel]) -> str:
    *table, key = where
    if table[:1] == ["attributes"] and key in _LATER:
        return _LATER[key]
    part = _TABLES[table[0]] if table else policy
    known = [kebab(name) for name in part.model_fields]
    return f"unknown key{nearest(key, known)}; known: {', '.join(known)}"
