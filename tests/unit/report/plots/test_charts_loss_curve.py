"""Lines are the figures of the releases, by k."""

import pytest
from small_census import policy

import shoal as sh
from shoal.report.plots.charts import LossCurve


def test_one_line_per_algorithm(people):
    made = {
        (name, k): sh.anonymize(people, policy(k, algorithm=name)) for name in ("optimal", "mondrian") for k in (20, 2)
    }
    shown = sh.plot.LossCurve.from_releases(made.values(), "c-avg")
    axes = shown.plot()
    for container, name in zip(axes.containers, ("optimal", "mondrian"), strict=True):
        line = container.lines[0]
        assert line.get_xdata().tolist() == [2, 20]
        assert line.get_ydata().tolist() == [made[name, k].summary.metrics["c-avg"] for k in (2, 20)]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["optimal", "mondrian"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "20"]


@pytest.mark.parametrize(
    ("values", "marked"),
    [
        ([round(0.01 * i, 2) for i in range(1, 31)], ["0.01", "0.02", "0.05", "0.1", "0.2"]),
        ([i / 1e6 for i in range(1, 31)], ["1e-06", "2e-06", "5e-06", "1e-05", "2e-05"]),
        (list(range(1, 31)), ["1", "2", "5", "10", "20"]),
    ],
)
def test_a_wide_sweep_marks_round_values(values, marked):
    axes = LossCurve("loss", {"optimal": [(value, 0.5) for value in values]}, "t").plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == marked


def test_a_wide_sweep_without_round_values_keeps_its_marks():
    values = [1.1 * 1.37**i for i in range(20)]
    axes = LossCurve("loss", {"optimal": [(value, 0.5) for value in values]}, "t").plot()
    assert len(axes.get_xticks())
