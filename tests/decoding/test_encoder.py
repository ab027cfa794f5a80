"""The Keras side of encoders: against the model's own call, and what it promises about lists."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.decoding.encoder import TextEncoder
from keras_transformer.decoding.generator import Generator
from keras_transformer.runs.finished_run import write_finished_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.text_limits import LongTextError
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.understanding.masks import MissingMaskError
from tools.covering import some

LABELS = ("yes", "no", "perhaps")
MASKED = ["a small <mask> stands", "<mask>", "the red <mask> runs to the <mask>"]


@pytest.fixture(scope="module")
def open_encoder(
    small_encoder: Callable[..., Any], masked_tokenizer: Tokenizer
) -> Callable[..., TextEncoder]:
    """`open_encoder(head, batch_tokens=..., **fields)`."""

    def make(head: str | None, batch_tokens: int = 4096, **fields: Any) -> TextEncoder:
        if head in ("classification", "tagging"):
            fields["labels"] = LABELS
        return TextEncoder(small_encoder(head=head, **fields), masked_tokenizer, batch_tokens)

    return make


def call(encoder: TextEncoder, ids: list[int], second: list[int] | None = None) -> Any:
    """Runs the model on one text by itself."""
    row, types = encoder_row(ids, second, encoder.config.special_ids)
    inputs = {"token_ids": np.array([row]), "token_type_ids": np.array([types])}
    if encoder.config.num_token_types < 2:
        del inputs["token_type_ids"]
    return encoder.model(inputs)


@pytest.mark.parametrize("types", some([0, 2], 0))
def test_states_are_those_of_each_text_alone(open_encoder, texts, types: int) -> None:
    encoder = open_encoder(None, num_token_types=types, batch_tokens=30)
    texts = [*texts, ""]
    states, mask = encoder.states(texts)
    for text, ids, rows, kept in zip(
        texts, encoder.tokenizer.encode(texts), states, mask, strict=True
    ):
        assert kept.sum() == len(ids) + 2, text
        np.testing.assert_allclose(rows[kept], call(encoder, ids)["states"][0], atol=1e-5)
        assert not rows[~kept].any()


@pytest.mark.parametrize("head", [None, "masked_lm", "embedding"])
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_vectors_are_pooled_states(open_encoder, texts, head: str | None, pooling: str) -> None:
    encoder = open_encoder(head, pooling=pooling)
    states, mask = encoder.states(texts)
    expected = {
        "mean": [rows[kept].mean(axis=0) for rows, kept in zip(states, mask, strict=True)],
        "first": states[:, 0],
    }
    np.testing.assert_allclose(encoder.embed(texts), expected[pooling], atol=1e-5)
    for other, vectors in expected.items():
        np.testing.assert_allclose(encoder.embed(texts, other), vectors, atol=1e-5)
    assert encoder.embed([]).shape == (0, encoder.config.model_dim)


@pytest.mark.parametrize("pooling", some(["mean", "first"], "first"))
def test_unit_vectors_are_pooled_states_divided_by_their_lengths(
    open_encoder, texts, pooling: str
) -> None:
    encoder = open_encoder("embedding", unit_vectors=True)
    plain = open_encoder("embedding").embed(texts, pooling)
    found = encoder.embed(texts, pooling)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(found, plain / lengths, atol=1e-6)


def test_classes_are_those_of_the_models_logits(open_encoder, texts) -> None:
    encoder = open_encoder("classification")
    for text, found in zip(texts, encoder.classify(texts), strict=True):
        [logits] = np.asarray(call(encoder, encoder.tokenizer.encode([text])[0]), np.float64)
        expected = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
        assert found.label == LABELS[expected.argmax()]
        assert found.probability == found.probabilities.max()


def test_pairs_are_read_with_their_types(open_encoder, texts) -> None:
    encoder = open_encoder("classification")
    seconds = texts[::-1]
    ids, others = encoder.tokenizer.encode(texts), encoder.tokenizer.encode(seconds)
    for first, second, found in zip(ids, others, encoder.classify(texts, seconds), strict=True):
        [logits] = np.asarray(call(encoder, first, second), np.float64)
        expected = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
    with pytest.raises(ValueError, match="got 1 second texts for 6 texts"):
        encoder.classify(texts, seconds[:1])


def test_a_number_is_given_to_each_text(open_encoder, texts) -> None:
    encoder = open_encoder("regression")
    expected = [call(encoder, ids)[0, 0] for ids in encoder.tokenizer.encode(texts)]
    np.testing.assert_allclose(encoder.regress(texts), expected, atol=1e-5)


def test_each_word_has_the_tag_of_its_first_token(open_encoder, texts) -> None:
    encoder = open_encoder("tagging")
    for text, words in zip(texts, encoder.tag(texts), strict=True):
        [pieces], [ids] = [encoder.tokenizer.split(text)], encoder.tokenizer.encode([text])
        [logits] = np.asarray(call(encoder, ids))
        begins = [place for place, piece in enumerate(pieces) if piece.startswith("▁")]
        assert [word.word for word in words] == text.split()
        expected = [LABELS[logits[1 + place].argmax()] for place in begins]
        assert [word.tag for word in words] == expected
        assert all(1 / 3 <= word.probability <= 1 for word in words)


def test_a_word_without_a_token_has_no_tag(open_encoder) -> None:
    [words] = open_encoder("tagging").tag(["a \u200b house"])
    assert [word.word for word in words] == ["a", "\u200b", "house"]
    assert [bool(word.tag) for word in words] == [True, False, True]
    assert open_encoder("tagging").tag([" "]) == [[]]


def test_masks_are_filled_with_the_most_probable_tokens(open_encoder) -> None:
    encoder = open_encoder("masked_lm")
    [found] = encoder.fill_mask(MASKED[:1], num_hypotheses=3)
    ids = [
        token
        for token, piece in zip(
            encoder.tokenizer.encode(MASKED[:1])[0],
            encoder.tokenizer.split(MASKED[0]),
            strict=True,
        )
        if piece != "▁"
    ]
    place = ids.index(encoder.config.special_ids.mask)
    logits = np.asarray(call(encoder, ids), np.float64)[0, 1 + place]
    log_probs = logits - np.log(np.exp(logits).sum())
    log_probs[: max(encoder.config.special_ids.without_text) + 1] = -np.inf
    best = np.argsort(-log_probs)[:3]
    np.testing.assert_allclose([one.score for one in found], log_probs[best], atol=1e-4)
    for one, token in zip(found, best.tolist(), strict=True):
        filled = [*ids[:place], token, *ids[place + 1 :]]
        assert one.text.split() == encoder.tokenizer.decode([filled])[0].split()
        assert one.tokens == encoder.tokenizer.decode([[token]])


def test_every_mask_of_a_text_is_filled(open_encoder) -> None:
    found = open_encoder("masked_lm").fill_mask(MASKED, num_hypotheses=4)
    assert [len(one.tokens) for fillings in found for one in fillings] == [1] * 8 + [2] * 4
    for fillings in found:
        scores = [one.score for one in fillings]
        assert scores == sorted(scores, reverse=True)
        assert not any("<mask>" in one.text for one in fillings)


def test_a_batch_equals_its_texts_in_their_order(open_encoder) -> None:
    together = open_encoder("masked_lm").fill_mask(MASKED, num_hypotheses=2)
    split = open_encoder("masked_lm", batch_tokens=1)
    alone = [split.fill_mask([text], num_hypotheses=2)[0] for text in MASKED]
    for others in (alone, split.fill_mask(MASKED, num_hypotheses=2)):
        for found, expected in zip(together, others, strict=True):
            assert [one.text for one in found] == [one.text for one in expected]
            np.testing.assert_allclose(
                [one.score for one in found], [one.score for one in expected], atol=1e-4
            )


def test_what_is_no_mask_stays_as_it_was_given(open_encoder) -> None:
    encoder = open_encoder("masked_lm")
    [found] = encoder.fill_mask(["日本 ＜mask＞ ☃  x\ty"], num_hypotheses=9)
    assert all(one.text.startswith("日本") and one.text.endswith(" ☃  x\ty") for one in found)
    assert encoder.mask_counts(["a", "＜mask＞ <mask>"]) == [0, 2]
    cut = TextEncoder(encoder.model, encoder.tokenizer, max_text_length=2, long_texts="cut")
    [[filled]] = cut.fill_mask(["<mask> a <mask>"])
    assert filled.text.endswith("a <mask>") and len(filled.tokens) == 1


@pytest.mark.parametrize(
    ("head", "call", "error", "message"),
    [
        ("masked_lm", lambda e: e.fill_mask(["<mask>"], 1.5), TypeError, "num_hypotheses must be"),
        ("masked_lm", lambda e: e.fill_mask(["<mask>"], None), TypeError, "integer, got None"),
        ("masked_lm", lambda e: e.fill_mask(["<mask>"], 0), ValueError, "at least 1, got 0"),
        (
            "spans",
            lambda e: e.find_spans(["a"], ["b"], 0),
            ValueError,
            "longest must be at",
        ),
        ("spans", lambda e: e.find_spans(["a"], ["b"], "x"), TypeError, "integer, got 'x'"),
    ],
)
def test_counts_are_checked(open_encoder, head: str, call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(open_encoder(head))


def test_a_tagger_counts_tokens_word_by_word(open_encoder) -> None:
    encoder, text = open_encoder("tagging"), "a<mask> \x1fhouse"
    pieces = [encoder.tokenizer.encode([word])[0] for word in text.split()]
    assert encoder.tag_lengths([text, " "]) == [sum(map(len, pieces)), 0]
    cut = TextEncoder(
        encoder.model, encoder.tokenizer, max_text_length=len(pieces[0]), long_texts="cut"
    )
    [words] = cut.tag([text])
    assert [bool(one.tag) for one in words] == [True, False]


def test_a_text_without_a_mask_is_named(open_encoder) -> None:
    with pytest.raises(MissingMaskError, match="the text at index 1 has no <mask>") as error:
        open_encoder("masked_lm").fill_mask([MASKED[0], "a house"])
    assert error.value.index == 1


@pytest.mark.parametrize(
    ("head", "method", "message"),
    [
        ("masked_lm", "classify", "has the head 'masked_lm': train one with .*--task classify"),
        ("classification", "fill_mask", "has the head 'classification': .*--task masked-lm"),
        (None, "tag", "has no head: train one with .*--task tag"),
        (None, "regress", "needs a model with the head 'regression', and the model has no head"),
    ],
)
def test_a_model_with_another_head_is_refused(
    open_encoder, head: str | None, method: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(open_encoder(head), method)(["a <mask>"])


def test_spans_lie_in_the_text(open_encoder, texts) -> None:
    encoder = open_encoder("spans")
    questions = [texts[0]] * len(texts)
    [question], ids = encoder.tokenizer.encode(texts[:1]), encoder.tokenizer.encode(texts)
    for row, span in zip(ids, encoder.find_spans(questions, texts, longest=3), strict=True):
        [logits] = np.asarray(call(encoder, question, row))
        own = logits[len(question) + 2 : -1]
        assert 0 <= span.first <= span.last < min(len(row), span.first + 3)
        assert span.score == pytest.approx(own[span.first, 0] + own[span.last, 1], abs=1e-4)
        assert [span.text] == encoder.tokenizer.decode([row[span.first : span.last + 1]])
    text = "日本 ☃  the\tHouse"
    [span] = encoder.find_spans(["a house"], [text])
    assert span.text and span.text in text and span.text == span.text.strip()
    [nothing] = encoder.find_spans(["a house"], [""])
    assert (nothing.text, nothing.score) == ("", -np.inf)


def test_long_texts_are_refused_or_cut(small_encoder, masked_tokenizer) -> None:
    model, long = small_encoder(head=None), "the red house " * 30
    encoder = TextEncoder(model, masked_tokenizer)
    assert encoder.max_text_length == 62
    with pytest.raises(LongTextError, match="the text at index 1 has .* more than the 62"):
        encoder.embed(["a", long])
    cuts = TextEncoder(model, masked_tokenizer, long_texts="cut", max_text_length=6)
    [ids] = masked_tokenizer.encode([long])
    [states], [mask] = cuts.states([long])
    assert mask.sum() == 8
    np.testing.assert_allclose(states, call(encoder, ids[:6])["states"][0], atol=1e-5)


def test_changed_weights_take_effect_at_once(masked_tokenizer) -> None:
    from keras_transformer.models.encoder_only import build_encoder

    config = EncoderConfig.preset(
        "bert-tiny", vocab_size=60, special_ids=masked_tokenizer.special_ids
    )
    encoder = TextEncoder(build_encoder(config), masked_tokenizer)
    before = encoder.embed(["a house"])
    encoder.model.embeddings.tokens.matrix.assign(encoder.model.embeddings.tokens.matrix * 2)
    assert np.abs(encoder.embed(["a house"]) - before).max() > 1e-3


@pytest.mark.parametrize("texts", ["a house", b"a", [1]])
def test_what_is_no_list_of_texts_is_refused(open_encoder, texts: Any) -> None:
    with pytest.raises(TypeError, match="texts must be"):
        open_encoder(None).embed(texts)


def test_a_run_is_read_as_its_model(
    small_encoder: Callable[..., Any], masked_tokenizer: Tokenizer, texts, tmp_path: Path
) -> None:
    model = small_encoder(head="classification", labels=LABELS)
    sides = (masked_tokenizer, masked_tokenizer)
    write_finished_run(RunDirectory(tmp_path), model, sides, {})
    opened = TextEncoder.from_run(tmp_path, long_texts="cut")
    assert opened.classify(texts) == TextEncoder(model, masked_tokenizer).classify(texts)
    with pytest.raises(TypeError, match="open it with TextEncoder"):
        Generator.from_run(tmp_path)
