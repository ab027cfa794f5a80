"""`train` chooses the task by the corpus and what else is given; what does not fit is refused."""

from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts, TextCorpus, Texts
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.run import train as module
from keras_transformer.training.run.train import train
from keras_transformer.training.texts.options import TextOptions

PAIRS = Corpus(Pairs(["ab"], ["ba"], "pairs"))
PLAIN = TextCorpus(Texts(["ab"], "texts"))
LABELLED = LabelledCorpus(LabelledTexts(["x", "y"], ["a", "b"], None, "rows"))
TAGGED = TaggedCorpus(TaggedTexts([("a", "b")], [("D", "N")], "words"))


def prepared(*, is_single: bool) -> PreparedCorpus:
    corpus = object.__new__(PreparedCorpus)
    record = type("Record", (), {"is_single": is_single})()
    object.__setattr__(corpus, "record", record)
    return corpus


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`chosen(corpus, **given)`: the task that would be trained and what it is given."""

    def translation(corpus: Any, directory: Path, **given: Any) -> Any:
        return "translation", given

    def texts(task: str, corpus: Any, directory: Path, **given: Any) -> Any:
        return task, given

    monkeypatch.setattr(module, "train_translation", translation)
    monkeypatch.setattr(module, "train_texts", texts)
    return lambda corpus, **given: train(corpus, tmp_path, **given)


@pytest.mark.parametrize(
    ("corpus", "given", "task"),
    [
        (PAIRS, {}, "translation"),
        (PAIRS, {"task": "embed"}, "embed"),
        (PAIRS, {"preset": "small", "tokenizers": ("a", "b")}, "translation"),
        (LABELLED, {}, "classify"),
        (LABELLED, {"text_options": TextOptions(class_weights="balanced")}, "classify"),
        (TAGGED, {}, "tag"),
        (PLAIN, {"task": "denoising"}, "denoising"),
        (PLAIN, {"preset": "bert-tiny"}, "masked-lm"),
        (PLAIN, {"preset": "gpt2"}, "causal-lm"),
        (PLAIN, {"preset": "llama-tiny", "tokenizer": "one"}, "causal-lm"),
        (PLAIN, {"preset": "small"}, "denoising"),
        (PLAIN, {"text_options": TextOptions(next_sentence=True)}, "masked-lm"),
        (PLAIN, {"text_options": TextOptions(packing="stream")}, "causal-lm"),
        (PLAIN, {"text_options": TextOptions(denoising="prefix")}, "denoising"),
        (PLAIN, {"preset": "gpt2", "text_options": TextOptions()}, "causal-lm"),
        (prepared(is_single=False), {}, "translation"),
        (prepared(is_single=True), {"preset": "gpt2"}, "causal-lm"),
    ],
)
def test_the_corpus_and_the_options_choose_the_task(
    chosen: Any, corpus: Any, given: dict[str, Any], task: str
) -> None:
    found, arguments = chosen(corpus, **given)
    assert found == task
    assert {**arguments, **given, "task": None} == {**arguments, "task": None}


def test_plain_texts_are_for_the_family_of_the_run_to_start_from(
    chosen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunDirectory, "check_finished", lambda run: None)
    monkeypatch.setattr(RunDirectory, "load_config", lambda run: DecoderConfig(vocab_size=30))
    assert chosen(PLAIN, init="runs/gpt")[0] == "causal-lm"
    assert chosen(PLAIN, init="runs/gpt", task="masked-lm")[0] == "masked-lm"


@pytest.mark.parametrize(
    ("corpus", "given", "error", "message"),
    [
        (PLAIN, {}, ValueError, "task must be one of masked-lm, .* denoising for plain"),
        (PLAIN, {"preset": "huge"}, ValueError, "got None.* name the task, or a preset of its"),
        (PLAIN, {"init": "nowhere"}, FileNotFoundError, "nowhere"),
        (
            PLAIN,
            {"text_options": TextOptions(class_weights="balanced")},
            ValueError,
            "task must be one of masked-lm",
        ),
        (PAIRS, {"task": "translate"}, ValueError, "task must be one of translation, .* 'transl"),
        (["ab"], {}, TypeError, r"got list: wrap pairs as Corpus\(train=pairs\), texts as"),
        (
            PAIRS,
            {"text_options": TextOptions()},
            ValueError,
            "text_options is for tasks on single texts, not for translation, got a TextOptions: le",
        ),
        (PAIRS, {"tokenizer": 3}, ValueError, r"got 3: give tokenizers=\(source, target\)"),
        (
            LABELLED,
            {"tokenizers": ("a", "b")},
            ValueError,
            "tokenizers is for translation, not for classify, got a tuple: give tokenizer, one",
        ),
        (TAGGED, {"joint_vocabulary": False}, ValueError, "for tag, got False: leave it out"),
        (
            LABELLED,
            {"teacher": Path("runs/a")},
            ValueError,
            "teacher is for translation, .* runs/a",
        ),
        (PLAIN, {"task": "causal-lm", "word_level": 0.25}, ValueError, "word_level .* got 0.25"),
        (LABELLED, {"init_decoder": "a"}, ValueError, "init_decoder is for translation"),
        (LABELLED, {"init_target_vectors": "a"}, ValueError, "init_target_vectors is for transl"),
    ],
)
def test_what_does_not_fit_is_named(
    chosen: Any, corpus: Any, given: dict[str, Any], error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        chosen(corpus, **given)
