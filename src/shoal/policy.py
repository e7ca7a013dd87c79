"""The policy: which column plays which role, what the release must promise, how to get there.

A frozen value, refused at construction when it contradicts itself; TOML in and out; a JSON Schema for editors.
"""

import os
import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import fields
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from shoal.errors import BadHierarchy, BadPolicy
from shoal.hierarchy import BUILDERS, OPTIONS, Builder, parse
from shoal.models import MODELS, Model, asked, exact
from shoal.schema import Role

FORMAT: Final = 1
_base: ContextVar[Path] = ContextVar("base", default=Path())


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=_kebab,
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


def _model(spec: Any) -> Model:
    """A model from its table in the policy; a ready one is taken as it is."""
    if not isinstance(spec, Mapping):
        return (
            spec
            if isinstance(spec, Model)
            else _refuse(f"a model is a table like {{model = 'k-anonymity', k = 5}}, not {spec!r}")
        )
    given = {key.replace("-", "_"): value for key, value in spec.items() if key != "model"}
    name = spec.get("model")
    if name not in MODELS:
        raise ValueError(f"model {name!r} is not known{_nearest(str(name), MODELS)}; known: {', '.join(MODELS)}")
    known = [field.name for field in fields(MODELS[name])]
    for key in given:
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}{_nearest(key, known)}; it takes {', '.join(known)}")
    try:
        model: Model = MODELS[name](**given)
    except TypeError:
        raise ValueError(f"{name} needs {', '.join(known)}") from None
    return model


def _refuse(message: str) -> Any:
    raise ValueError(message)


def _model_spec(model: Model) -> dict[str, Any]:
    return {"model": model.name} | {_kebab(key): value for key, value in asked(model).items()}


def _nearest(name: str, known: Any) -> str:
    near = get_close_matches(name.replace("_", "-"), [str(k) for k in known], n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


AnyHierarchy = Annotated[
    Any, BeforeValidator(_hierarchy), PlainSerializer(lambda b: b.spec(), return_type=dict[str, Any])
]
AnyModel = Annotated[Any, BeforeValidator(_model), PlainSerializer(_model_spec, return_type=dict[str, Any])]


class DataOptions(_Part):
    """How the input is read."""

    missing: tuple[str, ...] = ("",)
    """Texts that mean null; the first is written where a null is released."""
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    normalise: bool = False
    """Join values that differ in form only: outer spaces, 5 and 5.0."""
    others: Literal["insensitive", "drop"] | None = None
    """What columns without a role are; left out, they are an error."""


class Attribute(_Part):
    """One column: its role and, for a quasi-identifier, how it may be generalised."""

    role: Role
    hierarchy: AnyHierarchy | None = None
    importance: float | None = Field(default=None, ge=0, le=1)
    min_level: int | None = Field(default=None, ge=0)
    max_level: int | None = Field(default=None, ge=0)
    confirm: bool = False
    """Yes, release this column although many of its values are unique."""

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
    suppression: Annotated[float, Field(ge=0, le=1)] | Literal["k"] = 0.0
    """Share of the rows that may be suppressed; "k" is Sweeney's rule: at most k rows."""
    metric: Literal["loss", "loss-geometric", "precision-loss", "discernibility", "average-class", "height"] = "loss"
    time_limit: float | None = Field(default=None, gt=0)
    seed: int = 0

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if self.generalise != "attribute" or self.suppress == "cell":
            raise ValueError(
                f"generalise = {self.generalise!r} with suppress = {self.suppress!r} is not in this version; "
                "generalise = 'attribute' with suppress = 'tuple', 'attribute' or 'none' is"
            )
        return self


class ReleaseOptions(_Part):
    """How the release is written."""

    order: Literal["sorted", "keep"] = "sorted"
    suppressed: Literal["drop", "show"] = "drop"
    spreadsheet_safe: bool = True
    """In a CSV, put ' before text that a spreadsheet would run as a formula."""


class Policy(_Part):
    """Everything that decides about a release.

    >>> policy = Policy(attributes={"age": "quasi-identifier"}, require=[{"model": "k-anonymity", "k": 5}])
    >>> policy.require[0].k, policy.method.algorithm
    (5, 'optimal')
    """

    format: Literal[1] = FORMAT
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
                parameters = asked(model) | {}
                out += [type(model)(**parameters, attribute=name) for name in self.named(Role.SENSITIVE)]
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
        """Write TOML that loads to an equal policy."""
        import tomli_w

        Path(path).write_text(tomli_w.dumps(self.document()), "utf-8")

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
    properties = {"model": {"const": name}} | {_kebab(key): value for key, value in schema["properties"].items()}
    required = ["model", *map(_kebab, schema.get("required", []))]
    return {
        "title": name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_VARIANTS = ("constrained-float", "literal[", "function-", "float")
"""Names that pydantic gives to the branches of a union; no user wrote them."""


def _sentence(wrong: ValidationError) -> str:
    """One sentence about the first error, and how many more there are."""
    errors = wrong.errors(include_url=False)
    first = errors[0]
    where = [str(part) for part in first["loc"] if not str(part).startswith(_VARIANTS)]
    message = str(first.get("ctx", {}).get("error", first["msg"]))
    if first["type"] == "extra_forbidden":
        known = _known_keys(where[:-1])
        message = f"unknown key{_nearest(where[-1], known)}; known: {', '.join(known)}"
    elif first["type"] == "missing":
        message = "is missing"
    elif first["type"] != "value_error" and isinstance(first["input"], int | float | str):
        message = f"{message[0].lower()}{message[1:]}, not {first['input']!r}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{'.'.join(where)}: {message}{more}" if where else f"{message}{more}"


def _known_keys(where: list[str]) -> list[str]:
    part: type[BaseModel] = Policy
    parts: dict[str, type[BaseModel]] = {
        "data": DataOptions,
        "attributes": Attribute,
        "method": Method,
        "release": ReleaseOptions,
    }
    if where:
        part = parts.get(where[0], Policy)
    return [_kebab(name) for name in part.model_fields]
