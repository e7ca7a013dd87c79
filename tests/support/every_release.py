"""Releases of every kind, for tests of their reports."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal as sh

QUASI = "quasi-identifier"
AGE = {"role": QUASI, "hierarchy": {"intervals": [5, 10, 20]}}
ZIP = {"role": QUASI, "hierarchy": {"mask": "right"}}
SEX = {"role": QUASI, "hierarchy": {"flat": True}}
PLAIN: dict[str, Any] = {
    "name": "identifier",
    "age": AGE,
    "zip": ZIP,
    "sex": SEX,
    "paid": "insensitive",
    "ill": "sensitive",
}
NUMBERS: dict[str, Any] = {
    "name": "identifier",
    "age": QUASI,
    "zip": ZIP,
    "sex": SEX,
    "paid": "insensitive",
    "ill": "sensitive",
}
K: dict[str, Any] = {"model": "k-anonymity", "k": 4}
DIVERSE: dict[str, Any] = {"model": "distinct-l-diversity", "l": 2}


def people(rows: int = 240, seed: int = 7) -> pa.Table:
    """Made-up people, a few of whom stand out."""
    random = np.random.default_rng(seed)
    zips = random.choice([12001, 12002, 12011, 13001, 13002], rows, p=[0.3, 0.2, 0.1, 0.2, 0.2])
    often = random.choice(["flu", "cold", "gout", "hiv", "mumps"], rows)
    ill = np.where(zips == 12011, "gout", often)  # a rule to be found
    return pa.table(
        {
            "name": [f"n{i // 2}" for i in range(rows)],
            "age": pa.array([*random.integers(20, 60, rows - 2).tolist(), 97, 99]),
            "zip": [str(code) for code in zips],
            "sex": random.choice(["f", "m"], rows),
            "paid": random.choice(["yes", "no"], rows),
            "ill": pa.array([*ill[:-1].tolist(), None]),
        }
    )


def policy_with(
    attributes: dict[str, Any] | None = None,
    require: Sequence[dict[str, Any]] = (K,),
    method: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    return {"attributes": attributes or PLAIN, "require": list(require), "method": method or {}, **more}


KINDS = {
    "node": policy_with(method={"suppression": 0.05}),
    "nothing left out": policy_with(method={"suppression": 0}),
    "suppressed shown": policy_with(method={"suppression": 0.3}, release={"suppressed": "show"}),
    "datafly": policy_with(method={"algorithm": "datafly"}),
    "several promises": policy_with(
        require=[K, DIVERSE, {"model": "t-closeness", "t": 0.5}, {"model": "average-risk", "max": 0.2}]
    ),
    "boxes": policy_with(NUMBERS, method={"algorithm": "mondrian"}),
    "relaxed boxes": policy_with(NUMBERS, method={"algorithm": "mondrian-relaxed"}),
    "cut one by one": policy_with(NUMBERS, method={"algorithm": "mondrian-single"}),
    "cells": policy_with(method={"algorithm": "local"}),
    "clusters": policy_with(
        {**NUMBERS, "zip": QUASI, "sex": "identifier"},
        [{"model": "k-anonymity", "k": 6}],
        {"algorithm": "microaggregation"},
    ),
    "groups": policy_with(require=[DIVERSE], method={"algorithm": "anatomy"}),
    "rows suppressed": policy_with(
        {**PLAIN, "age": "identifier"},
        [{"model": "k-anonymity", "k": 13}],
        {"generalise": "none", "suppress": "tuple", "suppression": 1.0},
    ),
    "columns suppressed": policy_with(method={"generalise": "none", "suppress": "attribute"}),
    "cells suppressed": policy_with(method={"generalise": "none", "suppress": "cell"}),
    "rows added": policy_with(blocking={"confidence": 0.9, "by": "absent"}, method={"suppression": 0.05}),
    "rows left out for rules": policy_with(blocking={"confidence": 0.9, "by": "suppress"}, method={"suppression": 0.5}),
    "persons": policy_with({**PLAIN, "name": "unit"}),
    "no sensitive column": policy_with({**PLAIN, "ill": "identifier"}),
}
"""A policy for each kind of release of the people above."""


def save_release(folder: Path, kind: str, table: Any = None, **how: Any) -> tuple[Path, Path]:
    """Save a release of some kind, and return its two folders."""
    with warnings.catch_warnings(action="ignore"):
        sh.anonymize(people() if table is None else table, KINDS[kind], **how).save(folder / "out")
    return folder / "out", folder / "out.private"
