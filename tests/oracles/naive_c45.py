"""C4.5 by its definitions, slowly: rows are lists, every node keeps its own, and every sum is computed afresh."""

from itertools import pairwise
from math import log2
from statistics import NormalDist

NEAR = 1e-6


def entropy(weights):
    whole = sum(weights)
    return -sum(w / whole * log2(w / whole) for w in weights if w > 0)


def tally(rows, classes):
    return [sum(w for _, cls, w in rows if cls == each) for each in range(classes)]


def majority(counts):
    best, most = 0, 0
    for at, count in enumerate(counts):
        if count > most + NEAR:
            best, most = at, count
    return best


def errors(counts):
    return sum(counts) - counts[majority(counts)]


class Naive:
    """Rows are (values, class, weight) with None for missing; `sizes[a]` nominal values, 0: numeric."""

    def __init__(self, table, labels, sizes, classes, minimum=2, confidence=0.25):
        self.table, self.sizes, self.classes = table, sizes, classes
        self.minimum, self.confidence = minimum, confidence
        self.all_many = not any(self.counts_in_average(a) for a in range(len(sizes)))
        self.root = self.grow([(values, cls, 1.0) for values, cls in zip(table, labels, strict=True)])
        self.collapse(self.root)
        self.prune(self.root)

    def counts_in_average(self, a):
        return not self.sizes[a] or self.sizes[a] < 0.3 * len(self.table) - NEAR

    # growing

    def gain_and_ratio(self, rows, a, branch, cost=0.0):
        """Of sending rows to branch(value); rows without a value gain nothing and are a branch of their own."""
        whole = sum(w for *_, w in rows)
        known = [row for row in rows if row[0][a] is not None]
        share = sum(w for *_, w in known) / whole
        bags = {}
        for row in known:
            bags.setdefault(branch(row[0][a]), []).append(row)
        weights = {b: sum(w for *_, w in bag) for b, bag in bags.items()}
        inside = sum(weights[b] / (share * whole) * entropy(tally(bag, self.classes)) for b, bag in bags.items())
        gain = share * (entropy(tally(known, self.classes)) - inside) - cost
        told = entropy([*weights.values(), (1 - share) * whole])
        return gain, gain / told if told * whole > NEAR else 0.0, weights

    def fan(self, rows, a):
        if all(row[0][a] is None for row in rows):
            return None
        gain, ratio, weights = self.gain_and_ratio(rows, a, lambda value: value)
        return (gain, ratio, None) if sum(w > self.minimum - NEAR for w in weights.values()) > 1 else None

    def cut(self, rows, a):
        known = [row for row in rows if row[0][a] is not None]
        whole = sum(w for *_, w in rows)
        least = min(max(0.1 * sum(w for *_, w in known) / self.classes, self.minimum), 25)
        if len(known) < 2 * least - NEAR:
            return None
        best, tried, chosen = 0.0, 0, None
        values = sorted({row[0][a] for row in known})
        for low, high in pairwise(values):
            sides = [sum(w for v, _, w in known if (v[a] <= low) == left) for left in (True, False)]
            if min(sides) < least - NEAR:
                continue
            tried += 1
            gain, *_ = self.gain_and_ratio(rows, a, lambda value, low=low: value <= low)
            if gain > best + NEAR:
                best, chosen = gain, (low, high)
        if chosen is None or best - log2(tried) / whole <= NEAR:
            return None
        gain, ratio, _ = self.gain_and_ratio(rows, a, lambda value: value <= chosen[0], log2(tried) / whole)
        middle = sum(chosen) / 2
        return gain, ratio, max(v[a] for v in self.table if v[a] is not None and v[a] <= middle)

    def choose(self, rows):
        found = {a: self.fan(rows, a) if self.sizes[a] else self.cut(rows, a) for a in range(len(self.sizes))}
        found = {a: split for a, split in found.items() if split is not None}
        measured = [gain for a, (gain, *_) in found.items() if self.all_many or self.counts_in_average(a)]
        best, chosen = 0.0, None
        for a, (gain, ratio, threshold) in found.items():
            if measured and gain >= sum(measured) / len(measured) - 1e-3 and ratio > best + NEAR:
                best, chosen = ratio, (a, threshold)
        return chosen

    def divide(self, rows, test):
        a, threshold = test
        bags = [[] for _ in range(self.sizes[a] or 2)]
        for values, cls, w in rows:
            if values[a] is not None:
                bags[values[a] if self.sizes[a] else int(values[a] > threshold)].append((values, cls, w))
        weights = [sum(w for *_, w in bag) for bag in bags]
        shares = [w / sum(weights) if sum(weights) > NEAR else 1 / len(bags) for w in weights]
        for values, cls, w in rows:
            if values[a] is None:
                for bag, share in zip(bags, shares, strict=True):
                    if share > NEAR:
                        bag.append((values, cls, w * share))
        return bags

    def grow(self, rows):
        node = {"rows": rows, "test": None}
        counts = tally(rows, self.classes)
        if sum(counts) < 2 * self.minimum - NEAR or errors(counts) < NEAR:
            return node
        node["test"] = self.choose(rows)
        if node["test"] is not None:
            node["sons"] = [self.grow(bag) for bag in self.divide(rows, node["test"])]
        return node

    # pruning

    def training_errors(self, node):
        if node["test"] is None:
            return errors(tally(node["rows"], self.classes))
        return sum(map(self.training_errors, node["sons"]))

    def collapse(self, node):
        if node["test"] is None:
            return
        if self.training_errors(node) >= errors(tally(node["rows"], self.classes)) - 1e-3:
            node["test"] = None
            return
        for son in node["sons"]:
            self.collapse(son)

    def added_errors(self, n, e):
        cf, z = self.confidence, NormalDist().inv_cdf(1 - self.confidence)
        if e < 1:
            none = n * (1 - cf ** (1 / n))
            return none if e == 0 else none + e * (self.added_errors(n, 1) - none)
        if e + 0.5 >= n:
            return max(n - e, 0)
        f = (e + 0.5) / n
        return (f + z**2 / (2 * n) + z * (f / n - f**2 / n + z**2 / (4 * n**2)) ** 0.5) / (1 + z**2 / n) * n - e

    def estimate(self, rows):
        counts = tally(rows, self.classes)
        if sum(counts) < NEAR:
            return 0
        return errors(counts) + self.added_errors(sum(counts), errors(counts))

    def estimated(self, node, rows):
        """Errors of a subtree if these rows went down it."""
        if node["test"] is None:
            return self.estimate(rows)
        return sum(map(self.estimated, node["sons"], self.divide(rows, node["test"])))

    def settle(self, node, rows):
        node["rows"] = rows
        if node["test"] is not None:
            for son, bag in zip(node["sons"], self.divide(rows, node["test"]), strict=True):
                self.settle(son, bag)

    def prune(self, node):
        if node["test"] is None:
            return
        for son in node["sons"]:
            self.prune(son)
        largest, most = node["sons"][0], 0
        for son in node["sons"]:
            if sum(tally(son["rows"], self.classes)) > most - NEAR:
                largest, most = son, sum(tally(son["rows"], self.classes))
        leaf, tree = self.estimate(node["rows"]), self.estimated(node, node["rows"])
        branch = self.estimated(largest, node["rows"])
        if leaf <= tree + 0.1 + NEAR and leaf <= branch + 0.1 + NEAR:
            node["test"] = None
        elif branch <= tree + 0.1 + NEAR:
            node["test"], node["sons"] = largest["test"], largest.get("sons")
            self.settle(node, node["rows"])
            self.prune(node)

    def flat(self, node=None, depth=0, above=None):
        """Depth, test, class and rounded counts of every node, each before those below it."""
        node = node or self.root
        counts = tally(node["rows"], self.classes)
        if node["test"] is not None:
            out = [(depth, node["test"])]
            for son in node["sons"]:
                out += self.flat(son, depth + 1, counts)
            return out
        empty = sum(counts) <= NEAR
        label = majority(above) if empty and above else majority(counts)
        return [(depth, label, 0.0 if empty else round(sum(counts), 4), 0.0 if empty else round(counts[label], 4))]
