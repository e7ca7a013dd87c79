"""Two folders, both or none: `out/` may be published, `out.private/` knows the original (design 11, 14)."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import BadInput, BadOutput
from shoal.runtime.memory import is_shortage
from shoal.runtime.tempdir import SPILL, Scratch, clear

_OURS = {
    "boxes.parquet",
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

    @classmethod
    def choose(
        cls,
        out: str | os.PathLike[str],
        private: str | os.PathLike[str] | None,
        source: Path | None,
        *,
        force: bool,
        earlier: Path | None = None,
    ) -> "Places":
        """Refuse what cannot or must not be written; `earlier` is a folder that stays as it is."""
        public = Path(os.path.abspath(out))
        if not public.name or public == Path.cwd():
            raise BadOutput(f"{out}: give a new folder to write the release into, e.g. out/")
        secret = Path(os.path.abspath(private)) if private else public.with_name(public.name + ".private")
        if secret == public or public in secret.parents:
            raise BadOutput(f"{secret.name}: the private folder must not lie inside the one that is published")
        if secret in public.parents:
            raise BadOutput(f"{public.name}: the published folder must not lie inside the private one")
        for place in (public, secret):
            _clear_leftovers(place)
        for place in (public, secret):  # first: neither may be tried again with force
            _refuse_meeting(place, earlier)
        for place in (public, secret):
            _refuse_place(place, source, force=force)
        return cls(public, secret)

    @contextmanager
    def filled(self, last: Callable[[], None] = lambda: None) -> Iterator[tuple[Path, Path]]:
        """Two folders to fill, hidden beside the targets; both are moved into place at the end, or both removed.

        `last` is called once they stand there; if it raises, both are moved back.
        """
        stages: list[Scratch] = []
        try:
            for place in (self.public, self.private):  # one by one: what was made is removed
                stages += [Scratch(place.parent, f".{place.name}.shoal-", _undo)]
            public, private = (stage.path / "new" for stage in stages)
            public.mkdir()  # with the rights that the umask allows
            private.mkdir(mode=0o700)
            yield public, private
            _sync(public)
            _sync(private)
            begun = {"stage": str(stages[1].path), "place": str(self.private), "public": str(self.public)}
            write_whole(stages[0].path / _BEGUN, json.dumps(begun))
            # the private half first: a public folder never stands without the record of how it was made
            _swap([(stages[1].path, self.private), (stages[0].path, self.public)], last)
        except OSError as wrong:
            why = wrong.strerror or "input/output error"
            raise BadOutput(
                f"{self.public.name}: the release could not be written ({why}); nothing was changed"
            ) from None
        finally:
            for stage in stages:
                stage.close()

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Make the reports of a release that stands in its place: if that fails, only the report does."""
        try:
            yield
        except Exception as wrong:
            if not isinstance(wrong, OSError) and not is_shortage(wrong):
                raise
            why = (wrong.strerror or "input/output error") if isinstance(wrong, OSError) else "memory ran out"
            raise BadOutput(
                f"{self.public.name}: the release was verified and published, but its report could not be made ({why})"
            ) from None


_BEGUN = "begun.json"
"""Stands beside the new public folder while both are moved into place: a later run that finds it undoes the move."""


def _clear_leftovers(place: Path) -> None:
    """Remove what a run that was killed left beside a place."""
    for prefix in (f".{place.name}.shoal-", SPILL):
        try:
            clear(place.parent, prefix, _undo)
        except OSError:
            return  # there is no such folder, or nothing may be written there: that is said elsewhere


def _undo(stage: Path) -> None:
    """Undo a move that was begun and not finished: put back what stood there before."""
    if not (stage / _BEGUN).is_file() or not (stage / "new").exists():
        return  # nothing was moved yet, or everything was
    begun = json.loads((stage / _BEGUN).read_text("utf-8"))
    other, private, public = (Path(begun[name]) for name in ("stage", "place", "public"))
    if other.is_dir() and not (other / "new").exists() and private.exists():
        private.rename(other / "new")
    for kept, back in ((other / "old", private), (stage / "old", public)):
        if kept.exists() and not back.exists():
            kept.rename(back)


def known_format(name: str) -> str:
    """The format itself; refused if no release is written in it."""
    if name not in {"csv", "parquet"}:
        raise BadInput(f"format {name!r} is not known; a release is written as csv or parquet")
    return name


def partitioned_format(name: str | None) -> str:
    """Parquet; any other format is refused, since it is not kept in folders."""
    if name not in {None, "parquet"}:
        raise BadInput("partition by: only Parquet is kept in folders; leave --format out, or write parquet")
    return "parquet"


def put_file(place: Path, name: str, text: str, *, private: bool = False) -> None:
    """Put a file into the folder of a release that stands in its place, whole or not at all."""
    stage = Scratch(place.parent, f".{place.name}.shoal-", _undo)
    try:
        made = stage.path / name
        made.write_text(text, "utf-8")
        if private:
            made.chmod(0o600)
        made.replace(place / made.name)
    finally:
        stage.close()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, or leave what was there."""
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with made.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def _refuse_meeting(place: Path, earlier: Path | None) -> None:
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
    if any(place.iterdir()):
        if not _is_release(place):
            raise BadOutput(f"{place.name}: the folder is not empty and not a release; choose another")
        if not force:
            raise BadOutput(f"{place.name}: there is a release already; use --force to replace it")


def _is_release(place: Path) -> bool:
    """Whether a folder has a manifest of Shoal, and nothing that Shoal did not write."""
    if not {path.name for path in place.iterdir()} <= _OURS:
        return False
    try:
        document = json.loads((place / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and "shoal" in document


def _sync(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _swap(moves: Sequence[tuple[Path, Path]], last: Callable[[], None]) -> None:
    """Move each stage's `new` to its place; what stood there waits in `old`, and all comes back if anything fails."""
    begun: list[tuple[Path, Path]] = []
    try:
        for stage, place in moves:
            begun.append((stage, place))
            if place.exists():
                place.rename(stage / "old")
            (stage / "new").rename(place)
        last()
    except BaseException:
        for stage, place in reversed(begun):
            if not (stage / "new").exists():
                place.rename(stage / "new")
            if (stage / "old").exists():
                (stage / "old").rename(place)
        raise


def kind_of(path: Path) -> str:
    """Kind of a file, as the ending of its name says.

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
    if path.is_dir():
        raise BadOutput(f"{path.name}: this is a folder; give a file")
    if source is not None and path.resolve() == source.resolve():
        raise BadOutput(f"{path.name}: the table itself would be written over; name another file")
    if path.exists() and not force:
        raise BadOutput(f"{path.name}: there is such a file already; use --force to replace it or name another")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, or leave what was there and say why."""
    try:
        write_whole(path, content)
    except OSError as wrong:
        raise BadOutput(f"{path.name}: the file could not be written ({wrong.strerror})") from None
