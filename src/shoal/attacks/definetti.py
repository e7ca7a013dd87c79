"""The deFinetti attack: groups that hide who has which value show together what kind of person has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import (
    ATTRIBUTE,
    LATER,
    SEED,
    Attack,
    AuditInputs,
    Channel,
    Finding,
    Rate,
    lift,
    option,
    refuse_seed,
    refuse_unless_at_least,
    sensitive_of,
)
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.errors import BadInput

Weights = NDArray[np.float64]

_SWEEPS = 20
_EDGE = 1e-12
_MOST_STATES = 256
"""Most count vectors of a group whose probabilities are computed exactly; eight different values have as many."""
_MOST_COUNTED = 64
"""Most members of a group in which the others who have a value are always counted exactly."""
_FEW = 16
"""In larger groups they are counted where at most so many have the value, or have it not; else by a normal law."""
_LEAST_VARIANCE = 0.05
"""Below so much variance a normal law says nothing about counts."""


@dataclass(frozen=True)
class MemberGroups:
    """Members in groups, and how often each value occurs in each group; a group has as many values as members."""

    group: Longs
    """Group of each member."""
    counts: Longs
    """counts[group, value]: how often each value occurs in each group."""

    def repeat(self, times: int) -> "MemberGroups":
        """Return these groups several times over, side by side."""
        offsets = np.repeat(np.arange(times) * len(self.counts), len(self.group))
        return MemberGroups(np.tile(self.group, times) + offsets, np.tile(self.counts, (times, 1)))

    @cached_property
    def _order(self) -> Longs:
        """Members sorted by group."""
        return np.argsort(self.group, kind="stable")

    @cached_property
    def _starts(self) -> Longs:
        """Where the members of each group begin in the order."""
        return np.searchsorted(self.group[self._order], np.arange(len(self.counts)))

    @cached_property
    def _alike(self) -> "list[_LikeGroups]":
        """Groups that are small enough to be exact, those with the same counts of their values together."""
        states = (self.counts + 1.0).prod(axis=1)
        small = np.flatnonzero(states <= _MOST_STATES)
        # [group, place] the values of each group, the commonest first; groups with equal counts there are alike
        values = np.argsort(-self.counts[small], axis=1, kind="stable")
        sorted_counts = np.take_along_axis(self.counts[small], values, axis=1)
        kinds, kind_of = np.unique(sorted_counts, axis=0, return_inverse=True)
        found = []
        for number, many in enumerate(kinds):
            here, several = kind_of.ravel() == number, int((many > 0).sum())
            starts = self._starts[small[here]]
            members = self._order[starts[:, None] + np.arange(many.sum())]
            found.append(_LikeGroups(members, values[here, :several], tuple(many[:several].tolist())))
        return found

    @cached_property
    def _large(self) -> "tuple[MemberGroups, Longs] | None":
        """Groups that are too large to be exact, and their members; None where there are none."""
        large = (self.counts + 1.0).prod(axis=1) > _MOST_STATES
        if not large.any():
            return None
        members = np.flatnonzero(large[self.group])
        return MemberGroups((np.cumsum(large) - 1)[self.group[members]], self.counts[large]), members

    def estimate_probabilities(self, likelihoods: Weights) -> Weights:
        """Return probabilities[member, value], given log likelihoods of the same shape.

        They are the shares of all ways to hand out the values of a group, each way weighted by its likelihood: exactly
        so, by count vectors, where a group has at most 256 of them; elsewhere by Sinkhorn's scaling.

        >>> pair = MemberGroups(np.array([0, 0]), np.array([[1, 1]]))
        >>> pair.estimate_probabilities(np.log([[0.9, 0.1], [0.5, 0.5]])).round(3).tolist()
        [[0.9, 0.1], [0.1, 0.9]]
        """
        out = np.zeros(likelihoods.shape)
        for alike in self._alike:
            # [group, member, place] weights of the values that occur in the group
            logs = likelihoods[alike.members[:, :, None], alike.values[:, None, :]]
            weights = np.exp(logs - logs.max(axis=2, keepdims=True))
            found = alike.compute_probabilities(np.maximum(weights, _EDGE))
            out[alike.members[:, :, None], alike.values[:, None, :]] = found
        if self._large is not None:
            groups, members = self._large
            out[members] = groups.scale_to_counts(likelihoods[members])
        return out

    def scale_to_counts(self, likelihoods: Weights) -> Weights:
        """Approximate the probabilities: those of members who are independent, each corrected for what the others have.

        Weights are scaled until each row adds up to 1 and each column to its count (Sinkhorn 1964). In a group of g
        members where c have a value, a member's probability of it is then multiplied by the odds that c-1 rather than
        c others have it, to the power of 1-c/g, and scaled again. That is exact where a group has two values; for pairs
        it is what log likelihoods times g/(g-1) give.

        >>> pair = MemberGroups(np.array([0, 0]), np.array([[1, 1]]))
        >>> pair.scale_to_counts(np.log([[0.9, 0.1], [0.5, 0.5]])).round(3).tolist()
        [[0.9, 0.1], [0.1, 0.9]]
        """
        # members sorted by group, so that reduceat sums over the members of each group
        group = self.group[self._order]
        # [member, value]; 0 for values that do not occur in the member's group
        logs = np.where(self.counts[group] > 0, likelihoods[self._order], -np.inf)
        logs -= logs.max(axis=1, keepdims=True)
        weights = self._sweep(np.maximum(np.exp(logs), _EDGE) * (self.counts[group] > 0))
        sizes = self.counts.sum(axis=1, keepdims=True)
        weights *= np.exp((1 - self.counts / sizes)[group] * np.clip(self._log_odds_of_others(weights), -200, 200))
        out = np.empty_like(weights)
        out[self._order] = self._sweep(weights)
        return out

    def _sweep(self, weights: Weights) -> Weights:
        """Scale weights[member in order, value]: columns of each group to its counts, then rows to 1, several times."""
        group = self.group[self._order]
        for _ in range(_SWEEPS):
            sums = np.add.reduceat(weights, self._starts, axis=0)
            weights = weights * (self.counts / np.where(sums > 0, sums, 1))[group]
            weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def _log_odds_of_others(self, likely: Weights) -> Weights:
        """Return, for each member in order and each value that occurs c times: log P(c-1 others have it) / P(c others).

        Members are independent here. Others are counted exactly in groups of at most 64, and in larger ones where at
        most 16 have the value or at most 16 have not; elsewhere by a normal law, corrected for skewness.
        """
        group = self.group[self._order]
        spread = likely * (1 - likely)
        # variance and third cumulant of how many of the others have the value
        variances = np.add.reduceat(spread, self._starts, axis=0)[group] - spread
        variances = np.maximum(variances, _LEAST_VARIANCE)
        third = spread * (1 - 2 * likely)
        skew = np.add.reduceat(third, self._starts, axis=0)[group] - third
        # the odds tilt the mean of the others, c - likely, to c - 1/2: a step by the variance, one by the skewness
        tilt = (likely - 0.5) / variances
        out = np.asarray(tilt * (1 - np.clip(skew * tilt / (2 * variances), -0.5, 0.5)))
        sizes = self.counts.sum(axis=1)
        # groups of 1 to 8 members at once, of 9 to 16, and so on: those that are smaller get members of no weight
        rounded = _round_up(sizes)
        fewer = np.minimum(self.counts, sizes[:, None] - self.counts)
        counted = (self.counts > 0) & (fewer > 0) & ((sizes <= _MOST_COUNTED)[:, None] | (fewer <= _FEW))
        for most in np.unique(rounded[counted.any(axis=1)]).tolist():
            groups, values = np.nonzero(counted & (rounded == most)[:, None])
            step = max(_AT_ONCE // 4 // (most * (int(fewer[groups, values].max()) + 2)), 1)
            for begin in range(0, len(groups), step):
                here, value = groups[begin : begin + step], values[begin : begin + step]
                # [group and value, place] members; beyond the size of the group nobody
                real = np.arange(most) < sizes[here, None]
                member = np.where(real, self._starts[here, None] + np.arange(most), 0)
                some = likely[member, value[:, None]]
                # count those who have not the value where these are fewer, which turns the odds round
                turned = self.counts[here, value] > fewer[here, value]
                some = np.where(turned[:, None], 1 - some, some) * real
                found = np.where(turned[:, None], -1, 1) * _count_others(some, fewer[here, value])
                out[member[real], np.broadcast_to(value[:, None], real.shape)[real]] = found[real]
        return out

    @cached_property
    def _places(self) -> tuple[Longs, Longs, Longs]:
        """For each member: its place in its group, the size of the group, and where the group begins in the order."""
        sizes, begin = self.counts.sum(axis=1)[self.group], self._starts[self.group]
        place = np.empty(len(self.group), dtype=np.int64)
        place[self._order] = np.arange(len(self.group))
        return place - begin, sizes, begin

    def swap_at_random(self, values: Longs, likelihoods: Weights, random: np.random.Generator) -> Longs:
        """Return the value of each member after members who meet in pairs, at random within their group, may swap.

        A pair swaps by the odds of its two orders, so that the distribution of all ways stays as it is (Gibbs).
        """
        place, size, begin = self._places
        # whose places add up to a random number, modulo the size of the group, meet: nobody meets two others
        total = random.integers(0, 1 << 40, len(self.counts))[self.group]
        partner = self._order[begin + (total - place) % size]
        one = np.flatnonzero((place < place[partner]) & (values != values[partner]))
        other = partner[one]
        mine, theirs = values[one], values[other]
        gain = likelihoods[one, theirs] + likelihoods[other, mine] - likelihoods[one, mine] - likelihoods[other, theirs]
        swap = random.random(len(one)) * (1 + np.exp(-np.clip(gain, -500, 500))) < 1
        out = values.copy()
        out[one[swap]], out[other[swap]] = theirs[swap], mine[swap]
        return out


@dataclass(frozen=True)
class _LikeGroups:
    """Groups of equal size in which the commonest value occurs equally often, and the next, and so on."""

    members: Longs
    """members[group, place]."""
    values: Longs
    """values[group, place]: the values of each group, the commonest first."""
    counts: tuple[int, ...]
    """How often each of these values occurs in every group."""

    def compute_probabilities(self, weights: Weights) -> Weights:
        """Return probabilities[group, member, place of value] of all ways, each weighted by its product of weights.

        Members get their values one after the other; a state is how many of each value are handed out. Sums of weights
        over the ways into each state, and over the ways out of it, give each member's probabilities.
        """
        into = np.zeros((len(weights), prod(count + 1 for count in self.counts)))
        into[:, 0] = 1.0
        for member, steps in enumerate(self._steps):
            for value, before, after in steps:
                into[:, after] += into[:, before] * weights[:, member, value, None]
            # states after this member are scaled together, lest products of many weights become 0
            reached = np.unique(np.concatenate([after for _, _, after in steps]))
            into[:, reached] /= into[:, reached].sum(axis=1, keepdims=True)
        out_of = np.zeros_like(into)
        out_of[:, -1] = 1.0
        found = np.zeros_like(weights)
        for member, steps in reversed(list(enumerate(self._steps))):
            for value, before, after in steps:
                ways = out_of[:, after] * weights[:, member, value, None]
                found[:, member, value] = (into[:, before] * ways).sum(axis=1)
                out_of[:, before] += ways
            left = np.unique(np.concatenate([before for _, before, _ in steps]))
            out_of[:, left] /= out_of[:, left].sum(axis=1, keepdims=True)
        return np.asarray(found / found.sum(axis=2, keepdims=True))

    @cached_property
    def _steps(self) -> list[list[tuple[int, Longs, Longs]]]:
        """For each member, each value it can get: the states before that, and the states after it."""
        shape = tuple(count + 1 for count in self.counts)
        # [state, value] how many of each value are handed out
        states = np.stack(np.unravel_index(np.arange(prod(shape)), shape), axis=1)
        done, found = states.sum(axis=1), []
        for member in range(len(self.members[0])):
            steps = []
            for value, count in enumerate(self.counts):
                before = np.flatnonzero((done == member) & (states[:, value] < count))
                steps.append((value, before, before + prod(shape[value + 1 :])))
            found.append(steps)
        return found


def _round_up(sizes: Longs) -> Longs:
    """Return sizes rounded up by at most an eighth, so that there are few different ones.

    >>> _round_up(np.array([1, 8, 9, 64, 65, 1000])).tolist()
    [8, 8, 16, 64, 72, 1024]
    """
    steps = 2 ** np.maximum(np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64) - 4, 3)
    return np.asarray(-(-sizes // steps) * steps)


def _count_others(likely: Weights, counts: Longs) -> Weights:
    """Return log P(c-1 others have a value) / P(c others) in some groups, given likely[group, member] and c by group.

    >>> _count_others(np.array([[0.9, 0.5, 0.6]]), np.array([2])).round(3).tolist()  # at first, log 0.5/0.3
    [[0.511, -0.251, 0.105]]
    """
    groups, members = likely.shape
    most = int(counts.max()) + 1
    each = np.ascontiguousarray(likely.T)[:, None, :]
    # before[member, many, group]: how likely so many of those before a member have the value
    before = np.zeros((members, most + 1, groups))
    before[0, 0] = 1.0
    # after[member, many, group]: how likely those after it, beside so many, make c
    after = np.zeros((members, most + 1, groups))
    after[-1, counts, np.arange(groups)] = 1.0
    for one in range(1, members):
        np.multiply(before[one - 1], 1 - each[one - 1], out=before[one])
        before[one, 1:] += before[one - 1, :-1] * each[one - 1]
        np.multiply(after[-one], 1 - each[-one], out=after[-one - 1])
        after[-one - 1, :-1] += after[-one, 1:] * each[-one]
    # c others have it where those before and after make c, and c-1 where they lack one; no difference loses digits
    exactly = np.einsum("mkg,mkg->gm", before, after)
    fewer = np.einsum("mkg,mkg->gm", before[:, :-1], after[:, 1:])
    return np.asarray(np.log(np.maximum(fewer, 1e-300) / np.maximum(exactly, 1e-300)))


_BINS = 50
"""Most values of a column that are told apart; beyond that, values are binned in their order."""
_STARTS = 6
"""Random starts of learning; they differ where the groups have several explanations."""
_AT_ONCE = 2_000_000
"""Most starts times members times values that are learned from side by side: about 16 MB an array."""
_WALK = 30
"""Steps of the walk that count, after those of learning."""
_EVERY = 5
"""Of these, every fifth: those between are alike."""
_SWAPS = 4
"""How often members of a group meet in pairs at each step."""
MOST_CELLS = 600_000
"""Most cells with which it is tried before a release is advised, which takes some eight seconds."""
_ROW_AS_CELLS = 8
"""A row takes as long as so many cells of a row and a sensitive value."""


def _count_cells(published: Published, name: str) -> int:
    """Return the number of cells of a row and a value of one sensitive column, to which time is proportional."""
    return published.rows * (len(published.counts.sensitive[name].labels) + _ROW_AS_CELLS)


def _count_learned(finding: Finding) -> int:
    """Return how many people an attack exposes; nobody where learning did not help all in all."""
    success, baseline = finding.success, finding.baseline
    helps = success is None or baseline is None or success.is_above(baseline)
    return finding.exposed if helps else 0


@dataclass(frozen=True)
class DeFinetti(Attack):
    """Hand out the values of each group at random, learn which people have which, hand them out anew, and so on.

    A naive Bayes learner (Laplace's rule) learns the quasi-identifiers of each sensitive value; within a group values
    then go to whom they suit. How sure the attacker is takes into account how much there was to learn from. People are
    as the rows show them (Anatomy) or, where the rows of a class look alike, as the attacker knows them from elsewhere:
    the original's own quasi-identifiers.

    Kifer: Attacks on privacy and deFinetti's theorem. SIGMOD 2009.

    >>> import pyarrow as pa
    >>> from shoal.attacks.release_under_attack import LabelColumn
    >>> from shoal.data.codes import Table, encode
    >>> from shoal.data.class_counts import ClassCounts, ValueCounts
    >>> ages = ["old", "old", "young", "young", "old", "young"] * 10  # in pairs; the old are ill
    >>> cells = {"age": ages, "ill": ["yes" if age == "old" else "no" for age in ages]}
    >>> table = Table({name: encode(name, pa.array(column)) for name, column in cells.items()}, 60)
    >>> pairs, counts = np.repeat(np.arange(30, dtype=np.int32), 2), np.array([[0, 2], [2, 0], [1, 1]] * 10)
    >>> values = ValueCounts(*np.nonzero(counts), counts[counts > 0], ["no", "yes"], 30)
    >>> shown = {"age": LabelColumn(table["age"].codes, ["old", "young"])}
    >>> anatomy = Published("r", table, shown, ("ill",), pairs, ClassCounts(np.full(30, 2), {"ill": values}))
    >>> found = DeFinetti().on(anatomy, Truth(table, np.arange(60)))
    >>> found.success.right, found.baseline.right < 60
    (60, True)
    """

    name: ClassVar[str] = "definetti"
    sentence: ClassVar[str] = "What all groups together teach about who in a group has which value."
    channel: ClassVar[Channel] = Channel.ATTRIBUTE
    slow: ClassVar[bool] = True
    source: ClassVar[str] = "Kifer, SIGMOD 2009"
    of_sensitive: ClassVar[bool] = True

    attribute: str | None = option(None, ATTRIBUTE)
    """The sensitive one; all are tried unless one is named, and the one of which most is learned is told."""
    rounds: int = option(30, "Of learning, from each start.", least=1)
    seed: int = option(0, SEED)
    most_cells: int | None = None
    """If given, columns are tried in the order of their number of values, as long as they have so few cells."""
    sure: float = 0.9
    """A value that is at least so likely is learned, where the class alone does not tell it."""

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "DeFinetti":
        return cls(seed=given.seed)

    @classmethod
    def for_maker(cls, published: Published, share: float = 1.0) -> "DeFinetti | str":
        least, most = min(_count_cells(published, name) for name in published.sensitive), int(share * MOST_CELLS)
        return LATER if least > most else cls(most_cells=most)

    def __post_init__(self) -> None:
        refuse_unless_at_least("rounds", self.rounds, 1)
        if not 0 < self.sure <= 1:
            raise BadInput("sure must lie between 0 and 1")

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        refuse_seed(self.seed)
        first = sensitive_of(published, self.attribute)
        names = self._choose_columns(published) if self.attribute is None else [first]
        left = tuple(name for name in published.sensitive if name not in names) if self.attribute is None else ()
        found = [self._guess(published, truth, name) for name in names]
        worst = replace(max(found, key=_count_learned), columns_left=left)  # of equal ones the first
        if len(published.sensitive) == 1:
            return worst
        return replace(worst, sentence=f"of {worst.figures['attribute']}: {worst.sentence}")

    def _choose_columns(self, published: Published) -> list[str]:
        """Return the sensitive columns to try: all that fit into the number of cells, in the order of the table."""
        cells = {name: _count_cells(published, name) for name in published.sensitive}
        by_size = sorted(cells, key=cells.__getitem__)
        spent = dict(zip(by_size, accumulate(cells[name] for name in by_size), strict=True))
        return [name for name in cells if self.most_cells is None or spent[name] <= self.most_cells]

    def _guess(self, published: Published, truth: Truth | None, attribute: str) -> Finding:
        """Learn who has which value of one sensitive attribute."""
        people = _people(published, truth)
        known = published.counts.sensitive[attribute]
        by_label = rank_labels(known.labels)
        right = np.full(published.rows, -1) if truth is None else _true_values(published, truth, attribute)
        right = np.append(by_label, -1)[right]
        # counts[group, value], values in the order of their labels
        counts = np.empty_like(known.dense())
        counts[:, by_label] = known.dense()
        order, group = _order_by_content(people, right, published.class_of_row, counts)
        people, right = [codes[order] for codes in people], right[order]
        groups = MemberGroups(group[published.class_of_row[order]], counts[np.argsort(group)])
        if not np.array_equal(groups.counts.sum(axis=1), np.bincount(groups.group, minlength=len(groups.counts))):
            raise BadInput(f"{published.name}: its groups do not have as many sensitive values as people")
        random = np.random.default_rng(self.seed)
        likely = learn_probabilities(people, groups, self.rounds, random)
        alone = groups.counts / groups.counts.sum(axis=1, keepdims=True)
        shares = alone[groups.group]
        surest, largest = likely.max(axis=1), shares.max(axis=1)
        sure = (surest >= self.sure) & (largest < self.sure)
        figures: dict[str, Any] = {
            "attribute": attribute,
            "groups": len(groups.counts),
            "rounds": self.rounds,
            "starts": _STARTS,
            "people_with_a_likely_value": int(sure.sum()),
            "likely_from": self.sure,
            "likeliest_value_mean": float(surest.mean()),
            "largest_share_mean": float(largest.mean()),
            "one_over_l": float(largest.max()),
        }
        if truth is None:
            exposed = int(sure.sum())
            sentence = f"{exposed:,} of {published.rows:,} records have a value that is at least {self.sure:.0%} likely"
            told = Finding("definetti", Channel.ATTRIBUTE, exposed, published.rows, sentence, figures)
            return replace(told, columns=(attribute,) if exposed else ())
        ties = random.random(likely.shape) * 1e-9
        guessed = (likely + ties).argmax(axis=1) == right
        success = Rate(int(guessed.sum()), published.rows)
        baseline = Rate(int(((shares + ties).argmax(axis=1) == right).sum()), published.rows)
        figures["lift"], figures["lift_error"] = lift(success, baseline)
        exposed = int((sure & guessed).sum())
        sentence = (
            f"learning from all classes which kind of people has which value, an attacker guesses "
            f"{success.share:.1%} of {published.rows:,} records right; without learning it is {baseline.share:.1%}; "
            f"{self._describe_certainty(int(sure.sum()), exposed, success, baseline)}"
        )
        told = Finding("definetti", Channel.ATTRIBUTE, exposed, published.rows, sentence, figures, success, baseline)
        return replace(told, columns=(attribute,) if exposed else ())

    def _describe_certainty(self, sure: int, right: int, success: Rate, baseline: Rate) -> str:
        """Say how many records the attacker is sure of, how many of them rightly, and whether that exposes them."""
        if not sure:
            return f"the attacker is at least {self.sure:.0%} sure of nobody, so this exposes nobody"
        least = f"at least {self.sure:.0%} sure of {sure:,}"
        if not success.is_above(baseline):
            wrong = f"but is wrong about {sure - right:,} of them" if right < sure else "and is right"
            said = f"the attacker believes to be {least} {wrong}"
            return f"{said}: learning does not help all in all, so this exposes nobody"
        said = f"the attacker is {least} and right about {right:,}"
        return f"{said}: better than without learning, {'so these are exposed' if right else 'but this exposes nobody'}"


def learn_probabilities(
    people: Sequence[Codes], groups: MemberGroups, rounds: int, random: np.random.Generator
) -> Weights:
    """Return likely[person, value]: the mean over many explanations of the groups, each as often as it is likely.

    From each of several random starts, side by side, two steps take turns: how common each quasi-identifier is among
    those who have a value is drawn, given who has which (Dirichlet's distribution by Laplace's rule); then who has
    which is drawn, given that (Gibbs). After `rounds` of learning, the probabilities given what was drawn are counted.
    What differs from start to start, or could as well be otherwise, is not told as sure.

    >>> ages = [np.array([0, 1] * 50, np.int32)]
    >>> pairs = MemberGroups(np.repeat(np.arange(50), 2), np.array([[1, 1]] * 45 + [[2, 0]] * 5))
    >>> learn_probabilities(ages, pairs, 20, np.random.default_rng(1)).shape
    (100, 2)
    """
    total = np.zeros((len(groups.group), groups.counts.shape[1]))
    together = min(max(_AT_ONCE // total.size, 1), _STARTS)
    for first in range(0, _STARTS, together):
        starts = min(together, _STARTS - first)
        total += _learn_from_starts(people, groups.repeat(starts), starts, rounds, random)
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def _learn_from_starts(
    people: Sequence[Codes], groups: MemberGroups, starts: int, rounds: int, random: np.random.Generator
) -> Weights:
    """Return the sum of likely[person, value] over some starts, given the groups of all of them side by side."""
    values, size = _assign_at_random(groups, random), groups.counts.shape[1]
    total = np.zeros((len(values), size))
    for step in range(rounds + _WALK):
        likelihoods = _draw_likelihoods(people, values, starts, size, random)
        for _ in range(_SWAPS):
            values = groups.swap_at_random(values, likelihoods, random)
        if step >= rounds and step % _EVERY == 0:
            total += groups.estimate_probabilities(likelihoods)
    return np.asarray(total.reshape(starts, -1, size).sum(axis=0))


def _draw_likelihoods(
    people: Sequence[Codes], values: Longs, starts: int, size: int, random: np.random.Generator
) -> Weights:
    """Return log P(quasi-identifiers of a person | value) for shares drawn as likely given everybody's value."""
    out = np.zeros((starts, len(values) // starts, size))
    start = np.arange(starts)[:, None]
    for codes in people:
        several = int(codes.max()) + 1
        # seen[start, code, value]: members with this code and value; Dirichlet's distribution by Laplace's rule
        cells = ((start * several + codes) * size).ravel() + values
        seen = np.bincount(cells, minlength=starts * several * size).reshape(starts, several, size)
        drawn = np.maximum(random.standard_gamma(seen + 1.0), 1e-300)
        out += np.log(drawn / drawn.sum(axis=1, keepdims=True))[start, codes]
    return out.reshape(-1, size)


def _assign_at_random(groups: MemberGroups, random: np.random.Generator) -> Longs:
    """Return a value for each member, those of each group handed out to its members in random order."""
    values = np.repeat(
        np.tile(np.arange(groups.counts.shape[1]), len(groups.counts)), groups.counts.ravel()
    )  # group by group
    # members group by group as well, in random order within each
    order = np.lexsort((random.random(len(groups.group)), groups.group))
    out = np.empty(len(groups.group), dtype=np.int64)
    out[order] = values
    return out


def _people(published: Published, truth: Truth | None) -> list[Codes]:
    """Return, for each quasi-identifier, the code that the attacker knows of the person behind each row."""
    names = sorted(published.quasi_identifiers)
    shown = [published.quasi_identifiers[name].codes for name in names]
    classes = published.class_of_row
    # first row of each class; assigning backwards lets the first row win
    first = np.empty(len(published.counts.sizes), dtype=np.int64)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    if any((codes != codes[first[classes]]).any() for codes in shown):
        return [_bin_codes(codes) for codes in shown]
    if truth is None:
        raise BadInput(
            f"{published.name}: the rows of a class look alike, so nothing tells its people apart; name the original "
            "with --original (in Python original=…), as one who knows everybody's quasi-identifiers"
        )
    return [_bin_codes(truth.behind(name)) for name in names]


def _order_by_content(
    people: Sequence[Codes], right: NDArray[np.integer], of_row: Codes, counts: Longs
) -> tuple[Longs, Longs]:
    """Return the rows, and a number for each group, in an order in which neither their places nor numbers matter.

    What is drawn at random is then the same whoever numbered them. Groups that have the same members and values share
    the sum of random marks by which they are sorted; which of them comes first makes no difference.
    """
    _, which = np.unique(np.stack([*people, right]), axis=1, return_inverse=True)
    marks = np.random.default_rng(0).integers(0, 1 << 63, which.max() + 1 + counts.shape[1], dtype=np.uint64)
    # [group] sum of the marks of its members and of its values, modulo 2⁶⁴
    mark = (counts.astype(np.uint64) * marks[-counts.shape[1] :]).sum(axis=1, dtype=np.uint64)
    np.add.at(mark, of_row, marks[which.ravel()])
    order = np.lexsort((which.ravel(), of_row, mark[of_row]))
    group = np.argsort(np.lexsort((np.arange(len(mark)), mark)))
    return order, group


def rank_labels(labels: Sequence[str | None]) -> Longs:
    """Return the place of each label in alphabetical order, that of null last.

    >>> rank_labels(["hiv", None, "flu"]).tolist()
    [1, 2, 0]
    """
    order = sorted(range(len(labels)), key=lambda code: (labels[code] is None, labels[code] or ""))
    return np.argsort(order)


def _bin_codes(codes: Codes) -> Codes:
    """Return codes renumbered from 0, in bins of nearly equal size where there are too many."""
    used, codes_ = np.unique(codes, return_inverse=True)
    if len(used) > _BINS:
        # bins of nearly equal size by rank; all rows of a value go by its first rank
        rank = np.argsort(np.argsort(codes, kind="stable"), kind="stable")
        first = np.full(len(used), len(codes))
        np.minimum.at(first, codes_, rank)
        codes_ = first[codes_] * _BINS // len(codes)
    return np.asarray(codes_, dtype=np.int32)


def _true_values(published: Published, truth: Truth, attribute: str) -> NDArray[np.integer]:
    """Return the true value behind each row, in the codes of the release; -1 where there is none."""
    labels = published.counts.sensitive[attribute].labels
    place = {label: code for code, label in enumerate(labels)}
    column = truth.table[attribute]
    texts = [*column.texts.to_pylist(), *([None] if column.has_null else [])]
    return np.array([place.get(text, -1) for text in texts] + [-1])[truth.behind(attribute)]  # -1: nobody is behind
