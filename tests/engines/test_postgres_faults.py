"""Faults while a release is stored in PostgreSQL too: both folders and the table are of the same run."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import pytest
from fault_injection import RELEASE, SENDING, SIGNALS, Site, keep_outcomes, serving
from postgres_server import running_server

TARGET = ("--to", "postgres:released")
BETWEEN = "new folders, old table"


class StoredSite(Site):
    """A site whose release is also a table; the table is put back as it was for every fault."""

    def copy(self):
        if self._made:
            self.run("DROP TABLE IF EXISTS released", "CREATE TABLE released AS TABLE older", self.mark)
        return super().copy()

    def _trees(self, folder):
        if not self._made and "mark" not in vars(self):  # the older release stands, with its table
            self.run("CREATE TABLE older AS TABLE released")
            self.mark = f"COMMENT ON TABLE released IS '{self.comment()}'"
        return super()._trees(folder)

    def release_in(self, folder, told):
        there = super().release_in(folder, told)
        made = hashlib.sha256((folder / "out" / "data.csv").read_bytes()).hexdigest()
        if self.comment().endswith(made):
            return there
        assert there != "old", f"{told}; the table is of a run whose folders are not there"
        return BETWEEN

    def disturbances(self):
        return {"connection lost": _lose_connection}

    def run(self, *statements):
        with self.database.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def comment(self):
        ((comment,),) = self.run("SELECT obj_description('released'::regclass)")
        return comment


def _lose_connection(site, _):
    """The server ends all other connections; an error of the client's own call would only make libpq wait for it."""
    site.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
    )
    yield


@pytest.fixture(scope="module")
def site():
    dbapi = pytest.importorskip(
        "adbc_driver_postgresql.dbapi", reason="no driver of PostgreSQL: pip install shoal[postgres]"
    )
    folder = Path(tempfile.mkdtemp(prefix="shoal-faults-"))
    with running_server() as connection, serving() as server, dbapi.connect(connection, autocommit=True) as database:
        StoredSite.database = database
        yield StoredSite(server, folder, (*RELEASE, *TARGET), {"SHOAL_POSTGRES": connection})
    shutil.rmtree(folder)


@pytest.mark.thorough
def test_a_kill_before_the_commit_leaves_the_older_folders_and_table(site):
    for number in (5, 6, 7, 8):  # the mark of the table, the public folder's moves, and the first one after them
        found = site.inject("SIGKILL", ("rename", number))
        assert found.release == ("old" if number < 8 else "new without its report")


@pytest.mark.slow
def test_every_message_to_the_server_and_every_move(site):
    """Only a kill between the last flush and the commit can leave folders of the new run beside the older table."""
    calls = [call for call in site.calls() if call.name in {*SENDING, "rename", "unlink", "fsync"}]
    found = [site.inject(fault, call.point) for fault in SIGNALS for call in calls]
    found += [site.inject("EIO", call.point) for call in calls if call.name not in SENDING]
    found += [site.disturb("connection lost", call.point) for call in calls]
    keep_outcomes(found, " with --to postgres")
    between = [each for each in found if each.release == BETWEEN]
    assert all(each.fault == "SIGKILL" and each.call in {*SENDING, "fsync"} for each in between)
    assert len(between) <= 2
