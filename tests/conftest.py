"""What the end-to-end tests share: a small table of people, policies, and the command line run in this process."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import hypothesis
import naive
import pytest
import tomli_w
from spark_cluster import running, wait_for

from shoal.explore import advice
from shoal.explore.advice import advice_time_budget

# how long an example takes is no matter of right or wrong; what lands may not depend on luck
hypothesis.settings.register_profile("shoal", naive.examples(100), derandomize="CI" in os.environ)
hypothesis.settings.load_profile("shoal")

CANARY = "CANARY-7f3"

PEOPLE = """name,age,sex,disease
ann,31,f,flu
bob,32,m,hiv
cid,33,m,flu
dot,34,f,cold
eli,35,m,flu
fay,36,f,hiv
gus,51,m,flu
hal,52,m,cold
ida,53,f,flu
joe,54,m,hiv
kim,55,f,cold
lea,56,f,flu
"""

ATTRIBUTES = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "disease": {"role": "sensitive"},
}


@pytest.fixture(autouse=True, scope="session")
def _no_wait_for_the_disk():
    """What the tests write need not outlive a power failure; processes of their own do wait."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_advice():
    """Changes that help are not looked for: on a small table that takes longer than the release."""
    with advice_time_budget(0):
        yield


@pytest.fixture(autouse=True)
def _advice(request):
    """Tests that are about them look for changes that help, as a release does unless told otherwise."""
    if not request.node.get_closest_marker("advice"):
        yield
        return
    token = advice._seconds.set(None)
    yield
    advice._seconds.reset(token)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """All tests of Spark go to one worker, so that only one cluster is started; those of the site and of
    all kinds of pages, which are made once.

    Their name tells them: the marks of groups get lost between xdist 3.8 and pytest 9.2 (pytest-xdist#1386).
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class OneCluster(LoadGroupScheduling):
        def _split_scope(self, nodeid):
            shared = (name for name in ("spark", "test_site", "test_pages_kinds") if name in nodeid)
            return next(shared, None) or super()._split_scope(nodeid)

    return OneCluster(config, log)


def pytest_collection_modifyitems(config, items):
    """What takes long is left to `make test-all` and to what is run before a change lands.

    Spark comes first: while one worker waits for its cluster, the others have all the rest to do.
    """
    items.sort(key=lambda item: "spark" not in item.nodeid)
    if naive.THOROUGH:
        return
    late = {item for item in items if item.get_closest_marker("thorough")}
    grids = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("covering"):
            grids[item.nodeid.partition("[")[0], *mark.args].append(item)
    for (_, strength), grid in grids.items():
        late |= set(grid) - set(covering(grid, strength))
    lists = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("some"):
            lists[item.nodeid.partition("[")[0], *mark.args].append(item)
    for (_, step), alike in lists.items():
        late |= set(alike) - set(alike[::step])
    config.hook.pytest_deselected(items=[item for item in items if item in late])
    items[:] = [item for item in items if item not in late]


def covering(grid, strength):
    """Some tests of a grid of parameters, in which any `strength` values of different parameters meet."""
    values = {item: [(name, repr(value)) for name, value in item.callspec.params.items()] for item in grid}
    meeting = {item: set(combinations(values[item], strength)) for item in grid}
    open_ = set().union(*meeting.values())
    while open_:
        best = max(grid, key=lambda item: len(meeting[item] & open_))
        open_ -= meeting[best]
        yield best


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Desk:
    """A folder with a table and a policy, and what can be done there."""

    folder: Path
    run: object

    @property
    def data(self):
        return self.folder / "people.csv"

    @property
    def out(self):
        return self.folder / "out"

    @property
    def private(self):
        return self.folder / "out.private"

    def table(self, content, name="people.csv"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def policy(self, attributes=None, require=None, **sections):
        document = {
            "attributes": ATTRIBUTES if attributes is None else attributes,
            "require": [{"model": "k-anonymity", "k": 3}] if require is None else require,
            **sections,
        }
        path = self.folder / "policy.toml"
        path.write_text(tomli_w.dumps(document), "utf-8")
        return path

    def anonymize(self, *more, data=None, out=None):
        policy = self.folder / "policy.toml"
        return self.run(
            "anonymize", self.data if data is None else data, "--policy", policy, "--out", out or self.out, *more
        )

    def verify(self, *more):
        return self.run("verify", self.out, *more)

    def refused(self, code, *arguments, says="", **how):
        """Run anonymize, or the command given: it must end in one clean sentence and leave everything as it was."""
        before = tree(self.folder)
        ran = self.run(*arguments) if arguments else self.anonymize(**how)
        assert (ran.code, ran.out) == (code, ""), ran
        if "--json" in arguments:
            assert json.loads(ran.err)["error"]["exit_code"] == code
        else:
            assert ran.err.startswith("shoal: ")
        assert ran.err.count("\n") == 1, ran.err
        assert says in ran.err
        assert not any(word in ran.err for word in ("Traceback", "internal error", "\x1b", CANARY)), ran.err
        assert tree(self.folder) == before
        return ran.err


def tree(folder):
    """Every path below a folder with its mode and content."""
    paths = sorted(folder.rglob("*"))
    return {p: (p.lstat().st_mode, p.read_bytes() if p.is_file() else None) for p in paths}


@pytest.fixture
def shoal(capfd, monkeypatch):
    """Run the command line in this process: (code, out, err)."""

    def run(*arguments, stdin=b""):
        from shoal.cli.main import main

        monkeypatch.setattr(sys, "argv", ["shoal", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        return Ran(ended.value.code or 0, said.out, said.err)

    return run


@pytest.fixture
def desk(tmp_path, shoal):
    """A folder with twelve people and a policy that asks for k = 3."""
    desk = Desk(tmp_path, shoal)
    desk.table(PEOPLE)
    desk.policy()
    return desk


@pytest.fixture
def process():
    """Start the command line as a process of its own."""

    def start(*arguments, **how):
        command = [Path(sys.executable).with_name("shoal"), *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "120", **how.pop("env", {})}
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen(command, text=True, env=environment, **how)

    return start


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none here")
    # else another worker would start one, too: see pytest_xdist_make_scheduler
    assert "spark" in os.environ["PYTEST_CURRENT_TEST"], "the name of a test of the cluster must tell it"
    with running(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(cluster):
    from shoal.engines.spark.session import open_session

    session = open_session(cluster.master)
    status = session.sparkContext._jsc.sc().statusTracker()
    # the driver counts itself
    wait_for(lambda: len(status.getExecutorInfos()) >= 3, "the workers do not come")
    yield session
    session.stop()
