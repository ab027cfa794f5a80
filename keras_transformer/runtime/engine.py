"""The engine of an exported translator: rows of source ids, in any number and order, to candidates.
It manages batches, memory and sessions, and knows nothing of text.
"""

import dataclasses
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.runtime.alignments import align
from keras_transformer.runtime.loop.batches import (
    IdRows,
    MemoryBound,
    plan_batches,
    plan_by_prefix,
)
from keras_transformer.runtime.loop.one_by_one import OneByOne
from keras_transformer.runtime.loop.requests import SearchRequest, tokens_in_common
from keras_transformer.runtime.loop.search import needs_ranking, search, step_graph
from keras_transformer.runtime.onnx_graphs.cache import bytes_of_row, cache_inputs, whole_blocks
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.runtime.onnx_graphs.graphs import Sessions, batch_shortlist
from keras_transformer.runtime.onnx_graphs.listed import PLACES
from keras_transformer.runtime.onnx_graphs.memory import KEPT_BYTES, Memory
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.workers import Division, Workers
from keras_transformer.search.memory import HypothesisSize
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import EMPTY, NOTHING_FOUND, Candidate, SearchOptions
from keras_transformer.search.random_numbers import fresh_seed
from keras_transformer.search.stops import Stops
from keras_transformer.translation.engine import Alignment

# Initial room for tokens, by the source's length: few translations need more.
_ROOM_RATIO, _ROOM_TOKENS = 1.25, 8
# Most tokens by which the prefixes in a batch differ: each costs its batch a step.
_PREFIX_SPREAD = 8


class Engine:
    """An opened artefact as a `TranslationEngine`; any number of threads may use it at once.

    Args:
        manifest: The artefact's contract.
        files: Its files.
        threads: Threads of the graphs; one for each core that the process may use if None.
        batch_tokens: Most padded source tokens in a batch, counted once for every beam or sample;
            chosen for the model's size if None.
        max_cache_bytes: Most memory for the keys and values of a batch; no limit if None. A single
            sentence is translated however much it takes.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.

    Attributes:
        limits: What the model can take.
        model_dim: Width of the encoder's states.
        peak_cache_bytes: Most memory that the keys and values of a batch have taken so far.

    Raises:
        ValueError: A number is below 1, or a graph does not match the manifest.
    """

    def __init__(
        self,
        manifest: Manifest,
        files: ArtefactFiles,
        threads: int | None,
        batch_tokens: int | None,
        max_cache_bytes: int | None,
        providers: Sequence[Provider] | None = None,
    ) -> None:
        self.manifest = manifest
        self.limits = ModelLimits.of(manifest.config, manifest.special_ids)
        self.model_dim = int(manifest.config["model_dim"])
        self.peak_cache_bytes = 0
        for name, value in (("batch_tokens", batch_tokens), ("max_cache_bytes", max_cache_bytes)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        HypothesisSize.of(manifest.config).check_batch(batch_tokens or 1)
        self._max_cache_bytes = max_cache_bytes
        self._lock = threading.Lock()
        self._workers = Workers(manifest, files, threads, providers)
        self._graphs = self._workers.graphs
        self._batch_tokens = batch_tokens or self._workers.batch_tokens
        self._memory = Memory(min(KEPT_BYTES, max_cache_bytes or KEPT_BYTES))
        self._shortlist = _open_shortlist(manifest, files, self.limits.target_vocab_size)
        self._graphs.open("encoder")

    def close(self) -> None:
        """Releases the graphs; calls that are running finish, later ones raise RuntimeError."""
        self._workers.close()
        self._memory = Memory(0)

    def search(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None = None,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
    ) -> list[list[Candidate]]:
        """Returns each source's candidates, best first, or its samples in order.

        Args:
            sources: Ids of each text, without bos and eos; an empty one has one empty candidate.
            options: The search's options.
            prefixes: Ids that each translation begins with.
            with_scores: Whether scores are needed; greedy search is faster without them.
            stops: What ends texts beside eos; None to look for `stop_tokens` alone.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model.
            RuntimeError: The engine is closed.
        """
        filled = sum(len(source) > 0 for source in sources)
        division = self._workers.divide(filled, options.rows_per_sentence)
        opened = division.graphs.open("encoder", step_graph(options, with_scores))
        options, limits, prefixes = self.limits.check_search(sources, options, prefixes)
        found, stops = [[EMPTY] for _ in sources], stops or Stops.of(options)
        groups = plan_by_prefix([len(prefix) for prefix in prefixes], _PREFIX_SPREAD)
        batches = [
            [group[place] for place in places]
            for group in groups
            for places in self._plan(
                [sources[place] for place in group],
                [limits[place] for place in group],
                options.rows_per_sentence,
                division,
            )
        ]

        def translate(places: list[int]) -> list[list[Candidate]]:
            request = self._request(places, options, limits, prefixes, with_scores, stops)
            rows = [sources[place] for place in places]
            with self._start(opened, rows, request) as (steps, begun):
                candidates = search(steps, begun)
            with self._lock:
                self.peak_cache_bytes = max(self.peak_cache_bytes, steps.peak_bytes)
            return candidates

        translated = self._workers.map(translate, batches, division.at_a_time)
        for places, results in zip(batches, translated, strict=True):
            for place, candidates in zip(places, results, strict=True):
                found[place] = candidates or [NOTHING_FOUND]
        return found

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """Yields the tokens of one translation as they are decoded, without eos; no beam search.

        Args:
            source: Ids of the text, without bos and eos.
            options: The search's options.
            prefix: Ids that the translation begins with; they are yielded too.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model; raised at once.
            RuntimeError: The engine is closed.
        """
        opened = self._graphs.open("encoder", step_graph(options, with_scores=False))
        options, limits, prefixes = self.limits.check_search([source], options, [prefix])
        if not len(source):
            return iter(())
        request = self._request([0], options, limits, prefixes, with_scores=False)
        return self._stream(opened, source, request)

    def _stream(
        self, opened: Sessions, source: Sequence[int], request: SearchRequest
    ) -> Iterator[int]:
        with self._start(opened, [source], request) as (steps, begun):
            yield from request.prefixes[0][: begun.begun]
            for tokens in OneByOne(steps, begun, streams=True):
                token = int(tokens[0])
                if token == self.manifest.special_ids.eos:
                    return
                yield token

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """Returns how the model sees each given translation.

        Args:
            sources: Ids of each text, without bos and eos.
            targets: Ids of its translation, likewise.

        Raises:
            ValueError: The numbers of sources and targets differ, or an id is outside its
                vocabulary.
            RuntimeError: The engine is closed.
        """
        self.limits.check_pairs(sources, targets)
        return align(
            self.manifest, self._graphs, sources, targets, self._batch_tokens, self._shortlist
        )

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """Returns the encoder's states of each source: float32 `(source_length, model_dim)`.

        Args:
            sources: Ids of each text, without bos and eos; the states include eos.

        Raises:
            ValueError: A source does not fit the model.
            RuntimeError: The engine is closed.
        """
        self.limits.check_sources(sources)
        encoder = self._graphs.open("encoder")["encoder"]
        # An empty text still has a state for eos; a length of 2 keeps it in the plan.
        lengths = [max(2, len(source) + 1) for source in sources]
        found: dict[int, npt.NDArray[np.float32]] = {}
        for places in plan_batches(lengths, batch_tokens=self._batch_tokens):
            rows = [sources[place] for place in places]
            states = self._graphs.states(encoder, rows)
            for place, row, state in zip(places, rows, states, strict=True):
                found[place] = state[: len(row) + 1]
        return [found[place] for place in range(len(sources))]

    def _plan(
        self, sources: IdRows, limits: list[int], rows: int, division: Division
    ) -> list[list[int]]:
        memory = None
        if self._max_cache_bytes is not None:
            inputs = self.manifest.graphs["decoder"].inputs
            cross = [spec for spec in inputs if spec.name.startswith("cross_")]
            cache = cache_inputs(inputs)
            memory = MemoryBound(
                limit=max(1, self._max_cache_bytes // division.at_a_time),
                bytes_per_row=lambda source, target: (
                    bytes_of_row(cross, source) + bytes_of_row(cache, whole_blocks(target))
                ),
                target_lengths=limits,
            )
        return plan_batches(
            [len(source) + 1 for source in sources],
            batch_tokens=self._batch_tokens,
            rows_per_sentence=rows,
            memory=memory,
            workers=division.at_a_time,
            least=division.least,
        )

    def _request(
        self,
        places: list[int],
        options: SearchOptions,
        limits: list[int],
        prefixes: IdRows,
        with_scores: bool,
        stops: Stops | None = None,
    ) -> SearchRequest:
        seed = options.seed if options.seed is not None else fresh_seed()
        return SearchRequest(
            options=options,
            special_ids=self.manifest.special_ids,
            limits=[limits[place] for place in places],
            prefixes=[prefixes[place] for place in places],
            places=places,
            seed=seed,
            with_scores=with_scores,
            stops=stops,
        )

    @contextmanager
    def _start(
        self, opened: Sessions, sources: IdRows, request: SearchRequest
    ) -> Iterator[tuple[DecoderSteps, SearchRequest]]:
        """Runs the encoder and reads the prefixes; yields the decoder and what is left to do."""
        mask, cross = self._graphs.keys_values(opened["encoder"], sources)
        per_sentence, shortlist = {"source_mask": mask, **cross}, None
        if self._shortlist is not None:
            forced = [token for _, token in request.options.forced_tokens]
            needed = [[*prefix, *forced] for prefix in request.prefixes]
            listed = self._shortlist.choose(sources, needed)
            size = self._shortlist.target_vocab_size
            shortlist = batch_shortlist(opened, listed, size)
            per_sentence[PLACES] = listed.places
        room = max(_ROOM_RATIO * mask.shape[1] + _ROOM_TOKENS, request.options.min_length)
        room = max(room, *map(len, request.prefixes))
        name = step_graph(request.options, request.with_scores)
        # The graph for plain greedy search has no logits.
        full = "greedy_scores" if name == "greedy" else name
        graph, beams = opened.step(name), request.options.beam_size
        is_alone = len(sources) == 1 and not tokens_in_common(request.prefixes)
        if is_alone and beams > 1 and graph.makes_several:
            # For one sentence it costs little that all beams take the first step.
            request = dataclasses.replace(request, beams=beams)
        steps = DecoderSteps(
            graph,
            lambda: opened[full],
            len(mask),
            per_sentence,
            int(room),
            max(request.limits),
            self._memory,
            shortlist,
            request.beams,
        )
        try:
            yield steps, self._begin(opened, steps, request)
        finally:
            steps.close()

    def _begin(
        self, opened: Sessions, steps: DecoderSteps, request: SearchRequest
    ) -> SearchRequest:
        """Reads what prefixes have in common, in one run, if the artefact has the graph for it."""
        options, count = request.options, tokens_in_common(request.prefixes)
        # A penalty on repetition changes the log-probabilities of a prefix, too.
        if not count or "prefill" not in self.manifest.graphs or options.repetition_penalty != 1:
            return request
        begun = dataclasses.replace(request, begun=count)
        is_scored = request.with_scores or needs_ranking(options)
        labels = begun.history()[:, : count if is_scored else 1]
        scores = steps.prefill(opened["prefill"], begun.begun_ids(), np.ascontiguousarray(labels))
        return dataclasses.replace(begun, begun_log_probabilities=scores) if is_scored else begun


def _open_shortlist(manifest: Manifest, files: ArtefactFiles, vocab_size: int) -> Shortlist | None:
    if manifest.shortlist is None:
        return None
    return Shortlist.read(
        files.directory / manifest.shortlist.file, vocab_size, files.content(manifest.shortlist)
    )
