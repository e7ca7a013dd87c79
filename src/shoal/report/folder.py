"""Two folders, both or none: `out/` may be published, `out.private/` knows the original (design 11, 14)."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import BadOutput


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
    ) -> "Places":
        """Refuse what cannot or must not be written."""
        public = Path(os.path.abspath(out))
        secret = Path(os.path.abspath(private)) if private else public.with_name(public.name + ".private")
        if not public.name:
            raise BadOutput(f"{out}: give a folder to write the release into, e.g. out/")
        if secret == public or public in secret.parents:
            raise BadOutput(f"{secret.name}: the private folder must not lie inside the one that is published")
        if secret in public.parents:
            raise BadOutput(f"{public.name}: the published folder must not lie inside the private one")
        for place in (public, secret):
            _refuse_place(place, source, force=force)
        return cls(public, secret)

    @contextmanager
    def filled(self) -> Iterator[tuple[Path, Path]]:
        """Two temporary folders beside the targets; both are moved into place at the end, or both removed."""
        made: list[Path] = []
        try:
            made += [_beside(self.public), _beside(self.private)]
            yield made[0], made[1]
            made[0].chmod(0o755)
            for folder in made:
                _sync(folder)
            # the private half first: a public folder never stands without the record of how it was made
            for folder, place in ((made[1], self.private), (made[0], self.public)):
                _replace(folder, place)
        except OSError as wrong:
            raise BadOutput(
                f"{self.public.name}: the release could not be written ({wrong.strerror}); nothing was changed"
            ) from None
        finally:
            for folder in made:
                shutil.rmtree(folder, ignore_errors=True)


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
        if not (place / "manifest.json").is_file():
            raise BadOutput(f"{place.name}: the folder is not empty and not a release; choose another")
        if not force:
            raise BadOutput(f"{place.name}: there is a release already; use --force to replace it")


def _beside(place: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))


def _sync(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _replace(folder: Path, place: Path) -> None:
    """Move `folder` to `place`; an older release steps aside first and comes back if the move fails."""
    if not place.exists():
        folder.rename(place)
        return
    aside = _beside(place)
    place.rename(aside / "old")
    try:
        folder.rename(place)
    except OSError:
        (aside / "old").rename(place)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
