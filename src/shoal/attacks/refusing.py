"""Inputs that no attack can use, each refused in one sentence that holds no cell."""

import numpy as np

from shoal.attacks.published import Published
from shoal.codes import Table
from shoal.errors import BadInput
from shoal.models.spec import nearest


def refuse_missing(published: Published, people: Table, called: str) -> None:
    """Everything that is known of a person must be a column of what tells of people."""
    for name in published.quasi_identifiers:
        if name not in people.columns:
            raise BadInput(f"{called} has no column {name!r}{nearest(name, people.columns)}, and {published.name} does")
    if not people.rows:
        raise BadInput(f"{called} has no records")


def refuse_twice(people: Table, key: str | None, called: str) -> None:
    """A column that names persons names each of them once."""
    if key is None:
        return
    if key not in people.columns:
        raise BadInput(f"{called} has no column {key!r}{nearest(key, people.columns)} to tell persons apart")
    codes = people[key].codes
    first = np.unique(codes, return_index=True)[1]
    if len(first) < len(codes):
        again = np.setdiff1d(np.arange(len(codes)), first)
        raise BadInput(f"{called} holds a person twice: row {int(again[0]) + 1} repeats a {key!r}; keep one row each")


def sensitive_of(published: Published, attribute: str | None) -> str:
    """The sensitive attribute that an attack is about: the one named, or the first."""
    if attribute is not None and attribute not in published.sensitive:
        raise BadInput(
            f"{published.name}: {attribute!r} is no sensitive attribute{nearest(attribute, published.sensitive)}"
        )
    if not published.sensitive:
        raise BadInput(f"{published.name}: it has no sensitive attribute; name one with --sensitive")
    return published.sensitive[0] if attribute is None else attribute


def refuse_seed(seed: object) -> None:
    """A seed is a whole number."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadInput("seed must be a whole number of at least 0")


def at_least(name: str, value: object, least: int) -> None:
    """An option that is a whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(f"{name} must be a whole number of at least {least}")
