"""Choose the engine for a table, check that it can do what a policy needs, and have it read and recode."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from shoal.blocking.block import insert_added_rows
from shoal.engine_port import Ability, Engine, ReadOptions, ReleasedRows, Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.postgres.connection import parse_postgres_table
from shoal.engines.postgres.tables import estimate_memory
from shoal.engines.reading.assemble import ROW_NAMES, describe_total
from shoal.engines.reading.content import files_of, is_many, local_path, names_database, printable_name
from shoal.engines.reading.sniff import describe_values_among
from shoal.errors import BadData, BadInput, ShoalWarning
from shoal.models.k_anonymity import KAnonymity
from shoal.models.spec import suggest_nearest
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.problem import with_population
from shoal.registry import Registry
from shoal.runtime.events import phase
from shoal.runtime.memory import bytes_of


def refuse_missing_abilities(policy: Policy, engine: Engine, further: Iterable[tuple[Ability, str]] = ()) -> None:
    """Refuse, before any work, a policy that needs abilities this engine lacks; `further` ones are checked too."""
    for ability, what in (*further, *_needed_abilities(policy)):
        if ability not in engine.abilities:
            raise BadInput(f"{what} needs the table in memory: use the arrow engine or allow more memory")


def _needed_abilities(policy: Policy) -> Iterator[tuple[Ability, str]]:
    """Yield the abilities that a policy needs, each with the part of the policy that needs it."""
    method = policy.method
    if method.of_cells:
        why = _find_need_beyond_boxes(policy)
        yield (Ability.BOXES, "algorithm 'mondrian'") if why is None else (Ability.CELLS, why)
    if policy.blocking is not None:
        yield Ability.CELLS, "[blocking]"
    if policy.republish is not None:
        yield Ability.CELLS, "[republish]"
    if policy.unit is not None:
        yield Ability.PERSONS, f"the role 'unit' of attribute {policy.unit!r}"
    if policy.population is not None:
        yield Ability.POPULATION, "a model that compares with a population"
    if policy.release.order == "keep":
        yield Ability.ORDER, "order = 'keep'"


def _find_need_beyond_boxes(policy: Policy) -> str | None:
    """Return what in a policy needs more than strict cuts for k alone, shown as ranges; None if nothing does."""
    method = policy.method
    if method.algorithm != "mondrian":
        return f"algorithm {method.algorithm!r} with suppress = {method.suppress!r}"
    others = [model.name for model in policy.models if not all(isinstance(part, KAnonymity) for part in model.parts())]
    if others:
        return f"{others[0]} with algorithm 'mondrian'"
    if policy.release.ranges == "observed":
        return "ranges = 'observed'"
    formed = [name for name, attribute in policy.attributes.items() if set(attribute.form or ()) - {"range"}]
    return f"the form of attribute {formed[0]!r}" if formed else None


@dataclass(frozen=True)
class EngineKind:
    """An engine by its name, loaded when it is chosen."""

    name: str
    sentence: str
    """Which tables it is for."""
    make: Callable[[int | None, Path | None, str | None], Engine]
    """Makes it from a memory limit, a folder to spill into, and the address of a cluster."""


def _arrow(limit: int | None, spill: Path | None, master: str | None) -> Engine:  # noqa: ARG001
    return ArrowEngine()


def _duckdb(limit: int | None, spill: Path | None, master: str | None) -> Engine:  # noqa: ARG001
    from shoal.engines.duckdb.engine import DuckDBEngine

    return DuckDBEngine(limit, spill)


def _spark(limit: int | None, spill: Path | None, master: str | None) -> Engine:  # noqa: ARG001
    from shoal.engines.spark.engine import SparkEngine

    return SparkEngine(master=master, spill=spill)


ENGINES: Registry[EngineKind] = Registry(
    "shoal.engines",
    [
        EngineKind("arrow", "tables that fit in memory", _arrow),
        EngineKind("duckdb", "tables that do not fit in memory", _duckdb),
        EngineKind("spark", "tables on a cluster", _spark),
    ],
)
AUTO = "auto"
"""Stands for the engine that suits the table."""
_OF_FREE = 0.6
_PER_BYTE = 3
"""Rough number of bytes in memory for a byte of a CSV: its codes, its texts, and what is made of them."""
_PER_PACKED_BYTE = 30
"""The same for a byte of a CSV that is packed."""
_PER_CELL = 16
"""Rough number of bytes in memory for a cell of a Parquet file."""


def choose_engine(
    name: str, memory: str | int | None, source: Any, spill: Path | None = None, master: str | None = None
) -> Engine:
    """Return the engine of this name; `auto` chooses DuckDB for a table that seems too large for the memory.

    `master` is the address of the cluster, for the spark engine only.

    >>> choose_engine("auto", "1GB", "people.csv").name
    'arrow'
    """
    if name != AUTO and name not in ENGINES:
        *most, last = (AUTO, *ENGINES)
        raise BadInput(f"engine {name!r} is not known; choose {', '.join(most)} or {last}")
    if master is not None and name != "spark":
        raise BadInput("a master is for the spark engine only: choose that engine too")
    limit = None if memory is None else bytes_of(memory)
    if name == AUTO:
        clustered = type(source).__module__.startswith("pyspark.sql.")
        name = "spark" if clustered else "arrow" if _fits(source, limit) else "duckdb"
    return ENGINES[name].make(limit, spill, master)


def _fits(source: Any, limit: int | None) -> bool:
    """Return whether a source seems to fit in the memory that may be used."""
    most = limit if limit is not None else _free() * _OF_FREE
    return _estimate_memory(source) <= most


def read_into_memory(source: Any, options: ReadOptions) -> Source:
    """Read any table into memory: a file, a folder, a pattern, a database; refuse one that seems not to fit."""
    need, free = _estimate_memory(source), _free()
    if need > free:
        raise BadData(
            f"{printable_name(PurePath(str(source)).name)}: the table seems to need {need / 1e9:,.1f} GB of "
            f"memory, of which "
            f"{free / 1e9:,.1f} GB are free; give a sample of its rows"
        )
    return ArrowEngine().read(source, options)


def _estimate_memory(source: Any) -> int:
    """Estimate the bytes of memory that a source takes; 0 if it is in memory already, or can be read only once."""
    table = parse_postgres_table(source)
    if table is not None:
        return estimate_memory(table)
    if not isinstance(source, str | os.PathLike):
        return 0
    path = local_path(source)
    if path is not None and path.is_file() and not names_database(path):
        return _estimate_file_memory(path)
    from shoal.engines.duckdb.relations import database_of, estimate_cells

    database = database_of(os.fsdecode(source))
    if database is not None:
        return estimate_cells(database) * _PER_CELL
    if path is not None and is_many(path):
        return sum(_estimate_file_memory(file) for file in files_of(path, printable_name(path.name))[1])
    return 0


def _estimate_file_memory(path: Path) -> int:
    """Estimate the bytes of memory that a file takes."""
    if path.suffix.lower() != ".parquet":
        return path.stat().st_size * (_PER_PACKED_BYTE if path.suffix.lower() in {".gz", ".zst"} else _PER_BYTE)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found = parquet.read_metadata(path)
    except (pa.ArrowException, OSError, ValueError):
        return 0  # reading it will report what is wrong
    return int(found.num_rows * found.num_columns * _PER_CELL)


def _free() -> int:
    """Return the bytes of memory that are free, or held by caches that would give them back."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def read_options(policy: Policy | None, reading: Mapping[str, Any] | None = None) -> ReadOptions:
    """Return how a table is read: as `reading`, with the keys of [data], says, else as the policy says.

    Without a policy, everything else is detected, even the encoding.
    """
    if policy is not None:
        how = policy.read_as(reading or {}).data.model_dump(exclude={"others"})
        settled = ROW_NAMES in policy.attributes or policy.data.others is not None
        rounding, bounds = tuple(policy.rounding.items()), tuple(policy.bounds.items())
        return ReadOptions(**how, rounding=rounding, bounds=bounds, row_names_settled=settled)
    known = [each.name for each in fields(ReadOptions)]
    for key in reading or {}:
        if key not in known:
            raise BadInput(f"reading: {key!r} is not known{suggest_nearest(key, known)}")
    return ReadOptions(**{"guess_encoding": True, **(reading or {})})


def read_with_population(source: Any, policy: Policy, engine: Engine) -> Source:
    """Read the table and, if a model compares with a population, the population too, both as [data] says."""
    read = engine.read(source, read_options(policy))
    said = describe_values_among(read.name, list(read.table.columns)) if policy.data.header_row is None else None
    if said is not None and read.format in {"csv", "excel"}:
        raise BadData(said)
    if read.table.relation is None and (said := describe_total(read.name, read.table)) is not None:
        raise BadData(f"{said}, or, if it is one, write its first cell otherwise")
    if read.format == "excel" and read.delimiter == ";":
        said = "the sheet has decimal commas, so a CSV of it has semicolons between its cells, as Excel expects there"
        warnings.warn(ShoalWarning(said), stacklevel=2)
    if policy.population is None:
        return read
    return with_population(read, engine.read(policy.population, read_options(policy)), policy.quasi_identifiers)


@phase("recoding")
def recode(source: Source, plan: Plan, policy: Policy, engine: Engine) -> ReleasedRows:
    """Recode every row as the plan decided, and append the rows that the plan adds, numbered as by `with_added`."""
    names = [name for name, role in plan.roles.items() if role.released]
    if plan.recoding.moved is not None:
        names.remove(plan.recoding.moved)
    show = policy.release.suppressed == "show"
    shown = engine.recode(source, plan.recoding, plan.hierarchies, names, plan.quasi_identifiers, show=show)
    shown.columns.update(plan.recoding.further_columns())
    if plan.added is None:
        return shown
    assert shown.rows is not None
    return ReleasedRows(*insert_added_rows(shown.columns, shown.rows, plan.added))
