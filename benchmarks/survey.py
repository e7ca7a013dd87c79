"""The survey's comparison (S2.7): Datafly, Samarati, Incognito and the hybrid on Adult, against k and against the rows.

python benchmarks/survey.py     writes survey.md and survey.svg
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from common import HERE, SHARED, cpu, hierarchies, measured_on, missing
from drawing import COLOURS, MARKERS, figure
from walks import Walked, grouped_and_walked, task_of

from shoal.datasets import adult
from shoal.engine_port import ReadOptions, Source
from shoal.engines.arrow import ArrowEngine
from shoal.policy.document import Policy

ATTRIBUTES = ("age", "education", "marital-status", "race", "sex")
ALGORITHMS = ("datafly", "samarati", "incognito", "hybrid")
KS = (2, 5, 10, 25, 50, 100)
ROWS = (1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 45_222)
SHARES = (0.0, 0.02)
MIDDLE_K = 10
SEED = 0
TIMES = 5


@dataclass(frozen=True)
class Case:
    """One algorithm on one table."""

    algorithm: str
    k: int
    rows: int
    share: float
    seconds: float
    """CPU, from the rows to the answer, the grouping of the rows included."""
    walked: Walked


def main() -> None:
    why = missing("adult") or missing("adult_uci")
    if why is not None:
        print(f"survey: {why}", file=sys.stderr)
        return
    cases = list(all_cases())
    (HERE / "survey.md").write_text(render(cases), "utf-8")
    draw([case for case in cases if case.share == SHARES[0]])


def all_cases() -> Iterable[Case]:
    """Every k, number of rows, limit and algorithm."""
    whole = complete_rows()
    for rows in ROWS:
        source = ArrowEngine().read(whole.slice(0, rows), ReadOptions())
        print(f"survey: {rows:,} rows …", file=sys.stderr)
        for k in KS:
            for share in SHARES:
                yield from cases_of(source, k, share)


def complete_rows() -> pa.Table:
    """The rows of adult.data and adult.test without a missing value, in an order drawn once."""
    complete = adult(SHARED / "adult_uci").drop_null()
    order = np.random.Generator(np.random.PCG64(SEED)).permutation(complete.num_rows)
    return complete.select(list(ATTRIBUTES)).take(order)


def cases_of(source: Source, k: int, share: float) -> Iterable[Case]:
    task = task_of(source, policy_of(k, share))
    for algorithm in ALGORITHMS:
        work = grouped_and_walked(source, task, algorithm)
        yield Case(algorithm, k, source.table.rows, share, cpu(work, TIMES), work())


def policy_of(k: int, share: float) -> Policy:
    files = hierarchies("adult")
    attributes = {n: {"role": "quasi-identifier", "hierarchy": {"csv": str(files[n])}} for n in ATTRIBUTES}
    require = [{"model": "k-anonymity", "k": k}]
    return Policy(attributes=attributes, require=require, method={"suppression": share})


def render(cases: Sequence[Case]) -> str:
    lines = [
        "# The searches of the survey, compared",
        "",
        measured_on("python benchmarks/survey.py"),
        "",
        f"UCI Adult, the {ROWS[-1]:,} complete rows of adult.data and adult.test in an order drawn once (seed {SEED});",
        f"quasi-identifiers {', '.join(ATTRIBUTES)}: a lattice of 240 nodes, height 11.",
        f"CPU milliseconds from the rows to the answer, grouping the rows included, the median of {TIMES} runs.",
        "*Asked*: what the algorithm asks; *checked*: nodes whose classes were made;",
        "*inferred*: answered from other nodes because k-anonymity is closed; *height*: of the lowest node found;",
        "*found*: how many nodes the algorithm returns. Incognito's counts include the nodes of subsets.",
        "",
        *conclusions(cases),
        "",
        "![Time and nodes against k and against the rows](survey.svg)",
    ]
    for share in SHARES:
        some = [case for case in cases if case.share == share]
        lines += ["", f"## {ROWS[-1]:,} rows, at most {share:.0%} suppressed, against k", "", *table(some, "k")]
        lines += ["", f"## k = {MIDDLE_K}, at most {share:.0%} suppressed, against the rows", "", *table(some, "rows")]
    return "\n".join([*lines, ""])


def conclusions(cases: Sequence[Case]) -> list[str]:
    """What the numbers say, computed from them."""
    by = {(c.algorithm, c.k, c.rows, c.share): c for c in cases}
    pairs = [(case, by["samarati", *at]) for (name, *at), case in by.items() if name == "datafly"]
    higher = sum(quick.walked.height > least.walked.height for quick, least in pairs)
    most = max(quick.walked.height - least.walked.height for quick, least in pairs)
    lines = [
        f"Over all {len(pairs)} settings ({len(KS)} k, {len(ROWS)} numbers of rows, {len(SHARES)} limits):",
        "",
        f"- Datafly's node lies above the least height in {higher} of {len(pairs)} settings, by {most} at most.",
    ]
    for name in ALGORITHMS:
        own = [case for case in cases if case.algorithm == name]
        asked, checked = (sum(getattr(case.walked.tally, what) for case in own) for what in ("asked", "checked"))
        spent = 1000 * median(case.seconds for case in own)
        lines.append(
            f"- {name}: {asked:,} nodes asked, {checked:,} checked in all; {spent:.1f} ms in the median setting."
        )
    return lines


def table(cases: Sequence[Case], against: str) -> list[str]:
    head = f"| {against} | algorithm | CPU ms | asked | checked | inferred | height | found |"
    return [head, "|---|---|---|---|---|---|---|---|", *(line(case, against) for case in sliced(cases, against))]


def line(case: Case, against: str) -> str:
    tally, at = case.walked.tally, f"{getattr(case, against):,}"
    cells = [at, case.algorithm, f"{1000 * case.seconds:.2f}", tally.asked, tally.checked, tally.inferred]
    return f"| {' | '.join(map(str, [*cells, case.walked.height, len(case.walked.nodes)]))} |"


def sliced(cases: Sequence[Case], against: str) -> list[Case]:
    """All rows against k, or the middle k against the rows."""
    return [case for case in cases if (case.rows == ROWS[-1] if against == "k" else case.k == MIDDLE_K)]


def draw(cases: Sequence[Case]) -> None:
    with figure(HERE / "survey.svg", 2, 2) as axes:
        for column, against in enumerate(("k", "rows")):
            some = sliced(cases, against)
            lines(axes[0][column], some, against, lambda case: 1000 * case.seconds)
            lines(axes[1][column], some, against, lambda case: case.walked.tally.asked)
            fixed = f"{ROWS[-1]:,} rows" if against == "k" else f"k = {MIDDLE_K}"
            axes[0][column].set_title(f"Adult, 5 QIs, {fixed}, no suppression")
            axes[0][column].set_ylabel("CPU ms")
            axes[1][column].set_ylabel("nodes visited (asked)")
        axes[1][0].legend(frameon=False, loc="upper right")


def lines(ax: Any, cases: Sequence[Case], against: str, value: Any) -> None:
    for name in ALGORITHMS:
        own = [case for case in cases if case.algorithm == name]
        at = [getattr(case, against) for case in own]
        ax.plot(at, list(map(value, own)), color=COLOURS[name], marker=MARKERS[name], markersize=4, label=name)
    ax.set_xscale("log")
    ticks = KS if against == "k" else ROWS
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=0 if against == "k" else 30)
    ax.minorticks_off()
    ax.set_xlabel(against)
    ax.set_ylim(bottom=0)


if __name__ == "__main__":
    main()
