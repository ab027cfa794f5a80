"""Graphs that make several steps in a run find what they find step by step."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxTranslator
from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.export import export_onnx
from keras_transformer.export.onnx.quantize import int8
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.runtime.onnx_graphs.step_graph import StepGraph
from keras_transformer.text.tokenizer import Tokenizer

SEARCHES: list[dict[str, Any]] = [
    {},
    {"min_length": 4, "max_length": 9},
    {"beam_size": 4, "num_hypotheses": 4, "early_stopping": "first"},
    {"beam_size": 3, "num_hypotheses": 3, "early_stopping": "likely", "length_penalty": 2.0},
    {"beam_size": 2, "early_stopping": "exact", "min_length": 3, "max_length": 12},
    {"beam_size": 2, "forced_tokens": [(1, 9)]},
    {"beam_size": 4, "no_repeat_ngram_size": 2},
]


@pytest.fixture(scope="module", params=["int8", "int8 with a shortlist"])
def artefact(
    request: pytest.FixtureRequest,
    learned_model: Any,
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    size = learned_model.config.target_vocab_size
    random = np.random.default_rng(0)
    lists = [random.choice(np.arange(4, size), 12, replace=False) for _ in range(size)]
    shortlist = Shortlist.of_lists(lists, [1, 3], size) if "list" in request.param else None
    path = tmp_path_factory.mktemp("several") / "artefact"
    flags = {"target": "native", "quantize": "int8", "shortlist": shortlist}
    with pytest.MonkeyPatch.context() as patch:
        # As of a real vocabulary, which is stored in bytes.
        patch.setattr(int8, "_FEW_WEIGHTS", 0)
        return export_onnx(learned_model, tokenizer, path, **flags)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows at every run of a step graph."""
    calls: list[int] = []
    run: Callable[..., None] = DecoderSteps._run

    def count(self: DecoderSteps, *rest: Any) -> None:
        calls.append(self._step)
        run(self, *rest)

    monkeypatch.setattr(DecoderSteps, "_run", count)
    return calls


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", SEARCHES, ids=str)
def test_several_steps_find_what_single_ones_find(
    artefact: Path, options: dict[str, Any], runs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(1)
    rows = [random.integers(4, 60, length).tolist() for length in (1, 3, 4, 4, 9, 17, 30)]

    def find() -> list[Any]:
        with OnnxTranslator(artefact) as translator:
            found = translator.translate_ids(rows, **options)
            for scores in (True, False):
                flags = {"return_scores": scores, **options}
                alone = [translator.translate_ids([row], **flags)[0] for row in rows]
                assert [[one.ids for one in few] for few in alone] == [
                    [one.ids for one in few] for few in found
                ]
            return found

    together, few = find(), len(runs)
    runs.clear()
    monkeypatch.setattr(StepGraph, "__init__", _without_several(StepGraph.__init__))
    assert find() == together
    # What needs all logits of a step is looked at step by step.
    assert (few < len(runs)) == ("no_repeat_ngram_size" not in options)


def _without_several(make: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: StepGraph, *arguments: Any) -> None:
        make(self, *arguments)
        self.makes_several = False

    return __init__


def test_a_sentence_that_has_room_takes_one_run(artefact: Path, runs: list[int]) -> None:
    with OnnxTranslator(artefact) as translator:
        translator.translate_ids([[5, 6, 7, 8]], return_scores=False, max_length=12)
        assert len(runs) == 1
        # Nothing that is streamed waits for what comes later.
        pieces = list(translator.translate_stream("abc"))
        assert len(runs) > len(pieces) > 1
