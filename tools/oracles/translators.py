"""Makes tiny random translators with Hugging Face transformers and with Marian, in their files, and
writes beside them what they compute. Needs PyTorch, transformers and pymarian, which `make oracles`
installs apart.

`reference.json` of a folder holds texts, their ids, log-probabilities of given translations in
nats, and what greedy search and four beams give.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from tools.oracles.texts import hostile, pairs

WIDTH, HIDDEN, HEADS, LAYERS, PIECES, NEW_TOKENS = 16, 24, 2, 2, 160, 20
TRAINING, SCORED, HOSTILE = 600, 20, 60
BEAMS = (1, 4)
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


def train_pieces(path: Path, texts: list[str], **options: Any) -> Any:
    """Trains a SentencePiece model and returns it; a table of NFKC would be most of the file."""
    options.setdefault("normalization_rule_name", "identity")
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=file,
            vocab_size=PIECES,
            hard_vocab_limit=False,
            minloglevel=2,
            **options,
        )
    return sentencepiece.SentencePieceProcessor(str(path))


def make_marian(path: Path) -> Made:
    """Makes a MarianMTModel with two SentencePiece models and one vocabulary of another order."""
    pieces: set[str] = set()
    for side, texts in zip(("source", "target"), pairs(TRAINING), strict=True):
        model = train_pieces(path / f"{side}.spm", texts, normalization_rule_name="nmt_nfkc")
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
    train_pieces(path / "spiece.model", texts, **special)
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
    model = train_pieces(path / "spiece.model", texts, **special)
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


def make_languages(path: Path, kind: str) -> Made:
    """Makes an mBART-50, M2M100 or NLLB, which mark languages."""
    texts = [*pairs(TRAINING)[0], *pairs(TRAINING)[1]]
    model_type = "unigram" if kind == "mbart50" else "bpe"
    model = train_pieces(path / "sentencepiece.bpe.model", texts, model_type=model_type)
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
        tokenizer = transformers.MBart50Tokenizer.from_pretrained(
            str(path), src_lang="en_XX", tgt_lang="es_XX"
        )
        size = len(tokenizer)
    name = "MBart" if kind == "mbart50" else "M2M100"
    config = getattr(transformers, f"{name}Config")(
        vocab_size=size,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=1,
        eos_token_id=2,
        bos_token_id=0,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        **SIZES,
    )
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    tokenizer.save_pretrained(path)
    return model, tokenizer, tokenizer(text_target="a")["input_ids"][0]


# A folder's name: what makes its files.
MAKERS: dict[str, Callable[[Path], Made]] = {
    "marian_huggingface": make_marian,
    "t5": make_t5,
    "t5_1_1": lambda path: make_t5(path, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "mt5": lambda path: make_t5(path, kind="MT5", feed_forward_proj="gated-gelu"),
    "pegasus": make_pegasus,
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
    [file] = path.glob("*.model")
    pieces = sentencepiece.SentencePieceProcessor(str(file))
    rows = pieces.encode(hostile(HOSTILE), out_type=str)
    return [tokenizer.convert_tokens_to_ids(row) for row in rows]


def references(model: Any, tokenizer: Any, first: int | None, path: Path) -> dict[str, Any]:
    """Returns what a model and its tokenizer make of texts."""
    sources, targets = pairs(SCORED, start=TRAINING)
    source_ids = [tokenizer(text)["input_ids"] for text in sources]
    target_ids = [tokenizer(text_target=text)["input_ids"] for text in targets]
    forced = {} if first is None else {"forced_bos_token_id": first}
    start, found = model.config.decoder_start_token_id, []
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
                **forced,
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
        "max_length": NEW_TOKENS,
        **searched,
    }


def make_native(path: Path, *, searches: bool, **options: Any) -> None:
    """Makes a model with Marian itself, and its references.

    Of a pre-norm model Marian's decoder gives other probabilities than its scorer, which is what
    it was trained with; only those of the scorer are kept.
    """
    sides = dict(zip(("en", "es"), pairs(TRAINING), strict=True))
    given = dict(zip(("en", "es"), pairs(SCORED, start=TRAINING), strict=True))
    with tempfile.TemporaryDirectory() as work:
        for side in sides:
            for name, texts in (("train", sides[side]), ("given", given[side])):
                Path(work, f"{name}.{side}").write_text("\n".join(texts) + "\n")
        sizes = {
            "dim-emb": WIDTH,
            "transformer-heads": HEADS,
            "transformer-dim-ffn": HIDDEN,
            "enc-depth": LAYERS,
            "dec-depth": LAYERS,
            "after": "1u",
            "mini-batch": 8,
            "cpu-threads": 1,
            "seed": 7,
            "workspace": 200,
            "quiet": "true",
            **options,
        }
        flags = [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
        files = ["--vocabs", "vocab.spm", "vocab.spm", "--dim-vocabs", str(PIECES), str(PIECES)]
        sets = ["--train-sets", "train.en", "train.es", "--model", "model.npz"]
        _marian(work, "train", "--type", "transformer", *sets, *files, *flags)
        base = ["-m", "model.npz", "-v", "vocab.spm", "vocab.spm", "--cpu-threads", "1", "--quiet"]
        scores = _marian(work, "score", *base, "-t", "given.en", "given.es").splitlines()
        decode = ["-i", "given.en", "--normalize", "0", "--mini-batch", "1", "--maxi-batch", "1"]
        decode += ["--max-length-factor", "3", "--allow-unk", "--no-spm-decode"]
        found = {
            f"beam_{beams}": _marian(work, "decode", *base, *decode, "-b", str(beams)).splitlines()
            for beams in (BEAMS if searches else ())
        }
        for name in ("model.npz", "vocab.spm"):
            shutil.copy(Path(work, name), path / name)
    pieces = sentencepiece.SentencePieceProcessor(str(path / "vocab.spm"))
    reference = {
        "sources": given["en"],
        "targets": given["es"],
        "hostile": hostile(HOSTILE),
        "hostile_ids": pieces.encode(hostile(HOSTILE)),
        "source_ids": [[*row, 0] for row in pieces.encode(given["en"])],
        "target_ids": [[*row, 0] for row in pieces.encode(given["es"])],
        "log_probabilities": [float(score) for score in scores],
        "max_length_ratio": 3,
        **{
            name: [[pieces.piece_to_id(piece) for piece in line.split()] for line in lines]
            for name, lines in found.items()
        },
    }
    (path / "reference.json").write_text(json.dumps(reference), encoding="utf-8")


def _marian(work: str, *arguments: str) -> str:
    command = [
        os.environ.get("PYMARIAN", str(Path(sys.executable).with_name("pymarian"))),
        *arguments,
    ]
    done = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout


PRE_NORM = {
    "transformer-preprocess": "n",
    "transformer-postprocess": "da",
    "transformer-postprocess-top": "n",
}
NATIVE: dict[str, dict[str, Any]] = {
    "marian": {"tied-embeddings-all": "true", "transformer-ffn-activation": "swish"},
    "marian_pre_norm": {
        "tied-embeddings": "true",
        "transformer-ffn-activation": "relu",
        **PRE_NORM,
    },
    # The form of browser translators.
    "marian_ssru": {
        "tied-embeddings-all": "true",
        "transformer-ffn-activation": "relu",
        "transformer-decoder-autoreg": "rnn",
        "dec-cell": "ssru",
        # One update then makes biases that are far from 0.
        "learn-rate": 0.2,
    },
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
            make_native(path, searches=name != "marian_pre_norm", **NATIVE[name])
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
