"""How a table is published again when it has grown: without giving away what earlier releases hid (S3.10)."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from shoal.methods import searches
from shoal.models.leakage import AlpDif
from shoal.models.model import Model, Need, exact
from shoal.policy.sections import Part, Share, whole
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.policy.document import Policy

Way = Literal["monotone", "m-invariance", "alp-dif"]
WAYS: dict[str, str] = {
    "monotone": "keeps those who were shown with the same people, at labels that only get coarser",
    "m-invariance": "keeps everybody among the same sensitive values in every release",
    "alp-dif": "keeps those who were shown together, and limits how surely all releases tell a value",
}
"""What each way to publish a growing table again does, for people: "it …"."""


class Republish(Part):
    """Who is who in later tables, in which way they are shown again, and what all releases together may tell.

    >>> Republish(key="patient").way, Republish(key="patient").limit
    ('monotone', 0.0)
    """

    way: Way = "monotone"
    """Who was shown together stays together; or everybody keeps the sensitive values of the class; or the first with
    the thresholds of (alp,dif)-anonymity held on all that the releases show together."""
    key: str | None = None
    """The column that tells persons apart, an identifier; left out, the unit. It is kept in the private folder only."""
    m: Annotated[int, Field(ge=2), BeforeValidator(whole)] | None = None
    """How many sensitive values all releases together must leave to everybody; left out, as many as models ask for."""
    limit: Share = 0.0
    """The share of the people to whom they may leave fewer; above it, there is no release."""
    counterfeits: Share = 0.1
    """Of m-invariance: the share of the released rows that may show nobody."""


def misfit_of_republish(policy: "Policy") -> str | None:
    """Why a policy contradicts how it wants to be published again."""
    return next(_misfits(policy, policy.republish), None) if policy.republish is not None else None


def _misfits(policy: "Policy", how: Republish) -> Iterator[str]:
    key, algorithm = policy.key, policy.method.algorithm
    if key is None:
        yield "republish: name the column that tells persons apart as key, or give one the role 'unit'"
    elif key not in policy.attributes or policy.attributes[key].role not in {Role.IDENTIFIER, Role.UNIT}:
        yield f"republish.key: {key!r} must have the role 'identifier' or 'unit', so that it is never released"
    if policy.blocking is not None:
        yield "republish and blocking do not go together: rows that blocking adds differ from release to release"
    if policy.release.suppressed == "show":
        yield "republish: release.suppressed = 'show' would publish who was left out; use 'drop'"
    if any(Need.POPULATION in model.needs for model in policy.require):
        yield "republish: people who stay as they were shown cannot be compared with a population"
    if how.way == "m-invariance":
        yield from _misfits_of_invariance(policy, how)
    elif algorithm not in (*searches(), "local") or policy.method.suppress == "cell":
        yield (
            f"republish: people stay at labels of hierarchies, which {algorithm!r} with suppress = "
            f"{policy.method.suppress!r} does not give; use 'optimal' or 'local'"
        )
    if how.way == "alp-dif" and not any(isinstance(model, AlpDif) for model in policy.require):
        yield "republish.way = 'alp-dif' needs the model alp-dif under [[require]]"


def _misfits_of_invariance(policy: "Policy", how: Republish) -> Iterator[str]:
    sensitive = policy.named(Role.SENSITIVE)
    if how.m is None:
        yield "republish.way = 'm-invariance' needs m, the number of sensitive values that everybody keeps"
        return
    if len(sensitive) != 1:
        yield f"republish.way = 'm-invariance' is about one sensitive attribute; {len(sensitive)} are declared"
    if policy.unit is not None:
        yield "republish.way = 'm-invariance' counts rows that show nobody, not persons; give the unit as key instead"
    if policy.named(Role.INSENSITIVE) or policy.data.others == "insensitive":
        yield (
            "republish.way = 'm-invariance': a row that shows nobody has no insensitive values of its own, by which it "
            "could be told; give those columns the role 'identifier'"
        )
    beyond = next((model.name for model in policy.require if not _implied(model, how.m)), None)
    if beyond is not None:
        yield (
            f"require: {beyond} is not what m-invariance with m = {how.m} keeps; it promises k-anonymity, "
            "distinct-l-diversity or p-sensitive up to m, and alpha-k from alpha = 1/m"
        )


def _implied(model: Model, m: int) -> bool:
    """Whether classes in which no value has more than one row in m keep a model."""
    if model.name == "alpha-k":
        limits: Any = model.alpha  # type: ignore[attr-defined]
        shares = limits.values() if hasattr(limits, "values") else [limits]
        return int(model.k) <= m and all(exact("alpha", share) >= Fraction(1, m) for share in shares)  # type: ignore[attr-defined]
    asked = {"k-anonymity": "k", "distinct-l-diversity": "l", "p-sensitive": "p"}.get(model.name)
    return asked is not None and int(getattr(model, asked)) <= m


def values_asked(model: Model) -> int:
    """How many sensitive values a class must have at least for a model; 1 where it does not say.

    >>> from shoal.models import MODELS
    >>> values_asked(MODELS["entropy-l-diversity"](l=2.5, attribute="ill"))
    3
    """
    many = float(getattr(model, "l", None) or getattr(model, "p", None) or 1)
    alpha: Any = getattr(model, "alpha", None)
    shares = [exact("alpha", alpha)] if isinstance(alpha, float) and model.name == "alpha-k" else []
    return max([ceil(many), *(ceil(1 / share) for share in shares)])
