"""attack: what an attacker can still learn from a release."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.api.given import Path_, Source_, path_of, policy_of, private_of, read_options, several
from shoal.api.readying import Known, ready
from shoal.api.release import Release
from shoal.attacks import Attack, Compose, Finding, Published, Truth
from shoal.engine import ReadOptions
from shoal.engines import ArrowEngine
from shoal.errors import BadInput
from shoal.mining import C45
from shoal.policy import Policy
from shoal.report.claims import load_public
from shoal.report.people_file import PeopleFile
from shoal.report.private import load_private, load_rows
from shoal.report.publishing import Columns, published_in_folder, published_in_memory, published_of
from shoal.report.queried import builders_of
from shoal.schema import Role

_ROLES = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


def attack(
    release: Source_ | Release,
    how: Attack,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | Path_ | Mapping[str, Any] | None = None,
    private: Path_ | None = None,
    original: Source_ = None,
    people: Path_ | None = None,
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
    how = ready(how, Known(release, policy, private))
    if isinstance(how, Compose):
        how = opened(how, named, policy, original)
    found = how.on(seen, right)
    if file is not None:
        file.write(found)
    return found


def rule_tree(
    release: Source_ | Release,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | Path_ | Mapping[str, Any] | None = None,
    private: Path_ | None = None,
) -> C45:
    """The decision tree that tells the first sensitive attribute of a release."""
    rules = rules_of(release, policy, private)
    seen = published(release, several(quasi_identifiers), several(sensitive), policy=rules, private=private)
    features = {name: column for name, column in seen.table.columns.items() if name not in seen.sensitive}
    return C45().fit_codes(features, seen.table[seen.sensitive[0]])


def opened(
    how: Compose,
    named: tuple[Sequence[str], Sequence[str]],
    policy: Policy | Path_ | Mapping[str, Any] | None,
    original: Source_,
) -> Compose:
    """The other releases, and who is behind their rows: by originals of their own, or by that of the first."""
    others = tuple(
        each if isinstance(each, Published) else published(each, *named, policy=policy) for each in how.others
    )
    if original is None:
        return replace(how, others=others)
    pairs = zip(how.others, how.truths or [original] * len(others), strict=False)
    behind = tuple(each if isinstance(each, Truth) else truth(other, each) for other, each in pairs)
    return replace(how, others=others, truths=behind)


def published(
    release: Source_ | Release,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    *,
    policy: Policy | Path_ | Mapping[str, Any] | None = None,
    private: Path_ | None = None,
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


def truth(release: Source_ | Release, original: Source_, private: Path_ | None = None) -> Truth:
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
    release: Source_ | Release, policy: Policy | Path_ | Mapping[str, Any] | None, private: Path_ | None
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


def _folder(release: Source_) -> Path | None:
    """The folder of a release, if it is one."""
    if not isinstance(release, str | Path) or not Path(release).is_dir():
        return None
    if not (Path(release) / "manifest.json").is_file():
        raise BadInput(f"{Path(release).name}: this folder is no release: it has no manifest.json")
    return Path(release)
