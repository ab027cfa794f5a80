"""The SentencePiece vocabularies of Hugging Face's translators, with the ids that these give."""

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keras_transformer.config import SpecialIds
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.generation import (
    FORCED_FIRST,
    read_generation,
    read_search,
)
from keras_transformer.pretrained.huggingface.json_vocabulary import read_vocabulary
from keras_transformer.pretrained.huggingface.languages import (
    CONFIG,
    added_tokens,
    read_object,
    read_values,
    tokens_with_ids,
)
from keras_transformer.pretrained.sentencepiece_json import Pieces, read_pieces
from keras_transformer.pretrained.sentencepiece_models import read_model, tokenizer_of
from keras_transformer.pretrained.values import FileValues, read_json
from keras_transformer.text.subwords.interface import MOST_IDS
from keras_transformer.text.tokenizer import Tokenizer

_PEGASUS_OFFSET = 103
# What their tokenizer takes if nothing names another.
_MBART_SOURCE = "en_XX"
FAIRSEQ_MODEL = "sentencepiece.bpe.model"
# What fairseq puts before the pieces of a SentencePiece model.
FAIRSEQ = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}


@dataclass(frozen=True)
class Vocabularies:
    """The vocabularies of a translator.

    Attributes:
        tokenizers: The tokenizers of source and target; the same object if there is one vocabulary.
        special_ids: The model's.
        marks: The ids around texts.
        search: Options that the model was saved with.
    """

    tokenizers: tuple[Tokenizer, Tokenizer]
    special_ids: SpecialIds
    marks: SentenceMarks = SentenceMarks()
    search: dict[str, Any] = field(default_factory=dict)


def marian_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads `source.spm`, `target.spm` and `vocab.json`, which gives both their ids; a target has
    ids of its own where there is a `target_vocab.json`.
    """
    ids = read_ids(path / "vocab.json")
    others = path / "target_vocab.json"
    symbols: dict[str, int] = {}
    if not others.is_file():
        tags = (name for name in ids if name.startswith(">>"))
        symbols = _symbols(path, fields, {*FAIRSEQ, *tags})
        ids |= symbols
    source, target = (
        tokenizer_of(
            read_model(path / f"{side}.spm"),
            ids=known,
            bos=_bos(fields, known),
            vocab_size=fields.vocab_size(),
            symbols=tuple(symbols),
            are_apart=True,
        )
        for side, known in (
            ("source", ids),
            ("target", read_ids(others) if others.is_file() else ids),
        )
    )
    found = vocabularies_of(fields, source, source if source.model == target.model else target)
    return dataclasses.replace(found, marks=SentenceMarks.of_tags(ids))


def t5_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads `spiece.model`, whose ids go on with sentinels; the vocabulary may have more."""
    if has_marian_files(path):
        return marian_vocabularies(path, fields)
    model, ids, _ = read_pieces(path, "spiece.model")
    size = fields.vocab_size()
    if ids is None:
        ids = {piece.piece: place for place, piece in enumerate(model.pieces)}
        # The last sentinel is the first to be used. mT5 says that it has none, UMT5 300.
        named = read_values(path / CONFIG).integer("extra_ids", 100)
        sentinels = min(named, max(0, size - len(ids)))
        for number in range(sentinels):
            ids.setdefault(f"<extra_id_{number}>", len(model.pieces) + sentinels - 1 - number)
    pieces = {piece.piece for piece in model.pieces}
    ids |= _symbols(path, fields, pieces)
    symbols = [name for name in ids if name not in pieces or name.startswith("<extra_id_")]
    made = tokenizer_of(model, ids=ids, vocab_size=size, symbols=symbols, are_apart=True)
    return dataclasses.replace(vocabularies_of(fields, made, made), marks=_tags(made, ids))


def _tags(made: Tokenizer, ids: Mapping[str, int]) -> SentenceMarks:
    """Returns the marks of MADLAD-400 (Kudugunta et al. 2023), whose texts begin with tags of
    languages: what a text with nothing else is split to.
    """
    marks = SentenceMarks.of_tags({name: one for name, one in ids.items() if name[:2] == "<2"})
    if not marks.languages:
        return marks
    rows = made.encode([f"<2{code}>" for code in marks.languages])
    begins = {tuple(row[:-1]) for row in rows}
    if len(begins) > 1 or [row[-1:] for row in rows] != [[one] for one in marks.languages.values()]:
        return SentenceMarks()  # Texts do not hold them.
    return dataclasses.replace(marks, source=begins.pop())


def _symbols(path: Path, fields: Fields, known: Collection[str]) -> dict[str, int]:
    """Returns the tokens that users added to a vocabulary, such as "<sep>", with their ids.

    Raises:
        ImportRefusedError: The model has no weights for one of them.
    """
    added = {name: id_ for name, id_ in tokens_with_ids(path).items() if name not in known}
    for name, token in added.items():
        if token >= fields.vocab_size():
            raise ImportRefusedError(
                f"{path} has the token {name!r} with the id {token}, and {fields.path} has "
                f"vocab_size: {fields['vocab_size']}: resize the model's embeddings for it."
            )
    return added


def pegasus_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads `spiece.model`, whose ids of text begin after two masks and 101 unused ids."""
    if has_marian_files(path):
        return marian_vocabularies(path, fields)
    model, ids, _ = read_pieces(path, "spiece.model")
    if ids is None:
        ids = {"<pad>": 0, "</s>": 1, "<mask_1>": 2, "<mask_2>": 3}
        ids |= {f"<unk_{number}>": number + 2 for number in range(2, _PEGASUS_OFFSET)}
        for place, piece in enumerate(model.pieces):
            ids.setdefault(piece.piece, place + _PEGASUS_OFFSET)
    made = tokenizer_of(model, ids=ids, vocab_size=fields.vocab_size())
    return vocabularies_of(fields, made, made)


def _bos(fields: Fields, ids: dict[str, int]) -> str | None:
    """Returns the piece of bos; old configs name that of eos or the padding."""
    others = (fields.get("eos_token_id", None), fields.get("pad_token_id", None))
    token = fields.get("bos_token_id", None)
    return next((name for name, one in ids.items() if one == token and token not in others), None)


def has_marian_files(path: Path) -> bool:
    """Whether a directory has the files of a `MarianTokenizer`, which any translator may have."""
    return (path / "source.spm").is_file() and (path / "vocab.json").is_file()


def fairseq_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads `sentencepiece.bpe.model` of mBART-50 and NLLB: four special ids come first, then its
    pieces, then the languages.
    """
    read = read_pieces(path, FAIRSEQ_MODEL)
    ids = fairseq_ids(read)
    added = added_tokens(path, first_id=len(ids))
    return _of_languages(path, fields, read.model, ids, added)


def fairseq_ids(read: Pieces) -> dict[str, int]:
    """Returns the ids of the four special pieces and of a SentencePiece model's own."""
    ids = dict(FAIRSEQ)
    if read.ids is not None:
        return ids | {piece: id_ for piece, id_ in read.ids.items() if piece not in read.added}
    for piece in read.model.pieces:
        if piece.piece not in FAIRSEQ:
            # Three pieces of the model's own come first there, four here.
            ids[piece.piece] = len(ids)
    return ids


def mbart_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads the vocabulary of mBART-50, or that of mBART (2020).

    The latter has its languages at the ends of texts, and its decoder starts with the target's.
    """
    found = fairseq_vocabularies(path, fields)
    start, codes = found.special_ids.decoder_start, found.marks.languages
    name = read_values(path / CONFIG).text("tokenizer_class", "")
    is_of_2020 = name.startswith("MBartTokenizer") or (not name and start in codes.values())
    if not is_of_2020:
        return found
    target = next((code for code, token in codes.items() if token == start), None)
    marks = dataclasses.replace(
        found.marks,
        languages_in="ends",
        source_language=found.marks.source_language or _MBART_SOURCE,
        target_language=target or found.marks.target_language,
    )
    if marks.target_language is not None:
        start = codes[marks.target_language]
    special_ids = dataclasses.replace(found.special_ids, decoder_start=start)
    return dataclasses.replace(found, marks=marks, special_ids=special_ids)


def m2m100_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads `sentencepiece.bpe.model` and `vocab.json`, behind whose ids the languages have theirs.

    NLLB is of the same architecture, and its tokenizer, without `vocab.json`, is fairseq's.
    """
    if not (path / "vocab.json").is_file():
        return fairseq_vocabularies(path, fields)
    ids = read_ids(path / "vocab.json")
    added = added_tokens(path, first_id=len(ids))
    return _of_languages(path, fields, read_model(path / FAIRSEQ_MODEL), ids, added)


def bart_vocabularies(path: Path, fields: Fields) -> Vocabularies:
    """Reads BART's byte-level BPE; sources and targets begin with its token of the beginning."""
    found = read_vocabulary(path, fields, begins=True)
    ids = found.special_ids
    if ids.bos is None:
        raise ImportRefusedError(f"{path} has no token that begins a text.")
    # It is a mark, which is written; a bos would never be.
    made = Tokenizer(found.model, dataclasses.replace(ids, bos=None, decoder_start=ids.eos))
    marks = SentenceMarks(source=(ids.bos,), target=(ids.bos,))
    return _with_marks(vocabularies_of(fields, made, made), marks)


def _of_languages(
    path: Path, fields: Fields, model: Any, ids: dict[str, int], added: dict[str, int]
) -> Vocabularies:
    languages = {name: token for name, token in added.items() if name not in {*ids, "<mask>"}}
    if not languages:
        raise ImportRefusedError(f"{path} lists no token that stands for a language.")
    made = tokenizer_of(
        model,
        ids={**ids, **languages},
        vocab_size=fields.vocab_size(),
        further=("<s>", *languages),
    )
    config = read_object(path / CONFIG)
    codes = {
        name.strip("_") if name.startswith("__") else name: languages[name] for name in languages
    }
    defaults = {
        ours: config[theirs]
        for ours, theirs in (("source_language", "src_lang"), ("target_language", "tgt_lang"))
        if config.get(theirs) in list(codes)
    }
    # A model into one language says so where it says how to search.
    forced = read_generation(path, fields).get(FORCED_FIRST, None)
    into = [code for code, token in codes.items() if token == forced]
    if into:
        defaults["target_language"] = into[0]
    marks = SentenceMarks(languages=codes, **defaults)
    return _with_marks(vocabularies_of(fields, made, made), marks)


def read_ids(path: Path) -> dict[str, int]:
    """Reads a vocabulary in JSON: piece → id."""
    values = FileValues(path, read_json(path))
    return {piece: values.integer(piece, most=MOST_IDS) for piece in values.values}


def vocabularies_of(fields: Fields, source: Tokenizer, target: Tokenizer) -> Vocabularies:
    """Returns the vocabularies of two tokenizers, with the ids and the search of a model's files.

    Raises:
        ImportRefusedError: The config names other special ids than the vocabulary has.
    """
    special_ids = target.special_ids
    for name, token in (("pad_token_id", special_ids.pad), ("eos_token_id", special_ids.eos)):
        if fields.get(name, token) != token:
            raise ImportRefusedError(
                f"{fields.path} has {name}: {fields[name]!r}, but the vocabulary gives it the id "
                f"{token}: they belong to different models."
            )
    start = fields.integer("decoder_start_token_id", special_ids.pad)
    known = dataclasses.replace(special_ids, decoder_start=start)
    search = read_search(fields.path.parent, fields, known)
    return Vocabularies((source, target), known, search=search)


def _with_marks(found: Vocabularies, marks: SentenceMarks) -> Vocabularies:
    """Returns vocabularies with marks; a token that is forced because it is one is no option."""
    forced = [pair for pair in found.search.get("forced_tokens", ()) if pair[1] not in marks.ids]
    others = {name: value for name, value in found.search.items() if name != "forced_tokens"}
    search = {**others, "forced_tokens": forced} if forced else others
    return dataclasses.replace(found, marks=marks, search=search)
