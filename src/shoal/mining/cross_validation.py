"""Cross-validation: learn from some rows, as they are and as they would be released, and predict the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.codes import Codes, Table, select_table_rows
from shoal.errors import BadInput
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.mining.attributes import Rows, ShownColumns, show_unchanged, take_rows
from shoal.mining.features import Encoding, Matrix
from shoal.mining.held_out_rows import HeldOutDisplay, TrainingRecoding
from shoal.mining.learners import train_and_predict
from shoal.runtime import SummaryRepr

FEWEST = 2


def assign_folds(classes: Codes, folds: int, seed: int, persons: Codes | None = None) -> Codes:
    """Assign every row to a fold: shuffled, each class dealt out evenly, all rows of a person in one fold.

    >>> folds = assign_folds(np.array([0, 0, 0, 0, 1, 1]), 2, seed=0)
    >>> sorted(zip(folds.tolist(), [0, 0, 0, 0, 1, 1]))
    [(0, 0), (0, 0), (0, 1), (1, 0), (1, 0), (1, 1)]
    """
    # person of each row, numbered from 0; without persons every row is one
    of_row = np.arange(len(classes)) if persons is None else np.unique(persons, return_inverse=True)[1]
    first = np.unique(of_row, return_index=True)[1]  # a person has the class of their first row
    if not FEWEST <= folds <= len(first):
        many = "rows" if persons is None else "persons"
        raise BadInput(f"folds = {folds}: there must be at least {FEWEST}, and at most as many as {many}: {len(first)}")
    shuffled = np.random.default_rng(seed).permutation(len(first))
    # persons by class, in random order within each class; dealt out one fold after the other
    order = shuffled[np.argsort(classes[first][shuffled], kind="stable")]
    fold = np.empty(len(first), dtype=np.int32)
    fold[order] = np.arange(len(first)) % folds
    return fold[of_row].astype(np.int32)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Share of held-out rows whose class was predicted: mean and deviation over the folds."""

    mean: float
    deviation: float

    @classmethod
    def from_folds(cls, folds: Sequence[float]) -> "Accuracy":
        """Summarise one number per fold.

        >>> Accuracy.from_folds([0.5, 1.0])
        Accuracy(mean=0.75, deviation=0.3535533905932738)
        """
        return cls(float(np.mean(folds)), float(np.std(folds, ddof=1)))


@dataclass(frozen=True, slots=True)
class Score:
    """Accuracy of one learner, trained on the original and on the release."""

    learner: str
    original: Accuracy
    release: Accuracy
    relative: float | None
    """(release - majority) / (original - majority), as ARX has it; None where the original teaches nothing."""

    @classmethod
    def of(cls, learner: str, original: Accuracy, release: Accuracy, majority: Accuracy) -> "Score":
        gain = original.mean - majority.mean
        return cls(learner, original, release, (release.mean - majority.mean) / gain if gain > 0 else None)


@dataclass(frozen=True, slots=True, repr=False)
class Learned(SummaryRepr):
    """What learners predict of a target when trained on the original and on a release, by cross-validation."""

    target: str
    features: tuple[str, ...]
    rows: int
    """Rows that show the target; the others teach nothing."""
    folds: int
    seed: int
    majority: Accuracy
    """Accuracy of always guessing the most frequent class."""
    scores: tuple[Score, ...]
    how: HeldOutDisplay
    """How held-out rows were shown to the classifiers trained on the release."""
    outside: int
    """Held-out rows that lay in no box of the training rows, and were shown as the nearest box."""
    suppressed: int
    """Suppressed training rows, summed over all folds."""

    @property
    def _facts(self) -> list[tuple[str, str]]:
        told = [
            (each.learner, f"{each.original.mean:.3f} from the original, {each.release.mean:.3f} from the release")
            for each in self.scores
        ]
        return [("target", self.target), ("rows", f"{self.rows:,}"), ("majority", f"{self.majority.mean:.3f}"), *told]

    @property
    def figures(self) -> dict[str, float]:
        """Return the figures for a table of several releases."""
        figures = {f"accuracy {score.learner}": score.release.mean for score in self.scores}
        original = {f"accuracy {score.learner}, original": score.original.mean for score in self.scores}
        return {**figures, **original, "accuracy majority": self.majority.mean}

    def document(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        document = asdict(self)
        held_out = {"shown": str(self.how), "outside": document.pop("outside")}
        scores = document.pop("scores")
        del document["how"]
        return {**document, "held_out": held_out, "learners": list(scores)}


Recode = Callable[[int, Rows], TrainingRecoding]
"""Anonymizes the training rows of a fold; held-out rows have no part in it."""


@dataclass(frozen=True)
class PredictionTask:
    """A prediction task: the same folds for every release, and the original is learned from once.

    Each fold is anonymized by itself: split first, then recoded, so that held-out rows have no say in the recoding.
    They are shared in two ways only: which values there are, and hierarchies drafted from them.
    """

    table: Table
    """The rows that show the target."""
    target: str
    features: tuple[str, ...]
    quasi: frozenset[str]
    hierarchies: Mapping[str, Hierarchy]
    """Hierarchies for the paths of values, whatever algorithm makes the release."""
    learners: tuple[str, ...]
    folds: int = 5
    seed: int = 0
    rows: int | None = None
    """Most rows to train on in each fold, drawn at random; all are anonymized and all others are predicted."""
    unit: str | None = None
    _original: dict[int, list[float]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def fold(self) -> Codes:
        """The fold of every row."""
        persons = None if self.unit is None else self.table[self.unit].codes
        return assign_folds(self.classes, self.folds, self.seed, persons)

    @property
    def classes(self) -> Codes:
        return self.table[self.target].codes

    def cross_validate(self, recode: Recode, tell: Callable[[float], None] = lambda _: None) -> Learned:
        """Train on the original and on the release of each fold's training rows; `tell` receives the share done."""
        majority, original, release, outside, suppressed = [], [], [], 0, 0
        for at in range(self.folds):
            train, test = np.flatnonzero(self.fold != at), np.flatnonzero(self.fold == at)
            training = recode(at, train)
            held_out = training.show_held_out(select_table_rows(self.table, test), self.features, self.quasi)
            if at not in self._original:
                self._original[at] = self._learn_from_original(at, train, test)
            original.append(self._original[at])
            shown = training.show_kept(self.features, self.quasi)
            release.append(self._accuracies(at, train, np.flatnonzero(training.kept), shown, test, held_out.shown))
            majority.append(float((self.classes[test] == _most_frequent(self.classes[train])).mean()))
            outside += int(held_out.outside.sum())
            suppressed += int((~training.kept).sum())
            tell((at + 1) / self.folds)
        guessed = Accuracy.from_folds(majority)
        pairs = zip(self.learners, _summarise_folds(original), _summarise_folds(release), strict=True)
        return Learned(
            self.target,
            self.features,
            self.table.rows,
            self.folds,
            self.seed,
            guessed,
            tuple(Score.of(*pair, guessed) for pair in pairs),
            held_out.how,
            outside,
            suppressed,
        )

    def _learn_from_original(self, at: int, train: Rows, test: Rows) -> list[float]:
        shown = {name: show_unchanged(self.table[name]) for name in self.features}
        before = {name: take_rows(each, train) for name, each in shown.items()}
        after = {name: take_rows(each, test) for name, each in shown.items()}
        return self._accuracies(at, train, np.arange(len(train)), before, test, after)

    def _accuracies(
        self,
        at: int,
        train: Rows,
        kept: Rows,
        shown: Mapping[str, ShownColumns],
        test: Rows,
        held_out: Mapping[str, ShownColumns],
    ) -> list[float]:
        """Return the accuracy of each learner on the held-out rows; `shown` is what the `kept` training rows show."""
        some = self._draw_rows(at, len(train), kept)
        encoding = Encoding.of(self.table, self.features, self.hierarchies, train)
        lesson = encoding.encode_rows({name: take_rows(each, some) for name, each in shown.items()})
        exam, classes = encoding.encode_rows(held_out), self.classes[train[kept[some]]]
        varying = _find_varying_columns(lesson)
        lesson, exam = _select_columns(lesson, varying), _select_columns(exam, varying)
        if not len(varying) or not np.ptp(classes):  # nothing to tell rows apart by, or nothing to tell apart
            return [float((self.classes[test] == _most_frequent(classes)).mean())] * len(self.learners)
        predicted = train_and_predict(self.learners, self.seed, lesson, classes, exam)
        return [float((self.classes[test] == each).mean()) for each in predicted]

    def _draw_rows(self, at: int, rows: int, kept: Rows) -> Rows:
        """Return positions in `kept` of the rows to train on: the first ones in a random order of all training rows."""
        if self.rows is None or self.rows >= len(kept):
            return np.arange(len(kept))
        # place of each training row in the random order, the same for the original and every release
        place = np.empty(rows, dtype=np.int64)
        place[np.random.default_rng([self.seed, at]).permutation(rows)] = np.arange(rows)
        return np.sort(np.argsort(place[kept])[: self.rows])


def _summarise_folds(folds: Sequence[Sequence[float]]) -> list[Accuracy]:
    """Return the accuracy of each learner over the folds, given folds[fold][learner]."""
    return [Accuracy.from_folds(each) for each in zip(*folds, strict=True)]


def _most_frequent(classes: Codes) -> int:
    return int(np.bincount(classes).argmax())


def _find_varying_columns(features: Matrix) -> NDArray[np.intp]:
    """Return the columns of features that vary between rows; constant ones teach nothing."""
    ends = [end.toarray() if hasattr(end, "toarray") else end for end in (features.min(axis=0), features.max(axis=0))]
    return np.flatnonzero(np.ravel(ends[0]) != np.ravel(ends[1]))


def _select_columns(features: Matrix, columns: NDArray[np.intp]) -> Matrix:
    some = features[:, columns]
    if hasattr(some, "indptr"):  # scikit-learn's trees take no other integers
        some.indices, some.indptr = some.indices.astype(np.int32), some.indptr.astype(np.int32)
    return some
