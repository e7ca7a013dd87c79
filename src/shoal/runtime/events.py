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

What takes long is marked as a phase, and tells its share where it knows it: whoever is `listening` sees both.
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
PUBLISHED: list[str] = []
"""Names of the releases that this process has put into place: who fails later must not say that nothing was written."""
_started: ContextVar[float | None] = ContextVar("started", default=None)
Item = TypeVar("Item")
Listener = Callable[[str, float | None], None]
"""Hears the phase that a run is in, and the share of it that is done, where that is known."""
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_phase: ContextVar[str] = ContextVar("phase", default="")


def log_event(event: str, **fields: str | int | None) -> None:
    """Log an event of the current run; outside a run, nothing is logged.

    >>> import io
    >>> lines = io.StringIO()
    >>> with telling(lines), run("verify"):
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
    """Log one run, from `start` to `done` or `failed`; a run inside another is part of it."""
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
    """Let a listener hear the phases of all runs inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Mark a phase of a run, as a block or as a decorator; at its end the phase around it goes on.

    >>> heard = []
    >>> with listening(lambda name, share: heard.append((name, share))), phase("verifying"):
    ...     with phase("reading"):
    ...         advance(0.5)
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


def advance(share: float) -> None:
    """Tell which share of the current phase is done."""
    listener = _listener.get()
    if listener is not None and _phase.get():
        listener(_phase.get(), share)


def step_through(items: Collection[Item]) -> Iterator[Item]:
    """Yield items that take about equally long, telling before each which share of them is done."""
    for done, item in enumerate(items):
        advance(done / len(items))
        yield item


@contextmanager
def unlogged() -> Iterator[None]:
    """Log nothing of what is only tried."""
    token = _started.set(None)
    try:
        yield
    finally:
        _started.reset(token)


def what_is_published(*more: str) -> str:
    """Part of a sentence about what this process has published so far.

    >>> PUBLISHED[:] = ["out"]
    >>> what_is_published()
    'out was verified and published'
    >>> PUBLISHED.clear()
    >>> what_is_published()
    'nothing was written'
    """
    names = ", ".join(PUBLISHED)
    return ", ".join([f"{names} was verified and published", *more]) if names else "nothing was written"


class _LogStream(logging.StreamHandler[IO[str]]):
    """Ends the run with a sentence when the log cannot be written, and logs no more."""

    failed = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self.failed:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - named by `logging`
        wrong = sys.exc_info()[1]
        self.failed = True
        name = Path(str(self.stream.name)).name
        why = reason_of(wrong) if isinstance(wrong, OSError) else "input/output error"
        raise BadOutput(f"{name}: the log could not be written ({why}); {what_is_published()}") from None


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, **getattr(record, "told", {"event": record.msg})}, ensure_ascii=True)


@contextmanager
def telling(stream: IO[str]) -> Iterator[None]:
    """Write the events of all runs inside the block as lines of JSON."""
    handler = _LogStream(stream)
    handler.setFormatter(JsonLines())
    level, passed_on = LOGGER.level, LOGGER.propagate
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False  # else a program's own handlers would print them a second time
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        LOGGER.propagate = passed_on
