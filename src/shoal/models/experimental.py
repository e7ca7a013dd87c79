"""Models that a policy must ask for by `experimental = true`: their definitions are known at second hand only."""

from shoal.models.base import refuse_unless_flag


def refuse_unless_opted_in(name: str, experimental: object) -> None:
    """Raise ValueError unless the policy knows what it asks for.

    >>> refuse_unless_opted_in("a-d-diversity", experimental=True)
    """
    refuse_unless_flag("experimental", experimental)
    if not experimental:
        raise ValueError(
            f"{name} is experimental: its definition is taken from another paper's description of it; "
            "set experimental = true to use it"
        )
