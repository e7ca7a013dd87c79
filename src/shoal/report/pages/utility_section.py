"""What the data lost, measured against the original."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.metrics.catalogue import catalogue
from shoal.publish.manifest import Manifest
from shoal.report.pages.blocks import (
    Association,
    Block,
    Details,
    PageTable,
    Pairs,
    Paragraph,
    Section,
    and_more,
    number,
    percent,
)

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Cell

_PLAIN = {
    "loss": "Detail that is gone, on average over all cells",
    "missing-cells": "Cells that say nothing any more",
    "non-uniform-entropy-share": "Information that is gone, by how frequent values were",
    "contingency-change": "Change of how strongly two columns go together (Cramér's V)",
    "correlation-change": "Change of how strongly two numbers go together (Pearson's r)",
    "average-class": "Rows of a class, on average",
}
_SHARES = frozenset({"loss", "missing-cells", "non-uniform-entropy-share"})
_MOST_PAIRS = 12
_MOST = 60


def lost(manifest: Manifest) -> Section:
    """Build the section on utility: in plain words, then pair by pair, then every figure."""
    metrics, measures = manifest.metrics, manifest.measures
    plain: list[list[Cell]] = [
        [words, percent(metrics[name]) if name in _SHARES else number(metrics[name])]
        for name, words in _PLAIN.items()
        if name in metrics
    ]
    blocks: list[Block] = [PageTable(("What", "How much"), plain)] if plain else []
    blocks += _related(measures)
    every: list[Block] = [_figures(manifest)]
    if "loss" in measures:
        every.append(_by_attribute(measures))
    blocks.append(Details(f"All {len(metrics)} figures", every))
    if not measures:
        blocks.insert(
            0, Paragraph("What compares every combination of values with what it became was left out.", "warn")
        )
    return Section("lost", "What the data lost", blocks)


def _related(measures: Mapping[str, Any]) -> list[Block]:
    """Show which columns are associated, and whether they still are; the strongest first."""
    pairs = measures.get("contingency-change", {}).get("pairs", ())
    strongest = sorted(pairs, key=lambda pair: (-pair["before"], pair["one"], pair["other"]))
    if not strongest:
        return []
    told = [Association(f"{p['one']} – {p['other']}", p["before"], p["after"]) for p in strongest[:_MOST_PAIRS]]
    caption = "How strongly two columns go together (Cramér's V, 0 to 1), before and after: the strongest pairs"
    return [Pairs(caption, told, and_more(len(strongest) - len(told), "pairs"))]


def _figures(manifest: Manifest) -> PageTable:
    method = manifest.method
    searched = method.nodes is not None or manifest.recoding.kind == "cells"
    about = {entry.name: entry for entry in catalogue()}
    rows = [
        [
            f"{name} (minimised)" if name == method.metric and searched else name,
            number(value),
            about[name].tells,
            about[name].range,
        ]
        for name, value in manifest.metrics.items()
    ]
    return PageTable(("Measure", "Figure", "What it tells", "From … to"), rows, caption="All of the table")


def _by_attribute(measures: Mapping[str, Any]) -> PageTable:
    told = {name: each["attributes"] for name, each in measures.items() if "attributes" in each}
    names = list(measures["loss"]["attributes"])
    rows = [[name, *(number(each[name]) if name in each else "–" for each in told.values())] for name in names[:_MOST]]
    return PageTable(
        ("Column", *told), rows, and_more(len(names) - len(rows), "columns"), caption="Attribute by attribute"
    )
