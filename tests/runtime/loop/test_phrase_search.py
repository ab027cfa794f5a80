"""Every output holds its phrases, with one beam and with several: brute force, and what always
holds, on random probabilities.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.runtime.loop.phrase_search import PhraseSearch
from keras_transformer.runtime.loop.requests import SearchRequest
from keras_transformer.runtime.loop.top_k import log_softmax
from keras_transformer.search.options import Candidate, SearchOptions, length_penalty
from keras_transformer.search.phrases import Phrase, check_phrases, open_hypotheses

SPECIAL_IDS = SpecialIds(slots=(7,))
EOS = SPECIAL_IDS.eos
WORDS = (4, 5, 6)
SLOT, VOCABULARY = 7, 8
# They share beginnings, overlap, repeat tokens, stand in each other, and have forms.
PHRASES: list[list[Phrase]] = [
    [((4,),)],
    [((4, 4, 5),)],
    [((4, 5),), ((4, 6),)],
    [((4, 5),), ((5, 4),), ((5, 6),)],
    [((6,),), ((6, 6),), ((6, 6, 6),)],
    [((4, 5, 4, 6), (5,)), ((6, 5), (4, 4))],
    [((SLOT,),), ((4, 5),)],
]


class TableSteps:
    """A decoder that looks its answers up: `logits[sentence, tokens so far, last token]`."""

    def __init__(self, logits: np.ndarray) -> None:
        self.table, self.step = logits, 0

    def logits(self, ids: np.ndarray) -> np.ndarray:
        rows = np.repeat(np.arange(len(self.table)), len(ids) // len(self.table))
        self.step += 1
        return self.table[rows, self.step - 1, ids].copy()

    def follow(self, parents: np.ndarray) -> None:
        """The last token is all that it knows."""

    def keep(self, sentences: np.ndarray) -> None:
        self.table = self.table[sentences]


def search(
    logits: np.ndarray,
    phrases: Sequence[Sequence[Phrase]],
    limits: Sequence[int] = (),
    sources: Sequence[Sequence[int]] = (),
    **fields: Any,
) -> list[list[Candidate]]:
    options = SearchOptions(max_length=logits.shape[1], **fields)
    request = SearchRequest(
        options=options,
        special_ids=SPECIAL_IDS,
        limits=limits or [logits.shape[1]] * len(logits),
        phrases=phrases,
        sources=sources or [[SLOT]] * len(logits),
    )
    return PhraseSearch(TableSteps(logits), request).run()  # type: ignore[arg-type]


def checked(phrases: Sequence[Phrase], limit: int = 99) -> tuple[Phrase, ...]:
    [own] = check_phrases([phrases], SearchOptions(), [limit], [[]], VOCABULARY, SpecialIds())
    return own


def holds(ids: Sequence[int], phrases: Sequence[Phrase]) -> bool:
    runs = {tuple(ids[begin:end]) for begin, end in itertools.combinations(range(len(ids) + 1), 2)}
    return all(any(form in runs for form in forms) for forms in phrases)


@pytest.mark.parametrize("phrases", [PHRASES[number] for number in (0, 1, 2, 5)], ids=str)
def test_with_enough_beams_the_best_output_of_all_is_found(phrases: list[Phrase]) -> None:
    logits = np.random.default_rng(2).normal(0, 2, (1, 4, VOCABULARY, VOCABULARY))
    logits[..., [SPECIAL_IDS.unk, SLOT]] = -np.inf
    [[best, *_]] = search(
        logits.astype(np.float32), [phrases], beam_size=99, early_stopping="exact"
    )
    values = log_softmax(logits[0].reshape(-1, VOCABULARY)).reshape(logits[0].shape)
    scores = {}
    for length in range(5):
        for ids in itertools.product(WORDS, repeat=length):
            said = [*ids, EOS][:4]
            steps = zip(range(4), [SPECIAL_IDS.bos, *ids], said, strict=False)
            total = sum(values[step] for step in steps)
            if holds(ids, phrases):
                scores[ids] = total / length_penalty(float(len(said)), SearchOptions())
    assert tuple(best.ids) == max(scores, key=scores.__getitem__)
    assert best.score == pytest.approx(max(scores.values()), abs=1e-4)


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.lists(st.sampled_from(PHRASES).map(checked), min_size=1, max_size=4),
    beams=st.integers(1, 4),
    stopping=st.sampled_from(["first", "likely", "exact"]),
    slack=st.integers(0, 4),
)
def test_every_output_holds_its_phrases_and_a_batch_equals_its_rows(
    seed: int, rows: list[tuple[Phrase, ...]], beams: int, stopping: Any, slack: int
) -> None:
    fields: dict[str, Any] = {
        "beam_size": beams,
        "num_hypotheses": beams,
        "early_stopping": stopping,
    }
    options = SearchOptions(**fields)
    rows = [
        own for own in rows if open_hypotheses(own, options) == open_hypotheses(rows[0], options)
    ]
    logits = np.random.default_rng(seed).normal(0, 3, (len(rows), 12, VOCABULARY, VOCABULARY))
    logits = logits.astype(np.float32)
    limits = [sum(min(map(len, forms)) for forms in own) + slack for own in rows]
    found = search(logits, rows, limits, **fields)
    for place, (own, phrases, limit) in enumerate(zip(found, rows, limits, strict=True)):
        assert own
        for one in own:
            assert holds(one.ids, phrases)
            assert len(one.ids) <= limit
            assert one.ids.count(SLOT) <= 1
        alone = slice(place, place + 1)
        assert search(logits[alone], rows[alone], limits[alone], **fields) == [own]


def test_a_slot_that_the_source_lacks_is_not_written() -> None:
    logits = np.zeros((1, 6, VOCABULARY, VOCABULARY), np.float32)
    logits[..., SLOT] = 9
    [[best]] = search(logits, [[((4, 5),)]], sources=[[4]])
    assert SLOT not in best.ids


def test_a_phrase_stands_where_the_model_would_write_it() -> None:
    # 5 5 6 5 5 by itself, and 4 is likely only in the place of 6.
    logits = np.full((1, 6, VOCABULARY, VOCABULARY), -4, np.float32)
    for step, tokens in enumerate([(5,), (5,), (6, 4), (5,), (5,), (EOS,)]):
        logits[0, step, :, list(tokens)] = np.array([[4], [3]])[: len(tokens)]
    [[best]] = search(logits, [[((4,),)]])
    assert best.ids == [5, 5, 4, 5, 5]


def test_nothing_is_found_where_options_forbid_a_phrase() -> None:
    logits = np.zeros((1, 4, VOCABULARY, VOCABULARY), np.float32)
    assert search(logits, [[((4, 4),)]], no_repeat_ngram_size=1) == [[]]
