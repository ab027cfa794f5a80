"""Tokens that may not come next: constrained log-probabilities of logits and the tokens so far."""

from collections.abc import Sequence

import numpy as np

from keras_transformer.runtime.loop.requests import Best, Ids, Rows, SearchRequest, Values
from keras_transformer.runtime.loop.slots import SlotConstraint
from keras_transformer.runtime.loop.top_k import log_softmax
from keras_transformer.search.grammars import GrammarStates
from keras_transformer.search.options import SearchOptions

_FREE = -1
_NEVER = np.iinfo(np.int64).max
# Extra candidates to ask for, so that a few can be struck.
SPARE = 3


class NoSlots:
    """The `SlotConstraint` of a vocabulary without slots."""

    last, is_asked, first_tight = -1, False, _NEVER

    def forbids(self, tokens: Ids, history: Ids, sentences: Rows) -> bool:
        """Tells that nothing is forbidden."""
        return False

    def strike(self, best: Best, history: Ids, sentences: Rows) -> bool:
        """Strikes nothing, which is enough."""
        return True

    def apply(self, log_probs: Values, history: Ids, sentences: Rows) -> None:
        """Changes nothing."""


class Constraints:
    """The constraints of one request; see `SearchOptions` for what each means.

    Most requests have no constraint that needs every logit: padding, the start token and an end
    that comes too early are few enough to be struck from a short list of candidates (`strike`).

    Attributes:
        slots: The constraint on slots.
        last_special: The largest id that `strike` or the end of a hypothesis may concern.
        last_end: The first step at which every sentence may end.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._options = request.options
        self._eos = request.special_ids.eos
        self._never = request.special_ids.never_generated
        self._too_early = self._never | {self._eos}
        has_slots = bool(request.special_ids.slots)
        self.slots: SlotConstraint | NoSlots = SlotConstraint(request) if has_slots else NoSlots()
        self.last_special = max(*self._too_early, self.slots.last)
        self._prompted = request.prompted()
        self._forced = _forced_ids(request.options, request.prefixes, self._prompted)
        options = request.options
        # The first step at which each sentence may end.
        self._may_end = self._prompted + options.min_length
        self._has_prompts = any(request.prompt_lengths)
        self._first_end = min(request.prompt_lengths, default=0) + options.min_length
        self.last_end = max(request.prompt_lengths, default=0) + options.min_length
        self._always = bool(
            options.no_repeat_ngram_size
            or options.repetition_penalty != 1
            or options.banned_sequences
            or (options.sample and self.slots.last >= 0)
            or request.grammar is not None
        )
        self._grammar = None
        if request.grammar is not None:
            begins = [len(prefix) for prefix in request.prefixes] or [0] * len(request.limits)
            self._grammar = GrammarStates(request.grammar, begins)

    def need_logits(self, step: int) -> bool:
        """Tells whether the step needs `apply`; else `strike` is enough."""
        if self._always or step >= self.slots.first_tight:
            return True
        return self._is_forced(step) or self._ends_differ(step)

    def free_steps(self, step: int) -> int:
        """Returns how many steps from this one on need neither `apply` nor `prompt_tokens`."""
        ends_together = self._first_end == self.last_end
        is_forced = step < self._forced.shape[1]
        if self._always or is_forced or not (ends_together or step >= self.last_end):
            return 0
        return max(0, self.slots.first_tight - step)

    def reads_prompts(self, step: int) -> bool:
        """Tells whether nothing but prompts, or texts too short to end, needs `apply`."""
        simple = self._has_prompts and not self._always and not self._options.forced_tokens
        return simple and step < self.last_end

    def prompt_tokens(self, step: int, sentences: Rows) -> Ids:
        """Returns the next token of each row that still reads its prompt, -1 for the others.

        Args:
            step: Tokens so far.
            sentences: Sentence of each row, numbered as in the request, `(rows,)`.
        """
        place = min(step, self._forced.shape[1] - 1)
        is_prompt = step < self._prompted[sentences]
        return np.where(is_prompt, self._forced[sentences, place], _FREE)

    def may_end(self, step: int) -> bool:
        """Tells whether every sentence may end after `step` tokens."""
        return step >= self.last_end

    def forbids(self, ids: Ids, step: int) -> bool:
        """Tells whether one of these must not come next; `step` counts the tokens so far."""
        # For so few ids much faster than numpy.
        return not self._forbidden(step).isdisjoint(ids.ravel().tolist())

    def strike(self, best: Best, step: int) -> None:
        """Sets the values of forbidden candidates to -inf; `step` counts the tokens so far."""
        for token in self._forbidden(step):
            best.values[best.ids == token] = -np.inf

    def apply(self, logits: Values, history: Ids, sentences: Rows) -> Values:
        """Returns constrained log-probabilities.

        Args:
            logits: `(rows, vocabulary)`; may be changed.
            history: Tokens generated so far, `(rows, step)`.
            sentences: Sentence of each row, numbered as in the request, `(rows,)`.
        """
        options, step = self._options, history.shape[1]
        if options.repetition_penalty != 1 and step:
            _penalize_repetition(logits, history, options.repetition_penalty)
        log_probs = log_softmax(logits)
        free = log_probs.copy() if self._is_forced(step) else log_probs
        log_probs[:, list(self._forbidden(step))] = -np.inf
        if self._ends_differ(step):
            log_probs[step < self._may_end[sentences], self._eos] = -np.inf
        if options.no_repeat_ngram_size:
            _forbid_repeats(log_probs, history, options.no_repeat_ngram_size)
        for sequence in options.banned_sequences:
            _forbid_sequence(log_probs, history, sequence)
        if self._grammar is not None:
            for row, allowed in self._grammar.allowed(history, sentences.tolist()):
                log_probs[row, ~allowed] = -np.inf
        self.slots.apply(log_probs, history, sentences)
        if self._is_forced(step):
            tokens = self._forced[sentences, step]
            rows = np.flatnonzero(tokens != _FREE)
            log_probs[rows] = -np.inf
            is_prompt = step < self._prompted[sentences[rows]]
            log_probs[rows, tokens[rows]] = np.where(is_prompt, 0, free[rows, tokens[rows]])
        return log_probs

    def _forbidden(self, step: int) -> frozenset[int]:
        """Returns the ids that no hypothesis may continue with after `step` tokens."""
        return self._too_early if step < self._first_end else self._never

    def _ends_differ(self, step: int) -> bool:
        """Tells whether some sentences may end after `step` tokens and others may not."""
        return self._first_end <= step < self.last_end

    def _is_forced(self, step: int) -> bool:
        return step < self._forced.shape[1] and bool((self._forced[:, step] != _FREE).any())


def _forced_ids(options: SearchOptions, prefixes: Sequence[Sequence[int]], prompted: Rows) -> Ids:
    """Returns the token forced at each place, `(sentences, places)`; -1 if none is."""
    if not options.forced_tokens and not any(map(len, prefixes)):
        return np.empty((len(prompted), 0), np.int32)
    most = int(prompted.max())
    length = max(
        [len(prefix) for prefix in prefixes]
        + [most + place + 1 for place, _ in options.forced_tokens],
        default=0,
    )
    forced = np.full((len(prompted), length), _FREE, np.int32)
    for place, token in options.forced_tokens:
        forced[np.arange(len(prompted)), prompted + place] = token
    for row, prefix in zip(forced, prefixes, strict=False):
        row[: len(prefix)] = prefix
    return forced


def _penalize_repetition(logits: Values, history: Ids, penalty: float) -> None:
    seen = np.take_along_axis(logits, history, axis=1)
    penalized = np.where(seen > 0, seen / np.float32(penalty), seen * np.float32(penalty))
    np.put_along_axis(logits, history, penalized, axis=1)


def _forbid_repeats(log_probs: Values, history: Ids, size: int) -> None:
    """Forbids each token that would end an n-gram of this size that the row already holds."""
    begins = history.shape[1] - size + 1
    if begins <= 0:
        return
    same = np.ones((len(history), begins), bool)
    for offset in range(size - 1):
        last = history[:, begins + offset]
        same &= history[:, offset : offset + begins] == last[:, None]
    rows, places = np.nonzero(same)
    log_probs[rows, history[rows, places + size - 1]] = -np.inf


def _forbid_sequence(log_probs: Values, history: Ids, sequence: tuple[int, ...]) -> None:
    *before, last = sequence
    if len(before) > history.shape[1] or last >= log_probs.shape[1]:
        return
    matching = (history[:, history.shape[1] - len(before) :] == before).all(axis=1)
    log_probs[matching, last] = -np.inf
