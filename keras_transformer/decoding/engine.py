"""What the engines of live Keras models share: rows of source ids, or prompts, in any number and
order, to candidates. The search runs as a TensorFlow graph.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer.decoding.batches import batches, pad
from keras_transformer.decoding.candidates import (
    SearchGrammar,
    SearchWatches,
    candidates_of,
    strip,
    without_texts,
)
from keras_transformer.decoding.constraints import slots_in
from keras_transformer.decoding.hypotheses import SearchState, Sentences
from keras_transformer.decoding.parts import ROWS, CachedSteps, SharedDecoder, SharedSteps, as_graph
from keras_transformer.decoding.search import FIRST_STAGE, search, search_steps
from keras_transformer.models import Transformer
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.decoding_steps import Source
from keras_transformer.search.grammars import GrammarState
from keras_transformer.search.model_limits import HypothesisSize, IdRows
from keras_transformer.search.options import NOTHING_FOUND, Candidate, SearchOptions
from keras_transformer.search.phrases import (
    Phrases,
    by_open_hypotheses,
    open_hypotheses,
    phrase_table,
)
from keras_transformer.search.random_numbers import uniforms
from keras_transformer.search.stops import Stops
from keras_transformer.tensors import Tensor

Inputs = dict[str, np.ndarray]
Found = tuple[Tensor, Tensor, Tensor]


@dataclasses.dataclass(frozen=True)
class SearchTask:
    """Checked rows of ids and what to search for.

    Attributes:
        options: What to search for; samples have a seed.
        limits: Most tokens of each result, a prompt included; None for the options' `max_length`.
        prefixes: Ids that each result begins with; None for none.
        sources: Ids of each source, its end included; None for a decoder alone, whose prefixes are
            prompts.
        phrases: What each result must hold; empty for nothing in any.
        grammar: What each result must follow behind its prompt; None for nothing.
        starts: What the decoder reads before each prefix; None for `decoder_start`.
    """

    options: SearchOptions
    limits: list[int] | None
    prefixes: IdRows | None
    sources: list[list[int]] | None = None
    phrases: Sequence[Phrases] = ()
    grammar: GrammarState | None = None
    starts: Sequence[int] | None = None

    def groups(self, lengths: dict[int, int]) -> list[dict[int, int]]:
        """Returns the places of rows that keep as many open hypotheses, with these lengths."""
        if not any(self.phrases):
            return [lengths]
        alike = by_open_hypotheses(self.phrases, self.options)
        return [{place: lengths[place] for place in own if place in lengths} for own in alike]

    def open_hypotheses(self, places: Sequence[int]) -> int | None:
        """Returns how many hypotheses with phrases such rows keep open; None without phrases."""
        own = [self.phrases[place] for place in places] if self.phrases else []
        return open_hypotheses(own[0], self.options) if any(own) else None

    def begun(self, place: int) -> int:
        """Returns how many tokens of a row's result are its prompt."""
        return len(self.prefixes[place]) if self.sources is None and self.prefixes else 0

    def inputs(self, places: list[int], pad_id: int) -> Inputs:
        """Returns the search's inputs for a batch."""
        given: Inputs = {}
        if self.sources is not None:
            given["source_ids"] = pad([self.sources[place] for place in places], pad_id)
        if self.limits is not None:
            given["limits"] = np.array([self.limits[place] for place in places], np.int32)
        if self.prefixes is not None:
            # A column of -1 at the end, so that there is one even if no prefix is in this batch.
            given["prefixes"] = pad([[*self.prefixes[place], -1] for place in places], -1)
        if self.starts is not None:
            given["starts"] = np.array([self.starts[place] for place in places], np.int32)
        if self.sources is None:
            given["prompt_lengths"] = np.array([self.begun(place) for place in places], np.int32)
        if self.open_hypotheses(places):
            given["phrases"] = phrase_table([self.phrases[place] for place in places])
        options = self.options
        if options.sample and options.seed is not None:
            given["uniforms"] = np.array(
                [
                    [
                        uniforms(
                            options.seed, options.first_place + place, rank, options.max_length
                        )
                        for rank in range(options.num_hypotheses)
                    ]
                    for place in places
                ]
            )
        return given

    def graph_options(self, places: list[int]) -> SearchOptions:
        """Returns the options of a batch's graph, which looks for no stops.

        Prompts need room: `max_length` is rounded up, so that few graphs are traced; `limits` end
        the search all the same.
        """
        # Only the random numbers, an input, depend on seed and place.
        options = dataclasses.replace(without_texts(self.options), seed=None, first_place=0)
        if self.sources is not None or self.limits is None:
            return options
        length, longest = FIRST_STAGE, max(self.limits[place] for place in places)
        while length < longest:
            length *= 2
        least = min(options.min_length, length)
        return dataclasses.replace(options, max_length=length, min_length=least)


class SearchingEngine:
    """What both engines share: searches of batches, each a graph, watched, or streamed.

    Args:
        model: A trained model.
        parts: Its parts as functions of a graph.
        batch_tokens: Most padded tokens in a batch, times the beams or samples of a row.
        read_source: Takes ids int32 `(batch, source_length)`; None for a decoder alone.
    """

    def __init__(
        self,
        model: Transformer | DecoderOnly,
        parts: SharedDecoder,
        batch_tokens: int,
        read_source: Callable[[Tensor], Source] | None = None,
    ) -> None:
        HypothesisSize.of(vars(model.config)).check_batch(batch_tokens)
        self._model = model
        self._special_ids = model.config.special_ids
        self._batch_tokens = batch_tokens
        self._steps = SharedSteps(parts, self._special_ids)
        self._read_source = read_source
        self._searches: dict[tuple[Any, ...], Any] = {}

    def _candidates(
        self, task: SearchTask, lengths: dict[int, int], stops: Stops | None
    ) -> dict[int, list[Candidate]]:
        """Searches batch by batch.

        Args:
            task: What to search for.
            lengths: The tokens that a row takes in a batch, by the places of those to be searched.
            stops: What ends texts beside eos; None to look for `stop_tokens` alone.

        Returns:
            The candidates by place, without prompts; an empty one of score -inf if none is
            possible.
        """
        results: dict[int, list[Candidate]] = {}
        stops = stops or task.options.stops()
        for places in self._batches(task, lengths):
            options, inputs = task.graph_options(places), task.inputs(places, self._special_ids.pad)
            if stops is None and task.grammar is None:
                found = self._search(options, inputs, task.open_hypotheses(places))(inputs)
            else:
                steps, sentences, advance = self._start(options, inputs, task.grammar)
                watches = None
                if stops is not None:
                    begins = [task.prefixes[place] if task.prefixes else [] for place in places]
                    watches = SearchWatches(stops, begins)
                found = _outputs(steps, len(places), options, sentences, advance, watches)
            for place, row in zip(places, candidates_of(found, self._special_ids), strict=True):
                begun = task.begun(place)
                candidates = [one._replace(ids=one.ids[begun:]) for one in row]
                results[place] = candidates or [NOTHING_FOUND]
        return results

    def _batches(self, task: SearchTask, lengths: dict[int, int]) -> Iterator[list[int]]:
        """Yields the places of the rows that share a batch."""
        for own in task.groups(lengths):
            rows = task.open_hypotheses(list(own)) or task.options.rows_per_sentence
            yield from batches(own, self._batch_tokens, rows)

    def _tokens(self, task: SearchTask) -> Iterator[int]:
        """Yields the tokens of the one row: calls a graph of one step for each.

        It is traced once for each set of options; the graph of the search is made of it.
        """
        options, said = task.graph_options([0]), task.begun(0)
        inputs = task.inputs([0], self._special_ids.pad)
        steps, sentences, advance = self._start(options, inputs, task.grammar)
        for state in search_steps(steps, options, sentences, advance):
            if not state.done[0] and state.step > said:
                yield from state.ids[0, 0, said : state.step].numpy().tolist()
                said = int(state.step)
        yield from strip(np.array(state.finished_ids[0, 0]), self._special_ids)[said:]

    def _search(
        self, options: SearchOptions, names: Iterable[str], open_hypotheses: int | None
    ) -> Any:
        """Returns the search as a graph, traced once for each set of options and inputs."""
        key = (options, open_hypotheses, *names)
        if key not in self._searches:

            def run(inputs: dict[str, Tensor]) -> Found:
                [first, *_] = inputs.values()
                steps, sentences, advance = self._start(options, inputs)
                count = tf.shape(first)[0]
                return _outputs(steps, count, options, sentences, advance, None, open_hypotheses)

            specs = _input_specs(options)
            self._searches[key] = as_graph(run, {name: specs[name] for name in names})
        return self._searches[key]

    def _start(
        self,
        options: SearchOptions,
        inputs: dict[str, Any],
        grammar: GrammarState | None = None,
    ) -> tuple[CachedSteps, Sentences, Callable[[SearchState], SearchState]]:
        """Returns what a search of a batch takes."""
        given = dict(inputs)
        source = None
        if self._read_source:
            source_ids = given.pop("source_ids")
            source, given["slots"] = (
                self._read_source(source_ids),
                slots_in(source_ids, self._special_ids),
            )
        sentences = Sentences(**given)
        stepper = self._steps.stepper(source)
        if grammar is None:
            return stepper, sentences, self._steps.advance(options, source, sentences)
        size = self._model.config.vocab_size
        allowed = SearchGrammar(grammar, given["prompt_lengths"], size)

        def advance(state: SearchState) -> SearchState:
            own = sentences._replace(allowed=ops.convert_to_tensor(allowed(state)))
            return self._steps.advance(options, source, own)(state)

        return stepper, sentences, advance


def _outputs(*arguments: Any) -> Found:
    """Returns what a search with these arguments finds: ids, scores and log-probabilities."""
    found = search(*arguments)
    return found.ids, found.scores, found.log_probabilities


def _input_specs(options: SearchOptions) -> dict[str, tf.TensorSpec]:
    """Returns the specs of all inputs that a search may have, for any number of sentences."""
    numbers = tf.TensorSpec((None,), tf.int32)
    return {
        "source_ids": ROWS,
        "limits": numbers,
        "prompt_lengths": numbers,
        "starts": numbers,
        "prefixes": ROWS,
        "phrases": tf.TensorSpec((None, None, None, None), tf.int32),
        "uniforms": tf.TensorSpec((None, options.num_hypotheses, None), tf.float64),
    }
