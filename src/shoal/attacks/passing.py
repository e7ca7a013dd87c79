"""Whether people pass a test that was made of released labels: a label holds for whom it covers."""

from collections.abc import Mapping

import numpy as np

from shoal.attacks.matching import Matching
from shoal.codes import Kind, Table
from shoal.counts import Flags
from shoal.errors import BadInput
from shoal.hierarchy import Builder
from shoal.mining.tree import Test


def holds(test: Test, table: Table, builders: Mapping[str, Builder]) -> Flags:
    """Of each row of a table, whether it passes; a row without a value passes none.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> people = Table({"age": encode("age", pa.array([31, 52, None]))}, 3)
    >>> holds(Test("age", "=", "[30, 40)"), people, {}).tolist(), holds(Test("age", ">", 40), people, {}).tolist()
    ([True, False, False], [False, True, False])
    """
    if test.attribute not in table.columns:
        raise BadInput(f"there is no column {test.attribute!r} to try a rule on")
    column = table[test.attribute]
    if test.operator == "=":
        covered = Matching(column, builders.get(test.attribute)).runs([str(test.value)]).members(0)
        return np.isin(column.codes, [code for code in covered if code != column.null_code])
    if column.kind is not Kind.NUMBER:
        raise BadInput(f"column {test.attribute!r} has no numbers, and a rule compares them")
    passing = np.zeros(column.size, dtype=bool)
    limit = float(test.value)  # type: ignore[arg-type]
    values = column.floats
    passing[: len(values)] = values <= limit if test.operator == "<=" else values > limit
    return np.asarray(passing[column.codes])
