"""How often guesses are right, with the uncertainty of having made only so many (Wilson 1927; Giomi et al. 2023)."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

from shoal.errors import BadInput

LEVEL = 0.95


@dataclass(frozen=True)
class Rate:
    """So many of so many guesses were right.

    >>> rate = Rate(60, 500)
    >>> round(rate.centre, 5), round(rate.error, 5)
    (0.1229, 0.02852)
    """

    right: int
    guesses: int
    level: float = LEVEL

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.guesses or not 0 < self.level < 1:
            raise BadInput("a rate needs 0 <= right <= guesses and a level between 0 and 1")

    @property
    def share(self) -> float:
        """The rate as it was seen; 0 where nothing was guessed."""
        return self.right / self.guesses if self.guesses else 0.0

    @property
    def _z(self) -> float:
        return NormalDist().inv_cdf((1 + self.level) / 2)

    @property
    def centre(self) -> float:
        """The middle of Wilson's interval."""
        return (self.right + self._z**2 / 2) / (self.guesses + self._z**2)

    @property
    def error(self) -> float:
        """Half its width."""
        n, right = self.guesses, self.right
        spread = right * (n - right) / n if n else 0.0
        return self._z / (n + self._z**2) * sqrt(spread + self._z**2 / 4)

    @property
    def interval(self) -> tuple[float, float]:
        return max(self.centre - self.error, 0.0), min(self.centre + self.error, 1.0)

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        low, high = self.interval
        return {"right": self.right, "guesses": self.guesses, "share": self.share, "interval": [low, high]}


def lift(attack: Rate, control: Rate) -> tuple[float, float]:
    """What an attack brings above what it brings against people who are not in the table, and its error.

    >>> risk, error = lift(Rate(60, 500), Rate(40, 500))
    >>> round(risk, 4), round(error, 4)
    (0.0433, 0.0399)
    """
    left = 1 - control.centre
    if left <= 0:
        return 0.0, 1.0
    risk = (attack.centre - control.centre) / left
    error = sqrt((attack.error / left) ** 2 + (control.error * (attack.centre - 1) / left**2) ** 2)
    return min(max(risk, 0.0), 1.0), error
