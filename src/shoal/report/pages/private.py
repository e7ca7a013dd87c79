"""The report for the owner: everything that knows the original, and a last page to be signed."""

from shoal.engine import Source
from shoal.metrics import Seen
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.report.manifest import Manifest, PublicManifest
from shoal.report.pages.blocks import Bullets, Page, Section, Text
from shoal.report.pages.compared import compared
from shoal.report.pages.first import attacks_card, detail_card, hiding_card, rows_card
from shoal.report.pages.found import blocked, found, left_out, together
from shoal.report.pages.lost import lost
from shoal.report.pages.recoded import asked, recoded
from shoal.report.pages.shared import attacked, limits, promised, sized
from shoal.report.pages.signing import footer, sign_off, verify_it
from shoal.report.pages.visible import Visible


def private_page(
    manifest: Manifest,
    told: PublicManifest,
    plan: Plan,
    policy: Policy,
    source: Source,
    visible: Visible,
    seen: Seen | None,
) -> Page:
    """What was asked, done, promised, lost, and how it was found.

    `told` and `visible` are what the public has; `seen` is the release beside its original, where that can be told.
    """
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
            asked(manifest, policy, plan),
            recoded(manifest, plan, policy, source, visible),
            *left_out(manifest, plan),
            promised(manifest.models, persons=told.persons),
            sized(visible, told),
            attacked(visible, private=True),
            lost(manifest),
            *compared(plan, source, visible, seen),
            found(manifest),
            *together(manifest),
            *blocked(manifest),
            *_notes(manifest),
            limits(told),
            verify_it(manifest.data, private=True),
        ),
        foot=footer(manifest.shoal),
        sign_off=sign_off(manifest, visible),
    )


def _notes(manifest: Manifest) -> list[Section]:
    if not manifest.warnings:
        return []
    lead = Text("What was said while the release was made:")
    return [Section("notes", "Notes", [lead, Bullets(manifest.warnings)])]
