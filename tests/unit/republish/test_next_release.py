"""What all releases of a table give away together."""

from types import SimpleNamespace

import numpy as np

from shoal.attacks import Channel, Finding
from shoal.republish.next_release import _with_differences


def test_who_is_exposed_in_two_ways_is_counted_once():
    """Of five lines 0 and 1 have too few values left; 1 and 2 stand in a group that is told apart and fails."""
    fewer = np.array([True, True, False, False, False])
    touched = np.array([False, True, True, True, False])
    history = SimpleNamespace(group=np.array([0, 4, 4, 7, 0]), values={})
    context = SimpleNamespace(sensitive=(), flag_complying=lambda values, group, count: np.array([False, True]))
    finding = Finding("compose", Channel.COMPOSITION, 2, 5, "2 of 5 people", {})
    found = _with_differences(context, SimpleNamespace(history=history, touched=touched), finding, fewer)
    assert (found.exposed, found.figures["of_them_below_the_policy"]) == (3, 2)
    assert found.figures["people_in_groups_told_apart"] == 3
