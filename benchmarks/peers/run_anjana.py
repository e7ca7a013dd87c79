"""Runs anjana's k-anonymity on a folder made by shoal.datasets; prints CPU seconds of the call and rows released.

Run by benchmarks/run.py in an environment of its own, since anjana pins its dependencies.
"""

import contextlib
import io
import sys
import time
from pathlib import Path

import pandas as pd
from anjana.anonymity import k_anonymity

folder, k, percent = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
table = pd.read_csv(folder / "census.csv", dtype=str)
hierarchies = {
    file.stem: dict(pd.read_csv(file, sep=";", header=None, dtype=str))
    for file in sorted((folder / "hierarchies").iterdir())
}
started = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    released = k_anonymity(table, [], list(hierarchies), k, percent, hierarchies)
print(time.process_time() - started, len(released))
