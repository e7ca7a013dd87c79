"""The frequency set: rollup, project and merge are what counting the rows afresh would give."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import CountInterpretation, Layout

SIZES = {"age": 70, "sex": 2, "zip": 5000}
SENSITIVE = 4


@st.composite
def tables(draw, most=20):
    n = draw(st.integers(0, most))
    pools = {name: draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3)) for name, size in SIZES.items()}
    columns = {name: draw(st.lists(st.sampled_from(pools[name]), min_size=n, max_size=n)) for name in SIZES}
    return columns, draw(st.lists(st.integers(0, SENSITIVE - 1), min_size=n, max_size=n))


def counted(columns, disease, **options):
    coded = {name: (np.array(codes, np.int32), SIZES[name]) for name, codes in columns.items()}
    return FrequencySet.count(coded, {"disease": (np.array(disease, np.int32), SENSITIVE)}, **options)


def contents(classes):
    """{codes of a class: (size, {value: count})}, whatever the order of the classes."""
    keys = list(zip(*(classes.codes(name).tolist() for name in classes.attributes), strict=True))
    values = {key: {} for key in keys}
    for name in classes.long:
        long = classes.long[name]
        for at, value, count in zip(long.classes.tolist(), long.values.tolist(), long.counts.tolist(), strict=True):
            assert value not in values[keys[at]], "one entry per class and value"
            values[keys[at]][value] = count
    assert len(set(keys)) == len(keys)
    return {key: (size, values[key]) for key, size in zip(keys, classes.counts.tolist(), strict=True)}


def by_rows(columns, disease, maps=None):
    """The same from the rows, with dictionaries."""
    lifted = [[int(maps[name][c]) for c in codes] if name in (maps or {}) else codes for name, codes in columns.items()]
    groups = {}
    for key, value in zip(zip(*lifted, strict=True), disease, strict=True):
        groups.setdefault(key, []).append(value)
    return {key: (len(values), dict(Counter(values))) for key, values in groups.items()}


@given(tables())
def test_counts_agree_with_the_rows(table):
    classes = counted(*table, want_classes=True)
    assert contents(classes) == by_rows(*table)
    assert classes.rows == len(table[1])
    for name, codes in table[0].items():
        assert classes.codes(name)[classes.classes].tolist() == codes


@st.composite
def partitions(draw):
    """For some attributes, a map of codes to groups."""
    maps = {}
    for name, size in SIZES.items():
        if draw(st.booleans()):
            maps[name] = (np.arange(size) // draw(st.integers(1, size))).astype(np.int32)
    return maps


@given(tables(), partitions())
def test_rollup_is_recounting_the_rows(table, maps):
    fine = counted(*table)
    coarse = fine.rollup(maps, want_classes=True)
    assert contents(coarse) == by_rows(*table, maps)
    assert coarse.rows == fine.rows
    assert np.bincount(coarse.classes, weights=fine.counts, minlength=0).tolist() == coarse.counts.tolist()


@given(tables(), partitions())
def test_compact_is_rollup_in_narrower_keys(table, maps):
    fine = counted(*table)
    sizes = [int(maps[name].max()) + 1 if name in maps else size for name, size in SIZES.items()]
    compact = fine.compact(maps, sizes)
    assert contents(compact) == contents(fine.rollup(maps)) == by_rows(*table, maps)
    assert compact.attributes == fine.attributes
    assert compact.layout.mask.tolist() == Layout.of(sizes).mask.tolist()


@given(tables(), partitions())
def test_a_compact_set_can_be_rolled_up_further(table, maps):
    sizes = [int(maps[name].max()) + 1 if name in maps else size for name, size in SIZES.items()]
    steps = {name: (np.arange(size) // 2).astype(np.int32) for name, size in zip(SIZES, sizes, strict=True)}
    fine = counted(*table)
    assert contents(fine.compact(maps, sizes).rollup(steps)) == contents(fine.rollup(maps).rollup(steps))


@given(tables(), partitions())
def test_two_rollups_equal_one_combined_rollup(table, maps):
    steps = {name: (np.arange(SIZES[name]) // 2).astype(np.int32) for name in maps}
    both = {name: (codes // 2).astype(np.int32) for name, codes in maps.items()}
    assert contents(counted(*table).rollup(maps).rollup(steps)) == contents(counted(*table).rollup(both))


@given(tables(), st.sets(st.sampled_from(sorted(SIZES))))
def test_project_leaves_attributes_out(table, kept):
    """Design 6: a virtual top, code 0."""
    nothing = {name: np.zeros(size, np.int32) for name, size in SIZES.items() if name not in kept}
    assert contents(counted(*table).project(sorted(kept))) == by_rows(*table, nothing)


@given(tables(10), tables(10), tables(10))
def test_merge_is_counting_the_tables_together(one, two, three):
    a, b, c = counted(*one), counted(*two), counted(*three)
    together = ({name: [*one[0][name], *two[0][name]] for name in SIZES}, [*one[1], *two[1]])
    assert contents(a.merge(b)) == by_rows(*together)
    assert contents(a.merge(b)) == contents(b.merge(a))
    assert contents(a.merge(b).merge(c)) == contents(a.merge(b.merge(c)))


@given(tables(), partitions())
def test_merge_and_rollup_commute(table, maps):
    a, b = counted(*table), counted(*table)
    assert contents(a.merge(b).rollup(maps)) == contents(a.rollup(maps).merge(b.rollup(maps)))


@given(tables(), partitions())
def test_distinct_values_are_recomputed(table, maps):
    coarse = counted(*table).rollup(maps)
    distinct = coarse.long["disease"].count_distinct(len(coarse)).tolist()
    assert distinct == [len(values) for _, values in contents(coarse).values()]


def test_persons_of_merged_classes_are_counted_once():
    """Persons per class are distinct units: never added."""
    age, person = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 1, 2], np.int32)
    fine = FrequencySet.count({"age": (age, 2)}, {"person": (person, 3)})
    assert fine.long["person"].count_distinct(2).tolist() == [2, 2]
    coarse = fine.rollup({"age": np.zeros(2, np.int32)})
    assert coarse.long["person"].count_distinct(1).tolist() == [3]
    assert coarse.long["person"].counts.sum() == 4


@given(tables())
def test_class_counts_dense_and_long_agree(table):
    classes = counted(*table)
    counts = classes.class_counts(CountInterpretation({"disease": ["a", "b", "c", None]}))
    dense = counts.sensitive["disease"].dense()
    assert counts.sizes.tolist() == dense.sum(axis=1).tolist()
    for row, (_, values) in zip(dense.tolist(), contents(classes).values(), strict=True):
        assert row == [values.get(value, 0) for value in range(SENSITIVE)]
    assert classes.class_counts(CountInterpretation()).sensitive == {}


def test_an_empty_table():
    classes = counted({name: [] for name in SIZES}, [])
    assert (len(classes), classes.rows) == (0, 0)
    assert len(classes.rollup({"sex": np.zeros(2, np.int32)}).merge(classes)) == 0


@settings(derandomize=True)
@given(st.lists(st.integers(1, 2**31), min_size=1, max_size=30))
def test_no_field_straddles_two_words(sizes):
    layout = Layout.of(sizes)
    taken = set()
    for size, word, shift, mask in zip(sizes, layout.word, layout.shift, layout.mask, strict=True):
        width = int(mask).bit_length()
        assert size - 1 <= int(mask)
        assert shift + width <= 64
        assert word < layout.words
        cells = {(int(word), int(shift) + bit) for bit in range(width)}
        assert not cells & taken
        taken |= cells


def test_a_wide_attribute_rolls_up_from_a_coarse_level():
    """The field keeps the width of the values, the map only knows the groups of the level it starts from."""
    codes = np.arange(100_000, dtype=np.int32)
    classes = FrequencySet.count({"id": (codes, len(codes))})
    tens = classes.rollup({"id": codes // np.int32(10_000)})
    assert tens.rollup({"id": np.array([0] * 5 + [1] * 5, np.int32)}).counts.tolist() == [50_000, 50_000]
    with pytest.raises(ValueError, match="does not know"):
        classes.rollup({"id": np.zeros(10, np.int32)})
