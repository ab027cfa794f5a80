"""OnnxEncoder: says of texts what the Keras side says, with every head."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxEncoder, OnnxTranslator
from keras_transformer.decoding.encoder import TextEncoder
from tools.covering import some

LABELS = ("yes", "no", "perhaps")
MASKED = ["a small <mask> stands", "<mask>", "the red <mask> runs to the <mask>"]

Pair = tuple[OnnxEncoder, TextEncoder]


@pytest.fixture(scope="module")
def open_both(export_small: Callable[..., Any]) -> Iterator[Callable[..., Pair]]:
    """`open_both(head, target="onnxruntime", **options)`: both sides on the same weights."""
    opened: list[OnnxEncoder] = []

    def make(head: str | None, target: str = "onnxruntime", **options: Any) -> Pair:
        labels = LABELS if head in ("classification", "tagging") else ()
        artefact = export_small("encoder", target, head=head, labels=labels)
        opened.append(OnnxEncoder(artefact.path, **options))
        return opened[-1], TextEncoder(artefact.model, artefact.source_tokenizer)

    yield make
    for encoder in opened:
        encoder.close()


@pytest.fixture(scope="module")
def open_chains(export_small: Callable[..., Any]) -> Callable[[str], Pair]:
    """`open_chains(target)`: both sides of a tagger with `crf` whose chain outweighs its logits."""

    def make(target: str) -> Pair:
        labels = ("B-X", "I-X", "O", "B-Y")
        artefact = export_small("encoder", target, head="tagging", labels=labels, crf=True)
        return OnnxEncoder(artefact.path), TextEncoder(artefact.model, artefact.source_tokenizer)

    return make


@pytest.mark.parametrize("target", ["onnxruntime", "native"])
def test_states_and_vectors_are_those_of_keras(open_both, texts, target: str) -> None:
    onnx, keras_side = open_both(None, target)
    texts = [*texts, ""]
    for found, expected in zip(onnx.states(texts), keras_side.states(texts), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)
    for pooling in ("mean", "first"):
        np.testing.assert_allclose(
            onnx.embed(texts, pooling), keras_side.embed(texts, pooling), atol=1e-4
        )


@pytest.mark.parametrize("target", ["onnxruntime", "native"])
def test_fillings_are_those_of_keras(open_both, target: str) -> None:
    onnx, keras_side = open_both("masked_lm", target)
    for found, expected in zip(
        onnx.fill_mask(MASKED, 5), keras_side.fill_mask(MASKED, 5), strict=True
    ):
        assert [(one.text, one.tokens) for one in found] == [
            (one.text, one.tokens) for one in expected
        ]
        np.testing.assert_allclose(
            [one.score for one in found], [one.score for one in expected], atol=1e-4
        )


@pytest.mark.parametrize("target", ["onnxruntime", "native"])
def test_next_sentences_and_fillings_of_one_model_are_those_of_keras(
    open_both, texts, target: str
) -> None:
    onnx, keras_side = open_both("pretraining", target)
    found = onnx.next_sentences(texts, texts[::-1])
    np.testing.assert_allclose(found, keras_side.next_sentences(texts, texts[::-1]), atol=1e-4)
    assert ((found > 0) & (found < 1)).all() and found.dtype == np.float32
    filled, expected = onnx.fill_mask(MASKED, 2), keras_side.fill_mask(MASKED, 2)
    assert [[one.text for one in row] for row in filled] == [
        [one.text for one in row] for row in expected
    ]


def test_next_sentences_need_the_head_of_pretraining(open_both, texts) -> None:
    for encoder in open_both("masked_lm"):
        with pytest.raises(ValueError, match="'pretraining', .* --task masked-lm --next-sentence"):
            encoder.next_sentences(texts, texts)


def test_classes_are_those_of_keras(open_both, texts) -> None:
    onnx, keras_side = open_both("classification")
    for given in ((texts,), (texts, texts[::-1])):
        found, expected = onnx.classify(*given), keras_side.classify(*given)
        assert [one.label for one in found] == [one.label for one in expected]
        np.testing.assert_allclose(
            [one.probabilities for one in found],
            [one.probabilities for one in expected],
            atol=1e-4,
        )


@pytest.mark.parametrize(
    "target", some(["portable", "onnxruntime", "native"], "onnxruntime", "native")
)
def test_tags_that_are_found_together_are_those_of_keras(open_chains, texts, target: str) -> None:
    onnx, keras_side = open_chains(target)
    texts = [*texts, "", "word", "\u200b"]
    for found, expected in zip(onnx.tag(texts), keras_side.tag(texts), strict=True):
        assert [(one.word, one.tag) for one in found] == [(one.word, one.tag) for one in expected]
        shares = ([one.probability for one in side] for side in (found, expected))
        np.testing.assert_allclose(*shares, atol=1e-4)


@pytest.mark.parametrize("side", ["onnx", "keras"])
def test_tags_do_not_depend_on_the_batch(open_chains, texts, side: str) -> None:
    encoder = open_chains("onnxruntime")[side == "keras"]
    alone = [encoder.tag([text])[0] for text in texts]
    for one, other in zip(encoder.tag(texts), alone, strict=True):
        assert [word.tag for word in one] == [word.tag for word in other]
        shares = ([word.probability for word in words] for words in (one, other))
        np.testing.assert_allclose(*shares, atol=1e-5)


def test_tags_are_those_of_keras(open_both, texts) -> None:
    onnx, keras_side = open_both("tagging")
    for found, expected in zip(onnx.tag(texts), keras_side.tag(texts), strict=True):
        assert [(one.word, one.tag) for one in found] == [(one.word, one.tag) for one in expected]


def test_numbers_spans_and_vectors_of_heads_are_those_of_keras(open_both, texts) -> None:
    onnx, keras_side = open_both("regression")
    np.testing.assert_allclose(onnx.regress(texts), keras_side.regress(texts), atol=1e-4)
    onnx, keras_side = open_both("spans")
    questions = [texts[0]] * len(texts)
    found, expected = (side.find_spans(questions, texts, longest=4) for side in (onnx, keras_side))
    assert [one.text for one in found] == [one.text for one in expected]
    onnx, keras_side = open_both("embedding")
    np.testing.assert_allclose(onnx.embed(texts), keras_side.embed(texts), atol=1e-4)


@pytest.mark.parametrize("options", [{"batch_tokens": 1}, {"threads": 1}, {"threads": 3}], ids=str)
def test_a_batch_equals_its_texts_in_their_order(open_both, texts, options: dict) -> None:
    together, _ = open_both(None)
    apart, _ = open_both(None, **options)
    many = texts * 3
    expected = np.concatenate([together.embed([text]) for text in many])
    np.testing.assert_allclose(apart.embed(many), expected, atol=1e-5)
    np.testing.assert_allclose(together.embed(many), expected, atol=1e-5)


def test_states_of_ids_are_those_of_their_texts(open_both, texts) -> None:
    onnx, keras_side = open_both(None)
    states, mask = onnx.states(texts)
    found = onnx.states_of_ids(keras_side.tokenizer.encode(texts))
    for rows, whole, kept in zip(found, states, mask, strict=True):
        np.testing.assert_allclose(rows, whole[kept], atol=1e-5)
    with pytest.raises(ValueError, match="token ids must lie in 0 to 59, got 60 in row 1"):
        onnx.states_of_ids([[9], [9, 60]])


def test_threads_may_share_an_encoder(open_both, texts) -> None:
    onnx, _ = open_both("classification")
    expected, found = onnx.classify(texts), {}

    def classify(number: int) -> None:
        found[number] = onnx.classify(texts)

    threads = [threading.Thread(target=classify, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one == expected for one in found.values()) and len(found) == 4


def test_a_closed_encoder_says_so(export_small) -> None:
    with OnnxEncoder(export_small("encoder", head=None).path) as encoder:
        pass
    with pytest.raises(RuntimeError, match="the model is closed: open it again"):
        encoder.embed(["a"])


def test_an_artefact_of_another_family_is_refused(export_small, exported) -> None:
    with pytest.raises(ValueError, match="family 'encoder-decoder': open it with OnnxTranslator"):
        OnnxEncoder(exported.path)
    with pytest.raises(ValueError, match="family 'decoder': open it with OnnxGenerator"):
        OnnxEncoder(export_small("decoder").path)
    with pytest.raises(ValueError, match="family 'encoder': open it with OnnxEncoder"):
        OnnxTranslator(export_small("encoder", head=None).path)
