"""Classes that lie in a file answer as those in memory do. # S4.7"""

from dataclasses import replace
from pathlib import Path
from random import Random

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data import on_disk as spilled
from shoal.data.codes import encode
from shoal.data.frequency_set import FrequencySet
from shoal.data.on_disk import Spilled, Spool, StoredRows
from shoal.errors import BadInput
from shoal.metrics.catalogue import METRICS
from shoal.models.k_anonymity import least_size
from shoal.policy.method import Method
from shoal.search.oracle import Oracle
from shoal.search.walks import find

SIZES = {"a": 7, "b": 5, "c": 4}


def spool(folder: Path, rows: FrequencySet, room: int, attributes=tuple(SIZES), counted=(), sizes=None) -> Spilled:
    """The same rows in a file."""
    sizes = sizes or SIZES
    out = Spool(folder / "classes")
    out.add(rows.keys, rows.counts)
    out.close()
    empty = rows.select_classes(np.zeros(len(rows), dtype=bool))
    layout = FrequencySet.count({name: (np.zeros(0, np.int32), sizes[name]) for name in attributes}).layout
    columns = {name: rows.marginal(name, sizes[name]) for name in rows.attributes}
    of = {"full": empty, "path": out.path, "items": out.rows, "total": rows.rows, "columns": columns, "room": room}
    return Spilled(attributes, layout, empty.keys, empty.counts, **of, counted=counted)


def listed(found: FrequencySet) -> dict[tuple[int, ...], int]:
    codes = zip(*(found.codes(name).tolist() for name in found.attributes), strict=True)
    return dict(zip(codes, found.counts.tolist(), strict=True))


columns = st.integers(1, 60).flatmap(
    lambda n: st.fixed_dictionaries(
        {name: st.lists(st.integers(0, size - 1), min_size=n, max_size=n) for name, size in SIZES.items()}
    )
)


@given(columns=columns, room=st.integers(1, 40), least=st.integers(1, 6), lost=st.integers(0, 60), up=st.integers(0, 7))
def test_a_node_on_disk_is_answered_as_in_memory(tmp_path_factory, columns, room, least, lost, up):
    """Listed whole where it fits; else all that may be released, or proof that too many rows fail."""
    rows = FrequencySet.count({name: (np.array(columns[name], np.int32), size) for name, size in SIZES.items()})
    maps = {name: (np.arange(size, dtype=np.int32) // 2) for i, (name, size) in enumerate(SIZES.items()) if up >> i & 1}
    true = listed(rows.rollup(maps))
    file = spool(tmp_path_factory.mktemp("s"), rows, room).at_least(least, lost)
    large = {codes: n for codes, n in true.items() if n >= least}
    failing = rows.rows - sum(large.values())
    try:
        found = file.rollup(maps)
    except BadInput as wrong:
        assert len(large) > room or (least == 1 and len(true) > room)
        assert "allow more memory" in str(wrong)  # noqa: PT017
        return
    if found.rest is None:
        assert listed(found) == true
    elif failing > lost:
        assert found.rest.rows > lost
        assert listed(found).items() <= large.items()
    else:
        assert listed(found) == large
        assert (found.rest.rows, found.rest.classes) == (failing, len(true) - len(large))
        assert found.rest.squares == sum(n * n for n in true.values() if n < least)


@given(columns=columns, parts=st.integers(1, 9), up=st.booleans())
def test_the_parts_together_hold_every_class_once(columns, parts, up):
    """What is alike in the attributes that deal out is in one part."""
    rows = FrequencySet.count({name: (np.array(columns[name], np.int32), size) for name, size in SIZES.items()})
    maps = {"a": np.arange(7, dtype=np.int32) // 3} if up else {}
    found = [listed(rows.rollup_part(maps, ["a", "c"], parts, part)) for part in range(parts)]
    assert {codes: n for part in found for codes, n in part.items()} == listed(rows.rollup(maps))
    assert sum(map(len, found)) == len(rows.rollup(maps))
    dealt = [{(codes[0], codes[2]) for codes in part} for part in found]
    assert sum(map(len, dealt)) == len(set().union(*dealt))


def test_few_rows_are_looked_at_where_many_fail(tmp_path, monkeypatch):
    """Of a node at which nearly all rows are distinct, one part in many is enough."""
    drawn = np.random.default_rng(5)
    wide = {f"q{i}": (drawn.integers(0, 1000, 40_000).astype(np.int32), 1000) for i in range(3)}
    rows = FrequencySet.count(wide)
    sizes = dict.fromkeys(wide, 1000)
    file = spool(tmp_path, rows, room=4000, attributes=tuple(wide), sizes=sizes).at_least(5, 100)
    merged, looked = Spilled._merged, []

    def counting(self, *given, **how):
        looked.append(given)
        return merged(self, *given, **how)

    monkeypatch.setattr(spilled.Spilled, "_merged", counting)
    found = file.rollup({})
    assert found.rest is not None
    assert found.rest.rows > 100
    assert len(looked) == 1


def asked(folder: Path, instance: naive.Instance, room: int) -> Oracle:
    """About the table of an instance that lies in a file; what no model asks for is not counted."""
    before = instance.before()
    beside = (naive.SENSITIVE,) if any(hasattr(model, "attribute") for model in instance.models) else ()
    texts = instance.columns() | {naive.SENSITIVE: pa.array(instance.sensitive, pa.string())}
    coded = [encode(name, texts[name]) for name in (*instance.names, *beside)]
    sizes = {column.name: column.size for column in coded}
    rows = FrequencySet.count({column.name: (column.codes, column.size) for column in coded})
    file = spool(folder, rows, room, tuple(instance.names), beside, sizes)
    before = replace(before, classes=file.at_least(least_size(instance.models), instance.limit))
    return Oracle(before, instance.models, instance.limit, METRICS["loss"].on(before), instance.reading)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """For one file after the other."""
    return tmp_path_factory.mktemp("spilled")


closed = st.sampled_from(naive.SHARES).flatmap(lambda share: naive.instances(share, naive.SUPERSET, fewest=2))


@pytest.mark.parametrize("algorithm", ["optimal", "incognito", "datafly"])
@naive.examples(160)
@given(instance=closed, room=st.integers(2, 5))
def test_a_search_on_disk_finds_the_same_as_in_memory(folder, algorithm, room, instance):
    """Or says that memory is not enough."""
    finds_the_same(folder, algorithm, instance, room)


def flat(*columns: str) -> naive.Instance:
    """A table that is 2-anonymous at the top at least, every attribute shown or not."""
    shown = {
        name: naive.Attribute(sorted({*values}), [dict.fromkeys(values, "*")], list(values), 0, 1, None)
        for name, values in zip("abc", columns, strict=False)
    }
    return naive.Instance(shown, ["u"] * len(columns[0]), [naive.k_anonymity(2)], 0)


@pytest.mark.parametrize("algorithm", ["optimal", "incognito"])
def test_a_search_on_disk_that_settles_on_a_node_finds_the_same(folder, algorithm):
    """Levels at which an attribute fails alone are left out first, and what is left may not be listed whole."""
    found = [finds_the_same(folder, algorithm, flat("qpppps", "sqpqps", "sppspp"), 2)]
    for seed in range(60):
        random = Random(seed)
        rows, room = random.randint(6, 8), random.randint(2, 4)
        columns = ["".join(random.choices("pqrst"[: random.randint(2, 5)], k=rows)) for _ in range(3)]
        found.append(finds_the_same(folder, algorithm, flat(*columns), room))
    assert found[0]
    assert sum(found) > 40


def finds_the_same(folder: Path, algorithm: str, instance: naive.Instance, room: int) -> bool:
    """Whether memory was enough."""
    method, lattice = Method(algorithm=algorithm), instance.lattice()
    expected = find(method, lattice, instance.oracle())
    try:
        found = find(method, lattice, asked(folder, instance, room))
    except BadInput as wrong:
        assert "allow more memory" in str(wrong)  # noqa: PT017
        return False
    assert (found.best is None) == (expected.best is None)
    if found.best is not None and expected.best is not None:
        assert (found.best.node, found.best.suppressed) == (expected.best.node, expected.best.suppressed)
        assert found.best.score == pytest.approx(expected.best.score)
    return True


@pytest.mark.parametrize("values", [6, 7, 100])
@pytest.mark.parametrize("least", [1, 2])
def test_a_class_that_does_not_fit_is_refused(tmp_path, values, least):
    """However many parts there are, all of its rows are in one."""
    sizes = {"a": 2, "ill": 2 * values}
    ill = np.arange(2 * values, dtype=np.int32)
    rows = FrequencySet.count({"a": (ill // values, 2), "ill": (ill, 2 * values)})
    file = spool(tmp_path, rows, 5, ("a",), ("ill",), sizes).at_least(least, 0)
    with pytest.raises(BadInput, match=r"more than 5 .* do not fit.* allow more memory"):
        file.rollup({})
    fits = spool(tmp_path, rows, values, ("a",), ("ill",), sizes).at_least(2, 0).rollup({})
    assert fits.counts.tolist() == [values, values]


def test_a_part_that_is_not_there_is_refused():
    rows = FrequencySet.count({"a": (np.zeros(3, np.int32), 2)})
    with pytest.raises(ValueError, match="no such part"):
        rows.rollup_part({}, ["a"], 2, 2)


@pytest.mark.parametrize("written", [False, True])
def test_a_file_without_rows_has_none(tmp_path, written):
    layout = FrequencySet.count({"a": (np.zeros(0, np.int32), 4)}).layout
    stored = StoredRows(("a",), layout, tmp_path / "rows")
    if written:
        stored.path.touch()
    assert (len(stored.read_all()), stored.read_all().attributes) == (0, ("a",))
