"""The engine of an exported decoder: prompts as ids, in any number and order, to candidates. It
manages batches, memory and sessions, and knows nothing of text.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.generation.engine import CheckedPrompts, check_prompts, check_texts_fit
from keras_transformer.runtime.loop.batches import IdRows, MemoryBound, pad_sources, plan_batches
from keras_transformer.runtime.loop.even_batches import even_batches
from keras_transformer.runtime.loop.one_by_one import OneByOne
from keras_transformer.runtime.loop.requests import SearchRequest, tokens_in_common
from keras_transformer.runtime.loop.search import search, step_graph
from keras_transformer.runtime.onnx_graphs.cache import bytes_of_row, cache_inputs, whole_blocks
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.runtime.onnx_graphs.graphs import Sessions
from keras_transformer.runtime.onnx_graphs.memory import KEPT_BYTES, Memory
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.workers import Division, Workers
from keras_transformer.search.memory import HypothesisSize
from keras_transformer.search.options import NOTHING_FOUND, Candidate, SearchOptions
from keras_transformer.search.random_numbers import fresh_seed
from keras_transformer.search.stops import Stops

# New tokens to make room for at first.
_ROOM_TOKENS = 64
# Batches have more tokens than those of a translation: a prompt's are read at once, and new ones
# cost least if many rows share a step.
_MORE_TOKENS = 4


class OnnxGenerationEngine:
    """An opened artefact as a `GenerationEngine`; any number of threads may use it at once.

    Args:
        manifest: The artefact's contract.
        files: Its files.
        threads: Threads of the graphs; one for each core that the process may use if None.
        batch_tokens: Most padded tokens in a batch, new ones included, counted once for every beam
            or sample; chosen for the model's size if None.
        max_cache_bytes: Most memory for the keys and values of a batch; no limit if None. A single
            prompt is continued however much it takes.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.

    Attributes:
        config: The model's config.
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
        self.config = DecoderConfig.from_dict(dict(manifest.config))
        self.peak_cache_bytes = 0
        for name, value in (("batch_tokens", batch_tokens), ("max_cache_bytes", max_cache_bytes)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        HypothesisSize.of(manifest.config).check_batch(batch_tokens or 1)
        self._manifest = manifest
        self._special_ids = manifest.special_ids
        self._max_cache_bytes = max_cache_bytes
        self._lock = threading.Lock()
        self._workers = Workers(manifest, files, threads, providers)
        self._batch_tokens = batch_tokens or _MORE_TOKENS * self._workers.batch_tokens
        self._memory = Memory(min(KEPT_BYTES, max_cache_bytes or KEPT_BYTES))

    def close(self) -> None:
        """Releases the graphs; calls that are running finish, later ones raise RuntimeError."""
        self._workers.close()
        self._memory = Memory(0)

    def search(
        self,
        prompts: IdRows,
        options: SearchOptions,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
    ) -> list[list[Candidate]]:
        """As `GenerationEngine.search`; greedy search is faster without scores.

        Raises:
            ValueError: A prompt or an option does not fit the model.
            RuntimeError: The engine is closed.
        """
        division = self._workers.divide(len(prompts), options.rows_per_sentence)
        opened = division.graphs.open(step_graph(options, with_scores))
        task = check_prompts(self.config, prompts, options)
        batches = self._plan(task, options, division)
        seed = options.seed if options.seed is not None else fresh_seed()
        stops = stops or Stops.of(options)

        def generate(places: list[int]) -> list[list[Candidate]]:
            request = self._request(task, places, options, seed, with_scores, stops)
            with self._start(opened, request) as steps:
                candidates = search(steps, request)
            with self._lock:
                self.peak_cache_bytes = max(self.peak_cache_bytes, steps.peak_bytes)
            return candidates

        found: list[list[Candidate]] = [[] for _ in prompts]
        generated = self._workers.map(generate, batches, division.at_a_time)
        for places, results in zip(batches, generated, strict=True):
            for place, candidates in zip(places, results, strict=True):
                found[place] = candidates
        return [candidates or [NOTHING_FOUND] for candidates in found]

    def stream(self, prompt: Sequence[int], options: SearchOptions) -> Iterator[int]:
        """As `GenerationEngine.stream`.

        Raises:
            ValueError: A prompt or an option does not fit the model; raised at once.
            RuntimeError: The engine is closed.
        """
        opened = self._workers.graphs.open(step_graph(options, with_scores=False))
        task = check_prompts(self.config, [prompt], options)
        seed = options.seed if options.seed is not None else fresh_seed()
        return self._stream(opened, self._request(task, [0], options, seed, with_scores=False))

    def log_probabilities(self, texts: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `GenerationEngine.log_probabilities`.

        Raises:
            ValueError: A text does not fit the model.
            RuntimeError: The engine is closed.
        """
        check_texts_fit(self.config, texts)
        ids, lengths = self._special_ids, [len(text) + 1 for text in texts]
        division = self._workers.divide(len(texts), 1)
        opened = division.graphs.open("scorer")
        batches = even_batches(
            lengths, batch_tokens=self._workers.read_tokens, workers=division.at_a_time
        )

        def score(places: list[int]) -> npt.NDArray[np.float32]:
            labels = pad_sources([texts[place] for place in places], pad_id=ids.pad, ends=[ids.eos])
            token_ids = np.roll(labels, 1, axis=1)
            token_ids[:, 0] = ids.decoder_start
            inputs = {"token_ids": token_ids, "labels": labels}
            [values] = opened["scorer"].run(["log_probabilities"], inputs)
            return values

        found: dict[int, npt.NDArray[np.float32]] = {}
        scored = self._workers.map(score, batches, division.at_a_time)
        for places, rows in zip(batches, scored, strict=True):
            found.update((p, row[: lengths[p]]) for p, row in zip(places, rows, strict=True))
        return [found[place] for place in range(len(texts))]

    def _stream(self, opened: Sessions, request: SearchRequest) -> Iterator[int]:
        prompt = request.prompt_lengths[0]
        with self._start(opened, request) as steps:
            for number, tokens in enumerate(
                OneByOne(steps, request, streams=True), start=request.begun
            ):
                token = int(tokens[0])
                if token == self._special_ids.eos:
                    return
                if number >= prompt:
                    yield token

    def _plan(
        self, task: CheckedPrompts, options: SearchOptions, division: Division
    ) -> list[list[int]]:
        memory = None
        if self._max_cache_bytes is not None:
            cache = cache_inputs(self._manifest.graphs["decoder"].inputs)
            memory = MemoryBound(
                limit=max(1, self._max_cache_bytes // division.at_a_time),
                bytes_per_row=lambda _, length: bytes_of_row(cache, whole_blocks(length)),
                target_lengths=task.limits,
            )
        return plan_batches(
            [limit + 1 for limit in task.limits],
            batch_tokens=self._batch_tokens,
            rows_per_sentence=options.rows_per_sentence,
            memory=memory,
            workers=division.at_a_time,
            least=division.least,
            # While the longest prompt is still read token by token, the others have begun.
            spread=options.max_length // 2,
        )

    def _request(
        self,
        task: CheckedPrompts,
        places: list[int],
        options: SearchOptions,
        seed: int,
        with_scores: bool,
        stops: Stops | None = None,
    ) -> SearchRequest:
        prompts = [task.prompts[place] for place in places]
        return SearchRequest(
            options=options,
            special_ids=self._special_ids,
            limits=[task.limits[place] for place in places],
            prefixes=prompts,
            prompt_lengths=[len(prompt) for prompt in prompts],
            begun=tokens_in_common(prompts),
            places=places,
            seed=seed,
            with_scores=with_scores,
            stops=stops,
        )

    @contextmanager
    def _start(self, opened: Sessions, request: SearchRequest) -> Iterator[DecoderSteps]:
        name = step_graph(request.options, request.with_scores)
        # The graph for plain greedy search has no logits.
        full = "greedy_scores" if name == "greedy" else name
        steps = DecoderSteps(
            opened.step(name),
            lambda: opened[full],
            len(request.limits),
            {},
            max(request.prompt_lengths) + _ROOM_TOKENS,
            max(request.limits),
            self._memory,
        )
        try:
            if request.begun:
                steps.prefill(opened["prefill"], request.begun_ids())
            yield steps
        finally:
            steps.close()
