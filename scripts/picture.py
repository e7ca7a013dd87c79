"""Draws docs/demo.svg: a real run of the demo's commands, as a terminal shows them."""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console

from shoal.datasets import write_census

COLUMNS = 92
SHOWN = (
    "shoal compare census.csv --policy policy.toml --algorithms optimal,mondrian,local --rows 3",
    "shoal anonymize census.csv --policy policy.toml --out out",
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_census(Path(folder))
        shoal = str(Path(sys.executable).with_name("shoal"))
        outputs = {command: in_terminal([shoal, *command.split()[1:]], folder) for command in SHOWN}
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for command, output in outputs.items():
        console.print(f"[bold]$[/bold] {command}", highlight=False)
        for line in AnsiDecoder().decode(output):
            console.print(line)
        if command != SHOWN[-1]:
            console.print()
    svg = console.export_svg(title="shoal")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # no fonts from elsewhere
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    target = Path(__file__).resolve().parents[1] / "docs" / "demo.svg"
    target.parent.mkdir(exist_ok=True)
    target.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", "utf-8")
    print(f"wrote {target.name}")


def in_terminal(command: list[str], folder: str) -> str:
    """What a command shows on a terminal, without the progress bar that it wipes out at the end."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(command, cwd=folder, stdout=child, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(child)
        chunks = []
        while True:
            try:
                chunk = os.read(parent, 65536)
            except OSError:  # the terminal closed
                break
            if not chunk:
                break
            chunks.append(chunk)
        if process.wait():
            raise SystemExit("the command failed")
    return b"".join(chunks).decode().replace("\r\n", "\n").rstrip()


if __name__ == "__main__":
    main()
