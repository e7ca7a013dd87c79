"""The page about the design gives, for every field of the public manifest, the reason why it may be public."""

import re
from pathlib import Path
from typing import get_args

from pydantic import BaseModel

from shoal.publish.manifest import PublicManifest

PAGE = Path(__file__).parents[2] / "docs" / "design.md"


def paths(model, prefix=""):
    """The dotted path of every field that holds no further fields."""
    for name, field in model.model_fields.items():
        inner = next((part for part in parts(field.annotation) if issubclass(part, BaseModel)), None)
        if inner is None:
            yield prefix + name
        else:
            yield from paths(inner, f"{prefix}{name}.")


def parts(annotation):
    """The classes that an annotation is made of."""
    if isinstance(annotation, type) and not get_args(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from parts(part)


def test_every_public_field_has_a_documented_reason():
    section = PAGE.read_text("utf-8").split("## What the public folder says")[1].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    named = [name for _, fields, why, _ in rows for name in re.findall(r"`([^`]+)`", fields) if why.strip()]
    assert sorted(named) == sorted(paths(PublicManifest))
