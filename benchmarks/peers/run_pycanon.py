"""Runs pycanon's measures on a CSV; prints JSON: of each measure what it says, or its error, and its CPU seconds.

    python run_pycanon.py FILE DELIMITER QI,QI,… SENSITIVE [text|number]

Run by benchmarks/measuring.py and tests/peers in an environment of its own.
"""

import json
import sys
import time
from collections.abc import Callable

import pandas as pd
from pycanon import anonymity

file, delimiter, quasi, sensitive, kind = sys.argv[1:6]
names = quasi.split(",")
table = pd.read_csv(file, sep=delimiter, dtype=str, keep_default_na=False)
if kind == "number":
    table[sensitive] = pd.to_numeric(table[sensitive])

MEASURES: dict[str, Callable[..., object]] = {
    "k": anonymity.k_anonymity,
    "alpha-k": anonymity.alpha_k_anonymity,
    "l": anonymity.l_diversity,
    "entropy-l": anonymity.entropy_l_diversity,
    "recursive-cl": anonymity.recursive_c_l_diversity,
    "t": anonymity.t_closeness,
    "basic-beta": anonymity.basic_beta_likeness,
    "enhanced-beta": anonymity.enhanced_beta_likeness,
    "delta": anonymity.delta_disclosure,
}
out = {}
for name, measure in MEASURES.items():
    started = time.process_time()
    try:
        found = measure(table, names) if name == "k" else measure(table, names, [sensitive])
        said = [float(part) for part in found] if isinstance(found, tuple) else float(found)
    except Exception as error:  # noqa: BLE001
        said = type(error).__name__
    out[name] = {"says": said, "seconds": time.process_time() - started}
print(json.dumps(out))
