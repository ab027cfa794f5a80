"""Training from what exists: tokenizers of one's own, and the weights of a finished run."""

import re
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.prepare import prepare
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.streams import ParallelFiles
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.training.recipes import fine_tuning
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

pytestmark = pytest.mark.usefixtures("few_updates", "without_workers")

LAYERS = {"num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
SIZES = {"model_dim": 8, "feed_forward_dim": 12, **LAYERS}
DROPPING = {**SIZES, "dropout": 0.3}
WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]
CORPUS = Corpus(Pairs(LINES[:30], LINES[:30], "words"), Pairs(LINES[30:], LINES[30:], "words"))
OPTIONS = {
    "batch_tokens": 48,
    "bleu_sentences": 0,
    "learning_rate": 0.01,
    "warmup_steps": 4,
    "rehearsal": 0.0,
}


class Stop(keras.callbacks.Callback):
    """Ends a process's part of a run before a given update, as a kill does."""

    def __init__(self, update: int) -> None:
        super().__init__()
        self.update = update

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if int(self.model.optimizer.iterations) == self.update:
            raise KeyboardInterrupt


def run_training(directory: Path, **given: Any) -> Any:
    """Trains for four updates with a checkpoint after each two, unless told otherwise."""
    options = {"max_steps": 4, "checkpoint_steps": 2, **given.pop("options", {})}
    given = {"overrides": SIZES, **given}
    return train(CORPUS, directory, options=TrainOptions(**OPTIONS, **options), **given).model


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES, vocab_size=13)


@pytest.fixture(scope="module")
def general(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """A finished run of one update, with a tokenizer of its own."""
    directory = tmp_path_factory.mktemp("general")
    run_training(directory, tokenizers=(tokenizer, tokenizer), options={"max_steps": 1})
    return directory


def same_weights(one: Any, other: Any) -> bool:
    pairs = zip(one.get_weights(), other.get_weights(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_a_given_tokenizer_is_the_runs(general: Path, tokenizer: Tokenizer) -> None:
    model, source, target = load_run(general)
    assert source is target and source.model == tokenizer.model
    assert model.config.source_vocab_size == 13


@pytest.mark.exhaustive
def test_two_given_tokenizers_stay_two(tmp_path: Path, tokenizer: Tokenizer) -> None:
    other = train_tokenizer(LINES, vocab_size=12, model_type="bpe")
    run_training(tmp_path, tokenizers=(tokenizer, other), options={"max_steps": 1})
    model, source, target = load_run(tmp_path)
    assert (source.model, target.model) == (tokenizer.model, other.model)
    assert (model.config.source_vocab_size, model.config.target_vocab_size) == (13, 12)


def test_fine_tuning_starts_from_the_weights_of_the_run(general: Path, tmp_path: Path) -> None:
    still = {"max_steps": 1, "learning_rate": 1e-30}
    options = TrainOptions(**{**OPTIONS, **still})
    tuned = train(CORPUS, tmp_path, init=general, overrides=SIZES, options=options).model
    before, tokenizer, _ = load_run(general)
    assert same_weights(tuned, before)
    assert load_run(tmp_path)[1].model == tokenizer.model


def test_size_and_recipe_are_those_of_the_run_by_default(general: Path, tmp_path: Path) -> None:
    # Its sources are translated first, to be rehearsed.
    few = Corpus(Pairs(["ab"], ["ab"], "words"), CORPUS.valid)
    with pytest.raises(KeyboardInterrupt):
        train(few, tmp_path, init=general, callbacks=[Stop(0)])
    config = load_run(general)[0].config
    assert RunDirectory(tmp_path).load_config() == config
    recorded = RunDirectory(tmp_path).load_training()["options"]
    settings = fine_tuning(config).settings() | {"final_model": "auto"}
    assert {name: recorded[name] for name in settings} == settings


@pytest.fixture(scope="module")
def tuned(general: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An unbroken fine-tuning with dropout, which its run had less of."""
    return run_training(tmp_path_factory.mktemp("tuned"), init=general, overrides=DROPPING)


@pytest.mark.exhaustive
@pytest.mark.parametrize("stop", [1, 3], ids=["before the first checkpoint", "after it"])
def test_a_killed_fine_tuning_goes_on_as_if_nothing_had_happened(
    general: Path, tuned: Any, tmp_path: Path, stop: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_training(tmp_path, init=general, overrides=DROPPING, callbacks=[Stop(stop)])
    resumed = run_training(tmp_path, init=general, overrides=DROPPING, resume=True)
    for found, expected in zip(resumed.get_weights(), tuned.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.exhaustive
def test_a_fine_tuning_is_not_resumed_as_another_run(
    general: Path, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_training(tmp_path, init=general, callbacks=[Stop(1)], options={"checkpoint_steps": 1})
    with pytest.raises(ValueError, match="was started with init_sha256="):
        run_training(
            tmp_path,
            tokenizers=(tokenizer, tokenizer),
            resume=True,
            options={"checkpoint_steps": 1},
        )


def test_a_config_that_does_not_fit_is_refused_by_the_name_of_the_field(
    general: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="was trained with feed_forward_dim=12, not 16"):
        run_training(tmp_path / "tuned", init=general, overrides={**SIZES, "feed_forward_dim": 16})
    assert not (tmp_path / "tuned").exists()


def prepared_with(tokenizer: Path, directory: Path) -> PreparedCorpus:
    text = directory / "text"
    text.write_text("".join(f"{line}\n" for line in LINES[:30]), encoding="utf-8")
    prepare(
        ParallelFiles((text,), (text,)),
        directory / "prepared",
        tokenizers=(tokenizer,),
        options=PrepareOptions(shards=1),
        workers=1,
        say=lambda line: None,
    )
    return PreparedCorpus.load(directory / "prepared")


@pytest.mark.exhaustive
def test_a_corpus_prepared_with_the_runs_tokenizer_fine_tunes_it(
    general: Path, tmp_path: Path
) -> None:
    corpus = prepared_with(general / "tokenizer.model", tmp_path)
    still = {"max_steps": 1, "learning_rate": 1e-30}
    options = TrainOptions(**{**OPTIONS, **still})
    tuned = train(corpus, tmp_path / "run", init=general, overrides=SIZES, options=options).model
    before, tokenizer, _ = load_run(general)
    assert same_weights(tuned, before)
    assert load_run(tmp_path / "run")[1].model == tokenizer.model


def test_a_corpus_prepared_with_another_tokenizer_is_refused(general: Path, tmp_path: Path) -> None:
    other = train_tokenizer(LINES, vocab_size=13, model_type="bpe")
    other.save(tmp_path / "other.model")
    corpus = prepared_with(tmp_path / "other.model", tmp_path)
    advice = f"prepare it with the tokenizers of {general} (--tokenizer), or train on the text"
    with pytest.raises(ValueError, match=f"prepared with other tokenizers .* {re.escape(advice)}"):
        train(corpus, tmp_path / "run", init=general, overrides=SIZES)
    assert not (tmp_path / "run").exists()


def test_an_unfinished_run_is_no_start(general: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((general / "config.json").read_bytes())
    with pytest.raises(FileNotFoundError, match=r"model\.keras is missing: .* has not finished"):
        run_training(tmp_path / "tuned", init=tmp_path)


@pytest.mark.parametrize("wish", ["tokenizers", "vocab_size"])
def test_only_one_may_decide_the_vocabulary(
    general: Path, tmp_path: Path, tokenizer: Tokenizer, wish: str
) -> None:
    value: Any = {"tokenizers": (tokenizer, tokenizer), "vocab_size": 13}[wish]
    with pytest.raises(ValueError, match="both decide the vocabulary"):
        run_training(tmp_path, init=general, **{wish: value})


def test_subword_sampling_needs_a_tokenizer_that_has_several_segmentations(tmp_path: Path) -> None:
    import sentencepiece

    with (tmp_path / "word.model").open("wb") as writer:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES),
            model_writer=writer,
            model_type="word",
            vocab_size=10,
            minloglevel=2,
            **{"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3},
        )
    words = Tokenizer.load(tmp_path / "word.model")
    with pytest.raises(ValueError, match="subword_sampling needs a unigram or BPE model"):
        run_training(
            tmp_path / "run", tokenizers=(words, words), options={"subword_sampling": True}
        )
