"""What is told of inference channels that were blocked: to the owner only, since it names what the rules said."""

from typing import Any

from shoal.mining.blocking import Blocked

_WHY = {
    "h": "more rules would be lost or made up than h allows",
    "passes": "all passes were made",
    "limit": "no more rows may be added or left out",
    "fractions": "only fractions of rows with missing values support them",
    "": "they were not looked for any longer",
}


def unblocked(blocked: Blocked) -> str:
    """One sentence about the channels that are left."""
    return f"{len(blocked.left)} inference channel(s) are left: {_WHY[blocked.stopped]}"


def summary_of(blocked: Blocked, by: str) -> dict[str, Any]:
    """As the private manifest tells it."""
    return {
        "by": by,
        "channels": len(blocked.before),
        "left": len(blocked.left),
        "why": _WHY[blocked.stopped] if blocked.left else None,
        "lost": float(blocked.lost),
        "ghosts": float(blocked.ghosts),
        "passes": blocked.passes,
        "seen_without_nulls": blocked.silent or None,
        "rules": tuple(map(str, blocked.before)),
        "unblocked": tuple(map(str, blocked.left)),
    }
