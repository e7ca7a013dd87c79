"""What an attacker believes who has all releases, by counting possible worlds; it shares no code with the package.

The attacker knows everybody's quasi-identifiers, so who is in which class of which release, and how many rows of each
class show nobody. A world gives everybody, and every row that shows nobody, a value, such that each class holds exactly
the values that it shows. All worlds are equally likely. Where a value changed, the attacker knows when: everybody has
one unknown value for each spell. Releases are those of `naive_republish.SeenRelease`.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product


def unknowns(releases, spells=None):
    """The (release, class) places of everybody's unknown values, by (person, spell), and of rows that show nobody."""
    places = {}
    for number, release in enumerate(releases):
        for who, where in release.of.items():
            spell = spells[number][who] if spells else 0
            places.setdefault((who, spell), []).append((number, where))
        for where, many in release.counterfeits.items():
            for nth in range(many):
                places["nobody", number, where, nth] = [(number, where)]
    return places


def list_worlds(releases, spells=None):
    """Every world, by trying all assignments: for tiny histories only."""
    places = unknowns(releases, spells)
    values = sorted({value for release in releases for _, value in release.rows}, key=str)
    for given in product(values, repeat=len(places)):
        seen = [{} for _ in releases]
        for value, where in zip(given, places.values(), strict=True):
            for number, of in where:
                seen[number].setdefault(of, Counter())[value] += 1
        if all(one == release.held for one, release in zip(seen, releases, strict=True)):
            yield dict(zip(places, given, strict=True))


def _blocks(places):
    """The unknowns that are linked by common classes, block by block."""
    left = dict(places)
    while left:
        one = next(iter(left))
        block, reached = {one: left.pop(one)}, set(places[one])
        grown = True
        while grown:
            near = {who: where for who, where in left.items() if reached & set(where)}
            for who, where in near.items():
                block[who] = left.pop(who)
                reached |= set(where)
            grown = bool(near)
        yield block


def _count_worlds(kinds, room):
    """How many worlds there are: `kinds` are the places of each unknown, `room` the values of each place.

    A place has as many rows as unknowns, so that what fits leaves nothing over.
    """
    where = sorted(room)
    at = {place: number for number, place in enumerate(where)}
    values = sorted({value for held in room.values() for value in held}, key=str)

    @cache
    def ways(number, left):
        if number == len(kinds):
            return 1
        total = 0
        for code in range(len(values)):
            if all(left[at[place]][code] > 0 for place in kinds[number]):
                after = list(left)
                for place in kinds[number]:
                    held = list(after[at[place]])
                    held[code] -= 1
                    after[at[place]] = tuple(held)
                total += ways(number + 1, tuple(after))
        return total

    return ways(0, tuple(tuple(room[place][value] for value in values) for place in where))


def posteriors(releases, spells=None):
    """(worlds of its block, {value: share of them}) of every unknown; no shares where there is no world."""
    room = {(n, where): held for n, release in enumerate(releases) for where, held in release.held.items()}
    found = {}
    for block in _blocks(unknowns(releases, spells)):
        here = {place: room[place] for where in block.values() for place in where}
        kinds = {}
        for who, where in block.items():
            kinds.setdefault(tuple(where), []).append(who)
        for kind, people in kinds.items():
            rest = sorted([tuple(where) for where in block.values()])
            rest.remove(kind)
            ways = {}
            for value in set.intersection(*(set(here[place]) for place in kind)):
                less = {place: held - Counter({value: place in kind}) for place, held in here.items()}
                ways[value] = _count_worlds(rest, less)
            worlds = sum(ways.values())
            shares = {value: Fraction(many, worlds) for value, many in ways.items() if many}
            for who in people:
                found[who] = worlds, shares
    return found
