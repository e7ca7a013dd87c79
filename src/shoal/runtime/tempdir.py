"""Private folders that are removed when their process ends, and folders that are moved together, by a journal.

A private folder is locked (flock) by its process. The system releases the lock however the process ends, even by a
kill, and the next process removes the folder. Creating and removing folders take a lock on the parent, so that nobody
removes a folder that is just being created.

Folders that belong together are moved into place with a journal. If a killed process left one, `settle` restores the
previous state, or only removes the journal if everything had been moved.
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
"""Prefix of folders for spilled data, by which a run finds the folders that a killed run left."""

_TRIES, _PAUSE = 50, 0.1


class Scratch:
    """A folder (0700) in `parent`, named with a prefix, that is removed on `close` or at the end of the process.

    With `sole`, it raises BlockingIOError while any process holds another folder of this prefix.

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
        with _lock_parent(parent) as alone:
            held = _remove_abandoned(parent, prefix) if alone else [parent]
            if sole and held:
                raise BlockingIOError(EWOULDBLOCK, "another run is at it", str(held[0]))
            with delay_signals():
                self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
                try:
                    held_by_us = _lock_folder(self.path)
                except OSError:
                    self.path.rmdir()
                    raise
                self._end = weakref.finalize(self, _remove, self.path, held_by_us)
        made = _made.get()
        if made is not None:
            made.append(weakref.ref(self))

    def close(self) -> None:
        """Remove the folder; signals are delayed, as they would leave half of it to the next run."""
        with delay_signals():
            self._end()


_made: ContextVar[list[weakref.ref[Scratch]] | None] = ContextVar("made", default=None)
"""Folders that were created inside the innermost `cleared` block."""


@contextmanager
def remove_scratch_folders(*, kept: bool = False) -> Iterator[None]:
    """Remove at the end of the block all folders that were created in it; with `kept`, only if the block fails.

    A caller may keep the exception for long, and with its traceback the objects that own folders, so removal cannot
    wait for their finalizers.
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
            with delay_signals():
                for each in made:
                    if (scratch := each()) is not None:
                        scratch.close()
        elif above is not None:
            above += made


def remove_abandoned(parent: Path, prefix: str, ask: "Ask | None" = None) -> None:
    """Remove the folders of this prefix whose process has ended; moves that they had begun are settled first.

    `ask` tells whether the last step of a killed process happened, where that is in doubt.
    """
    with _lock_parent(parent) as alone:
        if alone:
            _remove_abandoned(parent, prefix, ask)


def _remove_abandoned(parent: Path, prefix: str, ask: "Ask | None" = None) -> list[Path]:
    """Remove the folders of processes that have ended, and return those that are still held."""
    living = []
    for path in _list_our_folders(parent, prefix):
        try:
            if _settle_stage(path, ask, end=True):
                _remove(path, _lock_folder(path))
            else:
                living.append(path)
        except FileNotFoundError:  # it is gone by now
            continue
        except OSError:  # another process holds it
            living.append(path)
    return living


def _list_our_folders(parent: Path, prefix: str) -> list[Path]:
    """List the folders in a parent that `Scratch` may have created with this prefix."""
    return sorted(path for path in parent.iterdir() if _is_ours(path, prefix))


def _is_ours(path: Path, prefix: str) -> bool:
    """Return whether `mkdtemp` may have created this folder: its name is the prefix and eight more characters."""
    rest = path.name.removeprefix(prefix)
    return (
        path.name.startswith(prefix) and len(rest) == 8 and "." not in rest and path.is_dir() and not path.is_symlink()
    )


def _lock_folder(path: Path) -> int:
    """Lock a folder and return its handle; raises OSError if another process holds it."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _remove(path: Path, held: int) -> None:
    """Remove a folder and release its lock; a folder with unsettled moves stays, for the next run to settle."""
    if not _has_open_moves(path):
        shutil.rmtree(path, ignore_errors=True)
    os.close(held)


@contextmanager
def _lock_parent(parent: Path) -> Iterator[bool]:
    """Lock the parent and yield whether that succeeded; if not, after a timeout, the block must remove nothing."""
    handle = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _try_to_lock(handle)
    finally:
        os.close(handle)


def _try_to_lock(handle: int) -> bool:
    """Lock a folder by its handle, retrying for some seconds; return whether that succeeded."""
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
    """A folder to be moved into place: `stage/new` goes to `place`, and what was there before goes to `stage/old`."""

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
        """Put back what was there before; does nothing if the move was undone already or never begun."""
        if not self.new.exists() and self.place.exists():
            self.place.rename(self.new)
        if self.old.exists() and not self.place.exists():
            self.old.rename(self.place)
        self.sync()

    def sync(self) -> None:
        sync_folder(self.stage)
        sync_folder(self.place.parent)


_JOURNAL = "moves.json"
"""File in every stage while its folder is moved; the journal of the last stage, the lead, decides what happened."""
_WAITING = "waiting"
"""File in the lead until `last`, the step outside these folders that belongs to the moves, is about to run."""
_DOUBT = "doubt"
"""What that file is called from then on: it tells whom to ask whether `last` happened, if the process is killed now."""
Ask = Callable[[str], bool]
"""Tells by what `mark` said whether the last step of a killed process happened."""


def stage_prefix(place: Path) -> str:
    """Return the prefix of the stages of a place: folders next to it in which its new content is prepared."""
    return f".{place.name}.shoal-"


def move_together(moves: Sequence[Move], last: Callable[[], None] | None = None, mark: str = "") -> None:
    """Move the `new` of every stage to its place, all or none, however this process ends; call `last` at the end.

    Until the last folder is in its place and `last` is called, everything is put back if anything fails or this process
    is killed. If it is killed in `last`, `mark` tells the next run how to find out whether that happened. Signals are
    delayed until it is over.
    """
    lead = moves[-1].stage
    if last is not None:
        _write_synced(lead / _WAITING, mark)
    for move in moves:  # the lead comes last: without its journal, nothing counts as begun
        _write_journal(move.stage, moves)
    with delay_signals():
        try:
            for move in moves:
                move.do()
            if last is not None:
                (lead / _WAITING).rename(lead / _DOUBT)
                sync_folder(lead)
                last()
        except BaseException:
            try:
                _undo_moves(moves)
            except OSError as wrong:
                raise _halfway_error(moves, wrong) from None
            raise
        with suppress(OSError):  # everything is in place; if this fails, the next run removes the journal
            _remove_journal(lead)
            for move in moves[:-1]:  # meaningless without the journal of the lead
                (move.stage / _JOURNAL).unlink(missing_ok=True)


def settle(place: Path) -> None:
    """Finish or undo the moves of a killed process to a folder; refuse a folder that is just being moved."""
    try:
        place = Path(os.path.abspath(place))
        stages = _list_our_folders(place.parent, stage_prefix(place))
    except (OSError, ValueError):  # there is no such folder, or it cannot be listed: reading it will report that
        return
    for stage in stages:
        for left in reversed(range(_TRIES)):
            if _settle_stage(stage):
                break
            if not left:
                raise BadInput(f"{place.name}: another run is just putting it into place; wait until it has ended")
            sleep(_PAUSE)


def _settle_stage(stage: Path, ask: Ask | None = None, *, end: bool = False) -> bool:
    """Settle the moves in the journal of a stage, if any; return False if a living process is performing them.

    Where it is in doubt whether their last step happened, `ask` is asked. If nobody can be asked, the folders stay as
    they are, and so does the journal, unless `end` asks to end it.
    """
    moves = _read_journal(stage)
    if moves is None:
        return True
    lead = moves[-1].stage
    try:
        held = _lock_folder(lead)
    except FileNotFoundError:  # everything was done or put back, and the lead was removed
        (stage / _JOURNAL).unlink(missing_ok=True)
        return True
    except BlockingIOError:
        return False
    except OSError as wrong:
        raise _halfway_error(moves, wrong) from None
    try:
        if _has_open_moves(stage):
            mark = (lead / _DOUBT).read_text("utf-8") if (lead / _DOUBT).exists() else ""
            if moves[-1].new.exists() or (lead / _WAITING).exists():
                _undo_moves(moves)
            elif mark and ask is None and not end:
                return True
            elif mark and ask is not None and not ask(mark):
                _undo_moves(moves)
            else:
                _remove_journal(lead)
        (stage / _JOURNAL).unlink(missing_ok=True)
    except OSError as wrong:
        raise _halfway_error(moves, wrong) from None
    finally:
        os.close(held)
    return True


def _halfway_error(moves: Sequence[Move], wrong: OSError) -> BadInput:
    """Return the error for moves that were interrupted and cannot be undone."""
    return BadInput(
        f"{moves[-1].place.name}: a run that was putting a release into place was ended halfway, and what was there "
        f"before cannot be put back ({reason_of(wrong)}); run shoal verify on it as somebody who "
        "may write there"
    )


def _undo_moves(moves: Sequence[Move]) -> None:
    """Undo all moves, the last one first, and end the journal."""
    for move in reversed(moves):
        if move.stage.is_dir():
            move.undo()
    _remove_journal(moves[-1].stage)


def _has_open_moves(stage: Path) -> bool:
    """Return whether moves are begun but neither finished nor undone: the lead and all remaining stages list them."""
    moves = _read_journal(stage)
    if moves is None or _read_journal(moves[-1].stage) != moves:
        return False
    return all(_read_journal(move.stage) == moves for move in moves if move.stage.is_dir())


def _write_journal(stage: Path, moves: Sequence[Move]) -> None:
    """Write the journal of a stage atomically and sync it; paths are relative, since the parent folder may be moved."""
    told = [[os.path.relpath(path, stage.parent) for path in (move.stage, move.place)] for move in moves]
    # whoever may read the folder may also see that it is being replaced
    stage.chmod((stage / "new").stat().st_mode & 0o777)
    made = stage / f"{_JOURNAL}.new"
    _write_synced(made, json.dumps(told))
    made.replace(stage / _JOURNAL)
    sync_folder(stage)
    sync_folder(stage.parent)


def _write_synced(file: Path, text: str) -> None:
    """Write a new file and sync it; the folder that holds it is synced by the caller."""
    with file.open("x", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())


def _read_journal(stage: Path) -> tuple[Move, ...] | None:
    """Read the moves in the journal of a stage; None if there is no journal, or one that Shoal cannot have written."""
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
    """Return whether a folder is named like a stage of a place."""
    return stage.name.startswith(stage_prefix(place)) and len(stage.name) == len(stage_prefix(place)) + 8


def _remove_journal(lead: Path) -> None:
    (lead / _JOURNAL).unlink(missing_ok=True)
    sync_folder(lead)


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that what was created, moved and removed in it is permanent."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def delay_signals() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the end of the block."""
    came: list[int] = []
    ours = threading.current_thread() is threading.main_thread()  # signals are delivered to the main thread only
    signals = [each for each in (signal.SIGINT, signal.SIGTERM) if ours and signal.getsignal(each) is not None]
    former = {each: signal.signal(each, lambda number, _: came.append(number)) for each in signals}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])
