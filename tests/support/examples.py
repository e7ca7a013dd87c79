"""The examples of our pages: fenced blocks that are run in order, and compared with the output that they show.

A block with a title is a file. A `console` block has commands after `$`, each followed by what it prints; a `python`
block is run, and the `text` block right after it is what it prints; a `toml` block without a title is a part of a
policy. No other block may look like something that can be run, so every example is tested.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.policy.document import Policy

WIDTH = 88
"""Columns of the terminal that pages show."""
_FENCE = re.compile(r'^( *)```(\w*)(?: title="([^"]+)")?\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
_SHOWN = {"", "text", "json"}
_MASKS = (
    (re.compile(r"\b\d+(\.\d+)? s\b"), "… s"),
    (re.compile(r"\bin \d+\.\d+ *$", re.MULTILINE), "in …"),  # a duration whose unit is on the next line
    (re.compile(r"\bshoal \d+\.\d+\.\d+\b"), "shoal …"),
)
_PART = {
    "attributes": {"age": "quasi-identifier", "disease": "sensitive"},
    "require": [{"model": "k-anonymity", "k": 5}],
}


@dataclass(frozen=True)
class Block:
    """One fenced block and where it stands."""

    language: str
    title: str | None
    text: str
    line: int
    span: tuple[int, int]
    """The characters of its text in the page."""
    follows: bool
    """Whether nothing but white space is between it and the block before."""


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found, end = [], -1
    for match in _FENCE.finditer(page):
        indent, language, title, text = match.groups()
        text = "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
        line = page.count("\n", 0, match.start()) + 1
        follows = end >= 0 and not page[end : match.start()].strip()
        found.append(Block(language, title, text, line, match.span(4), follows))
        end = match.end()
    return found


def masked(text: str) -> str:
    """Mask what may differ from run to run: elapsed times and our version."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


class Reader:
    """A reader who follows a page in a folder of their own.

    `shoal` runs one command line and returns what it prints; without it, every command is a process.
    """

    def __init__(self, folder: Path, shoal: Callable[[list[str]], str] | None = None) -> None:
        self.folder = folder
        self._shoal = shoal
        self._names: dict[str, object] = {"__name__": "example"}

    def read(self, page: str) -> str:
        """Run every example, and return the page with the real output: the same page if what it shows is true."""
        fresh: list[str] = []
        upto, printed = 0, None
        for block in blocks(page):
            answers = block.language == "text" and block.follows and printed is not None
            assert answers or not printed, f"line {block.line}: what the example above prints is not shown"
            shown = printed if answers and printed is not None else self._done(block)
            printed = shown if block.language == "python" and block.title is None else None
            if answers or block.language == "console":
                start, stop = block.span
                kept = block.text if masked(shown) == masked(block.text) else shown.rstrip("\n") + "\n"
                fresh += [page[upto:start], kept]
                upto = stop
        assert not printed, "what the last example prints is not shown"
        return "".join([*fresh, page[upto:]])

    def _done(self, block: Block) -> str:
        """What a block shows, or prints, once it is done."""
        if block.title is not None:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif block.language == "console":
            return "".join(self._commands(block))
        elif block.language == "python":
            return self._python(block)
        elif block.language == "toml":
            Policy(**(_PART | tomllib.loads(block.text)))
        else:
            assert block.language in _SHOWN, f"line {block.line}: a block of {block.language!r} would not be run"
        return block.text

    def _commands(self, block: Block) -> Iterator[str]:
        for line in block.text.splitlines():
            if line.startswith("$ "):
                shown = self._command(line.removeprefix("$ ")).rstrip()
                yield f"{line}\n" + "".join(f"{row.rstrip()}\n" for row in shown.splitlines())

    def _command(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        if words[:2] == ["pip", "install"]:
            return _installed(words[2:])
        if words[0] == "shoal" and "|" not in words and self._shoal is not None:
            return self._shoal(words[1:])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "COLUMNS": str(WIDTH)}
        ran = subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ran.stdout

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        code = compile(block.text, f"line {block.line}", "exec")
        with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
            exec(code, self._names)
        return printed.getvalue()


def _installed(asked: list[str]) -> str:
    """What `pip install` names is this project with extras that it has; installing it is not a test's business."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    for requirement in asked:
        found = re.fullmatch(r"([\w-]+)(?:\[([\w,-]+)\])?", requirement)
        assert found is not None, f"{requirement} cannot be read"
        name, extras = found.groups()
        assert name == project["name"], f"{requirement} is not this project"
        assert set((extras or "").split(",")) <= {"", *project["optional-dependencies"]}, requirement
    return ""
