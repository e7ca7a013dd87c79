"""Ten thousand queries answered from a release of a million rows, and what a given workload gains by steering.

python benchmarks/workload.py     writes workload.md (S4.8, S4.9)
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from common import HERE, SHARED, hierarchies, measured_on, missing
from generated import EIGHT, people, policy_of

from shoal.api.analysis import workload
from shoal.data.codes import Table
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import read_options
from shoal.pipeline import Release, make_release
from shoal.policy.document import Policy
from shoal.publish.release_views import generalised_from_columns, original_of
from shoal.workload.answers import answer_queries
from shoal.workload.queries import attributes_of, random_queries, toml_of

T = TypeVar("T")
ROWS, QUERIES, K = 1_000_000, 10_000, 12
STEERED, STEERED_K = 200, 10
WORKLOADS = 10


def main() -> None:
    lines = ["# Workloads", "", measured_on("python benchmarks/workload.py"), "", *answering(), "", *steering(), ""]
    (HERE / "workload.md").write_text("\n".join(lines), "utf-8")


def spent(work: Callable[[], T]) -> tuple[T, str]:
    """What a call gives, and its CPU seconds."""
    before = time.process_time()
    found = work()
    return found, f"{time.process_time() - before:.2f}"


def answering() -> Iterator[str]:
    print(f"workload: {ROWS:,} rows …", file=sys.stderr)
    frame = people(EIGHT, ROWS)
    release = make_release(frame, policy_of(EIGHT, K, {"algorithm": "mondrian"}))
    table = ArrowEngine().read(frame, read_options(release.policy)).table
    yield "## Answering"
    yield ""
    yield f"{QUERIES:,} random COUNT queries of selectivity 0.1 on {ROWS:,} generated people with {len(EIGHT)}"
    classes = len(release.plan.after.classes)
    yield f"quasi-identifiers, and on their release by strict Mondrian, k = {K}, in {classes:,} classes."
    yield "CPU seconds (user + system) of one run; the table is read beforehand."
    yield ""
    yield "| attributes | drawing, s | reading labels, s | from the release, s | from the original, s | mean error |"
    yield "|---|---|---|---|---|---|"
    for attributes in (1, 2, 3):
        yield f"| {' | '.join(answered(release, table, attributes))} |"


def answered(release: Release, table: Table, attributes: int) -> list[str]:
    queries, drawing = spent(lambda: random_queries(table, list(EIGHT), QUERIES, attributes=attributes))
    original = original_of(table, "people", release.policy, release.plan.builders)
    names = attributes_of(queries)
    shown, reading = spent(lambda: generalised_from_columns(release.columns, release.plan, names, original))
    found, ours = spent(lambda: answer_queries(shown, queries))
    truth, theirs = spent(lambda: answer_queries(original.shown(names), queries))
    error = (abs(found.values - truth.values) / truth.values.clip(0.001 * ROWS)).mean()
    return [str(attributes), drawing, reading, ours, theirs, f"{error:.4f}"]


def steering() -> Iterator[str]:
    yield "## Steering"
    yield ""
    if why := missing("adult"):
        yield why
        return
    file = SHARED / "adult" / "adult.csv"
    plain = make_release(file, policy({"algorithm": "mondrian"}))
    table = ArrowEngine().read(file, read_options(plain.policy)).table
    yield f"Adult, nine quasi-identifiers, k = {STEERED_K}: {WORKLOADS} workloads of {STEERED} random COUNT queries of"
    yield "selectivity 0.1. Plain: `mondrian`, one release for all. Steered: `mondrian-workload` with the workload, a"
    yield "release for each. Other queries: as many, drawn alike with another seed; no release was steered by them."
    yield ""
    heads = ["seed", "attributes", "mean error, plain", "steered", "median, plain", "steered"]
    heads += ["mean of other queries, plain", "steered", "classes, plain", "steered", "CPU s"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(WORKLOADS):
            print(f"workload: Adult, seed {seed} …", file=sys.stderr)
            attributes = 2 + seed % 2
            queries, others = (
                random_queries(table, list(table.columns), STEERED, attributes=attributes, seed=drawn)
                for drawn in (seed, seed + 1000)
            )
            saved = Path(folder) / "queries.toml"
            saved.write_text(toml_of(queries), "utf-8")
            method = {"algorithm": "mondrian-workload", "workload": str(saved)}
            release, seconds = spent(lambda method=method: make_release(file, policy(method)))  # type: ignore[misc]
            one, other = (workload(file, each, queries=queries) for each in (plain, release))
            strange = [workload(file, each, queries=others).mean for each in (plain, release)]
            errors = [f"{number:.4f}" for number in (one.mean, other.mean, one.median, other.median, *strange)]
            classes = [f"{len(each.plan.after.classes):,}" for each in (plain, release)]
            yield f"| {' | '.join([str(seed), str(attributes), *errors, *classes, seconds])} |"


def policy(method: dict[str, str]) -> Policy:
    attributes = {
        name: {"role": "quasi-identifier", "hierarchy": {"csv": str(path)}}
        for name, path in hierarchies("adult").items()
    }
    return Policy(attributes=attributes, require=[{"model": "k-anonymity", "k": STEERED_K}], method=method)


if __name__ == "__main__":
    main()
