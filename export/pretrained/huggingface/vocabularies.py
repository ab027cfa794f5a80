"""Writes SentencePiece vocabularies for Hugging Face's tokenizers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.export.pretrained.tags import check_tags
from keras_transformer.pretrained.huggingface.json_vocabulary import SENTENCEPIECE
from keras_transformer.pretrained.huggingface.languages import CONFIG
from keras_transformer.pretrained.sentencepiece_models import without_padding
from keras_transformer.text.subwords.json_special_ids import SPECIAL_IDS
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.whole_files import write_bytes, write_text


def check_shared(outgoing: Outgoing) -> None:
    """Raises a ValueError if a `MarianTokenizer` cannot have the vocabulary.

    An id must be the same piece on both sides, and the only marks are a target's language before
    the source.
    """
    outgoing.check_sentencepiece("huggingface")
    source, target = _pieces(outgoing.source), _pieces(outgoing.target)
    for token, (one, other) in enumerate(zip(source, target, strict=True)):
        if one != other:
            raise ValueError(
                f"the id {token} is {one!r} in the source's vocabulary and {other!r} in the "
                "target's: Hugging Face's tokenizer needs one vocabulary for both."
            )
    check_tags(outgoing.config.marks, outgoing.source)


def save_marian_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    """Writes the files of a `MarianTokenizer`, which runs SentencePiece itself."""
    write_bytes(directory / "source.spm", outgoing.source.model)
    write_bytes(directory / "target.spm", outgoing.target.model)
    pieces = _pieces(outgoing.target)
    write_json(directory / "vocab.json", {piece: token for token, piece in enumerate(pieces)})
    special = outgoing.config.special_ids
    described: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "unk_token": pieces[special.unk],
        "eos_token": pieces[special.eos],
        "pad_token": pieces[special.pad],
        "source_lang": None,
        "target_lang": None,
        "added_tokens_decoder": described_tokens(outgoing.source.subwords.symbols, special=False),
    }
    write_json(directory / CONFIG, described)


def described_tokens(ids: Mapping[str, int], *, special: bool) -> dict[str, dict[str, Any]]:
    """Describes the tokens at which their tokenizers split texts first.

    Args:
        ids: The id of each.
        special: Whether they are left out of decoded texts.
    """
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    return {
        str(token): {"content": name, "special": special, **flags} for name, token in ids.items()
    }


def check_json_tokenizer(outgoing: Outgoing, name: str) -> None:
    """Raises a ValueError if the vocabulary is not that of a `tokenizer.json`.

    Args:
        outgoing: The model.
        name: The architecture that needs it.
    """
    if outgoing.source.kind != "tokenizer_json":
        raise ValueError(
            f"{name} needs the vocabulary of a tokenizer.json, got one that is a "
            f"{outgoing.source.kind}: export as ctranslate2, onnx or saved_model."
        )


def save_json_tokenizer(
    tokenizer: Tokenizer,
    directory: Path,
    inputs: Sequence[str] = (),
    padding_side: str | None = None,
    longest: int | None = None,
    **further: int | None,
) -> None:
    """Writes a `tokenizer.json` and the files beside it.

    Args:
        tokenizer: The tokenizer.
        directory: Where to.
        inputs: Names of what the model takes of a tokenized text; theirs if there are none.
        padding_side: "left" or "right"; theirs if None.
        longest: Most tokens of a row, special ones included; None for no limit.
        **further: Ids by the names of what they are for, beside padding, end, unknown and mask.
    """
    write_bytes(directory / "tokenizer.json", _without_special_ids(tokenizer.model))
    special = tokenizer.special_ids
    roles = {"pad": special.pad, "eos": special.eos, "unk": special.unk, "mask": special.mask}
    named = {**roles, **further}
    known = tokenizer.subwords.size
    described: dict[str, Any] = {
        f"{name}_token": tokenizer.subwords.piece(token)
        for name, token in named.items()
        if token is not None and token < known
    }
    if inputs:
        described["model_input_names"] = list(inputs)
    if padding_side:
        described["padding_side"] = padding_side
    if longest is not None:
        described["model_max_length"] = longest
    write_json(directory / CONFIG, {"tokenizer_class": "PreTrainedTokenizerFast", **described})


def with_step(tokenizer: Tokenizer, step: dict[str, Any] | None) -> Tokenizer:
    """Returns a `tokenizer.json` that does a step behind the tokens of a text; None for none."""
    values = {**json.loads(tokenizer.model), "post_processor": step}
    return Tokenizer(json.dumps(values, ensure_ascii=False).encode(), tokenizer.special_ids)


def save_llama_tokenizer(
    tokenizer: Tokenizer,
    directory: Path,
    start: int,
    kind: str,
    *,
    starts_texts: bool,
    ends_texts: bool = False,
) -> None:
    """Writes SentencePiece's model, without a padding at its end, for a tokenizer of theirs.

    Args:
        tokenizer: The tokenizer.
        directory: Where to.
        start: The id that a prompt begins with.
        kind: The tokenizer's class: "LlamaTokenizer" or "GemmaTokenizer".
        starts_texts: Whether a text begins with it.
        ends_texts: Whether a text ends with the end token; a prompt has no end.
    """
    write_bytes(directory / SENTENCEPIECE, without_padding(tokenizer))
    special, piece = tokenizer.special_ids, tokenizer.subwords.piece
    described: dict[str, Any] = {
        "tokenizer_class": kind,
        "bos_token": piece(start),
        "eos_token": piece(special.eos),
        "unk_token": None if special.unk is None else piece(special.unk),
        "add_bos_token": starts_texts,
        "add_eos_token": ends_texts,
    }
    write_json(directory / CONFIG, described)


def _without_special_ids(content: bytes) -> bytes:
    """Returns a `tokenizer.json` without our entry, which no other program knows."""
    values = json.loads(content)
    if values.pop(SPECIAL_IDS, None) is None:
        return content
    return json.dumps(values, ensure_ascii=False).encode()


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Writes a JSON file as Hugging Face does."""
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def _pieces(tokenizer: Any) -> list[str]:
    return tokenizer.pieces(range(tokenizer.vocab_size))
