"""Faults at every system call that writes, while an older release is replaced: see `fault_injection`.

`make test` meets the calls that decide which release is there, `make test-all` all of them. What was found is the table
of docs/reliability.md.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from fault_injection import (
    DISTURBANCES,
    ERRORS,
    PHASES,
    READERS,
    SIGNALS,
    Site,
    keep_outcomes,
    serving,
)

FAULTS = (*SIGNALS, *ERRORS)
MEMORY = (0, 1 << 24, 1 << 27, 1 << 29, 1 << 30, 5 << 28, 3 << 29, 1 << 31, 3 << 30, 1 << 32, 1 << 33)
"""Bytes beyond those of the imports; Arrow and DuckDB reserve a gigabyte and more before they need it."""
FILE_SIZES = (100, 400, 900, 1_000, 4_300, 4_600, 20_000, 30_000, 60_000)
"""Bytes that a file may have, between which one file or another no longer fits."""


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="shoal-faults-"))
    folder.chmod(0o755)  # one fault needs a user who may not write everywhere
    with serving() as server:
        yield Site(server, folder)
    shutil.rmtree(folder)


QUICK = (
    ("SIGKILL", "rename", 5, "old", True),  # the private folder is new, the public one old
    ("SIGTERM", "rename", 5, "new without its report", False),
    ("ENOSPC", "write", 2, "old", False),
    ("EIO", "rename", 6, "old", False),
)
DECIDING = (
    ("SIGKILL", "rename", 4, "old", True),  # between the private folder's two moves
    ("SIGKILL", "rename", 6, "old", True),  # between the public folder's two moves
    ("SIGKILL", "unlink", 1, "new without its report", True),  # both are new, the journal stands
    ("SIGTERM", "write", 2, "old", False),
    ("SIGINT", "write", 2, "old", False),
    ("SIGINT", "rename", 7, "new without its report", False),
    ("EIO", "fsync", 17, "old", False),
)


@pytest.mark.parametrize(
    "faults", [pytest.param(QUICK, id="quick"), pytest.param(DECIDING, id="all", marks=pytest.mark.thorough)]
)
def test_faults_at_the_decisive_calls_leave_one_whole_release(site, faults):
    """In one test, since the processes are forked from one that takes seconds to start."""
    for fault, call, number, release, left in faults:
        found = site.inject(fault, (call, number))
        assert (found.release, found.left) == (release, left), found


@pytest.mark.slow
def test_faults_at_every_call_leave_one_whole_release(site):
    """All signals and errors at every call that writes; each reader is the first to meet what is left, in turn."""
    calls, readers = site.calls(), list(READERS)
    found = [
        site.inject(fault, call.point, readers[number % len(readers)])
        for fault in FAULTS
        for number, call in enumerate(calls)
    ]
    keep_outcomes(found)
    assert {each.phase for each in found} == set(PHASES)
    assert {each.release for each in found} == {"old", "new", "new without its report"}


@pytest.mark.slow
@pytest.mark.parametrize("what", DISTURBANCES)
def test_something_happens_to_the_folder_at_every_call(site, what):
    found = [site.disturb(what, call.point) for call in site.calls() if call.stops]
    keep_outcomes(found)
    assert any(each.release == "new" for each in found)


@pytest.mark.slow  # how much memory suffices depends on the machine
def test_little_memory_and_limits_of_file_size_leave_one_whole_release(site):
    found = [site.limit("memory", amount) for amount in MEMORY]
    found += [site.limit("file_size", size) for size in FILE_SIZES]
    keep_outcomes(found)
    assert {each.release for each in found if each.fault == "memory"} >= {"old", "new"}
    assert {each.release for each in found if each.fault == "file_size"} == {"old", "new", "new without its report"}
