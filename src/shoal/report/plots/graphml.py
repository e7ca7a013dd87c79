"""The graph of sensitive values and classes as GraphML, which graph tools read (S0.2)."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

if TYPE_CHECKING:
    from shoal.report.plots.alpha_graph import AlphaGraph

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


def lines_of(graph: "AlphaGraph") -> Iterator[str]:
    """The lines of a file; of a large graph without its edges of weight 0, which it then says."""
    complete = len(graph.values) * graph.counts.class_count <= COMPLETE
    yield _HEADER
    yield '<graph id="alpha" edgedefault="undirected">\n'
    yield f'<data key="attribute">{_text(graph.attribute)}</data>\n'
    yield f'<data key="complete">{str(complete).lower()}</data>\n'
    for i, (value, alpha) in enumerate(zip(graph.values, graph.alphas.tolist(), strict=True)):
        data = f'<data key="label">{_text(value)}</data><data key="alpha">{alpha!r}</data>'
        yield f'<node id="S{i + 1}"><data key="kind">value</data>{data}</node>\n'
    for j, size in enumerate(graph.totals.tolist()):
        data = f'<data key="label">E{j + 1}</data><data key="size">{size}</data>'
        yield f'<node id="E{j + 1}"><data key="kind">class</data>{data}</node>\n'
    yield from _edges(graph, complete=complete)
    yield "</graph>\n</graphml>\n"


def _edges(graph: "AlphaGraph", *, complete: bool) -> Iterator[str]:
    order = np.lexsort([graph.counts.classes, graph.counts.values])
    values, classes = graph.counts.values[order], graph.counts.classes[order]
    counts = graph.counts.counts[order]
    if complete:
        every = graph.counts.dense().T
        counts, (values, classes) = every.ravel(), np.indices(every.shape).reshape(2, -1)
    weights = counts / np.maximum(graph.totals[classes], 1)
    for i, j, count, weight in zip(values.tolist(), classes.tolist(), counts.tolist(), weights.tolist(), strict=True):
        data = f'<data key="count">{count}</data><data key="weight">{weight!r}</data>'
        yield f'<edge source="S{i + 1}" target="E{j + 1}">{data}</edge>\n'


def _text(text: str) -> str:
    """Text as XML can hold it: what it cannot is shown as a replacement character."""
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})
