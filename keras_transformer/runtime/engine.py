"""What the engines of exported decoders share: rows of ids are decoded in batches over sessions."""

import dataclasses
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.runtime.loop.batches import MemoryBound, plan_batches
from keras_transformer.runtime.loop.beam_search import BeamSearch
from keras_transformer.runtime.loop.meeting import Meeting, Terms, kind_of
from keras_transformer.runtime.loop.one_by_one import OneByOne
from keras_transformer.runtime.loop.phrase_search import PhraseSearch
from keras_transformer.runtime.loop.requests import DecodedRows, SearchRequest, tokens_in_common
from keras_transformer.runtime.onnx_graphs.adapters import Adapters
from keras_transformer.runtime.onnx_graphs.cache import KEPT_BYTES, Memory, bytes_per_row
from keras_transformer.runtime.onnx_graphs.decoder_steps import Arrays, DecoderSteps
from keras_transformer.runtime.onnx_graphs.graphs import Sessions, batch_shortlist
from keras_transformer.runtime.onnx_graphs.listed import PLACES, BatchShortlist
from keras_transformer.runtime.onnx_graphs.prefix_cache import PrefixCache
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.turns import Turn, current_turn
from keras_transformer.runtime.workers import Division, Workers, check_sizes
from keras_transformer.search.model_limits import HypothesisSize
from keras_transformer.search.options import EMPTY, NOTHING_FOUND, Candidate, SearchOptions
from keras_transformer.search.phrases import by_open_hypotheses, tokens_named
from keras_transformer.search.random_numbers import fresh_seed
from keras_transformer.search.stops import Stops

# Initial room for a translation, by its source's length, which few exceed, and behind a prompt.
_ROOM_RATIO, _ROOM_TOKENS, _NEW_TOKENS = 1.25, 8, 64
# Batches of prompts have more tokens than those of sources: a prompt's are read at once, and new
# ones cost least if many rows share a step.
_MORE_TOKENS = 4


class DecoderEngine:
    """An opened artefact with a decoder; any number of threads may use it at once.

    Args:
        manifest: The artefact's contract.
        files: Its files.
        threads: Threads of the graphs; one for each core that the process may use if None.
        batch_tokens: Most padded tokens in a batch, counted once for every beam or sample; chosen
            for the model's size if None.
        max_cache_bytes: Most memory for the keys and values of a batch; no limit if None. A single
            sentence is decoded however much it takes.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.
        prefix_cache_tokens: Most tokens of prompts whose keys and values are kept for later prompts
            that begin alike, by a decoder alone.
        adapters: For each name the file of a low-rank adapter, by a decoder alone.

    Attributes:
        manifest: The artefact's contract.
        prefixes: What earlier prompts began with.
        adapters: What rows may have beside the model's weights.

    Raises:
        ValueError: A number is out of range, a graph does not match the manifest, or the artefact
            cannot read on behind a kept prefix.
    """

    def __init__(
        self,
        manifest: Manifest,
        files: ArtefactFiles,
        threads: int | None,
        batch_tokens: int | None,
        max_cache_bytes: int | None,
        providers: Sequence[Provider] | None = None,
        prefix_cache_tokens: int = 0,
        adapters: Mapping[str, str | os.PathLike[str]] | None = None,
    ) -> None:
        check_sizes(batch_tokens=batch_tokens, max_cache_bytes=max_cache_bytes)
        HypothesisSize.of(manifest.config).check_batch(batch_tokens or 1)
        self.manifest = manifest
        self._max_cache_bytes = max_cache_bytes
        self._workers = Workers(manifest, files, threads, providers)
        self._graphs = self._workers.graphs
        self._reads = ("encoder",) if "encoder" in manifest.graphs else ()
        more = 1 if self._reads else _MORE_TOKENS
        self._batch_tokens = batch_tokens or more * self._workers.batch_tokens
        self._memory = Memory(min(KEPT_BYTES, max_cache_bytes or KEPT_BYTES))
        self.prefixes = PrefixCache(prefix_cache_tokens)
        if self.prefixes and not reads_on(manifest):
            raise ValueError(
                f"prefix_cache_tokens={prefix_cache_tokens} needs a decoder whose prompts are read "
                "from any place on: export it again, or leave it at 0 for a model of another "
                "family, or with relative sinusoids or recurrence."
            )
        inputs = manifest.graphs["decoder"].inputs
        self.adapters = Adapters(inputs, adapters or {}, manifest.adapter_base)
        self._shortlist = _open_shortlist(manifest, files)
        self._meeting = Meeting()
        self._graphs.open(*self._reads)

    @property
    def peak_cache_bytes(self) -> int:
        """Most memory that the keys and values of a batch have taken so far."""
        return self._memory.peak_bytes

    @property
    def cache_room(self) -> int | None:
        """Tokens before one that caches must hold, so that they may forget older ones; None for
        all.
        """
        return None

    @property
    def counts(self) -> dict[str, int]:
        """What calls had of each other so far: tokens of prompts that need not be read again,
        searches that went on in others, and calls that others left behind.
        """
        return {
            "reused_prefix_tokens": self.prefixes.reused,
            "joined_searches": self._meeting.joined,
            "left_searches": self._meeting.left,
        }

    @property
    def joining(self) -> int:
        """The most sentences with which a call joins the search of another one; 0 for none."""
        return self._workers.undivided if self._joins else 0

    @cached_property
    def _joins(self) -> bool:
        # A shortlist is a batch's own, and what caches forget depends on their first step.
        is_plain = self._shortlist is None and self.cache_room is None
        return is_plain and self._max_cache_bytes is None

    def close(self) -> None:
        """Releases the graphs; calls that are running finish, later ones raise RuntimeError."""
        self._workers.close()
        self._memory.close()

    def _search(
        self, rows: DecodedRows, with_scores: bool, stops: Stops | None
    ) -> list[list[Candidate]]:
        """Returns each row's candidates; one whose source is empty has an empty one."""
        if not any(rows.phrases):
            return self._search_alike(rows, with_scores, stops)
        found: dict[int, list[Candidate]] = {}
        for places in by_open_hypotheses(rows.phrases, rows.options):
            candidates = self._search_alike(rows.at(places), with_scores, stops)
            found.update(zip(places, candidates, strict=True))
        return [found[place] for place in range(len(rows.limits))]

    def _search_alike(
        self, rows: DecodedRows, with_scores: bool, stops: Stops | None
    ) -> list[list[Candidate]]:
        """Does as `_search`, for rows that keep as many hypotheses each."""
        filled, options = rows.filled, rows.options
        # One row is a batch, on all threads.
        division = Division(1, 1, self._graphs)
        if len(filled) > 1:
            division = self._workers.divide(len(filled), rows.per_row)
        opened = division.graphs.open(*self._reads, _step_graph(rows, with_scores))
        kind = BeamSearch if options.needs_beams else OneByOne
        kind = PhraseSearch if rows.phrases else kind
        seed, stops = _seed(options), stops or options.stops()

        def decode(places: list[int]) -> list[list[Candidate]]:
            request = self._request(rows, places, seed, with_scores, stops)
            with self._start(opened, rows, request) as (steps, begun):
                search = kind(steps, begun)
                if (turn := self._turn_to_join(rows)) is None:
                    candidates = search.run()
                else:
                    alike = kind_of(options, kind, with_scores, stops is None)
                    terms = self._terms(rows, alike, division.at_a_time > 1)
                    candidates = self._meeting.run(search, steps, turn, len(places), terms)
            self._memory.note(steps.peak_bytes)
            return candidates

        if len(filled) > 1:
            found = self._workers.by_place(decode, self._plan(rows, division), division.at_a_time)
        else:
            found = {place: candidates for place in filled for candidates in decode([place])}
        places = range(len(rows.limits))
        return [found.get(place, [EMPTY]) or [NOTHING_FOUND] for place in places]

    def _stream(self, rows: DecodedRows) -> Iterator[int]:
        """Returns the tokens of a single row behind its prompt as they are decoded, without eos.

        Raises:
            RuntimeError: The engine is closed; raised at once.
        """
        opened = self._graphs.open(*self._reads, _step_graph(rows, with_scores=False))
        return self._tokens(opened, rows) if rows.filled else iter(())

    def _tokens(self, opened: Sessions, rows: DecodedRows) -> Iterator[int]:
        request = self._request(rows, [0], _seed(rows.options), with_scores=False)
        prompt = int(request.prompted()[0])
        with self._start(opened, rows, request) as (steps, begun):
            found = OneByOne(steps, begun, streams=True)
            if (turn := self._turn_to_join(rows)) is not None:
                terms = self._terms(rows, kind_of(rows.options, "stream"))
                yield from self._meeting.stream(found, steps, turn, terms)
                return
            yield from request.prefixes[0][prompt : begun.begun]
            for number, tokens in enumerate(found, start=begun.begun):
                token = int(tokens[0])
                if token == self.manifest.special_ids.eos:
                    return
                if number >= prompt:
                    yield token

    def _turn_to_join(self, rows: DecodedRows) -> Turn | None:
        """Returns the turn of the call if its search may be joined with others."""
        return current_turn() if self._joins and not rows.phrases else None

    def _terms(self, rows: DecodedRows, kind: Hashable, is_part: bool = False) -> Terms:
        """Returns the terms on which a search goes on together with those of other calls."""
        limit = length = max(rows.limits)
        if rows.sources is not None:
            length = max(map(len, rows.sources)) + 1
            usual = int(_ROOM_RATIO * length) + _ROOM_TOKENS
            limit = min(limit, max(usual, rows.options.min_length))
        # A grammar knows the stop tokens, in which searches may differ.
        kind = (kind, rows.grammar)
        return Terms(kind, limit, self._batch_tokens // (length * rows.per_row), is_part)

    def _plan(self, rows: DecodedRows, division: Division) -> list[list[int]]:
        """Returns the places of the rows that share a batch, for every batch."""
        if rows.sources is None:
            lengths = [limit + 1 for limit in rows.limits]
            # While the longest prompt is still read token by token, the others have begun.
            spread = rows.options.max_length // 2
        else:
            lengths, spread = [len(source) + 1 for source in rows.sources], None
        return [
            [group[place] for place in places]
            for group in rows.alike(self.manifest.special_ids.slots)
            for places in plan_batches(
                [lengths[place] for place in group],
                batch_tokens=self._batch_tokens,
                rows_per_sentence=rows.per_row,
                memory=self._bound(division, [rows.limits[place] for place in group]),
                workers=division.at_a_time,
                least=division.least,
                spread=spread,
            )
        ]

    def _bound(self, division: Division, limits: Sequence[int]) -> MemoryBound | None:
        if self._max_cache_bytes is None:
            return None
        return MemoryBound(
            limit=max(1, self._max_cache_bytes // division.at_a_time),
            bytes_per_row=bytes_per_row(self.manifest.graphs["decoder"].inputs),
            target_lengths=limits,
        )

    def _request(
        self,
        rows: DecodedRows,
        places: list[int],
        seed: int,
        with_scores: bool,
        stops: Stops | None = None,
    ) -> SearchRequest:
        prefixes = [rows.prefixes[place] for place in places]
        return SearchRequest(
            options=rows.options,
            special_ids=self.manifest.special_ids,
            limits=[rows.limits[place] for place in places],
            prefixes=prefixes,
            prompt_lengths=[len(prompt) for prompt in prefixes] if rows.sources is None else [],
            places=places,
            seed=seed,
            with_scores=with_scores,
            stops=stops,
            sources=[] if rows.sources is None else [rows.sources[place] for place in places],
            phrases=[rows.phrases[place] for place in places] if rows.phrases else [],
            starts=[rows.starts[place] for place in places] if rows.starts else (),
            grammar=rows.grammar,
        )

    @contextmanager
    def _start(
        self, opened: Sessions, rows: DecodedRows, request: SearchRequest
    ) -> Iterator[tuple[DecoderSteps, SearchRequest]]:
        """Reads what a batch begins with; yields its decoder and what is left to do."""
        per_sentence, shortlist = self._given(opened, rows, request)
        name = _step_graph(rows, request.with_scores)
        # The graph for plain greedy search has no logits.
        full = "greedy_scores" if name == "greedy" else name
        graph, beams = opened.step(name), request.options.beam_size
        is_alone = len(request.limits) == 1 and not tokens_in_common(request.prefixes)
        makes_several = graph.makes_several and not rows.phrases
        if rows.sources is not None and is_alone and beams > 1 and makes_several:
            # For one sentence it costs little that all beams take the first step.
            request = dataclasses.replace(request, beams=beams)
        steps = DecoderSteps(
            graph,
            lambda: opened[full],
            len(request.limits),
            per_sentence,
            _room(request, per_sentence),
            max(request.limits),
            self._memory,
            shortlist,
            request.beams,
            self.cache_room,
            self.adapters.arrays,
        )
        try:
            yield steps, self._begin(opened, steps, request)
        finally:
            steps.close()

    def _given(
        self, opened: Sessions, rows: DecodedRows, request: SearchRequest
    ) -> tuple[Arrays, BatchShortlist | None]:
        """Returns what a batch's decoder takes beside tokens, and its shortlist, if it has one."""
        if rows.sources is None:
            own = [rows.adapters[place] for place in request.places] if rows.adapters else []
            return self.adapters.ids(own or [None] * len(request.places)), None
        sources = [rows.sources[place] for place in request.places]
        mask, cross = self._graphs.keys_values(opened["encoder"], sources)
        given = {"source_mask": mask, **cross}
        if self._shortlist is None:
            return given, None
        forced = [token for _, token in request.options.forced_tokens]
        written = [[*one, *forced] for one in request.prefixes]
        if request.phrases:
            phrases = map(tokens_named, request.phrases)
            written = [[*row, *own] for row, own in zip(written, phrases, strict=True)]
        listed = self._shortlist.choose(sources, written)
        shortlist = batch_shortlist(opened, listed, self._shortlist.target_vocab_size)
        return {**given, PLACES: listed.places}, shortlist

    def _begin(
        self, opened: Sessions, steps: DecoderSteps, request: SearchRequest
    ) -> SearchRequest:
        """Reads what prefixes have in common, in one run, if the artefact has the graph for it."""
        options, count = request.options, tokens_in_common(request.prefixes)
        if not count or "prefill" not in self.manifest.graphs:
            return request
        begun = dataclasses.replace(request, begun=count)
        if request.prompt_lengths:
            if self.prefixes:
                steps.read_on(opened["prefill"], begun.begun_ids(), self.prefixes)
            else:
                steps.prefill(opened["prefill"], begun.begun_ids())
            return begun
        # A penalty on repetition changes the log-probabilities of a prefix, too.
        if options.repetition_penalty != 1:
            return request
        is_scored = (
            request.with_scores or options.sample or options.needs_beams or bool(request.phrases)
        )
        labels = begun.history()[:, : count if is_scored else 1]
        scores = steps.prefill(opened["prefill"], begun.begun_ids(), np.ascontiguousarray(labels))
        return dataclasses.replace(begun, begun_log_probabilities=scores) if is_scored else begun


def reads_on(manifest: Manifest) -> bool:
    """Whether an artefact reads prompts from any place on, behind what its caches hold."""
    graph = manifest.graphs.get("prefill")
    return graph is not None and any(spec.name == "step" for spec in graph.inputs)


def _room(request: SearchRequest, per_sentence: Arrays) -> int:
    """Returns how many tokens to make room for at first."""
    longest = max(map(len, request.prefixes))
    if request.prompt_lengths:
        return longest + _NEW_TOKENS
    room = _ROOM_RATIO * per_sentence["source_mask"].shape[1] + _ROOM_TOKENS
    return int(max(room, request.options.min_length, longest))


def _step_graph(rows: DecodedRows, with_scores: bool) -> str:
    """Returns the name of the graph whose steps a search makes."""
    if rows.options.sample or rows.options.needs_beams or rows.phrases or rows.grammar:
        return "decoder"
    return "greedy_scores" if with_scores else "greedy"


def _seed(options: SearchOptions) -> int:
    return fresh_seed() if options.sample and options.seed is None else options.seed or 0


def _open_shortlist(manifest: Manifest, files: ArtefactFiles) -> Shortlist | None:
    if manifest.shortlist is None:
        return None
    path, size = files.directory / manifest.shortlist.file, manifest.config["target_vocab_size"]
    return Shortlist.read(path, int(size), files.content(manifest.shortlist))
