"""Blocks the inference channels of a plan: by added rows, or by generalising or leaving out rows (S1.3 to S1.8)."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.blocking.algorithm import Blocked, Diversifier, Limits, Rows, block, compare_rules
from shoal.data.codes import Codes, Column, Table, encode, select_table_rows
from shoal.data.frequency_set import FrequencySet
from shoal.engine_port import Engine, Source
from shoal.errors import BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.lattice import Node
from shoal.metrics.catalogue import scorers
from shoal.mining.c45 import C45
from shoal.mining.decision_tree import ChannelCriterion, Rule
from shoal.models.model import Flags, exact_share
from shoal.plan import AddedRows, Plan
from shoal.policy.document import Policy
from shoal.problem import Problem, columns_to_count
from shoal.recoding.columns import ReleasedColumn, unchanged_column
from shoal.recoding.kinds import NodeRecoding, Recoding, recode
from shoal.recoding.outcome import After
from shoal.roles import Role
from shoal.runtime.events import phase
from shoal.search.full_domain import LatticeSearch


def insert_added_rows(
    columns: Mapping[str, ReleasedColumn], rows: Rows, added: AddedRows
) -> tuple[dict[str, ReleasedColumn], Rows]:
    """Return columns and row numbers with the added rows sorted in among the others, by what they show.

    The number of an added row is -1 minus the input row that it copies.

    >>> age = ReleasedColumn.of(np.array([0, 0], np.int32), ["3*"])
    >>> ill = ReleasedColumn.of(np.array([0, 1], np.int32), ["flu", "hiv"])
    >>> added = AddedRows("ill", np.array([7]), np.array([0]))
    >>> made, rows = insert_added_rows({"age": age, "ill": ill}, np.array([4, 7]), added)
    >>> made["ill"].codes.tolist(), rows.tolist(), shown_or_copied(rows).tolist()
    ([0, 0, 1], [4, -8, 7], [4, 7, 7])
    """
    # [input row] where it stands among the released rows; [row] which of these it shows or copies
    place = np.zeros(int(rows.max(initial=0)) + 1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    at = np.concatenate([np.arange(len(rows)), place[added.copied]])
    every = {name: replace(column, codes=column.codes[at]) for name, column in columns.items()}
    every[added.attribute] = _append_values(columns[added.attribute], added.codes)
    order = np.lexsort([column.codes for column in reversed(every.values())])
    whole = np.concatenate([rows, -1 - added.copied])[order]
    return {name: replace(column, codes=column.codes[order]) for name, column in every.items()}, whole


def shown_or_copied(rows: Rows) -> Rows:
    """Return the input row that every released row shows, or copies where it was added."""
    return np.where(rows < 0, -1 - rows, rows)


def _append_values(column: ReleasedColumn, codes: NDArray[np.int32]) -> ReleasedColumn:
    """Return the sensitive column with the values of the added rows after the others."""
    values, texts = column.values, column.texts
    if (codes < 0).any() and not texts.null_count:
        values, texts = (pa.concat_arrays([each, pa.nulls(1, each.type)]) for each in (values, texts))
    null = len(texts) - 1  # where there is one, it is the last
    return ReleasedColumn(
        np.concatenate([column.codes, np.where(codes < 0, null, codes)]).astype(np.int32), values, texts
    )


_WHY = {
    "h": "more rules were lost or made up than h allows",
    "passes": "all passes were made",
    "limit": "no more rows may be added or left out",
    "fractions": "only fractions of rows with missing values support them",
    "": "they were not looked for any longer",
}


def describe_exceeded(blocked: Blocked, by: str) -> str | None:
    """Say that h was exceeded, with LR and GR at that moment; None if it was not."""
    if blocked.exceeded is None:
        return None
    lost, ghosts = (f"{float(share):.1%}" for share in blocked.exceeded)
    changed = "added" if by in {"absent", "unknown"} else "left out or generalised"
    kept = f"{blocked.taken_back:,} were taken back" if blocked.taken_back else "they were kept"
    return f"h was exceeded (LR {lost}, GR {ghosts}) with the rows {changed} last; {kept}"


def warn_of_open_channels(blocked: Blocked | None, by: str) -> None:
    """Warn where h was exceeded, and of the channels that blocking left open, and say why."""
    if blocked is None:
        return
    exceeded = describe_exceeded(blocked, by)
    why = exceeded or _WHY[blocked.stopped]
    if blocked.left:
        warnings.warn(ShoalWarning(f"{len(blocked.left)} inference channel(s) are left: {why}"), stacklevel=3)
    elif exceeded is not None:
        warnings.warn(ShoalWarning(f"no inference channel is left, but {exceeded}"), stacklevel=3)


def blocking_summary(blocked: Blocked, by: str) -> dict[str, Any]:
    """Return what blocking did, as the private manifest tells it."""
    return {
        "by": by,
        "channels": len(blocked.before),
        "left": len(blocked.left),
        "why": _WHY[blocked.stopped] if blocked.left or blocked.exceeded is not None else None,
        "lost": float(blocked.lost),
        "ghosts": float(blocked.ghosts),
        "passes": blocked.passes,
        "exceeded": None
        if blocked.exceeded is None
        else {
            "lost": float(blocked.exceeded[0]),
            "ghosts": float(blocked.exceeded[1]),
            "taken_back": blocked.taken_back,
        },
        "seen_without_nulls": blocked.silent or None,
        "rules": tuple(map(str, blocked.before)),
        "unblocked": tuple(map(str, blocked.left)),
    }


def read_columns_to_mine(
    table: Table, policy: Policy, plan: Plan, recoding: Recoding | None = None
) -> tuple[dict[str, Column], Column, Rows]:
    """Return the columns that rules test, the column that they predict, and the input row of each released row.

    Values are encoded from the release alone: those that no released row shows are unknown.
    """
    assert policy.blocking is not None
    assert policy.blocked is not None
    asked = policy.blocking.features
    useful = {name for name, role in plan.roles.items() if role.released and role is not Role.SENSITIVE}
    names = [name for name in plan.roles if name == policy.blocked or (name in (asked or useful) and name in useful)]
    columns, rows = recode(
        table,
        recoding or plan.recoding,
        plan.hierarchies,
        names,
        plan.quasi_identifiers,
        show=policy.release.suppressed == "show",
    )
    read = {name: _encode_released(name, column) for name, column in columns.items()}
    return read, read.pop(policy.blocked), rows


def _encode_released(name: str, column: ReleasedColumn) -> Column:
    """Encode a released column as somebody reads it who has the release alone."""
    return encode(name, pa.DictionaryArray.from_arrays(pa.array(column.codes), column.texts))


CHANNEL = "inference channel"
"""Why a row was left out."""


@dataclass(frozen=True)
class _RemainingRows:
    """The rows that are not left out for a channel, at a node: their classes, and which of these fail the policy."""

    node: Node
    dropped: Flags
    """Which rows of the input are left out for a channel."""
    classes: FrequencySet
    failing: Flags
    of_row: Codes
    """The class of each row that is not dropped."""

    @property
    def suppressed(self) -> Flags:
        """Which rows of the input are left out, for a channel or since their class fails the policy."""
        flags = self.dropped.copy()
        flags[~self.dropped] = self.failing[self.of_row]
        return flags


@dataclass(frozen=True)
class _ChannelProblem:
    """The search of the plan, asked again for classes at other nodes and without some rows."""

    search: LatticeSearch

    @property
    def table(self) -> Table:
        return self.search.problem.table

    @property
    def policy(self) -> Policy:
        return self.search.problem.policy

    def count_remaining(self, node: Node, dropped: Flags) -> _RemainingRows:
        """Return the classes at a node of the rows that are not `dropped`, and which of them fail the policy."""
        search, names = self.search, self.search.lattice.attributes
        some = select_table_rows(self.table, np.flatnonzero(~dropped))
        fine = search.problem.engine.count(some, list(names), columns_to_count(self.policy, list(names)))
        steps = {name: search.problem.hierarchies[name].levels[level] for name, level in zip(names, node, strict=True)}
        coarse = fine.rollup(steps, want_classes=True)
        assert fine.classes is not None
        assert coarse.classes is not None
        failing = search.oracle.suppress(node, coarse).suppressed
        return _RemainingRows(node, dropped, coarse, failing, coarse.classes[fine.classes])

    def recoding(self, standing: _RemainingRows) -> NodeRecoding:
        """Return the recoding that makes a release of what is left."""
        return NodeRecoding(dict(zip(self.search.lattice.attributes, standing.node, strict=True)), standing.suppressed)

    def find_higher_node(self, node: Node, channels: Sequence[Rule]) -> Node | None:
        """Return the cheapest complying node one level up in a quasi-identifier that a channel tests, if any."""
        lattice, told = self.search.lattice, {test.attribute for rule in channels for test in rule.antecedent}
        above = [
            (*node[:i], node[i] + 1, *node[i + 1 :])
            for i, name in enumerate(lattice.attributes)
            if name in told and node[i] < lattice.top[i]
        ]
        answers = [answer for answer in map(self.search.oracle.ask, above) if answer.ok]
        return min(answers, key=lambda answer: (answer.score, answer.node)).node if answers else None


def block_without_added_rows(
    source: Source, policy: Policy, plan: Plan, engine: Engine, sensitive: ChannelCriterion, limits: Limits
) -> Plan:
    """Block the channels of a plan without adding rows.

    With `generalise`, go up one level in a quasi-identifier that a channel tests. Where that cannot be, and always with
    `suppress`, leave out the rows of the channel's leaf, and then every class that fails the policy.
    """
    levels = plan.recoding.levels
    assert policy.blocking is not None
    assert levels is not None
    channels = _ChannelProblem(LatticeSearch.of(Problem.of(source, policy, engine)))
    names = channels.search.lattice.attributes
    standing = channels.count_remaining(tuple(levels[name] for name in names), np.zeros(source.table.rows, bool))
    begun = int(standing.suppressed.sum())
    rules, leaf = _mine(channels, plan, standing)
    first = left = sensitive.select_channels(rules)
    lost, ghosts = compare_rules(rules, first, rules)
    before, passes, stopped = rules, 0, ""
    exceeded, taken_back = None, 0
    while left and not stopped:
        if passes == limits.passes:
            stopped = "passes"
            break
        node = channels.find_higher_node(standing.node, left) if policy.blocking.by == "generalise" else None
        if node is not None:
            then = channels.count_remaining(node, standing.dropped)
        else:
            told = [number for number, rule in enumerate(rules) if rule in left]
            then = channels.count_remaining(standing.node, standing.dropped | np.isin(leaf, told))
        gone = int(then.suppressed.sum())
        if gone == source.table.rows:
            raise Infeasible("blocking would leave out every row; use blocking.by = 'absent', or block less")
        if limits.rows is not None and gone - begun > limits.rows:
            stopped = "limit"
            break
        mined = _mine(channels, plan, then)
        shares = compare_rules(before, first, mined[0])
        if max(shares) > limits.h:
            stopped, exceeded = "h", shares
            if not limits.keep:
                taken_back = int((then.suppressed & ~standing.suppressed).sum()) or source.table.rows
                break
        standing, passes, (rules, leaf), (lost, ghosts) = then, passes + 1, mined, shares
        left = sensitive.select_channels(rules)
    said = stopped if left or exceeded is not None else ""
    done = Blocked(first, left, lost, ghosts, passes, said, exceeded=exceeded, taken_back=taken_back)
    return _update_plan(channels, plan, standing, done)


def _mine(channels: _ChannelProblem, plan: Plan, standing: _RemainingRows) -> tuple[tuple[Rule, ...], Codes]:
    """Return the rules mined from what is left, and for every input row the rule whose leaf it is in; -1 for none."""
    columns, target, rows = read_columns_to_mine(channels.table, channels.policy, plan, channels.recoding(standing))
    tree = C45().fit_codes(columns, target)
    leaf = np.full(channels.table.rows, -1, dtype=np.int32)
    leaf[rows] = tree.leaf_of(columns)
    return tree.rules(), leaf


def _update_plan(channels: _ChannelProblem, plan: Plan, standing: _RemainingRows, done: Blocked) -> Plan:
    """Return the plan for what is left; rows left out for a channel are suppressed classes of their own."""
    oracle = channels.search.oracle
    out = channels.count_remaining(standing.node, ~standing.dropped)
    classes = standing.classes.concat(out.classes)
    suppressed = np.concatenate([standing.failing, np.ones(len(out.classes), dtype=bool)])
    # [input row] its class: those that remain first, then those of the rows left out for a channel
    of_row = np.empty(len(standing.dropped), dtype=np.int32)
    of_row[~standing.dropped] = standing.of_row
    of_row[standing.dropped] = out.of_row + len(standing.classes)
    after = After(standing.node, classes, suppressed)
    if not oracle.holds(after):
        raise Infeasible(
            "what is left when channels are blocked does not keep the policy as a whole; use blocking.by = 'absent', "
            "or weaken what is promised of the whole table"
        )
    failed = oracle.explain(After(standing.node, standing.classes, standing.failing))
    padding = np.zeros(len(out.classes), dtype=bool)
    scorer = oracle.scorer
    score = scorer.value(scorer.score(after))
    found = plan.search
    assert found is not None
    return replace(
        plan,
        after=after,
        recoding=channels.recoding(standing),
        score=score,
        metrics={name: each.value(each.score(after)) for name, each in scorers(oracle.before).items()},
        failed={name: np.concatenate([flags, padding]) for name, flags in failed.items()}
        | {CHANNEL: np.concatenate([np.zeros(len(standing.classes), dtype=bool), ~padding])},
        class_of_row=of_row,
        # no search was made for the least loss that leaves no channel
        search=replace(found, found=replace(found.found, bound=-inf), gap=found.gap + score - plan.score),
        blocked=done,
    )


@phase("blocking")
def block_channels(source: Source, policy: Policy, plan: Plan, engine: Engine) -> Plan:
    """Block the channels of a plan as the policy asks; warn of those that are left."""
    done = _apply_blocking(source, policy, plan, engine)
    assert policy.blocking is not None
    warn_of_open_channels(done.blocked, policy.blocking.by)
    return done


def _apply_blocking(source: Source, policy: Policy, plan: Plan, engine: Engine) -> Plan:
    """Return the plan with its channels blocked as the policy asks."""
    how, attribute = policy.blocking, policy.blocked
    assert how is not None
    assert attribute is not None
    sensitive, limits = _criterion_and_limits(policy, source.table.rows)
    features, target, rows = read_columns_to_mine(source.table, policy, plan)
    _refuse_low_confidence(target, how.confidence)
    if how.by in {"generalise", "suppress"}:
        return block_without_added_rows(source, policy, plan, engine, sensitive, limits)
    rng = np.random.default_rng([policy.method.seed, 1])
    further = _diversifier_of(policy, plan, target, rows)
    done = block(
        features,
        target,
        sensitive,
        limits,
        unknown=how.by == "unknown",
        seed=policy.method.seed,
        further=None if further is None else lambda shows, values: further.find_further_rows(shows, values, rng),
    )
    if further is not None:
        _refuse_unattained(further, target, done)
    return replace(plan, blocked=done, added=_added_rows_of(source.table[attribute], target, rows, done))


def _criterion_and_limits(policy: Policy, rows: int) -> tuple[ChannelCriterion, Limits]:
    """Return what the policy calls a channel, and when blocking a table of so many rows stops."""
    how = policy.blocking
    assert how is not None
    return ChannelCriterion(exact_share("at", how.at), how.support, frozenset(how.values)), Limits(
        exact_share("confidence", how.confidence),
        exact_share("h", how.h),
        int(exact_share("limit", how.limit) * rows),
        how.passes,
        keep=how.over == "keep",
    )


def _refuse_low_confidence(target: Column, confidence: float | str) -> None:
    """Refuse a confidence below the share that the likeliest value has at least."""
    least = Fraction(1, max(len(target.values), 1))
    if exact_share("confidence", confidence) < least:
        raise BadPolicy(
            f"blocking.confidence = {confidence!r}: the release shows {len(target.values)} sensitive values, so the "
            f"likeliest of them has at least 1/{len(target.values)}; ask for no less"
        )


def _diversifier_of(policy: Policy, plan: Plan, target: Column, rows: Rows) -> Diversifier | None:
    """Return what further models ask of the classes; None where the policy has no such models."""
    assert policy.blocking is not None
    models = policy.promises[len(policy.models) :]
    if not models:
        return None
    _, of_row = np.unique(plan.class_of_row[rows], return_inverse=True)
    return Diversifier(models, of_row.astype(np.int32), target)


def _refuse_unattained(further: Diversifier, target: Column, done: Blocked) -> None:
    """Refuse a result in which some class fails a further model."""
    shows = np.concatenate([np.arange(len(target.codes)), done.copied])
    left = further.list_failed_models(shows, np.concatenate([target.codes, done.values]))
    if left:
        why = f" before {done.stopped} stopped it" if done.stopped else ""
        raise Infeasible(f"blocking did not attain {left[0]}{why}; allow more rows and passes, or a weaker model")


def _added_rows_of(column: Column, target: Column, rows: Rows, done: Blocked) -> AddedRows:
    """Return the added rows in the codes of the table."""
    known = {text: code for code, text in enumerate(column.texts.to_pylist())}
    # [value as released] its code in the table; the last one is null
    codes = np.array([*(known[text] for text in target.texts.to_pylist()), -1], dtype=np.int32)
    return AddedRows(column.name, rows[done.copied], codes[done.values])


@dataclass(frozen=True, repr=False)
class BlockedTable:
    """A table that was anonymous already, with the rows that block its inference channels."""

    columns: Mapping[str, ReleasedColumn]
    """All columns of the table, the added rows sorted in among the others."""
    blocking: Mapping[str, Any]
    """What was done: channels, LR and GR, whether h was exceeded, the rules."""
    added: int
    k: tuple[int, int]
    """The rows of the smallest class of the quasi-identifiers, before and after."""

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    @property
    def table(self) -> pa.Table:
        """The table as an Arrow table."""
        return pa.table({name: each.values.take(pa.array(each.codes)) for name, each in self.columns.items()})

    def to_dict(self, *, show_values: bool = False) -> dict[str, Any]:
        """Return what was done as a JSON object, without the rows; with `show_values`, the rules as well."""
        hidden = set() if show_values else {"rules", "unblocked"}
        told = {key: value for key, value in self.blocking.items() if value is not None and key not in hidden}
        k = {"before": self.k[0], "after": self.k[1]}
        return {"rows": self.rows, "added": self.added, "k": k, "blocking": told}

    def __repr__(self) -> str:
        channels, left = self.blocking["channels"], self.blocking["left"]
        return f"BlockedTable({self.rows:,} rows, {self.added:,} added, {channels:,} channels, {left:,} left)"


@phase("blocking")
def block_table(table: Table, policy: Policy) -> BlockedTable:
    """Block the channels of a table as it is by added rows; labels, and columns of `*`, are values like others."""
    how, attribute = policy.blocking, policy.blocked
    assert how is not None
    assert attribute is not None
    if how.by not in {"absent", "unknown"}:
        raise BadPolicy(f"blocking.by = {how.by!r} needs hierarchies, which a table as it is has not; use 'absent'")
    columns = {name: unchanged_column(table[name]) for name in table.columns}
    read = {name: _encode_released(name, column) for name, column in columns.items()}
    target = read.pop(attribute)
    _refuse_low_confidence(target, how.confidence)
    names = how.features or tuple(read)
    criterion, limits = _criterion_and_limits(policy, table.rows)
    done = block(
        {name: read[name] for name in names},
        target,
        criterion,
        limits,
        unknown=how.by == "unknown",
        seed=policy.method.seed,
    )
    warn_of_open_channels(done, how.by)
    rows = np.arange(table.rows)
    added = _added_rows_of(table[attribute], target, rows, done)
    shown, whole = insert_added_rows(columns, rows, added)
    quasi = [table[name].codes for name in policy.quasi_identifiers]
    every = shown_or_copied(whole)
    sizes = [_smallest_class([codes[which] for codes in quasi]) for which in (rows, every)]
    return BlockedTable(shown, blocking_summary(done, how.by), len(done.copied), (sizes[0], sizes[1]))


def _smallest_class(codes: Sequence[Codes]) -> int:
    """Return the rows of the smallest class; 0 where there is no row."""
    return int(np.unique(np.stack(codes), axis=1, return_counts=True)[1].min(initial=len(codes[0])))
