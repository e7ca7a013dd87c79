"""The composition attack, release after release: which sensitive values are still possible for each person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import Channel, Finding
from shoal.attacks.label_sets import meaning_of
from shoal.attacks.release_under_attack import Published, label_of_class
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, numbered
from shoal.data.packed_keys import joined


@dataclass(frozen=True)
class ClassOverlap:
    """The classes of two releases as boxes in the space of the quasi-identifiers."""

    meeting: Flags
    """meeting[class of one, class of the other]: whether some person fits into both."""

    @classmethod
    def of(cls, one: Published, other: Published) -> "ClassOverlap":
        """Find the classes whose labels have a value in common in every quasi-identifier."""
        met = np.ones((len(one.counts.sizes), len(other.counts.sizes)), dtype=bool)
        for name in one.quasi_identifiers:
            mine, theirs = _on_one_domain([one, other], name)
            common = (mine.astype(np.int64) @ theirs.T.astype(np.int64)) > 0
            met &= common[np.ix_(label_of_class(one, name), label_of_class(other, name))]
        return cls(met)


def crossed(releases: Sequence[Published], rows: Sequence[Longs]) -> dict[str, int]:
    """Count the people whom all releases together narrow down further than any single one, given their rows.

    Every value lies in what all labels cover: the intersection of the boxes.
    """
    volumes = np.zeros((len(releases) + 1, len(rows[0])))
    exact = 0
    for name in releases[0].quasi_identifiers:
        covers = _on_one_domain(releases, name)
        left = np.ones((len(rows[0]), covers[0].shape[1]), dtype=bool)
        single = np.zeros(len(rows[0]), dtype=bool)
        for at, (release, cover, row) in enumerate(zip(releases, covers, rows, strict=True)):
            shown = cover[release.quasi_identifiers[name].codes[row]]
            volumes[at] += np.log(np.maximum(shown.sum(axis=1), 1))
            single |= shown.sum(axis=1) == 1
            left &= shown
        many = left.sum(axis=1)
        volumes[-1] += np.log(np.maximum(many, 1))
        exact += int(((many == 1) & ~single).sum())
    smaller = volumes[-1] < volumes[:-1].min(axis=0) - 1e-9
    return {"people_in_a_smaller_box": int(smaller.sum()), "cells_narrowed_to_one_value": exact}


def _on_one_domain(releases: Sequence[Published], name: str) -> list[Flags]:
    """covered[label, value] of each release, over the values that occur in any of them."""
    alone = [meaning_of(release, name) for release in releases]
    columns = [meaning.column for meaning in alone]
    covers = []
    for release, meaning in zip(releases, alone, strict=True):
        # labels that no one can read without the original stand for themselves
        known = release if meaning.hierarchy is not None else replace(release, builders={})
        covers.append(meaning_of(known, name, *columns).covered)
    if covers[0].shape[1]:
        return covers
    return [np.ones((len(cover), 1), dtype=bool) for cover in covers]  # everywhere `*`


Bits = NDArray[np.uint8]
"""Sets of values: one row per set, one bit per value."""


@dataclass(frozen=True)
class Candidates:
    """The values of one sensitive attribute that all releases together leave to everybody who is in them.

    It is `Compose` step by step: what is left after one more release follows from that release and what was left
    before, so earlier ones are not read again. The attacker knows who is in which class of which release.

    >>> told = Candidates.none(["flu", "hiv", "ulcer", "cancer"], 3)
    >>> told = told.after(np.array([0, 0, 0]), sets_of([0, 0, 0], [0, 1, 2], 1, 4))
    >>> told = told.after(np.array([0, -1, -1]), sets_of([0, 0], [1, 3], 1, 4))
    >>> told.left().tolist()
    [1, 3, 3]
    """

    values: tuple[str | None, ...]
    """What the bits stand for; None is null, which protects nobody."""
    sets: Bits
    of: Codes
    """Number of the set of each person; -1 for those who were in no release."""

    @classmethod
    def none(cls, values: Sequence[str | None], people: int = 0) -> "Candidates":
        """Start with people who were in no release yet."""
        width = _width(len(values))
        return cls(tuple(values), np.zeros((0, width), np.uint8), np.full(people, -1, np.int32))

    def among(self, values: Sequence[str | None]) -> "Candidates":
        """Re-encode the sets for other `values`, which must contain all known ones; null may be missing."""
        place = {value: at for at, value in enumerate(values)}
        stay = [at for at, value in enumerate(self.values) if value is not None or None in place]
        flags = np.zeros((len(self.sets), len(values)), dtype=bool)
        flags[:, [place[self.values[at]] for at in stay]] = self.flags()[:, stay]
        return replace(self, values=tuple(values), sets=np.packbits(flags, axis=1))

    def called(self, names: Mapping[str, str]) -> "Candidates":
        """Rename some values."""
        return replace(self, values=tuple(value and names.get(value, value) for value in self.values))

    def flags(self) -> Flags:
        """flags[set, value]: which values are in each set."""
        return np.unpackbits(self.sets, axis=1, count=len(self.values)).astype(bool)

    def joined_by(self, people: int) -> "Candidates":
        """Add `people` people who were in no release yet."""
        return replace(self, of=np.append(self.of, np.full(people, -1, np.int32)))

    def after(self, shown: Codes, classes: Bits) -> "Candidates":
        """Add a release: `shown` is the class of each person (-1 if absent), `classes` the values of each class.

        Where nothing is left, the value has changed meanwhile, and the attacker begins anew.
        """
        there = shown >= 0
        # each combination of (set so far, class now) once; 0 stands for no set yet
        pairs = [(self.of[there] + np.int32(1), len(self.sets) + 1), (shown[there].astype(np.int32), len(classes))]
        at, _, (before, held) = joined(pairs)
        before, now = before - 1, classes[held]
        # bits of the values that survive; where none do, or there was no set, the class alone counts
        both = now & self.sets[before] if len(self.sets) else now
        fresh = (before < 0) | ~both.any(axis=1)
        of = self.of.copy()
        of[there] = len(self.sets) + at
        return replace(self, sets=np.concatenate([self.sets, np.where(fresh[:, None], now, both)]), of=of).packed()

    def packed(self) -> "Candidates":
        """Keep every set once, and only sets that somebody has."""
        # the numbers in use, shifted by one so that 0 is "no set"
        used, at = numbered(self.of + np.int32(1))
        held = used[used > 0] - 1
        sets, which = np.unique(self.sets[held], axis=0, return_inverse=True)
        number = np.append(np.full(len(used) - len(held), -1), which.ravel())
        return replace(self, sets=sets.reshape(len(sets), self.sets.shape[1]), of=number[at].astype(np.int32))

    def left(self) -> Longs:
        """Number of values left to each person; all of them for those who were in no release."""
        known = np.array([value is not None for value in self.values], dtype=bool)
        # one more entry at the end, which the index -1 finds: all values are left
        many = np.append(self.flags()[:, known].sum(axis=1), known.sum()).astype(np.int64)
        return many[self.of]


def sets_of(classes: Sequence[int] | Codes, values: Sequence[int] | Codes, count: int, size: int) -> Bits:
    """Return the set of values of each of `count` classes, given the class and value of every row.

    >>> sets_of([0, 0, 1], [0, 2, 1], 2, 3).tolist()
    [[160], [64]]
    """
    flags = np.zeros((count, size), dtype=bool)
    flags[classes, values] = True
    return np.packbits(flags, axis=1).reshape(count, _width(size))


def told(candidates: Mapping[str, Candidates], least: Mapping[str, int], releases: int, people: int) -> Finding:
    """Return the finding over all releases: exposed are people with fewer values left than asked for.

    Somebody whose value changed is listed once for each value; `people` is the number of persons.
    """
    left = {name: each.left()[each.of >= 0] for name, each in candidates.items()}
    below = np.zeros(max((len(each) for each in left.values()), default=0), dtype=bool)
    for name, each in left.items():
        below |= each < least[name]
    exposed = int(below.sum())
    figures = {
        "releases": releases,
        "people": people,
        "values_asked": dict(least),
        "values_left_least": {name: int(each.min()) for name, each in left.items() if len(each)},
        "values_left_mean": {name: float(each.mean()) for name, each in left.items() if len(each)},
        "one_value_left": {name: int((each == 1).sum()) for name, each in left.items()},
    }
    sentence = f"{exposed:,} of {people:,} people have fewer sensitive values left than asked for"
    return Finding("compose", Channel.COMPOSITION, exposed, people, sentence, figures)


def _width(values: int) -> int:
    return (values + 7) // 8
