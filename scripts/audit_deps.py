"""Looks up known vulnerabilities of the pinned packages, and writes a bill of materials (CycloneDX): `make audit-deps`.

python scripts/audit_deps.py

Both tools are installed into build/audit. What cannot be done without an index or a network is said in one sentence.
Exit code: 0 nothing is known, 1 a vulnerability is, 2 it could not be asked.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "audit"
BILL = ROOT / "build" / "shoal.cdx.json"
LOCKED = ROOT / "requirements" / "locked.txt"
FOUND, UNASKED = 1, 2


def run(*command: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, cwd=ROOT)


def install() -> None:
    """Make the environment of both tools, unless it is there."""
    tools = [PLACE / "bin" / name for name in ("pip-audit", "cyclonedx-py")]
    if all(tool.exists() for tool in tools):
        return
    venv.create(PLACE, with_pip=True, clear=True)
    done = run(PLACE / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", "requirements/audit.txt")
    if done.returncode:
        stop("pip-audit and cyclonedx-bom could not be installed: is there an index of packages?")


def write_bill() -> None:
    """Write what an install brings along: names, versions and addresses of packages; this needs no network."""
    made = ["--output-file", BILL, "--output-format", "JSON", "--output-reproducible", "--pyproject", "pyproject.toml"]
    done = run(PLACE / "bin" / "cyclonedx-py", "requirements", *made, "requirements/run.txt")
    if done.returncode:
        stop(f"the bill of materials could not be written: {last_line(done.stderr)}")
    print(f"bill of materials: {BILL.relative_to(ROOT)}")


def audit() -> dict[str, list[str]]:
    """What is known against each pinned package; none may be passed over.

    A package that the index knows nothing of is only "skipped" by pip-audit, which then finds no vulnerability.
    """
    how = ["--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json", "--requirement", LOCKED]
    done = run(PLACE / "bin" / "pip-audit", *how)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        stop(f"what is known against packages could not be asked, so nothing was audited: {last_line(done.stderr)}")
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if skipped:
        stop(f"the index tells nothing about {len(skipped)} of {len(packages)} packages, so these were not audited")
    return {package["name"]: [known["id"] for known in package["vulns"]] for package in packages}


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason was given"])[-1]


def stop(sentence: str) -> NoReturn:
    print(f"shoal: {sentence}", file=sys.stderr)
    sys.exit(UNASKED)


def main() -> None:
    install()
    write_bill()
    found = audit()
    for name, known in found.items():
        for each in known:
            print(f"{name}: {each}")
    print(f"{len(found)} packages were audited")
    sys.exit(FOUND if any(found.values()) else 0)


if __name__ == "__main__":
    main()
