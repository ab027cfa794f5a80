"""Checks of the token ids that a request names, in its prefixes and its options, against the
target vocabulary.
"""

from collections.abc import Sequence

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.options import SearchOptions


class PrefixError(ValueError):
    """A translation cannot begin with its prefix.

    Attributes:
        index: The prefix's place among the sentences.
        reason: What is wrong with it.
    """

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"the prefix of sentence {index} {reason}")


def check_token_ids(options: SearchOptions, vocab_size: int, special_ids: SpecialIds) -> None:
    """Checks the token ids that options name against the target vocabulary.

    Raises:
        ValueError: An id is outside it, or padding or the start token is forced.
    """
    for token, name in options.named_ids:
        if token >= vocab_size:
            raise ValueError(
                f"{name} names token {token}, but the target vocabulary has the ids 0 to "
                f"{vocab_size - 1}."
            )
        if name == "forced_tokens" and token in special_ids.never_generated:
            raise ValueError(
                f"forced_tokens names token {token}: padding ({special_ids.pad}) and the start "
                f"token ({_start(special_ids)}) are never generated."
            )


def check_prefixes(
    prefixes: Sequence[Sequence[int]],
    limits: Sequence[int],
    vocab_size: int,
    special_ids: SpecialIds,
) -> list[list[int]]:
    """Returns the prefixes as lists of plain integers.

    Args:
        prefixes: Ids that each translation begins with, without begin and end tokens; [] for none.
        limits: Longest translation of each sentence, its end token included.
        vocab_size: Size of the target vocabulary.
        special_ids: Its special ids, which are not text.

    Raises:
        PrefixError: A prefix has an id that is not allowed, or leaves no room for another token.
        ValueError: Their number is not that of the sentences.
    """
    if len(prefixes) != len(limits):
        raise ValueError(
            f"got {len(prefixes)} prefixes for {len(limits)} sentences: give one for each, empty "
            "if a sentence has none."
        )
    rows = [[int(token) for token in prefix] for prefix in prefixes]
    for number, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        for token in row:
            if not 0 <= token < vocab_size or token in special_ids.added_to_text:
                raise PrefixError(
                    number,
                    f"holds token {token}: it must hold ids from 0 to {vocab_size - 1}, without "
                    f"padding ({special_ids.pad}), start ({_start(special_ids)}) and end "
                    f"({special_ids.eos}).",
                )
        if len(row) >= limit:
            raise PrefixError(
                number,
                f"has {len(row)} tokens, but its translation has at most {limit}, the end token "
                "included: shorten it or raise the limit.",
            )
    return rows


def _start(special_ids: SpecialIds) -> int:
    return special_ids.decoder_start if special_ids.bos is None else special_ids.bos
