"""The sections [blocking] and [republish] of a policy: inference channels, and tables that are published again."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from shoal.methods import searches
from shoal.models.leakage import AlpDif
from shoal.models.model import Model, Need, exact_share
from shoal.models.reference_models import ReferenceModel
from shoal.policy.sections import AnyModel, InnerShare, Names, PolicySection, PositiveShare, Share, check_whole
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.policy.document import Policy

By = Literal["absent", "unknown", "generalise", "suppress"]
Over = Literal["take-back", "keep"]


class Blocking(PolicySection):
    """Which rules are channels, and what is done about them (S1.3, S1.4).

    >>> Blocking(by="absent", confidence=0.6).at
    1.0
    """

    attribute: str | None = None
    """The sensitive attribute that nothing may tell; left out, the only one."""
    by: By = "absent"
    """Rows are added with a value that the leaf lacks, or with none; or no false row is made: the leaf's rows are
    generalised further, or left out."""
    at: PositiveShare = 1.0
    """Rules of at least this confidence are channels; 1: the perfect ones."""
    confidence: InnerShare = 0.8
    """What the confidence of a channel is brought down to; at least 1 / number of sensitive values."""
    support: Annotated[int, Field(ge=1), BeforeValidator(check_whole)] = 1
    """Rules that fewer rows support are left alone."""
    values: Names = ()
    """The sensitive values that must not be told; left out, all."""
    features: Names = ()
    """The columns that rules are made of; left out, all that are released and not sensitive."""
    h: Share = 1.0
    """The share of rules lost, or of ghost rules, above which blocking stops."""
    over: Over = "take-back"
    """What becomes of the rows with which h is passed: they are taken back, or kept, by the letter of the paper."""
    limit: Share = 1.0
    """The share of the rows that may be added, or left out."""
    passes: Annotated[int, Field(ge=1), BeforeValidator(check_whole)] = 100
    """How often the release is mined anew."""
    require: tuple[AnyModel, ...] = ()
    """Models of the sensitive attribute that added rows must attain too, class by class (S1.8)."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if exact_share("confidence", self.confidence) >= exact_share("at", self.at):
            raise ValueError(
                f"confidence = {self.confidence!r} must lie below at = {self.at!r}, or channels stay channels"
            )
        if self.require and self.by != "absent":
            raise ValueError("require: models are attained by adding rows with other values: use by = 'absent'")
        for model in self.require:
            if model.needs and isinstance(model, ReferenceModel):
                raise ValueError(
                    f"require: {model.name} compares with the original; here its reference must be 'release'"
                )
            whole = model.table_wide and not isinstance(model, ReferenceModel)
            if not model.per_attribute or whole or model.columns or model.needs:
                raise ValueError(f"require: {model.name} is not about the sensitive values of single classes")
        return self


def misfit_of_blocking(policy: "Policy", blocking: Blocking) -> str | None:
    """Say why a policy contradicts its way of blocking channels; None if it fits."""
    added = blocking.by in {"absent", "unknown"}
    return next(_misfits_of_blocking(policy, blocking), None) or (
        next(_misfits_of_added_rows(policy), None) if added else None
    )


def _misfits_of_blocking(policy: "Policy", blocking: Blocking) -> Iterator[str]:
    sensitive, algorithm = policy.named(Role.SENSITIVE), policy.method.algorithm
    if blocking.attribute is None and len(sensitive) != 1:
        yield f"blocking: name the attribute that is not to be told; {len(sensitive)} are sensitive"
    if blocking.attribute not in {None, *sensitive}:
        yield f"blocking: {blocking.attribute!r} has not the role 'sensitive'"
    mined = [*policy.quasi_identifiers, *policy.named(Role.INSENSITIVE)]
    for name in blocking.features:
        if name not in mined:
            yield f"blocking.features: {name!r} is no column that is released and not sensitive"
    for model in blocking.require:
        if model.about not in {None, policy.blocked}:
            yield f"blocking.require: {model.name} is about {model.about!r}, and {policy.blocked!r} is blocked"
    if algorithm == "anatomy":
        yield "blocking: anatomy shows no sensitive value beside a row, so there are no rules to block"
    if policy.unit is not None:
        yield "blocking: rows are added, left out and counted one by one, not by persons; leave the unit out"
    if blocking.by in {"generalise", "suppress"} and policy.method.of_cells:
        yield (
            f"blocking.by = {blocking.by!r} needs one level per attribute, not algorithm = {algorithm!r}; use 'absent'"
        )


def _misfits_of_added_rows(policy: "Policy") -> Iterator[str]:
    """Yield why added rows, which show nobody and copy values from others, would break other promises."""
    for model in policy.models:
        if Need.POPULATION in model.needs:
            yield (
                f"require: {model.name} compares with a population, in which nobody is whom an added row shows; use "
                "blocking.by = 'suppress' or 'generalise'"
            )
        for name in policy.named(Role.SENSITIVE):
            if name in {model.about, *model.columns} and name != policy.blocked:
                yield (
                    f"require: {model.name} is about {name!r}, whose values the rows that block {policy.blocked!r} "
                    "would repeat; use blocking.by = 'suppress' or 'generalise'"
                )


Way = Literal["monotone", "m-invariance", "alp-dif"]
WAYS: dict[str, str] = {
    "monotone": "keeps those who were shown with the same people, at labels that only get coarser",
    "m-invariance": "keeps everybody among the same sensitive values in every release",
    "alp-dif": "keeps those who were shown together, and limits how surely all releases tell a value",
}
"""What each way to publish a growing table again does, for people: "it …"."""


class Republish(PolicySection):
    """Who is who in later tables, in which way they are shown again, and what all releases together may tell.

    >>> Republish(key="patient").way, Republish(key="patient").limit
    ('monotone', 0.0)
    """

    way: Way = "monotone"
    """Who was shown together stays together; or everybody keeps the sensitive values of the class; or the first with
    the thresholds of (alp,dif)-anonymity held on all that the releases show together."""
    key: str | None = None
    """The column that tells persons apart, an identifier; left out, the unit. It is kept in the private folder only."""
    m: Annotated[int, Field(ge=2), BeforeValidator(check_whole)] | None = None
    """How many sensitive values all releases together must leave to everybody; left out, as many as models ask for."""
    limit: Share = 0.0
    """The share of the people to whom they may leave fewer; above it, there is no release."""
    counterfeits: Share = 0.1
    """Of m-invariance: the share of the released rows that may show nobody."""


def misfit_of_republish(policy: "Policy", how: Republish) -> str | None:
    """Say why a policy contradicts its way of publishing again; None if it fits."""
    return next(_misfits_of_republish(policy, how), None)


def _misfits_of_republish(policy: "Policy", how: Republish) -> Iterator[str]:
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
    beyond = next((model.name for model in policy.require if not _is_implied(model, how.m)), None)
    if beyond is not None:
        yield (
            f"require: {beyond} is not what m-invariance with m = {how.m} keeps; it promises k-anonymity, "
            "distinct-l-diversity or p-sensitive up to m, and alpha-k from alpha = 1/m"
        )


def _is_implied(model: Model, m: int) -> bool:
    """Return whether a model holds in all classes in which no value has more than one row in m."""
    if model.name == "alpha-k":
        limits: Any = model.alpha  # type: ignore[attr-defined]
        shares = limits.values() if hasattr(limits, "values") else [limits]
        return int(model.k) <= m and all(exact_share("alpha", share) >= Fraction(1, m) for share in shares)  # type: ignore[attr-defined]
    asked = {"k-anonymity": "k", "distinct-l-diversity": "l", "p-sensitive": "p"}.get(model.name)
    return asked is not None and int(getattr(model, asked)) <= m


def values_asked(model: Model) -> int:
    """Return the fewest sensitive values that a model asks of a class; 1 where it does not say.

    >>> from shoal.models import MODELS
    >>> values_asked(MODELS["entropy-l-diversity"](l=2.5, attribute="ill"))
    3
    """
    many = float(getattr(model, "l", None) or getattr(model, "p", None) or 1)
    alpha: Any = getattr(model, "alpha", None)
    number = model.name == "alpha-k" and not hasattr(alpha, "values")
    shares = [exact_share("alpha", alpha)] if number else []
    return max([ceil(many), *(ceil(1 / share) for share in shares)])
