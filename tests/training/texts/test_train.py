"""Training on single texts: whole runs in small, broken and resumed, and started from another."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single_texts import BOTH_SIZES, DOCUMENTS, LABELLED, LINES, PLAIN, VOCABULARY, weights

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.run.loss_record import read_losses
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.train import train_texts


@pytest.mark.exhaustive
def test_a_resumed_run_is_the_unbroken_one(start, tmp_path: Path) -> None:
    whole = start("masked-lm", "whole")
    start("masked-lm", "broken", options={"max_steps": 3})
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = start("masked-lm", "broken", resume=True)
    losses = [read_losses(tmp_path / name / "losses.tsv") for name in ("whole", "broken")]
    assert list(losses[0]) == list(range(1, 7))
    assert losses[0] == losses[1]
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])
    record = json.loads((tmp_path / "broken" / "training.json").read_text())
    assert record["finished"] and record["data"]["task"] == "masked-lm"
    with pytest.raises(ValueError, match="started with masking='tokens', not 'spans'"):
        start("masked-lm", "broken", resume=True, text_options=TextOptions(masking="spans"))


def test_a_preset_of_another_family_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="preset must be one of bert-tiny, .* got 'tiny'"):
        train_texts("classify", LABELLED, tmp_path / "labels", preset="tiny")
    assert not (tmp_path / "labels").exists()


def test_runs_of_each_family_are_loaded(runs: dict[str, Path]) -> None:
    bert, tokenizer, same = load_run(runs["masked-lm"])
    gpt, plain, _ = load_run(runs["causal-lm"])
    assert isinstance(bert, EncoderOnly) and bert.config.head == "masked_lm"
    assert isinstance(gpt, DecoderOnly)
    assert tokenizer is same and tokenizer.special_ids.mask == 4
    assert plain.special_ids.mask is None


def test_a_classifier_starts_from_a_masked_language_model_and_learns(
    runs: dict[str, Path], tmp_path: Path, capsys
) -> None:
    model = train_texts(
        "classify",
        LABELLED,
        tmp_path / "labels",
        init=runs["masked-lm"],
        overrides={"dropout": 0.0},
        options=TrainOptions(
            max_steps=120, learning_rate=0.01, warmup_steps=4, batch_tokens=128, max_length=32
        ),
    ).model
    said = capsys.readouterr().out
    assert said.startswith("training labels: 2: late 60, early 12\nvalidation labels: 2: ")
    assert "perplexity" not in said and "token_accuracy" not in said
    # The size is that of the run, without its preset.
    assert (model.config.model_dim, model.config.max_positions) == (16, 32)
    assert (model.config.labels, model.config.head) == (("early", "late"), "classification")
    assert "new: head, 2 weights (not in the trained model)\n" in said
    record = json.loads((tmp_path / "labels" / "training.json").read_text())
    assert "encoder/block_0/attention/query/kernel" in record["transfer"]["taken"]
    assert {path.split("/")[0] for path in record["transfer"]["fresh"]} == {"pooler", "head"}
    assert record["transfer"]["unused"] and record["start"]["init_sha256"]
    assert record["history"]["val_accuracy"][-1] > 0.9
    assert not {"perplexity", "token_accuracy"} & {*record["history"]}


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
@pytest.mark.parametrize(
    "asked", [{}, pytest.param({"overrides": {"dropout": 0.1}}, marks=pytest.mark.exhaustive)]
)
def test_a_tuned_classifier_drops_as_its_recipe_unless_told_and_keeps_it_when_resumed(
    asked: dict[str, Any], runs: dict[str, Path], tmp_path: Path
) -> None:
    given: dict[str, Any] = {"init": runs["masked-lm"], **asked}
    options = {"checkpoint_steps": 1, "max_length": 32}
    place = tmp_path / "labels"
    first = train_texts(
        "classify", LABELLED, place, options=TrainOptions(max_steps=1, **options), **given
    )
    rate = 0.1 if asked else 0.3
    assert first.model.config.dropout == rate
    # As if an older version had begun it.
    for name in ("config.json", "training.json"):
        text = (place / name).read_text()
        (place / name).write_text(text.replace(f'"dropout": {rate}', '"dropout": 0.1'))
    (place / "model.keras").unlink()
    resumed = train_texts(
        "classify",
        LABELLED,
        place,
        resume=True,
        options=TrainOptions(max_steps=2, **options),
        **given,
    )
    assert resumed.model.config.dropout == 0.1


@pytest.mark.exhaustive
def test_a_resumed_run_of_next_sentences_is_the_unbroken_one(start, tmp_path: Path) -> None:
    asked = {"text_options": TextOptions(next_sentence=True)}
    whole = start("masked-lm", "whole", DOCUMENTS, **asked)
    start("masked-lm", "broken", DOCUMENTS, options={"max_steps": 3}, **asked)
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = start("masked-lm", "broken", DOCUMENTS, resume=True, **asked)
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])


@pytest.mark.exhaustive
def test_next_sentences_are_learnt_beside_hidden_tokens_and_start_a_classifier(
    start, tmp_path: Path
) -> None:
    asked = {"text_options": TextOptions(next_sentence=True)}
    whole = start("masked-lm", "whole", DOCUMENTS, **asked)
    record = json.loads((tmp_path / "whole" / "training.json").read_text())
    assert 0 <= record["history"]["val_next_sentence_accuracy"][-1] <= 1
    assert whole.config.head == "pretraining"
    start("classify", "labels", LABELLED, init=tmp_path / "whole")
    record = json.loads((tmp_path / "labels" / "training.json").read_text())
    assert "pooler/linear/kernel" in record["transfer"]["taken"]
    assert {path.split("/")[0] for path in record["transfer"]["fresh"]} == {"head"}


# From here on without graphs.
@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_a_run_with_figures_of_other_names_goes_on(start, tmp_path: Path) -> None:
    start("classify", "labels", LABELLED, options={"max_steps": 2, "checkpoint_steps": 1})
    path = tmp_path / "labels" / "training.json"
    record = json.loads(path.read_text())
    history = record["history"]
    before = {"token_accuracy": history.pop("accuracy"), "perplexity": [2.0, 1.5]}
    record["history"] = history | before
    path.write_text(json.dumps(record))
    (tmp_path / "labels" / "model.keras").unlink()
    asked = {"max_steps": 3, "checkpoint_steps": 1}
    start("classify", "labels", LABELLED, options=asked, resume=True)
    history = json.loads(path.read_text())["history"]
    assert history["accuracy"][:2] == before["token_accuracy"]
    assert len(history["accuracy"]) == 3 and None not in history["accuracy"]
    assert "perplexity" not in history and "token_accuracy" not in history


@pytest.mark.usefixtures("few_updates")
def test_a_tagger_and_a_denoiser_train(start, tmp_path: Path) -> None:
    words = [line.split() for line in LINES]
    tags = [["X" if word < "b" else "Y" for word in row] for row in words]
    corpus = TaggedCorpus(TaggedTexts(words, tags, "tagged"))
    assert start("tag", "tags", corpus, options={"max_steps": 1}).config.labels == ("X", "Y")
    chained = {"text_options": TextOptions(crf=True), "options": {"max_steps": 1}}
    assert start("tag", "chain", corpus, init=tmp_path / "tags", **chained).config.crf
    denoise(tmp_path / "denoising")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_a_translation_starts_from_a_denoiser(tmp_path: Path) -> None:
    asked = denoise(tmp_path / "denoising")
    pairs = Corpus(Pairs(LINES[:20], LINES[20:40], "pairs"))
    model = train(pairs, tmp_path / "translation", init=tmp_path / "denoising", **asked).model
    assert model.config.special_ids.mask == 4


def denoise(directory: Path) -> dict[str, Any]:
    """Trains a denoiser for an update; returns its size and options."""
    asked: dict[str, Any] = {"overrides": BOTH_SIZES}
    asked["options"] = TrainOptions(max_steps=1, bleu_sentences=0, max_length=32)
    train_texts("denoising", PLAIN, directory, vocab_size=VOCABULARY, **asked)
    return asked
