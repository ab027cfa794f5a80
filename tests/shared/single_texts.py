"""Small corpora of single texts, and what their training shares: a model's size, its weights."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts, TextCorpus, Texts
from keras_transformer.models.families import build_model
from keras_transformer.runs.finished_run import write_finished_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import train_tokenizer

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS[:2]]
PLAIN = TextCorpus(Texts(LINES[:60], "train"), Texts(LINES[60:], "valid"))
# Every fifth line is empty.
PARTED = [
    line for number, line in enumerate(LINES) for line in ([line, ""][: 1 + (number % 4 == 3)])
]
DOCUMENTS = TextCorpus(Texts(PARTED, "documents"), Texts(PARTED[:20], "valid"))
LABELS = ["early" if line < "b" else "late" for line in LINES]
LABELLED = LabelledCorpus(
    LabelledTexts(LABELS, LINES, None, "train"), LabelledTexts(LABELS[:20], LINES[:20], None, "v")
)
SIZES = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2, "num_layers": 1}
# Of an encoder-decoder.
BOTH_SIZES = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2}
BOTH_SIZES |= {"num_encoder_layers": 1, "num_decoder_layers": 1}
VOCABULARY = 14


def weights(model: Any) -> dict[str, np.ndarray]:
    return {weight.path: np.asarray(weight) for weight in model.weights}


def labelled(early: str, late: str) -> LabelledCorpus:
    labels = [early if label == "early" else late for label in LABELS]
    return LabelledCorpus(LabelledTexts(labels, LINES, None, "train"))


def write_run(directory: Path, task: str, lines: Sequence[str] = LINES[:60], **fields: Any) -> Path:
    """Writes a finished run with initial weights, for others to start from.

    Args:
        directory: Where to.
        task: "masked-lm" or "causal-lm".
        lines: What its vocabulary is of.
        fields: Of its config, in place of `SIZES`, 32 positions and `VOCABULARY`.
    """
    fields = {"vocab_size": VOCABULARY, **SIZES, "max_positions": 32, **fields}
    tokenizer = train_tokenizer(lines, fields["vocab_size"], has_mask=task == "masked-lm")
    fields["special_ids"] = tokenizer.special_ids
    config = (
        EncoderConfig.preset("bert-tiny", head="masked_lm", **fields)
        if task == "masked-lm"
        else DecoderConfig.preset("gpt2-tiny", **fields)
    )
    write_finished_run(RunDirectory(directory), build_model(config), (tokenizer, tokenizer), {})
    return directory
