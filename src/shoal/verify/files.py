"""The files of a release: whether the table is the published one, and its manifests."""

import hashlib
import json
from pathlib import Path
from typing import Any

from shoal.errors import BadInput
from shoal.verify.verdict import Status, Verdict


def table_in(folder: Path, name: str | None) -> Path:
    """The released table: a file, or the folder that its parts lie in, right inside the published folder."""
    table = folder / (name or "")
    if table.parent != folder or not table.exists():
        raise BadInput(f"{folder.name}/{name}: the released table is missing")
    return table


def parts_of(table: Path) -> list[Path]:
    """All files of a table in parts, sorted by where they lie."""
    return sorted(
        (path for path in table.rglob("*") if not path.is_dir()), key=lambda path: path.relative_to(table).as_posix()
    )


def check_hash(table: Path, sha256: str) -> Verdict:
    """Whether the file is the one that was published; of parts, the list that `sha256sum` prints of them is hashed."""
    if table.is_dir():
        lines = (f"{_digest(part)}  ./{part.relative_to(table).as_posix()}\n" for part in parts_of(table))
        found = hashlib.sha256("".join(lines).encode()).hexdigest()
    else:
        found = _digest(table)
    return Verdict("sha256", Status.HOLDS if found == sha256 else Status.FAILS, {"sha256": sha256}, {"sha256": found})


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """A manifest, or one sentence about why it is none."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput(
            f"{path.parent.name}/{path.name}: there is no manifest; is this the folder of a release?"
        ) from None
    except (OSError, ValueError):
        raise BadInput(f"{path.parent.name}/{path.name}: the manifest cannot be read") from None
    if not isinstance(document, dict) or "shoal" not in document:
        raise BadInput(f"{path.parent.name}/{path.name}: this is not a manifest of Shoal")
    return document
