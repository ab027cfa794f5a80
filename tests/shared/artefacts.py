"""Artefacts of the small models, each made once."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
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
        from quick_exports import compared

        from keras_transformer.export import export_onnx

        def write(directory: Path) -> None:
            with compared():
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


class Adapted(NamedTuple):
    """A decoder that takes adapters: its artefact, their files, and artefacts with one merged."""

    path: Path
    files: dict[str, Path]
    merged: dict[str | None, Path]


@pytest.fixture(scope="session")
def adapted_decoder(
    masked_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Adapted:
    """A decoder with rotary positions, and adapters of two ranks, one of a few layers alone."""
    from keras_transformer.export import export_onnx

    folder, random = tmp_path_factory.mktemp("adapted"), np.random.default_rng(3)

    def export(one: Any, name: str, **options: Any) -> Path:
        options = {"target": "onnxruntime", **options}
        return export_onnx(one, masked_tokenizer, folder / name, **options)

    model = _adaptable(masked_tokenizer)
    found = Adapted(export(model, "base", adapters=True), {}, {None: export(model, "plain")})
    for name, rank, layers in (("first", 2, None), ("second", 3, ["query", "output"])):
        other = _adaptable(masked_tokenizer)
        other.set_weights(model.get_weights())
        other.enable_lora(rank, lora_alpha=8.0, target_layer_names=layers)
        for weight in other.weights:
            if weight.name.startswith("lora"):
                weight.assign(random.normal(0, 0.4, weight.shape))
        found.files[name] = folder / f"{name}.lora.npz"
        other.save_lora_weights(found.files[name])
        found.merged[name] = export(other.merge_lora(), name)
    return found


def _adaptable(tokenizer: Tokenizer) -> Any:
    from keras_transformer.config.decoder_only import DecoderConfig
    from keras_transformer.models.decoder_only import build_decoder

    config = DecoderConfig(
        vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids,
        model_dim=16,
        feed_forward_dim=24,
        num_heads=4,
        num_key_value_heads=2,
        num_layers=1,
        gated_feed_forward=True,
        norm_kind="rms_norm",
        positions="none",
        rotary_base=100.0,
        max_positions=None,
    )
    model, random = build_decoder(config), np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(random.normal(0, 0.4, weight.shape))
    return model


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
