"""Opens a vocabulary of either kind from the bytes of its file."""

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.subwords.interface import Subwords
from keras_transformer.text.subwords.sentencepiece_model import SentencePieceModel
from keras_transformer.text.subwords.tokenizer_json import TokenizerJson

# How the name of a file of each kind ends.
SUFFIXES = {SentencePieceModel.kind: ".model", TokenizerJson.kind: ".json"}


def open_subwords(content: bytes, special_ids: SpecialIds | None = None) -> Subwords:
    """Reads a vocabulary.

    Args:
        content: The bytes of a SentencePiece model or of a `tokenizer.json`.
        special_ids: Those of a `tokenizer.json`; None to find them by their names.

    Raises:
        ImportError: A `tokenizer.json` needs a package that is missing.
        ValueError: It is neither, or special ids are given for a SentencePiece model.
    """
    # JSON begins with a brace, a serialized SentencePiece model with a tag.
    if content.lstrip()[:1] == b"{":
        return TokenizerJson(content, special_ids)
    if special_ids is not None:
        raise ValueError("a SentencePiece model has its own special ids: give none.")
    return SentencePieceModel(content)
