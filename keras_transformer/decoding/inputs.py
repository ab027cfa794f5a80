"""Checks token ids and prefixes against the vocabulary and the limits, before any search. Needs
neither Keras nor TensorFlow, so that both translators refuse the same with the same words.
"""

from collections.abc import Iterable, Sequence

from keras_transformer.decoding.options import SearchOptions
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID


def check_texts(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Returns the texts as a list.

    Raises:
        TypeError: They are one string, or one of them is none; the message names `name`.
        ValueError: One holds a lone surrogate, which no UTF-8 can carry.
    """
    if isinstance(texts, str | bytes):
        raise TypeError(
            f"{name} must be a list of strings, got one {type(texts).__name__}: write [text]."
        )
    rows = list(texts)
    for number, text in enumerate(rows):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be strings, got {type(text).__name__} at index {number}.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name} must be valid Unicode, got a lone surrogate at index {number}, character "
                f"{error.start}."
            ) from error
    return rows


def check_token_ids(options: SearchOptions, vocab_size: int) -> None:
    """Checks the token ids that options name against the target vocabulary.

    Raises:
        ValueError: An id is outside it, or padding or the start token is forced.
    """
    named = [(token, "banned_sequences") for row in options.banned_sequences for token in row]
    named += [(token, "forced_tokens") for _, token in options.forced_tokens]
    for token, name in named:
        if token >= vocab_size:
            raise ValueError(
                f"{name} names token {token}, but the target vocabulary has the ids 0 to "
                f"{vocab_size - 1}."
            )
        if name == "forced_tokens" and token in (PAD_ID, BOS_ID):
            raise ValueError(
                f"forced_tokens names token {token}: padding ({PAD_ID}) and the start token "
                f"({BOS_ID}) are never generated."
            )


def check_prefixes(
    prefixes: Sequence[Sequence[int]], limits: Sequence[int], vocab_size: int
) -> list[list[int]]:
    """Returns the prefixes as lists of plain integers.

    Args:
        prefixes: Ids that each translation begins with, without begin and end tokens; [] for none.
        limits: Longest translation of each sentence, its end token included.
        vocab_size: Size of the target vocabulary.

    Raises:
        ValueError: Their number is not that of the sentences, a prefix holds an id that it must
            not, or it leaves no room for another token.
    """
    if len(prefixes) != len(limits):
        raise ValueError(
            f"got {len(prefixes)} prefixes for {len(limits)} sentences: give one for each, empty "
            "where a sentence has none."
        )
    rows = [[int(token) for token in prefix] for prefix in prefixes]
    for number, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        for token in row:
            if not 0 <= token < vocab_size or token in (PAD_ID, BOS_ID, EOS_ID):
                raise ValueError(
                    f"the prefix of sentence {number} holds token {token}: it must hold ids from "
                    f"0 to {vocab_size - 1}, without padding ({PAD_ID}), start ({BOS_ID}) and end "
                    f"({EOS_ID})."
                )
        if len(row) >= limit:
            raise ValueError(
                f"the prefix of sentence {number} has {len(row)} tokens, but its translation has "
                f"at most {limit}, the end token included: shorten it or raise the limit."
            )
    return rows
