"""Makes tiny random translators with Hugging Face transformers, in its files, and writes beside
them what they compute; runs what makes Marian's. Needs PyTorch, transformers and pymarian, which
`make oracles` installs apart.

`reference.json` of a folder holds texts, their ids, log-probabilities of given translations in
nats, and what greedy search and four beams give.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from tools.oracles.native_marian import NATIVE, make_native
from tools.oracles.sizes import (
    BEAMS,
    HEADS,
    HIDDEN,
    HOSTILE,
    LAYERS,
    NEW_TOKENS,
    PIECES,
    SCORED,
    TRAINING,
    WIDTH,
)
from tools.oracles.texts import hostile, pairs
from tools.oracles.vocabularies import BART_NAMES, BART_SPECIAL, byte_level, train_pieces

SIZES = {
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": HIDDEN,
    "decoder_ffn_dim": HIDDEN,
    "max_position_embeddings": 64,
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
    ordered = ["</s>", "<unk>", *sorted(pieces - {"<s>", "</s>", "<unk>"}), "<pad>"]
    ids = {piece: place for place, piece in enumerate(ordered)}
    (path / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    pad = len(ids) - 1
    config = transformers.MarianConfig(
        vocab_size=len(ids),
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=None,
        activation_function="swish",
        scale_embedding=True,
        **SIZES,
    )
    tokenizer = transformers.MarianTokenizer(
        str(path / "source.spm"), str(path / "target.spm"), str(path / "vocab.json")
    )
    return transformers.MarianMTModel(config), tokenizer, None


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


# A folder's name: what makes its files.
MAKERS: dict[str, Callable[[Path], Made]] = {
    "marian_huggingface": make_marian,
    "t5": make_t5,
    "t5_1_1": lambda path: make_t5(path, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "mt5": lambda path: make_t5(path, kind="MT5", feed_forward_proj="gated-gelu"),
    "umt5": lambda path: make_t5(path, kind="UMT5", feed_forward_proj="gated-gelu"),
    "pegasus": make_pegasus,
    "bart": make_bart,
    "mbart": lambda path: make_languages(path, "mbart"),
    "mbart50": lambda path: make_languages(path, "mbart50"),
    "m2m100": lambda path: make_languages(path, "m2m100"),
    "nllb": lambda path: make_languages(path, "nllb"),
}


def randomize(model: Any) -> None:
    """Draws every weight anew, so that biases and norms count, too."""
    generator = torch.Generator().manual_seed(3)
    for name, weight in model.named_parameters():
        if "embed_positions" in name and not weight.requires_grad:
            continue
        is_scale = "norm" in name.lower() and name.endswith("weight")
        weight.data = float(is_scale) + 0.25 * torch.randn(weight.shape, generator=generator)
    if hasattr(model, "final_logits_bias"):
        shape = model.final_logits_bias.shape
        model.final_logits_bias = 0.3 * torch.randn(shape, generator=generator)


def hostile_ids(tokenizer: Any, path: Path) -> list[list[int]]:
    """Returns ids without special ones: those of SentencePiece's pieces in the model's vocabulary.

    Most of their tokenizers imitate SentencePiece, and differ from it on unusual white space.
    """
    if isinstance(tokenizer, transformers.MarianTokenizer):
        return [tokenizer(text)["input_ids"][:-1] for text in hostile(HOSTILE)]
    if not list(path.glob("*.model")):
        return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in hostile(HOSTILE)]
    [file] = path.glob("*.model")
    pieces = sentencepiece.SentencePieceProcessor(str(file))
    rows = pieces.encode(hostile(HOSTILE), out_type=str)
    return [tokenizer.convert_tokens_to_ids(row) for row in rows]


def until_end(ids: list[int], model: Any) -> list[int]:
    """Returns what a decoder writes of a target: mBART's language behind eos is its start."""
    return ids[: ids.index(model.config.eos_token_id) + 1]


def references(model: Any, tokenizer: Any, first: int | None, path: Path) -> dict[str, Any]:
    """Returns what a model and its tokenizer make of texts."""
    sources, targets = pairs(SCORED, start=TRAINING)
    source_ids = [tokenizer(text)["input_ids"] for text in sources]
    target_ids = [until_end(tokenizer(text_target=text)["input_ids"], model) for text in targets]
    start, found = model.config.decoder_start_token_id, []
    # What ours never writes.
    special = {model.config.pad_token_id, start} - {model.config.eos_token_id}
    options: dict[str, Any] = {"suppress_tokens": sorted(special)}
    if first is not None:
        options["forced_bos_token_id"] = first
    for source, target in zip(source_ids, target_ids, strict=False):
        given = torch.tensor([[start, *target[:-1]]])
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([source]), decoder_input_ids=given).logits
        chosen = logits.log_softmax(-1)[0].gather(1, torch.tensor(target)[:, None])
        found.append(chosen.sum().item())
    searched = {
        f"beam_{beams}": [
            model.generate(
                torch.tensor([source]),
                num_beams=beams,
                do_sample=False,
                max_new_tokens=NEW_TOKENS,
                length_penalty=0.0,
                early_stopping=False,
                **options,
            )[0].tolist()[1:]
            for source in source_ids
        ]
        for beams in BEAMS
    }
    return {
        "sources": sources,
        "targets": targets,
        "hostile": hostile(HOSTILE),
        "hostile_ids": hostile_ids(tokenizer, path),
        "source_ids": source_ids,
        "target_ids": target_ids,
        "log_probabilities": found,
        # A forced end takes the last place.
        "max_length": NEW_TOKENS - (model.generation_config.forced_eos_token_id is not None),
        **searched,
    }


def main() -> None:
    """Writes every folder into the one that the command line names."""
    # Tiny models gain nothing from more.
    torch.set_num_threads(1)
    root = Path(sys.argv[1])
    only = sys.argv[2:] or [*MAKERS, *NATIVE]
    for name in only:
        path = root / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        if name in NATIVE:
            make_native(path, searches=name == "marian", **NATIVE[name])
        else:
            torch.manual_seed(0)
            model, tokenizer, first = MAKERS[name](path)
            randomize(model)
            model.eval()
            model.save_pretrained(path)
            found = references(model, tokenizer, first, path)
            (path / "reference.json").write_text(json.dumps(found), encoding="utf-8")
        size = sum(os.path.getsize(file) for file in path.iterdir())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()
