"""The public functions: the joiner of all that lies below."""

from shoal.api.attacking import attack, rule_tree
from shoal.api.auditing import audit
from shoal.api.exploring import compare, draft, lattice, learn, measure
from shoal.api.querying import workload
from shoal.api.release import Release
from shoal.api.releasing import anonymize, apply, dry_run, prepare, publish
from shoal.api.republishing import again, remove, removing, republish
from shoal.api.risking import risk
from shoal.api.verifying import NEED_ORIGINAL, verify

__all__ = [
    "NEED_ORIGINAL",
    "Release",
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
    "measure",
    "prepare",
    "publish",
    "remove",
    "removing",
    "republish",
    "risk",
    "rule_tree",
    "verify",
    "workload",
]
