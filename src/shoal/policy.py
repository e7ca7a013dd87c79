"""The policy: which column plays which role, what the release must promise, how to get there.

A frozen value, refused at construction when it contradicts itself; TOML in and out; a JSON Schema for editors.
"""

import os
import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from shoal.errors import BadHierarchy, BadPolicy
from shoal.hierarchy import BUILDERS, OPTIONS, Builder, Csv, parse
from shoal.models import MODELS, Model, exact
from shoal.models.spec import kebab, model_of, nearest, table_of
from shoal.schema import Role

FORMAT: Final = 1
_base: ContextVar[Path] = ContextVar("base", default=Path())


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=kebab,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
    )


def _hierarchy(spec: Any) -> Builder:
    try:
        return parse(spec, _base.get())
    except BadHierarchy as wrong:
        raise ValueError(str(wrong)) from None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(value: Any) -> Any:
    if not _is_number(value):
        raise ValueError(f"must be a number, not {value!r}")
    return value


def _whole(value: Any) -> int:
    if not _is_number(value) or not isinstance(value, Integral):
        raise ValueError(f"must be a whole number, not {value!r}")
    return int(value)


def _suppression(value: Any) -> Any:
    if value == "k" or (_is_number(value) and 0 <= value <= 1):
        return value
    raise ValueError(f'a share from 0 to 1, or "k", not {value!r}')


Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_number)]
Level = Annotated[int, Field(ge=0), BeforeValidator(_whole)]
Suppression = Annotated[Annotated[float, Field(ge=0, le=1)] | Literal["k"], BeforeValidator(_suppression)]
AnyHierarchy = Annotated[
    Any, BeforeValidator(_hierarchy), PlainSerializer(lambda b: b.spec(), return_type=dict[str, Any])
]
AnyModel = Annotated[Any, BeforeValidator(model_of), PlainSerializer(table_of, return_type=dict[str, Any])]


class DataOptions(_Part):
    """How the input is read."""

    missing: tuple[str, ...] = ("",)
    """Texts that mean null; the first is written where a null is released."""
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    normalise: StrictBool = False
    """Join values that differ in form only: outer spaces, 5 and 5.0."""
    others: Literal["insensitive", "drop"] | None = None
    """What columns without a role are; left out, they are an error."""


class Attribute(_Part):
    """One column: its role and, for a quasi-identifier, how it may be generalised."""

    role: Role
    hierarchy: AnyHierarchy | None = None
    importance: Share | None = None
    min_level: Level | None = None
    max_level: Level | None = None
    confirm: StrictBool = False
    """Yes, release this column although many of its values are unique."""

    @model_validator(mode="after")
    def _of_its_role(self) -> Self:
        """Only a quasi-identifier is generalised; a hierarchy may also tell how far sensitive values lie apart."""
        for key in ("hierarchy", "importance", "min_level", "max_level"):
            useful = {Role.QUASI_IDENTIFIER, *([Role.SENSITIVE] if key == "hierarchy" else [])}
            if getattr(self, key) is not None and self.role not in useful:
                raise ValueError(f"{kebab(key)} has no meaning for the role {str(self.role)!r}; leave it out")
        return self

    @model_validator(mode="after")
    def _levels(self) -> Self:
        if self.min_level is not None and self.max_level is not None and self.min_level > self.max_level:
            raise ValueError(f"min-level {self.min_level} lies above max-level {self.max_level}")
        return self


class Method(_Part):
    """How the release is found."""

    generalise: Literal["attribute", "cell", "none"] = Field(
        default="attribute", json_schema_extra={"enum": ["attribute"]}
    )
    suppress: Literal["tuple", "attribute", "cell", "none"] = Field(
        default="tuple", json_schema_extra={"enum": ["tuple", "attribute", "none"]}
    )
    algorithm: Literal["optimal", "datafly"] = "optimal"
    suppression: Suppression = 0.0
    """Share of the rows that may be suppressed; "k" is Sweeney's rule: at most k rows."""
    metric: Literal["loss", "loss-geometric", "precision-loss", "discernibility", "average-class", "height"] = "loss"
    time_limit: Seconds | None = None
    seed: Annotated[int, BeforeValidator(_whole)] = 0

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if self.generalise != "attribute" or self.suppress == "cell":
            raise ValueError(
                f"generalise = {self.generalise!r} with suppress = {self.suppress!r} is not in this version; "
                "generalise = 'attribute' with suppress = 'tuple', 'attribute' or 'none' is"
            )
        if self.suppress == "none" and self.suppression != 0:
            raise ValueError(
                f"suppress = 'none' and suppression = {self.suppression!r} contradict each other; leave one of them out"
            )
        return self


class ReleaseOptions(_Part):
    """How the release is written."""

    order: Literal["sorted", "keep"] = "sorted"
    suppressed: Literal["drop", "show"] = "drop"
    spreadsheet_safe: StrictBool = True
    """In a CSV, put ' before text that a spreadsheet would run as a formula."""
    ranges: Literal["cut", "observed"] = Field(default="cut", json_schema_extra={"enum": ["cut"]})
    """Intervals as the hierarchy cuts them, or the class's own minimum and maximum."""

    @field_validator("ranges")
    @classmethod
    def _cut(cls, ranges: str) -> str:
        if ranges != "cut":
            raise ValueError(f"{ranges!r} is not in this version; 'cut' is")
        return ranges


class Policy(_Part):
    """Everything that decides about a release.

    >>> policy = Policy(attributes={"age": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 5}])
    >>> policy.require[0].k, policy.method.algorithm
    (5, 'optimal')
    """

    format: Annotated[Literal[1], BeforeValidator(_whole)] = FORMAT
    data: DataOptions = DataOptions()
    attributes: dict[str, Attribute]
    require: tuple[AnyModel, ...]
    method: Method = Method()
    release: ReleaseOptions = ReleaseOptions()

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as wrong:
            raise BadPolicy(_sentence(wrong)) from None

    @model_validator(mode="before")
    @classmethod
    def _short_roles(cls, given: Any) -> Any:
        """`"age": "quasi-identifier"` is short for `"age": {"role": "quasi-identifier"}`."""
        if not isinstance(given, dict) or not isinstance(given.get("attributes"), Mapping):
            return given
        longer = {
            name: {"role": value} if isinstance(value, str) else value for name, value in given["attributes"].items()
        }
        return {**given, "attributes": longer}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.require:
            raise ValueError("require: a policy promises at least one model, e.g. {model = 'k-anonymity', k = 5}")
        if not self.quasi_identifiers:
            raise ValueError("attributes: at least one column must have the role 'quasi-identifier'")
        if all(self.attributes[name].importance == 0 for name in self.quasi_identifiers):
            raise ValueError("attributes: importance is 0 for every quasi-identifier; one at least must matter")
        sensitive = self.named(Role.SENSITIVE)
        for model in self.require:
            of = model.about
            if of is not None and of not in sensitive:
                raise ValueError(f"require: {model.name} is about {of!r}, which has not the role 'sensitive'")
            if model.per_attribute and not sensitive:
                raise ValueError(f"require: {model.name} needs a column with the role 'sensitive'")
        if self.method.suppression == "k" and not any(hasattr(model, "k") for model in self.require):
            raise ValueError("method.suppression = 'k' needs a required model with a k")
        return self

    @property
    def quasi_identifiers(self) -> list[str]:
        return self.named(Role.QUASI_IDENTIFIER)

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
    def largest_k(self) -> int:
        return max((int(model.k) for model in self.require if hasattr(model, "k")), default=1)

    def suppressible(self, rows: int) -> int:
        """How many rows may be suppressed: floor(share × rows), exactly.

        >>> Policy(attributes={"a": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 2}],
        ...        method={"suppression": 0.29}).suppressible(100)
        29
        """
        if self.method.suppress in {"none", "attribute"}:
            return 0
        if self.method.suppression == "k":
            return self.largest_k
        return int(exact("suppression", self.method.suppression) * Fraction(rows))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Read a policy; hierarchies are looked for beside it."""
        path = Path(path)
        try:
            document = tomllib.loads(path.read_text("utf-8-sig"))
        except FileNotFoundError:
            raise BadPolicy(f"{path.name}: there is no such policy file; `shoal init DATA` drafts one") from None
        except (OSError, UnicodeDecodeError) as wrong:
            raise BadPolicy(f"{path.name}: the policy cannot be read ({type(wrong).__name__})") from None
        except tomllib.TOMLDecodeError as wrong:
            raise BadPolicy(f"{path.name}: not TOML: {wrong}") from None
        token = _base.set(path.parent)
        try:
            return cls(**document)
        except BadPolicy as wrong:
            raise BadPolicy(f"{path.name}: {wrong}") from None
        finally:
            _base.reset(token)

    def document(self) -> dict[str, Any]:
        """The policy as it stands in TOML: defaults left out; refused where a hierarchy cannot be written down."""
        for name, attribute in self.attributes.items():
            try:
                _ = attribute.hierarchy and attribute.hierarchy.spec()
            except BadHierarchy as wrong:
                raise BadHierarchy(f"attributes.{name}: {wrong}") from None
        plain = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
        return {"format": FORMAT, **plain}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write TOML that loads to an equal policy; in another folder, to one that reads the same hierarchy files."""
        import tomli_w

        moved = self._seen_from(Path(path).parent)
        Path(path).write_text(tomli_w.dumps(moved.document()), "utf-8")

    def _seen_from(self, folder: Path) -> "Policy":
        """The policy with the paths of its hierarchy files written for a folder."""
        attributes = dict(self.attributes)
        for name, attribute in attributes.items():
            if isinstance(attribute.hierarchy, Csv):
                hierarchy = attribute.hierarchy.seen_from(folder)
                attributes[name] = attribute.model_copy(update={"hierarchy": hierarchy})
        return self.model_copy(update={"attributes": attributes})

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of a policy file, every registered model included."""
        schema = cls.model_json_schema(by_alias=True)
        schema["properties"]["require"]["items"] = {"anyOf": [_model_schema(name) for name in MODELS]}
        schema["properties"]["require"]["minItems"] = 1
        schema["$defs"]["Attribute"]["properties"]["hierarchy"]["anyOf"][0] = _hierarchy_schema()
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = "Shoal policy"
        role = schema["properties"]["attributes"]["additionalProperties"]
        schema["properties"]["attributes"]["additionalProperties"] = {"anyOf": [role, {"$ref": "#/$defs/Role"}]}
        return schema


def _hierarchy_schema() -> dict[str, Any]:
    known = {*BUILDERS, *(option for options in OPTIONS.values() for option in options)}
    table = {"type": "object", "properties": {key: {} for key in sorted(known)}, "additionalProperties": False}
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


_LATER = {
    "categories": "categories of sensitive values are not in this version; leave the key out",
    "order": "an order of sensitive values is not in this version; leave the key out",
}
"""Keys of an attribute that a later version will know."""

_TABLES: dict[str, type[BaseModel]] = {
    "data": DataOptions,
    "attributes": Attribute,
    "method": Method,
    "release": ReleaseOptions,
}


def _sentence(wrong: ValidationError) -> str:
    """One sentence about the first error, and in how many other places there are more."""
    errors = wrong.errors(include_url=False)
    first = errors[0]
    where = [str(part) for part in first["loc"]]
    others = len({error["loc"] for error in errors}) - 1
    more = f" (and {others} more)" if others else ""
    return ": ".join([*([".".join(where)] if where else []), _message(first, where)]) + more


def _message(error: Any, where: list[str]) -> str:
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "extra_forbidden":
        return _unknown(where)
    message = f"{error['msg'][0].lower()}{error['msg'][1:]}"
    return f"{message}, not {error['input']!r}" if isinstance(error["input"], int | float | str) else message


def _unknown(where: list[str]) -> str:
    *table, key = where
    if table[:1] == ["attributes"] and key in _LATER:
        return _LATER[key]
    part = _TABLES[table[0]] if table else Policy
    known = [kebab(name) for name in part.model_fields]
    return f"unknown key{nearest(key, known)}; known: {', '.join(known)}"
