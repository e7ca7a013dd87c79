"""Lines are the figures of the releases, by k."""

from small_census import policy

import shoal as sh


def test_lines(people):
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
