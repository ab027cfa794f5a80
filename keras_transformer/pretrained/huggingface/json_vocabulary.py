"""The byte-level BPE and WordPiece vocabularies of Hugging Face, with the special ids that the
model was trained with.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

from keras_transformer.config import SpecialIds
from keras_transformer.distribution import install_command
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.languages import CONFIG, read_object
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.pretrained.sentencepiece_json import TOKENIZER
from keras_transformer.pretrained.values import read_text
from keras_transformer.text.tokenizer import Tokenizer

# What of Llama and its kin lies in place of a `tokenizer.json`.
SENTENCEPIECE = "tokenizer.model"
# Steps of a `tokenizer.json` that put special tokens around texts, and how many separators each
# puts between two.
PROCESSORS = {"BertProcessing": 1, "RobertaProcessing": 2}


def read_vocabulary(path: Path, fields: Fields, *, begins: bool) -> Tokenizer:
    """Reads `tokenizer.json`, or what older files have in its place.

    Args:
        path: The directory.
        fields: The model's config, whose ids count where names do not tell.
        begins: Whether a text begins with a token of its own, as BERT's does with [CLS].

    Raises:
        ImportRefusedError: There is none, or it is of another kind.
    """
    return vocabulary_of(_content(path), path / TOKENIZER, fields, begins=begins)


def vocabulary_of(content: bytes, origin: Path, fields: Fields, *, begins: bool) -> Tokenizer:
    """Returns the tokenizer of a `tokenizer.json`, as `read_vocabulary` does.

    Args:
        content: The file's.
        origin: The file, for messages.
        fields: The model's config, whose ids count where names do not tell.
        begins: Whether a text begins with a token of its own, as BERT's does with [CLS].

    Raises:
        ImportRefusedError: It is of another kind.
    """
    try:
        found = Tokenizer(content).special_ids
    except ValueError as error:
        found = _told_by_config(origin, fields, error)
    if not begins:
        eos = eos_of(fields)
        # A prompt begins where a text ended, or with the token that is named so.
        start = fields.token_id("decoder_start_token_id")
        start = fields.token_id("bos_token_id") if start is None else start
        found = dataclasses.replace(
            found,
            bos=None,
            eos=found.eos if eos is None else eos,
            decoder_start=found.decoder_start if start is None else start,
        )
    try:
        made = Tokenizer(content, found)
        # Decoders have rows beyond their tokens, of which the last can pad.
        last = 0 if begins else fields.vocab_size() - 1
        if made.vocab_size > last:
            return made
        return Tokenizer(content, dataclasses.replace(found, pad=last))
    except ValueError as error:
        raise ImportRefusedError(f"{origin} cannot be read: {error}") from error


def starts_prompts(path: Path) -> bool:
    """Returns whether a decoder's tokenizer puts a token before each text.

    `add_bos_token` says it, or the template of a `tokenizer.json`; of files without either only
    SentencePiece's do.
    """
    told = read_object(path / CONFIG).get("add_bos_token")
    if isinstance(told, bool):
        return told
    if not (path / TOKENIZER).is_file():
        return (path / SENTENCEPIECE).is_file()
    return starts_texts((path / TOKENIZER).read_bytes())


def starts_texts(content: bytes) -> bool:
    """Returns whether a `tokenizer.json` puts a token before each text."""
    try:
        return any(
            step["type"] in PROCESSORS
            or (step["type"] == "TemplateProcessing" and "SpecialToken" in step["single"][0])
            for step in steps_behind(content)
        )
    except (KeyError, TypeError, AttributeError, IndexError):
        # What their library cannot read adds nothing.
        return False


def steps_behind(content: bytes) -> list[Any]:
    """Returns what a `tokenizer.json` does to the tokens of a text, step by step.

    Raises:
        KeyError, TypeError, AttributeError: It is damaged.
    """
    found = json.loads(content).get("post_processor")
    if found is None:
        return []
    return list(found["processors"]) if found["type"] == "Sequence" else [found]


def _told_by_config(origin: Path, fields: Fields, error: ValueError) -> SpecialIds:
    eos = eos_of(fields)
    if eos is None:
        raise ImportRefusedError(f"{origin} cannot be read: {error}") from error
    pad = fields.token_id("pad_token_id")
    pad = fields.vocab_size() if pad in (None, eos) else pad
    return SpecialIds(pad=pad, unk=None, bos=None, eos=eos)


def eos_of(fields: Fields) -> int | None:
    """Returns the id that ends a text, the first where a config lists several."""
    several = fields.get("eos_token_id", None)
    if isinstance(several, list) and several:
        fields = Fields(fields.path, {"eos_token_id": several[0]})
    return fields.token_id("eos_token_id")


def _content(path: Path) -> bytes:
    refuse_pointer(path / TOKENIZER)
    if (path / TOKENIZER).is_file():
        return (path / TOKENIZER).read_bytes()
    if (path / "vocab.txt").is_file():
        return _wordpiece(path).to_str().encode()
    if (path / "merges.txt").is_file() and (path / "vocab.json").is_file():
        return _byte_level(path).to_str().encode()
    raise ImportRefusedError(
        f"{path} has no tokenizer: {TOKENIZER}, vocab.txt, vocab.json and merges.txt or, of a "
        "Llama, tokenizer.model must lie beside the weights."
    )


def _tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError(
            f"the vocabulary needs the package tokenizers: {install_command('tokenizers')}"
        ) from error
    return tokenizers


def _wordpiece(path: Path) -> Any:
    """Makes the tokenizer of a BERT's or MPNet's `vocab.txt`, which have other special tokens."""
    library, config = _tokenizers(), read_object(path / CONFIG)
    pieces = read_text(path / "vocab.txt").split("\n")
    named: Any = {}
    if "[CLS]" not in pieces:
        named = dict(sep_token="</s>", cls_token="<s>", pad_token="<pad>", mask_token="<mask>")
    return library.BertWordPieceTokenizer(
        str(path / "vocab.txt"),
        **named,
        lowercase=bool(config.get("do_lower_case", True)),
        strip_accents=config.get("strip_accents"),
        handle_chinese_chars=bool(config.get("tokenize_chinese_chars", True)),
    )


def _byte_level(path: Path) -> Any:
    """Makes the tokenizer of a GPT-2's or RoBERTa's files."""
    library, config = _tokenizers(), read_object(path / CONFIG)
    made = library.ByteLevelBPETokenizer(
        str(path / "vocab.json"),
        str(path / "merges.txt"),
        add_prefix_space=bool(config.get("add_prefix_space", False)),
    )
    pieces = read_object(path / "vocab.json")
    special = ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>")
    made.add_special_tokens([name for name in special if name in pieces])
    return made
