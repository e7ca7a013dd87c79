"""Composition: what several releases about the same people say together that none says alone."""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import (
    ATTRIBUTE,
    KEY,
    REGISTER,
    Attack,
    AuditInputs,
    Channel,
    Finding,
    Knowledge,
    Rate,
    option,
    refuse_missing,
    refuse_twice,
    sensitive_of,
)
from shoal.attacks.composition_over_time import ClassOverlap, crossed
from shoal.attacks.record_linkage import fitting
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Longs
from shoal.data.codes import Table
from shoal.errors import BadInput

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Compose(Attack):
    """People in several releases have a sensitive value that their class in each of them shows: the intersection.

    Who is in all of them is told by the rows of the original (with the truth), or by a register of people; without
    either, every pair of classes that can hold one person is looked at.

    Ganta, Kasiviswanathan and Smith: Composition attacks and auxiliary information in data privacy. KDD 2008.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> def release(*diseases):
    ...     ages = encode("age", pa.array(["[20, 30)"] * 3))
    ...     table = Table({"age": ages, "disease": encode("disease", pa.array(diseases))}, 3)
    ...     return Published.of("r", table, ["age"], ["disease"])
    >>> bob = Table({"age": encode("age", pa.array(["24"]))}, 1)
    >>> found = Compose([release("hiv", "cancer", "asthma")], register=bob).on(release("flu", "hiv", "ulcer"))
    >>> found.exposed, found.figures["exposed_by_one_release"]
    (1, 0)
    """

    name: ClassVar[str] = "compose"
    sentence: ClassVar[str] = "What several releases about the same people tell together."
    channel: ClassVar[Channel] = Channel.COMPOSITION
    needs: ClassVar[str] = "other releases about the same people (--other, in Python others=[…])"
    source: ClassVar[str] = "Ganta, Kasiviswanathan, Smith, KDD 2008"
    of_sensitive: ClassVar[bool] = True

    reads: ClassVar[tuple[str, ...]] = ("register",)
    originals: ClassVar[bool] = True

    others: Sequence[Any] = option(MISSING, "Other releases about the same people.", name="OTHER...")
    """The other releases; `shoal.attack` takes what it takes as a release, too."""
    register: Any = option(None, REGISTER)
    """A table of people who may be in all of them: their quasi-identifiers."""
    attribute: str | None = option(None, ATTRIBUTE)
    """The sensitive one; the first unless named."""
    truths: Sequence[Any] = ()
    """Of the others, in their order; `shoal.attack` takes originals, and without any that of the first release."""
    key: str | None = option(None, KEY)
    """The column that tells persons apart: in the register, or in originals where each release has its own."""

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "Compose":
        return cls(tuple(given.others))

    def lacking(self, known: Knowledge) -> str | None:
        del known
        return None if self.others else "name other releases about the same people with --other (in Python others=[…])"

    def prepared(self, known: Knowledge) -> "Compose":
        """Open the other releases and find who is behind their rows, by their own originals or that of the first."""
        others = tuple(each if isinstance(each, Published) else known.open(each) for each in self.others)
        how = replace(self, register=known.read(self.register), others=others)
        if known.original is None:
            return how
        pairs = zip(self.others, self.truths or [known.original] * len(others), strict=False)
        behind = tuple(each if isinstance(each, Truth) else known.behind(other, each) for other, each in pairs)
        return replace(how, truths=behind)

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        attribute = sensitive_of(published, self.attribute)
        releases = [published, *self.others]
        _refuse_strangers(releases, attribute)
        values, present = _values(releases, attribute)
        if truth is not None and self.truths:
            if len(self.truths) != len(self.others):
                raise BadInput(f"{len(self.others)} other releases need as many originals, not {len(self.truths)}")
            rows = _in_all([truth, *self.truths], self.key)
            shares = [_normalised(p[r.class_of_row[at]]) for p, r, at in zip(present, releases, rows, strict=True)]
            told = truth.table[attribute]
            texts = {text: code for code, text in enumerate(values)}
            labels = [*told.texts.to_pylist(), *([None] if told.has_null else [])]
            right = np.array([texts.get(label, -1) for label in labels])[truth.behind(attribute)[rows[0]]]
            return _told(shares, "people who are in all of them", crossed(releases, rows), right)
        if self.register is not None:
            refuse_twice(self.register, self.key, "the register")
            shares = [_of_register(r, self.register, p) for p, r in zip(present, releases, strict=True)]
            inside = np.all([share.any(axis=1) for share in shares], axis=0)
            return _told([share[inside] for share in shares], "people of the register who can be in all of them", {})
        return _pairs(releases, present)


def _values(releases: Sequence[Published], attribute: str) -> tuple[list[str | None], list[Longs]]:
    """All sensitive values, and how often each occurs in each class of each release."""
    labels = [release.counts.sensitive[attribute].labels for release in releases]
    values = list(dict.fromkeys(label for each in labels for label in each))
    place = {value: code for code, value in enumerate(values)}
    present = []
    for release, each in zip(releases, labels, strict=True):
        dense = np.zeros((len(release.counts.sizes), len(values)), dtype=np.int64)
        dense[:, [place[label] for label in each]] = release.counts.sensitive[attribute].dense()
        present.append(dense)
    return values, present


def _of_register(release: Published, register: Table, present: Longs) -> Shares:
    """What a release says of each person: the values of all classes that can hold them; zeros where none can."""
    refuse_missing(release, register, "the register")
    return np.concatenate([_normalised(fits @ present) for fits in fitting(release, register)])


def _told(
    shares: Sequence[Shares], whom: str, narrowed: dict[str, int], right: NDArray[np.integer] | None = None
) -> Finding:
    """Combine what each release says of each person ([person, value] shares) into a finding."""
    # [person, value]: 0 where some release excludes the value
    product = np.prod(shares, axis=0)
    left = (product > 0).sum(axis=1)
    alone = [int(((share > 0).sum(axis=1) == 1).sum()) for share in shares]
    people, exposed = len(left), int((left == 1).sum())
    some = left > 0
    figures: dict[str, Any] = {
        "releases": len(shares),
        "people_in_all": people,
        "values_left_mean": float(left[some].mean()) if some.any() else 0.0,
        "values_by_best_release_mean": min((float((s > 0).sum(axis=1).mean()) for s in shares), default=0.0)
        if people
        else 0.0,
        "even_guess_mean": float((1 / left[some]).mean()) if some.any() else 0.0,
        "best_posterior_mean": float(_normalised(product[some]).max(axis=1).mean()) if some.any() else 0.0,
        "exposed_by_one_release": max(alone),
        "inconsistent": int((~some).sum()),
        **narrowed,
    }
    sentence = (
        f"{exposed:,} of {people:,} {whom} have one sensitive value left; the best single release leaves one to "
        f"{max(alone):,}"
    )
    success = baseline = None
    if right is not None:
        known = right >= 0
        success = Rate(int((product.argmax(axis=1) == right)[known & some].sum()), int(known.sum()))
        single = [int((share.argmax(axis=1) == right)[known].sum()) for share in shares]
        baseline = Rate(max(single), int(known.sum()))
    return Finding("compose", Channel.COMPOSITION, exposed, people, sentence, figures, success, baseline)


def _pairs(releases: Sequence[Published], present: Sequence[Longs]) -> Finding:
    """Compare the first release with each other one, class by class, without knowing who is in both."""
    first, sizes = releases[0], releases[0].counts.sizes
    sure, may = np.zeros(len(sizes), dtype=bool), np.zeros(len(sizes), dtype=bool)
    figures = {"releases": len(releases), "pairs": 0, "pairs_with_one_value": 0, "pairs_with_none": 0}
    for other, shown in zip(releases[1:], present[1:], strict=True):
        met = ClassOverlap.of(first, other).meeting
        # [class of the first, class of the other]: values that both show
        left = (present[0] > 0).astype(np.int64) @ (shown > 0).T.astype(np.int64)
        one, some = met & (left == 1), met & (left > 0)
        figures["pairs"] += int(met.sum())
        figures["pairs_with_one_value"] += int(one.sum())
        figures["pairs_with_none"] += int((met & (left == 0)).sum())
        # exposed with some meeting class, or with every class that leaves a value at all
        may |= one.any(axis=1)
        sure |= some.any(axis=1) & (some == one).all(axis=1)
    alone = (present[0] > 0).sum(axis=1) == 1
    figures |= {"people_who_may_be_exposed": int(sizes[may].sum()), "exposed_by_one_release": int(sizes[alone].sum())}
    exposed = int(sizes[sure].sum())
    sentence = (
        f"{exposed:,} of {first.rows:,} records have one sensitive value left if they are in another release, too; "
        f"{int(sizes[may].sum()):,} may have; the first release alone leaves one to {int(sizes[alone].sum()):,}"
    )
    return Finding("compose", Channel.COMPOSITION, exposed, first.rows, sentence, figures)


def _in_all(truths: Sequence[Truth], key: str | None) -> list[NDArray[np.int64]]:
    """For each release, the rows of the people who are in all releases, in one common order."""
    persons = [truth.rows for truth in truths]
    if not all(_same(truth.table, truths[0].table) for truth in truths):
        if key is None:
            raise BadInput("the releases come from several originals; name the column that tells persons apart (key)")
        persons = _named(truths, key)
    common = persons[0][persons[0] >= 0]
    for each in persons[1:]:
        common = np.intersect1d(common, each)
    return [_places(each, common) for each in persons]


def _same(one: Table, other: Table) -> bool:
    """Whether two tables are equal, so that a row number identifies a person in both."""
    if one is other:
        return True
    if one.rows != other.rows or list(one.columns) != list(other.columns):
        return False
    pairs = zip(one.columns.values(), other.columns.values(), strict=True)
    return all(np.array_equal(a.codes, b.codes) and a.texts.equals(b.texts) for a, b in pairs)


def _named(truths: Sequence[Truth], key: str) -> list[NDArray[np.int64]]:
    """For each release, the person number of each row, the same in all originals; -1 where there is nobody."""
    numbers: dict[str | None, int] = {}
    out = []
    for truth in truths:
        refuse_twice(truth.table, key, "an original")
        texts = truth.table[key].texts.to_pylist()
        code = np.array([numbers.setdefault(text, len(numbers)) for text in texts] + [-1])  # null names nobody
        out.append(np.where(truth.rows < 0, -1, code[truth.table[key].codes[truth.rows]]))
    return out


def _places(persons: NDArray[np.int64], common: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(persons, kind="stable")
    return order[np.searchsorted(persons[order], common)]


def _refuse_strangers(releases: Sequence[Published], attribute: str) -> None:
    if len(releases) < 2:
        raise BadInput("a composition needs another release")
    first = releases[0]
    for other in releases[1:]:
        apart = {*first.quasi_identifiers} ^ {*other.quasi_identifiers}
        if apart:
            raise BadInput(f"{first.name} and {other.name} have different columns: only one of them has {min(apart)!r}")
        if attribute not in other.sensitive:
            raise BadInput(f"{other.name} has no sensitive column {attribute!r}, and {first.name} does")


def _normalised(weights: NDArray[Any]) -> Shares:
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1))
