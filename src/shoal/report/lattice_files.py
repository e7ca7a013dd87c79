"""The files that a listed lattice may be written to, checked before any work is done."""

import os
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import BadOutput
from shoal.report.folder import write_whole
from shoal.report.lattice_table import LatticeTable

_ENDINGS = {"picture": (".svg", ".png"), "csv": (".csv",)}


@dataclass(frozen=True)
class LatticeFiles:
    """Where the picture and the lines go, if anywhere; they tell of the original, so they are not for publishing."""

    picture: Path | None = None
    csv: Path | None = None

    @classmethod
    def choose(
        cls,
        picture: str | os.PathLike[str] | None,
        csv: str | os.PathLike[str] | None,
        source: Path | None,
        *,
        force: bool,
    ) -> "LatticeFiles":
        """Refuse what cannot or must not be written."""
        chosen = {kind: Path(path) for kind, path in (("picture", picture), ("csv", csv)) if path is not None}
        for kind, path in chosen.items():
            refuse_file(path, _ENDINGS[kind], source, force=force)
        return cls(**chosen)

    def write(self, table: LatticeTable) -> None:
        if self.csv is not None:
            write_file(self.csv, table.csv())
        if self.picture is not None:
            from shoal.report.plots.lattice_graph import LatticeGraph

            write_file(self.picture, LatticeGraph(table).render(kind_of(self.picture)))


def kind_of(path: Path) -> str:
    """What its name says that it is.

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
