"""Workloads of aggregate queries: read or drawn at random, answered from a release, compared with the original."""

from shoal.workload.answering import answers
from shoal.workload.errors import SANITY, Answered, WorkloadReport, compare_answers
from shoal.workload.files import load_queries, queries_of, toml_of
from shoal.workload.queries import Among, Query, Within, attributes_of
from shoal.workload.random_queries import random_queries
from shoal.workload.shown import Original, Shown, read_release, text_cells

__all__ = [
    "SANITY",
    "Among",
    "Answered",
    "Original",
    "Query",
    "Shown",
    "Within",
    "WorkloadReport",
    "answers",
    "attributes_of",
    "compare_answers",
    "load_queries",
    "queries_of",
    "random_queries",
    "read_release",
    "text_cells",
    "toml_of",
]
