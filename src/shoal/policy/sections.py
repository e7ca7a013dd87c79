"""The tables of a policy: data, attributes, method, release; and the paths in them."""

import os
from contextvars import ContextVar
from dataclasses import fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    WithJsonSchema,
    model_validator,
)

from shoal.errors import BadHierarchy
from shoal.hierarchy.arx_csv import written_for
from shoal.hierarchy.build import Builder, parse
from shoal.models.model import Model
from shoal.models.spec import kebab, model_of, table_of
from shoal.roles import Role


class Located(str):
    """The path of a table as it stands in a policy, which knows the folder it starts from.

    >>> register = Located("register.csv", Path("folder"))
    >>> register == "register.csv", register.file.as_posix()
    (True, 'folder/register.csv')
    """

    __slots__ = ("base",)
    base: Path

    def __new__(cls, path: str, base: Path) -> Self:
        made = super().__new__(cls, path)
        made.base = base
        return made

    def __getnewargs__(self) -> tuple[str, Path]:  # type: ignore[override]
        return str(self), self.base

    @property
    def file(self) -> Path:
        return self.base / self

    def seen_from(self, folder: Path) -> "Located":
        return Located(written_for(self, self.base, folder), folder)

    @property
    def absolute(self) -> "Located":
        """Return the same path as an absolute one, wherever the policy will lie."""
        return Located(str(self.file.resolve()), Path())


def located(model: Model, base: Path) -> Model:
    """Return the model with its population looked for in `base`, unless its folder is known."""
    path = population_of(model)
    return model if path is None or isinstance(path, Located) else _with(model, Located(path, base))


def moved(model: Model, folder: Path) -> Model:
    """Return the model with its path written for a policy in another folder."""
    path = population_of(model)
    return _with(model, path.seen_from(folder)) if isinstance(path, Located) else model


def anchored(model: Model) -> Model:
    """Return the model with an absolute path, for a policy whose folder will be moved."""
    path = population_of(model)
    return _with(model, path.absolute) if isinstance(path, Located) else model


def population_of(model: Model) -> str | None:
    """Return the table that a model compares with, if any."""
    known = {field.name for field in fields(model)}  # type: ignore[arg-type]
    return getattr(model, "population", None) if "population" in known else None


def _with(model: Any, path: Located) -> Model:
    changed: Model = replace(model, population=path)
    return changed


base: ContextVar[Path] = ContextVar("base", default=Path())
"""The folder from which relative paths start."""


class Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=kebab,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
    )


def _hierarchy(spec: Any) -> Builder:
    try:
        return parse(spec, base.get())
    except BadHierarchy as wrong:
        raise ValueError(str(wrong)) from None


def _model(spec: Any) -> Model:
    return located(model_of(spec), base.get())


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def number(value: Any) -> Any:
    if not _is_number(value):
        raise ValueError(f"must be a number, not {value!r}")
    return value


def whole(value: Any) -> int:
    if not _is_number(value) or not isinstance(value, Integral):
        raise ValueError(f"must be a whole number, not {value!r}")
    return int(value)


def _suppression(value: Any) -> Any:
    if value == "k" or (_is_number(value) and 0 <= value <= 1):
        return value
    raise ValueError(f'a share from 0 to 1, or "k", not {value!r}')


Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(number)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(number)]
Step = Annotated[int | float, Field(gt=0, allow_inf_nan=False), BeforeValidator(number)]
Level = Annotated[int, Field(ge=0), BeforeValidator(whole)]
Row = Annotated[int, Field(ge=1), BeforeValidator(whole)]
Suppression = Annotated[Annotated[float, Field(ge=0, le=1)] | Literal["k"], BeforeValidator(_suppression)]
AnyHierarchy = Annotated[
    Any, BeforeValidator(_hierarchy), PlainSerializer(lambda b: b.spec(), return_type=dict[str, Any])
]
AnyModel = Annotated[Any, BeforeValidator(_model), PlainSerializer(table_of, return_type=dict[str, Any])]


def _path(value: Any) -> Located:
    if isinstance(value, Located):
        return value
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise ValueError(f"the path of a file, not {value!r}")
    return Located(os.fspath(value), base.get())


AnyPath = Annotated[
    Any,
    BeforeValidator(_path),
    PlainSerializer(str, return_type=str, when_used="json"),  # in Python, it still knows where it starts
    WithJsonSchema({"type": "string"}),
]


class DataOptions(Part):
    """How the input is read."""

    missing: tuple[str, ...] = ("",)
    """Texts that mean null; the first is written where a null is released."""
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    header_row: Row | None = None
    """Row of a sheet, or line of a CSV, that names the columns; the first is 1."""
    normalise: StrictBool = False
    """Join values that differ in form only: outer spaces, 5 and 5.0."""
    others: Literal["insensitive", "drop"] | None = None
    """What columns without a role are; left out, they are an error."""


def several(value: Any) -> Any:
    """Turn one name into a tuple; leave several names as they are."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(several, json_schema_input_type=str | tuple[str, ...])]
Form = Literal["range", "bounds", "mean", "median", "mode"]
Forms = Annotated[
    tuple[Form, ...], Field(min_length=1), BeforeValidator(several, json_schema_input_type=Form | tuple[Form, ...])
]


def _confirm(value: Any) -> Any:
    if isinstance(value, bool) or value in ("?", "guessed"):
        return value
    raise ValueError(f'true, or "?" for a guess that is still a question, not {value!r}')


Confirm = Annotated[bool | Literal["?", "guessed"], BeforeValidator(_confirm)]
_USEFUL = {
    "hierarchy": {Role.QUASI_IDENTIFIER, Role.SENSITIVE},
    "order": {Role.SENSITIVE, Role.QUASI_IDENTIFIER},
    "form": {Role.QUASI_IDENTIFIER},
    "importance": {Role.QUASI_IDENTIFIER},
    "round": {Role.SENSITIVE, Role.INSENSITIVE},
    "min_level": {Role.QUASI_IDENTIFIER},
    "max_level": {Role.QUASI_IDENTIFIER},
}
"""The roles for which a key of an attribute has a meaning."""


class Attribute(Part):
    """One column: its role and, for a quasi-identifier, how it may be generalised."""

    role: Role
    hierarchy: AnyHierarchy | None = None
    order: tuple[str, ...] | None = None
    """The values from least to greatest, where they are no numbers: of a sensitive attribute, or for boxes."""
    form: Forms | None = None
    """What boxes and clusters show of a quasi-identifier; left out, its range, or of clusters the mean or median."""
    importance: Share | None = None
    min_level: Level | None = None
    max_level: Level | None = None
    round: Step | None = None
    """Numbers that are not generalised are published as the nearest multiple of this, so that nobody is found by an
    exact one."""
    confirm: Confirm = False
    """True: yes, release this column although many of its values are unique. "?": the role is a guess that its owner
    has not confirmed, so nothing is released; "guessed": it was released all the same."""

    @model_validator(mode="after")
    def _of_its_role(self) -> Self:
        """Only a quasi-identifier is generalised; a hierarchy may also tell how far sensitive values lie apart."""
        for key, useful in _USEFUL.items():
            if getattr(self, key) is not None and self.role not in useful:
                raise ValueError(f"{kebab(key)} has no meaning for the role {str(self.role)!r}; leave it out")
        return self

    @model_validator(mode="after")
    def _levels(self) -> Self:
        if self.min_level is not None and self.max_level is not None and self.min_level > self.max_level:
            raise ValueError(f"min-level {self.min_level} lies above max-level {self.max_level}")
        return self


class ReleaseOptions(Part):
    """How the release is written."""

    order: Literal["sorted", "keep"] = "sorted"
    suppressed: Literal["drop", "show"] = "drop"
    spreadsheet_safe: StrictBool = True
    """In a CSV, put ' before text that a spreadsheet would run as a formula."""
    ranges: Literal["cut", "observed"] = "cut"
    """Of boxes: the edges of the partition, or each class's own minimum and maximum: someone's very values."""
    means: Literal["safe", "any"] = "safe"
    """Whether means of classes under 5 rows, and means that tell every value of a class, are refused."""
