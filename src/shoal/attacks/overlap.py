"""Where the classes of two releases overlap: which of them can hold one person, and what both say of the person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.attacks.meaning import meaning_of
from shoal.attacks.published import Published
from shoal.codes import Codes
from shoal.counts import Flags, Longs
from shoal.errors import BadInput


@dataclass(frozen=True)
class Boxes:
    """The classes of two releases as boxes in the space of the quasi-identifiers."""

    meeting: Flags
    """meeting[class of one, class of the other]: whether some person fits into both."""

    @classmethod
    def of(cls, one: Published, other: Published) -> "Boxes":
        """Classes meet where the labels of every quasi-identifier have a value in common."""
        met = np.ones((len(one.counts.sizes), len(other.counts.sizes)), dtype=bool)
        for name in one.quasi_identifiers:
            mine, theirs = _on_one_domain([one, other], name)
            common = (mine.astype(np.int64) @ theirs.T.astype(np.int64)) > 0
            met &= common[np.ix_(label_of_class(one, name), label_of_class(other, name))]
        return cls(met)


def label_of_class(published: Published, name: str) -> Codes:
    """The label that all rows of a class show; those of Anatomy's groups show what they are, and are refused."""
    codes = published.quasi_identifiers[name].codes
    label = np.empty(len(published.counts.sizes), dtype=np.int32)
    label[published.class_of_row] = codes
    if not np.array_equal(label[published.class_of_row], codes):
        raise BadInput(
            f"{published.name}: it shows the quasi-identifiers of its people as they are, in groups; this attack is "
            "about classes whose rows look alike"
        )
    return label


def crossed(releases: Sequence[Published], rows: Sequence[Longs]) -> dict[str, int]:
    """Of people whose row in each release is given, how many all releases together tell better than any of them.

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
    """What the labels of each release cover, of the values of all of them."""
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
