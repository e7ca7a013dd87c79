"""Print lattices, comparisons of algorithms, sweeps, terms, accuracies of learners, metrics and workloads as tables."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from shoal.cli.console import clean, say, show_table

if TYPE_CHECKING:
    from shoal.explore.compare import AlgorithmComparison, AlgorithmRun
    from shoal.explore.glossary import Term
    from shoal.explore.lattice_table import LatticeTable, NodeRow
    from shoal.explore.sweep import ParameterSweep
    from shoal.metrics.catalogue import Entry
    from shoal.mining.cross_validation import Accuracy, Learned
    from shoal.workload.answers import AnsweredQuery, WorkloadReport
    from shoal.workload.queries import Predicate, Query

_MOST_QUERIES = 50


def show_workload(found: "WorkloadReport") -> None:
    """Print a summary of the errors, then each query with both answers; of many, those with the largest errors."""
    queries = len(found.answered)
    matching = len(found.matching)
    facts = [
        ("mean error", _short_percent(found.mean)),
        ("median error", _short_percent(found.median)),
        ("95 % of the errors are at most", _short_percent(found.percentile_95)),
        ("queries that match the release", f"{matching:,} of {queries:,} ({_short_percent(matching / queries)})"),
    ]
    if len(found.worst) < queries:
        facts.append(("queries with nothing to compare", f"{queries - len(found.worst):,}"))
    show_table(f"{queries:,} queries on {found.rows:,} rows", ("", ""), facts)
    shown = found.answered
    if queries > _MOST_QUERIES:
        shown = found.worst[:_MOST_QUERIES]
    header = ("query", "asks", "from the release", "original", "error", "matches")
    title = "Every query" if queries <= _MOST_QUERIES else f"The {len(shown)} worst answers"
    show_table(title, header, [_row(one) for one in shown])
    if queries > _MOST_QUERIES:
        say("--json gives every query with both answers")


def _row(one: "AnsweredQuery") -> tuple[str, ...]:
    return (
        str(one.number),
        _format_query(one.query),
        _answer(one.estimate),
        _answer(one.actual),
        _NONE if one.error is None else _short_percent(one.error),
        _yes_or_no(one.matches),
    )


def _format_query(query: "Query") -> str:
    aggregate = f"{query.aggregate} of {query.of}" if query.of is not None else query.aggregate
    where = " and ".join(f"{name} {_format_predicate(predicate)}" for name, predicate in query.where)
    return f"{aggregate} where {where}" if where else aggregate


def _format_predicate(predicate: "Predicate") -> str:
    said = predicate.document()
    if not isinstance(said, dict):
        return f"= {said}"
    if "in" in said:
        return f"in {' | '.join(map(str, said['in']))}"
    return " ".join(f"{key} {end}" for key, end in said.items())


def _answer(value: float | None) -> str:
    return "–" if value is None else f"{value:,.6g}"


def _short_percent(share: float) -> str:
    return f"{100 * share:.3g} %"


_MOST_ROWS = 50
_FRONT, _BEST, _FAILS = "◆", "★", "fails"


def show_lattice(table: "LatticeTable") -> None:
    """Print all nodes or, where there are many, a line for each height and the Pareto front."""
    complying = sum(node.complies for node in table.nodes)
    names = ", ".join(map(clean, table.lattice.attributes))
    said = f"{len(table.nodes):,} nodes [{names}], {complying:,} of which comply"
    if len(table.nodes) <= _MOST_ROWS:
        _show_nodes(f"{said}; {_legend_of(table)}", table, table.nodes)
        return
    _show_heights(said, table)
    front = sorted(table.front, key=lambda node: node.suppressed)[:_MOST_ROWS]
    more = f"; the first {len(front)} of {len(table.front):,}" if len(front) < len(table.front) else ""
    _show_nodes(f"{_legend_of(table)}{more}", table, front)
    say("--json or --csv FILE gives all nodes")


def _legend_of(table: "LatticeTable") -> str:
    return f"{_FRONT} the Pareto front of {table.metric} against suppressed rows, {_BEST} least {table.metric}"


def _show_nodes(title: str, table: "LatticeTable", nodes: Sequence["NodeRow"]) -> None:
    metrics = (name.replace("-", " ") for name in table.nodes[0].metrics)  # a long heading breaks at a space
    header = (f"[{', '.join(table.lattice.attributes)}]", "suppressed", "classes", *metrics, "")
    rows = [
        (
            _levels(node),
            f"{node.suppressed:,}",
            f"{node.classes:,}",
            *(_number(value) for value in node.metrics.values()),
            _mark(table, node),
        )
        for node in nodes
    ]
    show_table(title, header, rows, narrow=True)


def _show_heights(title: str, table: "LatticeTable") -> None:
    header = ("height", "nodes", "comply", "on the front", "fewest suppressed", f"least {table.metric}", "")
    rows = []
    for height, same in groupby(table.nodes, key=lambda node: node.height):
        nodes = list(same)
        complying = [node for node in nodes if node.complies]
        rows.append(
            (
                str(height),
                f"{len(nodes):,}",
                f"{len(complying):,}",
                f"{sum(node.pareto for node in nodes):,}",
                _least(node.suppressed for node in complying),
                _least(node.metrics[table.metric] for node in complying),
                _BEST if table.best in nodes else "",
            )
        )
    show_table(title, header, rows)


_MOST_COLUMNS = 6


def show_comparison(found: "AlgorithmComparison", *, brief: bool) -> None:
    """Print a column for each algorithm that gave a release, or a line if `brief`, and why others gave none."""
    from shoal.methods import VARIANTS, options_of_variant

    if not brief:
        for start in range(0, len(found.runs), _MOST_COLUMNS):
            _show_columns(found, found.runs[start : start + _MOST_COLUMNS])
    if brief or len(found.runs) > _MOST_COLUMNS:
        _show_runs(found)
    if any(run.rows for run in found.runs):
        _show_rows(found.runs)
    if found.others:
        rows = [(other.algorithm, other.why) for other in found.others]
        show_table("Without a release", ("algorithm", "why"), rows)
    for name in (run.algorithm for run in found.runs if run.algorithm in VARIANTS):
        say(f"{name} is no name for a policy: write {options_of_variant(name)} under [method].")


def _show_runs(found: "AlgorithmComparison") -> None:
    """Print the main figures of every run, the least loss first."""
    timed = _is_timed(found.runs)
    rows = []
    for run in sorted(found.runs, key=lambda run: run.metrics["loss"]):
        figures = (_number(run.metrics["loss"]), _format_figure(run.metrics.get("average-class")))
        took = (f"{run.seconds:.3f}",) if timed else ()
        rows.append((run.algorithm, *figures, f"{run.classes:,}", f"{run.suppressed:,}", *took))
    header = ("algorithm", "loss", "average class", "classes", "suppressed", *(["seconds"] if timed else []))
    show_table("1 algorithm" if len(rows) == 1 else f"{len(rows)} algorithms, the least loss first", header, rows)


def _show_rows(runs: Sequence["AlgorithmRun"]) -> None:
    """Print some rows, each as every algorithm would release it."""
    names = tuple(dict.fromkeys(name for run in runs for row in run.rows for name in row.cells or {}))
    lines = []
    for same in zip(*(run.rows for run in runs), strict=True):
        for i, (run, row) in enumerate(zip(runs, same, strict=True)):
            shown = ["suppressed"] * len(names) if row.cells is None else [row.cells.get(n, _NONE) for n in names]
            lines.append(("" if i else f"{row.number:,}", run.algorithm, *shown))
    show_table("The same rows as each would release them", ("row", "algorithm", *names), lines)


def _show_columns(found: "AlgorithmComparison", runs: Sequence["AlgorithmRun"]) -> None:
    metrics = dict.fromkeys(name for run in runs for name in run.metrics)
    further = dict.fromkeys(name for run in runs for name in run.figures)
    leveled = dict.fromkeys(name for run in runs for name in run.levels or {})
    facts = [
        *((name, *(f"{getattr(run, field):.3f}" for run in runs)) for name, field in _TIMES if _is_timed(runs)),
        *((name, *(_format_count(getattr(run, field)) for run in runs)) for name, field in _COUNTS),
        *((name, *(_format_figure(run.metrics.get(name)) for run in runs)) for name in metrics),
        *((name, *(_format_figure(run.figures.get(name)) for run in runs)) for name in further),
        (f"{found.metric} proved least", *(_yes_or_no(run.proved) for run in runs)),
        (f"{found.metric} above the least", *("0" if run.proved else _format_gap(run.gap) for run in runs)),
        *((f"level of {name}", *(_format_count((run.levels or {}).get(name)) for run in runs)) for name in leveled),
    ]
    title = f"{found.rows:,} rows" + (f", {found.nodes:,} nodes" if found.nodes is not None else "")
    show_table(title, ("", *(run.algorithm for run in runs)), facts, narrow=True)


def show_sweep(found: "ParameterSweep") -> None:
    """Print a line for each value: what it costs, or why it gives no release."""
    timed = any(run.seconds is not None for run in found.runs)
    failed = not all(run.feasible for run in found.runs)
    rows = []
    for run in found.runs:
        figures = (_format_figure(run.metrics.get(found.metric)), _format_figure(run.average_class))
        took = (_NONE if run.seconds is None else f"{run.seconds:.3f}",) if timed else ()
        why = (run.why or "",) if failed else ()
        rows.append((str(run.value), *figures, _format_count(run.classes), _format_count(run.suppressed), *took, *why))
    header = (found.parameter, found.metric, "average class", "classes", "suppressed")
    by = "" if found.parameter == "algorithm" else f", by {found.algorithm}"
    title = f"{found.metric} against {found.parameter}: {found.rows:,} rows{by}"
    show_table(title, (*header, *(["seconds"] if timed else []), *(["why not"] if failed else [])), rows)


def show_catalogue(entries: Sequence["Entry"]) -> None:
    """Print every metric: what it measures, its range, and whether a policy may name it as `metric`."""
    rows = [(e.name, f"{e.tells} {e.source}.", e.range, _yes_or_no(e.minimised)) for e in entries]
    show_table(f"{len(rows)} metrics", ("metric", "what it tells, source", "range", "search"), rows)
    say("search: a policy may name it as `metric` under [method]")


def show_meanings(found: Sequence["Term"]) -> None:
    """Print what a term means, how it is used and where it comes from, one table for each meaning."""
    for each in found:
        facts = [("", each.meaning), *(("use" if not at else "", use) for at, use in enumerate(each.use))]
        facts += [("source", each.source)] if each.source else []
        facts += [("also", ", ".join(each.aliases))] if each.aliases else []
        show_table(f"{each.name}: {each.kind}", ("", ""), facts)


def show_terms(names: Sequence[str]) -> None:
    """Print the names of all terms, those with the same first letter in a line."""
    lines = [(letter, ", ".join(same)) for letter, same in groupby(names, key=lambda name: name.lstrip("_")[0].upper())]
    show_table(f"{len(names)} terms", ("", ""), lines)
    say("shoal explain TERM says what one of them means")


def show_learned(found: "Learned") -> None:
    """Print one line for each learner, and how the held-out rows were shown."""
    facts = [
        (score.learner, _accuracy(score.original), _accuracy(score.release), _percent(score.relative))
        for score in found.scores
    ]
    title = f"Accuracy for {clean(found.target)}: {found.rows:,} rows, {found.folds} folds"
    header = ("learner", "original", "release", "of what can be gained")
    show_table(title, header, [*facts, ("majority", *[_accuracy(found.majority)] * 2, "")])
    outside = f"; {found.outside:,} of them lie in no box" if found.outside else ""
    say(f"Held-out rows are shown {_SHOWN[found.how]}{outside}.")


_SHOWN = {
    "levels": "at the levels found on the training rows",
    "boxes": "as the box of the training rows that they lie in, or the nearest",
    "values": "as they are, since cells and clusters of the training rows do not share out the space",
}


def _accuracy(found: "Accuracy") -> str:
    return f"{100 * found.mean:.2f} % ± {100 * found.deviation:.2f}"


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:.1f} %"


def _format_count(number: int | None) -> str:
    return _NONE if number is None else f"{number:,}"


def _format_figure(number: float | None) -> str:
    return _NONE if number is None else _number(number)


def _format_gap(gap: float | None) -> str:
    return _NONE if gap is None else f"≤ {_number(gap)}"


_NONE = "–"
"""Shown where a figure does not exist, e.g. a level of a recoding without a level per attribute."""
_TIMES = (("seconds", "seconds"), ("CPU seconds", "cpu_seconds"))
_COUNTS = (
    ("nodes asked", "asked"),
    ("nodes inferred", "inferred"),
    ("nodes checked", "checked"),
    ("rows suppressed", "suppressed"),
    ("classes", "classes"),
)


def _is_timed(runs: Sequence["AlgorithmRun"]) -> bool:
    return all(run.seconds is not None for run in runs)


def _levels(node: "NodeRow") -> str:
    return f"[{','.join(map(str, node.levels))}]"


def _mark(table: "LatticeTable", node: "NodeRow") -> str:
    if not node.complies:
        return _FAILS
    return _FRONT * node.pareto + _BEST * (node is table.best)


def _least(values: Iterable[float]) -> str:
    numbers = list(values)
    return _number(min(numbers)) if numbers else ""


def _yes_or_no(flag: bool) -> str:
    return "yes" if flag else "no"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= value < 1e9 else f"{value:.4g}"
