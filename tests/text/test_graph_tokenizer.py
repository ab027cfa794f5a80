"""GraphTokenizer: the ids of the plain reader, in graphs and out of a SavedModel."""

import keras
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import train_tokenizer

BOS_ID, EOS_ID, PAD_ID, UNK_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad, SpecialIds.unk

# Surrogates have no UTF-8. The listed characters are those that readers tend to differ on.
ODD = "\x00\n\r\t\x85\xa0\xad\u0300\u200b\u200d\u2028\u2029\u2047\u2581\u3000\ufeff\ufffd"
TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(ODD + "aeiß <>/s")),
    min_size=1,
    max_size=20,
)
PROPERTY = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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


def save(reader, path):
    module = tf.Module()
    module.reader = reader
    module.round_trip = tf.function(
        lambda texts: {
            "ids": reader.tokenize(texts).to_tensor(),
            "texts": reader.detokenize(reader.tokenize(texts)),
        },
        input_signature=[tf.TensorSpec((None,), tf.string, "texts")],
    )
    tf.saved_model.save(module, str(path), signatures={"round_trip": module.round_trip})
    return str(path)


def test_a_saved_model_carries_the_vocabulary(reader, sentences, tmp_path):
    restored = tf.saved_model.load(save(reader, tmp_path))
    texts = restored.round_trip(tf.constant(sentences))["texts"].numpy()
    assert [text.decode("utf-8") for text in texts] == sentences


def test_a_session_reads_it_as_tensorflow_serving_does(tokenizer, reader, sentences, tmp_path):
    path = save(reader, tmp_path)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = loaded.signature_def["round_trip"]
        ids = session.run(
            signature.outputs["ids"].name, {signature.inputs["texts"].name: sentences[:1]}
        )
    assert ids.tolist() == tokenizer.encode(sentences[:1])


def test_two_saved_models_in_one_process_keep_their_own_vocabularies(sentences, tmp_path):
    plain = {size: train_tokenizer(sentences, size, "bpe") for size in (60, 90)}
    restored = {
        size: tf.saved_model.load(save(GraphTokenizer(tokenizer.model), tmp_path / str(size)))
        for size, tokenizer in plain.items()
    }
    for size, tokenizer in plain.items():
        ids = restored[size].round_trip(tf.constant(sentences[:1]))["ids"]
        assert ids.numpy().tolist() == tokenizer.encode(sentences[:1])


@pytest.mark.parametrize("reset", [keras.utils.set_random_seed, tf.random.set_seed])
def test_setting_a_seed_leaves_readers_and_pipelines_usable(tokenizer, sentences, reset):
    reader = GraphTokenizer(tokenizer.model)
    traced = tf.function(reader.tokenize)
    dataset = tf.data.Dataset.from_tensors(sentences).map(reader.tokenize)
    traced(tf.constant(sentences))
    reset(1)
    expected = tokenizer.encode(sentences)
    assert reader.tokenize(tf.constant(sentences)).to_list() == expected
    assert traced(tf.constant(sentences)).to_list() == expected
    assert next(iter(dataset)).to_list() == expected


def test_bytes_that_are_no_model_are_refused():
    with pytest.raises(ValueError, match="model is not a SentencePiece model"):
        GraphTokenizer(b"text")
