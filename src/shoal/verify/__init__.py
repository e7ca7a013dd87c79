"""Counts a released table afresh, with DuckDB in SQL, and judges it; shares nothing with what made the release.

Common ground are the models' pure functions, which are held to naive definitions in tests, and the hierarchies, whose
intervals are checked. Values are read and ordered by `shoal.labels`, never by the encoder.
"""

from shoal.verify.claim import Claim, Original, Points
from shoal.verify.counting import Counted, count
from shoal.verify.files import check_hash, read_json, table_in
from shoal.verify.judging import judge, judge_people
from shoal.verify.opening import Opened, Room, opened
from shoal.verify.original_table import Levels, OriginalColumn, OriginalRelation, OriginalTable
from shoal.verify.truth import covers
from shoal.verify.verdict import Status, Verdict, refuse_failures

__all__ = [
    "Claim",
    "Counted",
    "Levels",
    "Opened",
    "Original",
    "OriginalColumn",
    "OriginalRelation",
    "OriginalTable",
    "Points",
    "Room",
    "Status",
    "Verdict",
    "check_hash",
    "count",
    "covers",
    "judge",
    "judge_people",
    "opened",
    "read_json",
    "refuse_failures",
    "table_in",
]
