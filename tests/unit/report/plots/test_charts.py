"""The front is what a loop over all pairs leaves."""

import shoal as sh


def test_front_by_all_pairs(nodes):
    shown = sh.plot.ParetoFront(nodes)
    points = [(row.suppressed, row.metrics["loss"]) for row in nodes.nodes if row.complies]

    def beaten(one):
        return any(a <= one[0] and b <= one[1] and (a, b) != one for a, b in points)

    axes = shown.plot()
    rest, front, best = (each.get_offsets().tolist() for each in axes.collections[:3])
    assert sorted(map(tuple, front)) == sorted(one for one in points if not beaten(one))
    assert sorted(map(tuple, rest)) == sorted(one for one in points if beaten(one))
    assert [tuple(each) for each in best] == [min(points, key=lambda one: one[1])]
    assert axes.lines[0].get_xdata().tolist() == sorted(axes.lines[0].get_xdata())


def test_nothing_complies(people):
    policy = {
        "attributes": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "max-level": 1},
            "$town": {"role": "quasi-identifier", "hierarchy": {"flat": True}, "max-level": 0},
            "ill": "insensitive",
        },
        "require": [{"model": "k-anonymity", "k": 200}],
    }
    axes = sh.plot.ParetoFront(sh.lattice(people, policy)).plot()
    assert "no node complies" in [text.get_text() for text in axes.texts]
