"""A SavedModel's signatures are those that are declared, which the server has as well."""

from typing import Any

import pytest
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.artefact.search_signatures import (
    AnswerSizes,
    id_signatures,
    server_signatures,
    text_signatures,
)
from keras_transformer.artefact.signatures import Signature, TensorSpec

DTYPES = {7: "string", 3: "int32", 1: "float32", 10: "bool"}


def read_signatures(served: Any) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Inputs and outputs of each signature of a file: dtype and shape by name."""
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((served.path / "saved_model.pb").read_bytes())
    [graph] = saved.meta_graphs
    return {
        name: (read_tensors(one.inputs), read_tensors(one.outputs))
        for name, one in graph.signature_def.items()
        if name != "__saved_model_init_op"
    }


def read_tensors(infos: Any) -> dict[str, tuple[str, tuple[int | None, ...]]]:
    return {
        name: (
            DTYPES[info.dtype],
            tuple(None if dim.size == -1 else dim.size for dim in info.tensor_shape.dim),
        )
        for name, info in infos.items()
    }


def declared_tensors(specs: tuple[TensorSpec, ...]) -> dict[str, Any]:
    return {spec.name: (spec.dtype, spec.shape) for spec in specs}


def flat(signatures: dict[str, Signature]) -> dict[str, Any]:
    return {
        name: (declared_tensors(one.inputs), declared_tensors(one.outputs))
        for name, one in signatures.items()
    }


def sizes_of(served: Any, *, has_min_score: bool) -> AnswerSizes:
    return AnswerSizes(
        num_hypotheses=served.search.get("num_hypotheses", 1),
        max_length=served.search["max_length"],
        model_dim=32,
        has_min_score=has_min_score,
    )


def test_signatures_of_text_are_as_declared(served: Any) -> None:
    sizes = sizes_of(served, has_min_score=False)
    assert read_signatures(served) == flat(text_signatures(sizes))


def test_signatures_of_ids_are_as_declared(ids_served: Any) -> None:
    sizes = sizes_of(ids_served, has_min_score=False)
    assert read_signatures(ids_served) == flat(id_signatures(sizes))


@pytest.mark.parametrize("has_min_score", [False, True])
def test_the_server_has_one_signature_more(has_min_score: bool) -> None:
    sizes = AnswerSizes(num_hypotheses=3, max_length=9, model_dim=4, has_min_score=has_min_score)
    of_graph, of_server = text_signatures(sizes), server_signatures(sizes)
    assert set(of_server) - set(of_graph) == {"translate_sentences"}
    assert {name: of_server[name] for name in of_graph} == of_graph
    flagged = {
        name
        for name, one in of_server.items()
        if "low_confidence" in {spec.name for spec in one.outputs}
    }
    names = {"translate_n_best", "translate_sentences"}
    assert flagged == (names if has_min_score else set())


def test_everything_is_described() -> None:
    for declare in (text_signatures, id_signatures, server_signatures):
        for signature in declare(AnswerSizes(has_min_score=True)).values():
            assert signature.description
            assert all(spec.description for spec in (*signature.inputs, *signature.outputs))
