"""Which classes of a release can hold which people."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import refuse_missing
from shoal.attacks.label_sets import meaning_of
from shoal.attacks.release_under_attack import Published
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, Table
from shoal.data.frequency_set import FrequencySet

_CELLS = 20_000_000


def classes_holding(published: Published, people: Table) -> list[Longs]:
    """For each person the classes all of whose labels cover the person's values.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> released = Table({"age": encode("age", pa.array(["[20, 30)", "*"]))}, 2)
    >>> people = Table({"age": encode("age", pa.array(["24", "31"]))}, 2)
    >>> [each.tolist() for each in classes_holding(Published.of("r", released, ["age"], []), people)]
    [[0, 1], [1]]
    """
    found: list[Longs] = []
    for fits in fitting(published, people):
        rows, classes = np.nonzero(fits)
        found += np.split(classes.astype(np.int64), np.searchsorted(rows, np.arange(1, len(fits))))
    return found


def fitting(published: Published, people: Table) -> Iterator[Flags]:
    """Yield fits[person, class] in blocks of people: whether each class can hold each person."""
    refuse_missing(published, people, "the register")
    cells = {name: (shown.codes, len(shown.labels)) for name, shown in published.quasi_identifiers.items()}
    faces = FrequencySet.count(cells, want_classes=True)  # what rows show; of Anatomy's groups, several each
    classes = len(published.counts.sizes)
    # [pair, 2]: each class with each of its faces
    pairs = np.unique(_of_face(faces, published.class_of_row), axis=0)
    tables = []
    for name in published.quasi_identifiers:
        meaning = meaning_of(published, name, people[name], listed=False)
        # covered[face, value], and the value of each person
        tables.append((meaning.covered[faces.codes(name)], meaning.codes_of(people[name])[people[name].codes]))
    height = max(_CELLS // max(len(faces), 1), 1)
    for start in range(0, people.rows, height):
        stop = min(start + height, people.rows)
        fits = np.ones((stop - start, len(faces)), dtype=bool)
        for covered, codes in tables:
            fits &= covered.T[codes[start:stop]]
        yield _any(fits, pairs, classes)


def class_of_each(published: Published, people: Table) -> NDArray[np.int64]:
    """The class of each person where only one can hold them; else -1."""
    return np.array([each[0] if len(each) == 1 else -1 for each in classes_holding(published, people)], dtype=np.int64)


def _of_face(faces: FrequencySet, class_of_row: Codes) -> Longs:
    assert faces.classes is not None
    return np.stack([class_of_row, faces.classes], axis=1).astype(np.int64)


def _any(fits: Flags, pairs: Longs, classes: int) -> Flags:
    """Flag the classes of which at least one face fits: [person, class] from [person, face]."""
    if len(pairs) == classes:  # one face each
        return fits[:, pairs[:, 1]]
    out = np.zeros((len(fits), classes), dtype=bool)
    for class_, face in pairs.tolist():
        out[:, class_] |= fits[:, face]
    return out
