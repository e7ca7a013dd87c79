"""What both reports have: four facts that anybody understands, and sections on files, promises, attacks and limits."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.attacks.attack import Channel
from shoal.attacks.audit import Audit
from shoal.attacks.audit import AuditLine as Verdict
from shoal.metrics.class_size import histogram
from shoal.models import known_model
from shoal.publish.manifest import Data, Manifest, ModelSummary, PublicManifest, fewest_persons, join_names, say_repeats
from shoal.report.pages.blocks import (
    Bars,
    Bullets,
    Command,
    Details,
    Grid,
    LabelBox,
    Mark,
    PageTable,
    Paragraph,
    Section,
    Tone,
    TreePicture,
    ValueShare,
    and_more,
    format_attained,
    format_count,
    format_parameters,
    percent,
    promise,
)
from shoal.report.pages.public_view import LabelTally, PublicView
from shoal.report.plots.tree_plot import HierarchyTree

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Block, Cell

from collections.abc import Mapping

from shoal.hierarchy.taxonomy import TOP
from shoal.report.pages.blocks import Card

_MOST = 6
"""Most promises that fit on one sheet."""


def files_section(data: Data, *, private: bool = False) -> Section:
    """Build the section with the files, their hashes, and the command that checks them."""
    files = [(data.file, data.sha256)]
    if data.separate is not None:
        files.append((data.separate.file, data.separate.sha256))
    blocks: list[Block] = [
        PageTable(("File", "SHA-256"), [[name or "", sha256 or ""] for name, sha256 in files]),
        Paragraph(
            "To count everything again from the file, and to see whether it is still the one that was written (OUT is "
            f"the folder {'that was published' if private else 'of this page'}):"
        ),
        Command("shoal verify OUT --original DATA" if private else "shoal verify OUT"),
    ]
    return Section("files", "Files, and how to check them", blocks)


def footer(version: str) -> str:
    return f"Made by Shoal {version}."


def sign_off(manifest: Manifest, visible: PublicView) -> Sequence[tuple[str, Sequence[str]]]:
    """Return what the person who signs has to know, under headings, short enough for one sheet."""
    models = manifest.models[:_MOST]
    left = len(manifest.models) - len(models)
    more = [f"and {left} more, in the section on guarantees"] if left > 0 else []
    rows, classes = manifest.rows, manifest.classes
    adversaries = list(dict.fromkeys(known_model(model.model).adversary for model in models))
    asks = [f"{promise(m.model, m.attribute, m.asked)}: attained {format_attained(m.attained)}" for m in models]
    left_out = f"{rows.suppressed:,} suppressed ({percent(rows.suppressed, rows.read)})"
    worst, mean = (percent(1, max(size, 1)) for size in (classes.min, classes.mean))
    chances = f"smallest class {classes.min:,} rows: a guess is right with {worst} at most, with {mean} on average"
    if "unit" in {attribute["role"] for attribute in manifest.policy["attributes"].values()}:
        chances = f"smallest class {classes.min:,} rows; a person may have several of them"
        if (least := fewest_persons([model.model_dump() for model in manifest.models])) is not None:
            at_most = percent(1, max(least, 1))
            chances = f"at least {format_count(least, 'person')} in each class: a guess is right with {at_most} at most"
    elif manifest.recommendation is not None and manifest.recommendation.repeated:
        named = join_names([say_repeats(*each) for each in manifest.recommendation.repeated.items()])
        chances = f"smallest class {classes.min:,} rows, which may be one person's: {named}"
    if manifest.data.separate is not None:
        chances = f"smallest group {classes.min:,} rows: which of its values is whose is not told; rows are not hidden"
    return (
        ("Release", [f"{manifest.data.file}, SHA-256 {manifest.data.sha256}"]),
        ("Threshold asked, and what is attained", [*asks, *more]),
        ("Adversary assumed: somebody who …", adversaries),
        ("Population compared with", [_population(manifest)]),
        ("Rows", [f"{rows.released:,} released of {rows.read:,} read; {left_out}; {rows.added:,} added"]),
        ("What is left of the risk", [chances, "; ".join(f"{a.channel}: {verdict(a)}" for a in visible.audit.lines)]),
    )


def _population(manifest: Manifest) -> str:
    """Say which population the models were judged with."""
    named = {str(model.asked["population"]) for model in manifest.models if "population" in model.asked}
    sizes = {int(model.asked["population_size"]) for model in manifest.models if "population_size" in model.asked}
    told = [*sorted(named), *(format_count(size, "person", "persons") for size in sorted(sizes))]
    return "; ".join(told) if told else "none: everybody in the table is taken to be known to be in it"


MOST_CARDS = 24
MOST_LABELS = 8
_ONLY = {Channel.RULES: "rules", Channel.SINGLING_OUT: "singling-out"}
"""Channels that only one attack looks at."""
_SMALL = 20
"""Class size below which a remark is made."""
_TONES: dict[str, Tone] = {
    "protected": "good",
    "protected unless more is known": "open",
    "exposed": "bad",
    "not looked at": "open",
}


def promises_section(models: Sequence[ModelSummary], *, persons: bool) -> Section:
    """Build the section on requirements: what was asked, what is attained, and the size of the weakest class."""
    rows: list[list[Cell]] = [
        [
            f"{model.model} of {model.attribute}" if model.attribute else model.model,
            known_model(model.model).sentence,
            format_parameters(model.asked),
            format_attained(model.attained),
            "–" if model.worst is None else f"{model.worst:,}",
            _mark_of(model),
        ]
        for model in models
    ]
    head = ("Promise", "In plain words", "Asked", "Attained", "Worst class", "Verified")
    unit = "persons" if persons else "rows"
    note = (
        "“Attained” was counted in the published file itself, as it was read again from disk; the worst class is the "
        f"one that protects its members least, told by its size in {unit}."
    )
    if any(not model.attained or "release" in model.attained for model in models):
        note += (
            " Every promise was checked against the original as well. Figures that only the original gives are not "
            "published, since they could betray people who were left out."
        )
    return Section("promises", "What it guarantees", [PageTable(head, rows), Paragraph(note, "soft")])


def _mark_of(model: ModelSummary) -> Mark:
    added = " with the added rows" if model.with_added else ""
    return Mark("good", f"holds{added}") if model.holds else Mark("bad", "fails")


def attacks_section(visible: PublicView, *, private: bool) -> Section:
    """Build the section on attacks: the verdict, then which were run and which not."""
    audit = visible.audit
    rows: list[list[Cell]] = [
        [
            line.channel.question,
            Mark(_TONES[line.verdict], verdict(line)),
            _sentence(_explain_line(audit, line)),
        ]
        for line in audit.lines
    ]
    blocks: list[Block] = []
    if visible.missing:
        blocks.append(Paragraph(f"No attack was run while this was written: {visible.missing}.", "warn"))
    blocks.append(PageTable(("Question", "Verdict", "What was found"), rows))
    told: list[Block] = []
    if audit.findings:
        found = [[finding.attack, f"{finding.exposed:,}", _sentence(finding.sentence)] for finding in audit.findings]
        told.append(PageTable(("Attack", "Rows", "What it found"), found, caption="Attacks that were run"))
    if audit.skipped:
        skipped = [[name, _sentence(why)] for name, why in audit.skipped.items()]
        told.append(PageTable(("Attack", "Why not"), skipped, caption="Attacks that were not run"))
    if told:
        blocks.append(Details("Attack by attack", told))
    blocks.append(Paragraph("These verdicts come from attacks that were run, not from promises. To run all of them:"))
    blocks.append(Command("shoal audit out/ --original DATA" if private else "shoal audit out/"))
    return Section("attacks", "What an attacker can still learn", blocks)


def verdict(line: Verdict) -> str:
    """Format a verdict in a few words, with the number of rows."""
    return line.describe("row")


def _explain_line(audit: Audit, line: Verdict) -> str:
    """Say what was found, or else why nothing was looked for."""
    if line.verdict != "not looked at" or line.channel in audit.absent:
        return line.why
    return audit.skipped.get(_ONLY.get(line.channel, ""), line.why)


def _sentence(text: str) -> str:
    """Capitalise a text and end it with a full stop.

    >>> _sentence("none of 3 classes shows one only")
    'None of 3 classes shows one only.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def class_sizes_section(visible: PublicView, manifest: PublicManifest, bound: str = "") -> Section:
    """Build the section on class sizes: the smaller a class, the likelier a guess in it is right.

    `bound` says how large a class can become, where that is proved.
    """
    classes, word = manifest.classes, "group" if manifest.data.separate is not None else "class"
    several = "groups" if word == "group" else "classes"
    if manifest.data.separate is None:
        unit = "persons" if manifest.persons else "rows"
        says = f"Whoever looks for a person in a class of n {unit} picks the right one with a chance of 1 in n."
    else:
        says = "Which value of a group belongs to which of its rows is not told."
    spread = f"{classes.min:,} to {classes.max:,} rows, {classes.mean:,.1f} on average"
    size = f"{classes.min:,} rows each" if classes.min == classes.max else spread
    asked_of = [model.asked["k"] for model in manifest.models if model.model == "k-anonymity"]
    if manifest.persons and asked_of:
        size += f"; each has at least {format_count(max(asked_of), 'person')}, as promised"
    blocks: list[Block] = [Paragraph(f"The rows form {format_count(classes.count, word, several)} of {size}. {says}")]
    if visible.sizes is not None and len(visible.sizes):
        total = int(visible.sizes.sum())
        lines = [
            ValueShare(_span(max(bucket.least, classes.min), min(bucket.most, classes.max)), bucket.rows / total)
            for bucket in histogram(visible.sizes)
        ]
        small = percent(int(visible.sizes[visible.sizes < _SMALL].sum()), total)
        says = f"{small} of the rows are in {several} of fewer than {_SMALL} rows"
        blocks.append(Grid([Bars(f"Rows by the size of their {word}", says, lines)]))
    if bound:
        blocks.append(Paragraph(bound, "soft"))
    return Section("sizes", "How many look alike", blocks)


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} – {most:,}"


def distribution_bars(name: str, tally: LabelTally, says: str = "") -> Bars:
    """Show how often each label of a column occurs: all in their order, or of many the most frequent."""
    assert tally.rows is not None
    order = np.arange(len(tally.labels))
    if len(order) > MOST_LABELS:
        order = np.argsort(-tally.rows, kind="stable")[:MOST_LABELS]
    total = max(int(tally.rows.sum()), 1)
    lines = [ValueShare(format_label(tally.labels[i]), int(tally.rows[i]) / total) for i in order.tolist()]
    return Bars(name, says, lines, and_more(len(tally.labels) - len(lines), "labels"))


_CHARACTER, _LINE, _GAP, _HEAD = 7.3, 26, 34, 22
"""Pixels: the width of a letter, the height of a line, between two levels, and above the first line."""


def tree_picture(tree: HierarchyTree, says: str = "") -> TreePicture:
    """Lay out a hierarchy: the values on the left, the top on the right."""
    head = _HEAD if tree.numbered else 0
    named = [f"level {level}" if tree.numbered else "" for level in range(len(tree.widths))]
    # wide [level]: pixels of its widest box; start [level]: where its boxes begin
    wide = [max(width, len(name)) * _CHARACTER + 12 for width, name in zip(tree.widths, named, strict=True)]
    start = [round(1 + sum(wide[:level]) + level * _GAP, 1) for level in range(len(wide))]
    boxes, branches = [], []
    for placed in tree.places:
        x, y = start[placed.level], head + placed.line * _LINE + 13
        kind: Literal["", "on", "rest"] = "rest" if placed.is_rest else "on" if placed.shown else ""
        boxes.append(LabelBox(x, y, round(len(placed.text) * _CHARACTER + 12, 1), placed.text, kind))
        if placed.above is not None:
            above = boxes[placed.above]
            branches.append(f"M{x + boxes[-1].wide:.1f} {y}H{above.x - _GAP / 2:.1f}V{above.y}H{above.x}")
    size = round(start[-1] + wide[-1] + 1, 1), head + tree.lines * _LINE + 2
    heads = list(zip(start, named, strict=True)) if tree.numbered else []
    return TreePicture(tree.attribute, says, size, "".join(branches) or "M0 0", boxes, heads, tree.told)


def format_label(label: str | None) -> str:
    """Return a label as a page shows it."""
    if label is None:
        return "(missing)"
    return label if label.strip() else "(empty)"


def limits(manifest: PublicManifest) -> Section:
    """Build the section on what is not promised."""
    return Section("limits", "What it does not promise", [Bullets(list(_limits(manifest)))])


def _limits(manifest: PublicManifest) -> Iterable[str]:
    columns = join_names(manifest.quasi_identifiers, 6)
    if manifest.data.separate is not None:
        yield (
            f"It does not hide who is in the table: whoever knows a person's {columns} finds the row and the group. "
            "Only which of the group's values is whose is hidden, and that not from everybody: who can guess from "
            "the other "
            "columns which value is likely for whom, or learns the values of some members, learns more about the rest "
            "(deFinetti attack)."
        )
    else:
        yield (
            f"It assumes that an attacker tells people apart by {columns} and by nothing else. It does not hide that "
            "somebody is in the table."
        )
    others = [c for c in manifest.data.columns if c not in {*manifest.quasi_identifiers, *manifest.sensitive}]
    if others and manifest.data.separate is None:
        is_, was, these = ("is", "it was", "it") if len(others) == 1 else ("are", "they were", "them")
        yield (
            f"{join_names(others, 6)} {is_} published as {was}: whoever knows {these} of a person as well may "
            f"tell rows "
            "apart that look alike here."
        )
    if manifest.sensitive:
        yield (
            "Rows in a class can share a sensitive value; who knows that a person is in the table then learns it, "
            "unless a promise above limits that."
        )
    if not manifest.persons:
        yield "One row is taken to be one person. Of somebody with several rows, an attacker may learn more."
    again = manifest.republish
    if manifest.rows.added and again is not None:
        yield (
            f"{format_count(manifest.rows.added, 'row')} show nobody: they stand in for people who are no longer in "
            f"the table, "
            "and counterfeits.csv tells how many there are in each class. Counts in this table include them."
        )
    elif manifest.rows.added:
        marked = any(model.with_added for model in manifest.models)
        but = ", but for those marked so" if marked else ""
        yield (
            f"{format_count(manifest.rows.added, 'row')} show nobody: they were added so that no rule tells a "
            f"sensitive "
            f"value too surely. Every promise holds without them too{but}. Counts in this table include them."
        )
    if again is not None and again.release > 1:
        yield (
            f"It is release {again.release:,} of a table that grows ({again.way}): it was made so that all releases "
            "together do not tell more than each of them promises."
        )
    other = "Other tables" if again is None else "Tables that are no releases of this one but"
    yield f"{other} about the same people can be combined with this one; no promise here speaks of that."
    yield "Only the attacks named here were run. That none of them succeeds does not prove that no other does."
    yield "It is not differentially private: it promises something of this table, not of every table there could be."


def rows_card(manifest: PublicManifest) -> Card:
    """Build the card on how many rows are published, of how many."""
    rows = manifest.rows
    total, left = rows.released - rows.added + rows.suppressed, rows.suppressed
    if rows.shown:
        says = f"{format_count(left, 'row')} would have stood out and have * in place of all identifying values."
    elif left:
        says = f"{format_count(left, 'row')} ({percent(left, total)}) would have stood out and were left out."
    else:
        says = "No row had to be left out."
    if rows.added:
        says += f" {format_count(rows.added, 'row')} of those published show nobody: they were added to hide others."
    own = rows.released - rows.added
    return Card("Rows published", f"{own:,} of {total:,}", says, share=own / total if total else 0.0)


def hiding_card(manifest: PublicManifest) -> Card:
    """Build the card on how many rows look alike at least; persons only where the policy counts them."""
    least, people = manifest.classes.min, "rows"
    if manifest.persons:  # classes are counted in rows: of people, only the promise is known
        asked = [k for model in manifest.models if isinstance(k := model.asked.get("k"), int)]
        least, people = (max(asked), "people") if asked else (least, "rows")
    if manifest.data.separate is not None:
        says = (
            f"Every row stands as it was, in a group of at least {least:,}: which of the group's "
            f"{join_names(manifest.sensitive)} is whose is not told."
        )
        return Card("Nobody's value is tied to a row", f"groups of {least:,} or more", says, _tone(least))
    columns = join_names(manifest.quasi_identifiers, 4)
    if least < 2:
        says = f"Some row can be told apart from all others by {columns}."
        return Card("Not every row hides", "alone", says, "bad")
    says = (
        f"At least {least:,} {people} share every combination of {columns} that occurs: "
        f"a guess which of them is somebody's is right with a chance of at most 1 in {least:,}."
    )
    each = "person" if people == "people" else "row"
    return Card(f"Every {each} hides among at least", f"{least:,} {people}", says, "good")


def _tone(least: int) -> Tone:
    return "good" if least > 1 else "bad"


def attacks_card(audit: Audit) -> Card:
    """Build the card on what the attacks found."""
    tried, exposed = audit.tried, audit.successes
    left = len(audit.lines) - len(tried)
    rest = f" {left} other {'kind was' if left == 1 else 'kinds were'} not tried; below is why." if left else ""
    if not tried:
        return Card("Attacks tried", "none", f"No attack was run on this release.{rest}", "open")
    if exposed:
        found = "; ".join(line.describe_exposure(format_count(line.people, "row")) for line in exposed)
        says, verb = f"{found[0].upper()}{found[1:]}.{rest}", "succeeds" if len(exposed) == 1 else "succeed"
        return Card("Kinds of attack tried on it", f"{len(exposed)} of {len(tried)} {verb}", says, "bad")
    says = f"None of those that were tried learns what the release should hide.{rest}"
    return Card("Kinds of attack tried on it", f"0 of {len(tried)} succeed", says, "good")


def shown_card(manifest: PublicManifest, visible: PublicView) -> Card:
    """Build the card on how much the release shows, by itself: nothing is compared with the original."""
    quasi = {name: visible.tallies[name] for name in manifest.quasi_identifiers if name in visible.tallies}
    labels = {name: len(tally.labels) for name, tally in quasi.items()}
    finest, coarsest = max(labels, key=labels.__getitem__), min(labels, key=labels.__getitem__)
    says = f"{finest} shows {format_count(labels[finest], 'different label')}"
    says += f", {coarsest} {labels[coarsest]:,}." if coarsest != finest else "."
    if any(tally.rows is None for tally in quasi.values()):
        return Card("Labels shown", format_count(sum(labels.values()), "label"), says)
    share = 1 - _starred(quasi)
    named = sorted({tally.top for tally in quasi.values() if tally.top in tally.labels} - {TOP})
    nothing = join_names([TOP, *named], 12) if named else TOP
    says = (
        f"of the cells in {format_count(len(quasi), 'identifying column')} say something, be it an interval or "
        f"a group of "
        f"values; the others are {nothing}. How coarse they are, only the owner of the original can measure. {says}"
    )
    return Card("Cells that say something" if named else "Cells that are not *", percent(share), says, share=share)


def _starred(tallies: Mapping[str, LabelTally]) -> float:
    cells = sum(int(tally.rows.sum()) for tally in tallies.values() if tally.rows is not None)
    return sum(tally.starred for tally in tallies.values()) / cells if cells else 0.0


def detail_card(metrics: Mapping[str, float], columns: int) -> Card:
    """Build the card on how much of the original's detail is left."""
    if "loss" not in metrics:
        return Card("Detail left", "not told", "The measures that compare with the original were left out.", "open")
    left = 1 - metrics["loss"]
    says = (
        f"of the detail of {format_count(columns, 'identifying column')} is left, on average over all cells, each "
        "weighted by its importance: 100 % is the original, 0 % a table of * alone."
    )
    return Card("Detail left", percent(left), says, share=left)
