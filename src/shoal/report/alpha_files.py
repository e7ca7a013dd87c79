"""The file that the graph of values and classes may be written to, checked before any work is done."""

import os
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import BadInput
from shoal.report.alpha_graph import AlphaGraph
from shoal.report.lattice_files import refuse_file, write_file

_ENDINGS = (".graphml", ".svg", ".png")


@dataclass(frozen=True)
class GraphFile:
    """Where the graph goes; it tells of the table, so it is not for publishing unless the table is published."""

    path: Path

    @classmethod
    def choose(
        cls, path: str | os.PathLike[str], source: Path | None, sensitive: list[str], *, force: bool
    ) -> "GraphFile":
        """Refuse what cannot or must not be written; the graph is about one sensitive attribute."""
        if len(sensitive) != 1:
            raise BadInput(f"the graph is about one sensitive attribute, and {len(sensitive)} are named")
        refuse_file(Path(path), _ENDINGS, source, force=force)
        return cls(Path(path))

    def write(self, graph: AlphaGraph) -> None:
        kind = self.path.suffix.lower().removeprefix(".")
        if kind == "graphml":
            write_file(self.path, "".join(graph.graphml()))
            return
        from shoal.report.alpha_picture import render

        write_file(self.path, render(graph, kind))
