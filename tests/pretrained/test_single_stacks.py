"""Encoders and decoders of Hugging Face, read: ids, probabilities and continuations are theirs."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
import pytest
from few_updates import without_graphs

from keras_transformer import Generator, OnnxEncoder, OnnxGenerator, TextEncoder, from_pretrained
from keras_transformer.data.sources.texts import LabelledTexts
from keras_transformer.export import export_onnx
from keras_transformer.export.onnx.quantize.precision import target_in
from keras_transformer.runtime.onnx_graphs.operators import operators_library
from keras_transformer.text.layout import encoder_row
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.tasks import KINDS
from tools.covering import sampled

FOLDER = Path(__file__).parents[1] / "fixtures" / "stacks"
ENCODERS = (
    "albert",
    "albert_classes",
    "bert",
    "bert_classes",
    "deberta",
    "deberta_classes",
    "distilbert",
    "distilbert_classes",
    "electra",
    "electra_classes",
    "modernbert",
    "modernbert_classes",
    "mpnet",
    "mpnet_classes",
    "nomic_bert",
    "nomic_bert_classes",
    "roberta",
    "roberta_classes",
    "roberta_feelings",
    "xlm_roberta",
)
CLASSIFIERS = [name for name in ENCODERS if name.endswith(("_classes", "_feelings"))]
RERANKERS = ("bert_reranker", "xlm_roberta_reranker")
DECODERS = (
    "gpt2",
    "llama",
    "llama3",
    "llama_sentencepiece",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gemma3",
    "mistral",
    "stablelm",
    "olmo2",
    "phi3",
    "granite",
    "smollm3",
    "transfo_xl",
    "transfo_xl_adaptive",
)


class Read(NamedTuple):
    """A directory that was read, and its references."""

    model: Any
    tokenizer: Any
    reference: dict[str, Any]


@pytest.fixture(scope="module")
def read() -> Callable[[str], Read]:
    """Reads a directory once."""
    known: dict[str, Read] = {}

    def open_once(name: str) -> Read:
        if name not in known:
            path = FOLDER / name
            reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
            model, tokenizer, _ = from_pretrained(path)
            known[name] = Read(model, tokenizer, reference)
        return known[name]

    return open_once


def test_every_folder_is_read() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*ENCODERS, *RERANKERS, *DECODERS}


@pytest.mark.parametrize("name", [*ENCODERS, *DECODERS])
def test_ids_are_theirs(name: str, read: Callable[[str], Read]) -> None:
    _, tokenizer, reference = read(name)
    rows = tokenizer.encode(reference["texts"])
    if name in ENCODERS:
        rows = [encoder_row(row, None, tokenizer.special_ids)[0] for row in rows]
    assert rows == reference["ids"]
    assert tokenizer.encode(reference["hostile"]) == reference["hostile_ids"]


@pytest.mark.parametrize("name", ENCODERS)
def test_logits_of_encoders_are_theirs(name: str, read: Callable[[str], Read]) -> None:
    model, _, reference = read(name)
    for place, row in enumerate(reference["ids"]):
        inputs = {"token_ids": np.array([row], np.int32)}
        if model.config.num_token_types > 1:
            inputs["token_type_ids"] = np.zeros((1, len(row)), np.int32)
        [logits] = np.asarray(model(inputs), np.float64)
        if "logits" in reference:
            np.testing.assert_allclose(logits, reference["logits"][place], atol=1e-4)
            continue
        total = np.log(np.exp(logits).sum(axis=-1))
        found = logits[np.arange(len(row)), row] - total
        np.testing.assert_allclose(found, reference["token_log_probabilities"][place], atol=1e-4)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("portable", "bert"),
        *(pytest.param("portable", one, marks=pytest.mark.exhaustive) for one in ENCODERS[1:]),
        *(("native", one) for one in ENCODERS),
    ],
)
def test_graphs_of_encoders_give_their_logits(
    name: str, target: str, read: Callable[[str], Read]
) -> None:
    """All texts in one batch, so that the graphs must leave the padding out."""
    model, _, reference = read(name)
    lengths = [len(row) for row in reference["ids"]]
    ids = np.full((len(lengths), max(lengths)), model.config.special_ids.pad, np.int32)
    for line, row in zip(ids, reference["ids"], strict=True):
        line[: len(row)] = row
    inputs = {
        "token_ids": ids,
        "token_type_ids": np.zeros_like(ids),
        "places": np.tile(np.arange(ids.shape[1], dtype=np.int32), (len(ids), 1)),
    }
    options = ort.SessionOptions()
    if target == "native":
        options.register_custom_ops_library(str(operators_library()))
    graph = target_in("float32", target).graph("head", model, 18)
    session = ort.InferenceSession(graph.SerializeToString(), options)
    [found] = session.run(None, {one.name: inputs[one.name] for one in session.get_inputs()})
    if "logits" in reference:
        np.testing.assert_allclose(found, reference["logits"], atol=1e-4)
        return
    for logits, row, expected in zip(
        found, reference["ids"], reference["token_log_probabilities"], strict=True
    ):
        real = logits[: len(row)].astype(np.float64)
        scores = real[np.arange(len(row)), row] - np.log(np.exp(real).sum(axis=-1))
        np.testing.assert_allclose(scores, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        *sampled(
            [(target, name) for target in (None, "onnxruntime", "native") for name in DECODERS]
        ),
        *(pytest.param("portable", name, marks=pytest.mark.exhaustive) for name in DECODERS),
    ],
)
def test_probabilities_and_continuations_of_decoders_are_theirs(
    name: str, target: str | None, read: Callable[[str], Read], tmp_path: Path
) -> None:
    model, tokenizer, reference = read(name)
    if target is None:
        generator: Any = Generator(model, tokenizer)
    else:
        export_onnx(model, tokenizer, tmp_path / "model", target=target)
        generator = OnnxGenerator(tmp_path / "model", threads=1)
    # A prompt begins as the tokenizer says; those of Transformer-XL were given a start.
    start = [model.config.special_ids.decoder_start] * name.startswith("transfo")
    prompts = [[*start, *row[:5]] for row in reference["ids"]]
    with without_graphs():
        scored = generator.score(reference["texts"])
        results = generator.generate_ids(prompts, max_length=12, min_length=0)
    found = [one.log_probability for one in scored]
    np.testing.assert_allclose(found, reference["log_probabilities"], atol=1e-4)
    eos = model.config.special_ids.eos
    theirs = [row[: row.index(eos)] if eos in row else row for row in reference["greedy"]]
    assert [found[0].ids for found in results] == theirs


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_and_classes_of_pairs_are_theirs(name: str, read: Callable[[str], Read]) -> None:
    model, tokenizer, reference = read(name)
    firsts, seconds = (tokenizer.encode(side) for side in zip(*reference["pairs"], strict=True))
    separators = model.config.pair_separators
    rows = [
        encoder_row(*both, tokenizer.special_ids, separators)
        for both in zip(firsts, seconds, strict=True)
    ]
    assert [ids for ids, _ in rows] == reference["pair_ids"]
    labels = [model.config.labels[0]] * len(rows)
    texts = LabelledTexts(labels, *zip(*reference["pairs"], strict=True), origin="reference")
    encoded = KINDS["classify"].encode(texts, tokenizer, model.config, 64, TextOptions())
    assert [encoded.rows[row].tolist() for row in range(len(rows))] == reference["pair_ids"]
    found = TextEncoder(model, tokenizer).classify(*zip(*reference["pairs"], strict=True))
    check_probabilities(found, reference["pair_logits"], model.config.multi_label)


@pytest.mark.parametrize("name", ["bert_classes", "distilbert_classes", *CLASSIFIERS[-2:]])
def test_exported_classifiers_give_their_probabilities(
    name: str, read: Callable[[str], Read], tmp_path: Path
) -> None:
    model, tokenizer, reference = read(name)
    export_onnx(model, tokenizer, tmp_path / "model")
    pairs = zip(*reference["pairs"], strict=True)
    with OnnxEncoder(tmp_path / "model", threads=1) as encoder:
        assert encoder.config == model.config
        found = encoder.classify(reference["texts"])
        check_probabilities(
            encoder.classify(*pairs), reference["pair_logits"], model.config.multi_label
        )
    np.testing.assert_allclose(
        [one.probabilities for one in found], reference["probabilities"], atol=1e-5
    )


def check_probabilities(found: Sequence[Any], logits: Any, multi_label: bool) -> None:
    wide = np.exp(np.asarray(logits, np.float64))
    expected = wide / (1 + wide) if multi_label else wide / wide.sum(axis=1, keepdims=True)
    np.testing.assert_allclose([one.probabilities for one in found], expected, atol=1e-5)


def test_a_text_has_every_label_that_is_probable_enough(read: Callable[[str], Read]) -> None:
    model, tokenizer, reference = read("roberta_feelings")
    encoder, texts = TextEncoder(model, tokenizer), reference["texts"]
    for threshold in (None, 0.0, 0.6, 1.0):
        for one, shares in zip(
            encoder.classify(texts, threshold=threshold), reference["probabilities"], strict=True
        ):
            named = dict(zip(model.config.labels, shares, strict=True))
            least = 0.5 if threshold is None else threshold
            expected = [label for label in named if named[label] >= least]
            assert list(one.chosen) == sorted(expected, key=named.__getitem__, reverse=True)
            assert one.label == max(named, key=named.__getitem__)
