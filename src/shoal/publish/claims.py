"""The claims of a published folder, and whether they are what the policy asked for."""

import csv
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import BadInput
from shoal.labels.scale import TOP
from shoal.models import known_model
from shoal.models.model import Model, asked
from shoal.policy.document import Policy
from shoal.publish.contents import PrivateFolder
from shoal.publish.manifest import (
    COUNT,
    FILE,
    Manifest,
    ModelSummary,
    PublicManifest,
    read_manifest,
    to_plain,
)
from shoal.publish.summary import NO_LIMIT, public_parameter
from shoal.roles import Role
from shoal.verify.claim import Claim, Original, Status, Verdict
from shoal.verify.open_release import OpenedRelease, quasi_cells
from shoal.verify.release_files import refuse_irregular
from shoal.verify.released_counts import ReleasedCounts


def load_public(folder: Path) -> PublicManifest:
    """Read the manifest of a published folder; refused where it contradicts itself."""
    manifest = read_manifest(folder, PublicManifest)
    wrong = [what for what, so in (_column_contradictions(manifest) | _figure_contradictions(manifest)).items() if so]
    if wrong:
        raise BadInput(f"{folder.name}/manifest.json: {wrong[0]}")
    return manifest


def _column_contradictions(manifest: PublicManifest) -> dict[str, bool]:
    """Return contradictions about columns, each as a sentence with whether this manifest has it."""
    quasi, sensitive, columns = manifest.quasi_identifiers, manifest.sensitive, manifest.data.columns
    separate, told = manifest.data.separate, manifest.statistics or {}
    own, second = manifest.observed or (), () if separate is None else separate.columns
    labelled = set() if separate is not None else {name for name in quasi if name not in told}
    there = {*quasi, *(sensitive if separate is None else ())}
    return {
        "it names no quasi-identifier, or no model": not quasi or not manifest.models,
        "it names a column twice": any(len(set(n)) < len(n) for n in (quasi, sensitive, own, columns, second)),
        "it names columns that the table does not have": not {*there, *(manifest.data.partitions or ())} <= {*columns},
        "it names a column as a quasi-identifier and as sensitive": bool({*quasi} & {*sensitive}),
        "its second table has not the groups of the first, their values and counts": separate is not None
        and (second[:1] != columns[-1:] or second[1:2] != sensitive or len(second) != 3),
        "it says of a column what is said of quasi-identifiers only": not {*told, *own} <= {*quasi}
        or bool({*told} & {*own}),
        "it says of quasi-identifiers, or of other columns than it has, that they are rounded": not {
            *(manifest.rounded or ())
        }
        <= {*columns, *second} - {*quasi},
        "it gives bounds of columns that it does not call rounded": not {
            *(manifest.bottom or ()),
            *(manifest.top or ()),
        }
        <= {*(manifest.rounded or ())},
        "it lists the labels of other columns than those that show labels": {*manifest.labels} != labelled,
        "it makes a promise about a column that is not sensitive": any(
            model.attribute not in {None, *sensitive} for model in manifest.models
        ),
    }


def _figure_contradictions(manifest: PublicManifest) -> dict[str, bool]:
    """Return contradictions about promises, rows and files, each with whether this manifest has it."""
    data, rows, second = manifest.data, manifest.rows, manifest.data.separate
    further = [bool(model.with_added) for model in manifest.models]
    ending = "" if data.partitions else f".{data.format}"  # Parquet in folders has none
    return {
        "it says itself that a promise does not hold": not all(model.holds for model in manifest.models),
        "it says of the wrong promises that they hold because of added rows": further != sorted(further),
        "it says that some suppressed rows are shown and others not": rows.shown not in {0, rows.suppressed},
        "it says that more rows were added than there are": rows.added > rows.released,
        "it names no table, or one of another format": None in {data.file, data.sha256}
        or Path(data.file or "").suffix != ending,
        "it names no second table": second is not None and None in {second.file, second.sha256},
    }


def _bounds(manifest: PublicManifest) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """Return the least and the greatest number of rounded columns that have such bounds."""
    low, high = ({n: Fraction(str(b)) for n, b in (each or {}).items()} for each in (manifest.bottom, manifest.top))
    return {name: (low.get(name), high.get(name)) for name in [*low, *(each for each in high if each not in low)]}


def claim_of(manifest: PublicManifest, folder: Path) -> Claim:
    """Return the part of a public manifest that can be checked."""
    rows = manifest.rows
    return Claim(
        manifest.quasi_identifiers if manifest.data.separate is None else manifest.data.separate.columns[:1],
        manifest.sensitive,
        [_model_of(model, folder) for model in manifest.models],
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
        rows.suppressed,
        manifest.labels,
        {name: Fraction(str(step)) for name, step in (manifest.rounded or {}).items()},
        [model.worst for model in manifest.models],
        _bounds(manifest),
    )


def _model_of(said: ModelSummary, folder: Path) -> Model:
    """Return the model that a manifest says was asked for; refuse one that this version does not know."""
    about = {} if said.attribute is None else {"attribute": said.attribute}
    try:
        model: Model = known_model(said.model)(**said.asked, **about)
        found = model.about
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise BadInput(
            f"{folder.name}/manifest.json: it promises a model that this version does not know; import the class of a "
            "model of your own first"
        ) from None
    if found != said.attribute or (model.per_attribute and found is None):
        raise BadInput(f"{folder.name}/manifest.json: it does not say which attribute {said.model} is about")
    return model


def judge_counterfeits(
    manifest: PublicManifest, folder: Path, release: OpenedRelease, claim: Claim, original: Original | None
) -> list[Verdict]:
    """Judge the file of counterfeits, the rows that stand in for people who left: its counts must be true.

    The row map tells which rows these are; without it, no class may have more of them than rows.
    """
    if manifest.republish is None or not manifest.rows.added:
        return []
    refuse_irregular(folder / FILE)
    try:
        with (folder / FILE).open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        found = {tuple(cells): int(count) for *cells, count in lines}
    except (OSError, csv.Error, ValueError):
        return [Verdict(COUNT, Status.FAILS, why=f"{FILE} is missing or damaged")]
    total = sum(found.values())
    true = header == [*claim.quasi_identifiers, COUNT] and len(found) == len(lines) and total == manifest.rows.added
    true = true and _has_true_counts(found, release, claim, original)
    return [Verdict(COUNT, Status.HOLDS if true else Status.FAILS, {"rows": manifest.rows.added}, {"rows": total})]


def _has_true_counts(
    told: Mapping[tuple[str, ...], int], release: OpenedRelease, claim: Claim, original: Original | None
) -> bool:
    """Whether each class has as many added rows as told or, without a row map, at least as many rows."""
    cells = ", ".join(quasi_cells(claim))
    if original is None or original.rows is None:
        lines = release.db.sql(f"SELECT {cells}, sum(n)::BIGINT FROM released GROUP BY ALL").fetchall()
        sizes = {tuple(cell or "" for cell in shown): n for *shown, n in lines}
        return all(0 < count <= sizes.get(shown, 0) for shown, count in told.items())
    release.db.register("added_rows", pa.table({"row": np.flatnonzero(original.rows < 0)}))
    listed = f"SELECT {cells}, count(*) FROM listed JOIN added_rows ON listed.rowid = added_rows.row GROUP BY ALL"
    return told == {tuple(cell or "" for cell in shown): n for *shown, n in release.db.sql(listed).fetchall()}


def judge_claim(
    told: PublicManifest,
    claim: Claim,
    known: PrivateFolder,
    releases: int | None,
    counted: ReleasedCounts,
    original: Original,
) -> Verdict:
    """Judge whether a claim is the one of the policy, and whether both manifests agree on columns, models and numbers.

    `releases` is the number of releases in the history. What the private manifest says about the search, losses and
    attacks is not checked, since it promises nothing.
    """
    wrong = []
    differ = [
        what for what, same in _compare_with_policy(told, claim, known.policy, counted, original).items() if not same
    ]
    if differ:
        wrong.append(f"the manifest and the policy of the private folder differ in {' and '.join(differ)}")
    read = claim.rows - claim.added + (0 if claim.shown else claim.suppressed or 0)
    if read != original.table.rows:
        wrong.append(
            f"the release was made of {read:,} rows, by its manifest, and what was given as the original has "
            f"{original.table.rows:,}"
        )
    differ = [
        what for what, same in _compare_manifests(told, known.manifest, known.policy, original).items() if not same
    ]
    if releases != (None if told.republish is None else told.republish.release):
        differ.append("how many releases there were")
    if differ:
        wrong.append(f"the private manifest differs from the release or its policy in {' and '.join(differ)}")
    return Verdict("claim", Status.FAILS if wrong else Status.HOLDS, why="; ".join(wrong))


def _compare_with_policy(
    told: PublicManifest, claim: Claim, policy: Policy, counted: ReleasedCounts, original: Original
) -> dict[str, bool]:
    shown = {claim.source(name) for name in told.quasi_identifiers}
    grouped = policy.method.algorithm == "anatomy"  # then the classes are groups, and nothing is generalised
    roles = {name: attribute.role for name, attribute in policy.attributes.items()}
    others = {name for name in claim.columns if name not in claim.quasi_identifiers}
    plain = {name for name in others if roles.get(name, Role.INSENSITIVE) in {Role.SENSITIVE, Role.INSENSITIVE}}
    return {
        "quasi-identifiers": shown == set(policy.quasi_identifiers) and (grouped or others == plain),
        "sensitive attributes": set(claim.sensitive) == set(policy.named(Role.SENSITIVE)),
        "what columns tell of their class": grouped or _same_forms(claim, policy),
        "how columns are rounded": claim.rounded == policy.rounding and claim.bounds == policy.bounds,
        "models or their parameters": _same_models(claim.models, policy.promises, counted),
        "which models hold because of added rows": claim.further == policy.further,
        "whether persons are counted": claim.persons == (policy.unit is not None),
        "whether rows were added": not claim.added or policy.blocking is not None or policy.further > 0,
        "how many rows were added": claim.added == (0 if original.rows is None else int((original.rows < 0).sum())),
        "whether suppressed rows are shown": (policy.release.suppressed == "show" or not claim.shown)
        and (policy.release.suppressed != "show" or claim.shown == claim.suppressed),
    }


def _same_forms(claim: Claim, policy: Policy) -> bool:
    """Whether statistics and observed ranges are those that the policy asks for.

    Where it leaves them to the algorithm, clusters show means or medians, and all else shows labels.
    """
    own, clusters = policy.release.ranges == "observed", policy.method.algorithm == "microaggregation"
    expected: dict[str, tuple[str, str]] = {}
    ranges = set()
    for name in policy.quasi_identifiers:
        attribute = policy.attributes[name]
        median = claim.statistics.get(name) == (name, "median")
        forms = attribute.form or (("range",) if not clusters else ("median",) if median else ("mean",))
        observed = own and attribute.hierarchy is None
        ranges |= {name} if observed and "range" in forms else set()
        bounds = ("min", "max") if observed else ("lo", "hi")
        for form in forms:
            if form == "bounds":
                expected |= {f"{name}_{end}": (name, kind) for end, kind in zip(("lo", "hi"), bounds, strict=True)}
            elif form != "range":
                expected[name if len(forms) == 1 else f"{name}_{form}"] = (name, form)
    tells = bool(ranges) or any(kind in {"min", "max"} for _, kind in expected.values())
    by_label = tells and policy.method.algorithm == "mondrian-single"
    return dict(claim.statistics) == expected and claim.observed == ranges and claim.by_label == by_label


def _compare_manifests(told: PublicManifest, known: Manifest, policy: Policy, original: Original) -> dict[str, bool]:
    """Return which parts of the private manifest agree with the public one and with the policy."""
    again = None if known.republish is None else (known.republish.way, known.republish.release)
    labels = {name: original.hierarchies[name].labels[level] for name, level in original.levels.items()}
    stars = {name: original.hierarchies[name].top for name in labels}
    stars = {name: top for name, top in stars.items() if list(labels[name]) == [top]}
    return {
        "rows": known.rows.model_dump(exclude={"read"}) == told.rows.model_dump()
        and known.rows.read == known.rows.released + known.rows.suppressed - known.rows.added,
        "classes": known.classes == told.classes,
        "models": [_promise_key(each) for each in known.models] == [_promise_key(each) for each in told.models]
        and [_comparable_parameters(each.asked) for each in known.models]
        == [_comparable_parameters(asked(each)) for each in policy.promises],
        "what shows * only": set(known.recoding.stars or ()) == {*stars}
        and (known.recoding.tops or {}) == {name: top for name, top in stars.items() if top != TOP},
        "data": known.data == told.data,
        "earlier releases": again == (None if told.republish is None else (told.republish.way, told.republish.release))
        and (None if policy.republish is None else policy.republish.way) == (None if again is None else again[0]),
        "policy": _comparable_policy(known.policy) == _comparable_policy(policy.document()),
    }


def _promise_key(said: ModelSummary) -> tuple[str, str | None, bool, bool | None]:
    return said.model, said.attribute, said.holds, said.with_added


def _comparable_parameters(parameters: Mapping[str, Any]) -> Any:
    """Return the parameters without the attribute, which is compared separately, and without a path."""
    return _without(_without(to_plain(parameters), "attribute"), "population")


def _comparable_policy(policy: Mapping[str, Any]) -> Any:
    """Return a policy as a document without hierarchies and paths, of which the private folder has copies."""
    bare = dict(to_plain(policy))
    if isinstance(columns := bare.get("attributes"), Mapping):
        bare["attributes"] = {name: _without(each, "hierarchy") for name, each in columns.items()}
    if isinstance(models := bare.get("require"), list):
        bare["require"] = [_without(each, "population") for each in models]
    bare["method"] = _without(bare.get("method", {}), "workload")
    return bare


def _without(table: Any, key: str) -> Any:
    return {name: value for name, value in table.items() if name != key} if isinstance(table, Mapping) else table


def _same_models(said: Sequence[Model], required: Sequence[Model], counted: ReleasedCounts) -> bool:
    return len(said) == len(required) and all(
        type(one) is type(other) and _same_parameters(asked(one), asked(other), _values_shown(other, counted))
        for one, other in zip(said, required, strict=True)
    )


def _values_shown(model: Model, counted: ReleasedCounts) -> AbstractSet[str | None]:
    """Return the values that the release shows of the attribute that a model is about."""
    values = counted.classes.sensitive.get(model.about or "")
    return set(values.labels) if values else set()


def _same_parameters(said: Mapping[str, Any], required: Mapping[str, Any], shown: AbstractSet[str | None]) -> bool:
    return said.keys() == required.keys() and all(
        _same_thresholds(said[name], limit, shown)
        if isinstance(limit, Mapping)
        else said[name] == public_parameter(name, limit, shown)
        for name, limit in required.items()
    )


def _same_thresholds(said: Any, required: Mapping[str, Any], shown: AbstractSet[str | None]) -> bool:
    """Whether thresholds are the required ones, or at least those of them whose values the release shows."""
    given = said if isinstance(said, Mapping) else {}
    if given is not said and said != NO_LIMIT:
        return False
    return given.items() <= required.items() and {value for value in required if value in shown} <= given.keys()
