"""What a published folder claims, and whether that is what the policy asked for."""

import csv
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shoal.errors import BadInput
from shoal.models import known_model
from shoal.models.model import Model, asked
from shoal.policy.document import Policy
from shoal.publish.manifest import COUNT, FILE, ModelSummary, PublicManifest
from shoal.publish.summary import NO_LIMIT, told
from shoal.roles import Role
from shoal.verify.claim import Claim, Status, Verdict
from shoal.verify.release_files import read_json
from shoal.verify.released_counts import ReleasedCounts


def load_public(folder: Path) -> PublicManifest:
    """Read the manifest of a published folder."""
    document = read_json(folder / "manifest.json")
    try:
        manifest = PublicManifest(**document)
    except (TypeError, ValidationError):
        raise BadInput(f"{folder.name}/manifest.json: this is not the manifest of a published folder") from None
    told = [*(manifest.statistics or ()), *(manifest.observed or ())]
    promised = [model.attribute for model in manifest.models if model.attribute]
    named = [*manifest.quasi_identifiers, *manifest.sensitive, *told, *promised]
    there = {*manifest.data.columns, *(manifest.data.separate.columns if manifest.data.separate is not None else ())}
    if not manifest.quasi_identifiers or not manifest.models or not set(named) <= there:
        raise BadInput(f"{folder.name}/manifest.json: it names no quasi-identifier, no model or columns there are not")
    return manifest


def claim_of(manifest: PublicManifest, folder: Path) -> Claim:
    """The part of a public manifest that can be checked."""
    rows = manifest.rows
    return Claim(
        manifest.quasi_identifiers if manifest.data.separate is None else manifest.data.separate.columns[:1],
        manifest.sensitive,
        [_promised(model, folder) for model in manifest.models],
        rows.released + rows.shown,
        manifest.data.columns,
        manifest.classes.model_dump(),
        [model.attained for model in manifest.models],
        rows.shown,
        manifest.persons,
        manifest.statistics or {},
        frozenset(manifest.observed or ()),
        bool(manifest.by_label),
        rows.added,
        sum(bool(model.with_added) for model in manifest.models),
    )


def _promised(said: ModelSummary, folder: Path) -> Model:
    """The model that a manifest says was asked for."""
    about = {} if said.attribute is None else {"attribute": said.attribute}
    try:
        model: Model = known_model(said.model)(**said.asked, **about)
    except (TypeError, ValueError):
        raise BadInput(
            f"{folder.name}/manifest.json: it promises a model that this version does not know; import the class of a "
            "model of your own first"
        ) from None
    return model


def counterfeits_told(manifest: PublicManifest, folder: Path) -> list[Verdict]:
    """Judge, where rows stand in for people who left, whether the file beside the table tells how many there are."""
    if manifest.republish is None or not manifest.rows.added:
        return []
    try:
        lines = csv.DictReader((folder / FILE).read_text("utf-8").splitlines())
        found = sum(int(line[COUNT]) for line in lines)
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        return [Verdict(COUNT, Status.FAILS, why=f"{FILE} is missing or damaged")]
    status = Status.HOLDS if found == manifest.rows.added else Status.FAILS
    return [Verdict(COUNT, status, {"rows": manifest.rows.added}, {"rows": found})]


def agrees(claim: Claim, policy: Policy, counted: ReleasedCounts) -> Verdict:
    """Whether a claim is the one that the policy makes: the same columns, the same models, the same numbers."""
    differ = [what for what, same in _compared(claim, policy, counted).items() if not same]
    if not differ:
        return Verdict("claim", Status.HOLDS)
    why = f"the manifest and the policy of the private folder differ in {' and '.join(differ)}"
    return Verdict("claim", Status.FAILS, why=why)


def _compared(claim: Claim, policy: Policy, counted: ReleasedCounts) -> dict[str, bool]:
    shown = {claim.source(name) for name in claim.quasi_identifiers}
    grouped = policy.method.algorithm == "anatomy"  # then the classes are groups, and nothing is generalised
    return {
        "quasi-identifiers": shown == set(policy.quasi_identifiers) or grouped,
        "sensitive attributes": set(claim.sensitive) == set(policy.named(Role.SENSITIVE)),
        "models or their parameters": _same_models(claim.models, policy.promises, counted),
        "whether persons are counted": claim.persons == (policy.unit is not None),
        "whether rows were added": not claim.added or policy.blocking is not None or policy.further > 0,
        "whether suppressed rows are shown": not claim.shown or policy.release.suppressed == "show",
    }


def _same_models(said: Sequence[Model], required: Sequence[Model], counted: ReleasedCounts) -> bool:
    return len(said) == len(required) and all(
        type(one) is type(other) and _same_parameters(asked(one), asked(other), _shown(other, counted))
        for one, other in zip(said, required, strict=True)
    )


def _shown(model: Model, counted: ReleasedCounts) -> AbstractSet[str | None]:
    """Values that the release shows of the attribute that a model is about."""
    values = counted.classes.sensitive.get(model.about or "")
    return set(values.labels) if values else set()


def _same_parameters(said: Mapping[str, Any], required: Mapping[str, Any], shown: AbstractSet[str | None]) -> bool:
    return said.keys() == required.keys() and all(
        _same_thresholds(said[name], limit, shown)
        if isinstance(limit, Mapping)
        else said[name] == told(name, limit, shown)
        for name, limit in required.items()
    )


def _same_thresholds(said: Any, required: Mapping[str, Any], shown: AbstractSet[str | None]) -> bool:
    """Whether thresholds are the required ones, or at least those of them whose values the release shows."""
    given = said if isinstance(said, Mapping) else {}
    if given is not said and said != NO_LIMIT:
        return False
    return given.items() <= required.items() and {value for value in required if value in shown} <= given.keys()
