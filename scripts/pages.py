"""Writes skeletons of the pages that are missing about what is registered.

python scripts/pages.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from facts import FOLDERS, SECTIONS, registered, said_of  # noqa: E402 - the folder of the site's hooks


def skeleton(kind: str, name: str) -> str:
    """A page with the sections that it must have, and what the registry says."""
    _, sentence, source = said_of(kind, name)
    parts = [f"---\n{kind}: {name}\n---\n# {name}\n\n{sentence}\n"]
    for section in SECTIONS[kind]:
        text = source if section == "Source" else "To be written."
        parts.append(f"## {section}\n\n{text}\n")
    return "\n".join(parts)


def main() -> None:
    for kind, names in registered().items():
        for name in names:
            path = ROOT / "docs" / FOLDERS[kind] / f"{name}.md"
            if not path.exists():
                path.write_text(skeleton(kind, name), "utf-8")
                print(f"wrote {path.relative_to(ROOT)}: fill in its sections")


if __name__ == "__main__":
    main()
