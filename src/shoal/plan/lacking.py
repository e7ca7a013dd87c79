"""What a policy needs of an engine, and the sentence for what an engine lacks."""

from collections.abc import Iterator

from shoal.engine import Ability, Engine
from shoal.errors import BadInput
from shoal.models import KAnonymity
from shoal.policy import Policy


def refuse_lacking(policy: Policy, engine: Engine) -> None:
    """Refuse before any work a policy that needs what this engine cannot do."""
    for ability, what in _needed(policy):
        if ability not in engine.abilities:
            raise BadInput(f"{what} needs the table in memory: leave out --engine {engine.name} or raise --memory")


def _needed(policy: Policy) -> Iterator[tuple[Ability, str]]:
    method = policy.method
    if method.of_cells:
        why = _beyond_boxes(policy)
        yield (Ability.BOXES, "algorithm 'mondrian'") if why is None else (Ability.CELLS, why)
    if policy.blocking is not None:
        yield Ability.CELLS, "[blocking]"
    if policy.republish is not None:
        yield Ability.CELLS, "[republish]"
    if policy.unit is not None:
        yield Ability.PERSONS, f"the role 'unit' of attribute {policy.unit!r}"
    if policy.population is not None:
        yield Ability.POPULATION, "a model that compares with a population"
    if policy.release.order == "keep":
        yield Ability.ORDER, "order = 'keep'"


def _beyond_boxes(policy: Policy) -> str | None:
    """What needs more than strict cuts for k alone, shown as ranges; None if nothing does."""
    method = policy.method
    if method.algorithm != "mondrian":
        return f"algorithm {method.algorithm!r} with suppress = {method.suppress!r}"
    others = [model.name for model in policy.models if not all(isinstance(part, KAnonymity) for part in model.parts())]
    if others:
        return f"{others[0]} with algorithm 'mondrian'"
    if policy.release.ranges == "observed":
        return "ranges = 'observed'"
    formed = [name for name, attribute in policy.attributes.items() if set(attribute.form or ()) - {"range"}]
    return f"the form of attribute {formed[0]!r}" if formed else None
