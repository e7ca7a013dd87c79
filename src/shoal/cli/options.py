"""What several commands share: how a table is read, names and numbers in one option, how a search is told to stop."""

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
from shoal.runtime.events import telling

if TYPE_CHECKING:
    from shoal.policy.document import Policy

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|\Z)')
_PLAIN = re.compile(r'(?!\s*")\s*([^,]*?)\s*(?:,|\Z)')


def listed(options: Sequence[str] | None) -> list[str]:
    """Names separated by commas, each once; one with a comma or an outer space stands in double quotes, as in a CSV.

    >>> listed(["age, sex", '"a,b"," c"', "age"])
    ['age', 'sex', 'a,b', ' c']
    """
    return list(dict.fromkeys(name for option in options or () for name in _parts(option)))


def number_or_text(option: str) -> float | str:
    """A number where it is one.

    >>> number_or_text("0.05"), number_or_text("k")
    (0.05, 'k')
    """
    try:
        return float(option)
    except ValueError:
        return option


def at_node(policy: "Policy", node: str | None) -> "Policy":
    """The policy at a node that is written as `age=2,sex=0`, or as `shoal lattice` lists it, `[2,0]`; as it is without.

    >>> from shoal.policy.document import Policy
    >>> both = {"sex": "quasi-identifier", "age": "quasi-identifier"}
    >>> policy = Policy(attributes=both, require=[{"model": "k-anonymity", "k": 2}])
    >>> at_node(policy, "[2,0]") == at_node(policy, "sex=0, age=2")
    True
    """
    if node is None:
        return policy
    from shoal.problem import order_of_attributes

    pairs = [part.rpartition("=") for part in _parts(node.strip().removeprefix("[").removesuffix("]"))]
    names = [name if name in policy.quasi_identifiers else name.strip() for name, _, _ in pairs]
    if pairs and not any(names):
        listed_as = order_of_attributes(policy.quasi_identifiers, policy.method)
        names = listed_as if len(listed_as) == len(pairs) else names
    levels = [level.strip() for _, _, level in pairs]
    if not pairs or not all(names) or len(set(names)) < len(names) or not all(level.isdecimal() for level in levels):
        raise BadInput(f"--node {node!r}: write the level of every quasi-identifier, e.g. age=2,sex=0")
    return policy.at_node(dict(zip(names, map(int, levels), strict=True)))


def node_option(levels: Mapping[str, int]) -> str:
    """A node as `--node` reads it, for a shell; a name with a comma, a quote or an outer space stands in quotes.

    >>> print(node_option({"age": 2, "a,b": 0}))
    'age=2,"a,b=0"'
    """
    pairs = [f"{name}={level}" for name, level in levels.items()]
    plain = [not {*',"'} & {*pair} and pair == pair.strip() for pair in pairs]
    quoted = [one if fine else '"' + one.replace('"', '""') + '"' for one, fine in zip(pairs, plain, strict=True)]
    return shlex.quote(",".join(quoted))


def _parts(option: str) -> list[str]:
    found, at = [], 0
    while at < len(option):
        quoted = _QUOTED.match(option, at)
        part = quoted or _PLAIN.match(option, at)
        if part is None:
            raise BadInput(f"{option!r}: a quote is not closed, or something stands beside it; write '\"a,b\",c'")
        found.append(part[1].replace('""', '"') if quoted else part[1])
        at = part.end()
    return [name for name in found if name]


_READING: Mapping[str, Any] = {
    "missing": Annotated[
        list[str] | None, typer.Option(help="Texts that mean: not known; separated by commas. Empty cells always do.")
    ],
    "delimiter": Annotated[str | None, typer.Option(help="Of a CSV; found out unless given.")],
    "encoding": Annotated[str | None, typer.Option(help="Of a CSV, e.g. cp1252 or latin-1.")],
    "decimal": Annotated[str | None, typer.Option(help="Decimal mark of a CSV, . or ,; found out unless given.")],
    "sheet": Annotated[str | None, typer.Option(help="Of an Excel file; the first with a table unless given.")],
    "header_row": Annotated[
        int | None, typer.Option(min=1, help="Row of the sheet, or line of the CSV, that names the columns.")
    ],
}
"""Options of every command that reads a table; with a policy, they replace what stands under its [data]."""
_CONNECTION = Annotated[
    Path | None,
    typer.Option(help="The file with the connection string of PostgreSQL; the variable SHOAL_POSTGRES unless given."),
]


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading a table, which hold for every table that it names.

    It gets those that were given as `reading`, keys of [data], and tables of PostgreSQL with where they are.
    """

    @wraps(command)
    def with_options(*args: Any, connection_file: Path | None, **options: Any) -> None:
        given = {key: options.pop(key) for key in _READING}
        reading = {key: value for key, value in given.items() if value is not None}
        if "missing" in reading:
            reading["missing"] = ("", *listed(reading["missing"]))
        command(*args, reading=reading, **{name: _found(each, connection_file) for name, each in options.items()})

    own = inspect.signature(command, eval_str=True)
    kept = [each for name, each in own.parameters.items() if name != "reading"]
    by_name = inspect.Parameter.KEYWORD_ONLY
    offered = {**_READING, "connection_file": _CONNECTION}
    added = [inspect.Parameter(key, by_name, default=None, annotation=of) for key, of in offered.items()]
    parameters = [*(each.replace(kind=by_name) for each in kept), *added]
    with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


def _found(option: Any, connection_file: Path | None) -> Any:
    """A table of PostgreSQL, with the file that tells how to connect to it; all else as it was given."""
    if connection_file is None:
        return option
    if isinstance(option, list):
        return [_found(each, connection_file) for each in option]
    from shoal.engines.postgres.connection import parse_postgres_table

    return parse_postgres_table(option, connection_file) or option


def within(policy: "Policy", time_limit: float | None) -> "Policy":
    """The policy, searched for at most so many seconds."""
    if time_limit is None:
        return policy
    document = {**policy.method.model_dump(by_alias=True), "time-limit": time_limit}
    return type(policy)(**{**dict(policy), "method": document})


@contextmanager
def stopping(*, on_interrupt: bool) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed, if that is to end a search early; pressed again, it interrupts as ever."""
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
def logged(target: str | None) -> Iterator[None]:
    """Lines of JSON at the end of a file, or on stderr for `-`; nothing where nothing is named."""
    if target is None:
        yield
        return
    if target == "-":
        with telling(sys.stderr):
            yield
        return
    try:
        stream = Path(target).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115 - it is closed below
    except (OSError, ValueError) as wrong:
        why = getattr(wrong, "strerror", None) or "this is not a path"
        raise BadOutput(f"{Path(target).name}: the log cannot be written ({why})") from None
    try:
        with telling(stream):
            yield
    finally:
        with suppress(OSError):  # what could not be written was said
            stream.close()
