"""attack and audit: what an attacker can still learn from a release, and a verdict for each way of betraying people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.attacks import ATTACKS
from shoal.attacks.attack import Attack, AuditInputs, Channel, Finding
from shoal.attacks.audit import Audit
from shoal.attacks.audit import audit as run_all
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.codes import Table
from shoal.engine_port import ReadOptions, Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import read_options, recode
from shoal.errors import BadInput, BadPolicy, Infeasible
from shoal.inputs import PathLike, SourceLike, collect_warnings, path_of, policy_of, private_of, several
from shoal.mining.c45 import C45
from shoal.models.model import Model
from shoal.pipeline import Release
from shoal.policy.document import Policy
from shoal.publish.claims import load_public
from shoal.publish.contents import PeopleFile, load_private, load_rows
from shoal.publish.release_views import Columns, builders_of, published_in_folder, published_in_memory, published_of
from shoal.roles import Role
from shoal.runtime.events import phase
from shoal.solve import make_plan


@dataclass(frozen=True)
class Known:
    """What is known of how a release was made."""

    release: SourceLike | Release
    policy: Policy | PathLike | Mapping[str, Any] | None = None
    private: PathLike | None = None
    original: SourceLike = None
    named: tuple[Sequence[str], Sequence[str]] = ((), ())
    """Quasi-identifiers and sensitive attributes that were named for all releases."""

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

    def read(self, source: SourceLike) -> Table | None:
        if source is None or isinstance(source, Table):
            return source
        rules = self.rules  # nulls are written as in the data; how else a file is written is found out
        missing = ReadOptions().missing if rules is None else rules.data.missing
        return ArrowEngine().read(source, ReadOptions(missing=tuple(missing))).table

    @property
    def models(self) -> Sequence[Model] | None:
        """What the policy promises, where it is known."""
        return None if self.rules is None else self.rules.models

    def open(self, release: SourceLike | Release) -> Published:
        """Another release as an attacker has it."""
        return published(release, *self.named, policy=self.policy)

    def behind(self, release: SourceLike | Release, original: SourceLike) -> Truth:
        """The rows of the original behind a release."""
        return truth(release, original)

    def algorithm(self, attribute: str | None) -> tuple[Any, bool] | None:
        """What the policy releases of any table, and whether that depends on the attribute; None without a policy."""
        rules = self.rules
        if rules is None:
            return None
        attribute = attribute or next(iter(rules.named(Role.SENSITIVE)), None)
        others = [name for name in rules.about if name != attribute]
        if attribute is None or others:
            raise BadPolicy(f"minimality varies one sensitive attribute, and the policy is about {others or 'none'}")
        return algorithm_of(rules, attribute), attribute in rules.about

    @property
    def promised_k(self) -> int | None:
        """The k that a published folder tells."""
        if not isinstance(self.release, str | Path) or not Path(self.release).is_dir():
            return None
        asked = [model.asked.get("k") for model in load_public(Path(self.release)).models]
        return max((int(k) for k in asked if k is not None), default=None)


def algorithm_of(policy: Policy, attribute: str) -> Any:
    """What a policy releases of a table of quasi-identifiers and one sensitive attribute; None where it cannot."""
    names = {*policy.quasi_identifiers, attribute}
    rules = policy.model_copy(update={"attributes": {n: a for n, a in policy.attributes.items() if n in names}})
    if policy.population is not None or policy.unit is not None:
        raise BadInput("minimality runs policies that need neither a population nor a unit")

    def run(world: Table) -> Published | None:
        source = Source(world, "frame", "a world")
        with collect_warnings():  # the same for every world
            try:
                plan = make_plan(source, rules, ArrowEngine())
            except Infeasible:
                return None
            columns = recode(source, plan, rules, ArrowEngine()).columns
        quasi = [name for shown in plan.released_as.values() for name in shown]
        return published_in_memory("a world", columns, Columns(quasi, [attribute], plan.statistics), plan.builders)

    return run


_ROLES = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


def attack(
    release: SourceLike | Release,
    how: Attack,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | PathLike | Mapping[str, Any] | None = None,
    private: PathLike | None = None,
    original: SourceLike = None,
    people: PathLike | None = None,
    force: bool = False,
) -> Finding:
    """Run one attack on a release: one made here, a published folder, or any table whose columns are named.

    Hierarchies are those of the `policy` or else of the private folder beside a published one. With the `original`,
    guesses are held against the truth. Where an attack tells what it learned of each person, `people` is a CSV to write
    that to, which is private; the same is in `Finding.people`.
    """
    where = None if isinstance(release, Release) else path_of(release)
    file = None if people is None else PeopleFile.choose(people, where, force=force)
    named = several(quasi_identifiers), several(sensitive)
    seen = published(release, *named, policy=rules_of(release, policy, private), private=private)
    right = None if original is None else truth(release, original, private)
    with phase("attacking"):
        found = how.prepared(Known(release, policy, private, original, named)).on(seen, right)
    if file is not None:
        file.write(found)
    return found


def rule_tree(
    release: SourceLike | Release,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | PathLike | Mapping[str, Any] | None = None,
    private: PathLike | None = None,
) -> C45:
    """The decision tree that tells the first sensitive attribute of a release."""
    rules = rules_of(release, policy, private)
    seen = published(release, several(quasi_identifiers), several(sensitive), policy=rules, private=private)
    features = {name: column for name, column in seen.table.columns.items() if name not in seen.sensitive}
    return C45().fit_codes(features, seen.table[seen.sensitive[0]])


def published(
    release: SourceLike | Release,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    *,
    policy: Policy | PathLike | Mapping[str, Any] | None = None,
    private: PathLike | None = None,
    options: ReadOptions | None = None,
) -> Published:
    """A release as an attacker has it."""
    if isinstance(release, Release):
        return _of_release(release)
    rules, folder = rules_of(release, policy, private), _folder(release)
    if folder is not None:
        manifest = load_public(folder)
        if sensitive:
            manifest = manifest.model_copy(update={"sensitive": tuple(sensitive)})
        return published_in_folder(folder, manifest, None if rules is None else builders_of(rules, _ROLES))
    read = ArrowEngine().read(release, options or (ReadOptions() if rules is None else read_options(rules)))
    if rules is not None:
        quasi_identifiers = quasi_identifiers or rules.quasi_identifiers
        sensitive = sensitive or rules.named(Role.SENSITIVE)
    builders = None if rules is None else builders_of(rules, _ROLES)
    return published_of(read.name, read.table, Columns(quasi_identifiers, sensitive, {}), builders)


def truth(release: SourceLike | Release, original: SourceLike, private: PathLike | None = None) -> Truth:
    """The original and the row of it behind each released one, as the private folder tells."""
    if isinstance(release, Release):
        return Truth(release.source.table, release.rows)
    folder = _folder(release)
    if folder is None:
        raise BadInput("only a release that was made here knows which row of the original is behind which of its own")
    beside = private_of(folder, private)
    read = ArrowEngine().read(original, read_options(load_private(beside).policy))
    rows = load_rows(beside)
    if len(rows) and int(rows.max()) >= read.table.rows:
        raise BadInput(f"{read.name}: this is not the original: it has fewer rows than the release tells of")
    return Truth(read.table, rows)


def rules_of(
    release: SourceLike | Release, policy: Policy | PathLike | Mapping[str, Any] | None, private: PathLike | None
) -> Policy | None:
    """The policy that explains a release: the one given, or else the one that it was made by, where that is at hand."""
    if policy is not None:
        return policy_of(policy)
    if isinstance(release, Release):
        return release.policy
    folder = _folder(release)
    beside = None if folder is None else private_of(folder, private)
    return None if beside is None or not beside.is_dir() else load_private(beside).policy


def _of_release(release: Release) -> Published:
    plan = release.plan
    quasi = [name for columns in plan.released_as.values() for name in columns]
    sensitive = [name for name, role in plan.roles.items() if role is Role.SENSITIVE]
    roles = Columns(quasi, sensitive, plan.statistics)
    builders = dict(plan.builders) | builders_of(release.policy, [Role.SENSITIVE])
    return published_in_memory("the release", release.row_by_row, roles, builders, release.separate)


def _folder(release: SourceLike) -> Path | None:
    """The folder of a release, if it is one."""
    if not isinstance(release, str | Path) or not Path(release).is_dir():
        return None
    if not (Path(release) / "manifest.json").is_file():
        raise BadInput(f"{Path(release).name}: this folder is no release: it has no manifest.json")
    return Path(release)


def audit(
    release: SourceLike | Release,
    *,
    register: SourceLike = None,
    others: Sequence[SourceLike | Release] = (),
    original: SourceLike = None,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | PathLike | Mapping[str, Any] | None = None,
    private: PathLike | None = None,
    control: SourceLike = None,
    width: float | None = None,
    seed: int = 0,
    tell: Callable[[str, float], None] | None = None,
) -> Audit:
    """Run every attack that fits a release, and say of each way of betraying people whether it is protected or exposed.

    A `register` of people, `others` about the same people, the `original` and a `control` table of people who are not
    in it let more attacks run; what was not run is said, with the reason. The verdict follows from what was run.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["3*", "3*", "4*", "4*"], "ill": ["flu", "flu", "flu", "hiv"]})
    >>> [line.said for line in audit(table, quasi_identifiers="age", sensitive="ill").lines][:3]
    ['protected', 'exposed: 2 records', 'protected']
    """
    named = several(quasi_identifiers), several(sensitive)
    known = Known(release, policy, private, original, named)
    seen = published(release, *named, policy=rules_of(release, policy, private), private=private)
    right = None if original is None else truth(release, original, private)
    given = AuditInputs(register, others, control, width, seed)
    kinds = [kind for kind in ATTACKS.values() if seen.sensitive or not kind.of_sensitive]
    fitting = [(kind, kind.for_audit(given)) for kind in kinds]
    absent = {Channel.COMPOSITION: "no other release about these people was given (--other)"}
    if not seen.sensitive:
        said = "no sensitive attribute was named (--sensitive)"
        absent |= {Channel.ATTRIBUTE: said, Channel.RULES: said, Channel.COMPOSITION: said}
    return run_all(seen, [(kind.name, _prepared(how, known)) for kind, how in fitting], right, absent, tell or _untold)


def _untold(attack: str, share: float) -> None:
    """Tell nobody which attack is run."""


def _prepared(how: Attack | str, known: Known) -> Attack | str:
    """An attack with everything read that it names; or why it cannot be run."""
    if isinstance(how, str):
        return how
    try:
        return how.lacking(known) or how.prepared(known)
    except BadInput as why:
        return str(why)
