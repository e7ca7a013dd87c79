"""Texts that a masked label may stand for."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.counts import Longs

_LAST = "\U0010ffff"


@dataclass(frozen=True)
class Masks:
    """Texts, found by a label in which a sign stands for a character that is not shown.

    Without a hierarchy each sign is exactly one character. Of a mask of Shoal's own, where `short` texts keep all they
    have, it is at most one: `021**` is also what becomes of `021` beside `02138`.

    >>> Masks(["3", "30", "34", "130"]).found("3*").tolist(), Masks(["3", "30", "130"], short=True).found("3*").tolist()
    ([1, 2], [0, 1])
    >>> Masks(["3", "30", "34", "130"]).found("*30").tolist()
    [3]
    """

    texts: Sequence[str]
    sign: str = "*"
    short: bool = False

    def found(self, label: str) -> Longs:
        """The places of the texts, in order."""
        start, end = label.rstrip(self.sign), label.lstrip(self.sign)
        if self.sign not in start:
            hits = self._between(self._forward, start)
        elif self.sign not in end:
            hits = self._between(self._backward, end[::-1])
        else:  # signs within, or on both sides
            each = f"[\\s\\S]{'?' if self.short else ''}"
            pattern = re.compile("".join(each if char == self.sign else re.escape(char) for char in label))
            return np.array([at for at, text in enumerate(self.texts) if pattern.fullmatch(text)], dtype=np.int64)
        length = self._lengths[hits]
        return np.sort(hits[(length <= len(label)) & (self.short | (length == len(label)))])

    @staticmethod
    def _between(ordered: tuple[list[str], Longs], start: str) -> Longs:
        texts, places = ordered
        return places[bisect_left(texts, start) : bisect_left(texts, start + _LAST)]

    @cached_property
    def _lengths(self) -> Longs:
        return np.array([len(text) for text in self.texts], dtype=np.int64)

    @cached_property
    def _forward(self) -> tuple[list[str], Longs]:
        return _sorted(self.texts)

    @cached_property
    def _backward(self) -> tuple[list[str], Longs]:
        return _sorted([text[::-1] for text in self.texts])


def _sorted(texts: Sequence[str]) -> tuple[list[str], Longs]:
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return [texts[at] for at in order], np.array(order, dtype=np.int64)
