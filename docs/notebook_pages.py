"""A notebook as a page of the site: its texts, its code, and what comes out of it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def notebook_page(path: Path) -> str:
    """Return a notebook as Markdown; below its title it says where to get it."""
    first, *cells = json.loads(path.read_text("utf-8"))["cells"]
    link = f"This page is [the notebook]({path.name}): save it, open it in Jupyter, and change what you like."
    return "\n\n".join(["".join(first["source"]), link, *(part for cell in cells for part in _parts(cell))]) + "\n"


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        text = "".join(output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"])
        yield f"```text\n{text.rstrip()}\n```"
