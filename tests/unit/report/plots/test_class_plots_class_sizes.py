"""Bars are the counts of brute force."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import shoal as sh


def bars(axes):
    return [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height()) for bar in axes.patches]


def test_class_sizes_of_a_release(release):
    rows = release.data.to_pylist()
    sizes = Counter((row["age"], row["$town"]) for row in rows)
    shown = sh.plot.ClassSizes.from_release(release)
    assert sorted(shown.sizes.tolist()) == sorted(sizes.values())
    axes = shown.plot()
    assert [height for _, _, height in bars(axes)] == [
        sum(low <= size < high for size in sizes.values()) for low, high, _ in bars(axes)
    ]
    assert sum(height for _, _, height in bars(axes)) == len(sizes)
    assert axes.get_legend().get_texts()[0].get_text() == "k = 12"
    assert f"{len(sizes):,} classes of {len(rows):,} rows" in axes.get_title("left")


@pytest.mark.parametrize("seed", range(5))
def test_many_class_sizes_are_binned(seed):
    sizes = np.random.default_rng(seed).geometric(0.01, 5_000)
    shown = sh.plot.ClassSizes(sizes)
    assert shown.counts.sum() == 5_000
    edges = shown.edges.tolist()
    assert shown.counts.tolist() == [
        sum(low <= size < high for size in sizes.tolist()) for low, high in pairwise(edges)
    ]
    assert shown.plot().get_xscale() == "log"


def test_class_sizes_of_an_original_table():
    found = sh.risk(pa.table({"sex": list("fffmm")}), quasi_identifiers="sex")
    assert sorted(sh.plot.ClassSizes.from_risk(found).sizes.tolist()) == [2, 3]
