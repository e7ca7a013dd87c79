"""Answers queries from what a table shows: each class counts with the share that satisfies the predicate (S4.8)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadInput, ShoalError
from shoal.models.spec import suggest_nearest
from shoal.workload.generalised_table import GeneralisedTable
from shoal.workload.queries import KNOWN, Aggregate, Floats, Predicate, Query
from shoal.workload.selectivity import Selectivity

_SPARSEST = 16
"""Most cube cells per combination that occurs; beyond that, visiting the combinations one by one is faster."""
_BLOCK = 1 << 23
"""Most numbers held between two contractions."""


@dataclass(frozen=True)
class Cube:
    """How many rows show each combination of faces, one axis for each attribute.

    >>> cube = Cube.of([np.array([0, 1], np.int32), np.array([0, 1], np.int32)], [2, 2], np.array([3.0, 4.0]))
    >>> cube.totals([np.array([[1.0], [0.5]]), np.array([[1.0], [1.0]])]).tolist()
    [5.0]
    """

    cells: Floats

    @classmethod
    def of(cls, codes: Sequence[Codes], sizes: Sequence[int], counts: Floats) -> "Cube | None":
        """Build the cube; None where most of its cells would be empty."""
        total = reduce(int.__mul__, sizes, 1)
        if not codes or total > _SPARSEST * len(counts):
            return None
        cells = np.bincount(np.ravel_multi_index(tuple(codes), tuple(sizes)), counts, minlength=total)
        return cls(cells.reshape(sizes).astype(np.float64))

    def totals(self, factors: Sequence[Floats]) -> Floats:
        """Return for each query the sum of all cells times the factors of their faces: factors[axis][face, query].

        Contracts the longest axis first, so that what is left is small.
        """
        queries = factors[0].shape[1]
        longest = int(np.argmax(self.cells.shape))
        cells = np.moveaxis(self.cells, longest, -1)
        rest = cells.shape[:-1]
        # [other cells, longest axis]; queries in blocks, so that products fit in memory
        flat, step = cells.reshape(-1, cells.shape[-1]), max(1, _BLOCK // max(1, int(np.prod(rest))))
        found = [
            self._contract(flat, rest, [factor[:, at : at + step] for factor in factors], longest)
            for at in range(0, queries, step)
        ]
        return np.concatenate(found)

    @staticmethod
    def _contract(flat: Floats, rest: tuple[int, ...], factors: Sequence[Floats], longest: int) -> Floats:
        # contract the longest axis first: [other axes, query]
        left = (flat @ factors[longest]).reshape(*rest, -1)
        for factor in reversed([factor for axis, factor in enumerate(factors) if axis != longest]):
            left = np.einsum("...fq,fq->...q", left, factor)
        return np.asarray(left)


@dataclass(frozen=True)
class Answers:
    """Answers, one for each query."""

    values: Floats
    """Value of each answer; NaN where no row satisfies and the aggregate of no rows is undefined."""
    matching: tuple[bool, ...]
    """Whether every class that may hold a satisfying row holds no other, as far as its ranges tell."""


def answer_queries(shown: GeneralisedTable, queries: Sequence[Query]) -> Answers:
    """Answer queries under the assumption that values are spread uniformly over what stands for them.

    LeFevre, DeWitt and Ramakrishnan, ICDE 2006: the last paragraph of the paper's section 2.4.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> from shoal.workload.query_files import queries_of
    >>> from shoal.workload.generalised_table import QueriedOriginal, read_release
    >>> original = QueriedOriginal(Table({"age": encode("age", pa.array([20, 29]))}, 2))
    >>> release = read_release({"age": (np.array([0, 0], np.int32), ["[20, 30)"])}, {}, ["age"], original)
    >>> found = answer_queries(release, queries_of([{"count": True, "where": {"age": {"to": 24}}}, {"avg": "age"}]))
    >>> found.values.tolist(), found.matching
    ([1.0, 24.5], (False, True))
    """
    sight = _PredicateCache(shown)
    values, matching = np.full(len(queries), np.nan), [True] * len(queries)
    by_attributes: dict[tuple[str, ...], list[int]] = {}
    for number, query in enumerate(queries):
        by_attributes.setdefault(query.attributes, []).append(number)
    for names, numbers in by_attributes.items():
        rows = _RowGroups.of(shown, names, linked=any(queries[n].of not in {None, *names} for n in numbers))
        for number in numbers:
            try:
                sight.evaluate_query(queries[number])
            except ShoalError:
                raise
            except ValueError as wrong:
                raise BadInput(f"query {number + 1}: {wrong}") from None
        counting = [number for number in numbers if queries[number].of is None]
        if (cube := rows.cube(shown, names)) is not None and len(counting) > 1:
            counted = _answer_counts(sight, cube, [queries[number] for number in counting])
        else:
            counted = [_answer(sight, rows, queries[number]) for number in counting]
        others = [number for number in numbers if queries[number].of is not None]
        found = [*counted, *(_answer(sight, rows, queries[number]) for number in others)]
        for number, (value, matches) in zip([*counting, *others], found, strict=True):
            values[number], matching[number] = value, matches
    return Answers(values, tuple(matching))


class _PredicateCache:
    """Cache of the selectivity of each predicate on the faces of its attribute."""

    def __init__(self, shown: GeneralisedTable) -> None:
        self.shown = shown
        self._seen: dict[tuple[str, Predicate], Selectivity] = {}

    def evaluate(self, name: str, predicate: Predicate) -> Selectivity:
        if (name, predicate) not in self._seen:
            self._seen[name, predicate] = self.shown.attributes[name].faces.apply_predicate(predicate)
        return self._seen[name, predicate]

    def evaluate_query(self, query: Query) -> None:
        """Evaluate and cache all predicates of a query; ValueError where one names an impossible value."""
        for name, predicate in query.where:
            try:
                self.evaluate(name, predicate)
            except ShoalError:
                raise
            except ValueError:
                raise ValueError(f"where.{name}: the column has no such values to compare with") from None


@dataclass(frozen=True)
class Amounts:
    """Totals of an attribute in each group of rows: how many are known, their sum, least and greatest."""

    known: Floats
    sums: Floats
    low: Floats
    high: Floats


@dataclass
class _RowGroups:
    """Rows grouped by what they show of some attributes, for all queries on these attributes."""

    counts: Floats
    codes: tuple[Codes, ...]
    """For each attribute, the face of each group."""
    group: Codes | None = None
    """Group of each row, where something is added up over the rows of a group."""
    amounts: dict[str, Amounts] = field(default_factory=dict)

    @classmethod
    def of(cls, shown: GeneralisedTable, names: tuple[str, ...], *, linked: bool) -> "_RowGroups":
        if not names:
            group = np.zeros(shown.rows, dtype=np.int32)
            return cls(np.array([float(shown.rows)]), (), group)
        attributes = shown.attributes
        for name in names:
            _refuse_hidden(shown, name)
        counted = FrequencySet.count({n: (attributes[n].codes, attributes[n].size) for n in names}, want_classes=linked)
        codes = tuple(np.ascontiguousarray(counted.codes(name)) for name in names)
        return cls(counted.counts.astype(np.float64), codes, counted.classes)

    def cube(self, shown: GeneralisedTable, names: tuple[str, ...]) -> Cube | None:
        """Return the groups as a cube; None where it would be too sparse."""
        return Cube.of(self.codes, [shown.attributes[name].size for name in names], self.counts)

    def amounts_of(self, sight: _PredicateCache, name: str) -> Amounts:
        """Return the totals per group of an attribute that the predicate does not use."""
        if name not in self.amounts:
            assert self.group is not None
            seen, code, groups = sight.evaluate(name, KNOWN), sight.shown.attributes[name].codes, len(self.counts)
            # of each row: the probability that the value is known
            share = seen.share[code]
            low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
            np.minimum.at(low, self.group, seen.low[code])
            np.maximum.at(high, self.group, seen.high[code])
            self.amounts[name] = Amounts(
                np.bincount(self.group, share, minlength=groups).astype(np.float64),
                np.bincount(self.group, share * seen.mean[code], minlength=groups).astype(np.float64),
                low,
                high,
            )
        return self.amounts[name]


def _refuse_hidden(shown: GeneralisedTable, name: str) -> None:
    if name not in shown.attributes:
        raise BadInput(f"the release shows nothing of the column {name!r}{suggest_nearest(name, shown.attributes)}")


def _answer_counts(sight: _PredicateCache, cube: Cube, queries: Sequence[Query]) -> list[tuple[float, bool]]:
    """Answer COUNT queries on the same attributes; a query matches if all rows that may satisfy it surely do."""
    seen = [[sight.evaluate(*query.where[axis]) for query in queries] for axis in range(len(queries[0].where))]
    # three totals per query: expected rows, rows that surely satisfy, rows that may
    values = cube.totals([np.stack([one.share for one in axis], axis=1) for axis in seen])
    certain = cube.totals([np.stack([one.certain for one in axis], axis=1).astype(np.float64) for axis in seen])
    touched = cube.totals([np.stack([~one.excluded for one in axis], axis=1).astype(np.float64) for axis in seen])
    return list(zip(values.tolist(), (certain == touched).tolist(), strict=True))


def _answer(sight: _PredicateCache, rows: _RowGroups, query: Query) -> tuple[float, bool]:
    """Return the answer to a query, and whether it matches."""
    seen = [sight.evaluate(name, predicate) for name, predicate in query.where]
    at, satisfying = _find_touched_groups(rows, seen)
    matching = all(bool(one.certain[codes[at]].all()) for one, codes in zip(seen, rows.codes, strict=True))
    if query.of is None:
        return float(satisfying.sum()), matching
    if query.of in query.attributes:
        of = query.attributes.index(query.of)
        codes = rows.codes[of][at]
        told = Amounts(satisfying, satisfying * seen[of].mean[codes], seen[of].low[codes], seen[of].high[codes])
    else:
        every, share = rows.amounts_of(sight, query.of), satisfying / rows.counts[at]
        told = Amounts(share * every.known[at], share * every.sums[at], every.low[at], every.high[at])
    return AGGREGATED[query.aggregate](told), matching


def _find_touched_groups(rows: _RowGroups, seen: Sequence[Selectivity]) -> tuple[Longs, Floats]:
    """Return the groups that may hold a satisfying row, and the expected number of such rows in each."""
    # groups that no predicate so far excludes, and the expected rows of each
    at, satisfying = np.arange(len(rows.counts)), rows.counts
    for number, (one, codes) in enumerate(zip(seen, rows.codes, strict=True)):
        # face of each group that is still possible
        here = codes[at] if number else codes
        kept = np.flatnonzero(~one.excluded[here])
        here = here[kept]
        at, satisfying = at[kept] if number else kept, satisfying[kept] * one.share[here]
    return at, satisfying


def _average(told: Amounts) -> float:
    known = float(told.known.sum())
    return float(told.sums.sum()) / known if known > 0 else float("nan")


def _nan_if_infinite(value: float) -> float:
    return value if np.isfinite(value) else float("nan")


AGGREGATED: dict[Aggregate, Callable[[Amounts], float]] = {
    "sum": lambda told: float(told.sums.sum()),
    "avg": _average,
    "min": lambda told: _nan_if_infinite(float(told.low.min(initial=np.inf))),
    "max": lambda told: _nan_if_infinite(float(told.high.max(initial=-np.inf))),
}
