"""Strict Mondrian on ten thousand to ten million generated people (S4.1), beside a copy of the columns and a peer.

python benchmarks/mondrian.py     writes mondrian.md and mondrian.svg

Counted from coded columns to the part of every class: grouping equal rows, then cutting. CPU seconds (user + system).
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, cpu, measured_on, process
from drawing import figure
from generated import EIGHT, people
from peers.environment import peer_python

from shoal.data.codes import Codes
from shoal.data.frequency_set import FrequencySet
from shoal.models.k_anonymity import KAnonymity
from shoal.partition.axes import Axis
from shoal.partition.condition import Condition
from shoal.partition.mondrian import mondrian

K = 10
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
BORNE_BY_PEER = 30_000


@dataclass(frozen=True)
class Measured:
    """One table size."""

    rows: int
    classes: int
    parts: int
    largest: int
    copying: float
    """CPU seconds, as the next two."""
    grouping: float
    cutting: float
    peak: float
    """MB of a process that holds the columns and partitions them once."""
    peer: float | None

    @property
    def ours(self) -> float:
        return self.grouping + self.cutting


def main() -> None:
    if len(sys.argv) > 1:
        spend(Path(sys.argv[1]), int(sys.argv[2]))
        return
    python = peer_python()
    measured = [measure(rows, python) for rows in SIZES]
    (HERE / "mondrian.md").write_text(render(measured), "utf-8")
    draw(measured)


def measure(rows: int, python: Path | None) -> Measured:
    print(f"mondrian: {rows:,} rows …", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "columns.npy"
        table = people(EIGHT, rows)
        np.save(file, np.stack([table[name].to_numpy().astype(np.int32) for name in EIGHT]))
        said: list[str] = []
        _, peak = process([sys.executable, __file__, file, 1], times=1)
        process([sys.executable, __file__, file, 3 if rows > 1_000_000 else 5], times=1, heard=said.append)
        peer = None
        if python is not None and rows <= BORNE_BY_PEER:
            command = [python, HERE / "peers" / "run_anonypy.py", file, str(K)]
            peer = float(subprocess.run(command, capture_output=True, check=True).stdout.split()[0])
    return Measured(rows=rows, peak=peak, peer=peer, **json.loads(said[0]))


def spend(file: Path, times: int) -> None:
    """Partition the columns of a file; prints what it cost and what it found."""
    columns = np.load(file)
    classes = grouped(columns)
    condition = Condition(classes, [KAnonymity(K)])
    axes = [
        Axis(name, np.arange(column.values, dtype=np.int32), np.arange(float(column.values)))
        for name, column in EIGHT.items()
    ]
    found = mondrian(condition, axes)
    sizes = np.bincount(found.part, weights=classes.counts)
    assert sizes.min() >= K
    assert sizes.max() <= 2 * len(axes) * (K - 1) + classes.counts.max()
    told = {"classes": len(classes), "parts": found.count, "largest": int(sizes.max())}
    if times > 1:
        told["copying"] = cpu(columns.copy, times)
        told["grouping"] = cpu(lambda: grouped(columns), times)
        told["cutting"] = cpu(lambda: mondrian(condition, axes), times)
    print(json.dumps(told))


def grouped(columns: Sequence[Codes]) -> FrequencySet:
    return FrequencySet.count(
        {name: (codes, column.values) for codes, (name, column) in zip(columns, EIGHT.items(), strict=True)}
    )


def render(measured: Sequence[Measured]) -> str:
    million = next(one for one in measured if one.rows == 1_000_000)
    largest = measured[-1]
    values = ", ".join(str(column.values) for column in EIGHT.values())
    growth = (
        f"{largest.rows // million.rows} times a million rows take {largest.ours / million.ours:.1f} times as long."
    )
    heads = ["rows", "classes", "grouping, s", "cutting, s", "together, s", "copy, s", "peak, MB", "parts"]
    heads += ["largest part", "anonypy, s"]
    lines = [
        "# Mondrian",
        "",
        measured_on("python benchmarks/mondrian.py"),
        f"Strict Mondrian, k = {K}, on generated people with {len(EIGHT)} quasi-identifiers of {values} values.",
        "CPU seconds (user + system), the median of five runs (three beyond a million rows), from coded columns to the",
        "part of every class of equal rows. The floor is a copy of the columns. Peak: of a process that holds the",
        "columns and partitions them. anonypy 0.2.1 partitions the same numbers in a pandas frame, once; what it would",
        "need beyond 30,000 rows was not waited for.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
        *(f"| {' | '.join(cells(one))} |" for one in measured),
        "",
        growth,
        "",
        "![CPU seconds against rows](mondrian.svg)",
        "",
    ]
    return "\n".join(lines)


def cells(one: Measured) -> list[str]:
    return [
        f"{one.rows:,}",
        f"{one.classes:,}",
        *(f"{seconds:.3f}" for seconds in (one.grouping, one.cutting, one.ours, one.copying)),
        f"{one.peak:.0f}",
        f"{one.parts:,}",
        str(one.largest),
        "" if one.peer is None else f"{one.peer:.1f}",
    ]


def draw(measured: Sequence[Measured]) -> None:
    rows = [one.rows for one in measured]
    with figure(HERE / "mondrian.svg", 1, 1) as ax:
        line(ax, rows, [one.ours for one in measured], "#0072b2", "Shoal, strict Mondrian")
        line(ax, rows, [one.copying for one in measured], "#999999", "copy of the columns")
        peers = [one for one in measured if one.peer is not None]
        line(ax, [one.rows for one in peers], [one.peer for one in peers], "#d55e00", "anonypy 0.2.1")
        million = next(one for one in measured if one.rows == 1_000_000)
        linear = [million.ours * one.rows / million.rows for one in measured]
        ax.plot(rows, linear, color="black", linewidth=0.8, linestyle="--", label="linear in the rows")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("rows")
        ax.set_ylabel("CPU seconds")
        ax.set_title(f"{len(EIGHT)} quasi-identifiers, k = {K}")
        ax.legend(framealpha=0.9, fontsize=7)


def line(ax: Any, x: Sequence[float], y: Sequence[float | None], colour: str, label: str) -> None:
    ax.plot(x, y, color=colour, marker="o", markersize=3, label=label)


if __name__ == "__main__":
    main()
