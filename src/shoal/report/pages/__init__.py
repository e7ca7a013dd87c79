"""The two reports of a release as self-contained HTML: one to be published beside it, and one for its owner."""

import marshal
import sys
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from shoal.attacks.audit import Audit, doubts_of_rows
from shoal.engine_port import Source
from shoal.explore.advice import SCALE, recommend
from shoal.metrics.comparison import Comparison
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.publish.folder import Places, put_file, write_whole
from shoal.publish.manifest import Manifest, PublicManifest, join_names
from shoal.publish.released_table import ReleasedTable
from shoal.report.pages.blocks import (
    Bars,
    Bullets,
    Command,
    Grid,
    Page,
    PageTable,
    Paragraph,
    Section,
    and_more,
    format_count,
    number,
    percent,
    promise,
)
from shoal.report.pages.columns_section import (
    asked_section,
    comparison_sections,
    hierarchies_sections,
    recoding_section,
)
from shoal.report.pages.public_view import PublicView
from shoal.report.pages.search_section import (
    blocking_sections,
    describe_bound,
    how_found_section,
    republish_sections,
    suppression_sections,
    utility_section,
)
from shoal.report.pages.shared_sections import (
    MOST_CARDS,
    attacks_card,
    attacks_section,
    class_sizes_section,
    detail_card,
    distribution_bars,
    files_section,
    footer,
    hiding_card,
    limits,
    promises_section,
    rows_card,
    shown_card,
    sign_off,
    tree_picture,
)
from shoal.report.plots.tree_plot import HierarchyTree
from shoal.runtime.events import phase

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Block


@phase("reporting")
def write_reports(
    places: Places,
    release: ReleasedTable,
    manifest: Manifest,
    told: PublicManifest,
    visible: PublicView,
    audit: Audit,
    seen: Comparison | None,
) -> None:
    """Write both reports of a release that is in place; the public one is made from the published files alone.

    `audit` is what attacks found with the original: only the private page tells of it.
    """
    known = replace(visible, audit=audit)
    page = private_page(manifest, told, release.plan, release.policy, release.source, known, seen)
    put_file(places.private, "report.html", render(page), private=True)
    put_file(places.public, "report.html", render(public_page(told, visible)))


def private_page(
    manifest: Manifest,
    told: PublicManifest,
    plan: Plan,
    policy: Policy,
    source: Source,
    visible: PublicView,
    seen: Comparison | None,
) -> Page:
    """Build the owner's page: what was asked, done, promised and lost, and how the recoding was found.

    `told` and `visible` are what the public has, but for attacks that were run with the original; `seen` is the release
    beside its original, where that can be told.
    """
    said = manifest.recommendation
    doubts = doubts_of_rows({} if said is None else said.repeated)
    doubted = replace(visible, audit=replace(visible.audit, doubts=doubts))
    return Page(
        title="Private report of a release",
        kind="Private report",
        lead="What was asked and done, what it guarantees, what an attacker can still learn, and what the data lost.",
        warning="This page knows the original. Do not publish it.",
        cards=(
            rows_card(told),
            hiding_card(told),
            attacks_card(visible.audit),
            detail_card(manifest.metrics, len(plan.quasi_identifiers)),
        ),
        sections=(
            asked_section(manifest, policy, plan),
            recoding_section(manifest, plan, policy, source, visible),
            *hierarchies_sections(plan, visible),
            *suppression_sections(manifest, plan),
            promises_section(manifest.models, persons=told.persons),
            class_sizes_section(visible, told, describe_bound(manifest, plan, policy, source)),
            attacks_section(doubted, private=True),
            utility_section(manifest),
            *comparison_sections(plan, source, visible, seen),
            how_found_section(manifest),
            *republish_sections(manifest),
            *blocking_sections(manifest),
            *_notes(manifest),
            *_remedies(manifest),
            limits(told),
            files_section(manifest.data, private=True),
        ),
        foot=footer(manifest.shoal),
        verdict="" if said is None else said.sentence,
        sign_off=sign_off(manifest, doubted),
    )


def _notes(manifest: Manifest) -> list[Section]:
    if not manifest.warnings:
        return []
    lead = Paragraph("What was said while the release was made:")
    return [Section("notes", "Notes", [lead, Bullets(manifest.warnings)])]


def _remedies(manifest: Manifest) -> list[Section]:
    """Build the section on changes of the policy that would help, where some were looked for."""
    said = manifest.recommendation
    if said is None or not (said.remedies or said.untried):
        return []
    sample = max((each.sample for each in said.remedies if each.sample is not None), default=0)
    tried = "They were tried on the same table: this is the loss that really comes out"
    if sample:
        tried += (
            f", but for those without an advice, which were tried on a sample of {sample:,} rows alone and may help: "
            "their figures are estimates"
        )
    lead = Paragraph(
        f"Changes of the policy, the best first. {tried} ({SCALE}). The manifest of this folder has each as it stands "
        "in a policy."
    )
    rows = [
        [
            each.change,
            number(each.before),
            f"{about}{number(each.after)}{' of the rest' if each.dropped else ''}",
            f"{about}{each.exposed:,}",
            each.advice or "not known",
        ]
        for each in said.remedies
        for about in ["" if each.sample is None else "about "]
    ]
    blocks: list[Block] = [lead] if rows else []
    if rows:
        blocks.append(PageTable(("Change", "Loss now", "Loss then", "Rows exposed then", "Advice then"), rows))
        blocks.append(Paragraph("The first one in the policy file:"))
        blocks.append(Command(said.remedies[0].toml.rstrip("\n")))
    if said.untried:
        blocks.append(Paragraph(f"Not tried on the whole table: {'; '.join(said.untried)}.", "soft"))
    return [Section("remedies", "What would help", blocks)]


_MOST_COLUMNS = 60


def public_page(manifest: PublicManifest, visible: PublicView) -> Page:
    """Build the public page: what the release is, what it promises, and what it does not."""
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
            _public_asked_section(manifest),
            _public_done_section(manifest, visible),
            *_public_hierarchies_sections(visible),
            promises_section(manifest.models, persons=manifest.persons),
            class_sizes_section(visible, manifest),
            attacks_section(visible, private=False),
            limits(manifest),
            files_section(manifest.data),
        ),
        foot=footer(manifest.shoal),
        verdict=recommend(manifest.models, visible.audit, visible.starred(manifest.quasi_identifiers), None).findings,
    )


def _public_asked_section(manifest: PublicManifest) -> Section:
    names = [promise(model.model, model.attribute, model.asked) for model in manifest.models]
    known, sensitive = join_names(manifest.quasi_identifiers, 12), join_names(manifest.sensitive, 12)
    said = [
        f"Identifying columns, which somebody may know of a person: {known.removesuffix('.')}.",
        f"Sensitive columns, which nobody should learn of a person: {sensitive.removesuffix('.')}."
        if manifest.sensitive
        else "No column was declared sensitive: what is protected is only who is who.",
        f"{format_count(len(names), 'promise')}: {'; '.join(names)}.",
    ]
    return Section("asked", "What was asked", [Bullets(said)])


def _public_done_section(manifest: PublicManifest, visible: PublicView) -> Section:
    """Say what the columns show now, with figures of the release alone."""
    blocks: list[Block] = []
    if manifest.data.separate is not None:
        blocks.append(
            Paragraph(
                f"There are two tables. {manifest.data.file} has the rows with "
                f"{join_names(manifest.quasi_identifiers)} "
                "as they "
                f"are, each in one of {manifest.classes.count:,} groups; {manifest.data.separate.file} tells how "
                f"often each value of {join_names(manifest.sensitive)} occurs in each group (Anatomy)."
            )
        )
    else:
        blocks.append(
            Paragraph(
                "Values were replaced by coarser labels until enough rows look alike. This is how often each label "
                "occurs in the published table."
            )
        )
    if manifest.rows.suppressed:
        has, was = ("has", "was") if manifest.rows.suppressed == 1 else ("have", "were")
        how = f"{has} * in place of all identifying values" if manifest.rows.shown else f"{was} left out"
        blocks.append(Paragraph(f"{format_count(manifest.rows.suppressed, 'row')} of the original {how}."))
    names = [name for name in (*manifest.quasi_identifiers, *manifest.sensitive) if name in visible.tallies]
    if all(visible.tallies[name].rows is not None for name in names):
        cards = [_card(name, manifest, visible) for name in names[:MOST_CARDS]]
        blocks.append(Grid(cards, and_more(len(names) - len(cards), "columns")))
    else:
        rows = [[name, f"{len(visible.tallies[name].labels):,}"] for name in names[:_MOST_COLUMNS]]
        blocks.append(PageTable(("Column", "Different labels"), rows, and_more(len(names) - len(rows), "columns")))
    return Section("done", "What was done", blocks)


def _public_hierarchies_sections(visible: PublicView) -> list[Section]:
    """Show which of the labels of a column lie above others, where some do; no other label is told of."""
    trees = [HierarchyTree.from_relation(name, above) for name, above in visible.above.items() if any(above.values())]
    if not trees:
        return []
    lead = Paragraph(
        "Some rows show a finer label than others. This is which of the labels of the published table cover which: "
        "the finest are on the left."
    )
    cards = [tree_picture(tree) for tree in trees[:MOST_CARDS]]
    return [
        Section("labels", "Which labels cover which", [lead, Grid(cards, and_more(len(trees) - len(cards), "columns"))])
    ]


def _describe_bounds(name: str, manifest: PublicManifest) -> str:
    """Say what the least and the greatest number of a rounded column stand for, where it has such bounds."""
    bounds = {"below": (manifest.bottom or {}).get(name), "above": (manifest.top or {}).get(name)}
    return "".join(f", those {side} {bound:g} as {bound:g}" for side, bound in bounds.items() if bound is not None)


def _card(name: str, manifest: PublicManifest, visible: PublicView) -> Bars:
    tally = visible.tallies[name]
    step = (manifest.rounded or {}).get(name)
    shown = "as it was" if step is None else f"rounded to multiples of {step:g}{_describe_bounds(name, manifest)}"
    kind = f"sensitive, {shown}" if name in manifest.sensitive else "identifying"
    word = "value" if name in manifest.sensitive or manifest.data.separate is not None else "label"
    return distribution_bars(name, tally, f"{kind}; {format_count(len(tally.labels), f'different {word}')}")


_SIGNS = {"good": "✓", "bad": "!", "open": "?", "plain": ""}


@cache
def _template() -> Any:
    """Return the template of a page; its compiled form is kept where Python keeps those of modules."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": percent, "width": _width}
    here = files("shoal.report") / "templates"
    style = Markup((here / "page.css").read_text("utf-8"))  # noqa: S704 - our own file, not a value
    environment.globals |= {"signs": _SIGNS, "style": style}
    code = compile_once(environment, (here / "page.html").read_text("utf-8"), cache_from_source(__file__))
    return environment.template_class.from_code(environment, code, environment.make_globals(None), None)


def compile_once(environment: Any, source: str, module: str) -> CodeType:
    """Compile a template, or read what was compiled of the same text before, from a file beside a compiled module.

    The file begins with a hash of the text and of what compiled it. Where it cannot be written, or Python is told to
    write no compiled files, the template is compiled each time.
    """
    from jinja2 import __version__

    kept = Path(module).with_suffix(".page")
    known = blake2b(f"{__version__} {sys.version} {source}".encode(), digest_size=32).digest()
    with suppress(OSError):
        found = kept.read_bytes()
        if found.startswith(known):
            code: CodeType = marshal.loads(found[len(known) :])  # noqa: S302 - as trustworthy as the module beside it
            return code
    code = environment.compile(source)
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            write_whole(kept, known + marshal.dumps(code))
    return code


def _width(share: float) -> str:
    """Return a share as a CSS width.

    >>> _width(1 / 3), _width(-0.1)
    ('33.3%', '0.0%')
    """
    return f"{100 * min(max(share, 0.0), 1.0):.1f}%"


def render(page: Page) -> str:
    """Render the whole page as one text."""
    text: str = _template().render(page=page)
    return text
