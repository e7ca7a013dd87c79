"""Sample data: a census of people who do not exist, and UCI's Adult.

`python -m shoal.datasets FOLDER` writes the census with its hierarchies and a policy.
"""

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TypeAlias
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from pyarrow import csv

from shoal.errors import BadData

Tree: TypeAlias = "Mapping[str, Tree] | Sequence[str]"
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
ByAge: TypeAlias = dict[int, list[float]]
"""Weights from each age on."""
ByGroup: TypeAlias = dict[str, list[float]]
"""Weights for each group of level 1 of another column."""

# All figures are invented. Weights are relative: they need not sum to one; they follow the leaves of TREES.

AGES = {17: 1.2, 24: 2.3, 38: 2.6, 55: 1.6, 66: 0.6, 90: 0.05}  # weights, interpolated between these ages

# fmt: off
COUNTRIES = {
    "North-America": {"United-States": 14000, "Canada": 40, "Mexico": 200},
    "Central-America": {"Cuba": 30, "El-Salvador": 30, "Guatemala": 25, "Haiti": 15, "Jamaica": 25},
    "South-America": {"Brazil": 15, "Colombia": 20, "Ecuador": 10, "Peru": 10},
    "Europe": {"England": 35, "France": 10, "Germany": 50, "Greece": 10, "Ireland": 10, "Italy": 25,
               "Poland": 20, "Portugal": 15, "Spain": 10, "Ukraine": 10},
    "Asia": {"China": 50, "India": 60, "Iran": 15, "Japan": 20, "Philippines": 60, "Vietnam": 30},
    "Africa": {"Egypt": 10, "Ethiopia": 10, "Ghana": 8, "Nigeria": 15},
}
DISEASES = ["Flu", "Asthma", "Migraine", "Depression", "Injury", "Gastritis", "HIV", "Diabetes",
            "Hypertension", "Arthritis", "Heart-disease", "Cancer"]
INCOMES = ["<=50K", ">50K"]
ADULT_COLUMNS = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
                 "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
                 "native-country", "salary-class"]
ADULT_NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
# fmt: on

TREES: dict[str, Tree] = {
    "sex": ["Female", "Male"],
    "race": ["White", "Black", "Asian", "Native", "Mixed"],
    "education": {
        "Up-to-school": {
            "Elementary": ["Grade-1-4", "Grade-5-6", "Grade-7-8"],
            "High-school": ["Grade-9", "Grade-10", "Grade-11", "Grade-12", "School-diploma"],
        },
        "Beyond-school": {
            "Undergraduate": ["Some-college", "Vocational-degree", "Associate-degree", "Bachelor"],
            "Graduate": ["Master", "Professional-degree", "Doctorate"],
        },
    },
    "marital-status": {
        "With-partner": ["Married", "Partnership", "Spouse-absent"],
        "Without-partner": ["Never-married", "Divorced", "Separated", "Widowed"],
    },
    "country": {continent: list(countries) for continent, countries in COUNTRIES.items()},
    "workclass": {
        "Employee": ["Private-firm", "Private-household", "Non-profit"],
        "Self-employed": ["Own-company", "Freelance"],
        "Public-service": ["Federal", "State", "Municipal"],
        "Unpaid": ["Family-work", "Volunteer"],
    },
    "occupation": {
        "Professional": ["Manager", "Engineer", "Teacher", "Health-worker"],
        "Service": ["Clerk", "Sales", "Care", "Kitchen", "Security"],
        "Manual": ["Craft", "Machines", "Transport", "Cleaning", "Farming"],
    },
}
RACE_BY_CONTINENT: ByGroup = {
    "North-America": [87, 9, 1, 1, 2],
    "Central-America": [55, 30, 1, 6, 8],
    "South-America": [65, 10, 2, 13, 10],
    "Europe": [93, 3, 2, 0, 2],
    "Asia": [6, 0, 91, 0, 3],
    "Africa": [12, 84, 1, 0, 3],
}
EDUCATION_BY_AGE: ByAge = {
    17: [0.1, 0.2, 2, 4, 10, 25, 10, 30, 19, 0, 0, 0, 0, 0, 0],
    20: [0.1, 0.2, 1, 1, 2, 3, 2, 35, 43, 3, 2, 8, 0, 0, 0],
    25: [0.2, 0.4, 1, 1, 1.5, 2, 1, 36, 20, 4, 3, 22, 5, 1.5, 0.8],
    45: [0.4, 0.8, 3, 1.5, 2, 2, 0.5, 38, 18, 4, 2, 16, 8, 2.5, 1.5],
    65: [2, 3, 13, 3, 4, 3, 0.5, 42, 12, 2, 1, 9, 4, 1.5, 1],
}
MARITAL_BY_AGE: ByAge = {
    17: [2, 1, 0.2, 96, 0.2, 0.2, 0.02],
    22: [20, 6, 0.5, 68, 3, 1, 0.1],
    30: [58, 4, 1, 22, 12, 2.5, 0.4],
    45: [66, 1.5, 1, 7, 19, 2.5, 3],
    60: [66, 0.5, 1, 5, 13, 1.5, 13],
    75: [50, 0.2, 1, 4, 6, 0.5, 40],
}
MARITAL_OF_MEN = [1.2, 1, 1.2, 1.15, 0.7, 0.6, 0.25]  # a man's weights are the row's times these
OCCUPATION_BY_EDUCATION: ByGroup = {
    "Elementary": [2, 0.1, 0.1, 0.3, 3, 4, 9, 11, 1, 12, 24, 6, 20, 10],
    "High-school": [7, 0.7, 0.4, 1.5, 26, 15, 7, 8, 1, 7, 14, 4, 6, 1.5],
    "Undergraduate": [22, 6, 9, 11, 26, 15, 3, 1.5, 1, 2, 1.5, 0.7, 0.6, 0.5],
    "Graduate": [25, 9, 34, 24, 3, 3, 0.5, 0.1, 0.2, 0.3, 0.1, 0.1, 0.05, 0.2],
}
OCCUPATION_OF_MEN = [1.4, 4, 0.5, 0.4, 0.3, 1, 0.1, 0.6, 4, 6, 1.6, 5, 0.8, 4]
WORKCLASS_BY_OCCUPATION: ByGroup = {
    "Professional": [64, 0.1, 5, 8, 6, 3, 5, 9, 0.1, 0.1],
    "Service": [83, 2, 2, 2, 3, 2, 2, 4, 0.3, 0.2],
    "Manual": [84, 1, 0.5, 2, 8, 0.5, 1, 3, 0.5, 0.1],
}
DISEASE_BY_AGE: ByAge = {
    17: [30, 16, 12, 14, 18, 7, 0.4, 2, 1, 0.5, 0.3, 0.5],
    35: [24, 9, 12, 14, 12, 11, 0.6, 7, 10, 4, 2, 3],
    55: [15, 5, 6, 9, 7, 9, 0.7, 14, 20, 12, 9, 9],
    70: [11, 4, 2, 6, 6, 6, 0.2, 15, 22, 18, 19, 14],
}
DISEASE_OF_MEN = [1, 0.8, 0.35, 0.55, 1.6, 1, 3, 1.2, 1.1, 0.6, 1.7, 1.1]

# Log-odds of an income above 50K, in an average week's work at the best age.
INCOME_BY_EDUCATION = {"Elementary": -2.6, "High-school": -1.3, "Undergraduate": -0.2, "Graduate": 1.2}
INCOME_BY_OCCUPATION = {"Professional": 0.9, "Service": -0.4, "Manual": -0.5}
BEST_AGE = 50
WEEKLY_HOURS = {"Female": 37.0, "Male": 42.0}

ADULT_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
ADULT_SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}

PUBLISHED = ("age", "sex", "marital-status", "occupation")
"""Quasi-identifiers that the policy for publication keeps: what a study of diseases at work needs."""
PUBLICATION = """\
# Which diseases do people of which age, sex, family and work have? Columns that are not named here are not released.
[data]
others = "drop"

{attributes}[attributes.disease]
role = "sensitive"

[[require]]  # everybody is alike with nine others at least
model = "k-anonymity"
k = 10

[[require]]  # and no disease is that of more than 40 % of those who are alike
model = "alpha-k"
alpha = 0.4
k = 10

[method]
algorithm = "mondrian"
"""
PLAIN = """\
{attributes}[attributes.income]
role = "insensitive"

[attributes.disease]
role = "sensitive"

[[require]]
model = "k-anonymity"
k = {k}

[method]
algorithm = "optimal"
suppression = 0.02
metric = "loss"
"""


def census(rows: int = 30_000, *, seed: int = 0) -> pa.Table:
    """Invent people with eight quasi-identifiers, an income and a disease, the same for the same seed.

    >>> census(3).column_names[:5]
    ['age', 'sex', 'race', 'education', 'marital-status']
    >>> census(100, seed=1).equals(census(100, seed=1))
    True
    """
    if rows < 0 or seed < 0:
        raise BadData(f"rows and seed of a census are 0 or more, not {rows} and {seed}")
    rng = np.random.Generator(np.random.PCG64(seed))
    anyone = np.zeros(rows, dtype=np.int64)
    years = np.arange(min(AGES), max(AGES) + 1)
    age = years[_draw(rng, [np.interp(years, list(AGES), list(AGES.values()))], anyone)]
    sex = _draw(rng, [[1, 1]], anyone)
    country = _draw(rng, [[w for countries in COUNTRIES.values() for w in countries.values()]], anyone)
    race = _draw(rng, list(RACE_BY_CONTINENT.values()), _rows_of_groups(RACE_BY_CONTINENT, "country", country))
    education = _draw(rng, list(EDUCATION_BY_AGE.values()), _age_band_of(EDUCATION_BY_AGE, age))
    marital = _draw(rng, _by_sex(MARITAL_BY_AGE, MARITAL_OF_MEN), _age_band_of(MARITAL_BY_AGE, age), sex)
    stage = _rows_of_groups(OCCUPATION_BY_EDUCATION, "education", education)
    occupation = _draw(rng, _by_sex(OCCUPATION_BY_EDUCATION, OCCUPATION_OF_MEN), stage, sex)
    trade = _rows_of_groups(WORKCLASS_BY_OCCUPATION, "occupation", occupation)
    workclass = _draw(rng, list(WORKCLASS_BY_OCCUPATION.values()), trade)
    income = _draw_income(rng, age, sex, education, occupation)
    disease = _draw(rng, _by_sex(DISEASE_BY_AGE, DISEASE_OF_MEN), _age_band_of(DISEASE_BY_AGE, age), sex)
    drawn = zip(TREES, (sex, race, education, marital, country, workclass, occupation), strict=True)
    columns = {"age": pa.array(age)} | {name: _decode(codes, _leaves(name)) for name, codes in drawn}
    return pa.table(columns | {"income": _decode(income, INCOMES), "disease": _decode(disease, DISEASES)})


def census_hierarchies() -> dict[str, list[list[str]]]:
    """List rows `[value, level 1, …, "*"]` for every quasi-identifier of the census, as ARX has them.

    >>> census_hierarchies()["age"][23]
    ['23', '[20, 25)', '[20, 30)', '[20, 40)', '*']
    >>> census_hierarchies()["sex"]
    [['Female', '*'], ['Male', '*']]
    """
    ages = [[str(age), *(_interval(age, width) for width in (5, 10, 20)), "*"] for age in range(100)]
    return {"age": ages} | {name: _hierarchy_rows(tree) for name, tree in TREES.items()}


def write_census(folder: Path, rows: int = 30_000, seed: int = 0, k: int | None = None) -> Path:
    """Write census.csv, hierarchies/*.csv and a policy.toml, over older ones.

    The policy is one for publication; with `k` it asks for k-anonymity alone, of all quasi-identifiers.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in write_census(Path(folder), rows=10).iterdir())
    ['census.csv', 'hierarchies', 'policy.toml']
    """
    table = census(rows, seed=seed)
    (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
    csv.write_csv(table, folder / "census.csv", csv.WriteOptions(quoting_style="none"))
    attributes = ""
    for name, levels in census_hierarchies().items():
        path = f"hierarchies/{name}.csv"
        lines = "".join(f"{';'.join(row)}\n" for row in levels)
        (folder / path).write_text(lines, encoding="utf-8", newline="\n")
        if k is None and name not in PUBLISHED:
            continue
        ages = "intervals = [5, 10, 20]" if k is not None else "intervals = [5, 10, 20], bottom = 20, top = 90"
        hierarchy = ages if name == "age" else f'csv = "{path}"'
        attributes += f'[attributes.{name}]\nrole = "quasi-identifier"\nhierarchy = {{ {hierarchy} }}\n\n'
    policy = PUBLICATION.format(attributes=attributes) if k is None else PLAIN.format(attributes=attributes, k=k)
    (folder / "policy.toml").write_text(policy, encoding="utf-8", newline="\n")
    return folder


def adult(folder: Path | None = None) -> pa.Table:
    """Read UCI's Adult, 48,842 people of a US survey of 1994, from a folder or else from UCI (then cached).

    Becker & Kohavi (1996), https://doi.org/10.24432/C5XW20

    >>> line = "39, Private, 1, Masters, 14, Divorced, ?, Wife, White, Female, 0, 0, 40, Cuba, >50K."
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = [(Path(folder) / name).write_text(line) for name in ("adult.data", "adult.test")]
    ...     adult(Path(folder)).select(["age", "occupation", "salary-class"]).to_pylist()[0]
    {'age': 39, 'occupation': None, 'salary-class': '>50K'}
    """
    if folder is None or not all((folder / name).is_file() for name in ADULT_SHA256):
        folder = _download_adult()
    rows = [row for name in ADULT_SHA256 for row in _read_adult(folder / name)]
    columns = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(ADULT_COLUMNS)}
    try:
        return pa.table({n: c.cast(pa.int64()) if n in ADULT_NUMBERS else c for n, c in columns.items()})
    except pa.ArrowInvalid:  # its message shows the cell
        raise BadData(f"{folder}: a numeric column of Adult holds text; fetch the files from {ADULT_URL}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the invented census, its hierarchies and a policy, and print their paths."""
    parser = argparse.ArgumentParser(prog="python -m shoal.datasets", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        folder = write_census(given.folder, given.rows, given.seed)
    except (BadData, OSError) as error:
        parser.error(str(error))
    names = ["census.csv", *(f"hierarchies/{name}.csv" for name in census_hierarchies()), "policy.toml"]
    sys.stdout.writelines(f"{folder / name}\n" for name in names)


def _draw(rng: np.random.Generator, weights: ArrayLike, *given: Ints) -> Ints:
    """Draw an outcome per person: weights[..., outcome], with the person's index on each other axis in `given`."""
    table = np.asarray(weights, dtype=np.float64)
    outcomes = table.shape[-1]
    ends = table.reshape(-1, outcomes).cumsum(axis=1)
    # Row r of the table fills [r, r + 1), so that one sorted array serves every row.
    ends = ends / ends[:, -1:] + np.arange(len(ends))[:, None]
    row = np.ravel_multi_index(given, table.shape[:-1])
    place = np.searchsorted(ends.ravel(), row + rng.random(len(row)), "right")
    drawn: Ints = np.minimum(place - row * outcomes, outcomes - 1)
    return drawn


def _by_sex(table: ByAge | ByGroup, men: list[float]) -> Floats:
    women = np.array(list(table.values()))
    return np.stack([women, women * np.array(men)], axis=1)


def _age_band_of(table: ByAge, age: Ints) -> Ints:
    return (np.searchsorted(list(table), age, "right") - 1).astype(np.int64)


def _rows_of_groups(table: Mapping[str, object], column: str, codes: Ints) -> Ints:
    """Return each person's row of a table that is keyed by the column's labels of level 1."""
    row = {label: i for i, label in enumerate(table)}
    return np.array([row[label] for _, label, *_ in _hierarchy_rows(TREES[column])], dtype=np.int64)[codes]


def _draw_income(rng: np.random.Generator, age: Ints, sex: Ints, education: Ints, occupation: Ints) -> Ints:
    hours = rng.normal(np.array(list(WEEKLY_HOURS.values()))[sex], 9)
    odds = 0.05 * (hours - 40) - ((age - BEST_AGE) / 18) ** 2
    for table, column, codes in (
        (INCOME_BY_EDUCATION, "education", education),
        (INCOME_BY_OCCUPATION, "occupation", occupation),
    ):
        odds += np.array(list(table.values()))[_rows_of_groups(table, column, codes)]
    return (rng.random(len(age)) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def _decode(codes: Ints, names: Sequence[str]) -> pa.StringArray:
    return pa.DictionaryArray.from_arrays(codes, names).dictionary_decode()


def _hierarchy_rows(tree: Tree, above: tuple[str, ...] = ("*",)) -> list[list[str]]:
    if isinstance(tree, Mapping):
        return [row for label, branch in tree.items() for row in _hierarchy_rows(branch, (label, *above))]
    return [[leaf, *above] for leaf in tree]


def _leaves(column: str) -> list[str]:
    return [row[0] for row in _hierarchy_rows(TREES[column])]


def _interval(age: int, width: int) -> str:
    low = age // width * width
    return f"[{low}, {low + width})"


def _read_adult(path: Path) -> list[list[str | None]]:
    """Read one file; adult.test has a comment on top and a dot after each label, both end in a blank line."""
    rows: list[list[str | None]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if not line.strip() or line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.rstrip().removesuffix(".").split(",")]
        if len(cells) != len(ADULT_COLUMNS):
            raise BadData(f"{path}, line {number}: Adult has {len(ADULT_COLUMNS)} columns, not {len(cells)}")
        rows.append([None if cell == "?" else cell for cell in cells])
    return rows


def _download_adult() -> Path:
    """Download the files that are missing from the cache or have another hash, and return the cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"
    for name, sha256 in ADULT_SHA256.items():
        path = cache / name
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
            continue
        try:
            with urlopen(ADULT_URL + name, timeout=60) as answer:  # noqa: S310  the address is a constant
                content: bytes = answer.read()
            if hashlib.sha256(content).hexdigest() != sha256:
                raise OSError("its SHA-256 is not the known one")  # noqa: TRY301  one advice for all causes
            _write_atomically(path, content)
        except (OSError, HTTPException) as error:
            raise BadData(
                f"{name} could not be fetched from {ADULT_URL} into {cache} ({error}); "
                "download adult.data and adult.test by hand and pass their folder"
            ) from error
    return cache


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically: first a temporary one, which then replaces it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        part = Path(scratch) / path.name
        part.write_bytes(content)
        part.replace(path)


if __name__ == "__main__":
    main()
