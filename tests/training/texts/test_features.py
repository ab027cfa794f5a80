"""Classifiers and taggers with the states of finished runs: learnt, resumed, asked, refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs
from single_texts import (
    BOTH_SIZES,
    LABELLED,
    LABELS,
    LINES,
    SIZES,
    VOCABULARY,
    WORDS,
    write_run,
)

from keras_transformer.data.batching.batches import evaluation_batches
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts
from keras_transformer.decoding.encoder import TextEncoder
from keras_transformer.export import export_onnx, export_pretrained, export_saved_model
from keras_transformer.features.feature_runs import FeatureRun, RunFeatures
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train
from keras_transformer.training.tasks.training_data import TrainingData
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.text_task import TextTask
from keras_transformer.training.texts.train import train_texts

QUICK: dict[str, Any] = {"max_steps": 1, "checkpoint_steps": 1, "batch_tokens": 64}
QUICK |= {"max_length": 32}
TAGS = [["X" if word > "b" else "Y" for word in line.split()] for line in LINES]
TAGGED = TaggedTexts([line.split() for line in LINES], TAGS, "tagged")
PAIRS = LabelledTexts(LABELS, LINES, LINES[::-1], "pairs")


@pytest.fixture(scope="module")
def both(runs: dict[str, Path]) -> tuple[Path, Path]:
    """Runs of causal-lm, forward and backward."""
    backward = runs["causal-lm"].with_name("backward")
    return runs["causal-lm"], write_run(backward, "causal-lm", direction="backward")


@pytest.fixture(scope="module")
def elmo(
    both: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[TrainingData]]:
    """A classifier's run of an update with both, and the data that it read."""
    run = tmp_path_factory.mktemp("elmo") / "run"
    return run, classify(run, LABELLED, both)


def classify(run: Path, corpus: LabelledCorpus, features: tuple[Path, Path]) -> list[TrainingData]:
    """Trains a classifier with features for an update; returns the data that it read."""
    seen, original = list[TrainingData](), TextTask.read
    with pytest.MonkeyPatch.context() as patch, without_graphs():
        patch.setattr(TextTask, "read", lambda *given: seen.append(original(*given)) or seen[-1])
        train_texts(
            "classify",
            corpus,
            run,
            overrides={**SIZES, "max_positions": 32},
            vocab_size=VOCABULARY,
            options=TrainOptions(**QUICK),
            text_options=TextOptions(features=features),
        )
    return seen


def read(run: Path, **more: Any) -> tuple[Any, TextEncoder]:
    model, tokenizer, _ = load_run(run)
    return model, TextEncoder(model, tokenizer, features=RunFeatures(run), **more)


@pytest.mark.exhaustive
def test_a_tagger_reads_words_with_both_runs(
    start: Callable[..., Any], tmp_path: Path, both: tuple[Path, Path]
) -> None:
    options = {"checkpoint_steps": 40, "max_steps": 80}
    gone = [shutil.copytree(run, tmp_path / run.name) for run in both]
    text_options = TextOptions(features=tuple(gone), crf=True)
    corpus = TaggedCorpus(TAGGED, TAGGED)
    start("tag", "elmo", corpus, options=options, text_options=text_options)
    # Training and validation have the same texts.
    assert len([*(tmp_path / "elmo" / "features").glob("*.states")]) == 2
    for run in gone:
        shutil.rmtree(run)
    model, encoder = read(tmp_path / "elmo")
    assert [[one.tag for one in words] for words in encoder.tag(LINES[:20])] == TAGS[:20]
    # Trained: the mixes and the projection, too.
    assert np.abs(np.asarray(model.features.mixes[1].layer_weights)).max() > 1e-3


@pytest.mark.usefixtures("few_updates")
def test_a_run_goes_on_with_the_states_that_it_has(
    elmo: Any, tmp_path: Path, both: tuple[Path, Path]
) -> None:
    shutil.copytree(elmo[0], tmp_path / "elmo")

    def go_on(**features: Any) -> None:
        train_texts(
            "classify",
            LABELLED,
            tmp_path / "elmo",
            overrides={**SIZES, "max_positions": 32},
            vocab_size=VOCABULARY,
            options=TrainOptions(**{**QUICK, "max_steps": 2}),
            text_options=TextOptions(**features),
            resume=True,
        )

    states = list((tmp_path / "elmo" / "features").glob("*.states"))
    before = {path: path.stat().st_mtime_ns for path in states}
    # Of training and validation, with each of the runs.
    assert len(before) == 4
    go_on(features=both)
    assert before == {path: path.stat().st_mtime_ns for path in states}
    # Another order of the runs, and other layers, are other features.
    for other in ({"features": both[::-1]}, {"features": both, "feature_layers": "last"}):
        with pytest.raises(ValueError, match="was started with features="):
            go_on(**other)


@pytest.mark.usefixtures("few_updates")
def test_batches_hold_the_states_that_words_have_live(elmo: Any) -> None:
    assert_live_states(*elmo, LABELLED.train)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_batches_of_pairs_hold_the_states_that_words_have_live(
    both: tuple[Path, Path], tmp_path: Path
) -> None:
    assert_live_states(tmp_path, classify(tmp_path, LabelledCorpus(PAIRS), both), PAIRS)


def assert_live_states(run: Path, seen: list[TrainingData], texts: LabelledTexts) -> None:
    encoder = read(run)[1]
    rows = encoder._rows.of_texts(texts.first, texts.second)
    by_ids = {tuple(row.token_ids): row for row in rows}
    count = 0
    for inputs, _, _ in evaluation_batches(seen[0].train, 256):
        for number, ids in enumerate(inputs["token_ids"].numpy()):
            length = int((ids != 0).sum())
            row = by_ids[tuple(ids[:length])]
            for source in range(2):
                stored = inputs[f"features_{source}"][number].numpy()
                np.testing.assert_allclose(stored[:length], row.features[source], atol=2e-3)
                np.testing.assert_array_equal(stored[length:], 0)
            count += 1
    assert count == len(LINES)


@pytest.mark.usefixtures("few_updates")
def test_answers_do_not_depend_on_the_batch(elmo: Any) -> None:
    encoder = read(elmo[0])[1]
    texts = [LINES[0], "", LINES[0] + " " + LINES[30], "deb"]
    together = [one.probability for one in encoder.classify(texts)]
    alone = [encoder.classify([text])[0].probability for text in texts]
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_what_reads_a_run_with_features_needs_them(
    elmo: Any, start: Callable[..., Any], tmp_path: Path, both: tuple[Path, Path]
) -> None:
    run, _ = elmo
    model, tokenizer, _ = load_run(run)
    with pytest.raises(ValueError, match="reads features of 2 other runs: give features="):
        TextEncoder(model, tokenizer)
    with pytest.raises(ValueError, match="reads no features of other runs"):
        RunFeatures(both[0])
    for export in (
        lambda: export_onnx(model, tokenizer, tmp_path / "onnx"),
        lambda: export_saved_model(run, tmp_path / "saved"),
        lambda: export_pretrained(run, tmp_path / "hf", format="huggingface"),
    ):
        with pytest.raises(ValueError, match="a model with features reads words with other models"):
            export()
    with pytest.raises(ValueError, match="cannot give features: give those runs"):
        start(
            "tag",
            "x",
            TaggedCorpus(TAGGED),
            text_options=TextOptions(features=(run,)),
        )
    with pytest.raises(ValueError, match="give texts, not ids"):
        read(run)[1].states_of_ids([[7]])


def test_features_are_of_finished_runs_and_for_two_tasks(
    start: Callable[..., Any], tmp_path: Path, both: tuple[Path, Path]
) -> None:
    with pytest.raises(FileNotFoundError, match="there is no directory .*nowhere"):
        start(
            "tag", "x", TaggedCorpus(TAGGED), text_options=TextOptions(features=(Path("nowhere"),))
        )
    with pytest.raises(ValueError, match="features=.* is for classify and tag, not for causal-lm"):
        start("causal-lm", "x", text_options=TextOptions(features=both))
    with pytest.raises(ValueError, match="feature_layers='last' is for classify and tag, not for"):
        start("causal-lm", "x", text_options=TextOptions(feature_layers="last"))
    with pytest.raises(ValueError, match="feature_layers must be one of all, last, got 'top'"):
        TextOptions(feature_layers="top")  # type: ignore[arg-type]


def test_a_run_is_known_by_its_content(both: tuple[Path, Path], tmp_path: Path) -> None:
    forward, backward = (FeatureRun(RunDirectory(run), "all") for run in both)
    shutil.copytree(both[0], tmp_path / "copy")
    assert FeatureRun(RunDirectory(tmp_path / "copy"), "all").digest == forward.digest
    others = {backward.digest, FeatureRun(RunDirectory(both[0]), "last").digest}
    assert len({forward.digest, *others}) == 3


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_a_translation_gives_features_beside_word_vectors(
    start: Callable[..., Any], tmp_path: Path, runs: dict[str, Path]
) -> None:
    pairs = Corpus(Pairs(LINES, LINES[::-1], "pairs"), None)
    settings = {"overrides": BOTH_SIZES, "vocab_size": VOCABULARY}
    translation = tmp_path / "translation"
    train(pairs, translation, options=TrainOptions(max_steps=1, max_length=32), **settings)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} {' '.join(16 * ['0.5'])}\n" for word in WORDS))
    start(
        "classify",
        "cove",
        LABELLED,
        options=QUICK,
        init_vectors=vectors,
        text_options=TextOptions(features=(translation, runs["masked-lm"]), feature_layers="last"),
    )
    model, encoder = read(tmp_path / "cove")
    assert [(one.num_layers, one.width) for one in model.config.features] == [(1, 16), (1, 16)]
    assert model.count_params() == model.config.parameter_count
    assert len(encoder.classify(LINES[:2])) == 2
