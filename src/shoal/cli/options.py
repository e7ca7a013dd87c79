"""What commands share: options for reading tables, parsing of names and nodes, time limits, interrupts, logs."""

import inspect
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.errors import BadInput, BadOutput, Infeasible
from shoal.runtime.events import write_json_log

if TYPE_CHECKING:
    from shoal.policy.document import Policy

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|\Z)')
_PLAIN = re.compile(r'(?!\s*")\s*([^,]*?)\s*(?:,|\Z)')


def split_names(options: Sequence[str] | None) -> list[str]:
    """Split names at commas, each once; as in a CSV, quotes enclose a name with a comma or an outer space.

    >>> split_names(["age, sex", '"a,b"," c"', "age"])
    ['age', 'sex', 'a,b', ' c']
    """
    return list(dict.fromkeys(name for option in options or () for name in _split_quoted(option)))


def number_or_text(option: str) -> float | str:
    """Return the option as a number if it is one, else as it is.

    >>> number_or_text("0.05"), number_or_text("k")
    (0.05, 'k')
    """
    try:
        return float(option)
    except ValueError:
        return option


def share_as_number(name: str, option: str) -> float:
    """Return a share as a number, also one that is written as a ratio.

    >>> share_as_number("selectivity", "0.1"), share_as_number("selectivity", "1/4")
    (0.1, 0.25)
    """
    from shoal.models.model import exact_share

    try:
        return float(exact_share(name, number_or_text(option)))
    except ValueError as wrong:
        raise BadInput(str(wrong)) from None


def load_policy(path: Path) -> "Policy":
    """Read a policy file; print what of it is ignored as notes."""
    from shoal.cli.console import print_warnings
    from shoal.policy.document import Policy

    with print_warnings():
        return Policy.load(path)


def at_node(policy: "Policy", node: str | None) -> "Policy":
    """Return the policy fixed at a node, written `age=2,sex=0` or `[2,0]` as `shoal lattice` lists it; None: unchanged.

    >>> from shoal.policy.document import Policy
    >>> both = {"sex": "quasi-identifier", "age": "quasi-identifier"}
    >>> policy = Policy(attributes=both, require=[{"model": "k-anonymity", "k": 2}])
    >>> at_node(policy, "[2,0]") == at_node(policy, "age=0, sex=2")
    True
    """
    if node is None:
        return policy
    pairs = [part.rpartition("=") for part in _split_quoted(node.strip().removeprefix("[").removesuffix("]"))]
    names = [name if name in policy.quasi_identifiers else name.strip() for name, _, _ in pairs]
    if pairs and not any(names):
        names = policy.quasi_identifiers if len(policy.quasi_identifiers) == len(pairs) else names
    levels = [level.strip() for _, _, level in pairs]
    if not pairs or not all(names) or len(set(names)) < len(names) or not all(level.isdecimal() for level in levels):
        raise BadInput(f"--node {node!r}: write the level of every quasi-identifier, e.g. age=2,sex=0")
    return policy.at_node(dict(zip(names, map(int, levels), strict=True)))


def node_option(levels: Mapping[str, int]) -> str:
    """Format a node as `--node` reads it, quoted for a shell; names with commas, quotes or outer spaces are quoted.

    >>> print(node_option({"age": 2, "a,b": 0}))
    'age=2,"a,b=0"'
    """
    pairs = [f"{name}={level}" for name, level in levels.items()]
    plain = [not {*',"'} & {*pair} and pair == pair.strip() for pair in pairs]
    quoted = [one if fine else '"' + one.replace('"', '""') + '"' for one, fine in zip(pairs, plain, strict=True)]
    return shlex.quote(",".join(quoted))


def _split_quoted(option: str) -> list[str]:
    found, at = [], 0
    while at < len(option):
        quoted = _QUOTED.match(option, at)
        part = quoted or _PLAIN.match(option, at)
        if part is None:
            raise BadInput(f"{option!r}: a quote is not closed, or something stands beside it; write '\"a,b\",c'")
        found.append(part[1].replace('""', '"') if quoted else part[1])
        at = part.end()
    return [name for name in found if name]


def _parse_rows(option: str) -> int | tuple[int, int]:
    """Parse the row that names the columns, or the first and the last of several.

    >>> _parse_rows("3"), _parse_rows("3-4")
    (3, (3, 4))
    """
    rows = [int(row) if row.isascii() and row.isdecimal() else 0 for row in option.split("-")]
    if len(rows) > 2 or rows[0] < 1 or rows[-1] < rows[0]:
        raise BadInput(f"--header-row: a row from 1, or the first and the last of several (3-4), not {option!r}")
    return rows[0] if len(rows) == 1 else (rows[0], rows[1])


_READING: Mapping[str, Any] = {
    "missing": Annotated[
        list[str] | None, typer.Option(help="Texts that mean: not known; separated by commas. Empty cells always do.")
    ],
    "delimiter": Annotated[str | None, typer.Option(help="Of a CSV; found out unless given.")],
    "encoding": Annotated[str | None, typer.Option(help="Of a CSV, e.g. cp1252 or latin-1.")],
    "decimal": Annotated[str | None, typer.Option(help="Decimal mark of a CSV, . or ,; found out unless given.")],
    "thousands": Annotated[
        str | None,
        typer.Option(help="Mark between thousands, . , ' or a blank; found out where a number has a decimal mark too."),
    ],
    "sheet": Annotated[str | None, typer.Option(help="Of an Excel file; the first with a table unless given.")],
    "header_row": Annotated[
        Any,
        typer.Option(
            parser=_parse_rows,
            metavar="ROW",
            help="Row of the sheet, or line of the CSV, that names the columns; 3-4 joins the names in two rows.",
        ),
    ],
}
"""Options of every command that reads a table; with a policy, they replace what stands under its [data]."""
_CONNECTION = Annotated[
    Path | None,
    typer.Option(help="The file with the connection string of PostgreSQL; the variable SHOAL_POSTGRES unless given."),
]


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command with the options for reading a table, which apply to every table that it names.

    The command gets those given as `reading`, keys of [data], and tables of PostgreSQL with their connection file.
    """

    @wraps(command)
    def with_options(*args: Any, connection_file: Path | None, **options: Any) -> None:
        given = {key: options.pop(key) for key in _READING}
        reading = {key: value for key, value in given.items() if value is not None}
        if "missing" in reading:
            reading["missing"] = ("", *split_names(reading["missing"]))
        command(
            *args, reading=reading, **{name: _resolve_postgres(each, connection_file) for name, each in options.items()}
        )

    own = inspect.signature(command, eval_str=True)
    kept = [each for name, each in own.parameters.items() if name != "reading"]
    by_name = inspect.Parameter.KEYWORD_ONLY
    offered = {**_READING, "connection_file": _CONNECTION}
    added = [inspect.Parameter(key, by_name, default=None, annotation=of) for key, of in offered.items()]
    parameters = [*(each.replace(kind=by_name) for each in kept), *added]
    with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


def _resolve_postgres(option: Any, connection_file: Path | None) -> Any:
    """Return a PostgreSQL table together with its connection file; any other option as it was given."""
    if connection_file is None:
        return option
    if isinstance(option, list):
        return [_resolve_postgres(each, connection_file) for each in option]
    from shoal.engines.postgres.connection import parse_postgres_table

    return parse_postgres_table(option, connection_file) or option


def with_time_limit(policy: "Policy", time_limit: float | None) -> "Policy":
    """Return the policy with this time limit in seconds; unchanged without one."""
    if time_limit is None:
        return policy
    document = {**policy.method.model_dump(by_alias=True), "time-limit": time_limit}
    return type(policy)(**{**dict(policy), "method": document})


@contextmanager
def watch_for_interrupt(*, on_interrupt: bool) -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed, to end a search early; a second Ctrl-C interrupts."""
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, former)

    if not on_interrupt:
        yield lambda: False
        return
    former = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    except Infeasible:
        if pressed:  # there was no node to keep
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, former)


@contextmanager
def log_events(target: str | None) -> Iterator[None]:
    """Append events as lines of JSON to a file, or to stderr for `-`; without a target, log nothing."""
    if target is None:
        yield
        return
    if target == "-":
        with write_json_log(sys.stderr):
            yield
        return
    try:
        stream = Path(target).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115 - it is closed below
    except (OSError, ValueError) as wrong:
        why = getattr(wrong, "strerror", None) or "this is not a path"
        raise BadOutput(f"{Path(target).name}: the log cannot be written ({why})") from None
    try:
        with write_json_log(stream):
            yield
    finally:
        with suppress(OSError):  # failed writes were reported
            stream.close()
