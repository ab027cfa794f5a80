"""Pairs and Corpus: what they hold and what they refuse."""

from dataclasses import FrozenInstanceError

import pytest
from fresh_process import python

from keras_transformer.data.sources.corpus import Corpus, Pairs


def test_pairs_hold_aligned_sentences_as_tuples():
    pairs = Pairs(["one", "two"], ["uno", "dos"], origin="here")
    assert len(pairs) == 2
    assert pairs.source == ("one", "two")
    assert pairs.target == ("uno", "dos")
    assert pairs.origin == "here"


def test_pairs_do_not_follow_a_list_changed_later():
    source = ["one"]
    pairs = Pairs(source, ["uno"], origin="here")
    source.append("two")
    assert pairs.source == ("one",)


def test_pairs_are_frozen():
    pairs = Pairs(["one"], ["uno"], origin="here")
    with pytest.raises(FrozenInstanceError):
        pairs.source = ("two",)


def test_unequal_counts_name_origin_and_both_counts():
    with pytest.raises(ValueError, match=r"my\.tsv: .* same number .* got 2 and 1"):
        Pairs(["one", "two"], ["uno"], origin="my.tsv")


def test_empty_pairs_are_refused():
    with pytest.raises(ValueError, match=r"my\.tsv: expected at least one pair"):
        Pairs([], [], origin="my.tsv")


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("one", ["uno"], r"Pairs\.source must be a sequence of sentences, got one string: 'one'"),
        (["one"], "uno", r"Pairs\.target must be a sequence of sentences, got one string"),
        (["one", b"two"], ["uno", "dos"], r"Pairs\.source\[1\] must be a string, got bytes"),
        (["one"], [1], r"Pairs\.target\[0\] must be a string, got int"),
    ],
)
def test_anything_but_sequences_of_strings_is_refused(source, target, message):
    with pytest.raises(TypeError, match=message):
        Pairs(source, target, origin="here")


def test_corpus_needs_only_a_training_split():
    train = Pairs(["one"], ["uno"], origin="here")
    corpus = Corpus(train)
    assert corpus.train is train
    assert corpus.valid is None
    assert corpus.test is None


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_corpus_names_the_split_of_the_wrong_type(split):
    pairs = Pairs(["one"], ["uno"], origin="here")
    splits = {"train": pairs, "valid": None, "test": None, split: (["one"], ["uno"])}
    with pytest.raises(TypeError, match=rf"Corpus\.{split} must be a Pairs object, got tuple"):
        Corpus(**splits)


def test_corpus_refuses_a_missing_training_split():
    with pytest.raises(TypeError, match=r"Corpus\.train .* got NoneType"):
        Corpus(train=None)


def test_the_demo_corpus_needs_no_tensorflow():
    code = (
        "import sys; from keras_transformer.data.sources import corpus, demo; "
        "print([name for name in ('tensorflow', 'keras', 'numpy') if name in sys.modules])"
    )
    assert python("-c", code).stdout.strip() == "[]"
