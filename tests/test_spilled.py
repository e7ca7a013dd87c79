"""Classes that lie in a file answer as those in memory do. # S4.7"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import spilled
from shoal.errors import BadInput
from shoal.frequency import FrequencySet
from shoal.spilled import Spilled, Spool

SIZES = {"a": 7, "b": 5, "c": 4}


def spool(folder: Path, rows: FrequencySet, room: int, attributes=tuple(SIZES), counted=()) -> Spilled:
    """The same rows in a file."""
    out = Spool(folder / "classes")
    out.add(rows.keys, rows.counts)
    out.close()
    empty = rows.kept(np.zeros(len(rows), dtype=bool))
    layout = FrequencySet.count({name: (np.zeros(0, np.int32), SIZES[name]) for name in attributes}).layout
    columns = {name: rows.marginal(name, SIZES[name]) for name in rows.attributes}
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
def test_a_node_answers_alike(tmp_path_factory, columns, room, least, lost, up):
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
        assert "raise --memory" in str(wrong)  # noqa: PT017
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
def test_parts_of_classes_are_all_of_them(columns, parts, up):
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
    monkeypatch.setitem(globals(), "SIZES", dict.fromkeys(wide, 1000))
    file = spool(tmp_path, rows, room=4000, attributes=tuple(wide)).at_least(5, 100)
    merged, looked = Spilled._merged, []

    def counting(self, *given, **how):
        looked.append(given)
        return merged(self, *given, **how)

    monkeypatch.setattr(spilled.Spilled, "_merged", counting)
    found = file.rollup({})
    assert found.rest is not None
    assert found.rest.rows > 100
    assert len(looked) == 1


def test_a_part_that_is_not_there_is_refused():
    rows = FrequencySet.count({"a": (np.zeros(3, np.int32), 2)})
    with pytest.raises(ValueError, match="no such part"):
        rows.rollup_part({}, ["a"], 2, 2)
