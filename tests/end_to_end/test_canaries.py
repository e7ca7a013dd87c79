"""A canary in everything that must stay private; none is in the public folder, whatever the algorithm and format."""

import os
import random
import re
import warnings
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from naive import THOROUGH
from parquet_pages import DICTIONARY, pages_of

import shoal as sh
from shoal.methods import ALGORITHMS

QUASI = "quasi-identifier"
ILLS = ["flu", "cold", "gout", "hiv", "mumps", "ulcer"]
LEFT_OUT = {"optimal", "datafly", "samarati", "incognito", "hybrid", "greedy", "suppress, rows"}
"""Methods that leave out the person who stands alone."""
SEARCHES = LEFT_OUT - {"suppress, rows"}
METHODS = {
    name: {"algorithm": name, **({"suppression": 0.1} if name in SEARCHES else {})}
    for name in ALGORITHMS
    if name != "suppress"
} | {
    "mondrian-workload": {"algorithm": "mondrian-workload", "target": ["ill"]},
    "optimal, cells": {"algorithm": "optimal", "suppress": "cell"},
    "suppress, rows": {"algorithm": "suppress", "suppress": "tuple", "suppression": 0.2},
    "suppress, columns": {"algorithm": "suppress", "suppress": "attribute"},
    "suppress, cells": {"algorithm": "suppress", "suppress": "cell"},
}
FORMATS = {"csv": {"format": "csv"}, "parquet": {"format": "parquet"}, "folders": {"partition_by": ["job"]}}
CANARY = re.compile(rb"CANARY", re.IGNORECASE)


def people(method):
    """Twenty-four people alike by six, and one who stands alone; a canary in whatever is not released."""
    alone = method in LEFT_OUT
    rows = [
        {
            "name": f"CANARY-name-{6 * group + i}",
            "age": 30 + 10 * group,
            "job": ["cook", "baker", "nurse", "judge"][group],
            "ill": ill,
            "weight": f"{i + 1}",
            "CANARY-column": f"CANARY-extra-{i}",
        }
        for group in range(4)
        for i, ill in enumerate(ILLS)
    ]
    last = {**rows[0], "age": 987654, "job": "CANARY-job", "ill": "CANARY-ill", "name": "CANARY-name-alone"}
    return [*rows[:9], *([last] if alone else []), *rows[9:]]


def policy(method, unused="CANARY-unused"):
    """Roles and hierarchies as the algorithm has use for them; every hierarchy has leaves that nobody has."""
    algorithm = METHODS[method]["algorithm"]
    hot = ["cook", "baker", "CANARY-job"]
    jobs = {"any": {"hot": hot, "law": ["judge"], "care": ["nurse"], f"{unused}-branch": [f"{unused}-leaf"]}}
    ills = {"any": {"airways": ["flu", "cold"], "others": [*ILLS[2:], "CANARY-ill", f"{unused}-ill"]}}
    job, age = {"role": QUASI}, {"role": QUASI}
    low = {"max-level": 1} if method in SEARCHES else {}
    if algorithm not in {"suppress", "anatomy", "microaggregation"}:
        job |= {"hierarchy": {"tree": jobs}, **low}
    if algorithm in SEARCHES or algorithm == "local":
        age |= {"hierarchy": {"intervals": [50]}, **low}
    models = [
        {"model": "k-anonymity", "k": 6 if algorithm == "microaggregation" else 3},
        {"model": "distinct-l-diversity", "l": 2, "attribute": "ill"},
        {"model": "t-closeness", "t": 0.9, "attribute": "ill", "distance": "hierarchical"},
    ]
    return {
        "attributes": {
            "name": "identifier",
            "age": age,
            "job": "identifier" if algorithm == "microaggregation" else job,
            "ill": {"role": "sensitive", "hierarchy": {"tree": ills}},
            "weight": "sampling-weight",
        },
        # some searches need a model that coarser nodes keep, and anatomy one of the sensitive attribute
        "require": models[:2] if method in {"samarati", "incognito", "hybrid"} else models[algorithm == "anatomy" :],
        "method": METHODS[method],
        "data": {"others": "drop"},
    }


def write(path, rows):
    """A table with canaries in its metadata and its dictionaries, too, where the format has them."""
    table = pa.Table.from_pylist(rows)
    if path.suffix == ".csv":
        pc.write_csv(table, path)
        return
    for name in ("job", "ill"):
        values = table[name].to_pylist()
        known = ["CANARY-dictionary", *dict.fromkeys(reversed(values))]
        coded = pa.DictionaryArray.from_arrays([known.index(value) for value in values], known)
        told = pa.field(name, coded.type, metadata={"CANARY-key": "CANARY-value"})
        table = table.set_column(table.schema.get_field_index(name), told, coded)
    pq.write_table(table.replace_schema_metadata({"pandas": '{"creator": "CANARY-creator"}'}), path)


def public_bytes(folder):
    """All bytes of a folder: names of files, files, and the pages, statistics and metadata of Parquet files."""
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder)), str(path.relative_to(folder)).encode()
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
        if path.suffix == ".parquet":
            for column, _, page in pages_of(path):
                yield f"{path.name}, a page of {column}", page
            metadata = pq.ParquetFile(path).metadata
            yield path.name, repr(metadata.to_dict()).encode()
            for key, value in (metadata.metadata or {}).items():
                yield path.name, key + value


def published(folder, method, how, *, kind="csv", rows=None, unused="CANARY-unused"):
    """A folder with a release of a file full of canaries, in a folder with one in its name."""
    desk = folder / "CANARY-folder"
    desk.mkdir(parents=True)
    write(desk / f"CANARY-input.{kind}", people(method) if rows is None else rows)
    with warnings.catch_warnings(action="ignore"):
        release = sh.anonymize(desk / f"CANARY-input.{kind}", policy(method, unused))
        release.save(desk / "out", **how)
    assert release.summary.rows.suppressed == (method in LEFT_OUT), (
        "who stands alone must be left out: nothing is tested"
    )
    return desk / "out"


def formats(method):
    if method in {"anatomy", "microaggregation"}:  # neither shows jobs in files of folders
        return [name for name in FORMATS if name != "folders"]
    return [*FORMATS]


def cases():
    """Every method with every format; in a quick run each method with one."""
    every = {method: formats(method) for method in METHODS}
    if THOROUGH:
        return [(method, to) for method, all_of_them in every.items() for to in all_of_them]
    return [(method, all_of_them[i % len(all_of_them)]) for i, (method, all_of_them) in enumerate(every.items())]


CASES = cases()


@pytest.fixture(autouse=True)
def _somebody(monkeypatch):
    """Whoever makes the release has a name, too."""
    for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME"):
        monkeypatch.setenv(name, f"CANARY-{name}")


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_no_canary_is_public(tmp_path, case, kind):
    method, to = case
    before = datetime.now(UTC)
    out = published(tmp_path, method, FORMATS[to], kind=kind)
    today = [before.strftime(how) for how in ("%Y-%m-%d", "%Y%m%d", "%d %B %Y", "%d.%m.%Y")]
    marks = [*map(str.encode, today), str(tmp_path).encode(), os.uname().nodename.encode(), b"987654"]
    for where, content in public_bytes(out):
        assert not CANARY.search(content), f"{where} tells something private"
        assert not [mark for mark in marks if mark in content], f"{where} tells a time, a place or an outlier"


def test_a_canary_would_be_found(tmp_path):
    """In a cell of a CSV, in a packed page, in statistics and in metadata: the test above can fail."""
    values = ["CANARY-disease" * 9, *(f"value {i % 7}" * 9 for i in range(9000))]
    for codec in ("snappy", "zstd", "none"):
        for dictionary in (True, False):
            folder = tmp_path / f"{codec}-{dictionary}"
            folder.mkdir()
            table = pa.table({"ill": values, "n": range(len(values))})
            how = {"compression": codec, "use_dictionary": dictionary, "write_statistics": False}
            pq.write_table(table, folder / "data.parquet", **how)
            kinds = {kind for column, kind, _ in pages_of(folder / "data.parquet") if column == "ill"}
            assert (DICTIONARY in kinds) == dictionary
            assert [where for where, content in public_bytes(folder) if CANARY.search(content)]
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"CANARY": "1"}), tmp_path / "folder" / "data.parquet")
    assert any(CANARY.search(content) for _, content in public_bytes(tmp_path / "folder"))


@pytest.mark.some(5)
@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_neither_the_order_of_rows_nor_unused_leaves_show(tmp_path, case):
    """Another order of the rows and of the dictionaries, other leaves and identifiers: the same public bytes."""
    method, to = case
    rows = people(method)
    shuffled = [dict(row, name=f"other {i}") for i, row in enumerate(rows)]
    random.Random(3).shuffle(shuffled)
    one = published(tmp_path / "one", method, FORMATS[to], kind="parquet", rows=rows)
    other = published(tmp_path / "other", method, FORMATS[to], kind="parquet", rows=shuffled, unused="else")
    assert [*public_bytes(one)] == [*public_bytes(other)]
