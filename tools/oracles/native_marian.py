"""Makes tiny random translators with Marian itself, in its files, and writes beside them what they
compute. Needs pymarian, which `make oracles` installs apart.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece

from tools.oracles.sizes import (
    BEAMS,
    HEADS,
    HIDDEN,
    HOSTILE,
    LAYERS,
    PIECES,
    TRAINING,
    WIDTH,
)
from tools.oracles.texts import hostile, pairs


def make_native(path: Path, sentences: int, *, searches: bool, **options: Any) -> None:
    """Makes a model with Marian itself, and its references.

    Of a pre-norm model Marian's decoder gives other probabilities than its scorer, which is what
    it was trained with; only those of the scorer are kept.
    """
    sides = dict(zip(("en", "es"), pairs(TRAINING), strict=True))
    given = dict(zip(("en", "es"), pairs(sentences, start=TRAINING), strict=True))
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
# The form of browser translators.
SSRU = {
    "tied-embeddings-all": "true",
    "transformer-ffn-activation": "relu",
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    # One update then makes biases that are far from 0.
    "learn-rate": 0.2,
}
NATIVE: dict[str, dict[str, Any]] = {
    "marian": {"tied-embeddings-all": "true", "transformer-ffn-activation": "swish"},
    "marian_pre_norm": {
        "tied-embeddings": "true",
        "transformer-ffn-activation": "relu",
        **PRE_NORM,
    },
    "marian_ssru": SSRU,
    "marian_ssru_pre_norm": {**SSRU, **PRE_NORM},
}
