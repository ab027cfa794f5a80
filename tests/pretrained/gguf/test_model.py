"""GGUF files: ids, probabilities and continuations are those of Hugging Face's models."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from keras_transformer import from_pretrained
from keras_transformer.cli.commands.import_model import main
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.gguf import model
from keras_transformer.pretrained.gguf.container import Gguf, open_gguf
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.values import FileValues
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory

FOLDER = Path(__file__).parents[2] / "fixtures" / "gguf"
NAMES = sorted(path.name for path in FOLDER.iterdir())


@pytest.fixture(scope="module")
def read() -> Callable[[str], tuple[Any, Any, dict[str, Any]]]:
    """Reads a file once: the model, its tokenizer, and what theirs computed."""
    known: dict[str, Any] = {}

    def open_once(name: str) -> tuple[Any, Any, dict[str, Any]]:
        if name not in known:
            made, tokenizer, _ = from_pretrained(FOLDER / name / "model.gguf")
            reference = json.loads((FOLDER / name / "reference.json").read_text(encoding="utf-8"))
            known[name] = made, tokenizer, reference
        return known[name]

    return open_once


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_theirs(name: str, read: Callable[[str], Any]) -> None:
    _, tokenizer, reference = read(name)
    assert tokenizer.encode(reference["texts"]) == reference["ids"]
    assert tokenizer.encode(reference["hostile"]) == reference["hostile_ids"]


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_of_texts_are_theirs(name: str, read: Callable[[str], Any]) -> None:
    made, _, reference = read(name)
    ids = made.config.special_ids
    rows = [[ids.decoder_start, *row, ids.eos] for row in reference["ids"]]
    given = np.full((len(rows), max(map(len, rows))), ids.pad, np.int32)
    for line, row in zip(given, rows, strict=True):
        line[: len(row)] = row
    logits = np.asarray(made({"token_ids": given[:, :-1]}), np.float64)
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    for place, row in enumerate(rows):
        found = logits[place, np.arange(len(row) - 1), row[1:]].sum()
        np.testing.assert_allclose(found, reference["log_probabilities"][place], atol=1e-4)


def test_the_command_writes_a_run_of_the_file(read: Callable[[str], Any], tmp_path: Path) -> None:
    expected, _, reference = read("llama3")
    assert main([str(FOLDER / "llama3" / "model.gguf"), "--output", str(tmp_path / "run")]) == 0
    made, tokenizer, _ = load_run(tmp_path / "run")
    assert tokenizer.encode(reference["texts"]) == reference["ids"]
    assert RunDirectory(tmp_path / "run").load_search() == {"stop_tokens": [342]}
    for found, weight in zip(made.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(found, weight)


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_what_their_package_dequantises(name: str) -> None:
    path = FOLDER / name / "model.gguf"
    found = open_gguf(path).tensors
    theirs = gguf.GGUFReader(path).tensors
    assert sorted(found) == sorted(one.name for one in theirs)
    for one in theirs:
        expected = gguf.dequantize(one.data, one.tensor_type)
        np.testing.assert_array_equal(found[one.name], expected)


def test_the_template_of_chats_and_further_ends_come_along() -> None:
    chat = read_pretrained(FOLDER / "qwen2").chat
    assert chat is not None
    turn = chat.render([{"role": "user", "content": "Hello!"}])
    assert turn == "<|im_start|>user\nHello!<|im_end|>\n"
    assert read_pretrained(FOLDER / "llama3").search == {"stop_tokens": [342]}
    assert read_pretrained(FOLDER / "gemma").chat is None


def test_prompts_begin_with_bos_where_llama_cpp_s_do() -> None:
    starts = {name: read_pretrained(FOLDER / name).config.starts_prompts for name in NAMES}
    assert starts == {name: not name.startswith("qwen") for name in NAMES}


def with_values(name: str, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads a file as if its metadata held further values."""
    file = open_gguf(FOLDER / name / "model.gguf")
    given = FileValues(file.values.origin, {**file.values.values, **values})
    monkeypatch.setattr(model, "open_gguf", lambda path: Gguf(given, file.tensors))
    return model.read_gguf(FOLDER / name / "model.gguf").config


def test_scaled_positions_of_gemma_3_are_those_of_blocks_without_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scaling = {"gemma3.rope.scaling.type": "linear", "gemma3.rope.scaling.factor": 8.0}
    values = {**scaling, "gemma3.block_count": 6, "gemma3.rope.freq_base": 1e6}
    layers = with_values("gemma3", values, monkeypatch).stack.layers
    assert [block.own.window for block in layers] == [*[3] * 5, None]
    near, far = layers[0].own.rotary, layers[5].own.rotary
    assert (near.base, near.scaling) == (10_000.0, None)
    assert (far.base, far.scaling.kind, far.scaling.factor) == (1e6, "linear", 8.0)


def test_yarn_has_the_numbers_of_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"type": "yarn", "factor": 4.0, "original_context_length": 32, "yarn_beta_fast": 16.0}
    values = {f"qwen2.rope.scaling.{name}": one for name, one in named.items()}
    scaling = with_values("qwen2", values, monkeypatch).rotary_scaling
    found = scaling["kind"], scaling["factor"], scaling["original_length"], scaling["fast_turns"]
    assert found == ("yarn", 4.0, 32, 16.0)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("llama.rope.dimension_count", 4, r"rope.dimension_count: 4, and only the width of a head"),
        ("llama.attention.head_count", [2, 1], r"attention.head_count must be an integer"),
        ("split.count", 3, r"is a part of a model: join the parts"),
        ("tokenizer.ggml.tokens", ["a"] * 345, r"a token twice"),
        ("tokenizer.ggml.token_type", [1], r"348 tokens and the types of 1"),
        ("tokenizer.ggml.merges", [1], r"merges must hold values of the type str"),
        ("llama.rope.scaling.yarn_attn_factor", 1.2, r"yarn_attn_factor, which is not supported"),
        ("llama.rope.scaling.type", 7, r"rope.scaling.type must be a string"),
    ],
)
def test_metadata_that_no_model_has_is_named(
    name: str, value: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_RATES", "none")
    with pytest.raises(ImportRefusedError, match=message):
        with_values("llama3", {name: value}, monkeypatch)


def changed(path: Path, old: bytes, new: bytes) -> Path:
    """Copies a file with some bytes changed; returns the copy."""
    content = (FOLDER / "qwen2" / "model.gguf").read_bytes()
    assert content.count(old) >= 1
    (path / "model.gguf").write_bytes(content.replace(old, new))
    return path / "model.gguf"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            b"\5\0\0\0\0\0\0\0qwen2",
            b"\5\0\0\0\0\0\0\0falco",
            r"architecture 'falco', and only llama",
        ),
        (
            b"\4\0\0\0\0\0\0\0gpt2",
            b"\4\0\0\0\0\0\0\0bert",
            r"vocabulary of the kind 'bert', and only",
        ),
        (
            b"pre\x08\0\0\0\5\0\0\0\0\0\0\0qwen2",
            b"pre\x08\0\0\0\5\0\0\0\0\0\0\0falco",
            r"pre: 'falco'",
        ),
        (b"attn_q.weight", b"attn_x.weight", r"does not have, such as blk.0.attn_x.weight"),
        (
            b"qwen2.attention.value_length\4\0\0\0\x10",
            b"qwen2.attention.value_length\4\0\0\0\x08",
            r"value_length: 8, and only the width of a head, 16",
        ),
    ],
)
def test_what_is_not_supported_is_named(
    old: bytes, new: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        read_pretrained(changed(tmp_path, old, new)).build()


def test_a_file_alone_in_a_directory_is_read_and_of_several_one_must_be_named(
    tmp_path: Path,
) -> None:
    for name in ("one.gguf", "two.gguf"):
        assert name == "one.gguf" or read_pretrained(tmp_path).format == "qwen2"
        shutil.copy(FOLDER / "qwen2" / "model.gguf", tmp_path / name)
    with pytest.raises(ImportRefusedError, match=r"one.gguf, two.gguf: name the one to import"):
        read_pretrained(tmp_path)
