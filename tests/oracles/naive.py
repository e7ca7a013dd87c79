"""Small random tables with random hierarchies, and the textbook definitions on their rows.

Pure Python: dictionaries and fractions, nothing of Shoal's counting, searching or scoring. `Instance.before` and its
like are the only bridge to the product.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import count, product
from math import exp, floor, lcm, log, log1p, prod

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation
from shoal.hierarchy.lattice import Lattice
from shoal.hierarchy.taxonomy import Hierarchy, Taxonomy, compile_taxonomy
from shoal.metrics.catalogue import METRICS
from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from shoal.models.model import Closure, Model
from shoal.models.p_sensitive import PSensitive
from shoal.recoding.outcome import Before
from shoal.search.oracle import Oracle

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

    def leaves_under(self, value, level):
        """The number of leaves under the label of a value; null below the top is one leaf (design 8)."""
        label = self.label(value, level)
        if level == 0 or label is None:
            return 1
        return sum(other == label for other in self.levels[level - 1].values())

    def loss(self, value, level):
        """(leaves under the label - 1) / (leaves - 1); one leaf loses nothing."""
        return Fraction(self.leaves_under(value, level) - 1, max(len(self.leaves) - 1, 1))

    def level_share(self, value, level):
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


def p_sensitive(p):
    return Promise(PSensitive(p, SENSITIVE), lambda values: len(set(values) - {None}) >= p)


def entropy_l(l):
    def holds(values):
        """n (ln n - ln l) >= Σ f ln f; no two classes of a dozen rows come nearer to each other than 1e-9."""
        known = Counter(value for value in values if value is not None)
        n, spread = known.total(), sum(f * log(f) for f in known.values())
        return n > 0 and n * (log(n) - log(l)) >= spread - 1e-9

    return Promise(EntropyLDiversity(l, SENSITIVE), holds)


def alpha_k(alpha, k):
    def holds(values):
        known = Counter(value for value in values if value is not None)
        limits = alpha if isinstance(alpha, dict) else dict.fromkeys(known, alpha)
        return len(values) >= k and all(
            Fraction(count, known.total()) <= Fraction(str(limits.get(value, 1))) for value, count in known.items()
        )

    return Promise(AlphaK(alpha, k, SENSITIVE), holds)


@dataclass(frozen=True)
class MaximumSize(Model):
    """No class has more than `most` rows: merging can break it, so nothing may be pruned by it."""

    most: int
    name = "maximum-size"
    closure = Closure.NOT

    def complies(self, counts):
        return counts.sizes <= self.most

    def attained(self, counts):
        return {"most": int(counts.sizes.max(initial=0))}


def maximum_size(most):
    return Promise(MaximumSize(most), lambda values: len(values) <= most)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a node of the lattice, by rows."""

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

    @cached_property
    def outcomes(self):
        """The outcome of every node, by brute force."""
        return {tuple(node): self.outcome(node) for node in self.nodes()}

    @cached_property
    def complying(self):
        """All complying nodes, the lower first, then in the order of the attributes' names."""
        return sorted((n for n, outcome in self.outcomes.items() if outcome.ok), key=lambda node: (sum(node), node))

    def without(self, left_out):
        """The table with some attributes left out."""
        return replace(self, attributes={n: a for n, a in self.attributes.items() if n not in left_out})

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
        return self._before

    @cached_property
    def _before(self):
        columns = [encode(name, array) for name, array in self.columns().items()]
        sensitive = encode(SENSITIVE, pa.array(self.sensitive, pa.string()))
        classes = FrequencySet.count(
            {column.name: (column.codes, column.size) for column in columns},
            {SENSITIVE: (sensitive.codes, sensitive.size)},
            want_classes=True,
        )
        importance = {n: float(a.importance) for n, a in self.attributes.items() if a.importance is not None}
        hierarchies = tuple(self.hierarchy(column) for column in columns)
        return Before(classes, hierarchies, importance, sensitive=self.reading)

    @property
    def labels(self):
        shown = sorted(set(self.sensitive) - {None})
        return {SENSITIVE: [*shown, *([None] if None in self.sensitive else [])]}

    def oracle(self, metric="loss", **options):
        before = self.before()
        return Oracle(before, self.models, self.limit, METRICS[metric].on(before), self.reading, self.show, **options)

    @property
    def reading(self):
        return CountInterpretation(self.labels)

    def lattice(self):
        chosen = [self.attributes[name] for name in self.names]
        return Lattice(tuple(self.names), tuple(a.low for a in chosen), tuple(a.high for a in chosen))


def _loss(instance, outcome):
    values = instance.costs(outcome, lambda attribute: attribute.loss)
    return sum(w * v for w, v in zip(instance.weights, values, strict=True)) / sum(instance.weights)


def _precision_loss(instance, outcome):
    values = instance.costs(outcome, lambda attribute: attribute.level_share)
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


def _alphas(instance, outcome):
    """For each released value, its largest share of the known values of a class."""
    alphas = {}
    for rows in outcome.kept:
        known = Counter(instance.sensitive[row] for row in rows if instance.sensitive[row] is not None)
        for value, many in known.items():
            alphas[value] = max(alphas.get(value, Fraction(0)), Fraction(many, known.total()))
    return list(alphas.values()) or [Fraction(0)]


def _alpha_max(instance, outcome):
    return max(_alphas(instance, outcome))


def _alpha_spread(instance, outcome):
    return max(_alphas(instance, outcome)) - min(_alphas(instance, outcome))


EXACT = {
    "loss": _loss,
    "loss-geometric": _geometric,
    "precision-loss": _precision_loss,
    "discernibility": _discernibility,
    "average-class": _average_class,
    "height": _height,
    "alpha-max": _alpha_max,
    "alpha-spread": _alpha_spread,
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
    return min(
        (outcome for outcome in instance.outcomes.values() if outcome.ok),
        key=lambda outcome: (EXACT[metric](instance, outcome), sum(outcome.node), outcome.node),
        default=None,
    )


def suppress_fewest(instance, node, keeps):
    """The outcome of a node if further classes may be suppressed until `keeps` holds of the sizes of those that stay.

    By brute force over sets of classes: of those with the fewest rows, the one of least loss; None if none complies.
    """
    plain = instance.outcome(node)
    found = []
    for chosen in product([False, True], repeat=len(plain.kept)):
        stays = [len(rows) for rows, out in zip(plain.kept, chosen, strict=True) if not out]
        more = [row for rows, out in zip(plain.kept, chosen, strict=True) if out for row in rows]
        if stays and len(plain.suppressed) + len(more) <= instance.limit and keeps(stays):
            found.append(replace(plain, suppressed=plain.suppressed | frozenset(more), ok=True))
    fewest = min((len(each.suppressed) for each in found), default=0)
    cheap = [each for each in found if len(each.suppressed) == fewest]
    return min(cheap, key=lambda each: EXACT["loss"](instance, each), default=None)


class Dice:
    """Whole numbers from bytes drawn in one piece: much quicker than drawing each number, and they shrink as well."""

    def __init__(self, thrown):
        self._thrown = iter(thrown)

    def __call__(self, sides):
        return next(self._thrown) % sides

    def column(self, some, length):
        return [some[self(len(some))] for _ in range(length)]


def attribute(dice, rows, room):
    """An attribute whose hierarchy has at most `room` levels."""
    leaves = list("abcde"[: 1 + dice(5)])
    height = dice(min(4, room))
    group, levels = list(range(len(leaves))), []
    for h in range(1, height + 1):
        joined = dice.column(range(4), 5)
        group = [joined[g] for g in group]  # nested by construction: only whole groups move
        levels.append({leaf: f"{h}:{g}" for leaf, g in zip(leaves, group, strict=True)})
    if levels and dice(4):
        levels[-1] = dict.fromkeys(leaves, "*")
    some = [*leaves, None] if dice(2) else leaves
    values = dice.column(some, rows)
    low = dice(height + 1) if dice(5) == 4 else 0
    high = low + dice(height - low + 1) if dice(5) == 4 else height
    importance = [None, None, None, Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(0)][dice(7)]
    return Attribute(leaves, levels, values, low, high, importance)


ALPHAS = st.sampled_from([0.25, 0.34, 0.5, 0.6, 0.75, {"u": 0.5}, {"u": 0.4, "v": 0.7}])
NEVER = st.just(False)
SUPERSET = st.one_of(
    st.builds(lambda k: [k_anonymity(k)], st.integers(1, 4)),
    st.builds(lambda k, l: [k_anonymity(k), distinct_l(l)], st.integers(1, 4), st.integers(1, 3)),
    st.builds(lambda k, p: [k_anonymity(k), p_sensitive(p)], st.integers(1, 4), st.integers(1, 3)),
)
UNION = st.one_of(
    st.builds(lambda alpha, k: [alpha_k(alpha, k)], ALPHAS, st.integers(1, 4)),
    st.builds(lambda l: [entropy_l(l)], st.sampled_from([1.3, 1.8, 2, 2.7])),
)
NOT = st.one_of(
    st.builds(lambda most: [maximum_size(most)], st.integers(1, 8)),
    st.builds(lambda most, k: [maximum_size(most), k_anonymity(k)], st.integers(2, 12), st.integers(1, 3)),
    st.builds(lambda most, alpha: [maximum_size(most), alpha_k(alpha, 1)], st.integers(2, 12), ALPHAS),
)
PROMISES = st.one_of(SUPERSET, UNION)
EVERY_CLOSURE = st.one_of(SUPERSET, UNION, NOT)


SOME_SHARE = st.sampled_from(["0", "0.1", "0.5", "1"])
THROWN = st.binary(min_size=200, max_size=200)


@st.composite
def instances(draw, share=None, promises=PROMISES, show=NEVER, fewest=1):
    """Tables of at least `fewest` quasi-identifiers."""
    dice = Dice(draw(THROWN))
    rows = 1 + dice(12)
    unused, chosen, room = list("pqrs"), {}, MOST_NODES
    for _ in range(fewest + dice(5 - fewest)):
        name = unused.pop(dice(len(unused)))
        chosen[name] = attribute(dice, rows, room)
        room //= chosen[name].height + 1
    sensitive = dice.column(["u", "v", "w", None], rows)
    if share is None:
        share = draw(SOME_SHARE)
    limit = floor(Fraction(share) * rows)
    return Instance(chosen, sensitive, draw(promises), limit, draw(show), share)


def closed_instances(share, fewest=1):
    """Tables whose policy is closed: everything above a complying node complies."""
    if share == "0":
        return instances(share, PROMISES, st.booleans(), fewest)
    return instances(share, SUPERSET, NEVER, fewest)


SHARES = ["0", "0.1", "0.5", "1"]


THOROUGH = os.environ.get("SHOAL_TESTS") == "all"
"""Whether every law is tried on all its tables, as in `make test-all` and before a change lands."""


QUICK = 12
"""A quick run tries a law on a twelfth of its tables, and on at least this many: it misses no line of the package."""


def examples(most, *, fewest=QUICK, fixtures=False):
    """Settings for `most` tables, or fewer in a quick run; the same tables at every run.

    With `fixtures`, a fixture of pytest may be shared by all tables.
    """
    shared = [HealthCheck.function_scoped_fixture] if fixtures else []
    return settings(
        max_examples=most if THOROUGH else min(most, max(most // QUICK, fewest)),
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, *shared],
    )


def run_search(search, reply):
    """Run a search whose questions a function of the node answers; return the questions and the result."""
    asked = []
    try:
        question = next(search)
        while True:
            asked.append(question)
            question = search.send(reply(question.node))
    except StopIteration as end:
        return asked, end.value


def stop_after(calls):
    """A stop condition that is true after `calls` calls."""
    seen = count(1)
    return lambda: next(seen) > calls


def flags(chosen, length):
    out = np.zeros(length, dtype=bool)
    out[list(chosen)] = True
    return out


def numbers(name, size, widths):
    """Numbers 0 … size-1 in intervals of growing widths."""
    levels = [np.arange(size, dtype=np.int32), *((np.arange(size) // w).astype(np.int32) for w in widths)]
    labels = tuple(tuple(str(g) for g in range(int(level.max()) + 1)) for level in levels)
    return Hierarchy(name, tuple(levels), labels, tuple(np.bincount(level) for level in levels), size)
