"""Reads labels: their grammar, and which values of a column each of them covers.

It shares nothing with the code that encodes values and writes labels, so that verification can rest on it.
"""

from shoal.labels.coverage import TOP, Coverage, Generalisation
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import Scale, Sort, read_moment, read_number, words

__all__ = [
    "TOP",
    "Coverage",
    "Generalisation",
    "Interval",
    "Members",
    "Scale",
    "Sort",
    "parse_label",
    "read_moment",
    "read_number",
    "words",
]
