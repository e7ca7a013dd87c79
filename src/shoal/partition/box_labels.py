"""Labels of boxes: the text for a range of positions, and what it loses (design 8 and 9)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from shoal.data.codes import Codes, Column, Kind
from shoal.errors import BadData
from shoal.hierarchy.exact_numbers import interval_label, show
from shoal.hierarchy.taxonomy import TOP
from shoal.partition.axes import Axis, Floats
from shoal.recoding.columns import ReleasedColumn

LONGEST_SET = 12
"""Most texts that a label lists; where texts are in their natural order, more of them become an interval."""
_SPECIAL = frozenset(',|{}[]()"<≥*')


@dataclass(frozen=True)
class BoxLabels:
    """A label for every part, and the share of the attribute's values that each cannot tell apart."""

    released: ReleasedColumn
    losses: Floats


def show_boxes(axis: Axis, column: Column, low: Codes, high: Codes, held: Sequence[Codes] | None = None) -> BoxLabels:
    """Label ranges of positions by their edges or, given the codes that each part holds, by these.

    An edge is the least value of the table after the cut; the first and the last range are open, since the least and
    the greatest value of a table belong to someone. Text, and values in an order given by hand, are listed, or shown
    as a range of texts in quotes.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.partition.axes import ordered_axis
    >>> column = encode("age", pa.array([35, 36, 37, 39]))
    >>> ends = np.array([0, 1, 0], np.int32), np.array([0, 2, 3], np.int32)
    >>> shown = show_boxes(ordered_axis(column), column, *ends)
    >>> shown.released.texts.take(pa.array(shown.released.codes)).to_pylist(), shown.losses.tolist()
    (['35', '[36, 39)', '*'], [0.0, 0.25, 1.0])
    """
    if axis.hierarchy is None and held is not None and axis.categorical:
        first, last, which = low, high, np.arange(len(low))
        texts = [_label_of_codes(axis, column, codes) for codes in held]
    else:
        # every distinct range is labelled once: ends[range, 2], and [part] the index of its range
        ends, which = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        first, last = ends[:, 0], ends[:, 1]
        name = _label_of if axis.hierarchy is not None else _range_of if held is None else _closed_range_of
        texts = [name(axis, column, *pair) for pair in ends.tolist()]
    if axis.hierarchy is None and axis.categorical:
        _refuse_look_alikes(column, [text for text, one in zip(texts, first == last, strict=True) if not one])
    losses = np.minimum(replace(axis, importance=1.0).widths(first, last), 1.0)
    labels = list(dict.fromkeys(texts))
    number = {label: code for code, label in enumerate(labels)}
    codes = np.array([number[text] for text in texts], dtype=np.int32)
    return BoxLabels(ReleasedColumn.of(codes[which.ravel()], labels), losses[which.ravel()])


def _label_of(axis: Axis, column: Column, low: int, high: int) -> str | None:
    """Return the lowest label of the hierarchy that covers both ends."""
    del column
    assert axis.hierarchy is not None
    level = int(axis.level(np.array([low]), np.array([high]))[0])
    return axis.hierarchy.labels[level][int(axis.levels[level][low])]


def _range_of(axis: Axis, column: Column, low: int, high: int) -> str | None:
    """Return the label of a range by its edges, open at the ends of the axis."""
    last = len(axis.values) - 1
    if high in (low, axis.null) or axis.categorical:
        whole = low == 0 and high == last and low != high
        return TOP if whole else _label_of_codes(axis, column, axis.codes[low : high + 1])
    if column.kind is Kind.NUMBER:
        ends = (
            None if low == 0 else _number(axis, column, low),
            None if high == last else _number(axis, column, high + 1),
        )
        return interval_label(*ends)
    end = _edge(column, high + 1) if high < last else ""
    if low == 0:
        return f"<{end}" if end else TOP
    return f"[{_edge(column, low)}, {end})" if end else f"≥{_edge(column, low)}"


def _closed_range_of(axis: Axis, column: Column, low: int, high: int) -> str | None:
    """Return the label of a range by the least and the greatest value in it."""
    if high in (low, axis.null):
        return _label_of_codes(axis, column, axis.codes[low : high + 1])
    if column.kind is Kind.NUMBER:
        return f"[{show(_number(axis, column, low))}, {show(_number(axis, column, high))}]"
    return f"[{column.texts[low]}, {column.texts[high]}]"


def _number(axis: Axis, column: Column, position: int) -> Fraction:
    """Return the exact number at a position."""
    return column.numbers[int(axis.codes[position])]


def _edge(column: Column, at: int) -> str:
    """Return the edge between two moments: the day of the later one or, if both are on that day, its exact time."""
    is_local = pa.types.is_timestamp(column.values.type) and column.values.type.tz is not None
    if is_local or (at and column.dates[at - 1] == column.dates[at]):
        return str(column.texts[at])
    return column.dates[at].isoformat()


def _label_of_codes(axis: Axis, column: Column, codes: Codes) -> str | None:
    """Return the label of exactly these values, in the order of the axis; null together with values is `*`."""
    if column.null_code in codes.tolist():
        return None if len(codes) == 1 else TOP
    texts = column.texts.take(codes).to_pylist()
    if len(texts) == 1:
        return str(texts[0])
    by_text = column.kind is Kind.TEXT and bool((np.diff(axis.positions) > 0).all())
    if by_text and len(texts) > LONGEST_SET:
        return f"[{in_quotes(texts[0])}, {in_quotes(texts[-1])}]"
    return set_label(texts)


def set_label(texts: Iterable[str]) -> str:
    """Return the label of a set of texts (design 9).

    >>> set_label(["a", "b | c"])
    '{a | "b | c"}'
    """
    return "{" + " | ".join(quote_if_needed(text) for text in texts) + "}"


def quote_if_needed(text: str) -> str:
    """Return a value for use inside a label, in quotes where it could be read as syntax."""
    return text if text.strip() == text and not _SPECIAL & set(text) else in_quotes(text)


def in_quotes(text: str) -> str:
    """Put a value in quotes; the ends of a range of texts always have them, since they may look like numbers.

    >>> print(in_quotes("7.0"))
    "7.0"
    """
    return '"' + text.replace('"', '""') + '"'


def _refuse_look_alikes(column: Column, labels: Sequence[str | None]) -> None:
    """Refuse a value that reads like the label of a range, which would then be ambiguous (design 9)."""
    if set(column.texts.to_pylist()) & set(labels):
        raise BadData(
            f"column {column.name!r}: a value reads like the label of a range; rename it, or list it as missing"
        )
