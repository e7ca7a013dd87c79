"""What callers give: tables, policies, names, folders."""

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
    """Return the policy as it was given, with what its own algorithm does not read."""
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | os.PathLike):
        return Policy.load(given)
    try:
        return Policy(**given)
    except TypeError:  # no mapping, or keys that are not text
        kind = type(given).__name__
        raise BadPolicy(f"a policy is a Policy, the path of its file or a mapping of its parts, not {kind!r}") from None


def folder_of(policy: PolicyLike) -> Path | None:
    return policy.folder if isinstance(policy, EarlierRelease) else None


def path_of(source: SourceLike) -> Path | None:
    """The file or folder that a release must not be written over; None for what is no path of this machine."""
    if not isinstance(source, str | os.PathLike) or str(source) == "-" or parse_postgres_table(source) is not None:
        return None
    return local_path(source)


def is_file(text: PathLike) -> bool:
    """Whether a file of this name is there; what is too long for a name is none."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def target_of(to: TargetLike) -> Postgres | None:
    """The table that a release is stored in beside its folders."""
    target = parse_postgres_table(to)
    if to is not None and target is None:
        raise BadOutput("a release is stored in a table of PostgreSQL: name it as postgres:schema.table")
    return target


def several(names: str | Sequence[str]) -> list[str]:
    """One name or several, each once."""
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def private_of(folder: Path, private: PathLike | None) -> Path:
    """The private folder of a release; what a killed run left halfway is settled first."""
    found = Path(private) if private else folder.absolute().with_name(folder.absolute().name + ".private")
    settle(found)
    return found


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the project's own warnings as sentences; others pass."""
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
def once() -> Iterator[None]:
    """Give each warning once that folds or algorithms would give again and again."""
    with collect_warnings() as notes:
        yield
    for note in dict.fromkeys(notes):
        warnings.warn(ShoalWarning(note), stacklevel=4)
