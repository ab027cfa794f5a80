"""The search that a model of Hugging Face is meant for: its `generation_config.json` as fields of
`SearchOptions` and back, and the names of what no search of ours does.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.config import SpecialIds
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.languages import read_values
from keras_transformer.pretrained.values import FileValues
from keras_transformer.text.subwords.interface import MOST_IDS

GENERATION = "generation_config.json"
FORCED_FIRST, FORCED_LAST = "forced_bos_token_id", "forced_eos_token_id"
# Their name → ours, of what means the same.
_SAME = {
    "num_beams": "beam_size",
    "length_penalty": "length_penalty",
    "no_repeat_ngram_size": "no_repeat_ngram_size",
    "repetition_penalty": "repetition_penalty",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    # They count new tokens, as we do.
    "max_new_tokens": "max_length",
    "min_new_tokens": "min_length",
}
_REAL = ("length_penalty", "repetition_penalty", "temperature", "top_p")
# As we name them. Theirs count the decoder's first token, and the numbers of new tokens win.
_WITH_START = ("max_length", "min_length")
_EARLY_STOPPING = {False: "likely", True: "first", "never": "exact"}
# What beam search and sampling take there if a file does not say it.
_THEIR_PENALTY, _THEIR_TOP_K = 1.0, 50
# What else changes a search there, and its values that change nothing.
_UNKNOWN: dict[str, tuple[Any, ...]] = {
    "begin_suppress_tokens": ([],),
    "diversity_penalty": (0.0,),
    # Samples are drawn only on request.
    "do_sample": (False,),
    "encoder_no_repeat_ngram_size": (0,),
    "encoder_repetition_penalty": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
    "exponential_decay_length_penalty": (),
    "forced_decoder_ids": ([],),
    "guidance_scale": (1, 1.0),
    "min_p": (0.0,),
    "num_beam_groups": (1,),
    "penalty_alpha": (0.0,),
    "sequence_bias": ([], {}),
    "typical_p": (1.0,),
}


def read_generation(path: Path, fields: Fields) -> FileValues:
    """Returns the directory's `generation_config.json`, or in older files the model's config."""
    found = read_values(path / GENERATION)
    return found if found.values else fields


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
        if theirs.get(name, None) is not None:
            found.setdefault(name, max(theirs.integer(name) - 1, int(name == "max_length")))
    if "max_length" in found and _forces_end(theirs, special_ids):
        # It takes the last place of what is longer; ours ends there without it.
        found["max_length"] = max(found["max_length"] - 1, found.get("min_length", 1), 1)
    first = theirs.integer(FORCED_FIRST, None, most=MOST_IDS)
    if first is not None and first not in special_ids.never_generated:
        found["forced_tokens"] = [[0, first]]
    return found


def read_decoder_search(path: Path, fields: Fields, special_ids: SpecialIds) -> dict[str, Any]:
    """Returns the options that a decoder alone was saved with.

    Lengths that count the prompt are left out. Of several ids that end a text, as models for chats
    have them, those beside the vocabulary's are stop tokens.
    """
    theirs = read_generation(path, fields)
    found = _common(theirs, special_ids)
    ends = theirs.get("eos_token_id", None)
    known = (special_ids.eos, *special_ids.never_generated)
    if isinstance(ends, list) and (others := [token for token in ends if token not in known]):
        found["stop_tokens"] = others
    return found


def left_out(path: Path, fields: Fields, special_ids: SpecialIds) -> tuple[str, ...]:
    """Returns what `generation_config.json` says that no option of ours does: "name=value"."""
    theirs = read_generation(path, fields)
    unknown = {name: theirs.get(name, None) for name in _UNKNOWN}
    found = {
        name: value
        for name, value in unknown.items()
        if value is not None and value not in _UNKNOWN[name]
    }
    if theirs.get(FORCED_LAST, None) is not None and not _forces_end(theirs, special_ids):
        found[FORCED_LAST] = theirs[FORCED_LAST]
    if theirs.number("length_penalty", 0.0) < 0.0:
        found["length_penalty"] = theirs["length_penalty"]
    return tuple(f"{name}={value!r}" for name, value in found.items())


def _forces_end(theirs: FileValues, special_ids: SpecialIds) -> bool:
    last = theirs.get(FORCED_LAST, None)
    return special_ids.eos in (last if isinstance(last, list) else [last])


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


def _common(theirs: FileValues, special_ids: SpecialIds) -> dict[str, Any]:
    found = {ours: _same(theirs, name) for name, ours in _SAME.items()}
    found = {ours: value for ours, value in found.items() if value is not None}
    # Some write 0 for what they do not use.
    for name in ("temperature", "top_p"):
        if found.get(name) == 0:
            del found[name]
    if found.get("beam_size", 1) > 1:
        found.setdefault("length_penalty", _THEIR_PENALTY)
    if "length_penalty" in found:
        found["length_penalty_type"] = "exponent"
        # Theirs may be negative, for translations as short as possible.
        found["length_penalty"] = max(found["length_penalty"], 0.0)
    if theirs.get("do_sample", None) is True:
        found.setdefault("top_k", _THEIR_TOP_K)
    early = theirs.get("early_stopping", None)
    if isinstance(early, bool | str) and early in _EARLY_STOPPING:
        found["early_stopping"] = _EARLY_STOPPING[early]
    # No search of ours generates these anyway.
    never = [[token] for token in special_ids.never_generated]
    suppressed = [[token] for token in theirs.sequence("suppress_tokens", [])]
    rows = [*theirs.sequence("bad_words_ids", []), *suppressed]
    banned = [row for row in rows if row not in never]
    if banned:
        found["banned_sequences"] = banned
    return found


def _same(theirs: FileValues, name: str) -> Any:
    read = theirs.number if name in _REAL else theirs.integer
    return read(name, None)
