"""Files that a lattice, a sweep or the graph of values and classes may be written to, checked before any work."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import BadInput
from shoal.publish.folder import kind_of, refuse_file, write_file
from shoal.report.plots.alpha_graph import AlphaGraph
from shoal.report.plots.display import Display, refuse_without_matplotlib

_GRAPH_ENDINGS = (".graphml", ".svg", ".png")


@dataclass(frozen=True)
class GraphFile:
    """Where the graph is written; it reveals the table, so it may be published only if the table is."""

    path: Path

    @classmethod
    def choose(
        cls, path: str | os.PathLike[str], source: Path | None, sensitive: list[str], *, force: bool
    ) -> "GraphFile":
        """Refuse what cannot or must not be written; the graph is about one sensitive attribute."""
        if len(sensitive) != 1:
            raise BadInput(f"the graph is about one sensitive attribute, and {len(sensitive)} are named")
        refuse_file(Path(path), _GRAPH_ENDINGS, source, force=force)
        if kind_of(Path(path)) != "graphml":
            refuse_without_matplotlib()
        return cls(Path(path))

    def write(self, graph: AlphaGraph) -> None:
        kind = kind_of(self.path)
        write_file(self.path, "".join(graph.graphml()) if kind == "graphml" else graph.render(kind))


_ENDINGS = {"picture": (".svg", ".png"), "csv": (".csv",)}


@dataclass(frozen=True)
class ListFiles:
    """Where a list and its picture are written, if at all; they reveal the original, so they are not for publishing."""

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
    ) -> "ListFiles":
        """Refuse what cannot or must not be written."""
        chosen = {kind: Path(path) for kind, path in (("picture", picture), ("csv", csv)) if path is not None}
        for kind, path in chosen.items():
            refuse_file(path, _ENDINGS[kind], source, force=force)
        if "picture" in chosen:
            refuse_without_matplotlib()
        return cls(**chosen)

    def write(self, lines: Callable[[], str], drawn: Callable[[], Display]) -> None:
        """Write what was asked for."""
        if self.csv is not None:
            write_file(self.csv, lines())
        if self.picture is not None:
            write_file(self.picture, drawn().render(kind_of(self.picture)))
