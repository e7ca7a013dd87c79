"""What is told of a release that follows others, or will be followed: in public, that; in private, what was found."""

import csv
import io
from typing import Any

import numpy as np

from shoal.plan import Plan
from shoal.policy import Policy
from shoal.recode import PartRecoding

FILE, COUNT = "counterfeits.csv", "counterfeits"


def summary_of(plan: Plan, policy: Policy) -> dict[str, Any] | None:
    """As the private manifest tells it."""
    if plan.grown is None or policy.republish is None:
        return None
    history, finding = plan.grown.history, plan.grown.finding
    return {
        "way": policy.republish.way,
        "release": history.releases,
        "people": finding.of,
        "exposed": finding.exposed,
        "finding": finding.sentence,
        "figures": dict(finding.figures),
    }


def counterfeits_of(plan: Plan) -> str | None:
    """The classes that hold rows that show nobody, and how many, as CSV; None where there are none."""
    if plan.grown is None or plan.added is None:
        return None
    assert isinstance(plan.recoding, PartRecoding)
    classes, at, counts = np.unique(plan.class_of_row[plan.added.copied], return_index=True, return_counts=True)
    del classes
    parts = plan.recoding.part[plan.added.copied[at]]
    shown = {name: column for columns in plan.recoding.shown.values() for name, column in columns.items()}
    names = [name for columns in plan.released_as.values() for name in columns]
    labels = [[shown[name].texts[int(code)].as_py() for code in shown[name].codes[parts]] for name in names]
    lines = sorted(zip(*labels, counts.tolist(), strict=True), key=lambda line: [str(cell or "") for cell in line])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[*names, COUNT], *lines])
    return text.getvalue()
