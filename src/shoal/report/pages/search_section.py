"""How the recoding was found, what the data lost, which rows are left out and why, and what was done about rules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine_port import Source
from shoal.methods import ALGORITHMS
from shoal.metrics.catalogue import catalogue
from shoal.partition.axes import ordered_axis
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.policy.optional_sections import WAYS
from shoal.publish.manifest import Manifest
from shoal.report.pages.blocks import (
    Association,
    Block,
    Bullets,
    Details,
    PageTable,
    Pairs,
    Paragraph,
    Section,
    and_more,
    format_count,
    number,
    percent,
)

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Cell

_COUNTS = {
    "nodes": "Combinations of levels there are",
    "asked": "Questions of the search",
    "inferred": "Answered from other answers",
    "checked": "Checked on the data",
    "rolled_up": "Counted from another combination",
    "grouped": "Counted from the table",
}
_MOST_RULES = 100
_MOST_REASONS = 20
_PLAIN = {
    "loss": "Detail that is gone, on average over all cells, weighted by importance",
    "missing-cells": "Cells that are *",
    "non-uniform-entropy-share": "Information that is gone, by how frequent values were",
    "contingency-change": "Change of how strongly two columns go together (Cramér's V)",
    "correlation-change": "Change of how strongly two numbers go together (Pearson's r)",
    "average-class": "Rows of a class, on average",
}
_SHARES = frozenset({"loss", "missing-cells", "non-uniform-entropy-share"})
_MOST_PAIRS = 12
_MOST = 60


def describe_bound(manifest: Manifest, plan: Plan, policy: Policy, source: Source) -> str:
    """Say how large a class of Mondrian can become beside the largest there is, or why nothing is proved of it.

    LeFevre, DeWitt and Ramakrishnan (ICDE 2006) prove for k-anonymity alone and d ordered columns: at most 2d(k-1) + m
    rows after strict cuts, where m rows are equal at most; and at most 2k-1 rows of a part after relaxed ones.
    """
    algorithm, largest = policy.method.algorithm, manifest.classes.max
    if algorithm not in {"mondrian", "mondrian-relaxed", "mondrian-single", "mondrian-workload"}:
        return ""
    said = f"Largest class: {format_count(largest, 'row')}"
    if (why := _why_no_bound(plan, policy, source)) is not None:
        return f"{said}; no bound is proved, since {why}."
    k, d = next(model.asked["k"] for model in manifest.models), len(plan.quasi_identifiers)
    if algorithm == "mondrian-relaxed":
        return (
            f"{said}; bound 2k−1 = {2 * k - 1:,} for every part that relaxed cuts leave (LeFevre and others, 2006); "
            "parts that show the same labels are one class, which may be larger."
        )
    m = _most_copies(plan, source)
    return (
        f"{said}; bound 2d(k−1)+m = {2 * d * (k - 1) + m:,} (LeFevre and others, 2006), for strict cuts of "
        f"d = {format_count(d, 'ordered column')}, k = {k:,} and at most m = {m:,} rows with equal values."
    )


def _why_no_bound(plan: Plan, policy: Policy, source: Source) -> str | None:
    """Return which condition of the theorem is not met; None if all are."""
    names = plan.quasi_identifiers
    method = policy.method
    met = {
        "cuts go through the whole table, so that a class may grow with it": method.algorithm != "mondrian-single",
        "cuts serve the workload, and stop where they help it no more": method.algorithm != "mondrian-workload",
        "more than k-anonymity is promised": [model.name for model in policy.promises] == ["k-anonymity"],
        "persons are counted, not rows": policy.unit is None,
        "a larger k was drawn than is promised": not method.margin,
        "the table is one of a series": policy.republish is None,
        "rows were added": plan.blocked is None,
        "a column is cut along a hierarchy, not by order": not any(name in plan.hierarchies for name in names),
        "a column has missing values, which are cut off first": not any(source.table[name].has_null for name in names),
        "a column is not shown as a range, so that parts may look alike": all(
            {"range", "bounds"} & {*(policy.attributes[name].form or ["range"])} for name in names
        ),
    }
    return next((why for why, holds in met.items() if not holds), None)


def _most_copies(plan: Plan, source: Source) -> int:
    """Return how many rows are equal at most: equal numbers are one value, however they are written."""
    classes = plan.before.classes
    codes = [ordered_axis(source.table[name]).positions[classes.codes(name)] for name in plan.quasi_identifiers]
    _, point = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    return int(np.bincount(point.ravel(), weights=classes.counts).max())


def how_found_section(manifest: Manifest) -> Section:
    """Build the section on the search: algorithm, work, time, and whether the answer is proved optimal."""
    method = manifest.method
    took = "" if method.seconds is None else f" in {method.seconds:.2f} s"
    does = WAYS[method.algorithm] if method.algorithm in WAYS else ALGORITHMS[method.algorithm].sentence
    said = f"{method.algorithm.capitalize()} {does}."
    if method.nodes is not None:
        said += f" It checked {method.checked or 0:,} of {format_count(method.nodes, 'node')}{took}. {_proof(manifest)}"
    else:
        said += f" It found this{took}." if took else ""
        said += f" {_closeness(manifest)}"
    blocks: list[Block] = [Paragraph(said)]
    rows = [[words, f"{count:,}"] for name, words in _COUNTS.items() if (count := getattr(method, name)) is not None]
    if rows:
        blocks.append(PageTable(("Of the search", "How many"), rows))
    return Section("found", "How it was found", blocks)


def _closeness(manifest: Manifest) -> str:
    """Say how near a recoding of cells is to the least loss."""
    method = manifest.method
    if method.proved:
        return f"Its {method.metric} is proved to be the least possible."
    said = "It looks for a good recoding, not for the least loss"
    return f"{said}." if method.gap is None else f"{said}, which is lower by at most {number(method.gap)}."


def _proof(manifest: Manifest) -> str:
    method = manifest.method
    if method.nodes == 1:
        return "No other node was allowed."
    if method.proved:
        return f"Its {method.metric} is proved to be the least possible."
    if method.algorithm != "optimal":
        return f"{method.algorithm.capitalize()} does not look for the least {method.metric}."
    gap = number(method.gap or 0.0)
    return f"The search was cut short; the least possible {method.metric} may be lower by up to {gap}."


def suppression_sections(manifest: Manifest, plan: Plan) -> list[Section]:
    """Build the section on suppressed rows, by the promises their classes fail; and who was alone before."""
    blocks: list[Block] = []
    before = plan.before.classes
    if before.rest is None and before.rows == manifest.rows.read:
        alone = int((before.counts == 1).sum())
        blocks.append(
            Paragraph(
                f"Before, {format_count(alone, 'row')} of {manifest.rows.read:,} "
                f"({percent(alone, manifest.rows.read)}) had a "
                f"combination of identifying values that no other row had."
            )
        )
    if manifest.rows.suppressed:
        rows = _reasons(plan)
        head = ("Left out because of", "Classes", "Rows")
        blocks.append(PageTable(head, rows[:_MOST_REASONS], and_more(len(rows) - _MOST_REASONS, "reasons")))
        blocks.append(Paragraph("Which rows these are is in rows.arrow, where the release has a row map.", "soft"))
    return [Section("suppressed", "Rows that stood out", blocks)] if blocks else []


def _reasons(plan: Plan) -> list[list[str]]:
    """Return a table row for each set of failed promises: its names, suppressed classes and suppressed rows."""
    after = plan.after
    out = np.flatnonzero(after.suppressed)
    sizes = after.classes.counts[out]
    # [suppressed class]: bit i is set where the class fails promise i
    why = np.zeros(len(out), dtype=np.int64)
    for bit, failed in enumerate(plan.failed.values()):
        why |= failed[out].astype(np.int64) << bit
    names = list(plan.failed)
    told = []
    for code in np.unique(why).tolist():
        which = ", ".join(name for bit, name in enumerate(names) if code >> bit & 1)
        told.append((which or "another reason", why == code))
    rows = [[which, f"{int(at.sum()):,}", f"{int(sizes[at].sum()):,}"] for which, at in told]
    rest = getattr(after.classes, "rest", None)
    if rest is not None:
        rows.append(["whatever the levels", f"{rest.classes:,}", f"{rest.rows:,}"])
    return rows


def republish_sections(manifest: Manifest) -> list[Section]:
    """Build the section on what all releases of a growing table tell together."""
    again = manifest.republish
    if again is None:
        return []
    said = (
        f"This is release {again.release:,} of a growing table ({again.way}). Whoever has all of them and knows who is "
        f"in which class: {again.finding}."
    )
    return [Section("together", "All releases together", [Paragraph(said)])]


def blocking_sections(manifest: Manifest) -> list[Section]:
    """Build the section on inference channels: how many there were, what is left, and the rules."""
    done = manifest.blocking
    if done is None:
        return []
    why = f": {done.why}" if done.why else ""
    said = (
        f"Rules of a C4.5 tree that tell a sensitive value too surely: there were {done.channels:,}, and "
        f"{done.left:,} "
        f"{'is' if done.left == 1 else 'are'} left after {format_count(done.passes, 'pass', 'passes')} ({done.by}){why}"
        f". Of "
        "the other "
        f"rules {percent(done.lost)} are lost, and {percent(done.ghosts)} of the rules there are now there were not."
    )
    blocks: list[Block] = [Paragraph(said)]
    if done.exceeded is not None:
        back = done.exceeded.taken_back
        kept = (
            f"{format_count(back, 'row')} changed last were taken back" if back else "the rows changed last were kept"
        )
        moment = f"LR {percent(done.exceeded.lost)}, GR {percent(done.exceeded.ghosts)}"
        blocks.append(Paragraph(f"h was exceeded ({moment}); {kept}.", "warn"))
    if done.seen_without_nulls:
        blocks.append(
            Paragraph(f"Whoever drops rows without a value still sees {done.seen_without_nulls:,} of them.", "warn")
        )
    blocks.append(Bullets(done.rules[:_MOST_RULES], and_more(len(done.rules) - _MOST_RULES, "rules")))
    if done.unblocked:
        blocks.append(Paragraph("These are left:", "warn"))
        blocks.append(Bullets(done.unblocked[:_MOST_RULES], and_more(len(done.unblocked) - _MOST_RULES, "rules")))
    return [Section("rules", "Rules that told too much", blocks)]


def utility_section(manifest: Manifest) -> Section:
    """Build the section on utility: in plain words, then pair by pair, then every figure."""
    metrics, measures = manifest.metrics, manifest.measures
    plain: list[list[Cell]] = [
        [words, percent(metrics[name]) if name in _SHARES else number(metrics[name])]
        for name, words in _PLAIN.items()
        if name in metrics
    ]
    blocks: list[Block] = [PageTable(("What", "How much"), plain)] if plain else []
    blocks += _association_blocks(measures)
    every: list[Block] = [_figures(manifest)]
    if "loss" in measures:
        every.append(_by_attribute(measures))
    blocks.append(Details(f"All {len(metrics)} figures", every))
    if not measures:
        blocks.insert(
            0, Paragraph("What compares every combination of values with what it became was left out.", "warn")
        )
    return Section("lost", "What the data lost", blocks)


def _association_blocks(measures: Mapping[str, Any]) -> list[Block]:
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
