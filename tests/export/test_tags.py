"""Tags of languages at the beginning of texts, as users of Marian's models of several languages
write them: `>>fra<< Two dogs run.`, in Keras, the runtime, the server and a SavedModel.
"""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file
from served_models import answer, open_served

from keras_transformer import OnnxTranslator, Translator, load_run
from keras_transformer.cli import main
from keras_transformer.export import export_run, export_saved_model
from keras_transformer.serving.errors import ServingError
from keras_transformer.training.transfer.import_run import import_run
from tools.covering import some

FIXTURE = Path(__file__).parents[1] / "fixtures" / "translators" / "marian_huggingface"
CODES = ("deu", "fra")
ROWS = 256
TEXT = "Carlos is walking in the square right now."
TEXTS = [f">>fra<< {TEXT}", TEXT, f" >>deu<<{TEXT}", ">>fra<<"]
SEARCH = {"max_length": 12}
UNKNOWN = r"must be one of 2 \(deu, fra\), got"


def with_tags(ids: dict[str, int]) -> dict[str, int]:
    return {**ids, **{f">>{code}<<": ROWS + place for place, code in enumerate(CODES)}}


def with_rows(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "vocab_size": ROWS + 2, "decoder_vocab_size": ROWS + 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two target languages, German by default: its vocabulary has two tags more."""
    folder = tmp_path_factory.mktemp("tags")
    shutil.copytree(FIXTURE, folder / "theirs")
    for name, change in (("vocab.json", with_tags), ("config.json", with_rows)):
        file = folder / "theirs" / name
        file.write_text(json.dumps(change(json.loads(file.read_text(encoding="utf-8")))))
    weights = folder / "theirs" / "model.safetensors"
    tensors = load_file(weights)
    draw = np.random.default_rng(0)
    for name in ("model.shared.weight", "final_logits_bias"):
        tensor = tensors[name]
        axis = tensor.shape.index(ROWS)
        more = draw.standard_normal([2 if size == ROWS else size for size in tensor.shape])
        tensors[name] = np.concatenate([tensor, more.astype(np.float32)], axis=axis)
    save_file(tensors, weights)
    return import_run(folder / "theirs", folder / "run", target_language="deu")


@pytest.fixture(scope="module")
def artefact(run: Path) -> Path:
    return export_run(run, run.parent / "onnx")


@pytest.fixture(scope="module")
def expected(run: Path) -> list[str]:
    """What the texts become if their languages are options."""
    translator = Translator(*load_run(run))
    french, german = (
        translator.translate([TEXT], target_language=code, **SEARCH)[0] for code in ("fra", "deu")
    )
    assert french != german
    return [french, german, german, ""]


@pytest.mark.parametrize("is_exported", some([False, True], True))
def test_a_live_model_and_an_artefact_read_tags(
    run: Path, artefact: Path, expected: list[str], is_exported: bool
) -> None:
    translator = OnnxTranslator(artefact) if is_exported else Translator(*load_run(run))
    assert translator.translate(TEXTS, **SEARCH) == expected
    # The tag says it of its own text, whatever is asked for.
    [tagged, plain] = translator.translate(TEXTS[:2], target_language="fra", **SEARCH)
    assert tagged == plain == expected[0]
    scores = translator.score(TEXTS[:2], expected[:2])
    wanted = translator.score([TEXT], expected[:1], target_language="fra")
    assert abs(scores[0].score - wanted[0].score) < 1e-5
    assert "".join(translator.translate_stream(TEXTS[0], **SEARCH)) == expected[0]
    [[one, *_], *_] = translator.translate_n_best(TEXTS[:2], return_attention=True, **SEARCH)
    [[other, *_]] = translator.translate_n_best(
        [TEXT], target_language="fra", return_attention=True, **SEARCH
    )
    np.testing.assert_allclose(one.attention, other.attention, atol=1e-5)
    shifted = [(word + 1, place) for word, place in translator.align_words(TEXT, other)]
    assert translator.align_words(TEXTS[0], one) == shifted
    with pytest.raises(ValueError, match=UNKNOWN):
        translator.translate([f">>xxx<< {TEXT}"])


def test_a_command_reads_tags(
    artefact: Path,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = "".join(f"{text}\n" for text in TEXTS).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert main(["translate", str(artefact), "--max-length", "12"]) == 0
    assert capsys.readouterr().out.splitlines() == expected


@pytest.fixture(scope="module")
def ask(artefact: Path) -> Callable[..., list[str]]:
    """`ask(signature, **strings)`: the translations of a served model."""
    served = open_served(artefact, SEARCH)

    def translations(name: str, **strings: list[str]) -> list[str]:
        return [one.decode() for one in answer(served, name, **strings)["translation"]]

    return translations


def test_a_server_reads_tags(ask: Callable[..., list[str]], expected: list[str]) -> None:
    assert ask("serving_default", text=TEXTS) == expected
    languages = {"source_language": [""] * 2, "target_language": ["fra"] * 2}
    between = ask("translate_between", text=[TEXT, TEXTS[2]], **languages)
    assert between == expected[:1] + expected[2:3]
    with pytest.raises(ServingError, match=f"row 1: .*{UNKNOWN}"):
        ask("serving_default", text=[TEXT, f">>xxx<< {TEXT}"])


@pytest.mark.exhaustive
def test_a_saved_model_reads_tags(run: Path, expected: list[str], tmp_path: Path) -> None:
    saved = export_saved_model(run, tmp_path / "saved", **SEARCH)
    signatures = tf.saved_model.load(str(saved)).signatures

    def translated(name: str, **strings: list[str]) -> list[str]:
        inputs = {key: tf.constant(column) for key, column in strings.items()}
        return [one.decode() for one in signatures[name](**inputs)["translation"].numpy()]

    assert translated("serving_default", text=TEXTS) == expected
    languages = {"source_language": [""] * 2, "target_language": ["fra"] * 2}
    between = translated("translate_between", text=[TEXT, TEXTS[2]], **languages)
    assert between == expected[:1] + expected[2:3]
    for name, more in (("serving_default", {}), ("translate_between", languages)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=UNKNOWN):
            translated(name, text=[TEXT, f">>xxx<< {TEXT}"], **more)
