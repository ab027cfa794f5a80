"""The engines of live Keras models: rows of source ids, or prompts, in any number and order, to
candidates. The search runs as a TensorFlow graph.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from keras import ops

from keras_transformer.decoding.batches import batches, pad, run_in_batches
from keras_transformer.decoding.candidates import (
    SearchGrammar,
    SearchWatches,
    candidates_of,
    strip,
    with_seed,
    without_texts,
)
from keras_transformer.decoding.constraints import slots_in
from keras_transformer.decoding.hypotheses import SearchState, Sentences
from keras_transformer.decoding.parts import (
    ROWS,
    CachedSteps,
    SharedDecoder,
    SharedParts,
    SharedSteps,
    as_graph,
)
from keras_transformer.decoding.scoring import TeacherForcing
from keras_transformer.decoding.search import FIRST_STAGE, search, search_steps
from keras_transformer.generation.engine import CheckedPrompts, check_prompts, check_texts_fit
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.layers.decoder.memory import Memory
from keras_transformer.models import Transformer
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.decoding_steps import Source
from keras_transformer.search.grammars import GrammarState
from keras_transformer.search.model_limits import HypothesisSize, IdRows, ModelLimits
from keras_transformer.search.options import EMPTY, NOTHING_FOUND, Candidate, SearchOptions
from keras_transformer.search.phrases import (
    Phrases,
    by_open_hypotheses,
    open_hypotheses,
    phrase_table,
)
from keras_transformer.search.random_numbers import uniforms
from keras_transformer.search.stops import Stops
from keras_transformer.tensors import Tensor
from keras_transformer.text.layout import decoder_row
from keras_transformer.translation.engine import Alignment

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


class KerasEngine(SearchingEngine):
    """A live model as a `TranslationEngine`; changed weights take effect at once.

    Args:
        model: A trained model.
        batch_tokens: Most padded source tokens in a batch, times the beams or samples per sentence.

    Attributes:
        limits: Limits on the model's inputs.
        model_dim: Width of the encoder's states.
    """

    def __init__(self, model: Transformer, batch_tokens: int) -> None:
        require_tensorflow_backend("Translator")
        parts = SharedParts(model)
        super().__init__(model, parts, batch_tokens, as_graph(parts.read_source, ROWS))
        self.limits = ModelLimits.of(model.config.to_dict(), model.config.special_ids)
        self.model_dim = model.config.model_dim
        self._teacher_forcing = TeacherForcing(model, batch_tokens)

        def encoder_states(source_ids: Tensor) -> Tensor:
            return tf.cast(parts.encoder_states(source_ids), tf.float32)

        self._encoder_states = as_graph(encoder_states, ROWS)

    def search(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None = None,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
    ) -> list[list[Candidate]]:
        """As `TranslationEngine.search`; always computes the scores."""
        task = self._task(sources, options, prefixes, phrases)
        lengths = {place: len(source) + 1 for place, source in enumerate(sources) if len(source)}
        found = self._candidates(task, lengths, stops)
        return [found.get(place, [EMPTY]) for place in range(len(sources))]

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """As `TranslationEngine.stream`: calls a graph of one step for each token."""
        task = self._task([source], options, [prefix])
        return self._tokens(task) if len(source) else iter(())

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """As `TranslationEngine.align`."""
        self.limits.check_pairs(sources, targets)
        return self._teacher_forcing.align(sources, targets)

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `TranslationEngine.encoder_states`."""
        self.limits.check_sources(sources)
        ended, lengths = self._ended(sources), [len(source) + 1 for source in sources]

        def run(places: list[int]) -> npt.NDArray[np.float32]:
            rows = pad([ended[place] for place in places], self._special_ids.pad)
            return np.array(self._encoder_states(rows))

        found = run_in_batches(lengths, self._batch_tokens, run)
        return [states[:length] for states, length in zip(found, lengths, strict=True)]

    def _task(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None,
        phrases: Sequence[Phrases] = (),
    ) -> SearchTask:
        options, limits, begins = self.limits.check_search(sources, options, prefixes)
        return SearchTask(
            with_seed(options),
            limits if options.max_length_ratio is not None else None,
            begins if any(begins) else None,
            self._ended(sources),
            self.limits.check_phrases(phrases, sources, options, limits, begins),
        )

    def _ended(self, sources: IdRows) -> list[list[int]]:
        return [[*source, *self._model.config.source_ends] for source in sources]


class KerasGenerationEngine(SearchingEngine):
    """A live model as a `GenerationEngine`; changed weights take effect at once.

    Args:
        model: A trained model.
        batch_tokens: Most padded tokens in a batch, new ones included, times the beams or samples
            of a prompt.

    Attributes:
        config: The model's.
    """

    def __init__(self, model: DecoderOnly, batch_tokens: int) -> None:
        require_tensorflow_backend("Generator")
        super().__init__(model, SharedDecoder(model), batch_tokens)
        self.config = model.config
        self._score = as_graph(self._log_probabilities, ROWS, ROWS)
        self._read_on: Any = None

    def search(
        self,
        prompts: IdRows,
        options: SearchOptions,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
        grammar: GrammarState | None = None,
    ) -> list[list[Candidate]]:
        """As `GenerationEngine.search`; always computes the scores."""
        checked = check_prompts(self.config, prompts, options, phrases, grammar=grammar)
        task = _prompted(options, checked, grammar)
        found = self._candidates(task, dict(enumerate(checked.limits)), stops)
        return [found[place] for place in range(len(checked.prompts))]

    def stream(
        self,
        prompt: Sequence[int],
        options: SearchOptions,
        grammar: GrammarState | None = None,
    ) -> Iterator[int]:
        """As `GenerationEngine.stream`: calls a graph of one step for each token."""
        checked = check_prompts(self.config, [prompt], options, grammar=grammar)
        return self._tokens(_prompted(options, checked, grammar))

    def log_probabilities(self, texts: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `GenerationEngine.log_probabilities`."""
        check_texts_fit(self.config, texts)
        special, lengths = self._special_ids, [len(text) + 1 for text in texts]

        def run(places: list[int]) -> npt.NDArray[np.float32]:
            token_ids = pad([decoder_row(texts[place], special) for place in places], special.pad)
            labels = pad([[*texts[place], special.eos] for place in places], special.pad)
            return np.array(self._score(token_ids, labels))

        found = run_in_batches(lengths, self._batch_tokens, run)
        return [row[:length] for row, length in zip(found, lengths, strict=True)]

    def read_on(
        self, tokens: Sequence[int], before: Any = None
    ) -> tuple[npt.NDArray[np.float32], Any]:
        """As `GenerationEngine.read_on`: in segments as long as the memory."""
        length = self.config.check_memory()
        check_texts_fit(self.config, [tokens])
        last, memory = before or (self._special_ids.decoder_start, self._model.empty_memory(1))
        if self._read_on is None:
            of_memory = tf.nest.map_structure(tf.TensorSpec.from_tensor, memory)
            self._read_on = as_graph(self._read_segment, ROWS, ROWS, of_memory)
        read, found = [last, *tokens], [np.zeros(0, np.float32)]
        for begin in range(0, len(tokens), length):
            labels = np.array([tokens[begin : begin + length]], np.int32)
            token_ids = np.array([read[begin : begin + labels.size]], np.int32)
            values, memory = self._read_on(token_ids, labels, memory)
            found.append(np.array(values)[0])
        return np.concatenate(found), (read[-1], memory)

    def _read_segment(
        self, token_ids: Tensor, labels: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        states, memory = self._model.read_on(token_ids, memory, training=False)
        # Without the feature of 1: the head adds its biases by itself.
        states = states[..., : self.config.model_dim]
        return _of_labels(self._model.head(states), labels), memory

    def _log_probabilities(self, token_ids: Tensor, labels: Tensor) -> Tensor:
        return _of_labels(self._model({"token_ids": token_ids}, training=False), labels)


def _prompted(
    options: SearchOptions, checked: CheckedPrompts, grammar: GrammarState | None
) -> SearchTask:
    return SearchTask(
        options=with_seed(options),
        limits=checked.limits,
        prefixes=checked.prompts,
        phrases=checked.phrases,
        starts=checked.starts,
        grammar=grammar,
    )


def _of_labels(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns the log-probabilities of labels `(rows, length)`."""
    values = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    return ops.take_along_axis(values, labels[:, :, None], axis=2)[:, :, 0]


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
