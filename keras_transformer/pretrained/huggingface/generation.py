"""How a model of Hugging Face is meant to search: takes its `generation_config.json` and returns
fields of `SearchOptions`, and the reverse.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.config import SpecialIds
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.languages import read_json

GENERATION = "generation_config.json"
FORCED_FIRST = "forced_bos_token_id"
# Their name → ours, of what means the same.
_SAME = {
    "num_beams": "beam_size",
    "length_penalty": "length_penalty",
    "no_repeat_ngram_size": "no_repeat_ngram_size",
    "repetition_penalty": "repetition_penalty",
    # They count new tokens, as we do.
    "max_new_tokens": "max_length",
    "min_new_tokens": "min_length",
}
# As we name them. Theirs count the decoder's first token, and the numbers of new tokens win.
_WITH_START = ("max_length", "min_length")
_EARLY_STOPPING = {False: "likely", True: "first", "never": "exact"}
# What beam search takes there if a file does not say it.
_THEIR_PENALTY = 1.0


def read_generation(path: Path, fields: Fields) -> Mapping[str, Any]:
    """Returns the directory's `generation_config.json`, or in older files the model's config."""
    return read_json(path / GENERATION) or fields.values


def read_search(path: Path, fields: Fields, special_ids: SpecialIds) -> dict[str, Any]:
    """Returns the options that a translator was saved with.

    Args:
        path: The directory.
        fields: The model's config.
        special_ids: The model's, which no search generates or forces.
    """
    theirs = read_generation(path, fields)
    found = _common(theirs, special_ids)
    for name in _WITH_START:
        if theirs.get(name) is not None:
            found.setdefault(name, max(int(theirs[name]) - 1, name == "max_length"))
    first = theirs.get(FORCED_FIRST)
    if first is not None and first not in special_ids.never_generated:
        found["forced_tokens"] = [[0, int(first)]]
    return found


def read_decoder_search(path: Path, fields: Fields, special_ids: SpecialIds) -> dict[str, Any]:
    """Returns the options that a decoder alone was saved with.

    Lengths that count the prompt are left out, and so is sampling, which is asked for.
    """
    return _common(read_generation(path, fields), special_ids)


def write_search(search: Mapping[str, Any], marks: Collection[int] = ()) -> dict[str, Any]:
    """Returns the fields of `generation_config.json` that say what a run searches with.

    Args:
        search: Fields of `SearchOptions`.
        marks: Ids that every translation begins with; Hugging Face can force one.
    """
    found = {
        theirs: search[ours]
        for theirs, ours in _SAME.items()
        if ours in search and ours not in _WITH_START
    }
    if search.get("length_penalty_type") == "gnmt":
        found.pop("length_penalty", None)
    for name in _WITH_START:
        if name in search:
            found[name] = search[name] + 1
    if "early_stopping" in search:
        named = {ours: theirs for theirs, ours in _EARLY_STOPPING.items()}
        found["early_stopping"] = named[search["early_stopping"]]
    if search.get("banned_sequences"):
        found["bad_words_ids"] = [list(row) for row in search["banned_sequences"]]
    forced = [token for place, token in search.get("forced_tokens", ()) if place == 0]
    for token in [*marks, *forced][:1]:
        found[FORCED_FIRST] = token
    return found


def _common(theirs: Mapping[str, Any], special_ids: SpecialIds) -> dict[str, Any]:
    found = {ours: theirs[name] for name, ours in _SAME.items() if theirs.get(name) is not None}
    if found.get("beam_size", 1) > 1:
        found.setdefault("length_penalty", _THEIR_PENALTY)
    if "length_penalty" in found:
        found["length_penalty_type"] = "exponent"
        # Theirs may be negative, for translations as short as possible.
        found["length_penalty"] = max(float(found["length_penalty"]), 0.0)
    if theirs.get("early_stopping") in _EARLY_STOPPING:
        found["early_stopping"] = _EARLY_STOPPING[theirs["early_stopping"]]
    # No search of ours generates these anyway.
    never = [[token] for token in special_ids.never_generated]
    banned = [row for row in theirs.get("bad_words_ids") or () if list(row) not in never]
    if banned:
        found["banned_sequences"] = banned
    return found
