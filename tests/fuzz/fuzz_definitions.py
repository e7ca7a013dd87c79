"""The promises of models by their definitions in the papers, on the rows of classes: nothing here imports the package.

What needs more than rows is left to verification: populations, estimates, hierarchical distances, smoothed beliefs.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from fuzz_cases import Case
from fuzz_tables import Cells
from judge_of_truth import number

Row = Mapping[str, str | None]
Model = Mapping[str, Any]
Values = Sequence[str | None]


@dataclass(frozen=True)
class Classes:
    """Rows of a release that look alike, and what is known of the people behind them."""

    classes: list[list[int]]
    rows: list[Row]
    source: dict[int, int] | None
    """The input row behind each released row, where it is known."""
    columns: Mapping[str, Cells]
    """The original."""
    case: Case

    @property
    def unit(self) -> str | None:
        roles = {name: about["role"] for name, about in self.case.policy["attributes"].items()}
        return next((name for name, role in roles.items() if role == "unit"), None)

    def values(self, name: str, held: Sequence[int]) -> Values:
        """What some rows hold in a column: as it was where that is known, else as it is released."""
        if self.source is None:
            return [self.rows[at].get(name) for at in held]
        return [self.columns[name][self.source[at]] for at in held]

    def reference(self, model: Model, name: str) -> Values:
        """The values that those of a class are compared with."""
        every = [at for held in self.classes for at in held]
        return self.values(name, every) if model.get("reference") == "release" else self.columns[name]


def broken(model: Model, held: Classes) -> Iterator[str]:
    """Yield how a promise is broken; nothing where it holds, or where it is not judged here."""
    name = model["model"]
    if held.unit is not None:
        yield from _broken_for_persons(model, held)
        return
    if name in OF_THE_TABLE and not OF_THE_TABLE[name](model, held):
        yield f"classes of {sorted(map(len, held.classes))} rows"
    if name == "x-y-privacy" and held.source is not None:
        yield from _unlinked(model, held)
    if name not in OF_VALUES or "others" in model or _cannot_be_compared(held):
        return
    sensitive = [each for each, about in held.case.policy["attributes"].items() if about["role"] == "sensitive"]
    for attribute in [model["attribute"]] if "attribute" in model else sensitive:
        for rows in held.classes:
            values = held.values(attribute, rows)
            if not OF_VALUES[name](model, _protecting(model, values), held, attribute):
                yield f"a class of {len(values)} rows, values {sorted(Counter(values).values())}"
    if name == "alp-dif":
        yield from _leaking(model, held, sensitive)


def _cannot_be_compared(held: Classes) -> bool:
    """Whether released values cannot be compared with original ones: no row map, and another spelling."""
    safe = held.case.format == "csv" and held.case.policy["release"].get("spreadsheet-safe", True)
    return held.source is None and (safe or bool(held.case.types) or "data" in held.case.policy)


def _broken_for_persons(model: Model, held: Classes) -> Iterator[str]:
    if model["model"] != "k-anonymity" or held.source is None or held.unit is None:
        return
    for rows in held.classes:
        persons = set(held.values(held.unit, rows))
        if len(persons) < model["k"]:
            yield f"a class of {len(persons)} persons"


def _protecting(model: Model, values: Values) -> Values:
    """The values that count: without nulls, unless null is a value."""
    return values if model.get("null-is-value") else [value for value in values if value is not None]


def _exact(value: Any) -> Fraction:
    return Fraction(str(value))


OF_THE_TABLE: dict[str, Callable[[Model, Classes], bool]] = {
    "k-anonymity": lambda model, held: all(len(rows) >= model["k"] for rows in held.classes),
    "average-risk": lambda model, held: len(held.classes) <= _exact(model["max"]) * len(held.rows),
    "sample-uniqueness": lambda model, held: (
        sum(len(rows) == 1 for rows in held.classes) <= _exact(model["max"]) * len(held.rows)
    ),
}
"""Promises about sizes of classes."""


def _unlinked(model: Model, held: Classes) -> Iterator[str]:
    groups: dict[tuple[Any, ...], list[int]] = {}
    quasi = [name for name, about in held.case.policy["attributes"].items() if about["role"] == "quasi-identifier"]
    for at, rows in enumerate(held.classes):
        key = tuple(held.rows[rows[0]].get(name) for name in model["x"]) if "x" in model else (at,)
        groups.setdefault(key, []).extend(rows)
    if "x" in model and not set(model["x"]) <= set(quasi):
        return
    for rows in groups.values():
        told = list(zip(*(held.values(name, rows) for name in model["y"]), strict=True))
        known = told if model.get("null-is-value") else [each for each in told if None not in each]
        times = Counter(known)
        if len(times) < model.get("k", 1):
            yield f"{len(times)} values of y in a group of {len(rows)} rows"
        if times and max(times.values()) > _exact(model.get("h", 1)) * len(known):
            yield f"a value of y has {max(times.values())} of {len(known)} rows"


def _entropy(model: Model, values: Values, *_: Any) -> bool:
    total = len(values)
    shares = [count / total for count in Counter(values).values()]
    return total > 0 and -sum(share * math.log(share) for share in shares) >= math.log(model["l"]) - 1e-9


def _recursive(model: Model, values: Values, *_: Any) -> bool:
    falling = sorted(Counter(values).values(), reverse=True)
    return bool(falling) and falling[0] < _exact(model["c"]) * sum(falling[model["l"] - 1 :])


def _alpha_k(model: Model, values: Values, held: Classes, attribute: str) -> bool:
    del held, attribute
    times, alpha = Counter(values), model["alpha"]
    limits = alpha if isinstance(alpha, dict) else dict.fromkeys(times, alpha)
    return all(times[value] <= _exact(limits[value]) * len(values) for value in times if value in limits)


def _category(model: Model, value: str | None) -> int | None:
    return next((at for at, category in enumerate(model["categories"]) if value in category), None)


def _weighs(least: str, *, of_categories: bool) -> Callable[..., bool]:
    """At least so many values, or categories, that together weigh alpha or more."""

    def holds(model: Model, values: Values, *_: Any) -> bool:
        values = [value for value in values if value is not None]
        counted = set(values) if model.get("over") == "values" else values
        categories = [_category(model, value) for value in counted]
        weight = sum((Fraction(at or 0, len(model["categories"]) - 1) for at in categories), Fraction(0))
        variety = {_category(model, value) for value in values} - {None} if of_categories else set(values)
        return len(variety) >= model[least] and weight >= _exact(model["alpha"])

    return holds


def _a_d(model: Model, values: Values, *_: Any) -> bool:
    times = Counter(_category(model, value) for value in values)
    strays = times.pop(None, 0)
    most = _exact(model["a"]) * len(values)
    return len(times) >= model["d"] and all(count + strays <= most for count in times.values())


def _alpha_beta_k(model: Model, values: Values, *_: Any) -> bool:
    different = sorted(value for value in set(values) if value is not None)
    of = {value: _category(model, value) for value in different}
    alike = [of[a] is None or of[b] is None or of[a] == of[b] for a, b in combinations(different, 2)]
    return len(different) >= model["beta"] and len(alike) - 2 * sum(alike) >= model["alpha"]


def _leaking(model: Model, held: Classes, sensitive: Sequence[str]) -> Iterator[str]:
    for attribute in [model["attribute"]] if "attribute" in model else sensitive:
        shares: dict[str, list[tuple[int, int]]] = {}
        for rows in held.classes:
            values = _protecting(model, held.values(attribute, rows))
            for value, count in Counter(values).items():
                if value is not None:
                    shares.setdefault(value, []).append((count, len(values)))
        for value, parts in shares.items():
            average = sum(Fraction(y * y, x) for y, x in parts) / sum(y for y, _ in parts)
            excess = max(Fraction(y, x) for y, x in parts) - average
            for key, found in (("alp", average), ("dif", excess)):
                limit = model.get(key)
                limit = limit.get(value) if isinstance(limit, dict) else limit
                if limit is not None and found > _exact(limit):
                    yield f"{key} is {found}"


def _t_close(model: Model, values: Values, held: Classes, attribute: str) -> bool:
    if not values or model.get("distance") == "hierarchical":
        return True
    overall = _protecting(model, held.reference(model, attribute))
    here, there = Counter(values), Counter(overall)
    apart = {value: Fraction(here[value], len(values)) - Fraction(there[value], len(overall)) for value in there}
    if model.get("distance") != "ordered":
        return sum(map(abs, apart.values())) / 2 <= _exact(model["t"])
    rising = None if None in apart else _in_order(list(apart), held.case.policy["attributes"][attribute].get("order"))
    if rising is None:
        return True
    moved, total = Fraction(0), Fraction(0)
    for value in rising:
        moved += apart[value]
        total += abs(moved)
    return total / max(len(rising) - 1, 1) <= _exact(model["t"])


def _in_order(values: list[Any], order: Sequence[str] | None) -> list[Any] | None:
    """Values from least to greatest; None where two of them are one number, which the policy does not order."""
    if order is not None:
        return sorted(values, key=list(order).index)
    numbers = {value: None if value is None else number(value.replace(",", ".")) for value in values}
    return sorted(values, key=numbers.__getitem__) if len(set(numbers.values()) - {None}) == len(values) else None


def _gains(model: Model, values: Values, held: Classes, attribute: str) -> dict[str | None, tuple[Fraction, Fraction]]:
    """For each value of the reference its share of a class, and of the reference."""
    overall = Counter(_protecting(model, held.reference(model, attribute)))
    here, total = Counter(values), sum(overall.values())
    return {value: (Fraction(here[value], len(values)), Fraction(overall[value], total)) for value in overall}


def _beta_like(model: Model, values: Values, held: Classes, attribute: str) -> bool:
    if not values:
        return True
    for here, there in _gains(model, values, held, attribute).values():
        gain = (here - there) / there
        if gain > _exact(model["beta"]):
            return False
        if model.get("form") == "enhanced" and gain > 0 and float(gain) > -math.log(there) + 1e-9:
            return False
    return True


def _disclosed(model: Model, values: Values, held: Classes, attribute: str) -> bool:
    if not values:
        return True
    log = math.log2 if model.get("log") == 2 else math.log
    for here, there in _gains(model, values, held, attribute).values():
        if not here:
            if model.get("absent") != "skip":
                return False
        elif abs(log(here / there)) >= model["delta"] + 1e-9:
            return False
    return True


def _spread(model: Model, values: Values, *_: Any) -> bool:
    numbers = [Fraction(value.replace(",", ".")) for value in values if value is not None]
    for x in numbers:
        reach = _exact(model["epsilon"]) * (abs(x) if model.get("relative") else 1)
        if sum(abs(y - x) <= reach for y in numbers) * model["m"] > len(numbers):
            return False
    return True


def _guards(model: Model, values: Values, held: Classes, attribute: str) -> bool:
    """Whether no value below anybody's guarding node has more than the share `max` of the class."""
    tree = held.case.policy["attributes"][attribute]["hierarchy"]["tree"]["any"]
    of_rows = [rows for rows in held.classes if list(_protecting(model, held.values(attribute, rows))) == list(values)]
    if held.source is None or len(of_rows) != 1:
        return True  # which class it is cannot be told
    for guard in set(held.values(model["guard"], of_rows[0])) - {None}:
        below = [
            value for value in values if value is not None and (guard in {"any", value} or value in tree.get(guard, []))
        ]
        if len(below) > _exact(model["max"]) * len(values):
            return False
    return True


OF_VALUES: dict[str, Callable[[Model, Values, Classes, str], bool]] = {
    "distinct-l-diversity": lambda model, values, *_: len(set(values)) >= model["l"],
    "entropy-l-diversity": _entropy,
    "recursive-cl-diversity": _recursive,
    "alpha-k": _alpha_k,
    "p-sensitive": lambda model, values, *_: len(set(values)) >= model["p"],
    "p-plus-sensitive": lambda model, values, *_: (
        len({_category(model, value) for value in values} - {None}) >= model["p"]
    ),
    "p-alpha-sensitive": _weighs("p", of_categories=False),
    "p-plus-alpha-sensitive": _weighs("p", of_categories=True),
    "l-alpha-diversity": _weighs("l", of_categories=False),
    "a-d-diversity": _a_d,
    "alpha-beta-k": _alpha_beta_k,
    "alp-dif": lambda *_: True,
    "t-closeness": _t_close,
    "beta-likeness": _beta_like,
    "delta-disclosure": _disclosed,
    "epsilon-m": _spread,
    "personalised": _guards,
}
"""For each model whether the values of a class keep it."""
