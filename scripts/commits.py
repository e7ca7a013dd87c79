"""Checks the subjects of commits: `area: do something`, at most 72 characters, no merges; `make lint` runs it.

python scripts/commits.py [REVISIONS | --message FILE]     by default those since the rule was made
"""

import re
import subprocess
import sys
from pathlib import Path

SINCE = "2026-11-17T00:00:00Z"
MOST = 72
FORM = re.compile(r"[a-z][a-z0-9 /_.-]*: [a-z0-9`(].*[^.]")


def subjects(revisions: list[str]) -> list[tuple[str, str]]:
    """Commit and subject of each commit."""
    which = revisions or [f"--since={SINCE}", "HEAD"]
    command = ["git", "log", "--format=%h %s", *which]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    if done.returncode:
        print("commits: this is no clone, so there are no commits to check")
        return []
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in done.stdout.splitlines()]


def complaint(subject: str) -> str | None:
    """What is wrong with a subject.

    >>> complaint("search: bound UNION models")
    >>> complaint("Fixed some things")
    'write it as "area: do something"'
    """
    if len(subject) > MOST:
        return f"{len(subject)} characters, more than {MOST}"
    if subject.startswith("Merge ") or re.match(r"wip\b", subject, re.IGNORECASE):
        return "merges and unfinished work are rebased away"
    return None if FORM.fullmatch(subject) else 'write it as "area: do something"'


def main() -> None:
    if sys.argv[1:2] == ["--message"]:  # of a commit that is being made
        checked = [("this commit", Path(sys.argv[2]).read_text("utf-8").splitlines()[0])]
    else:
        checked = subjects(sys.argv[1:])
    wrong = [f"{commit} {subject!r}: {why}" for commit, subject in checked if (why := complaint(subject))]
    print(f"commits: {len(checked)} subjects checked")
    sys.exit("\n".join(wrong) if wrong else None)


if __name__ == "__main__":
    main()
