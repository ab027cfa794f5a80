"""DecoderStep: keys and values of the source are held once per sentence, and leave with it."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.export import Manifest
from keras_transformer.export.runtime.decoder_step import DecoderStep
from keras_transformer.export.runtime.sessions import open_sessions

BEAMS = 3


class Spy:
    """A session that remembers the shapes it was given."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.shapes: list[dict[str, tuple[int, ...]]] = []

    def io_binding(self) -> Any:
        binding, shapes = self.session.io_binding(), {}
        self.shapes.append(shapes)
        bind = binding.bind_input

        def remember(name: str, *arguments: Any) -> None:
            shapes[name] = tuple(arguments[3])
            bind(name, *arguments)

        binding.bind_input = remember
        return binding

    def run_with_iobinding(self, binding: Any) -> None:
        self.session.run_with_iobinding(binding)


@pytest.fixture
def opened(exported: Any) -> tuple[Any, Spy, Any]:
    manifest = Manifest.read(exported.path)
    encoder, decoder = open_sessions(manifest, exported.path, threads=1)
    return encoder, Spy(decoder), manifest.graphs["decoder"]


def sources(exported: Any, texts: list[str]) -> np.ndarray:
    rows = [[*ids, 3] for ids in exported.source_tokenizer.encode(texts)]
    padded = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


def test_cross_keys_are_not_replicated_and_leave_with_their_sentence(
    exported: Any, opened: tuple[Any, Spy, Any], texts: list[str]
) -> None:
    encoder, spy, graph = opened
    step = DecoderStep(encoder, spy, graph, sources(exported, texts[:3]))
    step(np.full(3, 2, np.int32), None)
    step(np.full(3 * BEAMS, 5, np.int32), np.repeat(np.arange(3), BEAMS))
    # The middle sentence has finished.
    step(np.full(2 * BEAMS, 6, np.int32), np.array([0, 1, 2, 6, 7, 8]))
    rows = [(shapes["target_ids"][0], shapes["cache_key_1"][0]) for shapes in spy.shapes]
    assert rows == [(3, 3), (3 * BEAMS, 3 * BEAMS), (2 * BEAMS, 2 * BEAMS)]
    for name in ("source_ids", "cross_key_0", "cross_value_0", "cross_key_1", "cross_value_1"):
        assert [shapes[name][0] for shapes in spy.shapes] == [3, 3, 2]


def test_a_beam_among_others_equals_the_same_tokens_alone(
    exported: Any, opened: tuple[Any, Spy, Any], texts: list[str]
) -> None:
    encoder, spy, graph = opened
    together = DecoderStep(encoder, spy, graph, sources(exported, texts[:2]))
    together(np.full(2, 2, np.int32), None)
    together(np.arange(4, 8, dtype=np.int32), np.array([0, 0, 1, 1]))
    # Sentence 0 leaves; the beams of sentence 1 change places.
    found = together(np.array([9, 10], np.int32), np.array([3, 2]))
    for beam, tokens in enumerate(([7, 9], [6, 10])):
        alone = DecoderStep(encoder, spy, graph, sources(exported, texts[1:2]))
        alone(np.array([2], np.int32), None)
        alone(np.array(tokens[:1], np.int32), None)
        [expected] = alone(np.array(tokens[1:], np.int32), None)
        np.testing.assert_allclose(found[beam], expected, atol=1e-4)


def test_it_returns_normalized_log_probabilities(
    exported: Any, opened: tuple[Any, Spy, Any], texts: list[str]
) -> None:
    encoder, spy, graph = opened
    found = DecoderStep(encoder, spy, graph, sources(exported, texts))(
        np.full(len(texts), 2, np.int32), None
    )
    assert found.shape == (len(texts), exported.model.config.target_vocab_size)
    np.testing.assert_allclose(np.exp(found.astype(np.float64)).sum(axis=1), 1, atol=1e-5)
