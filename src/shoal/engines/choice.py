"""Chooses the engine that has the records, checks what a policy needs of it, and asks it to read and recode."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from shoal.blocking.block import with_added
from shoal.engine_port import Ability, Engine, ReadOptions, ReleasedRows, Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.postgres.connection import parse_postgres_table
from shoal.engines.postgres.tables import seems_to_need
from shoal.engines.reading.content import files_of, is_many, local_path, names_database, shown
from shoal.errors import BadData, BadInput
from shoal.models.k_anonymity import KAnonymity
from shoal.models.spec import nearest
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.problem import meet
from shoal.registry import Registry
from shoal.runtime.events import phase
from shoal.runtime.memory import bytes_of


def refuse_lacking(policy: Policy, engine: Engine, further: Iterable[tuple[Ability, str]] = ()) -> None:
    """Refuse before any work a policy that needs what this engine cannot do; `further` abilities are named too."""
    for ability, what in (*further, *_needed_abilities(policy)):
        if ability not in engine.abilities:
            raise BadInput(f"{what} needs the table in memory: use the arrow engine or allow more memory")


def _needed_abilities(policy: Policy) -> Iterator[tuple[Ability, str]]:
    method = policy.method
    if method.of_cells:
        why = _beyond_boxes(policy)
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


def _beyond_boxes(policy: Policy) -> str | None:
    """What needs more than strict cuts for k alone, shown as ranges; None if nothing does."""
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
    """Makes it from the memory that may be used, a folder to spill into, and the address of a cluster."""


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
    """The engine of this name; `auto` takes DuckDB for what seems too large for the memory.

    `master` is where the spark engine works.

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
    """Whether a source seems to fit in what may be used."""
    most = limit if limit is not None else _free() * _OF_FREE
    return _seems_to_need(source) <= most


def read_whole(source: Any, options: ReadOptions) -> Source:
    """Read any table into memory: a file, a folder, a pattern, a database; refuse one that seems not to fit."""
    need, free = _seems_to_need(source), _free()
    if need > free:
        raise BadData(
            f"{shown(PurePath(str(source)).name)}: the table seems to need {need / 1e9:,.1f} GB of memory, of which "
            f"{free / 1e9:,.1f} GB are free; give a sample of its rows"
        )
    return ArrowEngine().read(source, options)


def _seems_to_need(source: Any) -> int:
    """About how many bytes of memory a source takes; 0 for what is in memory already, or can be read only once."""
    table = parse_postgres_table(source)
    if table is not None:
        return seems_to_need(table)
    if not isinstance(source, str | os.PathLike):
        return 0
    path = local_path(source)
    if path is not None and path.is_file() and not names_database(path):
        return _needed_bytes(path)
    from shoal.engines.duckdb.relations import cells_in, database_of

    database = database_of(os.fsdecode(source))
    if database is not None:
        return cells_in(database) * _PER_CELL
    if path is not None and is_many(path):
        return sum(_needed_bytes(file) for file in files_of(path, shown(path.name))[1])
    return 0


def _needed_bytes(path: Path) -> int:
    if path.suffix.lower() != ".parquet":
        return path.stat().st_size * (_PER_PACKED_BYTE if path.suffix.lower() in {".gz", ".zst"} else _PER_BYTE)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found = parquet.read_metadata(path)
    except (pa.ArrowException, OSError, ValueError):
        return 0  # whoever reads it says what is wrong
    return int(found.num_rows * found.num_columns * _PER_CELL)


def _free() -> int:
    """Bytes of memory that nobody uses, or that caches would give back."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def read_options(policy: Policy | None, reading: Mapping[str, Any] | None = None) -> ReadOptions:
    """How a table is read: as `reading`, keys of [data], says, else as the policy does.

    Without a policy, what is not said is found out, even the encoding.
    """
    if policy is not None:
        how = policy.read_as(reading or {}).data.model_dump(exclude={"others"})
        return ReadOptions(**how, rounding=tuple(policy.rounding.items()))
    known = [each.name for each in fields(ReadOptions)]
    for key in reading or {}:
        if key not in known:
            raise BadInput(f"reading: {key!r} is not known{nearest(key, known)}")
    return ReadOptions(**{"guess_encoding": True, **(reading or {})})


def read_for(source: Any, policy: Policy, engine: Engine) -> Source:
    """Read the table and, where a model compares with everybody, the population, both as [data] says."""
    read = engine.read(source, read_options(policy))
    if policy.population is None:
        return read
    return meet(read, engine.read(policy.population, read_options(policy)), policy.quasi_identifiers)


@phase("recoding")
def recode(source: Source, plan: Plan, policy: Policy, engine: Engine) -> ReleasedRows:
    """Recode every row as the plan decided, with the rows that it added, as `with_added` numbers them."""
    names = [name for name, role in plan.roles.items() if role.released]
    if plan.recoding.moved is not None:
        names.remove(plan.recoding.moved)
    show = policy.release.suppressed == "show"
    shown = engine.recode(source, plan.recoding, plan.hierarchies, names, plan.quasi_identifiers, show=show)
    shown.columns.update(plan.recoding.further_columns())
    if plan.added is None:
        return shown
    assert shown.rows is not None
    return ReleasedRows(*with_added(shown.columns, shown.rows, plan.added))
