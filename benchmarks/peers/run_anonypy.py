"""Runs anonypy's Mondrian on coded columns; prints CPU seconds of the call and the parts it makes.

Run by benchmarks/mondrian.py in an environment of its own, since peers pin their dependencies.
"""

import sys
import time

import numpy as np
import pandas as pd
from anonypy.mondrian import Mondrian

columns = np.load(sys.argv[1])
frame = pd.DataFrame({f"q{i}": codes for i, codes in enumerate(columns)})
started = time.process_time()
parts = Mondrian(frame, list(frame)).partition(int(sys.argv[2]))
print(time.process_time() - started, len(parts))
