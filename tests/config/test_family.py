"""The records of families: what they name exists, and families that write have an engine."""

import ast
from pathlib import Path

import pytest

import keras_transformer
from keras_transformer.config.family import FAMILIES

PACKAGE = Path(keras_transformer.__file__).parent
PARTS = ("config", "model", "build", "engine", "pipeline", "opened")
NAMED = [
    (family.name, part, getattr(family, part))
    for family in FAMILIES.values()
    for part in PARTS
    if getattr(family, part)
]


@pytest.mark.parametrize(("family", "part", "path"), NAMED)
def test_what_a_record_names_exists(family: str, part: str, path: str) -> None:
    module, _, name = path.rpartition(".")
    source = (PACKAGE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    defined = [getattr(node, "name", None) for node in ast.parse(source).body]
    assert name in defined


def test_models_that_write_have_an_engine() -> None:
    assert {name for name, one in FAMILIES.items() if one.engine} == {"encoder-decoder", "decoder"}
