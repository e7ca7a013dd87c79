"""What an attacker learns from a history of releases, by brute force; it shares no code with what makes them.

A release is a pair: the rows as published, each (class, sensitive value), and for each person who is in it their class
(the worst case: QIs are known). `spells` say how often a person's value had changed by then, where the attacker knows.
"""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class SeenRelease:
    """One release, as the attacker sees it."""

    rows: list
    """(class, value) of each published row."""
    of: dict
    """Person to class."""
    counterfeits: Counter = field(default_factory=Counter)
    """How many rows of a class show nobody, as published beside the table."""

    @property
    def held(self):
        found = {}
        for where, value in self.rows:
            found.setdefault(where, Counter())[value] += 1
        return found


def intersected_values(releases):
    """For each person the values that all their classes share, starting afresh where none is left."""
    left = {}
    for release in releases:
        held = release.held
        for person, where in release.of.items():
            now = set(held[where])
            left[person] = (left.get(person, now) & now) or now
    return left


def possible_values(releases, spells, person, values, wanted):
    """At least `wanted` values that a person has in some world that gives these releases; else all such values.

    A world gives each spell of each person a value, such that each class shows the values of its people.
    """
    unknown = {}
    for number, release in enumerate(releases):
        for who, where in release.of.items():
            unknown.setdefault((who, spells[number][who]), []).append((number, where))
    last = max(spell for who, spell in unknown if who == person)
    found = set()
    for value in values:
        if _world(releases, unknown, (person, last), value):
            found.add(value)
        if len(found) >= wanted:
            break
    return found


def _world(releases, unknown, first, value):
    room = [release.held for release in releases]
    near = sorted(unknown, key=lambda one: (one != first, not set(unknown[one]) & set(unknown[first]), str(one)))

    def fits(at):
        if at == len(near):
            return True
        places = unknown[near[at]]
        options = [value] if near[at] == first else sorted(set.intersection(*(set(+room[n][w]) for n, w in places)))
        for option in options:
            if all(room[n][w][option] > 0 for n, w in places):
                for n, w in places:
                    room[n][w][option] -= 1
                if fits(at + 1):
                    return True
                for n, w in places:
                    room[n][w][option] += 1
        return False

    return fits(0)
