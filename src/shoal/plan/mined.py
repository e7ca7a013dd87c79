"""What a miner sees of a release that was planned."""

import pyarrow as pa

from shoal.codes import Column, Table, encode
from shoal.mining.blocking import Rows
from shoal.plan.values import Plan
from shoal.policy import Policy
from shoal.recode import Recoding, Released, recode
from shoal.schema import Role


def mined(
    table: Table, policy: Policy, plan: Plan, recoding: Recoding | None = None
) -> tuple[dict[str, Column], Column, Rows]:
    """The columns that rules are made of, the one they tell, and the input row of each row.

    They are read as somebody reads them who has nothing but the release: what no released row shows is unknown.
    """
    assert policy.blocking is not None
    assert policy.blocked is not None
    asked = policy.blocking.features
    useful = {name for name, role in plan.roles.items() if role.released and role is not Role.SENSITIVE}
    names = [name for name in plan.roles if name == policy.blocked or (name in (asked or useful) and name in useful)]
    columns, rows = recode(
        table,
        recoding or plan.recoding,
        plan.hierarchies,
        names,
        plan.quasi_identifiers,
        show=policy.release.suppressed == "show",
    )
    read = {name: _read(name, column) for name, column in columns.items()}
    return read, read.pop(policy.blocked), rows


def _read(name: str, column: Released) -> Column:
    return encode(name, pa.DictionaryArray.from_arrays(pa.array(column.codes), column.texts))
