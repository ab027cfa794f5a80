"""Small corpora of single texts, and what their training shares: a model's size, its weights."""

from typing import Any

import numpy as np

from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts, TextCorpus, Texts

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
