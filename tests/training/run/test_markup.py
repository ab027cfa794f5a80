"""A run with slots, noise and soft terms: its vocabulary, what is recorded, an exact resumption."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.subwords.slots import SLOTS, TERM_MARKS
from keras_transformer.text.training_text import TrainingText
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

pytestmark = pytest.mark.usefixtures("few_updates")

SIZES = {"model_dim": 8, "feed_forward_dim": 8, "num_heads": 2}
SIZES |= {"num_encoder_layers": 1, "num_decoder_layers": 1}
SOURCES = [f"open {a} in <b>{b}</b>" for a in ("%s", "%d", "{x}") for b in ("%1", "it", "all")]
TARGETS = [f"<b>{b}</b>: {a} read" for a in ("%s", "%d", "{x}") for b in ("%1", "it", "all")]
CORPUS = Corpus(Pairs(SOURCES * 3, TARGETS * 3, "w"), Pairs(SOURCES[:3], TARGETS[:3], "w"))


def run(directory: Path, max_steps: int, **options: Any) -> Any:
    given = {"batch_tokens": 96, "checkpoint_steps": 1, "bleu_sentences": 0, "r_drop": 0.0}
    given |= {"learning_rate": 0.01, "warmup_steps": 4, "deterministic": True, "markup": "auto"}
    given |= {"noise": ["capitals=0.5", "emoji=0.5", "typos=0.5"], "soft_terms": 0.5}
    chosen = TrainOptions(max_steps=max_steps, **{**given, **options})
    sizes: dict[str, Any] = {"overrides": SIZES, "tokenizer_type": "char"}
    return train(CORPUS, directory, options=chosen, resume=True, **sizes).model


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, few_updates: None) -> tuple[Path, Any]:
    directory = tmp_path_factory.mktemp("run")
    return directory, run(directory, 2)


def test_the_run_holds_slots_and_the_profile(finished: tuple[Path, Any]) -> None:
    directory, model = finished
    source, _ = RunDirectory(directory).load_tokenizers()
    assert model.config.special_ids.slots == source.special_ids.slots
    assert source.pieces(source.special_ids.slots) == list(SLOTS)
    seen = RunDirectory(directory).load_training_text()
    assert seen is not None and (seen.markup, seen.span_patterns) == ("auto", ())
    assert seen.soft_terms == 0.5
    assert source.pieces(source.special_ids.term_marks) == list(TERM_MARKS)


def test_a_resumed_run_is_the_same_to_the_last_bit(
    finished: tuple[Path, Any], tmp_path: Path
) -> None:
    run(tmp_path, 1)
    resumed = run(tmp_path, 2)
    for own, other in zip(resumed.weights, finished[1].weights, strict=True):
        np.testing.assert_array_equal(own, other)


def test_another_profile_is_another_run(finished: tuple[Path, Any]) -> None:
    with pytest.raises(ValueError, match="markup"):
        run(finished[0], 6, markup="html")


def test_noise_is_in_the_vocabulary_and_in_the_record(finished: tuple[Path, Any]) -> None:
    source, _ = RunDirectory(finished[0]).load_tokenizers()
    assert "O" in source.pieces(range(source.vocab_size))
    options = RunDirectory(finished[0]).load_training()["options"]
    assert options["noise"] == ["typos=0.5", "capitals=0.5", "emoji=0.5"]


def test_other_noise_is_another_run(finished: tuple[Path, Any]) -> None:
    with pytest.raises(ValueError, match="noise"):
        run(finished[0], 6, noise=["capitals=0.5"])


@pytest.mark.exhaustive
def test_a_run_without_slots_is_no_start_for_one_with_them(tmp_path: Path) -> None:
    run(tmp_path / "plain", 1, markup=None, soft_terms=None)
    for asked, message in (
        ({"markup": "auto"}, "markup='auto' needs a vocabulary with slots"),
        ({"soft_terms": 0.5}, "soft_terms=0.5 needs a vocabulary with marks of terms"),
    ):
        options = TrainOptions(max_steps=2, **asked)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=message):
            train(CORPUS, tmp_path / "tuned", init=tmp_path / "plain", options=options)


def test_a_run_that_starts_from_one_keeps_its_profile_unless_it_names_another(
    finished: tuple[Path, Any], tmp_path: Path
) -> None:
    for markup, kept in ((None, "auto"), ("plain", "plain")):
        options = TrainOptions(markup=markup, rehearsal=0.0)  # type: ignore[arg-type]
        given: dict[str, Any] = {"options": options, "dry_run": True, "verbose": 0}
        planned = train(CORPUS, tmp_path / "run", init=finished[0], **given)
        assert planned.params["options"]["markup"] == kept
        assert planned.params["options"]["soft_terms"] == 0.5


def test_what_a_trained_model_keeps_is_taken_with_its_patterns() -> None:
    seen = TrainingText(longest_source=5, sentences=(1,), markup="html", span_patterns=("a+",))
    options = TrainOptions().with_spans_of(seen)
    assert (options.markup, options.span_pattern) == ("html", ("a+",))
    for own in (TrainOptions(markup="plain"), TrainOptions(markup="qt")):
        assert own.with_spans_of(seen) == own
    assert TrainOptions().with_spans_of(None) == TrainOptions()


def test_patterns_need_a_profile() -> None:
    with pytest.raises(ValueError, match="give markup"):
        TrainOptions(span_pattern=("a+",))
