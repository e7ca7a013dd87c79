"""What a table must have so that the models of a policy can be asked about it."""

import warnings
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.codes import Table
from shoal.errors import BadData, BadPolicy, ShoalWarning
from shoal.models.l_diversity import LDiversity
from shoal.models.model import QUASI, Model
from shoal.models.personal_privacy import Personalised
from shoal.models.xy_privacy import XYPrivacy
from shoal.policy.document import Policy
from shoal.roles import Role


def refuse_misfits(policy: Policy, table: Table, roles: Mapping[str, Role]) -> None:
    """Refuse columns that are not there or not as a model needs them; `roles` are those of all columns."""
    if policy.unit is not None:
        _refuse_nobody(policy.unit, table)
    for model in policy.models:
        _refuse_missing(model, table)
        if isinstance(model, Personalised):
            _refuse_guards(model, policy, table, roles)
        if isinstance(model, XYPrivacy):
            _refuse_other_x(model, roles)
        if isinstance(model, LDiversity):
            _refuse_other_others(model, roles)
        if model.columns and policy.unit is not None:
            warnings.warn(ShoalWarning(f"{model.name} counts rows, not persons"), stacklevel=2)


def _refuse_nobody(unit: str, table: Table) -> None:
    column = table[unit]
    if column.null_code is not None:
        rows = int(column.counts[column.null_code])
        raise BadData(f"column {unit!r}: {rows} row(s) belong to no person; fill the column, or leave the rows out")


def _refuse_missing(model: Model, table: Table) -> None:
    for name in model.columns:
        if name is not QUASI and name not in table.columns:
            raise BadPolicy(f"require: {model.name} looks at {name!r}, and the table has no such column")


def _refuse_other_x(model: XYPrivacy, roles: Mapping[str, Role]) -> None:
    for name in model.x or ():
        if roles.get(name) is not Role.QUASI_IDENTIFIER:
            raise BadPolicy(f"require: {model.name}: x names {name!r}, which has not the role 'quasi-identifier'")


def _refuse_other_others(model: LDiversity, roles: Mapping[str, Role]) -> None:
    for name in model.others or ():
        if roles.get(name) is not Role.SENSITIVE:
            raise BadPolicy(f"require: {model.name}: others names {name!r}, which has not the role 'sensitive'")


def _refuse_guards(model: Personalised, policy: Policy, table: Table, roles: Mapping[str, Role]) -> None:
    """Refuse guarding nodes that are no labels of the hierarchy, or that are not kept secret."""
    assert model.attribute is not None
    builder = policy.attributes[model.attribute].hierarchy
    if builder is None:
        raise BadPolicy(f"attributes.{model.attribute}: {model.name} needs a hierarchy of it")
    if roles[model.guard].released:
        raise BadPolicy(
            f"attributes.{model.guard}: it tells what each person wants hidden and would be released; give it the role "
            "'identifier'"
        )
    taxonomy, column = builder.taxonomy(table[model.attribute]), table[model.guard]
    labels = {*taxonomy.leaves, *(label for level in taxonomy.levels for label in level)}
    unknown = pc.invert(pc.is_in(column.texts, value_set=pa.array(sorted(labels), pa.string())))
    which = np.flatnonzero(unknown.to_numpy(zero_copy_only=False))
    if len(which):
        raise BadData(
            f"column {model.guard!r}: {int(column.counts[which].sum())} row(s) name no label of the hierarchy of "
            f"{model.attribute!r}; correct them, or leave them empty for no guard",
            values=column.texts.take(pa.array(which[:5])).to_pylist(),
        )
