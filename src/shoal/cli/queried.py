"""What people see of a workload."""

from typing import TYPE_CHECKING

from shoal.cli.drawing import show_table

if TYPE_CHECKING:
    from shoal.workload import Answered, Query, WorkloadReport
    from shoal.workload.queries import Predicate

_WORST = 10


def show_workload(found: "WorkloadReport") -> None:
    """The errors together, then the queries that are answered worst."""
    queries = len(found.answered)
    matching = len(found.matching)
    facts = [
        ("mean error", _percent(found.mean)),
        ("median error", _percent(found.median)),
        ("95 % of the errors are at most", _percent(found.percentile_95)),
        ("queries that match the release", f"{matching:,} of {queries:,} ({_percent(matching / queries)})"),
    ]
    if len(found.worst) < queries:
        facts.append(("queries with nothing to compare", f"{queries - len(found.worst):,}"))
    show_table(f"{queries:,} queries on {found.rows:,} rows", ("", ""), facts)
    wrong = [one for one in found.worst[:_WORST] if one.error]
    if wrong:
        header = ("query", "asks", "from the release", "original", "error")
        show_table("The worst answers", header, [_row(one) for one in wrong])


def _row(one: "Answered") -> tuple[str, ...]:
    return str(one.number), _asks(one.query), _number(one.estimate), _number(one.actual), _percent(one.error or 0.0)


def _asks(query: "Query") -> str:
    aggregate = f"{query.aggregate} of {query.of}" if query.of is not None else query.aggregate
    where = " and ".join(f"{name} {_said(predicate)}" for name, predicate in query.where)
    return f"{aggregate} where {where}" if where else aggregate


def _said(predicate: "Predicate") -> str:
    said = predicate.document()
    if not isinstance(said, dict):
        return f"= {said}"
    if "in" in said:
        return f"in {' | '.join(map(str, said['in']))}"
    return " ".join(f"{key} {end}" for key, end in said.items())


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.6g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
