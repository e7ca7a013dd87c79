"""The tables of a policy: data, attributes, method, release; and the paths in them."""

import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor
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
from shoal.hierarchy.arx_csv import rewrite_path
from shoal.hierarchy.build import Builder, parse
from shoal.models.model import RATIO, Model, Ratio
from shoal.models.spec import kebab, model_of, table_of
from shoal.roles import Role


class LocatedPath(str):
    """The path of a table as it stands in a policy, which knows the folder it starts from.

    >>> register = LocatedPath("register.csv", Path("folder"))
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

    def seen_from(self, folder: Path) -> "LocatedPath":
        return LocatedPath(rewrite_path(self, self.base, folder), folder)

    @property
    def absolute(self) -> "LocatedPath":
        """The same path as an absolute one, valid wherever the policy is moved."""
        return LocatedPath(str(self.file.resolve()), Path())


def locate_population(model: Model, base: Path) -> Model:
    """Return the model with its population looked for in `base`, unless its folder is known."""
    path = population_of(model)
    return (
        model if path is None or isinstance(path, LocatedPath) else _replace_population(model, LocatedPath(path, base))
    )


def relocate_population(model: Model, folder: Path) -> Model:
    """Return the model with its path written for a policy in another folder."""
    path = population_of(model)
    return _replace_population(model, path.seen_from(folder)) if isinstance(path, LocatedPath) else model


def make_population_absolute(model: Model) -> Model:
    """Return the model with an absolute path, for a policy whose folder will be moved."""
    path = population_of(model)
    return _replace_population(model, path.absolute) if isinstance(path, LocatedPath) else model


def population_of(model: Model) -> str | None:
    """Return the table that a model compares with, if any."""
    known = {field.name for field in fields(model)}  # type: ignore[arg-type]
    return getattr(model, "population", None) if "population" in known else None


def _replace_population(model: Any, path: LocatedPath) -> Model:
    changed: Model = replace(model, population=path)
    return changed


base: ContextVar[Path] = ContextVar("base", default=Path())
"""The folder from which relative paths start."""


class PolicySection(BaseModel):
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
    return locate_population(model_of(spec), base.get())


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_number(value: Any) -> Any:
    if not _is_number(value):
        raise ValueError(f"must be a number, not {value!r}")
    return value


def check_share(value: Any, *, above: bool = False, below: bool = False) -> Any:
    """Return a share as a policy writes it, a number or a text such as "1/3"; refuse what does not lie from 0 to 1.

    >>> check_share(Fraction(1, 3)), check_share("1/3"), check_share(0.5)
    ('1/3', '1/3', 0.5)
    """
    if isinstance(value, Fraction):
        value = f"{value.numerator}/{value.denominator}"
    if not isinstance(value, str):
        check_number(value)
        if value != value:  # noqa: PLR0124 - not a number
            raise ValueError(f"must be a number, not {value!r}")
    elif not RATIO.fullmatch(value):
        raise ValueError(f'must be a number, or two whole numbers such as "1/3", not {value!r}')
    share = Fraction(value) if isinstance(value, str) else value
    if share < 0 or (above and share == 0):
        raise ValueError(f"input should be greater than {'' if above else 'or equal to '}0, not {value!r}")
    if share > 1 or (below and share == 1):
        raise ValueError(f"input should be less than {'' if below else 'or equal to '}1, not {value!r}")
    return value


def check_whole(value: Any) -> int:
    if not _is_number(value) or not isinstance(value, Integral):
        raise ValueError(f"must be a whole number, not {value!r}")
    return int(value)


class RowLimit(PolicySection):
    """A limit that counts rows, as MaxSup and v of the papers do; written `{ rows = 2 }`.

    >>> RowLimit(rows=2)
    RowLimit(rows=2)
    """

    rows: Annotated[int, Field(ge=0), BeforeValidator(check_whole)]

    def __str__(self) -> str:
        return f"{{ rows = {self.rows} }}"


def _suppression(value: Any) -> Any:
    """Return a limit of suppression; refuse a bare 1, which could be one row or all of them."""
    if value == "k" or isinstance(value, RowLimit):
        return value
    rows = value["rows"] if isinstance(value, Mapping) and [*value] == ["rows"] else None
    if _is_number(rows) and isinstance(rows, Integral) and int(rows) >= 0:
        return value
    if _is_number(value) and isinstance(value, Integral) and int(value) > 0:
        if value == 1:
            raise ValueError("1 could be all rows or one row; write 1.0 for a share of all, { rows = 1 } for one row")
        raise ValueError(f"a share from 0 to 1, not {value}; write {{ rows = {value} }} for {value} rows")
    try:
        return check_share(value)
    except ValueError:
        raise ValueError(
            f'a share from 0 to 1, a number of rows such as {{ rows = 2 }}, or "k", not {value!r}'
        ) from None


def suppression_of_text(text: str) -> float | str | dict[str, Any]:
    """Return what an option says of suppression: `0.05`, `k`, `rows=2` or `{ rows = 2 }`.

    >>> suppression_of_text("0.05"), suppression_of_text("rows=2"), suppression_of_text("{ rows = 2 }")
    (0.05, {'rows': 2}, {'rows': 2})
    """
    found = re.fullmatch(r"\s*\{?\s*rows\s*=\s*(\d+)\s*\}?\s*", text)
    if found is not None:
        return {"rows": int(found[1])}
    if re.fullmatch(r"\s*\d+\s*", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


Importance = Annotated[float, Field(ge=0, le=1), BeforeValidator(check_number)]
Share = Annotated[Annotated[float, Field(ge=0, le=1)] | Ratio, BeforeValidator(check_share)]
PositiveShare = Annotated[
    Annotated[float, Field(gt=0, le=1)] | Ratio, BeforeValidator(partial(check_share, above=True))
]
InnerShare = Annotated[
    Annotated[float, Field(gt=0, lt=1)] | Ratio, BeforeValidator(partial(check_share, above=True, below=True))
]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(check_number)]
Step = Annotated[int | float, Field(gt=0, allow_inf_nan=False), BeforeValidator(check_number)]
Bound = Annotated[int | float, Field(allow_inf_nan=False), BeforeValidator(check_number)]
Level = Annotated[int, Field(ge=0), BeforeValidator(check_whole)]
Row = Annotated[int, Field(ge=1), BeforeValidator(check_whole)]
Suppression = Annotated[
    Annotated[float, Field(ge=0, le=1)] | Literal["k"] | Ratio | RowLimit,
    BeforeValidator(_suppression),
]
SuppressionLike = float | str | Fraction | Mapping[str, int] | RowLimit
"""What Python takes as a limit of suppression."""
AnyHierarchy = Annotated[
    Any, BeforeValidator(_hierarchy), PlainSerializer(lambda b: b.spec(), return_type=dict[str, Any])
]
AnyModel = Annotated[Any, BeforeValidator(_model), PlainSerializer(table_of, return_type=dict[str, Any])]


def _path(value: Any) -> LocatedPath:
    if isinstance(value, LocatedPath):
        return value
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise ValueError(f"the path of a file, not {value!r}")
    return LocatedPath(os.fspath(value), base.get())


AnyPath = Annotated[
    Any,
    BeforeValidator(_path),
    PlainSerializer(str, return_type=str, when_used="json"),  # in Python, it still knows where it starts
    WithJsonSchema({"type": "string"}),
]


class DataOptions(PolicySection):
    """How the input is read."""

    missing: tuple[str, ...] = ("",)
    """Texts that mean null; the first is written where a null is released."""
    delimiter: str | None = None
    """Sign between the cells of a CSV; found out unless given."""
    quote: str | None = None
    """Sign around the cells of a CSV that hold its delimiter; " unless given."""
    encoding: str | None = None
    """Encoding of a CSV, e.g. cp1252; UTF-8 unless given."""
    decimal: str | None = None
    """Decimal mark of a CSV, . or ,; found out unless given."""
    thousands: str | None = None
    """Mark between thousands in a CSV or the texts of a sheet: . , ' or a blank; found out in a column where a number
    has a decimal mark too."""
    sheet: str | None = None
    """Sheet of an Excel file; the first with a table unless given."""
    header_row: Row | tuple[Row, Row] | None = None
    """Row of a sheet, or line of a CSV, that names the columns; the first is 1. In a sheet, [3, 4] joins rows."""
    normalise: StrictBool = False
    """Join values that differ in form only: outer spaces, 5 and 5.0."""
    others: Literal["insensitive", "drop"] | None = None
    """What columns without a role are; left out, they are an error."""


def tuple_of_names(value: Any) -> Any:
    """Turn one name into a tuple; leave several names as they are."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(tuple_of_names, json_schema_input_type=str | tuple[str, ...])]
Form = Literal["range", "bounds", "mean", "median", "mode"]
Forms = Annotated[
    tuple[Form, ...],
    Field(min_length=1),
    BeforeValidator(tuple_of_names, json_schema_input_type=Form | tuple[Form, ...]),
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
    "bottom": {Role.SENSITIVE, Role.INSENSITIVE},
    "top": {Role.SENSITIVE, Role.INSENSITIVE},
    "min_level": {Role.QUASI_IDENTIFIER},
    "max_level": {Role.QUASI_IDENTIFIER},
}
"""The roles for which a key of an attribute has a meaning."""


def useless_keys(role: Role) -> list[str]:
    """Return the keys of an attribute that have no meaning for a role."""
    return [key for key, useful in _USEFUL.items() if role not in useful]


def left_over(role: Any, given: Mapping[str, Any]) -> list[str]:
    """Return the keys that a dropped column has from an earlier role, and does not need.

    >>> left_over("identifier", {"role": "identifier", "hierarchy": {"flat": True}, "importance": 0.5})
    ['hierarchy', 'importance']
    """
    if role not in {Role.IDENTIFIER, Role.UNIT}:
        return []
    useless = {name for key in useless_keys(Role(role)) for name in (key, kebab(key))}
    return [key for key, value in given.items() if key in useless and value is not None]


class Attribute(PolicySection):
    """One column: its role and, for a quasi-identifier, how it may be generalised."""

    role: Role
    """Its meaning for privacy: identifier, quasi-identifier, sensitive, insensitive, sampling-weight or unit."""
    hierarchy: AnyHierarchy | None = None
    """How its values may be made coarser (DGH); left out, one is drafted from the data."""
    order: tuple[str, ...] | None = None
    """The values from least to greatest, where they are no numbers: of a sensitive attribute, or for boxes."""
    form: Forms | None = None
    """What boxes and clusters show of a quasi-identifier; left out, its range, or of clusters the mean or median."""
    importance: Importance | None = None
    """How much its detail matters beside that of the other quasi-identifiers, 0 to 1."""
    min_level: Level | None = None
    """The least level of its hierarchy that may be released."""
    max_level: Level | None = None
    """The greatest level of its hierarchy that may be released."""
    round: Step | None = None
    """Numbers that are not generalised are published as the nearest multiple of this, so that nobody is found by an
    exact one."""
    bottom: Bound | None = None
    """Rounded numbers below this are published as this, so that nobody is found by an extreme one."""
    top: Bound | None = None
    """Rounded numbers above this are published as this."""
    confirm: Confirm = False
    """True: yes, release this column although many of its values are unique, or although it looks sensitive. "?": the
    role is a guess that its owner has not confirmed, so nothing is released; "guessed": released all the same."""

    @model_validator(mode="after")
    def _refuse_keys_of_other_roles(self) -> Self:
        """Refuse keys that the role does not use; a hierarchy may also serve as a distance of sensitive values."""
        useless = [key for key in useless_keys(self.role) if getattr(self, key) is not None]
        if useless:
            *others, last = map(kebab, useless)
            have, it = ("have", "them") if others else ("has", "it")
            named = f"{', '.join(others)} and {last}" if others else last
            raise ValueError(f"{named} {have} no meaning for the role {str(self.role)!r}; leave {it} out")
        return self

    @model_validator(mode="after")
    def _levels(self) -> Self:
        if self.min_level is not None and self.max_level is not None and self.min_level > self.max_level:
            raise ValueError(f"min-level {self.min_level} lies above max-level {self.max_level}")
        return self

    @model_validator(mode="after")
    def _refuse_odd_bounds(self) -> Self:
        """Refuse bounds of numbers that are not rounded, that are no multiples of the step, or in the wrong order."""
        bounds = {key: getattr(self, key) for key in ("bottom", "top") if getattr(self, key) is not None}
        for key, bound in bounds.items():
            if self.round is None:
                raise ValueError(f"{key} is for numbers that are rounded; give round, too, or leave it out")
            step = Fraction(str(self.round))
            steps = Fraction(str(bound)) / step
            if steps.denominator != 1:
                near = " or ".join(f"{float(each * step):.12g}" for each in (floor(steps), ceil(steps)))
                raise ValueError(
                    f"{key} = {bound} is no multiple of round = {self.round}; rounded numbers are: take {near}"
                )
        if len(bounds) > 1 and bounds["bottom"] >= bounds["top"]:
            raise ValueError(f"bottom {self.bottom} does not lie below top {self.top}")
        return self


class ReleaseOptions(PolicySection):
    """How the release is written."""

    order: Literal["sorted", "keep"] = "sorted"
    """Rows are sorted by what they show, or stay in the order of the table, which may identify people."""
    suppressed: Literal["drop", "show"] = "drop"
    """Suppressed rows are left out, or shown as `*` in every quasi-identifier."""
    spreadsheet_safe: StrictBool = True
    """In a CSV, put ' before text that a spreadsheet would run as a formula."""
    ranges: Literal["cut", "observed"] = "cut"
    """Of boxes: the edges of the partition, or each class's own minimum and maximum: someone's very values."""
    means: Literal["safe", "any"] = "safe"
    """Whether means of classes under 5 rows, and means that tell every value of a class, are refused."""
