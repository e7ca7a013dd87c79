"""Both folders or none, nothing left beside them, and nothing replaced that Shoal did not write."""

import json
import os
import signal
import stat
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.errors import BadInput, BadOutput
from shoal.publish.folder import Places, put_file, refuse_irregular, write_whole
from shoal.runtime.tempdir import settle


def fill(places, text="new"):
    with places.staging_folders() as (public, secret):
        (public / "data.csv").write_text(text)
        (public / "manifest.json").write_text('{"shoal": "0"}')
        (secret / "rows.arrow").write_text(text)
        (secret / "manifest.json").write_text('{"shoal": "0"}')


def choose(folder, *, force=False, private=None, source=None):
    return Places.choose(folder / "out", private, source, force=force)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_both_folders_appear(tmp_path):
    fill(choose(tmp_path))
    assert names(tmp_path) == ["out", "out.private"]
    assert (tmp_path / "out" / "data.csv").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "out.private").stat().st_mode) == 0o700


def test_another_private_folder(tmp_path):
    (tmp_path / "safe").mkdir()
    fill(choose(tmp_path, private=tmp_path / "safe" / "kept"))
    assert names(tmp_path) == ["out", "safe"]
    assert names(tmp_path / "safe") == ["kept"]


def _fail_halfway(public, error):
    (public / "data.csv").write_text("half")
    raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("older", [False, True])
def test_no_folder_appears_when_something_goes_wrong(tmp_path, error, older):
    if older:
        fill(choose(tmp_path), "old")
    with pytest.raises(error), choose(tmp_path, force=True).staging_folders() as (public, _):
        _fail_halfway(public, error)
    assert names(tmp_path) == (["out", "out.private"] if older else [])
    if older:
        assert (tmp_path / "out" / "data.csv").read_text() == "old"


def test_an_error_of_the_disk_is_a_sentence(tmp_path):
    with (
        pytest.raises(BadOutput, match=r"could not be written \(input/output error\); nothing"),
        choose(tmp_path).staging_folders(),
    ):
        raise OSError
    assert names(tmp_path) == []


def test_an_older_release_is_replaced_whole(tmp_path):
    fill(choose(tmp_path), "old")
    (tmp_path / "out" / "data.parquet").write_text("old")
    fill(choose(tmp_path, force=True))
    assert names(tmp_path / "out") == ["data.csv", "manifest.json"]
    assert (tmp_path / "out.private" / "rows.arrow").read_text() == "new"


@pytest.mark.parametrize("name", [".git", "notes.txt", "data.csv.bak"])
def test_a_release_with_something_else_in_it_is_never_replaced(tmp_path, name):
    fill(choose(tmp_path))
    (tmp_path / "out" / name).write_text("mine")
    with pytest.raises(BadOutput, match="not a release"):
        choose(tmp_path, force=True)


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"name": "an app"})])
def test_a_manifest_of_something_else_is_no_release(tmp_path, content):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text(content)
    with pytest.raises(BadOutput, match="not a release"):
        choose(tmp_path, force=True)


@pytest.mark.parametrize("out", ["/", ".", ""])
def test_the_root_and_the_current_folder_are_refused(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadOutput, match="give a new folder"):
        Places.choose(out, None, None, force=True)


def test_a_policy_is_written_whole_or_not(tmp_path, monkeypatch):
    path = tmp_path / "policy.toml"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half \ud800")
    assert path.read_text() == "old"
    write_whole(path, "ä")
    assert path.read_text("utf-8") == "ä"
    assert names(tmp_path) == ["policy.toml"]


def test_a_link_stays_and_the_file_behind_it_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "policy.toml", tmp_path / "policy.toml"
    file.write_text("old")
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert names(tmp_path / "elsewhere") == ["policy.toml"]


def test_a_pipe_a_device_and_a_link_to_either_are_not_replaced(tmp_path):
    pipe, to_pipe, to_device, to_nothing = (tmp_path / name for name in ("pipe", "to_pipe", "to_device", "to_nothing"))
    os.mkfifo(pipe)
    to_pipe.symlink_to(pipe)
    to_device.symlink_to("/dev/null")
    to_nothing.symlink_to(tmp_path / "nowhere")
    before = names(tmp_path)
    for path in (pipe, to_pipe):
        with pytest.raises(BadOutput, match="this is a device or a pipe, not a regular file; name a file"):
            write_whole(path, "new")
    for path in (to_device, Path("/dev/null")):  # only asked: a fault must not replace it on this machine
        with pytest.raises(BadOutput, match="this is a device or a pipe, not a regular file; name a file"):
            refuse_irregular(path)
    with pytest.raises(BadOutput, match="this is a link to a file that does not exist"):
        write_whole(to_nothing, "new")
    with pytest.raises(BadOutput, match="this is a folder"):
        write_whole(tmp_path, "new")
    assert names(tmp_path) == before
    assert pipe.is_fifo()


def test_two_runs_into_one_folder_at_once_are_refused(tmp_path):
    (tmp_path / "other").mkdir()
    with choose(tmp_path).reserve() as first:
        with pytest.raises(BadOutput, match=r"^out: another run is writing this release \(\.out\.shoal-.{8} is"):
            fill(choose(tmp_path))
        with (
            pytest.raises(BadOutput, match=r"^out\.private: another run"),
            choose(tmp_path / "other", private=tmp_path / "out.private").reserve(),
        ):
            raise AssertionError
        fill(first, "first")
    assert names(tmp_path) == ["other", "out", "out.private"]
    assert names(tmp_path / "other") == []
    assert (tmp_path / "out" / "data.csv").read_text() == "first"


def test_what_somebody_put_there_meanwhile_is_not_replaced(tmp_path):
    chosen = choose(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"shoal": "0"}')
    with pytest.raises(BadOutput, match="there is a release already"):
        fill(chosen)
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", range(4))
def test_a_signal_waits_until_the_folders_have_changed(tmp_path, monkeypatch, sent, moment):
    fill(choose(tmp_path), "old")
    real, done = os.rename, []

    def rename(*paths):
        if len(done) == moment:
            signal.raise_signal(sent)
        done.append(paths)
        return real(*paths)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", rename)
    before = signal.signal(sent, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            fill(choose(tmp_path, force=True))
    finally:
        signal.signal(sent, before)
    assert names(tmp_path) == ["out", "out.private"]
    assert (tmp_path / "out" / "data.csv").read_text() == (tmp_path / "out.private" / "rows.arrow").read_text() == "new"


@pytest.mark.parametrize("moment", range(4))
@pytest.mark.parametrize("back", [True, False])
def test_a_disk_that_fails_halfway(tmp_path, monkeypatch, moment, back):
    """What was there before comes back at once or, if that fails too, with the next look at it."""
    fill(choose(tmp_path), "old")
    real, done = os.rename, []

    def rename(*paths):
        done.append(paths)
        if len(done) == moment + 1 or (not back and len(done) > moment):
            raise OSError(5, "Input/output error")
        return real(*paths)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(BadInput, match=r"nothing was changed|cannot be put back"):
            fill(choose(tmp_path, force=True))
    if back:
        assert names(tmp_path) == ["out", "out.private"]
    settle(tmp_path / "out")
    assert (tmp_path / "out" / "data.csv").read_text() == (tmp_path / "out.private" / "rows.arrow").read_text() == "old"
    choose(tmp_path, force=True)
    assert names(tmp_path) == ["out", "out.private"]


def test_a_journal_that_somebody_made_up_moves_nothing(tmp_path):
    """A folder from elsewhere, with a journal beside it, must not have other folders moved or removed."""
    fill(choose(tmp_path), "mine")
    (tmp_path / "got").mkdir()
    fill(choose(tmp_path / "got"), "theirs")
    stage = tmp_path / "got" / ".out.shoal-abcdefgh"
    (stage / "new").mkdir(parents=True)
    told = [["../.out.private.shoal-abcdefgh", "../out.private"], [".out.shoal-abcdefgh", "out"]]
    (stage / "moves.json").write_text(json.dumps(told))
    settle(tmp_path / "got" / "out")
    choose(tmp_path / "got", force=True)
    assert names(tmp_path) == ["got", "out", "out.private"]
    assert (tmp_path / "out.private" / "rows.arrow").read_text() == "mine"


@pytest.mark.parametrize("length", [232, 240, 300, 5000])
def test_a_name_that_is_too_long(tmp_path, length):
    with pytest.raises(BadOutput, match=r"^x{20}…: this name of a folder is too long; give one of at most 239 bytes$"):
        Places.choose(tmp_path / ("x" * length), None, None, force=False)


def test_the_longest_name(tmp_path):
    name = "x" * (239 - len(".private"))
    fill(Places.choose(tmp_path / name, None, None, force=False))
    assert names(tmp_path) == [name, f"{name}.private"]


def test_a_release_that_is_just_being_replaced_is_not_called_something_else(tmp_path, monkeypatch):
    """Another run has moved one of both folders: it is asked to wait, not told that this is no release."""
    fill(choose(tmp_path), "old")
    monkeypatch.setattr("shoal.runtime.tempdir._PAUSE", 0)

    def meanwhile():
        with pytest.raises(BadInput, match=r"^out: another run is just putting it into place; wait until"):
            choose(tmp_path, force=True)
        asked.append(1)

    asked = []
    with choose(tmp_path, force=True).staging_folders(meanwhile) as folders:
        for folder in folders:
            (folder / "manifest.json").write_text('{"shoal": "0"}')
    assert asked


def test_what_arrow_says_of_a_failure_is_told_without_its_path(tmp_path):
    missing = tmp_path / "missing" / "rows.arrow"
    with (
        pytest.raises(BadOutput, match=r"^out: the release could not be written \(No such file or directory\);"),
        choose(tmp_path).staging_folders(),
    ):
        pa.OSFile(str(missing), "wb")


def test_a_lock_that_fails_after_the_move_sinks_only_the_report(tmp_path, monkeypatch):
    """The release stands in its place: nobody may say that it cannot be put back."""
    fill(choose(tmp_path), "old")
    places = choose(tmp_path, force=True)
    with places.reserve() as held:
        fill(held)
        monkeypatch.setattr("shoal.runtime.tempdir.fcntl.flock", fail_to_lock)
        with (
            pytest.raises(BadOutput, match=r"published, but there is no verdict yet: .*; its report could not be made"),
            held.explain_report_errors(),
        ):
            put_file(tmp_path / "out", "report.html", "<p>")
        monkeypatch.undo()
    assert names(tmp_path) == ["out", "out.private"]
    assert (tmp_path / "out" / "data.csv").read_text() == "new"


def fail_to_lock(handle, _):
    if ".shoal-" in str(Path(f"/proc/self/fd/{handle}").readlink()):
        raise OSError(5, "Input/output error")


def test_a_path_that_is_not_utf_8(tmp_path):
    """No database could open what is written there."""
    odd = tmp_path / os.fsdecode(b"par\x80")
    odd.mkdir()
    for out in (odd, odd / "out"):
        with pytest.raises(BadOutput, match="not written in UTF-8"):
            Places.choose(out, None, None, force=False)
