"""The report that may be published: made of the public manifest and of what the release shows alone (design 11)."""

from typing import TYPE_CHECKING

from shoal.report.manifest import PublicManifest
from shoal.report.pages.blocks import Bars, Bullets, Grid, Page, Section, Table, Text, and_more, listed, many
from shoal.report.pages.figures import promise
from shoal.report.pages.first import attacks_card, hiding_card, rows_card, shown_card
from shoal.report.pages.shared import MOST_CARDS, attacked, distributed, limits, promised, sized
from shoal.report.pages.signing import footer, verify_it
from shoal.report.pages.visible import Visible

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Block

_MOST_COLUMNS = 60


def public_page(manifest: PublicManifest, visible: Visible) -> Page:
    """What the release is, what it promises, and what it does not."""
    return Page(
        title="About this release",
        kind="Public report",
        lead=(
            "This table is about people. This page says what it promises about them, what somebody who looks for a "
            "person "
            "can still learn, and what it does not promise. All of it can be told from the published files themselves."
        ),
        cards=(rows_card(manifest), hiding_card(manifest), attacks_card(visible.audit), shown_card(manifest, visible)),
        sections=(
            _asked(manifest),
            _done(manifest, visible),
            promised(manifest.models, persons=manifest.persons),
            sized(visible, manifest),
            attacked(visible, private=False),
            limits(manifest),
            verify_it(manifest.data),
        ),
        foot=footer(manifest.shoal),
    )


def _asked(manifest: PublicManifest) -> Section:
    names = [promise(model.model, model.attribute, model.asked) for model in manifest.models]
    said = [
        f"Identifying columns, which somebody may know of a person: {listed(manifest.quasi_identifiers, 12)}.",
        f"Sensitive columns, which nobody should learn of a person: {listed(manifest.sensitive, 12)}."
        if manifest.sensitive
        else "No column was declared sensitive: what is protected is only who is who.",
        f"{many(len(names), 'promise')}: {'; '.join(names)}.",
    ]
    return Section("asked", "What was asked", [Bullets(said)])


def _done(manifest: PublicManifest, visible: Visible) -> Section:
    """What the columns show now; after-figures only."""
    blocks: list[Block] = []
    if manifest.data.separate is not None:
        blocks.append(
            Text(
                f"There are two tables. {manifest.data.file} has the rows with {listed(manifest.quasi_identifiers)} "
                "as they "
                f"are, each in one of {manifest.classes.count:,} groups; {manifest.data.separate.file} tells how "
                f"often each value of {listed(manifest.sensitive)} occurs in each group (Anatomy)."
            )
        )
    else:
        blocks.append(
            Text(
                "Values were replaced by coarser labels until enough rows look alike. This is how often each label "
                "occurs in the published table."
            )
        )
    if manifest.rows.suppressed:
        has, was = ("has", "was") if manifest.rows.suppressed == 1 else ("have", "were")
        how = f"{has} * in place of all identifying values" if manifest.rows.shown else f"{was} left out"
        blocks.append(Text(f"{many(manifest.rows.suppressed, 'row')} of the original {how}."))
    names = [name for name in (*manifest.quasi_identifiers, *manifest.sensitive) if name in visible.tallies]
    if all(visible.tallies[name].rows is not None for name in names):
        cards = [_card(name, manifest, visible) for name in names[:MOST_CARDS]]
        blocks.append(Grid(cards, and_more(len(names) - len(cards), "columns")))
    else:
        rows = [[name, f"{len(visible.tallies[name].labels):,}"] for name in names[:_MOST_COLUMNS]]
        blocks.append(Table(("Column", "Different labels"), rows, and_more(len(names) - len(rows), "columns")))
    return Section("done", "What was done", blocks)


def _card(name: str, manifest: PublicManifest, visible: Visible) -> Bars:
    tally = visible.tallies[name]
    kind = "sensitive, as it was" if name in manifest.sensitive else "identifying"
    word = "value" if name in manifest.sensitive or manifest.data.separate is not None else "label"
    return distributed(name, tally, f"{kind}; {many(len(tally.labels), f'different {word}')}")
