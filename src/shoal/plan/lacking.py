"""What a policy needs of an engine, and the sentence for what an engine lacks."""

from collections.abc import Iterator

from shoal.engine import Ability, Engine
from shoal.errors import BadInput
from shoal.policy import Policy


def refuse_lacking(policy: Policy, engine: Engine) -> None:
    """Refuse before any work a policy that needs what this engine cannot do."""
    for ability, what in _needed(policy):
        if ability not in engine.abilities:
            raise BadInput(f"{what} needs the table in memory: leave out --engine {engine.name} or raise --memory")


def _needed(policy: Policy) -> Iterator[tuple[Ability, str]]:
    method = policy.method
    if method.of_cells:
        yield Ability.CELLS, f"algorithm {method.algorithm!r} with suppress = {method.suppress!r}"
    if policy.blocking is not None:
        yield Ability.CELLS, "[blocking]"
    if policy.unit is not None:
        yield Ability.PERSONS, f"the role 'unit' of attribute {policy.unit!r}"
    if policy.population is not None:
        yield Ability.POPULATION, "a model that compares with a population"
    if policy.release.order == "keep":
        yield Ability.ORDER, "order = 'keep'"
