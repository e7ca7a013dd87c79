"""Small random tables to be partitioned, and Mondrian by its textbook definition on their rows.

Pure Python: lists and fractions, nothing of Shoal's cutting. `Table.condition` and `Table.axes` are the only bridge.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import naive
import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.hierarchy.taxonomy import Taxonomy, compile_taxonomy
from shoal.models.closeness import TCloseness
from shoal.models.k_anonymity import KAnonymity
from shoal.partition.axes import hierarchy_axis, ordered_axis, sort_axes
from shoal.partition.condition import Condition


@dataclass(frozen=True)
class Ordered:
    """Numbers, or texts in their order; None is null."""

    values: list
    importance: Fraction = Fraction(1)

    @cached_property
    def known(self):
        return sorted({value for value in self.values if value is not None})

    @property
    def categorical(self):
        return any(isinstance(value, str) for value in self.known) or not self.known

    def place(self, value):
        return self.known.index(value) if self.categorical else value

    def width(self, values):
        known = [self.place(value) for value in values if value is not None]
        if len(known) < len(values) and known:
            return float("inf")
        span = self.place(self.known[-1]) - self.place(self.known[0]) if self.known else 0
        return self.importance * Fraction(max(known) - min(known), span or 1) if known else Fraction(0)

    def mixed(self, values):
        return None in values and any(value is not None for value in values)

    def column(self, name):
        return encode(name, pa.array(self.values, pa.string() if self.categorical else pa.int64()))

    def axis(self, name):
        return ordered_axis(self.column(name), float(self.importance))


@dataclass(frozen=True)
class Along:
    """Values of a hierarchy: `attribute` is an Attribute of naive.py."""

    attribute: naive.Attribute
    importance: Fraction = Fraction(1)
    categorical = True

    @property
    def values(self):
        return self.attribute.values

    def level(self, values):
        """The lowest level at which they have one label; above the top where there is none."""
        return next((h for h in range(self.attribute.height + 1) if len(self.labels(values, h)) == 1), None)

    def labels(self, values, level):
        return {self.attribute.label(value, level) for value in values}

    def width(self, values):
        level = self.level(values)
        return self.importance * (1 if level is None else self.attribute.loss(values[0], level))

    def children(self, values):
        level = self.level(values)
        below = (self.attribute.height + 1 if level is None else level) - 1
        return [
            [i for i, value in enumerate(values) if self.attribute.label(value, below) == label]
            for label in self.labels(values, below)
        ]

    def column(self, name):
        return encode(name, pa.array(self.values, pa.string()))

    def axis(self, name):
        levels = [[level[leaf] for leaf in self.attribute.leaves] for level in self.attribute.levels]
        taxonomy = Taxonomy(self.attribute.leaves, levels, lambda i: f"leaf {i}")
        return hierarchy_axis(compile_taxonomy(self.column(name), taxonomy), float(self.importance))


@dataclass(frozen=True)
class Table:
    columns: dict
    sensitive: list
    promises: list

    @property
    def rows(self):
        return len(self.sensitive)

    def holds(self, rows):
        return bool(rows) and all(promise.holds([self.sensitive[row] for row in rows]) for promise in self.promises)

    @property
    def ordered(self):
        return all(isinstance(column, Ordered) for column in self.columns.values())

    def without_null(self):
        return all(None not in column.values for column in self.columns.values())

    def names(self):
        """Categorical before numeric, then fewer values, then by name (S4.1)."""
        return sorted(
            self.columns,
            key=lambda n: (not self.columns[n].categorical, len(set(self.columns[n].values)), n),
        )

    def copies(self):
        """The largest number of rows of one point."""
        points = zip(*(column.values for column in self.columns.values()), strict=True)
        return max(Counter(points).values())

    # the bridge to the product

    def axes(self):
        return sort_axes(column.axis(name) for name, column in self.columns.items())

    def condition(self, *, rows=False, order=None):
        """Items are classes of equal rows, or `rows`; `order` is another order of the rows."""
        order = list(range(self.rows)) if order is None else order
        ill = encode(naive.SENSITIVE, pa.array(self.sensitive, pa.string()))
        columns = {}
        for name, column in self.columns.items():
            encoded = column.column(name)
            columns[name] = (encoded.codes[order], encoded.size)
        count = FrequencySet.from_rows if rows else FrequencySet.count
        more = {} if rows else {"want_classes": True}
        items = count(columns, {naive.SENSITIVE: (ill.codes[order], ill.size)}, **more)
        labels = [*ill.texts.to_pylist(), *([None] if ill.has_null else [])]
        reference = {naive.SENSITIVE: np.bincount(ill.codes, minlength=ill.size)}
        reading = CountInterpretation({naive.SENSITIVE: labels}, reference=reference)
        return Condition(items, [promise.model for promise in self.promises], reading)

    def parts(self, found, condition, order=None):
        """The rows of each part."""
        order = list(range(self.rows)) if order is None else order
        classes = range(self.rows) if condition.items.classes is None else condition.items.classes
        parts = [[] for _ in range(found.count)]
        for row, one in zip(order, classes, strict=True):
            parts[found.part[one]].append(row)
        return parts


def allowable(table, sides):
    return len(sides) > 1 and all(table.holds(side) for side in sides)


def two_sides(rows, values, left):
    sides = ([], [])
    for row, value in zip(rows, values, strict=True):
        sides[not left(value)].append(row)
    return [side for side in sides if side]


def median(values):
    """The least value that half of the rows do not exceed."""
    return sorted(values)[(len(values) + 1) // 2 - 1]


def strict_cuts(table, rows, name):
    """The cuts that Mondrian tries on one attribute, in order."""
    column = table.columns[name]
    values = [column.values[row] for row in rows]
    if len(set(values)) == 1:
        return []
    if isinstance(column, Along):
        return [[[rows[i] for i in side] for side in column.children(values)]]
    if column.mixed(values):
        return [two_sides(rows, values, lambda value: value is not None)]
    middle = median(values)
    return [
        two_sides(rows, values, lambda value: value <= middle),
        two_sides(rows, values, lambda value: value < middle),
    ]


def any_cuts(table, rows, name):
    """Every cut of one attribute, not only at the median."""
    column = table.columns[name]
    values = [column.values[row] for row in rows]
    if isinstance(column, Along) or column.mixed(values):
        return strict_cuts(table, rows, name)
    return [two_sides(rows, values, lambda value, at=at: value <= at) for at in sorted(set(values))[:-1]]


def strict_mondrian(table):
    """The parts, as sets of rows."""
    done, waiting = set(), [list(range(table.rows))]
    while waiting:
        rows = waiting.pop()
        widest = sorted(
            table.names(),
            key=lambda n: -table.columns[n].width([table.columns[n].values[row] for row in rows]),
        )
        cuts = (sides for name in widest for sides in strict_cuts(table, rows, name))
        found = next((sides for sides in cuts if allowable(table, sides)), None)
        if found is None:
            done.add(frozenset(rows))
        else:
            waiting += found
    return done


def t_closeness(t, sensitive):
    """½ Σ|p - q| against the whole table."""
    whole = Counter(sensitive)

    def holds(values):
        part = Counter(values)
        far = sum(abs(Fraction(part[v], len(values)) - Fraction(whole[v], len(sensitive))) for v in whole)
        return far / 2 <= Fraction(str(t))

    return naive.Promise(TCloseness(t, "equal", naive.SENSITIVE), holds)


PATIENTS = {
    "age": [35, 35, 36, 37, 37, 38],
    "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
    "zip": [533449, 533441, 533449, 533448, 533441, 533449],
}
"""The table of the paper's figure 1."""
NUMBERS = [0, 1, 2, 3, 5, 8, 13, None]
TEXTS = ["p", "q", "r", None]


def column(dice, rows, *, ordered):
    importance = [Fraction(1), Fraction(1), Fraction(1, 2)][dice(3)]
    kind = dice(2 if ordered else 3)
    if kind == 2:
        return Along(naive.attribute(dice, rows, 4), importance)
    some = (NUMBERS, TEXTS)[kind]
    return Ordered(dice.column(some if dice(2) else some[:-1], rows), importance)


@st.composite
def tables(draw, promises="k", *, ordered=False, most=20):
    dice = naive.Dice(draw(st.binary(min_size=400, max_size=400)))
    rows = 1 + dice(most)
    columns = {name: column(dice, rows, ordered=ordered) for name in "abc"[: 1 + dice(3)]}
    sensitive = dice.column(["u", "v", "w"], rows)
    some = {
        "k": [naive.k_anonymity(1 + dice(4))],
        "l": [naive.k_anonymity(1 + dice(3)), naive.distinct_l(1 + dice(3))],
        "alpha": [naive.alpha_k([0.34, 0.5, 0.6, 0.75][dice(4)], 1 + dice(3))],
        "t": [t_closeness([0.1, 0.2, 0.3, 0.5][dice(4)], sensitive)],
    }
    return Table(columns, sensitive, some[promises])


def by_number(k, columns):
    """A table of given columns."""
    rows = len(next(iter(columns.values())))
    return Table({n: Ordered(values) for n, values in columns.items()}, ["u"] * rows, [naive.k_anonymity(k)])


def k_of(table):
    return next(p.model.k for p in table.promises if isinstance(p.model, KAnonymity))
