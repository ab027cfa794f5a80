"""An artefact's decoder as the searches see it (`Steps`): the newest tokens go in, candidates come
out. Everything else stays bound to memory that the graph reads and writes in place.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from onnxruntime import IOBinding, OrtValue

from keras_transformer.artefact.graph_names import ENDS, LAST_SPECIAL, MOST_STEPS
from keras_transformer.artefact.shortlist import Listed
from keras_transformer.runtime.loop.requests import Ahead, Best, First, Ids, Rows, Values, keep_rows
from keras_transformer.runtime.onnx_graphs.cache import KeyValueCache, Memory
from keras_transformer.runtime.onnx_graphs.listed import IDS, PLACES, WEIGHTS, BatchShortlist
from keras_transformer.runtime.onnx_graphs.prefix_cache import PrefixCache
from keras_transformer.runtime.onnx_graphs.sessions import Session
from keras_transformer.runtime.onnx_graphs.step_graph import CANDIDATES, NEXT_IDS, StepGraph
from keras_transformer.runtime.turns import Pace

Arrays = dict[str, npt.NDArray]


_ONE_STEP = Ahead(most=1, last_special=0, end=-1, first_end=0, ending=0)


class DecoderSteps:
    """A batch of sentences being decoded; follows `Steps`.

    Args:
        graph: The decoder graph, or a greedy one.
        with_logits: Returns a session with the same inputs and caches that also outputs logits;
            called when they are first needed.
        sentences: How many there are.
        per_sentence: What the graph takes of every sentence beside its tokens: of a translation
            the mask of the source and the encoder's outputs, and the places of its ids on a
            shortlist. Overwritten when sentences leave.
        capacity: Tokens to make room for initially.
        limit: Most steps that will be made.
        memory: Where the caches' memory comes from.
        shortlist: The batch's, without its places; None if logits are those of all ids.
        beams: Rows a sentence to begin with.
        room: Tokens that the caches must hold of those before one; None for all.
        fixed: What the graphs take whatever the sentences.

    Attributes:
        peak_bytes: Most memory that the keys and values have taken so far, the encoder's included.
    """

    def __init__(
        self,
        graph: StepGraph,
        with_logits: Callable[[], Session],
        sentences: int,
        per_sentence: Arrays,
        capacity: int,
        limit: int,
        memory: Memory,
        shortlist: BatchShortlist | None = None,
        beams: int = 1,
        room: int | None = None,
        fixed: Arrays | None = None,
    ) -> None:
        self._graph = graph
        self._fixed = fixed or {}
        self._with_logits = with_logits
        self._most, self._last_special = np.ones(1, np.int32), np.zeros(1, np.int32)
        self._ends = np.zeros(3, np.int32)
        self._pace = Pace()
        self._holders = 1
        self._cache = KeyValueCache(graph.caches, sentences, capacity, limit, memory, beams, room)
        self.peak_bytes = 0
        self._shortlist = shortlist
        self._per_sentence = per_sentence
        self._step = 0
        self._step_number = np.zeros(1, np.int32)
        self._beam_size = np.ones(1, np.int32)
        self._num_candidates = np.ones(1, np.int64)
        self._asked = 1
        self._rebind()

    def prefill(self, graph: Session, ids: Ids, labels: Ids | None = None) -> Values | None:
        """Reads the tokens that every sentence begins with, in one run, before the first step.

        Args:
            graph: Session of the prefill graph.
            ids: `(sentences, length)`, the start token included; no more than the capacity.
            labels: Of a translation, what follows the first of these tokens: `(sentences, scored)`.

        Returns:
            The log-probabilities of `labels`; None without.
        """
        given: Arrays = {"token_ids": ids}
        if any(one.name == "step" for one in graph.get_inputs()):
            given["step"] = np.zeros(1, np.int32)
        if labels is not None:
            given = {"target_ids": ids, "labels": labels}
        if labels is not None and self._shortlist is not None:
            given[WEIGHTS] = self._shortlist.weights
            given["labels"] = Listed(self._shortlist.ids, self._places).labels(labels)
        scores = None if labels is None else np.empty(labels.shape, np.float32)
        given |= {**self._per_sentence, **self._fixed}
        self._read(graph, given, self._cache.buffers, scores)
        self._step = ids.shape[1]
        return scores

    def read_on(self, graph: Session, ids: Ids, known: PrefixCache) -> None:
        """Does as `prefill`, but for what earlier prompts began with, and keeps what is read.

        Args:
            graph: Session of a prefill graph that takes a first place.
            ids: As for `prefill`.
            known: What earlier prompts began with.
        """
        buffers = self._cache.buffers
        rows = [[buffer[row : row + 1] for buffer in buffers] for row in range(len(ids))]
        # Of a decoder alone this is which adapter reads the row.
        given = [
            {name: one[place : place + 1] for name, one in self._per_sentence.items()}
            for place in range(len(ids))
        ]
        readers = [b"".join(one.tobytes() for one in each.values()) for each in given]
        starts = [known.restore(*one) for one in zip(ids, rows, readers, strict=True)]
        if not any(starts):
            self.prefill(graph, ids)
        for own, row, start, more, reader in zip(ids, rows, starts, given, readers, strict=True):
            if any(starts) and start < len(own):
                step = np.array([start], np.int32)
                read = {"token_ids": own[None, start:], "step": step}
                self._read(graph, read | more | self._fixed, row)
            known.keep(own, row, reader)
        self._step = ids.shape[1]

    def _read(
        self,
        graph: Session,
        given: Arrays,
        buffers: Sequence[npt.NDArray],
        scores: Values | None = None,
    ) -> None:
        """Runs a prefill graph, which fills buffers and `scores`."""
        binding = graph.io_binding()
        for name, value in given.items():
            binding.bind_cpu_input(name, value)
        self._bind_caches(binding, buffers)
        if scores is not None:
            _bind_output(binding, "log_probabilities", scores)
        graph.run_with_iobinding(binding)

    def first(self, ids: Ids) -> First:
        """See `Steps.first`; for the greedy graphs only."""
        if self._graph.makes_several:
            return First(self.several(ids, 1, 0)[0], np.zeros(len(ids), np.float32))
        self._prepare(ids)
        self._run(self._graph.session, self._binding)
        return self._first

    def several(self, ids: Ids, most: int, last_special: int) -> Ids:
        """See `Steps.several`; for the greedy graph only."""
        if not self._graph.makes_several:
            return self.first(ids).ids[None]
        self._prepare(ids)
        [found] = self._run_several(most, last_special)
        return found.reshape(-1, len(ids))

    def best(self, ids: Ids, count: int, totals: Values) -> Best:
        """See `Steps.best`; for the decoder graph only."""
        if self._graph.makes_several:
            found = self.several_best(ids, count, totals, _ONE_STEP)
            return Best(found.ids[0], found.values[0], found.beams[0])
        self._prepare(ids)
        if count != self._asked:
            self._bind_best(count)
        self._totals[:] = totals
        self._run(self._graph.session, self._binding)
        return self._best

    def several_best(self, ids: Ids, count: int, totals: Values, ahead: Ahead) -> Best:
        """See `Steps.several_best`; for the decoder graph only."""
        if not self._graph.makes_several:
            best = self.best(ids, count, totals)
            return Best(best.ids[None], best.values[None], best.beams[None])
        self._prepare(ids)
        self._totals[:] = totals
        self._num_candidates[0] = count
        self._ends[:] = ahead.end, ahead.first_end, ahead.ending
        found = self._run_several(ahead.most, ahead.last_special)
        return Best(*(one.reshape(-1, len(totals), one.shape[1]) for one in found))

    def logits(self, ids: Ids) -> Values:
        """See `Steps.logits`."""
        self._prepare(ids)
        return self._run_for_logits()

    def logits_again(self, ids: Ids) -> Values:
        """See `Steps.logits_again`."""
        self._ids[:] = ids
        # Running a step twice reads and writes the same values in the same places.
        self._step -= 1
        return self._run_for_logits()

    def follow(self, parents: Ids) -> None:
        """See `Steps.follow`."""
        if self._cache.follow(parents, self._step):
            self._rebind()

    def keep(self, sentences: Rows) -> None:
        """See `Steps.keep`."""
        self._cache.keep(sentences, self._step)
        kept = keep_rows(self._per_sentence.values(), sentences)
        self._per_sentence = dict(zip(self._per_sentence, kept, strict=True))
        self._rebind()

    def join(self, other: "DecoderSteps") -> None:
        """See `Steps.join`; for batches without a shortlist, whose caches forget nothing."""
        self._cache.join(other._cache, self._step)
        self._per_sentence = {
            name: _stacked(own, other._per_sentence[name])
            for name, own in self._per_sentence.items()
        }
        self._rebind()

    def hold(self) -> None:
        """Makes one more call of `close` necessary."""
        self._holders += 1

    def close(self) -> None:
        """Gives the caches' memory back; no step can be made any more."""
        self._holders -= 1
        if not self._holders:
            self._cache.close()

    def _run_for_logits(self) -> Values:
        session = self._with_logits()
        logits = np.empty((len(self._ids), self._width(session)), np.float32)
        binding = self._bind_memory(session)
        _bind_output(binding, "logits", logits)
        self._run(session, binding)
        return logits if self._shortlist is None else self._shortlist.spread(logits, self._places)

    @property
    def _places(self) -> npt.NDArray[np.int32]:
        return self._per_sentence[PLACES]

    def _width(self, session: Session) -> int:
        """Returns how many logits a row has."""
        if self._shortlist is not None:
            return self._places.shape[1]
        return next(value.shape[1] for value in session.get_outputs() if value.name == "logits")

    def _prepare(self, ids: Ids) -> None:
        """Makes room for a step and gives the graph its ids."""
        self._step -= self._cache.forget(self._step)
        if self._cache.make_room(self._step):
            self._rebind()
        self._ids[:] = ids

    def _run_several(self, most: int, last_special: int) -> list[npt.NDArray]:
        """Makes as many steps as there is room for; returns what all of them chose."""
        self._most[0] = self._pace.most(min(most, self._cache.capacity - self._step))
        self._last_special[0] = last_special
        # Only the run knows how many steps it makes, so onnxruntime allocates these outputs anew.
        for name in self._graph.chosen:
            self._binding.bind_output(name)
        self._run(self._graph.session, self._binding)
        found = [one.numpy() for one in self._binding.get_outputs()[: len(self._graph.chosen)]]
        made = len(found[0]) // len(self._cache.beams)
        self._pace.made(made)
        self._step += made - 1
        return found

    def _run(self, session: Session, binding: IOBinding) -> None:
        self._step_number[0] = self._step
        session.run_with_iobinding(binding)
        self._step += 1

    def _rebind(self) -> None:
        """Binds all memory anew: the number of rows or the room for tokens has changed."""
        sentences, beams, _ = self._cache.beams.shape
        cross = [one for name, one in self._per_sentence.items() if name.startswith("cross_")]
        held = self._cache.bytes + sum(one.nbytes for one in cross)
        self.peak_bytes = max(self.peak_bytes, held)
        self._ids = np.zeros(sentences * beams, np.int32)
        self._totals = np.zeros((sentences, beams), np.float32)
        self._beam_size[0] = beams
        if self._graph.makes_several:
            self._binding = self._bind_memory(self._graph.session, self._graph.chosen)
            return
        self._binding = self._bind_memory(self._graph.session)
        if NEXT_IDS in self._graph.names:
            self._bind_first(sentences)
        else:
            self._bind_best(self._asked)

    def _bind_memory(self, session: Session, first: Sequence[str] = ()) -> IOBinding:
        """Returns a binding of all inputs, these outputs and the caches, written in place."""
        binding = session.io_binding()
        for name in first:
            binding.bind_output(name)
        inputs: Arrays = {
            "target_ids": self._ids,
            "token_ids": self._ids,
            "step": self._step_number,
            "beam_size": self._beam_size,
            "num_candidates": self._num_candidates,
            "totals": self._totals,
            "cache_beams": self._cache.beams,
            **self._per_sentence,
            **self._fixed,
        }
        if self._shortlist is not None:
            inputs[IDS] = self._shortlist.ids
            if WEIGHTS in self._graph.names:
                inputs[WEIGHTS] = self._shortlist.weights
        for name, value in inputs.items():
            if name in self._graph.names:
                binding.bind_cpu_input(name, value)
        if first:
            optional = {MOST_STEPS: self._most, LAST_SPECIAL: self._last_special}
            if NEXT_IDS not in first:
                optional[ENDS] = self._ends
            for name, value in optional.items():
                # The other way to bind refuses optional inputs.
                binding.bind_ortvalue_input(name, OrtValue.ortvalue_from_numpy(value))
        self._bind_caches(binding, self._cache.buffers)
        return binding

    def _bind_caches(self, binding: IOBinding, buffers: Sequence[npt.NDArray]) -> None:
        for spec, buffer in zip(self._graph.caches, buffers, strict=True):
            memory = OrtValue.ortvalue_from_numpy(buffer)
            binding.bind_ortvalue_input(spec.name, memory)
            binding.bind_ortvalue_output(f"new_{spec.name}", memory)

    def _bind_first(self, sentences: int) -> None:
        self._first = First(np.empty(sentences, np.int32), np.zeros(sentences, np.float32))
        _bind_output(self._binding, NEXT_IDS, self._first.ids)
        if "next_log_probabilities" in self._graph.names:
            _bind_output(self._binding, "next_log_probabilities", self._first.values)

    def _bind_best(self, count: int) -> None:
        self._asked = count
        self._num_candidates[0] = count
        sentences, beams = self._totals.shape
        shape = (sentences, min(count, beams * self._width(self._graph.session)))
        self._best = Best(
            np.empty(shape, np.int32), np.empty(shape, np.float32), np.empty(shape, np.int32)
        )
        for name, value in zip(CANDIDATES, self._best, strict=True):
            _bind_output(self._binding, name, value)


def _stacked(one: npt.NDArray, other: npt.NDArray) -> npt.NDArray:
    """Puts the sentences of two arrays behind each other; zeros fill up what is shorter."""
    sizes = np.maximum(one.shape, other.shape)[1:]
    found = np.zeros((len(one) + len(other), *sizes), one.dtype)
    for first, part in ((0, one), (len(one), other)):
        rows = slice(first, first + len(part))
        found[(rows, *map(slice, part.shape[1:]))] = part
    return found


def _bind_output(binding: IOBinding, name: str, value: npt.NDArray) -> None:
    binding.bind_ortvalue_output(name, OrtValue.ortvalue_from_numpy(value))
