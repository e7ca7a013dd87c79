"""The JSON Schemas that are shipped with the package; `python scripts/schemas.py` writes them anew."""

import json
from pathlib import Path
from typing import Any

from shoal.errors import KINDS
from shoal.policy.document import Policy
from shoal.publish.manifest import Manifest, PublicManifest

FOLDER = Path(__file__).parents[1] / "src" / "shoal" / "schemas"


def generated() -> dict[str, dict[str, Any]]:
    """Schemas by the name of their file."""
    return {
        "policy.schema.json": Policy.json_schema(),
        "manifest.schema.json": Manifest.model_json_schema(),
        "public-manifest.schema.json": PublicManifest.model_json_schema(),
        "error.schema.json": _error(),
    }


def _error() -> dict[str, Any]:
    """Return the schema of what a command prints on stderr when it fails with `--json`."""
    fields = {
        "kind": {"description": "What went wrong; names are never reused.", "enum": list(KINDS)},
        "message": {
            "description": "One sentence for a person; it names cells only with --show-values.",
            "type": "string",
        },
        "exit_code": {"description": "The exit code of the command.", "enum": sorted({*KINDS.values()})},
    }
    return {"title": "Error", **_exactly({"error": _exactly(fields)})}


def _exactly(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def write(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    for name, schema in generated().items():
        (folder / name).write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    write()
