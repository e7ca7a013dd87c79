"""What a type checker knows: the same kind of frame comes out as went in."""

import sys
from pathlib import Path
from subprocess import run

import pytest

REPOSITORY = Path(__file__).parents[2]
CODE = """
import pandas as pd
import polars as pl
import shoal as sh

def frames(people: pd.DataFrame, others: pl.DataFrame, policy: sh.Policy) -> None:
    reveal_type(sh.anonymize(people, policy).data)
    reveal_type(sh.anonymize(others, "policy.toml").data)
    reveal_type(sh.apply("out.private", people).data)
    reveal_type(sh.republish("out.private", others).data)
    reveal_type(sh.anonymize("people.csv", policy).data)
    reveal_type(sh.measure(people, "age").k)
    reveal_type(sh.draft(people).policy)
    sh.anonymize(people, 5)
"""
REVEALED = [
    "pandas.DataFrame",
    "polars.dataframe.frame.DataFrame",
    "pandas.DataFrame",
    "polars.dataframe.frame.DataFrame",
    "Any",
    "int",
    "shoal.policy.document.Policy",
]


@pytest.mark.thorough
def test_mypy_infers_the_type_of_the_released_frame(tmp_path):
    file = tmp_path / "people.py"
    file.write_text(CODE)
    command = [sys.executable, "-m", "mypy", "--config-file", REPOSITORY / "pyproject.toml", "--no-pretty", file]
    said = run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout
    lines = said.splitlines()
    revealed = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert [kind.replace("builtins.", "").replace("pandas.core.frame.", "pandas.") for kind in revealed] == REVEALED
    assert [line for line in lines if ": error:" in line and "people.py:14:" in line]  # 5 is no policy
    assert sum(": error:" in line for line in lines) == 1
