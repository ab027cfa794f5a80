"""The vocabularies of encoders alone: takes a directory and its config, and returns the tokenizer
of a `tokenizer.json`, or of the SentencePiece model that XLM-RoBERTa has (Conneau et al. 2020).
"""

from pathlib import Path

from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import read_vocabulary
from keras_transformer.pretrained.huggingface.vocabularies import FAIRSEQ_MODEL, fairseq_ids
from keras_transformer.pretrained.sentencepiece_json import (
    TOKENIZER,
    is_sentencepiece,
    read_pieces,
)
from keras_transformer.pretrained.sentencepiece_models import tokenizer_of
from keras_transformer.text.subwords.sentencepiece_model import MASK_PIECE
from keras_transformer.text.tokenizer import Tokenizer


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
