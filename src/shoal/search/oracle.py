"""The oracle answers about one node: does it comply, what is suppressed, what does it cost, what does it prove."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Longs
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation, LongCounts
from shoal.hierarchy.lattice import Lattice, Node
from shoal.hierarchy.taxonomy import TOP
from shoal.kernels import Nodes, count_small, remove_for_entropy, remove_for_shares, remove_for_tail
from shoal.metrics.metric import Floors, Scorer
from shoal.models.k_anonymity import least_size
from shoal.models.model import Closure, Flags, Model
from shoal.models.reidentification import count_smallest
from shoal.models.value_limits import EntropyLimit, ShareLimits, ValueLimits
from shoal.problem import find_failing_classes
from shoal.recoding.outcome import After, Before
from shoal.search.rollups import Rollups


class InferredCompliance:
    """Answers by inference: nodes above a complying node comply, nodes below a failing one fail.

    It reasons within one face of the lattice; what a face implies for others is left to the search (Incognito).

    >>> known = InferredCompliance((3, 2))
    >>> known.learn((1, 0), ok=True)
    >>> known.learn((0, 1), ok=False)
    >>> known.infer_compliance((1, 1)), known.infer_compliance((0, 0)), known.infer_compliance((2, 0))
    (True, False, True)
    """

    def __init__(self, left_out: Node) -> None:
        self._left_out = left_out
        self._faces: defaultdict[bytes, tuple[Nodes, Nodes]] = defaultdict(
            lambda: (Nodes(len(left_out)), Nodes(len(left_out)))
        )

    def infer_compliance(self, node: Node) -> bool | None:
        """Return whether a node complies; None where that is not known."""
        failing, complying = self._faces[self._face(node)]
        if complying.any_below(node):
            return True
        return False if failing.any_above(node) else None

    def learn(self, node: Node, *, ok: bool) -> None:
        """Remember whether a node complies."""
        self._faces[self._face(node)][ok].add(node)

    def _face(self, node: Node) -> bytes:
        """Return a key of the face of a node: which attributes it leaves out."""
        return bytes(map(int.__eq__, node, self._left_out))


_REMEMBERED_ANSWERS = 20_000


@dataclass
class CountedNode:
    """What is known of the classes at a node, each thing counted once."""

    node: Node
    classes: FrequencySet
    counts: ClassCounts
    complying: dict[int, Flags] = field(default_factory=dict)
    """The classes that keep each part of the policy, by its number."""
    gone: Longs | None = None
    """Rows of each class that are suppressed here and at every finer node, at least."""


@dataclass(frozen=True)
class Answer:
    """What the oracle knows about a node."""

    node: Node
    ok: bool
    """Whether the node complies after suppressing at most `limit` rows."""
    suppressed: int
    """Rows that are suppressed; a lower bound where the node does not comply."""
    classes: int
    """Number of classes that are released; where the node does not comply, no fewer than that."""
    score: float
    """On the scorer's scale; infinite when the node does not comply."""
    below: Floors | None
    """Lower bound of the score of the node and all finer ones; None where none of them complies."""
    above: float
    """Lower bound of the score of all coarser nodes."""
    excess: float = 0.0
    """How many times as many rows as may go must go at the node and at all finer ones; 0 where that is not known."""


@dataclass
class Tally:
    """What a search cost."""

    nodes: int = 0
    """Nodes of the lattice."""
    checked: int = 0
    """Nodes that were computed."""
    remembered: int = 0
    """Questions answered from memory."""
    inferred: int = 0
    """Questions answered by inference, as the policy is closed: above a complying node, or below a failing one."""
    rolled_up: int = 0
    """Frequency sets made from that of a finer node."""
    grouped: int = 0
    """Frequency sets made from the table's own classes."""

    @property
    def asked(self) -> int:
        return self.checked + self.remembered + self.inferred


@dataclass
class Oracle:
    """Answers about the nodes of one table under one policy."""

    before: Before
    models: Sequence[Model]
    limit: int
    scorer: Scorer
    reading: CountInterpretation = field(default_factory=CountInterpretation)
    show_suppressed: bool = False
    infer: bool = True
    """Whether `complies` may answer by inference."""
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._parts = [part for model in self.models for part in model.parts()]
        if not self.show_suppressed and any(part.keeps_every_row for part in self._parts):
            self.limit = 0
        self._least = least_size(self.models)
        self._answers: dict[Node, Answer] = {}
        self._known = InferredCompliance(self.before.left_out)
        self._counted: CountedNode | None = None
        self._limits: dict[int, ValueLimits | None] = {}
        everybody = self.before.population
        both = None if everybody is None else self.before.classes.count_together(everybody)
        self._rollups = Rollups(self.before if both is None else replace(self.before, classes=both))
        self._population: Rollups | None = None
        """The population by itself, where it cannot be counted together with the table."""
        if everybody is not None and both is None:
            self._population = Rollups(replace(self.before, classes=everybody))
        self._together = both is not None
        self._found: tuple[FrequencySet, Longs, int] | None = None
        """The last classes that were counted together with the population, and what was counted of that."""

    @property
    def needed(self) -> Closure:
        """The closure that pruning needs: if nothing may be suppressed, UNION is enough.

        SUPERSET: every part of a failing class fails, so its rows fail at every finer node. UNION: if all finer classes
        complied, so would their unions.
        """
        return Closure.SUPERSET if self.limit else Closure.UNION

    @cached_property
    def open_parts(self) -> list[Model]:
        """The parts of the policy that forbid inference."""
        return [part for part in self._parts if self.merging(part) < self.needed]

    def merging(self, part: Model) -> Closure:
        """Return the closure of a part of the policy on this table.

        A person in two classes is one person of their union, so the union is no mixture of the two: shares that are
        small in both can be large in it. Numbers of persons still only grow.

        Whoever suppresses the smallest classes for average risk or sample uniqueness need not suppress more rows at a
        coarser node: of what is suppressed at a finer one, suppress the classes that are suppressed whole. What is kept
        then has no more classes, no more rows that are alone, and no fewer rows. That is all that SUPERSET is for.
        """
        if part.merging is not Closure.UNION:
            return part.merging
        if self.reading.split:
            return Closure.NOT
        return Closure.SUPERSET if part.suppresses_smallest and not self.show_suppressed else Closure.UNION

    @cached_property
    def closed(self) -> bool:
        """Whether all nodes above a complying one comply; a shown class of suppressed rows may not (design 2)."""
        return not self.open_parts and not (self.show_suppressed and self.limit)

    def ask(self, node: Node) -> Answer:
        """Return everything about a node."""
        if node in self._answers:
            self.tally.remembered += 1
            return self._answers[node]
        classes = self._compute_classes(node)
        answer = self._answer_if_too_small(node, classes) or self._answer_if_too_much_goes(node, classes)
        if answer is None:
            answer = self._judge(self.suppress(node, classes))
        if len(self._answers) >= _REMEMBERED_ANSWERS:
            self._answers = dict(list(self._answers.items())[_REMEMBERED_ANSWERS // 2 :])
        self._answers[node] = answer
        return answer

    def complies(self, node: Node) -> bool:
        """Return whether a node complies, by inference where the policy is closed."""
        if node in self._answers:
            self.tally.remembered += 1
            return self._answers[node].ok
        if self.infer and self.closed:
            known = self._known.infer_compliance(node)
            if known is not None:
                self.tally.inferred += 1
                return known
        classes = self._compute_classes(node)
        ok = self._answer_if_too_small(node, classes) is None and self.keeps(self.suppress(node, classes))
        self._known.learn(node, ok=ok)
        return ok

    def prune(self, lattice: Lattice) -> Lattice:
        """Return the lattice without the levels at which an attribute fails by itself: no node with one complies."""
        least = list(lattice.bottom)
        for i, highest in enumerate(lattice.top):
            face = list(self.before.left_out)
            while least[i] < highest:
                face[i] = least[i]
                if self.ask(tuple(face)).below is not None:
                    break
                least[i] += 1
        if tuple(least) != lattice.bottom:
            self._rollups.settle(tuple(least))
            if self._population is not None:
                self._population.settle(tuple(least))
        return replace(lattice, bottom=tuple(least))

    def apply(self, node: Node) -> After:
        """Return the classes at a node, those to suppress marked."""
        return self.suppress(node, self._classes_at(node))

    def suppress(self, node: Node, classes: FrequencySet) -> After:
        """Mark the classes to suppress; on a face only those for a part that allows pruning."""
        return self._suppress(node, classes, self.needed if self._is_face(node) else Closure.NOT)

    def _suppress(self, node: Node, classes: FrequencySet, least: Closure) -> After:
        """Mark the classes that fail a part whose closure is at least `least`, then the smallest of the others.

        As many of the smallest as such parts about the whole table need; none if no number within the limit is enough.
        """
        after = After(node, classes, self.failing(node, classes, least))
        if not self.limit:
            return after
        parts = [part for part in self._parts if part.suppresses_smallest and self.merging(part) >= least]
        return self._suppress_smallest(after, parts) if parts else after

    def _suppress_smallest(self, after: After, parts: Sequence[Model]) -> After:
        """Mark the smallest classes, too, until promises about sizes hold; of equal ones those that lose most."""
        rows = after.classes.counts
        sizes = rows if self.reading.unit is None else after.classes.class_counts(self.reading).sizes
        # [kept class] smallest first, by what models count and then by rows
        kept = np.flatnonzero(~after.suppressed)
        by_size = kept[np.lexsort((rows[kept], sizes[kept]))]
        room = self.limit - after.suppressed_rows
        fitting = int(np.searchsorted(np.cumsum(rows[by_size]), room, side="right"))
        shown = (after.suppressed_rows, self._least) if self.show_suppressed else None
        number = count_smallest(parts, sizes[by_size], fitting, shown)
        if not number:
            return after
        last = by_size[number - 1]
        equal = by_size[(sizes[by_size] == sizes[last]) & (rows[by_size] == rows[last])]
        smaller = by_size[: number - int(np.isin(by_size[:number], equal).sum())]
        suppressed = after.suppressed.copy()
        suppressed[smaller] = True
        suppressed[self._sort_by_loss(after, equal)[: number - len(smaller)]] = True
        return replace(after, suppressed=suppressed)

    def _sort_by_loss(self, after: After, some: NDArray[np.intp]) -> NDArray[np.intp]:
        """Sort classes by the loss of their labels, greatest first, then by their codes."""
        lost = np.zeros(len(some))
        columns: list[NDArray[np.integer]] = []
        for level, hierarchy, weight in zip(after.node, self.before.hierarchies, self.before.weights, strict=True):
            columns.append(after.classes.codes(hierarchy.attribute)[some])
            if level <= hierarchy.height:
                lost += weight * hierarchy.losses[level][columns[-1]]
        return some[np.lexsort((*columns[::-1], -lost))]

    def explain(self, after: After) -> dict[str, Flags]:
        """Return for each model the classes that fail it, or were suppressed for it since they are small."""
        counts = self.counts(after.node, after.classes)
        failed = find_failing_classes(self.models, counts)
        alone = self.failing(after.node, after.classes)
        small, kept = after.suppressed & ~alone, ClassCounts(counts.sizes[~alone])
        for model in self.models:
            if model.suppresses_smallest and not model.holds(kept):
                failed[model.name] = failed[model.name] | small
        return failed

    def failing(self, node: Node, classes: FrequencySet, least: Closure = Closure.NOT) -> Flags:
        """Return which classes at a node fail a part of the policy whose closure is at least `least`."""
        failing = np.zeros(len(classes), dtype=bool)
        for i in self._of_classes:
            if self._merging[i] >= least:
                failing |= ~self._complying(node, classes, i)
        return failing

    def counts(self, node: Node, classes: FrequencySet) -> ClassCounts:
        """Return the counts that models are checked against, for the classes at a node."""
        return self._count(node, classes).counts

    @cached_property
    def _merging(self) -> list[Closure]:
        """The closure of each part of the policy."""
        return [self.merging(part) for part in self._parts]

    @cached_property
    def _of_classes(self) -> list[int]:
        """The parts of the policy that are judged class by class, by their numbers."""
        return [i for i, part in enumerate(self._parts) if not part.table_wide]

    def _count(self, node: Node, classes: FrequencySet) -> CountedNode:
        """Return what is counted at a node; the last node is remembered."""
        if self._counted is None or self._counted.classes is not classes or self._counted.node != node:
            known = self._count_population(node, classes) if self.before.population is not None else ()
            counts = classes.class_counts(self.reading, *known)
            self._counted = CountedNode(node, classes, counts)
        return self._counted

    def _count_population(self, node: Node, classes: FrequencySet) -> tuple[Longs, int]:
        """Return the persons of the population in each class at a node, and how many classes hold only such."""
        if self._population is not None:
            return classes.count_in(self._population.at(node))
        if self._found is None or self._found[0] is not classes:
            found, population, strangers = self._rollups.at(node).split_counts()
            if found.layout != classes.layout or not np.array_equal(found.keys, classes.keys):
                # the same classes in another order
                population, _ = classes.count_in(replace(found, counts=population))
            return population, strangers
        return self._found[1:]

    def _complying(self, node: Node, classes: FrequencySet, i: int) -> Flags:
        """Return which classes at a node keep a part of the policy, given by its number."""
        counted = self._count(node, classes)
        if i not in counted.complying:
            counted.complying[i] = self._parts[i].complies(counted.counts)
        return counted.complying[i]

    def _count_gone(self, node: Node, classes: FrequencySet) -> Longs:
        """Return how many rows of each class are suppressed at a node and at every finer one, at least.

        All of a class that fails a part that allows pruning. Where another part is closed under UNION, what is kept of
        a class complies as a whole, so that as many rows go as the part says; and what is kept has enough rows.
        """
        counted = self._count(node, classes)
        if counted.gone is None:
            rows = classes.counts
            gone = np.where(self.failing(node, classes, self.needed), rows, 0)
            for i in self._union_parts:
                part, limits = self._parts[i], self._limits_of(i, counted.counts)
                if limits is None or part.about is None:
                    gone = np.maximum(gone, part.least_removed(counted.counts))
                else:
                    gone = count_removed(limits, classes.long[part.about], rows, gone, self._least)
            counted.gone = np.where(rows - gone < self._least, rows, gone)
        return counted.gone

    def _limits_of(self, i: int, counts: ClassCounts) -> ValueLimits | None:
        """Return the limits of a part of the policy, which are the same at all nodes, or None."""
        if i not in self._limits:
            self._limits[i] = self._parts[i].value_limits(counts)
        return self._limits[i]

    @cached_property
    def _union_parts(self) -> list[int]:
        """The parts of the policy that say how many rows of a class go at every finer node, by their numbers."""
        if self.reading.unit is not None:  # where persons are counted, how many rows go is not known
            return []
        parts = enumerate(zip(self._parts, self._merging, strict=True))
        return [i for i, (part, merging) in parts if merging is Closure.UNION < self.needed and not part.table_wide]

    def _classes_at(self, node: Node) -> FrequencySet:
        """Return the frequency set of a node, and update the tally of rollups."""
        classes = self._rollups.at(node)
        if self._together:
            self._found = classes.split_counts()
            classes = self._found[0]
        self.tally.rolled_up, self.tally.grouped = self._rollups.rolled_up, self._rollups.grouped
        return classes

    def _compute_classes(self, node: Node) -> FrequencySet:
        """Return the frequency set of a node, and count the node as checked."""
        self.tally.checked += 1
        return self._classes_at(node)

    def _answer_if_too_small(self, node: Node, classes: FrequencySet) -> Answer | None:
        """Return the answer for a node where too many rows are in small classes; None for any other node."""
        small, kept = count_small(classes.counts, self._least)
        return self._refute(node, classes, small, kept)

    def _answer_if_too_much_goes(self, node: Node, classes: FrequencySet) -> Answer | None:
        """Return the answer for a node whose classes of which rows must go have more rows than may; else None."""
        if not self.limit:
            return None
        gone = self._count_gone(node, classes)
        refuted = self._refute(node, classes, int(gone.sum()), int(np.count_nonzero(gone < classes.counts)))
        if refuted is not None or self._is_face(node):
            return refuted
        # a class of which a row must go is suppressed whole here, though perhaps not at finer nodes
        after = After(node, classes, gone > 0)
        if after.suppressed_rows <= self.limit or any(part.table_wide for part in self._parts):
            return None
        judged = self.scorer.judge(after, gone, self._least, scored=False)
        return replace(self._fail(after), below=judged.below, above=judged.above)

    def _fail(self, after: After) -> Answer:
        """Return the answer for a node that does not comply, of which nothing else is known."""
        return Answer(after.node, False, after.suppressed_rows, len(after.kept), np.inf, None, -np.inf)

    def _refute(self, node: Node, classes: FrequencySet, gone: int, kept: int) -> Answer | None:
        """Return the answer for a node if too many rows of its classes go there and at every finer one; else None.

        Of its classes at most `kept` are released.
        """
        lost = gone + (0 if classes.rest is None else classes.rest.rows)
        if lost <= self.limit and lost < self.before.rows:
            return None
        return Answer(node, False, lost, kept, np.inf, None, -np.inf, lost / self.limit if self.limit else 0.0)

    def _is_face(self, node: Node) -> bool:
        """Return whether a node leaves out an attribute."""
        return any(map(int.__eq__, node, self.before.left_out))

    def _judge(self, after: After) -> Answer:
        """Return whether a node complies, its score, and what it proves about finer and coarser nodes."""
        suppressed, classes = after.suppressed_rows, len(after.kept)
        # what no finer node can repair; too much of it rules out all finer nodes
        least = self._suppress(after.node, after.classes, self.needed) if self.open_parts else after
        few = least.suppressed_rows <= self.limit and least.suppressed_rows < self.before.rows
        if not few or not self._holds(least, self.needed):
            return Answer(after.node, False, suppressed, classes, np.inf, None, -np.inf)
        face = self._is_face(after.node)
        ok = face or self.keeps(after)
        gone = self._count_gone(after.node, after.classes)
        judged = self.scorer.judge(after, gone, self._least, scored=ok and not face)
        if face:
            score = float(sum(floor[-1] for floor in judged.below))
            return Answer(after.node, True, suppressed, classes, score, judged.below, -np.inf)
        return Answer(after.node, ok, suppressed, classes, judged.score, judged.below, judged.above)

    def keeps(self, after: After) -> bool:
        """Return whether a node complies once its failing classes are suppressed."""
        suppressed = after.suppressed_rows
        few = suppressed <= self.limit and suppressed < self.before.rows
        return few and self.holds(after)

    def holds(self, after: After) -> bool:
        """Return whether the release at a node keeps the policy, however many rows are suppressed."""
        return self._suppressed_class_complies(after) and self._holds(after)

    def _holds(self, after: After, least: Closure = Closure.NOT) -> bool:
        """Return whether the rows that are kept satisfy the models of the whole table."""
        if len(self._of_classes) == len(self._parts):
            return True
        parts = [part for part in self._parts if part.table_wide and self.merging(part) >= least]
        if not parts:
            return True
        # if nothing may be suppressed, a complying finer node keeps every row, even those that fail an open part here
        suppressed = np.zeros_like(after.suppressed) if least is Closure.UNION else after.suppressed
        kept = self.counts(after.node, after.classes).select_classes(~suppressed)
        if self.show_suppressed and after.any_suppressed:
            kept = replace(
                kept, strangers=0, hidden=0
            )  # people whom no other class shows may be in the class of suppressed rows
            if least is Closure.NOT:
                kept = kept.add_class(self._counts_of_suppressed(after), self._star_groups(after.node))
        return all(part.holds(kept) for part in parts)

    def _star_groups(self, node: Node) -> dict[str, int]:
        """Return the group of each quasi-identifier at a node whose label is `*`, like suppressed rows; -1: none."""
        found = {}
        for level, hierarchy in zip(node, self.before.hierarchies, strict=True):
            labels = hierarchy.labels[level] if level < len(hierarchy.labels) else [TOP]
            found[hierarchy.attribute] = labels.index(TOP) if TOP in labels else -1
        return found

    def _suppressed_class_complies(self, after: After) -> bool:
        """Return whether suppressed rows that are shown, a class of their own, comply (design 2)."""
        if not self.show_suppressed or not after.any_suppressed:
            return True
        shown = self._counts_of_suppressed(after)
        return all(bool(part.complies(shown).all()) for part in self._parts)

    def _counts_of_suppressed(self, after: After) -> ClassCounts:
        """Return the counts of the class of suppressed rows."""
        one, rest = after.classes.select_classes(after.suppressed).project([]), after.classes.rest
        shown = (one if rest is None else one.merge(rest.whole)).class_counts(self.reading)
        if self.before.population is not None:
            found = self.counts(after.node, after.classes).population
            assert found is not None
            others = self.before.population.rows - int(found[~after.suppressed].sum())
            shown = replace(shown, population=np.array([others]))
        return shown


def count_removed(limits: ValueLimits, values: LongCounts, rows: Longs, gone: Longs, least: int) -> Longs:
    """Return how many rows of each class go, at least, if `gone` are known to and what is left keeps the limits.

    `rows` are those of each class. A class of which fewer than `least` rows are left goes whole.
    """
    given = rows, gone, values.classes, values.values, values.counts, limits.counted, least
    if isinstance(limits, ShareLimits):
        return remove_for_shares(*given, limits.upper, limits.lower, limits.share)
    if isinstance(limits, EntropyLimit):
        return remove_for_entropy(*given, limits.entropy, limits.fewest)
    return remove_for_tail(*given, limits.rank, limits.over, limits.under)
