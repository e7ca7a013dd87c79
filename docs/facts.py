"""What the code says of models, algorithms, attacks, metrics and engines, for the heads of their pages."""

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

_TOML = re.compile(r"^```toml[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
Facts = list[tuple[str, str]]

MERGING = {
    "NOT": "nothing is promised when classes merge, so no search may prune on it",
    "UNION": "complying classes that merge comply: pruned where no row may be suppressed",
    "SUPERSET": "a complying class that merges with any other complies: always pruned",
}


FOLDERS = {"model": "models", "algorithm": "algorithms", "attack": "attacks", "metric": "metrics", "engine": "engines"}
SECTIONS = {
    "model": ("Definition", "Source", "Example", "When not to use it"),
    "algorithm": ("How it works", "Source", "Example", "When not to use it"),
    "attack": ("How it works", "Source", "Example", "When not to trust it"),
    "metric": ("Definition", "Source", "Example", "When not to use it"),
    "engine": ("How it works", "Example", "When not to use it"),
}
"""What a page about each kind of thing has."""


def registered() -> dict[str, list[str]]:
    """The names of everything that needs a page, by its kind."""
    from shoal.engines.choice import ENGINES
    from shoal.methods import ALGORITHMS
    from shoal.metrics.catalogue import METRICS
    from shoal.models import MODELS

    return {
        "model": list(MODELS),
        "algorithm": sorted(ALGORITHMS),
        "attack": sorted(_attacks()),
        "metric": list(METRICS),
        "engine": list(ENGINES),
    }


def facts(kind: str, name: str, markdown: str) -> Facts:
    """What the code says of a subject."""
    return SUBJECTS[kind](name, markdown)


def _model(name: str, markdown: str) -> Facts:
    from shoal.models import MODELS
    from shoal.models.spec import kebab, model_of

    kind = MODELS[name]
    rows = [
        ("In a policy", f'`[[require]]` with `model = "{name}"`'),
        ("Parameters", _joined(_parameter(kebab(each.name), each) for each in fields(kind))),
        ("Closure declared", f"`{kind.closure.name}`: {MERGING[kind.closure.name]}"),
    ]
    example = next((each for each in _required(markdown) if each["model"] == name), None)
    if example is None:
        raise ValueError(f"the page about {name} has no example of it in a policy")
    model = model_of(example)
    if model.merging != kind.closure:
        rows.append(("As in the example", f"`{model.merging.name}`: {MERGING[model.merging.name]}"))
    judged = "the release as a whole, after suppression" if model.table_wide else "each class by itself"
    needs = " and the ".join(sorted(model.needs))
    rows.append(("Judged on", judged + (f"; verifying needs the {needs}" if needs else "")))
    return [*rows, ("Class", f"[`{kind.__name__}`][{kind.__module__}.{kind.__qualname__}]")]


def _algorithm(name: str, _: str) -> Facts:
    from shoal.methods import ALGORITHMS, searches
    from shoal.metrics.catalogue import METRICS

    algorithm = ALGORITHMS[name]
    pairs = [f"{one} × {other}" for one, other in algorithm.pairs]
    rows = [("In a policy", f'`[method]` with `algorithm = "{name}"`'), ("generalise × suppress", ", ".join(pairs))]
    if algorithm.options:
        rows.append(("Its own options", _joined(f"`{option}`" for option in algorithm.options)))
    if name in searches():
        rows.append(("Shows", "one level of its hierarchy per attribute"))
    if name == "optimal" or algorithm.lists:
        metrics = ", ".join(f"`{each}`" for each in METRICS)
        which = "the least of all nodes" if name == "optimal" else "the least of the nodes found"
        rows.append(("Metric", f"{which}, by {metrics}"))
    if algorithm.closed:
        needed = "`UNION` where no row may be suppressed, else `SUPERSET`; refused otherwise"
        rows.append(("Closure needed", needed))
    elif name in searches():
        rows.append(("Closure needed", "none; closed models only make it faster"))
    return rows


def _attack(name: str, _: str) -> Facts:
    kind = _attacks()[name]
    return [
        ("Command", f"`shoal attack {name} RELEASE`"),
        ("In Python", f"`shoal.attack(release, shoal.attacks.{kind.__name__}(…))`"),
        ("Options", _joined(_parameter(each.name, each) for each in fields(kind)) or "none"),
        ("Class", f"[`{kind.__name__}`][{kind.__module__}.{kind.__qualname__}]"),
    ]


def _metric(name: str, _: str) -> Facts:
    from shoal.metrics.catalogue import catalogue

    entry = next(entry for entry in catalogue() if entry.name == name)
    return [
        ("In a policy", f'`[method]` with `metric = "{name}"`'),
        ("Tells", entry.tells),
        ("Range", entry.range),
        ("Source", entry.source),
    ]


def _engine(name: str, _: str) -> Facts:
    from shoal.engine_port import Ability
    from shoal.engines.choice import ENGINES

    kind = ENGINES[name].make(None, None, None)
    can = [ability for ability in Ability if ability in kind.abilities]
    return [
        ("Chosen by", f'`--engine {name}`, in Python `engine="{name}"`'),
        ("Abilities", _joined(f"{ability}" for ability in can) or "none beyond one level per column"),
        ("Lacks", _joined(f"{ability}" for ability in Ability if ability not in can) or "nothing"),
    ]


def _attacks() -> dict[str, Any]:
    """The classes of attacks by the name that an audit gives them."""
    from shoal.attacks import ATTACKS

    return dict(ATTACKS)


def _required(markdown: str) -> Iterable[dict[str, Any]]:
    """The models that the policies of a page ask for."""
    for block in _TOML.findall(markdown):
        yield from tomllib.loads(block).get("require", [])


def _parameter(name: str, field: Any) -> str:
    shown = f"`{name}`: {_kind(field.type)}"
    if field.default is MISSING:
        return shown
    return shown if field.default in (None, ()) else f"{shown}, `{_written(field.default)}` unless given"


def _written(value: object) -> str:
    """As a policy writes it."""
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _kind(kind: Any) -> str:
    """What may be given for a parameter, in words.

    >>> _kind(int), _kind(float | None), _kind(Literal["basic", "enhanced"])
    ('whole number', 'number, optional', '"basic" or "enhanced"')
    """
    if get_origin(kind) in {Union, UnionType}:
        parts = [_kind(each) for each in get_args(kind) if each is not type(None)]
        return " or ".join(dict.fromkeys(parts)) + (", optional" if type(None) in get_args(kind) else "")
    if get_origin(kind) is Literal:
        return " or ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in get_args(kind))
    if hasattr(kind, "__metadata__"):
        limits = [limit for each in kind.__metadata__ if (limit := _limit(each))]
        return f"{_kind(kind.__origin__)} {' and '.join(limits)}".strip()
    plain = {int: "whole number", float: "number", str: "text", bool: "true or false", Any: "table"}
    return plain.get(kind) or {"tuple": "list", "Mapping": "table", "dict": "table"}.get(
        getattr(get_origin(kind), "__name__", ""),
        "list" if re.search("equence|ollection", str(kind)) else "see the class",
    )


def _limit(given: Any) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return "".join(f"{sign} {getattr(given, name)}" for name, sign in signs.items() if hasattr(given, name))


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts)


SUBJECTS: dict[str, Callable[[str, str], Facts]] = {
    "model": _model,
    "algorithm": _algorithm,
    "attack": _attack,
    "metric": _metric,
    "engine": _engine,
}


def said_of(kind: str, name: str) -> tuple[str, str, str]:
    """What the registry says of a thing for people: the heading it stands under, a sentence, and its source."""
    from shoal.engines.choice import ENGINES
    from shoal.methods import ALGORITHMS
    from shoal.metrics.catalogue import METRICS
    from shoal.models import MODELS

    if kind == "model":
        return MODELS[name].family, MODELS[name].sentence, MODELS[name].source
    if kind == "algorithm":
        algorithm = ALGORITHMS[name]
        return GENERALISED[algorithm.pairs[0][0]], f"It {algorithm.sentence}.", algorithm.source
    if kind == "attack":
        attack = _attacks()[name]
        return str(attack.channel).capitalize(), attack.sentence, attack.source
    if kind == "metric":
        return "", METRICS[name].tells, METRICS[name].source
    return "", f"For {ENGINES[name].sentence}.", ""


GENERALISED = {
    "attribute": "One level per column",
    "cell": "Every class its own labels",
    "none": "No generalisation",
}
