"""What a policy must not say beside an algorithm that recodes cells, and what it must not say without one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal.methods import ALGORITHMS, Shape
from shoal.models import Need
from shoal.models.linkability import XYPrivacy
from shoal.models.skyline import BTPrivacy
from shoal.schema import Role

if TYPE_CHECKING:
    from shoal.policy.policy import Policy

STATISTICS = ("mean", "median", "mode")
"""Forms that show one value for a class."""


def misfit_of_cells(policy: "Policy") -> str | None:
    """Why a policy contradicts its algorithm, where forms, orders, ranges, levels or promises are at stake."""
    algorithm = policy.method.algorithm
    shape = ALGORITHMS[algorithm].shape
    shaped = shape in {Shape.BOXES, Shape.CLUSTERS}
    for name in policy.quasi_identifiers:
        attribute = policy.attributes[name]
        for key in ("form", "order"):
            if getattr(attribute, key) is not None and not shaped:
                return f"attributes.{name}: {key} has no meaning for algorithm = {algorithm!r}; it is for boxes"
        for key in ("min_level", "max_level"):
            if getattr(attribute, key) is not None and (policy.method.of_cells or policy.method.generalise == "none"):
                return (
                    f"attributes.{name}: min-level and max-level are for one level per attribute, not for {algorithm!r}"
                )
        if attribute.order is not None and attribute.hierarchy is not None and shaped:
            return f"attributes.{name}: it has a hierarchy and an order; boxes follow one of them, leave the other out"
        if shape is Shape.CLUSTERS and not set(attribute.form or STATISTICS) <= set(STATISTICS):
            return f"attributes.{name}: clusters show the mean, the median or the mode, not {attribute.form}"
    if policy.release.ranges != "cut" and shape is not Shape.BOXES:
        return f"release.ranges = 'observed' is for boxes; algorithm = {algorithm!r} makes none"
    return next(_misfits_of_models(policy), None) if policy.method.of_cells else None


def _misfits_of_models(policy: "Policy") -> Iterator[str]:
    algorithm = policy.method.algorithm
    for model in policy.require:
        if Need.POPULATION in model.needs:
            yield (
                f"require: {model.name} compares with a population, for which {algorithm!r} has no level per attribute"
            )
        if isinstance(model, XYPrivacy) and model.x:
            yield f"require: {model.name} with x needs one level per attribute, not algorithm = {algorithm!r}"
        if algorithm == "anatomy" and isinstance(model, BTPrivacy):
            yield (
                f"require: {model.name} is about classes whose rows look alike, and anatomy publishes the "
                "quasi-identifiers as they are; use another algorithm"
            )
        if algorithm == "anatomy" and not model.per_attribute:
            yield (
                f"require: {model.name} is about who is in the table, and anatomy publishes the quasi-identifiers as "
                "they are; require a model of the sensitive attribute, e.g. distinct-l-diversity"
            )
    if algorithm == "anatomy" and len(policy.named(Role.SENSITIVE)) != 1:
        yield "method.algorithm: 'anatomy' separates one sensitive attribute from the others; declare exactly one"
    if algorithm == "anatomy" and policy.unit is not None:
        yield "method.algorithm: 'anatomy' counts rows, not persons; leave the unit out"
