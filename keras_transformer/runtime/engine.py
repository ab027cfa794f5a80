"""The engine of an exported translator: rows of source ids, in any number and order, to candidates,
alignments or encoder states. It knows nothing of text.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.alignments import align
from keras_transformer.runtime.decoder_engine import DecodedRows, DecoderEngine
from keras_transformer.runtime.loop.batches import IdRows, plan_batches
from keras_transformer.runtime.loop.search import step_graph
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.stops import Stops
from keras_transformer.translation.engine import Alignment


class Engine(DecoderEngine):
    """An opened artefact as a `TranslationEngine`; any number of threads may use it at once.

    Takes the arguments of `DecoderEngine`, of which `batch_tokens` counts source tokens, and has
    its attributes.

    Raises:
        ValueError: A number is below 1, or a graph does not match the manifest.
    """

    @cached_property
    def limits(self) -> ModelLimits:
        """What the model can take."""
        return ModelLimits.of(self.manifest.config, self.manifest.special_ids)

    @cached_property
    def model_dim(self) -> int:
        """Width of the encoder's states."""
        return int(self.manifest.config["model_dim"])

    def search(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None = None,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
    ) -> list[list[Candidate]]:
        """As `TranslationEngine.search`; greedy search is faster without scores.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model.
            RuntimeError: The engine is closed.
        """
        filled = sum(len(source) > 0 for source in sources)
        division = self._workers.divide(filled, options.rows_per_sentence)
        opened = division.graphs.open("encoder", step_graph(options, with_scores))
        rows = self._checked(sources, options, prefixes)
        return self._search(opened, division, rows, with_scores, stops)

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """As `TranslationEngine.stream`.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model; raised at once.
            RuntimeError: The engine is closed.
        """
        opened = self._graphs.open("encoder", step_graph(options, with_scores=False))
        rows = self._checked([source], options, [prefix])
        return self._stream(opened, rows) if len(source) else iter(())

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """As `TranslationEngine.align`.

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
        """As `TranslationEngine.encoder_states`.

        Raises:
            ValueError: A source does not fit the model.
            RuntimeError: The engine is closed.
        """
        self.limits.check_sources(sources)
        encoder = self._graphs.open("encoder")["encoder"]
        # An empty text still has a state for eos; a length of 2 keeps it in the plan.
        lengths = [max(2, len(source) + 1) for source in sources]

        def run(places: list[int]) -> list[npt.NDArray[np.float32]]:
            rows = [sources[place] for place in places]
            states = self._graphs.states(encoder, rows)
            return [state[: len(row) + 1] for state, row in zip(states, rows, strict=True)]

        batches = plan_batches(lengths, batch_tokens=self._batch_tokens)
        found = self._workers.by_place(run, batches, at_a_time=1)
        return [found[place] for place in range(len(sources))]

    def _checked(
        self, sources: IdRows, options: SearchOptions, prefixes: IdRows | None
    ) -> DecodedRows:
        options, limits, prefixes = self.limits.check_search(sources, options, prefixes)
        return DecodedRows(options=options, prefixes=prefixes, limits=limits, sources=sources)
