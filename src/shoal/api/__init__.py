"""The public functions, which join all layers below; each module is loaded when one of its functions is used."""

from typing import TYPE_CHECKING

from shoal.runtime import load_on_use

if TYPE_CHECKING:
    from shoal.api.analysis import Sweep, compare, draft, lattice, learn, measure, risk, sweep, workload
    from shoal.api.attack_and_audit import attack, audit, rule_tree
    from shoal.api.next_releases import prepare_next_release, prepare_removal, remove, republish
    from shoal.api.releases import NEED_ORIGINAL, anonymize, apply, block, dry_run, find_verdict, publish, verify
    from shoal.explore.draft_policy import PolicyDraft
    from shoal.pipeline import Release, make_release

__all__ = [
    "NEED_ORIGINAL",
    "PolicyDraft",
    "Release",
    "Sweep",
    "anonymize",
    "apply",
    "attack",
    "audit",
    "block",
    "compare",
    "draft",
    "dry_run",
    "find_verdict",
    "lattice",
    "learn",
    "make_release",
    "measure",
    "prepare_next_release",
    "prepare_removal",
    "publish",
    "remove",
    "republish",
    "risk",
    "rule_tree",
    "sweep",
    "verify",
    "workload",
]

__getattr__ = load_on_use(
    __name__,
    {
        "shoal.api.analysis": ("Sweep", "compare", "draft", "lattice", "learn", "measure", "risk", "sweep", "workload"),
        "shoal.api.attack_and_audit": ("attack", "audit", "rule_tree"),
        "shoal.api.next_releases": ("prepare_next_release", "prepare_removal", "remove", "republish"),
        "shoal.api.releases": (
            "NEED_ORIGINAL",
            "anonymize",
            "apply",
            "block",
            "dry_run",
            "find_verdict",
            "publish",
            "verify",
        ),
        "shoal.explore.draft_policy": ("PolicyDraft",),
        "shoal.pipeline": ("Release", "make_release"),
    },
)
