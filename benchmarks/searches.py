"""The searches: proved optima of lattices that can be exhausted, good nodes with a gap of those that cannot."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from common import SHARED, SHOAL, Row, cpu, missing, process, skipped, written_policy
from generated import MANY, SURVEY, Column, people, policy_of, write_people

from shoal.engine_port import ReadOptions, Source
from shoal.engines.arrow import ArrowEngine
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.solve import make_plan

SURVEY_ROWS = 1_193_504
MANY_ROWS = 30_000
TIME_LIMIT = 10
GROUPED = "group the rows once"


def search_adult() -> Iterator[Row]:
    """The search for the optimum on Adult, nine quasi-identifiers."""
    for share, arx in ((0.0, "181"), (0.02, "1,110"), (0.1, "1,487"), (1.0, "3,449")):
        what = f"search: Adult 9 QIs, k=5, loss, {share:.0%} suppression"
        yield on_table(what, "adult", f"suppression = {share}", f"ARX 3.9.2 checks {arx}")


def search_incognito() -> Iterator[Row]:
    """Every complying node of Adult's lattice."""
    what = "search: Adult 9 QIs, k=5, Incognito's complete answer, no suppression"
    yield on_table(what, "adult", 'algorithm = "incognito"', "checked and inferred count the nodes of subsets too")


def search_cup() -> Iterator[Row]:
    """The search for the optimum on the KDD Cup of 1998, eight quasi-identifiers."""
    for share, arx in ((0.02, "9.94 s, 1,594 checked"), (1.0, "52.9 s, 9,300 checked")):
        what = f"search: CUP 8 QIs, k=5, loss-geometric, {share:.0%} suppression"
        yield on_table(what, "cup", f'metric = "loss-geometric"\nsuppression = {share}', f"ARX 3.9.2: {arx}")


def search_million() -> Iterator[Row]:
    """The search for the optimum on 1.2 million generated people: with classes of several rows, and nearly without."""
    arx = "ARX 3.9.2 on another table of this shape: 322 s, 1,472 checked"
    for columns, kind, times in ((SURVEY, "skewed", 3), (evenly(SURVEY), "nearly all distinct", 1)):
        source = ArrowEngine().read(people(columns, SURVEY_ROWS), ReadOptions())
        policy = policy_of(columns, 5, {"suppression": 0.02})
        what = f"search: {SURVEY_ROWS:,} generated rows, {kind}, 9 QIs, k=5, loss, 2 % suppression"
        yield in_process(what, source, policy, arx, times)


def evenly(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The same columns, their values far more evenly spread."""
    return {name: Column(c.values, c.widths, c.spread / 2) for name, c in columns.items()}


def lattice_large() -> Iterator[Row]:
    """Lattices that cannot be exhausted, as a whole process with a time limit."""
    for table, attributes, arx in (("creditcard_int", 24, "0.6728"), ("mach2019_int", 16, "0.5552")):
        what = f"lattice: {table} {attributes} QIs, k=5, loss, 10 % suppression, --time-limit {TIME_LIMIT} --dry-run"
        why = missing(table)
        if why is not None:
            yield skipped(what, why)
            continue
        with tempfile.TemporaryDirectory() as folder:
            policy = written_policy(Path(folder), table, "suppression = 0.1")
            beside = f"ARX 3.9.2, best of its three heuristics in 30 s: loss {arx}"
            yield as_command(what, SHARED / table / f"{table}.csv", policy, beside)


def lattice_generated() -> Iterator[Row]:
    """Forty generated quasi-identifiers."""
    with tempfile.TemporaryDirectory() as folder:
        table, policy = write_people(Path(folder), MANY, MANY_ROWS, 5, {"suppression": 0.1})
        what = (
            f"lattice: {MANY_ROWS:,} generated rows, {len(MANY)} QIs, k=5, loss, 10 % suppression, "
            f"--time-limit {TIME_LIMIT} --dry-run"
        )
        yield as_command(what, table, policy, "ARX was not run on this table")


def on_table(what: str, table: str, method: str, beside: str) -> Row:
    """A search on a table of the shared folder."""
    why = missing(table)
    if why is not None:
        return skipped(what, why)
    with tempfile.TemporaryDirectory() as folder:
        policy = Policy.load(written_policy(Path(folder), table, method))
        source = ArrowEngine().read(SHARED / table / f"{table}.csv", ReadOptions())
        return in_process(what, source, policy, beside)


def in_process(what: str, source: Source, policy: Policy, beside: str, times: int = 5) -> Row:
    """From the table as read to the recoding; floor: grouping the rows once."""
    engine, plans = ArrowEngine(), []
    quasi = sorted(policy.quasi_identifiers)
    floor = cpu(lambda: engine.count(source.table, quasi, []))
    whole = cpu(lambda: plans.append(make_plan(source, policy, engine)), times)
    return (
        what,
        f"{whole:.3g}",
        f"{floor:.4f} ({GROUPED})",
        f"{whole / floor:.0f}",
        "; ".join(filter(None, [said_of(plans[-1]), beside])),
    )


def said_of(plan: Plan) -> str:
    assert plan.search is not None
    found, tally = plan.search.found, plan.search.tally
    proved = "proved" if found.proved else f"gap {plan.search.gap:.4f}"
    complying = f" ({tally.inferred:,} inferred; {len(found.nodes):,} comply)" if found.nodes else ""
    nodes = f"{tally.checked:,} checked of {plan.search.lattice.size:,} nodes{complying}"
    return f"{len(plan.before.classes):,} classes, {nodes}; score {plan.score:.6f}, {proved}"


def as_command(what: str, table: Path, policy: Path, beside: str, times: int = 3) -> Row:
    """The whole process; floor: the same without a search to speak of."""
    said: list[dict[str, Any]] = []
    command: list[object] = [SHOAL, "anonymize", table, "--policy", policy, "--dry-run", "--json", "--time-limit"]
    spent, memory = process([*command, TIME_LIMIT], times, lambda text: said.append(json.loads(text)["method"]))
    floor, _ = process([*command, 0.001], 1)
    worst = max(said, key=lambda method: method["score"])
    found = f"score {worst['score']:.6f} (the worst of {times} runs), gap {worst['gap']:.4f}"
    return (
        what,
        f"{spent:.2f}",
        f"{floor:.2f} (the same process with no time to search)",
        f"{spent / floor:.1f}",
        f"{worst['nodes']:.2g} nodes, {worst['checked']:,} checked; {found}; peak {memory:.0f} MB; {beside}",
    )
