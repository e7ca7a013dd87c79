"""Makes the two manifests from a plan and its verdicts: the private one, and the public one that tells less."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from shoal import __version__
from shoal.blocking.block import blocking_summary
from shoal.engine_port import Source
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import Rows as Lines
from shoal.hierarchy.taxonomy import TOP
from shoal.metrics.catalogue import catalogue, measured
from shoal.metrics.comparison import Comparison, Measurement, see
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.problem import drawn_margin
from shoal.publish.manifest import (
    COUNT,
    BlockingSummary,
    Classes,
    Data,
    FrozenDict,
    Manifest,
    MethodSummary,
    ModelSummary,
    PublicManifest,
    PublicRepublish,
    PublicRows,
    RecodingEntry,
    RepublishSummary,
    RowCounts,
)
from shoal.recoding.kinds import as_part_recoding
from shoal.roles import Role
from shoal.verify.claim import Verdict


def republish_summary(plan: Plan, policy: Policy) -> dict[str, Any] | None:
    """Return what the private manifest says about republishing; None where a table is published once."""
    if plan.grown is None or policy.republish is None:
        return None
    history, finding = plan.grown.history, plan.grown.finding
    return {
        "way": policy.republish.way,
        "release": history.releases,
        "people": finding.of,
        "exposed": finding.exposed,
        "finding": finding.sentence,
        "figures": dict(finding.figures),
    }


def counterfeits_csv_of(plan: Plan) -> str | None:
    """Return as CSV how many counterfeits, rows that show nobody, each class has; None where there are none."""
    if plan.grown is None or plan.added is None:
        return None
    # [class with added rows] `at`: one of its added rows; `counts`: how many it has. The part of the row that the
    # added row copies tells what the class shows.
    classes, at, counts = np.unique(plan.class_of_row[plan.added.copied], return_index=True, return_counts=True)
    del classes
    recoding = as_part_recoding(plan.recoding)
    parts = recoding.part[plan.added.copied[at]]
    shown = {name: column for columns in recoding.shown.values() for name, column in columns.items()}
    names = [name for columns in plan.released_as.values() for name in columns]
    labels = [[shown[name].texts[int(code)].as_py() for code in shown[name].codes[parts]] for name in names]
    lines = sorted(zip(*labels, counts.tolist(), strict=True), key=lambda line: [str(cell or "") for cell in line])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[*names, COUNT], *lines])
    return text.getvalue()


NO_LIMIT = 1.0
"""Public form of a threshold per value when the release shows none of the values: any share is allowed."""


POPULATION = "the population"
"""Public form of the path of the population."""


def summarise(
    plan: Plan,
    policy: Policy,
    source: Source,
    verdicts: Sequence[Verdict],
    data: Data,
    notes: Sequence[str],
    seen: Comparison | None,
) -> Manifest:
    """Make the private manifest of a plan whose outcome was verified; `seen` comes from `seen_if_few`."""
    after = plan.after
    told = {} if seen is None else measured(seen)
    added = 0 if plan.added is None else len(plan.added.copied)
    done, how = plan.blocked, policy.blocking
    return Manifest(
        shoal=__version__,
        policy=with_saveable_hierarchies(policy, plan, source).document(),
        method=_method(plan, policy),
        recoding=_recoding(plan),
        rows=RowCounts(
            read=source.table.rows,
            released=source.table.rows - after.suppressed_rows + added,
            suppressed=after.suppressed_rows,
            added=added,
            shown=after.suppressed_rows if policy.release.suppressed == "show" else 0,
        ),
        classes=_classes(verdicts),
        models=model_summaries(policy, verdicts),
        metrics=metrics_of(plan, told),
        measures={name: details for name, each in told.items() if (details := each.details())},
        republish=None if (again := republish_summary(plan, policy)) is None else RepublishSummary(**again),
        blocking=None if done is None or how is None else BlockingSummary(**blocking_summary(done, how.by)),
        data=data,
        warnings=(*notes, *([_explain_missing_measures(plan)] if seen is None else [])),
    )


MOST_MEASURED = 1_000_000
"""Most distinct combinations of quasi-identifiers for which each is compared with its label."""


TOO_MANY = (
    "measures that compare every combination of quasi-identifiers with what it became are left out: there are more "
    f"than {MOST_MEASURED:,}, and the rows stayed where they are"
)


ON_DISK = (
    "measures that compare every combination of quasi-identifiers with what it became are left out: the boxes were "
    "made where the rows are"
)


def _explain_missing_measures(plan: Plan) -> str:
    return ON_DISK if plan.recoding.on_disk else TOO_MANY


def is_cheap_to_compare(plan: Plan) -> bool:
    """Whether every measure can be computed: for rows outside memory, only if their classes are few."""
    classes = plan.before.classes
    if plan.recoding.on_disk:
        return False
    return classes.classes is not None or len(classes.counts) == len(classes) <= MOST_MEASURED


def _method(plan: Plan, policy: Policy) -> MethodSummary:
    search = plan.search
    told: dict[str, Any] = (
        {}
        if search is None
        else {
            "nodes": search.lattice.size,
            "asked": search.tally.asked,
            "inferred": search.tally.inferred,
            "checked": search.tally.checked,
            "rolled_up": search.tally.rolled_up,
            "grouped": search.tally.grouped,
            "solutions": search.found.nodes or None,
        }
    )
    again = policy.republish if plan.grown is not None and search is None else None
    return MethodSummary(
        algorithm=policy.method.algorithm if again is None else again.way,
        metric=policy.method.metric,
        score=plan.score,
        proved=plan.proved,
        gap=0.0 if plan.proved else plan.gap,
        seconds=round(plan.seconds, 6),
        margin=drawn_margin(policy.method) if policy.method.margin else None,
        **told,
    )


def _rounded(policy: Mapping[str, Any]) -> dict[str, float]:
    """Return the rounded columns of a policy, in the form of a manifest, and to multiples of what each is rounded."""
    return _key_of_columns(policy, "round")


def _key_of_columns(policy: Mapping[str, Any], key: str) -> dict[str, float]:
    """Return the columns of a policy, in the form of a manifest, that have a key, and what it says."""
    return {name: each[key] for name, each in policy["attributes"].items() if key in each}


def _recoding(plan: Plan) -> RecodingEntry:
    recoding = plan.recoding
    levels = recoding.levels or {}
    tops = {name: plan.hierarchies[name].top for name in levels}
    stars = tuple(name for name, level in levels.items() if plan.hierarchies[name].labels[level] == (tops[name],))
    return RecodingEntry(
        kind=recoding.kind,
        levels=None if recoding.levels is None else dict(recoding.levels),
        stars=stars or None,
        tops={name: tops[name] for name in stars if tops[name] != TOP} or None,
        labels=recoding.label_counts(),
        by_point=recoding.on_disk or None,
    )


def with_saveable_hierarchies(policy: Policy, plan: Plan, source: Source) -> Policy:
    """Return the policy with hierarchies that can be saved: one made by a function is listed value by value."""
    attributes = dict(policy.attributes)
    for name, builder in plan.builders.items():
        try:
            builder.spec()
        except BadHierarchy:
            made = builder.taxonomy(source.table[name])
            rows = Lines(tuple(zip(made.leaves, *made.levels, strict=True)))
            attributes[name] = attributes[name].model_copy(update={"hierarchy": rows})
    return policy.model_copy(update={"attributes": attributes})


def make_public_manifest(
    manifest: Manifest,
    plan: Plan,
    verdicts: Sequence[Verdict],
    labels: dict[str, tuple[str, ...]],
    shown: Mapping[str, Collection[str]],
) -> PublicManifest:
    """Make the public manifest: what the policy says, and figures of the released table alone.

    `shown` are the values of each sensitive attribute in the table. `docs/design.md` lists every field with the reason
    why it may be public.
    """
    promises = _verdicts_on_models(verdicts, {model.model for model in manifest.models})
    return PublicManifest(
        shoal=manifest.shoal,
        quasi_identifiers=tuple(column for columns in plan.released_as.values() for column in columns),
        sensitive=tuple(name for name, role in plan.roles.items() if role is Role.SENSITIVE),
        persons=plan.reading.unit is not None,
        statistics=FrozenDict(plan.statistics) if plan.statistics else None,
        observed=tuple(sorted(plan.observed)) or None,
        by_label=(plan.by_label and _tells_ranges(plan)) or None,
        rounded=_rounded(manifest.policy) or None,
        bottom=_key_of_columns(manifest.policy, "bottom") or None,
        top=_key_of_columns(manifest.policy, "top") or None,
        models=tuple(
            _public_promise(model, verdict, shown.get(model.attribute or "", ()))
            for model, verdict in zip(manifest.models, promises, strict=True)
        ),
        labels=labels,
        rows=PublicRows(**manifest.rows.model_dump(exclude={"read"})),
        classes=manifest.classes,
        republish=None
        if manifest.republish is None
        else PublicRepublish(way=manifest.republish.way, release=manifest.republish.release),
        data=manifest.data,
    )


def _tells_ranges(plan: Plan) -> bool:
    """Whether a column shows the least or greatest value of the rows that share its label."""
    return bool(plan.observed) or any(kind in {"min", "max"} for _, kind in plan.statistics.values())


def _public_promise(model: ModelSummary, verdict: Verdict, values: Collection[str]) -> ModelSummary:
    """Return the promise without paths, without values that are not released, and without figures of the original."""
    asked = {name: public_parameter(name, limit, values) for name, limit in model.asked.items()}
    attained = FrozenDict(dict(verdict.published))
    return model.model_copy(update={"asked": FrozenDict(asked), "attained": attained, "worst": verdict.published_worst})


def public_parameter(name: str, parameter: Any, values: Collection[str | None]) -> Any:
    """Return a parameter of a model as the public manifest states it; `values` are those that the release shows."""
    if name == "population":
        return POPULATION
    if isinstance(parameter, Mapping):
        return {value: parameter[value] for value in parameter if value in values} or NO_LIMIT
    if name == "categories":
        return tuple(_public_category(parameter, values, number) for number in range(len(parameter)))
    return parameter


def _public_category(
    categories: Sequence[Sequence[str]], values: Collection[str | None], number: int
) -> tuple[str, ...]:
    """Return the values of a category that the release shows; one word stands for all others.

    >>> _public_category([["flu", "hiv"], ["(others of category 1)"]], {"flu"}, 0)
    ('flu', '(others of category 1)…')
    """
    shown = [value for value in categories[number] if value in values]
    others = f"(others of category {number + 1})"
    while any(others in category for category in categories):
        others += "…"  # a value may be called that
    return (*shown, *([others] if len(shown) < len(categories[number]) else []))


def model_summaries(policy: Policy, verdicts: Sequence[Verdict]) -> tuple[ModelSummary, ...]:
    out, promised = [], policy.promises
    found = _verdicts_on_models(verdicts, {model.name for model in promised})
    alone = len(promised) - policy.further
    for number, (model, verdict) in enumerate(zip(promised, found, strict=True)):
        asked = {key: value for key, value in verdict.asked.items() if key != "attribute"}
        of = model.about
        out.append(
            ModelSummary(
                model=model.name,
                attribute=of,
                asked=asked,
                attained=dict(verdict.attained),
                holds=verdict.holds,
                with_added=number >= alone or None,
                worst=verdict.worst,
            )
        )
    return tuple(out)


def _verdicts_on_models(verdicts: Sequence[Verdict], names: Collection[str]) -> list[Verdict]:
    """Return the verdicts on models of these names."""
    return [verdict for verdict in verdicts if verdict.promise in names]


def _classes(verdicts: Sequence[Verdict]) -> Classes:
    return next(Classes(**verdict.attained) for verdict in verdicts if verdict.promise == "classes")


def compare_with_original(plan: Plan, policy: Policy, source: Source) -> Comparison:
    """Compare the release with its original."""
    return see(
        source.table,
        plan.before,
        plan.after,
        plan.recoding,
        plan.hierarchies,
        plan.class_of_row,
        statistics=plan.statistics,
        sensitive=[name for name, role in plan.roles.items() if role is Role.SENSITIVE],
        k=policy.largest_k,
    )


def compare_if_cheap(plan: Plan, policy: Policy, source: Source) -> Comparison | None:
    """Compare the release with its original; None where that would be too much work."""
    return compare_with_original(plan, policy, source) if is_cheap_to_compare(plan) else None


def metrics_of(plan: Plan, told: Mapping[str, Measurement]) -> dict[str, float]:
    """Return every figure of this release in the order of the catalogue; those of the search take precedence."""
    figures = {name: each.total for name, each in told.items()} | dict(plan.metrics)
    return {entry.name: total for entry in catalogue() if (total := figures.get(entry.name)) is not None}
