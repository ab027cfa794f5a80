"""What training on single texts starts from: heads, labels, phrases and vocabularies."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single_texts import BOTH_SIZES, LINES, PLAIN, VOCABULARY, labelled, weights

from keras_transformer.config import TransformerConfig
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.models.families import build_model
from keras_transformer.runs.finished_run import load_run, write_finished_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import train_tokenizer
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.train import train_texts

pytestmark = pytest.mark.usefixtures("few_updates")


@pytest.mark.exhaustive
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
    assert "new: head, 2 weights (trained for other labels)" in capsys.readouterr().out
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
    labels, begun = {"labels": ("pos", "neg")}, {"max_steps": 1}
    start("classify", "first", labelled("neg", "pos"), overrides=labels, options=begun)
    model = start("classify", "again", labelled("neg", "pos"), init=tmp_path / "first", **still)
    assert model.config.labels == ("pos", "neg")
    begun = weights(load_run(tmp_path / "first")[0])
    for path, weight in weights(model).items():
        np.testing.assert_array_equal(weight, begun[path])
    record = json.loads((tmp_path / "again" / "training.json").read_text())
    assert not record["transfer"]["fresh"]


def test_texts_are_resumed_as_they_were_and_a_finished_run_stays(start, tmp_path: Path) -> None:
    start("classify", "run", labelled("neg", "pos"), options={"max_steps": 1})
    with pytest.raises(ValueError, match="was started on other text"):
        start("classify", "run", labelled("pos", "neg"), resume=True)
    for asked, told in (
        ({"vocab_size": VOCABULARY - 1}, f"vocab_size={VOCABULARY}, not {VOCABULARY - 1}"),
        ({"tokenizer_type": "bpe"}, "tokenizer_type='unigram', not 'bpe'"),
    ):
        with pytest.raises(ValueError, match=f"was started with {told}"):
            start("classify", "run", labelled("neg", "pos"), resume=True, **asked)
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    before = (tmp_path / "run" / "config.json").read_bytes()
    with pytest.raises(FileExistsError, match="no checkpoint to resume from"):
        start("classify", "run", labelled("a", "b"), resume=True)
    assert (tmp_path / "run" / "config.json").read_bytes() == before


@pytest.mark.exhaustive
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


SENTINELS: dict[str, Any] = {
    "text_options": TextOptions(denoising="sentinels"),
    "overrides": BOTH_SIZES,
    "options": TrainOptions(max_steps=1, bleu_sentences=0, max_length=32),
}


@pytest.mark.exhaustive
def test_span_corruption_gives_the_vocabulary_sentinels(tmp_path: Path) -> None:
    train_texts("denoising", PLAIN, tmp_path / "run", vocab_size=VOCABULARY + 100, **SENTINELS)
    _, tokenizer, _ = load_run(tmp_path / "run")
    assert len(tokenizer.sentinel_ids) == 100 and tokenizer.special_ids.mask == 4
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert record["data"]["denoising"] == "sentinels"


def test_span_corruption_needs_sentinels(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(LINES, VOCABULARY, has_mask=True)
    with pytest.raises(ValueError, match="the vocabulary has no sentinels"):
        train_texts("denoising", PLAIN, tmp_path / "run", tokenizer=tokenizer, **SENTINELS)


def test_two_vocabularies_are_refused(start, tmp_path: Path) -> None:
    tokenizers = tuple(train_tokenizer(lines, VOCABULARY) for lines in (LINES, LINES[20:]))
    special_ids = tokenizers[0].special_ids
    sizes = {"source_vocab_size": VOCABULARY, "target_vocab_size": VOCABULARY, **BOTH_SIZES}
    model = build_model(
        TransformerConfig(special_ids=special_ids, share_embeddings="target", **sizes)
    )
    write_finished_run(RunDirectory(tmp_path / "translation"), model, tokenizers, {})
    with pytest.raises(ValueError, match="one vocabulary, and these are two"):
        start("causal-lm", "gpt", init=tmp_path / "translation")


def test_a_vocabulary_without_mask_is_refused(start) -> None:
    tokenizer = train_tokenizer(LINES, VOCABULARY)
    for task, overrides in (("masked-lm", {}), ("denoising", BOTH_SIZES)):
        with pytest.raises(
            ValueError, match=f"no <mask>, which {task} needs: leave --init and --tokenizer out"
        ):
            start(task, "run", tokenizer=tokenizer, overrides=overrides)


@pytest.mark.exhaustive
def test_a_run_of_which_no_weight_fits_is_named_with_what_differs(
    start, runs: dict[str, Path]
) -> None:
    with pytest.raises(
        ValueError, match="no weight of .*/masked-lm fits the new model: model_dim=8, trained 16; "
    ):
        smaller = {"model_dim": 8, "feed_forward_dim": 8, "num_heads": 1, "max_positions": 40}
        labels = labelled("neg", "pos")
        start("classify", "run", labels, init=runs["masked-lm"], overrides=smaller)


def test_an_embedding_of_which_all_is_frozen_is_refused(start, runs: dict[str, Path]) -> None:
    pairs = Corpus(Pairs(LINES[:20], LINES[20:40], "pairs"))
    for freeze in ("encoder", "1"):
        with pytest.raises(ValueError, match=f"freeze='{freeze}' leaves nothing to train: freeze"):
            start("embed", "run", pairs, init=runs["masked-lm"], options={"freeze": freeze})


@pytest.mark.exhaustive
def test_a_chat_template_goes_along(start, runs: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(runs["causal-lm"], tmp_path / "chatting")
    chat = ChatTemplate("{{ messages[0].content }}")
    RunDirectory(tmp_path / "chatting").save_chat_template(chat)
    start("causal-lm", "tuned", init=tmp_path / "chatting", options={"max_steps": 1})
    assert RunDirectory(tmp_path / "tuned").load_chat_template() == chat
