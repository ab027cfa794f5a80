"""A model that would end every translation at once says a token first, in every engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served_models import open_served

from keras_transformer.decoding.translator import Translator
from keras_transformer.export import OnnxTranslator, export_onnx
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.text.tokenizer import Tokenizer

TEXTS = ["the dog", "", "a red house"]
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "greedy without scores": {"return_scores": False},
    "one token": {"max_length": 1},
    "beam": {"beam_size": 3},
    "first": {"beam_size": 3, "early_stopping": "first"},
    "samples": {"sample": True, "top_p": 0.01, "seed": 1},
    "samples of a few": {"sample": True, "top_k": 1, "seed": 1},
}


@pytest.fixture(
    scope="module",
    params=["onnxruntime", pytest.param("portable", marks=pytest.mark.exhaustive), "native"],
)
def artefact(
    request: pytest.FixtureRequest, ending_model: Any, tokenizer: Tokenizer, tmp_path_factory: Any
) -> Path:
    directory = tmp_path_factory.mktemp(request.param) / "ending"
    return export_onnx(ending_model, tokenizer, directory, target=request.param)


@pytest.fixture(scope="module")
def word(ending_model: Any, tokenizer: Tokenizer) -> int:
    """The token that the model gives where it must give one."""
    matrix = {weight.path: weight.numpy() for weight in ending_model.weights}[
        "source_embeddings/tokens/matrix"
    ]
    logits = matrix @ matrix[3]
    assert logits.argmax() == 3
    return max((token for token in range(len(logits)) if token not in (0, 2, 3)), key=logits.item)


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows at every step that is run once more for its logits."""
    calls: list[int] = []
    run = DecoderSteps.logits_again

    def count(self: DecoderSteps, ids: np.ndarray) -> Any:
        calls.append(self._step)
        return run(self, ids)

    monkeypatch.setattr(DecoderSteps, "logits_again", count)
    return calls


@pytest.mark.parametrize("options", SEARCHES.values(), ids=list(SEARCHES))
def test_only_a_source_without_tokens_has_an_empty_translation(
    artefact: Path, tokenizer: Tokenizer, word: int, options: dict[str, Any]
) -> None:
    with OnnxTranslator(artefact) as translator:
        found = translator.translate_ids(tokenizer.encode(TEXTS), **options)
        assert [few[0].ids for few in found] == [[word], [], [word]]


def test_with_min_length_0_all_of_them_are_empty(artefact: Path, tokenizer: Tokenizer) -> None:
    with OnnxTranslator(artefact) as translator:
        for options in SEARCHES.values():
            found = translator.translate_ids(tokenizer.encode(TEXTS), min_length=0, **options)
            assert [few[0].ids for few in found] == [[], [], []]


def test_greedy_search_needs_logits_at_the_first_token_only(
    artefact: Path, word: int, again: list[int], tokenizer: Tokenizer
) -> None:
    with OnnxTranslator(artefact) as translator:
        translator.translate_ids(tokenizer.encode(TEXTS[:1]), return_scores=False)
    assert again == [1]


def test_a_stream_and_the_server_say_the_token(
    artefact: Path, word: int, tokenizer: Tokenizer
) -> None:
    [text] = tokenizer.decode([[word]])
    with OnnxTranslator(artefact) as translator:
        assert "".join(translator.translate_stream("the dog")) == text
    served = open_served(artefact, {"beam_size": 2})
    [row] = served.read_text("the dog").rows
    [[best, *_]] = served.run(served.signatures["serving_default"])([row])
    assert best.ids == [word]
    pieces: list[str] = []
    served.stream(row, lambda piece: not pieces.append(piece))
    assert "".join(pieces) == text
    served.close()


@pytest.mark.exhaustive
def test_the_keras_side_says_the_token(ending_model: Any, tokenizer: Tokenizer, word: int) -> None:
    translator = Translator(ending_model, tokenizer)
    for options, ids in (
        ({}, [word]),
        ({"beam_size": 2, "early_stopping": "first"}, [word]),
        ({"min_length": 0}, []),
    ):
        found = translator.translate_ids(tokenizer.encode(TEXTS), max_length=9, **options)
        assert [few[0][0] for few in found] == [ids, [], ids]
