"""The policy: which column plays which role, what the release must promise, how to get there."""

import os
import re
import tomllib
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from shoal.data.codes import Bounds
from shoal.errors import BadHierarchy, BadPolicy, ShoalWarning
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import known_keys
from shoal.methods import ALGORITHMS, VARIANTS, algorithms_for, algorithms_reading
from shoal.metrics.catalogue import METRICS
from shoal.models import MODELS
from shoal.models.model import Model, exact_share
from shoal.models.spec import find_unwritable, kebab, suggest_column, suggest_nearest
from shoal.policy.method import OPTIONS, Method, misfit_of_algorithm
from shoal.policy.optional_sections import Blocking, Republish, misfit_of_blocking, misfit_of_republish, values_asked
from shoal.policy.sections import (
    AnyModel,
    Attribute,
    DataOptions,
    LocatedPath,
    PolicySection,
    ReleaseOptions,
    RowLimit,
    base,
    check_whole,
    left_over,
    population_of,
    relocate_population,
)
from shoal.roles import Role
from shoal.runtime import html_table

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


_VALUES = 'text needs quotes ("five"), numbers are digits with a point (5 or 0.5), yes and no are true and false'
_FAULTS = {
    "Invalid value": f"what stands after = is no value: {_VALUES}",
    "Expected newline or end of document after a statement": f"the line should end after one value: {_VALUES}",
    **dict.fromkeys(
        ("Invalid initial character for a key part", "Expected ']' at the end of a table declaration"),
        'a name with dots, spaces or letters other than a to z needs quotes: [attributes."Geb.-Dat."]',
    ),
    "Expected '=' after a key in a key/value pair": "a line is a name, = and a value, or a name in [ ]; is this file a "
    "policy, or the table?",
}
"""Frequent faults of a TOML file in plain words, by what tomllib calls them."""


_ONE_PROMISE = "a promise begins with [[require]], in two brackets, and so does each further one"
_TWICE = ("Cannot overwrite a value", "Cannot declare ('require',) twice", "Cannot mutate immutable namespace")
"""What tomllib says where [require] and [[require]] stand in one file, or [require] twice."""


def _toml_fault(said: str, text: str = "") -> str:
    """Say what is wrong with a TOML file and in which line, from its text and what tomllib says.

    >>> _toml_fault("Unclosed array (at end of document)")
    'not TOML: Unclosed array (at end of document)'
    """
    found = re.fullmatch(r"(.*) \(at line ([0-9]+), column [0-9]+\)", said)
    single = re.search(r"^[ \t]*\[[ \t]*require[ \t]*\]", text, re.MULTILINE)
    if found is not None and found[1].startswith(_TWICE) and single is not None:
        return f"line {text.count(chr(10), 0, single.start()) + 1}: {_ONE_PROMISE}"
    if found is None or found[1] not in _FAULTS:
        return f"not TOML: {said}"
    return f"line {found[2]}: {_FAULTS[found[1]]}"


def describe_validation_error(wrong: ValidationError, policy: type[BaseModel]) -> str:
    """Return one sentence about the first error, and in how many other places there are more.

    A misspelt key comes before one that is missing in the same table, and stands for it where it is near.
    """
    errors = wrong.errors(include_url=False)
    misspelt = [error for error in errors if _is_misspelt(error, policy)]
    meant = {(*error["loc"][:-1], _nearest_key(error["loc"], policy)) for error in misspelt}
    errors = [error for error in errors if error["type"] != "missing" or error["loc"] not in meant]
    beside = (error for error in misspelt if error["loc"][:-1] == errors[0]["loc"][:-1])
    first = next(beside, errors[0]) if errors[0]["type"] == "missing" else errors[0]
    where = [str(part) for part in first["loc"]]
    place = _toml_path_of(first["loc"])
    others = len({error["loc"] for error in errors}) - 1
    more = f" (and {others} more)" if others else ""
    return ": ".join([*([place] if place else []), _message(first, where, policy)]) + more


def _toml_path_of(where: Sequence[str | int]) -> str:
    """Return where in a policy something stands, as its TOML has it.

    >>> paths = ["attributes", "age", "role"], ["require", 1], ["blocking", "require", 11]
    >>> tuple(_toml_path_of(path) for path in paths)
    ('attributes.age.role', 'the 2nd [[require]]', 'the 12th [[blocking.require]]')
    """
    *table, last = where or [""]
    if not isinstance(last, int) or table[-1:] != ["require"]:
        return ".".join(map(str, where))
    number = last + 1
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"the {number}{ending} [[{'.'.join(map(str, table))}]]"


@contextmanager
def _translate_validation_errors(policy: type[BaseModel]) -> Iterator[None]:
    """Turn a ValidationError of pydantic into a BadPolicy of one sentence."""
    try:
        yield
    except ValidationError as wrong:
        raise BadPolicy(describe_validation_error(wrong, policy)) from None


def _message(error: Any, where: list[str], policy: type[BaseModel]) -> str:
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "missing":
        return f"is missing{_hint_at_quotes(where, error['input'])}"
    if error["type"] == "extra_forbidden":
        return _describe_unknown_key(where, policy)
    message = f"{error['msg'][0].lower()}{error['msg'][1:]}"
    if error["type"] == "json_invalid":  # the input is the whole text
        return message
    return f"{message}, not {error['input']!r}" if isinstance(error["input"], int | float | str) else message


def _is_misspelt(error: Any, policy: type[BaseModel]) -> bool:
    """Return whether an error is about an unknown key, and not about a column whose name was cut at its dots."""
    if error["type"] != "extra_forbidden":
        return False
    if not isinstance(error["input"], dict):
        return True
    return "role" not in error["input"] and _nearest_key(error["loc"], policy) is not None


def _nearest_key(where: Sequence[str | int], policy: type[BaseModel]) -> str | None:
    """Return the known key of a table that is nearest to an unknown one; None if none is near."""
    near = get_close_matches(kebab(str(where[-1])), _known_keys(where[:-1], policy), n=1)
    return near[0] if near else None


def _known_keys(table: Sequence[str | int], policy: type[BaseModel]) -> list[str]:
    part = _TABLES[str(table[0])] if table else policy
    return [kebab(name) for name in part.model_fields]


def _hint_at_quotes(where: list[str], given: Any) -> str:
    """Return a hint about quotes where a name with dots was read as nested tables; else an empty text.

    >>> _hint_at_quotes(["attributes", "T", "role"], {"categ": {"role": "sensitive"}})
    '; a name with dots needs quotes: [attributes."T.categ"]'
    """
    known = {*_known_keys(["attributes"], Attribute), *_LATER}
    tables = given.items() if isinstance(given, dict) else ()
    inner = [key for key, value in tables if isinstance(value, dict) and key not in known]
    if where[:1] != ["attributes"] or len(where) != 3 or not inner:
        return ""
    return f'; a name with dots needs quotes: [attributes."{where[1]}.{inner[0]}"]'


def _describe_unknown_key(where: list[str], policy: type[BaseModel]) -> str:
    *table, key = where
    if table[:1] == ["attributes"] and key in _LATER:
        return _LATER[key]
    known = _known_keys(table, policy)
    return f"unknown key{suggest_nearest(key, known)}; known: {', '.join(known)}"


def json_schema(policy: type[BaseModel]) -> dict[str, Any]:
    """Return pydantic's schema of the policy, with every registered model and hierarchy."""
    schema = policy.model_json_schema(by_alias=True)
    schema["properties"]["require"]["items"] = {"anyOf": [_model_schema(name) for name in MODELS]}
    schema["properties"]["require"] |= {"minItems": 1, "maxItems": MOST_MODELS}
    schema["$defs"]["Blocking"]["properties"]["require"]["items"] = schema["properties"]["require"]["items"]
    schema["$defs"]["Attribute"]["properties"]["hierarchy"]["anyOf"][0] = _hierarchy_schema()
    method = schema["$defs"]["Method"]["properties"]
    method["algorithm"]["enum"], method["metric"]["enum"] = list(ALGORITHMS), list(METRICS)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Shoal policy"
    role = schema["properties"]["attributes"]["additionalProperties"]
    schema["properties"]["attributes"]["additionalProperties"] = {"anyOf": [role, {"$ref": "#/$defs/Role"}]}
    return schema


def _hierarchy_schema() -> dict[str, Any]:
    table = {"type": "object", "properties": {key: {} for key in sorted(known_keys())}, "additionalProperties": False}
    return {"anyOf": [{**table, "minProperties": 1}, {"type": "array", "minItems": 1}]}


def _model_schema(name: str) -> dict[str, Any]:
    schema = TypeAdapter(MODELS[name]).json_schema()
    properties = {"model": {"const": name}} | {kebab(key): value for key, value in schema["properties"].items()}
    required = ["model", *map(kebab, schema.get("required", []))]
    return {
        "title": name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


FORMAT: Final = 1
_NAMED = 6
"""Columns of a role that a glance at a policy names."""


def _join_names(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join([*names[:_NAMED], *([f"{more} more"] if more > 0 else [])])


MOST_MODELS = 1000
"""Most models that a policy may require: each is judged, listed and explained."""


def _refuse_many(models: int) -> None:
    if models > MOST_MODELS:
        raise ValueError(f"require: there are {models:,} models; a policy may ask for {MOST_MODELS:,} at most")


MOST_QUASI_IDENTIFIERS = 1000
"""Most quasi-identifiers that a policy may name: with far fewer, hardly two people look alike before all is hidden."""


def _refuse_many_quasi_identifiers(many: int) -> None:
    if many > MOST_QUASI_IDENTIFIERS:
        raise ValueError(
            f"attributes: there are {many:,} quasi-identifiers, and {MOST_QUASI_IDENTIFIERS:,} are the most; give "
            "columns that nobody outside knows another role, such as identifier, which leaves them out"
        )


def _refuse_promises_about_others(
    promises: Sequence[Model], sensitive: Sequence[str], attributes: Mapping[str, Attribute]
) -> None:
    """Refuse promises about columns that are not sensitive, all of them in one sentence."""
    wrong = [model for model in promises if model.about is not None and model.about not in sensitive]
    if not wrong:
        return
    hints = {of: "" if of in attributes else suggest_column(of, sensitive) for model in wrong if (of := model.about)}
    said = " and ".join(f"{model.name} is about {model.about!r}{hints[model.about or '']}" for model in wrong)
    if len({model.about for model in wrong}) == 1:
        which = "which has not the role 'sensitive'; give it that role"
    else:
        which = "which have not the role 'sensitive'; give them that role"
    these = "this [[require]]" if len(wrong) == 1 else "these [[require]]"
    raise ValueError(f"require: {said}, {which}, or delete {these}")


def _name_and_attribute(promise: Any) -> tuple[Any, Any]:
    """Return the model of a promise and its attribute, as a table or as an object."""
    if isinstance(promise, Mapping):
        return promise.get("model"), promise.get("attribute")
    return promise.name, getattr(promise, "attribute", None)


def _is_only_about(promise: Any, names: Collection[str]) -> bool:
    """Whether a promise is about one of these columns, and limits no size of a class beside."""
    if not isinstance(promise, Mapping | Model):
        return False
    k = promise.get("k", 1) if isinstance(promise, Mapping) else getattr(promise, "k", 1)
    return _name_and_attribute(promise)[1] in names and k in {1, None}


def _without_left_over(given: dict[str, Any]) -> dict[str, Any]:
    """Return a policy without what is left over of columns that are dropped now, and say so in one note.

    These are keys that no longer mean anything, and promises about these columns, unless they also limit the sizes of
    classes.
    """
    tables = {name: value for name, value in given["attributes"].items() if isinstance(value, Mapping)}
    useless = {name: keys for name, value in tables.items() if (keys := left_over(value.get("role"), value))}
    dropped = {name for name, value in tables.items() if value.get("role") == Role.IDENTIFIER}
    promises = given.get("require")
    listed = list(promises) if isinstance(promises, list | tuple) else []
    empty = [each for each in listed if _is_only_about(each, dropped)]
    if len(empty) == len(listed):
        empty = []  # what is left would promise nothing: they are refused by name
    said = [f"{_join_names(keys)} of {name!r}" for name, keys in useless.items()]
    said += [f"{name} on {of!r}" for name, of in map(_name_and_attribute, empty)]
    if not said:
        return given
    several = len({*useless, *(of for _, of in map(_name_and_attribute, empty))}) > 1
    why = "these columns are dropped" if several else "it is dropped"
    warnings.warn(ShoalWarning(f"{' and '.join(said)} is ignored, since {why}"), stacklevel=2)
    kept = {
        name: {key: value for key, value in tables[name].items() if key not in keys} for name, keys in useless.items()
    }
    changed = {**given, "attributes": {**given["attributes"], **kept}}
    return {**changed, "require": [each for each in listed if each not in empty]} if empty else changed


def _refuse_unfit_attributes(model: Any, sensitive: Sequence[str]) -> None:
    """Refuse a model without `attribute` that cannot be about one of the sensitive columns."""
    for name in sensitive if model.per_attribute and model.attribute is None else ():
        try:
            replace(model, attribute=name)
        except ValueError as wrong:
            raise ValueError(
                f"require: {model.name} is about every sensitive column unless it names its attribute, and {wrong}"
            ) from None


class Policy(PolicySection):
    """Everything that decides about a release.

    >>> policy = Policy(attributes={"age": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 5}])
    >>> policy.require[0].k, policy.method.algorithm
    (5, 'optimal')
    """

    format: Annotated[Literal[1], BeforeValidator(check_whole)] = FORMAT
    data: DataOptions = DataOptions()
    attributes: dict[str, Attribute]
    require: tuple[AnyModel, ...]
    method: Method = Field(default_factory=Method)  # at import, no registry may be asked
    release: ReleaseOptions = ReleaseOptions()
    blocking: Blocking | None = None
    """Left out, inference channels stay."""
    republish: Republish | None = None
    """Left out, the release is the first and the last of its table."""

    def __init__(self, **given: Any) -> None:
        with _translate_validation_errors(type(self)):
            super().__init__(**given)

    @classmethod
    def model_validate(cls, obj: Any, **how: Any) -> Self:
        """Return the policy of a mapping, checked as pydantic checks; refused in the same words as by `Policy(…)`.

        >>> Policy.model_validate({"attributes": {"age": "quasi-identifier"}})
        Traceback (most recent call last):
        shoal.errors.BadPolicy: require: is missing
        """
        with _translate_validation_errors(cls):
            return super().model_validate(obj, **how)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **how: Any) -> Self:
        """Return the policy of a JSON object."""
        with _translate_validation_errors(cls):
            return super().model_validate_json(json_data, **how)

    @model_validator(mode="before")
    @classmethod
    def _expand_short_roles(cls, given: Any) -> Any:
        """`"age": "quasi-identifier"` is short for `"age": {"role": "quasi-identifier"}`."""
        if isinstance(given, dict) and isinstance(given.get("require"), Mapping):
            raise ValueError(f"require: {_ONE_PROMISE}")  # noqa: TRY004 - pydantic explains ValueErrors alone
        if isinstance(given, dict) and isinstance(given.get("require"), list | tuple):
            _refuse_many(len(given["require"]))
        if not isinstance(given, dict) or not isinstance(given.get("attributes"), Mapping):
            return given
        longer = {
            name: {"role": value} if isinstance(value, str) else value for name, value in given["attributes"].items()
        }
        return _without_left_over({**given, "attributes": longer})

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.require:
            raise ValueError("require: a policy promises at least one model, e.g. {model = 'k-anonymity', k = 5}")
        if not self.quasi_identifiers:
            named = ", ".join(map(repr, self.questions))
            rest = f'; decide on {named}, of which nobody has confirmed the role (confirm = "?")' if named else ""
            raise ValueError(f"attributes: at least one column must have the role 'quasi-identifier'{rest}")
        _refuse_many_quasi_identifiers(len(self.quasi_identifiers))
        if all(self.attributes[name].importance == 0 for name in self.quasi_identifiers):
            raise ValueError("attributes: importance is 0 for every quasi-identifier; one at least must matter")
        sensitive = self.named(Role.SENSITIVE)
        _refuse_promises_about_others(self.require, sensitive, self.attributes)
        for model in self.require:
            if model.per_attribute and not sensitive:
                raise ValueError(f"require: {model.name} needs a column with the role 'sensitive'")
            _refuse_unfit_attributes(model, sensitive)
        if len({population_of(model) for model in self.require} - {None}) > 1:
            raise ValueError("require: the models name several populations; a table is compared with one")
        method = self.method.in_effect
        if METRICS[method.metric].of_sensitive and not sensitive:
            raise ValueError(f"method.metric = {method.metric!r} needs a column with the role 'sensitive'")
        of_k = {"suppression = 'k'": method.suppression == "k", "margin": method.margin > 0}
        for option in (name for name, used in of_k.items() if used and not any(hasattr(m, "k") for m in self.require)):
            raise ValueError(f"method.{option} needs a required model with a k")
        return self

    @model_validator(mode="after")
    def _refuse_misfits(self) -> Self:
        misfit = misfit_of_algorithm(self)
        if misfit is None and self.blocking is not None:
            misfit = misfit_of_blocking(self, self.blocking)
        if misfit is None and self.republish is not None:
            misfit = misfit_of_republish(self, self.republish)
        if misfit is not None:
            raise ValueError(misfit)
        return self

    def __repr__(self) -> str:
        return f"Policy({'; '.join(f'{what}: {said}' for what, said in self._facts)})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html_table("Policy", self._facts)

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """Facts for `repr`: columns by role, the promises and the algorithm; no cell values."""
        columns = [(str(role), _join_names(self.named(role))) for role in Role if self.named(role)]
        promises = ", ".join(dict.fromkeys(model.name for model in self.promises))
        return [*columns, ("promises", promises), ("algorithm", self.method.algorithm)]

    def in_effect(self) -> "Policy":
        """Return the policy without the options that its algorithm does not read, and warn of each."""
        for key, why in self.method.ignored.items():
            warnings.warn(ShoalWarning(f"method.{kebab(key)} is ignored: {why}"), stacklevel=3)
        return self.model_copy(update={"method": self.method.in_effect}) if self.method.ignored else self

    def read_as(self, reading: Mapping[str, Any]) -> "Policy":
        """Return the policy with its table read as keys of [data] say, e.g. {"delimiter": ";"}."""
        if not reading:
            return self
        return type(self)(**{**dict(self), "data": {**self.data.model_dump(), **reading}})

    def with_algorithm(self, name: str) -> "Policy":
        """Return the policy with another algorithm or variant; options it does not read return to their defaults."""
        wanted = VARIANTS.get(name, {"algorithm": name})
        algorithm = wanted["algorithm"]
        foreign = {option for option in OPTIONS if algorithm not in algorithms_reading(option)}
        if "suppress" in wanted or algorithm not in algorithms_for((self.method.generalise, self.method.suppress)):
            foreign |= {"generalise", "suppress"}
            if "suppress" in {*wanted, algorithm, self.method.algorithm}:
                foreign |= {"suppression"}  # a share of rows means another thing where nothing is generalised
        said = {option for option in self.method.model_fields_set if option not in foreign}
        kept = {option: getattr(self.method, option) for option in said}
        return Policy(**{**dict(self), "method": {**kept, **wanted}})

    def at_node(self, levels: Mapping[str, int]) -> "Policy":
        """Return the policy whose lattice is one node: these levels, and what it allows and promises as before.

        >>> policy = Policy(attributes={"age": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 2}])
        >>> policy.at_node({"age": 1}).attributes["age"].max_level
        1
        """
        self._refuse_node(levels)
        attributes = {name: dict(attribute) for name, attribute in self.attributes.items()}
        for name, level in levels.items():
            attributes[name] |= {"min_level": level, "max_level": level}
        # at one node there is nothing to search, so that any search is as good as the others
        kept = {*self.method.model_fields_set} - {"algorithm", *OPTIONS}
        method = {option: getattr(self.method, option) for option in kept}
        return Policy(**{**dict(self), "attributes": attributes, "method": method})

    def _refuse_node(self, levels: Mapping[str, int]) -> None:
        """Refuse what is no node of the policy's lattice."""
        if self.method.of_cells or self.method.generalise == "none":
            named = self.method.algorithm
            raise BadPolicy(f"a node is one level for each column, and algorithm = {named!r} does not look for that")
        for name, level in levels.items():
            if name not in self.quasi_identifiers:
                hint = suggest_nearest(name, self.quasi_identifiers)
                raise BadPolicy(f"the node has a level for {name!r}, which is no quasi-identifier{hint}")
            least, most = self.attributes[name].min_level or 0, self.attributes[name].max_level
            if level < least or (most is not None and level > most):
                allowed = f"at least {least}" if most is None else f"{least} to {most}"
                raise BadPolicy(f"attributes.{name}: the policy allows levels of {allowed}, and the node has {level}")
        missing = [repr(name) for name in self.quasi_identifiers if name not in levels]
        if missing:
            raise BadPolicy(f"the node has no level for {', '.join(missing)}; it needs one for each quasi-identifier")

    @property
    def blocked(self) -> str | None:
        """The sensitive attribute whose inference channels are blocked, if there is one."""
        return None if self.blocking is None else self.blocking.attribute or self.named(Role.SENSITIVE)[0]

    @property
    def promises(self) -> list[Model]:
        """What is promised of the release: the models required, and those that blocking attains on top."""
        further = () if self.blocking is None else self.blocking.require
        return [*self.models, *(replace(m, attribute=self.blocked) if m.attribute is None else m for m in further)]

    @property
    def further(self) -> int:
        """Number of the promises, at the end of `promises`, that hold only because of rows that show nobody."""
        if self.republish is not None and self.republish.way == "m-invariance":
            return len(self.promises)
        return len(self.promises) - len(self.models)

    @property
    def key(self) -> str | None:
        """The column by which persons are known again in later tables, if there is one."""
        return None if self.republish is None else self.republish.key or self.unit

    @property
    def values_left(self) -> dict[str, int]:
        """How many values of each sensitive attribute all releases together must leave to everybody."""
        asked = dict.fromkeys(self.named(Role.SENSITIVE), 1)
        for model in self.models:
            if model.about is not None:
                asked[model.about] = max(asked[model.about], values_asked(model))
        given = None if self.republish is None else self.republish.m
        return {name: given or least for name, least in asked.items()}

    @property
    def confirmed(self) -> set[str]:
        """The columns whose role somebody has confirmed."""
        return {name for name, attribute in self.attributes.items() if attribute.confirm is True}

    @property
    def questions(self) -> list[str]:
        """The columns whose role is a guess that nobody has confirmed."""
        return [name for name, attribute in self.attributes.items() if attribute.confirm == "?"]

    def refuse_questions(self) -> None:
        """Refuse to release a column whose role nobody has confirmed."""
        if self.questions:
            named = ", ".join(map(repr, self.questions))
            raise BadPolicy(
                f'nobody has confirmed the role of {named}: decide on each and delete its line confirm = "?", or '
                "accept all guesses with --accept-guesses (in Python policy.accepting_guesses())"
            )

    def accepting_guesses(self) -> "Policy":
        """Return the policy with every guess accepted, which it says of itself: confirm = "guessed".

        A column in question that may be sensitive is dropped where nothing is promised about it.

        >>> asked = {"role": "sensitive", "confirm": "?"}
        >>> k = {"model": "k-anonymity", "k": 2}
        >>> policy = Policy(attributes={"age": "quasi-identifier", "job": asked}, require=[k])
        >>> str(policy.accepting_guesses().attributes["job"].role)
        'identifier'
        """
        promised = {model.about for model in self.models}

        def accept(name: str) -> Attribute:
            attribute = self.attributes[name]
            if attribute.role is Role.SENSITIVE and name not in promised:
                return Attribute(role=Role.IDENTIFIER, confirm="guessed")
            return attribute.model_copy(update={"confirm": "guessed"})

        changed = {name: accept(name) for name in self.questions}
        return self.model_copy(update={"attributes": {**self.attributes, **changed}})

    @property
    def quasi_identifiers(self) -> list[str]:
        return self.named(Role.QUASI_IDENTIFIER)

    @property
    def unit(self) -> str | None:
        """The column that tells persons apart, if there is one."""
        return next(iter(self.named(Role.UNIT)), None)

    @property
    def rounding(self) -> dict[str, Fraction]:
        """The columns that are rounded, and to multiples of what."""
        steps = {name: attribute.round for name, attribute in self.attributes.items()}
        return {name: Fraction(str(step)) for name, step in steps.items() if step is not None}

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The rounded columns that show no number below or above a bound, and these bounds."""
        given = {name: (attribute.bottom, attribute.top) for name, attribute in self.attributes.items()}
        return {
            name: (None if low is None else Fraction(str(low)), None if high is None else Fraction(str(high)))
            for name, (low, high) in given.items()
            if (low, high) != (None, None)
        }

    @property
    def population(self) -> Path | None:
        """The file of everybody, if a model compares with them."""
        paths = (population_of(model) for model in self.require)
        return next((path.file for path in paths if isinstance(path, LocatedPath)), None)

    def named(self, role: Role) -> list[str]:
        return [name for name, attribute in self.attributes.items() if attribute.role is role]

    @property
    def models(self) -> list[Model]:
        """What is required, a model without `attribute` once for every sensitive attribute."""
        out: list[Model] = []
        for model in self.require:
            if model.per_attribute and model.attribute is None:
                out += [replace(model, attribute=name) for name in self.named(Role.SENSITIVE)]
            else:
                out.append(model)
        return out

    @property
    def about(self) -> list[str]:
        """The sensitive attributes that a model, or the metric, looks at."""
        by_metric = self.named(Role.SENSITIVE) if METRICS[self.method.metric].of_sensitive else []
        return list(dict.fromkeys([*(m.about for m in self.models if m.about is not None), *by_metric]))

    @property
    def largest_k(self) -> int:
        return max((int(model.k) for model in self.require if hasattr(model, "k")), default=1)

    def suppressible(self, rows: int) -> int:
        """Return how many rows may be suppressed: floor(share × rows), computed exactly, or the rows that it names.

        >>> Policy(attributes={"a": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 2}],
        ...        method={"suppression": 0.29}).suppressible(100)
        29
        """
        if self.method.suppress == "cell" and self.method.generalise == "attribute":
            return rows  # what fails at a node is not left out: cells of it are
        if self.method.suppress != "tuple":
            return 0
        if self.method.suppression == "k":
            return self.largest_k
        if isinstance(self.method.suppression, RowLimit):
            return min(self.method.suppression.rows, rows)
        return int(exact_share("suppression", self.method.suppression) * Fraction(rows))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Read a policy; hierarchies are looked for beside it."""
        path, text = Path(path), ""
        try:
            text = path.read_text("utf-8-sig")
            document = tomllib.loads(text)
        except FileNotFoundError:
            raise BadPolicy(
                f"{path.name}: there is no such policy file; `shoal init DATA` (in Python shoal.draft) drafts one"
            ) from None
        except UnicodeDecodeError:
            raise BadPolicy(f"{path.name}: it is no text in UTF-8; is this file a policy, or the table?") from None
        except OSError as wrong:
            raise BadPolicy(f"{path.name}: the policy cannot be read ({type(wrong).__name__})") from None
        except tomllib.TOMLDecodeError as wrong:
            raise BadPolicy(f"{path.name}: {_toml_fault(str(wrong), text)}") from None
        except ValueError:  # Python reads no whole number of more digits
            raise BadPolicy(f"{path.name}: a number has thousands of digits; write a shorter one") from None
        except RecursionError:
            raise BadPolicy(f"{path.name}: lists or tables are nested too deeply for a policy") from None
        token = base.set(path.parent)
        try:
            return cls(**document)
        except BadPolicy as wrong:
            raise BadPolicy(f"{path.name}: {wrong}") from None
        finally:
            base.reset(token)

    def document(self) -> dict[str, Any]:
        """Return the policy as its TOML has it, without defaults; refuse it if part of it cannot be written down."""
        for name, attribute in self.attributes.items():
            try:
                _ = attribute.hierarchy and attribute.hierarchy.spec()
            except BadHierarchy as wrong:
                raise BadHierarchy(f"attributes.{name}: {wrong}") from None
        for model in self.promises:
            if (parameter := find_unwritable(model)) is not None:
                raise BadPolicy(
                    f"require: {model.name}: {kebab(parameter)} cannot be written down; give it as a number, a text, a "
                    "list or a table of those"
                )
        plain = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
        return {"format": FORMAT, **plain}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write TOML that loads to an equal policy; in another folder, to one that reads the same files."""
        import tomli_w

        written = self._with_paths_for(Path(path).parent)
        Path(path).write_text(tomli_w.dumps(written.document()), "utf-8")

    def _with_paths_for(self, folder: Path) -> "Policy":
        """Return the policy with the paths of its files relative to a folder."""
        attributes = dict(self.attributes)
        for name, attribute in attributes.items():
            if isinstance(attribute.hierarchy, Csv):
                hierarchy = attribute.hierarchy.seen_from(folder)
                attributes[name] = attribute.model_copy(update={"hierarchy": hierarchy})
        require = tuple(relocate_population(model, folder) for model in self.require)
        method = self.method
        if method.workload is not None:
            method = method.model_copy(update={"workload": method.workload.seen_from(folder)})
        return self.model_copy(update={"attributes": attributes, "require": require, "method": method})

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of a policy file, every registered model included."""
        return json_schema(cls)
