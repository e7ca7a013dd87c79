"""The compiled core against dictionaries and np.unique."""

from collections import Counter

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.packed_keys import Layout
from shoal.errors import BadData
from shoal.kernels._core import group_columns, marginals, merge_counts, rollup

PARALLEL = 2**18


def bits(layout):
    return [int(mask).bit_length() for mask in layout.mask]


def unpacked(keys, layout):
    """The tuple of codes of every key, in Python integers."""
    rows = []
    for key in keys.tolist():
        fields = zip(layout.word.tolist(), layout.shift.tolist(), layout.mask.tolist(), strict=True)
        rows.append(tuple((key[word] >> shift) & mask for word, shift, mask in fields))
    return rows


def in_order(rows, weights=None):
    """Groups in the order of their first appearance with their counts, and the group of each row."""
    counts, ids = {}, []
    for row, weight in zip(rows, [1] * len(rows) if weights is None else weights, strict=True):
        counts[row] = counts.get(row, 0) + weight
        ids.append(list(counts).index(row))
    return list(counts), list(counts.values()), ids


@st.composite
def tables(draw, most_rows=30):
    """Field sizes of any width, columns whose codes use the whole field, and weights."""
    sizes = draw(
        st.lists(st.one_of(st.integers(1, 9), st.integers(10, 3000), st.just(2**31 - 1)), min_size=1, max_size=12)
    )
    n = draw(st.integers(0, most_rows))
    # few different codes per column, so that groups really meet
    pools = [draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3)) for size in sizes]
    columns = [draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n)) for pool in pools]
    weights = draw(st.none() | st.lists(st.integers(0, 2**40), min_size=n, max_size=n))
    return sizes, [np.array(column, np.int32) for column in columns], weights


def grouped(columns, layout, weights=None, *, want_ids=True):
    given = None if weights is None else np.array(weights, np.int64)
    return group_columns(columns, *layout.fields, layout.words, given, want_ids)


@settings(deadline=None, derandomize=True)
@given(tables())
def test_group_columns_counts_like_a_dictionary(table):
    sizes, columns, weights = table
    layout = Layout.of(sizes)
    keys, counts, ids = grouped(columns, layout, weights)
    expected = in_order(list(zip(*(c.tolist() for c in columns), strict=True)), weights)
    assert (unpacked(keys, layout), counts.tolist(), ids.tolist()) == expected
    assert keys.shape == (len(counts), layout.words)


@pytest.mark.parametrize(("fields", "words"), [(1, 1), (2, 1), (3, 2), (7, 4), (15, 8), (31, 16)])
@pytest.mark.parametrize("rows", [0, 1, 257])
def test_keys_of_every_width(fields, words, rows):
    """31 bits per field, so two fit in a word; every word takes part in telling groups apart."""
    layout = Layout.of([2**31] * fields)
    assert layout.words == words
    rng = np.random.default_rng(fields)
    columns = [rng.choice([0, 1, 2**31 - 1], rows).astype(np.int32) for _ in range(fields)]
    if rows > 2:
        for column in columns:
            column[:2] = 7  # two equal rows …
        for i, column in enumerate(columns):
            column[2 + i] = 2**31 - 2  # … and rows that differ in one field
    keys, counts, ids = grouped(columns, layout)
    expected = in_order(list(zip(*(c.tolist() for c in columns), strict=True)))
    assert (unpacked(keys, layout), counts.tolist(), ids.tolist()) == expected
    maps = [None if i % 2 else np.array([0, 5], np.int32) for i in range(fields)]
    small = [np.minimum(column, 1) for column in columns]
    _, counts, _ = grouped(small, layout)
    keys, _, _ = grouped(small, layout)
    keys, counts, _ = rollup(keys, counts, *layout.fields, maps, want_ids=False)
    lifted = [c if i % 2 else c * 5 for i, c in enumerate(small)]
    assert dict(zip(unpacked(keys, layout), counts.tolist(), strict=True)) == Counter(
        zip(*(c.tolist() for c in lifted), strict=True)
    )


@pytest.mark.parametrize("rows", [PARALLEL - 1, PARALLEL, PARALLEL + 12_345])
@pytest.mark.parametrize("sizes", [[50, 7, 3], [90_000, 2]])
def test_the_parallel_path_gives_the_same_as_the_serial_one(rows, sizes):
    rng = np.random.default_rng(rows)
    columns = [rng.integers(0, size, rows, dtype=np.int32) for size in sizes]
    weights = rng.integers(0, 1000, rows)
    layout = Layout.of(sizes)
    keys, counts, ids = grouped(columns, layout, weights)
    packed = np.ravel_multi_index(columns, sizes)
    values, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    order = np.argsort(first)  # the kernel's order: first appearance
    mine = np.array([np.ravel_multi_index(row, sizes) for row in unpacked(keys[:1000], layout)])
    np.testing.assert_array_equal(mine, values[order][:1000])
    np.testing.assert_array_equal(ids, np.argsort(order)[inverse])
    np.testing.assert_array_equal(counts, np.bincount(ids, weights=weights).astype(np.int64))
    without = grouped(columns, layout, weights, want_ids=False)
    np.testing.assert_array_equal(without[0], keys)
    np.testing.assert_array_equal(without[1], counts)
    assert without[2] is None


def test_parallel_rollup():
    rng = np.random.default_rng(1)
    sizes, n = [500, 4000, 3], PARALLEL + 500
    columns = [rng.integers(0, size, n, dtype=np.int32) for size in sizes]
    layout = Layout.of(sizes)
    keys, counts, _ = grouped(columns, layout)
    # few rows are equal, so the distinct keys alone take the parallel path
    assert len(keys) > PARALLEL * 0.9
    keys, counts = np.vstack([keys, keys]), np.concatenate([counts, counts])
    maps = [(np.arange(500) // 7).astype(np.int32), (np.arange(4000) // 900).astype(np.int32), None]
    rolled, total, ids = rollup(keys, counts, *layout.fields, maps, want_ids=True)
    packed = (columns[0] // 7 * 5 + columns[1] // 900) * 3 + columns[2]
    values, expected = np.unique(packed, return_counts=True)
    mine = [(a * 5 + b) * 3 + c for a, b, c in unpacked(rolled, layout)]
    assert dict(zip(mine, total.tolist(), strict=True)) == dict(
        zip(values.tolist(), (2 * expected).tolist(), strict=True)
    )
    np.testing.assert_array_equal(np.bincount(ids, weights=counts), total)


@st.composite
def rollups(draw):
    """A table, and for some of its fields a map to fewer codes; wide fields and unmapped ones between."""
    sizes = draw(st.lists(st.one_of(st.integers(1, 40), st.integers(1500, 5000)), min_size=1, max_size=10))
    n = draw(st.integers(0, 25))
    columns = [draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)) for size in sizes]
    maps = []
    for size in sizes:
        step, shift = draw(st.integers(1, size)), draw(st.integers(0, size - 1))
        mapped = (np.arange(size) // step + shift) % size
        maps.append(mapped.astype(np.int32) if draw(st.booleans()) else None)
    return sizes, [np.array(column, np.int32) for column in columns], maps


@naive.examples(300)
@given(rollups())
def test_rollup_is_mapping_each_code(instance):
    sizes, columns, maps = instance
    layout = Layout.of(sizes)
    keys, counts, _ = grouped(columns, layout)
    lifted = [
        tuple(code if m is None else int(m[code]) for code, m in zip(row, maps, strict=True))
        for row in unpacked(keys, layout)
    ]
    keys, counts, ids = rollup(keys, counts, *layout.fields, maps, want_ids=True)
    groups, _, expected_ids = in_order(lifted)
    rows = Counter(
        tuple(code if m is None else int(m[code]) for code, m in zip(row, maps, strict=True))
        for row in zip(*(c.tolist() for c in columns), strict=True)
    )
    assert unpacked(keys, layout) == groups
    assert ids.tolist() == expected_ids
    assert dict(zip(groups, counts.tolist(), strict=True)) == rows


def test_layouts_with_gaps_do_not_share_a_table():
    """Fields that are not neighbours, out of order, in one word."""
    word, shift = np.zeros(3, np.int32), np.array([40, 3, 20], np.int32)
    mask = np.array([7, 7, 7], np.uint64)
    columns = [np.array(c, np.int32) for c in ([1, 7, 1], [2, 6, 2], [3, 5, 4])]
    keys, counts, _ = group_columns(columns, word, shift, mask, 1, None, want_ids=False)
    maps = [np.arange(8, dtype=np.int32)[::-1].copy(), None, np.zeros(8, np.int32)]
    keys, counts, _ = rollup(keys, counts, word, shift, mask, maps, want_ids=False)
    assert keys[:, 0].tolist() == [(6 << 40) | (2 << 3), 6 << 3]
    assert counts.tolist() == [2, 1]


@settings(deadline=None, derandomize=True)
@given(tables(), st.randoms(use_true_random=False))
def test_marginals_are_histograms(table, random):
    sizes, columns, weights = table
    if max(sizes) > 5000:
        sizes, columns = [min(size, 16) for size in sizes], [column % 16 for column in columns]
    layout = Layout.of(sizes)
    columns = [np.minimum(c, size - 1).astype(np.int32) for c, size in zip(columns, sizes, strict=True)]
    keys, counts, _ = grouped(columns, layout, weights)
    chosen = np.array([random.random() < 0.5 for _ in counts], dtype=bool)
    offset = np.concatenate([[0], np.cumsum(sizes)])
    found = marginals(keys, counts, chosen, *layout.fields, offset[:-1].copy(), int(offset[-1]))
    expected = [0] * int(offset[-1])
    for row, count, wanted in zip(unpacked(keys, layout), counts.tolist(), chosen.tolist(), strict=True):
        for code, start in zip(row, offset.tolist(), strict=False):
            expected[start + code] += count * wanted
    assert found.tolist() == expected


LAYOUT = Layout.of([8, 5000])
CODES = [np.array([0, 7], np.int32), np.array([4999, 0], np.int32)]
ONE = np.ones(2, np.int64)


@pytest.mark.parametrize(
    ("columns", "layout", "words", "weights"),
    [
        pytest.param(CODES[:1], LAYOUT.fields, 1, None, id="a column too few"),
        pytest.param([CODES[0], CODES[1][:1]], LAYOUT.fields, 1, None, id="different lengths"),
        pytest.param(CODES, LAYOUT.fields, 1, ONE[:1], id="a weight too few"),
        pytest.param([CODES[1], CODES[0]], LAYOUT.fields, 1, None, id="a code wider than its field"),
        pytest.param([np.array([-1, 0], np.int32), CODES[1]], LAYOUT.fields, 1, None, id="a negative code"),
        pytest.param(CODES, Layout.of([2**31] * 3).fields, 2, None, id="another layout"),
        pytest.param(CODES, (LAYOUT.word + np.int32(1), *LAYOUT.fields[1:]), 1, None, id="a word too far"),
        pytest.param(CODES, (LAYOUT.word - np.int32(1), *LAYOUT.fields[1:]), 1, None, id="a negative word"),
        pytest.param(CODES, (LAYOUT.word, LAYOUT.shift + np.int32(60), LAYOUT.mask), 1, None, id="shifted out"),
        pytest.param(CODES, (*LAYOUT.fields[:2], np.array([6, 7], np.uint64)), 1, None, id="a mask with a hole"),
        pytest.param(CODES, (*LAYOUT.fields[:2], np.array([0, 7], np.uint64)), 1, None, id="an empty mask"),
        pytest.param(CODES, (*LAYOUT.fields[:2], LAYOUT.mask[:1]), 1, None, id="uneven"),
    ],
)
def test_group_columns_refuses(columns, layout, words, weights):
    with pytest.raises(ValueError, match=r"."):
        group_columns(columns, *layout, words, weights, want_ids=False)


def test_keys_may_have_32_words_at_most():
    wide = Layout(np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1, np.uint64), words=33)
    with pytest.raises(ValueError, match=r"2,048 bits"):
        grouped([np.zeros(1, np.int32)], wide)
    assert Layout.of([2**31] * 40).words == 32
    with pytest.raises(BadData, match=r"2,048 bits"):
        Layout.of([2**31] * 80)


@pytest.mark.parametrize("codes", [np.zeros(2, np.int64), np.zeros((2, 1), np.int32), [0, 1], None])
def test_other_types_are_refused(codes):
    with pytest.raises(TypeError):
        group_columns([codes, CODES[1]], *LAYOUT.fields, 1, None, want_ids=False)


IDENTITY = np.arange(8, dtype=np.int32)


@pytest.mark.parametrize(
    ("maps", "counts"),
    [
        pytest.param([None], ONE, id="a map too few"),
        pytest.param([None, None], ONE[:1], id="a count too few"),
        pytest.param([np.arange(9, dtype=np.int32) % 8, None], ONE, id="a map longer than its field"),
        pytest.param([IDENTITY + np.int32(1), None], ONE, id="a map out of its field"),
        pytest.param([IDENTITY - np.int32(1), None], ONE, id="a map to a negative code"),
        pytest.param([None, np.zeros(4999, np.int32)], ONE, id="a code that the map does not know"),
    ],
)
@pytest.mark.parametrize("times", [1, PARALLEL])
def test_rollup_refuses(maps, counts, times):
    keys, _, _ = grouped(CODES, LAYOUT)
    keys, counts = np.repeat(keys, times, axis=0), np.repeat(counts, times)
    with pytest.raises(ValueError, match=r"."):
        rollup(keys, counts, *LAYOUT.fields, maps, want_ids=False)


def test_rollup_refuses_keys_of_an_odd_width():
    with pytest.raises(ValueError, match="unknown width"):
        rollup(np.zeros((1, 3), np.uint64), ONE[:1], *LAYOUT.fields, [None, None], want_ids=False)


@pytest.mark.parametrize(
    ("chosen", "offset", "total"),
    [
        pytest.param([True], [0, 8], 5008, id="a flag too few"),
        pytest.param([True, True], [0], 5008, id="an offset too few"),
        pytest.param([True, True], [0, 8], 5007, id="histograms too short"),
        pytest.param([True, True], [-9, 8], 5008, id="a negative offset"),
    ],
)
def test_marginals_refuse(chosen, offset, total):
    keys, counts, _ = grouped(CODES, LAYOUT)
    with pytest.raises(ValueError, match=r"."):
        marginals(keys, counts, np.array(chosen), *LAYOUT.fields, np.array(offset), total)


@naive.examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 9))),
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_merged_counts_are_those_of_a_dictionary(entries, into):
    """Classes 0 to 5 become classes 0 to 2; entries come out by class and value."""
    classes, values, counts = (
        np.array([entry[i] for entry in entries], kind) for i, kind in enumerate(["i4", "i4", "i8"])
    )
    found = merge_counts(classes, values, counts, np.array(into, np.int32), 3, 4)
    expected = Counter()
    for old, value, count in entries:
        expected[into[old], value] += count
    assert list(zip(*(part.tolist() for part in found), strict=True)) == [
        (*at, n) for at, n in sorted(expected.items())
    ]


@pytest.mark.parametrize(
    ("old", "value", "into"), [(1, 0, 0), (-1, 0, 0), (0, 4, 0), (0, -1, 0), (0, 0, 3), (0, 0, -1)]
)
def test_merged_counts_refuse(old, value, into):
    one = [np.array([old], np.int32), np.array([value], np.int32), np.array([1]), np.array([into], np.int32)]
    with pytest.raises(ValueError, match=r"not known|beyond"):
        merge_counts(*one, 3, 4)
