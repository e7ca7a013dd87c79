"""Two columns of numbers in growing intervals, and a spy on what is rolled up."""

import numpy as np
import pytest
from naive import numbers

from shoal.data.frequency_set import FrequencySet
from shoal.recoding.outcome import Before


@pytest.fixture
def before():
    rng = np.random.default_rng(0)
    columns = {name: (rng.integers(0, 100, 3000, dtype=np.int32), 100) for name in "ab"}
    return Before(FrequencySet.count(columns), tuple(numbers(name, 100, [5, 20, 100]) for name in "ab"))


@pytest.fixture
def sources(monkeypatch):
    """Sizes of the sets that were rolled up."""
    seen = []
    real = FrequencySet.rollup

    def spy(self, *given, **options):
        seen.append(len(self))
        return real(self, *given, **options)

    monkeypatch.setattr(FrequencySet, "rollup", spy)
    return seen
