"""The search written out as its definition reads, one sentence at a time and with every option:
slow, obvious, and the reference of both implementations.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from keras_transformer.search.options import SearchOptions

PAD, BOS, EOS = 0, 2, 3

Hypothesis = tuple[list[int], float, float]


def naive_search(
    log_probs: np.ndarray,
    *,
    logits: np.ndarray | None = None,
    prefix: Sequence[int] = (),
    source_length: int = 0,
    sentence: int = 0,
    **fields,
) -> list[Hypothesis]:
    """Searches, or samples where the options say so.

    Args:
        log_probs: float32 `(max_length, vocabulary, vocabulary)`: tokens so far, last token, next.
        logits: What a repetition penalty acts on, the same shape; `log_probs` where None.
        prefix: Ids that the translation begins with.
        source_length: Source tokens, the end token included; for `max_length_ratio`.
        sentence: The sentence's place among the inputs; for sampling.
        **fields: Those of `SearchOptions`.

    Returns:
        (ids without eos, score, log-probability) of the best, or of the samples in their order;
        summed in float32 as the searches do.
    """
    options = SearchOptions(**fields)
    limit = options.max_length
    if options.max_length_ratio is not None:
        limit = max(1, min(limit, math.ceil(options.max_length_ratio * source_length)))
    tables = (log_probs, log_probs if logits is None else logits)
    run = _sample if options.sample else _search
    return [
        ([token for token in ids[1:] if token != EOS], float(total / penalty), float(total))
        for total, penalty, ids in run(tables, list(prefix), limit, sentence, options)
    ]


def _search(tables, prefix, limit, sentence, options) -> list[tuple]:
    alive = [(np.float32(0), [BOS])]
    finished: list[tuple] = []
    beams = options.beam_size
    for length in range(1, limit + 1):
        penalty = _penalty(length, options)
        continuations = [
            (total + row[token], [*ids, token])
            for total, ids in alive
            for row in [_next(tables, ids, prefix, options)]
            for token in range(len(row))
            if row[token] > -np.inf
        ]
        # sorted() is stable: of equal totals the lowest beam, then the lowest id comes first.
        best = sorted(continuations, key=lambda found: -found[0])[: 2 * beams]
        ended = [found for found in best[:beams] if found[1][-1] == EOS]
        alive = [found for found in best if found[1][-1] != EOS][:beams]
        joining = ended + (alive if length == limit else [])
        finished += [(total, penalty, ids) for total, ids in joining]
        finished = sorted(finished, key=lambda found: -(found[0] / found[1]))[:beams]
        if not alive:
            break
        if len(finished) == beams:
            worst = finished[-1][0] / finished[-1][1]
            if options.early_stopping == "first":
                break
            if options.early_stopping == "likely" and worst >= alive[0][0] / penalty:
                break
            if options.early_stopping == "exact" and all(
                worst >= alive[0][0] / _penalty(later, options)
                for later in range(length + 1, limit + 1)
            ):
                break
    return finished[: options.num_hypotheses]


def _sample(tables, prefix, limit, sentence, options) -> Iterator[tuple]:
    for rank in range(options.num_hypotheses):
        uniforms = np.random.default_rng([options.seed, sentence, rank]).random(limit)
        total, ids = np.float32(0), [BOS]
        for uniform in uniforms:
            row = _next(tables, ids, prefix, options)
            if row.max() == -np.inf:
                break
            token = _draw(row, uniform, options)
            total, ids = total + row[token], [*ids, token]
            if token == EOS:
                break
        if ids[-1] == EOS or len(ids) == limit + 1:
            yield total, _penalty(len(ids) - 1, options), ids


def _draw(row: np.ndarray, uniform: float, options) -> int:
    # Dividing log-probabilities divides the logits; the shift only keeps exp from underflow.
    weights = np.exp((row.astype(np.float64) - row.max()) / options.temperature)
    kept = sorted((y for y in range(len(row)) if weights[y] > 0), key=lambda y: (-weights[y], y))
    if options.top_k:
        kept = kept[: options.top_k]
    whole = sum(weights[y] for y in kept)
    for count in range(1, len(kept) + 1):
        if sum(weights[y] for y in kept[:count]) >= options.top_p * whole:
            kept = kept[:count]
            break
    whole = sum(weights[y] for y in kept)
    for count in range(1, len(kept)):
        if sum(weights[y] for y in kept[:count]) > uniform * whole:
            return kept[count - 1]
    return kept[-1]


def _next(tables, ids: list[int], prefix: list[int], options) -> np.ndarray:
    """Log-probabilities of the next token `(vocabulary,)`, what is forbidden minus infinity."""
    log_probs, logits = tables
    generated = ids[1:]
    place = len(generated)
    row = log_probs[place, ids[-1]].copy()
    if options.repetition_penalty != 1:
        row = logits[place, ids[-1]].astype(np.float32)
        for token in set(generated):
            factor = options.repetition_penalty
            row[token] = row[token] / factor if row[token] > 0 else row[token] * factor
        row = row - row.max()
        row = row - np.log(np.exp(row).sum())
    forced = dict(options.forced_tokens).get(place)
    if place < len(prefix):
        forced = prefix[place]
    for token in range(len(row)):
        if token != forced if forced is not None else _forbidden(generated, token, options):
            row[token] = -np.inf
    return row


def _forbidden(generated: list[int], token: int, options) -> bool:
    if token in (PAD, BOS) or (token == EOS and len(generated) < options.min_length):
        return True
    longer = [*generated, token]
    size = options.no_repeat_ngram_size
    if size and len(longer) >= size:
        ngrams = [longer[start : start + size] for start in range(len(longer) - size + 1)]
        if ngrams.pop() in ngrams:
            return True
    return any(
        longer[-len(banned) :] == list(banned)
        for banned in options.banned_sequences
        if len(banned) <= len(longer)
    )


def _penalty(length: int, options) -> np.float32:
    base = length if options.length_penalty_type == "exponent" else (5 + length) / 6
    return np.float32(min(base**options.length_penalty, 1e30))
