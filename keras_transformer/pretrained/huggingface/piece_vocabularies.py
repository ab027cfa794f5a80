"""The vocabularies of FSMT, fairseq's translators of WMT 2019, for texts whose words are split
already.

Their pieces come of Moses's tokenizer and of BPE, which stay outside: a text is its pieces, with
spaces between them, on either side.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

from keras_transformer.config import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.generation import read_search
from keras_transformer.pretrained.huggingface.vocabularies import Vocabularies, read_ids
from keras_transformer.text.tokenizer import Tokenizer

# No text holds these, though a model may write the first one.
BOS = "<s>"
_CONTROL = (BOS, "<pad>", "</s>")
_UNKNOWN = "<unk>"


def fsmt_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads `vocab-src.json` and `vocab-tgt.json`.

    Raises:
        ImportRefusedError: One is missing or damaged, or has other special ids than the model.
    """
    source, target = (_tokenizer(path / f"vocab-{side}.json", fields) for side in ("src", "tgt"))
    start = fields.integer("decoder_start_token_id", source.special_ids.eos)
    special_ids = dataclasses.replace(source.special_ids, decoder_start=start)
    search = read_search(path, fields, special_ids)
    return Vocabularies((source, target), special_ids, search=search)


def _tokenizer(path: Path, fields: Fields) -> Tokenizer:
    ids = read_ids(path)
    missing = [name for name in (*_CONTROL, _UNKNOWN) if name not in ids]
    if missing:
        raise ImportRefusedError(f"{path} has no piece {missing[0]!r}.")
    _, pad, eos = (ids[name] for name in _CONTROL)
    for name, token in (("pad_token_id", pad), ("eos_token_id", eos)):
        if fields.get(name, token) != token:
            raise ImportRefusedError(
                f"{fields.path} has {name}: {fields[name]!r}, but {path.name} gives it the id "
                f"{token}: they belong to different models."
            )
    special_ids = SpecialIds(pad=pad, unk=ids[_UNKNOWN], bos=None, eos=eos)
    return Tokenizer(json.dumps(_split_at_spaces(ids), ensure_ascii=False).encode(), special_ids)


def _split_at_spaces(ids: dict[str, int]) -> dict[str, Any]:
    """Returns a `tokenizer.json` whose texts are pieces with spaces between them."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": ids[name], "content": name, "special": True, **flags} for name in _CONTROL
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": {"type": "WordPiece", "prefix": "", "cleanup": False},
        "model": {"type": "WordLevel", "vocab": ids, "unk_token": _UNKNOWN},
    }
