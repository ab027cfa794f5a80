"""`EncodedTexts`: rows of single texts for batching, with a report of what was dropped."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.encoding.encode import NO_WORD, tokenize, tokenize_words
from keras_transformer.data.encoding.id_pairs import RaggedIds, TextReport, check_max_length
from keras_transformer.data.encoding.packing import packed_rows
from keras_transformer.data.objectives.objective import Objective
from keras_transformer.data.sources.texts import LabelledTexts, Texts
from keras_transformer.text.layout import decoder_row, encoder_row
from keras_transformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class EncodedTexts:
    """Rows ready for batching, special ids included.

    Attributes:
        rows: The ids.
        second_starts: Where the second text of each row begins, or the row's length: int64.
        classes: The number of each row's label, 0 without labels: int32.
        report: What was dropped.
        line_numbers: Positions of the kept texts in the original ones: int64.
        special_ids: Those of the vocabulary.
        objective: Makes batches of the rows.
        token_classes: The number of each token's tag, as long as `rows.values`: int32; None if
            there are no tags.
        token_words: The number of each token's word among those of all texts, `NO_WORD` for none,
            as long as `rows.values`: int32; None if texts are not read word by word.
        features: For each model whose states are features those of each word,
            `(words, layers, width)`; they may lie on disk.
    """

    rows: RaggedIds
    second_starts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int32]
    report: TextReport
    line_numbers: npt.NDArray[np.int64]
    special_ids: SpecialIds
    objective: Objective
    token_classes: npt.NDArray[np.int32] | None = None
    token_words: npt.NDArray[np.int32] | None = None
    features: tuple[npt.NDArray[np.float16], ...] = ()

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Length of each row."""
        return self.rows.lengths

    @property
    def longest_text(self) -> int:
        """Most tokens of text in a row, without the special ids around it."""
        is_text = ~np.isin(self.rows.values, sorted(self.special_ids.added_to_text))
        return int(np.add.reduceat(is_text, self.rows.offsets[:-1], dtype=np.int64).max())

    def count_labels(self, labels: int) -> npt.NDArray[np.int64]:
        """Returns how many rows have each label, or, of tagged texts, how many words each tag.

        Args:
            labels: How many labels there are.
        """
        numbers = self.classes if self.token_classes is None else self.token_classes
        return np.bincount(numbers[numbers >= 0], minlength=labels)

    def __len__(self) -> int:
        return len(self.rows)


def encode_for_encoder(
    texts: Texts | LabelledTexts,
    tokenizer: Tokenizer,
    objective: Objective,
    max_length: int,
    classes: Sequence[str] = (),
    pair_separators: int = 1,
    *,
    by_words: bool = False,
) -> EncodedTexts:
    """Makes rows `bos text eos` or, of pairs, `bos first eos second eos`.

    Args:
        texts: The texts, or pairs, with or without labels.
        tokenizer: Reads the texts.
        objective: Makes batches of the rows.
        max_length: Longest row in tokens; longer ones are dropped, as empty texts are.
        classes: The labels, in the order of their numbers.
        pair_separators: How many eos stand between the texts of a pair: 1 as in BERT, 2 as in
            RoBERTa.
        by_words: Whether words are tokenized one by one, and numbered: those of all texts, then
            those of all second texts.

    Raises:
        ValueError: No text is left, or `max_length` is below 2.
    """
    labelled = texts if isinstance(texts, LabelledTexts) else None
    sides = [labelled.first if labelled else texts.lines]  # type: ignore[union-attr]
    sides += [labelled.second] if labelled and labelled.second else []
    words: list[RaggedIds] = []
    if by_words:
        ids, owners = tokenize_words([text.split() for side in sides for text in side], tokenizer)
        numbers = np.split(np.arange(len(ids)), len(sides))
        ids_of_sides = [ids.take(side) for side in numbers]
        words = [owners.take(side) for side in numbers]
    else:
        ids_of_sides = [tokenize(side, tokenizer) for side in sides]
    first, second = ids_of_sides[0], ids_of_sides[1] if len(sides) > 1 else None
    laid_out = [
        encoder_row(
            first[number].tolist(),
            None if second is None else second[number].tolist(),
            tokenizer.special_ids,
            pair_separators,
        )
        for number in range(len(first))
    ]
    is_empty = (
        first.lengths == 0 if second is None else (first.lengths == 0) | (second.lengths == 0)
    )
    of_label = {label: number for number, label in enumerate(classes)}
    return kept_rows(
        [row for row, _ in laid_out],
        is_empty,
        max_length,
        texts.origin,
        second_starts=[types.count(0) for _, types in laid_out],
        # A blank line has no label, and is dropped.
        classes=[of_label.get(label, 0) for label in labelled.labels] if labelled else None,
        special_ids=tokenizer.special_ids,
        objective=objective,
        words=words,
    )


def encode_for_decoder(
    texts: Texts, tokenizer: Tokenizer, objective: Objective, max_length: int
) -> EncodedTexts:
    """Makes rows `decoder_start text eos`, of which the model reads all but the last token.

    Arguments and errors are those of `encode_for_encoder`.
    """
    ids = tokenize(texts.lines, tokenizer)
    rows = [
        decoder_row(ids[number].tolist(), tokenizer.special_ids, ends=True)
        for number in range(len(ids))
    ]
    return kept_rows(
        rows,
        ids.lengths == 0,
        max_length,
        texts.origin,
        unread=1,
        special_ids=tokenizer.special_ids,
        objective=objective,
    )


def encode_packed(
    texts: Texts,
    tokenizer: Tokenizer,
    objective: Objective,
    max_length: int,
    *,
    across_documents: bool,
) -> EncodedTexts:
    """Makes rows of `max_length` tokens of texts that are joined, each followed by its eos.

    Args:
        texts: The texts; an empty line ends a document.
        tokenizer: Reads the texts.
        objective: Makes batches of the rows.
        max_length: Tokens that the model reads in a row.
        across_documents: Whether a row may go on with the next document.

    Raises:
        ValueError: No text is left, or `max_length` is below 2.
    """
    check_max_length(max_length)
    ids = tokenize(texts.lines, tokenizer)
    special_ids = tokenizer.special_ids
    rows, lines = packed_rows(ids, max_length, special_ids, across_documents=across_documents)
    empty = int((ids.lengths == 0).sum())
    report = TextReport(len(ids), len(ids) - empty, empty, 0)
    if not rows:
        raise ValueError(f"no text of {texts.origin} is left: {report}; check the text")
    packed = RaggedIds.from_rows(rows)
    classes = np.zeros(len(rows), np.int32)
    numbers = np.asarray(lines, np.int64)
    return EncodedTexts(packed, packed.lengths, classes, report, numbers, special_ids, objective)


def kept_rows(
    rows: list[list[int]],
    is_empty: npt.NDArray[np.bool_],
    max_length: int,
    origin: str,
    *,
    special_ids: SpecialIds,
    objective: Objective,
    second_starts: list[int] | None = None,
    classes: list[int] | None = None,
    unread: int = 0,
    words: Sequence[RaggedIds] = (),
) -> EncodedTexts:
    """Drops empty rows and those of which the model would read more than `max_length` tokens.

    Args:
        rows: All rows, special ids included.
        is_empty: Which of them hold no text.
        max_length: Most tokens of a row that the model reads.
        origin: Where the texts come from.
        special_ids: Those of the vocabulary.
        objective: Makes batches of the rows.
        second_starts: Where the second text of each begins; nowhere if None.
        classes: The number of each one's label; 0 if None.
        unread: Tokens of each that the model does not read.
        words: The number of the word of each token of text, for the texts, then the second texts;
            empty if they are not read word by word.

    Raises:
        ValueError: No text is left, or `max_length` is below 2.
    """
    check_max_length(max_length)
    packed = RaggedIds.from_rows(rows)
    too_long = ~is_empty & (packed.lengths - unread > max_length)
    kept = np.flatnonzero(~is_empty & ~too_long)
    report = TextReport(len(rows), len(kept), int(is_empty.sum()), int(too_long.sum()), max_length)
    if not len(kept):
        raise ValueError(f"no text of {origin} is left: {report}; check the text and max_length")
    starts = packed.lengths if second_starts is None else np.asarray(second_starts, np.int64)
    numbers = np.zeros(len(rows), np.int32) if classes is None else np.asarray(classes, np.int32)
    found = packed.take(kept)
    return EncodedTexts(
        found,
        starts[kept],
        numbers[kept],
        report,
        kept,
        special_ids,
        objective,
        token_words=_words_of(found, [side.take(kept) for side in words], special_ids),
    )


def _words_of(
    rows: RaggedIds, sides: Sequence[RaggedIds], special_ids: SpecialIds
) -> npt.NDArray[np.int32] | None:
    """Returns the number of each token's word from those of the texts and of the second texts."""
    if not sides:
        return None
    words = np.full(len(rows.values), NO_WORD, np.int32)
    is_text = ~np.isin(rows.values, sorted(special_ids.added_to_text))
    words[is_text] = np.concatenate([side[row] for row in range(len(rows)) for side in sides])
    return words
