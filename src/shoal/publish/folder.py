"""Two folders, both or none: `out/` may be published, `out.private/` knows the original (design 11, 14)."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from errno import ENAMETOOLONG
from pathlib import Path

from shoal.errors import REPLACE_IT, BadInput, BadOutput, reason_of
from shoal.runtime.events import PUBLISHED, describe_verdict, phase
from shoal.runtime.memory import is_shortage
from shoal.runtime.tempdir import (
    SPILL,
    Ask,
    Move,
    Scratch,
    delay_signals,
    move_together,
    remove_abandoned,
    settle,
    stage_prefix,
    sync_folder,
)
from shoal.verify.open_release import is_utf8
from shoal.verify.release_files import read_json

_OURS = {
    "boxes.parquet",
    "classes.parquet",
    "counterfeits.csv",
    "data",
    "data.csv",
    "data.parquet",
    "hierarchies",
    "history.parquet",
    "manifest.json",
    "points.parquet",
    "policy.toml",
    "report.html",
    "rows.arrow",
    "sensitive.csv",
    "sensitive.parquet",
}
"""What a release consists of; a folder that holds anything else is never replaced."""


@dataclass(frozen=True)
class Places:
    """Where a release goes, checked before any work is done."""

    public: Path
    private: Path
    source: Path | None = None
    """The file that is read, and must not be written over."""
    force: bool = False
    """Whether an older release may be replaced."""
    stages: tuple[Path, ...] = ()
    """Hidden folders beside the places, in which the release is made; they also lock the places for one run."""

    @classmethod
    def choose(
        cls,
        out: str | os.PathLike[str],
        private: str | os.PathLike[str] | None,
        source: Path | None,
        *,
        force: bool,
        earlier: Path | None = None,
        ask: Ask | None = None,
    ) -> "Places":
        """Choose both folders; refuse what cannot or must not be written. `earlier` is a folder that must stay.

        `ask` tells whether the table of a killed run was stored beside its folders, where that is in doubt.
        """
        public = Path(os.path.abspath(out))
        if not public.name or public == Path.cwd():
            raise BadOutput(f"{out}: give a new folder to write the release into, e.g. out/")
        secret = Path(os.path.abspath(private)) if private else public.with_name(public.name + ".private")
        if secret == public or public in secret.parents:
            raise BadOutput(f"{secret.name}: the private folder must not lie inside the one that is published")
        if secret in public.parents:
            raise BadOutput(f"{public.name}: the published folder must not lie inside the private one")
        for place in (public, secret):
            _refuse_name(place)
        for place in (public, secret):
            _clear_leftovers(place, ask)
        for place in (public, secret):  # first: neither may be tried again with force
            _refuse_overlap(place, earlier)
        for place in (public, secret):
            _refuse_place(place, source, force=force)
        return cls(public, secret, source, force)

    @contextmanager
    def reserve(self) -> Iterator["Places"]:
        """Reserve both places for this run until the end of the block; refused while another run has one."""
        if self.stages:
            yield self
            return
        stages: list[Scratch] = []
        try:
            for place in (self.public, self.private):  # one by one: what was made is removed
                try:
                    stages.append(Scratch(place.parent, stage_prefix(place), sole=True))
                except BlockingIOError as wrong:
                    raise BadOutput(
                        f"{place.name}: another run is writing this release ({Path(wrong.filename).name} is its "
                        "folder); wait until it has ended, or choose another folder"
                    ) from None
                except OSError as wrong:
                    raise self._to_bad_output(wrong) from None
            yield replace(self, stages=tuple(stage.path for stage in stages))
        finally:
            with delay_signals():
                for stage in stages:
                    stage.close()

    @contextmanager
    def staging_folders(
        self, last: Callable[[], None] | None = None, mark: Callable[[], str] = str
    ) -> Iterator[tuple[Path, Path]]:
        """Give two hidden folders to fill; at the end of the block both are moved into place, or both are removed.

        `last` is called once they are in place; if it raises, both are moved back. If this process is killed meanwhile,
        the next run asks by the text of `mark` whether it happened.
        """
        with self.reserve() as places:
            try:
                public, private = (stage / "new" for stage in places.stages)
                public.mkdir()  # with the rights that the umask allows
                private.mkdir(mode=0o700)
                yield public, private
                with phase("publishing"):
                    _sync(public)
                    _sync(private)
                for place in (self.public, self.private):  # somebody may have put something there meanwhile
                    _refuse_place(place, self.source, force=self.force)
                # the private half first: a public folder never stands without the record of how it was made
                moves = [Move(places.stages[1], self.private), Move(places.stages[0], self.public)]
                with delay_signals():
                    move_together(moves, last, mark())
                    PUBLISHED[self.public.name] = ""
            except OSError as wrong:
                raise self._to_bad_output(wrong) from None

    def _to_bad_output(self, wrong: OSError) -> BadOutput:
        why = reason_of(wrong)
        return BadOutput(f"{self.public.name}: the release could not be written ({why}); nothing was changed")

    @contextmanager
    def explain_report_errors(self) -> Iterator[None]:
        """Explain failures of a report as such: the release itself is published by then."""
        try:
            yield
        except Exception as wrong:
            if not isinstance(wrong, OSError) and not is_shortage(wrong):
                raise
            why = reason_of(wrong) if isinstance(wrong, OSError) else "memory ran out"
            name = self.public.name
            raise BadOutput(
                f"{name}: the release was verified and published, {describe_verdict(name)}; its report could not be "
                f"made ({why})"
            ) from None


def _clear_leftovers(place: Path, ask: Ask | None) -> None:
    """Repair and remove what a killed run left beside a place."""
    for prefix in (stage_prefix(place), SPILL):
        try:
            remove_abandoned(place.parent, prefix, ask)
        except OSError:
            return  # there is no such folder, or nothing may be written there: that is said elsewhere


def known_format(name: str) -> str:
    """Return the format itself; refuse one that no release is written in."""
    if name not in {"csv", "parquet"}:
        raise BadInput(f"format {name!r} is not known; a release is written as csv or parquet")
    return name


def partitioned_format(name: str | None) -> str:
    """Return Parquet; refuse any other format, since only Parquet is written in folders."""
    if name not in {None, "parquet"}:
        raise BadInput("partition by: only Parquet is kept in folders; name no other format")
    return "parquet"


def put_file(place: Path, name: str, text: str, *, private: bool = False) -> None:
    """Put a file into the folder of a published release, whole or not at all."""
    stage = Scratch(place.parent, stage_prefix(place))
    try:
        made = stage.path / name
        with made.open("x", encoding="utf-8") as file:
            if private:
                made.chmod(0o600)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        made.replace(place / made.name)
        sync_folder(place)
    finally:
        stage.close()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole, through a link if it is one; if that fails, leave what was there."""
    refuse_irregular(path)
    path = path.resolve() if path.is_symlink() else path  # the link stays, and the file that it names is replaced
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with made.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
        sync_folder(path.absolute().parent)
    finally:
        made.unlink(missing_ok=True)


def refuse_irregular(path: Path) -> None:
    """Refuse what a file must not replace: a folder, a device, a pipe, or a link to any of them or to nothing."""
    if path.is_dir():
        raise BadOutput(f"{path.name}: this is a folder; give a file")
    if path.is_symlink() and not path.exists():
        raise BadOutput(f"{path.name}: this is a link to a file that does not exist; name the file itself")
    if path.exists() and not path.is_file():
        raise BadOutput(f"{path.name}: this is a device or a pipe, not a regular file; name a file")


_LONGEST_NAME = 255
"""Bytes that file systems allow for the name of a folder."""


def _refuse_name(place: Path) -> None:
    """Refuse a name that no folder can have, or that is too long for the hidden folder beside it."""
    longest = _LONGEST_NAME - len(stage_prefix(Path("x"))) - 7
    if "\0" in str(place):
        raise BadOutput("the name of the folder for the release holds a character that no name can have")
    if not is_utf8(place):
        raise BadOutput("the path of the folder for the release is not written in UTF-8; rename it, or choose another")
    if len(os.fsencode(place.name)) > longest:
        raise BadOutput(f"{place.name[:20]}…: this name of a folder is too long; give one of at most {longest} bytes")
    try:
        os.lstat(place)
    except OSError as wrong:
        if wrong.errno == ENAMETOOLONG:
            raise BadOutput(f"{place.name}: the path to this folder is too long; give a shorter one") from None


def _refuse_overlap(place: Path, earlier: Path | None) -> None:
    if earlier is None:
        return
    one, other = place.resolve(), earlier.resolve()
    if one == other or one in other.parents or other in one.parents:
        raise BadOutput(
            f"{place.name}: the release would be written over the earlier one, or into it; choose another folder"
        )


def _refuse_place(place: Path, source: Path | None, *, force: bool) -> None:
    if place.is_symlink():
        raise BadOutput(f"{place.name}: this is a symbolic link; give the folder itself")
    if source is not None:
        given = source.resolve()
        if place.resolve() == given or place.resolve() in given.parents:
            raise BadOutput(f"{place.name}: the release would be written over its own input; choose another folder")
    if not place.parent.is_dir():
        raise BadOutput(
            f"{place.name}: the folder {str(place.parent.name)!r} that should hold it does not exist; make it first"
        )
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise BadOutput(f"{place.name}: no permission to write in {str(place.parent.name)!r}")
    if place.exists():
        _refuse_existing(place, force=force)


def _refuse_existing(place: Path, *, force: bool) -> None:
    if not place.is_dir():
        raise BadOutput(f"{place.name}: this is a file; give a folder to write the release into")
    settle(place)  # else a release that another run is just putting into place would seem to be none
    if any(place.iterdir()):
        if not _is_release(place):
            raise BadOutput(f"{place.name}: the folder is not empty and not a release; choose another")
        if not force:
            raise BadOutput(f"{place.name}: there is a release already; {REPLACE_IT}")


def _is_release(place: Path) -> bool:
    """Whether a folder has a manifest of Shoal, and nothing that Shoal did not write."""
    if not {path.name for path in place.iterdir()} <= _OURS:
        return False
    try:
        read_json(place / "manifest.json")
    except BadInput:
        return False
    return True


def _sync(folder: Path) -> None:
    """Flush a folder and all files in it to disk."""
    for path in (*folder.rglob("*"), folder):
        sync_folder(path)


def kind_of(path: Path) -> str:
    """Return the kind of a file, as its extension says.

    >>> kind_of(Path("lattice.SVG"))
    'svg'
    """
    return path.suffix.lower().removeprefix(".")


def refuse_file(path: Path, endings: tuple[str, ...], source: Path | None, *, force: bool) -> None:
    """Refuse a file that cannot or must not be written."""
    if path.suffix.lower() not in endings:
        raise BadOutput(f"{path.name}: the name of this file must end in {' or '.join(endings)}")
    if not path.absolute().parent.is_dir():
        raise BadOutput(
            f"{path.name}: the folder {path.absolute().parent.name!r} that should hold it does not exist; make it first"
        )
    refuse_irregular(path)
    if source is not None and path.resolve() == source.resolve():
        raise BadOutput(f"{path.name}: the table itself would be written over; name another file")
    if path.exists() and not force:
        raise BadOutput(f"{path.name}: there is such a file already; {REPLACE_IT} or name another")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file whole; if that fails, leave what was there and raise the reason."""
    try:
        write_whole(path, content)
    except OSError as wrong:
        raise BadOutput(f"{path.name}: the file could not be written ({reason_of(wrong)})") from None
