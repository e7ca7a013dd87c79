"""Small releases of several kinds, to be tampered with."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import shoal as sh

QUASI = "quasi-identifier"
AGE = {"role": QUASI, "hierarchy": {"intervals": [10, 20]}}
SEX = {"role": QUASI, "hierarchy": {"flat": True}}
PLAIN: dict[str, Any] = {"name": "identifier", "age": AGE, "sex": SEX, "paid": "insensitive", "ill": "sensitive"}
NUMBERS: dict[str, Any] = {**PLAIN, "age": QUASI}
K: dict[str, Any] = {"model": "k-anonymity", "k": 3}
DIVERSE: dict[str, Any] = {"model": "distinct-l-diversity", "l": 2}
CATEGORIES: dict[str, Any] = {
    "model": "l-alpha-diversity",
    "l": 2,
    "alpha": 1,
    "categories": [["gout", "hiv"], ["flu", "cold"]],
}
LIMITS: dict[str, Any] = {"model": "alpha-k", "k": 3, "alpha": {"hiv": 0.9, "flu": 0.9}}
CLOSE: dict[str, Any] = {"model": "t-closeness", "t": 0.9, "attribute": "ill"}


def people(rows: int = 48, seed: int = 3) -> pa.Table:
    """Made-up people."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"n{i:02}" for i in range(rows)],
            "age": pa.array(random.integers(20, 60, rows)),
            "sex": random.choice(["f", "m"], rows),
            "paid": random.choice(["yes", "no"], rows),
            "ill": random.choice(["flu", "cold", "gout", "hiv"], rows),
        }
    )


@dataclass(frozen=True)
class Kind:
    """A kind of release of the people."""

    policy: dict[str, Any]
    how: dict[str, Any] = field(default_factory=dict)
    """Options of saving it."""
    engine: str = "arrow"
    twice: bool = False
    """Whether every name has two rows."""


def _policy(attributes: dict[str, Any] = PLAIN, require: Any = (K,), **sections: Any) -> dict[str, Any]:
    return {"attributes": attributes, "require": list(require), **sections}


KINDS: dict[str, Kind] = {
    "node": Kind(_policy(require=[K, DIVERSE, CATEGORIES, LIMITS, CLOSE], method={"suppression": 0.1})),
    "shown": Kind(
        _policy(
            {**PLAIN, "age": {**AGE, "max-level": 1}, "sex": {**SEX, "max-level": 0}},
            [{"model": "k-anonymity", "k": 5}],
            method={"suppression": 0.4},
            release={"suppressed": "show"},
        )
    ),
    "boxes": Kind(
        _policy(
            {**NUMBERS, "age": {"role": QUASI, "form": ["range", "bounds", "mean", "mode"]}},
            [{"model": "k-anonymity", "k": 5}],
            method={"algorithm": "mondrian"},
            release={"ranges": "observed", "means": "any"},
        )
    ),
    "single": Kind(_policy(NUMBERS, method={"algorithm": "mondrian-single"}, release={"ranges": "observed"})),
    "clusters": Kind(
        _policy({**NUMBERS, "sex": "identifier"}, method={"algorithm": "microaggregation"}, release={"means": "any"})
    ),
    "cells": Kind(_policy(method={"algorithm": "local"})),
    "anatomy": Kind(_policy(require=[DIVERSE], method={"algorithm": "anatomy"})),
    "partitions": Kind(_policy(method={"suppression": 0.1}), {"partition_by": ["sex"]}),
    "parquet": Kind(_policy(NUMBERS, method={"algorithm": "mondrian"}), {"format": "parquet"}),
    "persons": Kind(_policy({**PLAIN, "name": "unit"}, method={"suppression": 0.2}), twice=True),
    "added": Kind(_policy(blocking={"confidence": 0.4, "at": 0.5, "by": "absent"}, method={"suppression": 0.05})),
    "points": Kind(_policy(NUMBERS, method={"algorithm": "mondrian"}), engine="duckdb"),
    "again": Kind(
        _policy(
            {**PLAIN, "paid": "identifier"},
            [DIVERSE],
            method={"suppression": 0.2},
            republish={"key": "name", "way": "m-invariance", "m": 2, "counterfeits": 0.5},
        )
    ),
}


def publish(folder: Path, kind: str) -> Path:
    """Write the people as `people.csv` beside `out/` and `out.private/`; of `again`, it is the second release."""
    made = KINDS[kind]
    table = people()
    if made.twice:
        table = table.set_column(0, "name", pa.array([f"n{i // 2:02}" for i in range(table.num_rows)]))
    source = folder / "people.csv"
    pa_csv.write_csv(table, source)
    with warnings.catch_warnings(action="ignore"):
        if kind != "again":
            sh.anonymize(source, made.policy, engine=made.engine).save(folder / "out", reproducible=True, **made.how)
            return source
        sh.anonymize(source, made.policy).save(folder / "first", reproducible=True)
        later = table.slice(3)
        pa_csv.write_csv(later, source)
        sh.republish(folder / "first.private", source).save(folder / "out", reproducible=True)
    return source
