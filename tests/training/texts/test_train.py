"""Training on single texts: whole runs in small, broken and resumed, and started from another."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.data.batching.batches import evaluation_batches, training_batches
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts, TextCorpus, Texts
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.text.tokenizer import train_tokenizer
from keras_transformer.training.run.loss_record import read_losses
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import load_run, train
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.tasks import KINDS
from keras_transformer.training.texts.train import train_texts

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS[:2]]
PLAIN = TextCorpus(Texts(LINES[:60], "train"), Texts(LINES[60:], "valid"))
LABELS = ["early" if line < "b" else "late" for line in LINES]
LABELLED = LabelledCorpus(
    LabelledTexts(LABELS, LINES, None, "train"), LabelledTexts(LABELS[:20], LINES[:20], None, "v")
)
SIZES = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2, "num_layers": 1}
VOCABULARY = 14


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Any]:
    """`start(task, name, corpus, ...)`: trains into a directory of that name."""

    def run(task: Any, name: str, corpus: Any = PLAIN, **settings: Any) -> Any:
        given = {"batch_tokens": 64, "checkpoint_steps": 3, "max_steps": 6, "warmup_steps": 4}
        given |= {"cooldown": 0.0, "learning_rate": 0.01, "label_smoothing": 0.0, "max_length": 32}
        options = TrainOptions(**{**given, **settings.pop("options", {})})
        if "init" not in settings and "tokenizer" not in settings:
            settings.setdefault("vocab_size", VOCABULARY)
        overrides = {**SIZES, "max_positions": 32, **settings.pop("overrides", {})}
        return train_texts(
            task, corpus, tmp_path / name, options=options, overrides=overrides, **settings
        )

    return run


def weights(model: Any) -> dict[str, np.ndarray]:
    return {weight.path: np.asarray(weight) for weight in model.weights}


@pytest.mark.parametrize("task", ["masked-lm", "causal-lm", "classify"])
def test_a_resumed_run_is_the_unbroken_one(start, tmp_path: Path, task: str) -> None:
    corpus = LABELLED if task == "classify" else PLAIN
    whole = start(task, "whole", corpus)
    start(task, "broken", corpus, options={"max_steps": 3})
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = start(task, "broken", corpus, resume=True)
    losses = [read_losses(tmp_path / name / "losses.tsv") for name in ("whole", "broken")]
    assert list(losses[0]) == list(range(1, 7))
    assert losses[0] == losses[1]
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])
    record = json.loads((tmp_path / "broken" / "training.json").read_text())
    assert record["finished"] and record["data"]["task"] == task
    assert "val_loss" in record["history"]


def test_masks_go_on_after_a_break_as_if_there_had_been_none(start, tmp_path: Path) -> None:
    start("masked-lm", "run", options={"max_steps": 1})
    model, tokenizer, _ = load_run(tmp_path / "run")
    encoded = KINDS["masked-lm"].encode(PLAIN.train, tokenizer, model.config, 32, TextOptions())
    steps = 13  # more than an epoch
    whole = list(training_batches(encoded, 96, seed=4).take(steps))
    for done in (0, 5, 11):
        rest = list(training_batches(encoded, 96, seed=4, start_step=done).take(steps - done))
        for one, two in zip(whole[done:], rest, strict=True):
            for name in one[0]:
                np.testing.assert_array_equal(one[0][name], two[0][name])
            np.testing.assert_array_equal(one[1], two[1])
            np.testing.assert_array_equal(one[2], two[2])


def test_workers_share_the_batches_of_one(start, tmp_path: Path) -> None:
    start("masked-lm", "run", options={"max_steps": 1})
    model, tokenizer, _ = load_run(tmp_path / "run")
    encoded = KINDS["masked-lm"].encode(PLAIN.train, tokenizer, model.config, 32, TextOptions())
    whole = next(iter(training_batches(encoded, 96, seed=4)))
    for index in range(2):
        share = next(iter(training_batches(encoded, 96, seed=4, worker=(index, 2))))
        np.testing.assert_array_equal(share[0]["token_ids"], whole[0]["token_ids"][index::2])
        np.testing.assert_array_equal(share[1], whole[1][index::2])


def test_validation_masks_are_always_the_same(start, tmp_path: Path) -> None:
    start("masked-lm", "run", options={"max_steps": 1})
    model, tokenizer, _ = load_run(tmp_path / "run")
    encoded = KINDS["masked-lm"].encode(PLAIN.valid, tokenizer, model.config, 32, TextOptions())
    first, again = list(evaluation_batches(encoded, 64)), list(evaluation_batches(encoded, 64))
    assert sum(len(batch[1]) for batch in first) == len(encoded)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one[0]["token_ids"], two[0]["token_ids"])


def test_runs_of_each_family_are_loaded(start, tmp_path: Path) -> None:
    start("masked-lm", "bert", options={"max_steps": 1})
    start("causal-lm", "gpt", options={"max_steps": 1})
    bert, tokenizer, same = load_run(tmp_path / "bert")
    gpt, plain, _ = load_run(tmp_path / "gpt")
    assert isinstance(bert, EncoderOnly) and bert.config.head == "masked_lm"
    assert isinstance(gpt, DecoderOnly)
    assert tokenizer is same and tokenizer.special_ids.mask == 4
    assert plain.special_ids.mask is None


def test_a_classifier_starts_from_a_masked_language_model(start, tmp_path: Path, capsys) -> None:
    bert = start("masked-lm", "bert")
    model = start("classify", "labels", LABELLED, init=tmp_path / "bert", overrides={})
    assert model.config.labels == ("early", "late")
    assert model.config.head == "classification"
    assert "new: head/linear/kernel (not in the trained model)" in capsys.readouterr().out
    record = json.loads((tmp_path / "labels" / "training.json").read_text())
    assert "encoder/block_0/attention/query/kernel" in record["transfer"]["taken"]
    assert set(record["transfer"]["fresh"]) == {
        "pooler/linear/kernel",
        "pooler/linear/bias",
        "head/linear/kernel",
        "head/linear/bias",
    }
    assert record["transfer"]["unused"] and bert.config.vocab_size == model.config.vocab_size
    assert record["start"]["init_sha256"]


def test_the_size_to_start_from_needs_no_preset(start, tmp_path: Path) -> None:
    start("masked-lm", "bert", options={"max_steps": 1})
    model = train_texts(
        "classify",
        LABELLED,
        tmp_path / "labels",
        init=tmp_path / "bert",
        options=TrainOptions(max_steps=1, max_length=32),
    )
    assert (model.config.model_dim, model.config.max_positions) == (16, 32)


def test_a_classifier_learns(start) -> None:
    model = start("classify", "labels", LABELLED, options={"max_steps": 60, "checkpoint_steps": 60})
    tokenizer = load_run_tokenizer(model)
    encoded = KINDS["classify"].encode(LABELLED.train, tokenizer, model.config, 32, TextOptions())
    hits = [
        np.argmax(model(inputs), axis=-1) == labels.numpy()[:, 0]
        for inputs, labels, _ in evaluation_batches(encoded, 64)
    ]
    assert np.mean(np.concatenate(hits)) > 0.9


def load_run_tokenizer(model: Any) -> Any:
    return train_tokenizer([*LINES], model.config.vocab_size)


def test_tags_stand_at_the_first_token_of_each_word(start, tmp_path: Path) -> None:
    words = [line.split() for line in LINES]
    tags = [["LONG" if len(word) > 2 else "SHORT" for word in row] for row in words]
    texts = TaggedTexts(words, tags, "tagged")
    start("tag", "tags", TaggedCorpus(texts, texts), options={"max_steps": 2})
    model, tokenizer, _ = load_run(tmp_path / "tags")
    assert model.config.head == "tagging" and model.config.labels == ("LONG", "SHORT")
    encoded = KINDS["tag"].encode(texts, tokenizer, model.config, 32, TextOptions())
    for inputs, labels, weights_ in evaluation_batches(encoded, 64):
        ids, labels, places = inputs["token_ids"].numpy(), labels.numpy(), weights_.numpy() == 1
        for row in range(len(ids)):
            pieces = tokenizer.pieces(ids[row].tolist())
            firsts = [place for place, piece in enumerate(pieces) if piece.startswith("\u2581")]
            assert np.flatnonzero(places[row]).tolist() == firsts
            [text] = tokenizer.decode([ids[row].tolist()])
            expected = [len(word) <= 2 for word in text.split()]
            assert labels[row][firsts].tolist() == expected


def test_pairs_have_token_types(start, tmp_path: Path) -> None:
    pairs = LabelledTexts(LABELS, LINES, LINES[::-1], "pairs")
    start("classify", "pairs", LabelledCorpus(pairs), options={"max_steps": 1})
    model, tokenizer, _ = load_run(tmp_path / "pairs")
    encoded = KINDS["classify"].encode(pairs, tokenizer, model.config, 32, TextOptions())
    inputs, _, _ = next(iter(evaluation_batches(encoded, 64)))
    ids, types = inputs["token_ids"].numpy(), inputs["token_type_ids"].numpy()
    for row, kinds in zip(ids, types, strict=True):
        first, second = np.flatnonzero(row == tokenizer.special_ids.eos)
        assert kinds.tolist() == [0] * (first + 1) + [1] * (second - first) + [0] * (
            len(row) - second - 1
        )


@pytest.mark.parametrize("packing", ["documents", "stream"])
def test_texts_are_packed(start, tmp_path: Path, packing: Any) -> None:
    start("causal-lm", "gpt", text_options=TextOptions(packing=packing), options={"max_steps": 2})
    record = json.loads((tmp_path / "gpt" / "training.json").read_text())
    assert record["data"]["packing"] == packing


@pytest.mark.parametrize("masking", ["whole-words", "spans"])
def test_other_units_are_masked(start, masking: Any) -> None:
    start("masked-lm", "bert", text_options=TextOptions(masking=masking), options={"max_steps": 1})


def test_a_vocabulary_without_mask_is_refused(start) -> None:
    tokenizer = train_tokenizer(LINES, VOCABULARY)
    with pytest.raises(ValueError, match="the vocabulary has no <mask>"):
        start("masked-lm", "bert", tokenizer=tokenizer)


def test_two_vocabularies_are_refused(start, tmp_path: Path) -> None:
    sizes = {"num_encoder_layers": 1, "num_decoder_layers": 1, "model_dim": 16, "num_heads": 2}
    train(
        Corpus(Pairs(LINES[:20], LINES[20:40], "pairs")),
        tmp_path / "translation",
        overrides=sizes,
        vocab_size=VOCABULARY,
        joint_vocabulary=False,
        options=TrainOptions(max_steps=1),
    )
    with pytest.raises(ValueError, match="one vocabulary, and these are two"):
        start("causal-lm", "gpt", init=tmp_path / "translation")


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("causal-lm", {"masking": "spans"}, "masking='spans' is for masked-lm, not for causal-lm"),
        (
            "masked-lm",
            {"packing": "stream"},
            "packing='stream' is for causal-lm, not for masked-lm",
        ),
    ],
)
def test_options_of_other_tasks_are_refused(start, task: Any, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        start(task, "run", text_options=TextOptions(**options))


def test_a_field_of_another_family_is_named(start) -> None:
    with pytest.raises(ValueError, match="num_decoder_layers: an encoder has no such field"):
        start("masked-lm", "bert", overrides={"num_decoder_layers": 2})
