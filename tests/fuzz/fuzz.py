"""Fuzzes the whole way from a file to a published folder: `python tests/fuzz/fuzz.py --seconds 600`.

Cases come from consecutive seeds. One that fails is made smaller while it fails in the same way, and written as a
folder that can be committed below tests/fuzz/regressions.
"""

import argparse
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "oracles")]

from fuzz_cases import Case, case_of  # noqa: E402
from fuzz_judge import LONGEST, Failure, run  # noqa: E402

REGRESSIONS = HERE / "regressions"


def tried(case: Case) -> str:
    """Run a case; one that does not end is interrupted and counts as a failure."""

    def too_long(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LONGEST + 5)
    try:
        return run(case)
    except TimeoutError:
        raise Failure("hang", f"more than {LONGEST} seconds") from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def kind_of(case: Case) -> str | None:
    """The kind of failure of a case; None where it ends well."""
    try:
        tried(case)
    except Failure as failure:
        return failure.kind
    return None


def smaller(case: Case, kind: str, most: int = 150) -> Case:
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
        del made.columns[name], made.policy["attributes"][name]
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


PLAIN = {"engine": "arrow", "format": "csv", "source": "csv", "encoding": "utf-8", "delimiter": ","}


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
            setattr(made, key, plain)
            yield made


def _table(case: Case, path: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = case.policy
    for key in path:
        found = found.get(key, {})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="how long to go on (default 120)")
    parser.add_argument("--seed", type=int, help="first seed (default: drawn at random, and printed)")
    parser.add_argument("--cases", type=int, help="stop after so many")
    parser.add_argument("--out", type=Path, default=REGRESSIONS, help="where failing cases are written")
    given = parser.parse_args()
    first = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"fuzz: seeds from {first}", flush=True)
    outcomes: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    failed: Counter[str] = Counter()
    begun, seed = time.monotonic(), first
    while time.monotonic() - begun < given.seconds and (given.cases is None or seed < first + given.cases):
        case = case_of(seed)
        seed += 1
        try:
            outcome = tried(case)
        except Failure as failure:
            failed[failure.kind] += 1
            print(f"seed {case.seed}: {failure}", flush=True)
            if failed[failure.kind] <= 3:
                if failure.__cause__ is not None:
                    traceback.print_exception(failure.__cause__, limit=-3)
                smaller(case, failure.kind).write(given.out / f"{failure.kind.replace(' ', '-')}-{case.seed}")
            continue
        outcomes[outcome] += 1
        if outcome == "published":
            for model in case.policy["require"]:
                pairs[model["model"], case.policy["method"]["algorithm"]] += 1
    cases, seconds = seed - first, time.monotonic() - begun
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common())
    print(f"fuzz: {cases:,} cases in {seconds:.0f} s: {told}; {len(pairs):,} pairs of model and algorithm published")
    print(f"fuzz: {sum(failed.values()):,} failed" + "".join(f"; {kind}: {count:,}" for kind, count in failed.items()))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
