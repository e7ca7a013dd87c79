"""Sensitive values and classes as a complete bipartite graph whose weights are shares: a matrix, and GraphML (S0.2).

Mohapatra, Patra, "Analysis of k-Anonymity for Homogeneity Attack", section 4.2: the weight of the edge between a value
and a class is the share of the class that has the value, and the largest weight of a value is its α.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from shoal.counts import Longs, ValueCounts
from shoal.metrics.alpha import alphas

Chosen = Sequence[int] | NDArray[np.integer] | None
COMPLETE = 100_000
"""Edges up to which those of weight 0 are written too."""
_HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="kind" for="node" attr.name="kind" attr.type="string"/>
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="size" for="node" attr.name="size" attr.type="long"/>
<key id="alpha" for="node" attr.name="alpha" attr.type="double"/>
<key id="count" for="edge" attr.name="count" attr.type="long"/>
<key id="weight" for="edge" attr.name="weight" attr.type="double"/>
<key id="attribute" for="graph" attr.name="attribute" attr.type="string"/>
<key id="complete" for="graph" attr.name="complete" attr.type="boolean"/>
"""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class AlphaGraph:
    """The graph of one sensitive attribute; null is no value, and a class counts those that have one."""

    attribute: str
    counts: ValueCounts

    @classmethod
    def of(cls, attribute: str, counts: ValueCounts) -> "AlphaGraph":
        """Without null, and without values that do not occur."""
        known = counts.non_null()
        codes, values = np.unique(known.values, return_inverse=True)
        labels = [known.labels[code] for code in codes.tolist()]
        return cls(
            attribute,
            ValueCounts(known.classes, values, known.counts, labels, known.class_count, holders=known.totals),
        )

    @property
    def values(self) -> list[str]:
        return [str(label) for label in self.counts.labels]

    @property
    def totals(self) -> Longs:
        """Of each class, how many have a value."""
        return self.counts.totals

    @property
    def alphas(self) -> NDArray[np.float64]:
        """The largest weight of each value: the lemma of section 4.2."""
        return alphas(self.counts)

    def matrix(self, values: Chosen = None, classes: Chosen = None) -> NDArray[np.float64]:
        """Values × classes: each value's share of each class; of all of them, or of some.

        >>> counts = ValueCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1, 3, 2]), ["flu", "hiv"], 2)
        >>> AlphaGraph.of("illness", counts).matrix().tolist()
        [[0.25, 0.0], [0.75, 1.0]]
        """
        counts = self.counts
        row, height = _numbered(values, len(self.values))
        column, width = _numbered(classes, counts.class_count)
        at = (row[counts.values] >= 0) & (column[counts.classes] >= 0)
        where = counts.classes[at]
        weights = np.zeros((height, width))
        weights[row[counts.values[at]], column[where]] = counts.counts[at] / self.totals[where]
        return weights

    def graphml(self) -> Iterator[str]:
        """The lines of a GraphML file; a large graph without its edges of weight 0, which it then says."""
        complete = len(self.values) * self.counts.class_count <= COMPLETE
        yield _HEADER
        yield '<graph id="alpha" edgedefault="undirected">\n'
        yield f'<data key="attribute">{_text(self.attribute)}</data>\n'
        yield f'<data key="complete">{str(complete).lower()}</data>\n'
        for i, (value, alpha) in enumerate(zip(self.values, self.alphas.tolist(), strict=True)):
            data = f'<data key="label">{_text(value)}</data><data key="alpha">{alpha!r}</data>'
            yield f'<node id="S{i + 1}"><data key="kind">value</data>{data}</node>\n'
        for j, size in enumerate(self.totals.tolist()):
            data = f'<data key="label">E{j + 1}</data><data key="size">{size}</data>'
            yield f'<node id="E{j + 1}"><data key="kind">class</data>{data}</node>\n'
        yield from self._edges(complete=complete)
        yield "</graph>\n</graphml>\n"

    def _edges(self, *, complete: bool) -> Iterator[str]:
        order = np.lexsort([self.counts.classes, self.counts.values])
        values, classes = self.counts.values[order], self.counts.classes[order]
        counts = self.counts.counts[order]
        if complete:
            every = self.counts.dense().T
            counts, (values, classes) = every.ravel(), np.indices(every.shape).reshape(2, -1)
        weights = counts / np.maximum(self.totals[classes], 1)
        for i, j, count, weight in zip(
            values.tolist(), classes.tolist(), counts.tolist(), weights.tolist(), strict=True
        ):
            data = f'<data key="count">{count}</data><data key="weight">{weight!r}</data>'
            yield f'<edge source="S{i + 1}" target="E{j + 1}">{data}</edge>\n'


def _text(text: str) -> str:
    """Text as XML can hold it: what it cannot is shown as a replacement character."""
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})


def _numbered(chosen: Chosen, size: int) -> tuple[NDArray[np.int64], int]:
    """The new number of each of `size` things, −1 where it is not chosen, and how many are."""
    if chosen is None:
        return np.arange(size), size
    number = np.full(size, -1)
    number[chosen] = np.arange(len(chosen))
    return number, len(chosen)
