"""The constraint on slots: a translation has each slot of its source exactly once."""

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.loop.requests import Best, Ids, Rows, SearchRequest, Values

Flags = npt.NDArray[np.bool_]


class SlotConstraint:
    """What the slots of a request's sources forbid.

    N is the number of slots that the vocabulary has. A slot that the source lacks, or that was
    written, is forbidden, and so is the end before all are written: where it would come next, or
    no more tokens are allowed than slots are left, one of these comes instead.

    Args:
        request: The batch.

    Attributes:
        last: The largest id that it concerns; -1 if the vocabulary has no slots.
        is_asked: Whether a source has any.
        first_tight: The first step at which a sentence may have no room for anything but slots.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._ids = np.array(request.special_ids.slots, np.int32)  # [N]
        self._eos = request.special_ids.eos
        # Where phrases are searched for, the slots of sources are among them.
        self._forces = not request.phrases
        self._limits = np.asarray(request.limits)  # [S]
        self._asked = np.zeros((len(request.limits), len(self._ids)), bool)  # [S, N]
        for row, source in zip(self._asked, request.sources, strict=False):
            row[:] = np.isin(self._ids, source)
        counts = self._asked.sum(axis=1)
        self.last = int(self._ids.max(initial=-1))
        self.is_asked = bool(counts.any())
        tight = (self._limits - counts)[counts > 0]
        self.first_tight = int(tight.min(initial=np.iinfo(np.int64).max))

    def forbids(self, tokens: Ids, history: Ids, sentences: Rows) -> bool:
        """Tells whether the next token of one of some rows is forbidden.

        Args:
            tokens: The next token of each row, `(rows,)`.
            history: Their tokens so far, `(rows, step)`.
            sentences: The sentence of each row, numbered as in the request, `(rows,)`.
        """
        if not self._concerns(tokens).any():
            return False
        left = self._left(history, sentences)
        is_open = (tokens[:, None] == self._ids) & left
        is_slot = np.isin(tokens, self._ids)
        ends = (tokens == self._eos) & left.any(axis=1)
        return bool((ends | (is_slot & ~is_open.any(axis=1))).any())

    def strike(self, best: Best, history: Ids, sentences: Rows) -> bool:
        """Sets the values of forbidden candidates to -inf.

        Args:
            best: The best continuations of each sentence.
            history: The tokens so far of all beams, `(sentences, beams, step)`.
            sentences: The sentences, numbered as in the request.

        Returns:
            Whether that is enough: False where a hypothesis would end before its slots are written.
        """
        if not self._concerns(best.ids).any():
            return True
        count, beams, step = history.shape
        left = self._left(history.reshape(count * beams, step), np.repeat(sentences, beams))
        left = left.reshape(count, beams, -1)[np.arange(count)[:, None], best.beams]  # [S, M, N]
        is_slot = best.ids[:, :, None] == self._ids
        best.values[is_slot.any(axis=2) & ~(is_slot & left).any(axis=2)] = -np.inf
        early = (best.ids == self._eos) & left.any(axis=2) & np.isfinite(best.values)
        for row, place in zip(*early.nonzero(), strict=True):
            beam = best.beams[row, place]
            before = best.values[row, :place][best.beams[row, :place] == beam]
            # What is listed before it is more probable.
            if not np.isfinite(before).any():
                return False
        best.values[early] = -np.inf
        return True

    def apply(self, log_probs: Values, history: Ids, sentences: Rows) -> None:
        """Sets the log-probabilities `(rows, vocabulary)` of forbidden tokens to -inf."""
        left = self._left(history, sentences)
        log_probs[:, self._ids] = np.where(left, log_probs[:, self._ids], -np.inf)
        if not self._forces:
            return
        counts = left.sum(axis=1)
        would_end = log_probs[:, self._eos] >= log_probs.max(axis=1)
        room = self._limits[sentences] - history.shape[1]
        only = (counts > 0) & (would_end | (room <= counts))
        log_probs[counts > 0, self._eos] = -np.inf
        slots = np.where(left[only], log_probs[only][:, self._ids], -np.inf)
        log_probs[only] = -np.inf
        log_probs[np.flatnonzero(only)[:, None], self._ids] = slots

    def _concerns(self, tokens: Ids) -> Flags:
        return (tokens <= self.last) & (np.isin(tokens, self._ids) | (tokens == self._eos))

    def _left(self, history: Ids, sentences: Rows) -> Flags:
        """Returns which slots each row has still to write: `(rows, N)`."""
        written = (history[:, :, None] == self._ids).any(axis=1)
        left: Flags = self._asked[sentences] & ~written
        return left
