"""A run with more words knows what it knew: logits of all earlier ids are equal."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.models.families import build_model
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.history import History
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.training_text import TrainingText
from keras_transformer.training.transfer.update_vocabulary import Growth, grow, update_vocabulary

SEEN = TrainingText(longest_source=20, sentences=(1,), markup="html")
WORDS = ["Kubernetes", "xylophone"]
SIZES = {
    "model_dim": 16,
    "feed_forward_dim": 24,
    "num_heads": 2,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
}


def write_run(path: Path, model: Any, source: Tokenizer, target: Tokenizer) -> Path:
    place = RunDirectory(path)
    path.mkdir()
    place.save_config(model.config)
    place.save_tokenizers(source, target)
    record = {"search": {"beam_size": 3}, "training_text": asdict(SEEN)}
    place.save_training(record, History(), finished=True)
    model.save(place.model)
    return path


def translation(tokenizer: Tokenizer, **fields: Any) -> Any:
    size, special_ids = tokenizer.vocab_size, tokenizer.special_ids
    config = TransformerConfig(
        source_vocab_size=size, target_vocab_size=size, special_ids=special_ids, **SIZES, **fields
    )
    return build_model(config)


@pytest.mark.usefixtures("few_updates")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        pytest.param(
            {"share_embeddings": "none", "logit_bias": True}, marks=pytest.mark.exhaustive
        ),
    ],
)
def test_a_translation_gives_earlier_ids_their_logits(
    fields: dict[str, Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model, size = translation(tokenizer, **fields), tokenizer.vocab_size
    run = write_run(tmp_path / "run", model, tokenizer, tokenizer)
    updated = update_vocabulary(run, tmp_path / "more", WORDS)
    grown, source, target = load_run(updated)
    assert source is target
    assert grown.config.source_vocab_size == grown.config.target_vocab_size == size + 2
    inputs = {"source_ids": np.array([[5, 7, 3]]), "target_ids": np.array([[2, 9, 4]])}
    wanted, found = np.asarray(model(inputs)), np.asarray(grown(inputs))
    np.testing.assert_array_equal(found[..., :size], wanted)
    [pieces] = tokenizer.encode(WORDS[:1])
    np.testing.assert_allclose(found[..., size], wanted[..., pieces].mean(axis=-1), atol=1e-5)
    assert RunDirectory(updated).load_training()["search"] == {"beam_size": 3}
    assert RunDirectory(updated).load_training_text() == SEEN
    assert source.split("a xylophone")[-1] == "▁xylophone"


@pytest.mark.exhaustive
def test_two_vocabularies_grow_apart(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model, size = translation(tokenizer, share_embeddings="target"), tokenizer.vocab_size
    other = Tokenizer(tokenizer.model)
    run = write_run(tmp_path / "run", model, tokenizer, other)
    grown, source, target = load_run(update_vocabulary(run, tmp_path / "more", WORDS, ["marimba"]))
    assert (source.vocab_size, target.vocab_size) == (size + 2, size + 1)
    assert (grown.config.source_vocab_size, grown.config.target_vocab_size) == (size + 2, size + 1)
    only_target, _, _ = load_run(update_vocabulary(run, tmp_path / "target", [], ["marimba"]))
    assert only_target.config.source_vocab_size == size


def test_a_decoder_grows_too(
    small_decoder: Callable[..., Any], masked_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = small_decoder(tied_head=False)
    run = write_run(tmp_path / "run", model, masked_tokenizer, masked_tokenizer)
    grown = load_run(update_vocabulary(run, tmp_path / "more", WORDS))[0]
    inputs = {"token_ids": np.array([[2, 9, 4]])}
    size = masked_tokenizer.vocab_size
    np.testing.assert_allclose(
        np.asarray(grown(inputs))[..., :size], np.asarray(model(inputs)), atol=1e-6
    )


def test_what_cannot_be_added_leaves_nothing(tokenizer: Tokenizer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", translation(tokenizer), tokenizer, tokenizer)
    for words, more, message in (
        ([], [], "there is no word to add"),
        ([""], [], "word 1 is empty"),
        (["hello"], [], r"nothing to add: all words \(1\) are tokens already"),
        (["new"], ["neu"], "has one vocabulary: give all words as words"),
    ):
        with pytest.raises(ValueError, match=message):
            update_vocabulary(run, tmp_path / "more", words, more)
    with pytest.raises(FileExistsError, match="is not empty: name another output"):
        update_vocabulary(run, run, ["new"])
    assert not (tmp_path / "more").exists()


def test_words_that_are_tokens_already_are_left_out(tokenizer: Tokenizer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", translation(tokenizer), tokenizer, tokenizer)
    updated = update_vocabulary(run, tmp_path / "more", ["hello", *WORDS])
    _, after, _ = load_run(updated)
    assert after.vocab_size == tokenizer.vocab_size + len(WORDS)
    assert RunDirectory(updated).load_training()["updated_vocabulary"]["words"] == WORDS


def test_clusters_of_ids_do_not_grow(
    small_decoder: Callable[..., Any], masked_tokenizer: Tokenizer
) -> None:
    growth = Growth.by(masked_tokenizer, WORDS)
    with pytest.raises(ValueError, match=r"at cutoffs \(20,\): words that are added"):
        grow(small_decoder(cutoffs=(20,)), growth, growth)
