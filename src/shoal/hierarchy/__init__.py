"""Taxonomies of values: built, read or drafted, then compiled to `levels[h][code]`."""

from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import BUILDERS, Builder, Form, Functions, Rows, build, known_keys, parse, pinned
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.draft import draft, reason
from shoal.hierarchy.hipaa import Hipaa
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Edges, Intervals
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.taxonomy import TOP, Hierarchy, Taxonomy, compile_taxonomy
from shoal.hierarchy.top_bottom import TopBottom, ValueOnly

__all__ = [
    "BUILDERS",
    "TOP",
    "Builder",
    "Csv",
    "Dates",
    "Edges",
    "Form",
    "Functions",
    "Hierarchy",
    "Hipaa",
    "Intervals",
    "Mask",
    "Rows",
    "Taxonomy",
    "TopBottom",
    "Tree",
    "ValueOnly",
    "build",
    "compile_taxonomy",
    "draft",
    "known_keys",
    "parse",
    "pinned",
    "reason",
]
