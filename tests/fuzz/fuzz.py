"""Fuzzes the whole way from a file to a published folder: `python tests/fuzz/fuzz.py --seconds 600`.

Cases come from consecutive seeds. One that fails is made smaller while it fails in the same way, and written as a
folder that can be committed below tests/fuzz/regressions. Reports and advice are made in every 50th case only, since
they take most of the time: `--reports 1` makes them in all. Folders lie in memory where the system has a place for
that, since each release is flushed to its disk. `--log` gets a line for each case: its seed and how it ended. At the
end a table tells how many releases came of each model and algorithm.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from string import ascii_letters
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "oracles")]

from fuzz_cases import ALGORITHMS, MODELS, PAIRS, Case, case_of, method_name, serves  # noqa: E402
from fuzz_judge import LONGEST, Failure, run  # noqa: E402

REGRESSIONS = HERE / "regressions"


REPORTS = 50
"""Of so many cases, one makes reports and advice."""


def run_with_limit(case: Case, reports: int = REPORTS) -> str:
    """Run a case; one that does not end is interrupted and counts as a failure.

    What counts is the time of the processor, since a busy machine makes everything slow; waiting has a limit, too.
    """

    def too_long(*_: Any) -> None:
        raise TimeoutError

    before = {kind: signal.signal(kind, too_long) for kind in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    signal.alarm(10 * LONGEST)
    try:
        return run(case, light=case.seed % reports != 0)
    except TimeoutError:
        raise Failure("hang", f"more than {LONGEST} seconds") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for kind, handler in before.items():
            signal.signal(kind, handler)


def kind_of(case: Case) -> str | None:
    """The kind of failure of a case; None where it ends well."""
    try:
        run_with_limit(case)
    except Failure as failure:
        return failure.kind
    return None


def shrunk(case: Case, kind: str, most: int = 150) -> Case:
    """Return a smaller case that fails in the same way."""
    best, tries, progress = case, 0, True
    while progress and tries < most:
        progress = False
        for candidate in candidates(best):
            tries += 1
            if kind_of(candidate) == kind:
                best, progress = candidate, True
                break
            if tries >= most:
                break
    return best


def candidates(case: Case) -> Iterator[Case]:
    """Yield cases with less in them: fewer rows, columns, promises, options."""
    yield from _with_fewer_rows(case)
    for name in case.columns if len(case.columns) > 1 else ():
        made = deepcopy(case)
        del made.columns[name]
        made.policy["attributes"].pop(name, None)
        yield made
    for at in range(len(case.policy["require"])):
        made = deepcopy(case)
        del made.policy["require"][at]
        yield made
    yield from _with_fewer_options(case)


def _with_fewer_rows(case: Case) -> Iterator[Case]:
    for parts in (2, 4, 8, case.rows):
        size = -(-case.rows // max(parts, 1))
        for start in range(0, case.rows if size else 0, max(size, 1)):
            made = deepcopy(case)
            for cells in made.columns.values():
                del cells[start : start + size]
            yield made


PLAIN: dict[str, Any] = dict(
    zip(
        ("engine", "format", "source", "encoding", "delimiter", "quote", "line_end", "before", "types", "parts"),
        ("arrow", "csv", "csv", "utf-8", ",", '"', "\n", 0, {}, False),
        strict=True,
    ),
    partition_by=[],
)


def _with_fewer_options(case: Case) -> Iterator[Case]:
    tables = [("method",), ("release",), ("data",), *(("attributes", name) for name in case.columns)]
    for path in tables:
        for key in set(_table(case, path)) - {"role"}:
            made = deepcopy(case)
            del _table(made, path)[key]
            yield made
    for key, plain in PLAIN.items():
        if getattr(case, key) != plain:
            made = deepcopy(case)
            setattr(made, key, deepcopy(plain))
            yield made


def _table(case: Case, path: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = case.policy
    for key in path:
        found = found.get(key, {})
    return found


@dataclass
class Tally:
    """What came of some cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    drawn: Counter[tuple[str, str]] = field(default_factory=Counter)
    published: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, case: Case, outcome: str) -> None:
        self.outcomes[outcome] += 1
        for model in case.policy["require"]:
            pair = (model["model"], method_name(case.policy["method"]))
            self.drawn[pair] += 1
            self.published[pair] += outcome == "published"

    def lines(self) -> Iterator[str]:
        """Yield a line for each model: releases by each algorithm; a point where the two do not go together."""
        methods = [method_name(method) for method in ALGORITHMS]
        yield "releases of each model (lines) by each algorithm (columns):"
        yield from (f"  {letter} {method}" for letter, method in zip(ascii_letters, methods, strict=False))
        yield f"  {'':22}" + "".join(f"{letter:>5}" for letter in ascii_letters[: len(methods)])
        for model in MODELS:
            served = [serves(model, method["algorithm"], method.get("suppress")) for method in ALGORITHMS]
            counts = [self.published[model, method] for method in methods]
            cells = [f"{count:5}" if fits or count else "    ·" for count, fits in zip(counts, served, strict=True)]
            yield f"  {model:22}{''.join(cells)}"
        reached = sum(count > 0 for count in self.published.values())
        yield f"{reached:,} pairs were released, {len(self.drawn):,} drawn, {len(PAIRS):,} go together"


def work_in_memory(folder: Path = Path("/dev/shm")) -> None:
    """Make temporary folders in memory, where the system has a place for that and nobody named another one."""
    if "TMPDIR" not in os.environ and os.access(folder, os.W_OK | os.X_OK):
        tempfile.tempdir = str(folder)


def _log(path: Path | None, seed: int, outcome: str) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(f"{seed}\t{outcome}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="how long to go on (default 120)")
    parser.add_argument("--seed", type=int, help="first seed (default: drawn at random, and printed)")
    parser.add_argument("--cases", type=int, help="stop after so many")
    parser.add_argument("--out", type=Path, default=REGRESSIONS, help="where failing cases are written")
    parser.add_argument("--reports", type=int, default=REPORTS, help="make reports in every so many cases (default 50)")
    parser.add_argument("--log", type=Path, help="file that gets the seed of each case and how it ended")
    given = parser.parse_args()
    work_in_memory()
    first = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"fuzz: seeds from {first}", flush=True)
    tally, log = Tally(), partial(_log, given.log)
    begun, seed, worked = time.monotonic(), first, time.process_time()
    while time.monotonic() - begun < given.seconds and (given.cases is None or seed < first + given.cases):
        case = case_of(seed)
        seed += 1
        try:
            outcome = run_with_limit(case, given.reports)
            tally.count(case, outcome)
            log(case.seed, outcome)
        except Failure as failure:
            log(case.seed, failure.kind)
            tally.failed[failure.kind] += 1
            print(f"seed {case.seed}: {failure}", flush=True)
            if tally.failed[failure.kind] <= 3:
                if failure.__cause__ is not None:
                    traceback.print_exception(failure.__cause__, limit=-3)
                shrunk(case, failure.kind).write(given.out / f"{failure.kind.replace(' ', '-')}-{case.seed}")
    cases, worked = seed - first, time.process_time() - worked
    print("\n".join(tally.lines()))
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in tally.outcomes.most_common())
    print(f"fuzz: {cases:,} cases in {time.monotonic() - begun:.0f} s ({worked:.0f} s of CPU): {told}")
    kinds = "".join(f"; {kind}: {count:,}" for kind, count in tally.failed.items())
    print(f"fuzz: {tally.failed.total():,} failed{kinds}")
    return int(bool(tally.failed))


if __name__ == "__main__":
    sys.exit(main())
