"""What attacks name by a path or a frame, read: other releases, registers, the algorithm behind a policy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.api.given import Path_, Source_, noted, policy_of, private_of
from shoal.api.release import Release
from shoal.attacks import Attack, Compose, Downcode, Join, Minimality, Published, Rules, SinglingOut
from shoal.codes import Table
from shoal.engine import ReadOptions, Source
from shoal.engines import ArrowEngine
from shoal.errors import BadInput, BadPolicy, Infeasible
from shoal.plan import make_plan
from shoal.policy import Policy
from shoal.report.claims import load_public
from shoal.report.figures import released_by
from shoal.report.private import load_private
from shoal.report.publishing import Columns, published_in_memory
from shoal.schema import Role


@dataclass(frozen=True)
class Known:
    """What is known of how a release was made."""

    release: Source_ | Release
    policy: Policy | Path_ | Mapping[str, Any] | None = None
    private: Path_ | None = None

    @property
    def rules(self) -> Policy | None:
        """The policy that was given, or that the release was made by."""
        if self.policy is not None:
            return policy_of(self.policy)
        if isinstance(self.release, Release):
            return self.release.policy
        if isinstance(self.release, str | Path) and Path(self.release).is_dir():
            beside = private_of(Path(self.release), self.private)
            return load_private(beside).policy if beside.is_dir() else None
        return None

    def read(self, source: Source_) -> Table | None:
        if source is None or isinstance(source, Table):
            return source
        rules = self.rules  # nulls are written as in the data; how else a file is written is found out
        missing = ReadOptions().missing if rules is None else rules.data.missing
        return ArrowEngine().read(source, ReadOptions(missing=tuple(missing))).table

    @property
    def promised_k(self) -> int | None:
        """The k that a published folder tells."""
        if not isinstance(self.release, str | Path) or not Path(self.release).is_dir():
            return None
        asked = [model.asked.get("k") for model in load_public(Path(self.release)).models]
        return max((int(k) for k in asked if k is not None), default=None)


def ready(how: Attack, known: Known) -> Attack:
    """The attack with everything read that it names; other releases are opened by `attack` itself."""
    if isinstance(how, Compose | Join):
        return replace(how, register=known.read(how.register))
    if isinstance(how, Rules | SinglingOut):
        return replace(how, control=known.read(how.control))
    if isinstance(how, Downcode):
        return _promised(replace(how, control=known.read(how.control)), known)
    if isinstance(how, Minimality):
        return _running(replace(how, register=known.read(how.register)), known)
    return how


def _promised(how: Downcode, known: Known) -> Downcode:
    if how.models or how.k is not None:
        return how
    rules = known.rules
    return replace(how, models=tuple(rules.models)) if rules is not None else replace(how, k=known.promised_k)


def _running(how: Minimality, known: Known) -> Minimality:
    rules = known.rules
    if how.algorithm is not None or rules is None:
        return how
    attribute = how.attribute or next(iter(rules.named(Role.SENSITIVE)), None)
    others = [name for name in rules.about if name != attribute]
    if attribute is None or others:
        raise BadPolicy(f"minimality varies one sensitive attribute, and the policy is about {others or 'none'}")
    return replace(how, algorithm=algorithm_of(rules, attribute), depends=attribute in rules.about)


def algorithm_of(policy: Policy, attribute: str) -> Any:
    """What a policy releases of a table of quasi-identifiers and one sensitive attribute; None where it cannot."""
    names = {*policy.quasi_identifiers, attribute}
    rules = policy.model_copy(update={"attributes": {n: a for n, a in policy.attributes.items() if n in names}})
    if policy.population is not None or policy.unit is not None:
        raise BadInput("minimality runs policies that need neither a population nor a unit")

    def run(world: Table) -> Published | None:
        source = Source(world, "frame", "a world")
        with noted():  # the same for every world
            try:
                plan = make_plan(source, rules, ArrowEngine())
            except Infeasible:
                return None
            columns = released_by(plan, rules, source, ArrowEngine()).columns
        quasi = [name for shown in plan.released_as.values() for name in shown]
        return published_in_memory("a world", columns, Columns(quasi, [attribute], plan.statistics), plan.builders)

    return run
