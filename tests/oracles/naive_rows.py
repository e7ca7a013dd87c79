"""The least loss of any partition of the rows of a tiny table: equal rows may be apart, every class keeps a promise.

Pure Python: subsets of rows as bits, and fractions; nothing of Shoal.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf

FLAT = {"a": ("a", "*"), "b": ("b", "*"), "c": ("c", "*")}
PAIRS = {"a": ("a", "ab", "*"), "b": ("b", "ab", "*"), "c": ("c", "cd", "*"), "d": ("d", "cd", "*")}
CHAIN = {
    "a": ("a", "ab", "abc", "*"),
    "b": ("b", "ab", "abc", "*"),
    "c": ("c", "c", "abc", "*"),
    "d": ("d", "d", "d", "*"),
}
SHAPES = (FLAT, PAIRS, CHAIN)
"""Hierarchies: the labels of each value, from itself up to `*`."""


@dataclass(frozen=True)
class TinyTable:
    """Rows of quasi-identifiers, the hierarchy of each of these, and a sensitive value per row."""

    shapes: tuple[dict[str, tuple[str, ...]], ...]
    rows: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]

    def level(self, i, rows):
        """The lowest level at which the rows share a label of attribute i."""
        return next(h for h in range(9) if len({self.shapes[i][self.rows[row][i]][h] for row in rows}) == 1)

    def lost(self, i, level, value):
        """(leaves under the label - 1) / (leaves - 1)"""
        shape = self.shapes[i]
        under = sum(labels[level] == shape[value][level] for labels in shape.values())
        return Fraction(under - 1, len(shape) - 1)

    def cost(self, rows):
        """The loss of all rows of a class together: the mean over the attributes, times the rows."""
        width = len(self.shapes)
        each = sum(self.lost(i, self.level(i, rows), self.rows[rows[0]][i]) for i in range(width))
        return len(rows) * each / width


def draw_table(random, most):
    """A table of at most `most` rows with two or three quasi-identifiers."""
    shapes = tuple(random.choice(SHAPES) for _ in range(random.choice([2, 3])))
    count = random.randint(4, most)
    rows = tuple(tuple(random.choice(list(shape)) for shape in shapes) for _ in range(count))
    return TinyTable(shapes, rows, tuple(random.choice("uuvvw") for _ in range(count)))


def least_loss(table, holds):
    """The mean loss of a row in the best partition into classes whose sensitive values keep the promise; None: none."""
    count = len(table.rows)

    @cache
    def cost(chosen):
        rows = [row for row in range(count) if chosen >> row & 1]
        return table.cost(rows) if holds([table.sensitive[row] for row in rows]) else None

    @cache
    def least(left):
        if not left:
            return Fraction(0)
        first, best = left & -left, inf
        others = part = left ^ first
        while True:  # every class that holds the first row that is left
            here = cost(first | part)
            if here is not None:
                best = min(best, here + least(others ^ part))
            if not part:
                return best
            part = (part - 1) & others

    found = least((1 << count) - 1)
    return None if found == inf else found / count
