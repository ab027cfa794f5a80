"""The site's configuration: every page has its place, every public name its entry, and no link of a
page leaves the site. `make docs` builds it.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import keras_transformer
from keras_transformer import export
from tools.site import pages

ROOT = Path(__file__).resolve().parents[3]
CONFIG = re.sub(r"!!python\S+", "", (ROOT / "mkdocs.yml").read_text("utf-8"))
DOCS = ROOT / "docs"


def navigation(part) -> list[str]:
    """Returns the pages of a part of the navigation, in order."""
    if isinstance(part, str):
        return [part]
    entries = part.values() if isinstance(part, dict) else part
    return [page for entry in entries for page in navigation(entry)]


def test_every_page_stands_in_the_navigation_once() -> None:
    listed = navigation(yaml.safe_load(CONFIG)["nav"])
    docs = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    tutorials = {f"notebooks/{path.name}" for path in pages.NOTEBOOKS.glob("*.py")}
    made = {f"reference/{name}.md" for name in pages.REFERENCE} | set(pages.OUTSIDE.values())
    assert len(listed) == len(set(listed))
    assert set(listed) == docs | made | tutorials


def test_every_public_name_has_one_entry_in_the_reference() -> None:
    written = [
        name
        for page in pages.REFERENCE
        for name in re.findall(r"^::: (\S+)$", pages.reference_page(page), re.MULTILINE)
    ]
    assert sorted(written) == sorted(set(pages.public_names()))
    short = {name.rpartition(".")[2] for name in written}
    assert {*keras_transformer.__all__, *export.__all__} <= short


@pytest.mark.parametrize(
    ("page", "link", "rewritten"),
    [
        ("index.md", "docs/start.md#top", "start.md#top"),
        ("index.md", "CONTRIBUTING.md", "contributing.md"),
        ("start.md", "translation.md", "translation.md"),
        ("word_vectors.md", "../examples/node2vec.py", "files/examples/node2vec.py.txt"),
        ("start.md", "../examples/notebooks/README.md", "notebooks/index.md"),
        ("notebooks/index.md", "encoder.py", "encoder.py"),
        ("results/demo.md", "../start.md", "../start.md"),
        ("start.md", "#anchor", "#anchor"),
        ("start.md", "nothing.md", "nothing.md"),
    ],
)
def test_links_lead_to_what_stands_in_the_site(page: str, link: str, rewritten: str) -> None:
    markdown = f"see [this]({link})."
    found = pages.on_page_markdown(markdown, SimpleNamespace(file=SimpleNamespace(src_uri=page)))
    assert found == f"see [this]({rewritten})."


@pytest.mark.parametrize(
    ("link", "rewritten"),
    [
        ("encoder.py", "encoder.html"),
        ("../../docs/results/transfer.md", "../results/transfer.html"),
        ("../node2vec.py", "../files/examples/node2vec.py.txt"),
        ("nothing.md", "nothing.md"),
    ],
)
def test_links_of_tutorials_lead_to_pages_of_the_site(link: str, rewritten: str) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="notebooks/decoder.py"))
    found = pages.on_page_content(f'<a href="{link}">this</a>', page)
    assert found == f'<a href="{rewritten}">this</a>'


def test_every_picture_has_an_alternative_text() -> None:
    sources = [ROOT / "README.md", *DOCS.rglob("*.md")]
    bare = [path.name for path in sources if re.search(r"!\[\s*\]\(", path.read_text("utf-8"))]
    assert bare == []
