"""attack: what an attacker can still learn from a release."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api.given import Path_, Source_, policy_of, private_of, read_options, several
from shoal.api.release import Release
from shoal.attacks import Attack, Finding, Published, Rules, Truth
from shoal.engine import ReadOptions
from shoal.engines import ArrowEngine
from shoal.errors import BadInput
from shoal.policy import Policy
from shoal.report.claims import load_public
from shoal.report.private import load_private, load_rows
from shoal.report.publishing import Columns, published_in_folder, published_in_memory, published_of
from shoal.report.queried import builders_of
from shoal.schema import Role


def attack(
    release: Source_ | Release,
    how: Attack,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | Path_ | Mapping[str, Any] | None = None,
    private: Path_ | None = None,
    original: Source_ = None,
) -> Finding:
    """Run one attack on a release: one made here, a published folder, or any table whose columns are named.

    Hierarchies are those of the `policy` or else of the private folder beside a published one. With the `original`,
    guesses are held against the truth.
    """
    named = several(quasi_identifiers), several(sensitive)
    seen = published(release, *named, policy=policy, private=private)
    return how.on(seen, None if original is None else truth(release, original, private))


def attack_rules(
    release: Source_ | Release,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | Path_ | Mapping[str, Any] | None = None,
    private: Path_ | None = None,
    control: Source_ = None,
    **how: Any,
) -> Finding:
    """The rules that tell a sensitive value; `control` is a table of other people."""
    seen = published(release, several(quasi_identifiers), several(sensitive), policy=policy, private=private)
    others = None if control is None else ArrowEngine().read(control, ReadOptions()).table
    return Rules(control=others, **how).on(seen)


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
    rules = None if policy is None else policy_of(policy)
    if isinstance(release, Release):
        return _of_release(release)
    folder = _folder(release)
    if folder is not None:
        beside = private_of(folder, private)
        if rules is None and beside.is_dir():
            rules = load_private(beside).policy
        manifest = load_public(folder)
        if sensitive:
            manifest = manifest.model_copy(update={"sensitive": tuple(sensitive)})
        return published_in_folder(folder, manifest, None if rules is None else builders_of(rules))
    read = ArrowEngine().read(release, options or (ReadOptions() if rules is None else read_options(rules)))
    if rules is not None:
        quasi_identifiers = quasi_identifiers or rules.quasi_identifiers
        sensitive = sensitive or rules.named(Role.SENSITIVE)
    builders = None if rules is None else builders_of(rules)
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


def _of_release(release: Release) -> Published:
    plan = release.plan
    quasi = [name for columns in plan.released_as.values() for name in columns]
    sensitive = [name for name, role in plan.roles.items() if role is Role.SENSITIVE]
    roles = Columns(quasi, sensitive, plan.statistics)
    return published_in_memory("the release", release.row_by_row, roles, plan.builders, release.separate)


def _folder(release: Source_) -> Path | None:
    """The folder of a release, if it is one."""
    if not isinstance(release, str | Path) or not Path(release).is_dir():
        return None
    if not (Path(release) / "manifest.json").is_file():
        raise BadInput(f"{Path(release).name}: this folder is no release: it has no manifest.json")
    return Path(release)
