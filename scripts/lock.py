"""Writes requirements/locked.txt: every pin to build, run and develop, with the hashes that the index gives.

python scripts/lock.py     asks the index that pip asks, or the one that PIP_INDEX_URL names
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import unquote, urldefrag
from urllib.request import urlopen

from pip._internal.models.index import PyPI

FOLDER = Path(__file__).parents[1] / "requirements"
LISTS = ("run.txt", "build.txt", "dev.txt")
LOCKED = FOLDER / "locked.txt"
HEAD = "# Pins of run.txt, build.txt and dev.txt, with hashes. Refresh: python scripts/lock.py.\n"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def pins() -> dict[str, str]:
    """The version of every package that the lists name."""
    return {plain(name): version for file in LISTS for name, version in PIN.findall((FOLDER / file).read_text("utf-8"))}


def plain(name: str) -> str:
    """The name of a package as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Links(HTMLParser):
    """Addresses on a page of an index."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def hashes(name: str, version: str) -> list[str]:
    """SHA-256 of each file of a version, sorted."""
    index = os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")
    links = Links()
    with urlopen(f"{index}/{name}/", timeout=60) as page:
        links.feed(page.read().decode("utf-8"))
    found = set()
    for link in links.found:
        address, fragment = urldefrag(link)
        file = unquote(address.rsplit("/", 1)[-1])
        if fragment.startswith("sha256=") and _is_of(file, name, version):
            found.add(fragment.removeprefix("sha256="))
    return sorted(found)


def _is_of(file: str, name: str, version: str) -> bool:
    """Whether a wheel or an archive of sources is of this version."""
    stem = file.removesuffix(".tar.gz").removesuffix(".zip")
    parts = stem.split("-") if file.endswith(".whl") else stem.rsplit("-", 1)
    return len(parts) > 1 and plain(parts[0]) == name and parts[1] == version


def main() -> None:
    wanted = pins()
    try:
        with ThreadPoolExecutor(8) as pool:
            found = dict(zip(wanted, pool.map(hashes, wanted, wanted.values()), strict=True))
    except (URLError, TimeoutError) as wrong:
        sys.exit(f"the index of packages cannot be reached ({wrong}); {LOCKED.name} was left as it is")
    unknown = [f"{name}=={wanted[name]}" for name, known in found.items() if not known]
    if unknown:
        sys.exit(f"the index gives no hash of {', '.join(unknown)}; {LOCKED.name} was left as it is")
    entries = (
        " \\\n".join([f"{name}=={wanted[name]}", *(f"    --hash=sha256:{one}" for one in known)])
        for name, known in sorted(found.items())
    )
    LOCKED.write_text(HEAD + "\n".join(entries) + "\n", "utf-8")
    print(f"{len(found)} packages, {sum(map(len, found.values()))} hashes")


if __name__ == "__main__":
    main()
