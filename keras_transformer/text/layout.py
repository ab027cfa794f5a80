"""The row of ids that a model with one stack reads: a text or a pair, with special ids
around it.
"""

from collections.abc import Sequence

from keras_transformer.config.special_ids import SpecialIds


def encoder_row(
    first: Sequence[int],
    second: Sequence[int] | None,
    special_ids: SpecialIds,
    pair_separators: int = 1,
) -> tuple[list[int], list[int]]:
    """Returns the row of one text or of a pair: bos, first, eos, then second, eos, and then cls.

    With two separators (RoBERTa) there is another eos before the second text.

    Args:
        first: Ids of a text, without special ids but unk and mask.
        second: Ids of a second text; None for one text alone.
        special_ids: Those of the vocabulary. Without a bos the row begins with the text, and
            without a cls it ends with an eos.
        pair_separators: How many eos stand between the texts of a pair: 1 as in BERT, 2 as in
            RoBERTa.

    Returns:
        The row, and each token's type: 0 up to the first eos, then 1; with two separators all 0;
        2 of cls.
    """
    begin = [] if special_ids.bos is None else [special_ids.bos]
    row = [*begin, *first, special_ids.eos]
    types = [0] * len(row)
    if second is not None:
        row += [*[special_ids.eos] * (pair_separators - 1), *second, special_ids.eos]
        types += [int(pair_separators == 1)] * (len(row) - len(types))
    if special_ids.cls is not None:
        row, types = [*row, special_ids.cls], [*types, 2]
    return row, types


def decoder_row(ids: Sequence[int], special_ids: SpecialIds, *, ends: bool = False) -> list[int]:
    """Returns the row of a text or prompt: decoder start, ids, and eos if the text `ends`."""
    return [special_ids.decoder_start, *ids, *([special_ids.eos] if ends else [])]
