"""Attention by layer and head: against the paper in float64, under padding, and against `align`."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.models.attention_maps import attention_maps
from keras_transformer.models.transformer import Transformer

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad

SOURCE = np.array([[5, 9, 6, EOS_ID], [23, EOS_ID, PAD_ID, PAD_ID]], np.int32)
TARGET = np.array([[BOS_ID, 7, 4, 11, 8], [BOS_ID, 18, 6, PAD_ID, PAD_ID]], np.int32)


class PaperMaps:
    """Figure 1 for one sentence pair without padding, in float64, with what each head looks at."""

    def __init__(self, paper: Any, model: Transformer, source: Any, target: Any) -> None:
        self.paper = paper
        causal = np.tril(np.ones((len(target), len(target)), bool))
        self.encoder: list[np.ndarray] = []
        self.decoder: list[np.ndarray] = []
        self.cross: list[np.ndarray] = []
        memory = self.embed(model.source_embeddings.tokens, source)
        for block in model.encoder_stack.blocks:
            memory = self.attend(block, "attention", memory, None, None, self.encoder)
            memory = self.feed(block, memory)
        memory = paper.last(model.encoder_stack, memory)
        states = self.embed(model.target_embeddings.tokens, target)
        for block in model.decoder_stack.blocks:
            states = self.attend(block, "self_attention", states, None, causal, self.decoder)
            states = self.attend(block, "cross_attention", states, memory, None, self.cross)
            states = self.feed(block, states)

    def embed(self, tokens: Any, ids: Any) -> np.ndarray:
        matrix = np.asarray(tokens.matrix, np.float64)
        width = matrix.shape[1]
        return matrix[ids] * np.sqrt(width) + self.paper.positions(len(ids), width)

    def attend(self, block: Any, name: str, states: Any, memory: Any, keep: Any, seen: list) -> Any:
        def function(inputs: np.ndarray) -> np.ndarray:
            keys = inputs if memory is None else memory
            outputs, weights = self.paper.multi_head(getattr(block, name), inputs, keys, keep)
            seen.append(weights)
            return outputs

        return self.paper.residual(getattr(block, f"{name}_residual"), states, function)

    def feed(self, block: Any, states: np.ndarray) -> np.ndarray:
        return self.paper.residual(
            block.feed_forward_residual,
            states,
            lambda inputs: self.paper.feed_forward(block.feed_forward, inputs),
        )


@pytest.mark.parametrize("norm", ["post", "pre", "both", "output"])
def test_equals_the_paper_in_float64(norm: str, random_model, paper) -> None:
    model = random_model(norm=norm)
    found = attention_maps(model, SOURCE, TARGET)
    lengths = [(4, 5), (2, 3)]
    for row, (source_length, target_length) in enumerate(lengths):
        expected = PaperMaps(paper, model, SOURCE[row, :source_length], TARGET[row, :target_length])
        sizes = {
            "encoder": (source_length, source_length),
            "decoder": (target_length, target_length),
            "cross": (target_length, source_length),
        }
        for part, (queries, keys) in sizes.items():
            weights = getattr(found, part)[:, row, :, :queries, :keys]
            np.testing.assert_allclose(weights, getattr(expected, part), atol=1e-5, err_msg=part)


def test_rows_sum_to_one_and_never_look_at_padding_or_the_future(random_model) -> None:
    model = random_model()
    found = attention_maps(model, SOURCE, TARGET)
    assert found.encoder.shape == (2, 2, 3, 4, 4)
    assert found.decoder.shape == (2, 2, 3, 5, 5)
    assert found.cross.shape == (2, 2, 3, 5, 4)
    for weights in (found.encoder, found.decoder, found.cross):
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert (found.encoder[:, 1, :, :, 2:] == 0).all()
    assert (found.cross[:, 1, :, :, 2:] == 0).all()
    assert (found.decoder[:, 1, :, :, 3:] == 0).all()
    above = np.triu_indices(5, k=1)
    assert (found.decoder[..., above[0], above[1]] == 0).all()


def test_the_mean_of_the_attention_to_the_source_is_the_one_of_align(random_model) -> None:
    model = random_model(norm="pre")
    found = attention_maps(model, SOURCE, TARGET)
    _, mean = model.align(TARGET, TARGET, model.read_source(SOURCE))
    np.testing.assert_allclose(found.cross.mean(axis=(0, 2)), mean, atol=1e-6)


def test_bfloat16_weights_come_as_float32(tiny_config) -> None:
    model = Transformer(tiny_config(), "mixed_bfloat16")
    assert attention_maps(model, SOURCE, TARGET).cross.dtype == np.float32


def test_a_recurrence_has_no_map(random_model: Any) -> None:
    model = random_model(decoder_recurrence="ssru")
    maps = attention_maps(model, SOURCE, TARGET)
    assert maps.decoder is None
    labels = np.roll(TARGET, -1, axis=1)
    _, aligned = model.align(TARGET, labels, model.read_source(SOURCE))
    np.testing.assert_allclose(maps.cross.mean(axis=(0, 2)), aligned, atol=1e-6)
