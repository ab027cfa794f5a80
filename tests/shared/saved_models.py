"""What the file of a SavedModel holds, beside what is declared."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.artefact.signatures import Signature

_DTYPES = {7: "string", 3: "int32", 1: "float32", 10: "bool"}


def read_graph(path: Path) -> Any:
    """Returns the graph of a SavedModel."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((path / "saved_model.pb").read_bytes())
    [meta] = saved.meta_graphs
    return meta


def operators_of(path: Path) -> list[str]:
    """Returns the operators of its nodes, those of its functions among them."""
    graph = read_graph(path).graph_def
    functions = (node for one in graph.library.function for node in one.node_def)
    return [node.op for node in (*graph.node, *functions)]


def read_signatures(path: Path) -> dict[str, Any]:
    """Returns inputs and outputs of each signature: dtype and shape by name."""
    return {
        name: (_tensors(one.inputs), _tensors(one.outputs))
        for name, one in read_graph(path).signature_def.items()
        if name != "__saved_model_init_op"
    }


def _tensors(infos: Any) -> dict[str, tuple[str, tuple[int | None, ...]]]:
    return {
        name: (
            _DTYPES[info.dtype],
            tuple(None if dim.size == -1 else dim.size for dim in info.tensor_shape.dim),
        )
        for name, info in infos.items()
    }


def flat(signatures: Mapping[str, Signature]) -> dict[str, Any]:
    """Returns the same of signatures as they are declared, each of which says what it is for."""
    for one in signatures.values():
        assert one.description
        assert all(spec.description for spec in (*one.inputs, *one.outputs))
    return {
        name: tuple(
            {spec.name: (spec.dtype, spec.shape) for spec in side}
            for side in (one.inputs, one.outputs)
        )
        for name, one in signatures.items()
    }


def answered_warmup(path: Path, run: Callable[..., Mapping[str, Any]]) -> list[tuple[Any, Any]]:
    """Runs the requests that warm a server up, of three rows each; returns specs and inputs."""
    import tensorflow as tf

    logs = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason="[grpc]")
    asked = []
    requests = str(path / "assets.extra" / "tf_serving_warmup_requests")
    for record in tf.compat.v1.io.tf_record_iterator(requests):
        request = logs.PredictionLog.FromString(record).predict_log.request
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        found = run(request.model_spec.signature_name, **inputs)
        assert {len(value) for value in found.values()} == {3}
        asked.append((request.model_spec, inputs))
    return asked


def description_of(path: Path) -> dict[str, Any]:
    """Returns what its `export.json` says."""
    return json.loads((path / "assets.extra" / "export.json").read_text(encoding="utf-8"))
