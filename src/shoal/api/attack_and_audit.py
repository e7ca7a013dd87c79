"""attack and audit: what an attacker can still learn from a release, and a verdict for each way of betraying people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks import ATTACKS
from shoal.attacks.attack import Attack, AuditInputs, Channel, Finding
from shoal.attacks.audit import Audit, Doubt, doubts_of_rows
from shoal.attacks.audit import audit as run_all
from shoal.attacks.prosecutor import Prosecutor, tell_persons
from shoal.attacks.release_under_attack import Published, Truth, labels_of
from shoal.data.codes import Codes, Table, encode
from shoal.engine_port import Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import read_options, recode
from shoal.errors import BadInput, BadPolicy, Infeasible
from shoal.explore.advice import compare_with_verdict
from shoal.explore.measure import warn_of_persons
from shoal.inputs import PathLike, SourceLike, collect_warnings, path_of, policy_of, private_folder_of, unique_names
from shoal.mining.c45 import C45
from shoal.models.model import Model
from shoal.models.spec import suggest_nearest
from shoal.pipeline import Release
from shoal.policy.document import Policy
from shoal.policy.method import find_minimal_part
from shoal.problem import persons_by, warn_of_repeated, warn_of_several_rows
from shoal.publish.claims import load_public
from shoal.publish.contents import PeopleFile, load_private, load_rows, read_verdict
from shoal.publish.manifest import fewest_persons
from shoal.publish.release_views import (
    ColumnRoles,
    builders_of,
    published_from_columns,
    published_from_plan,
    published_from_table,
    read_published_folder,
)
from shoal.roles import Role
from shoal.runtime.events import phase
from shoal.runtime.tempdir import settle
from shoal.solve import make_plan


@dataclass(frozen=True)
class ReleaseBackground:
    """What is known of how a release was made."""

    release: SourceLike | Release
    policy: Policy | PathLike | Mapping[str, Any] | None = None
    private: PathLike | None = None
    original: SourceLike = None
    named: tuple[Sequence[str], Sequence[str]] = ((), ())
    """Quasi-identifiers and sensitive attributes that were named for all releases."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Keys of [data] that were given: how every table is read that is no folder of a release."""

    @property
    def rules(self) -> Policy | None:
        """The policy that was given, or that the release was made by."""
        if self.policy is not None:
            return policy_of(self.policy)
        if isinstance(self.release, Release):
            return self.release.policy
        if isinstance(self.release, str | Path) and Path(self.release).is_dir():
            beside = private_folder_of(Path(self.release), self.private)
            return load_private(beside).policy if beside.is_dir() else None
        return None

    def read(self, source: SourceLike) -> Table | None:
        if source is None or isinstance(source, Table):
            return source
        rules = self.rules  # nulls are written as in the data; how else a file is written is found out
        nulls = {} if rules is None else {"missing": rules.data.missing}
        return ArrowEngine().read(source, read_options(None, {**nulls, **self.reading})).table

    @property
    def taken_as_sensitive(self) -> tuple[str, ...]:
        """Quasi-identifiers of the release, or of the policy, that were named as sensitive."""
        folder = None if isinstance(self.release, Release) else _folder(self.release)
        if folder is not None:
            declared: Sequence[str] = load_public(folder).quasi_identifiers
        else:
            declared = () if self.rules is None or self.named[0] else self.rules.quasi_identifiers
        return tuple(name for name in self.named[1] if name in declared)

    @property
    def models(self) -> Sequence[Model] | None:
        """What the policy promises, where it is known."""
        return None if self.rules is None else self.rules.models

    def open(self, release: SourceLike | Release) -> Published:
        """Return another release as an attacker has it."""
        return open_published(release, *self.named, policy=self.policy, reading=self.reading)

    def behind(self, release: SourceLike | Release, original: SourceLike) -> Truth:
        """Return the original and its rows behind a release."""
        return read_truth(release, original, reading=self.reading)

    def algorithm(self, attribute: str | None) -> tuple[Any, bool] | None:
        """Return a function from tables to releases, and whether it reads the attribute; None without a policy."""
        rules = self.rules
        if rules is None:
            return None
        attribute = attribute or next(iter([*self.named[1], *rules.named(Role.SENSITIVE)]), None)
        if attribute in self.taken_as_sensitive:
            raise BadPolicy(f"minimality varies an attribute that the policy declares sensitive, and not {attribute!r}")
        others = [name for name in rules.about if name != attribute]
        if attribute is None or others:
            raise BadPolicy(f"minimality varies one sensitive attribute, and the policy is about {others or 'none'}")
        return algorithm_of(rules, attribute), attribute in rules.about

    @property
    def minimal_part(self) -> tuple[Literal["class", "column"] | None, str]:
        """Where nothing could have been finer, by the policy; None where it could or nothing is known, and why."""
        rules = self.rules
        if rules is None:
            return None, ""
        if self.taken_as_sensitive:
            return None, f"{', '.join(self.taken_as_sensitive)} may have kept it from being finer"
        where, why = find_minimal_part(rules)
        if where is not None and self._search_was_cut_short:
            return None, "the search ended before it was sure of the best node"
        return where, why

    @property
    def _search_was_cut_short(self) -> bool:
        """Whether the release says that its node was not proved to be the best; False where nothing is known."""
        rules = self.rules
        if rules is None or rules.method.algorithm != "optimal":
            return False
        if isinstance(self.release, Release):
            return not self.release.summary.method.proved
        if isinstance(self.release, str | Path) and Path(self.release).is_dir():
            beside = private_folder_of(Path(self.release), self.private)
            return beside.is_dir() and not load_private(beside).manifest.method.proved
        return rules.method.time_limit is not None

    @property
    def least_levels(self) -> Mapping[str, int]:
        """The lowest level that the policy allows each attribute, where it names one."""
        rules = self.rules
        attributes = {} if rules is None else rules.attributes
        return {name: each.min_level for name, each in attributes.items() if each.min_level is not None}

    @property
    def promised_k(self) -> int | None:
        """The largest k that the manifest of a published folder promises."""
        if not isinstance(self.release, str | Path) or not Path(self.release).is_dir():
            return None
        asked = [model.asked.get("k") for model in load_public(Path(self.release)).models]
        return max((k for k in asked if isinstance(k, int)), default=None)


def algorithm_of(policy: Policy, attribute: str) -> Any:
    """Return a function from a table of quasi-identifiers and the attribute to its release, None if infeasible."""
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
        return published_from_columns(
            "a world", columns, ColumnRoles(quasi, [attribute], plan.statistics), plan.builders
        )

    return run


_ROLES = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


def attack(
    release: SourceLike | Release,
    how: Attack | str,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | PathLike | Mapping[str, Any] | None = None,
    private: PathLike | None = None,
    original: SourceLike = None,
    people: PathLike | None = None,
    force: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> Finding:
    """Run one attack on a release: one made here, a published folder, or any table whose columns are named.

    `how` is an attack with its options, `shoal.attacks.Homogeneity()`, or the name of one, "homogeneity". Of a plain
    table whose quasi-identifiers are not named, those that a join is on are taken.
    Hierarchies are those of the `policy` or else of the private folder beside a published one. With the `original`,
    guesses are held against the truth. Where an attack tells what it learned of each person, `people` is a CSV to write
    that to, which is private; the same is in `Finding.people`. `reading` holds keys of [data], for the tables that the
    attack reads.
    """
    how = _attack_of(how)
    where = None if isinstance(release, Release) else path_of(release)
    file = None if people is None else PeopleFile.choose(people, where, force=force)
    rules = rules_of(release, policy, private)
    named = unique_names(quasi_identifiers), unique_names(sensitive)
    if rules is None and not named[0]:
        named = unique_names(how.columns_of_table), named[1]
    seen = open_published(release, *named, policy=rules, private=private, reading=reading)
    known = ReleaseBackground(release, policy, private, original, named, reading or {})
    right = None if original is None else _truth_of(seen, release, original, private, reading, known.taken_as_sensitive)
    with phase("attacking"):
        found = how.prepared(known).on(seen, right)
    if file is not None:
        file.write(found)
    return found


def _attack_of(given: Attack | str) -> Attack:
    """Return the attack that is meant, with default options where only its name is given."""
    if isinstance(given, Attack):
        return given
    name = str(given)  # anything may be given
    if name not in ATTACKS:
        raise BadInput(f"{name!r} is no attack{suggest_nearest(name, ATTACKS)}; known: {', '.join(ATTACKS)}")
    made = ATTACKS[name].with_defaults()
    if isinstance(made, str):
        raise BadInput(f"{name}: {made}")
    return made


def rule_tree(
    release: SourceLike | Release,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | PathLike | Mapping[str, Any] | None = None,
    private: PathLike | None = None,
    reading: Mapping[str, Any] | None = None,
) -> C45:
    """Fit the decision tree that predicts the first sensitive attribute of a release."""
    rules = rules_of(release, policy, private)
    named = unique_names(quasi_identifiers), unique_names(sensitive)
    seen = open_published(release, *named, policy=rules, private=private, reading=reading)
    features = {name: seen.table[name] for name in seen.known_columns}
    return C45().fit_codes(features, seen.table[seen.sensitive[0]])


def open_published(
    release: SourceLike | Release,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    *,
    policy: Policy | PathLike | Mapping[str, Any] | None = None,
    private: PathLike | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Published:
    """Return a release as an attacker has it.

    A quasi-identifier of the release, or of the policy, that is named as sensitive is not known to the attacker.
    """
    if isinstance(release, Release):
        return published_from_plan(release.plan, release.policy, release.row_by_row, release.separate, sensitive)
    rules, folder = rules_of(release, policy, private), _folder(release)
    builders = None if rules is None else builders_of(rules, _ROLES)
    if folder is not None:
        return read_published_folder(folder, load_public(folder), builders, sensitive)
    read = ArrowEngine().read(release, read_options(rules, reading))
    if rules is None or quasi_identifiers:
        named = sensitive or (() if rules is None else rules.named(Role.SENSITIVE))
        return published_from_table(read.name, read.table, ColumnRoles(quasi_identifiers, named, {}), builders)
    roles = ColumnRoles(rules.quasi_identifiers, rules.named(Role.SENSITIVE), {}).with_sensitive(sensitive, read.name)
    return published_from_table(read.name, read.table, roles, roles.without_hierarchies(builders))


def read_truth(
    release: SourceLike | Release,
    original: SourceLike,
    private: PathLike | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Truth:
    """Return the original, and its row behind each released row, as the private folder records it."""
    if isinstance(release, Release):
        return Truth(release.source.table, release.rows)
    folder = _folder(release)
    if folder is None:
        raise BadInput("only a release that was made here knows which row of the original is behind which of its own")
    beside = private_folder_of(folder, private)
    read = ArrowEngine().read(original, read_options(load_private(beside).policy, reading))
    rows = load_rows(beside)
    if len(rows) and int(rows.max()) >= read.table.rows:
        raise BadInput(f"{read.name}: this is not the original: it has fewer rows than the release tells of")
    return Truth(read.table, rows)


def _truth_of(
    seen: Published,
    release: SourceLike | Release,
    original: SourceLike,
    private: PathLike | None,
    reading: Mapping[str, Any] | None,
    taken: Sequence[str],
) -> Truth:
    """Return the truth behind a release; refuse an original with other rows or columns.

    Of quasi-identifiers that are `taken` as sensitive, the truth is the label that the release shows.
    """
    found = read_truth(release, original, private, reading)
    if len(found.rows) != seen.rows or not {*seen.quasi_identifiers, *seen.sensitive} <= {*found.table.columns}:
        raise BadInput(
            f"{seen.name}: what was given as the original, or the private folder beside it, is of another table; give "
            "the table that this release was made from"
        )
    return _with_released_labels(found, seen, taken)


def _with_released_labels(truth: Truth, seen: Published, names: Sequence[str]) -> Truth:
    """Return the truth with the labels that the release shows of columns, since guesses at these are such labels.

    A row of the original that was not released has none.
    """
    behind = truth.rows >= 0
    columns = dict(truth.table.columns)
    for name in names:
        # [row of the original]: the code of its label; the last code is null
        codes = np.full(truth.table.rows, seen.table[name].size, dtype=np.int64)
        codes[truth.rows[behind]] = seen.table[name].codes[behind]
        texts = pa.array([*labels_of(seen.table, name), None], pa.string())
        columns[name] = encode(name, texts.take(pa.array(codes)))
    return Truth(replace(truth.table, columns=columns), truth.rows)


def rules_of(
    release: SourceLike | Release, policy: Policy | PathLike | Mapping[str, Any] | None, private: PathLike | None
) -> Policy | None:
    """Return the policy that explains a release: the one given, else the one it was made by, if available."""
    if policy is not None:
        return policy_of(policy)
    if isinstance(release, Release):
        return release.policy
    folder = _folder(release)
    beside = None if folder is None else private_folder_of(folder, private)
    return None if beside is None or not beside.is_dir() else load_private(beside).policy


def _folder(release: SourceLike) -> Path | None:
    """Return the folder of a release, None for other sources; first settle what a killed run left halfway."""
    if isinstance(release, str | Path):
        settle(Path(release))
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
    reading: Mapping[str, Any] | None = None,
) -> Audit:
    """Run every attack that fits a release, and say of each way of betraying people whether it is protected or exposed.

    A `register` of people, `others` about the same people, the `original` and a `control` table of people who are not
    in it let more attacks run; what was not run is said, with the reason. The verdict follows from what was run.
    `sensitive` columns take the place of those that the release declares; a quasi-identifier among them is attacked as
    sensitive, and not taken as known.
    `reading` holds keys of [data], for these tables.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["3*", "3*", "4*", "4*"], "ill": ["flu", "flu", "flu", "hiv"]})
    >>> [line.verdict_text for line in audit(table, quasi_identifiers="age", sensitive="ill").lines][:3]
    ['protected', 'exposed: 2 records', 'protected']
    """
    named = unique_names(quasi_identifiers), unique_names(sensitive)
    known = ReleaseBackground(release, policy, private, original, named, reading or {})
    rules = rules_of(release, policy, private)
    seen = open_published(release, *named, policy=rules, private=private, reading=reading)
    taken = known.taken_as_sensitive
    right = None if original is None else _truth_of(seen, release, original, private, reading, taken)
    given = AuditInputs(register, others, control, width, seed)
    kinds = [kind for kind in ATTACKS.values() if seen.sensitive or not kind.of_sensitive]
    fitting = [(kind, kind.for_audit(given)) for kind in kinds]
    absent = {Channel.COMPOSITION: "no other release about these people was given (--other, in Python others=[…])"}
    if not seen.sensitive:
        said = "no sensitive attribute was named (--sensitive, in Python sensitive=…)"
        absent |= {Channel.ATTRIBUTE: said, Channel.RULES: said, Channel.COMPOSITION: said}
    found = run_all(
        seen, [(kind.name, _prepare(how, known)) for kind, how in fitting], right, absent, tell or _ignore_progress
    )
    doubts = _warn_of_doubts(release, seen, right, rules, private)
    found = replace(found, doubts=doubts, taken_as_sensitive=taken)
    folder = None if isinstance(release, Release) else _folder(release)
    if rules is not None and rules.unit is not None and not seen.exact:
        found = _count_persons(found, _fewest_persons(seen, right, rules.unit, folder, private))
    verdict = None if folder is None else read_verdict(folder, private_folder_of(folder, private))
    if verdict is None:
        return found
    agreement = compare_with_verdict(found, verdict, with_original=original is not None)
    return replace(found, agreement=agreement)


def _count_persons(found: Audit, fewest: int | None) -> Audit:
    """Return the audit with the fewest persons of a class beside the fewest records, where they are known."""
    if fewest is None:
        return found
    told = (tell_persons(each, fewest) if each.attack == Prosecutor.name else each for each in found.findings)
    return replace(found, findings=tuple(told))


def _fewest_persons(
    seen: Published, right: Truth | None, unit: str, folder: Path | None, private: PathLike | None
) -> int | None:
    """Return the fewest persons in a class that shows something: counted in the original, else as the release tells."""
    if right is not None and unit in right.table.columns:
        persons = _persons_of_classes(seen, right.behind(unit))
        shown = np.ones(len(persons), dtype=bool)
        shown[seen.class_of_row[seen.hidden]] = False
        return int(persons[shown if shown.any() else slice(None)].min(initial=seen.rows))
    beside = None if folder is None else private_folder_of(folder, private)
    if beside is None or not beside.is_dir():
        return None
    return fewest_persons(model.model_dump() for model in load_private(beside).manifest.models)


def _warn_of_doubts(
    release: SourceLike | Release,
    seen: Published,
    right: Truth | None,
    rules: Policy | None,
    private: PathLike | None,
) -> dict[Channel, Doubt]:
    """Warn where rows were counted although persons repeat, and return the doubts about channels that follow."""
    if rules is not None and rules.unit is not None:
        return {}
    repeated = _warn_of_repeated_persons(release, seen, right, rules, private)
    of_row = persons_by(right.table, next(iter(repeated))) if right is not None and repeated else None
    if right is None or of_row is None:
        return doubts_of_rows(repeated)
    persons = _persons_of_classes(seen, right.follow(of_row))
    alone = int(seen.counts.sizes[persons == 1].sum())
    return doubts_of_rows(repeated, f"; the smallest class holds {int(persons.min()):,} of them", alone)


def _warn_of_repeated_persons(
    release: SourceLike | Release,
    seen: Published,
    right: Truth | None,
    rules: Policy | None,
    private: PathLike | None,
) -> dict[str, str]:
    """Warn of columns that name persons with several rows; return them with how often they repeat."""
    if isinstance(release, Release):
        table: Table | None = release.source.table
    else:
        table = None if right is None else right.table
    if table is not None and rules is not None:
        kept = {name for name, attribute in rules.attributes.items() if attribute.role is not Role.IDENTIFIER}
        return warn_of_several_rows(table, [name for name in table.columns if name not in kept])
    folder = None if isinstance(release, Release) else _folder(release)
    if folder is None:
        return warn_of_persons(seen.table, {*seen.quasi_identifiers, *seen.sensitive}, None)
    beside = private_folder_of(folder, private)
    return warn_of_repeated(load_private(beside).repeated) if beside.is_dir() else {}


def _persons_of_classes(seen: Published, persons: Codes) -> NDArray[np.int64]:
    """Return how many persons there are in each class; added rows belong to nobody."""
    # [2, pair]: the distinct pairs of a class and a person, so that each person counts once per class
    pairs = np.unique(np.stack([seen.class_of_row[persons >= 0], persons[persons >= 0]]), axis=1)
    return np.bincount(pairs[0], minlength=len(seen.counts.sizes))


def _ignore_progress(attack: str, share: float) -> None:
    """Ignore the progress of an audit."""


def _prepare(how: Attack | str, known: ReleaseBackground) -> Attack | str:
    """Return an attack with all tables read that it names, or a sentence on why it cannot be run."""
    if isinstance(how, str):
        return how
    try:
        return how.lacking(known) or how.prepared(known)
    except BadInput as why:
        return str(why)
