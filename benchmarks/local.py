"""Local recoding: CPU seconds and mean loss of k = 5 alone, on tables of the shared folder; and with other promises.

python benchmarks/local.py     writes local.md
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import HERE, SHARED, cpu, measured_on, missing, written_policy

from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.partition.condition import Condition
from shoal.partition.local import LocalResult, local
from shoal.partition.solver import recode_cells
from shoal.policy.document import Policy
from shoal.problem import Problem
from shoal.recoding.outcome import Before
from shoal.search.full_domain import LatticeSearch

K = 5
PROMISES = {
    "k alone": ({}, "not measured"),
    "distinct l = 3": ({"model": "distinct-l-diversity", "l": 3}, "3.42 s, loss 0.0370"),
    "entropy l = 3": ({"model": "entropy-l-diversity", "l": 3}, "6.82 s, loss 0.0683"),
    "t = 0.4": ({"model": "t-closeness", "t": 0.4}, "15.66 s, loss 0.2836"),
}
"""One more promise each, and what was measured when equal rows stayed together and clusters knew k alone."""
TABLES = {
    "adult": (5, "ARX 3.9.2, local recoding, the same formula: loss 0.0524 in 121 s"),
    "cup": (3, "ARX was not run on this table"),
    "creditcard_int": (1, "full-domain search with 10 % suppression: 0.64"),
    "mach2019_int": (1, "full-domain heuristics of ARX with 10 % suppression: 0.5552"),
}
"""How often each is measured, and what stands beside it."""


def main() -> None:
    lines = [
        "# Local recoding",
        "",
        measured_on("python benchmarks/local.py"),
        "",
        f"k-anonymity with k = {K}, no suppression, every attribute with a hierarchy file a quasi-identifier.",
        "CPU seconds (user and system, median of the runs) of the call of `local`, from the grouped rows to the parts.",
        "*Loss*: the mean over all cells of (leaves under the label - 1) / (leaves - 1).",
        "",
        "| table | rows | QIs | nodes | classes before | after | CPU s | loss | beside |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows(),
        "",
        f"Adult with occupation as the sensitive attribute, k = {K} and one more promise; CPU seconds of the solver,",
        "from the table to the plan. *Bound*: the least loss is no lower.",
        "",
        "| promise | classes after | CPU s | loss | bound | before lent rows and rules |",
        "|---|---|---|---|---|---|",
        *with_promises(),
        "",
    ]
    (HERE / "local.md").write_text("\n".join(lines), "utf-8")


def rows() -> Iterator[str]:
    for table, (times, beside) in TABLES.items():
        why = missing(table)
        print(f"local: {table} … {why or ''}", file=sys.stderr)
        cells = [why] if why is not None else measured(table, times, beside)
        yield f"| {table} | {' | '.join(cells)} |"


def measured(table: str, times: int, beside: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        policy = Policy.load(written_policy(Path(folder), table, "suppression = 0", K))
        read = ArrowEngine().read(SHARED / table / f"{table}.csv", ReadOptions())
        task = LatticeSearch.of(Problem.of(read, policy, ArrowEngine()))
    before, found = task.oracle.before, []
    condition = Condition(before.classes, policy.models, task.oracle.reading)
    spent = cpu(lambda: found.append(local(before, condition)), times)
    counts = [f"{before.rows:,}", str(len(before.hierarchies)), f"{task.lattice.size:.2g}", f"{len(before.classes):,}"]
    return [*counts, f"{len(found[-1].levels):,}", f"{spent:.2f}", f"{loss(before, found[-1]):.4f}", beside]


def with_promises() -> Iterator[str]:
    if missing("adult") is not None:
        return
    source = ArrowEngine().read(SHARED / "adult" / "adult.csv", ReadOptions())
    for name, (promise, beside) in PROMISES.items():
        print(f"local: adult, {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            asked = Policy.load(written_policy(Path(folder), "adult", "suppression = 0", K)).document()
        asked["attributes"]["occupation"] = {"role": "sensitive"}
        asked["require"] += [promise] if promise else []
        asked["method"] = {"algorithm": "local"}
        problem, plans = Problem.of(source, Policy(**asked), ArrowEngine()), []
        spent = cpu(lambda problem=problem, plans=plans: plans.append(recode_cells(problem)), 3)
        plan = plans[-1]
        yield f"| {name} | {len(plan.after.kept):,} | {spent:.2f} | {plan.score:.4f} | {plan.bound:.4f} | {beside} |"


def loss(before: Before, found: LocalResult) -> float:
    """By the definition, from the labels."""
    total = 0.0
    for i, (hierarchy, weight) in enumerate(zip(before.hierarchies, before.weights, strict=True)):
        levels, codes = found.levels[found.part, i], before.classes.codes(hierarchy.attribute)
        for level, costs in enumerate(hierarchy.losses):
            here = levels == level
            total += weight * float(before.classes.counts[here] @ costs[hierarchy.levels[level][codes[here]]])
    return total / int(np.sum(before.classes.counts))


if __name__ == "__main__":
    main()
