"""The picture of a corpus counts sentences and padding as they are."""

import numpy as np
import pytest

from keras_transformer.data.batching.batches import padding_fraction
from keras_transformer.data.encoding.encode import EncodedPairs
from keras_transformer.plotting.corpus import corpus_lengths, padding_by_batch


@pytest.fixture(scope="module")
def encoded() -> EncodedPairs:
    # With end tokens: sources of 2, 3 and 3 tokens, targets of 3, 3 and 6.
    return EncodedPairs.from_ids(
        [[5], [5, 6], [7, 8]], [[4, 5], [6, 7], [4, 5, 6, 7, 8]], max_length=9
    )


def test_padding_is_counted_batch_by_batch(encoded: EncodedPairs) -> None:
    # 6 tokens hold the first two pairs, (2 and 3) by (3 and 3): one place of padding in 12;
    # the third fills its batch.
    assert padding_by_batch(encoded, 6).tolist() == [[1, 12], [0, 9]]


def test_all_padding_is_the_share_that_training_reports(encoded: EncodedPairs) -> None:
    padding, places = padding_by_batch(encoded, 6).sum(axis=0)
    assert padding / places == pytest.approx(padding_fraction(encoded, 6))


def test_every_sentence_is_in_the_histogram_of_its_length(encoded: EncodedPairs) -> None:
    figure = corpus_lengths(encoded, 6, "three pairs")
    lengths, against, padding = (figure.axes[place] for place in range(3))
    # Every second corner of a stepped line is the left end of a bin.
    counts = {
        patch.get_label(): {edge + 0.5: count for edge, count in patch.get_xy()[1:-1:2] if count}
        for patch in lengths.patches
    }
    assert counts == {
        "source: mean 2.7, longest 3": {2: 1, 3: 2},
        "target: mean 4.0, longest 6": {3: 2, 6: 1},
    }
    assert np.nansum(against.collections[0].get_array()) == 3
    assert sum(patch.get_height() for patch in padding.patches) == 2
    assert padding.get_legend().get_texts()[0].get_text() == "all 2 batches: 4.8 %"
    assert figure.get_suptitle().startswith("three pairs: kept 3 of 3 pairs")
