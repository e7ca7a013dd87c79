"""Where the events of a run are written to: a file, or stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import BadOutput
from shoal.events import telling


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
    with stream, telling(stream):
        yield
