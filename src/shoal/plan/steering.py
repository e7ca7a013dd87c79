"""From the workload of a policy to what steers its partition."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.codes import Table
from shoal.errors import BadInput, BadPolicy
from shoal.models.spec import nearest
from shoal.partition.axes import Floats
from shoal.partition.demand import Asked, Demand
from shoal.plan.ground import Ground
from shoal.policy.paths import Located
from shoal.workload import SANITY, Original, Query, answers, attributes_of, load_queries
from shoal.workload.domains import Numbers
from shoal.workload.seeing import up_to_the_next


def demand_of(ground: Ground) -> Demand:
    """The queries of the policy's workload as they look at the quasi-identifiers; every aggregate by its rows."""
    path = ground.policy.method.workload
    assert isinstance(path, Located)
    file = path.file
    queries = [Query(where=query.where, weight=query.weight) for query in load_queries(file)]
    try:
        return _demand(queries, ground.table, ground.quasi)
    except BadInput as wrong:
        raise BadPolicy(f"method.workload: {file.name}: {wrong}") from None


def _demand(queries: Sequence[Query], table: Table, quasi: Sequence[str]) -> Demand:
    for number, query in enumerate(queries, 1):
        for name in query.attributes:
            if name not in table.columns:
                raise BadInput(f"query {number}: the table has no column {name!r}{nearest(name, table.columns)}")
    original = Original(table)
    recoded = [replace(query, where=tuple(one for one in query.where if one[0] in quasi)) for query in queries]
    if not any(query.where for query in recoded):
        raise BadInput("no query looks at a quasi-identifier")
    rows = answers(original.shown(attributes_of(queries)), [*queries, *recoded])
    asked = {name: _asked(recoded, original, name) for name in quasi}
    found, satisfying = np.split(rows.values, 2)
    return Demand(_costs(queries, found, satisfying, table.rows), asked)


def _costs(queries: Sequence[Query], found: Floats, recoded: Floats, rows: int) -> Floats:
    """What a row costs that is wrongly counted among those that satisfy the recoded part of each query.

    The rest of a query is answered exactly: of the rows that satisfy the one part, it keeps a share.
    """
    weights = np.array([query.weight for query in queries])
    return np.asarray(weights * np.maximum(found, 1) / np.maximum(recoded, 1) / np.maximum(found, SANITY * rows))


def _asked(queries: Sequence[Query], original: Original, name: str) -> Asked:
    """What queries ask of one quasi-identifier."""
    domain, size = original.domain(name), original.table[name].size
    predicates = [dict(query.where).get(name) for query in queries]
    distinct = list(dict.fromkeys(one for one in predicates if one is not None))
    number = {predicate: at for at, predicate in enumerate(distinct)}
    which = np.array([-1 if one is None else number[one] for one in predicates], dtype=np.int64)
    held = np.array([domain.satisfying(one) for one in distinct], dtype=bool).reshape(len(distinct), size)
    if not isinstance(domain, Numbers):
        return Asked(which, held)
    shares = held.astype(np.float64)  # of null, none
    gaps = up_to_the_next(domain)
    for at, predicate in enumerate(distinct):
        shares[at, : len(domain.values)] = gaps.see(predicate).share
    return Asked(which, held, shares)
