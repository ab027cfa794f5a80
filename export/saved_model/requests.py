"""One request for each signature: it tries a new SavedModel out and warms a server up."""

import numpy as np

from keras_transformer.text.tokenizer import Tokenizer

Request = dict[str, np.ndarray]

# Sources of unequal length, one of them without a token.
_LENGTHS = (5, 2, 0)


def text_requests(source: Tokenizer, target: Tokenizer) -> dict[str, Request]:
    """Returns the inputs of each text signature: strings as object arrays of bytes."""
    sources, targets, prefixes = (
        _as_bytes(tokenizer.decode(rows))
        for tokenizer, rows in (
            (source, _rows(source)),
            (target, _rows(target)),
            (target, [row[:1] for row in _rows(target)]),
        )
    )
    return {
        "serving_default": {"text": sources},
        "translate_n_best": {"text": sources},
        "score": {"source": sources, "target": targets},
        "encode": {"text": sources},
        "translate_ids": {"source_ids": _padded(source)},
        "translate_with_options": {"text": sources, **_own_options(), "target_prefix": prefixes},
    }


def id_requests(source: Tokenizer, target: Tokenizer) -> dict[str, Request]:
    """Returns the inputs of each signature from ids to ids: padded int32 rows."""
    sources, targets = map(_padded, (source, target))
    return {
        "serving_default": {"source_ids": sources},
        "translate_ids": {"source_ids": sources},
        "translate_n_best": {"source_ids": sources},
        "score": {"source_ids": sources, "target_ids": targets},
        "encode": {"source_ids": sources},
        "translate_with_options": {
            "source_ids": sources,
            **_own_options(),
            "target_prefix": targets[:, :1],
        },
    }


def _rows(tokenizer: Tokenizer) -> list[list[int]]:
    random = np.random.default_rng(0)
    ids = tokenizer.special_ids.text_ids(tokenizer.vocab_size)
    return [random.choice(ids, length).tolist() for length in _LENGTHS]


def _padded(tokenizer: Tokenizer) -> np.ndarray:
    rows = _rows(tokenizer)
    ids = np.full((len(rows), max(map(len, rows))), tokenizer.special_ids.pad, np.int32)
    for line, row in zip(ids, rows, strict=True):
        line[: len(row)] = row
    return ids


def _as_bytes(texts: list[str]) -> np.ndarray:
    return np.array([text.encode() for text in texts], object)


def _own_options() -> Request:
    return {
        "max_length": np.array([16, 8, 8], np.int32),
        "length_penalty": np.array([0.6, 0.0, 1.0], np.float32),
    }
