"""Runs Weka's J48 with its defaults on ARFF files; prints JSON: of each its tree, predictions and CPU seconds.

    python run_j48.py REPEATS FILE …

The last attribute is the class; attributes, values and classes have to be single words (arff.py writes such files).
A node is [attribute, [[operator, value, node], …]], a leaf [class, rows, errors]. CPU seconds are those of the thread
that trains, once for every repeat in the same JVM: the first ones are cold. Run by benchmarks/c45.py and tests/peers
in an environment of its own.
"""

import json
import logging
import re
import sys
from typing import Any

import jpype
from weka.core import jvm

LEAF = re.compile(r'N(\d+) \[label="(\S+) \(([\d.]+)(?:/([\d.]+))?\)" shape=box')
INNER = re.compile(r'N(\d+) \[label="(\S+)" \]')
EDGE = re.compile(r'N(\d+)->N(\d+) \[label="(=|<=|>) (\S+)"\]')


def main(repeats: int, files: list[str]) -> None:
    jvm.start(packages=False, logging_level=logging.ERROR, max_heap_size="3g")
    print(json.dumps([learned(file, repeats) for file in files]))
    jvm.stop()


def learned(file: str, repeats: int) -> dict[str, Any]:
    reader = jpype.JClass("java.io.BufferedReader")(jpype.JClass("java.io.FileReader")(file))
    table = jpype.JClass("weka.core.Instances")(reader)
    table.setClassIndex(table.numAttributes() - 1)
    clock = jpype.JClass("java.lang.management.ManagementFactory").getThreadMXBean()
    seconds = []
    for _ in range(repeats):
        tree = jpype.JClass("weka.classifiers.trees.J48")()
        before = clock.getCurrentThreadCpuTime()
        try:
            tree.buildClassifier(table)
        except jpype.JException as error:
            return {"error": str(error)}
        seconds.append((clock.getCurrentThreadCpuTime() - before) / 1e9)
    return {
        "tree": parsed(str(tree.graph())),
        "leaves": int(tree.measureNumLeaves()),
        "nodes": int(tree.measureTreeSize()),
        "predicted": [int(tree.classifyInstance(row)) for row in table],
        "seconds": seconds,
    }


def parsed(graph: str) -> list[Any]:
    """The nodes of a graph as J48 writes it; sons come in the order of their branches."""
    nodes: dict[str, list[Any]] = {}
    for line in graph.splitlines():
        if found := LEAF.match(line):
            nodes[found[1]] = [found[2], float(found[3]), float(found[4] or 0)]
        elif found := INNER.match(line):
            nodes[found[1]] = [found[2], []]
    for line in graph.splitlines():
        if found := EDGE.match(line):
            nodes[found[1]][1].append([found[3], found[4], nodes[found[2]]])
    return nodes["0"]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
