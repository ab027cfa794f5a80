"""The engine of an exported decoder: prompts as ids, in any number and order, to candidates or
log-probabilities. It knows nothing of text.
"""

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.generation.engine import check_prompts, check_texts_fit
from keras_transformer.runtime.engine import DecoderEngine
from keras_transformer.runtime.loop.batches import IdRows
from keras_transformer.runtime.loop.even_batches import even_batches
from keras_transformer.runtime.loop.requests import DecodedRows
from keras_transformer.runtime.loop.top_k import log_softmax
from keras_transformer.runtime.onnx_graphs.graphs import pad_sources
from keras_transformer.search.grammars import GrammarState
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.stops import Stops


class OnnxGenerationEngine(DecoderEngine):
    """An opened artefact as a `GenerationEngine`; any number of threads may use it at once.

    Takes the arguments of `DecoderEngine`, of which `batch_tokens` counts new tokens, too, and has
    its attributes.

    Raises:
        ValueError: A number is below 1, or a graph does not match the manifest.
    """

    # One that all rows have.
    _adapter: str | None = None

    @cached_property
    def config(self) -> DecoderConfig:
        """The model's config."""
        return DecoderConfig.from_dict(dict(self.manifest.config))

    @property
    def cache_room(self) -> int | None:
        """As `DecoderEngine.cache_room`."""
        return self.config.cache_room

    def search(
        self,
        prompts: IdRows,
        options: SearchOptions,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
        starts: Sequence[int] = (),
        grammar: GrammarState | None = None,
        adapters: Sequence[str | None] = (),
    ) -> list[list[Candidate]]:
        """As `GenerationEngine.search`; greedy search is faster without scores.

        `starts` are the tokens that rows begin with, before their prompts, which then may hold any
        ids; empty for the model's own. `adapters` are the names of rows' adapters, None for none;
        empty for none in any.

        Raises:
            ValueError: A prompt or an option does not fit the model.
            RuntimeError: The engine is closed.
        """
        rows = self._checked(prompts, options, phrases, starts, grammar, adapters)
        return self._search(rows, with_scores, stops)

    def stream(
        self,
        prompt: Sequence[int],
        options: SearchOptions,
        grammar: GrammarState | None = None,
        starts: Sequence[int] = (),
        adapters: Sequence[str | None] = (),
    ) -> Iterator[int]:
        """As `GenerationEngine.stream`, and `starts` and `adapters` as for `search`.

        Raises:
            ValueError: A prompt or an option does not fit the model; raised at once.
            RuntimeError: The engine is closed.
        """
        return self._stream(self._checked([prompt], options, (), starts, grammar, adapters))

    def token_scores(
        self,
        prompt: Sequence[int],
        tokens: Iterable[int],
        most: int,
        count: int,
        starts: Sequence[int] = (),
        adapters: Sequence[str | None] = (),
    ) -> Iterator[tuple[int, float, list[tuple[int, float]]]]:
        """Yields how probable tokens that follow a prompt are, each as it arrives.

        Args:
            prompt: Ids of the prompt.
            tokens: The ids that follow it, of the vocabulary.
            most: How many these are at most.
            count: How many of the most probable tokens to name for each.
            starts: As for `search`.
            adapters: As for `search`.

        Yields:
            The token, its log-probability in nats, and the most probable ids in its place with
            theirs.

        Raises:
            ValueError: The prompt does not fit the model; raised at once.
            RuntimeError: The engine is closed.
        """
        options = SearchOptions(max_length=max(1, most), min_length=0)
        rows = self._checked([prompt], options, (), starts, adapters=adapters)
        return self._token_scores(rows, tokens, count)

    def _token_scores(
        self, rows: DecodedRows, tokens: Iterable[int], count: int
    ) -> Iterator[tuple[int, float, list[tuple[int, float]]]]:
        opened = self._graphs.open("greedy_scores")
        request = self._request(rows, [0], seed=0, with_scores=True)
        with self._start(opened, rows, request) as (steps, begun):
            ids = begun.first_ids()
            prefix = [*rows.prefixes[0]][begun.begun :]
            for place, token in enumerate(itertools.chain(prefix, tokens), -len(prefix)):
                values = log_softmax(steps.logits(ids))[0]
                if place >= 0:
                    best = np.argsort(-values, kind="stable")[:count]
                    named = zip(best.tolist(), values[best].tolist(), strict=True)
                    yield token, float(values[token]), [*named]
                ids = np.array([token], np.int32)

    def log_probabilities(self, texts: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `GenerationEngine.log_probabilities`.

        Raises:
            ValueError: A text does not fit the model, or there is an adapter.
            RuntimeError: The engine is closed.
        """
        if self._adapter is not None:
            raise ValueError(
                f"whole texts are scored without adapters, got {self._adapter!r}: ask the model "
                "itself, or one that it is merged into."
            )
        check_texts_fit(self.config, texts)
        ids, lengths = self.manifest.special_ids, [len(text) + 1 for text in texts]
        division = self._workers.divide(len(texts), 1)
        opened = division.graphs.open("scorer")
        batches = even_batches(
            lengths, batch_tokens=self._workers.read_tokens, workers=division.at_a_time
        )

        def score(places: list[int]) -> list[npt.NDArray[np.float32]]:
            labels = pad_sources([texts[place] for place in places], pad_id=ids.pad, ends=[ids.eos])
            token_ids = np.roll(labels, 1, axis=1)
            token_ids[:, 0] = ids.decoder_start
            inputs = {"token_ids": token_ids, "labels": labels}
            [values] = opened["scorer"].run(["log_probabilities"], inputs)
            return [row[: lengths[place]] for place, row in zip(places, values, strict=True)]

        found = self._workers.by_place(score, batches, division.at_a_time)
        return [found[place] for place in range(len(texts))]

    def read_on(
        self, tokens: Sequence[int], before: Any = None
    ) -> tuple[npt.NDArray[np.float32], Any]:
        """As `GenerationEngine.read_on`: each part is read with all that its tokens may see, since
        graphs of whole texts take no memory.

        Raises:
            ValueError: The model has no memory, or an id is outside the vocabulary.
            RuntimeError: The engine is closed.
        """
        self.config.check_memory()
        check_texts_fit(self.config, [tokens])
        # The last token read, and what its state depends on.
        most = self.config.reach + 1
        seen, found = list(before or ()), [np.zeros(0, np.float32)]
        for begin in range(0, len(tokens), most):
            part = tokens[begin : begin + most]
            [values] = self.log_probabilities([[*seen, *part]])
            found.append(values[len(seen) : len(seen) + len(part)])
            seen = [*seen, *part][-most:]
        return np.concatenate(found), seen

    def adapted(self, name: str) -> Self:
        """Returns the engine with an adapter beside the model's weights for all rows; it is open as
        long as this one.

        Raises:
            ValueError: There is no adapter of that name.
        """
        self.adapters.place(name)
        found = copy.copy(self)
        found._adapter = name
        return found

    def _checked(
        self,
        prompts: IdRows,
        options: SearchOptions,
        phrases: Sequence[Phrases] = (),
        starts: Sequence[int] = (),
        grammar: GrammarState | None = None,
        adapters: Sequence[str | None] = (),
    ) -> DecodedRows:
        checked = check_prompts(self.config, prompts, options, phrases, starts, grammar)
        return DecodedRows(
            options=options,
            prefixes=checked.prompts,
            limits=checked.limits,
            phrases=checked.phrases,
            starts=checked.starts,
            grammar=grammar,
            adapters=adapters or ([self._adapter] * len(prompts) if self._adapter else ()),
        )
