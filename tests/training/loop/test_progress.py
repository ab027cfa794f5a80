"""What TensorBoard gets during training, read back from its files, and BLEU in the record."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from keras_transformer.data.batching.batches import training_batches
from keras_transformer.data.encoding.encode import encode_pairs
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.decoding.translator import Translator
from keras_transformer.evaluation import corpus_scores
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train
from keras_transformer.training.tasks.validation_translations import spread

pytestmark = pytest.mark.usefixtures("few_updates")

SETTINGS: dict[str, Any] = {
    "overrides": {
        "model_dim": 8,
        "feed_forward_dim": 12,
        "num_heads": 2,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
    },
    "vocab_size": 14,
}
# Two rounds of two updates, then, resumed, a third of one.
OPTIONS: dict[str, Any] = {
    "batch_tokens": 48,
    "checkpoint_steps": 1,
    "average_checkpoints": 1,
    "warmup_steps": 4,
    "bleu_sentences": 2,
    "r_drop": 0.0,
    "subword_sampling": False,
}
STEPS = [1, 2]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    words = ("ab", "ba", "cad", "dac", "bed", "deb")
    source = [f"{a} {b}" for a in words for b in words]
    target = [" ".join(word[::-1] for word in line.split()) for line in source]
    # Short sentences are soon translated.
    valid = Pairs(words, [word[::-1] for word in words], "w")
    return Corpus(train=Pairs(source[:30], target[:30], "words"), valid=valid)


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A run stopped after a round and resumed: its directory and its model."""
    directory = tmp_path_factory.mktemp("run")
    train(corpus, directory, options=TrainOptions(**OPTIONS, max_steps=1), **SETTINGS)
    options = TrainOptions(**OPTIONS, max_steps=2)
    return directory, train(corpus, directory, options=options, resume=True, **SETTINGS).model


@pytest.fixture(scope="module")
def record(run: tuple[Path, Any]) -> dict[str, list[float]]:
    return json.loads((run[0] / "training.json").read_text())["history"]


def read(run: tuple[Path, Any], side: str) -> EventAccumulator:
    events = EventAccumulator(str(run[0] / "logs" / side))
    events.Reload()
    return events


def points(events: EventAccumulator, name: str) -> list[tuple[int, float]]:
    return [
        (event.step, float(np.frombuffer(event.tensor_proto.tensor_content, np.float32)[0]))
        for event in events.Tensors(name)
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["loss", "token_accuracy", "perplexity", "learning_rate"])
def test_figures_of_training_stand_at_their_updates_over_a_resume(run, record, name: str) -> None:
    found = points(read(run, "train"), name)
    assert [step for step, _ in found] == STEPS
    np.testing.assert_allclose([value for _, value in found], record[name], rtol=1e-6)


@pytest.mark.parametrize("name", ["loss", "token_accuracy", "perplexity", "bleu", "chrf"])
def test_figures_of_validation_have_the_same_names(run, record, name: str) -> None:
    found = points(read(run, "validation"), name)
    assert [step for step, _ in found] == STEPS
    np.testing.assert_allclose([value for _, value in found], record[f"val_{name}"], rtol=1e-6)


def test_no_other_figures_are_written(run) -> None:
    names = {"loss", "token_accuracy", "perplexity"}
    assert set(read(run, "train").Tags()["tensors"]) == {
        *names,
        "learning_rate",
        "tokens_per_second",
    }
    of_translations = {"bleu", "chrf", "translations"}
    assert set(read(run, "validation").Tags()["tensors"]) == names | of_translations


def test_samples_are_a_table_of_source_reference_and_translation(run, corpus: Corpus) -> None:
    (*_, last) = read(run, "validation").Tensors("translations")
    assert last.step == STEPS[-1]
    head, rule, *rows = last.tensor_proto.string_val[0].decode().splitlines()
    assert (head, rule) == ("| source | reference | translation |", "|---|---|---|")
    pairs = dict(zip(corpus.valid.source, corpus.valid.target, strict=True))
    assert len(rows) == OPTIONS["bleu_sentences"]
    for row in rows:
        source, reference, _ = (cell.strip() for cell in row.strip("|").split("|"))
        assert pairs[source] == reference


def test_bleu_is_that_of_the_greedy_translations_of_these_sentences(run, record) -> None:
    directory, model = run
    # One checkpoint is averaged: the final model is the one that was translated with last.
    tokenizers = RunDirectory(directory).load_tokenizers()
    (*_, last) = read(run, "validation").Tensors("translations")
    rows = last.tensor_proto.string_val[0].decode().splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    sources, references, translations = zip(*cells, strict=True)
    found = Translator(model, *tokenizers).translate(sources, max_length_ratio=2.0)
    assert [text.strip() for text in found] == list(translations)
    assert record["val_bleu"][-1] == pytest.approx(corpus_scores(found, references).bleu)


@pytest.mark.parametrize("valid", [pytest.param(True, marks=pytest.mark.exhaustive), False])
def test_tokens_per_second_counts_real_target_tokens_and_no_validation(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, valid: bool
) -> None:
    """A clock that goes on by a second each time it is read, once before and once after a round."""
    clock = SimpleNamespace(perf_counter=iter(range(100)).__next__)
    monkeypatch.setattr("keras_transformer.training.loop.progress.time", clock)
    asked = {"bleu_sentences": 0 if valid else 4, "checkpoint_steps": 2}
    options = TrainOptions(**{**OPTIONS, **asked}, max_steps=4)
    given = corpus if valid else Corpus(train=corpus.train)
    train(given, tmp_path, options=options, **SETTINGS)
    encoded = encode_pairs(corpus.train, *RunDirectory(tmp_path).load_tokenizers())
    tokens = [
        float(np.sum(weights))
        for _, _, weights in training_batches(encoded, 48, options.seed).take(4)
    ]
    expected = [(2, sum(tokens[:2])), (4, sum(tokens[2:]))]
    assert points(read((tmp_path, None), "train"), "tokens_per_second") == expected
    # Neither without sentences nor without validation is there a BLEU.
    assert (tmp_path / "logs" / "validation").exists() == valid
    assert "val_bleu" not in json.loads((tmp_path / "training.json").read_text())["history"]


def test_sentences_are_spread_evenly() -> None:
    pairs: list[Any] = [([number], [number]) for number in range(10)]
    assert [source for (source,), _ in spread(pairs, 4)] == [0, 2, 5, 7]
    assert spread(pairs, 10) == spread(pairs, 11) == pairs


def test_a_negative_number_of_sentences_is_refused() -> None:
    with pytest.raises(ValueError, match="bleu_sentences must be at least 0, got -1"):
        TrainOptions(bleu_sentences=-1)


@pytest.mark.exhaustive
def test_rounds_are_not_called_epochs(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = TrainOptions(**{**OPTIONS, "bleu_sentences": 0, "checkpoint_steps": 3}, epochs=2)
    train(corpus, tmp_path, options=options, **SETTINGS)
    history = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))["history"]
    updates, rounds = history["step"][-1], len(history["step"])
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if line.startswith(("Round", "Epoch"))]
    per_epoch = updates // 2
    assert heads == [
        f"Round {number + 1}/{rounds} (epoch {1 + 3 * number // per_epoch}/2)"
        for number in range(rounds)
    ]
    assert rounds > 2 and heads[-1].endswith("(epoch 2/2)")
    # The figures stand below, those of validation included.
    told = [line for line in lines if "val_loss" in line and "learning_rate" in line]
    # Each tells how many updates it had: the last one has what was left.
    had = [3] * (rounds - 1) + [updates - 3 * (rounds - 1)]
    assert [line.split(" ")[0] for line in told] == [f"{count}/{count}" for count in had]
    assert had[-1] != 3
