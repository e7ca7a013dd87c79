"""Reading of what callers pass: tables, policies, names, folders."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.engines.postgres.connection import Postgres, parse_postgres_table
from shoal.engines.reading.content import local_path
from shoal.errors import BadOutput, BadPolicy, ShoalWarning
from shoal.policy.document import Policy
from shoal.publish.fixed_recoding import EarlierRelease
from shoal.runtime.tempdir import settle

SourceLike = Any
"""A path, `-` for stdin, `postgres:schema.table`, or a frame of any kind that narwhals knows."""
PathLike = str | os.PathLike[str]
TargetLike = Postgres | str | None
"""A table of a database, `postgres:schema.table`."""
PolicyLike = Policy | PathLike | Mapping[str, Any] | EarlierRelease
"""A policy, the path of its file, a mapping of its parts, or an earlier release."""


def policy_of(given: Policy | PathLike | Mapping[str, Any]) -> Policy:
    """Return the policy in effect: an option that its algorithm does not read is ignored, with a warning."""
    return load_policy(given).in_effect()


def load_policy(given: Policy | PathLike | Mapping[str, Any]) -> Policy:
    """Return the policy as it was given, including options that its algorithm ignores."""
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | os.PathLike):
        return Policy.load(given)
    try:
        return Policy(**given)
    except TypeError:  # no mapping, or keys that are not text
        kind = type(given).__name__
        raise BadPolicy(f"a policy is a Policy, the path of its file or a mapping of its parts, not {kind!r}") from None


def earlier_folder_of(policy: PolicyLike) -> Path | None:
    return policy.folder if isinstance(policy, EarlierRelease) else None


def path_of(source: SourceLike) -> Path | None:
    """Return the file or folder that a release must not overwrite; None for anything but a local path."""
    if not isinstance(source, str | os.PathLike) or str(source) == "-" or parse_postgres_table(source) is not None:
        return None
    return local_path(source)


def is_file(text: PathLike) -> bool:
    """Whether there is a file of this name; a text that is too long to be a name counts as no file."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def target_of(to: TargetLike) -> Postgres | None:
    """Return the database table that a release is stored in beside its folders; None if none is named."""
    target = parse_postgres_table(to)
    if to is not None and target is None:
        raise BadOutput("a release is stored in a table of PostgreSQL: name it as postgres:schema.table")
    return target


def unique_names(names: str | Sequence[str]) -> list[str]:
    """Return one name, or several without repetitions, as a list."""
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def private_folder_of(folder: Path, private: PathLike | None) -> Path:
    """Return the private folder of a release, after finishing or undoing what a killed run left halfway."""
    found = Path(private) if private else folder.absolute().with_name(folder.absolute().name + ".private")
    settle(found)
    return found


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect Shoal's own warnings as sentences; others are issued at the end of the block."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, ShoalWarning):
            notes.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


@contextmanager
def warn_once() -> Iterator[None]:
    """Issue each warning once, though folds or algorithms raise it again and again."""
    with collect_warnings() as notes:
        yield
    for note in dict.fromkeys(notes):
        warnings.warn(ShoalWarning(note), stacklevel=4)
