"""What a SavedModel of a decoder holds and says of itself, and what is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.artefact.search_signatures import (
    AnswerSizes,
    generator_id_signatures,
    generator_text_signatures,
)
from keras_transformer.export import export_saved_model
from keras_transformer.text.tokenizer import Tokenizer

DTYPES = {7: "string", 3: "int32", 1: "float32", 10: "bool"}


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


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_the_signatures_are_as_declared(serve_decoder: Callable[..., Any], kind: str) -> None:
    served = serve_decoder(kind)
    found = {
        name: (tensors(one.inputs), tensors(one.outputs))
        for name, one in read_graph(served.path).signature_def.items()
        if name != "__saved_model_init_op"
    }
    sizes = AnswerSizes(
        num_hypotheses=served.search.get("num_hypotheses", 1),
        max_length=served.search["max_length"],
    )
    declared = {"text": generator_text_signatures, "ids": generator_id_signatures}[kind](sizes)
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


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_the_graph_holds_the_decode_step_once_and_what_every_server_runs(
    serve_decoder: Callable[..., Any], kind: str
) -> None:
    served = serve_decoder(kind)
    graph = read_graph(served.path).graph_def
    softmaxes = [
        sum(node.op == "Softmax" for node in one.node_def) for one in graph.library.function
    ]
    every = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    operators = [node.op for node in every]
    assert not [one for one in operators if one.startswith("Xla") or "PyFunc" in one]
    assert operators.count("VarHandleOp") == len(served.model.weights)
    # The decoder is there again for `score`, which reads whole texts at once, and for prompts, but
    # with a penalty on repetition, which goes from token to token.
    times = {"text": 3, "ids": 2}[kind]
    assert [count for count in softmaxes if count] == [served.model.config.num_layers] * times
    sentencepiece = {name for name in operators if not hasattr(tf.raw_ops, name)}
    assert bool(sentencepiece) == (kind == "text")


def test_the_description_and_the_warm_up_fit(serve_decoder: Callable[..., Any]) -> None:
    logs = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason="[grpc]")
    served = serve_decoder("text")
    described = json.loads((served.path / "assets.extra" / "export.json").read_text())
    assert described["config"] == json.loads(served.model.config.to_json())
    assert (described["search"]["beam_size"], described["max_source_length"]) == (2, 16)
    path = served.path / "assets.extra" / "tf_serving_warmup_requests"
    asked = set()
    for record in tf.compat.v1.io.tf_record_iterator(str(path)):
        request = logs.PredictionLog.FromString(record).predict_log.request
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        found = served.run(request.model_spec.signature_name, **inputs)
        assert {len(value) for value in found.values()} == {3}
        asked.add(request.model_spec.signature_name)
    names = {"generate", "generate_n_best", "generate_with_options", "score", "generate_ids"}
    assert asked == {"serving_default", *names}


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"sample": True}, ValueError, "sample=True cannot be exported"),
        ({"max_length_ratio": 2.0}, ValueError, "max_length_ratio is for translations"),
        ({"target_language": "de"}, ValueError, "target_language is for translations, .* got 'de'"),
        ({"min_score": -1.0}, ValueError, "min_score is for translations"),
        ({"banned_sequences": [[60]]}, ValueError, "banned_sequences names token 60"),
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"beams": 4}, TypeError, "beams"),
    ],
    ids=str,
)
def test_wrong_options_are_named(
    make_decoder: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        export_saved_model(make_decoder(), tmp_path, tokenizer=tokenizer, **options)
    assert os.listdir(tmp_path) == []
