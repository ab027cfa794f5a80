"""The vocabularies of keras-hub as the files of Hugging Face that give the same ids."""

import json
import shutil
import string
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.json_vocabulary import TOKENIZER
from keras_transformer.pretrained.keras_hub.family import Vocabulary
from keras_transformer.pretrained.keras_hub.preset import (
    BYTES,
    MERGES,
    PIECES,
    TOKENIZER_FILE,
    WORDS,
    Preset,
)
from keras_transformer.pretrained.sentencepiece_models import read_model
from keras_transformer.pretrained.values import FileValues, read_json, read_text

# Settings of tokenizers, and their only values here.
_SETTINGS = {
    "split": True,
    "special_tokens_in_strings": False,
    "add_bos": False,
    "add_eos": False,
}
# Of WordPiece, inside brackets: what parts words and goes, and what is a word of its own.
_SPACES = r" \t\n\r\f\p{Cc}\p{Cf}"
_CHINESE = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_RANGES = "".join(rf"\x{{{first:X}}}-\x{{{last:X}}}" for first, last in _CHINESE)
_SIGNS = rf"!-/:-@\[-`{{-~\p{{P}}{_RANGES}"
_OF_WORDS = f"[^{_SPACES}{_SIGNS}]"
# What case folding drops, beside what parts words anyway.
_IGNORED = r"[\p{Default_Ignorable_Code_Point}&&[^\p{Cf}]]"
# Folded otherwise than as small letters: of those that texts have.
_FOLDED = {"ß": "ss", "ς": "σ"}
# The iota below a Greek vowel, which folding puts behind it.
_IOTA_BELOW, _IOTA = "\u0345", "\u03b9"
# No vocabulary has these: a letter of private use, and a sign.
_NO_LETTER, _NO_SIGN = "\ue000", "\u2e3b"
_SCANNED = 0x30000


def read_vocabulary(preset: Preset, vocabulary: Vocabulary, folder: Path) -> dict[str, Any]:
    """Writes the files of Hugging Face into a folder.

    Args:
        preset: The preset.
        vocabulary: The family's.
        folder: Where to write.

    Returns:
        The ids of special tokens as the fields of Hugging Face's config.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the tokenizer has a setting that is
            not supported.
    """
    tokenizer = preset.tokenizer
    expected = preset.backbone.kind.removesuffix("Backbone") + "Tokenizer"
    if tokenizer.kind != expected:
        raise ImportRefusedError(
            f"{preset.path / TOKENIZER_FILE} is of a {tokenizer.kind}, and only {expected} is "
            "supported."
        )
    tokenizer.config.require(**_SETTINGS, **vocabulary.fields)
    writers = {"words": _words, "bytes": _bytes}
    ids = writers.get(vocabulary.kind, _pieces)(preset, vocabulary, folder)
    config = folder / "tokenizer_config.json"
    config.write_text(json.dumps({**vocabulary.settings, **_starts(preset, vocabulary)}))
    for token in vocabulary.special.values():
        if token not in ids:
            raise ImportRefusedError(f"{preset.path} has a vocabulary without {token!r}.")
    return {name: ids[token] for name, token in vocabulary.special.items()}


def _starts(preset: Preset, vocabulary: Vocabulary) -> dict[str, Any]:
    """Returns whether prompts begin with a token of their own."""
    starts = "bos_token_id" in vocabulary.special and preset.layout("add_start_token", True)
    return {"add_bos_token": bool(starts)}


def _words(preset: Preset, vocabulary: Vocabulary, folder: Path) -> dict[str, int]:
    config = preset.tokenizer.config
    lines = read_text(preset.asset(WORDS)).removesuffix("\n").split("\n")
    ids = {line.rstrip(): place for place, line in enumerate(lines)}
    lowercase = config.flag("lowercase", False)
    steps = [*_without_accents(config.flag("strip_accents", False)), *_folding(lowercase)]
    prefix, unknown = config.text("suffix_indicator", "##"), config.text("oov_token", "[UNK]")
    special = [*dict.fromkeys((*vocabulary.special.values(), unknown, "[MASK]"))]
    content = {
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [_split(f"[{_SPACES}]", "Removed"), _split(f"[{_SIGNS}]", "Isolated")],
        },
        "post_processor": {
            "type": "BertProcessing",
            **{
                name: [vocabulary.special[role], ids.get(vocabulary.special[role], 0)]
                for name, role in (("sep", "eos_token_id"), ("cls", "bos_token_id"))
            },
        },
        "decoder": {"type": "WordPiece", "prefix": prefix, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }
    _write(folder, content, {name: ids[name] for name in special if name in ids})
    return ids


def _split(pattern: str, behavior: str) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": False,
    }


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _without_accents(wanted: bool) -> list[dict[str, Any]]:
    return [{"type": "NFD"}, _replace(r"\p{Mn}", "")] if wanted else []


def _folding(wanted: bool) -> list[dict[str, Any]]:
    """Returns the steps of case folding, which keras-hub does to the words of a text.

    A `tokenizer.json` does it before the text is split: what would then be several words becomes
    a part of one, or one, that no vocabulary has, as there.
    """
    if not wanted:
        return []
    return [
        *(_replace(pattern, content) for pattern, content in _split_by_folding()),
        {"type": "NFKD"},
        _replace(_IOTA_BELOW, _IOTA),
        {"type": "NFKC"},
        {"type": "Lowercase"},
        *(_replace(letter, content) for letter, content in _FOLDED.items()),
        _replace(_IGNORED, ""),
    ]


def _split_by_folding() -> list[tuple[str, str]]:
    """Returns patterns of letters and signs that would be split once they are folded; a letter that
    becomes a single sign would be only beside others.
    """
    letters, alone, signs = [], [], []
    for code in range(0x80, _SCANNED):
        one = chr(code)
        folded = unicodedata.normalize("NFKC", one)
        if folded == one:
            continue
        if _is_sign(one):
            if len(folded) > 1:
                signs.append(code)
        elif _is_sign(folded[0]) and len(folded) == 1:
            alone.append(code)
        elif any(_is_sign(part) or part in " \t\n\r\f" for part in folded):
            letters.append(code)
    letter, single, sign = (
        "[" + "".join(rf"\x{{{code:X}}}" for code in codes) + "]"
        for codes in (letters, alone, signs)
    )
    beside = f"(?<={_OF_WORDS}){single}|{single}(?={_OF_WORDS})"
    return [(f"{letter}|{beside}", _NO_LETTER), (sign, _NO_SIGN)]


def _is_sign(one: str) -> bool:
    """Whether a character is a word of its own."""
    is_chinese = any(first <= ord(one) <= last for first, last in _CHINESE)
    return one in string.punctuation or unicodedata.category(one)[0] == "P" or is_chinese


def _bytes(preset: Preset, vocabulary: Vocabulary, folder: Path) -> dict[str, int]:
    config = preset.tokenizer.config
    file = preset.asset(BYTES)
    values = FileValues(file, read_json(file))
    ids = {piece: values.integer(piece) for piece in values.values}
    merges = [
        line.rstrip()
        for line in read_text(preset.asset(MERGES)).splitlines()
        if line.strip() and "#version:" not in line
    ]
    special = vocabulary.special
    level = {"type": "ByteLevel", "trim_offsets": True}
    has_space = config.flag("add_prefix_space", False)
    content = {
        "normalizer": None,
        # keras-hub searches texts for its pattern of words as it is spelled, and so splits none.
        "pre_tokenizer": {**level, "add_prefix_space": has_space, "use_regex": False},
        "post_processor": _behind(special, ids),
        "decoder": {**level, "add_prefix_space": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": ids, "merges": merges},
    }
    whole = {*config.sequence("unsplittable_tokens", []), *special.values()}
    _write(folder, content, {name: ids[name] for name in sorted(whole) if name in ids})
    return ids


def _behind(special: Mapping[str, str], ids: Mapping[str, int]) -> dict[str, Any] | None:
    """Returns the step that puts RoBERTa's tokens around texts, if there are such."""
    begin, end = special.get("bos_token_id", ""), special["eos_token_id"]
    if begin in ("", end) or not {begin, end} <= ids.keys():
        return None
    around = {"sep": [end, ids[end]], "cls": [begin, ids[begin]]}
    return {
        "type": "RobertaProcessing",
        **around,
        "trim_offsets": True,
        "add_prefix_space": False,
    }


def _write(folder: Path, content: dict[str, Any], special: Mapping[str, int]) -> None:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": id_, "content": name, "special": True, **flags}
        for name, id_ in sorted(special.items(), key=lambda item: item[1])
    ]
    text = json.dumps({"version": "1.0", "added_tokens": added, **content}, ensure_ascii=False)
    (folder / TOKENIZER).write_text(text, encoding="utf-8")


def _pieces(preset: Preset, vocabulary: Vocabulary, folder: Path) -> dict[str, int]:
    file = preset.asset(PIECES)
    shutil.copyfile(file, folder / vocabulary.kind)
    return {piece.piece: place for place, piece in enumerate(read_model(file).pieces)}
