"""Whether people pass a test that was made of released labels: a label holds for whom it covers."""

from collections.abc import Mapping

import numpy as np

from shoal.codes import Kind, Table
from shoal.counts import Flags
from shoal.errors import BadInput
from shoal.hierarchy import Builder, build
from shoal.mining.tree import Test
from shoal.verify.labels import Labels


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
        builder = builders.get(test.attribute)
        labels = Labels(column, None if builder is None else build(column, builder))
        passing = labels.covered(None if test.value is None else str(test.value))
        if column.null_code is not None and test.value is not None:
            passing[column.null_code] = False
        return np.asarray(passing[column.codes])
    if column.kind is not Kind.NUMBER:
        raise BadInput(f"column {test.attribute!r} has no numbers, and a rule compares them")
    passing = np.zeros(column.size, dtype=bool)
    limit = float(test.value)  # type: ignore[arg-type]
    values = np.array([float(number) for number in column.numbers])
    passing[: len(values)] = values <= limit if test.operator == "<=" else values > limit
    return np.asarray(passing[column.codes])
