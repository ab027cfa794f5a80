"""The engine of a live decoder: prompts as ids, in any number and order, to candidates. The search
runs as a TensorFlow graph.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from keras import ops

from keras_transformer.decoding.batches import batches, pad
from keras_transformer.decoding.candidates import (
    SearchWatches,
    candidates_of,
    strip,
    with_seed,
    without_stops,
)
from keras_transformer.decoding.hypotheses import Sentences
from keras_transformer.decoding.parts import ROWS, SharedSteps, as_graph
from keras_transformer.decoding.search import FIRST_STAGE, search, search_steps
from keras_transformer.decoding.single_stack.parts import SharedDecoder
from keras_transformer.decoding.single_stack.prompt_steps import PromptSteps
from keras_transformer.generation.engine import CheckedPrompts, check_prompts, check_texts_fit
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.search.memory import HypothesisSize
from keras_transformer.search.model_limits import IdRows
from keras_transformer.search.options import NOTHING_FOUND, Candidate, SearchOptions
from keras_transformer.search.random_numbers import uniforms
from keras_transformer.search.stops import Stops
from keras_transformer.tensors import Tensor
from keras_transformer.text.layout import decoder_row


class KerasGenerationEngine:
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
        HypothesisSize.of(vars(model.config)).check_batch(batch_tokens)
        self.config = model.config
        self._model = model
        self._special_ids = model.config.special_ids
        self._batch_tokens = batch_tokens
        self._steps = PromptSteps(SharedDecoder(model), model.config.special_ids)
        self._shared = SharedSteps(lambda: self._steps)
        self._graphs: dict[tuple[Any, ...], Any] = {}
        self._score = as_graph(self._log_probabilities, ROWS, ROWS)

    def search(
        self,
        prompts: IdRows,
        options: SearchOptions,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
    ) -> list[list[Candidate]]:
        """As `GenerationEngine.search`; always computes the scores."""
        task = check_prompts(self.config, prompts, options)
        options, stops = without_stops(with_seed(options)), stops or Stops.of(options)
        lengths = dict(enumerate(task.limits))
        results: list[list[Candidate]] = [[] for _ in task.prompts]
        for places in batches(lengths, self._batch_tokens, options.rows_per_sentence):
            given = _given(places, task, options)
            buffered = _buffered(options, max(task.limits[place] for place in places))
            if stops is None:
                found = self._search(buffered, given)(given)
            else:
                watches = SearchWatches(stops, [task.prompts[place] for place in places])
                found = self._search_watched(buffered, given, watches)
            for place, row in zip(places, candidates_of(found, self._special_ids), strict=True):
                begun = len(task.prompts[place])
                results[place] = [one._replace(ids=one.ids[begun:]) for one in row]
        return [found or [NOTHING_FOUND] for found in results]

    def stream(self, prompt: Sequence[int], options: SearchOptions) -> Iterator[int]:
        """As `GenerationEngine.stream`: calls a graph of one step for each token."""
        task = check_prompts(self.config, [prompt], options)
        options = without_stops(with_seed(options))
        given = _given([0], task, options)
        options = _buffered(options, task.limits[0])
        return self._stream(len(task.prompts[0]), options, given)

    def log_probabilities(self, texts: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `GenerationEngine.log_probabilities`."""
        check_texts_fit(self.config, texts)
        special = self._special_ids
        lengths = {place: len(text) + 1 for place, text in enumerate(texts)}
        found: dict[int, npt.NDArray[np.float32]] = {}
        for places in batches(lengths, self._batch_tokens):
            token_ids = pad([decoder_row(texts[place], special) for place in places], special.pad)
            labels = pad([[*texts[place], special.eos] for place in places], special.pad)
            rows = np.array(self._score(token_ids, labels))
            found.update((p, row[: lengths[p]]) for p, row in zip(places, rows, strict=True))
        return [found[place] for place in range(len(texts))]

    def _log_probabilities(self, token_ids: Tensor, labels: Tensor) -> Tensor:
        logits = ops.cast(self._model({"token_ids": token_ids}, training=False), "float32")
        values = ops.log_softmax(logits, axis=-1)
        return ops.take_along_axis(values, labels[:, :, None], axis=2)[:, :, 0]

    def _stream(
        self, said: int, options: SearchOptions, given: dict[str, np.ndarray]
    ) -> Iterator[int]:
        sentences = Sentences(**given)
        advance = self._shared.advance(options, (), sentences)
        for state in search_steps(self._steps, options, sentences, advance):
            if not state.done[0] and state.step > said:
                yield int(state.ids[0, 0, said])
                said += 1
        yield from strip(np.array(state.finished_ids[0, 0]), self._special_ids)[said:]

    def _search_watched(
        self, options: SearchOptions, given: dict[str, Tensor], watches: SearchWatches
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Does as the graph of `_search`, step by step."""
        sentences = Sentences(**given)
        advance = self._shared.advance(options, (), sentences)
        batch = len(given["limits"])
        found = search(self._steps, batch, options, sentences, advance, watches)
        return found.ids, found.scores, found.log_probabilities

    def _search(self, options: SearchOptions, names: Iterable[str]) -> Any:
        """Returns the search as a graph, traced once for each set of options and inputs."""
        key = (options, *names)
        if key not in self._graphs:

            def run(given: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
                batch = tf.shape(given["limits"])[0]
                sentences = Sentences(**given)
                advance = self._shared.advance(options, (), sentences)
                found = search(self._steps, batch, options, sentences, advance)
                return found.ids, found.scores, found.log_probabilities

            self._graphs[key] = as_graph(run, _specs(options, names))
        return self._graphs[key]


def _buffered(options: SearchOptions, limit: int) -> SearchOptions:
    """Returns the options of a graph, with room for prompts and new tokens as `max_length`.

    It is rounded up, so that few graphs are traced; `limits` end the search all the same. Only the
    random numbers, an input, depend on seed and place.
    """
    length = FIRST_STAGE
    while length < limit:
        length *= 2
    least = min(options.min_length, length)
    return dataclasses.replace(
        options, max_length=length, min_length=least, seed=None, first_place=0
    )


def _specs(options: SearchOptions, names: Iterable[str]) -> dict[str, tf.TensorSpec]:
    specs = {
        "limits": tf.TensorSpec((None,), tf.int32),
        "prompt_lengths": tf.TensorSpec((None,), tf.int32),
        "prefixes": tf.TensorSpec((None, None), tf.int32),
        "uniforms": tf.TensorSpec((None, options.num_hypotheses, None), tf.float64),
    }
    return {name: specs[name] for name in names}


def _given(
    places: list[int], task: CheckedPrompts, options: SearchOptions
) -> dict[str, np.ndarray]:
    """Returns the search's inputs for a batch."""
    prompts = [task.prompts[place] for place in places]
    given = {
        "limits": np.array([task.limits[place] for place in places], np.int32),
        "prompt_lengths": np.array([len(prompt) for prompt in prompts], np.int32),
        # A column of -1 at the end, so that there is one even if every prompt is empty.
        "prefixes": pad([[*prompt, -1] for prompt in prompts], -1),
    }
    if options.sample and options.seed is not None:
        given["uniforms"] = np.array(
            [
                [
                    uniforms(options.seed, options.first_place + place, rank, options.max_length)
                    for rank in range(options.num_hypotheses)
                ]
                for place in places
            ]
        )
    return given
