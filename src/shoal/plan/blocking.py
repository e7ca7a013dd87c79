"""Blocking the inference channels of a release that was planned (S1.3 to S1.8)."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from shoal.codes import Column
from shoal.engine import Engine, Source
from shoal.errors import BadPolicy, Infeasible
from shoal.mining.blocking import Blocked, Limits, Rows, block
from shoal.mining.channels import Sensitive
from shoal.mining.diversifying import Diversifying
from shoal.models import exact
from shoal.plan.leaving_out import without_false_rows
from shoal.plan.mined import mined
from shoal.plan.values import Added, Plan
from shoal.policy import Policy


def block_channels(source: Source, policy: Policy, plan: Plan, engine: Engine) -> Plan:
    """The plan with its channels blocked, as the policy asks; as it is where nothing is asked."""
    how, attribute = policy.blocking, policy.blocked
    if how is None or attribute is None:
        return plan
    sensitive = Sensitive(exact("at", how.at), how.support, frozenset(how.values))
    limits = Limits(
        exact("confidence", how.confidence),
        exact("h", how.h),
        int(exact("limit", how.limit) * source.table.rows),
        how.passes,
    )
    features, target, rows = mined(source.table, policy, plan)
    _refuse_too_low(target, how.confidence)
    if how.by in {"generalise", "suppress"}:
        return without_false_rows(source, policy, plan, engine, sensitive, limits)
    rng = np.random.default_rng([policy.method.seed, 1])
    further = _further(policy, plan, target, rows)
    done = block(
        features,
        target,
        sensitive,
        limits,
        unknown=how.by == "unknown",
        seed=policy.method.seed,
        further=None if further is None else lambda shows, values: further.further(shows, values, rng),
    )
    if further is not None:
        _refuse_unattained(further, target, done)
    return replace(plan, blocked=done, added=_added(source.table[attribute], target, rows, done))


def _refuse_too_low(target: Column, confidence: float) -> None:
    least = Fraction(1, max(len(target.values), 1))
    if exact("confidence", confidence) < least:
        raise BadPolicy(
            f"blocking.confidence = {confidence!r}: the release shows {len(target.values)} sensitive values, so the "
            f"likeliest of them has at least 1/{len(target.values)}; ask for no less"
        )


def _further(policy: Policy, plan: Plan, target: Column, rows: Rows) -> Diversifying | None:
    assert policy.blocking is not None
    models = policy.promises[len(policy.models) :]
    if not models:
        return None
    _, of_row = np.unique(plan.class_of_row[rows], return_inverse=True)
    return Diversifying(models, of_row.astype(np.int32), target)


def _refuse_unattained(further: Diversifying, target: Column, done: Blocked) -> None:
    shows = np.concatenate([np.arange(len(target.codes)), done.copied])
    left = further.left(shows, np.concatenate([target.codes, done.values]))
    if left:
        why = f" before {done.stopped} stopped it" if done.stopped else ""
        raise Infeasible(f"blocking did not attain {left[0]}{why}; allow more rows and passes, or a weaker model")


def _added(column: Column, target: Column, rows: Rows, done: Blocked) -> Added:
    """The rows in the codes of the table."""
    known = {text: code for code, text in enumerate(column.texts.to_pylist())}
    codes = np.array([*(known[text] for text in target.texts.to_pylist()), -1], dtype=np.int32)
    return Added(column.name, rows[done.copied], codes[done.values])
