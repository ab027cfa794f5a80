"""The config of a run's model: the preset, what replaces its fields, and what does not fit."""

import pytest
from fresh_process import python

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.training.run.model_config import model_config

IDS = SpecialIds()


def test_a_joint_vocabulary_is_shared_and_two_are_not() -> None:
    joint = model_config("tiny", {"dropout": 0.2}, (90, 90), True, IDS, max_length=20)
    assert joint == TransformerConfig.preset("tiny", vocab_size=90, dropout=0.2)
    separate = model_config("tiny", None, (90, 80), False, IDS, max_length=20)
    assert (separate.source_vocab_size, separate.target_vocab_size) == (90, 80)
    assert separate.share_embeddings == "target"
    untied = model_config("tiny", {"share_embeddings": "none"}, (90, 80), False, IDS, max_length=20)
    assert untied.share_embeddings == "none"
    ids = SpecialIds(pad=80, unk=0, bos=1, eos=2)
    assert model_config("tiny", None, (90, 90), True, ids, max_length=20).special_ids == ids


def test_sentences_longer_than_learned_positions_are_refused() -> None:
    learned = {"positions": "learned", "max_positions": 20}
    assert model_config("tiny", learned, (90, 90), True, IDS, max_length=20).max_positions == 20
    with pytest.raises(ValueError, match=r"max_length \(21\) is more than .* max_positions \(20\)"):
        model_config("tiny", learned, (90, 90), True, IDS, max_length=21)


def test_an_activation_that_keras_lacks_is_told_before_the_vocabulary_is_trained(tmp_path) -> None:
    from keras_transformer.data.sources.corpus import Corpus, Pairs
    from keras_transformer.training.run.train import train

    corpus = Corpus(train=Pairs(["a"], ["b"], "words"))
    with pytest.raises(ValueError, match="activation must be .*'gelu_tanh' .*, got 'nonsense'"):
        train(corpus, tmp_path / "run", overrides={"activation": "nonsense"})
    assert not (tmp_path / "run").exists()


def test_keras_is_not_loaded() -> None:
    command = "import sys, keras_transformer.training.run.model_config; print(*sys.modules)"
    result = python("-c", command)
    assert not {"keras", "tensorflow"} & set(result.stdout.split())
