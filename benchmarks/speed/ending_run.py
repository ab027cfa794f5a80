"""Gives a random model translations that end: each is about as long as its source, as a trained
model's are, so that sentences of real lengths can be measured without training.

In the decoder's first block one head attends to the source's place of the same number: both see
positions in features that nothing else writes to. Once the source has ended, that place is the end
token, and the head copies its mark into a feature that only the end token's logit reads.
"""

from typing import Any

import numpy as np

from keras_transformer.config.special_ids import SpecialIds

EOS_ID = SpecialIds.eos
# Of the end token's row: its weight for the mark, as large as the largest of other rows.
_MARK_WEIGHT = 0.3
# What the mark is to be in the decoder's states, and the end token's logit by it.
_MARK, _END_LOGIT = 6.0, 9.0
# By how much the score of the right place exceeds that of its neighbour.
_SCORE_MARGIN = 10.0
# By more than norms divide a sum with a branch: positions then make up so much of a state, all
# alike, that norms leave them equally large in every token's.
_KEPT = 1.7
# The mark shall stay as it is.
_MARK_KEPT = 1.55
_TOKENS = 24


def let_it_end(model: Any) -> None:
    """Changes a random model with sinusoidal positions and one matrix of embeddings."""
    config = model.config
    places = _position_features(config.model_dim, config.key_dim)
    # The slowest sine, which is 0 all along.
    mark = config.model_dim - 2
    _mark_end_token(model.source_embeddings.tokens.matrix, places, mark)
    _reserve(model, places, _KEPT)
    _reserve(model, np.array([mark]), _MARK_KEPT)
    source, target = _example(config)
    encoded = np.asarray(model.encoder({"source_ids": source}))[0]
    # Positions have a mean square of 1/2; those of neighbours differ by less the slower they turn.
    kept = float(np.sqrt(2 * np.mean(encoded[:, places] ** 2)))
    rates = model.source_embeddings.positions.rates()[places]
    margin = (1 - np.cos(rates)).sum() / 2 / config.key_dim**0.5
    scale, cross = (_SCORE_MARGIN / margin) ** 0.5, model.decoder_stack.blocks[0].cross_attention
    own = [*zip(places, range(config.key_dim), strict=True)]
    _set_head(cross.key_linear, config.key_dim, own, scale / kept)
    _set_head(cross.query_linear, config.key_dim, own, scale)
    _set_head(cross.value_linear, config.value_dim, [(mark, 0)], _MARK / encoded[-1, mark])
    kernel = np.array(cross.output_linear.kernel)
    kernel[: config.value_dim], kernel[0, mark] = 0, 1
    cross.output_linear.kernel.assign(kernel)
    norm = _last_norm(model)
    _assign(norm.beta, mark, 0)
    _assign(norm.gamma, mark, 1)
    states = np.asarray(model.prediction_states({"source_ids": source, "target_ids": target}))[0]
    _assign(norm.gamma, mark, _END_LOGIT / _MARK_WEIGHT / states[-1, mark])


def _example(config: Any) -> tuple[np.ndarray, np.ndarray]:
    """A source, and a target that has one token more and should end."""
    shape = (2, 1, _TOKENS + 1)
    ids = np.random.default_rng(3).integers(EOS_ID + 1, config.source_vocab_size, shape)
    source = np.append(ids[0, :, :-1], [[EOS_ID]], axis=1).astype(np.int32)
    target = np.append([[SpecialIds.bos]], ids[1], axis=1).astype(np.int32)
    return source, target


def _position_features(width: int, count: int) -> np.ndarray:
    """Sines and cosines of every second rate, the fastest first, but for feature 0.

    That is the special tokens' own.
    """
    pairs = 1 + np.arange(count // 2) * (2 if width > 2 * count else 1)
    return np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()


def _mark_end_token(matrix: Any, places: np.ndarray, mark: int) -> None:
    values = np.array(matrix)
    values[EOS_ID] = np.random.default_rng(2).normal(0, values.shape[1] ** -0.5, values.shape[1])
    # By feature 0 the other special tokens are never chosen.
    values[EOS_ID, 0] = 0
    values[:, [*places, mark]] = 0
    values[EOS_ID, mark] = _MARK_WEIGHT
    matrix.assign(values)


def _reserve(model: Any, features: np.ndarray, gamma: float) -> None:
    """Lets no layer write to features; norms multiply them by gamma."""
    for stack in (model.encoder_stack, model.decoder_stack):
        for block in stack.blocks:
            for sub_layer in block.sub_layers:
                for weight in sub_layer.layer.output_linear.weights:
                    _assign(weight, features, 0)
                norm = sub_layer.residual.layer_norm
                if norm is not _last_norm(model):
                    _assign(norm.gamma, features, gamma)
                    _assign(norm.beta, features, 0)


def _set_head(dense: Any, width: int, weights: Any, value: float) -> None:
    """Lets a projection's first head copy features and do nothing else."""
    kernel, bias = np.array(dense.kernel), np.array(dense.bias)
    kernel[:, :width], bias[:width] = 0, 0
    for feature, place in weights:
        kernel[feature, place] = value
    dense.kernel.assign(kernel)
    dense.bias.assign(bias)


def _assign(weight: Any, features: Any, value: float) -> None:
    values = np.array(weight)
    values[..., features] = value
    weight.assign(values)


def _last_norm(model: Any) -> Any:
    decoder = model.decoder_stack
    return decoder.final_norm or decoder.blocks[-1].feed_forward_residual.layer_norm
