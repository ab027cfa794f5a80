"""Texts to ids and back in plain Python, and the training of SentencePiece models on sentences.

Works without TensorFlow; `graph_tokenizer.py` reads the bytes of a SentencePiece model in a
TensorFlow graph and yields the same ids.
"""

import io
import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import sentencepiece

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.subwords.interface import Subwords
from keras_transformer.text.subwords.opening import SUFFIXES, open_subwords
from keras_transformer.text.subwords.sentencepiece_model import MASK_PIECE
from keras_transformer.text.subwords.slots import SLOTS, TERM_MARKS
from keras_transformer.text.training_feed import (
    TooManyPiecesError,
    TrainingFeed,
    check_text,
    training_error,
)
from keras_transformer.text.vocabulary_size import (
    BYTE_FALLBACK_FROM,
    MOST_PIECES,
    CharacterCount,
    PieceRule,
)
from keras_transformer.whole_files import write_bytes

ModelType = Literal["unigram", "bpe", "char"]

_MAX_TRAINING_SENTENCES = 5_000_000
_MAX_SENTENCE_BYTES = 1 << 20
# Those of every vocabulary that is trained here.
_OURS = SpecialIds()
# The special ones and one of text.
FEWEST_PIECES = len(_OURS.without_text) + 1
# How a pad that is no piece of the SentencePiece model is shown.
_PAD_PIECE = "<pad>"
# What stands for the first, second, ... hidden span of a text, as T5 has it; they are pieces like
# others, which a model reads and writes.
_SENTINEL_PIECE = "<extra_id_{}>"


class Tokenizer:
    """Reads one vocabulary: texts to ids, ids to texts.

    It may be a SentencePiece model, with its special ids in any order, or a `tokenizer.json` of
    Hugging Face with byte-level BPE or WordPiece. One without a pad gets the id after its last
    piece for it. No text gives an id that batching adds, even if it spells the piece.

    Args:
        model: The bytes of the file: a serialized SentencePiece model, as `train_tokenizer` makes
            it, or a `tokenizer.json`.
        special_ids: The ids of a `tokenizer.json` that are no text; None to find them by their
            names ([PAD], <s>, <|endoftext|> and so on). They are stored in the file that `save`
            writes, if they are others.

    Attributes:
        special_ids: The ids that are no text.

    Raises:
        ImportError: A `tokenizer.json` needs the package `tokenizers`, which is missing.
        TypeError: `model` is not bytes.
        ValueError: `model` is of neither kind, or has no eos.

    Example:
        >>> tokenizer = train_tokenizer(["a small house", "a red house"], vocab_size=16)
        >>> tokenizer.decode(tokenizer.encode(["a red house"]))
        ['a red house']
    """

    def __init__(self, model: bytes, special_ids: SpecialIds | None = None) -> None:
        if not isinstance(model, bytes):
            raise TypeError(
                f"model must be the bytes of a SentencePiece model or of a tokenizer.json, got "
                f"{type(model).__name__}; read a file with Tokenizer.load(path)"
            )
        self._subwords = open_subwords(model, special_ids)
        self.special_ids = self._subwords.special_ids

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tokenizer":
        """Reads a file of either kind; `FileNotFoundError` or `ValueError` name the path."""
        try:
            model = Path(path).read_bytes()
        except FileNotFoundError as error:
            raise FileNotFoundError(f"no tokenizer model at {os.fspath(path)}") from error
        try:
            return cls(model)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file; a kill leaves the old file or the new one, never half of one."""
        write_bytes(Path(path), self.model)

    @property
    def model(self) -> bytes:
        """The bytes of the file, as `GraphTokenizer` takes them and an artefact stores them."""
        return self._subwords.content

    @property
    def kind(self) -> str:
        """What reads the file: "sentencepiece" or "tokenizer_json"."""
        return self._subwords.kind

    @property
    def suffix(self) -> str:
        """How the name of its file ends: ".model" or ".json"."""
        return SUFFIXES[self.kind]

    @property
    def subwords(self) -> Subwords:
        """What reads the vocabulary, for what needs single pieces and their places."""
        return self._subwords

    @property
    def sentinel_ids(self) -> tuple[int, ...]:
        """The ids of the pieces that stand for hidden spans, in order; empty without any."""
        found: list[int] = []
        while True:
            token = self._subwords.id_of(_SENTINEL_PIECE.format(len(found)))
            if token is None:
                return tuple(found)
            found.append(token)

    @property
    def vocab_size(self) -> int:
        """Number of ids, the special ones included."""
        return max(self._subwords.size, self.special_ids.highest + 1)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without bos and eos; a text of white space only may give no id.

        Raises:
            TypeError: `texts` is one string, or one of it is not a string.
            ValueError: a text holds a lone surrogate, which no UTF-8 can carry.
        """
        if isinstance(texts, str | bytes):
            raise TypeError(f"texts must be a sequence of strings, got one {type(texts).__name__}")
        rows = list(texts)
        try:
            if all(isinstance(text, str) for text in rows):
                return self._subwords.encode(rows)
            error: Exception = TypeError("texts must be strings")
        except (RuntimeError, TypeError) as one:
            error = one
        for number, text in enumerate(rows):
            check_text("texts", number, text)
        raise error

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Ids of a segmentation of each text drawn at random, without bos and eos.

        Args:
            texts: Strings.
            alpha: For a unigram model the exponent of a segmentation's probability (Kudo 2018):
                the lower, the more varied. For BPE the probability that a merge is left out
                (Provilkov et al. 2020).
            seed: Non-negative; the same seed and texts give the same ids.

        Raises:
            ValueError: It is no SentencePiece model, which alone has several segmentations.
        """
        return self._subwords.sample(texts, alpha, seed)

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; special ones are dropped.

        Raises:
            ValueError: an id lies outside `0 <= id < vocab_size`.
        """
        rows = [[int(token) for token in row] for row in ids]
        for row in rows:
            self._check_range(row)
        special = self.special_ids.without_text
        return self._subwords.decode([[i for i in row if i not in special] for row in rows])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary's piece for each id of one row, special ones included ("<s>", "▁the")."""
        row = [int(token) for token in ids]
        self._check_range(row)
        return [self._subwords.piece(i) if i < self._subwords.size else _PAD_PIECE for i in row]

    def split(self, text: str) -> list[str]:
        """Pieces of a text as they are spelled in it, normalized: unknown ones too."""
        check_text("texts", 0, text)
        return self._subwords.split(text)

    def join(self, pieces: Sequence[str]) -> str:
        """Text of pieces, those that the vocabulary lacks included; special ones are dropped."""
        special = self.pieces(sorted(self.special_ids.without_text))
        return self._subwords.join([piece for piece in pieces if piece not in special])

    def _check_range(self, row: list[int]) -> None:
        size = self.vocab_size
        for token in (min(row), max(row)) if row else ():
            if not 0 <= token < size:
                raise ValueError(f"ids must lie in 0 to {size - 1} (vocab_size - 1), got {token}")


def shared_special_ids(source: Tokenizer, target: Tokenizer) -> SpecialIds:
    """Returns the special ids of both sides' tokenizers; no mask if only one of them has it.

    Raises:
        ValueError: They differ, and a model has one set of them.
    """
    first, second = (_without_mask(side.special_ids) for side in (source, target))
    if source.special_ids == target.special_ids:
        return source.special_ids
    if first != second:
        raise ValueError(
            f"the source tokenizer has the {source.special_ids}, the target tokenizer "
            f"{target.special_ids}: train both with the same --pad_id, --unk_id, --bos_id and "
            "--eos_id of spm_train."
        )
    return first


def _without_mask(special_ids: SpecialIds) -> SpecialIds:
    return replace(special_ids, mask=None)


def train_fitting_tokenizer(
    sentences: Iterable[str],
    vocab_size: int | None,
    model_type: ModelType = "unigram",
    *,
    rule: PieceRule | None = None,
    **more: Any,
) -> Tokenizer:
    """As `train_tokenizer`, with as many pieces as the sentences can teach if no number is given.

    Args:
        sentences: The training texts, which may be read several times.
        vocab_size: Number of ids; None for one that suits the texts.
        model_type: "unigram", "bpe" or "char".
        rule: How many pieces suit the texts if no number is given.
        **more: Its other arguments.
    """
    if vocab_size is not None:
        return train_tokenizer(sentences, vocab_size, model_type, **more)
    if model_type == "char":
        # As many as there are, which are few beside the bytes.
        return train_tokenizer(sentences, MOST_PIECES, model_type, byte_fallback=False, **more)
    read = itertools.islice(sentences, more.get("max_sentences", _MAX_TRAINING_SENTENCES))
    size = CharacterCount(read).vocabulary_size(rule)
    size += len(SLOTS) if more.get("has_slots") else 0
    size += len(TERM_MARKS) if more.get("has_term_marks") else 0
    while True:
        try:
            return train_tokenizer(sentences, size, model_type, **more)
        except TooManyPiecesError as error:
            # Texts that repeat each other have fewer different pieces than their length says. So
            # few that bytes have no room leave fewer still.
            size = error.most


def train_tokenizer(
    sentences: Iterable[str],
    vocab_size: int,
    model_type: ModelType = "unigram",
    *,
    byte_fallback: bool | None = None,
    has_mask: bool = False,
    num_sentinels: int = 0,
    has_slots: bool = False,
    has_term_marks: bool = False,
    max_sentences: int = _MAX_TRAINING_SENTENCES,
) -> Tokenizer:
    """Trains a SentencePiece model; the same sentences always give the same model.

    Texts are normalized with `nmt_nfkc` (NFKC, white space joined), every character of the
    corpus is kept (coverage 1.0), and the special ids are pad 0, unk 1, bos 2, eos 3.

    Args:
        sentences: the training texts, one sentence each; consumed once, not held in Python.
        vocab_size: number of ids, special ones included; reached exactly, but for "char" where the
            sentences have fewer characters.
        model_type: "unigram" (Kudo 2018), "bpe" (Sennrich et al. 2016) or "char": a piece for each
            of the most frequent characters.
        byte_fallback: spell characters that the corpus lacks as bytes, so that unk never occurs;
            takes 256 ids. None: on from a `vocab_size` of 1,024.
        has_mask: give the vocabulary a piece `<mask>`, id 4, for masked language models; texts
            that hold it are read with it.
        num_sentinels: give the vocabulary so many pieces that stand for hidden spans,
            `<extra_id_0>` and so on, with the ids after the mask's.
        has_slots: give the vocabulary the pieces that stand for spans of a text (`SLOTS`), with the
            ids after these.
        has_term_marks: give it those that stand around the translations of terms (`TERM_MARKS`),
            with the ids after the slots'.
        max_sentences: more sentences than this are sampled down to it, always the same ones.

    Returns:
        The tokenizer that reads the new model.

    Raises:
        TypeError: a sentence is not a string.
        ValueError: a sentence holds a lone surrogate, none holds text, `model_type` is unknown,
            or `vocab_size` is too small for the corpus's characters or larger than the corpus can
            fill (the message names the bound).
    """
    if model_type not in get_args(ModelType):
        raise ValueError(f'model_type must be "unigram", "bpe" or "char", got {model_type!r}')
    check_vocab_size(vocab_size)
    if byte_fallback is None:
        byte_fallback = vocab_size >= BYTE_FALLBACK_FROM
    writer = io.BytesIO()
    feed = TrainingFeed(sentences)
    # Only matters when sentences are sampled down; fixed so that the sample is too.
    sentencepiece.set_random_generator_seed(0)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(feed),
            model_writer=writer,
            vocab_size=vocab_size,
            model_type=model_type,
            byte_fallback=byte_fallback,
            character_coverage=1.0,
            input_sentence_size=max_sentences,
            max_sentence_length=_MAX_SENTENCE_BYTES,
            # Sums of expected counts depend on how sentences are split among threads.
            num_threads=4,
            minloglevel=2,
            pad_id=_OURS.pad,
            unk_id=_OURS.unk,
            bos_id=_OURS.bos,
            eos_id=_OURS.eos,
            user_defined_symbols=[
                *([MASK_PIECE] if has_mask else []),
                *map(_SENTINEL_PIECE.format, range(num_sentinels)),
                *(SLOTS if has_slots else []),
                *(TERM_MARKS if has_term_marks else []),
            ],
        )
    except RuntimeError as error:
        if feed.error is not None:
            raise feed.error from None
        raise training_error(str(error), vocab_size, feed) from error
    return Tokenizer(writer.getvalue())


def check_vocab_size(vocab_size: int) -> None:
    """Raises `ValueError` if a vocabulary has no room for a piece of text."""
    if vocab_size < FEWEST_PIECES:
        raise ValueError(f"vocab_size must be at least {FEWEST_PIECES}, got {vocab_size}.")
