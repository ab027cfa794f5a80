"""Makes tiny random translators with Marian itself, in its files, and writes beside them what they
compute. Needs pymarian, which `make oracles` installs apart.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.oracles.marian_vocabularies import EOS, OneModel, Tagged, run
from tools.oracles.sizes import BEAMS, HEADS, HIDDEN, LAYERS, TRAINING, WIDTH
from tools.oracles.texts import pairs


def make_native(
    path: Path,
    sentences: int,
    strings: Sequence[str],
    *,
    searches: bool,
    tagged: bool = False,
    **options: Any,
) -> None:
    """Makes a model with Marian itself, and its references.

    Of a pre-norm model Marian's decoder gives other probabilities than its scorer, which is what
    it was trained with; only those of the scorer are kept.

    Args:
        path: The folder to write.
        sentences: How many are scored and translated.
        strings: What is split to pieces.
        searches: Whether what Marian's decoder finds is kept.
        tagged: Whether texts are split, and languages marked, as OPUS-MT does it.
        **options: Marian's own.
    """
    sides = dict(zip(("en", "es"), pairs(TRAINING), strict=True))
    given = dict(zip(("en", "es"), pairs(sentences, start=TRAINING), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)

        def marian(*arguments: str, text: str | None = None) -> str:
            return run([_PROGRAM, *arguments], work, text)

        words: OneModel | Tagged = OneModel(work)
        if tagged:
            words = Tagged(work, sides, lambda command, text: marian(command, text=text))
        for side in sides:
            for name, texts in (("train", sides[side]), ("given", given[side])):
                lines = words.lines(side, texts)
                (work / f"{name}.{side}").write_text("\n".join(lines) + "\n")
        flags = [
            part for name, value in {**_SIZES, **options}.items() for part in _flag(name, value)
        ]
        files = ["--vocabs", *words.names, "--dim-vocabs", *words.sizes]
        sets = ["--train-sets", "train.en", "train.es", "--model", "model.npz"]
        marian("train", "--type", "transformer", *sets, *files, *flags)
        base = ["-m", "model.npz", "-v", *words.names, "--cpu-threads", "1", "--quiet"]
        scores = marian("score", *base, "-t", "given.en", "given.es").splitlines()
        decode = ["-i", "given.en", "--normalize", "0", "--mini-batch", "1", "--maxi-batch", "1"]
        decode += ["--max-length-factor", "3", "--allow-unk", "--no-spm-decode"]
        found = {
            f"beam_{beams}": marian("decode", *base, *decode, "-b", str(beams)).splitlines()
            for beams in (BEAMS if searches else ())
        }
        shutil.copy(work / "model.npz", path)
        words.copy(path)
        before = [words.tag] if isinstance(words, Tagged) else []
        reference = {
            "sources": given["en"],
            "targets": given["es"],
            "target_language": words.language,
            "hostile": list(strings),
            "hostile_ids": words.ids("en", strings),
            "source_ids": [[*before, *row, EOS] for row in words.ids("en", given["en"])],
            "target_ids": [[*row, EOS] for row in words.ids("es", given["es"])],
            "log_probabilities": [float(score) for score in scores],
            "max_length_ratio": 3,
            **{name: words.written(lines) for name, lines in found.items()},
        }
    (path / "reference.json").write_text(json.dumps(reference), encoding="utf-8")


def _flag(name: str, value: Any) -> tuple[str, str]:
    return f"--{name}", str(value)


_PROGRAM = os.environ.get("PYMARIAN", str(Path(sys.executable).with_name("pymarian")))
_SIZES: dict[str, Any] = {
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
}
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
OPUS = {"tied-embeddings-all": "true", "transformer-ffn-activation": "swish"}
NATIVE: dict[str, dict[str, Any]] = {
    "marian": OPUS,
    "marian_tagged": {**OPUS, "tagged": True},
    "marian_pre_norm": {
        "tied-embeddings": "true",
        "transformer-ffn-activation": "relu",
        **PRE_NORM,
    },
    "marian_ssru": SSRU,
    "marian_ssru_pre_norm": {**SSRU, **PRE_NORM},
}
