"""GraphTokenizer: the ids of the plain reader, in graphs and out of a SavedModel."""

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from keras_transformer.text.graph_tokenizer import GraphTokenizer

# Surrogates have no UTF-8. The listed characters are those that readers tend to differ on.
ODD = "\x00\n\r\t\x85\xa0\xad\u0300\u200b\u200d\u2028\u2029\u2047\u2581\u3000\ufeff\ufffd"
TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(ODD + "aeiß <>/s")),
    min_size=1,
    max_size=20,
)
PROPERTY = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="session")
def reader(tokenizer):
    return GraphTokenizer(tokenizer.model)


def graph_decode(reader, rows):
    ragged = tf.RaggedTensor.from_row_lengths(
        tf.constant([token for row in rows for token in row], tf.int32),
        [len(row) for row in rows],
    )
    return [text.decode("utf-8") for text in reader.detokenize(ragged).numpy()]


@PROPERTY
@given(texts=TEXTS)
def test_any_text_gets_the_ids_of_the_plain_reader_and_comes_back_alike(tokenizer, reader, texts):
    rows = tokenizer.encode(texts)
    assert reader.tokenize(tf.constant(texts)).to_list() == rows
    assert graph_decode(reader, rows) == tokenizer.decode(rows)


@PROPERTY
@given(data=st.data())
def test_any_ids_become_the_text_of_the_plain_reader(tokenizer, reader, data):
    ids = st.integers(0, tokenizer.vocab_size - 1)
    rows = data.draw(st.lists(st.lists(ids, max_size=20), min_size=1, max_size=10))
    assert graph_decode(reader, rows) == tokenizer.decode(rows)


def test_detokenize_drops_special_ids(tokenizer, reader, sentences):
    [row] = tokenizer.encode(sentences[:1])
    framed = [BOS_ID, *row[:2], UNK_ID, *row[2:], EOS_ID, PAD_ID]
    assert graph_decode(reader, [framed]) == sentences[:1]


def test_ids_are_int32_and_the_vocabulary_is_the_models(tokenizer, reader):
    assert reader.tokenize(tf.constant(["a"])).dtype == tf.int32
    assert reader.vocab_size == tokenizer.vocab_size


def test_it_works_inside_a_traced_function(tokenizer, reader, sentences):
    traced = tf.function(reader.tokenize, input_signature=[tf.TensorSpec((None,), tf.string)])
    assert traced(tf.constant(sentences)).to_list() == tokenizer.encode(sentences)


def test_a_saved_model_carries_the_vocabulary(tokenizer, reader, sentences, tmp_path):
    module = tf.Module()
    module.reader = reader
    module.round_trip = tf.function(
        lambda texts: reader.detokenize(reader.tokenize(texts)),
        input_signature=[tf.TensorSpec((None,), tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    restored = tf.saved_model.load(str(tmp_path))
    texts = restored.round_trip(tf.constant(sentences)).numpy()
    assert [text.decode("utf-8") for text in texts] == sentences


def test_bytes_that_are_no_model_are_refused():
    with pytest.raises(ValueError, match="model is not a SentencePiece model"):
        GraphTokenizer(b"text")
