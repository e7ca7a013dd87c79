"""republish, remove: a table that has grown, or that people were erased from, published again."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.api.releases import refuse_unverified, verify
from shoal.data.codes import Table, reencode
from shoal.engine_port import ReadOptions, Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import read_options
from shoal.engines.postgres.connection import Postgres
from shoal.errors import BadInput, BadPolicy
from shoal.inputs import PathLike, PolicyLike, SourceLike, is_file, load_policy
from shoal.pipeline import Release, make_release
from shoal.publish.contents import load_private, load_rows
from shoal.publish.fixed_recoding import EarlierRelease
from shoal.publish.released_table import Frame
from shoal.republish.history import NAME as HISTORY
from shoal.republish.history import History
from shoal.republish.next_release import PreviousRelease, rebuild_history
from shoal.runtime.events import run
from shoal.runtime.tempdir import remove_scratch_folders


@overload
def republish(
    private: PathLike,
    source: PathLike | Postgres,
    policy: PolicyLike | None = ...,
    *,
    original: SourceLike = ...,
    increment: bool = ...,
    reading: Mapping[str, Any] | None = ...,
) -> Release[Any]: ...


@overload
def republish(
    private: PathLike,
    source: Frame,
    policy: PolicyLike | None = ...,
    *,
    original: SourceLike = ...,
    increment: bool = ...,
    reading: Mapping[str, Any] | None = ...,
) -> Release[Frame]: ...


def republish(
    private: PathLike,
    source: SourceLike,
    policy: PolicyLike | None = None,
    *,
    original: SourceLike = None,
    increment: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> Release:
    """Make the next release of a table that was published before, from its private folder; verified like any other.

    Nobody is told more of by all releases together than the policy allows, else Infeasible is raised. With `increment`
    the table has new rows only, which are published alone. `original` is the table of the release before, needed once
    if that was made without [republish] in its policy. `reading` holds keys of [data], for tables that are written in
    another way than before.

    >>> import tempfile
    >>> from shoal.api import anonymize
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
    >>> policy = {
    ...     "attributes": {"name": "identifier", "age": age, "ill": "sensitive"},
    ...     "require": [{"model": "distinct-l-diversity", "l": 2}],
    ...     "republish": {"key": "name", "way": "m-invariance", "m": 2, "counterfeits": 0.5},
    ... }
    >>> before = pa.table({"name": ["bob", "ann"], "age": [31, 38], "ill": ["dyspepsia", "bronchitis"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = anonymize(before, policy).save(f"{folder}/out")
    ...     release = republish(f"{folder}/out.private", before.slice(0, 1))
    >>> sorted(release.data["ill"].to_pylist()), release.summary.rows.added
    (['bronchitis', 'dyspepsia'], 1)
    """
    with run("republish"), remove_scratch_folders(kept=True):
        following = prepare_next_release(private, policy, original=original, increment=increment, reading=reading)
        return refuse_unverified(make_release(source, following))


def remove(
    rows: PathLike | Sequence[str],
    private: PathLike,
    original: SourceLike = None,
    policy: PolicyLike | None = None,
    *,
    reading: Mapping[str, Any] | None = None,
) -> Release:
    """Make the release without people who are to be erased, named by their keys or by a table with a column of them.

    `original` is the table that was released, found by its name where it is a file beside the folder or here. Who else
    must be left out so that nobody is betrayed by the difference is left out too; of those who are erased, the new
    private folder keeps nothing.
    """
    with run("remove"), remove_scratch_folders(kept=True):
        following, left = prepare_removal(rows, private, original, policy, reading=reading)
        return refuse_unverified(make_release(left, following))


def prepare_next_release(
    private: PathLike,
    policy: PolicyLike | None = None,
    *,
    original: SourceLike = None,
    increment: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> PreviousRelease:
    """Load what the next release follows: the earlier release, its policy and the history of its groups."""
    if isinstance(policy, EarlierRelease):
        raise BadInput("give a policy, not an earlier release: that is named by its private folder")
    found = PreviousRelease.load(private, None if policy is None else load_policy(policy), increment=increment)
    found = replace(found, policy=found.policy.read_as(reading or {}))
    if found.history is not None:
        return found
    known = load_private(found.folder)
    if known.policy.republish is not None:
        raise BadInput(f"{found.folder.name}/{HISTORY}: there is no such file; use a copy of the folder")
    if original is None:
        raise BadInput(
            f"{found.folder.name}: its policy had no [republish], so it does not tell who is who; give the table it "
            "was made from with --original (in Python original=…)"
        )
    assert found.policy.republish is not None
    if not known.levels or known.rows is not None or found.policy.republish.way == "m-invariance":
        raise BadPolicy(
            f"{found.folder.name}: only releases with one level per attribute can be continued that way, and not by "
            "m-invariance; anonymize afresh with [republish] in the policy"
        )
    read = ArrowEngine().read(original, read_options(found.policy))
    told = known.manifest
    if read.table.rows != told.rows.read:
        raise BadInput(
            f"{read.name}: this is not the original: it has {read.table.rows:,} rows, and the release was made of "
            f"{told.rows.read:,}"
        )
    rows = load_rows(found.folder, told)
    if len(rows) and int(rows.max()) >= read.table.rows:
        raise BadInput(f"{read.name}: this is not the original: it has fewer rows than the release tells of")
    history = rebuild_history(read.table, found.policy, known.levels, rows, read.name)
    if not _has_classes(history, told.classes.model_dump()) or not _is_true_of_original(
        found.folder, original, reading
    ):
        raise BadInput(f"{read.name}: this is not the original: its rows do not make the classes of the release")
    return replace(found, history=history)


def _has_classes(history: History, classes: Mapping[str, int]) -> bool:
    """Return whether the groups are as many and as large as the classes in a manifest."""
    # [group]: rows of each group
    sizes = np.bincount(history.group)
    return {"count": len(sizes), "min": sizes.min(), "max": sizes.max()}.items() <= classes.items()


def _is_true_of_original(private: Path, original: SourceLike, reading: Mapping[str, Any] | None) -> bool:
    """Return whether the release is true of the original; True if it is not beside its private folder."""
    published = private.with_name(private.name.removesuffix(".private"))
    if published == private or not (published / "manifest.json").is_file():
        return True
    return all(verdict.holds for verdict in verify(published, original=original, private=private, reading=reading))


def prepare_removal(
    rows: PathLike | Sequence[str],
    private: PathLike,
    original: SourceLike = None,
    policy: PolicyLike | None = None,
    *,
    reading: Mapping[str, Any] | None = None,
) -> tuple[PreviousRelease, Source]:
    """Return what the release without some people follows, and the table without them."""
    found = prepare_next_release(private, policy, original=original, reading=reading)
    original = _original(found) if original is None else original
    key = found.policy.key or ""
    read = ArrowEngine().read(original, read_options(found.policy))
    if key not in read.table.columns:
        raise BadInput(f"{read.name}: this is not the original: it has no column {key!r}")
    keys = _keys(rows, key, read_options(None, reading))
    if not len(keys):
        raise BadInput("nobody to remove is named; give keys, or a table of them")
    column = read.table[key]
    strange = len(keys) - int(pc.sum(pc.is_in(keys, value_set=column.texts)).as_py() or 0)
    if strange:
        raise BadInput(f"{read.name}: {strange} of {len(keys)} keys to remove are of nobody in column {key!r}")
    # rows whose key is not to be removed; False is appended for the code of null, the last one
    stay = np.flatnonzero(
        ~np.append(pc.is_in(column.texts, value_set=keys).to_numpy(zero_copy_only=False), False)[column.codes]
    )
    if not len(stay):
        raise BadInput(f"{read.name}: nobody would be left; withdraw the release instead")
    columns = {name: reencode(replace(each, codes=each.codes[stay])) for name, each in read.table.columns.items()}
    return replace(found, erased=keys), replace(read, table=Table(columns, len(stay)), native=None)


def _original(found: PreviousRelease) -> Path:
    """Return the file that was released, if it is still beside the private folder or here."""
    name = None if found.history is None else found.history.source
    if name is None or Path(name).name != name:
        raise BadInput(
            f"{found.folder.name}: the table it was made from was no file, was an increment, or has people who were "
            "erased since; give the table as it is now with --original (in Python original=…)"
        )
    for file in (found.folder.parent / name, Path(name)):
        if file.exists():
            return file
    raise BadInput(
        f"{name}: it lies neither beside {found.folder.name} nor here; give the table with --original (in "
        "Python original=…)"
    )


def _keys(rows: PathLike | Sequence[str], key: str, options: ReadOptions) -> pa.Array:
    """Return the keys of those to remove, each once."""
    if not isinstance(rows, str | os.PathLike):
        return pa.array(list(dict.fromkeys(map(str, rows))), pa.string())
    if not is_file(rows):
        raise BadInput(f"{Path(rows).name}: there is no such file; name the table of those to remove, or their keys")
    table = ArrowEngine().read(rows, options).table
    if key not in table.columns:
        raise BadInput(f"{Path(rows).name}: it has no column {key!r}, which tells who is to be removed")
    return table[key].texts
