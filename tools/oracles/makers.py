"""Makes tiny translators of Hugging Face transformers with their tokenizers, and writes the files
of these; one function for each kind.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers

from tools.oracles.sizes import (
    BYTE_FALLBACK,
    HEADS,
    HIDDEN,
    LAYERS,
    PIECES,
    POSITIONS,
    TRAINING,
    WIDTH,
)
from tools.oracles.texts import pairs
from tools.oracles.vocabularies import (
    BART_NAMES,
    BART_SPECIAL,
    GEMMA_PIECES,
    LLAMA_PIECES,
    byte_level,
    moses_bpe,
    train_pieces,
)

SIZES = {
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": HIDDEN,
    "decoder_ffn_dim": HIDDEN,
    "max_position_embeddings": POSITIONS,
}
T5_SIZES = {"d_model": WIDTH, "d_kv": 8, "d_ff": HIDDEN, "num_layers": LAYERS, "num_heads": HEADS}
Made = tuple[Any, Any, int | None]


def make_marian(path: Path) -> Made:
    """Makes a MarianMTModel with two SentencePiece models and one vocabulary of another order."""
    pieces: set[str] = set()
    for side, texts in zip(("source", "target"), pairs(TRAINING), strict=True):
        model = train_pieces(
            path / f"{side}.spm", texts, PIECES, normalization_rule_name="nmt_nfkc"
        )
        pieces |= {model.id_to_piece(place) for place in range(model.get_piece_size())}
    config = _marian_config(_write_ids(path / "vocab.json", pieces))
    tokenizer = transformers.MarianTokenizer(
        str(path / "source.spm"), str(path / "target.spm"), str(path / "vocab.json")
    )
    return transformers.MarianMTModel(config), tokenizer, None


def make_marian_apart(path: Path) -> Made:
    """Makes a MarianMTModel with a vocabulary for each side, of one size as its converter asks."""
    names = {"source": "vocab.json", "target": "target_vocab.json"}
    for (side, name), texts in zip(names.items(), pairs(TRAINING), strict=True):
        model = train_pieces(path / f"{side}.spm", texts, PIECES, hard_vocab_limit=True)
        pieces = {model.id_to_piece(place) for place in range(model.get_piece_size())}
        size = _write_ids(path / name, pieces)
    config = _marian_config(size, decoder_vocab_size=size, share_encoder_decoder_embeddings=False)
    files = [str(path / name) for name in ("source.spm", "target.spm", *names.values())]
    tokenizer = transformers.MarianTokenizer(
        *files[:3], target_vocab_file=files[3], separate_vocabs=True
    )
    return transformers.MarianMTModel(config), tokenizer, None


def _write_ids(path: Path, pieces: set[str]) -> int:
    """Writes a vocabulary of Marian's kind, the padding last, and returns its size."""
    ordered = ["</s>", "<unk>", *sorted(pieces - {"<s>", "</s>", "<unk>"}), "<pad>"]
    ids = {piece: place for place, piece in enumerate(ordered)}
    path.write_text(json.dumps(ids), encoding="utf-8")
    return len(ids)


def _marian_config(size: int, **fields: Any) -> Any:
    return transformers.MarianConfig(
        vocab_size=size,
        pad_token_id=size - 1,
        eos_token_id=0,
        decoder_start_token_id=size - 1,
        forced_eos_token_id=None,
        activation_function="swish",
        scale_embedding=True,
        **SIZES,
        **fields,
    )


def make_t5(path: Path, **fields: Any) -> Made:
    """Makes a T5 whose vocabulary has more ids than pieces."""
    texts = [*pairs(TRAINING)[0], *pairs(TRAINING)[1]]
    special = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    train_pieces(path / "spiece.model", texts, PIECES, **special)
    tokenizer = transformers.T5Tokenizer.from_pretrained(str(path), extra_ids=100)
    size = len(tokenizer) + 12
    kind = fields.pop("kind", "T5")
    config_class = getattr(transformers, f"{kind}Config")
    config = config_class(vocab_size=size, decoder_start_token_id=0, **T5_SIZES, **fields)
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
    return model, tokenizer, None


def make_pegasus(path: Path) -> Made:
    """Makes a Pegasus."""
    texts = [*pairs(TRAINING)[0], *pairs(TRAINING)[1]]
    special = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    model = train_pieces(path / "spiece.model", texts, PIECES, **special)
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = transformers.PegasusConfig(
        vocab_size=model.get_piece_size() + 103,
        activation_function="relu",
        scale_embedding=True,
        forced_eos_token_id=None,
        **ids,
        **SIZES,
    )
    tokenizer = transformers.PegasusTokenizer.from_pretrained(str(path))
    return transformers.PegasusForConditionalGeneration(config), tokenizer, None


def make_bart(path: Path) -> Made:
    """Makes a BART that forces the first and the last token, as those for summaries do."""
    texts = [*pairs(TRAINING)[0], *pairs(TRAINING)[1]]
    tokenizer = byte_level(texts, 2 * PIECES, BART_SPECIAL, **BART_NAMES)
    tokenizer.save_pretrained(path)
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        decoder_start_token_id=2,
        **ids,
        **SIZES,
    )
    model = transformers.BartForConditionalGeneration(config)
    model.generation_config.forced_bos_token_id = 0
    model.generation_config.forced_eos_token_id = 2
    return model, tokenizer, None


class SplitWords:
    """FSMT's tokenizer as ours has it: texts are pieces with spaces between them."""

    def __init__(self, path: Path) -> None:
        moses_bpe(path, pairs(TRAINING), PIECES)
        self._bpe = transformers.FSMTTokenizer(
            langs=["en", "es"],
            src_vocab_file=str(path / "vocab-src.json"),
            tgt_vocab_file=str(path / "vocab-tgt.json"),
            merges_file=str(path / "merges.txt"),
        )
        self._bpe.save_pretrained(path)
        self._target = json.loads((path / "vocab-tgt.json").read_text(encoding="utf-8"))

    def split(self, text: str) -> str:
        """Returns a text's pieces."""
        return " ".join(self._bpe.tokenize(text))

    def __call__(
        self, text: str = "", text_target: str | None = None, add_special_tokens: bool = True
    ) -> dict[str, list[int]]:
        """Returns the ids of pieces, and eos."""
        if text_target is None:
            ids = self._bpe.convert_tokens_to_ids(text.split())
        else:
            ids = [self._target.get(piece, 3) for piece in text_target.split()]
        return {"input_ids": [*ids, 2] if add_special_tokens else ids}


def make_fsmt(path: Path) -> Made:
    """Makes an FSMT, whose sides have a vocabulary each."""
    tokenizer = SplitWords(path)
    source, target = (
        json.loads((path / f"vocab-{side}.json").read_text(encoding="utf-8"))
        for side in ("src", "tgt")
    )
    config = transformers.FSMTConfig(
        langs=["en", "es"], src_vocab_size=len(source), tgt_vocab_size=len(target), **SIZES
    )
    model = transformers.FSMTForConditionalGeneration(config)
    for side in (model.model.encoder, model.model.decoder):
        # They are computed, and not in its files.
        side.embed_positions.weight.requires_grad_(False)
    return model, tokenizer, None


def make_languages(path: Path, kind: str) -> Made:
    """Makes an mBART, mBART-50, M2M100 or NLLB, which mark languages."""
    texts = [*pairs(TRAINING)[0], *pairs(TRAINING)[1]]
    model_type = "unigram" if kind.startswith("mbart") else "bpe"
    model = train_pieces(path / "sentencepiece.bpe.model", texts, PIECES, model_type=model_type)
    ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    for place in range(model.get_piece_size()):
        ids.setdefault(model.id_to_piece(place), len(ids))
    tokenizer: Any
    if kind == "m2m100":
        (path / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
        files = str(path / "vocab.json"), str(path / "sentencepiece.bpe.model")
        tokenizer = transformers.M2M100Tokenizer(*files, src_lang="en", tgt_lang="es")
        size = len(ids) + 108
    elif kind == "nllb":
        codes = ["deu_Latn", "eng_Latn", "fra_Latn", "spa_Latn"]
        tokenizer = transformers.NllbTokenizer.from_pretrained(
            str(path), src_lang="eng_Latn", tgt_lang="spa_Latn", extra_special_tokens=codes
        )
        size = len(tokenizer) + 4
    else:
        name = "MBart50" if kind == "mbart50" else "MBart"
        tokenizer = getattr(transformers, f"{name}Tokenizer").from_pretrained(
            str(path), src_lang="en_XX", tgt_lang="es_XX"
        )
        size = len(tokenizer)
    name = "MBart" if kind.startswith("mbart") else "M2M100"
    target = tokenizer(text_target="a")["input_ids"]
    # The code of the target's language stands first, or behind the end and starts the decoder.
    starts = kind == "mbart"
    config = getattr(transformers, f"{name}Config")(
        vocab_size=size,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=1,
        eos_token_id=2,
        bos_token_id=0,
        decoder_start_token_id=target[-1] if starts else 2,
        forced_eos_token_id=None,
        **SIZES,
    )
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    tokenizer.save_pretrained(path)
    return model, tokenizer, None if starts else target[0]


class BegunTexts:
    """T5Gemma's tokenizer as ours has it: sources begin with a token, translations end with one."""

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces

    def __call__(
        self, text: str = "", text_target: str | None = None, add_special_tokens: bool = True
    ) -> dict[str, list[int]]:
        """Returns the ids of a source or of a translation."""
        if text_target is None:
            return {"input_ids": self._pieces.encode(text, add_bos=add_special_tokens)}
        return {"input_ids": self._pieces.encode(text_target, add_eos=True)}

    def convert_tokens_to_ids(self, pieces: list[str]) -> list[int]:
        """Returns the ids of pieces."""
        return [self._pieces.piece_to_id(piece) for piece in pieces]


def make_t5gemma(path: Path) -> Made:
    """Makes a T5Gemma whose stacks differ by number and windows of blocks."""
    texts = [*pairs(TRAINING)[0], *pairs(TRAINING)[1]]
    options = {**LLAMA_PIECES, **GEMMA_PIECES}
    pieces = train_pieces(path / "tokenizer.model", texts, BYTE_FALLBACK, **options)
    both = {
        "vocab_size": pieces.get_piece_size(),
        "hidden_size": WIDTH,
        "intermediate_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 1,
        "head_dim": 12,
        "query_pre_attn_scalar": 9,
        "sliding_window": 3,
        "attn_logit_softcapping": 1.0,
        "final_logit_softcapping": 5.0,
    }
    config = transformers.T5GemmaConfig(
        encoder={**both, "num_hidden_layers": LAYERS},
        decoder={**both, "num_hidden_layers": LAYERS + 1},
        decoder_start_token_id=pieces.bos_id(),
        # Others may leave out the caps of scores.
        attn_implementation="eager",
    )
    return transformers.T5GemmaForConditionalGeneration(config), BegunTexts(pieces), None


# A folder's name: what makes its files.
MAKERS: dict[str, Callable[[Path], Made]] = {
    "marian_huggingface": make_marian,
    "marian_apart": make_marian_apart,
    "t5": make_t5,
    "t5_1_1": lambda path: make_t5(path, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "mt5": lambda path: make_t5(path, kind="MT5", feed_forward_proj="gated-gelu"),
    "umt5": lambda path: make_t5(path, kind="UMT5", feed_forward_proj="gated-gelu"),
    "longt5": lambda path: make_t5(path, kind="LongT5", local_radius=3),
    "t5gemma": make_t5gemma,
    "pegasus": make_pegasus,
    "bart": make_bart,
    "fsmt": make_fsmt,
    "mbart": lambda path: make_languages(path, "mbart"),
    "mbart50": lambda path: make_languages(path, "mbart50"),
    "m2m100": lambda path: make_languages(path, "m2m100"),
    "nllb": lambda path: make_languages(path, "nllb"),
}
