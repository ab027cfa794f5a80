"""Each command says which ones a model of another family is for, before it loads anything."""

import json
import re
from pathlib import Path

import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.transformer import TransformerConfig

CONFIGS = {
    "masked_lm": EncoderConfig.preset("bert-tiny", vocab_size=20, head="masked_lm"),
    "labels": EncoderConfig.preset(
        "bert-tiny", vocab_size=20, head="classification", labels=("a", "b")
    ),
    "tags": EncoderConfig.preset("bert-tiny", vocab_size=20, head="tagging", labels=("a", "b")),
    "plain": EncoderConfig.preset("bert-tiny", vocab_size=20),
    "decoder": DecoderConfig.preset("gpt2-tiny", vocab_size=20),
    "translation": TransformerConfig.preset("tiny", vocab_size=20),
}


@pytest.fixture(params=["run", "artefact"])
def directories(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory for each config, as far as it is looked at."""
    for name, config in CONFIGS.items():
        (tmp_path / name).mkdir()
        values = config.to_dict()
        if request.param == "artefact":
            text = json.dumps({"format": "keras-transformer-onnx", "config": values})
            (tmp_path / name / "manifest.json").write_text(text, encoding="utf-8")
        else:
            (tmp_path / name / "config.json").write_text(json.dumps(values), encoding="utf-8")
            (tmp_path / name / "model.keras").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("command", "name", "advice"),
    [
        ("translate", "masked_lm", "use fill-mask or embed"),
        ("translate", "decoder", "use generate or perplexity"),
        ("translate", "plain", "use embed"),
        ("classify", "masked_lm", "use fill-mask or embed, or train one with .*--task classify"),
        ("fill-mask", "labels", "use classify or embed, or train one with .*--task masked-lm"),
        ("tag", "plain", "use embed, or train one with `keras-transformer train --task tag`"),
        ("fill-mask", "translation", "use translate or score"),
        ("evaluate", "labels", "use classify --test-tsv"),
        ("evaluate", "tags", "use tag --test-text"),
        ("embed", "decoder", "use generate or perplexity"),
        ("generate", "labels", "use classify or embed"),
        ("perplexity", "translation", "use translate or score"),
    ],
)
def test_a_model_of_another_kind_is_refused_with_its_own_commands(
    run_cli, directories: Path, command: str, name: str, advice: str
) -> None:
    flags = {"embed": ["--output", "v.npy"], "evaluate": ["--source", "a", "--reference", "b"]}
    result = run_cli(command, directories / name, *flags.get(command, []), stdin=b"a\n")
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert str(directories / name) in result.err
    assert re.search(advice, result.err)


@pytest.mark.parametrize("command", ["fill-mask", "generate"])
def test_what_is_neither_run_nor_export_is_named(run_cli, tmp_path: Path, command: str) -> None:
    result = run_cli(command, tmp_path, stdin=b"a\n")
    assert result.code == 1
    assert "holds neither manifest.json (an export) nor config.json (a training run)" in result.err
    assert "no directory" in run_cli(command, tmp_path / "none", stdin=b"a\n").err
