"""The whole model: against a float64 NumPy forward pass, its invariants, its cache, its file."""

import functools
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import TransformerConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.models import Transformer, build_transformer, probabilities

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad

SOURCE = [[5, 9, 6, EOS_ID], [23, 4, EOS_ID, PAD_ID], [8, EOS_ID, PAD_ID, PAD_ID]]
TARGET = [[BOS_ID, 7, 4, 11], [BOS_ID, 18, PAD_ID, PAD_ID], [BOS_ID, 3, 5, PAD_ID]]


def logits_of(model: Transformer, source: Any, target: Any) -> np.ndarray:
    return np.asarray(graph_of(model)(feed(source, target)))


@functools.cache
def graph_of(model: Transformer) -> Any:
    """The model as one graph for any batch and length, which makes many small calls quick."""
    ids = tf.TensorSpec((None, None), tf.int32)
    signature = [{"source_ids": ids, "target_ids": ids}]
    return tf.function(model.__call__, autograph=False, input_signature=signature)


def feed(source: Any, target: Any) -> dict[str, tf.Tensor]:
    ids = {"source_ids": source, "target_ids": target}
    return {name: tf.constant(rows, tf.int32) for name, rows in ids.items()}


def paper_forward(
    paper: Any, model: Transformer, source: list[int], target: list[int]
) -> np.ndarray:
    """Figure 1 for one sentence without padding, in float64: logits (target_length, vocabulary)."""
    config, sublayer = model.config, paper.residual
    memory = paper.embed(model.source_embeddings, source)
    for number, block in enumerate(model.encoder_stack.blocks):
        bias = paper.relative_bias(model.encoder_stack, len(source), number)
        memory = sublayer(
            block.attention_residual,
            memory,
            lambda x, block=block, bias=bias: paper.multi_head(block.attention, x, x, bias=bias)[0],
        )
        memory = sublayer(
            block.feed_forward_residual,
            memory,
            lambda x, block=block: paper.feed_forward(block.feed_forward, x),
        )
    memory = paper.last(model.encoder_stack, memory)

    states, causal = (
        paper.embed(model.target_embeddings, target),
        np.tril(np.ones((len(target), len(target)), bool)),
    )
    for number, block in enumerate(model.decoder_stack.blocks):
        if config.decoder_recurrence is None:
            bias = paper.relative_bias(model.decoder_stack, len(target), number)
            own = block.self_attention
            states = sublayer(
                block.self_attention_residual,
                states,
                lambda x, own=own, bias=bias: paper.multi_head(own, x, x, causal, bias)[0],
            )
        else:
            states = sublayer(
                block.ssru_residual, states, lambda x, block=block: paper.ssru(block.ssru, x)
            )
        states = sublayer(
            block.cross_attention_residual,
            states,
            lambda x, block=block: paper.multi_head(block.cross_attention, x, memory)[0],
        )
        states = sublayer(
            block.feed_forward_residual,
            states,
            lambda x, block=block: paper.feed_forward(block.feed_forward, x),
        )
    return paper.logits(model.head, paper.last(model.decoder_stack, states))


def test_equals_the_paper_in_float64(transformer_fields: dict, random_model, paper) -> None:
    model = random_model(**transformer_fields)
    logits = np.asarray(model(feed(SOURCE, TARGET)))
    for row, (source, target) in enumerate(zip(SOURCE, TARGET, strict=True)):
        source, target = ([i for i in ids if i != PAD_ID] for ids in (source, target))
        expected = paper_forward(paper, model, source, target)
        np.testing.assert_allclose(logits[row, : len(target)], expected, atol=2e-4, rtol=1e-4)


def test_the_tiny_preset_has_the_counted_parameters() -> None:
    config = TransformerConfig.preset("tiny", vocab_size=10_000)
    assert build_transformer(config).count_params() == config.parameter_count


def test_inputs_and_output_are_named_and_of_any_length(random_model) -> None:
    model = random_model()
    assert {name: tuple(tensor.shape) for name, tensor in model.input.items()} == {
        "source_ids": (None, None),
        "target_ids": (None, None),
    }
    assert tuple(model.output.shape) == (None, None, 24)
    assert isinstance(model, keras.Model)
    assert model.config.model_dim == 12


def test_encoder_and_decoder_are_models_that_make_up_the_whole(random_model) -> None:
    model = random_model()
    ids = feed(SOURCE, TARGET)
    states = model.encoder({"source_ids": ids["source_ids"]})
    assert states.shape == (3, 4, 12)
    np.testing.assert_array_equal(model.decoder({**ids, "encoder_states": states}), model(ids))
    assert model.encoder is model.encoder
    assert model.decoder is model.decoder


@pytest.mark.parametrize("side", ["source", "target"])
def test_dropout_falls_on_embedding_and_position(side: str, tiny_config) -> None:
    model, ids = build_transformer(tiny_config(dropout=0.5)), feed(SOURCE, TARGET)
    drops = [part for part in model._flatten_layers() if isinstance(part, keras.layers.Dropout)]
    for part in drops:
        part.rate = 0.0
    getattr(model, f"{side}_embeddings").drop.rate = 0.5
    assert sum(part.rate for part in drops) == 0.5
    assert not np.allclose(model(ids, training=True), model(ids, training=False))


def test_probabilities_sum_to_one_in_float32(random_model) -> None:
    logits = logits_of(random_model(), SOURCE, TARGET)
    found = probabilities(logits)
    np.testing.assert_allclose(np.sum(found, axis=-1), 1, atol=1e-6)
    np.testing.assert_array_equal(np.argmax(found, axis=-1), logits.argmax(axis=-1))
    assert keras.backend.standardize_dtype(probabilities(logits.astype("float16")).dtype) == (
        "float32"
    )


# One beam: greedy searches are compared with full passes in decoding/.
@pytest.mark.parametrize("beams", [pytest.param(1, marks=pytest.mark.exhaustive), 3])
def test_cached_steps_equal_the_full_pass(traced_fields: dict, beams: int, random_model) -> None:
    """Rows of beams share the source's keys; every row has a target of its own."""
    model = random_model(**traced_fields)
    source = np.array(SOURCE, np.int32)
    target = np.random.default_rng(0).integers(4, 19, (3 * beams, 5)).astype(np.int32)
    whole = logits_of(model, np.repeat(source, beams, axis=0), target)
    read, caches = model.read_source(source), model.empty_caches(3 * beams, 8)
    for step in range(5):
        logits, caches = model.decode_step(target[:, step], step, caches, read)
        np.testing.assert_allclose(logits, whole[:, step], atol=5e-5)


def test_encoding_projects_keys_and_values_for_each_block(random_model) -> None:
    model = random_model(key_dim=5, value_dim=2)
    cross = model.source_keys_values(np.array(SOURCE, np.int32))
    assert [(keys.shape, values.shape) for keys, values in cross] == [
        ((3, 3, 4, 5), (3, 3, 4, 2))
    ] * 2


def test_learned_positions_of_source_and_target_end(random_model) -> None:
    model = random_model(positions="learned", max_positions=30)
    for long, short in (("source_ids", "target_ids"), ("target_ids", "source_ids")):
        ids = {long: tf.fill((1, 31), 5), short: tf.fill((1, 2), 5)}
        with pytest.raises(ValueError, match=r"31 tokens is longer than max_positions \(30\)"):
            model(ids)
