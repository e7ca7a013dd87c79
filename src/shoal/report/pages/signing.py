"""How to check a release, and the page on which somebody answers for it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.models import MODELS
from shoal.report.manifest import Data, Manifest
from shoal.report.pages.blocks import Command, Section, Table, Text, many, percent
from shoal.report.pages.figures import attained, promise
from shoal.report.pages.shared import verdict
from shoal.report.pages.visible import Visible

if TYPE_CHECKING:
    from shoal.report.pages.blocks import Block

_MOST = 6
"""Promises that fit on one sheet."""


def verify_it(data: Data, *, private: bool = False) -> Section:
    """The files, their hashes, and the command that checks them."""
    files = [(data.file, data.sha256)]
    if data.separate is not None:
        files.append((data.separate.file, data.separate.sha256))
    blocks: list[Block] = [
        Table(("File", "SHA-256"), [[name or "", sha256 or ""] for name, sha256 in files]),
        Text("To count everything again from the file, and to see whether it is still the one that was written:"),
        Command("shoal verify out/ --original DATA" if private else "shoal verify out/"),
    ]
    return Section("files", "Files, and how to check them", blocks)


def footer(version: str) -> str:
    return f"Made by Shoal {version}."


def sign_off(manifest: Manifest, visible: Visible) -> Sequence[tuple[str, Sequence[str]]]:
    """What the person who signs has to know, each under its heading, short enough for one sheet."""
    models = manifest.models[:_MOST]
    left = len(manifest.models) - len(models)
    more = [f"and {left} more, in the section on guarantees"] if left > 0 else []
    rows, classes = manifest.rows, manifest.classes
    asks = [f"{promise(m.model, m.attribute, m.asked)}: attained {attained(m.attained)}" for m in models]
    left_out = f"{rows.suppressed:,} suppressed ({percent(rows.suppressed, rows.read)})"
    worst, mean = (percent(1, max(size, 1)) for size in (classes.min, classes.mean))
    chances = f"smallest class {classes.min:,} rows: a guess is right with {worst} at most, with {mean} on average"
    if manifest.data.separate is not None:
        chances = f"smallest group {classes.min:,} rows: which of its values is whose is not told; rows are not hidden"
    return (
        ("Release", [f"{manifest.data.file}, SHA-256 {manifest.data.sha256}"]),
        ("Threshold asked, and what is attained", [*asks, *more]),
        ("Adversary assumed: somebody who …", list(dict.fromkeys(MODELS[model.model].adversary for model in models))),
        ("Population compared with", [_population(manifest)]),
        ("Rows", [f"{rows.released:,} released of {rows.read:,} read; {left_out}; {rows.added:,} added"]),
        ("What is left of the risk", [chances, "; ".join(f"{a.channel}: {verdict(a)}" for a in visible.audit.lines)]),
    )


def _population(manifest: Manifest) -> str:
    """What models of a population were judged with."""
    named = {str(model.asked["population"]) for model in manifest.models if "population" in model.asked}
    sizes = {int(model.asked["population_size"]) for model in manifest.models if "population_size" in model.asked}
    told = [*sorted(named), *(many(size, "person", "persons") for size in sorted(sizes))]
    return "; ".join(told) if told else "none: everybody in the table is taken to be known to be in it"
