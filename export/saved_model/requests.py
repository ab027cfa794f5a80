"""One request for each signature, with which a new SavedModel is checked and a server warmed up."""

from collections.abc import Mapping

import numpy as np

from keras_transformer.artefact.signatures import Signature
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.text.tokenizer import Tokenizer

SignatureInputs = dict[str, np.ndarray]
# Values by the name and dtype of an input.
Values = dict[tuple[str, str], np.ndarray]

# Texts of unequal length, one of them without a token.
_LENGTHS = (5, 2, 0)


def requests_for(signatures: Mapping[str, Signature], values: Values) -> dict[str, SignatureInputs]:
    """Returns the inputs of each signature: strings as object arrays of bytes, ids as int32 rows.

    Args:
        signatures: The signatures by name.
        values: A value for each input that one of them has.
    """
    return {
        name: {spec.name: values[spec.name, spec.dtype] for spec in signature.inputs}
        for name, signature in signatures.items()
    }


def translation_values(source: Tokenizer, target: Tokenizer) -> Values:
    """Returns values for the inputs of a translation model.

    Args:
        source: Tokenizer of the source side.
        target: Tokenizer of the target side.
    """
    return {**_texts(source, target), **_ids(source, target), **_own_options()}


def language_values(marks: SentenceMarks) -> Values:
    """Returns values for the inputs that name languages, some of them the default."""
    codes = [*marks.languages, ""]
    sources = codes if marks.languages_in == "both" else [""]
    return {
        (name, "string"): _as_bytes(["", one[0], one[-1]])
        for name, one in (("source_language", sources), ("target_language", codes))
    }


def prompt_values(prompts: Mapping[str, str]) -> Values:
    """Returns values for the input that names a prompt, one of them for none."""
    names = [*prompts, ""]
    return {("prompt_name", "string"): _as_bytes(["", names[0], names[-1]])}


def single_values(tokenizer: Tokenizer, *, masks: bool = False) -> Values:
    """Returns values for the inputs of a model with one stack.

    Args:
        tokenizer: Its tokenizer.
        masks: Whether each text ends with a mask, which the vocabulary must have.
    """
    rows = _rows(tokenizer)
    texts = tokenizer.decode(rows)
    mask = tokenizer.special_ids.mask
    if masks and mask is not None:
        rows = [[*row, mask] for row in rows]
        texts = [f"{text} {tokenizer.subwords.piece(mask)}" for text in texts]
    pad = tokenizer.special_ids.pad
    strings = _as_bytes(texts)
    return {
        ("text", "string"): strings,
        ("prompt", "string"): strings,
        ("question", "string"): strings[::-1],
        ("second_text", "string"): strings[::-1],
        ("token_ids", "int32"): _pad(rows, pad),
        ("prompt_ids", "int32"): _pad(rows, pad),
        ("question_ids", "int32"): _pad(rows[::-1], pad),
        ("second_ids", "int32"): _pad(rows[::-1], pad),
        **_own_options(),
    }


def _texts(source: Tokenizer, target: Tokenizer) -> Values:
    sources, targets, prefixes = (
        _as_bytes(tokenizer.decode(rows))
        for tokenizer, rows in (
            (source, _rows(source)),
            (target, _rows(target)),
            (target, [row[:1] for row in _rows(target)]),
        )
    )
    named = {"text": sources, "source": sources, "target": targets, "target_prefix": prefixes}
    return {(name, "string"): value for name, value in named.items()}


def _ids(source: Tokenizer, target: Tokenizer) -> Values:
    sources, targets = (_pad(_rows(one), one.special_ids.pad) for one in (source, target))
    named = {"source_ids": sources, "target_ids": targets, "target_prefix": targets[:, :1]}
    return {(name, "int32"): value for name, value in named.items()}


def _own_options() -> Values:
    return {
        ("max_length", "int32"): np.array([16, 8, 8], np.int32),
        ("length_penalty", "float32"): np.array([0.6, 0.0, 1.0], np.float32),
    }


def _rows(tokenizer: Tokenizer) -> list[list[int]]:
    random = np.random.default_rng(0)
    ids = tokenizer.special_ids.text_ids(tokenizer.vocab_size)
    return [random.choice(ids, length).tolist() for length in _LENGTHS]


def _pad(rows: list[list[int]], pad: int) -> np.ndarray:
    ids = np.full((len(rows), max(map(len, rows))), pad, np.int32)
    for line, row in zip(ids, rows, strict=True):
        line[: len(row)] = row
    return ids


def _as_bytes(texts: list[str]) -> np.ndarray:
    return np.array([text.encode() for text in texts], object)
