"""The special ids of a `tokenizer.json` as `SpecialIds`."""

from collections.abc import Iterable, Mapping
from typing import Any

from keras_transformer.config.special_ids import SpecialIds

# The names of each, the first of a vocabulary counts.
_NAMES = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "bos": ("[CLS]", "<s>", "<bos>", "<|begin_of_text|>"),
    "eos": ("[SEP]", "</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>"),
    "mask": ("[MASK]", "<mask>"),
}
# The entry with ids that names do not tell; no other program knows it.
SPECIAL_IDS = "special_ids"


def find_special_ids(values: Mapping[str, Any], pieces: Mapping[str, int]) -> SpecialIds:
    """Returns the ids that an entry of ours holds, or else those of the usual names.

    Only added tokens can have them: bytes may spell `<s>` as a piece of text. Without a pad, that
    is the id after the last piece; without a begin, decoding starts with the end.

    Args:
        values: A `tokenizer.json`.
        pieces: The id of each piece.

    Raises:
        ValueError: There is no end of text, or the entry is no valid one.
    """
    if SPECIAL_IDS in values:
        try:
            return SpecialIds(**values[SPECIAL_IDS])
        except TypeError as error:
            raise ValueError(f"its {SPECIAL_IDS} are not valid: {error}") from error
    added = {token["content"]: token["id"] for token in values.get("added_tokens") or ()}
    found = {role: _first(names, added) for role, names in _NAMES.items()}
    if found["eos"] is None:
        raise ValueError(
            f"none of its added tokens ends a text ({', '.join(_NAMES['eos'])}): give special_ids."
        )
    # What the model writes counts: MPNet's vocabulary has both names.
    name = values["model"].get("unk_token")
    unknown = pieces.get(name) if isinstance(name, str) else None
    # GPT-2's name of an unknown token is its end of text, which bytes never need.
    if unknown is not None and unknown not in found.values():
        found["unk"] = unknown
    if found["pad"] is None:
        found["pad"] = max(pieces.values()) + 1
    return SpecialIds(**found)  # type: ignore[arg-type]


def _first(names: Iterable[str], ids: Mapping[str, int]) -> int | None:
    return next((ids[name] for name in names if name in ids), None)
