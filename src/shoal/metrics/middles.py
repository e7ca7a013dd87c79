"""The number that a label of a numeric attribute stands for: what an analyst would put in its place."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.codes import Codes, Column, Kind
from shoal.hierarchy import TOP
from shoal.metrics.base import Floats
from shoal.recode import Released

_BETWEEN = re.compile(r"\[(-?[0-9.]+), (-?[0-9.]+)([)\]])")
_BELOW, _FROM = re.compile(r"<(-?[0-9.]+)"), re.compile(r"≥(-?[0-9.]+)")


@dataclass(frozen=True)
class Middles:
    """Of a column of numbers; open ends are the least and the greatest of them.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> ages = Middles(encode("age", pa.array([18, 25, 40])))
    >>> ages.of_texts(["25", "[20, 30)", "[20, 30]", "<20", "≥30", "*", None]).tolist()
    [25.0, 24.5, 25.0, 18.5, 35.0, 29.0, nan]
    """

    column: Column

    @cached_property
    def originals(self) -> Floats:
        """The number behind each code; nan for null."""
        numbers = self.column.floats
        return np.append(numbers, np.nan) if self.column.has_null else numbers

    @cached_property
    def step(self) -> float:
        """How far the last number of a range lies below an end that is left out; of whole numbers 1."""
        return float(all(number.denominator == 1 for number in self.column.numbers))

    def of_texts(self, texts: Sequence[str | None]) -> Floats:
        """The middle of the range that a label says; nan for null and for what says no range."""
        values = dict(zip(self.column.texts.to_pylist(), self.originals.tolist(), strict=False))
        return np.array([np.nan if text is None else values.get(text, self._middle(text)) for text in texts])

    def of_columns(self, columns: Mapping[str, Released], kinds: Mapping[str, str]) -> Floats:
        """What released columns say together, part by part: the mean if shown, else another statistic, else a range."""
        by_kind = {kinds.get(name, "range"): column for name, column in columns.items()}
        for kind in ("mean", "median", "mode"):
            if kind in by_kind:
                return self._numbers(by_kind[kind])
        if "range" in by_kind:
            column = by_kind["range"]
            return self.of_texts(column.texts.to_pylist())[column.codes]
        low = self._numbers(by_kind.get("min", by_kind.get("lo")))
        high = self._numbers(by_kind["max"]) if "max" in by_kind else self._numbers(by_kind["hi"]) - self.step
        return self._between(low, high)

    def _numbers(self, column: Released | None) -> Floats:
        """Part by part; nan where it says nothing. Values with an order of their own are shown as texts."""
        assert column is not None
        values = column.values
        if pa.types.is_string(values.type):
            values = pc.replace_substring(values, self.column.decimal, ".").cast(pa.float64())
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)[column.codes]

    def _middle(self, text: str) -> float:
        if text == TOP:
            low = high = np.nan
        elif found := _BETWEEN.fullmatch(text):
            low, high = float(found[1]), float(found[2]) - (self.step if found[3] == ")" else 0)
        elif found := _BELOW.fullmatch(text):
            low, high = np.nan, float(found[1]) - self.step
        elif found := _FROM.fullmatch(text):
            low, high = float(found[1]), np.nan
        else:
            return np.nan
        return float(self._between(np.array([low]), np.array([high]))[0])

    def _between(self, low: Floats, high: Floats) -> Floats:
        least, greatest = np.nanmin(self.originals), np.nanmax(self.originals)
        ends = np.where(np.isnan(low), least, low), np.where(np.isnan(high), greatest, high)
        return np.asarray((ends[0] + ends[1]) / 2)


def middles_of(column: Column) -> Middles | None:
    """Of a column that has numbers."""
    return Middles(column) if column.kind is Kind.NUMBER and len(column.values) else None


def filled(numbers: Floats, labels: Codes, originals: Floats) -> Floats:
    """Where a label says no number, the middle of the least and the greatest that is shown so, pair by pair.

    >>> filled(np.array([np.nan, 7.0]), np.array([0, 0, 1], np.int32), np.array([1.0, 2.0, 6.0])).tolist()
    [1.5, 7.0]
    """
    least, greatest = np.full(len(numbers), np.inf), np.full(len(numbers), -np.inf)
    np.fmin.at(least, labels, originals)
    np.fmax.at(greatest, labels, originals)
    told = np.isnan(numbers) & (least <= greatest)
    return np.where(told, np.where(told, least, 0) / 2 + np.where(told, greatest, 0) / 2, numbers)
