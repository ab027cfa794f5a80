"""Vocabularies with language codes as the tokenizers of mBART, NLLB and M2M100 have them, in an
order that is not that of the model's ids.
"""

from pathlib import Path
from typing import Any

from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.export.pretrained.huggingface.vocabularies import (
    described_tokens,
    write_json,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.languages import CONFIG
from keras_transformer.pretrained.huggingface.vocabularies import FAIRSEQ
from keras_transformer.text.sentencepiece_messages import BYTE, NORMAL, read_message, write_message
from keras_transformer.text.subwords.sentencepiece_model import MASK_PIECE
from keras_transformer.whole_files import write_bytes

TEXT = (NORMAL, BYTE)
# Theirs begin so, and the pieces of SentencePiece with the unknown one.
FIRST = list(FAIRSEQ)
_PIECES_FIRST = ["<unk>", "<s>", "</s>"]


def check_languages(outgoing: Outgoing) -> None:
    """Raises a ValueError if none of these tokenizers can have the vocabulary and its marks."""
    outgoing.check_sentencepiece("huggingface")
    marks, pieces = outgoing.config.marks, pieces_of(outgoing)
    names = [piece.piece for piece in pieces]
    if outgoing.source is not outgoing.target or names[: len(FIRST)] != FIRST:
        raise ValueError(
            "Hugging Face's tokenizers of languages need one vocabulary that begins with "
            f"{', '.join(FIRST)}, got {', '.join(names[: len(FIRST)])}."
        )
    if not marks.languages or marks.languages_in == "source" or marks.source or marks.target:
        raise ValueError(
            "Hugging Face's mBART and M2M100 need marks of languages on both sides, or at the ends "
            f"of texts, and no others, got marks={marks!r}."
        )
    text = [place for place, piece in enumerate(pieces) if piece.type in TEXT]
    behind = len(FIRST) + len(text)
    holes = max(marks.languages.values()) + 1 - behind - len(marks.languages)
    if text != [*range(len(FIRST), behind)] or not 0 <= holes <= 1:
        raise ValueError(
            "Hugging Face's tokenizers of languages need the ids of text to follow each other "
            f"behind {FIRST[-1]}, and those of languages to follow them, got text up to "
            f"{behind - 1} and languages from {min(marks.languages.values())} to "
            f"{max(marks.languages.values())}."
        )


def save_languages_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    """Writes `sentencepiece.bpe.model`, the files beside it, and for M2M100 `vocab.json`."""
    pieces, marks = pieces_of(outgoing), outgoing.config.marks
    write_bytes(directory / "sentencepiece.bpe.model", their_model(outgoing, pieces))
    added = _added(pieces, marks)
    is_m2m100 = outgoing.config.positions == "sinusoidal" and added.keys() == {
        f"__{code}__" for code in marks.languages
    }
    if is_m2m100:
        ids = {piece.piece: place for place, piece in enumerate(pieces) if piece.type in TEXT}
        first = {name: place for place, name in enumerate(FIRST)}
        write_json(directory / "vocab.json", {**first, **ids})
    described: dict[str, Any] = {
        "tokenizer_class": _tokenizer_class(outgoing, is_m2m100=is_m2m100),
        **dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), FIRST, strict=True)),
        "src_lang": marks.source_language,
        "tgt_lang": marks.target_language,
        # Theirs gives ids in the order of the list.
        "extra_special_tokens": list(added),
        "added_tokens_decoder": described_tokens(added, special=True),
    }
    write_json(directory / CONFIG, described)


def _added(pieces: list[Any], marks: SentenceMarks) -> dict[str, int]:
    """Returns what stands behind the text, up to the last language: pieces and their ids.

    An id between them that has no piece was that of the mask, which ours leaves unused.
    """
    languages = marks.languages.values()
    first = len(FIRST) + sum(piece.type in TEXT for piece in pieces)
    return {
        pieces[token].piece if token in languages else MASK_PIECE: token
        for token in range(min(first, *languages), max(languages) + 1)
    }


def _tokenizer_class(outgoing: Outgoing, *, is_m2m100: bool) -> str:
    if is_m2m100:
        return "M2M100Tokenizer"
    if outgoing.config.positions == "sinusoidal":
        return "NllbTokenizer"
    return "MBartTokenizer" if outgoing.config.marks.languages_in == "ends" else "MBart50Tokenizer"


def pieces_of(outgoing: Outgoing) -> list[Any]:
    """Returns the pieces of a SentencePiece vocabulary in the order of our ids."""
    return list(read_message(outgoing.source.model).pieces)


def their_model(outgoing: Outgoing, pieces: list[Any]) -> bytes:
    """Returns the SentencePiece model with pieces of text in their order and nothing else."""
    model = read_message(outgoing.source.model)
    by_name = {piece.piece: piece for piece in pieces}
    del model.pieces[:]
    model.pieces.extend(by_name[name] for name in _PIECES_FIRST)
    model.pieces.extend(piece for piece in pieces if piece.type in TEXT)
    trainer = model.trainer_spec
    trainer.vocab_size = len(model.pieces)
    trainer.unk_id, trainer.bos_id, trainer.eos_id, trainer.pad_id = 0, 1, 2, -1
    return write_message(model)
