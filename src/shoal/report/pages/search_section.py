"""How the recoding was found, which rows it leaves out and why, and what was done about rules."""

from typing import TYPE_CHECKING

import numpy as np

from shoal.methods import ALGORITHMS
from shoal.plan import Plan
from shoal.policy.optional_sections import WAYS
from shoal.publish.manifest import Manifest
from shoal.report.pages.blocks import Bullets, PageTable, Paragraph, Section, and_more, many, number, percent

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Block

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


def found(manifest: Manifest) -> Section:
    """Build the section on the search: algorithm, work, time, and whether the answer is proved optimal."""
    method = manifest.method
    took = "" if method.seconds is None else f" in {method.seconds:.2f} s"
    does = WAYS[method.algorithm] if method.algorithm in WAYS else ALGORITHMS[method.algorithm].sentence
    said = f"{method.algorithm.capitalize()} {does}."
    if method.nodes is not None:
        said += f" It checked {method.checked or 0:,} of {many(method.nodes, 'node')}{took}. {_proof(manifest)}"
    else:
        said += f" It found this{took}. It looks for a good recoding, not for the least loss." if took else ""
        said += "" if took else " It looks for a good recoding, not for the least loss."
    blocks: list[Block] = [Paragraph(said)]
    rows = [[words, f"{count:,}"] for name, words in _COUNTS.items() if (count := getattr(method, name)) is not None]
    if rows:
        blocks.append(PageTable(("Of the search", "How many"), rows))
    return Section("found", "How it was found", blocks)


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


def left_out(manifest: Manifest, plan: Plan) -> list[Section]:
    """Build the section on suppressed rows, by the promises their classes fail; and who was alone before."""
    blocks: list[Block] = []
    before = plan.before.classes
    if before.rest is None and before.rows == manifest.rows.read:
        alone = int((before.counts == 1).sum())
        blocks.append(
            Paragraph(
                f"Before, {many(alone, 'row')} of {manifest.rows.read:,} ({percent(alone, manifest.rows.read)}) had a "
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
    """For each set of failed promises, the suppressed classes and rows."""
    after = plan.after
    out = np.flatnonzero(after.suppressed)
    sizes = after.classes.counts[out]
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


def together(manifest: Manifest) -> list[Section]:
    """Build the section on what all releases of a growing table tell together."""
    again = manifest.republish
    if again is None:
        return []
    said = (
        f"This is release {again.release:,} of a growing table ({again.way}). Whoever has all of them and knows who is "
        f"in which class: {again.finding}."
    )
    return [Section("together", "All releases together", [Paragraph(said)])]


def blocked(manifest: Manifest) -> list[Section]:
    """Build the section on inference channels: how many there were, what is left, and the rules."""
    done = manifest.blocking
    if done is None:
        return []
    why = f": {done.why}" if done.why else ""
    said = (
        f"Rules of a C4.5 tree that tell a sensitive value too surely: there were {done.channels:,}, and {done.left:,} "
        f"{'is' if done.left == 1 else 'are'} left after {many(done.passes, 'pass', 'passes')} ({done.by}){why}. Of "
        "the other "
        f"rules {percent(done.lost)} are lost, and {percent(done.ghosts)} of the rules there are now there were not."
    )
    blocks: list[Block] = [Paragraph(said)]
    if done.seen_without_nulls:
        blocks.append(
            Paragraph(f"Whoever drops rows without a value still sees {done.seen_without_nulls:,} of them.", "warn")
        )
    blocks.append(Bullets(done.rules[:_MOST_RULES], and_more(len(done.rules) - _MOST_RULES, "rules")))
    if done.unblocked:
        blocks.append(Paragraph("These are left:", "warn"))
        blocks.append(Bullets(done.unblocked[:_MOST_RULES], and_more(len(done.unblocked) - _MOST_RULES, "rules")))
    return [Section("rules", "Rules that told too much", blocks)]
