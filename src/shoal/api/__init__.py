"""The public functions, which join all layers below."""

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
