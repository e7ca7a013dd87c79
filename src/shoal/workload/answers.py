"""Answer queries from what a table shows, and compare the answers with those of the original.

Each class counts with the share of it that satisfies the predicate (S4.8).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.errors import BadInput, ShoalError
from shoal.models.spec import suggest_column, suggest_nearest
from shoal.runtime import SummaryRepr, short_number
from shoal.runtime.events import phase
from shoal.workload.generalised_table import GeneralisedTable, QueriedOriginal
from shoal.workload.queries import KNOWN, Aggregate, Floats, Numbers, Predicate, Query, attributes_of
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
    >>> from shoal.workload.queries import queries_of
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


SANITY = 0.001
"""Least divisor of an error, as a share of the rows, so that errors of tiny answers do not dominate."""


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """One query: its number in the workload, and how it was answered."""

    number: int
    query: Query
    estimate: float | None
    actual: float | None
    """Answer from the original; None where no row satisfies and the aggregate of no rows is undefined."""
    error: float | None
    """Relative error; None where there is nothing to compare with."""
    matches: bool


@dataclass(frozen=True, repr=False)
class WorkloadReport(SummaryRepr):
    """Every query as answered from the release and from the original, and the errors together.

    |estimate - actual| / max(|actual|, s), s being the sanity bound: a share of the rows or, of a sum, the same share
    of the sum of the whole column. Averages and ends are compared with the range of their attribute instead.
    """

    rows: int
    sanity: float
    answered: tuple[AnsweredQuery, ...]
    mean: float
    """Mean error weighted by the weights of the queries, as are the next two."""
    median: float
    percentile_95: float

    @property
    def _facts(self) -> list[tuple[str, str]]:
        errors = zip(("mean", "median", "95 %"), (self.mean, self.median, self.percentile_95), strict=True)
        return [
            ("queries", f"{len(self.answered):,} on {self.rows:,} rows, {len(self.matching):,} answered exactly"),
            ("error", ", ".join(f"{name} {short_number(float(error))}" for name, error in errors)),
        ]

    @property
    def matching(self) -> tuple[int, ...]:
        """The numbers of the queries that match the release."""
        return tuple(one.number for one in self.answered if one.matches)

    @property
    def worst(self) -> tuple[AnsweredQuery, ...]:
        """Queries from the largest error down."""
        compared = [one for one in self.answered if one.error is not None]
        return tuple(sorted(compared, key=lambda one: (-(one.error or 0.0), one.number)))

    def document(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "rows": self.rows,
            "queries": len(self.answered),
            "compared": len(self.worst),
            "sanity": self.sanity,
            "errors": {"mean": self.mean, "median": self.median, "percentile_95": self.percentile_95},
            "matching": {"share": len(self.matching) / len(self.answered), "queries": list(self.matching)},
            "answers": [{**asdict(one), "query": one.query.document()} for one in self.answered],
        }


@phase("answering")
def compare_answers(
    release: GeneralisedTable, original: QueriedOriginal, queries: Sequence[Query], *, sanity: float = SANITY
) -> WorkloadReport:
    """Answer queries from a release and from the table it was made from.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> from shoal.workload.generalised_table import read_release
    >>> original = QueriedOriginal(Table({"age": encode("age", pa.array([20, 21, 29, 29]))}, 4))
    >>> release = read_release({"age": (np.zeros(4, np.int32), ["[20, 30)"])}, {}, ["age"], original)
    >>> from shoal.workload.queries import queries_of
    >>> found = compare_answers(release, original, queries_of([{"count": True, "where": {"age": 29}}]))
    >>> found.answered[0].estimate, found.answered[0].actual, found.mean
    (0.4, 2.0, 0.8)
    """
    if not 0 < sanity <= 1:
        raise BadInput(f"sanity = {sanity!r} is no share of the rows; give a number above 0, at most 1")
    for number, query in enumerate(queries, 1):
        _refuse_unanswerable(number, query, release, original)
    truth = answer_queries(original.show_columns(attributes_of(queries)), queries)
    found = answer_queries(release, queries)
    errors = _errors(queries, found, truth, _scales(queries, original, truth, sanity))
    answered = tuple(
        AnsweredQuery(number, query, _none_if_nan(estimate), _none_if_nan(actual), _none_if_nan(error), matches)
        for number, query, estimate, actual, error, matches in zip(
            range(1, len(queries) + 1),
            queries,
            found.values.tolist(),
            truth.values.tolist(),
            errors.tolist(),
            found.matching,
            strict=True,
        )
    )
    compared = ~np.isnan(errors)
    weights = np.array([query.weight for query in queries])
    return WorkloadReport(original.table.rows, sanity, answered, *_summarise_errors(errors, weights, compared))


def _refuse_unanswerable(number: int, query: Query, release: GeneralisedTable, original: QueriedOriginal) -> None:
    """Refuse a query about columns that do not exist, are not released, or cannot be aggregated."""
    for name in dict.fromkeys([*query.attributes, *([query.of] if query.of is not None else [])]):
        if name not in original.table.columns:
            known = suggest_column(name, original.table.columns)
            raise BadInput(f"query {number}: the table has no column {name!r}{known}")
        if name not in release.attributes:
            raise BadInput(f"query {number}: the release shows nothing of the column {name!r}")
    if query.of is not None and not release.attributes[query.of].numeric:
        raise BadInput(f"query {number}: {query.aggregate} needs numbers, and the column {query.of!r} has others")


def _scales(queries: Sequence[Query], original: QueriedOriginal, truth: Answers, sanity: float) -> Floats:
    """Return the divisor of each error: the true answer or the sanity bound, or the range of the attribute."""
    spans: dict[str, tuple[float, float]] = {}
    scales = np.maximum(np.abs(truth.values), sanity * original.table.rows)
    for at, query in enumerate(queries):
        if query.of is not None:
            if query.of not in spans:
                domain = Numbers(original.table[query.of])
                total = float(np.abs(domain.values) @ domain.column.counts[: len(domain.values)])
                spans[query.of] = (domain.high - domain.low or 1.0, total)
            width, total = spans[query.of]
            scales[at] = max(abs(truth.values[at]), sanity * total) if query.aggregate == "sum" else width
    return scales


def _errors(queries: Sequence[Query], found: Answers, truth: Answers, scales: Floats) -> Floats:
    """Return the relative error of each answer: NaN where the original has none, 1 where only the release has none."""
    errors = np.abs(found.values - truth.values) / np.where(scales > 0, scales, 1.0)
    errors[np.isnan(found.values)] = 1.0
    errors[np.isnan(truth.values)] = np.nan
    assert len(errors) == len(queries)
    return errors


def _summarise_errors(errors: Floats, weights: Floats, compared: Flags) -> tuple[float, float, float]:
    """Return weighted mean, median and 95th percentile of the errors that could be compared; zeros if none could."""
    errors, weights = errors[compared], weights[compared]
    if not len(errors):
        return 0.0, 0.0, 0.0
    order = np.argsort(errors, kind="stable")
    # weight of all errors up to each, ascending
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, [0.5 * reached[-1], 0.95 * reached[-1]])
    median, high = errors[order[np.minimum(places, len(errors) - 1)]]
    return float(np.average(errors, weights=weights)), float(median), float(high)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
