"""Training of a language model says which white space of its texts the model will not learn."""

import io
from pathlib import Path

import pytest
import sentencepiece
from single_texts import SIZES

from keras_transformer.data.encoding.lost_spaces import lost_spaces
from keras_transformer.data.sources.texts import TextCorpus, Texts
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.texts.train import train_texts

LINES = ["ab ba", "cad dac", "bed deb"]
RECIPES = ["ab\n\nba", "cad\n  dac", "bed  deb\tab"]


def keeping() -> Tokenizer:
    """SentencePiece's own model of texts with their line breaks."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(RECIPES),
        model_writer=model,
        vocab_size=40,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        user_defined_symbols=["\n", "\t"],
        minloglevel=2,
    )
    return Tokenizer(model.getvalue())


def test_what_is_read_as_one_space_is_named_and_counted() -> None:
    tokenizer = train_tokenizer(LINES, vocab_size=12)
    assert lost_spaces(RECIPES, tokenizer) == (
        "the vocabulary reads as one space: line breaks (2 of 3 texts), tabs (1 of 3 texts), "
        "several spaces in a row (2 of 3 texts)"
    )
    assert lost_spaces(RECIPES, keeping()) == ""
    # Ends of texts, and what a text in many has, are no form to learn.
    assert lost_spaces([f"{line}  \n" for line in LINES], tokenizer) == ""
    assert lost_spaces([*LINES * 40, *RECIPES[:1]], tokenizer) == ""


@pytest.mark.parametrize("task", ["causal-lm", "masked-lm"])
def test_a_generator_is_warned_of_before_it_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str
) -> None:
    corpus = TextCorpus(Texts([*RECIPES * 9, "ab " * 40], "recipes"))
    options = TrainOptions(max_steps=1, batch_tokens=64, max_length=32)
    train_texts(task, corpus, tmp_path, overrides=SIZES, options=options, dry_run=True)
    said = capsys.readouterr().out
    writes = task == "causal-lm"
    assert ("warning: the vocabulary reads as one space: line breaks (18 of 28" in said) == writes
    assert ("to keep long texts, in several rows: packing='documents'" in said) == writes
