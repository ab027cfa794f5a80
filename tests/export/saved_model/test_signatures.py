"""A SavedModel's signatures are those that are declared, which the server has as well."""

from typing import Any

import pytest
from saved_models import flat, read_signatures

from keras_transformer.artefact.search_signatures import (
    AnswerSizes,
    id_signatures,
    server_signatures,
    text_signatures,
)


def sizes_of(served: Any, *, has_min_score: bool) -> AnswerSizes:
    return AnswerSizes(
        num_hypotheses=served.search.get("num_hypotheses", 1),
        max_length=served.search["max_length"],
        model_dim=32,
        has_min_score=has_min_score,
    )


def test_signatures_of_text_are_as_declared(served: Any) -> None:
    sizes = sizes_of(served, has_min_score=False)
    assert read_signatures(served.path) == flat(text_signatures(sizes))


def test_signatures_of_ids_are_as_declared(ids_served: Any) -> None:
    sizes = sizes_of(ids_served, has_min_score=False)
    assert read_signatures(ids_served.path) == flat(id_signatures(sizes))


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
