"""SentencePiece in plain Python: trains models on sentences, and converts texts to ids and back.

Needs only the `sentencepiece` package, so it also works without TensorFlow;
`graph_tokenizer.py` reads the same model bytes in a TensorFlow graph and yields the same ids.
"""

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import sentencepiece

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.whole_files import write_bytes

ModelType = Literal["unigram", "bpe"]

# 256 byte pieces are a fair price for "no text is ever unknown" from this size on, not below.
_BYTE_FALLBACK_FROM = 1024
_MAX_TRAINING_SENTENCES = 5_000_000
_MAX_SENTENCE_BYTES = 1 << 20
# Those of every vocabulary that is trained here.
_OURS = SpecialIds()
# The special ones and one of text.
FEWEST_PIECES = len(_OURS.without_text) + 1
# SentencePiece's piece of a space, which begins a word.
WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"
# How a pad that is no piece of the SentencePiece model is shown.
_PAD_PIECE = "<pad>"
# What texts write for a token to be filled in, if the vocabulary was trained with it.
MASK_PIECE = "<mask>"
# What stands for the first, second, ... hidden span of a text, as T5 has it; they are pieces like
# others, which a model reads and writes.
_SENTINEL_PIECE = "<extra_id_{}>"


class Tokenizer:
    """Reads one SentencePiece model: texts to ids, ids to texts.

    The model may have its special ids in any order. One without a pad, as SentencePiece trains
    them unless asked, gets the id after its last piece for it.

    Args:
        model: the serialized model, as `train_tokenizer` makes it or a `.model` file holds it.

    Attributes:
        special_ids: The ids that are no text.

    Raises:
        TypeError: `model` is not bytes.
        ValueError: `model` is no SentencePiece model, or has no eos.

    Example:
        >>> tokenizer = train_tokenizer(["a small house", "a red house"], vocab_size=16)
        >>> tokenizer.decode(tokenizer.encode(["a red house"]))
        ['a red house']
    """

    def __init__(self, model: bytes) -> None:
        if not isinstance(model, bytes):
            raise TypeError(
                f"model must be the bytes of a SentencePiece model, got {type(model).__name__}; "
                "read a file with Tokenizer.load(path)"
            )
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise ValueError(f"model is not a SentencePiece model ({len(model)} bytes)") from error
        self.special_ids = read_special_ids(self._processor)
        self._model = model

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tokenizer":
        """Reads a `.model` file; `FileNotFoundError` or `ValueError` name the path."""
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
        write_bytes(Path(path), self._model)

    @property
    def model(self) -> bytes:
        """The serialized model, as `GraphTokenizer` takes it and an artefact stores it."""
        return self._model

    @property
    def processor(self) -> sentencepiece.SentencePieceProcessor:
        """What reads the model, for what needs single pieces and their offsets."""
        return self._processor

    @property
    def sentinel_ids(self) -> tuple[int, ...]:
        """The ids of the pieces that stand for hidden spans, in order; empty without any."""
        found: list[int] = []
        while True:
            token = self._processor.piece_to_id(_SENTINEL_PIECE.format(len(found)))
            if token == self._processor.unk_id():
                return tuple(found)
            found.append(token)

    @property
    def vocab_size(self) -> int:
        """Number of ids, the special ones included."""
        return max(int(self._processor.get_piece_size()), self.special_ids.highest + 1)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without bos and eos; a text of white space only gives no id.

        Raises:
            TypeError: `texts` is one string, or one of it is no string.
            ValueError: a text holds a lone surrogate, which no UTF-8 can carry.
        """
        if isinstance(texts, str | bytes):
            raise TypeError(f"texts must be a sequence of strings, got one {type(texts).__name__}")
        rows = list(texts)
        try:
            return self._processor.encode(rows, out_type=int)
        except TypeError as error:
            for number, text in enumerate(rows):
                _check_text("texts", number, text)
            raise error

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Ids of a segmentation of each text drawn at random, without bos and eos.

        Args:
            texts: Strings.
            alpha: For a unigram model the exponent of a segmentation's probability (Kudo 2018):
                the lower, the more varied. For BPE the probability that a merge is left out
                (Provilkov et al. 2020).
            seed: Non-negative; the same seed and texts give the same ids.
        """
        # One text a call: a list would be shared among threads, each with its own random numbers.
        sentencepiece.set_random_generator_seed(1 + seed % (2**32 - 2))
        return [
            self._processor.encode(
                text, out_type=int, enable_sampling=True, alpha=alpha, nbest_size=-1
            )
            for text in texts
        ]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; special ones are dropped.

        Raises:
            ValueError: an id lies outside `0 <= id < vocab_size`.
        """
        rows = [[int(token) for token in row] for row in ids]
        for row in rows:
            self._check_range(row)
        special = self.special_ids.without_text
        return self._processor.decode([[i for i in row if i not in special] for row in rows])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary's piece for each id of one row, special ones included ("<s>", "▁the")."""
        row = [int(token) for token in ids]
        self._check_range(row)
        pieces = self._processor.get_piece_size()
        return [self._processor.id_to_piece(i) if i < pieces else _PAD_PIECE for i in row]

    def split(self, text: str) -> list[str]:
        """Pieces of a text as they are spelled in it, normalized: unknown ones too."""
        _check_text("texts", 0, text)
        return self._processor.encode(text, out_type=str)

    def join(self, pieces: Sequence[str]) -> str:
        """Text of pieces, those that the vocabulary lacks included; special ones are dropped."""
        special = self.pieces(sorted(self.special_ids.without_text))
        return self._processor.decode_pieces([piece for piece in pieces if piece not in special])

    def _check_range(self, row: list[int]) -> None:
        size = self.vocab_size
        for token in (min(row), max(row)) if row else ():
            if not 0 <= token < size:
                raise ValueError(f"ids must lie in 0 to {size - 1} (vocab_size - 1), got {token}")


def read_special_ids(processor: sentencepiece.SentencePieceProcessor) -> SpecialIds:
    """Returns the special ids of a SentencePiece model.

    Where it has no pad, that is the id after its last piece.

    Raises:
        ValueError: It has no eos, without which no sentence ends.
    """
    pad, bos, eos = processor.pad_id(), processor.bos_id(), processor.eos_id()
    if eos < 0:
        raise ValueError(
            "the SentencePiece model has no end-of-sentence piece: train it without --eos_id=-1."
        )
    mask = processor.piece_to_id(MASK_PIECE)
    return SpecialIds(
        pad=processor.get_piece_size() if pad < 0 else pad,
        unk=processor.unk_id(),
        bos=None if bos < 0 else bos,
        eos=eos,
        mask=None if mask == processor.unk_id() else mask,
    )


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


def train_tokenizer(
    sentences: Iterable[str],
    vocab_size: int,
    model_type: ModelType = "unigram",
    *,
    byte_fallback: bool | None = None,
    has_mask: bool = False,
    num_sentinels: int = 0,
    max_sentences: int = _MAX_TRAINING_SENTENCES,
) -> Tokenizer:
    """Trains a SentencePiece model; the same sentences always give the same model.

    Texts are normalized with `nmt_nfkc` (NFKC, white space joined), every character of the
    corpus is kept (coverage 1.0), and the special ids are pad 0, unk 1, bos 2, eos 3.

    Args:
        sentences: the training texts, one sentence each; consumed once, not held in Python.
        vocab_size: number of ids, special ones included; reached exactly.
        model_type: "unigram" (Kudo 2018) or "bpe" (Sennrich et al. 2016).
        byte_fallback: spell characters that the corpus lacks as bytes, so that unk never occurs;
            takes 256 ids. None: on from a `vocab_size` of 1,024.
        has_mask: give the vocabulary a piece `<mask>`, id 4, for masked language models; texts
            that hold it are read with it.
        num_sentinels: give the vocabulary so many pieces that stand for hidden spans,
            `<extra_id_0>` and so on, with the ids after the mask's.
        max_sentences: more sentences than this are sampled down to it, always the same ones.

    Returns:
        The tokenizer that reads the new model.

    Raises:
        TypeError: a sentence is not a string.
        ValueError: a sentence holds a lone surrogate, none holds text, `model_type` is unknown,
            or `vocab_size` is too small for the corpus's characters or larger than the corpus can
            fill (the message names the bound).
    """
    if model_type not in ("unigram", "bpe"):
        raise ValueError(f'model_type must be "unigram" or "bpe", got {model_type!r}')
    check_vocab_size(vocab_size)
    if byte_fallback is None:
        byte_fallback = vocab_size >= _BYTE_FALLBACK_FROM
    writer = io.BytesIO()
    feed = _Feed(sentences)
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
            ],
        )
    except RuntimeError as error:
        if feed.error is not None:
            raise feed.error from None
        raise _training_error(str(error), vocab_size, feed) from error
    return Tokenizer(writer.getvalue())


def check_vocab_size(vocab_size: int) -> None:
    """Raises `ValueError` if a vocabulary has no room for a piece of text."""
    if vocab_size < FEWEST_PIECES:
        raise ValueError(f"vocab_size must be at least {FEWEST_PIECES}, got {vocab_size}.")


class _Feed:
    """Passes sentences on to SentencePiece, checks them and counts those with text."""

    def __init__(self, sentences: Iterable[str]) -> None:
        if isinstance(sentences, str | bytes):
            raise TypeError(
                f"sentences must be an iterable of strings, got one {type(sentences).__name__}"
            )
        self._sentences = sentences
        self.with_text = 0
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for number, sentence in enumerate(self._sentences):
                _check_text("sentences", number, sentence)
                self.with_text += bool(sentence.strip())
                yield sentence
        except Exception as error:
            # SentencePiece would turn it into a RuntimeError that hides its type.
            self.error = error
            raise


def _check_text(argument: str, number: int, text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{argument} must be strings, got {type(text).__name__} at index {number}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{argument} must be valid Unicode, got a lone surrogate at index {number}, "
            f"character {error.start}"
        ) from error


def _training_error(message: str, vocab_size: int, feed: _Feed) -> Exception:
    """Returns SentencePiece's bare RuntimeError as a ValueError that says what to change."""
    if not feed.with_text:
        return ValueError("sentences must hold some text, got none: the corpus is empty")
    too_high = re.search(r"value <= (\d+)", message)
    if too_high:
        return ValueError(
            f"vocab_size={vocab_size} is too large for this corpus: at most {too_high[1]}; "
            "lower vocab_size or bring more text"
        )
    too_small = re.search(r"required_chars\. \d+ vs (\d+)", message)
    if too_small:
        return ValueError(
            f"vocab_size={vocab_size} is too small for the characters of this corpus: at least "
            f"{too_small[1]}; raise vocab_size"
        )
    return RuntimeError(f"SentencePiece could not train the vocabulary: {message}")
