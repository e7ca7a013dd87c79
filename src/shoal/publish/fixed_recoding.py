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

from shoal.data.codes import Codes
from shoal.data.packed_keys import joined
from shoal.engine_port import Ability
from shoal.errors import BadHierarchy, BadInput, BadPolicy, Infeasible, ShoalError
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.metrics.catalogue import lost_in_cells
from shoal.partition.condition import Condition, condition_of
from shoal.partition.known_classes import KnownClasses, covers_of
from shoal.partition.statistics import labels_shown
from shoal.plan import Plan
from shoal.policy.document import Policy
from shoal.problem import Problem, hierarchy_of
from shoal.publish.contents import Private, load_classes, load_private
from shoal.recoding.columns import Released
from shoal.recoding.kinds import PartRecoding
from shoal.recoding.outcome import RecodedCells
from shoal.runtime.events import phase
from shoal.runtime.tempdir import settle
from shoal.solve import solve

COMPARED = (
    "people who are both in this release and in the earlier one can be found by comparing the two, however well each "
    "protects them; publish both only if nobody is in both, or anonymize all rows together"
)
"""What is said of every release whose recoding was found for another (composition)."""

Outside = Literal["suppress", "nearest"]
"""What becomes of a row that no class of the earlier release covers."""

_ADVICE: dict[type[ShoalError], str] = {
    Infeasible: "give --suppression (in Python suppression=…), or anonymize afresh",
    BadPolicy: "make the new table like the earlier one, or anonymize afresh",
    BadHierarchy: "correct the new rows, or anonymize afresh",
}
"""What is left to do when neither levels or classes, policy nor hierarchies can be changed."""

_CLASSLESS = {
    "clusters": "its rows show the middle of their own cluster, which is not that of other rows",
    "groups": "it shows the quasi-identifiers as they are, and only its own groups have a second table",
}
"""Why the recoding of a kind fits no other rows."""


@dataclass(frozen=True)
class EarlierRelease:
    """A release that was made before, by its private folder, and the policy of the one that follows it."""

    folder: Path
    policy: Policy

    doing: ClassVar[str]
    """What the run that follows it is called."""
    notes: ClassVar[tuple[str, ...]] = ()
    """What is said of every release that follows it so."""
    needs: ClassVar[tuple[tuple[Ability, str], ...]] = ()
    """What the engine must be able to do beside what the policy needs, and what for."""

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Adds to an error what the earlier release has to do with it."""
        yield

    def solve(self, problem: Problem) -> Plan:
        """Plan the release of the new rows."""
        return solve(problem)


@dataclass(frozen=True)
class FixedRecoding(EarlierRelease):
    """The policy that makes the recoding of an earlier release once more."""

    doing: ClassVar[str] = "apply"
    notes: ClassVar[tuple[str, ...]] = (COMPARED,)
    fixes: ClassVar[str] = "levels"
    """What the earlier release decided, and cannot be changed."""

    @classmethod
    def load(
        cls,
        private: str | os.PathLike[str],
        *,
        suppression: float | str | None = None,
        outside: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> "FixedRecoding":
        """Read a private folder; what is given here, `reading` for [data], replaces what its policy says.

        `outside` says what becomes of rows that no class of the earlier release covers: "suppress" or "nearest".
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
        return FixedRecoding(folder, _fixed(policy.read_as(reading or {}), levels, method))

    @property
    def advice(self) -> dict[type[ShoalError], str]:
        """What can be done about an error."""
        return _ADVICE

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Adds to an error that the earlier release leaves no choice, and what can be done."""
        try:
            yield
        except tuple(_ADVICE) as wrong:
            kind = type(wrong)
            said = f"{wrong} (the earlier release fixes {self.fixes}, policy and hierarchies: {self.advice[kind]})"
            raise kind(said, wrong.values) from None


def _refuse_broken(folder: Path, policy: Policy, levels: Mapping[str, int]) -> None:
    """Refuse a folder without what would then be drafted or searched for anew, and differ from the earlier release."""
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


def _fixed(policy: Policy, levels: Mapping[str, int], method: Mapping[str, Any]) -> Policy:
    """Policy whose lattice is just the node that was found, so that how it was found no longer matters."""
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


def _refuse_classless(folder: Path, known: Private) -> None:
    """Refuse a recoding whose classes say nothing of other rows."""
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
    suppression: float | str
    """Share of the rows that may be suppressed, or k."""
    outside: Outside

    @classmethod
    def of(
        cls,
        folder: Path,
        known: Private,
        suppression: float | str | None,
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
        share = _told_suppression(lines) if suppression is None else suppression
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
        """How many rows may be suppressed; BadPolicy where the share is none."""
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
            part, labels = known.widened(problem, builders, condition, part)
        placed = _Placed.of(condition, part, labels)
        placed.refuse_too_many(problem)
        placed.refuse_failing(problem)
        showing, after = _recoded(problem, hierarchies, placed)
        metrics = lost_in_cells(problem.before, after)
        why = {} if placed.left_out is None else {placed.why: after.suppressed}
        told = {b"suppression": str(self.suppression).encode()}
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


def _told_suppression(lines: pa.Table) -> float | str:
    """The share of rows that the earlier release was itself allowed to suppress, where it was applied; else all."""
    told: str = (lines.schema.metadata or {}).get(b"suppression", b"1.0").decode()
    try:
        return float(told)
    except ValueError:
        return told


@dataclass(frozen=True)
class _Placed:
    """Rows in classes: those that may be released, and at last those that may not."""

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
    def of(cls, condition: Condition, part: Codes, labels: Mapping[str, list[str | None]]) -> "_Placed":
        """Merge the classes that show the same, and mark those that fail; `part` is -1 for what no class covers."""
        items, inside = condition.items, np.flatnonzero(part >= 0)
        used, at = np.unique(part[inside], return_inverse=True)
        shown = {name: labels_shown([texts[each] for each in used.tolist()]) for name, texts in labels.items()}
        # [class in use] its number, the same for classes that show the same; [number] one class of it
        alike, count, _ = joined([(each.codes, len(each.texts)) for each in shown.values()])
        first = np.zeros(count, dtype=np.int64)
        first[alike] = np.arange(len(used))
        mine = np.full(len(part), -1, dtype=np.int32)
        mine[inside] = alike[at]
        fails = np.zeros(count, dtype=bool)
        failing: dict[str, int] = {}
        if count:
            counts = condition.counts(mine, count)
            sizes = np.bincount(mine[inside], weights=items.counts[inside], minlength=count).astype(np.int64)
            for model in (each for each in condition.parts if not each.table_wide):
                wrong = ~model.complies(counts)
                fails |= wrong
                failing[model.name] = max(int(sizes[wrong].sum()), failing.get(model.name, 0))
        # [number] what it is among the released classes; those that fail, and rows without a class, are the last part
        place = np.append(np.cumsum(~fails) - 1, -1).astype(np.int32)
        place[:-1][fails] = -1
        place[place < 0] = int((~fails).sum())
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
        """Part of what is left out."""
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


def _recoded(
    problem: Problem, hierarchies: Mapping[str, Hierarchy], placed: _Placed
) -> tuple[dict[str, dict[str, Released]], RecodedCells]:
    """Return what every part shows, and the table that comes of it; rows that are left out show `*`."""
    out, items = placed.left_out, placed.condition.items
    stars = [] if out is None else [TOP]
    parts = placed.classes + len(stars)
    shown, covers = {}, []
    for name, texts in placed.labels.items():
        column = problem.table[name]
        rows = items.marginal(name, column.size)
        each = covers_of(column, hierarchies.get(name), texts, rows)
        covers.append(each.starred(items.rows, null=column.has_null) if stars else each)
        shown[name] = {name: labels_shown([*texts, *stars])}
    sizes = np.bincount(placed.part, weights=items.counts, minlength=parts).astype(np.int64)
    losses = np.stack([each.losses for each in covers], axis=1)
    return shown, RecodedCells(items.parted(placed.part, parts), sizes, losses, tuple(covers), out)
