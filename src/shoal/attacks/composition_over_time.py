"""The composition attack, release after release: which values are possible for each person, and how likely."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import Channel, Finding
from shoal.attacks.label_sets import meaning_of
from shoal.attacks.release_under_attack import Published, label_of_class
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes, renumber
from shoal.data.packed_keys import join_columns


@dataclass(frozen=True)
class ClassOverlap:
    """The classes of two releases as boxes in the space of the quasi-identifiers."""

    meeting: Flags
    """meeting[class of one, class of the other]: whether some person fits into both."""

    @classmethod
    def of(cls, one: Published, other: Published) -> "ClassOverlap":
        """Compare two releases: classes meet if their labels have a value in common in every quasi-identifier."""
        met = np.ones((len(one.counts.sizes), len(other.counts.sizes)), dtype=bool)
        for name in one.quasi_identifiers:
            mine, theirs = _coverage_on_common_domain([one, other], name)
            common = (mine.astype(np.int64) @ theirs.T.astype(np.int64)) > 0
            met &= common[np.ix_(label_of_class(one, name), label_of_class(other, name))]
        return cls(met)


def count_narrowed_people(releases: Sequence[Published], rows: Sequence[Longs]) -> dict[str, int]:
    """Count the people whom all releases together narrow down further than any single one, given their rows.

    Every value lies in what all labels cover: the intersection of the boxes.
    """
    # [release, person] log volume of the box that a release shows; the last line is that of the intersection
    volumes = np.zeros((len(releases) + 1, len(rows[0])))
    exact = 0
    for name in releases[0].quasi_identifiers:
        covers = _coverage_on_common_domain(releases, name)
        # [person, value] values that no release excludes; [person] whether one release alone shows a single value
        left = np.ones((len(rows[0]), covers[0].shape[1]), dtype=bool)
        single = np.zeros(len(rows[0]), dtype=bool)
        for at, (release, cover, row) in enumerate(zip(releases, covers, rows, strict=True)):
            # [person, value] what the label of the person's row covers
            shown = cover[release.quasi_identifiers[name].codes[row]]
            volumes[at] += np.log(np.maximum(shown.sum(axis=1), 1))
            single |= shown.sum(axis=1) == 1
            left &= shown
        many = left.sum(axis=1)
        volumes[-1] += np.log(np.maximum(many, 1))
        exact += int(((many == 1) & ~single).sum())
    smaller = volumes[-1] < volumes[:-1].min(axis=0) - 1e-9
    return {"people_in_a_smaller_box": int(smaller.sum()), "cells_narrowed_to_one_value": exact}


def _coverage_on_common_domain(releases: Sequence[Published], name: str) -> list[Flags]:
    """Return covered[label, value] for each release, over the values that occur in any of them."""
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

    It is `Compose` step by step: what is left after one more release follows from that release and from what was left
    before, so earlier releases are not read again. The attacker knows who is in which class of which release.

    >>> candidates = Candidates.empty(["flu", "hiv", "ulcer", "cancer"], 3)
    >>> candidates = candidates.add_release(np.array([0, 0, 0]), sets_of([0, 0, 0], [0, 1, 2], 1, 4))
    >>> candidates = candidates.add_release(np.array([0, -1, -1]), sets_of([0, 0], [1, 3], 1, 4))
    >>> candidates.count_left().tolist()
    [1, 3, 3]
    """

    values: tuple[str | None, ...]
    """What the bits stand for; None is null, which protects nobody."""
    sets: Bits
    of: Codes
    """Number of the set of each person; -1 for those who were in no release."""

    @classmethod
    def empty(cls, values: Sequence[str | None], people: int = 0) -> "Candidates":
        """Return the candidates of people who were in no release yet."""
        width = _width(len(values))
        return cls(tuple(values), np.zeros((0, width), np.uint8), np.full(people, -1, np.int32))

    def with_values(self, values: Sequence[str | None]) -> "Candidates":
        """Return the sets over other `values`, which must contain all known ones; null may be missing."""
        place = {value: at for at, value in enumerate(values)}
        stay = [at for at, value in enumerate(self.values) if value is not None or None in place]
        flags = np.zeros((len(self.sets), len(values)), dtype=bool)
        flags[:, [place[self.values[at]] for at in stay]] = self.flags()[:, stay]
        return replace(self, values=tuple(values), sets=np.packbits(flags, axis=1))

    def rename_values(self, names: Mapping[str, str]) -> "Candidates":
        """Return the candidates with some values renamed."""
        return replace(self, values=tuple(value and names.get(value, value) for value in self.values))

    def flags(self) -> Flags:
        """Return flags[set, value]: whether the set holds the value."""
        return np.unpackbits(self.sets, axis=1, count=len(self.values)).astype(bool)

    def add_people(self, people: int) -> "Candidates":
        """Return the candidates with so many people added who were in no release yet."""
        return replace(self, of=np.append(self.of, np.full(people, -1, np.int32)))

    def add_release(self, shown: Codes, classes: Bits) -> "Candidates":
        """Return what is left after one more release, given the class of each person (-1 if absent) and its values.

        Where nothing is left, the person's value has changed since, and the attacker begins anew.
        """
        there = shown >= 0
        # each combination of (set so far, class now) once; 0 stands for no set yet
        pairs = [(self.of[there] + np.int32(1), len(self.sets) + 1), (shown[there].astype(np.int32), len(classes))]
        at, _, (before, held) = join_columns(pairs)
        before, now = before - 1, classes[held]
        # bits of the values that survive; where none do, or there was no set, the class alone counts
        both = now & self.sets[before] if len(self.sets) else now
        fresh = (before < 0) | ~both.any(axis=1)
        of = self.of.copy()
        of[there] = len(self.sets) + at
        return replace(
            self, sets=np.concatenate([self.sets, np.where(fresh[:, None], now, both)]), of=of
        ).deduplicate_sets()

    def deduplicate_sets(self) -> "Candidates":
        """Return the same candidates with every set kept once, and only sets that somebody has."""
        # the numbers in use, shifted by one so that 0 is "no set"
        used, at = renumber(self.of + np.int32(1))
        held = used[used > 0] - 1
        sets, which = np.unique(self.sets[held], axis=0, return_inverse=True)
        number = np.append(np.full(len(used) - len(held), -1), which.ravel())
        return replace(self, sets=sets.reshape(len(sets), self.sets.shape[1]), of=number[at].astype(np.int32))

    def count_left(self) -> Longs:
        """Return the number of values left to each person; all of them for those who were in no release."""
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


def finding_of_candidates(
    candidates: Mapping[str, Candidates], least: Mapping[str, int], releases: int, people: int
) -> Finding:
    """Return the finding over all releases: exposed are people with fewer values left than asked for.

    Somebody whose value changed is listed once for each value; `people` is the number of persons.
    """
    left = {name: each.count_left()[each.of >= 0] for name, each in candidates.items()}
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
    """Return the number of bytes that hold one bit for each value."""
    return (values + 7) // 8


_STEPS_OF_A_BLOCK, _STEPS = 20_000, 500_000
"""How many steps the exact count of worlds may take for a block of linked classes, and for all of them together."""
_VALUES_OF_A_BLOCK = 50
"""How many values a block may have whose worlds are counted."""


@dataclass(frozen=True)
class PossibleWorlds:
    """What several releases tell together by their counts: all worlds that give them, each as likely as any other.

    A world gives everybody one value, such that every class of every release holds exactly the values that it shows.
    The attacker knows who is in which class; rows that show none of these people are people of their own, in that
    class alone. People who share their class in every release are of one kind, and what is counted of a world is how
    many people of each kind have each value. Classes are linked by people whom they have in common, into blocks that
    tell nothing about each other. Small blocks are counted exactly. Beyond, two things hold in every world, and bound
    what is believed:

    - Fréchet's bounds: of a kind, no more people have a value than its classes show rows of it, less those that other
      kinds must have, and no fewer than other kinds leave over; repeated until nothing changes.
    - Exchange: if two values have equally many rows in each class of a block, exchanging them in a world gives a world.
      So everybody of the block is as likely to have the one as the other, and with g such values each of them has a
      share of 1 / g at most.

    >>> counts = [np.array([[2, 1]]), np.array([[1, 1], [1, 0]])]
    >>> both = PossibleWorlds.of([np.array([0, 0, 0]), np.array([0, 0, 1])], counts)
    >>> both.possible[both.kind].tolist()
    [[True, True], [True, True], [True, False]]
    >>> both.highest_shares()[both.kind].tolist()
    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    """

    kind: Longs
    """Kind of each person."""
    sizes: Longs
    """How many people are of each kind."""
    least: Longs
    """least[kind, value]: how many of them have the value in every world, at least."""
    most: Longs
    """most[kind, value]: how many of them have the value in any world, at most."""
    alike: Longs
    """alike[kind, value]: how many values can be exchanged for the value in the whole block, itself included."""
    beliefs: Mapping[int, Sequence[Fraction]]
    """By kind, the exact share of worlds in which one of them has each value, where worlds were counted."""
    contradictory: Flags
    """Kinds of blocks that no world gives: somebody has another value now."""

    @classmethod
    def of(cls, classes: Sequence[Codes | Longs], counts: Sequence[Longs], *, count: bool = True) -> "PossibleWorlds":
        """Weigh the worlds, given the class of each person in each release, -1 if absent, and counts[class, value].

        Without `count` there are bounds only.
        """
        kind, places, sizes = _find_kinds(classes, counts)
        block = _find_blocks(places, [len(each) for each in counts])
        least, most, contradictory = _bound_blocks(block, places, sizes, counts)
        most[(places < 0).all(axis=0)] = 0  # nothing is told of people who are in no release
        beliefs: dict[int, Sequence[Fraction]] = {}
        steps = _STEPS if count else 0
        settled = _flag_settled(block, least, most)
        for kinds in _small_blocks(block, contradictory | settled):
            counted = _count_worlds(kinds, places, sizes, least, most, counts, min(steps, _STEPS_OF_A_BLOCK))
            steps -= _STEPS_OF_A_BLOCK if counted is None else counted[1]
            if counted is not None and not counted[0]:
                contradictory[kinds] = True
            elif counted is not None:
                beliefs |= dict(zip(kinds.tolist(), counted[0], strict=True))
            if steps <= 0:
                break
        least[contradictory], most[contradictory] = 0, 0
        for one, shares in beliefs.items():
            most[one] = np.where([share > 0 for share in shares], most[one], 0)
        done = contradictory | settled
        done[list(beliefs)] = True
        alike = _count_exchangeable(block, done, places, counts)
        return cls(kind, sizes, least, most, alike, beliefs, contradictory)

    @property
    def possible(self) -> Flags:
        """possible[kind, value]: whether one of them can have the value; exactly so where `exact`, else perhaps."""
        return self.most > 0

    @property
    def exact(self) -> Flags:
        """Flag the kinds of which everything is known exactly: worlds were counted, or there is one only."""
        flags: Flags = (self.least == self.most).all(axis=1) & ~self.contradictory
        flags[list(self.beliefs)] = True
        return flags

    def highest_shares(self) -> NDArray[np.float64]:
        """Return shares[kind, value]: how likely each value is where `exact`, and elsewhere at most."""
        shares = np.minimum(self.most / self.sizes[:, None], 1 / np.maximum(self.alike, 1))
        for one, exact in self.beliefs.items():
            shares[one] = [float(share) for share in exact]
        return shares

    def flag_believed(self, limit: Fraction) -> Flags:
        """Flag the kinds for whom some value may be believed with more than `limit`, compared exactly."""
        above = (self.most * limit.denominator > limit.numerator * self.sizes[:, None]) & (
            limit.denominator > limit.numerator * self.alike
        )
        flags: Flags = above.any(axis=1) | self.contradictory
        for one, exact in self.beliefs.items():
            flags[one] = max(exact) > limit
        return flags


def _find_kinds(classes: Sequence[Codes | Longs], counts: Sequence[Longs]) -> tuple[Longs, Longs, Longs]:
    """Return the kind of each person, places[release, kind], the class there or -1, and the people of each kind.

    Rows of a class that show none of the people are further people, of the kind that is in this class alone.
    """
    releases, people = len(counts), np.stack([np.asarray(each, dtype=np.int64) for each in classes])
    strangers = []
    for at, (shown, held) in enumerate(zip(people, counts, strict=True)):
        spare = held.sum(axis=1) - np.bincount(shown[shown >= 0], minlength=len(held))
        # [stranger] in its class of this release, and in no other
        alone = np.full((releases, int(np.maximum(spare, 0).sum())), -1, dtype=np.int64)
        alone[at] = np.repeat(np.arange(len(held)), np.maximum(spare, 0))
        strangers.append(alone)
    places, kind, sizes = np.unique(
        np.concatenate([people, *strangers], axis=1), axis=1, return_inverse=True, return_counts=True
    )
    return kind.ravel()[: people.shape[1]], places, sizes.astype(np.int64)


def _bound_counts(places: Longs, sizes: Longs, counts: Sequence[Longs]) -> tuple[Longs, Longs]:
    """Return Fréchet's bounds: how many people of each kind have each value, at least and at most."""
    least = np.zeros((len(sizes), counts[0].shape[1]), dtype=np.int64)
    most = np.repeat(sizes[:, None], least.shape[1], axis=1)
    for shown, held in zip(places, counts, strict=True):
        most = np.where((shown >= 0)[:, None], np.minimum(most, held[shown]), most)
    while True:
        before = least.sum(), most.sum()
        # of a kind: what the other values take at least, and leave at least
        most = np.minimum(most, (sizes - least.sum(axis=1))[:, None] + least)
        least = np.maximum(least, (sizes - most.sum(axis=1))[:, None] + most)
        for shown, held in zip(places, counts, strict=True):
            # of a class and value: what the other kinds take at least, and leave at least
            there = np.flatnonzero(shown >= 0)
            taken, room = np.zeros_like(held), np.zeros_like(held)
            np.add.at(taken, shown[there], least[there])
            most[there] = np.minimum(most[there], (held - taken)[shown[there]] + least[there])
            np.add.at(room, shown[there], most[there])
            least[there] = np.maximum(least[there], (held - room)[shown[there]] + most[there])
        if before == (least.sum(), most.sum()) or (least > most).any():
            return least, most


def _bound_blocks(block: Longs, places: Longs, sizes: Longs, counts: Sequence[Longs]) -> tuple[Longs, Longs, Flags]:
    """Return Fréchet's bounds, and flags of the kinds of blocks that contradict themselves, which are set aside."""
    aside = np.zeros(len(block), dtype=bool)
    while True:
        held = [each.copy() for each in counts]
        for shown, each in zip(places, held, strict=True):
            each[shown[aside & (shown >= 0)]] = 0
        now = np.where(aside, 0, sizes)
        least, most = _bound_counts(places, now, held)
        wrong = (least > most).any(axis=1) | (most.sum(axis=1) < now) | (least.sum(axis=1) > now)
        if not wrong.any():
            return least, most, aside
        aside |= np.isin(block, block[wrong])


def _find_blocks(places: Longs, classes: Sequence[int]) -> Longs:
    """Return the block of each kind: kinds are in one if classes link them, directly or through others."""
    # [kind] the smallest kind that is known to be linked with it
    block = np.arange(places.shape[1])
    while True:
        before = block
        for shown, many in zip(places, classes, strict=True):
            there = shown >= 0
            first = np.full(many, places.shape[1])
            np.minimum.at(first, shown[there], block[there])
            block = np.where(there, first[shown], block)
        block = np.minimum(block, block[block])
        if np.array_equal(block, before):
            return block


def _flag_settled(block: Longs, least: Longs, most: Longs) -> Flags:
    """Flag the kinds of blocks in which the bounds leave nothing open."""
    return ~np.isin(block, block[(least < most).any(axis=1)])


def _small_blocks(block: Longs, done: Flags) -> Iterator[NDArray[np.intp]]:
    """Yield the kinds of each block that is not done, from the fewest kinds to the most."""
    left = np.flatnonzero(~done)
    order = left[np.argsort(block[left], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(block[order])) + 1) if len(order) else []
    yield from sorted(parts, key=len)


def _count_exchangeable(block: Longs, done: Flags, places: Longs, counts: Sequence[Longs]) -> Longs:
    """Return, for each kind and value, how many values have the same counts as this one in each class of the block.

    It is 1 for kinds that are done.
    """
    alike = np.ones((len(block), counts[0].shape[1]), dtype=np.int64)
    for kinds in _small_blocks(block, done):
        held = np.concatenate(
            [each[np.unique(shown[kinds][shown[kinds] >= 0])] for shown, each in zip(places, counts, strict=True)]
        )
        _, which, many = np.unique(held, axis=1, return_inverse=True, return_counts=True)
        alike[kinds] = many[which.ravel()]
    return alike


Place = tuple[int, int]
"""A release, and a class of it."""


def _count_worlds(
    kinds: NDArray[np.intp],
    places: Longs,
    sizes: Longs,
    least: Longs,
    most: Longs,
    counts: Sequence[Longs],
    steps: int,
) -> tuple[list[list[Fraction]], int] | None:
    """Count the worlds of a block; return each of its kinds' share of each value, and the steps it took.

    No shares if there is no world; None where it takes too many steps.
    """
    # values that somebody of the block can have; what else its classes show fits nobody
    values = np.flatnonzero(most[kinds].any(axis=0))
    where = [tuple((r, int(c)) for r, c in enumerate(places[:, one]) if c >= 0) for one in kinds]
    if len(values) > _VALUES_OF_A_BLOCK or len(kinds) > steps:
        return None
    held = {(r, c): tuple(counts[r][c, values].tolist()) for one in where for r, c in one}
    low, high = (bound[np.ix_(kinds, values)].tolist() for bound in (least, most))
    found = _walk_kinds(where, sizes[kinds].tolist(), low, high, held, steps)
    if found is None or not found[0]:
        return found
    shares = []
    for some in found[0]:
        whole = [Fraction(0)] * most.shape[1]
        for value, share in zip(values.tolist(), some, strict=True):
            whole[value] = share
        shares.append(whole)
    return shares, found[1]


def _walk_kinds(
    places: Sequence[tuple[Place, ...]],
    sizes: Sequence[int],
    least: Sequence[Sequence[int]],
    most: Sequence[Sequence[int]],
    held: Mapping[Place, tuple[int, ...]],
    steps: int,
) -> tuple[list[list[Fraction]], int] | None:
    """Count worlds kind after kind: a state is what the classes have left, a step gives people of a kind their values.

    Forwards it counts the worlds that lead to a state, backwards those that complete it.
    """
    order, at = _order_kinds(places), {place: number for number, place in enumerate(held)}
    first = tuple(held.values())
    # [kind in order] {state: worlds so far}, and every step from state to state with its ways and counts of values
    reached: list[dict[tuple[tuple[int, ...], ...], int]] = [{first: 1}]
    taken = []
    used = 0
    for one in order:
        here, now = [at[place] for place in places[one]], []
        after: dict[tuple[tuple[int, ...], ...], int] = {}
        for state, worlds in reached[-1].items():
            room = [min(each) for each in zip(most[one], *(state[c] for c in here), strict=True)]
            for given, ways in _share_out(sizes[one], least[one], room):
                used += 1
                if used > steps:
                    return None
                left = list(state)
                for c in here:
                    left[c] = tuple(a - b for a, b in zip(state[c], given, strict=True))
                then = tuple(left)
                after[then] = after.get(then, 0) + worlds * ways
                now.append((state, then, given, ways))
        reached.append(after)
        taken.append(now)
    total = sum(reached[-1].values())
    shares: list[list[Fraction]] = [[] for _ in places]
    ends = dict.fromkeys(reached[-1], 1)
    for one, before, now in zip(reversed(order), reversed(reached[:-1]), reversed(taken), strict=True):
        expected, further = [0] * len(least[one]), dict.fromkeys(before, 0)
        for state, then, given, ways in now:
            worlds = ways * ends[then]
            further[state] += worlds
            for value, many in enumerate(given):
                expected[value] += before[state] * worlds * many
        ends = further
        shares[one] = [Fraction(each, total * sizes[one]) for each in expected] if total else []
    return (shares if total else []), used


def _order_kinds(places: Sequence[tuple[Place, ...]]) -> list[int]:
    """Return the kinds in an order that settles classes early: who is in one class alone comes last of it."""
    alone = {one[0]: number for number, one in enumerate(places) if len(one) == 1}
    several = [number for number, one in enumerate(places) if len(one) > 1]
    waiting: dict[Place, int] = {}
    for number in several:
        for place in places[number]:
            waiting[place] = waiting.get(place, 0) + 1
    order = [number for place, number in alone.items() if place not in waiting]
    for number in several:
        order.append(number)
        for place in places[number]:
            waiting[place] -= 1
            if not waiting[place] and place in alone:
                order.append(alone[place])
    return order


def _share_out(people: int, least: Sequence[int], most: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield every way to give people values within bounds: the counts of the values, and how many worlds have them."""
    if not least:
        if not people:
            yield (), 1
        return
    rest = least[1:], most[1:]
    low, high = max(least[0], people - sum(rest[1])), min(most[0], people - sum(rest[0]))
    for many in range(low, high + 1):
        for given, ways in _share_out(people - many, *rest):
            yield (many, *given), ways * comb(people, many)


@dataclass(frozen=True)
class SeenClasses:
    """Who was in which class of each release, and what the classes showed: what worlds are weighed by."""

    values: tuple[str | None, ...]
    classes: tuple[Codes, ...] = ()
    """Class of each person in each release, -1 if absent; people who came later are in none."""
    counts: tuple[Longs, ...] = ()
    """counts[class, value] of each release."""

    def with_values(self, values: Sequence[str | None]) -> "SeenClasses":
        """Return the counts over other `values`, which must contain all known ones that occur."""
        place = {value: at for at, value in enumerate(values)}
        stay = [at for at, value in enumerate(self.values) if value in place]
        counts = []
        for each in self.counts:
            dense = np.zeros((len(each), len(values)), dtype=np.int64)
            dense[:, [place[self.values[at]] for at in stay]] = each[:, stay]
            counts.append(dense)
        return replace(self, values=tuple(values), counts=tuple(counts))

    def rename_values(self, names: Mapping[str, str]) -> "SeenClasses":
        """Return the same with some values renamed."""
        return replace(self, values=tuple(value and names.get(value, value) for value in self.values))

    def forget(self, people: NDArray[np.intp]) -> "SeenClasses":
        """Return the same, in which earlier rows of some people are somebody else's: they have another value now."""
        classes = []
        for each in self.classes:
            of = each.copy()
            of[people[people < len(of)]] = -1
            classes.append(of)
        return replace(self, classes=tuple(classes))

    def add_release(self, shown: Codes, counts: Longs) -> "SeenClasses":
        """Return the same with one more release: the class of each person, -1 if absent, and counts[class, value]."""
        return replace(self, classes=(*self.classes, shown.astype(np.int32)), counts=(*self.counts, counts))

    def flag_believed(self, limit: Fraction) -> tuple[Flags, Flags]:
        """Flag the people for whom some value may be believed with more than `limit`, and those bounded, not counted.

        Worlds are counted only where bounds do not do.
        """
        people = max(map(len, self.classes))
        classes = [np.append(each, np.full(people - len(each), -1, np.int32)) for each in self.classes]
        worlds = PossibleWorlds.of(classes, self.counts, count=False)
        if worlds.flag_believed(limit)[worlds.kind].any():
            worlds = PossibleWorlds.of(classes, self.counts)
        return worlds.flag_believed(limit)[worlds.kind], ~worlds.exact[worlds.kind]
