"""Faults at every system call that writes, in `shoal anonymize --force` over an older release, and their outcome.

strace attaches to the process, counts the calls of each kind and, at the n-th, sends a signal or returns an error in
its place. So every write is covered, including those of Arrow's and DuckDB's threads.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tomli_w

MAKING = ("mkdir", "mkdirat", "symlink", "symlinkat", "link", "linkat")
MOVING = ("rename", "renameat", "renameat2")
REMOVING = ("unlink", "unlinkat", "rmdir")
SYNCING = ("fsync", "fdatasync", "sync_file_range", "msync")
FILLING = (
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "ftruncate",
    "truncate",
    "fallocate",
    "copy_file_range",
)
MARKING = ("chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat", "utimensat", "flock")
OPENING = ("open", "openat", "creat")
SENDING = ("sendto", "sendmsg")
CALLS = (*MAKING, *MOVING, *REMOVING, *SYNCING, *FILLING, *MARKING, *OPENING, *SENDING)
"""System calls that write, and `flock`, which decides who may write."""
SIGNALS = {"SIGKILL": -signal.SIGKILL, "SIGTERM": 143, "SIGINT": 130}
"""Signals, and the exit code that each must give a command."""
CRASHES = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS}
"""How a process ends when a library does not handle a lack of memory."""
ERRORS = {"ENOSPC": "No space left on device", "EIO": "Input/output error"}

PEOPLE = "name,age,sex,disease\n" + "".join(
    f"p{i},{30 + i % 6 + 20 * (i % 2)},{'fm'[i // 2 % 2]},{('flu', 'hiv', 'cold')[i % 3]}\n" for i in range(24)
)
ATTRIBUTES = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "disease": {"role": "sensitive"},
}
RELEASE = ("anonymize", "people.csv", "--policy", "policy.toml", "--out", "out", "--force", "--reproducible")
READERS = {
    "verify": ("verify", "out", "--original", "people.csv"),
    "apply": ("apply", "out.private", "people.csv", "--out", "again", "--reproducible"),
    "audit": ("audit", "out"),
}
"""Commands that read a release; each may be the first to find what a killed run left behind."""
_SAID = re.compile(r"shoal: [^\n]+\n")
_CALLED = re.compile(r"(\d+) +(\w+)\((.*)")


@dataclass(frozen=True)
class Call:
    """A system call that writes, the n-th of its kind in its thread."""

    name: str
    number: int
    where: str
    """Its arguments, as strace shows them."""

    @property
    def stops(self) -> bool:
        """Whether a process can be stopped here: when it prints its last output, nothing more can happen."""
        return not (self.name in FILLING and self.where.startswith(("1<", "2<")))

    @property
    def point(self) -> tuple[str, int]:
        return self.name, self.number


@dataclass(frozen=True)
class Ended:
    """How a command ended, and the calls it made on the way."""

    code: int
    out: str
    err: str
    trace: str = ""

    @property
    def calls(self) -> list[Call]:
        return list(_writes(self.trace))

    @property
    def phase(self) -> str:
        """The phase that the last call in the trace, or the one with a fault in it, belongs to."""
        return phase_of(self.trace)


@dataclass
class Server:
    """Processes for commands; see `fault_server`."""

    process: "subprocess.Popen[str]"
    started: int = 0

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the server of processes has ended"
        return dict(json.loads(answer))

    def run(
        self,
        words: Sequence[str],
        folder: Path,
        *,
        inject: str | None = None,
        traced: bool = False,
        stopped: Callable[[], None] | None = None,
        **how: Any,
    ) -> Ended:
        """Run a command in a folder; `stopped` is called while the process stands still after SIGSTOP."""
        env = {"TMPDIR": str(folder / "tmp"), "COLUMNS": "120", **how.pop("env", {})}
        printed = folder.parent / f"printed{self.started}"
        self.started += 1
        pid = self.ask("start", words=list(words), folder=str(folder), printed=str(printed), env=env, **how)["pid"]
        log = folder.with_name(f"{folder.name}.{pid}.trace")
        log.write_text("")
        tracer = _attached(pid, log, inject) if traced or inject else None
        self.ask("go", pid=pid)
        if stopped is not None and _wait_until_stopped(pid, log):
            stopped()
            os.kill(pid, signal.SIGCONT)
        code = self.ask("wait", pid=pid)["code"]
        if tracer is not None:
            tracer.wait()
        out, err = (Path(f"{printed}.{name}") for name in ("out", "err"))
        ended = Ended(code, out.read_text(), err.read_text(), log.read_text(errors="replace"))
        for path in (out, err, log):
            path.unlink()
        return ended


@contextmanager
def serving() -> Iterator[Server]:
    """Start a server; tests that need it are skipped where strace cannot trace."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed: apt install strace")
    if subprocess.run([strace, "-qq", "-o", os.devnull, "true"], check=False, capture_output=True).returncode:
        pytest.skip("strace may not trace processes here: ptrace is forbidden, as in some containers")
    command = [sys.executable, str(Path(__file__).with_name("fault_server.py"))]
    alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    clean = {**os.environ, "PYTHONHASHSEED": "0", **alone}  # a fork does not copy threads
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()


def _attached(pid: int, log: Path, inject: str | None) -> "subprocess.Popen[bytes]":
    how = [] if inject is None else ["-e", f"inject={inject}"]
    traced = ["-e", f"trace={','.join('?' + call for call in CALLS)}", *how]
    command = ["strace", "-f", "-q", "-y", "-s", "0", "-o", str(log), *traced, "-p", str(pid)]
    tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text():
        assert tracer.poll() is None, "strace could not attach"
        time.sleep(0.002)
    return tracer


def _wait_until_stopped(pid: int, log: Path) -> bool:
    """Wait until the process has stopped, or has ended without having been stopped."""
    while "stopped by SIGSTOP" not in log.read_text(errors="replace"):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.005)
    return True


def _writes(trace: str) -> Iterator[Call]:
    counted: Counter[tuple[str, str]] = Counter()
    for line in trace.splitlines():
        if (found := _CALLED.match(line)) is None:
            continue
        thread, name, arguments = found.groups()
        counted[thread, name] += 1
        if _is_a_write(name, arguments):
            yield Call(name, counted[thread, name], arguments)


def _is_a_write(name: str, arguments: str) -> bool:
    if name in OPENING:
        return any(flag in arguments for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
    return name not in FILLING or re.match(r"\d+<(pipe|anon_inode|socket)", arguments) is None


PHASES = ("before", "writing", "moving", "reporting", "printing")
_MOVED = "moved"


def phase_of(trace: str) -> str:
    """The phase of a run whose trace ends in, or has, a fault; without one, that of its last call."""
    phase = said = "before"
    for line in trace.splitlines():
        if (found := _CALLED.match(line)) is not None:
            said = _next_phase(phase, found[2], found[3])
            phase = phase if said == "printing" else said
        if "(INJECTED)" in line or " --- SIG" in line or "+++ killed" in line:
            phase = said
            break
    return "moving" if phase == _MOVED else phase


def _next_phase(phase: str, name: str, arguments: str) -> str:
    if name in FILLING and re.match(r"[12]<", arguments):
        return "printing"
    if name in MAKING and ".shoal-" in arguments and phase == "before":
        return "writing"
    if "moves.json.new" in arguments and name in OPENING:
        return "moving"
    if phase == "moving" and name in REMOVING and "moves.json" in arguments:
        return _MOVED
    if phase == _MOVED and name not in SYNCING:
        return "reporting"
    return phase


@dataclass(frozen=True)
class Outcome:
    """What one injected fault led to."""

    fault: str
    call: str
    phase: str
    release: str
    """Which release is there afterwards: old, new, or new without its report."""
    code: int
    said: str
    left: bool
    """Whether anything was left over for the next run to clear away."""


@dataclass
class Site:
    """A folder with a table, a policy and an older release, copied anew for every fault."""

    server: Server
    root: Path
    release: tuple[str, ...] = RELEASE
    env: dict[str, str] = field(default_factory=dict)
    _made: int = 0
    _learnt: set[str] = field(default_factory=set)
    _read: set[str] = field(default_factory=set)
    """Contents, with nothing left over beside them, for which a reader and a next run have already been tried."""

    def __post_init__(self) -> None:
        first = self.root / "template"
        (first / "tmp").mkdir(parents=True)
        (first / "people.csv").write_text(PEOPLE)
        self._policy(first, k=2)
        self._run(self.release, first)
        self.old = self._trees(first)
        self._policy(first, k=5)
        whole = self.copy()
        self._run(self.release, whole)
        self.new = self._trees(whole)
        assert self.old["out"]["data.csv"] != self.new["out"]["data.csv"]

    def _policy(self, folder: Path, k: int) -> None:
        document = {"attributes": ATTRIBUTES, "require": [{"model": "k-anonymity", "k": k}]}
        (folder / "policy.toml").write_text(tomli_w.dumps(document))

    def _run(self, words: Sequence[str], folder: Path, told: str = "without a fault") -> None:
        """Run a command that must succeed; the modules that the first one imports are imported for all later ones."""
        loaded = self.root / "modules.json"
        first = words[0] not in self._learnt
        how: dict[str, Any] = {"modules": str(loaded)} if first else {}
        ran = self.server.run(words, folder, env=self.env, **how)
        assert ran.code == 0, f"{told}; then {words[0]}: {ran.err!r}"
        if first:
            threads = self.server.ask("import", modules=json.loads(loaded.read_text()))["threads"]
            assert threads == 1, f"what {words[0]} imports starts threads, which a fork would lose"
            self._learnt.add(words[0])

    def _drop_second(self, folder: Path) -> None:
        for name in ("again", "again.private"):
            shutil.rmtree(folder / name, ignore_errors=True)

    def copy(self) -> Path:
        """A fresh folder with the older release."""
        self._made += 1
        return Path(shutil.copytree(self.root / "template", self.root / f"copy{self._made}"))

    def calls(self) -> list[Call]:
        """Every call that writes in a run without a fault, in order."""
        folder = self.copy()
        ran = self.server.run(self.release, folder, traced=True, env=self.env)
        assert ran.code == 0, ran.err
        shutil.rmtree(folder)
        return ran.calls

    def inject(self, fault: str, point: tuple[str, int], reader: str = "verify") -> Outcome:
        """Run the release with a fault at a point, and judge what is there afterwards."""
        folder, (call, number) = self.copy(), point
        how = "signal" if fault in SIGNALS else "error"
        ended = self.server.run(self.release, folder, inject=f"{call}:{how}={fault}:when={number}", env=self.env)
        outcome = self.judge(fault, call, ended, folder, reader)
        shutil.rmtree(folder)
        return outcome

    def disturb(self, what: str, point: tuple[str, int], reader: str = "verify", **how: Any) -> Outcome:
        """Stop the run after a call, disturb its folder, let it go on, undo the disturbance, and judge the outcome."""
        folder, (call, number) = self.copy(), point
        user = None if os.geteuid() or what != "read-only" else NOBODY
        if user is not None:
            _hand_over(folder, user)
        stop = self.disturbances()[what](self, folder)
        stopped = partial(next, stop)
        at = f"{call}:signal=SIGSTOP:when={number}"
        ended = self.server.run(
            self.release, folder, inject=at, stopped=stopped, user=user, env=self.env, impatient=True, **how
        )
        next(stop, None)  # undoes it
        if user is not None:
            _hand_over(folder, os.geteuid())
        outcome = self.judge(what, call, ended, folder, reader)
        shutil.rmtree(folder)
        return outcome

    def disturbances(self) -> dict[str, "Disturbance"]:
        return DISTURBANCES

    def limit(self, what: str, amount: int, reader: str = "verify") -> Outcome:
        """Run the release with `amount` bytes of memory beyond the imports, or with files of at most that size."""
        folder = self.copy()
        how: dict[str, Any] = {what: amount}
        ended = self.server.run(self.release, folder, traced=True, env=self.env, **how)
        outcome = self.judge(what, str(amount), ended, folder, reader)
        shutil.rmtree(folder)
        return outcome

    def judge(self, fault: str, call: str, ended: Ended, folder: Path, reader: str = "verify") -> Outcome:
        """Check that the reader finds one whole release, what the run said, and what the next run does."""
        told = f"{fault} at {call}, {ended.phase}: code {ended.code}, {ended.err!r}"
        left = bool(self.left_in(folder))
        met = json.dumps([reader, self._trees(folder)])
        if left or met not in self._read:  # two folders with the same content and nothing beside them are read alike
            self._run(READERS[reader], folder, told)
            self._drop_second(folder)
        release = self.release_in(folder, told)
        _check_words(fault, ended, release, told)
        if "and published, " in ended.err:
            manifest = json.loads((folder / "out.private" / "manifest.json").read_text("utf-8"))
            # a verdict may be in place though the folder vanished before anybody could be told
            assert "no verdict yet" in ended.err or "recommendation" in manifest, told
        if left or met not in self._read:
            self._run(self.release, folder, told)
            assert not self.left_in(folder), f"{told}; left: {self.left_in(folder)}"
            assert self.release_in(folder, told) == "new", told
        if not left:
            self._read.add(met)
        return Outcome(fault, call, ended.phase, release, ended.code, ended.err, left)

    def left_in(self, folder: Path) -> list[str]:
        """Names of files that a run left over, in its folder and in the folder for temporary files."""
        known = {"people.csv", "policy.toml", "out", "out.private", "tmp", "again", "again.private"}
        beside = [path.name for path in folder.iterdir() if path.name not in known]
        return sorted(beside + [f"tmp/{path.name}" for path in (folder / "tmp").iterdir()])

    def release_in(self, folder: Path, told: str) -> str:
        found = self._trees(folder)
        if found == self.old:
            return "old"
        if found == self.new:
            return "new"
        assert _without_report(found) == _without_report(self.new), f"{told}; neither the old release nor the new one"
        return "new without its report"

    def _trees(self, folder: Path) -> dict[str, dict[str, str]]:
        return {name: _contents(folder / name) for name in ("out", "out.private")}


NOBODY = 65534


def _hand_over(folder: Path, user: int) -> None:
    """Give a folder and all in it to a user."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


def _read_only(_: Site, folder: Path) -> Iterator[None]:
    folder.chmod(0o555)
    yield
    folder.chmod(0o755)


def _folder_moved_away(_: Site, folder: Path) -> Iterator[None]:
    elsewhere = folder.rename(folder.with_name(folder.name + ".gone"))
    yield
    elsewhere.rename(folder)


def _cut_short(_: Site, folder: Path) -> Iterator[None]:
    os.truncate(folder / "people.csv", len(PEOPLE) // 2)
    yield
    (folder / "people.csv").write_text(PEOPLE)


def _second_run(site: Site, folder: Path) -> Iterator[None]:
    """A second command into the same folder: refused while the first holds it, else it runs."""
    second = site.server.run(site.release, folder, env=site.env, impatient=True)
    assert second.code in {0, 2}, second.err
    assert second.code == 0 or "another run is" in second.err, second.err
    yield


Disturbance = Callable[[Any, Path], Iterator[None]]
DISTURBANCES: dict[str, Disturbance] = {
    "read-only": _read_only,
    "gone": _folder_moved_away,
    "input cut short": _cut_short,
    "second run": _second_run,
}
"""Disturbances of a folder while a run is stopped; the generator's second step undoes them."""


def _contents(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(folder)): path.read_text()
        if path.name == "manifest.json"
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def _without_report(trees: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Both folders without what is added last: the pages, and the advice in the private manifest."""
    kept = {name: {file: text for file, text in tree.items() if file != "report.html"} for name, tree in trees.items()}
    manifest = json.loads(kept["out.private"].get("manifest.json", "{}"))
    manifest.pop("recommendation", None)
    kept["out.private"]["manifest.json"] = json.dumps(manifest)
    return kept


def _check_words(fault: str, ended: Ended, release: str, told: str) -> None:
    """Check exit code and sentence: "nothing was written" only if that is true."""
    assert "Traceback" not in ended.err, told
    assert "internal error" not in ended.err, told
    if fault == "SIGKILL":
        assert ended.code in {0, SIGNALS[fault]}, told
        return
    if fault == "memory" and ended.code in CRASHES:  # DuckDB's: nobody can say anything any more
        assert release == "old", told
        return
    if ended.code == 0:
        assert release == "new", told
        return
    assert ended.code == SIGNALS.get(fault, 2), told
    if ended.phase == "printing" and not ended.err:  # the sentence itself could not be printed
        return
    aside = ("note: ", *(["FATAL: "] if fault == "connection lost" else []))  # libpq prints the server's last word
    sentences = [line for line in ended.err.splitlines(keepends=True) if not line.startswith(aside)]
    assert len(sentences) == 1, told
    assert _SAID.fullmatch(sentences[0]), told
    if "cannot be put back" in sentences[0]:  # it advises to run verify, which settles it, either way
        return
    assert ("published" in sentences[0]) == (release != "old"), told
    assert release == "old" or "nothing was" not in sentences[0], told


_BEGIN, _END = "<!-- faults -->", "<!-- end of faults -->"


def keep_outcomes(outcomes: Sequence[Outcome], where: str = "") -> None:
    """Append what was found to the file that SHOAL_FAULTS names, if it names one; `where` is added to the fault."""
    if name := os.environ.get("SHOAL_FAULTS"):
        with Path(name).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({**asdict(each), "fault": each.fault + where}) + "\n" for each in outcomes)


def table_of(outcomes: Sequence[Outcome]) -> str:
    """Count outcomes by fault and phase, as a table in Markdown."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.fault, outcome.phase].append(outcome)
    kinds = list(dict.fromkeys(outcome.fault for outcome in outcomes))
    ordered = sorted(groups, key=lambda group: (kinds.index(group[0]), PHASES.index(group[1])))
    lines = [
        f"| fault | phase | faults | {' | '.join(RELEASES.values())} | left for the next run |",
        f"|---|---|{'---:|' * (len(RELEASES) + 2)}",
        *(_row(fault.replace("_", " "), phase, groups[fault, phase]) for fault, phase in ordered),
        _row("**all**", "", outcomes),
    ]
    return "\n".join(lines)


RELEASES = {
    "old": "older release",
    "new": "new release",
    "new without its report": "new, report missing",
    "new folders, old table": "new folders, older table",
}
"""Which release is there after a fault, and what the table calls it."""


def _row(fault: str, phase: str, outcomes: Sequence[Outcome]) -> str:
    of = Counter(outcome.release for outcome in outcomes)
    counts = (len(outcomes), *(of[release] for release in RELEASES), sum(outcome.left for outcome in outcomes))
    return f"| {fault} | {phase} | {' | '.join(str(count or '') for count in counts)} |"


def write_table(kept: Path, page: Path) -> None:
    """Put the table of kept outcomes into a page, between its two marks."""
    outcomes = [Outcome(**json.loads(line)) for line in kept.read_text("utf-8").splitlines()]
    before, _, rest = page.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_BEGIN}\n{table_of(outcomes)}\n{_END}{after}", "utf-8")


if __name__ == "__main__":
    write_table(Path(sys.argv[1]), Path(__file__).parents[2] / "docs" / "reliability.md")
