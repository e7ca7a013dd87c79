"""Where a text lies among the values of a column: numbers by size, dates by time, text by code point."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm

import pyarrow as pa

from shoal.codes import Column, Kind
from shoal.verify.opening import words

_NUMBER = re.compile(r"-?[0-9]{1,1000}(\.[0-9]{1,1000})?([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?")
_DAY = 10
_MIDNIGHT = " 00:00:00"


@dataclass(frozen=True)
class Scale:
    """The values of a column in their natural order, which is that of its codes.

    >>> from shoal.codes import encode
    >>> ages = Scale(encode("age", pa.array([9, 30, 30, 41])))
    >>> ages.below("30"), ages.up_to("30"), ages.code("30.0"), ages.code("31")
    (1, 2, 1, None)
    """

    column: Column

    def code(self, text: str) -> int | None:
        """The code of the value that is written so."""
        if self.column.kind is not Kind.NUMBER:
            return self._codes.get(self._dated(text))
        start, stop = self.below(text), self.up_to(text)
        return start if start != stop else None

    def below(self, text: str) -> int | None:
        """How many values are less; None if the text is nothing that they can be compared with."""
        if self.column.kind is Kind.NUMBER:
            number = self.number(text)
            return None if number is None else bisect_left(self.units, ceil(number * self.unit))
        if self.column.kind is Kind.DATE:
            text = self._dated(text)  # a day is compared with the days of times, not with times
            return bisect_left(self._texts, text, key=lambda of: of[: len(text)]) if _DATE.fullmatch(text) else None
        return bisect_left(self._texts, text) if self._by_text else self.code(text)

    def up_to(self, text: str) -> int | None:
        """How many values are less or equal."""
        if self.column.kind is Kind.NUMBER:
            number = self.number(text)
            return None if number is None else bisect_right(self.units, floor(number * self.unit))
        if self.column.kind is Kind.DATE:
            text = self._dated(text)
            return bisect_right(self._texts, text, key=lambda of: of[: len(text)]) if _DATE.fullmatch(text) else None
        code = self.code(text)
        return bisect_right(self._texts, text) if self._by_text else None if code is None else code + 1

    def number(self, text: str) -> Fraction | int | None:
        """The number that is written so, exactly."""
        plain = text.replace(self.column.decimal, ".")
        found = _NUMBER.fullmatch(plain)
        if found is None:
            return None
        return int(plain) if found[1] is None and found[2] is None else Fraction(plain)

    @cached_property
    def unit(self) -> int:
        """What every value is a multiple of, one in so many: integers are compared ten times faster than fractions."""
        return lcm(*{number.denominator for number in self.column.numbers})

    @cached_property
    def units(self) -> list[int]:
        return [number.numerator * (self.unit // number.denominator) for number in self.column.numbers]

    def _dated(self, text: str) -> str:
        return text.removesuffix(_MIDNIGHT) if self.column.kind is Kind.DATE and self._days else text

    @cached_property
    def _days(self) -> bool:
        return all(len(text) == _DAY for text in self._texts)

    @cached_property
    def _texts(self) -> list[str]:
        texts: list[str] = self.column.texts.to_pylist()
        return texts

    @property
    def _by_text(self) -> bool:
        return bool(pa.types.is_string(self.column.values.type) or pa.types.is_boolean(self.column.values.type))

    @cached_property
    def _codes(self) -> dict[str, int]:
        codes = {text: code for code, text in enumerate(self._texts)}
        if not self._by_text:
            codes |= {text: code for code, text in enumerate(words(self.column.values).to_pylist())}
        return codes
