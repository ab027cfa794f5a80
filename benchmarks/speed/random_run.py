"""Run directories with random weights, by size, whose models decode varied and stable text as
trained ones do.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers.variants.rms_norm import RMSNorm
from keras_transformer.models.transformer import build_transformer
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

from .ending_run import let_it_end
from .sizes import Size

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad

_SYLLABLES = [c + v for c, v in itertools.product("bcdfghjklmnpqrstvwxz", "aeiou")]
_CONSTANT = 4.0
# What each token has of the constant feature where the last norm adds nothing, and what that makes
# of it: as large as other weights and features, or bytes would round these away.
_CARRIED, _SCALED = 0.25, 8.0
_UNWANTED_LOGIT = -6.0


def write_random_run(size: Size, directory: Path, *, ends: bool = False) -> None:
    """Writes a finished run of a random Transformer; see `let_it_end` for what ends."""
    model = build_transformer(size.config)
    randomize(model)
    if ends:
        let_it_end(model)
    write_run(model, size.vocab_size, directory)


def write_run(model: Any, vocab_size: int, directory: Path) -> None:
    """Writes what `keras-transformer train` writes of a finished run: config, vocabulary, model."""
    directory.mkdir(parents=True)
    run = RunDirectory(directory)
    tokenizer = synthetic_tokenizer(vocab_size)
    run.save_config(model.config)
    run.save_tokenizers(tokenizer, tokenizer)
    model.save(run.model)


def synthetic_tokenizer(vocab_size: int) -> Tokenizer:
    """Trains a vocabulary of exactly this size on made-up words."""
    return train_tokenizer(_sentences(2 * vocab_size), vocab_size, "bpe", byte_fallback=False)


def _sentences(words: int) -> Iterator[str]:
    """Yields sentences of ten words, each of two to four syllables."""
    random = np.random.default_rng(0)
    for _ in range(words // 10):
        lengths = random.integers(2, 5, 10)
        yield " ".join("".join(random.choice(_SYLLABLES, length)) for length in lengths)


def randomize(model: Any, seed: int = 0) -> None:
    """Draws all weights of a `Transformer` or a `DecoderOnly` anew.

    pad, bos and eos never win: nothing then depends on whether an engine forbids them, or on
    whether it renormalises the probabilities of the others when it does.
    """
    decoder = model.decoder_stack
    draw_weights(model, len(decoder.blocks), seed)
    norm = decoder.final_norm or decoder.blocks[-1].feed_forward_residual.layer_norm
    # Else the tied embedding would repeat the token that was read: states resemble their input.
    random = np.random.default_rng(seed + 1)
    gamma = np.array(norm.gamma) * random.choice([-1.0, 1.0], norm.gamma.shape)
    # One feature of the last states is constant, or nearly; only the three tokens lose by it.
    if isinstance(norm, RMSNorm):
        carried, constant = _CARRIED, _SCALED
        scale = model.config.model_dim**0.5 if model.config.scale_embeddings else 1
        gamma[0] = constant / (carried * scale)
        _keep_first_feature(model)
    else:
        carried, constant = 0.0, _CONSTANT
        beta = np.array(norm.beta)
        gamma[0], beta[0] = 0, constant
        norm.beta.assign(beta)
    norm.gamma.assign(gamma)
    for weight in model.weights:
        if weight.path.endswith("tokens/matrix"):
            weight.assign(_never_chosen(np.array(weight), carried, constant))


def draw_weights(model: Any, num_layers: int, seed: int = 0) -> None:
    """Draws all weights anew: branches of each of `num_layers` blocks count alike in the sum."""
    random = np.random.default_rng(seed)
    # Deviation of a branch's output: those of a deep stack add up, one after the other.
    branch, config = 2 / num_layers, model.config
    for weight in model.weights:
        drawn = _draw(weight, config.model_dim, branch, random)
        if weight.path.endswith("query/kernel") and not config.scale_attention:
            drawn *= config.key_dim**-0.5
        weight.assign(drawn.astype(np.float32))


def _keep_first_feature(model: Any) -> None:
    """Lets no block add to the first feature: what a token has of it, its last state has, too."""
    for weight in model.weights:
        if weight.path.endswith(("output/kernel", "output_linear/kernel")):
            kernel = np.array(weight)
            kernel[:, 0] = 0
            weight.assign(kernel)


def _never_chosen(matrix: np.ndarray, others: float, constant: float) -> np.ndarray:
    """Gives the three tokens less of the one feature that is constant than all others."""
    unwanted = [PAD_ID, BOS_ID, EOS_ID]
    matrix[:, 0] = others
    matrix[unwanted] = 0
    matrix[unwanted, 0] = others + _UNWANTED_LOGIT / constant
    return matrix


def _draw(weight: Any, width: int, branch: float, random: np.random.Generator) -> np.ndarray:
    shape = tuple(weight.shape)
    *_, layer, name = weight.path.split("/")
    if name == "matrix":
        return random.normal(0, width**-0.5, shape)
    if name == "gamma":
        return 1 + 0.1 * random.normal(size=shape)
    if name in ("beta", "bias"):
        return 0.02 * random.normal(size=shape)
    if layer == "output":
        return random.normal(0, branch * shape[0] ** -0.5, shape)
    if layer == "output_linear":
        values = random.normal(0, branch * shape[0] ** -0.5, shape)
        # relu leaves a positive mean, which would push all states the same way.
        return values - values.mean(axis=0)
    return random.normal(0, 1.5 * shape[0] ** -0.5, shape)
