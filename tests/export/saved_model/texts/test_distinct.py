"""Hypotheses whose texts differ, in a graph."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.export.saved_model.searches import Found
from keras_transformer.export.saved_model.texts.distinct import distinct, filled_up
from keras_transformer.search.distinct import as_many_as_kept, wider_searches
from keras_transformer.search.distinct import filled_up as filled_up_outside
from keras_transformer.search.options import Hypothesis, SearchOptions


def test_the_best_of_equal_texts_stays_and_others_are_missing() -> None:
    texts = tf.constant([["a", "a", "b", "a"], ["c", "d", "", ""]])
    scores = tf.constant([[-1.0, -2.0, -3.0, -4.0], [-1.0, -2.0, LOWEST, LOWEST]])
    ids = tf.reshape(tf.range(8), (2, 4, 1))
    found, best = distinct(texts, Found(ids, scores, 2 * scores[:, ::-1]), 3)
    assert found.numpy().tolist() == [[b"a", b"b", b""], [b"c", b"d", b""]]
    assert best.scores.numpy().tolist() == [[-1.0, -3.0, LOWEST], [-1.0, -2.0, LOWEST]]
    assert best.ids.numpy()[:, :2, 0].tolist() == [[0, 2], [4, 5]]


@given(seed=st.integers(0, 2**32 - 1), beams=st.integers(2, 4), data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_graph_fills_up_as_the_filled_up_outside_does(
    seed: int, beams: int, data: st.DataObject
) -> None:
    options = SearchOptions(beam_size=beams, num_hypotheses=data.draw(st.integers(2, beams)))
    chance = np.random.default_rng(seed)
    widths = [one.beam_size for one in (options, *wider_searches(options))]
    # For each width and source the hypotheses, best first, some of whose texts are equal or empty.
    found = {
        width: [
            [
                Hypothesis("ab"[: chance.integers(0, 3)] * (1 + rank // 3), [rank], score, score)
                for rank, score in enumerate(sorted(-chance.random(count).astype("f4"))[::-1])
            ]
            for count in chance.choice([width, width, width, 1, 0], 5)
        ]
        for width in widths
    }

    def search(places: Sequence[int], own: SearchOptions) -> list[list[Hypothesis]]:
        return [found[own.beam_size][place] for place in places]

    def search_in_graph(places: tf.Tensor, options: SearchOptions) -> tuple[tf.Tensor, Found]:
        rows = search(places.numpy().tolist(), options)
        missing = Hypothesis("", [0], LOWEST, LOWEST)
        grid = [row + [missing] * (options.beam_size - len(row)) for row in rows]
        texts, *parts = (
            tf.constant([[getattr(one, name) for one in row] for row in grid])
            for name in ("text", "ids", "score", "log_probability")
        )
        return texts, Found(*parts)

    wanted = filled_up_outside(search(range(5), as_many_as_kept(options)), options, None, search)
    texts, best = filled_up(search_in_graph, tf.constant(5), options)
    for row, own in enumerate(wanted):
        count = len(own)
        assert [text.decode() for text in texts[row].numpy()[:count]] == [one.text for one in own]
        assert best.scores[row].numpy()[:count].tolist() == [one.score for one in own]
        assert best.ids[row].numpy()[:count].tolist() == [one.ids for one in own]
        assert (best.scores[row].numpy()[count:] == LOWEST).all()
