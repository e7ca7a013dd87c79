"""What is declared, pinned, locked and listed of other packages says the same everywhere."""

import re
import tomllib
from pathlib import Path

import licences
import lock

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
UNTESTED = {"spark", "workbench", "peers", "dev"}


def pinned(file):
    return {lock.plain(name): version for name, version in lock.PIN.findall((ROOT / "requirements" / file).read_text())}


def release(version):
    """A version as numbers, without zeros at its end: 2.10 and 2.10.0 are the same."""
    return tuple(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


def test_the_oldest_versions_are_those_that_are_declared():
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *(each for name, of in extras.items() if name not in UNTESTED for each in of)]
    least = dict(each.split(">=") for each in asked)
    oldest = pinned("oldest.txt")
    assert {name: release(version) for name, version in oldest.items()} == {
        lock.plain(name): release(version) for name, version in least.items()
    }


def test_what_is_pinned_is_not_older_than_declared():
    run = pinned("run.txt")
    for each in PROJECT["dependencies"]:
        name, least = each.split(">=")
        assert release(run[lock.plain(name)]) >= release(least), name


def test_every_pin_is_locked_with_hashes():
    entries = lock.LOCKED.read_text("utf-8").removeprefix(lock.HEAD).replace(" \\\n    ", " ").splitlines()
    assert {entry.split(" ")[0] for entry in entries} == {f"{name}=={of}" for name, of in lock.pins().items()}
    assert all(re.fullmatch(r"\S+( --hash=sha256:[0-9a-f]{64})+", entry) for entry in entries)


def test_the_page_of_licences_lists_every_package():
    """Which packages it lists; what each states may be written anew in its next version."""
    listed = re.findall(r"^\| (\S+) \| (.+) \|$", licences.PAGE.read_text("utf-8"), flags=re.MULTILINE)
    names = [name for name, licence in listed if (name, licence) != ("package", "licence")]
    assert names == [name for file in licences.LISTS for name in licences.names(file)]


def test_packages_needed_to_run_have_permissive_licences():
    found = dict(re.findall(r"^\| (\S+) \| (.+) \|$", licences.PAGE.read_text("utf-8"), flags=re.MULTILINE))
    for name in licences.names("run.txt"):
        assert re.search(r"MIT|BSD|Apache|ISC|PSF", found[name]), (name, found[name])
        assert "GPL" not in found[name], name
