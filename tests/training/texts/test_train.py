"""Training on single texts: whole runs in small, broken and resumed, and started from another."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.data.encoding.single_texts import EncodedTexts
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
# Every fifth line is empty.
PARTED = [
    line for number, line in enumerate(LINES) for line in ([line, ""][: 1 + (number % 4 == 3)])
]
DOCUMENTS = TextCorpus(Texts(PARTED, "documents"), Texts(PARTED[:20], "valid"))
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


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """Finished runs of one update: "masked-lm" and "causal-lm"."""
    folder = tmp_path_factory.mktemp("runs")
    made = {}
    for task in ("masked-lm", "causal-lm"):
        made[task] = folder / task
        train_texts(
            task,  # type: ignore[arg-type]
            PLAIN,
            made[task],
            overrides={**SIZES, "max_positions": 32},
            vocab_size=VOCABULARY,
            options=TrainOptions(max_steps=1, max_length=32),
        )
    return made


def encode(task: str, texts: Any, **options: Any) -> EncodedTexts:
    """Returns the rows of a task, without a run."""
    asked = TextOptions(**options)
    sentinels = asked.num_sentinels
    tokenizer = train_tokenizer(
        LINES, VOCABULARY + sentinels, has_mask=True, num_sentinels=sentinels
    )
    kind = KINDS[task]
    head = {} if kind.family is DecoderConfig else kind.head(SimpleNamespace(train=texts), asked)
    size, special_ids = tokenizer.vocab_size, tokenizer.special_ids
    config = kind.family.preset(
        kind.default_preset, vocab_size=size, special_ids=special_ids, **head
    )
    return kind.encode(texts, tokenizer, config, 32, asked)


def flat(batch: Any) -> list[np.ndarray]:
    inputs, labels, weights_ = batch
    return [np.asarray(part) for part in (*inputs.values(), labels, weights_)]


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


@pytest.mark.parametrize(
    ("task", "texts", "options"),
    [
        ("masked-lm", PLAIN.train, {}),
        ("masked-lm", PLAIN.train, {"masking": "whole-words"}),
        ("masked-lm", PLAIN.train, {"masking": "spans"}),
        ("masked-lm", DOCUMENTS.train, {"next_sentence": True}),
        ("causal-lm", PLAIN.train, {"packing": "stream"}),
        ("classify", LABELLED.train, {}),
        ("denoising", PLAIN.train, {}),
        ("denoising", PLAIN.train, {"denoising": "sentinels"}),
        ("denoising", PLAIN.train, {"denoising": "prefix"}),
    ],
)
def test_batches_go_on_after_a_break_as_if_there_had_been_none(
    task: str, texts: Any, options: dict
) -> None:
    encoded = encode(task, texts, **options)
    steps = 13
    assert 1 < batches_per_epoch(encoded, 96) < steps
    whole = list(training_batches(encoded, 96, seed=4).take(steps))
    for done in (5, 11):
        rest = list(training_batches(encoded, 96, seed=4, start_step=done).take(steps - done))
        for one, two in zip(whole[done:], rest, strict=True):
            for left, right in zip(flat(one), flat(two), strict=True):
                np.testing.assert_array_equal(left, right)


def test_each_epoch_masks_anew_and_holds_every_text_once() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    count = batches_per_epoch(encoded, 96)
    batches = list(training_batches(encoded, 96, seed=4).take(2 * count))
    for epoch in (batches[:count], batches[count:]):
        assert sum(len(labels) for _, labels, _ in epoch) == len(encoded)
    assert len({flat(batch)[0].tobytes() for batch in batches}) == 2 * count


def test_lines_of_a_batch_are_those_that_it_holds() -> None:
    encoded = encode("classify", LABELLED.train)
    inputs, _, _ = next(iter(training_batches(encoded, 96, seed=4, start_step=2)))
    lines = batch_pairs(encoded, 96, 4, 2)
    for row, line in zip(inputs["token_ids"].numpy(), lines, strict=True):
        np.testing.assert_array_equal(row[row != 0], encoded.rows[int(line)])


def test_workers_share_the_batch_of_one() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    whole = flat(next(iter(training_batches(encoded, 96, seed=4))))
    for index in range(2):
        share = flat(next(iter(training_batches(encoded, 96, seed=4, worker=(index, 2)))))
        for part, all_rows in zip(share, whole, strict=True):
            np.testing.assert_array_equal(part, all_rows[index::2])


def test_validation_masks_are_always_the_same() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    first, again = list(evaluation_batches(encoded, 64)), list(evaluation_batches(encoded, 64))
    assert sum(len(labels) for _, labels, _ in first) == len(encoded)
    for one, two in zip(first, again, strict=True):
        for left, right in zip(flat(one), flat(two), strict=True):
            np.testing.assert_array_equal(left, right)


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
    )
    # The size is that of the run, without its preset.
    assert (model.config.model_dim, model.config.max_positions) == (16, 32)
    assert (model.config.labels, model.config.head) == (("early", "late"), "classification")
    assert "new: head/linear/kernel (not in the trained model)" in capsys.readouterr().out
    record = json.loads((tmp_path / "labels" / "training.json").read_text())
    assert "encoder/block_0/attention/query/kernel" in record["transfer"]["taken"]
    assert {path.split("/")[0] for path in record["transfer"]["fresh"]} == {"pooler", "head"}
    assert record["transfer"]["unused"] and record["start"]["init_sha256"]
    assert record["history"]["val_token_accuracy"][-1] > 0.9


def labelled(early: str, late: str) -> LabelledCorpus:
    labels = [early if label == "early" else late for label in LABELS]
    return LabelledCorpus(LabelledTexts(labels, LINES, None, "train"))


def test_a_head_of_other_labels_is_new_and_learns_under_low_rank_adaptation(
    start, tmp_path: Path, capsys
) -> None:
    start("classify", "first", labelled("neg", "pos"))
    begun = weights(load_run(tmp_path / "first")[0])
    capsys.readouterr()
    options = {"lora_rank": 2, "average_checkpoints": 1}
    model = start(
        "classify", "other", labelled("anger", "joy"), init=tmp_path / "first", options=options
    )
    assert "new: head/linear/kernel (trained for other labels)" in capsys.readouterr().out
    transfer = json.loads((tmp_path / "other" / "training.json").read_text())["transfer"]
    assert {path.split("/")[0] for path in transfer["fresh"]} == {"head", "pooler"}
    assert {path.split("/")[0] for path in transfer["unused"]} == {"head", "pooler"}
    initial = start(
        "classify",
        "begun",
        labelled("anger", "joy"),
        init=tmp_path / "first",
        options={**options, "max_steps": 1, "learning_rate": 1e-30},
    )
    for path, weight in weights(model).items():
        if path in transfer["fresh"]:
            assert np.any(weight != begun[path]) and np.any(weight != weights(initial)[path])
        elif path.startswith("embeddings/"):
            np.testing.assert_array_equal(weight, begun[path])


def test_a_head_of_the_same_labels_is_taken_in_the_order_of_the_run(start, tmp_path: Path) -> None:
    still = {"options": {"max_steps": 1, "learning_rate": 1e-30, "average_checkpoints": 1}}
    start("classify", "first", labelled("neg", "pos"), overrides={"labels": ("pos", "neg")})
    model = start("classify", "again", labelled("neg", "pos"), init=tmp_path / "first", **still)
    assert model.config.labels == ("pos", "neg")
    begun = weights(load_run(tmp_path / "first")[0])
    for path, weight in weights(model).items():
        np.testing.assert_array_equal(weight, begun[path])
    record = json.loads((tmp_path / "again" / "training.json").read_text())
    assert not record["transfer"]["fresh"]


def test_texts_are_resumed_as_they_were_and_a_finished_run_stays(start, tmp_path: Path) -> None:
    start("classify", "run", labelled("neg", "pos"), options={"max_steps": 3})
    with pytest.raises(ValueError, match="was started on other text"):
        start("classify", "run", labelled("pos", "neg"), resume=True)
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    before = (tmp_path / "run" / "config.json").read_bytes()
    with pytest.raises(FileExistsError, match="no checkpoint to resume from"):
        start("classify", "run", labelled("a", "b"), resume=True)
    assert (tmp_path / "run" / "config.json").read_bytes() == before


@pytest.mark.exhaustive
def test_a_resumed_run_of_next_sentences_is_the_unbroken_one(start, tmp_path: Path) -> None:
    asked = {"text_options": TextOptions(next_sentence=True)}
    whole = start("masked-lm", "whole", DOCUMENTS, **asked)
    start("masked-lm", "broken", DOCUMENTS, options={"max_steps": 3}, **asked)
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = start("masked-lm", "broken", DOCUMENTS, resume=True, **asked)
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])


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


def test_phrases_of_a_file_are_hidden_and_those_that_are_found_are_told(
    start, tmp_path: Path, capsys
) -> None:
    (tmp_path / "phrases.txt").write_text("ab ba\ncad dac\nno such\n", encoding="utf-8")
    options = TextOptions(masking="phrases", phrases=tmp_path / "phrases.txt")
    start("masked-lm", "run", options={"max_steps": 1}, text_options=options)
    told = capsys.readouterr().out
    assert "phrases: 2 of 3 are in train" in told and "phrases: " in told.split("in train")[1]
    (tmp_path / "phrases.txt").write_text("ab ba\n", encoding="utf-8")
    with pytest.raises(ValueError, match="started with phrases='"):
        start("masked-lm", "run", resume=True, text_options=options)


def test_one_document_is_refused_for_next_sentences(start) -> None:
    with pytest.raises(ValueError, match="train has one document only: separate documents"):
        start("masked-lm", "run", text_options=TextOptions(next_sentence=True))


def test_tags_stand_at_the_first_token_of_each_word() -> None:
    words = [line.split() for line in LINES]
    tags = [["LONG" if len(word) > 2 else "SHORT" for word in row] for row in words]
    encoded = encode("tag", TaggedTexts(words, tags, "tagged"))
    tokenizer = train_tokenizer(LINES, VOCABULARY, has_mask=True)
    for inputs, labels, weights_ in evaluation_batches(encoded, 64):
        ids, labels, places = inputs["token_ids"].numpy(), labels.numpy(), weights_.numpy() == 1
        for row in range(len(ids)):
            pieces = tokenizer.pieces(ids[row].tolist())
            firsts = [place for place, piece in enumerate(pieces) if piece.startswith("\u2581")]
            assert np.flatnonzero(places[row]).tolist() == firsts
            [text] = tokenizer.decode([ids[row].tolist()])
            assert labels[row][firsts].tolist() == [len(word) <= 2 for word in text.split()]


def test_the_longest_text_counts_no_special_ids() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    assert encoded.longest_text == encoded.lengths.max() - 2


def test_pairs_have_token_types() -> None:
    encoded = encode("classify", LabelledTexts(LABELS, LINES, LINES[::-1], "pairs"))
    inputs, _, _ = next(iter(evaluation_batches(encoded, 64)))
    ids, types = inputs["token_ids"].numpy(), inputs["token_type_ids"].numpy()
    for row, kinds in zip(ids, types, strict=True):
        first, second = np.flatnonzero(row == encoded.special_ids.eos)
        assert kinds.tolist() == [0] * (first + 1) + [1] * (second - first) + [0] * (
            len(row) - second - 1
        )


def test_sentences_to_translate_are_refused(tmp_path: Path) -> None:
    options = TrainOptions(max_steps=1, bleu_sentences=9)
    with pytest.raises(ValueError, match="bleu_sentences=9 are translated, and causal-lm"):
        train_texts("causal-lm", PLAIN, tmp_path / "run", options=options)
    assert not (tmp_path / "run").exists()


def test_a_tagger_and_a_denoiser_train(start, tmp_path: Path) -> None:
    words = [line.split() for line in LINES]
    tags = [["X" if word < "b" else "Y" for word in row] for row in words]
    corpus = TaggedCorpus(TaggedTexts(words, tags, "tagged"))
    assert start("tag", "tags", corpus, options={"max_steps": 1}).config.labels == ("X", "Y")
    sizes = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2}
    sizes |= {"num_encoder_layers": 1, "num_decoder_layers": 1}
    options = TrainOptions(max_steps=1, bleu_sentences=0, max_length=32)
    train_texts(
        "denoising",
        PLAIN,
        tmp_path / "denoising",
        overrides=sizes,
        vocab_size=VOCABULARY,
        options=options,
    )
    model = train(
        Corpus(Pairs(LINES[:20], LINES[20:40], "pairs")),
        tmp_path / "translation",
        overrides=sizes,
        init=tmp_path / "denoising",
        options=options,
    )
    assert model.config.special_ids.mask == 4


def test_span_corruption_gives_the_vocabulary_sentinels_and_needs_them(
    start, tmp_path: Path
) -> None:
    asked = {"text_options": TextOptions(denoising="sentinels")}
    sizes = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2}
    sizes |= {"num_encoder_layers": 1, "num_decoder_layers": 1}
    options = TrainOptions(max_steps=1, bleu_sentences=0, max_length=32)
    train_texts(
        "denoising",
        PLAIN,
        tmp_path / "run",
        overrides=sizes,
        vocab_size=VOCABULARY + 100,
        options=options,
        **asked,
    )
    _, tokenizer, _ = load_run(tmp_path / "run")
    assert len(tokenizer.sentinel_ids) == 100 and tokenizer.special_ids.mask == 4
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert record["data"]["denoising"] == "sentinels"
    tokenizer = train_tokenizer(LINES, VOCABULARY, has_mask=True)
    with pytest.raises(ValueError, match="the vocabulary has no sentinels"):
        train_texts(
            "denoising",
            PLAIN,
            tmp_path / "other",
            overrides=sizes,
            tokenizer=tokenizer,
            options=options,
            **asked,
        )


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
        (
            "masked-lm",
            {"denoising": "sentinels"},
            "denoising='sentinels' is for denoising, not for masked-lm",
        ),
        ("masked-lm", {"masking": "phrases"}, "phrases must name a file, one phrase a line"),
        ("masked-lm", {"phrases": "p.txt"}, "phrases is for masking='phrases', not for 'tokens'"),
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
