"""Parts of trained models in models of other families: paths, tokenizers and what is listed."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single_texts import write_run

from keras_transformer.config import TransformerConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.texts import TextCorpus, Texts
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train
from keras_transformer.training.texts.train import train_texts
from keras_transformer.training.transfer.parts import (
    differing_choices,
    from_translation,
    into_translation,
)

pytestmark = pytest.mark.usefixtures("few_updates")

LINES = [f"{a} {b}" for a in ("ab", "ba", "cad", "dac") for b in ("bed", "deb", "fee")]
CORPUS = Corpus(Pairs(LINES, LINES[::-1], "pairs"))
BLOCKS = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2, "norm": "pre"}
BLOCKS |= {"activation": "relu", "layer_norm_epsilon": 1e-6}
ALONE = {**BLOCKS, "num_layers": 1, "positions": "sinusoidal", "scale_embeddings": True}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs of an encoder and a decoder alone."""
    made, directory = {}, tmp_path_factory.mktemp("alone")
    for task, fields in (
        ("masked-lm", {"embedding_norm": False, "num_token_types": 0}),
        ("causal-lm", {}),
    ):
        sizes = {**ALONE, **fields, "max_positions": None}
        sizes["vocab_size"] = 15 if task == "masked-lm" else 14
        made[task] = write_run(directory / task, task, LINES, **sizes)
    return made


def translation(tmp_path: Path, **settings: Any) -> tuple[Any, dict[str, Any]]:
    """Makes a translation whose weights stay as they start: one update that changes nothing."""
    sizes = {**BLOCKS, "num_encoder_layers": 1, "num_decoder_layers": 1}
    if "init" in settings or "init_decoder" in settings:
        sizes = {}
    options = TrainOptions(max_steps=1, learning_rate=1e-30, batch_tokens=64, bleu_sentences=0)
    model = train(CORPUS, tmp_path / "run", overrides=sizes, options=options, **settings).model
    return model, json.loads((tmp_path / "run" / "training.json").read_text())


def weights(model: Any) -> dict[str, np.ndarray]:
    return {weight.path: np.asarray(weight) for weight in model.weights}


@pytest.mark.exhaustive
def test_a_translation_takes_its_encoder_from_a_masked_language_model(
    alone: dict[str, Path], tmp_path: Path, capsys
) -> None:
    model, record = translation(tmp_path, init=alone["masked-lm"])
    bert, tokenizer, _ = load_run(alone["masked-lm"])
    before, after = weights(bert), weights(model)
    for path, weight in before.items():
        if path.startswith("encoder/"):
            np.testing.assert_allclose(after[path], weight, atol=1e-20)
    np.testing.assert_array_equal(
        after["source_embeddings/tokens/matrix"], before["embeddings/tokens/matrix"]
    )
    assert model.config.share_embeddings == "all"
    assert (model.config.norm, model.config.activation) == ("pre", "relu")
    assert (model.config.num_encoder_layers, model.config.num_decoder_layers) == (1, 1)
    assert "differs:" not in capsys.readouterr().out
    assert model.config.source_vocab_size == tokenizer.vocab_size
    fresh = record["transfer"]["fresh"]
    assert fresh and all(path.startswith("decoder/") for path in fresh)
    assert "head/transform/kernel" in record["transfer"]["unused"]
    assert load_run(tmp_path / "run")[1].model == tokenizer.model


def test_both_halves_keep_their_vocabularies(alone: dict[str, Path], tmp_path: Path) -> None:
    model, record = translation(tmp_path, init=alone["masked-lm"], init_decoder=alone["causal-lm"])
    assert (model.config.source_vocab_size, model.config.target_vocab_size) == (15, 14)
    assert model.config.special_ids.mask is None
    assert model.config.share_embeddings == "target"
    before, after = weights(load_run(alone["causal-lm"])[0]), weights(model)
    np.testing.assert_array_equal(
        after["target_embeddings/tokens/matrix"], before["embeddings/tokens/matrix"]
    )
    fresh = record["transfer"]["fresh"]
    assert {path.split("/")[2] for path in fresh} == {"cross_attention", "cross_attention_residual"}
    assert record["start"]["init_decoder_sha256"]


@pytest.mark.exhaustive
def test_a_decoder_alone_starts_from_a_translation(tmp_path: Path) -> None:
    trained, _ = translation(tmp_path, vocab_size=14)
    model = train_texts(
        "causal-lm",
        TextCorpus(Texts(LINES, "texts")),
        tmp_path / "gpt",
        overrides=ALONE,
        init=tmp_path / "run",
        options=TrainOptions(max_steps=1, learning_rate=1e-30, max_length=32),
    ).model
    before, after = weights(trained), weights(model)
    np.testing.assert_array_equal(
        after["embeddings/tokens/matrix"], before["source_embeddings/tokens/matrix"]
    )
    path = "decoder/block_0/self_attention/query/kernel"
    np.testing.assert_array_equal(after[path], before[path])


def test_runs_that_cannot_take_the_place_are_refused(
    alone: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="a decoder alone: give it as init_decoder"):
        translation(tmp_path, init=alone["causal-lm"])
    with pytest.raises(ValueError, match="init_decoder .* must be a run of causal-lm"):
        translation(tmp_path, init_decoder=alone["masked-lm"])


def test_a_preset_of_another_model_is_refused_by_its_fields(
    alone: dict[str, Path], tmp_path: Path
) -> None:
    runs = {"init": alone["masked-lm"], "init_decoder": alone["causal-lm"]}
    message = "preset 'tiny' is another model than .*masked-lm and .*: model_dim=128, trained 16; "
    with pytest.raises(ValueError, match=message + ".*num_decoder_layers=4, trained 1[.;]"):
        translation(tmp_path, preset="tiny", **runs)
    with pytest.raises(ValueError, match="masked-lm: .*num_heads=4, trained 2; num_encoder_layers"):
        translation(tmp_path, preset="tiny", init=alone["masked-lm"])
    assert not (tmp_path / "run").exists()


@pytest.mark.exhaustive
def test_a_preset_says_how_to_train_and_how_deep_a_half_without_a_run_is(
    alone: dict[str, Path], tmp_path: Path
) -> None:
    model, _ = translation(tmp_path, preset="base", init=alone["masked-lm"])
    assert (model.config.model_dim, model.config.num_decoder_layers) == (16, 1)
    shutil.rmtree(tmp_path / "run")
    model, _ = translation(tmp_path, preset="student", init=alone["masked-lm"])
    assert (model.config.num_encoder_layers, model.config.num_decoder_layers) == (1, 2)


def test_paths_of_the_other_half_are_not_taken() -> None:
    assert into_translation("encoder", has_tokens=True)("head/bias") is None
    assert from_translation("encoder", is_shared=False)("decoder/final_norm/beta") is None
    assert from_translation("decoder", is_shared=False)("source_embeddings/tokens/matrix") is None


def test_choices_that_differ_are_named() -> None:
    trained = EncoderConfig.preset("bert-tiny", vocab_size=50)
    found = differing_choices(trained, TransformerConfig.preset("tiny", vocab_size=50))
    assert "norm='pre', trained 'post'" in found
    assert "positions='sinusoidal', trained 'learned'" in found
    assert "scale_embeddings=True, trained False" in found
    assert not any("dropout" in choice for choice in found)
