"""What a notebook or a prompt shows of a value: a line or two of figures, never a cell, everything escaped."""

from base64 import b64decode

import pandas as pd
import pytest

import shoal as sh
from shoal.report.plots import Chart, Display, LatticeGraph, LossCurve, ParetoFront, Series

CANARY = "CANARY-7f3"
FRAME = pd.DataFrame(
    {
        "age": [21, 22, 23, 41, 42, 43] * 5,
        "<b>town</b>": [CANARY, "x", "y", "x", "y", "x"] * 5,
        "illness": ["flu", CANARY, "cold", "flu", "cold", CANARY] * 5,
    }
)
POLICY = sh.Policy(
    attributes={
        "age": {"role": "quasi-identifier", "hierarchy": [10]},
        "<b>town</b>": {"role": "quasi-identifier", "hierarchy": {"tree": {CANARY: [CANARY], "other": ["x", "y"]}}},
        "illness": "sensitive",
    },
    require=[{"model": "k-anonymity", "k": 3}, {"model": "distinct-l-diversity", "l": 2}],
    method={"suppression": 0.2},
)
QUASI = ["age", "<b>town</b>"]
"""The names of columns may be shown, escaped."""


@pytest.fixture(scope="module")
def release():
    return sh.anonymize(FRAME, POLICY)


SHOWN = {
    "release": lambda release: release,
    "policy": lambda _: POLICY,
    "risk": lambda _: sh.risk(FRAME, QUASI, "illness", preset="cms"),
    "identifiers": lambda _: sh.risk(FRAME),
    "comparison": lambda _: sh.compare(FRAME, POLICY, ["optimal", "datafly", "mondrian-single"]),
    "audit": sh.audit,
    "measurement": lambda _: sh.measure(FRAME, QUASI, "illness", show_values=True),
    "draft": lambda _: sh.draft(FRAME),
    "summary": lambda release: release.summary,
    "sweep": lambda _: sh.sweep(FRAME, POLICY, k=[*range(2, 40)]),
    "lattice table": lambda _: sh.lattice(FRAME, POLICY),
    "lesson": lambda _: sh.learn(FRAME, POLICY, "illness", learners="c45", folds=2),
    "workload": lambda release: sh.workload(FRAME, release, [{"count": True, "where": {"illness": CANARY}}]),
    "finding": lambda release: sh.attack(release, sh.attacks.Homogeneity()),
    "verdict": lambda release: release.verdicts[-1],
    "class sizes": sh.plot.ClassSizes.from_release,
    "risk distribution": sh.plot.RiskDistribution.from_release,
    "alpha graph": lambda release: sh.plot.AlphaGraph.from_release(release, "illness"),
    "before and after": lambda release: sh.plot.BeforeAfter.from_release(release, "<b>town</b>"),
    "lattice": lambda _: LatticeGraph(sh.lattice(FRAME, POLICY)),
    "front": lambda _: ParetoFront(sh.lattice(FRAME, POLICY)),
    "loss": lambda release: LossCurve.from_releases([release]),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_repr_shows_no_cell(kind, release):
    value = SHOWN[kind](release)
    said, html = repr(value), value._repr_html_()
    assert said.startswith(type(value).__name__)
    assert len(said) < 400
    assert "\n" not in said
    assert CANARY not in said
    assert CANARY not in html
    assert "<b>" not in html
    if "base64," in html:
        picture = b64decode(html.split("base64,")[1].split('"')[0])
        assert b"<svg" in picture
        assert CANARY.encode() not in picture


def test_the_text_of_each_repr(release):
    assert repr(release).startswith("Release(rows: ")
    assert "promises: k-anonymity, distinct-l-diversity" in repr(release)
    assert repr(POLICY) == str(POLICY)
    assert repr(POLICY).startswith(
        "Policy(quasi-identifier: age, <b>town</b>; sensitive: illness; promises: k-anonymity"
    )
    assert "prosecutor: most" in repr(SHOWN["risk"](release))
    assert "optimal" in repr(SHOWN["comparison"](release))
    assert "record linkage: " in repr(SHOWN["audit"](release))
    assert repr(SHOWN["sweep"](release)).startswith("Sweep(loss on 30 rows by k: 2: 0.")
    assert ", 28 more)" in repr(SHOWN["sweep"](release))
    assert "no release" in SHOWN["sweep"](release)._repr_html_()
    assert "nodes: 9, of which " in repr(SHOWN["lattice table"](release))
    assert repr(SHOWN["lesson"](release)).startswith(
        "Learned(target: illness; rows: 30; majority: 0.333; c45: 1.000 from the original"
    )
    assert repr(SHOWN["workload"](release)).startswith("WorkloadReport(queries: 1 on 30 rows")
    assert repr(SHOWN["finding"](release)) == "Finding(homogeneity: 0 of 25 exposed)"
    assert repr(release.verdicts[0]) == "Verdict(rows: holds)"
    assert str(release.summary).startswith("Manifest(rows: 30 read, ")


def test_many_columns_are_counted():
    many = sh.Policy(attributes={f"c{i}": "quasi-identifier" for i in range(40)}, require=POLICY.require[:1])
    assert "c5, 34 more" in repr(many)


def test_a_plot_of_values_is_drawn_only_when_asked():
    chart = Chart("title", "x", "y", (Series("s", (1.0, 2.0), (1.0, 2.0)),))
    assert isinstance(chart, Display)
    assert repr(chart) == "Chart(call .plot() to draw it)"
    assert "<img" not in chart._repr_html_()


def test_a_repr_does_not_summarise_the_release():
    release = sh.anonymize(FRAME, POLICY)
    object.__setattr__(release, "summary", None)  # looking at it would fail
    assert "released" in repr(release)
