"""docs/internals: the files that it lists exist, and so do names of libraries that are not public,
each with its reason."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
INTERNALS = ROOT / "docs" / "internals"
FILES = [path for top in ("keras_transformer", "export") for path in (ROOT / top).rglob("*.py")]
ROWS = re.findall(
    r"^\| `([\w.]+)` \| `([\w./]+)` \| (.+) \|$",
    (INTERNALS / "private_names.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)
# Private by their look, but documented by Python.
DOCUMENTED = {"_asdict", "_fields", "_exit"}


def private_names(tree: ast.AST) -> Iterator[str]:
    """Yields the private attributes that a file reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
            yield node.attr


def own_names(tree: ast.AST) -> Iterator[str]:
    """Yields the private names that a file defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def owner_of(path: str) -> Any:
    """Returns the object in front of the last dot, a class."""
    parts = path.split(".")[:-1]
    module = ".".join(part for part in parts if part.islower())
    return getattr(import_module(module), parts[-1])


@pytest.mark.parametrize(("name", "file", "why"), ROWS, ids=[row[0] for row in ROWS])
def test_a_name_that_is_used_is_still_there(name: str, file: str, why: str) -> None:
    leaf = name.rpartition(".")[2]
    assert hasattr(owner_of(name), leaf), f"{name} is gone, which {file} needs: {why}"


@pytest.mark.parametrize(("name", "file"), [row[:2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_name_stands_in_its_file_alone(name: str, file: str) -> None:
    leaf = name.rpartition(".")[2]
    users = {path for path in FILES if re.search(rf"\b{leaf}\b", path.read_text("utf-8"))}
    assert users == {ROOT / file}


def test_no_other_private_name_of_a_library_is_used() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FILES]
    own = {name for tree in trees for name in own_names(tree)}
    used = {name for tree in trees for name in private_names(tree)}
    listed = {name.rpartition(".")[2] for name, _, _ in ROWS}
    assert used - own - DOCUMENTED <= listed


@pytest.mark.parametrize("page", ["request.md", "source_sentence.md", "training_option.md"])
def test_every_file_of_a_way_exists(page: str) -> None:
    text = (INTERNALS / page).read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+/(?:\w+\.py)?)`", text)
    assert len(named) > 8
    package = ROOT / "keras_transformer"
    assert [
        name for name in named if not (package / name).exists() and not (ROOT / name).exists()
    ] == []
