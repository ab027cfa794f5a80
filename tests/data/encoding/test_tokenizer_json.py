"""Texts encoded with a `tokenizer.json`, as Python's reader does it, and what is chosen of them."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.encoding.encode import encode_pairs, tokenize
from keras_transformer.data.encoding.subword_regularization import segmentation_type
from keras_transformer.data.encoding.tagged import encode_tagged
from keras_transformer.data.objectives.choosing import begins_words
from keras_transformer.data.objectives.labels import NO_TAG, Tags
from keras_transformer.data.objectives.phrases import PhraseTree
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import Tokenizer

TEXTS = ["A man plays the piano.", "", "Two  dogs 🕐 run", "The pianopark"]


@pytest.fixture(params=["wordpiece", "roberta", "gpt2"])
def tokenizer(request: pytest.FixtureRequest, tokenizer_jsons: dict[str, bytes]) -> Tokenizer:
    return Tokenizer(tokenizer_jsons[request.param])


def test_ids_are_the_tokenizer_s_for_any_number_of_texts(tokenizer: Tokenizer) -> None:
    for texts in ([], TEXTS, TEXTS * 1100):
        found = tokenize(texts, tokenizer)
        assert found.values.dtype == np.int32
        assert [found[place].tolist() for place in range(len(found))] == tokenizer.encode(texts)


def test_pairs_are_read_with_either_kind(tokenizer: Tokenizer) -> None:
    encoded = encode_pairs(Pairs(tuple(TEXTS), tuple(TEXTS), "here"), tokenizer, tokenizer)
    assert encoded.report.empty == 1
    assert encoded.special_ids == tokenizer.special_ids


def test_the_first_token_of_each_word_has_its_tag(tokenizer: Tokenizer) -> None:
    words = (("The", "pianopark", "isn't"), ("men",))
    texts = TaggedTexts(words, (("a", "b", "a"), ("b",)), "here")
    encoded = encode_tagged(texts, tokenizer, Tags(False), 50, ["a", "b"])
    whole = tokenizer.encode([" ".join(row) for row in words])
    rows = [encoder_row(ids, None, tokenizer.special_ids)[0] for ids in whole]
    assert [encoded.rows[place].tolist() for place in range(2)] == rows
    assert encoded.token_classes is not None
    tags = encoded.token_classes[encoded.token_classes != NO_TAG]
    assert tags.tolist() == [0, 1, 0, 1]


def test_the_first_word_of_a_text_begins_after_what_batching_adds(tokenizer: Tokenizer) -> None:
    [ids] = tokenizer.encode(["The pianopark talks"])
    special_ids = tokenizer.special_ids
    row, _ = encoder_row(ids, ids, special_ids)
    begins = tuple(map(tokenizer.subwords.begins_word, range(tokenizer.vocab_size)))
    found = begins_words(tf.constant([row]), special_ids, begins)[0].numpy()
    starts = [place for place, token in enumerate(row) if token not in special_ids.added_to_text]
    words = [place for place in starts if found[place]]
    assert len(words) == 6
    assert tokenizer.decode([row[words[0] : words[1]]]) == [
        "the" if special_ids.mask == 4 and special_ids.pad == 0 else "The"
    ]
    assert found[[token in special_ids.added_to_text for token in row]].all()


def test_what_only_sentencepiece_can_do_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="subword_sampling needs a SentencePiece model"):
        segmentation_type(tokenizer)
    with pytest.raises(ValueError, match="TensorFlow reads no tokenizer.json in a graph"):
        GraphTokenizer(tokenizer.model)


def test_a_phrase_is_found_at_the_beginning_and_inside_and_counts_once(
    tokenizer: Tokenizer,
) -> None:
    first, inside = tokenizer.encode(["two dogs", " two dogs"])
    size = tokenizer.vocab_size
    tree = PhraseTree.of([first], size, [inside])
    [ids] = tokenizer.encode(["two dogs see two dogs"])
    row, _ = encoder_row(ids, None, tokenizer.special_ids)
    begins_word = tuple(map(tokenizer.subwords.begins_word, range(size)))
    begins = begins_words(tf.constant([row]), tokenizer.special_ids, begins_word)
    assert tree.count_found(tf.constant([row]), begins) == 1
    units = begins & ~tree.continues(tf.constant([row]), begins)
    added = sum(token in tokenizer.special_ids.added_to_text for token in row)
    assert int(tf.reduce_sum(tf.cast(units, tf.int32))) == 3 + added
