"""measure, lattice, compare, sweep, learn, draft, workload, risk: looking at a table or a release, and no more."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engine_port import ReadOptions, Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import read_into_memory, read_options, read_with_population
from shoal.errors import REPLACE_IT, BadInput, ShoalWarning
from shoal.explore.compare import (
    AlgorithmComparison,
    all_measures,
    compare_algorithms,
    known_algorithms,
    workload_errors,
)
from shoal.explore.draft_policy import PolicyDraft, draft_policy, find_marks
from shoal.explore.lattice_table import LatticeTable, list_nodes
from shoal.explore.learn import figures_of, learn_from, set_lesson
from shoal.explore.measure import TableMeasurement, measure_table
from shoal.explore.sweep import ParameterSweep, Value, parameter_of, refuse_unknown, sweep_parameter, values_of
from shoal.explore.table_risk import RiskAsked, assess, read_for_risk
from shoal.inputs import (
    PathLike,
    SourceLike,
    load_policy,
    path_of,
    policy_of,
    private_folder_of,
    unique_names,
    warn_once,
)
from shoal.mining.cross_validation import Learned
from shoal.models.spec import kebab
from shoal.pipeline import Release
from shoal.policy.document import Policy
from shoal.problem import Problem
from shoal.publish.claims import load_public
from shoal.publish.contents import load_private
from shoal.publish.folder import refuse_irregular, write_file
from shoal.publish.release_views import builders_of, generalised_from_columns, generalised_from_folder, original_of
from shoal.report.plots.alpha_graph import AlphaGraph
from shoal.report.plots.charts import LossCurve
from shoal.report.plots.display import GraphFile, ListFiles
from shoal.report.plots.lattice_graph import LatticeGraph
from shoal.risk import Assessment
from shoal.search.driver import Stop, Watch, ignore_progress, never_stop
from shoal.search.full_domain import LatticeSearch
from shoal.workload.answers import SANITY, WorkloadReport, compare_answers
from shoal.workload.queries import Query, attributes_of, load_queries, queries_of, random_queries, toml_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def workload(
    source: SourceLike,
    out: PathLike | Release,
    queries: PathLike | Iterable[Query | Mapping[str, Any]] | None = None,
    *,
    random: int | None = None,
    attributes: int = 2,
    selectivity: float = 0.1,
    seed: int = 0,
    sanity: float = SANITY,
    private: PathLike | None = None,
    save: PathLike | None = None,
    force: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> WorkloadReport:
    """Answer queries from a release under the uniform assumption, beside the answers of the original (S4.8).

    `queries` is a file or the queries themselves, else so many `random` ones are drawn on so many quasi-identifiers
    each; `save` writes them as TOML. What comes back tells of the original: it is private. `reading` holds keys of
    [data], for an original that is written in another way.

    >>> import pyarrow as pa
    >>> from shoal.api import anonymize
    >>> people = pa.table({"age": [31, 34, 38, 39]})
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> release = anonymize(people, {"attributes": {"age": age}, "require": [{"model": "k-anonymity", "k": 2}]})
    >>> found = workload(people, release, queries=[{"count": True, "where": {"age": {"to": 34}}}, {"avg": "age"}])
    >>> [(one.estimate, one.actual, one.matches) for one in found.answered]
    [(2.0, 2.0, True), (34.5, 35.5, True)]
    """
    _refuse_both(queries, random)
    file = None if save is None else _new_file(save, path_of(source), force=force)
    manifest = None if isinstance(out, Release) else load_public(Path(out))
    policy = out.policy if isinstance(out, Release) else load_private(private_folder_of(Path(out), private)).policy
    builders = out.plan.builders if isinstance(out, Release) else builders_of(policy)
    read = ArrowEngine().read(source, read_options(policy, reading))
    original = original_of(read.table, read.name, policy, builders)
    asked = choose_queries(read, policy, queries, random, attributes=attributes, selectivity=selectivity, seed=seed)
    if file is not None:
        write_file(file, toml_of(asked))
    names = attributes_of(asked)
    if isinstance(out, Release):
        shown = generalised_from_columns(out.row_by_row, out.plan, names, original)
    else:
        assert manifest is not None
        shown = generalised_from_folder(Path(out), manifest, names, original)
    with _name_query_file(queries):
        return compare_answers(shown, original, asked, sanity=sanity)


def _refuse_both(queries: Any, random: int | None) -> None:
    if (queries is None) == (random is None):
        raise BadInput("give either a workload of queries or a number of random ones, not both and not neither")


def choose_queries(
    read: Source,
    policy: Policy,
    queries: PathLike | Iterable[Query | Mapping[str, Any]] | None,
    random: int | None,
    **how: Any,
) -> tuple[Query, ...]:
    """Return the queries of a file, those given, or random ones."""
    _refuse_both(queries, random)
    if random is not None:
        return random_queries(read.table, policy.quasi_identifiers, random, **how)
    return load_queries(queries) if isinstance(queries, str | os.PathLike) else queries_of(queries or ())


@contextmanager
def _name_query_file(queries: Any) -> Iterator[None]:
    """Prefix errors about a query with the name of the file of queries."""
    try:
        yield
    except BadInput as wrong:
        named = isinstance(queries, str | os.PathLike)
        raise BadInput(f"{Path(queries).name}: {wrong}" if named else str(wrong)) from None


def _new_file(path: PathLike, source: Path | None, *, force: bool) -> Path:
    """Return the path of a file that may be written: never the table, an existing file only when forced."""
    file = Path(path)
    refuse_irregular(file)
    if source is not None and file.exists() and source.exists() and file.samefile(source):
        raise BadInput(f"{file.name}: the queries would be written over the table; name another file")
    if file.exists() and not force:
        raise BadInput(f"{file.name}: there is such a file already; {REPLACE_IT} or name another")
    return file


def risk(
    source: SourceLike,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    *,
    weight: str | None = None,
    unit: str | None = None,
    population: SourceLike = None,
    population_size: int | None = None,
    threshold: float | Fraction | str = 0.2,
    preset: str | Sequence[str] = (),
    missing: str | Sequence[str] = ("",),
    options: ReadOptions | None = None,
    watch: Watch | None = None,
    **further: Any,
) -> Assessment:
    """Assess how easily people are found in a table, or in the folder of a release, which names its quasi-identifiers.

    Without quasi-identifiers it looks for identifiers and for combinations of columns that tell rows apart. Further
    keywords are the other fields of `RiskAsked`: `suda`, `suda_size`, `discover`, `identifiers` … Thresholds may be
    written as ratios, "1/3".

    >>> import pyarrow as pa
    >>> found = risk(pa.table({"age": [31, 31, 31, 52, 52, 60]}), quasi_identifiers="age", threshold=0.34)
    >>> found.document()["reidentification"]["prosecutor"]
    {'basis': 'the table', 'max': 1.0, 'average': 0.5, 'at_risk': 3, 'certain': 1}
    """
    quasi, secret, presets = (tuple(unique_names(given)) for given in (quasi_identifiers, sensitive, preset))
    about = RiskAsked(quasi, secret, weight, unit, population, population_size, threshold, presets, **further)
    how = _read_options_without_policy(missing, options)
    read, about, dropped = read_for_risk(source, how, about, read_into_memory)
    everybody = None if about.population is None else read_into_memory(about.population, how)
    return assess(read, about, everybody, watch or ignore_progress, dropped)


def lattice(
    source: SourceLike,
    policy: Policy | PathLike | Mapping[str, Any],
    *,
    picture: PathLike | None = None,
    csv: PathLike | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> LatticeTable:
    """List every node of the policy's lattice: whether it complies, what it costs, and whether another dominates it.

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
    files = ListFiles.choose(picture, csv, path_of(source), force=force)
    policy = policy_of(policy)
    search = _lattice_search(source, policy)
    table = list_nodes(search.lattice, search.oracle, policy, watch or ignore_progress)
    files.write(table.csv, lambda: LatticeGraph(table))
    return table


def compare(
    source: SourceLike,
    policy: Policy | PathLike | Mapping[str, Any],
    algorithms: str | Sequence[str] | None = None,
    *,
    target: str | None = None,
    learners: str | Sequence[str] | None = None,
    queries: PathLike | Iterable[Query | Mapping[str, Any]] | None = None,
    random: int | None = None,
    rows: int = 0,
    seed: int = 0,
    sanity: float = SANITY,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> AlgorithmComparison:
    """Run several algorithms, every kind unless named, on one table and policy; those that do not fit say why.

    Each may take as long as the policy's time limit says. Every measure is among the `figures` of a run; with
    `queries`, or so many `random` ones, the errors of their answers too, and with a `target` what `learn` would tell.
    So many `rows` of the table are shown as each would release them.

    >>> import pyarrow as pa
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> found = compare(pa.table({"age": [31, 38, 52, 59]}), policy, algorithms=["optimal", "datafly"])
    >>> [(run.algorithm, run.height, run.proved) for run in found.runs]
    [('optimal', 2, True), ('datafly', 2, False)]
    """
    chosen = known_algorithms(None if algorithms is None else unique_names(algorithms))
    policy, engine = load_policy(policy), ArrowEngine()
    with warn_once():
        read = read_with_population(source, policy, engine)
        further = [all_measures(read)]
        if queries is not None or random is not None:
            asked = choose_queries(read, policy, queries, random, seed=seed)
            further.append(workload_errors(read, engine, asked, sanity))
        if target is not None:
            lesson = set_lesson(read, policy, target, learners=None if learners is None else unique_names(learners))
            further.append(figures_of(read, engine, lesson, stop or never_stop))
        return compare_algorithms(
            read, policy, engine, chosen, watch or ignore_progress, stop or never_stop, further, rows
        )


class Sweep(ParameterSweep):
    """What each value of a parameter costs, and how that looks."""

    def plot(self, metric: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw a figure, the policy's metric unless named, against the parameter; return the axes."""
        return LossCurve.from_sweep(self, metric).plot(ax)


def sweep(
    source: SourceLike,
    policy: Policy | PathLike | Mapping[str, Any],
    *,
    over: str | None = None,
    picture: PathLike | None = None,
    csv: PathLike | None = None,
    force: bool = False,
    watch: Watch | None = None,
    stop: Stop | None = None,
    **parameter: Any,
) -> Sweep:
    """Measure what a policy costs at several values of one parameter, named here or in `over`; release nothing.

    A parameter is an option of [method], e.g. `suppression`, or of the models required, e.g. `k`; its values are given
    one by one or as a text, "2..50". In `over` it may be `attributes.age.max-level=0..3` or
    `release.suppressed=drop,show`, too. `picture` (an SVG or a PNG) and `csv` are files to write it to as well; what
    they tell of the table is private.

    >>> import pyarrow as pa
    >>> age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    >>> policy = Policy(attributes={"age": age}, require=[{"model": "k-anonymity", "k": 2}])
    >>> found = sweep(pa.table({"age": [31, 34, 38, 39, 52, 53, 57, 58]}), policy, k=[2, 4, 16])
    >>> [(run.value, run.feasible, run.classes) for run in found.runs]
    [(2, True, 4), (4, True, 2), (16, False, None)]
    >>> found.plot().get_ylabel()
    'loss'
    """
    name, values = _parse_parameter(over, parameter)
    files = ListFiles.choose(picture, csv, path_of(source), force=force)
    policy, engine = load_policy(policy), ArrowEngine()
    refuse_unknown(policy, name, values)
    with warn_once():
        read = read_with_population(source, policy, engine)
        found = Sweep(
            **vars(sweep_parameter(read, policy, engine, name, values, watch or ignore_progress, stop or never_stop))
        )
    files.write(found.csv, lambda: LossCurve.from_sweep(found))
    return found


def _parse_parameter(over: str | None, given: Mapping[str, Any]) -> tuple[str, tuple[Value, ...]]:
    """Return the one parameter that is named, and its values."""
    named = [(kebab(name), _values(values)) for name, values in given.items()]
    named += [] if over is None else [parameter_of(over)]
    if not named:
        raise BadInput("name one parameter and its values, e.g. k from 2 to 50")
    if len(named) > 1:
        raise BadInput(f"a sweep is over one parameter at a time, not {' and '.join(name for name, _ in named)}")
    return named[0]


def _values(given: Any) -> tuple[Value, ...]:
    """Return the values of a parameter, given as several, one, or a text such as 2..50 or optimal,local."""
    if isinstance(given, str):
        return values_of(given)
    return tuple(given) if isinstance(given, Iterable) else (given,)


def learn(
    source: SourceLike,
    policy: Policy | PathLike | Mapping[str, Any],
    target: str,
    *,
    learners: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    rows: int | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Learned:
    """Measure how well classifiers predict a column, trained on the original and on the release; needs `shoal[learn]`.

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
    asked, named = (None if given is None else unique_names(given) for given in (learners, features))
    with warn_once():
        read = read_with_population(source, policy, engine)
        lesson = set_lesson(read, policy, target, learners=asked, features=named, folds=folds, seed=seed, rows=rows)
        return learn_from(read, policy, engine, lesson, watch or ignore_progress, stop or never_stop)


def _lattice_search(source: SourceLike, policy: Policy) -> LatticeSearch:
    engine = ArrowEngine()
    policy = policy.with_algorithm("optimal") if policy.method.of_cells else policy
    problem = Problem.of(read_with_population(source, policy, engine), policy, engine)
    problem.refuse_infeasible()
    return LatticeSearch.of(problem)


def measure(
    source: SourceLike,
    quasi_identifiers: str | Sequence[str],
    sensitive: str | Sequence[str] = (),
    *,
    unit: str | None = None,
    missing: str | Sequence[str] = ("",),
    ignore_suppressed: bool = False,
    options: ReadOptions | None = None,
    graph: PathLike | None = None,
    force: bool = False,
    show_values: bool = False,
) -> TableMeasurement:
    """Measure what a table as it is attains of every model; no policy is needed.

    With a `unit`, persons are counted, not rows. `graph` is a file (.graphml, .svg, .png) for the graph of the
    sensitive values and the classes. `show_values` names what the members of the worst classes share.

    >>> import pyarrow as pa
    >>> found = measure(pa.table({"sex": ["f", "f", "m"]}), "sex")
    >>> found
    TableMeasurement(3 rows in 2 classes, k = 1)
    >>> found.models[0], dict(found.models[0].worst)
    (ModelMeasurement(k-anonymity: k = 1), {'size': 1, 'rows': (3,)})
    """
    file = None if graph is None else GraphFile.choose(graph, path_of(source), unique_names(sensitive), force=force)
    read = read_into_memory(source, _read_options_without_policy(missing, options))
    return measure_table(
        read,
        unique_names(quasi_identifiers),
        unique_names(sensitive),
        unit=unit,
        ignore_suppressed=ignore_suppressed,
        graph=None if file is None else lambda name, values: file.write(AlphaGraph.of(name, values)),
        show_values=show_values,
    )


def draft(
    source: SourceLike, k: int = 5, *, missing: str | Sequence[str] = ("",), options: ReadOptions | None = None
) -> PolicyDraft:
    """Draft a first policy for a table, as TOML with comments; it records how the table was read."""
    how = _read_options_without_policy(missing, options)
    keys = ("delimiter", "quote", "encoding", "decimal", "thousands", "sheet", "header_row")
    given = {key.replace("_", "-"): getattr(how, key) for key in keys if getattr(how, key) is not None}
    given["missing"] = how.missing
    read = replace(read_into_memory(source, how), given=given)
    marks = find_marks(read) if isinstance(source, str | os.PathLike) and Path(source).is_file() else []
    with warnings.catch_warnings(action="ignore", category=ShoalWarning):  # the same as when it was read first
        if marks:  # without them decimal commas are recognised
            how = replace(how, missing=(*how.missing, *marks))
            read = read_into_memory(source, how)
        if "thousands" in read.guessed and source != "-":  # the policy says it of every column: all are read that way
            how = replace(how, **{key: read.guessed.get(key, getattr(how, key)) for key in ("decimal", "thousands")})
            read = replace(read_into_memory(source, how), guessed=read.guessed)
    return draft_policy(replace(read, given=given), ArrowEngine(), k, marks)


def _read_options_without_policy(missing: str | Sequence[str], options: ReadOptions | None) -> ReadOptions:
    """Return the options for reading a table without a policy: what is not given is detected, even the encoding."""
    return replace(options or ReadOptions(missing=tuple(unique_names(missing))), guess_encoding=True)
