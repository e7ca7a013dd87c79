"""A table with a bit of everything, and policies for it."""

from typing import Any

import numpy as np
import pyarrow as pa

ROLES = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "$town": {"role": "quasi-identifier", "hierarchy": {"tree": {"north": ["a$", "b"], "south": ["c", "d"]}}},
    "ill": {"role": "sensitive"},
}


def table(rows: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    ages, towns, ills = (
        rng.normal(40, 8, rows).astype(int),
        rng.choice(["a$", "b", "c", "d"], rows),
        rng.choice(["x", "y", "z"], rows),
    )
    return pa.table({"age": ages, "$town": towns, "ill": ills})


def policy(k: int = 3, **method: Any) -> dict[str, Any]:
    return {"attributes": ROLES, "require": [{"model": "k-anonymity", "k": k}], "method": method}
