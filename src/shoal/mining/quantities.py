"""Numbers and dates as features: where what is shown lies, and how wide it is."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from math import nan

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes, Column, Kind
from shoal.hierarchy import TOP
from shoal.hierarchy.labels import Labels
from shoal.labels import Interval, parse_label
from shoal.mining.shown import RANGE, Shown
from shoal.recode import Released

Floats = NDArray[np.float64]
_ENDS = (("lo", "hi"), ("min", "max"))
_POINTS = ("mean", "median", "mode")


def values_of(column: Column) -> Floats:
    """What lies behind each code of a column of numbers or dates, without null."""
    if column.kind is Kind.DATE:
        return np.array([float(day.toordinal()) for day in column.dates])
    return column.floats


@dataclass(frozen=True)
class Quantity:
    """Midpoint, width, and whether it is missing, as shares of the range of the training rows.

    Open tails end where the training rows end; `*` is the middle of everything, and as wide.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> age = encode("age", pa.array([20, 30, 40, 60]))
    >>> quantity = Quantity.of(Labels(age), age.codes)
    >>> quantity.dense({"range": Released.of(np.arange(5), ["30", "[20, 40)", "≥40", "*", None])}).tolist()
    [[0.25, 0.0, 0.0], [0.25, 0.5, 0.0], [0.75, 0.5, 0.0], [0.5, 1.0, 0.0], [0.5, 1.0, 1.0]]
    """

    labels: Labels
    least: float
    greatest: float

    @classmethod
    def of(cls, labels: Labels, training: Codes) -> "Quantity":
        """Fitted to the codes of the training rows."""
        held = training[training < len(labels.column.values)]
        values = values_of(labels.column)[held] if len(held) else np.zeros(1)
        return cls(labels, float(values.min()), float(values.max()))

    @property
    def names(self) -> tuple[str, ...]:
        name = self.labels.column.name
        return (name, f"width of {name}", f"{name} is missing")

    def dense(self, shown: Shown) -> Floats:
        """Three features for every row."""
        low, high = self._ends(shown)
        low = np.where(np.isnan(low), np.fmin(self.least, high), low)
        high = np.where(np.isnan(high), np.fmax(self.greatest, low), high)
        middle = (low + high) / 2
        for form in _POINTS:
            if form in shown:
                known = self._each(shown[form], self._point)
                middle = np.where(np.isnan(known), middle, known)
                break
        span = (self.greatest - self.least) or 1.0
        return np.stack([(middle - self.least) / span, (high - low) / span, self._missing(shown)], axis=1)

    def _ends(self, shown: Shown) -> tuple[Floats, Floats]:
        if RANGE in shown:
            both = self._each(shown[RANGE], self._read)
            return both[:, 0], both[:, 1]
        for low, high in _ENDS:
            if low in shown:
                return self._each(shown[low], self._point), self._each(shown[high], self._point)
        point = self._each(shown[next(form for form in _POINTS if form in shown)], self._point)
        return point, point

    def _missing(self, shown: Shown) -> Floats:
        """Of bounds nobody can tell: both are open, too, where nothing is known."""
        form = next((form for form in (RANGE, *_POINTS) if form in shown), None)
        if form is None:
            return np.zeros(len(next(iter(shown.values())).codes))
        return self._each(shown[form], lambda text: float(text is None))

    @staticmethod
    def _each(released: Released, read: Callable[[str | None], object]) -> Floats:
        """Read every label once."""
        return np.array([read(text) for text in released.texts.to_pylist()], dtype=np.float64)[released.codes]

    def _read(self, text: str | None) -> tuple[float, float]:
        """The ends of a label; what is open or not known is not a number."""
        if text is None or text == TOP:
            return nan, nan
        if (value := self._values.get(text)) is not None:
            return value, value
        meaning = parse_label(text)
        if isinstance(meaning, Interval):
            return self._point(meaning.low), self._point(meaning.high)
        held = values_of(self.labels.column)[self.labels.covered(text)[: len(self.labels.column.values)]]
        if len(held):
            return float(held.min()), float(held.max())
        return self._point(text), self._point(text)

    def _point(self, text: str | None) -> float:
        if text is None:
            return nan
        if self.labels.column.kind is Kind.DATE:
            try:
                return float(date.fromisoformat(text[:10]).toordinal())
            except ValueError:
                return nan
        number = self.labels.scale.number(text)
        return nan if number is None else float(number)

    @cached_property
    def _values(self) -> dict[str, float]:
        return dict(zip(self.labels.column.texts.to_pylist(), values_of(self.labels.column).tolist(), strict=True))
