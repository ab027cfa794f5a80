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


def values_for(source: Tokenizer, target: Tokenizer, *, masks: bool = False) -> Values:
    """Returns values for the inputs that hold texts, ids or options of a search.

    Args:
        source: The model's tokenizer; of two, that of the source side.
        target: Its tokenizer of the target side; `source` itself if there is one for both.
        masks: Whether each text ends with a mask, which the vocabulary must have.
    """
    texts, ids = _texts_and_ids(source, masks=masks)
    targets, target_ids = _texts_and_ids(target)
    begins = [row[:1] for row in _rows(target)]
    return {
        **{(name, "string"): texts for name in ("text", "prompt", "source")},
        **{(name, "string"): texts[::-1] for name in ("question", "second_text")},
        **{(name, "int32"): ids for name in ("token_ids", "prompt_ids", "source_ids")},
        **{(name, "int32"): ids[::-1] for name in ("question_ids", "second_ids")},
        ("target", "string"): targets,
        ("target_ids", "int32"): target_ids,
        ("target_prefix", "string"): _as_bytes(target.decode(begins)),
        ("target_prefix", "int32"): target_ids[:, :1],
        ("max_length", "int32"): np.array([16, 8, 8], np.int32),
        ("length_penalty", "float32"): np.array([0.6, 0.0, 1.0], np.float32),
    }


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


def _texts_and_ids(tokenizer: Tokenizer, *, masks: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rows, mask = _rows(tokenizer), tokenizer.special_ids.mask
    texts = tokenizer.decode(rows)
    if masks and mask is not None:
        rows = [[*row, mask] for row in rows]
        texts = [f"{text} {tokenizer.subwords.piece(mask)}" for text in texts]
    return _as_bytes(texts), _pad(rows, tokenizer.special_ids.pad)


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
