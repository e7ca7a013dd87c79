"""workload: what queries answer from a release, beside the original."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.api.given import (
    Path_,
    Source_,
    path_of,
    private_of,
    read_options,
)
from shoal.api.release import Release
from shoal.engine import Source
from shoal.engines import ArrowEngine
from shoal.errors import BadInput
from shoal.policy import Policy
from shoal.report.claims import load_public
from shoal.report.folder import write_whole
from shoal.report.private import load_private
from shoal.report.queried import builders_of, original_of, shown_in_folder, shown_in_memory
from shoal.workload import (
    SANITY,
    Query,
    WorkloadReport,
    attributes_of,
    compare_answers,
    load_queries,
    queries_of,
    random_queries,
    toml_of,
)


def workload(
    source: Source_,
    out: Path_ | Release,
    *,
    queries: Path_ | Iterable[Query | Mapping[str, Any]] | None = None,
    random: int | None = None,
    attributes: int = 2,
    selectivity: float = 0.1,
    seed: int = 0,
    sanity: float = SANITY,
    private: Path_ | None = None,
    save: Path_ | None = None,
    force: bool = False,
) -> WorkloadReport:
    """Answer queries from a release under the uniform assumption, beside the answers of the original (S4.8).

    `queries` is a file or the queries themselves, else so many `random` ones are drawn on so many quasi-identifiers
    each; `save` writes them as TOML. What comes back tells of the original: it is private.

    >>> import pyarrow as pa
    >>> from shoal.api import anonymize
    >>> people = pa.table({"age": [31, 34, 38, 39]})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> release = anonymize(people, {"attributes": {"age": age}, "require": [{"model": "k-anonymity", "k": 2}]})
    >>> found = workload(people, release, queries=[{"count": True, "where": {"age": {"to": 34}}}, {"avg": "age"}])
    >>> [(one.estimate, one.actual, one.matches) for one in found.answered]
    [(2.0, 2.0, True), (34.5, 35.5, True)]
    """
    _refuse_both(queries, random)
    file = None if save is None else _new_file(save, path_of(source), force=force)
    manifest = None if isinstance(out, Release) else load_public(Path(out))
    policy = out.policy if isinstance(out, Release) else load_private(private_of(Path(out), private)).policy
    builders = out.plan.builders if isinstance(out, Release) else builders_of(policy)
    read = ArrowEngine().read(source, read_options(policy))
    original = original_of(read.table, read.name, policy, builders)
    asked = asked_of(read, policy, queries, random, attributes=attributes, selectivity=selectivity, seed=seed)
    if file is not None:
        write_whole(file, toml_of(asked))
    names = attributes_of(asked)
    if isinstance(out, Release):
        shown = shown_in_memory(out.row_by_row, out.plan, names, original)
    else:
        assert manifest is not None
        shown = shown_in_folder(Path(out), manifest, names, original)
    with _about(queries):
        return compare_answers(shown, original, asked, sanity=sanity)


def _refuse_both(queries: Any, random: int | None) -> None:
    if (queries is None) == (random is None):
        raise BadInput("give either a workload of queries or a number of random ones, not both and not neither")


def asked_of(
    read: Source,
    policy: Policy,
    queries: Path_ | Iterable[Query | Mapping[str, Any]] | None,
    random: int | None,
    **how: Any,
) -> tuple[Query, ...]:
    """The queries of a file, those given, or random ones."""
    _refuse_both(queries, random)
    if random is not None:
        return random_queries(read.table, policy.quasi_identifiers, random, **how)
    return load_queries(queries) if isinstance(queries, str | os.PathLike) else queries_of(queries or ())


@contextmanager
def _about(queries: Any) -> Iterator[None]:
    """Names the file of queries in what is wrong with one of them."""
    try:
        yield
    except BadInput as wrong:
        named = isinstance(queries, str | os.PathLike)
        raise BadInput(f"{Path(queries).name}: {wrong}" if named else str(wrong)) from None


def _new_file(path: Path_, source: Path | None, *, force: bool) -> Path:
    """A file that may be written: never over the table, over others only when forced."""
    file = Path(path)
    if source is not None and file.exists() and source.exists() and file.samefile(source):
        raise BadInput(f"{file.name}: the queries would be written over the table; name another file")
    if file.exists() and not force:
        raise BadInput(f"{file.name}: there is such a file already; use --force to replace it or name another")
    return file
