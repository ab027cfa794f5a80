"""Options of training on single texts that do not fit the task or the text."""

from pathlib import Path
from typing import Any

import pytest
from single_texts import PLAIN

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.texts.model_config import in_trained_order, text_model_config
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.train import train_texts


def test_one_document_is_refused_for_next_sentences(start) -> None:
    with pytest.raises(ValueError, match="train has one document only: separate documents"):
        start("masked-lm", "run", text_options=TextOptions(next_sentence=True))


def test_a_task_that_there_is_not_is_named(start) -> None:
    with pytest.raises(ValueError, match="task must be one of masked-lm, .* got 'mlm'"):
        start("mlm", "run")


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ("masked-lm", "TextCorpus"),
        ("causal-lm", "TextCorpus"),
        ("denoising", "TextCorpus"),
        ("classify", "LabelledCorpus"),
        ("tag", "TaggedCorpus"),
    ],
)
def test_a_corpus_of_another_task_is_refused_at_once(
    start, tmp_path: Path, task: str, wanted: str
) -> None:
    pairs = Corpus(Pairs(["ab"], ["ba"], "pairs"))
    with pytest.raises(TypeError, match=f"corpus must be a {wanted} for {task}, got Corpus"):
        start(task, "run", pairs)
    with pytest.raises(TypeError, match="corpus must be a Corpus for embed, got TextCorpus"):
        start("embed", "run")
    assert not (tmp_path / "run").exists()


def test_sentences_to_translate_are_refused(tmp_path: Path) -> None:
    options = TrainOptions(max_steps=1, bleu_sentences=9)
    with pytest.raises(ValueError, match="bleu_sentences=9 are translated, and causal-lm"):
        train_texts("causal-lm", PLAIN, tmp_path / "run", options=options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("causal-lm", {"masking": "spans"}, "masking='spans' is for masked-lm, not for causal-lm"),
        (
            "masked-lm",
            {"packing": "stream"},
            "packing='stream' is for causal-lm, not for masked-lm",
        ),
        (
            "masked-lm",
            {"denoising": "sentinels"},
            "denoising='sentinels' is for denoising, not for masked-lm",
        ),
        ("masked-lm", {"masking": "phrases"}, "phrases must name a file, one phrase a line"),
        ("masked-lm", {"phrases": "p.txt"}, "phrases is for masking='phrases', not for 'tokens'"),
        ("causal-lm", {"phrases": Path("p.txt")}, "phrases='p.txt' is for masked-lm, not"),
        (
            "causal-lm",
            {"next_sentence": True},
            "next_sentence=True is for masked-lm, not for causal-lm",
        ),
    ],
)
def test_options_of_other_tasks_are_refused(start, task: Any, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        start(task, "run", text_options=TextOptions(**options))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"masking": "words"}, ValueError, "masking must be one of tokens, whole-words, spans"),
        ({"packing": "all"}, ValueError, "packing must be one of none, documents, stream, got"),
        ({"denoising": "bart"}, ValueError, "denoising must be one of infilling, sentinels"),
        ({"next_sentence": "no"}, TypeError, "next_sentence must be True or False, got 'no'"),
    ],
)
def test_options_that_there_are_not_are_named(options: dict, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        TextOptions(**options)


def test_a_field_of_another_family_is_named(start) -> None:
    with pytest.raises(ValueError, match="num_decoder_layers: an encoder has no such field"):
        start("masked-lm", "bert", overrides={"num_decoder_layers": 2})
    message = "n_layers: a decoder has no such field, .*; did you mean 'num_layers'?"
    with pytest.raises(ValueError, match=message):
        start("causal-lm", "gpt", overrides={"n_layers": 2})


@pytest.mark.parametrize("labels", [("joy", "love"), ("fear, joy", "love")])
def test_a_model_of_several_labels_is_not_trained_on_single_ones(labels: tuple[str, ...]) -> None:
    sizes: dict[str, Any] = {"vocab_size": 30, "labels": ("joy", "fear")}
    trained = EncoderConfig(head="classification", multi_label=True, **sizes)
    with pytest.raises(ValueError, match="multi_label=True.*give --multi-label"):
        in_trained_order({"labels": labels}, trained)
    several = {"labels": ("fear", "joy"), "multi_label": True}
    assert in_trained_order(several, trained)["labels"] == ("joy", "fear")
    other = {"labels": ("pet", "food")}
    assert in_trained_order(other, trained) == other


def test_a_classifier_starts_from_a_model_of_vectors_with_layers_behind_them() -> None:
    trained = EncoderConfig(vocab_size=30, head="embedding", dense=({"out_dim": 4},))
    head = {"head": "classification", "labels": ("joy", "love")}
    config = text_model_config(
        EncoderConfig,
        "bert-tiny",
        None,
        start=trained,
        head=head,
        vocab_size=30,
        special_ids=trained.special_ids,
        max_length=9,
    )
    assert (config.dense, config.labels) == ((), ("joy", "love"))
