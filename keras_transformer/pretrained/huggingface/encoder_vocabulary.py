"""The vocabularies of Hugging Face's encoders: a `tokenizer.json`, or the SentencePiece model of
XLM-RoBERTa (Conneau et al. 2020).
"""

from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import (
    PROCESSORS,
    read_vocabulary,
    steps_behind,
)
from keras_transformer.pretrained.huggingface.languages import CONFIG, read_values
from keras_transformer.pretrained.huggingface.vocabularies import FAIRSEQ_MODEL, fairseq_ids
from keras_transformer.pretrained.sentencepiece_json import TOKENIZER, is_sentencepiece, read_pieces
from keras_transformer.pretrained.sentencepiece_models import read_model, tokenizer_of
from keras_transformer.text.subwords.sentencepiece_model import MASK_PIECE
from keras_transformer.text.tokenizer import Tokenizer

_SPIECE = "spiece.model"
# Models whose tokenizers put two separators between the texts of a pair.
_TWO_SEPARATORS = ("roberta", "xlm-roberta", "mpnet")


def encoder_vocabulary(path: Path, fields: Fields) -> Tokenizer:
    """Reads a vocabulary, whose texts begin with a token of their own.

    Models of any form may have XLM-RoBERTa's: fairseq's ids, and behind them the mask's.

    Raises:
        ImportRefusedError: There is none, or it is damaged.
    """
    has_json = (path / TOKENIZER).is_file()
    if not is_sentencepiece(path) and (has_json or not (path / FAIRSEQ_MODEL).is_file()):
        return read_vocabulary(path, fields, begins=True)
    read = read_pieces(path, FAIRSEQ_MODEL)
    ids = fairseq_ids(read)
    # What a `tokenizer.json` adds has an id there.
    ids.setdefault(MASK_PIECE, (read.ids or {}).get(MASK_PIECE, len(ids)))
    return tokenizer_of(
        read.model,
        bos="<s>",
        ids=ids,
        vocab_size=fields.vocab_size(),
        symbols=(MASK_PIECE,),
    )


def albert_vocabulary(path: Path, fields: Fields) -> Tokenizer:
    """Reads an ALBERT's `tokenizer.json`, which holds SentencePiece's pieces and what is done to a
    text before it is split into them: accents and capitals go. A `spiece.model` alone is read
    where the settings say that they stay.

    Raises:
        ImportRefusedError: There is none, or it is damaged; a `spiece.model` alone does not say
            what is done before.
    """
    if (path / _SPIECE).is_file() and not (path / TOKENIZER).is_file():
        settings = read_values(path / CONFIG)
        if settings.get("do_lower_case", True) is False and settings.get("keep_accents", False):
            return _albert_pieces(read_model(path / _SPIECE), fields.vocab_size())
        raise ImportRefusedError(
            f"{path} has no {TOKENIZER}, and {_SPIECE} alone does not say how an ALBERT's texts "
            "lose accents and capitals: write it with transformers, by "
            f"AutoTokenizer.from_pretrained({str(path)!r}).save_pretrained({str(path)!r})."
        )
    return read_vocabulary(path, fields, begins=True)


def _albert_pieces(model: Any, vocab_size: int) -> Tokenizer:
    named = {"[MASK]": MASK_PIECE}
    ids = {named.get(piece.piece, piece.piece): place for place, piece in enumerate(model.pieces)}
    return tokenizer_of(
        model, bos="[CLS]", eos="[SEP]", ids=ids, vocab_size=vocab_size, symbols=(MASK_PIECE,)
    )


def read_pair_separators(path: Path, fields: Fields) -> int:
    """Returns how many separators stand between the texts of a pair.

    A `tokenizer.json` says it; without one, the kind of the model and of its vocabulary.
    """
    file = path / TOKENIZER
    told = pair_separators_of(file.read_bytes()) if file.is_file() else None
    if told is not None:
        return told
    is_fairseq = (path / FAIRSEQ_MODEL).is_file()
    return 2 if is_fairseq or fields["model_type"] in _TWO_SEPARATORS else 1


def pair_separators_of(content: bytes) -> int | None:
    """Returns how many separators a `tokenizer.json` puts between two texts.

    Returns:
        1 or 2; None if it does not say, or says something else.
    """
    try:
        for part in steps_behind(content):
            if part["type"] in PROCESSORS:
                return PROCESSORS[part["type"]]
            if part["type"] == "TemplateProcessing":
                return _between(part["pair"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return None


def _between(template: list[dict[str, Any]]) -> int | None:
    names = [next(iter(part.values()))["id"] for part in template]
    count = names.index("B") - names.index("A") - 1
    return count if count in (1, 2) else None
