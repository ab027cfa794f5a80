"""Characters that only the other side's SentencePiece model knows have their id in graphs, too, and
in what is saved of them.
"""

from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer import GraphTokenizer
from keras_transformer.pretrained.recognise import read_pretrained

FOLDER = Path(__file__).parents[1] / "fixtures" / "translators"
SOURCE, _ = read_pretrained(FOLDER / "marian_huggingface").tokenizers
IN_GRAPH = GraphTokenizer(SOURCE.model)
# Of the target alone: ñ, ¿ and accents; of neither: a snowman.
TEXTS = ["A ñ b¿ ☃ ñç Müller", "", "plain words", "¿", "ññ ñ"]


def test_they_are_known_by_their_spelling() -> None:
    [row, *_] = SOURCE.encode(TEXTS)
    assert SOURCE.subwords.id_of("ñ") in row and SOURCE.special_ids.unk in row
    assert IN_GRAPH.tokenize(TEXTS).to_list() == SOURCE.encode(TEXTS)


@settings(max_examples=30)
@given(texts=st.lists(st.text("abñ¿éó☃ ç.", max_size=9), min_size=1, max_size=4))
def test_graphs_and_python_agree(texts: list[str]) -> None:
    assert IN_GRAPH.tokenize(texts).to_list() == SOURCE.encode(texts)


def test_they_are_the_same_in_a_pipeline() -> None:
    data = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(IN_GRAPH.tokenize)
    assert [row for rows in data for row in rows.to_list()] == SOURCE.encode(TEXTS)


@pytest.mark.parametrize("is_loaded_into_a_session", [False, True])
def test_they_survive_saving(is_loaded_into_a_session: bool, tmp_path: Path) -> None:
    module = tf.Module()
    module.reader = IN_GRAPH

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def ids(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"ids": IN_GRAPH.tokenize(text).to_tensor(-1)}

    module.ids = ids
    tf.saved_model.save(module, str(tmp_path), signatures={"serving_default": ids})
    expected = tf.ragged.constant(SOURCE.encode(TEXTS)).to_tensor(-1).numpy().tolist()
    if not is_loaded_into_a_session:
        signature = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
        assert signature(text=tf.constant(TEXTS))["ids"].numpy().tolist() == expected
        return
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        found = tf.compat.v1.saved_model.load(session, ["serve"], str(tmp_path))
        signature = found.signature_def["serving_default"]
        [output], [given] = signature.outputs.values(), signature.inputs.values()
        assert session.run(output.name, {given.name: TEXTS}).tolist() == expected
