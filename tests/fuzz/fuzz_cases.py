"""Random cases from one whole number: a table, a policy, an engine and the formats it is read from and written to.

Nothing here imports the package. Most cases make sense, since only those reach the depths; a few do not.
"""

import csv
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Cells = list[str | None]
QUASI = "quasi-identifier"
NAMES = (
    *(
        "age",
        "zip",
        "job",
        "city",
        "born",
        "pay",
        "ill",
        "sex",
        "a b",
        "Straße",
        "名前",
        "עיר",
        "🙂",
        "a\tb",
        "it's",
        'q"q',
    ),
    *("*", "=1+1", "<b>x</b>", "../up", "x" * 300, "SELECT", "class", "count", "n", "rowid", "c0", "v0", "None", "nan"),
    *(
        "{{ x }}",
        "%s",
        "a;b",
        "a,b",
        "Age",
        "AGE",
        "file",
        "range",
        "age min",
        "null",
        "\x1b[31m",
        "-",
        "0",
        "é",
        "e\u0301",
    ),
)
"""Names of columns, plain ones first."""
MARKED = ("", "NA", "?")


@dataclass
class Case:
    """Everything that a run depends on; it can be written down and read again."""

    seed: int
    columns: dict[str, Cells]
    policy: dict[str, Any]
    engine: str = "arrow"
    format: str = "csv"
    source: str = "csv"
    encoding: str = "utf-8"
    delimiter: str = ","
    partition_by: list[str] = field(default_factory=list)
    population: dict[str, Cells] | None = None

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def write(self, folder: Path) -> None:
        """Write the case as a folder that a person can read and a test can run."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "case.json").write_text(json.dumps(asdict(self), indent=1, ensure_ascii=True) + "\n", "ascii")

    @classmethod
    def read(cls, folder: Path) -> "Case":
        return cls(**json.loads((folder / "case.json").read_text("ascii")))


def write_table(columns: dict[str, Cells], path: Path, case: Case) -> None:
    """Write a table as the case wants it; in a CSV the first marker stands for a null."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()}), path)
        return
    marker = case.policy.get("data", {}).get("missing", [""])[0]
    with path.open("w", encoding=case.encoding, newline="") as file:
        writer = csv.writer(file, delimiter=case.delimiter)
        writer.writerow(columns)
        cells = [[marker if cell is None else cell for cell in column] for column in columns.values()]
        writer.writerows(zip(*cells, strict=True))


def case_of(seed: int) -> Case:
    """Return the case of a number: always the same."""
    draw = Random(seed)
    rows = draw.choice([0, 1, 2, 3, 4, 6, 8, 9, 12, 12, 16, 20, 20, 30, 40, 60])
    wide = draw.random() < 0.004
    names = _names(draw, 300 if wide else draw.randint(2, 6))
    method = _method(draw)
    roles = _roles(draw, names, method["algorithm"])
    columns, flavours = {}, {}
    for name in names:
        often = [] if roles[name] == QUASI else ["few"] * 3
        flavours[name] = draw.choice([*FLAVOURS, *often])
        columns[name] = _cells(draw, flavours[name], rows, roles[name])
    out_of_core = method["algorithm"] in SEARCHES | {"mondrian"} and draw.random() < 0.3
    case = Case(seed, columns, {}, "duckdb" if out_of_core else "arrow", draw.choice(["csv", "csv", "parquet"]))
    case.source = draw.choice(["csv", "csv", "csv", "parquet"])
    data: dict[str, Any] = {"missing": draw.sample(MARKED, draw.randint(1, 2))} if draw.random() < 0.3 else {}
    if case.source == "csv" and draw.random() < 0.2:
        case.encoding = draw.choice(["utf-8-sig", "utf-16"])
    if case.source == "csv" and draw.random() < 0.3:
        case.delimiter = draw.choice([";", "\t", "|"])
        data["delimiter"] = case.delimiter
    sensitive = [name for name in names if roles[name] == "sensitive"]
    case.policy = {
        "attributes": {n: _attribute(draw, roles[n], flavours[n], columns[n], method["algorithm"]) for n in names},
        "require": _require(draw, case, roles, sensitive, method["algorithm"]),
        "method": {**method, **({"target": sensitive[:1]} if method["algorithm"] == "mondrian-workload" else {})},
        "release": _release(draw, method["algorithm"]),
    }
    if data:
        case.policy["data"] = data
    quasi = [name for name in names if roles[name] == QUASI]
    if quasi and draw.random() < 0.05:
        case.format, case.partition_by = "parquet", draw.sample(quasi, 1)
    return case


def _names(draw: Random, count: int) -> list[str]:
    if count > len(NAMES):
        return [f"column {i}" for i in range(count)]
    plain = draw.random() < 0.5
    return draw.sample(NAMES[:8] if plain else NAMES, count)


def _roles(draw: Random, names: list[str], algorithm: str) -> dict[str, str]:
    """One quasi-identifier at least; mostly one sensitive attribute; at most one unit and one weight."""
    roles = dict.fromkeys(names, QUASI)
    others = names[draw.randint(1, len(names) - (draw.random() < 0.9)) :] if len(names) < 20 else names[8:]
    extra = ["identifier", "insensitive", *(["unit"] if draw.random() < 0.3 else []), "sampling-weight"]
    for at, name in enumerate(others):
        roles[name] = (
            "sensitive" if at == 0 or (draw.random() < 0.25 and algorithm != "anatomy") else draw.choice(extra)
        )
        if roles[name] in {"unit", "sampling-weight"}:
            extra.remove(roles[name])
    return roles


ALGORITHMS: tuple[dict[str, Any], ...] = (
    *({"algorithm": name} for name in ("optimal", "datafly", "samarati", "incognito", "hybrid", "greedy")),
    *({"algorithm": name} for name in ("mondrian", "mondrian-relaxed", "mondrian-single", "mondrian-workload")),
    *({"algorithm": name} for name in ("local", "microaggregation", "anatomy")),
    {"algorithm": "optimal", "suppress": "cell"},
    {"algorithm": "optimal", "suppress": "attribute"},
    {"algorithm": "greedy", "suppress": "none"},
    {"algorithm": "suppress", "suppress": "tuple"},
    {"algorithm": "suppress", "suppress": "attribute"},
    {"algorithm": "suppress", "suppress": "cell"},
)
SEARCHES = {"optimal", "datafly", "samarati", "incognito", "hybrid", "greedy"}
METRICS = ("loss", "loss-geometric", "precision-loss", "discernibility", "average-class", "height", "alpha-max")


def _method(draw: Random) -> dict[str, Any]:
    method = dict(draw.choice(ALGORITHMS))
    if method["algorithm"] in SEARCHES and method.get("suppress", "tuple") == "tuple" and draw.random() < 0.7:
        method["suppression"] = draw.choice([0.02, 0.1, 0.3, 1.0, 0.5, "k"])
    if method == {"algorithm": "optimal", **method} and draw.random() < 0.2 and "suppress" not in method:
        method["metric"] = draw.choice(METRICS)
    if draw.random() < 0.1:
        method |= {"seed": draw.randint(1, 9), "ties": "random"}
    if draw.random() < 0.05 and method.get("suppression") != "k":
        method |= {"seed": 5, "margin": draw.randint(1, 2)}
    return method


def _release(draw: Random, algorithm: str) -> dict[str, Any]:
    release: dict[str, Any] = {}
    if algorithm.startswith("mondrian") and draw.random() < 0.3:
        release["ranges"] = "observed"
    if draw.random() < 0.3:
        release["suppressed"] = "show"
    if draw.random() < 0.5:
        release["means"] = "any"
    if draw.random() < 0.5:
        release["spreadsheet-safe"] = False
    return release


def _cells(draw: Random, flavour: str, rows: int, role: str) -> Cells:
    """Values of a flavour: few different ones mostly, so that classes form; now and then some are missing."""
    kinds = max(1, draw.choice([1, 2, 3, 5, rows]))
    pool = [FLAVOURS[flavour](draw) for _ in range(kinds)]
    if role == "sampling-weight":
        pool = [str(draw.randint(1, 5)) for _ in range(kinds)]
    if role in {"identifier", "unit"}:
        pool = [f"p{i}" for i in range(max(rows * draw.choice([1, 2]) // 2, 1))]
    holes = draw.choice([0, 0, 0, 0.1, 0.9]) if role in {QUASI, "sensitive", "insensitive"} else 0
    return [None if draw.random() < holes else draw.choice(pool) for _ in range(rows)]


_ODD = (
    *(
        "",
        " ",
        " x",
        "x ",
        "*",
        "NA",
        "null",
        "None",
        "nan",
        "inf",
        "-inf",
        "-0",
        "007",
        "1e5",
        "1_000",
        "½",
        "[1, 2]",
        "<5",
    ),
    *(
        "{1 | 2}",
        '"7"',
        "≥3",
        "a, b",
        "a;b",
        "line\nbreak",
        "=cmd()",
        "+1",
        "@x",
        "-x",
        "＝1",
        "<script>",
        "\ufeffx",
        "it's",
    ),
    *(
        "🙂",
        "שלום",
        "e\u0301",
        "é",
        "\u00a05",
        "true",
        "5",
        "5.0",
        "05",
        "x" * 400,
        "2020-02-30",
        "a\x00b",
        "\x1b[0m",
        "'5",
    ),
)


def _decimal(draw: Random) -> str:
    return f"{draw.uniform(-9, 9):.{draw.randint(0, 3)}f}" + draw.choice(["", "", "", "0"])


def _day(draw: Random) -> str:
    years = [1, 1900, 9999] if draw.random() < 0.03 else [1999, 2020, 2024]
    return f"{draw.choice(years):04}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"


FLAVOURS: dict[str, Callable[[Random], str]] = {
    "number": lambda draw: str(draw.randint(-5, 60)),
    "decimal": _decimal,
    "huge": lambda draw: str(draw.choice([2**53, 2**63, 10**30, 10**400, 1, 0]) + draw.randint(-2, 2)),
    "day": _day,
    "word": lambda draw: draw.choice(["anna", "bert", "carl", "dora", "emil", "fred"]),
    "code": lambda draw: f"{draw.randint(0, 99):05}",
    "odd": lambda draw: draw.choice(_ODD),
    "few": lambda draw: draw.choice(["flu", "hiv", "cold", "ulcer"]),
}
"""Sorts of values: each draws one."""


def _attribute(draw: Random, role: str, flavour: str, cells: Cells, algorithm: str) -> dict[str, Any]:
    attribute: dict[str, Any] = {"role": role}
    values = sorted({cell for cell in cells if cell is not None})
    if role == "insensitive":
        attribute["confirm"] = True
    if role == "sensitive" and values and draw.random() < 0.5:
        half = max(len(values) // 2, 1)
        attribute["hierarchy"] = {"tree": {"any": {"first": values[:half], "second": values[half:] or ["none"]}}}
    if role == "sensitive" and draw.random() < 0.1:
        attribute["order"] = draw.sample(values, len(values))
    if role != QUASI:
        return attribute
    shaped = algorithm.startswith(("mondrian", "micro"))
    if shaped and draw.random() < 0.4:
        attribute["form"] = draw.choice([["range"], ["bounds"], ["mean"], ["median"], ["mode"], ["range", "mean"]])
    if shaped and draw.random() < 0.1:
        attribute["order"] = draw.sample(values, len(values))
    elif algorithm != "suppress" and draw.random() < (0.2 if shaped else 0.75):
        attribute["hierarchy"] = _hierarchy(draw, flavour, values)
    if draw.random() < 0.1:
        attribute["importance"] = draw.choice([0, 0.25, 1])
    if algorithm in SEARCHES and draw.random() < 0.1:
        attribute["max-level"] = draw.randint(0, 2)
    return attribute


def _hierarchy(draw: Random, flavour: str, values: list[str]) -> dict[str, Any]:
    """A form that fits the flavour, mostly; each form occurs."""
    rows = [[value, value[:1] or "empty", "*"] for value in values] or [["x", "*"]]
    half = max(len(values) // 2, 1)
    always: list[dict[str, Any]] = [
        {"flat": True},
        {"mask": draw.choice(["left", "right"])},
        {"rows": rows},
        {"tree": {"any": {"low": values[:half] or ["x"], "high": values[half:] or ["y"]}}},
    ]
    numbers: list[dict[str, Any]] = [
        {"intervals": [5, 10, 50]},
        {"intervals": [2], "bottom": 0, "top": 40},
        {"edges": [[0, 10, 20], [10]]},
        {"top": 30},
        {"bottom": 3, "top": 20},
        {"hipaa": "age"},
    ]
    days: list[dict[str, Any]] = [{"dates": ["month", "year", "decade"]}, {"dates": ["year"]}]
    fitting = {"number": numbers, "decimal": numbers, "huge": numbers, "day": days, "code": [{"hipaa": "zip3"}]}
    return draw.choice(always + 2 * fitting.get(flavour, [])) if draw.random() < 0.97 else draw.choice(numbers + days)


def _require(
    draw: Random, case: Case, roles: dict[str, str], sensitive: list[str], algorithm: str
) -> list[dict[str, Any]]:
    require: list[dict[str, Any]] = [{"model": "k-anonymity", "k": draw.choice([1, 2, 2, 3, 5])}]
    require += [_model(draw, case, roles, sensitive) for _ in range(draw.choice([0, 1, 1, 1, 2]))]
    if algorithm == "anatomy" and sensitive and draw.random() < 0.9:
        about = [model for model in require if "attribute" in model]
        return about or [{"model": "distinct-l-diversity", "l": 2, "attribute": sensitive[0]}]
    if len(require) > 1 and draw.random() < 0.3:
        del require[0]
    return require


def _model(draw: Random, case: Case, roles: dict[str, str], sensitive: list[str]) -> dict[str, Any]:
    attribute = draw.choice(sensitive) if sensitive else None
    values = sorted({cell for cell in case.columns.get(attribute or "", []) if cell is not None})
    hidden = [name for name, role in roles.items() if role == "identifier"]
    share = draw.choice([0.2, 0.5, 0.75, 0.9, 1])
    half = max(len(values) // 2, 1)
    categories = [values[:half], values[half:]] if len(values) > 1 else [values or ["x"]]
    whole: list[dict[str, Any]] = [
        {"model": "average-risk", "max": share},
        {"model": "sample-uniqueness", "max": share},
        {"model": "population-uniqueness", "max": share, "population-size": 10_000},
        {"model": "k-map", "k": 2, "population": "population.csv"},
        {"model": "delta-presence", "min": 0, "max": share, "population": "population.csv"},
        {"model": "x-y-privacy", "y": [draw.choice(hidden or list(roles))], "k": 2},
    ]
    about: list[dict[str, Any]] = [
        {"model": "distinct-l-diversity", "l": draw.choice([1, 2, 3])},
        {"model": "entropy-l-diversity", "l": draw.choice([1, 1.5, 2])},
        {"model": "recursive-cl-diversity", "l": 2, "c": draw.choice([1, 3, 0.5])},
        {"model": "alpha-k", "alpha": share, "k": 2},
        {"model": "alpha-k", "alpha": dict.fromkeys(values[:2] or ["x"], share), "k": 2},
        {"model": "p-sensitive", "p": 2},
        {"model": "p-plus-sensitive", "p": 2, "categories": categories},
        {"model": "p-alpha-sensitive", "p": 1, "alpha": share, "categories": categories},
        {"model": "p-plus-alpha-sensitive", "p": 1, "alpha": share, "categories": categories},
        {"model": "l-alpha-diversity", "l": 1, "alpha": share, "categories": categories},
        {"model": "a-d-diversity", "a": share, "d": 1, "categories": categories, "experimental": True},
        {"model": "alpha-beta-k", "alpha": 1, "beta": 2, "k": 2, "categories": categories, "experimental": True},
        {
            "model": "alp-dif",
            "alp": dict.fromkeys(values[:1] or ["x"], share),
            "dif": dict.fromkeys(values[:1] or ["x"], share),
        },
        {"model": "t-closeness", "t": share},
        {"model": "t-closeness", "t": share, "reference": "release"},
        {"model": "t-closeness", "t": share, "distance": draw.choice(["ordered", "hierarchical"])},
        {"model": "beta-likeness", "beta": draw.choice([0.5, 1, 4])},
        {"model": "beta-likeness", "beta": 2, "reference": "release"},
        {"model": "beta-likeness", "beta": 2, "form": "enhanced"},
        {"model": "delta-disclosure", "delta": draw.choice([1, 3]), "absent": "skip"},
        {"model": "epsilon-m", "epsilon": 1, "m": 2},
        {"model": "personalised", "guard": (hidden or ["x"])[0], "max": 0.9},
        {"model": "b-t-privacy", "b": draw.choice([0.3, 1]), "t": share},
    ]
    model = draw.choice(whole if attribute is None or draw.random() < 0.2 else about)
    if "population" in model:
        quasi = [name for name, role in roles.items() if role == QUASI]
        case.population = {name: case.columns[name] * 2 for name in quasi}
    return model if model in whole else {**model, "attribute": attribute}
