import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import examples
from naive_attacks import release, table

from shoal.attacks.label_sets import meaning_of
from shoal.attacks.record_linkage import classes_holding
from shoal.errors import BadInput
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.mask import Mask


def covers(published, name, *known):
    meaning = meaning_of(published, name, *known)
    texts = [*meaning.column.texts.to_pylist(), *([None] if meaning.column.has_null else [])]
    labels = published.quasi_identifiers[name].labels
    return {
        label: [t for t, inside in zip(texts, flags, strict=True) if inside]
        for label, flags in zip(labels, meaning.covered.tolist(), strict=True)
    }


def test_labels_are_read_without_the_original():
    published = release("a", [], a=["[20, 22]", "{30 | 31}", "40", "*", None])
    assert covers(published, "a") == {
        "[20, 22]": ["20", "21", "22"],
        "{30 | 31}": ["30", "31"],
        "40": ["40"],
        "*": ["20", "21", "22", "30", "31", "40", None],
        None: [None],
    }


def test_a_tree_knows_its_own_leaves():
    published = release("a", [], {"a": Tree({"any": {"x": ["p", "q"], "y": ["r"]}})}, a=["x", "*"])
    assert covers(published, "a") == {"x": ["p", "q"], "*": ["p", "q", "r"]}


def test_ranges_of_a_hierarchy_are_read():
    published = release("a", [], {"a": Intervals([10, 20])}, a=["[20, 40)"])
    assert covers(published, "a")["[20, 40)"] == [str(n) for n in range(20, 40)]


def test_masks_stand_for_themselves_until_values_are_known():
    published = release("a", [], {"a": Mask("right")}, a=["12*"])
    assert covers(published, "a") == {"12*": ["12*"]}
    assert covers(published, "a", table(a=["121", "135"])["a"]) == {"12*": ["121"]}


def test_a_column_that_is_not_there():
    with pytest.raises(BadInput, match="'b'"):
        meaning_of(release("a", [], a=["1"]), "b")


@examples(60)
@given(st.lists(st.integers(0, 29), min_size=1, max_size=8), st.lists(st.integers(0, 29), min_size=1, max_size=5))
def test_classes_hold_whom_all_their_labels_cover(rows, people):
    labels = [f"[{a // 10 * 10}, {a // 10 * 10 + 10})" if a % 2 else "*" for a in rows]
    published = release("ab", [], a=labels, b=["x" if a % 3 else "y" for a in rows])
    register = table(a=[str(a) for a in people], b=["x" if a % 3 else "y" for a in people])
    found = classes_holding(published, register)
    for person, classes in zip(people, found, strict=True):
        fits = {
            int(published.class_of_row[i])
            for i, a in enumerate(rows)
            if (a % 2 == 0 or a // 10 == person // 10) and bool(a % 3) == bool(person % 3)
        }
        assert sorted(classes.tolist()) == sorted(fits)
