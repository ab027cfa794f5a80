"""The examples in docstrings run and print what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def modules_with_examples() -> list[str]:
    """Names, as installed, of the modules whose source holds an example."""
    names = []
    for top, prefix in (("keras_transformer", ""), ("export", "keras_transformer.")):
        for path in sorted((ROOT / top).rglob("*.py")):
            if ">>> " in path.read_text(encoding="utf-8"):
                parts = path.relative_to(ROOT).with_suffix("").parts
                names.append(prefix + ".".join(parts).removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
