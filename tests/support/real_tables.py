"""The real tables beside the repository, for tests of partitions: every column a quasi-identifier in its own order."""

from functools import cache
from pathlib import Path

import pytest
from pyarrow import csv

from shoal.data.codes import Column, encode
from shoal.data.frequency_set import FrequencySet

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
NAMES = ["adult", "adult_uci", "cup", "fars_subset", "ss13acs", "creditcard_int", "mach2019_int"]
REAL = [
    pytest.param(
        name,
        marks=[] if (DATA / name).is_dir() else [pytest.mark.skip(reason=f"{name} is not beside the repository")],
    )
    for name in NAMES
]


@cache
def real_table(name: str) -> tuple[list[Column], FrequencySet, FrequencySet]:
    """Columns, every row an item, and the classes of equal rows."""
    if name == "adult_uci":
        unnamed = csv.ReadOptions(autogenerate_column_names=True)
        table = csv.read_csv(DATA / name / "adult.data", unnamed)
    else:
        table = csv.read_csv(DATA / name / f"{name}.csv", parse_options=csv.ParseOptions(delimiter=";"))
    columns = [encode(column, table[column]) for column in table.column_names]
    coded = {column.name: (column.codes, column.size) for column in columns}
    return columns, FrequencySet.from_rows(coded), FrequencySet.count(coded)
