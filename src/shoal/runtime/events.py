"""Events of a run: counts and durations through the logger "shoal", never a value of the data.

| event | fields |
|---|---|
| `start` | `doing`: anonymize, apply, dry run or verify |
| `read` | `name` (of the file, without its folder), `format`, `engine`, `rows`, `columns` |
| `counted` | `classes` of equal quasi-identifiers before recoding |
| `searched` | `algorithm`; `nodes`, `checked` where there is a lattice |
| `recoded` | `released`, `suppressed`, `added` rows |
| `written` | `format`, `files`, `rows` |
| `verified` | `promises`, `failed` |
| `stored` | `rows` in a database, not yet committed |
| `done` | |
| `failed` | `error`: its kind, never its text |

Every record also has `time` (UTC), `event` and `seconds` since the start.

Work that takes long is marked as a phase, and reports which share of it is done, if known: a listener, installed by
`listening`, receives both.
"""

import json
import logging
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import IO, TypeVar

from shoal.errors import BadOutput, reason_of

FIELDS: Mapping[str, frozenset[str]] = {
    "start": frozenset({"doing"}),
    "read": frozenset({"name", "format", "engine", "rows", "columns"}),
    "counted": frozenset({"classes"}),
    "searched": frozenset({"algorithm", "nodes", "checked"}),
    "recoded": frozenset({"released", "suppressed", "added"}),
    "written": frozenset({"format", "files", "rows"}),
    "verified": frozenset({"promises", "failed"}),
    "stored": frozenset({"rows"}),
    "done": frozenset(),
    "failed": frozenset({"error"}),
}
"""Fields of each event; no other field can be logged."""
_WORDS = frozenset({"doing", "name", "format", "engine", "algorithm", "error"})
"""Fields that are words; all others are counts."""
LOGGER = logging.getLogger("shoal")
PUBLISHED: dict[str, str] = {}
"""The releases that this process has published, each with its verdict in a few words, empty while there is none.

A later error must neither claim that nothing was written nor hide that a release may not be handed out yet.
"""
_started: ContextVar[float | None] = ContextVar("started", default=None)
Item = TypeVar("Item")
Listener = Callable[[str, float | None], None]
"""Called with the phase that a run is in and the share of it that is done, None if unknown."""
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_phase: ContextVar[str] = ContextVar("phase", default="")


def log_event(event: str, **fields: str | int | None) -> None:
    """Log an event of the current run; outside a run, nothing is logged.

    >>> import io
    >>> lines = io.StringIO()
    >>> with write_json_log(lines), run("verify"):
    ...     log_event("counted", classes=3)
    >>> [(said["event"], said.get("classes")) for said in map(json.loads, lines.getvalue().splitlines())]
    [('start', None), ('counted', 3), ('done', None)]
    """
    started = _started.get()
    if started is None or not LOGGER.isEnabledFor(logging.INFO):
        return
    assert fields.keys() <= FIELDS[event], f"{event} has no such field"
    assert all(isinstance(value, str) == (name in _WORDS) for name, value in fields.items() if value is not None)
    told: dict[str, str | int | float] = {"event": event, "seconds": round(perf_counter() - started, 6)}
    told |= {
        name: value if isinstance(value, str) else int(value) for name, value in fields.items() if value is not None
    }
    LOGGER.info(event, extra={"told": told})


@contextmanager
def run(doing: str) -> Iterator[None]:
    """Log one run, from `start` to `done` or `failed`; a nested run counts as part of the outer one."""
    if _started.get() is not None:
        yield
        return
    token = _started.set(perf_counter())
    try:
        log_event("start", doing=doing)
        yield
        log_event("done")
    except BaseException as wrong:
        log_event("failed", error=type(wrong).__name__)
        raise
    finally:
        _started.reset(token)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a listener with the phases of all runs inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Mark a phase of a run, as a block or as a decorator; when it ends, the enclosing phase continues.

    >>> heard = []
    >>> with listening(lambda name, share: heard.append((name, share))), phase("verifying"):
    ...     with phase("reading"):
    ...         report_progress(0.5)
    >>> heard
    [('verifying', None), ('reading', None), ('reading', 0.5), ('verifying', None)]
    """
    listener, token = _listener.get(), _phase.set(name)
    if listener is not None:
        listener(name, None)
    try:
        yield
    finally:
        _phase.reset(token)
        if listener is not None and _phase.get():
            listener(_phase.get(), None)


def report_progress(share: float) -> None:
    """Report to the listener which share of the current phase is done."""
    listener = _listener.get()
    if listener is not None and _phase.get():
        listener(_phase.get(), share)


def step_through(items: Collection[Item]) -> Iterator[Item]:
    """Yield items that take about equally long, reporting before each one which share of them is done."""
    for done, item in enumerate(items):
        report_progress(done / len(items))
        yield item


@contextmanager
def only_trying() -> Iterator[Callable[[float], None]]:
    """Log nothing and show no phase inside the block, where things are only tried.

    What is yielded reports the share of the current phase that is done.

    >>> heard = []
    >>> with listening(lambda name, share: heard.append((name, share))), phase("looking"), only_trying() as report:
    ...     with phase("searching"):
    ...         report(0.5)
    >>> heard
    [('looking', None), ('looking', 0.5)]
    """
    listener, name = _listener.get(), _phase.get()
    started, listened = _started.set(None), _listener.set(None)
    try:
        yield lambda share: None if listener is None or not name else listener(name, share)
    finally:
        _listener.reset(listened)
        _started.reset(started)


def describe_published(*more: str) -> str:
    """Return the part of an error message that says what this process has published so far, and with which verdict.

    >>> PUBLISHED.clear()
    >>> PUBLISHED["a"] = ""
    >>> describe_published().partition("before ")[2]
    'shoal audit a --original … (in Python shoal.audit)'
    >>> PUBLISHED["a"] = "think again (no attack was tried)"
    >>> describe_published("its report may be missing")
    'a was verified and published, verdict: think again (no attack was tried); its report may be missing'
    >>> PUBLISHED.clear()
    >>> describe_published()
    'nothing was written'
    """
    said = [f"{name} was verified and published, {describe_verdict(name)}" for name in PUBLISHED]
    return "; ".join([*said, *more]) if said else "nothing was written"


def describe_verdict(name: str) -> str:
    """Say which verdict a published release has; where it has none yet, that it must not be handed out before."""
    verdict = PUBLISHED.get(name)
    if verdict:
        return f"verdict: {verdict}"
    again = f"shoal audit {name} --original … (in Python shoal.audit)"
    return f"but there is no verdict yet: do not hand it out before {again}"


class _LogStream(logging.StreamHandler[IO[str]]):
    """A log handler that raises BadOutput when the log cannot be written, and writes nothing after that."""

    failed = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self.failed:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - named by `logging`
        wrong = sys.exc_info()[1]
        self.failed = True
        name = Path(str(self.stream.name)).name
        why = reason_of(wrong) if isinstance(wrong, OSError) else "input/output error"
        raise BadOutput(f"{name}: the log could not be written ({why}); {describe_published()}") from None


class JsonLines(logging.Formatter):
    """Formats each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, **getattr(record, "told", {"event": record.msg})}, ensure_ascii=True)


@contextmanager
def write_json_log(stream: IO[str]) -> Iterator[None]:
    """Write the events of all runs inside the block to a stream, as lines of JSON."""
    handler = _LogStream(stream)
    handler.setFormatter(JsonLines())
    level, passed_on = LOGGER.level, LOGGER.propagate
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False  # otherwise the handlers of the calling program would print them again
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        LOGGER.propagate = passed_on
