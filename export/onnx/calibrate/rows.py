"""Calibration texts as the graphs' inputs, one text at a time and so without padding, and the
graphs' answers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import Tokenizer

Arrays = dict[str, np.ndarray]
# Runs a graph by its name; arrays that it does not take are ignored.
Run = Callable[[str, Arrays], Arrays]

# Tokens of a text that are read.
_MOST_TOKENS = 512


def text_rows(
    config: ModelConfig, source: Tokenizer, target: Tokenizer, texts: Iterable[str]
) -> list[Arrays]:
    """Returns each text's inputs of the graphs.

    Args:
        config: The model's.
        source: The tokenizer of texts, or of a translation's source.
        target: That of translations.
        texts: Texts; for a translation model a source and its translation, with a tab between.

    Raises:
        ValueError: No text gives a token, or one has no tab; the message names its number.
    """
    most = min(_MOST_TOKENS, config.max_positions or _MOST_TOKENS) - 3
    if isinstance(config, EncoderConfig):
        rows = [_of_encoder(config, ids) for ids in _encoded(source, texts, most)]
    elif isinstance(config, DecoderConfig):
        rows = [_of_target(config, ids, "token_ids") for ids in _encoded(source, texts, most)]
    else:
        pairs = [_halves(number, text) for number, text in enumerate(texts, 1) if text.strip()]
        sources = source.encode([first for first, _ in pairs])
        targets = target.encode([second for _, second in pairs])
        rows = [
            {
                **_as_row(source_ids=[*ids[:most], config.special_ids.eos]),
                **_of_target(config, others[:most], "target_ids"),
            }
            for ids, others in zip(sources, targets, strict=True)
        ]
        for row in rows:
            row["source_mask"] = np.ones_like(row["source_ids"])
    if not rows:
        raise ValueError("the calibration text is empty: give a file with texts, one a line.")
    return rows


def answer(config: ModelConfig, graphs: Mapping[str, Any], run: Run, row: Arrays) -> np.ndarray:
    """Returns log-probabilities of a text's tokens, or of an encoder vectors `(count, width)`.

    Args:
        config: The model's.
        graphs: The names of its graphs, each with its inputs and outputs.
        run: Runs one of them.
        row: A text's inputs.
    """
    if isinstance(config, EncoderConfig):
        found = run("encoder", row)["states"]
        if "head" in graphs and {spec.name for spec in graphs["head"][0]} <= set(row):
            [found] = run("head", row).values()
        return found.reshape(-1, found.shape[-1])
    if not isinstance(config, DecoderConfig):
        row = {**row, **run("encoder", row)}
    return run("scorer", row)["log_probabilities"].reshape(-1)


def _encoded(tokenizer: Tokenizer, texts: Iterable[str], most: int) -> Iterator[list[int]]:
    return (ids[:most] for ids in tokenizer.encode(list(texts)) if ids)


def _halves(number: int, text: str) -> list[str]:
    halves = text.split("\t")
    if len(halves) != 2:
        raise ValueError(
            "a translation model is calibrated on lines of a source, a tab and its translation: "
            f"line {number} has {len(halves) - 1} tabs."
        )
    return halves


def _of_encoder(config: EncoderConfig, ids: list[int]) -> Arrays:
    tokens, types = encoder_row(ids, None, config.special_ids)
    return _as_row(token_ids=tokens, token_type_ids=types)


def _of_target(config: Any, ids: list[int], name: str) -> Arrays:
    special = config.special_ids
    return _as_row(**{name: [special.decoder_start, *ids], "labels": [*ids, special.eos]})


def _as_row(**ids: list[int]) -> Arrays:
    return {name: np.array([row], np.int32) for name, row in ids.items()}
