"""The measures of a release by their definitions, cell by cell: pure Python, nothing of Shoal's counting."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log2, prod, sqrt


@dataclass(frozen=True)
class Cell:
    """A value and what is shown of it."""

    value: object
    label: object
    covers: frozenset
    """The values that the label may stand for, including null."""
    leaves: int
    loss: Fraction
    lift: Fraction | None = None
    number: float | None = None
    """What is shown in place of a number."""


@dataclass(frozen=True)
class Attribute:
    """Everything about one quasi-identifier; `cells` row by row."""

    cells: list[Cell]
    domain: frozenset
    size: int
    weight: Fraction = Fraction(1)

    def starred(self, out):
        """The same with `*` in the rows that are left out."""
        numbers = [cell.value for cell in self.cells if isinstance(cell.value, int)]
        middle = (min(numbers) + max(numbers)) / 2 if numbers else None
        star = {"label": "*", "covers": self.domain, "leaves": self.size, "number": middle}
        cells = [
            Cell(cell.value, loss=Fraction(1), lift=Fraction(1), **star) if row in out else cell
            for row, cell in enumerate(self.cells)
        ]
        return Attribute(cells, self.domain, self.size, self.weight)


@dataclass(frozen=True)
class Table:
    attributes: dict[str, Attribute]
    out: frozenset[int]
    classes: list[list[int]]
    """Rows of each class, suppressed or not."""
    sensitive: dict[str, list]
    k: int = 1

    @property
    def shown(self):
        return {name: attribute.starred(self.out) for name, attribute in self.attributes.items()}

    @property
    def rows(self):
        return sum(map(len, self.classes))

    @property
    def kept(self):
        return [rows for rows in self.classes if rows[0] not in self.out]


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


def weighted(table, costs):
    """Attributes by their importance."""
    weights = {name: attribute.weight for name, attribute in table.attributes.items()}
    weights = weights if sum(weights.values()) else dict.fromkeys(weights, 1)
    return float(sum(weights[name] * costs[name] for name in weights) / sum(weights.values()))


def losses(table):
    return {name: mean(cell.loss for cell in each.cells) for name, each in table.shown.items()}


def leaf_losses(table):
    return {n: sum(Fraction(c.leaves - 1, each.size) for c in each.cells) for n, each in table.shown.items()}


def precs(table):
    return {name: 1 - mean(cell.lift for cell in each.cells) for name, each in table.shown.items()}


def full_domain(table):
    kept = {n: {c.lift for r, c in enumerate(a.cells) if r not in table.out} for n, a in table.attributes.items()}
    return 1 - mean(lifts.pop() for lifts in kept.values()) if all(len(x) == 1 for x in kept.values()) else None


def bits(attribute):
    """-log2(f(value) / f(label)), f counted in the original."""
    values = Counter(cell.value for cell in attribute.cells)
    return sum(log2(sum(values[v] for v in cell.covers) / values[cell.value]) for cell in attribute.cells)


def entropies(table):
    return {name: bits(each) for name, each in table.shown.items()}


def most_entropies(table):
    return {name: bits(each.starred(range(table.rows))) for name, each in table.attributes.items()}


def points(table):
    return list(zip(*([cell.value for cell in each.cells] for each in table.attributes.values()), strict=True))


def lines(table):
    return list(zip(*(each.cells for each in table.shown.values()), strict=True))


def volume(line):
    return prod(len(cell.covers) for cell in line)


def kl(table):
    """Divergence from what the classes that hold a point say; suppressed rows may be any point."""
    n, every = table.rows, points(table)
    domain = prod(len(each.domain) for each in table.attributes.values())
    held = {}
    for rows in table.kept:
        for point in {every[row] for row in rows}:
            held[point] = held.get(point, 0) + len(rows) / n / volume(lines(table)[rows[0]])
    total = 0
    for point, count in Counter(every).items():
        total += count / n * log2(count / n / (held.get(point, 0) + len(table.out) / n / domain))
    return total


def cramers_v(one, other):
    both, left, right = Counter(zip(one, other, strict=True)), Counter(one), Counter(other)
    if min(len(left), len(right)) < 2:
        return None
    n = len(one)
    chi = sum((both[a, b] - left[a] * right[b] / n) ** 2 / (left[a] * right[b] / n) for a in left for b in right)
    return sqrt(chi / n / (min(len(left), len(right)) - 1))


def contingency(table):
    kept = [row for row in range(table.rows) if row not in table.out]
    before = {n: [c.value for c in a.cells] for n, a in table.attributes.items()}
    after = {n: [a.cells[row].label for row in kept] for n, a in table.attributes.items()}
    pairs = [(before[a], before[b], after[a], after[b]) for a, b in combinations(before, 2)]
    for values in table.sensitive.values():
        pairs += [(before[n], values, after[n], [values[row] for row in kept]) for n in before]
    changes = []
    for a, b, c, d in pairs:
        if (v := cramers_v(a, b)) is not None:
            changes.append(abs(v - (cramers_v(c, d) or 0)))
    return mean(changes) if changes else None


def numeric(table):
    return [n for n, a in table.attributes.items() if any(isinstance(c.value, int) for c in a.cells)]


def known(attribute):
    return [cell for cell in attribute.cells if cell.value is not None]


def sse(table):
    return {n: sum((c.value - c.number) ** 2 for c in known(table.shown[n])) for n in numeric(table)}


def sse_shares(table):
    shares = {}
    for name, error in sse(table).items():
        values = [Fraction(cell.value) for cell in known(table.attributes[name])]
        if total := sum((value - mean(values)) ** 2 for value in values):
            shares[name] = error / float(total)
    return shares


def pearson(one, other):
    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    if min(len({a for a, _ in both}), len({b for _, b in both})) < 2:
        return None
    x, y = mean(a for a, _ in both), mean(b for _, b in both)
    up = sum((a - x) * (b - y) for a, b in both)
    return up / sqrt(sum((a - x) ** 2 for a, _ in both) * sum((b - y) ** 2 for _, b in both))


def correlation(table):
    changes = []
    cells = {name: table.attributes[name].cells for name in numeric(table)}
    kept = [row for row in range(table.rows) if row not in table.out]
    for a, b in combinations(cells, 2):
        before = pearson([c.value for c in cells[a]], [c.value for c in cells[b]])
        if before is not None:
            after = pearson([cells[a][row].number for row in kept], [cells[b][row].number for row in kept])
            changes.append(abs(before - (after or 0)))
    return mean(changes) if changes else None


def all_measures(table):
    """Every measure of the table, by name."""
    loss, n = losses(table), table.rows
    entropy, most = entropies(table), most_entropies(table)
    lifted = all(cell.lift is not None for each in table.attributes.values() for cell in each.cells)
    return {
        "loss": weighted(table, loss),
        "ncp": sum(loss.values()),
        "gcp": mean(loss.values()),
        "granularity": 1 - mean(loss.values()),
        "leaf-loss": weighted(table, leaf_losses(table)),
        "leaf-loss-mean": weighted(table, leaf_losses(table)) / n,
        "prec": weighted(table, precs(table)) if lifted else None,
        "prec-full-domain": full_domain(table) if lifted else None,
        "discernibility": sum(len(c) ** 2 for c in table.kept) + n * len(table.out),
        "discernibility-star": sum(len(c) ** 2 for c in table.classes),
        "average-class": n / (len(table.kept) + bool(table.out)),
        "c-avg": (n - len(table.out)) / len(table.kept) / table.k if table.kept else None,
        "missing-cells": mean(mean(cell.label == "*" for cell in each.cells) for each in table.shown.values()),
        "non-uniform-entropy": sum(entropy.values()),
        "non-uniform-entropy-share": sum(entropy.values()) / sum(most.values()) if sum(most.values()) else 0,
        "kl-divergence": kl(table),
        "ambiguity": mean(volume(line) for line in lines(table)),
        "ambiguity-log2": mean(log2(volume(line)) for line in lines(table)),
        "sse": None,
        "sse-share": mean(sse_shares(table).values()) if sse_shares(table) else None,
        "correlation-change": correlation(table),
        "contingency-change": contingency(table),
        "class-sizes": None,
    }
