"""Clusters along hierarchies: sizes, and what the kernel refuses."""

import numpy as np
import pytest

from shoal.kernels._core import Clusters

CODES = np.arange(6, dtype=np.int32)[:, None].copy()
ROWS = np.ones(6, dtype=np.int64)
PAIRS = np.stack([np.arange(6), np.arange(6) // 2, np.zeros(6)], axis=1).astype(np.int32)
LOSSES = np.tile([0.0, 0.2, 1.0], (6, 1))


def made(codes=CODES, rows=ROWS, groups=PAIRS, losses=LOSSES, least=2):
    return Clusters(codes, rows, [groups], [losses], least, [], 4, 100, 0)


def test_neighbours_come_together():
    clusters = made()
    clusters.improve(0.1, 0.0)
    found = clusters.clusters()
    assert len(set(found.tolist())) == 3
    assert (found[::2] == found[1::2]).all()


def test_more_rows_than_there_are_make_one_cluster():
    assert set(made(least=7).clusters().tolist()) == {0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": ROWS[:5]},
        {"codes": CODES + np.int32(1)},
        {"codes": CODES - np.int32(1)},
        {"losses": LOSSES[:, :2].copy()},
        {"groups": PAIRS[:, :2].copy(), "losses": LOSSES[:, :2].copy()},
        {"groups": PAIRS + np.int32(6)},
    ],
)
def test_reads_beyond_the_arrays_are_refused(wrong):
    with pytest.raises(ValueError, match=r"needed|know|top|groups"):
        made(**wrong)
