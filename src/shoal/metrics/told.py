"""What a measure says of a finished release."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.metrics.seen import Seen


@dataclass(frozen=True)
class Pair:
    """What holds two attributes together, before and after."""

    one: str
    other: str
    before: float
    after: float


@dataclass(frozen=True)
class Bucket:
    """Classes of `least` to `most` rows, and the rows in them."""

    least: int
    most: int
    classes: int
    rows: int


@dataclass(frozen=True)
class Told:
    """One number for the release, and what it is made of."""

    total: float | None
    """None where it cannot be told of such a recoding."""
    attributes: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    buckets: tuple[Bucket, ...] = ()

    def details(self) -> dict[str, Any]:
        """What is more than a number.

        >>> Told(0.5, {"age": 0.5}).details()
        {'attributes': {'age': 0.5}}
        """
        lists = {"pairs": self.pairs, "buckets": self.buckets}
        told = {name: [vars(each) for each in some] for name, some in lists.items() if some}
        return {"attributes": dict(self.attributes), **told} if self.attributes else told


Measure = Callable[[Seen], Told]
"""One signature for all."""
