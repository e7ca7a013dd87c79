"""measure, lattice, compare, learn, draft: looking at a table without releasing it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.api.given import Path_, Source_, once, path_of, policy_of, read_for, several
from shoal.api.querying import asked_of
from shoal.engine import ReadOptions
from shoal.engines import ArrowEngine
from shoal.mining import Learned
from shoal.plan import Task, set_task
from shoal.policy import Policy
from shoal.report.alpha_files import GraphFile
from shoal.report.comparing import Comparison, compare_algorithms, known_algorithms
from shoal.report.drafted import draft_policy
from shoal.report.figures import all_measures, of_workload
from shoal.report.lattice_files import LatticeFiles
from shoal.report.lattice_table import LatticeTable, list_nodes
from shoal.report.learning import figures_of, learn_from, set_lesson
from shoal.report.measuring import measure_table
from shoal.search import Stop, Watch
from shoal.workload import (
    SANITY,
    Query,
)


def lattice(
    source: Source_,
    policy: Policy | Path_ | Mapping[str, Any],
    *,
    picture: Path_ | None = None,
    csv: Path_ | None = None,
    force: bool = False,
    watch: Watch = lambda *_: None,
) -> LatticeTable:
    """Every node of the policy's lattice: whether it complies, what it costs, and whether any node is plainly better.

    `picture` (an SVG or a PNG) and `csv` are files to write it to as well; what they tell of the table is private.

    >>> import pyarrow as pa
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> table = lattice(pa.table({"age": [31, 38, 52, 59]}), policy)
    >>> [(node.levels, node.suppressed, node.complies) for node in table.nodes]
    [((0,), 4, False), ((1,), 4, False), ((2,), 0, True), ((3,), 0, True)]
    >>> table.best.levels, table.best.metrics["average-class"]
    ((2,), 2.0)
    """
    files = LatticeFiles.choose(picture, csv, path_of(source), force=force)
    policy = policy_of(policy)
    table = list_nodes(_task(source, policy), policy, watch)
    files.write(table)
    return table


def compare(
    source: Source_,
    policy: Policy | Path_ | Mapping[str, Any],
    *,
    algorithms: Sequence[str] | None = None,
    target: str | None = None,
    learners: str | Sequence[str] | None = None,
    queries: Path_ | Iterable[Query | Mapping[str, Any]] | None = None,
    random: int | None = None,
    seed: int = 0,
    sanity: float = SANITY,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Comparison:
    """What several algorithms, all unless named, make of one table and policy; the table is read and counted once.

    Every measure is among the `figures` of a run; with `queries`, or so many `random` ones, the errors of their answers
    too, and with a `target` what `learn` would tell.

    >>> import pyarrow as pa
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> found = compare(pa.table({"age": [31, 38, 52, 59]}), policy, algorithms=["optimal", "datafly"])
    >>> [(run.algorithm, run.height, run.proved) for run in found.runs]
    [('optimal', 2, True), ('datafly', 2, False)]
    """
    chosen = known_algorithms(None if algorithms is None else several(algorithms))
    policy, engine = policy_of(policy), ArrowEngine()
    with once():
        read = read_for(source, policy, engine)
        further = [all_measures(read)]
        if queries is not None or random is not None:
            asked = asked_of(read, policy, queries, random, seed=seed)
            further.append(of_workload(read, engine, asked, sanity))
        if target is not None:
            lesson = set_lesson(read, policy, target, learners=None if learners is None else several(learners))
            further.append(figures_of(read, engine, lesson, stop))
        return compare_algorithms(read, policy, engine, chosen, watch, stop, further)


def learn(
    source: Source_,
    policy: Policy | Path_ | Mapping[str, Any],
    *,
    target: str,
    learners: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    rows: int | None = None,
    watch: Watch = lambda *_: None,
    stop: Stop = lambda: False,
) -> Learned:
    """How well classifiers predict a column when trained on the original and on the release; needs `shoal[learn]`.

    Cross-validated: each fold's training rows are anonymized by themselves, and the rows held out are shown through the
    recoding found (`Learned.how`). `features` are the quasi-identifiers unless named; at most `rows` are trained on.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [21, 22, 23, 61, 62, 63] * 4, "ill": ["no", "no", "no", "yes", "yes", "yes"] * 4})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
    >>> policy = Policy(attributes={"age": age, "ill": "sensitive"}, require=[{"model": "k-anonymity", "k": 4}])
    >>> learned = learn(people, policy, target="ill", learners="logistic", folds=3)
    >>> learned.majority.mean, [(score.original.mean, score.release.mean) for score in learned.scores]
    (0.5, [(1.0, 1.0)])
    """
    policy, engine = policy_of(policy), ArrowEngine()
    asked, named = (None if given is None else several(given) for given in (learners, features))
    with once():
        read = read_for(source, policy, engine)
        lesson = set_lesson(read, policy, target, learners=asked, features=named, folds=folds, seed=seed, rows=rows)
        return learn_from(read, policy, engine, lesson, watch, stop)


def _task(source: Source_, policy: Policy) -> Task:
    engine = ArrowEngine()
    return set_task(read_for(source, policy, engine), policy, engine)


def measure(
    source: Source_,
    *,
    quasi_identifiers: str | Sequence[str],
    sensitive: str | Sequence[str] = (),
    unit: str | None = None,
    missing: str | Sequence[str] = ("",),
    ignore_suppressed: bool = False,
    options: ReadOptions | None = None,
    graph: Path_ | None = None,
    force: bool = False,
    show_values: bool = False,
) -> dict[str, Any]:
    """Every model's attained value for a table as it is; no policy needed.

    With a `unit`, persons are counted, not rows. `graph` is a file (.graphml, .svg, .png) for the graph of the
    sensitive values and the classes. `show_values` names what the members of the worst classes share.

    >>> import pyarrow as pa
    >>> measure(pa.table({"sex": ["f", "f", "m"]}), quasi_identifiers="sex")["models"][0]
    {'model': 'k-anonymity', 'attained': {'k': 1}, 'worst': {'size': 1, 'rows': [3]}}
    """
    file = None if graph is None else GraphFile.choose(graph, path_of(source), several(sensitive), force=force)
    read = ArrowEngine().read(source, options or ReadOptions(missing=tuple(several(missing))))
    return measure_table(
        read,
        several(quasi_identifiers),
        several(sensitive),
        unit=unit,
        ignore_suppressed=ignore_suppressed,
        graph=file,
        show_values=show_values,
    )


def draft(source: Source_, *, k: int = 5, delimiter: str | None = None, encoding: str | None = None) -> str:
    """A first policy for a table, as TOML with comments."""
    return draft_policy(ArrowEngine().read(source, ReadOptions(delimiter=delimiter, encoding=encoding)), k)
