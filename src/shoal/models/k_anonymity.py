"""k-anonymity: every class has at least k members."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shoal.data.class_counts import ClassCounts
from shoal.models.model import FINDS_THE_ROW, Closure, Flags, Model, Whole, refuse_unless_whole


@dataclass(frozen=True, slots=True)
class KAnonymity(Model):
    """Every combination of quasi-identifier values that occurs, occurs at least k times.

    Samarati and Sweeney 1998; Sweeney 2002.

    >>> import numpy as np
    >>> KAnonymity(3).complies(ClassCounts(np.array([3, 2]))).tolist()
    [True, False]
    """

    name: ClassVar[str] = "k-anonymity"
    family: ClassVar[str] = "Who can be found"
    sentence: ClassVar[str] = "At least k rows share every combination of identifying values that occurs."
    adversary: ClassVar[str] = FINDS_THE_ROW
    source: ClassVar[str] = "Samarati and Sweeney 1998; Sweeney, IJUFKS 10(5), 2002"
    closure: ClassVar[Closure] = Closure.SUPERSET
    k: Whole

    def __post_init__(self) -> None:
        refuse_unless_whole("k", self.k)

    @property
    def least_rows(self) -> int:
        return self.k

    def complies(self, counts: ClassCounts) -> Flags:
        return counts.sizes >= self.k

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        return {"k": int(counts.sizes.min(initial=counts.rows))}

    def worst(self, counts: ClassCounts) -> int | None:
        return int(counts.sizes.argmin()) if len(counts.sizes) else None

    def impossible(self, table: ClassCounts, suppressible: int) -> str | None:
        del suppressible  # what is suppressed makes no class larger
        return f"{table.rows} {table.counted} < k={self.k}" if table.rows < self.k else None

    @classmethod
    def probes(cls, attribute: str | None) -> Iterable[Self]:
        return (cls(1),) if attribute is None else ()


def least_size(models: Iterable[Model]) -> int:
    """Return the least number of rows with which a class can keep all of these models.

    >>> least_size([KAnonymity(3), KAnonymity(5)])
    5
    """
    return max((part.least_rows for model in models for part in model.parts()), default=1)
