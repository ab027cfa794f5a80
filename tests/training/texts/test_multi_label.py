"""Classifiers that give a text any number of labels: learnt, resumed, exported and asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs
from single_texts import LABELLED

from keras_transformer.cli.flags.text_sources import TextFlags
from keras_transformer.data.sources.tables.labelled import read_labelled
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.texts.multi_label_model import MicroF1
from keras_transformer.training.texts.options import TextOptions

WORDS = {"ab": "A", "cad": "C", "bed": "B"}
FILLING = ("", "deb", "ba", "dac deb")
TEXTS = [
    " ".join(filter(None, [*words, filling])) or "ba ba"
    for words in ((), ("ab",), ("cad",), ("bed",), ("ab", "cad"), ("bed", "ab", "cad"))
    for filling in FILLING
]
LABELS = [", ".join(WORDS[word] for word in text.split() if word in WORDS) for text in TEXTS]
LONG = {"max_steps": 142, "checkpoint_steps": 70, "warmup_steps": 10, "max_length": 16}


def corpus(**given: Any) -> LabelledCorpus:
    texts = LabelledTexts(LABELS, TEXTS, None, "example", **{"multi_label": True, **given})
    return LabelledCorpus(texts, texts)


@pytest.mark.exhaustive
def test_a_run_learns_each_label_by_itself_and_goes_on(
    start: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from keras_transformer import OnnxEncoder
    from keras_transformer.decoding.encoder import TextEncoder
    from keras_transformer.export import export_run

    settings = {"overrides": {"dropout": 0.0}, "vocab_size": None}
    start("classify", "run", corpus(), options={**LONG, "max_steps": 140}, **settings)
    with without_graphs():
        start("classify", "run", corpus(), options=LONG, resume=True, **settings)
    assert "training labels: 3: A 12, C 12, B 8\n" in capsys.readouterr().out
    history = json.loads((tmp_path / "run" / "training.json").read_text())["history"]
    assert history["val_micro_f1"][-1] > 0.95 and history["val_accuracy"][-1] > 0.9
    model, tokenizer, _ = load_run(tmp_path / "run")
    assert model.config.multi_label and model.config.labels == ("A", "B", "C")
    found = TextEncoder(model, tokenizer).classify(TEXTS, threshold=0.5)
    right = [
        set(one.chosen) == set(filter(None, label.split(", ")))
        for one, label in zip(found, LABELS, strict=True)
    ]
    assert np.mean(right) > 0.9 and right[0]
    export_run(tmp_path / "run", tmp_path / "exported")
    with OnnxEncoder(tmp_path / "exported") as exported:
        for one, other in zip(exported.classify(TEXTS, threshold=0.5), found, strict=True):
            assert set(one.chosen) == set(other.chosen)


def test_the_f1_is_that_of_all_labels_together() -> None:
    metric = MicroF1()
    assert float(metric.result()) == 1.0
    wanted = np.array([[1.0, 0, 1], [0, 0, 0]], "f4")
    given = np.array([[1.0, 1, 0], [0, 0, 0]], "f4")
    metric.update_state(wanted, given, np.ones((2, 3), "f4"))
    assert float(metric.result()) == pytest.approx(0.5)


def test_labels_are_counted_one_by_one_and_unknown_ones_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("joy, love\tone\n\ttwo\nlove,love\tthree\n")
    texts = read_labelled(path, multi_label=True)
    assert (texts.classes, texts.label_counts) == (("joy", "love"), {"joy": 1, "love": 2})
    assert [texts.names_of(place) for place in range(3)] == [("joy", "love"), (), ("love",)]
    other = LabelledTexts(["fear, joy"], ["four"], None, "other", multi_label=True)
    with pytest.raises(ValueError, match="not among .*: 'fear' .other, text 1"):
        LabelledCorpus(texts, other)
    with pytest.raises(ValueError, match="must both have multi_label=True"):
        LabelledCorpus(texts, LABELLED.train)
    with pytest.raises(ValueError, match="no text of other has a label"):
        LabelledCorpus(LabelledTexts(["", ","], ["a", "b"], None, "other", multi_label=True))
    flags = TextFlags(train_tsv=[path], multi_label=True)
    flags.check("classify")
    assert flags.read("classify") == LabelledCorpus(texts)
    with pytest.raises(ValueError, match="--multi-label is for --task classify with --train-tsv"):
        flags.check("embed")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"options": {"r_drop": 1.0}}, "r_drop=1.0 is not for texts with any number of labels"),
        ({"text_options": TextOptions(class_weights="balanced")}, "class_weights is for texts"),
    ],
)
def test_what_is_for_one_label_a_text_is_refused(
    start: Callable[..., Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        start("classify", "run", corpus(), **settings)
