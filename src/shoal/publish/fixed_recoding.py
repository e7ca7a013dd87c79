"""Earlier releases that a new one follows, and those whose recoding is applied to new rows."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pyarrow as pa

from shoal.data.class_counts import sum_counts
from shoal.data.codes import Codes
from shoal.data.packed_keys import join_columns
from shoal.engine_port import Ability
from shoal.errors import BadHierarchy, BadInput, BadPolicy, Infeasible, ShoalError
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.metrics.catalogue import lost_in_cells
from shoal.partition.condition import Condition, condition_of
from shoal.partition.known_classes import KnownClasses, covers_of
from shoal.partition.statistics import show_labels
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.policy.sections import RowLimit, SuppressionLike, suppression_of_text
from shoal.problem import Problem, hierarchy_of
from shoal.publish.contents import PrivateFolder, load_classes, load_private
from shoal.recoding.columns import ReleasedColumn
from shoal.recoding.kinds import PartRecoding
from shoal.recoding.outcome import RecodedCells
from shoal.runtime.events import phase
from shoal.runtime.tempdir import settle
from shoal.solve import solve

COMPARED = (
    "people who are both in this release and in the earlier one can be found by comparing the two, however well each "
    "protects them; publish both only if nobody is in both, or anonymize all rows together"
)
"""Note on every release whose recoding was found for another one (composition)."""

Outside = Literal["suppress", "nearest"]
"""What happens to a row that no class of the earlier release covers."""

_ADVICE: dict[type[ShoalError], str] = {
    Infeasible: "give --suppression (in Python suppression=…), or anonymize afresh",
    BadPolicy: "make the new table like the earlier one, or anonymize afresh",
    BadHierarchy: "correct the new rows, or anonymize afresh",
}
"""What can still be done when the earlier release fixes levels or classes, policy and hierarchies."""

_CLASSLESS = {
    "clusters": "its rows show the middle of their own cluster, which is not that of other rows",
    "groups": "it shows the quasi-identifiers as they are, and only its own groups have a second table",
}
"""Why the recoding of a kind fits no other rows."""


@dataclass(frozen=True)
class EarlierRelease:
    """An earlier release, given by its private folder, and the policy of the release that follows it."""

    folder: Path
    policy: Policy

    doing: ClassVar[str]
    """What the run that follows it is called."""
    notes: ClassVar[tuple[str, ...]] = ()
    """Notes on every release that follows it in this way."""
    needs: ClassVar[tuple[tuple[Ability, str], ...]] = ()
    """Abilities that the engine needs beyond those of the policy, and what for."""

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Add to an error what the earlier release has to do with it."""
        yield

    def solve(self, problem: Problem) -> Plan:
        """Plan the release of the new rows."""
        return solve(problem)


@dataclass(frozen=True)
class FixedRecoding(EarlierRelease):
    """The policy that applies the recoding of an earlier release to new rows."""

    doing: ClassVar[str] = "apply"
    notes: ClassVar[tuple[str, ...]] = (COMPARED,)
    fixes: ClassVar[str] = "levels"
    """What the earlier release decided and what therefore cannot be changed."""

    @classmethod
    def load(
        cls,
        private: str | os.PathLike[str],
        *,
        suppression: SuppressionLike | None = None,
        outside: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> "FixedRecoding":
        """Read a private folder; what is given here, `reading` for [data], replaces what its policy says.

        `outside` says what happens to rows that no class of the earlier release covers: "suppress" or "nearest".
        """
        folder = Path(os.path.abspath(private))
        settle(folder)
        if not folder.is_dir():
            raise BadInput(f"{folder.name}: there is no such folder; give the private one of a release: OUT.private")
        if outside not in {None, "suppress", "nearest"}:
            raise BadInput(f"outside = {outside!r}: rows outside every class are for 'suppress' or 'nearest'")
        known = load_private(folder)
        if known.kind != "node":
            _refuse_classless(folder, known)
            return FixedClasses.of(folder, known, suppression, cast("Outside", outside or "suppress"), reading or {})
        policy, levels = known.policy, known.levels
        if known.rows is not None:
            raise BadInput(f"{folder.name}: rows that show nobody were added to this release; anonymize afresh")
        if outside is not None:
            raise BadInput(
                f"{folder.name}: its columns have one level each, which covers all rows; leave `outside` out"
            )
        _refuse_broken(folder, policy, levels)
        method = {} if suppression is None else {"suppress": "tuple", "suppression": suppression}
        return FixedRecoding(folder, _fix_levels(policy.read_as(reading or {}), levels, method))

    @property
    def advice(self) -> dict[type[ShoalError], str]:
        """What can be done about an error."""
        return _ADVICE

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Add to an error that the earlier release leaves no choice, and what can be done."""
        try:
            yield
        except tuple(_ADVICE) as wrong:
            kind = type(wrong)
            said = f"{wrong} (the earlier release fixes {self.fixes}, policy and hierarchies: {self.advice[kind]})"
            raise kind(said, wrong.values) from None


def _refuse_broken(folder: Path, policy: Policy, levels: Mapping[str, int]) -> None:
    """Refuse a folder that lacks levels or hierarchies, which would then be found anew and differ."""
    if set(levels) != set(policy.quasi_identifiers):
        raise BadInput(f"{folder.name}: its manifest.json has not the levels of what its policy.toml generalises")
    _refuse_incomplete(folder, {name: policy.attributes[name].hierarchy for name in levels})


def _refuse_incomplete(folder: Path, builders: Mapping[str, Any]) -> None:
    """Refuse hierarchies that are missing, or depend on the rows."""
    for name, builder in builders.items():
        if builder is None or (isinstance(builder, Mask) and builder.length is None):
            raise BadInput(f"{folder.name}/policy.toml: it does not say in full which hierarchy {name!r} had")
        if isinstance(builder, Csv) and not (builder.base / builder.path).is_file():
            raise BadInput(f"{folder.name}/{builder.path}: the hierarchy of {name!r} is missing")


def _fix_levels(policy: Policy, levels: Mapping[str, int], method: Mapping[str, Any]) -> Policy:
    """Return a policy whose lattice is only the node that was found, so that the search has no choice."""
    attributes = {name: dict(attribute) for name, attribute in policy.attributes.items()}
    for name, level in levels.items():
        attributes[name] |= {"min_level": level, "max_level": level}
    kept = policy.method.model_dump(include={"generalise", "suppress", "suppression", "metric"})
    return Policy(
        data=policy.data,
        attributes=attributes,
        require=policy.require,
        method={**kept, **method},
        release=policy.release,
    )


def _refuse_classless(folder: Path, known: PrivateFolder) -> None:
    """Refuse a recoding whose classes cannot be applied to other rows."""
    policy = known.policy
    formed = [name for name in policy.quasi_identifiers if set(policy.attributes[name].form or ()) - {"range"}]
    why = _CLASSLESS.get(known.kind)
    if why is None and formed:
        why = f"its column(s) of {formed[0]!r} show bounds or a statistic of its own rows"
    if policy.republish is not None:
        why = "it is one of a series, which republishing continues"
    elif why is None and known.rows is not None and (known.rows < 0).any():
        why = "rows that show nobody were added to it"
    if why is not None:
        raise BadInput(f"{folder.name}: {why}, so it cannot be applied to other rows; anonymize afresh")


@dataclass(frozen=True)
class FixedClasses(FixedRecoding):
    """The classes of an earlier release, boxes or cells, that new rows are put into."""

    fixes: ClassVar[str] = "classes"
    needs: ClassVar[tuple[tuple[Ability, str], ...]] = (
        (Ability.CELLS, "putting rows into the classes of an earlier release"),
    )
    kind: Literal["boxes", "cells"]
    lines: pa.Table
    """The classes as the private folder lists them."""
    suppression: SuppressionLike
    """Share of the rows that may be suppressed, a number of them, or k."""
    outside: Outside

    @classmethod
    def of(
        cls,
        folder: Path,
        known: PrivateFolder,
        suppression: SuppressionLike | None,
        outside: Outside,
        read: Mapping[str, Any],
    ) -> "FixedClasses":
        """Read the classes; any row that fits in none may be suppressed, unless a share is given."""
        policy = known.policy
        kept = policy.method.model_dump(include={"generalise", "suppress", "algorithm", "target", "workload"})
        fixed = Policy(
            data={**policy.data.model_dump(), **read},
            attributes={name: dict(attribute) for name, attribute in policy.attributes.items()},
            require=policy.require,
            method=kept,
            release={**policy.release.model_dump(), "ranges": "cut"},  # their ends are no longer those of the rows
        )
        given = {name: fixed.attributes[name].hierarchy for name in policy.quasi_identifiers}
        needed = given if known.kind == "cells" else {name: each for name, each in given.items() if each is not None}
        _refuse_incomplete(folder, needed)
        lines = load_classes(folder, policy.quasi_identifiers)
        share = _stored_suppression(lines) if suppression is None else suppression
        made = cls(folder, fixed, cast("Literal['boxes', 'cells']", known.kind), lines, share, outside)
        made._suppressible(1)
        return made

    @property
    def advice(self) -> dict[type[ShoalError], str]:
        """What can be done about an error; rows outside all classes may also widen one."""
        if self.outside == "nearest":
            return _ADVICE
        options = "--suppression or --outside nearest (in Python suppression=… or outside='nearest')"
        return {**_ADVICE, Infeasible: f"give {options}, or anonymize afresh"}

    def _suppressible(self, rows: int) -> int:
        """Return how many rows may be suppressed; raise BadPolicy if the share is not a valid one."""
        k = {"model": "k-anonymity", "k": self.policy.largest_k}
        share = {"suppression": self.suppression}
        return Policy(attributes={"any": "quasi-identifier"}, require=[k], method=share).suppressible(rows)

    @phase("searching")
    def solve(self, problem: Problem) -> Plan:
        """Put every row into a class, leave out rows without one and classes that fail, or say why that is too much."""
        started = perf_counter()
        problem = replace(problem, limit=self._suppressible(problem.table.rows))
        problem.refuse_infeasible()
        given = {name: problem.policy.attributes[name].hierarchy for name in problem.quasi}
        builders = {name: builder for name, builder in given.items() if builder is not None}
        hierarchies = {name: hierarchy_of(problem.source, name, builder) for name, builder in builders.items()}
        known = KnownClasses.of(self.lines, problem.quasi)
        items, of_row, part = known.assign(problem, hierarchies)
        condition = condition_of(problem, items)
        labels = known.texts
        if self.outside == "nearest":
            part, labels = known.widen_to_cover(problem, builders, condition, part)
        placed = _PlacedRows.of(condition, part, labels)
        placed.refuse_too_many(problem)
        placed.refuse_failing(problem)
        showing, after = _recode_parts(problem, hierarchies, placed)
        metrics = lost_in_cells(problem.before, after)
        why = {} if placed.left_out is None else {placed.why: after.suppressed}
        told = {b"suppression": _suppression_text(self.suppression).encode()}
        return Plan(
            roles=problem.roles,
            builders=builders,
            hierarchies=hierarchies,
            before=problem.before,
            after=after,
            recoding=PartRecoding(self.kind, placed.part[of_row], showing, placed.left_out),
            score=metrics["loss"],
            metrics=metrics,
            seconds=perf_counter() - started,
            failed=why,
            class_of_row=placed.part[of_row],
            reading=problem.reading,
            known_classes=self.lines.replace_schema_metadata({**(self.lines.schema.metadata or {}), **told}),
        )


def _suppression_text(suppression: SuppressionLike) -> str:
    """Return a limit of suppression as `suppression_of_text` reads it."""
    return str(RowLimit(**suppression) if isinstance(suppression, Mapping) else suppression)


def _stored_suppression(lines: pa.Table) -> SuppressionLike:
    """Return the share of rows that the earlier release was allowed to suppress, if stored; else all."""
    told: str = (lines.schema.metadata or {}).get(b"suppression", b"1.0").decode()
    limit = suppression_of_text(told)
    return float(limit) if isinstance(limit, int) else limit  # a share of 1, as older versions wrote it


@dataclass(frozen=True)
class _PlacedRows:
    """Rows assigned to classes: those that may be released, and last a part for those that may not."""

    condition: Condition
    part: Codes
    """Class of each item; the last one is for those that are left out, if there are any."""
    labels: Mapping[str, list[str | None]]
    """What each released class shows of each quasi-identifier."""
    outside: int
    """Rows that no class covers."""
    failing: Mapping[str, int]
    """Rows of classes that fail each promise."""
    gone: int
    """Rows that are left out."""

    @classmethod
    def of(cls, condition: Condition, part: Codes, labels: Mapping[str, list[str | None]]) -> "_PlacedRows":
        """Merge the classes that show the same, and mark those that fail; `part` is -1 for what no class covers."""
        items, inside = condition.items, np.flatnonzero(part >= 0)
        used, at = np.unique(part[inside], return_inverse=True)
        shown = {name: show_labels([texts[each] for each in used.tolist()]) for name, texts in labels.items()}
        # `alike` [class in use]: a number, equal for classes that show the same labels
        # `first` [number]: one of the classes in use that have it
        alike, count, _ = join_columns([(each.codes, len(each.texts)) for each in shown.values()])
        first = np.zeros(count, dtype=np.int64)
        first[alike] = np.arange(len(used))
        # `mine` [item]: number of its class; -1 where no class covers it
        mine = np.full(len(part), -1, dtype=np.int32)
        mine[inside] = alike[at]
        # `fails` [number]: whether the class breaks a promise
        fails = np.zeros(count, dtype=bool)
        failing: dict[str, int] = {}
        if count:
            counts = condition.counts(mine, count)
            sizes = sum_counts(mine[inside], items.counts[inside], count)
            for model in (each for each in condition.parts if not each.table_wide):
                wrong = ~model.complies(counts)
                fails |= wrong
                failing[model.name] = max(int(sizes[wrong].sum()), failing.get(model.name, 0))
        # `place` [number, and one more for -1]: position among the released classes; failing classes and items
        # without a class get the position after the last one
        place = np.append(np.cumsum(~fails) - 1, -1).astype(np.int32)
        place[:-1][fails] = -1
        place[place < 0] = int((~fails).sum())
        # `kept` [released class]: a class in use that tells what it shows
        kept = first[~fails]
        texts = {name: each.texts.take(pa.array(each.codes[kept])).to_pylist() for name, each in shown.items()}
        outside = int(items.counts[part < 0].sum())
        final = place[mine]
        gone = int(items.counts[final == len(kept)].sum())
        return cls(condition, final, texts, outside, {name: n for name, n in failing.items() if n}, gone)

    @property
    def classes(self) -> int:
        """Number of released classes."""
        return len(next(iter(self.labels.values())))

    @property
    def left_out(self) -> int | None:
        """Number of the part that holds what is left out; None if nothing is."""
        return self.classes if self.gone else None

    @property
    def why(self) -> str:
        """Why rows are left out: no class covers them, or their class fails these promises."""
        return ", or ".join([*(["no class"] if self.outside else []), *self.failing])

    def refuse_too_many(self, problem: Problem) -> None:
        """Refuse to leave out more rows than the policy allows, or all of them."""
        rows = self.condition.items.rows
        if self.gone <= problem.limit and self.gone < rows:
            return
        said = [f"{self.outside:,} in no class of the earlier release"] if self.outside else []
        said += [f"{count:,} in classes that fail {name}" for name, count in self.failing.items()]
        limit = problem.limit
        most = f"{limit:,} may be suppressed" if self.gone > limit else "a release without rows is none"
        gone = f"{self.gone:,} of {rows:,} rows ({self.gone / rows:.1%})"
        raise Infeasible(f"{gone} would have to be left out, and {most}: {' and '.join(said)}")

    def refuse_failing(self, problem: Problem) -> None:
        """Refuse what is left where it fails as a whole, or where suppressed rows are shown and fail themselves."""
        part, parts = self.part, self.classes
        show = problem.policy.release.suppressed == "show" and self.left_out is not None
        if show:
            # suppressed rows look like a class that shows nothing, where there is one
            blank = [at for at, row in enumerate(zip(*self.labels.values(), strict=True)) if {*row} == {TOP}]
            star = np.where(part == parts, blank[0], part).astype(np.int32) if blank else part
            count = parts + (not blank)
            if not self.condition.complies(star, count).all():
                raise Infeasible("the suppressed rows, shown as one class, do not keep the policy themselves")
            part, parts = star, count
        else:
            part = np.where(part == parts, -1, part).astype(np.int32)
        if not self.condition.holds(part, parts):
            raise Infeasible("the rows that are left do not keep the policy as a whole")


def _recode_parts(
    problem: Problem, hierarchies: Mapping[str, Hierarchy], placed: _PlacedRows
) -> tuple[dict[str, dict[str, ReleasedColumn]], RecodedCells]:
    """Return what every part shows, and the recoded table; rows that are left out show `*`."""
    out, items = placed.left_out, placed.condition.items
    stars = [] if out is None else [TOP]
    parts = placed.classes + len(stars)
    shown, covers = {}, []
    for name, texts in placed.labels.items():
        column = problem.table[name]
        rows = items.marginal(name, column.size)
        each = covers_of(column, hierarchies.get(name), texts, rows)
        covers.append(each.with_suppressed(items.rows, null=column.has_null) if stars else each)
        shown[name] = {name: show_labels([*texts, *stars])}
    sizes = sum_counts(placed.part, items.counts, parts)
    losses = np.stack([each.losses for each in covers], axis=1)
    return shown, RecodedCells(items.merge_into_parts(placed.part, parts), sizes, losses, tuple(covers), out)
