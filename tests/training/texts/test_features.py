"""Classifiers and taggers with the states of finished runs: learnt, resumed, asked, refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs
from single_texts import BOTH_SIZES, LABELLED, LABELS, LINES, PLAIN, SIZES, VOCABULARY, WORDS

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

QUICK = {"max_steps": 2, "checkpoint_steps": 1}
TAGS = [["X" if word > "b" else "Y" for word in line.split()] for line in LINES]
TAGGED = TaggedTexts([line.split() for line in LINES], TAGS, "tagged")
PAIRS = LabelledTexts(LABELS, LINES, LINES[::-1], "pairs")


@pytest.fixture(scope="module")
def both(runs: dict[str, Path]) -> tuple[Path, Path]:
    """Runs of causal-lm of one update, forward and backward."""
    backward = runs["causal-lm"].with_name("backward")
    with without_graphs():
        train_texts(
            "causal-lm",
            PLAIN,
            backward,
            overrides={**SIZES, "max_positions": 32},
            vocab_size=VOCABULARY,
            options=TrainOptions(max_steps=1, max_length=32),
            text_options=TextOptions(direction="backward"),
        )
    return runs["causal-lm"], backward


def read(run: Path, **more: Any) -> tuple[Any, TextEncoder]:
    model, tokenizer, _ = load_run(run)
    return model, TextEncoder(model, tokenizer, features=RunFeatures(run), **more)


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
    start: Callable[..., Any], tmp_path: Path, both: tuple[Path, Path]
) -> None:
    settings: dict[str, Any] = {"text_options": TextOptions(features=both)}
    start("classify", "elmo", LABELLED, options=QUICK, **settings)
    states = list((tmp_path / "elmo" / "features").glob("*.states"))
    before = {path: path.stat().st_mtime_ns for path in states}
    assert len(before) == 4
    start("classify", "elmo", LABELLED, options={**QUICK, "max_steps": 3}, resume=True, **settings)
    assert before == {path: path.stat().st_mtime_ns for path in states}
    # Another order of the runs, and other layers, are other features.
    for other in ({"features": both[::-1]}, {"features": both, "feature_layers": "last"}):
        with pytest.raises(ValueError, match="was started with features="):
            start(
                "classify",
                "elmo",
                LABELLED,
                options={**QUICK, "max_steps": 3},
                resume=True,
                text_options=TextOptions(**other),
            )


@pytest.mark.usefixtures("few_updates")
@pytest.mark.parametrize(
    "corpus", [LABELLED, pytest.param(LabelledCorpus(PAIRS), marks=pytest.mark.exhaustive)]
)
def test_batches_hold_the_states_that_words_have_live(
    start: Callable[..., Any],
    tmp_path: Path,
    both: tuple[Path, Path],
    corpus: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[TrainingData] = []
    original = TextTask.read
    monkeypatch.setattr(TextTask, "read", lambda *given: seen.append(original(*given)) or seen[-1])
    start("classify", "elmo", corpus, options=QUICK, text_options=TextOptions(features=both))
    encoder = read(tmp_path / "elmo")[1]
    texts = corpus.train
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
def test_answers_do_not_depend_on_the_batch(
    start: Callable[..., Any], tmp_path: Path, both: tuple[Path, Path]
) -> None:
    start("classify", "elmo", LABELLED, options=QUICK, text_options=TextOptions(features=both))
    encoder = read(tmp_path / "elmo")[1]
    texts = [LINES[0], "", LINES[0] + " " + LINES[30], "deb"]
    together = [one.probability for one in encoder.classify(texts)]
    alone = [encoder.classify([text])[0].probability for text in texts]
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_what_reads_a_run_with_features_needs_them(
    start: Callable[..., Any], tmp_path: Path, both: tuple[Path, Path]
) -> None:
    with without_graphs():
        start("classify", "elmo", LABELLED, options=QUICK, text_options=TextOptions(features=both))
    model, tokenizer, _ = load_run(tmp_path / "elmo")
    with pytest.raises(ValueError, match="reads features of 2 other runs: give features="):
        TextEncoder(model, tokenizer)
    with pytest.raises(ValueError, match="reads no features of other runs"):
        RunFeatures(both[0])
    for export in (
        lambda: export_onnx(model, tokenizer, tmp_path / "onnx"),
        lambda: export_saved_model(tmp_path / "elmo", tmp_path / "saved"),
        lambda: export_pretrained(tmp_path / "elmo", tmp_path / "hf", format="huggingface"),
    ):
        with pytest.raises(ValueError, match="a model with features reads words with other models"):
            export()
    with pytest.raises(ValueError, match="cannot give features: give those runs"):
        start(
            "tag",
            "x",
            TaggedCorpus(TAGGED),
            text_options=TextOptions(features=(tmp_path / "elmo",)),
        )
    with pytest.raises(ValueError, match="give texts, not ids"):
        read(tmp_path / "elmo")[1].states_of_ids([[7]])


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
