"""Reads labels: their grammar, and which values of a column each of them covers.

It shares nothing with the code that encodes values and writes labels, so that verification can rest on it.
"""

from shoal.labels.coverage import TOP, Coverage, Generalisation
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import Run, Scale, Sort, read_moment, read_number, runs_of, words

__all__ = [
    "TOP",
    "Coverage",
    "Generalisation",
    "Interval",
    "Members",
    "Run",
    "Scale",
    "Sort",
    "parse_label",
    "read_moment",
    "read_number",
    "runs_of",
    "words",
]
