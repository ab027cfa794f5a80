"""What a SavedModel of an encoder holds and says of itself, and what is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from saved_models import (
    answered_warmup,
    description_of,
    flat,
    operators_of,
    read_signatures,
)

from keras_transformer.artefact.encoder_signatures import (
    EncoderSizes,
    encoder_id_signatures,
    encoder_text_signatures,
)
from keras_transformer.export import export_saved_model
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

KINDS = [
    (None, "text", {"embed", "encode", "pool", "embed_ids"}),
    (
        "classification",
        "text",
        {"classify", "classify_pairs", "embed", "encode", "classify_ids", "classify_pairs_ids"},
    ),
    ("classification", "ids", {"embed", "encode", "classify_ids", "classify_pairs_ids"}),
    ("masked_lm", "text", {"fill_mask", "embed", "encode", "fill_mask_ids"}),
    ("masked_lm", "ids", {"embed", "encode", "fill_mask_ids"}),
    pytest.param(
        "pretraining",
        "text",
        {"fill_mask", "embed", "encode", "fill_mask_ids", "next_sentence", "next_sentence_ids"},
        marks=pytest.mark.exhaustive,
    ),
    ("tagging", "text", {"tag", "embed", "encode", "tag_ids"}),
    ("spans", "text", {"find_span", "embed", "encode", "find_span_ids"}),
    pytest.param(
        "regression",
        "text",
        {"regress", "regress_pairs", "embed", "encode", "regress_ids", "regress_pairs_ids"},
        marks=pytest.mark.exhaustive,
    ),
]


@pytest.mark.parametrize(("head", "kind", "names"), KINDS)
def test_the_signatures_are_as_declared(
    serve_encoder: Callable[..., Any], head: Any, kind: str, names: set[str]
) -> None:
    served = serve_encoder(head, kind)
    found = read_signatures(served.path)
    config = served.model.config
    sizes = EncoderSizes(
        head=head,
        num_labels=len(config.labels),
        model_dim=8,
        vector_dim=8,
        has_pooler=head is None,
        num_hypotheses=5,
    )
    declared = {"text": encoder_text_signatures, "ids": encoder_id_signatures}[kind](sizes)
    assert set(found) == {*names, "serving_default"}
    assert found == flat(declared)


@pytest.mark.parametrize(
    ("head", "kind", "names"),
    [
        ("masked_lm", "ids", {"embed", "encode", "embed_ids"}),
        pytest.param(
            "pretraining",
            "text",
            {"embed", "encode", "next_sentence", "embed_ids", "next_sentence_ids"},
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_without_a_mask_in_the_vocabulary_nothing_is_filled_in(
    make_encoder: Callable[..., Any],
    texts: list[str],
    tmp_path: Path,
    head: str,
    kind: Any,
    names: set[str],
) -> None:
    tokenizer = train_tokenizer(texts, 60, "bpe")
    model = make_encoder(head, special_ids=tokenizer.special_ids)
    path = export_saved_model(model, tmp_path, tokenizer=tokenizer, signatures=kind)
    found = read_signatures(path)
    assert set(found) == {*names, "serving_default"}
    assert set(found["serving_default"][1]) == {"vector"}
    assert "num_hypotheses" not in description_of(path)


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_the_graph_holds_the_encoder_once_and_what_every_server_runs(
    serve_encoder: Callable[..., Any], kind: str
) -> None:
    served = serve_encoder("masked_lm", kind)
    operators = operators_of(served.path)
    assert operators.count("VarHandleOp") == len(served.model.weights)
    assert operators.count("Softmax") == served.model.config.num_layers
    sentencepiece = {name for name in operators if not hasattr(tf.raw_ops, name)}
    assert bool(sentencepiece) == (kind == "text")


def test_the_description_and_the_warm_up_fit(serve_encoder: Callable[..., Any]) -> None:
    served = serve_encoder("masked_lm")
    described = description_of(served.path)
    assert described["config"] == json.loads(served.model.config.to_json())
    assert (described["num_hypotheses"], described["max_source_length"]) == (5, 14)
    assert "search" not in described
    asked = {
        spec.signature_name: inputs for spec, inputs in answered_warmup(served.path, served.run)
    }
    assert all(b"<mask>" in text for text in asked["fill_mask"]["text"])
    assert set(asked) == {"serving_default", "fill_mask", "embed", "encode", "fill_mask_ids"}


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"beam_size": 4}, TypeError, "an encoder does not search, got beam_size"),
        ({"min_score": -1.0}, TypeError, "an encoder does not search, got min_score"),
        ({"num_hypotheses": 56}, ValueError, "num_hypotheses must lie in 1 to 55"),
        ({"num_hypotheses": 0}, ValueError, "num_hypotheses must lie in 1 to 55"),
        ({"num_hypotheses": 2.5}, TypeError, "num_hypotheses must be an integer, got 2.5"),
        ({"max_source_length": 0}, ValueError, "max_source_length must be at least 1"),
    ],
    ids=str,
)
def test_wrong_options_are_named(
    make_encoder: Callable[..., Any],
    mask_tokenizer: Tokenizer,
    tmp_path: Path,
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    model = make_encoder("masked_lm")
    with pytest.raises(kind, match=message):
        export_saved_model(model, tmp_path, tokenizer=mask_tokenizer, **options)
    assert os.listdir(tmp_path) == []


def test_a_foreign_tokenizer_is_refused(
    make_encoder: Callable[..., Any], mask_tokenizer: Tokenizer, texts: list[str], tmp_path: Path
) -> None:
    model = make_encoder("embedding")
    with pytest.raises(ValueError, match="tokenizer has 50 ids"):
        export_saved_model(model, tmp_path, tokenizer=train_tokenizer(texts, 50, "bpe"))
    with pytest.raises(ValueError, match="mask=None"):
        export_saved_model(model, tmp_path, tokenizer=train_tokenizer(texts, 60, "bpe"))


def test_positions_must_leave_room_for_text(
    make_encoder: Callable[..., Any], mask_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = make_encoder("embedding", max_positions=2)
    with pytest.raises(ValueError, match=r"max_positions \(2\) leaves no room"):
        export_saved_model(model, tmp_path, tokenizer=mask_tokenizer)
