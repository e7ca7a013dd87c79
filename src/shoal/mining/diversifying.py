"""Adding rows until every class keeps a model of its sensitive values, so that attribute linkage is limited (S1.8)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes, Column
from shoal.counts import ClassCounts, Flags, Longs, ValueCounts
from shoal.models import Model
from shoal.models.reference import Referenced

Rows = NDArray[np.int64]

_STEP = 20
"""A class that fails grows by one row in so many, at least by one, before it is judged again."""
_MOST = 50
"""A class that grew so many times over does not become diverse by growing."""


@dataclass(frozen=True)
class Diversifying:
    """What models ask of the classes of a table, and the rows that make them keep it.

    Values are added that a class has least of, compared with the whole table; where the whole table does not keep the
    models either, compared with all values alike.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> from shoal.models import MODELS
    >>> ill = encode("ill", pa.array(["flu", "flu", "hiv", "flu"]))
    >>> two = MODELS["distinct-l-diversity"](l=2, attribute="ill")
    >>> asked = Diversifying((two,), np.array([0, 0, 1, 1]), ill)
    >>> rows, values = asked.further(np.arange(4), ill.codes, np.random.default_rng(0))
    >>> rows.tolist() in ([0], [1]), values.tolist()
    (True, [1])
    """

    models: Sequence[Model]
    of_row: Codes
    """The class of every row of the table."""
    target: Column

    def further(self, rows: Rows, values: Codes, rng: np.random.Generator) -> tuple[Rows, Codes]:
        """The rows to copy, and the values they show instead, given what every row there is by now shows or copies."""
        classes, size = int(self.of_row.max()) + 1, len(self.target.values)
        held = values < size  # null protects nobody
        counts = np.zeros((classes, size), dtype=np.int64)
        np.add.at(counts, (self.of_row[rows[held]], values[held]), 1)
        without = np.bincount(self.of_row[rows[~held]], minlength=classes)
        most = _MOST * counts.sum(axis=1)
        aim = self._aim(counts.sum(axis=0))
        added = counts.copy()
        while True:
            failing = np.flatnonzero(self._failing(added, without) & (added.sum(axis=1) <= most))
            if not len(failing):
                break
            for one in failing.tolist():
                for _ in range(-(-int(added[one].sum()) // _STEP) or 1):
                    added[one, np.lexsort((-aim, added[one] / aim))[0]] += 1
        return self._copied(added - counts, rng)

    def left(self, rows: Rows, values: Codes) -> list[str]:
        """The models that some class still fails."""
        size, classes = len(self.target.values), int(self.of_row.max()) + 1
        held = values < size
        counts = np.zeros((classes, size), dtype=np.int64)
        np.add.at(counts, (self.of_row[rows[held]], values[held]), 1)
        told = self._told(counts, np.bincount(self.of_row[rows[~held]], minlength=classes))
        return [model.name for model in self.models if not model.holds(told)]

    def _aim(self, overall: Longs) -> NDArray[np.float64]:
        """The shares of the values in a class that needs no more rows."""
        whole = self._told(overall[None, :], np.zeros(1, dtype=np.int64))
        kept = all(model.holds(whole) for model in self.models) and overall.all()
        return overall / overall.sum() if kept else np.full(len(overall), 1 / len(overall))

    def _failing(self, counts: Longs, without: Longs) -> Flags:
        told = self._told(counts, without)
        flags = [~_by_class(model).complies(told) for model in self.models]
        return np.asarray(np.logical_or.reduce(flags), dtype=bool)

    def _told(self, counts: Longs, without: Longs) -> ClassCounts:
        """What models read; rows without a value count as such."""
        table = np.column_stack([counts, without])
        at, value = np.nonzero(table)
        labels = [*self.target.texts.to_pylist(), None]
        values = ValueCounts(at, value, table[at, value], labels, len(table))
        return ClassCounts(table.sum(axis=1), {self.target.name: values})

    def _copied(self, more: Longs, rng: np.random.Generator) -> tuple[Rows, Codes]:
        """Rows drawn among those of each class, and the values that they are to show."""
        at, value = np.nonzero(more)
        classes, values = np.repeat(at, more[at, value]), np.repeat(value, more[at, value])
        order = np.argsort(self.of_row, kind="stable")
        ends = np.searchsorted(self.of_row[order], np.arange(len(more) + 1))
        size = np.diff(ends)[classes]
        drawn = np.floor(rng.random(len(classes)) * size).astype(np.int64)
        return order[ends[classes] + drawn], values.astype(np.int32)


def _by_class(model: Model) -> Model:
    """The model as it judges single classes; what it is compared with is told with the counts."""
    return replace(model, reference="original") if isinstance(model, Referenced) else model  # type: ignore[type-var]
