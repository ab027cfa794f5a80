"""Opens every page of the built site in a browser, on a telephone's screen and on a desk's.

    python -m tools.site.look site

Prints what is wrong with a page: wider than the screen, a picture that is missing or has no text
beside it, an error in the console. Ends with status 1 if there is anything.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

WIDTHS = (390, 1280)
_HEIGHT = 900
_WIDTH = "document.documentElement.scrollWidth"
_PICTURES = """Array.from(document.images)
    .filter(one => one.loading !== 'lazy' && (!one.naturalWidth || !one.hasAttribute('alt')))
    .map(one => one.getAttribute('src'))"""


def complaints(site: Path, widths: tuple[int, ...] = WIDTHS) -> Iterator[str]:
    """Yields a line for each fault of a page.

    Args:
        site: Folder of the built pages.
        widths: Of the screens, in pixels.
    """
    from playwright.sync_api import sync_playwright

    with _served(site) as address, sync_playwright() as playwright:
        # The system's, as a package of the system brings it.
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for width in widths:
            page = browser.new_page(viewport={"width": width, "height": _HEIGHT})
            errors: list[str] = []
            _watch(page, errors)
            for path in sorted(site.rglob("*.html")):
                errors.clear()
                page.goto(f"{address}/{path.relative_to(site).as_posix()}")
                yield from (
                    f"{path.relative_to(site)} at {width}: {fault}"
                    for fault in _faults(page, width, errors)
                )
        browser.close()


def _watch(page: Any, errors: list[str]) -> None:
    """Adds to a list what a page's scripts and console complain of."""

    def said(message: Any) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", said)


@contextmanager
def _served(site: Path) -> Iterator[str]:
    """Yields the address of a server of the site's files, which the search needs."""
    handler = partial(_Silent, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Requests are not printed."""


def _faults(page: Any, width: int, errors: list[str]) -> Iterator[str]:
    needed = page.evaluate(_WIDTH)
    if needed > width:
        yield f"is {needed} pixels wide"
    for picture in page.evaluate(_PICTURES):
        yield f"the picture {picture} is missing or has no alternative text"
    yield from (f"error in the console: {error}" for error in errors)


def main() -> int:
    """Prints the faults; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="folder that `make docs` built")
    site = parser.parse_args().site
    pages = len(list(site.rglob("*.html")))
    if not pages:
        parser.error(f"there are no pages in {site}: run `make docs` first")
    found = list(complaints(site))
    print(*found, f"{pages} pages at {len(WIDTHS)} widths: {len(found)} faults", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
