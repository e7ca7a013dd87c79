"""The order in which folders are moved and the disk is told to keep that: a journal is on disk before what it tells."""

import gc
import os
import signal
from pathlib import Path

import pytest

from shoal.runtime.tempdir import Move, Scratch, move_together, stage_prefix


@pytest.fixture
def moves(tmp_path):
    """Two folders that replace older ones together, the private one in a folder of its own."""
    (tmp_path / "safe").mkdir()
    made = []
    for place in (tmp_path / "safe" / "kept", tmp_path / "out"):
        place.mkdir()
        stage = Scratch(place.parent, stage_prefix(place))
        (stage.path / "new").mkdir()
        made.append((stage, Move(stage.path, place)))
    yield [move for _, move in made]
    for stage, _ in made:
        stage.close()


@pytest.fixture
def done(tmp_path, monkeypatch, moves):
    """What is done to folders, in order, in short names."""
    steps = []
    names = {str(move.stage): f"stage of {move.place.name}" for move in moves} | {str(tmp_path): "parent"}

    def short(path):
        text = str(path)
        for long in sorted(names, key=len, reverse=True):
            text = text.replace(long, names[long])
        return text

    def watched(name, tell):
        real = getattr(os, name)

        def call(*given, **how):
            steps.append(tell(*given))
            return real(*given, **how)

        monkeypatch.setattr(os, name, call)

    watched("fsync", lambda handle: f"sync {short(Path(f'/proc/self/fd/{handle}').readlink())}")
    watched("rename", lambda of, to: f"{short(of)} -> {short(to)}")
    watched("replace", lambda of, to: f"{short(of)} -> {short(to)}")
    watched("unlink", lambda of: f"remove {short(of)}")
    return steps


def test_every_step_is_on_disk_before_the_next_relies_on_it(moves, done):
    move_together(moves, lambda: done.append("last"), "mark")
    assert done == [
        # what tells whether the last step happened
        "sync stage of out/waiting",
        # both journals, the deciding one last: each is whole, in its stage, and the stage is in its parent
        "sync stage of kept/moves.json.new",
        "stage of kept/moves.json.new -> stage of kept/moves.json",
        "sync stage of kept",
        "sync parent/safe",
        "sync stage of out/moves.json.new",
        "stage of out/moves.json.new -> stage of out/moves.json",
        "sync stage of out",
        "sync parent",
        # the private folder, and its parent
        "parent/safe/kept -> stage of kept/old",
        "stage of kept/new -> parent/safe/kept",
        "sync stage of kept",
        "sync parent/safe",
        # the public folder, and its parent
        "parent/out -> stage of out/old",
        "stage of out/new -> parent/out",
        "sync stage of out",
        "sync parent",
        # whatever else belongs to it, from which nobody goes back, then the end of the deciding journal
        "stage of out/waiting -> stage of out/doubt",
        "sync stage of out",
        "last",
        "remove stage of out/moves.json",
        "sync stage of out",
        "remove stage of kept/moves.json",
    ]


def test_what_is_put_back_is_on_disk_before_the_journal_ends(moves, done):
    def fail():
        done.clear()
        raise OSError

    with pytest.raises(OSError, match=r"^$"):
        move_together(moves, fail)
    assert done == [
        "parent/out -> stage of out/new",
        "stage of out/old -> parent/out",
        "sync stage of out",
        "sync parent",
        "parent/safe/kept -> stage of kept/new",
        "stage of kept/old -> parent/safe/kept",
        "sync stage of kept",
        "sync parent/safe",
        "remove stage of out/moves.json",
        "sync stage of out",
    ]
    assert all(move.place.is_dir() and not move.old.exists() for move in moves)


def test_a_file_is_on_disk_before_it_gets_its_name(tmp_path, done):
    from shoal.publish.folder import put_file, write_whole

    done.clear()
    write_whole(tmp_path / "policy.toml", "k = 3")
    made, moved, kept = done[:3]
    assert made.startswith("sync parent/.policy.toml.")
    assert moved.endswith(" -> parent/policy.toml")
    assert kept == "sync parent"
    done.clear()
    put_file(tmp_path / "out", "report.html", "<p>")
    made, moved, kept = done[:3]
    assert made.endswith("/report.html")
    assert made.startswith("sync parent/.out.shoal-")
    assert moved.endswith("/report.html -> parent/out/report.html")
    assert kept == "sync parent/out"
    assert Path(tmp_path / "out" / "report.html").read_text() == "<p>"


@pytest.mark.some(2)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("call", ["mkdir", "unlink", "rmdir"])
def test_a_signal_while_a_folder_is_made_or_removed_leaves_nothing(tmp_path, monkeypatch, sent, call):
    real, done = getattr(os, call), []

    def interrupted(*given, **how):
        if not done:
            done.append(given)
            signal.raise_signal(sent)
        return real(*given, **how)

    def stop(*_):
        raise KeyboardInterrupt

    def make_and_remove():
        stage = Scratch(tmp_path, ".out.shoal-")
        (stage.path / "file").touch()
        stage.close()

    former = signal.signal(sent, stop)
    monkeypatch.setattr(os, call, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            make_and_remove()
    finally:
        signal.signal(sent, former)
    assert done
    gc.collect()  # one that was made and is held by nobody is removed
    assert not list(tmp_path.iterdir())
