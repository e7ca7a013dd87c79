"""Possible worlds, listed one by one: what the attacks that reason about them are compared with.

Pure Python: nothing of Shoal is used, neither its counting nor its searching.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import exp


def permuted_marginals(logs, values):
    """Of all orders of the values, weighted by their likelihood: how likely each member has each value."""
    found = [[0.0] * len(logs[0]) for _ in logs]
    for order in permutations(values):
        weight = exp(sum(logs[member][value] for member, value in enumerate(order)))
        for member, value in enumerate(order):
            found[member][value] += weight
    return [[each / sum(row) for each in row] for row in found]


def summed_marginals(weights, ones):
    """Of all ways to give value 1 to so many members, weighted by the product of odds: each member's probability of it.

    `weights` are the odds of 1 against 0; member by member, the others' ways are summed by their number of ones.
    """

    def ways(odds):
        sums = [1.0]
        for each in odds:
            sums = [a + each * b for a, b in zip([*sums, 0.0], [0.0, *sums], strict=True)]
        return sums

    total = ways(weights)[ones]
    return [odds * ways(weights[:i] + weights[i + 1 :])[ones - 1] / total for i, odds in enumerate(weights)]


def counted_marginals(logs, counts):
    """Of all ways to hand out so many of each value, weighted by their likelihood: how likely each member has each.

    `before[i]` sums the ways in which the first i members use up some counts, `after[i]` those of the others.
    """

    def sums(rows):
        found = [{tuple(0 for _ in counts): 1.0}]
        for row in rows:
            ahead = defaultdict(float)
            for used, weight in found[-1].items():
                for value, many in enumerate(counts):
                    if used[value] < many:
                        ahead[(*used[:value], used[value] + 1, *used[value + 1 :])] += weight * exp(row[value])
            largest = max(ahead.values())
            found.append({used: weight / largest for used, weight in ahead.items()})
        return found

    before, after = sums(logs), sums(logs[::-1])[::-1]
    out = []
    for i, row in enumerate(logs):
        shares = [0.0 for _ in counts]
        for used, weight in before[i].items():
            for value in range(len(counts)):
                rest = tuple(c - u - (at == value) for at, (c, u) in enumerate(zip(counts, used, strict=True)))
                shares[value] += weight * exp(row[value]) * after[i + 1].get(rest, 0.0)
        out.append([share / sum(shares) for share in shares])
    return out


def credibilities(people, values, run, wanted):
    """Of all worlds, each person with any value, in which `run` gives the wanted release: how often each has each.

    Returns how many worlds do so, and for each person the share of them by value.
    """
    kept = [world for world in product(values, repeat=people) if run(world) == wanted]
    return len(kept), [
        {value: Fraction(many, len(kept)) for value, many in Counter(column).items()}
        for column in zip(*kept, strict=True)
    ]


@dataclass(frozen=True)
class Setting:
    """A small problem of full-domain generalisation: everything that decides about a release."""

    levels: tuple
    """levels[attribute][level][leaf]: the leaves under the label of a leaf, as a sorted text; level 0 is the leaf."""
    rows: int
    k: int
    l: int
    """Distinct sensitive values of every class; 1 where there is no sensitive attribute."""
    limit: int
    """Most rows that may be suppressed."""
    shown: bool
    """Whether suppressed rows are shown as `*`; else they are dropped."""
    least: tuple
    """The lowest allowed level of each attribute."""
    by_height: bool
    """Whether the lowest height is looked for, as by Samarati; else the least loss."""

    @classmethod
    def draw(cls, random):
        levels = tuple(draw_levels(random) for _ in range(random.choice([1, 1, 2])))
        faces = 1
        for each in levels:
            faces *= len(each[0])
        l = 2 if random.random() < 0.25 else 1
        most = 5 if faces * l <= 4 else 4 if faces * l <= 9 else 3
        rows, shown = random.randint(2, most), random.random() < 0.5
        limit = 0 if l > 1 else min(random.choice([0, 0, 1, 2]), rows - shown)
        least = tuple(random.choice([0, 0, 0, min(1, len(each) - 1)]) for each in levels)
        return cls(levels, rows, random.choice([2, 3]), l, limit, shown, least, random.random() < 0.3)

    def originals(self):
        """Every table of these rows, in no order: a leaf for each attribute, and a sensitive value."""
        leaves = [sorted(each[0]) for each in self.levels]
        return combinations_with_replacement(list(product(*leaves, "uv" if self.l > 1 else "-")), self.rows)

    def release(self, original):
        """The release of a table: the node, and the rows it keeps; None where nothing complies."""
        best = None
        for node in product(*(range(low, len(each)) for low, each in zip(self.least, self.levels, strict=True))):
            classes = defaultdict(list)
            for row in original:
                classes[self.face(row, node)].append(row)
            kept = {face: rows for face, rows in classes.items() if self.complies(rows)}
            left = [row for face, rows in classes.items() if face not in kept for row in rows]
            if len(left) > self.limit or (self.shown and left and not self.complies(left)):
                continue
            cost = sum(
                Fraction(len(label) - 1, len(each[0]) - 1)
                for face, rows in kept.items()
                for _ in rows
                for label, each in zip(face, self.levels, strict=True)
            ) + len(left) * len(node)
            order = (sum(node), cost, node) if self.by_height else (cost, sum(node), node)
            if best is None or order < best[0]:
                best = order, node, kept, left
        return None if best is None else best[1:]

    def face(self, row, node):
        return tuple(each[level][leaf] for each, level, leaf in zip(self.levels, node, row, strict=False))

    def complies(self, rows):
        return len(rows) >= self.k and len({row[-1] for row in rows}) >= self.l

    def releases(self):
        """Every release, as sorted rows of labels and a sensitive value, with the originals that give it.

        Of each original, the rows behind each face that is not suppressed.
        """
        found = defaultdict(list)
        for original in self.originals():
            made = self.release(original)
            if made is not None:
                _, kept, left = made
                stars = tuple("*" for _ in self.levels)
                tops = ["".join(sorted(each[0])) for each in self.levels]
                shown = [(*map(_star, face, tops), row[-1]) for face, rows in kept.items() for row in rows]
                shown += [(*stars, row[-1]) for row in left] if self.shown else []
                behind = {tuple(map(_star, face, tops)): rows for face, rows in kept.items()}
                found[tuple(sorted(shown))].append(behind)
        return found


def _star(label, top):
    return "*" if label == top else label


def draw_levels(random):
    """Levels above some leaves, each a union of labels of the one below, up to a single label."""
    leaves = "abcd"[: random.choice([2, 2, 3, 4])]
    levels = [{leaf: leaf for leaf in leaves}]
    while len(set(levels[-1].values())) > 1:
        labels = sorted(set(levels[-1].values()))
        if len(labels) > 2 and random.random() < 0.7:
            group = {label: "xy"[random.random() < 0.5] for label in labels}
            group[labels[0]], group[labels[-1]] = "x", "y"
        else:
            group = dict.fromkeys(labels, "x")
        merged = defaultdict(str)
        for label in labels:
            merged[group[label]] = "".join(sorted(merged[group[label]] + label))
        levels.append({leaf: merged[group[label]] for leaf, label in levels[-1].items()})
    return tuple(levels)


def most_cells_at_once(size, children, possible):
    """Of all finer tables of a class that are true in every possible world: the most cells that one makes finer.

    Members have a child of each attribute, numbered from 0; `possible` judges, for one attribute, the children of all
    members. A finer table names for each row a child or nothing, of each attribute; it is true in a world if rows and
    members can be matched.
    """
    columns = [[way for way in product(range(r), repeat=size) if possible(way)] for r in children]
    worlds = {tuple(sorted(zip(*chosen, strict=True))) for chosen in product(*columns)}
    rows = list(product(*([None, *range(r)] for r in children)))
    tables = sorted(combinations_with_replacement(rows, size), key=_named, reverse=True)
    return next(_named(table) for table in tables if all(_is_true(table, world) for world in worlds))


def _named(table):
    return sum(cell is not None for row in table for cell in row)


def _is_true(table, world):
    """Whether every row can stand for a member of its own."""
    return any(all(map(_fits, table, order)) for order in permutations(world))


def _fits(row, member):
    return all(cell in (None, child) for cell, child in zip(row, member, strict=True))
