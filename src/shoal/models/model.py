"""What every privacy model is: a frozen value with one pure judgement, and how it behaves when classes merge."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from enum import IntEnum, StrEnum
from fractions import Fraction
from functools import lru_cache
from math import inf, lcm, nextafter
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray
from pydantic import StringConstraints

from shoal.data.class_counts import ClassCounts, Longs
from shoal.errors import BadPolicy
from shoal.models.value_limits import ValueLimits
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.data.codes import Table
    from shoal.hierarchy.build import Builder

_LARGEST = np.iinfo(np.int64).max
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def scale_to_integers(labels: Sequence[str | None]) -> tuple[tuple[int, ...], int] | None:
    """Return the labels as whole multiples of 1/scale, and the scale; None if one is no plain number. Null is 0.

    >>> scale_to_integers(["1", "2.5", None])
    ((2, 5, 0), 2)
    >>> scale_to_integers(["1", "02138"])
    """
    return _scale_to_integers(tuple(labels))


@lru_cache(maxsize=16)  # a search asks again at every node
def _scale_to_integers(labels: tuple[str | None, ...]) -> tuple[tuple[int, ...], int] | None:
    if not all(label is None or _NUMBER.fullmatch(label) for label in labels):
        return None
    numbers = [Fraction(label or 0) for label in labels]
    scale = lcm(*(number.denominator for number in numbers))
    return tuple(number.numerator * (scale // number.denominator) for number in numbers), scale


def refuse_unless_opted_in(name: str, experimental: object) -> None:
    """Raise ValueError unless the policy opts in to an experimental model.

    >>> refuse_unless_opted_in("a-d-diversity", experimental=True)
    """
    refuse_unless_flag("experimental", experimental)
    if not experimental:
        raise ValueError(
            f"{name} is experimental: its definition is taken from another paper's description of it; "
            "set experimental = true to use it"
        )


Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Whole = Annotated[int, Ge(1)]
"""A parameter such as k; the annotation is what the JSON Schema of a policy says."""
Ratio = Annotated[str, StringConstraints(pattern="^[0-9]+/[1-9][0-9]*$")]
"""A number that no decimal writes exactly, such as "1/3"."""
Share = Annotated[float, Gt(0), Le(1)] | Ratio
"""A parameter such as α."""
Part = Annotated[float, Ge(0), Le(1)] | Ratio
"""A share that may be nothing at all."""


class Closure(IntEnum):
    """What merging classes does to compliance; it decides which pruning is legal."""

    NOT = 0
    """Nothing is promised."""
    UNION = 1
    """Complying classes merged comply (M1): prune when nothing may be suppressed."""
    SUPERSET = 2
    """A complying class merged with any other complies (M2): prune with any suppression limit."""


class Need(StrEnum):
    """What a model is judged with, beside the released table."""

    ORIGINAL = "original"
    POPULATION = "population"


FINDS_THE_ROW = "knows every identifying value of a person who is in the table"
READS_THE_CLASS = "finds the class of a person and reads the sensitive values there"
KNOWS_FREQUENCIES = (
    "knows how common each sensitive value is, finds the class of a person and learns from the difference"
)
KNOWS_EVERYBODY = "knows everybody in the population, and wants to learn who is in the table"
"""Whom models protect against: "somebody who …"."""


class QuasiIdentifiers:
    """Stands in `columns` for every quasi-identifier, as it was before it was generalised; no name can be this."""

    def __repr__(self) -> str:
        return "QUASI"


QUASI = QuasiIdentifiers()
Columns = tuple[str | QuasiIdentifiers, ...]


DEFINED: dict[str, type["Model"]] = {}
"""Every class of models that was imported, by its name: those that a policy in Python may hold without registering."""


class Model(ABC):
    """A promise about the classes of a release: a frozen dataclass whose fields are its parameters."""

    __slots__ = ()
    name: ClassVar[str]
    family: ClassVar[str] = "Further models"
    """What kind of promise it is: the heading that it stands under in the documentation."""
    sentence: ClassVar[str]
    """What it promises, in plain words; left out, the first paragraph of the docstring."""
    adversary: ClassVar[str] = READS_THE_CLASS
    """Whom it protects against: "somebody who …"."""
    source: ClassVar[str] = ""
    """Where it was defined."""
    closure: ClassVar[Closure] = Closure.NOT
    per_attribute: ClassVar[bool] = False
    """Whether it is about one sensitive attribute; then it has a field `attribute`."""

    def __init_subclass__(cls) -> None:
        if "sentence" not in cls.__dict__ and cls.__doc__:
            cls.sentence = " ".join(cls.__doc__.split("\n\n")[0].split())
        if "name" in cls.__dict__:
            DEFINED[cls.name] = cls

    @property
    def table_wide(self) -> bool:
        """Whether it is judged on all that is kept, after suppression: a node that fails is rejected (design 2)."""
        return False

    @property
    def suppresses_smallest(self) -> bool:
        """Whether the smallest classes are suppressed until a promise about the whole table holds (design 2)."""
        return False

    @property
    def largest_suppressed(self) -> int | None:
        """Greatest size of a class without which the table is nearer to such a promise; None if that is not known."""
        return None

    @property
    def merging(self) -> Closure:
        """The closure of this instance: a parameter may weaken that of its class."""
        return self.closure

    @property
    def needs(self) -> frozenset[Need]:
        """What its judgement needs beside the released table."""
        return frozenset()

    @property
    def public(self) -> "Model | None":
        """A model whose figures the released table alone gives, so that they may be published; None if there is none.

        Figures that were counted with the original would reveal people whom the release left out.
        """
        return None if self.needs else self

    @property
    def columns(self) -> Columns:
        """Columns that must be counted together; QUASI stands for all quasi-identifiers as they were."""
        return ()

    @property
    def least_rows(self) -> int:
        """Least number of rows with which a class can keep it, whatever they hold."""
        return 1

    def refuse_misfit(
        self,
        table: "Table",
        roles: Mapping[str, Role],  # noqa: ARG002
        builders: Mapping[str, "Builder | None"],  # noqa: ARG002
    ) -> None:
        """Refuse columns that are not there, or not as the model needs them.

        `roles` are those of all columns, `builders` the hierarchies that the policy gives.
        """
        for name in self.columns:
            if name is not QUASI and name not in table.columns:
                raise BadPolicy(f"require: {self.name} looks at {name!r}, and the table has no such column")

    @abstractmethod
    def complies(self, counts: ClassCounts) -> Flags:
        """Flag the classes that keep the promise; a promise about the table as a whole may flag all of them."""

    def least_removed(self, counts: ClassCounts) -> Longs:
        """Return for each class a lower bound of how many of its rows must go before what is left keeps the promise.

        What is left may be nothing. Rows are counted, not persons. By default one row of a class that fails.

        A search sums it up where a promise is closed under UNION: what a finer node keeps of a class consists of
        complying classes, so their union complies, and that union is the class without the rows that are suppressed.
        So if the sum is more than may be suppressed, neither the node nor any finer one complies.
        """
        return (~self.complies(counts)).astype(np.int64)

    def value_limits(self, counts: ClassCounts) -> ValueLimits | None:  # noqa: ARG002
        """Return limits on the values of `about` that tell `least_removed` of all classes, whatever the node.

        None where there are none, so that the model has to be asked at each node. What the limits tell is no less than
        what `least_removed` does, and a lower bound like it.
        """
        return None

    @property
    def keeps_every_row(self) -> bool:
        """Whether no release from which rows were dropped keeps it."""
        return False

    def holds(self, counts: ClassCounts) -> bool:
        """Whether a table keeps the promise."""
        return bool(self.complies(counts).all())

    @abstractmethod
    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        """Return the best parameters that the table reaches, whatever this instance asks."""

    def worst(self, counts: ClassCounts) -> int | None:  # noqa: ARG002
        """Return the class that protects its members least, if there is one."""
        return None

    @property
    def about(self) -> str | None:
        """The sensitive attribute that it is about, if any."""
        attribute: str | None = getattr(self, "attribute", None)
        return attribute

    def parts(self) -> Iterable["Model"]:
        """Yield the models of which this is the conjunction, so that each is pruned by its own closure."""
        return (self,)

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:  # noqa: ARG002
        """Return why no release can keep it, judging the whole table as one class; None when it may be possible."""
        return None

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:  # noqa: ARG003
        """Yield the weakest instances, about an attribute or about none, which `measure` asks for attained values."""
        return ()


def refuse_unless_whole(name: str, value: object, least: int = 1) -> None:
    """Raise ValueError unless `value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")


def refuse_unless_flag(name: str, value: object) -> None:
    """Raise ValueError unless `value` is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, not {value!r}")  # noqa: TRY004


def exact(name: str, value: object) -> Fraction:
    """Return a number as the fraction that its decimal notation means: 0.1 is one tenth.

    >>> exact("alpha", 0.1)
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, Real) or value != value or abs(value) == float("inf"):  # noqa: PLR0124
        raise ValueError(f"{name} must be a number, not {value!r}")
    return Fraction(value) if isinstance(value, Fraction | int) else _fraction_of(repr(float(value)))


@lru_cache(maxsize=256)  # a search asks again at every node
def _fraction_of(decimal: str) -> Fraction:
    return Fraction(decimal)


RATIO = re.compile(r"[0-9]{1,4000}/[1-9][0-9]{0,4000}")
"""Two whole numbers, and what lies over them."""


def exact_share(name: str, value: object) -> Fraction:
    """Return a share as a fraction: a number as `exact` reads it, or two whole numbers, "1/3".

    >>> exact_share("alpha", "1/3"), exact_share("alpha", 0.5)
    (Fraction(1, 3), Fraction(1, 2))
    """
    if not isinstance(value, str):
        return exact(name, value)
    if not RATIO.fullmatch(value):
        raise ValueError(f'{name} must be a number, or two whole numbers such as "1/3", not {value!r}')
    return Fraction(value)


def settle_shares(model: "Model", *names: str, zero: bool = False) -> None:
    """Refuse a parameter that is no share, or no table of shares; write down a `Fraction` as "1/3"."""
    for name in names:
        given = getattr(model, name)
        for value in given.values() if isinstance(given, Mapping) else [given]:
            share = exact_share(name, value)
            if not 0 <= share <= 1 or (share == 0 and not zero):
                raise ValueError(
                    f"{name} must lie {'from 0 to 1' if zero else 'above 0 and at most at 1'}, not {value!r}"
                )
        if isinstance(given, Mapping):
            if any(isinstance(value, Fraction) for value in given.values()):
                object.__setattr__(model, name, {key: share_as_text(value) for key, value in given.items()})
        else:
            object.__setattr__(model, name, share_as_text(given))


def share_as_text(value: Any) -> Any:
    """Return a fraction as the text that a policy has for it; anything else as it is."""
    return f"{value.numerator}/{value.denominator}" if isinstance(value, Fraction) else value


def ceiling(share: Fraction) -> float:
    """Return the least float that, read back as a decimal, is not below `share`, so that a policy may state it.

    >>> ceiling(Fraction(1, 2)), ceiling(Fraction(1, 3))
    (0.5, 0.33333333333333337)
    """
    nearest = float(share)
    return nearest if exact("share", nearest) >= share else nextafter(nearest, inf)


def is_within_limit(part: NDArray[Any], whole: NDArray[Any], limit: Fraction) -> Flags:
    """Flag the entries with part/whole <= limit, compared exactly in whole numbers (design 15).

    >>> is_within_limit(np.array([1, 2]), np.array([10, 10]), Fraction(1, 10)).tolist()
    [True, False]
    """
    over, under = limit.numerator, limit.denominator
    # int64 where both products fit, and their factors (a limit may be 0), else Python integers
    if max(int(part.max(initial=1)) * under, int(whole.max(initial=1)) * max(over, 1)) > _LARGEST:
        part, whole = part.astype(object), whole.astype(object)
    return np.asarray(part * under <= whole * over, dtype=bool)


def is_within_limits(part: Longs, whole: Longs, limits: Sequence[Fraction], which: NDArray[np.integer]) -> Flags:
    """Flag the entries with part/whole <= limits[which], compared exactly in whole numbers (design 15).

    >>> is_within_limits(np.array([1, 2]), np.array([10, 10]), [Fraction(1, 10)], np.array([0, 0])).tolist()
    [True, False]
    """
    # int64 where both products fit, and their factors (a limit may be 0), else Python integers
    largest = max(
        int(part.max(initial=1)) * max((limit.denominator for limit in limits), default=1),
        int(whole.max(initial=1)) * max((max(limit.numerator, 1) for limit in limits), default=1),
    )
    kind: type = np.int64 if largest <= _LARGEST else object
    over: NDArray[Any] = np.array([limit.numerator for limit in limits], dtype=kind)
    under: NDArray[Any] = np.array([limit.denominator for limit in limits], dtype=kind)
    fits = part.astype(kind) * under[which] <= whole.astype(kind) * over[which]
    return np.asarray(fits, dtype=bool)


def asked(model: Model) -> dict[str, Any]:
    """Return the parameters of a model as a policy states them; those not given or switched off are left out."""
    given = {field.name: getattr(model, field.name) for field in fields(model)}  # type: ignore[arg-type]
    return {name: value for name, value in given.items() if value is not None and value is not False}
