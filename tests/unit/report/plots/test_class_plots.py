"""Curves of risk hold what a loop over the rows finds."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal as sh


def by_loop(keys):
    """Per risk that occurs, the share of rows with it or more."""
    sizes = Counter(keys)
    risks = [1 / sizes[key] for key in keys]
    return {risk: sum(other >= risk for other in risks) / len(risks) for risk in set(risks)}


def test_before_and_after(release, people):
    shown = sh.plot.RiskDistribution.from_release(release)
    before = by_loop([(row["age"], row["$town"]) for row in people.to_pylist()])
    after = by_loop([(row["age"], row["$town"]) for row in release.data.to_pylist()])
    for name, expected in (("the original", before), ("the release", after)):
        found = dict(zip(*(each.tolist() for each in shown.curve(name)), strict=True))
        assert found == pytest.approx(expected)
    axes = shown.plot()
    drawn = [line for line in axes.lines if line.get_label().startswith("the ")]
    assert [line.get_xdata()[:-1].tolist() for line in drawn] == [sorted(before), sorted(after)]
    assert max(after) <= 1 / 12 < max(before)


def test_the_curve_falls_to_zero_beyond_the_greatest_risk():
    line = sh.plot.RiskDistribution({"t": np.array([4, 2])}).plot().lines[0]
    assert line.get_xdata().tolist() == [0.25, 0.5, 1.0]
    assert line.get_ydata().tolist() == [1.0, pytest.approx(1 / 3), 0.0]


def test_the_risk_distribution_of_an_assessment():
    found = sh.risk(pa.table({"sex": list("fffmm")}), quasi_identifiers="sex", threshold=0.4)
    shown = sh.plot.RiskDistribution.from_risk(found)
    assert shown.threshold == 0.4
    assert [sizes.tolist() for sizes in shown.sizes.values()] in ([[2, 3]], [[3, 2]])
