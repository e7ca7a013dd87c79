"""The policy: what a release must promise, and how to get there."""

from shoal.policy.document import FORMAT, Policy

__all__ = ["FORMAT", "Policy"]
