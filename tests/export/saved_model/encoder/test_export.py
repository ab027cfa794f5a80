"""What a SavedModel of an encoder holds and says of itself, and what is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.artefact.encoder_signatures import (
    EncoderSizes,
    encoder_id_signatures,
    encoder_text_signatures,
)
from keras_transformer.export import export_saved_model
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

DTYPES = {7: "string", 3: "int32", 1: "float32", 10: "bool"}
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


def read_graph(path: Path) -> Any:
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((path / "saved_model.pb").read_bytes())
    [meta] = saved.meta_graphs
    return meta


def tensors(infos: Any) -> dict[str, Any]:
    return {
        name: (
            DTYPES[info.dtype],
            tuple(None if dim.size == -1 else dim.size for dim in info.tensor_shape.dim),
        )
        for name, info in infos.items()
    }


@pytest.mark.parametrize(("head", "kind", "names"), KINDS)
def test_the_signatures_are_as_declared(
    serve_encoder: Callable[..., Any], head: Any, kind: str, names: set[str]
) -> None:
    served = serve_encoder(head, kind)
    found = {
        name: (tensors(one.inputs), tensors(one.outputs))
        for name, one in read_graph(served.path).signature_def.items()
        if name != "__saved_model_init_op"
    }
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
    assert found == {
        name: tuple(
            {spec.name: (spec.dtype, spec.shape) for spec in side}
            for side in (one.inputs, one.outputs)
        )
        for name, one in declared.items()
    }
    for one in declared.values():
        assert one.description
        assert all(spec.description for spec in (*one.inputs, *one.outputs))


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
    found = read_graph(path).signature_def
    assert set(found) - {"__saved_model_init_op"} == {*names, "serving_default"}
    assert set(found["serving_default"].outputs) == {"vector"}
    assert "num_hypotheses" not in json.loads((path / "assets.extra/export.json").read_text())


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_the_graph_holds_the_encoder_once_and_what_every_server_runs(
    serve_encoder: Callable[..., Any], kind: str
) -> None:
    served = serve_encoder("masked_lm", kind)
    graph = read_graph(served.path).graph_def
    every = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    operators = [node.op for node in every]
    assert operators.count("VarHandleOp") == len(served.model.weights)
    assert operators.count("Softmax") == served.model.config.num_layers
    sentencepiece = {name for name in operators if not hasattr(tf.raw_ops, name)}
    assert bool(sentencepiece) == (kind == "text")


def test_the_description_and_the_warm_up_fit(serve_encoder: Callable[..., Any]) -> None:
    logs = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason="[grpc]")
    served = serve_encoder("masked_lm")
    described = json.loads((served.path / "assets.extra" / "export.json").read_text())
    assert described["config"] == json.loads(served.model.config.to_json())
    assert (described["num_hypotheses"], described["max_source_length"]) == (5, 14)
    assert "search" not in described
    path = served.path / "assets.extra" / "tf_serving_warmup_requests"
    asked = set()
    for record in tf.compat.v1.io.tf_record_iterator(str(path)):
        request = logs.PredictionLog.FromString(record).predict_log.request
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        found = served.run(request.model_spec.signature_name, **inputs)
        assert {len(value) for value in found.values()} == {3}
        asked.add(request.model_spec.signature_name)
        if "fill_mask" == request.model_spec.signature_name:
            assert all(b"<mask>" in text for text in inputs["text"])
    assert asked == {"serving_default", "fill_mask", "embed", "encode", "fill_mask_ids"}


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
