"""The vocabulary and the chat template in a GGUF file's metadata: byte-level BPE, which llama.cpp
calls gpt2, or SentencePiece, which it calls llama.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import vocabulary_of
from keras_transformer.pretrained.huggingface.llama_vocabulary import pieces_vocabulary
from keras_transformer.pretrained.sentencepiece_models import model_of
from keras_transformer.pretrained.values import FileValues
from keras_transformer.text.sentencepiece_messages import (
    BPE,
    BYTE,
    CONTROL,
    NORMAL,
    UNUSED,
    USER_DEFINED,
    new_message,
    write_message,
)
from keras_transformer.text.tokenizer import Tokenizer

_PREFIX = "tokenizer.ggml."
# How llama.cpp calls special tokens, and the fields of a config of Hugging Face.
_ROLES = {"bos": "bos", "eos": "eos", "padding": "pad", "unknown": "unk"}
# Further tokens that end what a chat's model says.
_ENDS = ("eot", "eom")
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA = {"pattern": rf"{_WORDS}|\p{{N}}{{1,3}}|{_REST}", "ignore_merges": True}
_QWEN = {"pattern": rf"{_WORDS}|\p{{N}}|{_REST}", "normalizer": {"type": "NFC"}}
# The names of what splits texts before BPE does → what it is in a `tokenizer.json`.
_SPLITTERS: dict[str, dict[str, Any]] = {
    "gpt-2": {},
    "smollm": {"first": [{"type": "Digits", "individual_digits": True}]},
    "llama-bpe": _LLAMA,
    "llama3": _LLAMA,
    "llama-v3": _LLAMA,
    "qwen2": _QWEN,
    "deepseek-r1-qwen": _QWEN,
}


def token_fields(values: FileValues) -> dict[str, Any]:
    """Returns the ids of special tokens as the fields of a config of Hugging Face."""
    named = {f"{ours}_token_id": f"{_PREFIX}{role}_token_id" for role, ours in _ROLES.items()}
    return {
        ours: values.values[theirs] for ours, theirs in named.items() if theirs in values.values
    }


def read_vocabulary(values: FileValues, fields: Fields) -> Tokenizer:
    """Reads the vocabulary.

    Args:
        values: The file's metadata.
        fields: The model's config.

    Raises:
        ImportRefusedError: It is of another kind, or damaged.
    """
    kind = values.text(f"{_PREFIX}model")
    readers = {"gpt2": _bytes, "llama": _pieces}
    if kind not in readers:
        raise ImportRefusedError(
            f"{values.origin} has a vocabulary of the kind {kind!r}, and only "
            f"{' and '.join(readers)} are supported."
        )
    tokens = _listed(values, "tokens", str)
    names = {token: place for place, token in enumerate(tokens)}
    if len(names) != len(tokens):
        raise ImportRefusedError(f"{values.origin} has a token twice in {_PREFIX}tokens.")
    kinds = _listed(values, "token_type", int)
    if len(kinds) != len(tokens):
        raise ImportRefusedError(
            f"{values.origin} has {len(tokens)} tokens and the types of {len(kinds)}."
        )
    return readers[kind](values, fields, names, kinds)


def read_template(values: FileValues) -> ChatTemplate | None:
    """Returns the template of chats; None if there is none."""
    template = values.text("tokenizer.chat_template", None)
    if template is None:
        return None
    tokens = _listed(values, "tokens", str)
    ids = token_fields(values).items()
    named = {name: id_ for name, id_ in ids if isinstance(id_, int) and 0 <= id_ < len(tokens)}
    return ChatTemplate(
        template, {name.removesuffix("_id"): tokens[id_] for name, id_ in named.items()}
    )


def starts_prompts(values: FileValues) -> bool:
    """Returns whether bos is read before a prompt; llama.cpp's defaults where nothing is said."""
    is_llama = values.text(f"{_PREFIX}model") == "llama"
    has_bos = is_llama or values.text(f"{_PREFIX}pre", "default") == "llama-bpe"
    return bool(values.flag(f"{_PREFIX}add_bos_token", has_bos))


def read_ends(values: FileValues, tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns the option of a search that further tokens end what is written."""
    ids = tokenizer.special_ids
    found = [values.integer(f"{_PREFIX}{name}_token_id", None) for name in _ENDS]
    known = (None, ids.eos, *ids.never_generated)
    ends = [one for one in found if one not in known and one < tokenizer.vocab_size]
    return {"stop_tokens": ends} if ends else {}


def _listed(values: FileValues, name: str, kind: type) -> list[Any]:
    """Returns a list of the vocabulary, whose items are of a kind."""
    found = values.sequence(_PREFIX + name)
    if not all(isinstance(one, kind) for one in found):
        raise ImportRefusedError(
            f"{values.origin}: {_PREFIX}{name} must hold values of the type {kind.__name__} alone."
        )
    return list(found)


def _bytes(
    values: FileValues, fields: Fields, names: Mapping[str, int], kinds: list[int]
) -> Tokenizer:
    """Makes the `tokenizer.json` of byte-level BPE."""
    name = values.text(f"{_PREFIX}pre", "default")
    if name not in _SPLITTERS:
        raise ImportRefusedError(
            f"{values.origin} has {_PREFIX}pre: {name!r}, and only {', '.join(_SPLITTERS)} are "
            "supported: import the model from Hugging Face's files."
        )
    splitter = _SPLITTERS[name]
    parts = list(splitter.get("first", ()))
    if "pattern" in splitter:
        pattern = {"Regex": splitter["pattern"]}
        parts = [{"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {
        "type": "BPE",
        "vocab": {token: id_ for token, id_ in names.items() if kinds[id_] == NORMAL},
        "merges": _listed(values, "merges", str),
        "ignore_merges": splitter.get("ignore_merges", False),
    }
    content = {
        "version": "1.0",
        "added_tokens": [
            {
                **{"id": id_, "content": token, "special": kinds[id_] == CONTROL},
                **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
            }
            for token, id_ in names.items()
            if kinds[id_] in (CONTROL, USER_DEFINED)
        ],
        "normalizer": splitter.get("normalizer"),
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [*parts, {**level, "use_regex": "pattern" not in splitter}],
        },
        "decoder": {**level, "use_regex": True},
        "model": model,
    }
    text = json.dumps(content, ensure_ascii=False)
    return vocabulary_of(text.encode(), Path(str(values.origin)), fields, begins=False)


def _pieces(
    values: FileValues, fields: Fields, names: Mapping[str, int], kinds: list[int]
) -> Tokenizer:
    """Makes the SentencePiece model; what stands for no text of it is named by ids alone."""
    scores = _listed(values, "scores", float)
    if len(scores) != len(kinds):
        raise ImportRefusedError(
            f"{values.origin} has {len(kinds)} tokens and the scores of {len(scores)}."
        )
    message = new_message()
    for token, id_ in names.items():
        if kinds[id_] not in (CONTROL, UNUSED):
            message.pieces.add(piece=token, score=scores[id_], type=_kind(values, kinds[id_]))
    trainer, normalizer = message.trainer_spec, message.normalizer_spec
    trainer.model_type, trainer.byte_fallback = BPE, BYTE in kinds
    has_prefix = values.flag(f"{_PREFIX}add_space_prefix", True)
    normalizer.add_dummy_prefix = has_prefix
    normalizer.remove_extra_whitespaces = values.flag(f"{_PREFIX}remove_extra_whitespaces", False)
    normalizer.escape_whitespaces = True
    origin = Path(str(values.origin))
    model = model_of(write_message(message), origin)
    ids = {token: id_ for token, id_ in names.items() if kinds[id_] != UNUSED}
    return pieces_vocabulary(model, ids, origin, fields, are_apart=has_prefix)


def _kind(values: FileValues, kind: int) -> int:
    """Returns SentencePiece's kind of a piece, whose numbers are llama.cpp's."""
    if not NORMAL <= kind <= BYTE:
        raise ImportRefusedError(
            f"{values.origin} has a token of the type {kind}: 1 to 6 are known."
        )
    return kind
