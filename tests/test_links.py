"""Links between the pages of the project: file and heading exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# The changelog names files of its time.
HISTORY = ROOT / "CHANGELOG.md"
PAGES = [
    HISTORY,
    *sorted(path for path in ROOT.glob("*.md") if path != HISTORY),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
]
FOLDERS = "docs|examples|benchmarks|tools|keras_transformer|export|tests"


def without_code(page: Path) -> str:
    """Returns a page's text without its blocks of code, where `#` begins a comment."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(rf"`((?:{FOLDERS})/[\w./]+\.\w+)`", without_code(page))
    assert [name for name in named if not (ROOT / name).exists()] == []
