"""The first screen: four facts that anybody understands."""

from collections.abc import Mapping

from shoal.attacks.audit import Audit
from shoal.hierarchy.taxonomy import TOP
from shoal.publish.manifest import PublicManifest
from shoal.report.pages.blocks import Card, Tone, format_count, join_names, percent
from shoal.report.pages.public_view import LabelTally, PublicView


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
