"""The role of every column of a table."""

import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction

from shoal.codes import Table
from shoal.errors import BadPolicy, ShoalWarning
from shoal.models import KAnonymity
from shoal.policy import Policy
from shoal.schema import Role

_UNIQUE_SHARE = Fraction(1, 20)


def assign_roles(table: Table, policy: Policy, index: Sequence[str] = ()) -> dict[str, Role]:
    """The role of every column, in the order of the table; a column without one is an error (design 12)."""
    for name in policy.attributes:
        if name not in table.columns:
            folded = {column.casefold(): column for column in table.columns}
            near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
            hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
            raise BadPolicy(f"attributes.{name}: the table has no column {name!r}{hint}")
    unknown = [name for name in table.columns if name not in policy.attributes]
    if policy.data.others is None and any(name in index for name in unknown):
        raise BadPolicy(
            "the frame has an index of its own, which can identify people: drop it with reset_index(drop=True), or "
            f"give it a role as attribute {next(name for name in unknown if name in index)!r}"
        )
    if unknown and policy.data.others is None:
        named = ", ".join(repr(name) for name in unknown)
        raise BadPolicy(
            f"column(s) {named} have no role; add them to [attributes], or set others = 'drop' or 'insensitive' "
            "under [data]"
        )
    other = Role.INSENSITIVE if policy.data.others == "insensitive" else Role.IDENTIFIER
    roles = {n: policy.attributes[n].role if n in policy.attributes else other for n in table.columns}
    _refuse_units(roles)
    _refuse_unconfirmed(table, policy, roles)
    for model in policy.require:
        if isinstance(model, KAnonymity) and model.k == 1:
            warnings.warn(ShoalWarning("k = 1 gives no protection"), stacklevel=2)
    return roles


def _refuse_units(roles: Mapping[str, Role]) -> None:
    units = [name for name, role in roles.items() if role is Role.UNIT]
    if len(units) > 1:
        raise BadPolicy(f"attributes.{units[1]}: {units[0]!r} is the unit already; one column tells persons apart")


def _refuse_unconfirmed(table: Table, policy: Policy, roles: Mapping[str, Role]) -> None:
    for name, role in roles.items():
        confirmed = name in policy.attributes and policy.attributes[name].confirm
        if role is not Role.INSENSITIVE or confirmed:
            continue
        unique = table[name].uniques
        if Fraction(unique, max(table.rows, 1)) > _UNIQUE_SHARE:
            raise BadPolicy(
                f"attributes.{name}: {unique} of {table.rows} rows hold a value that no other row has, so it may "
                "identify people; give it another role, or confirm = true"
            )
