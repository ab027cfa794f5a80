"""A vocabulary for the tokenizer of XLM-RoBERTa (Conneau et al. 2020), made of our SentencePiece
model with the model's ids.
"""

from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.huggingface.languages import (
    FIRST,
    TEXT,
    pieces_of,
    their_model,
)
from keras_transformer.export.pretrained.huggingface.vocabularies import write_json
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.languages import CONFIG
from keras_transformer.pretrained.huggingface.vocabularies import FAIRSEQ_MODEL
from keras_transformer.text.subwords.sentencepiece_model import MASK_PIECE
from keras_transformer.whole_files import write_bytes


def check_fairseq_ids(outgoing: Outgoing, name: str) -> None:
    """Raises a ValueError if ids are not those that this tokenizer gives.

    Args:
        outgoing: The model.
        name: The architecture that needs them.
    """
    pieces = pieces_of(outgoing)
    text = [place for place, piece in enumerate(pieces) if piece.type in TEXT]
    behind = len(FIRST) + len(text)
    masks = [place for place, piece in enumerate(pieces) if piece.piece == MASK_PIECE]
    is_first = [piece.piece for piece in pieces[: len(FIRST)]] == FIRST
    if not is_first or text != [*range(len(FIRST), behind)] or masks != [behind]:
        raise ValueError(
            f"{name} needs the vocabulary of a tokenizer.json, or one of SentencePiece with "
            f"XLM-RoBERTa's ids: {', '.join(FIRST)}, the text's pieces, {MASK_PIECE}. Export as "
            "ctranslate2, onnx or saved_model."
        )


def save_fairseq_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    """Writes `sentencepiece.bpe.model` and the files beside it."""
    write_bytes(directory / FAIRSEQ_MODEL, their_model(outgoing, pieces_of(outgoing)))
    names = ("bos_token", "pad_token", "eos_token", "unk_token")
    described: dict[str, Any] = {
        "tokenizer_class": "XLMRobertaTokenizer",
        **dict(zip(names, FIRST, strict=True)),
        "cls_token": FIRST[0],
        "sep_token": FIRST[2],
        "mask_token": MASK_PIECE,
    }
    longest = outgoing.config.max_row_length
    if longest is not None:
        described["model_max_length"] = longest
    write_json(directory / CONFIG, described)
