"""Fillings of masks, against a search through all of them."""

import itertools

import numpy as np
import pytest

from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.understanding.masks import best_fillings, filled_text


@pytest.mark.parametrize("masks", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_best_fillings_are_those_of_a_search_through_all(masks: int, count: int) -> None:
    logits = np.random.default_rng(masks).normal(0, 2, (masks, 7)).astype(np.float32)
    forbidden = {0, 3}
    wide = logits.astype(np.float64)
    log_probs = wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))
    every = [
        (sum(log_probs[place, token] for place, token in enumerate(tokens)), list(tokens))
        for tokens in itertools.product([1, 2, 4, 5, 6], repeat=masks)
    ]
    expected = sorted(every, key=lambda one: -one[0])[:count]
    found = best_fillings(logits, forbidden, count)
    assert [filling.ids for filling in found] == [ids for _, ids in expected]
    np.testing.assert_allclose([one.score for one in found], [score for score, _ in expected])


def test_the_lower_id_wins_a_tie() -> None:
    logits = np.zeros((1, 50), np.float32)
    assert [one.ids for one in best_fillings(logits, {0, 1}, 3)] == [[2], [3], [4]]


@pytest.mark.parametrize("masks", [2, 3])
@pytest.mark.parametrize("kind", ["random", "ties"])
def test_only_the_ranks_that_may_win_are_paired(masks: int, kind: str) -> None:
    """With all pairs of ranks the fillings are the same, in the same order among ties."""
    random = np.random.default_rng(masks)
    for count in (1, 2, 5, 17, 40):
        logits = random.normal(0, 2, (masks, 12)).astype(np.float32)
        if kind == "ties":
            logits = np.round(logits)
        values = logits.astype(np.float64)
        values -= values.max(axis=1, keepdims=True)
        values -= np.log(np.exp(values).sum(axis=1, keepdims=True))
        found: list[tuple[list[int], float]] = [([], 0.0)]
        for row in values:
            best = np.argsort(-row, kind="stable")[:count].tolist()
            every = [([*ids, one], score + row[one]) for ids, score in found for one in best]
            found = sorted(every, key=lambda filling: -filling[1])[:count]
        assert [one.ids for one in best_fillings(logits, [], count)] == [ids for ids, _ in found]


def fill(tokenizer: Tokenizer, text: str, pieces: list[str]) -> str:
    mask = tokenizer.special_ids.mask
    text_ids = TextIds(tokenizer.subwords, tokenizer.special_ids)
    [ids] = text_ids.encode([text])
    placed = tokenizer.subwords.place(text)
    masks = [one for one, token in zip(placed, ids, strict=True) if token == mask]
    tokens = [tokenizer.subwords.id_of(piece) for piece in pieces]
    assert None not in tokens
    return filled_text(text, masks, tokens, text_ids)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("日本 <mask> ☃  x\ty", ["▁the"], "日本 the ☃  x\ty"),
        ("日本 ＜mask＞ ☃", ["▁the"], "日本 the ☃"),
        ("a <mask>", ["s"], "as"),
        ("a<mask>", ["s"], "as"),
        ("a<mask>.", ["▁the"], "a the."),
        ("<mask> a", ["▁the"], "the a"),
        ("<mask> a", ["s"], "s a"),
        ("  <mask>  a ", ["s"], "  s  a "),
        ("  <mask>  a ", ["▁the"], "  the  a "),
        ("<mask> <mask>\t<mask>!", ["▁the", "s", "▁the"], "thes\tthe!"),
    ],
)
def test_a_text_stays_as_it_is_around_what_fills_its_masks(
    masked_tokenizer: Tokenizer, text: str, pieces: list[str], expected: str
) -> None:
    assert fill(masked_tokenizer, text, pieces) == expected


@pytest.mark.parametrize(
    ("name", "text", "pieces", "expected"),
    [
        ("wordpiece", "日本 [MASK] Straße", ["man"], "日本 man Straße"),
        ("wordpiece", "([MASK])", ["man"], "(man)"),
        ("wordpiece", "A man [MASK]", ["##s"], "A mans"),
        ("wordpiece", "A man [MASK]", ["."], "A man."),
        ("roberta", "日本 <mask> Straße", ["Ġman"], "日本 man Straße"),
        ("roberta", "日本 <mask> Straße", ["s"], "日本s Straße"),
        ("roberta", "(<mask>)", ["Ġman"], "( man)"),
    ],
)
def test_pieces_of_a_tokenizer_json_fill_masks(
    tokenizer_jsons: dict[str, bytes], name: str, text: str, pieces: list[str], expected: str
) -> None:
    assert fill(Tokenizer(tokenizer_jsons[name]), text, pieces) == expected
