"""The deFinetti attack: groups that hide who has which value show together what kind of person has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    at_least,
    lift,
    option,
    refuse_seed,
    sensitive_of,
)
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.errors import BadInput

Weights = NDArray[np.float64]

_SWEEPS = 20
_EDGE = 1e-12


@dataclass(frozen=True)
class MemberGroups:
    """Members in groups, and how often each value occurs in each group; a group has as many values as members."""

    group: Longs
    """Group of each member."""
    counts: Longs
    """counts[group, value]: how often each value occurs in each group."""

    def likely(self, likelihoods: Weights) -> Weights:
        """For each member the probability of each value, from log likelihoods: weights scaled until members get one
        value each and values go to as many as have them.

        Sinkhorn 1964; twice the log likelihoods, which makes groups of two exact: p/(1-p) is then the ratio of the two
        permutations, and not its root.

        >>> pair = MemberGroups(np.array([0, 0]), np.array([[1, 1]]))
        >>> pair.likely(np.log([[0.9, 0.1], [0.5, 0.5]])).round(3).tolist()
        [[0.9, 0.1], [0.1, 0.9]]
        """
        # sort members by group, so that reduceat sums over the members of each group
        order = np.argsort(self.group, kind="stable")
        group = self.group[order]
        starts = np.searchsorted(group, np.arange(len(self.counts)))
        scaled = 2 * likelihoods[order]
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        # [member, value]; 0 for values that do not occur in the member's group
        weights = np.maximum(weights, _EDGE) * (self.counts[group] > 0)
        for _ in range(_SWEEPS):
            # one Sinkhorn sweep: columns of each group to its counts, then rows to 1
            sums = np.add.reduceat(weights, starts, axis=0)
            weights *= (self.counts / np.where(sums > 0, sums, 1))[group]
            weights /= weights.sum(axis=1, keepdims=True)
        out = np.empty_like(weights)
        out[order] = weights
        return np.asarray(out)


_BINS = 50
"""Most values of a column that are told apart; beyond that, values are binned in their order."""
_STILL = 1e-2
MOST_CELLS = 400_000
"""Most rows times values with which it is tried before a release is advised: they take about two seconds."""


@dataclass(frozen=True)
class DeFinetti(Attack):
    """Hand out the values of each group at random, learn which people have which, hand them out anew, and so on.

    A naive Bayes learner (Laplace's rule) learns the quasi-identifiers of each sensitive value; within a group values
    then go to whom they suit. People are as the rows show them (Anatomy) or, where the rows of a class look alike, as
    the attacker knows them from elsewhere: the original's own quasi-identifiers.

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
    """The sensitive one; the first unless named."""
    rounds: int = option(30, "Of learning, at most.", least=1)
    seed: int = option(0, SEED)
    sure: float = 0.9
    """A value that is at least so likely is learned, where the class alone does not tell it."""

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "DeFinetti":
        return cls(seed=given.seed)

    @classmethod
    def for_maker(cls, published: Published) -> "DeFinetti | str":
        values = len(published.counts.sensitive[published.sensitive[0]].labels)
        return LATER if published.rows * values > MOST_CELLS else cls()

    def __post_init__(self) -> None:
        at_least("rounds", self.rounds, 1)
        if not 0 < self.sure <= 1:
            raise BadInput("sure must lie between 0 and 1")

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        refuse_seed(self.seed)
        attribute = sensitive_of(published, self.attribute)
        people, of_row = _people(published, truth), published.class_of_row.astype(np.int64)
        right = np.full(published.rows, -1) if truth is None else _right(published, truth, attribute)
        # what is found does not depend on the order of the rows: they are drawn for in an order of their own
        order = np.lexsort((right, *people, of_row))
        people, right = [codes[order] for codes in people], right[order]
        groups = MemberGroups(of_row[order], published.counts.sensitive[attribute].dense())
        if not np.array_equal(groups.counts.sum(axis=1), np.bincount(groups.group, minlength=len(groups.counts))):
            raise BadInput(f"{published.name}: its groups do not have as many sensitive values as people")
        random = np.random.default_rng(self.seed)
        likely, rounds = learned(people, groups, self.rounds, random)
        alone = groups.counts / groups.counts.sum(axis=1, keepdims=True)
        shares = alone[groups.group]
        surest, largest = likely.max(axis=1), shares.max(axis=1)
        sure = (surest >= self.sure) & (largest < self.sure)
        figures: dict[str, Any] = {
            "groups": len(groups.counts),
            "rounds": rounds,
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
            f"{success.share:.1%} of {published.rows:,} records are guessed right, {baseline.share:.1%} without "
            f"learning from the other groups; {self._told(int(sure.sum()), exposed, success, baseline)}"
        )
        told = Finding("definetti", Channel.ATTRIBUTE, exposed, published.rows, sentence, figures, success, baseline)
        return replace(told, columns=(attribute,) if exposed else ())

    def _told(self, sure: int, right: int, success: Rate, baseline: Rate) -> str:
        """Say of how many records the attacker is sure, of how many rightly, and whether that exposes them."""
        if not sure:
            return f"the attacker is at least {self.sure:.0%} sure of nobody, so this exposes nobody"
        least = f"at least {self.sure:.0%} sure of {sure:,}"
        if not success.is_above(baseline):
            said = f"the attacker believes to be {least} but is right about {right:,}"
            return f"{said}: all in all no better than guessing, so this exposes nobody"
        said = f"the attacker is {least} and right about {right:,}"
        return f"{said}: better than guessing, {'so these are exposed' if right else 'but this exposes nobody'}"


def learned(
    people: Sequence[Codes], groups: MemberGroups, rounds: int, random: np.random.Generator
) -> tuple[Weights, int]:
    """Return likely[person, value] and the number of rounds it took.

    >>> ages = [np.array([0, 1] * 50, np.int32)]
    >>> pairs = MemberGroups(np.repeat(np.arange(50), 2), np.array([[1, 1]] * 45 + [[2, 0]] * 5))
    >>> likely, _ = learned(ages, pairs, 20, np.random.default_rng(1))
    >>> likely.shape
    (100, 2)
    """
    likely = _at_random(groups, random)
    for done in range(1, rounds + 1):
        again = groups.likely(_likelihoods(people, likely))
        moved = float(np.abs(again - likely).max())
        likely = again
        if moved < _STILL:
            return likely, done
    return likely, rounds


def _likelihoods(people: Sequence[Codes], likely: Weights) -> Weights:
    """Log P(quasi-identifiers of a person | value) as [person, value], by Laplace's rule."""
    total = likely.sum(axis=0)
    out = np.zeros_like(likely)
    for codes in people:
        size = int(codes.max()) + 1
        # seen[code, value]: expected members with this code and value
        seen = np.stack([np.bincount(codes, weights=each, minlength=size) for each in likely.T], axis=1)
        out += (np.log(seen + 1) - np.log(total + size))[codes]
    return out


def _at_random(groups: MemberGroups, random: np.random.Generator) -> Weights:
    """Hand out each group's values to its members in random order: one-hot [member, value]."""
    values = np.repeat(
        np.tile(np.arange(groups.counts.shape[1]), len(groups.counts)), groups.counts.ravel()
    )  # group by group
    order = np.lexsort((random.random(len(groups.group)), groups.group))
    out = np.zeros((len(groups.group), groups.counts.shape[1]))
    out[order, values] = 1.0
    return out


def _people(published: Published, truth: Truth | None) -> list[Codes]:
    """For each quasi-identifier, the code that the attacker knows of the person behind each row."""
    shown = [each.codes for each in published.quasi_identifiers.values()]
    classes = published.class_of_row
    # first row of each class; assigning backwards lets the first row win
    first = np.empty(len(published.counts.sizes), dtype=np.int64)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    if any((codes != codes[first[classes]]).any() for codes in shown):
        return [_binned(codes) for codes in shown]
    if truth is None:
        raise BadInput(
            f"{published.name}: the rows of a class look alike, so nothing tells its people apart; name the original "
            "with --original (in Python original=…), as one who knows everybody's quasi-identifiers"
        )
    return [_binned(truth.behind(name)) for name in published.quasi_identifiers]


def _binned(codes: Codes) -> Codes:
    used, codes_ = np.unique(codes, return_inverse=True)
    if len(used) > _BINS:
        # bins of nearly equal size by rank; all rows of a value go by its first rank
        rank = np.argsort(np.argsort(codes, kind="stable"), kind="stable")
        first = np.full(len(used), len(codes))
        np.minimum.at(first, codes_, rank)
        codes_ = first[codes_] * _BINS // len(codes)
    return np.asarray(codes_, dtype=np.int32)


def _right(published: Published, truth: Truth, attribute: str) -> NDArray[np.integer]:
    """True value of each person, in the codes of the release; -1 where there is none."""
    labels = published.counts.sensitive[attribute].labels
    place = {label: code for code, label in enumerate(labels)}
    column = truth.table[attribute]
    texts = [*column.texts.to_pylist(), *([None] if column.has_null else [])]
    return np.array([place.get(text, -1) for text in texts] + [-1])[truth.behind(attribute)]  # -1: nobody is behind
