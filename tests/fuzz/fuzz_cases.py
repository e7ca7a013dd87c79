"""Random cases from one whole number: a table, a policy, an engine and the formats it is read from and written to.

Nothing here imports the package. Every pair of a model and an algorithm is drawn as often as any other; most cases make
sense, since only those reach the depths; a few do not.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fuzz_tables import (
    FLAVOURS,
    MARKS,
    NAMES,
    NUMERIC,
    PLAIN_NAMES,
    Cells,
    csv_bytes,
    encodes,
    type_of,
    write_apart,
    write_table,
)

QUASI = "quasi-identifier"
MARKED = ("", "NA", "?")
Table = dict[str, Any]
"""A table of a policy."""


@dataclass
class Case:
    """Everything that a run depends on; it can be written down and read again."""

    seed: int
    columns: dict[str, Cells]
    policy: Table
    engine: str = "arrow"
    format: str = "csv"
    source: str = "csv"
    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    line_end: str = "\n"
    before: int = 0
    """Lines in front of the header."""
    types: dict[str, str | None] = field(default_factory=dict)
    """In which type a Parquet or Arrow file stores a column; texts unless given."""
    parts: bool = False
    """Whether the input is a folder of two files."""
    partition_by: list[str] = field(default_factory=list)
    population: dict[str, Cells] | None = None
    files: dict[str, str] = field(default_factory=dict)
    """Files that the policy names, and what they hold."""

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def pair(self) -> tuple[str, str]:
        """The model that was drawn first, and the algorithm with what it suppresses."""
        method = self.policy["method"]
        return self.policy["require"][-1]["model"], method_name(method)

    def write(self, folder: Path) -> None:
        """Write the case as a folder that a person can read and a test can run."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "case.json").write_text(json.dumps(asdict(self), indent=1, ensure_ascii=True) + "\n", "ascii")

    @classmethod
    def read(cls, folder: Path) -> "Case":
        return cls(**json.loads((folder / "case.json").read_text("ascii")))

    def write_input(self, folder: Path) -> Path:
        """Write what a run is given into a folder, the policy as policy.toml; return the table."""
        import tomli_w

        marker = self.policy.get("data", {}).get("missing", [""])
        how = {**vars(self), "marker": marker[0] if marker else ""}
        del how["columns"]
        data = folder / f"people.{self.source}"
        write_table(self.columns, data, **how)
        if self.population is not None:
            (folder / "population.csv").write_bytes(csv_bytes(self.population, **how))
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8", newline="")
        (folder / "policy.toml").write_text(tomli_w.dumps(self.policy), "utf-8", newline="")
        return data


def method_name(method: Mapping[str, Any]) -> str:
    """The name of an algorithm, with what it suppresses where it serves several."""
    return " ".join([method["algorithm"], *([method["suppress"]] if "suppress" in method else [])])


SEARCHES = ("optimal", "datafly", "samarati", "incognito", "hybrid", "greedy")
BOXES = ("mondrian", "mondrian-relaxed", "mondrian-single", "mondrian-workload")
ALGORITHMS: tuple[Table, ...] = (
    *({"algorithm": name} for name in (*SEARCHES, *BOXES, "local", "microaggregation", "anatomy")),
    {"algorithm": "optimal", "suppress": "cell"},
    {"algorithm": "optimal", "suppress": "attribute"},
    {"algorithm": "datafly", "suppress": "attribute"},
    {"algorithm": "greedy", "suppress": "attribute"},
    {"algorithm": "greedy", "suppress": "none"},
    {"algorithm": "mondrian", "suppress": "cell"},
    {"algorithm": "mondrian-single", "suppress": "attribute"},
    {"algorithm": "local", "suppress": "cell"},
    {"algorithm": "suppress", "suppress": "tuple"},
    {"algorithm": "suppress", "suppress": "attribute"},
    {"algorithm": "suppress", "suppress": "cell"},
)
OF_THE_TABLE = ("average-risk", "sample-uniqueness", "population-uniqueness", "k-anonymity", "x-y-privacy")
WITH_POPULATION = ("k-map", "delta-presence")
OF_VALUES = (
    *("distinct-l-diversity", "entropy-l-diversity", "recursive-cl-diversity", "alpha-k", "p-sensitive"),
    *("p-plus-sensitive", "p-alpha-sensitive", "p-plus-alpha-sensitive", "l-alpha-diversity", "a-d-diversity"),
    *("alpha-beta-k", "alp-dif", "t-closeness", "beta-likeness", "delta-disclosure", "epsilon-m", "personalised"),
    "b-t-privacy",
)
MODELS = (*OF_THE_TABLE, *WITH_POPULATION, *OF_VALUES)
METRICS = (
    *("loss", "loss-geometric", "precision-loss", "discernibility", "average-class", "height", "alpha-max"),
    "alpha-spread",
)
PREFERENCES = (
    *("minimum-absolute-distance", "minimum-relative-distance", "maximum-distribution", "minimum-suppression"),
)


def serves(model: str, algorithm: str, suppress: str | None) -> bool:
    """Whether a release can come of a pair; the others are drawn rarely, to see them refused."""
    of_cells = algorithm not in (*SEARCHES, "suppress") or suppress == "cell"
    if model in WITH_POPULATION:
        return not of_cells
    return algorithm != "anatomy" or (model in OF_VALUES and model != "b-t-privacy")


PAIRS = [
    (model, method)
    for model in MODELS
    for method in ALGORITHMS
    if serves(model, method["algorithm"], method.get("suppress"))
]


def case_of(seed: int) -> Case:
    """Return the case of a number: always the same."""
    draw = Random(seed)
    model, method = draw.choice(PAIRS)
    if draw.random() < 0.01:
        model, method = draw.choice(MODELS), draw.choice(ALGORITHMS)
    algorithm = method["algorithm"]
    rows = draw.choice([0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 10, 12, 12, 12, 16, 16, 20, 20, 30, 40])
    roles = _roles(draw, model, algorithm)
    columns, flavours = {}, {}
    for name, role in roles.items():
        flavours[name] = _flavour(draw, role, model)
        columns[name] = _cells(draw, flavours[name], rows, role, algorithm)
    case = Case(seed, columns, {})
    data = _reading(draw, case, flavours)
    sensitive = [name for name, role in roles.items() if role == "sensitive"]
    attributes = {n: _attribute(draw, case, n, roles[n], flavours[n], algorithm) for n in roles}
    case.policy = {"attributes": attributes}
    case.policy["require"] = _require(draw, case, model, sensitive, algorithm)
    case.policy["method"] = _method(draw, case, method, sensitive)
    case.policy["release"] = _release(draw, algorithm)
    if draw.random() < 0.03:
        data["others"] = draw.choice(["insensitive", "drop"])
        _leave_out_a_column(draw, case, roles)
    if data:
        case.policy["data"] = data
    _draw_output(draw, case, roles, algorithm)
    return case


def _leave_out_a_column(draw: Random, case: Case, roles: dict[str, str]) -> None:
    """Leave a column that nothing else names out of the policy."""
    spare = [name for name, role in roles.items() if role in {"insensitive", "identifier"}]
    named = json.dumps(case.policy["require"])
    if spare and json.dumps(name := draw.choice(spare)) not in named:
        del case.policy["attributes"][name]


# columns


def _roles(draw: Random, model: str, algorithm: str) -> dict[str, str]:
    """One quasi-identifier at least; a sensitive attribute where the model asks for one; few of all else."""
    wide = draw.random() < 0.002
    quasi = draw.choice([8, 292]) if wide else draw.choice([1, 1, 2, 2, 2, 3, 3, 4])
    roles = [QUASI] * quasi
    if model in OF_VALUES or draw.random() < 0.6 or algorithm in {"anatomy", "mondrian-workload"}:
        roles.append("sensitive")
        if draw.random() < 0.1 and algorithm != "anatomy":
            roles.append("sensitive")
    if model in {"personalised", "x-y-privacy"} or draw.random() < 0.15:
        roles.append("identifier")
    if draw.random() < 0.15:
        roles.append("insensitive")
    if draw.random() < 0.12 and algorithm != "anatomy":
        roles.append("unit")
    if draw.random() < 0.06:
        roles.append("sampling-weight")
    if wide:
        roles += ["insensitive"] * (300 - len(roles))
    draw.shuffle(roles)
    return dict(zip(_names(draw, len(roles)), roles, strict=True))


def _names(draw: Random, count: int) -> list[str]:
    if count > len(NAMES):
        return [f"column {i}" for i in range(count)]
    plain = draw.random() < 0.5 and count <= len(PLAIN_NAMES)
    return draw.sample(PLAIN_NAMES if plain else NAMES, count)


def _flavour(draw: Random, role: str, model: str) -> str:
    if role == "sensitive" and draw.random() < 0.8:
        return draw.choice(["number", "number", "decimal"] if model == "epsilon-m" else ["few", "few", "word"])
    return draw.choice(list(FLAVOURS))


def _cells(draw: Random, flavour: str, rows: int, role: str, algorithm: str) -> Cells:
    """Values of a flavour: few different ones mostly, so that classes form; now and then some are missing."""
    kinds = max(1, draw.choice([1, 2, 3, 5, rows]))
    if role == "sensitive":
        kinds = max(kinds, 2)
    pool = [FLAVOURS[flavour](draw) for _ in range(kinds)]
    if role == "sampling-weight":
        pool = [draw.choice(["1", "2", "0.5", "3.25", "1e2"]) for _ in range(kinds)]
    if role in {"identifier", "unit"}:
        pool = [f"p{i}" for i in range(max(rows * draw.choice([1, 2]) // 2, 1))]
    holes = draw.choice([0, 0, 0, 0.1, 0.5, 1.0]) if role in {QUASI, "sensitive", "insensitive"} else 0
    if algorithm == "microaggregation" and role == QUASI and draw.random() < 0.9:
        holes = 0
    if role == "sensitive" and draw.random() < 0.7:
        holes = 0
    return [None if draw.random() < holes else draw.choice(pool) for _ in range(rows)]


# how the table is written and read


def _reading(draw: Random, case: Case, flavours: dict[str, str]) -> Table:
    """Draw how the input is written, and return what the policy must then say of it."""
    data: Table = {}
    case.source = draw.choice(["csv", "csv", "csv", "csv", "parquet", "parquet", "arrow"])
    if draw.random() < 0.25:
        data["missing"] = draw.sample(MARKED, draw.randint(1, 2)) if draw.random() < 0.95 else []
    if draw.random() < 0.04:
        data["normalise"] = True
    if "comma" in flavours.values() or draw.random() < 0.02:
        data["decimal"] = draw.choice([",", ",", ",", "."])
        if draw.random() < 0.2:
            del data["decimal"]
    _write_thousands_apart(draw, case, flavours, data)
    if case.source != "csv":
        case.types = {name: type_of(draw, flavour) for name, flavour in flavours.items() if draw.random() < 0.7}
        case.parts = case.source == "parquet" and draw.random() < 0.1
        return data
    if draw.random() < 0.3:
        case.delimiter = data["delimiter"] = draw.choice([";", "\t", "|", ";", " ", ":", "~", "^"])
    if draw.random() < 0.1:
        case.quote = data["quote"] = "'"
    elif any(text is not None and "'" in text for text in _texts(case)):
        data["quote"] = '"'  # else it is guessed from what cells begin with
    case.line_end = draw.choice(["\n", "\n", "\n", "\r\n", "\r"])
    if draw.random() < 0.04:
        case.before = draw.randint(1, 3)
        data["header-row"] = case.before + 1
    _encode(draw, case, data)
    return data


def _write_thousands_apart(draw: Random, case: Case, flavours: dict[str, str], data: Table) -> None:
    """Write some columns with marks between thousands, which the policy mostly names; now and then it names others."""
    thousands, decimal = draw.choice(MARKS)
    apart = [name for name, flavour in flavours.items() if flavour == "apart"]
    for name in apart:
        case.columns[name] = write_apart(case.columns[name], thousands, decimal)
    if draw.random() < (0.7 if apart else 0.02):
        named = {"\u00a0": " ", "\u202f": " ", "’": "'"}.get(thousands, thousands)
        data["thousands"] = named if draw.random() < 0.9 else draw.choice(". ',")
    if apart and draw.random() < 0.5:
        data["decimal"] = decimal


def _texts(case: Case) -> Cells:
    """Names and cells of the table."""
    return [*case.columns, *(cell for cells in case.columns.values() for cell in cells)]


_MARKED_BY_THEMSELVES = ("utf-8-sig", "utf-16", "utf-32")
_TO_BE_NAMED = (
    *(
        "utf-16-le",
        "utf-16-be",
        "utf-32-be",
        "utf-7",
        "latin-1",
        "cp1252",
        "cp1251",
        "cp437",
        "iso8859-15",
        "shift_jis",
    ),
    *("gb18030", "koi8-r", "mac-roman", "big5", "utf-8"),
)


def _encode(draw: Random, case: Case, data: Table) -> None:
    if draw.random() > 0.25:
        return
    drawn = draw.choice([*_MARKED_BY_THEMSELVES * 2, *_TO_BE_NAMED])
    if encodes(_texts(case), drawn) and encodes([case.delimiter, case.quote, case.line_end], drawn):
        case.encoding = drawn
        if drawn in _TO_BE_NAMED:
            data["encoding"] = drawn


def _draw_output(draw: Random, case: Case, roles: dict[str, str], algorithm: str) -> None:
    """Draw the engine and the format of the release."""
    if algorithm in {*SEARCHES, "suppress", "mondrian"} and draw.random() < 0.2:
        case.engine = "duckdb"
    case.format = draw.choice(["csv", "csv", "parquet"])
    quasi = [name for name, role in roles.items() if role == QUASI]
    if draw.random() < 0.04:
        case.format, case.partition_by = "parquet", draw.sample(quasi, min(len(quasi), draw.choice([1, 1, 2])))


# attributes


def _attribute(draw: Random, case: Case, name: str, role: str, flavour: str, algorithm: str) -> Table:
    attribute: Table = {"role": role}
    values = sorted({cell for cell in case.columns[name] if cell is not None})
    if role == "insensitive":
        attribute["confirm"] = True
    if role == "sensitive" and draw.random() < 0.1:
        attribute["order"] = draw.sample(values, len(values))
    if flavour in NUMERIC and draw.random() < {"insensitive": 0.3, "sensitive": 0.05}.get(role, 0):
        attribute["round"] = draw.choice([1, 5, 1000, 0.5, 0.01])
    if role != QUASI:
        return attribute
    if algorithm in BOXES or algorithm == "microaggregation":
        attribute |= _shape(draw, flavour, values, algorithm)
    elif draw.random() < (0.1 if algorithm in {"suppress", "anatomy"} else 0.87):
        attribute["hierarchy"] = _hierarchy(draw, case, name, flavour, values)
    if draw.random() < 0.1:
        attribute["importance"] = draw.choice([0, 0.25, 1])
    if algorithm in SEARCHES and draw.random() < 0.1:
        low = draw.randint(0, 1)
        attribute |= {"max-level": low + draw.randint(0, 2), **({"min-level": low} if low else {})}
    return attribute


_OF_ANYTHING = (["range"], ["median"], ["mode"], ["range", "median"], ["mode", "range"], ["median", "mode"])
_OF_NUMBERS = (
    ["bounds"],
    ["mean"],
    ["range", "mean"],
    ["bounds", "mode"],
    ["range", "bounds", "mean", "median", "mode"],
)


def _shape(draw: Random, flavour: str, values: list[str], algorithm: str) -> Table:
    """What boxes and clusters show, and the order or hierarchy that they follow."""
    shape: Table = {}
    clusters = algorithm == "microaggregation"
    if draw.random() < 0.55:
        forms = _OF_ANYTHING + 2 * _OF_NUMBERS if flavour in NUMERIC or draw.random() < 0.03 else _OF_ANYTHING
        shape["form"] = draw.choice(forms)
        if clusters and draw.random() < 0.97:
            shape["form"] = [form for form in shape["form"] if form not in {"range", "bounds"}] or ["mode"]
    in_order = flavour in (*NUMERIC, "day", "moment")
    if draw.random() < (0.9 if clusters and not in_order else 0.12):
        shape["order"] = draw.sample(values, len(values))
    elif draw.random() < 0.2 and not clusters:
        half = max(len(values) // 2, 1)
        shape["hierarchy"] = draw.choice([{"flat": True}, {"mask": "right"}, _tree(values, half)])
    return shape


def _tree(values: list[str], half: int) -> Table:
    return {"tree": {"any": {"low": values[:half] or ["x"], "high": values[half:] or ["y"]}}}


def _hierarchy(draw: Random, case: Case, name: str, flavour: str, values: list[str]) -> Table:
    """A form that fits the flavour, mostly; each form occurs."""
    rows = [[value, value[:1] or "empty", "*"] for value in values] or [["x", "*"]]
    numbers: list[Table] = [
        {"intervals": [5, 10, 50]},
        {"intervals": [2], "bottom": 0, "top": 40},
        {"intervals": [0.5, 2.5]},
        {"edges": [[0, 10, 20], [10]]},
        {"edges": [[-2.5, 0.1]]},
        {"top": 30},
        {"bottom": 3},
        {"bottom": 3, "top": 20},
        {"hipaa": "age"},
    ]
    days: list[Table] = [
        {"dates": ["month", "quarter", "year", "decade"]},
        {"dates": ["year", "5 years", "decade", "20 years"]},
        {"dates": ["day", "year", "century"]},
        {"dates": ["year"]},
    ]
    fitting: dict[str, list[Table]] = {
        **dict.fromkeys(NUMERIC, numbers),
        "day": days,
        "moment": days,
        "foreign day": [{"dates": ["month", "year"], "format": "%d/%m/%Y"}],
        "code": [{"hipaa": "zip3"}, {"mask": "right", "length": 5}],
    }
    always: list[Table] = [
        {"flat": True},
        {"mask": draw.choice(["left", "right"])},
        {"mask": "right", "char": draw.choice("#x█")},
        {"rows": rows},
        {"csv": f"hierarchy-{list(case.columns).index(name)}.csv"},
        _tree(values, max(len(values) // 2, 1)),
    ]
    chosen = draw.choice(always + 2 * fitting.get(flavour, []) if draw.random() < 0.97 else numbers + days)
    if "csv" in chosen:
        case.files[chosen["csv"]] = csv_bytes(dict(enumerate(zip(*rows, strict=True))), delimiter=";").decode()  # type: ignore[arg-type]
        case.files[chosen["csv"]] = case.files[chosen["csv"]].partition("\n")[2]  # it has no header
    return chosen


# method and release


def _method(draw: Random, case: Case, drawn: Table, sensitive: list[str]) -> Table:
    method, algorithm = dict(drawn), drawn["algorithm"]
    if algorithm in SEARCHES and "suppress" not in drawn:
        if draw.random() < 0.75:
            method["suppression"] = draw.choice([0.02, 0.1, 0.3, 0.5, 1.0, "k"])
        if draw.random() < 0.2:
            method["metric"] = draw.choice(METRICS)
    if algorithm in {"samarati", "incognito", "hybrid"} and draw.random() < 0.3:
        method["preference"] = draw.choice(PREFERENCES)
    if algorithm == "incognito" and draw.random() < 0.2:
        method["minimal"] = True
    if algorithm == "greedy" and draw.random() < 0.2:
        method["weighting"] = "paper"
    if algorithm == "mondrian-workload":
        method |= _workload(draw, case, sensitive)
    return method | _common_options(draw, method)


def _common_options(draw: Random, method: Table) -> Table:
    """Options that every algorithm reads: random ties, a random margin, a limit of time."""
    method = dict(method)
    if draw.random() < 0.1:
        method |= {"seed": draw.randint(1, 9), "ties": "random"}
    if draw.random() < 0.05 and method.get("suppression") != "k":
        method |= {"seed": 5, "margin": draw.randint(1, 2)}
    if draw.random() < 0.02:
        method["time-limit"] = 0.2
    return method


def _workload(draw: Random, case: Case, sensitive: list[str]) -> Table:
    """A column to predict, or a file of queries."""
    if draw.random() < 0.6:
        return {"target": sensitive}
    import tomli_w

    quasi = [name for name, about in case.policy["attributes"].items() if about["role"] == QUASI]
    queries = []
    for name in draw.sample(quasi, min(2, len(quasi))):
        cells = [cell for cell in case.columns[name] if cell is not None] or ["x"]
        queries.append({"count": True, "where": {name: {"in": sorted({draw.choice(cells), draw.choice(cells)})}}})
    case.files["queries.toml"] = tomli_w.dumps({"query": queries})
    return {"workload": "queries.toml"}


def _release(draw: Random, algorithm: str) -> Table:
    release: Table = {}
    if algorithm in BOXES and draw.random() < 0.35:
        release["ranges"] = "observed"
    if draw.random() < 0.3:
        release["suppressed"] = "show"
    if draw.random() < 0.8:
        release["means"] = "any"
    if draw.random() < 0.6:
        release["spreadsheet-safe"] = False
    if draw.random() < 0.05:
        release["order"] = "keep"
    return release


# promises


def _require(draw: Random, case: Case, model: str, sensitive: list[str], algorithm: str) -> list[Table]:
    """The model that was drawn, last; before it often k-anonymity, and now and then another one."""
    require: list[Table] = []
    if draw.random() < 0.6 and algorithm != "anatomy":
        require.append({"model": "k-anonymity", "k": draw.choice([1, 2, 2, 3, 5])})
    if draw.random() < 0.12:
        second = draw.choice(
            [name for name in MODELS if serves(name, algorithm, None) and (sensitive or name not in OF_VALUES)]
        )
        require.append(_model(draw, case, second, sensitive))
    return [*require, _model(draw, case, model, sensitive)]


def _model(draw: Random, case: Case, name: str, sensitive: list[str]) -> Table:
    """A model with parameters of which a small table keeps most."""
    if name in OF_VALUES and sensitive:
        attribute = draw.choice(sensitive)
        parameters = _value_parameters(draw, case, name, attribute)
        left_out = draw.random() < 0.05 and name != "personalised"
        return {"model": name, **parameters, **({} if left_out else {"attribute": attribute})}
    return {"model": name, **_table_parameters(draw, case, name)}


def _table_parameters(draw: Random, case: Case, name: str) -> Table:
    roles = {column: about["role"] for column, about in case.policy["attributes"].items()}
    share = draw.choice([0.2, 0.5, 0.75, 0.9, 1])
    quasi = [column for column, role in roles.items() if role == QUASI]
    if name in WITH_POPULATION:
        more = draw.choice([1, 2])
        case.population = {column: case.columns[column] * more for column in quasi}
    if name == "x-y-privacy":
        others = [column for column, role in roles.items() if role not in {QUASI, "unit"}]
        linked: Table = {"y": draw.sample(others, min(len(others), draw.choice([1, 1, 2]))), "k": draw.choice([1, 2])}
        linked |= {"h": share} if draw.random() < 0.4 else {}
        return linked | ({"x": draw.sample(quasi, 1)} if draw.random() < 0.2 else {})
    return {
        "k-anonymity": lambda: {"k": draw.choice([1, 2, 2, 3, 5])},
        "average-risk": lambda: {"max": share},
        "sample-uniqueness": lambda: {"max": draw.choice([0, 0.1, 0.5])},
        "population-uniqueness": lambda: {
            "max": share,
            "population-size": draw.choice([100, 10_000]),
            "estimator": draw.choice(["dankar", "zayatz", "pitman", "snb"]),
        },
        "k-map": lambda: {"k": draw.choice([1, 2, 3]), "population": "population.csv"},
        "delta-presence": lambda: {
            "min": draw.choice([0, 0, 0.1]),
            "max": share,
            "population": "population.csv",
        },
    }.get(name, dict)()


def _value_parameters(draw: Random, case: Case, name: str, attribute: str) -> Table:
    values = sorted({cell for cell in case.columns[attribute] if cell is not None})
    share = draw.choice([0.5, 0.75, 0.9, 1, 1])
    half = max(len(values) // 2, 1)
    if len(values) > 1 and draw.random() < 0.95:
        categories = [values[:half], values[half:]]
    else:
        categories = [values or ["x"], ["another"]]
    null = {"null-is-value": True} if draw.random() < 0.15 else {}
    reference = {"reference": "release"} if draw.random() < 0.3 else {}
    over = {"over": "values"} if draw.random() < 0.2 else {}
    some = dict.fromkeys(values[:2] or ["x"], share)
    if name in {"personalised", "t-closeness"} or draw.random() < 0.15:
        tree = {"tree": {"any": {"first": values[:half] or ["x"], "second": values[half:] or ["none"]}}}
        case.policy["attributes"][attribute]["hierarchy"] = tree
    if name == "personalised":
        return _guarded(draw, case, values) | null
    others = {}
    sensitive = [column for column, about in case.policy["attributes"].items() if about["role"] == "sensitive"]
    if len(sensitive) > 1 and draw.random() < 0.4:
        others = {"others": [column for column in sensitive if column != attribute]}
    return {
        "distinct-l-diversity": lambda: {"l": draw.choice([1, 2, 2, 3]), **null, **others},
        "entropy-l-diversity": lambda: {"l": draw.choice([1, 1.2, 1.5, 2]), **null, **others},
        "recursive-cl-diversity": lambda: {"l": draw.choice([1, 2, 2, 3]), "c": draw.choice([1, 3, 0.5, 10]), **null},
        "alpha-k": lambda: {"alpha": draw.choice([share, some]), "k": draw.choice([1, 2]), **null},
        "p-sensitive": lambda: {"p": draw.choice([1, 2]), **null},
        "p-plus-sensitive": lambda: {"p": draw.choice([1, 2]), "categories": categories},
        "p-alpha-sensitive": lambda: {"p": 1, "alpha": share, "categories": categories, **over},
        "p-plus-alpha-sensitive": lambda: {"p": 1, "alpha": share, "categories": categories, **over},
        "l-alpha-diversity": lambda: {"l": 1, "alpha": share, "categories": categories, **over},
        "a-d-diversity": lambda: {"a": share, "d": draw.choice([1, 2]), "categories": categories, "experimental": True},
        "alpha-beta-k": lambda: {"alpha": 1, "beta": 2, "k": 2, "categories": categories, "experimental": True},
        "alp-dif": lambda: draw.choice([{"alp": some, "dif": some}, {"alp": share}, {"dif": share}]) | null,
        "t-closeness": lambda: {"t": draw.choice([0.1, 0.3, share]), **_distance(draw), **reference, **null},
        "beta-likeness": lambda: {
            "beta": draw.choice([0.5, 1, 2, 4]),
            **({"form": "enhanced"} if draw.random() < 0.3 else {}),
            **reference,
            **null,
        },
        "delta-disclosure": lambda: {
            "delta": draw.choice([0.5, 1, 3]),
            **({"absent": "skip"} if draw.random() < 0.8 else {}),
            **({"log": 2} if draw.random() < 0.3 else {}),
            **reference,
            **null,
        },
        "epsilon-m": lambda: {
            "epsilon": draw.choice([0, 0.5, 1]),
            "m": draw.choice([1, 2, 2]),
            **({"relative": True} if draw.random() < 0.3 else {}),
        },
        "b-t-privacy": lambda: {"b": draw.choice([0.3, 1]), "t": draw.choice([0.1, share]), **null},
    }[name]()


def _distance(draw: Random) -> Table:
    return draw.choice([{}, {"distance": "equal"}, {"distance": "ordered"}, {"distance": "hierarchical"}])


def _guarded(draw: Random, case: Case, values: list[str]) -> Table:
    """Let some column that is not released name what each person guards: labels of the tree of the attribute."""
    hidden = [column for column, about in case.policy["attributes"].items() if about["role"] == "identifier"]
    if not hidden:
        return {"guard": "x", "max": 0.9}
    labels = ["first", "second", *values[:2], *([] if draw.random() < 0.9 else ["any"]), None, None]
    case.columns[hidden[0]] = [draw.choice(labels) for _ in range(case.rows)]
    return {"guard": hidden[0], "max": draw.choice([0.5, 0.9, 1, 1, 1])}
