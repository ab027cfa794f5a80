"""Artefacts of the small models, each made once."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class Exported:
    """An artefact and what it was made of."""

    path: Path
    model: Any
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer


@pytest.fixture(scope="session")
def export_learned(
    learned_model: Any, tokenizer: Tokenizer, made_once: Callable[..., Path]
) -> Callable[[str], Exported]:
    """`export_learned(target)`: the learned model and an artefact of it."""

    def export(target: str) -> Exported:
        from keras_transformer.export import export_onnx

        def write(directory: Path) -> None:
            export_onnx(learned_model, tokenizer, directory / "artefact", target=target)

        path = made_once(f"exported_{target}", write) / "artefact"
        return Exported(path, learned_model, tokenizer, tokenizer)

    return export


@pytest.fixture(scope="session")
def exported(export_learned: Callable[[str], Exported]) -> Exported:
    """The learned model and its artefact; tests must not change its files."""
    return export_learned("onnxruntime")


@pytest.fixture(scope="session")
def exported_portable(export_learned: Callable[[str], Exported]) -> Exported:
    """As `exported`, of standard operators."""
    return export_learned("portable")


@pytest.fixture(scope="session")
def exported_native(export_learned: Callable[[str], Exported]) -> Exported:
    """As `exported`, with this package's own operators."""
    return export_learned("native")


@pytest.fixture(scope="session")
def exported_fastest(export_learned: Callable[[str], Exported]) -> Exported:
    """As `exported`, with graphs for "onnxruntime" and for "native"."""
    return export_learned("fastest")


@pytest.fixture(scope="session")
def export_small(
    small_encoder: Callable[..., Any],
    small_decoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Exported]:
    """`export_small(family, target="onnxruntime", **fields)`: a small model's artefact, made once.

    Tests must not change its files.
    """
    made: dict[str, Exported] = {}

    def make(family: str, target: str = "onnxruntime", **fields: Any) -> Exported:
        model = (small_encoder if family == "encoder" else small_decoder)(**fields)
        key = f"{target} {model.config.to_json()}"
        if key not in made:
            made[key] = _export(model, masked_tokenizer, tmp_path_factory, target)
        return made[key]

    return make


@pytest.fixture(scope="session")
def keras_side(learned_model: Any, tokenizer: Tokenizer) -> Any:
    """The Keras `Translator` of `exported`'s model: it traces a search once for all tests."""
    from keras_transformer.decoding.translator import Translator

    return Translator(learned_model, tokenizer)


def _export(
    model: Any, tokenizer: Tokenizer, factory: pytest.TempPathFactory, target: str
) -> Exported:
    from keras_transformer.export import export_onnx

    path = export_onnx(model, tokenizer, factory.mktemp(target) / "artefact", target=target)
    return Exported(path, model, tokenizer, tokenizer)
