"""Links people of a register with released rows that may be theirs, and tells which classes can hold whom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.attacks.attack import refuse_missing
from shoal.attacks.label_sets import CodeAxis, meaning_of
from shoal.attacks.release_under_attack import Published
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, Table
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import join_columns

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DistinctRows:
    """Faces: the distinct rows that a release shows of some attributes, and the sensitive values behind each."""

    labels: NDArray[np.int32]
    """labels[face, attribute]: the label code."""
    rows: Longs
    of_row: Codes
    """Face of each released row; -1 for rows left out."""
    begin: Longs
    """Where the entries of each face begin, and where the last ends; one entry per sensitive value it may have."""
    values: Codes
    """Sensitive value of each entry, numbered through all sensitive attributes."""
    weights: Floats
    """How many rows of the face have the value; an expectation where only a group tells, as in Anatomy."""
    attribute: Codes
    """Sensitive attribute of each value."""
    names: tuple[str | None, ...]
    """Text of each value."""

    @classmethod
    def of(cls, published: Published, on: Sequence[str], chosen: Flags) -> "DistinctRows":
        """Find the faces of the chosen rows."""
        columns = {name: published.quasi_identifiers[name] for name in on}
        found = FrequencySet.count(
            {name: (shown.codes[chosen], len(shown.labels)) for name, shown in columns.items()}, want_classes=True
        )
        assert found.classes is not None
        of_row = np.full(published.rows, -1, dtype=np.int32)
        of_row[chosen] = found.classes
        labels = np.stack([found.codes(name) for name in on], axis=1) if on else np.zeros((len(found), 0), np.int32)
        held = _values_of_faces(published, found.classes, published.class_of_row[chosen], len(found))
        return cls(np.ascontiguousarray(labels), found.counts, of_row, *held)


@dataclass(frozen=True)
class Links:
    """What the candidates of each person, the released rows that may be theirs, tell about them."""

    candidates: Longs
    """Number of candidate rows."""
    classes: Longs
    """Number of distinct candidate rows."""
    likeliest: Codes
    """[person, sensitive attribute]: the value that most candidates have; -1 where none is known."""
    distinct: Codes
    """[person, sensitive attribute]: number of values among the candidates; null is no value."""
    probability: Floats
    """[person, sensitive attribute]: share of the likeliest value among candidates with a known value."""

    def expand(self, each: NDArray[np.integer]) -> "Links":
        """Return the links of everybody from those of distinct people: person i is distinct person `each[i]`."""
        return Links(
            self.candidates[each],
            self.classes[each],
            self.likeliest[each],
            self.distinct[each],
            self.probability[each],
        )


def link_people(axes: Sequence[CodeAxis], places: Sequence[Codes], faces: DistinctRows) -> Links:
    """Link every person, given by a place on each axis, with the faces that contain that point.

    A null excludes nothing: people who have one are linked on the other axes alone.
    """
    sizes = {str(a): (each, axis.size + 1) for a, (axis, each) in enumerate(zip(axes, places, strict=True))}
    people = FrequencySet.count(sizes, want_classes=True)
    assert people.classes is not None
    # distinct people as points[person, axis]; a place equal to the size of the axis is null
    points = np.stack([people.codes(name) for name in sizes], axis=1)
    known = points < np.array([axis.size for axis in axes])
    found = _empty_links(len(points), int(faces.attribute.max(initial=-1)) + 1)
    for here, chosen in _group_by_known_axes(known):
        _store_links(
            found, here, _find_containing_faces([axes[a] for a in chosen], points[here][:, chosen], faces, chosen)
        )
    return found.expand(people.classes)


def _group_by_known_axes(known: Flags) -> Iterator[tuple[Longs, list[int]]]:
    """Yield groups of people who have a value on the same axes, with these axes."""
    of, _, which = join_columns([(column.astype(np.int32), 2) for column in known.T])
    order = np.argsort(of, kind="stable")
    for here in np.split(order, np.flatnonzero(np.diff(of[order])) + 1):
        yield here, [a for a, column in enumerate(which) if column[of[here[0]]]]


def _find_containing_faces(
    axes: Sequence[CodeAxis], points: NDArray[np.int32], faces: DistinctRows, chosen: Sequence[int]
) -> tuple[NDArray[np.generic], ...]:
    """Call the kernel that finds, for each point, the faces that contain it on the chosen axes, and what they tell."""
    labels = faces.labels[:, chosen]
    # sets of ranges are numbered through all axes
    offsets = np.cumsum([0, *(len(axis.begin) - 1 for axis in axes)])
    sets = [np.where(axis.sets < 0, -1, axis.sets + offset) for axis, offset in zip(axes, offsets, strict=False)]
    runs = np.cumsum(np.concatenate([[0], *(np.diff(axis.begin) for axis in axes)])).astype(np.int64)
    return kernels.contained(
        np.ascontiguousarray(points),
        _look_up_by_face([axis.low for axis in axes], labels),
        _look_up_by_face([axis.high for axis in axes], labels),
        _look_up_by_face(sets, labels),
        runs,
        _concatenate([axis.run_low for axis in axes]),
        _concatenate([axis.run_high for axis in axes]),
        faces.rows,
        faces.begin,
        faces.values,
        faces.weights,
        faces.attribute,
        int(faces.attribute.max(initial=-1)) + 1,
    )


def _look_up_by_face(parts: Sequence[NDArray[np.integer]], labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a property of labels for every face, as [face, attribute]."""
    out = np.empty(labels.shape, dtype=np.int32)
    for a, part in enumerate(parts):
        out[:, a] = part[labels[:, a]]
    return out


def _concatenate(parts: Sequence[Codes]) -> Codes:
    """Return arrays concatenated; an empty one for none."""
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])


def _empty_links(people: int, attributes: int) -> Links:
    """Return links for people without any candidates, to be filled in."""
    shape = (people, attributes)
    return Links(
        np.zeros(people, dtype=np.int64),
        np.zeros(people, dtype=np.int64),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape, dtype=np.int32),
        np.zeros(shape),
    )


def _store_links(links: Links, here: Longs, told: tuple[NDArray[np.generic], ...]) -> None:
    """Store what the kernel told of some people in the links."""
    rows, classes, best, distinct, weight, known = told
    links.candidates[here] = rows
    links.classes[here] = classes
    links.likeliest[here] = best
    links.distinct[here] = distinct
    links.probability[here] = weight / np.maximum(known, np.finfo(np.float64).tiny)


def _values_of_faces(
    published: Published, faces: Codes, classes: Codes, count: int
) -> tuple[Longs, Codes, Floats, Codes, tuple[str | None, ...]]:
    """Return the sensitive values of every face as entries; each row counts with the shares of its class."""
    pairs = FrequencySet.count({"face": (faces, count), "class": (classes, len(published.counts.sizes))})
    # [pair] the face, the class, and the rows of each (face, class) that occurs
    face, of, rows = pairs.codes("face"), pairs.codes("class"), pairs.counts
    entries: list[tuple[Codes, NDArray[np.integer], Floats]] = []
    names: list[str | None] = []
    attributes: list[int] = []
    for attribute, name in enumerate(published.sensitive):
        values = published.counts.sensitive[name].non_null()
        order = np.argsort(values.classes, kind="stable")
        ends = np.searchsorted(values.classes[order], np.arange(values.class_count + 1))
        # [pair] number of values in its class: the pair is repeated so often
        many = np.diff(ends)[of]
        # [entry] 0, 1, … within each pair; then where its value stands
        offset = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        at = order[np.repeat(ends[of], many) + offset]
        # [entry] rows of the pair times the share of the value in its class
        share = np.repeat(rows, many) * values.counts[at] / np.repeat(published.counts.sizes[of], many)
        entries += [(np.repeat(face, many), values.values[at] + len(names), share)]
        attributes += [attribute] * len(values.labels)
        names += list(values.labels)
    size = max(len(names), 1)
    # sum entries of the same (face, value), which come from several classes
    keys = np.concatenate([np.zeros(0, np.int64), *(at.astype(np.int64) * size + value for at, value, _ in entries)])
    found, where = np.unique(keys, return_inverse=True)
    shares = np.concatenate([np.zeros(0), *(share for *_, share in entries)])
    weights = np.bincount(where, weights=shares, minlength=len(found)).astype(np.float64)
    begin = np.searchsorted(found // size, np.arange(count + 1)).astype(np.int64)
    return begin, (found % size).astype(np.int32), weights, np.array(attributes, dtype=np.int32), tuple(names)


_CELLS = 20_000_000


def classes_holding(published: Published, people: Table) -> list[Longs]:
    """Return, for each person, the classes all of whose labels cover the person's values.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> released = Table({"age": encode("age", pa.array(["[20, 30)", "*"]))}, 2)
    >>> people = Table({"age": encode("age", pa.array(["24", "31"]))}, 2)
    >>> [each.tolist() for each in classes_holding(Published.of("r", released, ["age"], []), people)]
    [[0, 1], [1]]
    """
    found: list[Longs] = []
    for fits in find_fitting_classes(published, people):
        rows, classes = np.nonzero(fits)
        found += np.split(classes.astype(np.int64), np.searchsorted(rows, np.arange(1, len(fits))))
    return found


def find_fitting_classes(published: Published, people: Table) -> Iterator[Flags]:
    """Yield fits[person, class] in blocks of people: whether each class can hold each person."""
    refuse_missing(published, people, "the register")
    cells = {name: (shown.codes, len(shown.labels)) for name, shown in published.quasi_identifiers.items()}
    faces = FrequencySet.count(cells, want_classes=True)  # what rows show; of Anatomy's groups, several each
    classes = len(published.counts.sizes)
    # [pair, 2]: each class with each of its faces
    pairs = np.unique(_pair_classes_with_faces(faces, published.class_of_row), axis=0)
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
        yield _has_fitting_face(fits, pairs, classes)


def _pair_classes_with_faces(faces: FrequencySet, class_of_row: Codes) -> Longs:
    """Return (class, face) of each row, as [row, 2]."""
    assert faces.classes is not None
    return np.stack([class_of_row, faces.classes], axis=1).astype(np.int64)


def _has_fitting_face(fits: Flags, pairs: Longs, classes: int) -> Flags:
    """Return fits[person, class] from fits[person, face]: whether at least one face of the class fits."""
    if len(pairs) == classes:  # one face each
        return fits[:, pairs[:, 1]]
    out = np.zeros((len(fits), classes), dtype=bool)
    for class_, face in pairs.tolist():
        out[:, class_] |= fits[:, face]
    return out
