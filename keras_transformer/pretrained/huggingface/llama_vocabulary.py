"""The vocabularies of Llama and its kin: a `tokenizer.json`, or a SentencePiece `tokenizer.model`
where there is none.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import (
    SENTENCEPIECE,
    eos_of,
    read_vocabulary,
)
from keras_transformer.pretrained.huggingface.languages import tokens_with_ids
from keras_transformer.pretrained.sentencepiece_json import (
    TOKENIZER,
    is_sentencepiece,
    read_pieces,
    words_begin_anywhere,
)
from keras_transformer.pretrained.sentencepiece_models import tokenizer_of, unknown_of
from keras_transformer.text.tokenizer import Tokenizer


def llama_vocabulary(path: Path, fields: Fields) -> Tokenizer:
    """Reads a vocabulary, whose bos a prompt begins with.

    A SentencePiece model of theirs has no padding: the id after its last piece becomes it, unless
    the config names another.

    Raises:
        ImportRefusedError: There is none, or the config names ids that it lacks.
    """
    has_json, has_model = ((path / name).is_file() for name in (TOKENIZER, SENTENCEPIECE))
    if not is_sentencepiece(path) and (has_json or not has_model):
        return read_vocabulary(path, fields, begins=False)
    model, known, _ = read_pieces(path, SENTENCEPIECE)
    ids = known or {piece.piece: place for place, piece in enumerate(model.pieces)}
    return pieces_vocabulary(
        model,
        {**tokens_with_ids(path), **ids},
        path / SENTENCEPIECE,
        fields,
        are_apart=words_begin_anywhere(path),
    )


def pieces_vocabulary(
    model: Any, ids: Mapping[str, int], origin: Path, fields: Fields, *, are_apart: bool
) -> Tokenizer:
    """Returns the tokenizer of a SentencePiece model.

    Args:
        model: Its message.
        ids: The ids of its pieces and of tokens beside them.
        origin: The file, for messages.
        fields: The model's config, which names special ids.
        are_apart: Whether words begin behind tokens of roles, too.

    Raises:
        ImportRefusedError: The config names an end of texts that the vocabulary lacks.
    """
    by_id: dict[int | None, str] = {token: name for name, token in ids.items()}
    unk, bos = unknown_of(model), by_id.get(fields.token_id("bos_token_id"))
    eos, pad = by_id.get(eos_of(fields)), by_id.get(fields.token_id("pad_token_id"))
    if eos is None:
        raise ImportRefusedError(
            f"{fields.path} has eos_token_id: {fields.get('eos_token_id', None)!r}, which is no id "
            f"of {origin}."
        )
    return tokenizer_of(
        model,
        eos=eos,
        unk=unk,
        pad="<pad>" if pad in (None, unk, eos, bos) else pad,
        bos=bos,
        ids=ids,
        vocab_size=fields.vocab_size(),
        # Tokens of roles, which prompts of chats hold.
        symbols=sorted(ids.keys() - {piece.piece for piece in model.pieces} - {eos, pad, bos}),
        are_apart=are_apart,
    )
