"""The file that the graph of values and classes may be written to, checked before any work is done."""

import os
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import BadInput
from shoal.report.lattice_files import kind_of, refuse_file, write_file
from shoal.report.plots.alpha_graph import AlphaGraph

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
        kind = kind_of(self.path)
        write_file(self.path, "".join(graph.graphml()) if kind == "graphml" else graph.render(kind))
