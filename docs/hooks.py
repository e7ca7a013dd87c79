"""What pages say of models, algorithms, attacks, metrics and engines comes from the code: a table at their head.

A page names its subject in its front matter, `model: k-anonymity`; the table stands before its first section. Where a
page has the line `<!-- list: models -->`, all pages about models are listed; `figures`, `commands` and `implemented`
are what is in `lists.py`. The line `<!-- notebook: steward.ipynb -->` stands for a notebook beside the page. The
navigation is made of the registries, too: `navigation` fills in what `mkdocs.yml` only names.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from facts import FOLDERS, SUBJECTS, Facts, facts, registered, said_of
from lists import LISTS
from notebook_pages import notebook_page

DOCS = Path(__file__).parent
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_LIST = re.compile(r"^<!-- list: (\w+) -->$", re.MULTILINE)
_NOTEBOOK = re.compile(r"^<!-- notebook: (\S+) -->$", re.MULTILINE)
_SEARCH = 'data-md-component="search" role="dialog"'


def on_config(config: Any) -> Any:
    """Called by MkDocs when it starts."""
    config.nav = navigation(config.nav)
    return config


def navigation(nav: list[Any]) -> list[Any]:
    """The navigation, in which the index of a folder stands for every page in it."""
    return [_filled(entry) for entry in nav]


def _filled(entry: Any) -> Any:
    if isinstance(entry, str):
        folder = Path(entry).parent.name
        kinds = [kind for kind, named in FOLDERS.items() if named == folder and entry.endswith("index.md")]
        return [entry, *_section(kinds[0])] if kinds else entry
    ((title, inside),) = entry.items()
    if isinstance(inside, str):
        return {title: _filled(inside)}
    filled = [_filled(each) for each in inside]
    return {title: [page for each in filled for page in (each if isinstance(each, list) else [each])]}


def _section(kind: str) -> list[Any]:
    """The pages about one kind of thing under their headings, in the order of the registry; then other pages."""
    headed: dict[str, list[str]] = {}
    folder = FOLDERS[kind]
    for name in registered()[kind]:
        headed.setdefault(said_of(kind, name)[0], []).append(f"{folder}/{name}.md")
    about = {page for pages in headed.values() for page in pages}
    found = [str(path.relative_to(DOCS)) for path in sorted((DOCS / folder).glob("*.md")) if path.name != "index.md"]
    more = [page for page in found if page not in about]
    if "" in headed:
        return [*headed[""], *more]
    return [*({heading: pages} for heading, pages in headed.items()), *([{"More": more}] if more else [])]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for every page."""
    markdown = _LIST.sub(lambda found: listing(found.group(1), Path(page.file.src_uri).parent), markdown)
    folder = DOCS / Path(page.file.src_uri).parent
    markdown = _NOTEBOOK.sub(lambda found: notebook_page(folder / found.group(1)), markdown)
    subject = subject_of(page.meta)
    if subject is None:
        return markdown
    head, section, rest = markdown.partition("\n## ")
    return f"{head}\n{table(facts(*subject, markdown))}{section}{rest}"


def on_post_page(output: str, **_: Any) -> str:
    """Called by MkDocs for every page: the theme gives its search no name that a screen reader could say."""
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')


def subject_of(meta: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a page is about: a kind and a name."""
    named = [(kind, str(meta[kind])) for kind in SUBJECTS if kind in meta]
    return named[0] if named else None


def front(text: str) -> dict[str, str]:
    r"""The front matter of a page.

    >>> front("---\nmodel: k-map\n---\n# k-map")
    {'model': 'k-map'}
    """
    found = _FRONT.match(text)
    return dict(line.split(": ", 1) for line in found.group(1).splitlines()) if found else {}


@cache
def pages() -> dict[tuple[str, str], list[Path]]:
    """The pages about each subject."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(DOCS.rglob("*.md")):
        subject = subject_of(front(path.read_text("utf-8")))
        if subject is not None:
            found.setdefault(subject, []).append(path)
    return found


def table(rows: Facts) -> str:
    """As Markdown."""
    lines = [f"| {what} | {said} |" for what, said in rows]
    return "\n".join(['\n<div class="facts"></div>\n', "| In short | |", "|---|---|", *lines, ""])


def listing(kind: str, where: Path) -> str:
    """The pages of a kind, `models` for those about a model, with the first sentence of each."""
    if kind in LISTS:
        return LISTS[kind]()
    lines = []
    for (of, _), paths in pages().items():
        if f"{of}s" != kind:
            continue
        text = _FRONT.sub("", paths[0].read_text("utf-8"))
        title, sentence = (part.strip() for part in text.split("\n\n", 2)[:2])
        link = paths[0].relative_to(DOCS / where)
        lines.append(f"| [{title.removeprefix('# ')}]({link}) | {' '.join(sentence.split())} |")
    return "\n".join(["| page | in a sentence |", "|---|---|", *lines])
