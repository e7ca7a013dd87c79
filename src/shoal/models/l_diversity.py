"""Distinct and entropy l-diversity, and what all l-diversities share: every class shows enough different values."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, inf, log, nextafter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Len
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Indices, Longs, ValueCounts, sum_counts
from shoal.errors import BadPolicy
from shoal.models.model import (
    READS_THE_CLASS,
    Closure,
    Flags,
    Model,
    Whole,
    exact,
    refuse_unless_flag,
    refuse_unless_whole,
)
from shoal.models.value_limits import EntropyLimit, flag_counted, round_down_rows
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.data.codes import Table
    from shoal.hierarchy.build import Builder

Others = Annotated[tuple[str, ...], Len(1)]
"""Sensitive attributes that an adversary may know of somebody."""


@dataclass(frozen=True, slots=True)
class DiverseGroups:
    """Sets of records that must be diverse: the values of each, the class it belongs to, and its rows."""

    values: ValueCounts
    owner: Indices
    rows: Longs


class LDiversity(Model):
    """Enough different values of a sensitive attribute, in one of two readings where there are several.

    Left out, `others` says: each class must be diverse. Given, it names sensitive attributes that an adversary may
    know, and the attribute must be diverse in every class of the quasi-identifiers enlarged by them (section 4.3 of the
    paper); the attribute itself may be in the list, so that one list serves all. Records that are not diverse among
    those of their class with the same other values stay so when a class without these values joins: enlarged, no
    l-diversity is closed under supersets.
    Null protects nobody unless `null_is_value`; null of another attribute is a value like any other (design 7).
    """

    __slots__ = ()
    per_attribute: ClassVar[bool] = True
    attribute: str | None
    null_is_value: bool
    others: Others | None

    @property
    def columns(self) -> tuple[str, ...]:
        others = [name for name in self.others or () if name != self.attribute]
        return (self.attribute, *others) if others and self.attribute is not None else ()

    def refuse_misfit(
        self, table: "Table", roles: Mapping[str, Role], builders: Mapping[str, "Builder | None"]
    ) -> None:
        Model.refuse_misfit(self, table, roles, builders)
        for name in self.others or ():
            if roles.get(name) is not Role.SENSITIVE:
                raise BadPolicy(f"require: {self.name}: others names {name!r}, which has not the role 'sensitive'")

    @property
    def merging(self) -> Closure:
        return min(self.closure, Closure.UNION) if self.columns else self.closure

    @property
    def least_rows(self) -> int:
        return int(getattr(self, "l"))  # noqa: B009 - a field of each of them

    @abstractmethod
    def diverse(self, values: ValueCounts) -> Flags:
        """Flag the sets of records that are diverse."""

    @abstractmethod
    def level(self, values: ValueCounts) -> NDArray[Any]:
        """Return how diverse each set of records is."""

    @abstractmethod
    def hopeless(self, distinct: Longs) -> Flags:
        """Flag the numbers of different values that are too few, whatever their frequencies."""

    def complies(self, counts: ClassCounts) -> Flags:
        groups = self.groups(counts)
        complying = np.ones(len(counts.sizes), dtype=bool)
        complying[groups.owner[~self.diverse(groups.values)]] = False
        return complying

    def least_removed(self, counts: ClassCounts) -> Longs:
        """Return how many rows of each class must go: of each of its sets of records as many as that needs."""
        groups = self.groups(counts)
        removed = np.zeros(len(counts.sizes), dtype=np.int64)
        np.add.at(removed, groups.owner, np.minimum(self._removed(groups), groups.rows))
        return removed

    def _removed(self, groups: DiverseGroups) -> Longs:
        """Return how many rows of each set of records must go, at least; all where it has too few values."""
        hopeless = self.hopeless(count_distinct_values(groups.values))
        return np.where(hopeless, groups.rows, ~self.diverse(groups.values))

    def worst(self, counts: ClassCounts) -> int | None:
        groups = self.groups(counts)
        return int(groups.owner[self.level(groups.values).argmin()]) if len(groups.owner) else None

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if more records than may be suppressed have too few different values in any class."""
        groups = self.groups(table)
        distinct = count_distinct_values(groups.values)
        hopeless = self.hopeless(distinct)
        lost = int(groups.rows[hopeless].sum())
        if lost <= suppressible and not hopeless.all():
            return None
        asked = f"l={getattr(self, 'l')}"  # noqa: B009 - a field of each of them
        if not self.columns:
            return f"{self.attribute!r} has {distinct.max(initial=0)} different values in the whole table < {asked}"
        known = ", ".join(map(repr, self.columns[1:]))
        few = f"too few different values of {self.attribute!r} for {asked}"
        return f"{lost} {table.counted} share their {known} with {few}"

    def groups(self, counts: ClassCounts) -> DiverseGroups:
        """Return the classes, or their parts with equal values of the other attributes."""
        assert self.attribute is not None
        if not self.columns:
            values = counts.sensitive[self.attribute].select_protecting(null=self.null_is_value)
            return DiverseGroups(values, np.arange(len(counts.sizes)), counts.sizes)
        joint = counts.joint[self.columns]
        # group of each entry: its class, refined by the values of each other attribute
        group = np.asarray(joint.classes, dtype=np.int64)
        for codes in joint.codes[1:]:  # numbered anew each time: the product of all sizes may be too large
            group = np.unique(group * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
        many = int(group.max(initial=-1)) + 1
        # class and number of rows of each group
        owner = np.zeros(many, dtype=np.int64)
        owner[group] = joint.classes
        rows = sum_counts(group, joint.counts, many)
        values = ValueCounts(group, joint.codes[0], joint.counts, joint.labels[0], many)
        return DiverseGroups(values.select_protecting(null=self.null_is_value), owner, rows)

    def reason_against_persons(self, table: ClassCounts) -> str | None:
        """Return why shares of persons cannot be computed, if so: columns counted together are counted by rows."""
        assert self.attribute is not None
        if not self.columns or table.sensitive[self.attribute].everyone is None:
            return None
        return "with others it counts rows, and the unit asks for persons; leave others out, or drop the unit"


def refuse_invalid_settings(model: LDiversity) -> None:
    """Raise ValueError unless `null_is_value` and `others` are valid; turn a list of others into a tuple."""
    refuse_unless_flag("null-is-value", model.null_is_value)
    others: Any = model.others
    if others is None:
        return
    if not isinstance(others, list | tuple) or not all(isinstance(name, str) for name in others):
        raise ValueError(f"others must be a list of sensitive attributes, not {others!r}")
    if not others or len(set(others)) < len(others):
        raise ValueError(f"others must name at least one sensitive attribute, and none twice, not {list(others)!r}")
    object.__setattr__(model, "others", tuple(others))


def count_distinct_values(values: ValueCounts) -> Longs:
    """Return the number of different values in each class."""
    return np.bincount(values.classes, minlength=values.class_count).astype(np.int64)


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(LDiversity):
    """Every class holds at least l different values of a sensitive attribute.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006.
    """

    name: ClassVar[str] = "distinct-l-diversity"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows at least l different sensitive values."
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006"
    closure: ClassVar[Closure] = Closure.SUPERSET
    l: Whole
    attribute: str | None = None
    null_is_value: bool = False
    others: Others | None = None

    def __post_init__(self) -> None:
        refuse_unless_whole("l", self.l)
        refuse_invalid_settings(self)

    def diverse(self, values: ValueCounts) -> Flags:
        return count_distinct_values(values) >= self.l

    def level(self, values: ValueCounts) -> Longs:
        return count_distinct_values(values)

    def hopeless(self, distinct: Longs) -> Flags:
        return distinct < self.l

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        level = self.level(self.groups(counts).values)
        return {"l": int(level.min()) if len(level) else 0}

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, attribute),) if attribute is not None else ()


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(LDiversity):
    """The entropy of a sensitive attribute in every class is at least ln l; l need not be whole.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006.

    A class attains exp(H), at most its number of values, so that ARX's further test for that number adds nothing.
    Compared exactly: where floats cannot tell, as N^N against l^N Π n^n in whole numbers (design 15).
    """

    name: ClassVar[str] = "entropy-l-diversity"
    family: ClassVar[str] = "Different values"
    sentence: ClassVar[str] = "Every class shows its sensitive values about as evenly as l equally frequent ones."
    adversary: ClassVar[str] = READS_THE_CLASS
    source: ClassVar[str] = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006"
    closure: ClassVar[Closure] = Closure.UNION
    l: Annotated[float, Ge(1)]
    attribute: str | None = None
    null_is_value: bool = False
    others: Others | None = None

    def __post_init__(self) -> None:
        if exact("l", self.l) < 1:
            raise ValueError(f"l must be a number of at least 1, not {self.l!r}")
        refuse_invalid_settings(self)

    def diverse(self, values: ValueCounts) -> Flags:
        least = exact("l", self.l)
        entropy, slack = _entropy(values)
        distinct, even = count_distinct_values(values), _are_even(values)
        flags = np.where(even, distinct >= ceil(least), entropy >= log(least))
        unsure = ~even & (np.abs(entropy - log(least)) <= slack)
        for classes, parts in _reduced_counts(values, unsure):
            flags[classes] = is_as_even_as(parts, least)
        return np.asarray((distinct > 0) & flags)

    def value_limits(self, counts: ClassCounts) -> EntropyLimit | None:
        if self.columns or self.attribute is None:
            return None
        least = exact("l", self.l)
        counted = flag_counted(counts.sensitive[self.attribute].labels, null=self.null_is_value)
        return EntropyLimit(counted, log(least), ceil(least))

    def _removed(self, groups: DiverseGroups) -> Longs:
        """Return how many rows must go before the rest is even enough; all where there are too few values.

        Of all ways to keep M rows, min(n, cap) rows of each value, with the cap that makes M of them, are the evenest:
        every other is a mixture that is less even, and has no more entropy. A lower cap takes most from the most
        frequent values, so entropy grows as it sinks: M is greatest where the entropy is just ln l.
        """
        values, least = groups.values, log(exact("l", self.l))
        hopeless = self.hopeless(count_distinct_values(values))
        removed = np.where(hopeless, groups.rows, 0)
        entropy, slack = _entropy(values)
        uneven = ~hopeless & (entropy < least - slack)
        for sets, dense in values.select_classes(uneven).blocks():
            removed[np.flatnonzero(uneven)[sets]] = dense.sum(axis=1) - _most_even(dense, least)
        return removed

    def level(self, values: ValueCounts) -> NDArray[np.float64]:
        return np.where(count_distinct_values(values) > 0, np.exp(_entropy(values)[0]), 0.0)

    def hopeless(self, distinct: Longs) -> Flags:
        return np.asarray((distinct == 0) | (distinct < ceil(exact("l", self.l))))

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        """Return the least that a class attains, as a float that a policy may state."""
        values = self.groups(counts).values
        if not values.class_count or not count_distinct_values(values).all():
            return {"l": 0.0}
        entropy, slack = _entropy(values)
        # the least is among the classes that floats cannot tell from the least
        near = _reduced_counts(values, entropy - slack <= (entropy + slack).min())
        return {"l": min(_float_at_most(parts) for _, parts in near)}

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if the table has too few values or, with nothing suppressible, too little entropy."""
        why = LDiversity.impossible(self, table, suppressible) or self.reason_against_persons(table)
        if why is not None or suppressible or self.holds(table):
            return why
        most = floor(self.attained(table)["l"] * 10_000) / 10_000
        return f"{self.attribute!r} attains l={most:.4f} in the whole table < l={self.l}"

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1, attribute),) if attribute is not None else ()


def _entropy(values: ValueCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Shannon entropy of each class in nats, as a float, and by how much at most rounding may err.

    Σ q ln 1/q has no negative term, so that each of its additions errs by a unit in the last place of the sum.
    """
    total = sum_counts(values.classes, values.counts, values.class_count)
    share = values.counts / total[values.classes]
    terms = share * -np.log(share)
    entropy = np.bincount(values.classes, weights=terms, minlength=values.class_count).astype(np.float64)
    slack = 4 * np.finfo(np.float64).eps * (count_distinct_values(values) + 8) * (entropy + 1)
    return entropy, slack


_HALVINGS = 8


def _most_even(dense: Longs, least: float) -> Longs:
    """Return how many rows of each class [class, value] can stay with an entropy of `least`, at most."""
    # [class, value] rows from the most frequent value on; for each value those of all from it on, and Σ n ln n of them
    sizes = -np.sort(-dense.astype(np.float64), axis=1)
    rows = np.cumsum(sizes[:, ::-1], axis=1)[:, ::-1]
    logs = np.cumsum((sizes * np.log(np.maximum(sizes, 1)))[:, ::-1], axis=1)[:, ::-1]

    def fits(cap: NDArray[np.float64], above: NDArray[np.float64], rest: Any, rest_logs: Any) -> Flags:
        """Whether the entropy is enough if `above` values are cut down to the cap."""
        kept = above * cap + rest
        spread = above * cap * np.log(np.maximum(cap, 1e-9)) + rest_logs
        return np.asarray(np.log(np.maximum(kept, 1e-9)) - spread / np.maximum(kept, 1e-9) >= least - 1e-9)

    every = np.arange(len(sizes))
    # [class] the first value whose number of rows is a cap that is low enough; the last one that occurs is
    enough = fits(sizes, np.arange(sizes.shape[1], dtype=np.float64)[None, :], rows, logs)
    last = np.count_nonzero(sizes, axis=1) - 1
    first = np.minimum(np.where(enough.any(axis=1), enough.argmax(axis=1), last), last)
    # from there up to the number of rows of the value before it: halve until the cap is known
    low, high = sizes[every, first], sizes[every, np.maximum(first - 1, 0)]
    above = first.astype(np.float64)
    rest, rest_logs = rows[every, first], logs[every, first]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        good = fits(middle, above, rest, rest_logs)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return round_down_rows(above * high + rest).astype(np.int64)


def _are_even(values: ValueCounts) -> Flags:
    """Flag the classes whose values are all equally frequent."""
    distinct, most = count_distinct_values(values), np.zeros(values.class_count, dtype=np.int64)
    np.maximum.at(most, values.classes, values.counts)
    total = sum_counts(values.classes, values.counts, values.class_count)
    return np.asarray(total == distinct * most)


def _reduced_counts(values: ValueCounts, chosen: Flags) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """Yield the counts of the chosen classes that differ, and the classes that have them.

    They are sorted and divided by what all have in common: entropies depend on shares alone.
    """
    inside = chosen[values.classes]
    order = np.lexsort((values.counts[inside], values.classes[inside]))
    classes, counts = values.classes[inside][order], values.counts[inside][order]
    first = np.flatnonzero(np.diff(classes, prepend=-1))
    alike: dict[tuple[int, ...], list[int]] = {}
    for one, parts in zip(classes[first].tolist(), np.split(counts, first[1:]), strict=False):
        alike.setdefault(tuple((parts // np.gcd.reduce(parts)).tolist()), []).append(one)
    for reduced, which in alike.items():
        yield which, reduced


@lru_cache(maxsize=4096)  # a search asks again at every node
def is_as_even_as(counts: tuple[int, ...], least: Fraction) -> bool:
    """Return whether exp(H) of the shares of `counts` is at least `least`, exactly: N^N >= least^N Π n^n.

    >>> is_as_even_as((1, 1), Fraction(2)), is_as_even_as((10**8, 10**8 + 1), Fraction(2))
    (True, False)
    """
    if len(set(counts)) == 1:
        return len(counts) >= least
    rows = sum(counts)
    over, under = Counter({rows: rows}), Counter({least.numerator: rows})
    over[least.denominator] += rows
    for count in counts:
        under[count] += count
    if _are_equal_products(over, under):
        return True
    # the logarithms differ, so that enough digits tell which is greater
    digits = 50
    while True:
        with localcontext() as context:
            context.prec, context.Emax, context.Emin = digits, MAX_EMAX, MIN_EMIN
            above, below = (
                sum((n * Decimal(base).ln() for base, n in each.items()), Decimal()) for each in (over, under)
            )
            # each logarithm, product and sum is rounded to `digits` digits
            error = (above + below + 1) * (2 * (len(counts) + 4)) * Decimal(10) ** (1 - digits)
            if abs(above - below) > error:
                return bool(above > below)
        digits *= 2


def _are_equal_products(one: Mapping[int, int], other: Mapping[int, int]) -> bool:
    """Return whether two products of powers, base to exponent, are equal; by factors without a common divisor.

    >>> _are_equal_products({4: 3, 9: 1}, {6: 2, 2: 4}), _are_equal_products({2: 3}, {3: 2})
    (True, False)
    """
    exponents = Counter(one)
    exponents.subtract(other)
    # any two bases with a common divisor are split by it, until none is left: then powers are equal by exponents alone
    pending, split = [(base, n) for base, n in exponents.items() if n], dict[int, int]()
    while pending:
        base, n = pending.pop()
        if base == 1 or not n:
            continue
        common = next((each for each in split if gcd(each, base) > 1), None)
        if common is None:
            split[base] = n
            continue
        shared, m = gcd(common, base), split.pop(common)
        pending += [(shared, n + m), (base // shared, n), (common // shared, m)]
    return not any(split.values())


def _float_at_most(counts: tuple[int, ...]) -> float:
    """Return the greatest float that, read back as a decimal, exp(H) of the counts attains."""
    if len(set(counts)) == 1:
        return float(len(counts))
    rows = sum(counts)
    with localcontext() as context:
        context.prec = 50
        logarithms = sum((n * count * Decimal(count).ln() for count, n in Counter(counts).items()), Decimal())
        level = nextafter(float((Decimal(rows).ln() - logarithms / rows).exp()), inf)
    while not is_as_even_as(counts, exact("l", level)):
        level = nextafter(level, 0)
    return level
