"""Plots as SVG that are the same bytes for the same numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

mpl.use("svg")
COLOURS = {"datafly": "#0072b2", "samarati": "#d55e00", "incognito": "#009e73", "hybrid": "#cc79a7"}
MARKERS = {"datafly": "o", "samarati": "s", "incognito": "^", "hybrid": "x"}
STYLE = {
    "svg.hashsalt": "shoal",  # identifiers do not depend on the run
    "svg.fonttype": "none",  # text stays text
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "font.size": 9,
    "figure.facecolor": "white",
}


@contextmanager
def figure(path: Path, rows: int, columns: int) -> Iterator[Any]:
    """Axes to draw on; written to the path at the end."""
    with mpl.rc_context(STYLE):
        fig, axes = plt.subplots(rows, columns, figsize=(4.6 * columns, 3.4 * rows), layout="constrained")
        yield axes
        fig.savefig(path, format="svg", metadata={"Date": None})
        plt.close(fig)
    # no blanks at line ends
    path.write_text("\n".join(line.rstrip() for line in path.read_text("utf-8").splitlines()) + "\n", "utf-8")
