"""What runs on executors, run here: pieces of a file hold every line once, labels are found behind their keys."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.packed_keys import Layout
from shoal.engines.spark import executors

HOW = {"delimiter": ",", "quote_char": '"'}


def numbered(count):
    return [pa.record_batch({"id": pa.array(range(count), pa.int64())})]


def pieces(path, body, step):
    size = path.stat().st_size
    return [(str(path), body, start, min(start + step, size)) for start in range(body, size, step)]


@pytest.mark.some(2)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_every_record_is_in_one_piece_wherever_the_file_is_cut(tmp_path, end, last):
    rows = [("a", "1"), ("", ""), ("é, ü", "22"), ('say "so"', ""), ("b", "333")]
    cells = ['"' + a.replace('"', '""') + f'",{b}' for a, b in rows]
    path = tmp_path / "people.csv"
    path.write_bytes(("x,y" + end + end.join(cells) + (end if last else "")).encode())
    body, mark = len("x,y" + end), b"\r" if end == "\r" else b"\n"
    for step in range(1, path.stat().st_size - body + 1):
        cut = pieces(path, body, step)
        found = list(executors.parse_csv(cut, mark, HOW, 2)(numbered(len(cut))))
        seen = [tuple(row.values()) for batch in found for row in batch.to_pylist()]
        assert seen == rows
        (looked,) = executors.find_torn_pieces(cut, mark, b'"')(numbered(len(cut)))
        assert not any(looked["torn"].to_pylist())


def test_a_line_end_inside_a_cell_is_seen_and_such_a_file_read_whole(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b'x,y\n"two\nlines",1\nplain,2\n')
    cut = pieces(path, 4, 9)
    (looked,) = executors.find_torn_pieces(cut, b"\n", b'"')(numbered(len(cut)))
    assert any(looked["torn"].to_pylist())
    (whole,) = executors.parse_csv([(str(path), 4, 4, -1)], b"\n", HOW, 2)(numbered(1))
    assert whole.column(0).to_pylist() == ["two\nlines", "plain"]


def test_what_cannot_be_cut_names_no_cell(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"x,y\nsecret,2,3\n")
    with pytest.raises(ValueError, match="cannot be cut") as said:
        list(executors.parse_csv(pieces(path, 4, 99), b"\n", HOW, 2)(numbered(1)))
    assert "secret" not in str(said.value)


@pytest.mark.parametrize("sizes", [[3, 4], [1 << 40, 1 << 30]])
def test_labels_are_found_again_behind_keys(sizes):
    layout = Layout.of(sizes)
    raws = [pa.array(["a", None, "b"]), pa.array([0.0, float("nan"), 2.5])]
    codes = np.array([0, 1, 2], dtype=np.uint64)
    rows = pa.record_batch({"x": pa.array(["b", None, "a"]), "y": pa.array([-0.0, 2.5, float("nan")])})
    given = [(raw, codes << np.uint64(layout.shift[i]), int(layout.word[i])) for i, raw in enumerate(raws)]
    (keys,) = executors.keyed(SimpleNamespace(value=given), layout.words, "changed")([rows])
    where = [(raw, int(layout.word[i]), int(layout.shift[i]), int(layout.mask[i])) for i, raw in enumerate(raws)]
    (found,) = executors.labelled(SimpleNamespace(value=where), ["x", "y"])([keys])
    assert found.column(0).to_pylist() == ["b", None, "a"]
    assert repr(found.column(1).to_pylist()) == "[0.0, 2.5, nan]"
    with pytest.raises(ValueError, match="changed"):
        list(executors.keyed(SimpleNamespace(value=given), layout.words, "changed")([rows.slice(0, 0), _other()]))


def _other():
    return pa.record_batch({"x": pa.array(["unknown"]), "y": pa.array([2.5])})
