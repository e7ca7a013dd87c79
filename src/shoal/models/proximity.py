"""(ε,m)-anonymity: of the numbers in a class, few lie near any one of them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Longs, ValueCounts, sum_counts
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
    scale_to_integers,
)
from shoal.models.reference_models import integers


@dataclass(frozen=True, slots=True)
class EpsilonM(Model):
    """For every number x in a class, at most one m-th of the class lies in [x − ε, x + ε]; relative: x ± ε|x|.

    Li, Tao, Xiao, SIGMOD 2008. x itself counts; null does not, neither among the near nor in the class (design 7).
    Decimals are compared exactly. Merging classes can break it.
    """

    name: ClassVar[str] = "epsilon-m"
    family: ClassVar[str] = "Nearness of numbers"
    sentence: ClassVar[str] = "In every class at most one row in m has a number near any number."
    adversary: ClassVar[str] = READS_THE_CLASS + ", and is content with about right"
    source: ClassVar[str] = "Li, Tao, Xiao, SIGMOD 2008"
    closure: ClassVar[Closure] = Closure.NOT
    per_attribute: ClassVar[bool] = True
    epsilon: Annotated[float, Ge(0)]
    m: Whole
    attribute: str | None = None
    relative: bool = False

    def __post_init__(self) -> None:
        if exact("epsilon", self.epsilon) < 0:
            raise ValueError(f"epsilon must be a number of at least 0, not {self.epsilon!r}")
        refuse_unless_whole("m", self.m)
        refuse_unless_flag("relative", self.relative)
        if self.relative and self.epsilon > 1:
            raise ValueError(f"a relative epsilon must lie from 0 to 1, not {self.epsilon!r}")

    def complies(self, counts: ClassCounts) -> Flags:
        values, near = self._count_near(counts)
        complying = np.ones(values.class_count, dtype=bool)
        kind = integers(int(near.max(initial=0)) * self.m)
        complying[values.classes[near.astype(kind) * self.m > values.totals[values.classes]]] = False
        return complying

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        """Return the largest m for this ε; 0 where there is no number."""
        values, near = self._count_near(counts)
        return {"m": int((values.totals[values.classes] // near).min()) if len(near) else 0}

    def worst(self, counts: ClassCounts) -> int | None:
        values, near = self._count_near(counts)
        return int(values.classes[np.argmax(near / values.totals[values.classes])]) if len(near) else None

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        """Return the reason if too many numbers lie in some [x, x + ε]: they are near each other in every class."""
        values = self._numbers(table)
        if values.holders is not None:  # a person may have two of them
            return None
        _, until, ranks = self._windows(values)
        # rows of each distinct number, ascending, and their running totals
        rows = sum_counts(ranks[values.values], values.counts, len(until))
        upto = np.concatenate([[0], np.cumsum(rows)])
        most, whole = int((upto[until] - upto[:-1]).max(initial=0)) - suppressible, int(rows.sum()) - suppressible
        if self.m * most <= whole:
            return None
        kept = " that are kept" if suppressible else ""
        times = " times the least of them" if self.relative else ""
        return (
            f"at least {most} of {whole} values of {self.attribute!r}{kept} lie within {self.epsilon}{times} of each "
            f"other, more than one in m={self.m}"
        )

    def _numbers(self, counts: ClassCounts) -> ValueCounts:
        assert self.attribute is not None
        return counts.sensitive[self.attribute].non_null()

    def _count_near(self, counts: ClassCounts) -> tuple[ValueCounts, Longs]:
        """Return for each entry how many rows of its class have a value near its own."""
        values = self._numbers(counts)
        since, until, ranks = self._windows(values)
        size = max(len(since), 1)
        # entries sorted by (class, rank of the number), with running totals of their rows
        here = ranks[values.values]
        base = values.classes.astype(np.int64) * size
        order = np.argsort(base + here, kind="stable")
        keys = (base + here)[order]
        upto = np.concatenate([[0], np.cumsum(values.counts[order])])
        # entries keys[first:last] are those of the same class within the window of each entry
        first, last = np.searchsorted(keys, base + since[here]), np.searchsorted(keys, base + until[here])
        return values, upto[last] - upto[first]

    def _windows(self, values: ValueCounts) -> tuple[Longs, Longs, Longs]:
        """Return where the neighbours of each distinct number, ascending, begin and end; and the rank of each value."""
        found = scale_to_integers(values.labels)
        if found is None:
            raise BadPolicy(f"epsilon-m: {self.attribute!r} holds values that are not plain numbers, which it needs")
        numbers, scale = found
        epsilon = exact("epsilon", self.epsilon) * (1 if self.relative else scale)
        wide = max((abs(number) for number in numbers), default=0) + 1
        kind = integers(2 * wide * epsilon.denominator * (1 + -(-epsilon // 1)))
        distinct, ranks = np.unique(np.array(numbers, dtype=kind), return_inverse=True)
        reach = _reach(distinct, epsilon, relative=self.relative)
        # numbers and radii in units of 1/(scale · denominator of ε), so that comparisons are exact
        exactly = distinct * epsilon.denominator
        since = np.searchsorted(exactly, exactly - reach, side="left")
        until = np.searchsorted(exactly, exactly + reach, side="right")
        return since.astype(np.int64), until.astype(np.int64), ranks.astype(np.int64)


def _reach(distinct: NDArray[Any], epsilon: Fraction, *, relative: bool) -> Any:
    """Return the radius of each number's neighbourhood, times the denominator of ε."""
    return np.abs(distinct) * epsilon.numerator if relative else epsilon.numerator
