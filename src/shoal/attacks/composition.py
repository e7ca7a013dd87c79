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
    refuse_repeated_key,
    sensitive_of,
)
from shoal.attacks.composition_over_time import ClassOverlap, PossibleWorlds, count_narrowed_people
from shoal.attacks.record_linkage import find_fitting_classes
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Table
from shoal.errors import BadInput

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Compose(Attack):
    """People in several releases have a sensitive value that their class in each of them shows: the intersection.

    Who is in all of them is told by the rows of the original (with the truth), or by a register of people; without
    either, every pair of classes that can hold one person is looked at. With the truth, who else is in each class is
    known too, and the intersection is one of counts: what others must have is not left for you (`PossibleWorlds`).
    A null protects nobody: it is none of the values that are left.

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
        _refuse_unlike_releases(releases, attribute)
        values, present = _values(releases, attribute)
        # [value] null is shown by classes, and never a value that somebody has left (design 7)
        known = np.array([value is not None for value in values], dtype=bool)
        if truth is not None and self.truths:
            if len(self.truths) != len(self.others):
                raise BadInput(f"{len(self.others)} other releases need as many originals, not {len(self.truths)}")
            persons = _number_people([truth, *self.truths], self.key)
            rows = _find_people_in_all(persons)
            told = truth.table[attribute]
            texts = {text: code for code, text in enumerate(value for value in values if value is not None)}
            labels = [*told.texts.to_pylist(), *([None] if told.has_null else [])]
            right = np.array([texts.get(label, -1) for label in labels])[truth.behind(attribute)[rows[0]]]
            belief, figures = _weigh_people(releases, present, persons, rows)
            shares = [p[r.class_of_row[at]][:, known] for p, r, at in zip(present, releases, rows, strict=True)]
            figures |= count_narrowed_people(releases, rows)
            return _make_finding(shares, belief[:, known], "people who are in all of them", figures, right)
        if self.register is not None:
            refuse_repeated_key(self.register, self.key, "the register")
            held = [_values_of_register(r, self.register, p) for p, r in zip(present, releases, strict=True)]
            inside = np.all([each.any(axis=1) for each in held], axis=0)
            held = [each[inside] for each in held]
            figures = {"inconsistent": int((~np.prod([each > 0 for each in held], axis=0).any(axis=1)).sum())}
            shares = [each[:, known] for each in held]
            belief = np.prod([_normalise_rows(each) for each in shares], axis=0)
            return _make_finding(shares, belief, "people of the register who can be in all of them", figures)
        return _compare_classes(releases, present, known)


def _values(releases: Sequence[Published], attribute: str) -> tuple[list[str | None], list[Longs]]:
    """Return all sensitive values, and for each release present[class, value], how often each occurs in each class."""
    labels = [release.counts.sensitive[attribute].labels for release in releases]
    values = list(dict.fromkeys(label for each in labels for label in each))
    place = {value: code for code, value in enumerate(values)}
    present = []
    for release, each in zip(releases, labels, strict=True):
        dense = np.zeros((len(release.counts.sizes), len(values)), dtype=np.int64)
        dense[:, [place[label] for label in each]] = release.counts.sensitive[attribute].dense()
        present.append(dense)
    return values, present


def _values_of_register(release: Published, register: Table, present: Longs) -> Longs:
    """Return rows[person, value] of all classes that can hold the person; zeros where none can."""
    refuse_missing(release, register, "the register")
    return np.concatenate([fits @ present for fits in find_fitting_classes(release, register)])


def _weigh_people(
    releases: Sequence[Published],
    present: Sequence[Longs],
    persons: Sequence[NDArray[np.int64]],
    rows: Sequence[NDArray[np.int64]],
) -> tuple[Shares, dict[str, int]]:
    """Return belief[person, value] of the people who are in all releases, and figures; no belief is no possibility.

    Everybody counts who is in some release: what they must have is not left for others.
    """
    people = int(max((each.max(initial=-1) for each in persons), default=-1)) + 1
    classes = []
    for release, person in zip(releases, persons, strict=True):
        of = np.full(people, -1, dtype=np.int64)
        of[person[person >= 0]] = release.class_of_row[person >= 0]
        classes.append(of)
    worlds = PossibleWorlds.of(classes, present)
    kind = worlds.kind[persons[0][rows[0]]]
    # [person, value]: the product of the shares, and 0 where some release excludes the value
    product = np.prod(
        [_normalise_rows(p[r.class_of_row[at]]) for p, r, at in zip(present, releases, rows, strict=True)], axis=0
    )
    exact, contradictory = worlds.exact[kind], worlds.contradictory[kind]
    highest = worlds.highest_shares()[kind]
    bounded = np.where(worlds.possible[kind], np.minimum(np.maximum(product, np.finfo(float).tiny), highest), 0)
    belief = np.where(exact[:, None], highest, np.where(contradictory[:, None], product, _normalise_rows(bounded)))
    return belief, {
        "inconsistent": int((~product.any(axis=1)).sum()),
        "people_weighed_exactly": int(exact.sum()),
        "people_weighed_by_bounds": int((~exact & ~contradictory).sum()),
        "people_in_contradictory_classes": int(contradictory.sum()),
    }


def _make_finding(
    held: Sequence[Longs],
    belief: Shares,
    whom: str,
    figures: dict[str, int],
    right: NDArray[np.integer] | None = None,
) -> Finding:
    """Return the finding for what all releases say together: belief[person, value], given the rows of each release."""
    shares = [_normalise_rows(each) for each in held]
    # [person] values left by all releases, and by their sets alone; [release] people to whom it alone leaves one value
    left = (belief > 0).sum(axis=1)
    by_sets = np.prod([share > 0 for share in shares], axis=0).sum(axis=1)
    alone = [int(((share > 0).sum(axis=1) == 1).sum()) for share in shares]
    people, exposed = len(left), int((left == 1).sum())
    some = left > 0
    all_figures: dict[str, Any] = {
        "releases": len(shares),
        "people_in_all": people,
        "values_left_mean": float(left[some].mean()) if some.any() else 0.0,
        "values_by_best_release_mean": min((float((s > 0).sum(axis=1).mean()) for s in shares), default=0.0)
        if people
        else 0.0,
        "even_guess_mean": float((1 / left[some]).mean()) if some.any() else 0.0,
        "best_posterior_mean": float(_normalise_rows(belief[some]).max(axis=1).mean()) if some.any() else 0.0,
        "exposed_by_one_release": max(alone),
        "exposed_by_sets_alone": int((by_sets == 1).sum()),
        **figures,
    }
    sentence = (
        f"{exposed:,} of {people:,} {whom} have one sensitive value left; the best single release leaves one to "
        f"{max(alone):,}"
    )
    success = baseline = None
    if right is not None:
        known = right >= 0
        success = Rate(int((_guess(belief) == right)[known & some].sum()), int(known.sum()))
        single = [int((_guess(share) == right)[known].sum()) for share in shares]
        baseline = Rate(max(single), int(known.sum()))
    return Finding("compose", Channel.COMPOSITION, exposed, people, sentence, all_figures, success, baseline)


def _compare_classes(releases: Sequence[Published], present: Sequence[Longs], known: Flags) -> Finding:
    """Return the finding without knowing who is in both: compare the first release with each other, class by class."""
    first, sizes = releases[0], releases[0].counts.sizes
    sure, may = np.zeros(len(sizes), dtype=bool), np.zeros(len(sizes), dtype=bool)
    figures = {"releases": len(releases), "pairs": 0, "pairs_with_one_value": 0, "pairs_with_none": 0}
    for other, shown in zip(releases[1:], present[1:], strict=True):
        met = ClassOverlap.of(first, other).meeting
        # [class of the first, class of the other]: values that both show, null among them or not
        common = (present[0] > 0).astype(np.int64) @ (shown > 0).T.astype(np.int64)
        left = (present[0][:, known] > 0).astype(np.int64) @ (shown[:, known] > 0).T.astype(np.int64)
        one, some = met & (left == 1), met & (left > 0)
        figures["pairs"] += int(met.sum())
        figures["pairs_with_one_value"] += int(one.sum())
        figures["pairs_with_none"] += int((met & (common == 0)).sum())
        # exposed with some meeting class, or with every class that leaves a value at all
        may |= one.any(axis=1)
        sure |= some.any(axis=1) & (some == one).all(axis=1)
    alone = (present[0][:, known] > 0).sum(axis=1) == 1
    figures |= {"people_who_may_be_exposed": int(sizes[may].sum()), "exposed_by_one_release": int(sizes[alone].sum())}
    exposed = int(sizes[sure].sum())
    sentence = (
        f"{exposed:,} of {first.rows:,} records have one sensitive value left if they are in another release, too; "
        f"{int(sizes[may].sum()):,} may have; the first release alone leaves one to {int(sizes[alone].sum()):,}"
    )
    return Finding("compose", Channel.COMPOSITION, exposed, first.rows, sentence, figures)


def _number_people(truths: Sequence[Truth], key: str | None) -> list[NDArray[np.int64]]:
    """Return, for each release, the number of the person behind each row, the same in all; -1 where there is nobody."""
    if all(_is_same_table(truth.table, truths[0].table) for truth in truths):
        return [truth.rows for truth in truths]
    if key is None:
        raise BadInput("the releases come from several originals; name the column that tells persons apart (key)")
    return _number_by_key(truths, key)


def _find_people_in_all(persons: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return, for each release, the rows of the people who are in all releases, in one common order."""
    common = persons[0][persons[0] >= 0]
    for each in persons[1:]:
        common = np.intersect1d(common, each)
    return [_find_rows(each, common) for each in persons]


def _is_same_table(one: Table, other: Table) -> bool:
    """Whether two tables are equal, so that a row number identifies a person in both."""
    if one is other:
        return True
    if one.rows != other.rows or list(one.columns) != list(other.columns):
        return False
    pairs = zip(one.columns.values(), other.columns.values(), strict=True)
    return all(np.array_equal(a.codes, b.codes) and a.texts.equals(b.texts) for a, b in pairs)


def _number_by_key(truths: Sequence[Truth], key: str) -> list[NDArray[np.int64]]:
    """Return, for each release, the number of the person behind each row, by the key; -1 where there is nobody."""
    numbers: dict[str | None, int] = {}
    out = []
    for truth in truths:
        refuse_repeated_key(truth.table, key, "an original")
        texts = truth.table[key].texts.to_pylist()
        code = np.array([numbers.setdefault(text, len(numbers)) for text in texts] + [-1])  # null names nobody
        out.append(np.where(truth.rows < 0, -1, code[truth.table[key].codes[truth.rows]]))
    return out


def _find_rows(persons: NDArray[np.int64], common: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each of the common persons, given the person behind each row."""
    order = np.argsort(persons, kind="stable")
    return order[np.searchsorted(persons[order], common)]


def _refuse_unlike_releases(releases: Sequence[Published], attribute: str) -> None:
    """Refuse releases with other quasi-identifiers than the first, or without the sensitive attribute."""
    if len(releases) < 2:
        raise BadInput("a composition needs another release")
    first = releases[0]
    for other in releases[1:]:
        apart = {*first.quasi_identifiers} ^ {*other.quasi_identifiers}
        if apart:
            raise BadInput(f"{first.name} and {other.name} have different columns: only one of them has {min(apart)!r}")
        if attribute not in other.sensitive:
            raise BadInput(f"{other.name} has no sensitive column {attribute!r}, and {first.name} does")


def _guess(shares: Shares) -> NDArray[np.intp]:
    """Return the likeliest value of each person; 0 where there is no value at all."""
    return shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(shares), dtype=np.intp)


def _normalise_rows(weights: NDArray[Any]) -> Shares:
    """Return weights scaled to add up to 1 in each row; rows of zeros stay."""
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1))
