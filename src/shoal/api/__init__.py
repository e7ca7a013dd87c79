"""The public functions: the joiner of all that lies below."""

from shoal.api.analysis import Sweep, compare, draft, lattice, learn, measure, risk, sweep, workload
from shoal.api.attack_and_audit import attack, audit, rule_tree
from shoal.api.next_releases import again, remove, removing, republish
from shoal.api.releases import NEED_ORIGINAL, anonymize, apply, dry_run, publish, verify
from shoal.explore.draft_policy import PolicyDraft
from shoal.pipeline import Release, make_release

__all__ = [
    "NEED_ORIGINAL",
    "PolicyDraft",
    "Release",
    "Sweep",
    "again",
    "anonymize",
    "apply",
    "attack",
    "audit",
    "compare",
    "draft",
    "dry_run",
    "lattice",
    "learn",
    "make_release",
    "measure",
    "publish",
    "remove",
    "removing",
    "republish",
    "risk",
    "rule_tree",
    "sweep",
    "verify",
    "workload",
]
