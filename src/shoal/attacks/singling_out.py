"""Predicate singling out: a class and a coin of the right weight isolate one person, though classes are large."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import (
    CONTROL,
    LATER,
    SEED,
    Attack,
    AuditInputs,
    Channel,
    Finding,
    Rate,
    ShareLike,
    option,
    read_share,
    refuse_missing,
    refuse_seed,
)
from shoal.attacks.label_sets import covered_by_labels, marginal, meaning_of
from shoal.attacks.record_linkage import find_fitting_classes
from shoal.attacks.release_under_attack import Published, Truth, label_of_class
from shoal.data.class_counts import Longs
from shoal.data.codes import Table
from shoal.errors import BadInput

Shares = NDArray[np.float64]


MOST_LABELS = 20_000
"""Most different labels with which it is measured while a release is written; each is read once."""


@dataclass(frozen=True)
class SinglingOut(Attack):
    """For each class E the predicate "in E, and a hash of the record lies in [0, 1/|E|)": does one person satisfy it?

    It does so with probability (1 - 1/|E|)^(|E| - 1), at least 1/e. A predicate of the same weight w that knows nothing
    of the release isolates with n·w·(1 - w)^(n - 1); a class breaches where its own weight is far below 1/n, so that
    this is next to nothing. As many records are exposed as its predicates are expected to isolate, and at least one
    where a class breaches; with the truth, one hash is tried as well. Weights are those of independent attributes, as
    the release or a control table has them: where attributes go together they are larger in truth.

    Cohen and Nissim: Towards formalizing the GDPR's notion of singling out. PNAS 2020.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> ages = Table({"age": encode("age", pa.array(["[0, 50)"] * 2 + ["[50, 100)"] * 2))}, 4)
    >>> found = SinglingOut(below=1).on(Published.of("the frame", ages, ["age"], []))
    >>> found.figures["isolation_mean"], found.exposed
    (0.5, 0)
    """

    name: ClassVar[str] = "singling-out"
    sentence: ClassVar[str] = "Isolate one person of a class by a predicate that hardly anyone satisfies."
    channel: ClassVar[Channel] = Channel.SINGLING_OUT
    source: ClassVar[str] = "Cohen and Nissim, PNAS 117(15), 2020"
    if_exposed: ClassVar[str] = "about {exposed:,} can be isolated by a predicate that fits hardly anybody"
    if_not: ClassVar[str] = "no class is so rare that a predicate isolates its people"

    reads: ClassVar[tuple[str, ...]] = ("control",)

    control: Any = option(None, CONTROL)
    """A table of people like those in the release."""
    below: ShareLike = option(0.1, "A class breaches where it is rarer than this part of 1/n.", share=True)
    """A class breaches where its weight is less than this part of 1/n."""
    seed: int = option(0, SEED)
    """Of the hash."""

    @classmethod
    def for_report(cls, published: Published, *, weighted: bool) -> "SinglingOut | str":
        if weighted:
            return LATER
        labels = sum(len(face.labels) for face in published.quasi_identifiers.values())
        many = f"not measured: there are more than {MOST_LABELS:,} different labels; {LATER}"
        return many if labels > MOST_LABELS else cls()

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "SinglingOut":
        return cls(seed=given.seed, control=given.control)

    def __post_init__(self) -> None:
        refuse_seed(self.seed)
        if not 0 < read_share("below", self.below) <= 1:
            raise BadInput("below must lie between 0 and 1")

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        if self.control is not None:
            refuse_missing(published, self.control, "the control table")
        sizes, rows = published.counts.sizes, published.rows
        weight = class_weights(published, self.control)
        isolating = isolation(sizes)
        trivial = isolation_by_guessing(rows, weight / sizes)
        breach = weight < float(read_share("below", self.below)) / rows
        expected = float(isolating[breach].sum())
        # which predicates isolate is luck of the hash: a class that breaches exposes somebody, whatever one hash does
        exposed = max(int(expected), int(breach.any()))
        figures: dict[str, Any] = {
            "classes": len(sizes),
            "classes_that_breach": int(breach.sum()),
            "weight_median": float(np.median(weight)),
            "one_over_n": 1 / rows,
            "isolation_mean": float(isolating.mean()),
            "isolation_without_the_release_mean": float(trivial.mean()),
            "expected_isolated_in_breaching_classes": expected,
        }
        sentence = (
            f"{int(breach.sum()):,} of {len(sizes):,} classes are far rarer than one record in {rows:,}; their "
            f"predicates isolate {'about ' if exposed else ''}{exposed:,} record{'' if exposed == 1 else 's'}"
        )
        if truth is None:
            return Finding("singling-out", Channel.SINGLING_OUT, exposed, rows, sentence, figures)
        alone = count_satisfying(published, truth.table, self.seed) == 1
        isolated = int((alone & breach).sum())
        figures["isolated_by_all_predicates"] = int(alone.sum())
        success = Rate(isolated, int(breach.sum()))
        baseline = Rate(int(np.floor(trivial[breach].sum())), int(breach.sum()))
        if exposed:
            sentence += f", and {isolated:,} as tried on the original with one hash"
        return Finding("singling-out", Channel.SINGLING_OUT, exposed, rows, sentence, figures, success, baseline)


def isolation(sizes: Longs) -> Shares:
    """Return the probability that exactly one of `size` members falls into a part of weight 1/size.

    >>> isolation(np.array([1, 2, 5])).round(4).tolist()
    [1.0, 0.5, 0.4096]
    """
    return np.asarray((1 - 1 / sizes) ** (sizes - 1))


def isolation_by_guessing(people: int, weight: Shares) -> Shares:
    """Return the probability that a predicate of a weight, made without the data, isolates one of n people.

    It is n·w·(1 - w)^(n - 1), about 1/e at most, at weight 1/n.

    >>> isolation_by_guessing(100, np.array([0.01])).round(4).tolist()
    [0.3697]
    """
    return np.asarray(people * weight * (1 - weight) ** (people - 1))


def class_weights(published: Published, control: Table | None = None) -> Shares:
    """Return the probability that a person falls into each class, if attributes were independent.

    Without a control table, a label is at least as common as the rows that show it, even where it covers no known
    value, like `<20` where all other labels begin at 20.
    """
    out = np.ones(len(published.counts.sizes))
    for name in published.quasi_identifiers:
        meaning = meaning_of(published, name, *(() if control is None else (control[name],)), listed=False)
        if not meaning.column.size:
            continue  # everywhere `*`
        shares = marginal(published, name, meaning, control)
        common = covered_by_labels(meaning, shares)
        if control is None:
            face = published.quasi_identifiers[name]
            common = np.maximum(common, np.bincount(face.codes, minlength=len(face.labels)) / published.rows)
        out *= common[label_of_class(published, name)]
    return out


def count_satisfying(published: Published, original: Table, seed: int) -> Longs:
    """Count the records of the original that satisfy the predicate of each class."""
    part = hash_records(original, seed)
    found = np.zeros(len(published.counts.sizes), dtype=np.int64)
    start = 0
    for fits in find_fitting_classes(published, original):
        # [person, class] whether the hash lies below 1/size of the class
        below = part[start : start + len(fits), None] < 1 / published.counts.sizes
        found += (fits & below).sum(axis=0)
        start += len(fits)
    return found


def hash_records(table: Table, seed: int) -> Shares:
    """Return a number in [0, 1) for each record, a hash of all its columns: equal records have equal numbers."""
    key = seed.to_bytes(max((seed.bit_length() + 7) // 8, 1), "little")[:64]
    codes = np.stack([column.codes for column in table.columns.values()], axis=1)
    raw = [blake2b(row.tobytes(), key=key, digest_size=8).digest() for row in np.ascontiguousarray(codes)]
    return np.asarray(np.frombuffer(b"".join(raw), dtype="<u8") / 2.0**64)
