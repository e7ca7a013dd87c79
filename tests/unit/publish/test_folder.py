"""Both folders or none, nothing left beside them, and nothing replaced that Shoal did not write."""

import json
import stat

import pytest

from shoal.errors import BadOutput
from shoal.publish.folder import Places, write_whole


def fill(places, text="new"):
    with places.filled() as (public, secret):
        (public / "data.csv").write_text(text)
        (public / "manifest.json").write_text('{"shoal": "0"}')
        (secret / "rows.arrow").write_text(text)
        (secret / "manifest.json").write_text('{"shoal": "0"}')


def choose(folder, *, force=False, private=None, source=None):
    return Places.choose(folder / "out", private, source, force=force)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_both_appear(tmp_path):
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
def test_none_appears_when_something_goes_wrong(tmp_path, error, older):
    if older:
        fill(choose(tmp_path), "old")
    with pytest.raises(error), choose(tmp_path, force=True).filled() as (public, _):
        _fail_halfway(public, error)
    assert names(tmp_path) == (["out", "out.private"] if older else [])
    if older:
        assert (tmp_path / "out" / "data.csv").read_text() == "old"


def test_an_error_of_the_disk_is_a_sentence(tmp_path):
    with (
        pytest.raises(BadOutput, match=r"could not be written \(input/output error\); nothing"),
        choose(tmp_path).filled(),
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
def test_neither_the_root_nor_the_folder_one_is_in(tmp_path, monkeypatch, out):
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
