"""Small random tables with random hierarchies, and the textbook definitions on their rows.

Pure Python: dictionaries and fractions, nothing of Shoal's counting, searching or scoring. `Instance.before` and its
like are the only bridge to the product.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import exp, floor, lcm, log1p, prod

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from shoal.codes import encode
from shoal.frequency import FrequencySet
from shoal.hierarchy import Hierarchy, Taxonomy, compile_taxonomy
from shoal.lattice import Lattice
from shoal.models import AlphaK, DistinctLDiversity, KAnonymity
from shoal.release import Before

MOST_NODES = 60
SENSITIVE = "ill"


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier: its values, for each level above them the label of each leaf, and what the policy says."""

    leaves: list[str]
    levels: list[dict[str, str]]
    values: list[str | None]
    low: int
    high: int
    importance: Fraction | None

    @property
    def height(self):
        return len(self.levels)

    def label(self, value, level):
        """Null is a value of its own until all values are one (design 7)."""
        if level == 0:
            return value
        labels = self.levels[level - 1]
        if value is None:
            one = set(labels.values())
            return next(iter(one)) if level == self.height and len(one) == 1 else None
        return labels[value]

    def loss(self, value, level):
        """(leaves under the label - 1) / (leaves - 1); null below the top is one leaf (design 8)."""
        if len(self.leaves) == 1:
            return Fraction(0)
        label = self.label(value, level)
        if level == 0 or label is None:
            return Fraction(0)
        under = sum(other == label for other in self.levels[level - 1].values())
        return Fraction(under - 1, len(self.leaves) - 1)

    def lifted(self, value, level):
        return Fraction(level, self.height) if self.height else Fraction(0)


@dataclass(frozen=True)
class Promise:
    """A model of the product and its definition on the sensitive values of one class."""

    model: object
    holds: Callable[[list[str | None]], bool] = field(repr=False)


def k_anonymity(k):
    return Promise(KAnonymity(k), lambda values: len(values) >= k)


def distinct_l(l):
    return Promise(DistinctLDiversity(l, SENSITIVE), lambda values: len(set(values) - {None}) >= l)


def alpha_k(alpha, k):
    def holds(values):
        known = Counter(value for value in values if value is not None)
        limits = alpha if isinstance(alpha, dict) else dict.fromkeys(known, alpha)
        return len(values) >= k and all(
            Fraction(count, known.total()) <= Fraction(str(limits.get(value, 1))) for value, count in known.items()
        )

    return Promise(AlphaK(alpha, k, SENSITIVE), holds)


@dataclass(frozen=True)
class Outcome:
    """A node of the lattice, by its rows."""

    node: tuple[int, ...]
    classes: list[list[int]]
    """Rows of each class."""
    suppressed: frozenset[int]
    ok: bool

    @property
    def kept(self):
        return [rows for rows in self.classes if rows[0] not in self.suppressed]


@dataclass(frozen=True)
class Instance:
    attributes: dict[str, Attribute]
    sensitive: list[str | None]
    promises: list[Promise]
    limit: int
    show: bool = False
    share: str = "0"

    @property
    def names(self):
        return sorted(self.attributes)

    @property
    def rows(self):
        return len(self.sensitive)

    def nodes(self):
        return product(*(range(self.attributes[n].low, self.attributes[n].high + 1) for n in self.names))

    def outcome(self, node):
        groups = {}
        for row in range(self.rows):
            key = tuple(
                self.attributes[name].label(self.attributes[name].values[row], level)
                for name, level in zip(self.names, node, strict=True)
            )
            groups.setdefault(key, []).append(row)
        failing = [rows for rows in groups.values() if not self._holds(rows)]
        suppressed = frozenset(row for rows in failing for row in rows)
        ok = len(suppressed) <= self.limit and len(suppressed) < self.rows
        if self.show and suppressed:  # they stay as one class, which must itself comply (design 2)
            ok = ok and self._holds(sorted(suppressed))
        return Outcome(tuple(node), list(groups.values()), suppressed, ok)

    def _holds(self, rows):
        return all(promise.holds([self.sensitive[row] for row in rows]) for promise in self.promises)

    @property
    def weights(self):
        given = [self.attributes[name].importance for name in self.names]
        given = [Fraction(1) if weight is None else weight for weight in given]
        return given if sum(given) else [Fraction(1)] * len(given)

    def costs(self, outcome, cost):
        """Per attribute, the mean cost of a row; a suppressed row costs 1."""
        return [
            sum(
                Fraction(1)
                if row in outcome.suppressed
                else cost(self.attributes[name])(self.attributes[name].values[row], level)
                for row in range(self.rows)
            )
            / self.rows
            for name, level in zip(self.names, outcome.node, strict=True)
        ]

    # the bridge to the product

    @property
    def models(self):
        return [promise.model for promise in self.promises]

    def columns(self):
        return {name: pa.array(self.attributes[name].values, pa.string()) for name in self.names}

    def hierarchy(self, column):
        attribute = self.attributes[column.name]
        levels = [[level[leaf] for leaf in attribute.leaves] for level in attribute.levels]
        return compile_taxonomy(column, Taxonomy(attribute.leaves, levels, lambda i: f"leaf {i}"))

    def before(self):
        columns = [encode(name, array) for name, array in self.columns().items()]
        sensitive = encode(SENSITIVE, pa.array(self.sensitive, pa.string()))
        classes = FrequencySet.count(
            {column.name: (column.codes, column.size) for column in columns},
            {SENSITIVE: (sensitive.codes, sensitive.size)},
            want_classes=True,
        )
        importance = {n: float(a.importance) for n, a in self.attributes.items() if a.importance is not None}
        return Before(classes, tuple(self.hierarchy(column) for column in columns), importance)

    @property
    def labels(self):
        shown = sorted(set(self.sensitive) - {None})
        return {SENSITIVE: [*shown, *([None] if None in self.sensitive else [])]}

    def lattice(self):
        chosen = [self.attributes[name] for name in self.names]
        return Lattice(tuple(self.names), tuple(a.low for a in chosen), tuple(a.high for a in chosen))


def _loss(instance, outcome):
    values = instance.costs(outcome, lambda attribute: attribute.loss)
    return sum(w * v for w, v in zip(instance.weights, values, strict=True)) / sum(instance.weights)


def _precision_loss(instance, outcome):
    values = instance.costs(outcome, lambda attribute: attribute.lifted)
    return sum(w * v for w, v in zip(instance.weights, values, strict=True)) / sum(instance.weights)


def _geometric(instance, outcome):
    """Π(1 + v)^w without the last root: a fraction that sorts as the metric does."""
    values = instance.costs(outcome, lambda attribute: attribute.loss)
    whole = lcm(*(weight.denominator for weight in instance.weights))
    return prod((1 + v) ** int(w * whole) for w, v in zip(instance.weights, values, strict=True))


def _discernibility(instance, outcome):
    kept = sum(len(rows) ** 2 for rows in outcome.kept)
    return Fraction(kept + instance.rows * len(outcome.suppressed))


def _average_class(instance, outcome):
    return Fraction(instance.rows, len(outcome.kept) + bool(outcome.suppressed))


def _height(instance, outcome):
    return Fraction(sum(outcome.node))


EXACT = {
    "loss": _loss,
    "loss-geometric": _geometric,
    "precision-loss": _precision_loss,
    "discernibility": _discernibility,
    "average-class": _average_class,
    "height": _height,
}
"""Each metric as a fraction, or as one that sorts alike."""


def value(metric, instance, outcome):
    """The metric itself, as a float."""
    if metric != "loss-geometric":
        return float(EXACT[metric](instance, outcome))
    values = instance.costs(outcome, lambda attribute: attribute.loss)
    total = sum(instance.weights)
    parts = [float(w / total) * log1p(float(v)) for w, v in zip(instance.weights, values, strict=True)]
    return exp(sum(parts)) - 1


def best(metric, instance):
    """The complying node of least score; ties to the lower one, then in the order of the attributes' names."""
    complying = [outcome for outcome in map(instance.outcome, instance.nodes()) if outcome.ok]
    return min(
        complying,
        key=lambda outcome: (EXACT[metric](instance, outcome), sum(outcome.node), outcome.node),
        default=None,
    )


@st.composite
def attributes(draw, rows, room):
    """An attribute whose hierarchy has at most `room` levels."""
    leaves = list("abcde"[: draw(st.integers(1, 5))])
    height = draw(st.integers(0, min(3, room - 1)))
    group, levels = list(range(len(leaves))), []
    for h in range(1, height + 1):
        joined = draw(st.lists(st.integers(0, 3), min_size=5, max_size=5))
        group = [joined[g] for g in group]  # nested by construction: only whole groups move
        levels.append({leaf: f"{h}:{g}" for leaf, g in zip(leaves, group, strict=True)})
    if levels and draw(st.integers(0, 3)):
        levels[-1] = dict.fromkeys(leaves, "*")
    some = leaves if draw(st.booleans()) else [*leaves, None]
    values = draw(st.lists(st.sampled_from(some), min_size=rows, max_size=rows))
    low = draw(st.integers(0, height)) if draw(st.integers(0, 4)) == 0 else 0
    high = draw(st.integers(low, height)) if draw(st.integers(0, 4)) == 0 else height
    importance = draw(st.sampled_from([None, None, None, Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(0)]))
    return Attribute(leaves, levels, values, low, high, importance)


ALPHAS = st.sampled_from([0.25, 0.34, 0.5, 0.6, 0.75, {"u": 0.5}, {"u": 0.4, "v": 0.7}])
NEVER = st.just(False)
PROMISES = st.one_of(
    st.builds(lambda k: [k_anonymity(k)], st.integers(1, 4)),
    st.builds(lambda k, l: [k_anonymity(k), distinct_l(l)], st.integers(1, 4), st.integers(1, 3)),
    st.builds(lambda alpha, k: [alpha_k(alpha, k)], ALPHAS, st.integers(1, 4)),
)


@st.composite
def instances(draw, share=None, promises=PROMISES, show=NEVER):
    rows = draw(st.integers(1, 12))
    names = draw(st.permutations("pqrs"))[: draw(st.integers(1, 4))]
    chosen, room = {}, MOST_NODES
    for name in names:
        chosen[name] = draw(attributes(rows, room))
        room //= chosen[name].height + 1
    sensitive = draw(st.lists(st.sampled_from(["u", "v", "w", None]), min_size=rows, max_size=rows))
    if share is None:
        share = draw(st.sampled_from(["0", "0.1", "0.5", "1"]))
    limit = floor(Fraction(share) * rows)
    return Instance(chosen, sensitive, draw(promises), limit, draw(show), share)


def flags(chosen, length):
    out = np.zeros(length, dtype=bool)
    out[list(chosen)] = True
    return out


def numbers(name, size, widths):
    """Numbers 0 … size-1 in intervals of growing widths."""
    levels = [np.arange(size, dtype=np.int32), *((np.arange(size) // w).astype(np.int32) for w in widths)]
    labels = tuple(tuple(str(g) for g in range(int(level.max()) + 1)) for level in levels)
    return Hierarchy(name, tuple(levels), labels, tuple(np.bincount(level) for level in levels), size)
