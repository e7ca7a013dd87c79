"""How well classifiers do that were trained on the original and on the release."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.mining.held_out import How


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of held-out rows whose class was found: its mean over the folds, and how it varies."""

    mean: float
    deviation: float

    @classmethod
    def over(cls, folds: Sequence[float]) -> "Accuracy":
        """Of one number per fold.

        >>> Accuracy.over([0.5, 1.0])
        Accuracy(mean=0.75, deviation=0.3535533905932738)
        """
        return cls(float(np.mean(folds)), float(np.std(folds, ddof=1)))


@dataclass(frozen=True, slots=True)
class Score:
    """One learner, trained on the original and on the release."""

    learner: str
    original: Accuracy
    release: Accuracy
    relative: float | None
    """(release - majority) / (original - majority), as ARX has it; None where the original teaches nothing."""

    @classmethod
    def of(cls, learner: str, original: Accuracy, release: Accuracy, majority: Accuracy) -> "Score":
        gain = original.mean - majority.mean
        return cls(learner, original, release, (release.mean - majority.mean) / gain if gain > 0 else None)


@dataclass(frozen=True, slots=True)
class Learned:
    """What can be learned about a target from the original and from releases of it, by cross-validation."""

    target: str
    features: tuple[str, ...]
    rows: int
    """That show the target: the others teach nothing."""
    folds: int
    seed: int
    majority: Accuracy
    """Of whoever always guesses the most frequent class."""
    scores: tuple[Score, ...]
    how: How
    """How held-out rows were shown to what was trained on the release."""
    outside: int
    """Held-out rows that lay in no box of the training rows, and were shown as the nearest."""
    suppressed: int
    """Training rows that were suppressed, over all folds."""

    @property
    def figures(self) -> dict[str, float]:
        """For a table of several releases."""
        figures = {f"accuracy {score.learner}": score.release.mean for score in self.scores}
        original = {f"accuracy {score.learner}, original": score.original.mean for score in self.scores}
        return {**figures, **original, "accuracy majority": self.majority.mean}

    def document(self) -> dict[str, Any]:
        """For JSON."""
        document = asdict(self)
        held_out = {"shown": str(self.how), "outside": document.pop("outside")}
        scores = document.pop("scores")
        del document["how"]
        return {**document, "held_out": held_out, "learners": list(scores)}
