"""SavedModels with the weights of Hugging Face's models say what theirs say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.export import export_saved_model
from keras_transformer.pretrained.recognise import from_pretrained
from keras_transformer.text.tokenizer import train_tokenizer
from tools.oracles.weights import Oracle, load_oracle

# Rows of the oracles that are a text between begin and end tokens, of the first type alone.
TEXTS = {"bert": {1: [6]}, "decoder": {1: [6], 2: [4, 11, 12, 13]}}


@pytest.fixture
def answers(
    texts: list[str], tmp_path: Path, open_session: Callable[[Path], Any]
) -> Callable[..., dict[str, np.ndarray]]:
    """`answers(oracle, signature, ids)` of the oracle's SavedModel in a session."""

    def ask(oracle: Oracle, signature: str, ids: list[list[int]]) -> dict[str, np.ndarray]:
        tokenizer = train_tokenizer(texts, oracle.model.config.vocab_size, "bpe")
        path = export_saved_model(
            oracle.model, tmp_path / "oracle", tokenizer=tokenizer, signatures="ids", **few(oracle)
        )
        rows = np.zeros((len(ids), max(map(len, ids))), np.int32)
        for line, row in zip(rows, ids, strict=True):
            line[: len(row)] = row
        return open_session(path)(signature, token_ids=rows)

    return ask


def few(oracle: Oracle) -> dict[str, int]:
    """Options that keep the graph of a search small; an encoder has none."""
    is_decoder = oracle.model.config.family == "decoder"
    return {"max_source_length": 8, "max_length": 2} if is_decoder else {}


def log_softmax(logits: np.ndarray) -> np.ndarray:
    wide = logits.astype(np.float64)
    return wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))


def test_states_are_theirs(answers: Callable[..., Any]) -> None:
    oracle = load_oracle("bert")
    found = answers(oracle, "encode", list(TEXTS["bert"].values()))
    for place, row in enumerate(TEXTS["bert"]):
        theirs = oracle.outputs["states"][row][oracle.keep[row]]
        np.testing.assert_allclose(found["encoder_states"][place], theirs, atol=1e-4)


@pytest.mark.exhaustive
def test_classes_are_theirs(answers: Callable[..., Any]) -> None:
    oracle = load_oracle("bert_classification")
    found = answers(oracle, "serving_default", list(TEXTS["bert"].values()))
    theirs = np.exp(log_softmax(oracle.outputs["outputs"][list(TEXTS["bert"])]))
    np.testing.assert_allclose(found["probabilities"], theirs, atol=1e-4)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_log_probabilities_are_theirs(answers: Callable[..., Any], name: str) -> None:
    oracle = load_oracle(name)
    found = answers(oracle, "score", list(TEXTS["decoder"].values()))
    for place, (row, ids) in enumerate(TEXTS["decoder"].items()):
        log_probs = log_softmax(oracle.outputs["outputs"][row])
        total = sum(log_probs[step, token] for step, token in enumerate([*ids, 3]))
        assert found["log_probability"][place] == pytest.approx(total, abs=1e-4)


@pytest.mark.exhaustive
def test_pairs_and_several_labels_are_theirs(
    tmp_path: Path, open_session: Callable[[Path], Any]
) -> None:
    path = Path(__file__).parents[2] / "fixtures" / "stacks" / "roberta_feelings"
    reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
    model, tokenizer, _ = from_pretrained(path)
    out = export_saved_model(model, tmp_path / "m", tokenizer=tokenizer, signatures="ids")
    pad, inputs = model.config.special_ids.pad, {}
    for name, side in zip(
        ("token_ids", "second_ids"), zip(*reference["pairs"], strict=True), strict=True
    ):
        rows = tokenizer.encode(side)
        inputs[name] = np.full((len(rows), max(map(len, rows))), pad, np.int32)
        for line, row in zip(inputs[name], rows, strict=True):
            line[: len(row)] = row
    found = open_session(out)("classify_pairs_ids", **inputs)
    wide = np.exp(np.array(reference["pair_logits"]))
    np.testing.assert_allclose(found["probabilities"], wide / (1 + wide), atol=1e-5)
