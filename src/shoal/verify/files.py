"""The files of a release: whether the table is the published one, and its manifests."""

import hashlib
import json
from pathlib import Path
from typing import Any

from shoal.errors import BadInput
from shoal.verify.verdict import Status, Verdict


def check_hash(file: Path, sha256: str) -> Verdict:
    """Whether the file is the one that was published."""
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return Verdict("sha256", Status.HOLDS if found == sha256 else Status.FAILS, {"sha256": sha256}, {"sha256": found})


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
