"""(B,t)-privacy: a release changes no belief by more than t, that of an adversary with background B."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Indices, JointCounts
from shoal.errors import BadPolicy
from shoal.models.model import QUASI, Closure, Columns, Flags, Model, Need, Part, exact, exact_share, refuse_unless_flag

Floats = NDArray[np.float64]
Bandwidth = Annotated[float, Gt(0)]
Distance = Part

_TOLERANCE = 1e-12
_MOST_COMBINATIONS = 20_000
_MOST_CELLS = 20_000_000
_BLOCK = 2_000_000
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class BTPrivacy(Model):
    """No person's belief of an adversary with bandwidth b moves further than t; lists of both make a skyline.

    Before, the adversary estimates each person's sensitive value from the people who are like him: those whose
    quasi-identifiers, as they were, lie within b, weighted by the Epanechnikov kernel. Distances are from 0 to 1, of
    numbers by their range, of all else 0 or 1. After, he knows the values of the class (Ω-estimate). The distance
    between the two is the Jensen-Shannon divergence to the base 2, from 0 to 1; beliefs about numbers are smoothed with
    the same kernel first. In floats, with a tolerance of 1e-12. Rows without a value are left out, unless
    `null_is_value` (design 7).

    T. Li, N. Li, J. Zhang, ICDE 2009.
    """

    name: ClassVar[str] = "b-t-privacy"
    family: ClassVar[str] = "Nearness to the whole table"
    sentence: ClassVar[str] = (
        "Whoever guesses from the other columns as well as the bandwidth b allows learns at most t more."
    )
    adversary: ClassVar[str] = (
        "knows how the sensitive values go with the other columns, and reads the class of a person"
    )
    source: ClassVar[str] = "T. Li, N. Li, J. Zhang, ICDE 2009"
    closure: ClassVar[Closure] = Closure.NOT
    per_attribute: ClassVar[bool] = True
    b: Bandwidth | tuple[Bandwidth, ...]
    t: Distance | tuple[Distance, ...]
    attribute: str | None = None
    null_is_value: bool = False

    def __post_init__(self) -> None:
        for name in ("b", "t"):
            given = getattr(self, name)
            if isinstance(given, Sequence) and not isinstance(given, str):
                object.__setattr__(self, name, tuple(given))
        if len(_to_tuple(self.b)) != len(_to_tuple(self.t)) or not _to_tuple(self.b):
            raise ValueError(f"b and t must be two numbers or two lists of one length, not {self.b!r} and {self.t!r}")
        for bandwidth, most in zip(_to_tuple(self.b), _to_tuple(self.t), strict=True):
            if exact("b", bandwidth) <= 0:
                raise ValueError(f"b must lie above 0, not {bandwidth!r}")
            if not 0 <= exact_share("t", most) <= 1:
                raise ValueError(f"t must lie between 0 and 1, not {most!r}")
        refuse_unless_flag("null-is-value", self.null_is_value)

    @property
    def skyline(self) -> list[tuple[float, float]]:
        limits = (float(exact_share("t", most)) for most in _to_tuple(self.t))
        return list(zip(_to_tuple(self.b), limits, strict=True))

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.ORIGINAL})

    @property
    def columns(self) -> Columns:
        return () if self.attribute is None else (QUASI, self.attribute)

    def complies(self, counts: ClassCounts) -> Flags:
        complying = np.ones(len(counts.sizes), dtype=bool)
        for bandwidth, most in self.skyline:
            complying &= self._measure_moves(counts, bandwidth) <= most + _TOLERANCE
        return complying

    def attained(self, counts: ClassCounts) -> dict[str, Any]:
        """Return the largest divergence of any belief; for a skyline also the largest at each bandwidth."""
        found = {str(b): _round_up(float(self._measure_moves(counts, b).max(initial=0))) for b in _to_tuple(self.b)}
        return {"t": max(found.values())} | ({"values": found} if len(found) > 1 else {})

    def worst(self, counts: ClassCounts) -> int | None:
        if not len(counts.sizes):
            return None
        return int(np.max([self._measure_moves(counts, b) - most for b, most in self.skyline], axis=0).argmax())

    def _measure_moves(self, counts: ClassCounts, bandwidth: float) -> Floats:
        """Return for each class the largest divergence between prior and posterior belief about a member."""
        assert self.attribute is not None
        joint = counts.joint[(*counts.quasi, self.attribute)]
        people = _PriorBeliefs.of(joint.whole or joint, bandwidth, null=self.null_is_value)
        known = joint.select_entries(_flag_known(joint, null=self.null_is_value))
        return people.measure_moves(known, len(counts.sizes))


@dataclass(frozen=True)
class _PriorBeliefs:
    """Prior beliefs about people with each combination of quasi-identifiers, before any release."""

    keys: NDArray[Any]
    """Keys of the combinations, sorted."""
    values: Indices
    """Codes of the sensitive values that occur."""
    prior: Floats
    """prior[combination, value]: probability of the value."""
    smoothing: Floats | None
    """smoothing[value, value]: kernel between values, where they are numbers."""

    @classmethod
    def of(cls, whole: JointCounts, bandwidth: float, *, null: bool) -> "_PriorBeliefs":
        """Estimate the beliefs; the result is kept for each table and bandwidth."""
        if (bandwidth, null) not in whole.memo:
            known = whole.select_entries(_flag_known(whole, null=null))
            # combinations of quasi-identifiers: the first entry of each, and which one each entry has
            keys, first, which = np.unique(_keys(known), return_index=True, return_inverse=True)
            values, column = np.unique(known.codes[-1], return_inverse=True)
            _refuse_too_large(len(keys), len(values))
            # rows[combination, value]
            rows = np.zeros((len(keys), len(values)))
            np.add.at(rows, (which.reshape(-1), column.reshape(-1)), known.counts)
            points = [
                _scale_to_unit(c[first], labels) for c, labels in zip(known.codes[:-1], known.labels[:-1], strict=True)
            ]
            prior = np.empty_like(rows)
            for block in _blocks(len(keys), len(keys)):
                # kernel weight of every combination for those of the block, a product over the attributes
                weight = np.ones((block.stop - block.start, len(keys)))
                for codes, numbers in points:
                    weight *= _kernel(_distances(codes, numbers, block), bandwidth)
                prior[block] = weight @ rows
            prior /= prior.sum(axis=1, keepdims=True)
            codes, numbers = _scale_to_unit(values, known.labels[-1])
            smoothing = None
            if numbers is not None and len(values):
                smoothing = _kernel(_distances(codes, numbers, slice(0, len(values))), bandwidth)
                smoothing /= smoothing.sum(axis=1, keepdims=True)
            whole.memo[bandwidth, null] = cls(keys, values, prior, smoothing)
        made: _PriorBeliefs = whole.memo[bandwidth, null]
        return made

    def measure_moves(self, joint: JointCounts, classes: int) -> Floats:
        """Return for each class the greatest divergence between a member's prior and posterior belief.

        Ω-estimate: P*(s|j) is n_s P(s|j) / Σ_j' P(s|j'), over the members j' of the class, made to sum to 1.
        """
        # combination and value of each entry
        at = np.searchsorted(self.keys, _keys(joint))
        column = np.searchsorted(self.values, joint.codes[-1])
        pairs, which = np.unique(np.stack([joint.classes, at]), axis=1, return_inverse=True)  # sorted by class
        members = np.bincount(which.reshape(-1), weights=joint.counts, minlength=pairs.shape[1])
        # class and combination of each distinct pair; `members` counts its rows
        of, who = pairs
        # held[class, value]: n_s, the rows with each value
        held = np.zeros((classes, len(self.values)))
        np.add.at(held, (joint.classes, column), joint.counts)
        # expected[class, value]: Σ_j' P(s|j'), the prior summed over the members
        expected = np.zeros_like(held)
        for block in _blocks(len(of), len(self.values)):
            begin = np.flatnonzero(np.diff(of[block], prepend=-1))
            expected[of[block][begin]] += np.add.reduceat(members[block, None] * self.prior[who[block]], begin, axis=0)
        # ratio[class, value]: n_s / Σ_j' P(s|j'), by which a prior is multiplied
        ratio = np.divide(held, expected, out=held, where=expected > 0)
        most = np.zeros(classes)
        for block in _blocks(len(of), len(self.values)):
            # [pair, value]: beliefs about the combination, before the release and knowing the class
            before = self.prior[who[block]]
            after = before * ratio[of[block]]
            after /= after.sum(axis=1, keepdims=True)
            np.maximum.at(most, of[block], _divergence(self._smooth(before), self._smooth(after)))
        return most

    def _smooth(self, belief: Floats) -> Floats:
        if self.smoothing is None:
            return belief
        smooth: Floats = belief @ self.smoothing.T
        smooth /= smooth.sum(axis=1, keepdims=True)
        return smooth


def _to_tuple(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)


def _flag_known(joint: JointCounts, *, null: bool) -> Flags:
    """Flag the entries that have a sensitive value; with `null`, null is one."""
    has = np.array([null or label is not None for label in joint.labels[-1]], dtype=bool)
    return has[joint.codes[-1]]


def _keys(joint: JointCounts) -> NDArray[Any]:
    """Return the quasi-identifiers of each entry as one sortable key: big-endian codes as bytes."""
    codes = np.stack([np.asarray(c, dtype=">u4") for c in joint.codes[:-1]], axis=1)
    return np.ascontiguousarray(codes).view(np.dtype((np.void, codes.shape[1] * 4))).reshape(-1)


def _scale_to_unit(codes: Indices, labels: Sequence[str | None]) -> tuple[Indices, Floats | None]:
    """Return the codes, and numbers scaled to 0..1 with null as NaN; None where some value is no number."""
    used = [labels[code] for code in np.unique(codes).tolist()]
    if not all(label is None or _NUMBER.fullmatch(label) for label in used):
        return codes, None
    numbers = np.array([np.nan if label is None or not _NUMBER.fullmatch(label) else float(label) for label in labels])
    places = numbers[codes]
    if np.isnan(places).all():
        return codes, None
    low, high = np.nanmin(places), np.nanmax(places)
    return codes, (places - low) / (high - low or 1.0)


def _distances(codes: Indices, numbers: Floats | None, rows: slice) -> Floats:
    """Return distances[row, value] from 0 to 1: of numbers as scaled, else 0 or 1; null is 1 from all but null."""
    other: Floats = (codes[rows, None] != codes[None, :]).astype(np.float64)
    if numbers is None:
        return other
    apart = np.abs(numbers[rows, None] - numbers[None, :])
    distances: Floats = np.where(np.isnan(apart), other, apart)
    return distances


def _kernel(distances: Floats, bandwidth: float) -> Floats:
    """Return the Epanechnikov kernel, up to a factor: 1 - (x/B)² below B, else 0."""
    weights: Floats = np.maximum(1 - (distances / bandwidth) ** 2, 0)
    return weights


def _divergence(one: Floats, other: Floats) -> Floats:
    """Return the Jensen-Shannon divergence of each row, to the base 2."""
    mean = (one + other) / 2
    return np.maximum((_relative_entropy(one, mean) + _relative_entropy(other, mean)) / 2, 0)


def _relative_entropy(one: Floats, mean: Floats) -> Floats:
    ratio = np.divide(one, mean, out=np.ones_like(one), where=one > 0)
    total: Floats = (one * np.log2(ratio)).sum(axis=1)
    return total


def _blocks(rows: int, width: int) -> Iterator[slice]:
    height = max(_BLOCK // max(width, 1), 1)
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


def _round_up(moved: float) -> float:
    """Round to nine digits, but not below the given number by more than the tolerance."""
    nearest = round(moved, 9)
    return nearest if nearest >= moved - _TOLERANCE else round(nearest + 1e-9, 9)


def _refuse_too_large(combinations: int, values: int) -> None:
    """Refuse tables too large to compare every two combinations and to keep a belief about each."""
    if combinations > _MOST_COMBINATIONS or max(combinations, values) * values > _MOST_CELLS:
        raise BadPolicy(
            f"b-t-privacy compares every two of the {combinations:,} different combinations of quasi-identifiers, with "
            f"{values:,} sensitive values; that is more than {_MOST_COMBINATIONS:,} combinations or {_MOST_CELLS:,} "
            "beliefs: round the columns before, or give some of them another role"
        )
