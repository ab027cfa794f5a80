"""Attention of a sentence pair: the pictures hold the model's weights under the right tokens."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.models.attention_maps import attention_maps
from keras_transformer.plotting.alignment import alignment
from keras_transformer.plotting.attention import attention_heads
from keras_transformer.plotting.sentences import SeenPair, see_pair
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

BOS_ID, EOS_ID = SpecialIds.bos, SpecialIds.eos


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["ab ba", "ab cab", "ba cab"], vocab_size=11)


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer, random_model):
    return random_model(source_vocab_size=tokenizer.vocab_size)


@pytest.fixture(scope="module")
def pair(model, tokenizer: Tokenizer) -> SeenPair:
    return see_pair(model, tokenizer, tokenizer, "ab ba", "cab")


def tick_labels(axes: Axes) -> tuple[list[str], list[str]]:
    return (
        [text.get_text() for text in axes.get_yticklabels()],
        [text.get_text() for text in axes.get_xticklabels()],
    )


def test_tokens_stand_beside_the_weights_of_the_model(
    pair: SeenPair, model, tokenizer: Tokenizer
) -> None:
    source, target = tokenizer.encode(["ab ba", "cab"])
    assert pair.source == [*tokenizer.pieces(source), "</s>"]
    assert pair.read == ["<s>", *tokenizer.pieces(target)]
    assert pair.written == [*tokenizer.pieces(target), "</s>"]
    expected = attention_maps(
        model, np.array([[*source, EOS_ID]], np.int32), np.array([[BOS_ID, *target]], np.int32)
    )
    np.testing.assert_array_equal(pair.maps.cross, expected.cross)


@pytest.mark.exhaustive
def test_without_a_target_the_model_translates(model, tokenizer: Tokenizer) -> None:
    from keras_transformer.decoding.translator import Translator

    pair = see_pair(model, tokenizer, tokenizer, "ab ba")
    (best,) = Translator(model, tokenizer).translate_n_best(["ab ba"])[0]
    assert pair.written == [*tokenizer.pieces(list(best.ids)), "</s>"]


def test_a_source_without_tokens_is_refused(model, tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="source must hold at least one token, got ' '"):
        see_pair(model, tokenizer, tokenizer, " ")


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_each_head_of_each_layer_has_its_picture(pair: SeenPair, part: str) -> None:
    figure = attention_heads(pair, part)
    heads = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in heads] == [
        f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)
    ]
    for number, axes in enumerate(heads):
        layer, head = divmod(number, 3)
        image = axes.images[0]
        np.testing.assert_array_equal(image.get_array(), getattr(pair.maps, part)[layer, 0, head])
        assert image.get_clim() == (0, 1)
    rows = pair.source if part == "encoder" else pair.written
    columns = pair.read if part == "decoder" else pair.source
    # Rows are named on the left, columns at the bottom.
    assert tick_labels(heads[3]) == (rows, columns)
    assert tick_labels(heads[2]) == ([], [])


def test_an_unknown_part_is_refused(pair: SeenPair) -> None:
    with pytest.raises(ValueError, match="one of encoder, decoder, cross, got 'self'"):
        attention_heads(pair, "self")  # type: ignore[arg-type]


def test_a_recurrence_has_no_picture(tokenizer: Tokenizer, random_model) -> None:
    model = random_model(source_vocab_size=tokenizer.vocab_size, decoder_recurrence="ssru")
    pair = see_pair(model, tokenizer, tokenizer, "ab ba", "cab")
    attention_heads(pair, "cross")
    with pytest.raises(ValueError, match="'decoder' has no attention, as the decoder has a recurr"):
        attention_heads(pair, "decoder")


def test_the_alignment_is_the_mean_and_marks_the_strongest(pair: SeenPair) -> None:
    axes = alignment(pair).axes[0]
    mean = pair.maps.cross[:, 0].mean(axis=(0, 1))
    np.testing.assert_array_equal(axes.images[0].get_array(), mean)
    assert tick_labels(axes) == (pair.written, pair.source)
    (marks,) = axes.get_lines()
    assert list(marks.get_xdata()) == mean.argmax(axis=1).tolist()
    assert list(marks.get_ydata()) == list(range(len(pair.written)))
