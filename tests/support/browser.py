"""Open pages in the installed Chromium: what it reports and fetches, what axe-core finds, and how the pages look.

Nothing is downloaded: `playwright` drives the browser that is there (`SHOAL_CHROMIUM`, or one on the path), and
`axe-playwright-python` brings axe-core along. A test that calls `look` is skipped where one of them is missing.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

WIDTHS = (1280, 390)
"""A desktop and a phone."""
SCHEMES = ("light", "dark")
SERIOUS = ("serious", "critical")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MOTIONLESS = "*, *::before, *::after { transition: none !important; animation: none !important }"


@dataclass(frozen=True)
class Look:
    """One page at one width, in light or dark."""

    page: str
    width: int
    scheme: str
    errors: tuple[str, ...]
    """Messages of the console, and errors that scripts raised."""
    outside: tuple[str, ...]
    """Requested addresses that are not beside the page."""
    violations: tuple[str, ...]
    """Rules of axe-core that the page seriously violates, with the first place of each."""
    wider: int
    """Pixels by which the page is wider than the window."""

    @property
    def faults(self) -> list[str]:
        """Everything that is wrong, one line each."""
        where = f"{self.page} at {self.width} px, {self.scheme}"
        wide = [f"{self.wider} px wider than the window"] if self.wider > 0 else []
        return [f"{where}: {each}" for each in (*self.errors, *self.outside, *self.violations, *wide)]


def look(
    *pages: Path,
    site: Path | None = None,
    shots: Path | None = None,
    widths: Sequence[int] = WIDTHS,
    schemes: Sequence[str] = SCHEMES,
) -> list[Look]:
    """Open each page at every width, light and dark; pages of a `site` are served from that folder, others are files.

    With `shots`, pictures of the whole pages are put into that folder as `page-width-scheme.png`.
    """
    with _browser() as browser, _served(site) as home:
        looks = []
        for scheme in schemes:
            for width in widths:
                context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
                for page in pages:
                    shot = None if shots is None else shots / f"{_name(page, site)}-{width}-{scheme}.png"
                    looks.append(_look_at(context, page, site, home, width, scheme, shot))
                context.close()
        return looks


def print_to_pdf(page: Path, pdf: Path) -> int:
    """Print a page to a PDF file of A4 sheets, and return their number."""
    with _browser() as browser:
        tab = browser.new_page()
        tab.goto(page.resolve().as_uri())
        tab.pdf(path=str(pdf), format="A4", prefer_css_page_size=True)
    return pdf.read_bytes().count(b"/Type /Page\n")


_TRAP = "window.ran = []; window.hacked = what => { window.ran.push(String(what)); return 1 }"
_HANDLERS = """[...document.querySelectorAll("*")].flatMap(each => [...each.attributes]
    .filter(one => /^on/i.test(one.name) || /^\\s*javascript:/i.test(one.value))
    .map(one => `${each.tagName.toLowerCase()} ${one.name}="${one.value}"`))"""


def scripts_run_by(*pages: Path) -> list[str]:
    """Open pages and point at all they show; return the calls of `hacked`, the dialogs and the handlers.

    Hostile texts call `hacked` when they run as scripts. Our own pages have no attribute that holds a script.
    """
    seen: list[str] = []
    with _browser() as browser:
        for page in pages:
            tab = browser.new_page()
            tab.add_init_script(_TRAP)
            tab.on("dialog", partial(_dismiss, seen))
            tab.goto(page.resolve().as_uri())
            tab.wait_for_load_state("networkidle")
            tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            moved = "each => ['mouseover', 'focus', 'click'].forEach(kind => each.dispatchEvent(new Event(kind)))"
            tab.evaluate(f"document.querySelectorAll('body *').forEach({moved})")
            seen += [f"{page.name}: {each}" for each in [*tab.evaluate("window.ran"), *tab.evaluate(_HANDLERS)]]
            tab.close()
    return seen


def _dismiss(seen: list[str], dialog: Any) -> None:
    seen.append(f"a dialog: {dialog.message}")
    dialog.dismiss()


def _look_at(
    context: Any, page: Path, site: Path | None, home: str, width: int, scheme: str, shot: Path | None
) -> Look:
    from axe_playwright_python.sync_playwright import Axe

    tab = context.new_page()
    errors: list[str] = []
    outside: list[str] = []
    near = home or page.resolve().parent.as_uri()
    tab.on("console", lambda said: errors.append(said.text) if said.type in {"error", "warning"} else None)
    tab.on("pageerror", lambda raised: errors.append(str(raised)))
    tab.on("requestfailed", lambda asked: errors.append(f"{asked.url} could not be had"))
    tab.on("request", lambda asked: None if _is_beside(asked.url, near) else outside.append(asked.url))
    tab.goto(f"{home}/{page.resolve().relative_to(site.resolve())}" if site else page.resolve().as_uri())
    tab.wait_for_load_state("networkidle")
    tab.add_style_tag(content=_MOTIONLESS)
    wider = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if shot is not None:
        shot.parent.mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=str(shot), full_page=True)
    found = Axe().run(tab).response["violations"]
    tab.close()
    broken = tuple(
        f"{rule['id']} ({rule['impact']}): {rule['help']}: {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in SERIOUS
    )
    return Look(_name(page, site), width, scheme, tuple(errors), tuple(outside), broken, wider)


def _is_beside(address: str, near: str) -> bool:
    return address.startswith((f"{near}/", "data:", "blob:"))


def _name(page: Path, site: Path | None) -> str:
    """A file name for the page."""
    where = page.resolve().relative_to(site.resolve()) if site else Path(page.name)
    return "-".join(where.with_suffix("").parts)


@contextmanager
def _browser() -> Iterator[Any]:
    """The installed Chromium; the test is skipped where there is none."""
    path = os.environ.get("SHOAL_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium is installed (Debian/Ubuntu: apt install chromium), so no page was opened")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def _served(folder: Path | None) -> Iterator[str]:
    """Serve a folder and yield its address: scripts may not read neighbouring files from `file:` pages."""
    if folder is None:
        yield ""
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_said: object) -> None:
        """Print nothing during tests."""
