"""The errors of answers from a release, compared with those from the original."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.data.class_counts import Flags
from shoal.errors import BadInput
from shoal.models.spec import suggest_column
from shoal.runtime import SummaryRepr, short_number
from shoal.runtime.events import phase
from shoal.workload.answers import Answers, answer_queries
from shoal.workload.generalised_table import GeneralisedTable, QueriedOriginal
from shoal.workload.queries import Floats, Numbers, Query, attributes_of

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
    >>> from shoal.workload.query_files import queries_of
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
