"""Guidance as named thresholds (models.md 3)."""

from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.codes import Table, encode
from shoal.errors import BadInput
from shoal.risk.identifiers import identifiers
from shoal.risk.presets import PRESETS, PresetFigures, judged, known_preset


def judge(name, *sizes, findings=()):
    return judged(known_preset(name), PresetFigures(np.array(sizes), findings))


@pytest.mark.parametrize("name", ["ema-0070", "health-canada"])
def test_a_threshold_of_0_09_needs_twelve_rows(name):
    """models.md 3: 1/11 = .0909 > .09, so 12 are needed; 11 is the usual rounding: both are shown."""
    assert judge(name, 12, 40).holds
    eleven = judge(name, 11, 40)
    assert eleven.holds is False
    assert "0.0909" in eleven.why
    assert eleven.attained["k"] == 11
    assert known_preset(name).asked == {"max_risk": 0.09, "k": 12, "k_rounded": 11}


@pytest.mark.parametrize(("name", "k"), [("cms", 11), ("ferpa-3", 3), ("ferpa-5", 5), ("ferpa-10", 10)])
def test_presets_ask_for_the_least_size_of_a_cell(name, k):
    """models.md 3: the least size of a cell."""
    assert judge(name, k, 40).holds
    few = judge(name, k - 1, 40)
    assert few.holds is False
    assert few.attained == {"k": k - 1, "small_cells": 1, "rows_in_them": k - 1}


def test_safe_harbor():
    mail = identifiers(Table({"contact": encode("contact", pa.array(["a@b.org"]))}, 1))
    assert judge("hipaa-safe-harbor", 1, findings=mail).document()["attained"]["columns"] == ["contact"]
    assert judge("hipaa-safe-harbor", 1, findings=mail).holds is False
    clean = judge("hipaa-safe-harbor", 1)
    assert clean.holds
    assert "actual knowledge" in clean.why


@pytest.mark.parametrize("name", ["hipaa-expert", "wp216"])
def test_no_number_is_invented(name):
    """models.md 3: the law names none."""
    found = judge(name, 5)
    assert found.holds is None
    assert known_preset(name).asked == {}


@pytest.mark.parametrize("name", PRESETS)
def test_each_says_what_it_asks_and_who_asks_it(name):
    told = judge(name, 20).document()
    assert told["preset"] == name
    assert told["asks"]
    assert told["source"]


def test_unknown_presets_are_refused():
    with pytest.raises(BadInput, match=r"there is no preset 'ema' \(did you mean 'ema-0070'\?\)"):
        known_preset("ema")
    with pytest.raises(BadInput, match="'cms' looks at classes"):
        judged(known_preset("cms"), PresetFigures(None, ()))


def test_every_name_that_is_exported_is_there():
    risk = import_module("shoal.risk")
    assert [name for name in risk.__all__ if not hasattr(risk, name)] == []
