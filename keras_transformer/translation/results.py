"""Hypotheses with text, made of an engine's candidates, and scores, made of its alignments."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.config.sentence_marks import Begins
from keras_transformer.search.confidence import is_low
from keras_transformer.search.model_limits import IdRows
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions, length_penalty
from keras_transformer.text.letterless import without_format
from keras_transformer.text.passage import Passage
from keras_transformer.text.subwords.interface import Subwords
from keras_transformer.text.subwords.slots import AlignedPart, TokenAlignment
from keras_transformer.translation.engine import Alignment, Attention, TranslationEngine
from keras_transformer.translation.marked import MarkedEngine
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.translation.unknown_words import replace_unknown
from keras_transformer.translation.written import joined_to_stop


def to_hypotheses(
    results: Sequence[Sequence[Candidate | Hypothesis]], target: TextIds, min_score: float | None
) -> list[list[Hypothesis]]:
    """Returns the candidates of each source with their texts.

    Args:
        results: The candidates of each source.
        target: Decodes their ids.
        min_score: Log-probability a token below which confidence is low; None if unknown.
    """
    texts = iter(target.decode([one.ids for found in results for one in found]))
    return [[to_hypothesis(next(texts), one, min_score) for one in found] for found in results]


def to_hypothesis(
    text: str,
    one: Candidate | Hypothesis,
    min_score: float | None,
    attention: Attention | None = None,
) -> Hypothesis:
    """Returns a candidate with its text and, if it is given, its attention."""
    low = None if min_score is None else is_low(one.ids, one.log_probability, min_score)
    return Hypothesis(text, one.ids, one.score, one.log_probability, attention, low)


def join_hypotheses(
    passage: Passage, parts: Sequence[Sequence[Hypothesis]], search: SearchOptions
) -> list[Hypothesis]:
    """Returns the hypotheses of a text: the best of all parts, the second best, and so on.

    A hypothesis of several parts has all their ids, and the sum of their log-probabilities; its
    score is that sum over the penalty of the whole length. If a part has fewer hypotheses, its
    last one is used again. Confidence is low if it is low for one of the parts, and the reason is
    "length" if one was cut at its limit.

    Args:
        passage: The text.
        parts: The hypotheses of each part, best first, at least one.
        search: The search that found them, for its length penalty.
    """
    if len(parts) == 1:
        return [in_passage(passage, one) for one in parts[0]]
    ranks = range(max(map(len, parts)))
    return [
        _joined(passage, [found[min(rank, len(found) - 1)] for found in parts], search)
        for rank in ranks
    ]


def spans_put_back(passage: Passage, place: int, one: Hypothesis) -> Hypothesis:
    """Returns a hypothesis of a text's part with the part's spans, and as sure as these are."""
    checked = _checked(passage, place, one)
    return dataclasses.replace(checked, text=passage.put_back(place, one.text))


def in_passage(passage: Passage, one: Hypothesis) -> Hypothesis:
    """Returns a hypothesis of a text's only part as one of the text; nothing follows a stop."""
    return dataclasses.replace(_checked(passage, 0, one), text=joined_to_stop(passage, one))


def _checked(passage: Passage, place: int, one: Hypothesis) -> Hypothesis:
    """Returns a hypothesis whose confidence is low if a span was lost, or has to be moved."""
    if passage.is_kept(place, one.text):
        return one
    return dataclasses.replace(one, low_confidence=True)


def _joined(passage: Passage, chosen: Sequence[Hypothesis], search: SearchOptions) -> Hypothesis:
    """Returns one hypothesis of a text, made of one hypothesis of each part."""
    text = passage.join([one.text for one in chosen])
    chosen = [_checked(passage, place, one) for place, one in enumerate(chosen)]
    ids = [token for one in chosen for token in one.ids]
    total = sum(one.log_probability for one in chosen)
    # Every part has an end token of its own.
    score = total / length_penalty(len(ids) + len(chosen), search)
    flags = [one.low_confidence for one in chosen]
    low = True if any(flags) else None if None in flags else False
    reasons = {one.stop_reason for one in chosen}
    reason = next((one for one in (None, "length", "eos") if one in reasons), None)
    return Hypothesis(text, ids, score, total, low_confidence=low, stop_reason=reason)


def with_spans(
    engine: TranslationEngine,
    begins: Sequence[Begins],
    sources: IdRows,
    parts: Sequence[AlignedPart | None],
    found: Sequence[Sequence[Hypothesis]],
    source: TextIds,
    target: TextIds,
) -> list[list[Hypothesis]]:
    """Returns the hypotheses of each source with the spans that their attention puts back, of low
    confidence where a place was guessed.

    Args:
        engine: What found them.
        begins: The marks of each source.
        sources: The sources, without them.
        parts: What they are the ids of; None where nothing is put back.
        found: The hypotheses of each.
        source: Texts and ids of the source side.
        target: Texts and ids of the target side.
    """
    with_text = [list(own) for own in found]
    places = [place for place, part in enumerate(parts) if part is not None]
    own = [with_text[place] for place in places]
    seen = attentions_of(
        engine, [begins[place] for place in places], [sources[place] for place in places], own
    )
    for place, hypotheses, attentions in zip(places, own, seen, strict=True):
        if (part := parts[place]) is not None:
            read = without_format(part.text), [one[1:3] for one in source.place(part.text)]
            for rank, (one, attention) in enumerate(zip(hypotheses, attentions, strict=True)):
                alignment = TokenAlignment(*read, *_placed(one, target), attention[:-1, :-1])
                is_kept = part.lifted.is_kept(one.text, alignment)
                hypotheses[rank] = dataclasses.replace(
                    one,
                    text=part.lifted.put_back(one.text, alignment),
                    low_confidence=one.low_confidence if is_kept else True,
                )
    return with_text


def _placed(one: Hypothesis, target: TextIds) -> tuple[str, list[tuple[int, int]]]:
    """Returns the text of a hypothesis' ids, and where each of them begins and ends in it."""
    stream, text = target.new_stream(), ""
    places = []
    for token in one.ids:
        start, text = len(text), text + stream.add(token)
        places.append((start, len(text)))
    return text + stream.finish(), places


def with_attention(
    engine: TranslationEngine,
    begins: Sequence[Begins],
    sources: IdRows,
    hypotheses: Sequence[Sequence[Hypothesis]],
) -> list[list[Hypothesis]]:
    """Returns the hypotheses of each source with `attentions_of` them; arguments as there."""
    attentions = attentions_of(engine, begins, sources, hypotheses)
    return [
        [
            dataclasses.replace(one, attention=attention)
            for one, attention in zip(own, seen, strict=True)
        ]
        for own, seen in zip(hypotheses, attentions, strict=True)
    ]


def attentions_of(
    engine: TranslationEngine,
    begins: Sequence[Begins],
    sources: IdRows,
    results: Sequence[Sequence[Candidate | Hypothesis]],
) -> list[list[Attention]]:
    """Returns the attention of each candidate to its source, from one pass over all of them.

    Args:
        engine: What found them.
        begins: The marks of each source.
        sources: The sources, without them.
        results: The candidates of each source.
    """
    places = [place for place, found in enumerate(results) for _ in found]
    marked = MarkedEngine(engine, [begins[place] for place in places])
    targets = [one.ids for found in results for one in found]
    attentions = iter(marked.attend([sources[place] for place in places], targets))
    return [[next(attentions) for _ in found] for found in results]


def known_texts(
    texts: Sequence[str],
    results: Sequence[Sequence[Candidate | Hypothesis]],
    attentions: Sequence[Sequence[Attention]],
    source: Subwords,
    target: Subwords,
) -> list[list[str]]:
    """Returns the text of each candidate with source words for its unknown tokens.

    Args:
        texts: The source texts.
        results: The candidates of each.
        attentions: What `attentions_of` returned of them.
        source: Vocabulary of the source side.
        target: Vocabulary of the target side.
    """
    return [
        [
            replace_unknown(one.ids, attention[:-1], text, source=source, target=target)
            for one, attention in zip(own, seen, strict=True)
        ]
        for text, own, seen in zip(texts, results, attentions, strict=True)
    ]


def scored(
    targets: IdRows, alignments: Sequence[Alignment], options: SearchOptions
) -> Iterator[Candidate]:
    """Yields given translations with the scores that a search would have given them.

    Args:
        targets: Ids of each translation.
        alignments: The alignment of each translation.
        options: The search's options, for its length penalty.
    """
    for ids, alignment in zip(targets, alignments, strict=True):
        total = float(alignment.log_probabilities.sum(dtype=np.float64))
        yield Candidate(list(ids), total / length_penalty(len(ids) + 1, options), total)


def pad_states(
    rows: Sequence[npt.NDArray[np.float32]], width: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Stacks the states of several rows, each float32 `(length, width)`, and pads them.

    Returns:
        float32 `(rows, longest, width)`, zeros after a row's end, and a mask bool
        `(rows, longest)`, True before it.
    """
    longest = max(map(len, rows), default=0)
    states = np.zeros((len(rows), longest, width), np.float32)
    mask = np.zeros((len(rows), longest), bool)
    for place, row in enumerate(rows):
        states[place, : len(row)] = row
        mask[place, : len(row)] = True
    return states, mask
