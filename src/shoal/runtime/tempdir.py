"""Private folders that end with the process that made them, and folders that change places together, by a journal.

A folder is held by a lock on itself (flock), which the system releases whatever ends the process, even a kill: the
next process clears the folder away. Making and clearing take a lock on the parent, so that nobody clears a folder that
is just being made.

Folders that belong together are moved into place with a journal: whoever meets one that a killed process left
(`settle`) puts everything back as it was before, or clears up if all had been moved.
"""

import fcntl
import json
import os
import shutil
import signal
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from errno import EWOULDBLOCK
from pathlib import Path
from time import sleep

from shoal.errors import BadInput, reason_of

SPILL = ".shoal-spill."
"""Prefix of folders for spilled data, by which the next run finds those of a run that was killed."""

_TRIES, _PAUSE = 50, 0.1


class Scratch:
    """A folder (0700) in `parent`, named with a prefix, that is removed on `close` or at the end of the process.

    A `sole` one is refused (BlockingIOError) while another of this prefix is held, by whatever process.

    >>> with tempfile.TemporaryDirectory() as parent:
    ...     one = Scratch(Path(parent), ".shoal.")
    ...     other = Scratch(Path(parent), ".shoal.")
    ...     both = one.path.is_dir() and other.path.is_dir()
    ...     one.close()
    ...     both, one.path.exists(), other.path.exists()
    ...     other.close()
    (True, False, True)
    """

    def __init__(self, parent: Path, prefix: str, *, sole: bool = False) -> None:
        with _alone(parent) as alone:
            held = _clear(parent, prefix) if alone else [parent]
            if sole and held:
                raise BlockingIOError(EWOULDBLOCK, "another run is at it", str(held[0]))
            with undisturbed():
                self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
                try:
                    held_by_us = _held(self.path)
                except OSError:
                    self.path.rmdir()
                    raise
                self._end = weakref.finalize(self, _remove, self.path, held_by_us)
        made = _made.get()
        if made is not None:
            made.append(weakref.ref(self))

    def close(self) -> None:
        """Remove the folder; signals wait, or they would leave half of it to the next run."""
        with undisturbed():
            self._end()


_made: ContextVar[list[weakref.ref[Scratch]] | None] = ContextVar("made", default=None)
"""Folders that were made inside the innermost `cleared` block."""


@contextmanager
def cleared(*, kept: bool = False) -> Iterator[None]:
    """Remove at the end of the block all folders that were made in it; if they are `kept`, only when it fails.

    Who is told of a failure may keep it for long, and with it whatever had a folder: nothing may wait for that.
    """
    above, made = _made.get(), list[weakref.ref[Scratch]]()
    token = _made.set(made)
    failed = True
    try:
        yield
        failed = False
    finally:
        _made.reset(token)
        if failed or not kept:
            with undisturbed():
                for each in made:
                    if (scratch := each()) is not None:
                        scratch.close()
        elif above is not None:
            above += made


def clear(parent: Path, prefix: str) -> None:
    """Remove the folders of this prefix whose process is gone; what they had begun to move is settled first."""
    with _alone(parent) as alone:
        if alone:
            _clear(parent, prefix)


def _clear(parent: Path, prefix: str) -> list[Path]:
    """Remove the folders of dead processes, and return those that are held."""
    living = []
    for path in _found(parent, prefix):
        try:
            if _finish(path):
                _remove(path, _held(path))
            else:
                living.append(path)
        except FileNotFoundError:  # it is gone by now
            continue
        except OSError:  # somebody holds it
            living.append(path)
    return living


def _found(parent: Path, prefix: str) -> list[Path]:
    return sorted(path for path in parent.iterdir() if _is_ours(path, prefix))


def _is_ours(path: Path, prefix: str) -> bool:
    """Return whether `mkdtemp` may have made this folder: the prefix and eight more characters."""
    rest = path.name.removeprefix(prefix)
    return (
        path.name.startswith(prefix) and len(rest) == 8 and "." not in rest and path.is_dir() and not path.is_symlink()
    )


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
    """Remove a folder and its lock; one whose moves are not settled stays, for the next run to settle."""
    if not _is_begun(path):
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


@dataclass(frozen=True)
class Move:
    """A folder that is put into place: `stage/new` goes there, and what stood there waits in `stage/old`."""

    stage: Path
    place: Path

    @property
    def new(self) -> Path:
        return self.stage / "new"

    @property
    def old(self) -> Path:
        return self.stage / "old"

    def do(self) -> None:
        if self.place.exists():
            self.place.rename(self.old)
        self.new.rename(self.place)
        self.sync()

    def undo(self) -> None:
        """Put back what stood there before; a move that was undone already, or never begun, stays as it is."""
        if not self.new.exists() and self.place.exists():
            self.place.rename(self.new)
        if self.old.exists() and not self.place.exists():
            self.old.rename(self.place)
        self.sync()

    def sync(self) -> None:
        sync_folder(self.stage)
        sync_folder(self.place.parent)


_JOURNAL = "moves.json"
"""Stands in every stage while its folder is moved; the one of the last stage, the lead, decides."""
_WAITING = "waiting"
"""Stands in the lead until something outside these folders is about to be done that belongs to the moves."""


def stage_prefix(place: Path) -> str:
    """Prefix of the folders beside a place in which something is made for it."""
    return f".{place.name}.shoal-"


def move_together(moves: Sequence[Move], last: Callable[[], None] | None = None) -> None:
    """Move every stage's `new` to its place, all or none, whatever ends this process; `last` is called at the end.

    Until the last folder is in its place and `last` is called, everything goes back if anything fails or this process
    is killed. Signals wait until it is over.
    """
    if last is not None:
        (moves[-1].stage / _WAITING).touch()  # on disk with the journal of the lead
    for move in moves:  # the lead comes last: without its journal nothing was begun
        _write_journal(move.stage, moves)
    with undisturbed():
        try:
            for move in moves:
                move.do()
            if last is not None:
                (moves[-1].stage / _WAITING).unlink()
                sync_folder(moves[-1].stage)
                last()
        except BaseException:
            try:
                _put_back(moves)
            except OSError as wrong:
                raise _halfway(moves, wrong) from None
            raise
        with suppress(OSError):  # all is in its place and stays there: the next run clears the journal away
            _end_journal(moves[-1].stage)
            for move in moves[:-1]:  # they say nothing any more; else this run would ask what became of them
                (move.stage / _JOURNAL).unlink(missing_ok=True)


def settle(place: Path) -> None:
    """Finish or undo what a killed process began to move to a folder; refuse one that is just being moved."""
    try:
        place = Path(os.path.abspath(place))
        stages = _found(place.parent, stage_prefix(place))
    except (OSError, ValueError):  # there is no such folder, or it cannot be listed: whoever reads it says so
        return
    for stage in stages:
        for left in reversed(range(_TRIES)):
            if _finish(stage):
                break
            if not left:
                raise BadInput(f"{place.name}: another run is just putting it into place; wait until it has ended")
            sleep(_PAUSE)


def _finish(stage: Path) -> bool:
    """Settle the moves that a stage tells of, if it does; return whether no living process is at them."""
    moves = _read_journal(stage)
    if moves is None:
        return True
    lead = moves[-1].stage
    try:
        held = _held(lead)
    except FileNotFoundError:  # all was done or put back, and cleared
        (stage / _JOURNAL).unlink(missing_ok=True)
        return True
    except BlockingIOError:
        return False
    except OSError as wrong:
        raise _halfway(moves, wrong) from None
    try:
        if _is_begun(stage):
            if moves[-1].new.exists() or (lead / _WAITING).exists():
                _put_back(moves)
            else:
                _end_journal(lead)
        (stage / _JOURNAL).unlink(missing_ok=True)
    except OSError as wrong:
        raise _halfway(moves, wrong) from None
    finally:
        os.close(held)
    return True


def _halfway(moves: Sequence[Move], wrong: OSError) -> BadInput:
    return BadInput(
        f"{moves[-1].place.name}: a run that was putting a release into place was ended halfway, and what was there "
        f"before cannot be put back ({reason_of(wrong)}); run shoal verify on it as somebody who "
        "may write there"
    )


def _put_back(moves: Sequence[Move]) -> None:
    for move in reversed(moves):
        if move.stage.is_dir():
            move.undo()
    _end_journal(moves[-1].stage)


def _is_begun(stage: Path) -> bool:
    """Whether moves were begun and neither finished nor undone: the lead and every stage that is left tell of them."""
    moves = _read_journal(stage)
    if moves is None or _read_journal(moves[-1].stage) != moves:
        return False
    return all(_read_journal(move.stage) == moves for move in moves if move.stage.is_dir())


def _write_journal(stage: Path, moves: Sequence[Move]) -> None:
    """Write the journal of a stage, whole and on disk; paths are relative, as folders can be moved with all in them."""
    told = [[os.path.relpath(path, stage.parent) for path in (move.stage, move.place)] for move in moves]
    stage.chmod((stage / "new").stat().st_mode & 0o777)  # who sees the folder can see that it is just being replaced
    made = stage / f"{_JOURNAL}.new"
    with made.open("x", encoding="utf-8") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(file.fileno())
    made.replace(stage / _JOURNAL)
    sync_folder(stage)
    sync_folder(stage.parent)


def _read_journal(stage: Path) -> tuple[Move, ...] | None:
    """Read the moves that a stage tells of; None if it tells of none, or of what no stage of ours would."""
    stage = Path(os.path.abspath(stage))
    try:
        told = json.loads((stage / _JOURNAL).read_text("utf-8"))
        pairs = [[Path(os.path.abspath(stage.parent / path)) for path in pair] for pair in told]
        moves = tuple(Move(of, place) for of, place in pairs)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    beside = all(m.stage.parent == m.place.parent and _is_named(m.stage, m.place) for m in moves)
    return moves if beside and any(move.stage == stage for move in moves) else None


def _is_named(stage: Path, place: Path) -> bool:
    return stage.name.startswith(stage_prefix(place)) and len(stage.name) == len(stage_prefix(place)) + 8


def _end_journal(lead: Path) -> None:
    (lead / _JOURNAL).unlink(missing_ok=True)
    sync_folder(lead)


def sync_folder(folder: Path) -> None:
    """Have the disk keep what was made, moved and removed in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C and a polite kill (SIGTERM) wait until the end of the block."""
    came: list[int] = []
    ours = threading.current_thread() is threading.main_thread()  # other threads are never interrupted
    signals = [each for each in (signal.SIGINT, signal.SIGTERM) if ours and signal.getsignal(each) is not None]
    former = {each: signal.signal(each, lambda number, _: came.append(number)) for each in signals}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])
