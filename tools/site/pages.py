"""The pages of the site that are no files of `docs/`: hooks that mkdocs calls.

The front page is README, the tutorials are `examples/notebooks`, the reference has every public
name, and files outside `docs/` that a page links to are copied, so that no link leaves the site.
"""

import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.messages import without_start_messages

if TYPE_CHECKING:
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
# Files outside docs/ that are pages of the site.
OUTSIDE = {
    "README.md": "index.md",
    "examples/notebooks/README.md": "notebooks/index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
NOTEBOOKS = ROOT / "examples" / "notebooks"
# The part of the package that a page of the reference is about: its title and where names live.
REFERENCE = {
    "models": ("Models and their configs", ("config", "models", "pretrained")),
    "training": ("Training", ("training",)),
    "data": ("Text and data", ("data", "text")),
    "running": (
        "Running models",
        ("decoding", "runtime", "translation", "search", "runs", "features", "evaluation"),
    ),
    "layers": ("Layers", ("layers",)),
    "export": ("Export", ("export", "artefact")),
}
_MODULES = ("keras_transformer", "keras_transformer.export", "keras_transformer.layers")
# What libraries tell on standard error of the machine is no part of a tutorial.
_QUIET = '[data-mime-type="application/vnd.jupyter.stderr"] { display: none; }'
_HREF = re.compile(r'href="([^":#]+)"')
_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")


def public_names() -> Iterator[str]:
    """Yields the public names in full, as `keras_transformer.search.options.SearchOptions`."""
    with without_start_messages():
        modules = [import_module(name) for name in _MODULES]
    for module in modules:
        homes = getattr(module, "_HOMES", {})
        for name in module.__all__:
            home = homes.get(name) or getattr(module, name).__module__
            yield f"keras_transformer.{home.removeprefix('keras_transformer.')}.{name}"


def reference_page(name: str) -> str:
    """Returns the Markdown of a page of the reference."""
    title, parts = REFERENCE[name]
    own = sorted({one for one in public_names() if one.split(".")[1] in parts}, key=_last)
    return "\n\n".join([f"# {title}", *(f"::: {one}" for one in own), ""])


def on_files(files: "Files", config: Any) -> "Files":
    """Adds the pages, and every file that a page links to."""
    from mkdocs.structure.files import File

    for source, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, "notebooks/quiet.css", content=_QUIET))
    for name in REFERENCE:
        page = File.generated(config, f"reference/{name}.md", content=reference_page(name))
        files.append(page)
    for path in sorted(NOTEBOOKS.glob("*.py")):
        # No generated file, of which the plugin for notebooks finds no source.
        folder = (f"notebooks/{path.name}", str(NOTEBOOKS.parent), config.site_dir)
        files.append(File(*folder, use_directory_urls=False))
    for file in [one for one in files if one.src_uri.endswith((".md", ".py"))]:
        for _, target, _, _ in _LINK.findall(file.content_string):
            path = _target(file.src_uri, target)
            if path.is_file() and _uri(path) not in files.src_uris:
                copied = File.generated(config, _uri(path), abs_src_path=str(path))
                files.append(copied)
    return files


# Before the plugin that reads notebooks.
on_files.mkdocs_priority = 100  # type: ignore[attr-defined]


def on_page_markdown(markdown: str, page: "Page", **_: Any) -> str:
    """Points links at what stands in the site for a file of the repository."""

    def replaced(match: re.Match[str]) -> str:
        path = _target(page.file.src_uri, match[2])
        if not path.exists():
            return match[0]
        here = os.path.dirname(page.file.src_uri)
        target = "contributing.md" if path.is_dir() else _uri(path)
        return f"{match[1]}{os.path.relpath(target, here or '.')}{match[3] or ''}{match[4]}"

    return _LINK.sub(replaced, markdown)


def on_page_content(html: str, page: "Page", **_: Any) -> str:
    """Points links of tutorials, whose text no other hook reads, at pages of the site."""
    if not page.file.src_uri.endswith(".py"):
        return html

    def replaced(match: re.Match[str]) -> str:
        path = _target(page.file.src_uri, match[1])
        if not path.is_file():
            return match[0]
        target = Path(os.path.relpath(_uri(path), "notebooks"))
        is_page = path.suffix == ".md" or path.parent == NOTEBOOKS
        return f'href="{target.with_suffix(".html") if is_page else target}"'

    return _HREF.sub(replaced, html)


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _target(uri: str, link: str) -> Path:
    """Returns the file of the repository that a link of a page leads to."""
    outside = {page: name for name, page in OUTSIDE.items()}
    of_notebooks = uri.startswith("notebooks/")
    page = ROOT / (outside.get(uri) or f"{'examples' if of_notebooks else 'docs'}/{uri}")
    return Path(os.path.normpath(page.parent / link))


def _uri(path: Path) -> str:
    """Returns where a file of the repository stands in the site."""
    name = path.relative_to(ROOT).as_posix()
    if name in OUTSIDE:
        return OUTSIDE[name]
    if path.parent == NOTEBOOKS:
        return f"notebooks/{path.name}"
    return name.removeprefix("docs/") if name.startswith("docs/") else f"files/{name}.txt"
