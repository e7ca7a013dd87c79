"""What the labels of a release stand for, as far as an attacker knows: a set of values behind each label."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal.attacks.published import Published
from shoal.codes import Codes, Column, encode
from shoal.counts import Flags
from shoal.errors import BadInput
from shoal.hierarchy import TOP, Builder, Csv, Edges, Hierarchy, Intervals, Rows, TopBottom, Tree, build
from shoal.hierarchy.labels import Labels
from shoal.labels import Interval, Members, parse_label

_MOST = 10_000
"""Whole numbers between two ends that an attacker lists."""
_OWN_LEAVES = (Csv, Rows, Tree)
"""Hierarchies that name their values themselves, whatever the column holds."""
_OF_NUMBERS = (Edges, Intervals, TopBottom)


@dataclass(frozen=True)
class Meaning:
    """The values that one quasi-identifier may have, and which of them each of its labels covers."""

    labels: Sequence[str | None]
    column: Column
    """One row for each value."""
    hierarchy: Hierarchy | None
    covered: Flags
    """covered[label, value]"""

    def codes_of(self, column: Column) -> Codes:
        """The value behind each code of another column; -1 where it is none of these."""
        place = {text: code for code, text in enumerate(self.column.texts.to_pylist())}
        codes = [place.get(text, -1) for text in column.texts.to_pylist()]
        if column.has_null:
            codes.append(-1 if self.column.null_code is None else self.column.null_code)
        return np.array(codes, dtype=np.int32)


def meaning_of(published: Published, name: str, *known: Column) -> Meaning:
    """What the labels of a quasi-identifier stand for; `known` are columns of values that the attacker has seen.

    Without any, the values are those of its hierarchy, or the whole numbers between the ends of its ranges.

    >>> from shoal.codes import Table
    >>> table = Table({"age": encode("age", pa.array(["[20, 22)", "23"]))}, 2)
    >>> meaning = meaning_of(Published.of("the frame", table, ["age"], []), "age")
    >>> meaning.column.texts.to_pylist(), meaning.covered.tolist()
    (['20', '21', '23'], [[False, False, True], [True, True, False]])
    """
    shown = published.quasi_identifiers.get(name)
    if shown is None:
        raise BadInput(f"{published.name}: there is no quasi-identifier {name!r}")
    builder = published.builders.get(name)
    own = _leaves(name, builder)
    texts = [*own, *(text for column in known for text in column.texts.to_pylist())]
    if not texts or builder is None:
        texts += _read(shown.labels)
    elif isinstance(builder, _OF_NUMBERS):
        texts += [label for label in shown.labels if label is not None and _whole(label)]
    null: list[str | None] = [None] if None in shown.labels or any(column.has_null for column in known) else []
    values: list[str | None] = [*dict.fromkeys(texts), *null]
    column = encode(name, pa.array(values, pa.string()))
    hierarchy = build(column, builder) if builder is not None and (own or known or _ranges(shown.labels)) else None
    labels = Labels(column, hierarchy)
    return Meaning(
        shown.labels, column, hierarchy, np.array([labels.covered(label) for label in shown.labels], dtype=bool)
    )


def _leaves(name: str, builder: Builder | None) -> Sequence[str]:
    if not isinstance(builder, _OWN_LEAVES):
        return ()
    return builder.taxonomy(encode(name, pa.array([], pa.string()))).leaves


def _ranges(labels: Sequence[str | None]) -> bool:
    return any(isinstance(parse_label(label), Interval) for label in labels if label is not None)


def _read(labels: Sequence[str | None]) -> Iterable[str]:
    """The values that labels name: themselves, the members of sets, what lies in ranges."""
    ends: list[Interval] = []
    for label in labels:
        if label is None or label == TOP:
            continue
        said = parse_label(label)
        if isinstance(said, Members):
            yield from said.values
        elif isinstance(said, Interval):
            ends.append(said)
        else:
            yield label
    for interval in ends:
        yield from _between(interval)


def _between(interval: Interval) -> Iterable[str]:
    low, high = interval.low, interval.high
    if low is None or high is None or not _whole(low) or not _whole(high):
        return [end for end, inside in ((low, True), (high, interval.closed)) if end is not None and inside]
    last = int(high) + interval.closed
    return map(str, range(int(low), min(last, int(low) + _MOST)))


def _whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
