"""Private folders that end with the process that made them, even when it is killed: the next one clears them away.

A folder is held by a lock on itself (flock), which the system releases whatever ends the process. Making and
clearing take a lock on the parent, so that nobody clears a folder that is just being made.
"""

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

SPILL = ".shoal-spill."
"""Prefix of folders for spilled data, by which the next run finds those of a run that was killed."""

_TRIES, _PAUSE = 50, 0.1


class Scratch:
    """A folder (0700) in `parent`, named with a prefix, that is removed on `close` or at the end of the process.

    >>> with tempfile.TemporaryDirectory() as parent:
    ...     one = Scratch(Path(parent), ".shoal.")
    ...     other = Scratch(Path(parent), ".shoal.")
    ...     both = one.path.is_dir() and other.path.is_dir()
    ...     one.close()
    ...     both, one.path.exists(), other.path.exists()
    ...     other.close()
    (True, False, True)
    """

    def __init__(self, parent: Path, prefix: str, restore: Callable[[Path], None] = lambda _: None) -> None:
        with _alone(parent) as alone:
            if alone:
                _clear(parent, prefix, restore)
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            self._end = weakref.finalize(self, _remove, self.path, _held(self.path))

    def close(self) -> None:
        self._end()


def clear(parent: Path, prefix: str, restore: Callable[[Path], None] = lambda _: None) -> None:
    """Remove the folders of this prefix whose process is gone; `restore` may first rescue what has to stay."""
    with _alone(parent) as alone:
        if alone:
            _clear(parent, prefix, restore)


def _clear(parent: Path, prefix: str, restore: Callable[[Path], None]) -> None:
    found = [path for path in parent.iterdir() if _is_ours(path, prefix)]
    dead = []
    for path in found:
        try:
            dead.append((path, _held(path)))
        except OSError:  # somebody holds it, or it is gone by now
            continue
    for path, _ in dead:
        restore(path)
    for path, held in dead:
        _remove(path, held)


def _is_ours(path: Path, prefix: str) -> bool:
    """Return whether `mkdtemp` may have made this folder: the prefix and eight more characters."""
    rest = path.name.removeprefix(prefix)
    return path.name.startswith(prefix) and len(rest) == 8 and "." not in rest and path.is_dir()


def _held(path: Path) -> int:
    """Lock a folder and return its handle; raises OSError if somebody else holds it."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _remove(path: Path, held: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(held)


@contextmanager
def _alone(parent: Path) -> Iterator[bool]:
    """Lock the parent and yield whether that worked; after too long a wait go on unlocked, clearing nothing."""
    handle = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _locked(handle)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    for _ in range(_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sleep(_PAUSE)
        else:
            return True
    return False
