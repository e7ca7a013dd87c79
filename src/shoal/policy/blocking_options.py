"""How inference channels are blocked: the rules that predict a sensitive attribute too well (Sané et al. 2012)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from shoal.models.model import Need
from shoal.models.reference_models import Referenced
from shoal.policy.sections import AnyModel, Names, Part, Share, number, whole
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.policy.document import Policy

By = Literal["absent", "unknown", "generalise", "suppress"]


class Blocking(Part):
    """Which rules are channels, and what is done about them (S1.3, S1.4).

    >>> Blocking(by="absent", confidence=0.6).at
    1.0
    """

    attribute: str | None = None
    """The sensitive attribute that nothing may tell; left out, the only one."""
    by: By = "absent"
    """Rows are added with a value that the leaf lacks, or with none; or no false row is made: the leaf's rows are
    generalised further, or left out."""
    at: Annotated[float, Field(gt=0, le=1), BeforeValidator(number)] = 1.0
    """Rules of at least this confidence are channels; 1: the perfect ones."""
    confidence: Annotated[float, Field(gt=0, lt=1), BeforeValidator(number)] = 0.8
    """What the confidence of a channel is brought down to; at least 1 / number of sensitive values."""
    support: Annotated[int, Field(ge=1), BeforeValidator(whole)] = 1
    """Rules that fewer rows support are left alone."""
    values: Names = ()
    """The sensitive values that must not be told; left out, all."""
    features: Names = ()
    """The columns that rules are made of; left out, all that are released and not sensitive."""
    h: Share = 1.0
    """The share of rules lost, or of ghost rules, above which blocking stops."""
    limit: Share = 1.0
    """The share of the rows that may be added, or left out."""
    passes: Annotated[int, Field(ge=1), BeforeValidator(whole)] = 100
    """How often the release is mined anew."""
    require: tuple[AnyModel, ...] = ()
    """Models of the sensitive attribute that added rows must attain too, class by class (S1.8)."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.confidence >= self.at:
            raise ValueError(
                f"confidence = {self.confidence!r} must lie below at = {self.at!r}, or channels stay channels"
            )
        if self.require and self.by != "absent":
            raise ValueError("require: models are attained by adding rows with other values: use by = 'absent'")
        for model in self.require:
            if model.needs and isinstance(model, Referenced):
                raise ValueError(
                    f"require: {model.name} compares with the original; here its reference must be 'release'"
                )
            whole = model.table_wide and not isinstance(model, Referenced)
            if not model.per_attribute or whole or model.columns or model.needs:
                raise ValueError(f"require: {model.name} is not about the sensitive values of single classes")
        return self


def misfit_of_blocking(policy: "Policy") -> str | None:
    """Why a policy contradicts how it wants channels blocked."""
    if policy.blocking is None:
        return None
    added = policy.blocking.by in {"absent", "unknown"}
    return next(_misfits(policy, policy.blocking), None) or (
        next(_misfits_of_added_rows(policy), None) if added else None
    )


def _misfits(policy: "Policy", blocking: Blocking) -> Iterator[str]:
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
    """Rows that show nobody have one value of their own: what they copy from others would break other promises."""
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
