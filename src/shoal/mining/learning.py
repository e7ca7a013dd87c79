"""Cross-validation: learn from some rows, as they are and as they would be released, and predict the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes, Table
from shoal.hierarchy import Hierarchy
from shoal.mining.encoding import Encoding, Matrix
from shoal.mining.folds import dealt, rows_of
from shoal.mining.held_out import Training
from shoal.mining.learned import Accuracy, Learned, Score
from shoal.mining.learners import predictions
from shoal.mining.shown import Rows, Shown, as_it_is, some_of

Recode = Callable[[int, Rows], Training]
"""Anonymizes the training rows of a fold, and nothing else: what is held out has no part in it."""


@dataclass(frozen=True)
class Lesson:
    """What is to be learned, and from which rows; the same folds for every release, and the original once for all.

    Each fold is anonymized by itself: split first, then recoded, so that held-out rows have no say in the recoding.
    They are shared in two ways only: which values there are, and hierarchies drafted from them.
    """

    table: Table
    """Rows that show the target."""
    target: str
    features: tuple[str, ...]
    quasi: frozenset[str]
    hierarchies: Mapping[str, Hierarchy]
    """For the paths of values, whatever algorithm makes the release."""
    learners: tuple[str, ...]
    folds: int = 5
    seed: int = 0
    rows: int | None = None
    """The most rows to train on in each fold, drawn at random; all are anonymized and all others are predicted."""
    unit: str | None = None
    _original: dict[int, list[float]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def fold(self) -> Codes:
        """Of every row."""
        persons = None if self.unit is None else self.table[self.unit].codes
        return dealt(self.classes, self.folds, self.seed, persons)

    @property
    def classes(self) -> Codes:
        return self.table[self.target].codes

    def learned(self, recode: Recode, tell: Callable[[float], None] = lambda _: None) -> Learned:
        """Train on the original and on the release of each fold's training rows; `tell` hears what share is done."""
        majority, original, release, outside, suppressed = [], [], [], 0, 0
        for at in range(self.folds):
            train, test = np.flatnonzero(self.fold != at), np.flatnonzero(self.fold == at)
            training = recode(at, train)
            held_out = training.held_out(rows_of(self.table, test), self.features, self.quasi)
            if at not in self._original:
                self._original[at] = self._on_original(at, train, test)
            original.append(self._original[at])
            shown = training.shown(self.features, self.quasi)
            release.append(self._accuracies(at, train, np.flatnonzero(training.kept), shown, test, held_out.shown))
            majority.append(float((self.classes[test] == _most_frequent(self.classes[train])).mean()))
            outside += int(held_out.outside.sum())
            suppressed += int((~training.kept).sum())
            tell((at + 1) / self.folds)
        guessed = Accuracy.over(majority)
        pairs = zip(self.learners, _over(original), _over(release), strict=True)
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

    def _on_original(self, at: int, train: Rows, test: Rows) -> list[float]:
        shown = {name: as_it_is(self.table[name]) for name in self.features}
        before = {name: some_of(each, train) for name, each in shown.items()}
        after = {name: some_of(each, test) for name, each in shown.items()}
        return self._accuracies(at, train, np.arange(len(train)), before, test, after)

    def _accuracies(
        self,
        at: int,
        train: Rows,
        kept: Rows,
        shown: Mapping[str, Shown],
        test: Rows,
        held_out: Mapping[str, Shown],
    ) -> list[float]:
        """Of each learner; `shown` is what the `kept` ones of the training rows show."""
        some = self._drawn(at, len(train), kept)
        encoding = Encoding.of(self.table, self.features, self.hierarchies, train)
        lesson = encoding.encoded({name: some_of(each, some) for name, each in shown.items()})
        exam, classes = encoding.encoded(held_out), self.classes[train[kept[some]]]
        varying = _varying(lesson)
        lesson, exam = _chosen(lesson, varying), _chosen(exam, varying)
        if not len(varying) or not np.ptp(classes):  # nothing to tell rows apart by, or nothing to tell apart
            return [float((self.classes[test] == _most_frequent(classes)).mean())] * len(self.learners)
        predicted = predictions(self.learners, self.seed, lesson, classes, exam)
        return [float((self.classes[test] == each).mean()) for each in predicted]

    def _drawn(self, at: int, rows: int, kept: Rows) -> Rows:
        """Which of the kept rows to train on: in one random order of all, the first ones."""
        if self.rows is None or self.rows >= len(kept):
            return np.arange(len(kept))
        place = np.empty(rows, dtype=np.int64)
        place[np.random.default_rng([self.seed, at]).permutation(rows)] = np.arange(rows)
        return np.sort(np.argsort(place[kept])[: self.rows])


def _over(folds: Sequence[Sequence[float]]) -> list[Accuracy]:
    """Of each learner, over the folds."""
    return [Accuracy.over(each) for each in zip(*folds, strict=True)]


def _most_frequent(classes: Codes) -> int:
    return int(np.bincount(classes).argmax())


def _varying(features: Matrix) -> NDArray[np.intp]:
    """The features that are not the same in all rows: others teach nothing."""
    ends = [end.toarray() if hasattr(end, "toarray") else end for end in (features.min(axis=0), features.max(axis=0))]
    return np.flatnonzero(np.ravel(ends[0]) != np.ravel(ends[1]))


def _chosen(features: Matrix, columns: NDArray[np.intp]) -> Matrix:
    some = features[:, columns]
    if hasattr(some, "indptr"):  # scikit-learn's trees take no other integers
        some.indices, some.indptr = some.indices.astype(np.int32), some.indptr.astype(np.int32)
    return some
