"""Does it pay to let Datafly bound the height for Samarati's search (S2.8)? Nodes asked and checked by both.

python benchmarks/hybrid.py     writes hybrid.md and hybrid.svg
"""

import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import survey
from common import HERE, SHARED, hierarchies, measured_on, missing, policy_text
from drawing import figure
from generated import Column, people, policy_of
from walks import Walked, task_of, walked

from shoal.engine_port import ReadOptions, Source
from shoal.engines.arrow import ArrowEngine
from shoal.policy.document import Policy
from shoal.search.full_domain import LatticeSearch

GENERATED = 600
SEED = 0
KS = (2, 3, 5, 10, 25, 50)
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.3)
LARGEST_ASKED_TWICE = 6_000
"""Nodes of a lattice on which what is asked is also checked without inference, to see that it is as much."""
WAYS = {"asked": "without inference", "checked": "with inference"}
SOURCES = {"generated": "#56b4e9", "Adult 5 QIs": "#d55e00", "Adult 9 QIs": "#009e73"}
BANDS = ((0.0, 0.0), (0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.0))
"""Of Datafly's height as a share of the lattice's: above the first number, up to the second; the bottom first."""


@dataclass(frozen=True)
class Counts:
    """Nodes of one algorithm."""

    asked: int
    """What it asks, Datafly's own included: checked one by one without inference."""
    below: int
    """Of these, below the least height with a complying node: spent on refuting."""
    checked: int
    """Looked at when the oracle infers what it can."""


@dataclass(frozen=True)
class Case:
    """Both algorithms on one table."""

    source: str
    least: int
    """The least height of a complying node."""
    reached: int
    """The height of Datafly's node."""
    share: float
    """The same as a share of the height of the lattice."""
    datafly: int
    """How many nodes Datafly asks."""
    samarati: Counts
    hybrid: Counts

    def change(self, what: str) -> float:
        """How many nodes more the hybrid needs, as a share of Samarati's."""
        return getattr(self.hybrid, what) / getattr(self.samarati, what) - 1


def main() -> None:
    cases = [case_of(name, task) for name, task in all_tasks()]
    print(f"hybrid: {len(cases)} cases", file=sys.stderr)
    (HERE / "hybrid.md").write_text(render(cases), "utf-8")
    draw(cases)


def all_tasks() -> Iterator[tuple[str, LatticeSearch]]:
    rng = np.random.Generator(np.random.PCG64(SEED))
    print("hybrid: generated tables …", file=sys.stderr)
    for seed in range(GENERATED):
        yield "generated", random_task(rng, seed)
    why = missing("adult") or missing("adult_uci")
    if why is not None:
        print(f"hybrid: Adult is {why}", file=sys.stderr)
        return
    print("hybrid: Adult …", file=sys.stderr)
    yield from adult_tasks()


def random_task(rng: np.random.Generator, seed: int) -> LatticeSearch:
    """Two to six columns of three to thirty values, hierarchies of one to four steps; any k and limit."""
    columns = {f"q{i}": random_column(rng) for i in range(rng.integers(2, 7))}
    rows = int(np.exp(rng.uniform(np.log(100), np.log(3000))))
    policy = policy_of(columns, int(rng.choice(KS)), {"suppression": float(rng.choice(SHARES))})
    return task_of(read(people(columns, rows, seed)), policy)


def random_column(rng: np.random.Generator) -> Column:
    factors = rng.integers(2, 4, rng.integers(0, 4)).tolist()
    return Column(int(rng.integers(3, 31)), tuple(accumulate(factors, mul)), float(rng.uniform(0.3, 3)))


def adult_tasks() -> Iterator[tuple[str, LatticeSearch]]:
    """The settings of the survey's comparison, and all nine quasi-identifiers."""
    whole = survey.complete_rows()
    for rows in survey.ROWS:
        source = read(whole.slice(0, rows))
        yield from (("Adult 5 QIs", task_of(source, survey.policy_of(k, s))) for k in survey.KS for s in survey.SHARES)
    source = read(SHARED / "adult" / "adult.csv")
    for k in KS:
        for share in SHARES[::2]:
            yield "Adult 9 QIs", task_of(source, adult_policy(k, share))


def adult_policy(k: int, share: float) -> Policy:
    return Policy.model_validate(tomllib.loads(policy_text(hierarchies("adult"), k, f"suppression = {share}")))


def read(table: Any) -> Source:
    return ArrowEngine().read(table, ReadOptions())


def case_of(source: str, task: LatticeSearch) -> Case:
    """Both on one table; they find the same nodes, or this fails."""
    plain, bounded, quick = (walked(task, name) for name in ("samarati", "hybrid", "datafly"))
    assert plain.nodes == bounded.nodes
    share = quick.height / task.lattice.height(task.lattice.top)
    counts = (counts_of(task, name, found) for name, found in (("samarati", plain), ("hybrid", bounded)))
    return Case(source, plain.height, quick.height, share, quick.tally.asked, *counts)


def counts_of(task: LatticeSearch, algorithm: str, found: Walked) -> Counts:
    if task.lattice.size <= LARGEST_ASKED_TWICE:
        alone = walked(task, algorithm, infer=False)
        assert alone.nodes == found.nodes
        assert alone.tally.asked == found.tally.asked
        assert not alone.tally.inferred
    below = sum(count for height, count in found.asked_at.items() if height < found.height)
    return Counts(found.tally.asked, below, found.tally.checked)


def render(cases: Sequence[Case]) -> str:
    lines = [
        "# Datafly first, then Samarati: does it pay?",
        "",
        measured_on("python benchmarks/hybrid.py"),
        "",
        f"{len(cases)} cases: {GENERATED} generated tables (2 to 6 quasi-identifiers, 100 to 3,000 rows, k of",
        f"{', '.join(map(str, KS))}, limits of {', '.join(f'{share:.0%}' for share in SHARES)}; seed {SEED}),",
        "the settings of [the survey's comparison](survey.md) on Adult with five quasi-identifiers, and Adult with all",
        "nine. The hybrid runs Datafly, whose node bounds the height, then Samarati's search below it; Datafly's own",
        "nodes count. Both return the same nodes in every case. Nodes *without inference* are all that are asked;",
        "*with inference*, only those that do not follow from others.",
        "",
        "**Mostly it does not pay.**",
        "",
        *verdicts(cases),
        "",
        *reasons(cases),
        "",
        "![Nodes of the hybrid against those of Samarati alone](hybrid.svg)",
        "",
        *by_source(cases),
        "",
        *by_band(cases),
        "",
    ]
    return "\n".join(lines)


def verdicts(cases: Sequence[Case]) -> list[str]:
    return [
        f"- {words.capitalize()}: {total(cases, 'hybrid', what):,} nodes against {total(cases, 'samarati', what):,} of "
        f"Samarati alone; fewer in {paid(cases, what):.0%} of the cases, more in {cost(cases, what):.0%}."
        for what, words in WAYS.items()
    ]


def reasons(cases: Sequence[Case]) -> list[str]:
    """Why, with the nodes that were asked."""
    tight = sum(case.reached - case.least <= 1 for case in cases) / len(cases)
    plain, bounded = (total(cases, name, "asked") for name in ("samarati", "hybrid"))
    below, more_below = (total(cases, name, "below") for name in ("samarati", "hybrid"))
    return [
        "Why: a height that has a complying node is settled by the first one met, a height that has none only when all",
        f"its nodes have failed. Datafly's bound is good (at most one step too high in {tight:.0%} of the cases), but",
        "it moves the halves of the binary search downward, to heights that have to be refuted whole: it saves cheap",
        f"answers and buys dear ones. Of all nodes asked, {below:,} of Samarati's lie below the least height and",
        f"{more_below:,} of the hybrid's; at or above it {plain - below:,} and {bounded - more_below:,}. Datafly",
        f"itself asks {sum(case.datafly for case in cases):,} of the hybrid's.",
    ]


def by_source(cases: Sequence[Case]) -> list[str]:
    named = [(name, [case for case in cases if case.source == name]) for name in SOURCES]
    return ["## By table", "", *table("table", [(name, some) for name, some in named if some])]


def by_band(cases: Sequence[Case]) -> list[str]:
    """When: by how far up Datafly goes."""
    named = [
        ("at the bottom" if not high else f"up to {high:.0%}", [c for c in cases if within(c.share, low, high)])
        for low, high in BANDS
    ]
    return [
        "## When: by the height of Datafly's node, as a share of the lattice's",
        "",
        *table("height", named),
        "",
        "Without inference it saves nodes in sum where Datafly ends in the lower half of the lattice, most where the",
        "table complies as it is: one question then replaces the binary search. With inference it pays at the two ends",
        "only: there, and where only nodes near the top comply, because Datafly's failing nodes, a whole way up, rule",
        "out most of what lies below them.",
    ]


def table(first: str, named: Sequence[tuple[str, Sequence[Case]]]) -> list[str]:
    heads = [f"{words}: Samarati | hybrid | ratio | fewer in | more in" for words in WAYS.values()]
    lines = [f"| {' | '.join([first, 'cases', *heads])} |", "|---" * (2 + 5 * len(WAYS)) + "|"]
    for name, some in named:
        cells = [name, str(len(some)), *(cell for what in WAYS for cell in compared(some, what))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def compared(cases: Sequence[Case], what: str) -> list[str]:
    plain, bounded = total(cases, "samarati", what), total(cases, "hybrid", what)
    shares = [f"{share(cases, what):.0%}" for share in (paid, cost)]
    return [f"{plain:,}", f"{bounded:,}", f"{bounded / plain:.2f}", *shares]


def total(cases: Sequence[Case], algorithm: str, what: str) -> int:
    return sum(getattr(getattr(case, algorithm), what) for case in cases)


def paid(cases: Sequence[Case], what: str) -> float:
    return sum(case.change(what) < 0 for case in cases) / len(cases)


def cost(cases: Sequence[Case], what: str) -> float:
    return sum(case.change(what) > 0 for case in cases) / len(cases)


def within(share: float, low: float, high: float) -> bool:
    return low < share <= high or share == low == high


def draw(cases: Sequence[Case]) -> None:
    with figure(HERE / "hybrid.svg", 1, 2) as axes:
        for ax, (what, words) in zip(axes, WAYS.items(), strict=True):
            scatter(ax, cases, what)
            bands(ax, cases, what)
            ax.axhline(0, color="black", linewidth=0.8)
            ax.set_title(f"Nodes, {words}")
            ax.set_xlabel("height of Datafly's node / height of the lattice")
            ax.set_ylim(-100, 150)
        axes[0].set_ylabel("hybrid against Samarati, % (below 0 it pays)")
        axes[0].legend(framealpha=0.9, loc="upper right", fontsize=7)


def scatter(ax: Any, cases: Sequence[Case], what: str) -> None:
    """Each case; those beyond the edge stand on it."""
    for name, colour in SOURCES.items():
        some = [case for case in cases if case.source == name]
        change = [min(100 * case.change(what), 148) for case in some]
        ax.scatter([case.share for case in some], change, s=9, alpha=0.5, color=colour, linewidths=0, label=name)


def bands(ax: Any, cases: Sequence[Case], what: str) -> None:
    """The change of the totals over each band."""
    for low, high in BANDS[1:]:
        some = [case for case in cases if within(case.share, low, high)]
        change = 100 * (total(some, "hybrid", what) / total(some, "samarati", what) - 1) if some else 0
        ax.plot([low, high], [change, change], color="black", linewidth=2, label="all of a band" if not low else None)


if __name__ == "__main__":
    main()
