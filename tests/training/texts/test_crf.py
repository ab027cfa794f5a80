"""Taggers that find the tags of a text together: learnt, resumed, read again and asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs

from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.decoding.encoder import TextEncoder
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.texts.options import TextOptions

# Only the word before tells whether "ab" goes on with a span.
PATTERNS = (
    "cad/O ab/O bed/B-X ab/I-X ba/O",
    "bed/B-X ab/I-X ab/I-X cad/O ab/O",
    "ba/O ab/O",
    "bed/B-X",
)
TEXTS = [[item.rpartition("/") for item in line.split()] for line in 8 * PATTERNS]
TAGGED = TaggedTexts(
    [[word for word, _, _ in row] for row in TEXTS],
    [[tag for *_, tag in row] for row in TEXTS],
    "example",
)
CORPUS = TaggedCorpus(TAGGED, TAGGED)
# Each pattern once: enough for a single update.
FEW = TaggedTexts(TAGGED.words[:4], TAGGED.tags[:4], "few")
SMALL = TaggedCorpus(FEW, FEW)
SETTINGS: dict[str, Any] = {
    "vocab_size": None,
    "text_options": TextOptions(crf=True),
    "overrides": {"dropout": 0.0, "attention_dropout": 0.0},
}
QUICK = {"max_steps": 1, "checkpoint_steps": 1, "max_length": 16}


@pytest.mark.exhaustive
def test_a_run_learns_tags_and_goes_on(start: Callable[..., Any], tmp_path: Path, capsys) -> None:
    options = {"checkpoint_steps": 40, "warmup_steps": 10, "max_length": 16}
    start("tag", "run", CORPUS, options={**options, "max_steps": 80}, **SETTINGS)
    with without_graphs():
        start("tag", "run", CORPUS, options={**options, "max_steps": 82}, resume=True, **SETTINGS)
    assert "example: the tags follow BIO\n" in capsys.readouterr().out
    history = json.loads((tmp_path / "run" / "training.json").read_text())["history"]
    assert history["val_tag_accuracy"][-1] > 0.95 and history["val_span_f1"][-1] > 0.95
    assert 0 <= history["val_loss"][-1] < 0.2
    model, tokenizer, _ = load_run(tmp_path / "run")  # A command tags in a process of its own.
    texts = [" ".join(words) for words in TAGGED.words[:4]]
    found = TextEncoder(model, tokenizer).tag(texts)
    assert [[one.tag for one in words] for words in found] == [*TAGGED.tags[:4]]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_parts_of_a_batch_make_the_same_update(start: Callable[..., Any]) -> None:
    given = {**SETTINGS, "options": {**QUICK, "batch_tokens": 512}}
    whole = start("tag", "whole", SMALL, **given)
    parts = start(
        "tag", "parts", SMALL, **{**given, "options": {**given["options"], "micro_batches": 2}}
    )
    assert np.abs(np.asarray(whole.head.chain.transitions)).max() > 0
    for one, other in zip(whole.head.chain.weights, parts.head.chain.weights, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-4)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_a_chain_begins_as_the_tagger_that_it_starts_from(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    plain = start("tag", "plain", SMALL, vocab_size=None, options=QUICK)
    assert not plain.config.crf
    start(
        "tag",
        "chained",
        SMALL,
        init=tmp_path / "plain",
        text_options=TextOptions(crf=True),
        options=QUICK,
    )
    record = json.loads((tmp_path / "chained" / "training.json").read_text())["transfer"]
    assert "head/linear/kernel" in record["taken"]
    assert {path for path in record["fresh"]} == {
        f"head/chain/{name}" for name in ("transitions", "starts", "ends")
    }
    again = start("tag", "again", SMALL, init=tmp_path / "chained", options=QUICK)
    assert not again.config.crf


@pytest.mark.parametrize(
    ("text_options", "options", "message"),
    [
        ({"class_weights": "balanced"}, {}, "class_weights='balanced' does not go with crf"),
        ({}, {"label_smoothing": 0.1}, "label_smoothing=0.1 is not for tags with crf"),
        ({}, {"r_drop": 1.0}, "r_drop=1.0 is not for tags with crf"),
    ],
)
def test_what_has_no_meaning_for_a_chain_is_refused(
    start: Callable[..., Any], text_options: Any, options: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        start(
            "tag",
            "run",
            CORPUS,
            text_options=TextOptions(crf=True, **text_options),
            options=options,
        )


def test_crf_is_for_taggers(start: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="crf=True is for tag, not for masked-lm"):
        start("masked-lm", "run", text_options=TextOptions(crf=True))
    with pytest.raises(TypeError, match="crf must be True or False, got 'yes'"):
        TextOptions(crf="yes")  # type: ignore[arg-type]
