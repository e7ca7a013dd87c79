"""Reads a model from a table of a policy, checking its parameters' names, and writes it back."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

from shoal.models import MODELS, known_model
from shoal.models.model import Model, asked


def model_of(spec: Any) -> Model:
    """Return the model that a table of a policy means; a ready model is returned as it is.

    >>> model_of({"model": "k-anonymity", "k": 5})
    KAnonymity(k=5)
    """
    if isinstance(spec, Model):
        return _refuse_incomplete(spec)
    if not isinstance(spec, Mapping):
        raise ValueError(f"a model is a table like {{model = 'k-anonymity', k = 5}}, not {spec!r}")  # noqa: TRY004
    if "model" not in spec:
        raise ValueError("model is missing: write model = 'k-anonymity', or which one it is")
    name = spec["model"]
    kind = known_model(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"model {name!r} is not known{_suggest_models(str(name))}")
    known = {kebab(field.name): field for field in fields(kind)}
    given = {kebab(str(key)): value for key, value in spec.items() if key != "model"}
    for key in given:
        if key not in known:
            raise ValueError(
                f"{name} has no parameter {key!r}{suggest_nearest(key, known)}; it takes {', '.join(known)}"
            )
    missing = [key for key, field in known.items() if field.default is MISSING and key not in given]
    if missing:
        raise ValueError(f"{name} needs {', '.join(missing)}")
    model: Model = kind(**{known[key].name: value for key, value in given.items()})
    return model


_TELLING = 4
"""Fewest letters of a misspelt name that are searched for within known names."""


def _suggest_models(name: str) -> str:
    """Return a hint for a misspelt model: those whose name holds it, else the nearest, else all.

    >>> _suggest_models("L-Diversity")
    " (did you mean 'distinct-l-diversity', 'entropy-l-diversity' or 'recursive-cl-diversity'?)"
    """
    said = kebab(name.strip().lower().replace(" ", "-"))
    holding = [known for known in MODELS if said in known] if len(said) >= _TELLING else []
    near = holding or get_close_matches(said, list(MODELS), n=1)
    if not near:
        return f"; known: {', '.join(MODELS)}"
    *others, last = map(repr, near)
    return f" (did you mean {', '.join(others)}{' or ' if others else ''}{last}?)"


def _refuse_incomplete(model: Model) -> Model:
    """Return a user's own model; refuse one that is no dataclass or has no name."""
    if not is_dataclass(model) or not isinstance(getattr(model, "name", None), str):
        kind = type(model).__name__
        raise ValueError(f"{kind}: a model is a frozen dataclass with a name, such as name = 'maximum-size'")
    return model


def find_unwritable(model: Model) -> str | None:
    """Return the first parameter of a model that no policy file can hold, if there is one."""
    return next((key for key, value in asked(model).items() if not _is_plain(value)), None)


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(part) for key, part in value.items())
    if isinstance(value, list | tuple):
        return all(_is_plain(part) for part in value)
    return isinstance(value, str | Real)


def table_of(model: Model) -> dict[str, Any]:
    """Return the table of a policy for a model: `model_of(table_of(model)) == model`.

    >>> table_of(model_of({"model": "distinct-l-diversity", "l": 2, "null-is-value": True}))
    {'model': 'distinct-l-diversity', 'l': 2, 'null-is-value': True}
    """
    return {"model": model.name} | {kebab(key): value for key, value in asked(model).items()}


def kebab(name: str) -> str:
    """Return the name of a field as a policy writes it, with hyphens."""
    return name.replace("_", "-")


_NEAR = 0.65
_LETTERS = 3
"""How alike two names of columns are, and the fewest letters of one within the other, to suggest it."""


def suggest_column(name: str, columns: Iterable[str]) -> str:
    """Return the hint "did you mean …?" for a name that no column has, or an empty text where none is near.

    >>> suggest_column("Zip", ["age", "zip_code"]), suggest_column("row names", ["Vorname"])
    (" (did you mean 'zip_code'?)", '')
    """
    folded = {column.casefold(): column for column in columns}
    said = name.casefold()
    parts = (known for known in folded if min(len(said), len(known)) >= _LETTERS and (said in known or known in said))
    near = get_close_matches(said, folded, n=1, cutoff=_NEAR) or [*parts][:1]
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def suggest_nearest(name: str, known: Iterable[str]) -> str:
    """Return the hint "did you mean …?" for a misspelt name, or an empty text.

    >>> suggest_nearest("time_limits", ["seed", "time-limit"])
    " (did you mean 'time-limit'?)"
    """
    near = get_close_matches(kebab(name), list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
